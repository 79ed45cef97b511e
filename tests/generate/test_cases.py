"""The data classes: what they hold, for every kernel and op that takes tensors, and what is said where none can be."""

import mpmath
import numpy as np
import pytest

import precdiff
from precdiff import ops
from precdiff.errors import PrecDiffError
from precdiff.formats import FORMATS, carrier, format_of, from_bits, get_format, next_up, ordinal
from precdiff.generate import DATA_ROWS, data_cases, data_classes
from precdiff.generate.target import target_kernel
from precdiff.kernels import KERNELS, run_kernel

CLASSES = ["typical", "boundary", "special", "extreme"]


def by_name(*args, **kwargs):
    return {case.name: case for case in data_cases(*args, **kwargs)}


def values(case, name="x"):
    return np.asarray(carrier(case.inputs[name]), np.float64)


def bits(case):
    return {name: np.asarray(array).tobytes() for name, array in case.inputs.items()}


def test_the_classes_of_the_issue_are_there_and_every_row_cites_its_source():
    assert data_classes() == CLASSES
    assert [name for name, row in DATA_ROWS.items() if not (row.source and row.summary)] == []


@pytest.mark.parametrize("name", list(KERNELS))
def test_every_kernel_takes_all_of_its_data(name):
    cases = data_cases(name, format="fp16")
    assert len({case.name for case in cases}) == len(cases)
    assert {case.data_class for case in cases} == set(CLASSES)
    for case in cases:
        assert run_kernel(name, case.inputs).outputs, case.name
        assert case.note.endswith("]"), "a note ends with its source"


@pytest.mark.parametrize("format", ["fp16", "bf16", "fp32", "e4m3fn", "e5m2", "i8", "i32"])
@pytest.mark.parametrize("op", ["add", "maximum"])
def test_formats(op, format):
    for case in data_cases(op, format=format):
        assert {format_of(array).name for array in case.inputs.values()} == {format}, case.name


@pytest.mark.parametrize(
    ("target", "inputs"),
    [
        ("fma", ["x", "y", "z"]), ("exp", ["x"]), ("power", ["x", "y"]), ("sum", ["x"]), ("gelu", ["x"]),
        (ops.atan2, ["x", "y"]), (ops.sum_, ["x"]), (ops.OPS["sum"], ["x"]), ("pow", ["x", "y"]),
        (KERNELS["softmax"], ["x"]), (lambda u, v: u * v, ["u", "v"]),
    ],
)  # fmt: skip
def test_a_target_is_a_kernel_an_op_or_a_function(target, inputs):
    assert list(target_kernel(target).inputs) == inputs
    assert list(data_cases(target, classes="typical")[0].inputs) == inputs


def test_the_same_seed_gives_the_same_bits_and_another_one_others():
    first, again, other = (data_cases("pow", classes="typical,extreme", seed=s) for s in (3, 3, 4))
    assert [bits(c) for c in first] == [bits(c) for c in again]
    assert sum(bits(a) == bits(b) for a, b in zip(first, other, strict=True)) == 1  # the constant 0.1


def test_classes_come_in_the_order_asked_for_and_do_not_change_one_another():
    alone, after = by_name("exp", classes="special"), by_name("exp", classes=["extreme", "special"])
    assert {n: bits(c) for n, c in alone.items()} == {n: bits(after[n]) for n in alone}
    assert next(iter(after)).startswith("extreme-") and list(after)[-1].startswith("special-")


# typical


def test_the_typical_distributions_are_those_of_the_standard():
    cases = by_name("softmax", classes="typical", shape=(100, 100), format="fp32")
    uniform, small, wide = (values(cases[f"typical-{n}"]) for n in ("uniform", "small", "wide"))
    assert -5 <= uniform.min() < -4.99 and 4.99 < uniform.max() <= 5 and abs(uniform.mean()) < 0.15
    assert np.float32(1e-3) >= small.max() > 0.999e-3 and abs(small.mean()) < 3e-5
    assert abs(wide.mean()) <= 101 and 1 <= wide.std() <= 26


@pytest.mark.parametrize("op", ["log", "sqrt", "acosh", "atanh", "asin", "log1p", "rsqrt"])
@pytest.mark.parametrize("row", ["uniform", "normal", "small", "wide"])
def test_typical_values_of_an_op_lie_in_its_domain(op, row):
    case = by_name(op, classes="typical").get(f"typical-{row}")
    if case is None:
        assert (op, row) in {("acosh", "small"), ("atanh", "wide"), ("asin", "wide")}, "no value is in the domain"
        return
    host = {"acosh": np.arccosh, "atanh": np.arctanh, "asin": np.arcsin, "rsqrt": lambda x: 1 / np.sqrt(x)}
    assert np.isfinite(host.get(op, getattr(np, op, None))(values(case))).all()


# boundary


