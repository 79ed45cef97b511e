"""A profile's behaviour: roundings, what the user sets, envelopes, JSON and files."""

import dataclasses
import json
from pathlib import Path

import pytest

from precdiff.device import PROFILES, DeviceProfile, Fact, Pairwise, Sequential, get_profile, profiles
from precdiff.device.approximation import Approximation
from precdiff.device.fields import FIELDS
from precdiff.errors import FileError, PrecDiffError, UnknownNameError
from precdiff.rounding import Rounding, round_array

NAMES = sorted(PROFILES)


def round_trip(profile):
    return DeviceProfile.from_json(json.loads(json.dumps(profile.to_json())))


def test_every_field_is_a_row():
    assert list(FIELDS) == [f.name for f in dataclasses.fields(DeviceProfile) if f.name not in ("name", "summary")]


@pytest.mark.parametrize(
    ("fmt", "overflow", "nan"),
    [
        ("fp16", "saturate", "zero"),
        ("bf16", "saturate", "zero"),
        ("fp32", "ieee", "keep"),
        ("fp64", "ieee", "keep"),
        ("e4m3fn", "ieee", "keep"),
    ],
)
@pytest.mark.parametrize("name", ["ascend-910b-sat", "ascend-910a"])
def test_saturation_touches_half_and_bf16_only(name, fmt, overflow, nan):
    rounding = get_profile(name).rounding(fmt, "add")

    assert (rounding.overflow, rounding.nan) == (overflow, nan)


@pytest.mark.parametrize("name", ["ieee", "ascend-910b"])
@pytest.mark.parametrize("fmt", ["fp16", "bf16", "fp32"])
def test_inf_nan_mode_is_ieee(name, fmt):
    assert get_profile(name).rounding(fmt, "add") == Rounding(fmt)


def test_flushing_and_directions_reach_the_rounding():
    profile = get_profile("ieee").with_(direction="toward-zero", subnormal_outputs="flush")

    assert profile.rounding("fp16", "mul") == Rounding("fp16", "toward-zero", subnormals="flush")


@pytest.mark.parametrize(
    ("profile", "op", "data", "accumulator"),
    [
        ("ieee", "sum", "fp16", "fp16"),
        ("numpy-pairwise", "sum", "fp16", "fp32"),
        ("numpy-pairwise", "sum", "fp64", "fp64"),
        ("ascend-910b", "sum", "fp16", "fp16"),
        ("ascend-910b", "matmul", "bf16", "fp32"),
        ("ascend-910b", "matmul", "fp64", "fp64"),
    ],
)
def test_accumulators_are_never_narrower_than_the_data(profile, op, data, accumulator):
    assert get_profile(profile).accumulator(op, data).name == accumulator


def test_what_the_user_sets_is_the_users_and_in_the_name():
    profile = get_profile("ascend-910b").with_(sum_order=Sequential(), subnormal_inputs="flush")

    assert profile.name == "ascend-910b+sum_order=sequential+subnormal_inputs=flush"
    assert profile.sum_order == Fact(Sequential(), "set by the user", "user")
    assert profile.subnormal_inputs.candidates == ()  # nothing left to vary
    assert get_profile("ascend-910b").sum_order.value != Sequential()


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("direction", "up", "up"),
        ("saturated_formats", "fp16, bf16", ("fp16", "bf16")),
        ("saturated_formats", "", ()),
        ("sum_order", "pairwise", Pairwise()),
        ("sum_accumulator", "fp32", "fp32"),
        ("sum_accumulator", "same", "same"),
        ("fused_multiply_add", "True", True),
        ("approximations", "none", {}),
    ],
)
def test_fields_from_text(field, text, value):
    assert getattr(get_profile("ascend-910b").with_text(field, text), field).value == value


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("overflow", "clip", "profile field overflow: found 'clip'; allowed: ieee, saturate"),
        ("fused_multiply_add", "maybe", "profile field fused_multiply_add: found 'maybe'; allowed: true, false"),
        ("sum_accumulator", "fp23", "profile field sum_accumulator: found 'fp23'; allowed: same, fp16, bf16"),
        (
            "saturated_formats",
            "fp16,half",
            "profile field saturated_formats: found 'fp16,half'; allowed: a list of fp16",
        ),
        ("matmul_order", "seqential", "unknown summation order 'seqential'. Did you mean 'sequential'?"),
        ("approximations", "fast", "profile field approximations: found 'fast'; allowed: none, or a mapping from op"),
        ("sum_oder", "once", "unknown profile field 'sum_oder'. Did you mean 'sum_order'?"),
    ],
)
def test_wrong_fields_and_values_are_answered(field, text, message):
    with pytest.raises(PrecDiffError) as raised:
        get_profile("ieee").with_text(field, text)

    assert str(raised.value).startswith(message)


CUBE = ["sequential", "tree16", "trunc24", "once"]
FLUSH = ["subnormal_inputs=flush", "subnormal_outputs=flush"]


