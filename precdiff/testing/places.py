"""Where things of a test lie: its baseline, its dumps when it fails, the reports of a run; and what was asked of them.

This file knows options, paths and test ids, and imports nothing heavy: the controller of a distributed run needs it.

    <folder of the test file>/precdiff_baselines/<test file>/<test>.h5          one baseline file a test
    <output folder>/failures/<test file>/<test>/                                what a failing test leaves
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

#: characters of a test's name that a file name keeps, and how many
_PLAIN, _LONGEST = re.compile(r"[^a-z0-9_-]+"), 80
#: settings that are options only
_NO_KEY = ("update", "force")
#: settings that are numbers of at least 0
NUMBERS = ("max_ulp", "max_loss_db", "max_loss_ulp")


def setting(config: pytest.Config, name: str) -> Any:
    """An option where it was given, else the ini key of the same name; None where neither says anything."""
    given = config.getoption(f"precdiff_{name}", None)
    if given is None and name not in _NO_KEY:
        given = config.getini(f"precdiff_{name}")
    return None if given in ("", []) else given


def words(config: pytest.Config, name: str) -> list[str]:
    """A setting that is a list of words, with commas, blanks or both between them."""
    given = setting(config, name) or []
    return [word.strip() for item in given for word in item.split(",") if word.strip()]


def check(config: pytest.Config, choices: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse ini keys that cannot be meant, before anything runs."""
    for name in NUMBERS:
        try:
            given = setting(config, name)
        except (TypeError, ValueError, pytest.UsageError) as error:  # the last from pytest 9 on
            raise pytest.UsageError(f"precdiff_{name}: {error}; allowed is a number of at least 0") from None
        if given is not None and not given >= 0.0:
            raise pytest.UsageError(f"precdiff_{name}: found {given!r}; allowed is a number of at least 0")
    for name, allowed in choices.items():
        given = setting(config, name)
        found = [given] if isinstance(given, str) else words(config, name)
        wrong = next((word for word in found if word not in allowed), None)
        if wrong is not None:
            raise pytest.UsageError(f"precdiff_{name}: found {wrong!r}; allowed is {', '.join(allowed)}")


def owner_of(item: pytest.Item) -> str:
    """A test's id from its file on: its folder may move, and its baselines with it.

    `tests/test_pow.py::TestV1::test_small[fp16]` is `test_pow.py::TestV1::test_small[fp16]`.
    """
    return f"{item.path.name}::{item.nodeid.partition('::')[2]}"


def file_name(test: str) -> str:
    """A test's name as a file's: lower case, and told apart by a hash where that changed it.

    >>> file_name("test_small"), file_name("test_small[fp16-0.5]")
    ('test_small', 'test_small-fp16-0-5--6ad41d7e')
    """
    plain = _PLAIN.sub("-", test.lower()).strip("-")[:_LONGEST]
    return plain if plain == test else f"{plain}--{hashlib.sha256(test.encode()).hexdigest()[:8]}"


def baseline_folder(config: pytest.Config, path: Path) -> Path:
    """Where the baselines of a test file are."""
    folder = Path(setting(config, "baseline_dir") or "precdiff_baselines")
    if not folder.is_absolute():
        return path.parent / folder / path.stem
    inside = path.is_relative_to(config.rootpath)
    return folder / (path.relative_to(config.rootpath).with_suffix("") if inside else path.stem)


def baseline_path(item: pytest.Item) -> Path:
    """The baseline of a test."""
    test = item.nodeid.partition("::")[2].replace("::", ".")
    return baseline_folder(item.config, item.path) / f"{file_name(test)}.h5"


def output_folder(config: pytest.Config) -> Path:
    """Where reports and dumps go."""
    return config.rootpath / (setting(config, "output_dir") or ".precdiff")


def failure_folder(item: pytest.Item) -> Path:
    """Where a failing test leaves what it compared."""
    test = item.nodeid.partition("::")[2].replace("::", ".")
    return output_folder(item.config) / "failures" / item.path.stem / file_name(test)


def shown(config: pytest.Config, path: Path) -> str:
    """A path as a reader of the terminal may type it."""
    here = config.invocation_params.dir
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