def largest_finite_argument(function, format, limit):
    """The largest x of a format with function(x) < limit, from all codes and mpmath."""
    with np.errstate(invalid="ignore"):  # of signalling NaNs
        x = from_bits(np.arange(2**format.bits), format).astype(float)
    x = np.unique(x[np.isfinite(x) & (np.abs(x) < 1e5)])
    low, high = 0, x.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if function(mpmath.mpf(float(x[middle]))) < limit else (low, middle)
    return float(x[low])


@pytest.mark.parametrize("format", ["fp16", "bf16"])
def test_the_overflow_of_exp_is_found_to_the_bit(format):
    row = get_format(format)
    half = mpmath.mpf(2) ** (row.emax - row.p)
    last = largest_finite_argument(mpmath.exp, row, mpmath.mpf(row.max_finite) + half)
    found = values(by_name("exp", classes="boundary", format=format)["boundary-edge-overflow"])
    assert {last, float(next_up(np.float32(last), format))} <= set(found.ravel().tolist())


@pytest.mark.parametrize(("format", "limit"), [("fp16", 11.09), ("bf16", 88.72), ("fp32", 88.72)])
def test_for_pow_y_ln_x_comes_near_the_limit_from_both_sides(format, limit):
    row = get_format(format)
    largest = mpmath.log(mpmath.mpf(row.max_finite) + mpmath.mpf(2) ** (row.emax - row.p))
    assert abs(largest - limit) < 0.005, "the limit of the issue"
    limit = float(largest)
    case = by_name("pow", classes="boundary", format=format)["boundary-edge-overflow"]
    x, y = values(case, "x"), values(case, "y")
    with np.errstate(all="ignore"):
        product = y * np.log(np.abs(x))
    near = product[np.abs(product - limit) < 0.02 * limit]
    assert (near < limit).sum() > 10 and (near > limit).sum() > 10


@pytest.mark.parametrize(
    ("op", "last_outside", "first_inside"),
    [("log1p", -1.0009765625, -1.0), ("acosh", 0.99951171875, 1.0), ("sqrt", -(2.0**-24), 0.0)],
)
def test_the_end_of_a_domain_is_found_to_the_bit(op, last_outside, first_inside):
    found = values(by_name(op, classes="boundary")["boundary-edge-domain"]).ravel().tolist()
    assert {last_outside, first_inside} <= set(found)


def test_both_points_of_an_edge_are_neighbours():
    case = by_name("log", classes="boundary", format="fp32", shape=(64,))["boundary-edge-zero"]
    places = np.unique(ordinal(case.inputs["x"], "fp32"))
    assert {int(ordinal(np.float32(1.0), "fp32")), int(ordinal(np.float32(1.0), "fp32")) - 1} <= set(places.tolist())


def test_ties_of_a_product_are_ties():
    case = by_name("mul", classes="boundary", format="fp16")["boundary-ties"]
    exact = values(case, "x") * values(case, "y")  # 22 bits: exact in fp64
    unit = 2.0 ** (np.floor(np.log2(np.abs(exact))) - 10)
    share = np.abs(exact / unit) % 1
    assert (np.abs(share - 0.5) <= 0.001).all() and (share == 0.5).any()


def test_a_kernel_that_reduces_is_scaled_to_where_it_first_overflows():
    cases = by_name("softmax_naive", classes="boundary")
    finite = {}
    for side in ("before", "after"):
        trace = run_kernel("softmax_naive", cases[f"boundary-scaled-x-large-{side}"].inputs).trace
        finite[side] = all(np.isfinite(values).all() for values in trace.values.values())
    assert finite == {"before": True, "after": False}


# special


def test_every_special_value_meets_every_other_one():
    case = by_name("pow", classes="special")["special-values"]
    pairs = set(zip(*(case.inputs[n].view(np.uint16).tolist() for n in "xy"), strict=True))
    one, inf, zero, minus_zero, nan = 0x3C00, 0x7C00, 0, 0x8000, 0x7E00
    codes = (one, inf, zero, minus_zero, nan)
    assert {(a, b) for a in codes for b in codes} <= pairs


def test_more_points_than_the_shape_holds_make_more_cases():
    cases = [c for c in data_cases("pow", classes="special", shape=(50,)) if c.name.startswith("special-values")]
    whole = by_name("pow", classes="special", shape=(4096,))["special-values"]
    seen = {p for c in cases for p in zip(*(c.inputs[n].view(np.uint16).tolist() for n in "xy"), strict=True)}
    assert len(cases) > 1 and seen == set(zip(*(whole.inputs[n].view(np.uint16).tolist() for n in "xy"), strict=True))


def test_a_special_value_stands_alone_in_a_row_of_a_reduction():
    case = by_name("softmax", classes="special")["special-values-x-nan"]
    assert np.isnan(case.inputs["x"]).sum() == 1
    assert np.isnan(run_kernel("softmax", case.inputs).outputs["out"]).any(axis=-1).tolist() == [True] + [False] * 7