@pytest.mark.parametrize(
    ("ops", "labels"),
    [
        (["matmul"], FLUSH + CUBE),
        (["sum"], [*FLUSH, "sum_accumulator=fp32"]),
        (["exp", "fma"], [*FLUSH, "fused_multiply_add=true"]),
        (["reshape", "transpose", "where"], []),
        ([], []),
        (["sum", "matmul", "matmul"], [*FLUSH, "sum_accumulator=fp32", *CUBE]),
        (["an op of tomorrow"], FLUSH),
    ],
)
def test_the_envelope_varies_what_the_ops_touch(ops, labels):
    envelope = get_profile("ascend-910b").envelope(ops)

    assert [name for name, _ in envelope] == [f"ascend-910b@{label}" for label in labels]


def test_an_alternative_differs_in_one_field_and_carries_its_name():
    profile = get_profile("ascend-910b")

    for name, alternative in profile.envelope(["matmul", "sum", "fma"]):
        changed = [f for f in FIELDS if getattr(alternative, f).value != getattr(profile, f).value]
        assert len(changed) == 1
        assert alternative.name == name
        assert getattr(alternative, changed[0]).candidates == ()


@pytest.mark.parametrize("name", ["ieee", "ieee-exact"])
def test_what_is_defined_has_no_envelope(name):
    assert get_profile(name).envelope(["matmul", "sum", "add", "fma"]) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_whole_profile_survives_json(name):
    profile = get_profile(name)
    alternatives = [alternative for _, alternative in profile.envelope(["matmul", "sum", "fma"])]

    for one in (profile, *alternatives, profile.with_(sum_order="groups(k0=4)", saturated_formats="fp16")):
        assert round_trip(one) == one
        assert hash(round_trip(one)) == hash(one)


def test_approximations_are_stored_by_name():
    row = Approximation("test-cut", "made up here", 1.0, lambda operands, rounding: round_array(operands[0], rounding))
    profile = get_profile("ieee").with_(approximations={"exp": row})

    assert profile.to_json()["fields"]["approximations"]["value"] == {"exp": "test-cut"}
    assert round_trip(profile) == profile
    assert round_trip(profile).approximations.value["exp"]([2.0], Rounding("fp16")) == 2.0


def test_unknown_approximations_are_answered():
    with pytest.raises(UnknownNameError, match="unknown approximation 'fast'"):
        get_profile("ieee").with_(approximations={"exp": "fast"})


TOML = """
name = "mine"
summary = "a 910B with wide sums"
extends = "ascend-910b"
[fields.sum_order]
value = "pairwise"
source = "measured on our card"
confidence = "measured"
[fields.sum_accumulator]
value = "fp32"
source = "guess"
candidates = ["same"]
"""


def test_a_profile_file_extends_another(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(TOML)

    profile = get_profile(path)

    assert profile.name == "mine"
    assert profile.sum_order == Fact(Pairwise(), "measured on our card", "measured")
    assert profile.sum_accumulator == Fact("fp32", "guess", "assumed", ("same",))
    assert profile.matmul_order == get_profile("ascend-910b").matmul_order


def test_a_json_file_holds_a_whole_profile(tmp_path):
    path = tmp_path / "whole.json"
    path.write_text(json.dumps(get_profile("ascend-910a").to_json()))

    assert get_profile(str(path)) == get_profile("ascend-910a")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "name =", "Invalid value"),
        ("a.json", "[1]", "found list; a profile is an object"),
        ("a.json", '{"name": "x"}', "profile 'x' lacks direction, .* Add it, or name a profile to start from"),
        ("a.json", '{"extends": "ieee"}', "profile 'without a name' lacks name"),
        ("a.json", '{"schema": "precdiff.profile/9", "name": "x"}', "found 'precdiff.profile/9'; allowed"),
        ("a.json", '{"name": "x", "extends": "iee"}', "Did you mean 'ieee'"),
        ("a.json", '{"name": "x", "extends": "ieee", "fields": {"overflow": "saturate"}}', "a fact has value, source"),
        ("a.json", '{"name": "x", "fields": {"overfow": {"value": 1, "source": "s"}}}', "Did you mean 'overflow'"),
    ],
)
def test_wrong_files_are_answered(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)

    with pytest.raises(PrecDiffError, match=message):
        get_profile(path)


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(FileError, match=r"Allowed: a name, or a .json or .toml file"):
        get_profile(tmp_path / "none.toml")


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"unknown profile 'ascend-910c'. Did you mean 'ascend-910"):
        get_profile("ascend-910c")
    assert get_profile(get_profile("ieee")) is get_profile("ieee")


def test_the_registry_lists_every_file_of_its_folder():
    folder = Path(profiles.__file__).parent
    assert len(NAMES) >= len([p for p in folder.glob("*.py") if p.stem != "__init__"])
    assert {"ieee", "ieee-exact", "numpy-pairwise", "ascend-910b", "ascend-910b-sat", "ascend-910a"} <= {*NAMES}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('direction = "toward-zero"', r"found the key 'direction'; allowed are .*fields\. .*\[fields\.direction\]"),
        ('[field.direction]\nvalue = "up"', r"found the key 'field'; .*\[fields\.NAME\]"),
        ('sumary = "typo"', "found the key 'sumary'; allowed are schema, name, summary, extends, fields"),
    ],
)
def test_a_key_nobody_reads_is_refused(tmp_path, line, message):
    (tmp_path / "p.toml").write_text(f'name = "p"\nextends = "ieee"\n{line}\n')
    with pytest.raises(PrecDiffError, match=message):
        get_profile(tmp_path / "p.toml")
