"""DeviceProfile: everything in which a device may depart from another, as facts with their sources.

This file knows the fields and what follows from them; it must not know any device (profiles/) nor how sums are carried
out (orders/). What is not a field is IEEE 754. A profile is stored whole in every dump, so a file replays alone.

The rounding of a result of format f:  direction, subnormal_outputs, and overflow where f is one of saturated_formats;
a saturating result also turns NaN into +0 where saturated_nan says so.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from precdiff.device.approximation import Approximation
from precdiff.device.fact import Fact
from precdiff.device.fields import FIELDS, Field
from precdiff.device.orders import SummationOrder
from precdiff.errors import FileError, PrecDiffError, UnknownNameError
from precdiff.formats import Format, get_format
from precdiff.registry import Registry
from precdiff.rounding import Direction, NanRule, Overflow, Rounding, Subnormals

SCHEMA = "precdiff.profile/1"

PROFILES: Registry[DeviceProfile] = Registry("profile", "precdiff.device.profiles")


@dataclass(frozen=True, kw_only=True)
class DeviceProfile:
    """A device, or a way of using one; `fields.py` says what each field may hold."""

    name: str
    summary: str
    direction: Fact[Direction]
    overflow: Fact[Overflow]
    #: formats whose results saturate where overflow says so; all others overflow by IEEE 754
    saturated_formats: Fact[tuple[str, ...]]
    saturated_nan: Fact[NanRule]
    subnormal_inputs: Fact[Subnormals]
    subnormal_outputs: Fact[Subnormals]
    sum_order: Fact[SummationOrder]
    #: "same" as the data, or a format that narrower data is widened to
    sum_accumulator: Fact[str]
    matmul_order: Fact[SummationOrder]
    matmul_product: Fact[Literal["exact", "rounded"]]
    matmul_accumulator: Fact[str]
    #: the op `fma` rounds once; False: its product is rounded before it is added
    fused_multiply_add: Fact[bool]
    #: what `x != NaN` is: true by IEEE 754, or false
    nan_compare_ne: Fact[Literal["ieee", "false"]]
    #: max(-0, +0) and max(+0, -0): +0, or the first operand
    max_of_zeros: Fact[Literal["positive", "first"]]
    #: op -> how its unit approximates it; all other functions are correctly rounded
    approximations: Fact[Mapping[str, Approximation]] = field(hash=False)

    def rounding(self, fmt: str | Format, op: str) -> Rounding:
        """Return how results of `op` in that format are rounded.

        >>> get_profile("ascend-910b-sat").rounding("fp16", "add").overflow
        'saturate'
        >>> get_profile("ascend-910b-sat").rounding("fp32", "add").overflow
        'ieee'
        """
        row = get_format(fmt)
        saturates = self.overflow.value == "saturate" and row.name in self.saturated_formats.value
        return Rounding(
            row,
            self.direction.value,
            "saturate" if saturates else "ieee",
            self.subnormal_outputs.value,
            self.saturated_nan.value if saturates else "keep",
        )

    def accumulator(self, op: str, fmt: str | Format) -> Format:
        """Return the format in which `op` ("sum" or "matmul") of data in that format accumulates, never a narrower one.

        >>> get_profile("numpy-pairwise").accumulator("sum", "fp16").name
        'fp32'
        """
        declared = (self.matmul_accumulator if op == "matmul" else self.sum_accumulator).value
        data = get_format(fmt)
        wider = data if declared == "same" else get_format(declared)
        return wider if data.is_float and wider.p > data.p else data

    def matmul_order_for(self, fmt: str | Format) -> SummationOrder:
        """Return the order along K for factors of that format."""
        return self.matmul_order.value.for_data(fmt)

    def facts(self) -> dict[str, Fact[Any]]:
        """Return the facts by field name."""
        return {name: getattr(self, name) for name in FIELDS}

    def with_(self, **values: Any) -> DeviceProfile:
        """Return this profile with fields set by the user: values, their JSON or their text.

        >>> get_profile("ieee").with_(overflow="saturate").name
        'ieee+overflow=saturate'
        """
        read = {name: _field(name).read(name, value) for name, value in values.items()}
        changed: dict[str, Any] = {name: Fact(value, "set by the user", "user") for name, value in read.items()}
        suffix = "".join(f"+{name}={_text(value)}" for name, value in read.items())
        return dataclasses.replace(self, name=self.name + suffix, **changed)

    def with_text(self, name: str, text: str) -> DeviceProfile:
        """Return this profile with one field set from text, as in `--profile-set FIELD=VALUE`."""
        return self.with_(**{name: text.strip()})

    def envelope(self, ops: Iterable[str]) -> list[tuple[str, DeviceProfile]]:
        """Return one alternative a candidate of every assumed field that one of `ops` touches, with its name.

        >>> [name for name, _ in get_profile("ascend-910b").envelope(["fma"])][-1]
        'ascend-910b@fused_multiply_add=true'
        """
        used = set(ops)
        touched = {name: fact for name, fact in self.facts().items() if any(FIELDS[name].touches(op) for op in used)}
        return [self._alternative(name, value) for name, fact in touched.items() for value in fact.candidates]

    def _alternative(self, name: str, value: Any) -> tuple[str, DeviceProfile]:
        fact: Fact[Any] = getattr(self, name)
        label = f"{self.name}@{value.label if isinstance(value, SummationOrder) else f'{name}={_text(value)}'}"
        changed: dict[str, Any] = {name: Fact(value, f"candidate: {fact.source}", "assumed")}
        return label, dataclasses.replace(self, name=label, **changed)

    def to_json(self) -> dict[str, Any]:
        """Return the whole profile as JSON-able data."""
        fields = {name: _fact_to_json(FIELDS[name], fact) for name, fact in self.facts().items()}
        return {"schema": SCHEMA, "name": self.name, "summary": self.summary, "fields": fields}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], reading: tuple[Path, ...] = ()) -> DeviceProfile:
        """Return the profile `to_json` described; with `extends`, fields left out are those of that profile.

        `reading` are the files that led here by `extends`.
        """
        _check_document(data)
        facts: dict[str, Any] = _found(data["extends"], reading).facts() if "extends" in data else {}
        facts |= {name: _fact_from_json(name, row) for name, row in data.get("fields", {}).items()}
        missing = [name for name in FIELDS if name not in facts]
        if missing or "name" not in data:
            raise PrecDiffError(
                f"profile {data.get('name', 'without a name')!r} lacks {', '.join(missing) or 'name'}. "
                "Add it, or name a profile to start from in `extends`."
            )
        return cls(name=data["name"], summary=data.get("summary", ""), **facts)


def get_profile(profile: str | Path | DeviceProfile) -> DeviceProfile:
    """Return the profile of that name, or the one in a .json or .toml file; a profile is returned as it is.

    >>> get_profile("ieee").direction.value
    'nearest-even'
    """
    if isinstance(profile, DeviceProfile):
        return profile
    return _found(profile, ())


def _found(profile: Any, reading: tuple[Path, ...]) -> DeviceProfile:
    """The profile of a name or file, reached through the files `reading`."""
    if not isinstance(profile, str | Path):
        raise PrecDiffError(f"profile: found {profile!r}; allowed: a name, a .json or .toml file, a DeviceProfile")
    path = Path(profile)
    if path.suffix not in (".json", ".toml"):
        return PROFILES[str(profile)]
    if path.resolve() in reading:
        circle = " -> ".join(str(p.name) for p in (*reading, path))
        raise FileError(f"profile {path} extends itself ({circle}); name one that stands alone in `extends`")
    return DeviceProfile.from_json(_read_file(path), (*reading, path.resolve()))


_TEXTS = ("name", "summary", "extends")
_KEYS = ("schema", *_TEXTS, "fields")


def _check_document(data: Mapping[str, Any]) -> None:
    if data.get("schema", SCHEMA) != SCHEMA:
        raise PrecDiffError(f"profile schema: found {data['schema']!r}; allowed: {SCHEMA}")
    foreign = [name for name in data if name not in _KEYS]
    if foreign:
        field = foreign[0] in FIELDS or foreign[0] == "field"
        name = foreign[0] if foreign[0] in FIELDS else "NAME"
        advice = f" A field of the profile is a table of its own: [fields.{name}]." if field else ""
        raise PrecDiffError(f"profile: found the key {foreign[0]!r}; allowed are {', '.join(_KEYS)}.{advice}")
    for name in _TEXTS:
        if not isinstance(data.get(name, ""), str):
            raise PrecDiffError(f"profile {name}: found {data[name]!r}; allowed is text")
    if not isinstance(data.get("fields", {}), Mapping):
        raise PrecDiffError(
            f"profile fields: found {data['fields']!r}; allowed is a table: [fields.NAME] value, source"
        )


def _read_file(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"profile {path}: {error}. Allowed: a name, or a .json or .toml file.") from error
    if not isinstance(data, dict):
        raise FileError(f"profile {path}: found {type(data).__name__}; a profile is an object with name and fields.")
    return data


def _field(name: str) -> Field:
    if name not in FIELDS:
        raise UnknownNameError("profile field", name, FIELDS)
    return FIELDS[name]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value) if not isinstance(value, Mapping) else ",".join(value) if value else "none"


def _fact_to_json(row: Field, fact: Fact[Any]) -> dict[str, Any]:
    candidates = [row.write(value) for value in fact.candidates]
    return {
        "value": row.write(fact.value), "source": fact.source, "confidence": fact.confidence, "candidates": candidates
    }  # fmt: skip


def _fact_from_json(name: str, data: Any) -> Fact[Any]:
    row = _field(name)
    if not isinstance(data, Mapping) or not {"value", "source"} <= set(data):
        raise PrecDiffError(f"profile field {name}: found {data!r}; a fact has value, source, confidence, candidates")
    others = data.get("candidates", ())
    if not isinstance(data["source"], str) or not isinstance(others, list | tuple):
        raise PrecDiffError(f"profile field {name}: source is text and candidates a list; found {dict(data)!r}")
    candidates = tuple(row.read(name, value) for value in others)
    return Fact(row.read(name, data["value"]), data["source"], data.get("confidence", "assumed"), candidates)