def test_subnormals_and_halves_are_what_they_are_called():
    cases = by_name("add", classes="special", format="fp16")
    tiny, half = (np.abs(values(cases[f"special-{n}"])) for n in ("subnormals", "halves"))
    assert tiny.min() > 0 and tiny.max() < 2.0**-14 and {2.0**-24, 2.0**-14 - 2.0**-24} <= set(tiny.ravel().tolist())
    assert (half % 1 == 0.5).all()


# extreme


def test_extreme_arrays_are_what_they_are_called():
    cases = by_name("layernorm", classes="extreme", shape=(20, 256), format="fp32")
    x = {name.removeprefix("extreme-"): values(case) for name, case in cases.items()}
    plain = values(by_name("layernorm", classes="typical", shape=(20, 256), format="fp32")["typical-examples"])
    changed = x["outliers"] != plain
    assert changed.sum() == 5 and np.allclose(x["outliers"][changed], 1000 * plain[changed], rtol=1e-6)
    assert (x["constant-rows"].std(axis=-1) == 0).all() and x["constant-rows"].std() > 0
    assert x["offset"].mean() / x["offset"].std() > 50
    assert (np.diff(x["ascending"]) >= 0).all() and (np.diff(x["descending"]) <= 0).all()
    signs = np.sign(x["alternating"])
    assert (signs[:, 1::2] == -signs[:, ::2]).all()
    assert np.isneginf(x["masked-rows-x"]).sum() == 256 + 19 * 128


def test_sizes_stand_beside_powers_of_two_and_blocks():
    shapes = {n: c.inputs["x"].shape[-1] for n, c in by_name("softmax", classes="extreme", format="fp32").items()}
    assert [shapes[f"extreme-sizes-{n}"] for n in (1, 127, 128)] == [1, 127, 128]
    assert [n for n in shapes if "tails" in n] == ["extreme-tails-15", "extreme-tails-17"]  # 8 fp32 a block


def test_only_sizes_the_kernel_takes_are_given():
    lengths = [c.inputs["x"].shape[-1] for c in data_cases("rope", classes="extreme")]
    assert lengths and all(n % 2 == 0 for n in lengths)


# shapes and refusals


def test_one_shape_changes_those_of_the_other_inputs():
    case = data_cases("matmul", classes="typical", shape=(5, 7))[0]
    assert case.inputs["a"].shape == (5, 7) and case.inputs["b"].shape[0] == 7
    case = data_cases("layernorm", classes="typical", shape=(2, 3, 10))[0]
    assert {n: a.shape for n, a in case.inputs.items()} == {"x": (2, 3, 10), "gamma": (10,), "beta": (10,)}
    case = data_cases("matmul", classes="typical", shape={"a": (2, 3), "b": (3, 4)})[0]
    assert case.inputs["b"].shape == (3, 4)


@pytest.mark.parametrize(
    ("target", "given", "says"),
    [
        ("softmaxx", {}, "unknown kernel or op 'softmaxx'.*Did you mean 'softmax'"),
        ("exp", {"classes": "edgy"}, "unknown data class 'edgy'.*boundary, extreme, special, typical"),
        ("exp", {"classes": ""}, "unknown data class"),
        ("exp", {"classes": []}, "unknown data class"),
        ("exp", {"format": "fp17"}, "unknown format 'fp17'"),
        ("exp", {"seed": -1}, "seed: found -1; allowed is a whole number"),
        ("exp", {"seed": True}, "seed: found True"),
        ("exp", {"shape": (2, -3)}, r"shape: found \(2, -3\); allowed"),
        ("exp", {"shape": 7.5}, r"shape: found 7.5; allowed"),
        ("matmul", {"shape": (7,)}, "its inputs differ.*Give a shape for each"),
        ("matmul", {"shape": {"a": (2, 3)}}, "found shapes of a; it takes a, b, c"),
        ("matmul", {"shape": {"a": (2, 3), "b": (4, 3)}}, "no data for matmul.*operands have shapes"),
        ("cast", {}, "op cast: it needs more than tensors"),
        ("constant", {}, "needs more than tensors"),
        ("bitwise_and", {"format": "fp16"}, "bitwise_and: found fp16; allowed are i8 ... u64"),
        (3, {}, "found int; allowed are a name"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_is_said(target, given, says):
    with pytest.raises(PrecDiffError, match=f"(?s){says}"):
        data_cases(target, **given)


def test_a_users_kernel_and_its_options():
    @precdiff.kernel
    def scaled(x, *, by: float = 2.0):
        return x * by

    cases = by_name(scaled, classes="boundary", options={"by": 4.0}, format="fp16")
    assert 16384.0 in np.abs(values(cases["boundary-edge-overflow"])), "4 x overflows from 16384 on"
    with pytest.raises(PrecDiffError, match="unknown option of kernel scaled 'to'"):
        data_cases(scaled, options={"to": 1})


def test_all_formats_have_data():
    small = [f for f in FORMATS if get_format(f).is_float and f != "fp64"]
    assert all(data_cases("mul", format=f, shape=(16,)) for f in small)
    assert data_cases("mul", format="fp64", shape=(16,), classes="boundary")
