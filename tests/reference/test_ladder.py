"""The ladder: who climbs, how far, what ends undecided, and that nothing is ever certified wrongly.

The truth is mpmath at 2,000 bits, computed here without PrecDiff where a formula is at hand.
"""

import mpmath
import numpy as np
import pytest

from precdiff import ops, reference
from precdiff.errors import UnknownNameError
from precdiff.formats import get_format
from precdiff.kernels import kernel, run_kernel
from precdiff.machine import MpMachine
from precdiff.machine.realarray import FINITE, NAN, POSITIVE_INFINITY, UNKNOWN
from precdiff.reference import ladder
from precdiff.trace import evaluate
from tests.machine.containment import failures


def trace_of(function, format=None, profile="ieee", **inputs):
    return run_kernel(kernel(function), inputs, format=format, profile=profile).trace


def output(trace, kind="total", **options):
    id = trace.outputs["out"]
    return getattr(reference, kind)(trace, [id], **options)[id]


def E(z):  # noqa: N802 - Kahan's names
    """(e^z - 1) / z, and 1 at 0."""
    zero = z == 0.0
    safe = ops.where(zero, 1.0, z)
    return ops.where(zero, 1.0, (ops.exp(safe) - 1.0) / safe)


def Q(x):  # noqa: N802
    """|x - sqrt(x^2 + 1)| - 1 / (x + sqrt(x^2 + 1)): exactly 0, and never so in arithmetic."""
    root = ops.sqrt(x * x + 1.0)
    return ops.abs_(x - root) - 1.0 / (x + root)


def H(x):  # noqa: N802
    """E(Q(x)^2) = 1 for every x; raising the precision until nothing changes gives 0."""
    q = Q(x)
    return E(q * q)


@pytest.mark.parametrize("fmt", ["fp16", "fp32", "fp64"])
def test_kahans_h_is_one_or_undecided_never_zero(fmt):
    found = output(trace_of(H, fmt, x=np.array([15.0, 16.0, 17.0, 9999.0])))
    assert found.status == "undecided"
    values = found.values
    at = values.kind == FINITE
    assert (np.abs(values.hi + values.lo - 1.0)[at] <= values.radius[at]).all()


def test_kahans_h_deceives_two_precisions():
    """What the backend `mpmath` gives is an estimate and says so: 200 and 400 bits agree on 0."""
    found = output(trace_of(H, "fp64", x=np.array([15.0, 16.0, 17.0, 9999.0])), backend="mpmath")
    assert found.status == "estimated"
    assert (found.values.hi == 0).any()


def test_e_of_small_arguments_is_certified():
    """The known bad form of (e^z - 1)/z cancels in every machine format, and is certified all the same."""
    z = np.float32([1e-20, -1e-10, 1e-3, 2.0])
    found = output(trace_of(E, z=z))
    assert found.status == "certified"
    truth = [float(mpmath.expm1(float(v)) / float(v)) for v in z]
    assert np.allclose(found.values.values(), truth, rtol=2.0**-30, atol=0)


#: kernels that cancel, each with the digits it loses and the exact result
CANCELLING = {
    "sqrt": (lambda x: ops.sqrt(x * x + 1.0) - x, lambda x: mpmath.sqrt(x * x + 1) - x),
    "product": (lambda x: (x + 1.0) * (x - 1.0) - (x * x - 1.0), lambda x: mpmath.mpf(0)),
    "log": (lambda x: ops.log(x + 1.0) - ops.log(x), lambda x: mpmath.log1p(1 / x)),
    "exp": (lambda x: ops.exp(1.0 / x) - 1.0, lambda x: mpmath.expm1(1 / x)),
    "tanh": (lambda x: 1.0 - ops.tanh(ops.log(x)), lambda x: 2 / (x * x + 1)),
}  # fmt: skip


@pytest.mark.parametrize("fmt", ["fp16", "fp32", "fp64"])
@pytest.mark.parametrize("name", CANCELLING)
def test_cancellation_climbs(name, fmt):
    function, exact = CANCELLING[name]
    x = np.array([2.0, 100.0, 2.0**10, 30000.0]) if fmt == "fp16" else np.array([2.0, 1e4, 2.0**40, 2.0**60])
    trace = trace_of(function, fmt, x=x)
    found = output(trace)
    assert found.status == "certified"
    if fmt != "fp16":
        assert found.backend in ("double-double", "ball")  # fp64's enclosure has lost all its digits
    with mpmath.workprec(2000):
        for hi, lo, radius, v in zip(found.values.hi, found.values.lo, found.values.radius, x, strict=True):
            truth = exact(mpmath.mpf(float(v)))
            assert abs(truth - mpmath.mpf(float(hi)) - mpmath.mpf(float(lo))) <= mpmath.mpf(float(radius)) * (
                1 + 2**-40
            )


@pytest.mark.parametrize("fmt", ["fp16", "bf16", "fp32", "fp64"])
@pytest.mark.parametrize("kind", ["total", "storage", "local"])
def test_a_certified_radius_moves_no_ulp_figure(fmt, kind):
    x = np.random.default_rng(0).uniform(0.1, 4, (4, 30))
    trace = trace_of(lambda x: ops.softplus(ops.cast(ops.log(x) * x, "fp32")) / ops.exp(ops.cast(x, "fp32")), fmt, x=x)
    for id, found in getattr(reference, kind)(trace).items():
        assert found.status == "certified"
        assert (found.values.radius_ulp(get_format(trace.formats[id])) <= 0.01).all()


@pytest.mark.parametrize(
    ("fmt", "backend"), [("fp16", "interval"), ("bf16", "interval"), ("fp32", "interval"), ("fp64", "double-double")]
)
def test_the_lowest_rung_that_knows_is_enough(fmt, backend):
    assert output(trace_of(lambda x: (x * x + 0.5) / x, fmt, x=np.array([0.7, 1.3, 2.9]))).backend == backend


def test_only_open_elements_climb(monkeypatch):
    """One element of 2,000 cancels: the balls see it alone, with its ancestors."""
    seen = []
    original = ladder.evaluate

    def spy(trace, machine, wanted):
        seen.append((machine.name, max(np.size(v) for v in trace.values.values())))
        return original(trace, machine, wanted)

    monkeypatch.setattr(ladder, "evaluate", spy)
    x = np.linspace(1, 2, 2000)
    x[77] = 2.0**45
    assert output(trace_of(lambda x: ops.log(x + 1.0) - ops.log(x), "fp32", x=x)).status == "certified"
    assert [size for name, size in seen if name == "interval"] == [2000]
    assert {size for name, size in seen if name in ("double-double", "ball")} == {1}


def test_elementwise_tensors_of_one_shape_climb_together(monkeypatch):
    counted = []
    original = ladder.evaluate
    monkeypatch.setattr(ladder, "evaluate", lambda *a: counted.append(a[1].name) or original(*a))

    def many(x):
        a = (ops.exp(x) - 1.0) - ops.expm1(x)
        b = ops.log(ops.exp(x)) - x
        return a + b + (x * 3.0 - (x + x + x))

    trace = trace_of(many, "fp32", x=np.r_[np.linspace(0.1, 1, 50), 0.0])
    reference.total(trace)
    assert counted.count("double-double") == 1
    assert counted.count("ball") <= len(ladder.BALL_BITS)


UNDECIDED = {
    "floor of an exact integer": (lambda x: ops.floor(ops.exp(ops.log(x))), np.float32([3.0, 5.0]), (2.0, 5.0)),
    "where on equal values": (
        lambda x: ops.where(ops.exp(ops.log(x)) < x, 0.0 * x - 7.0, 0.0 * x + 7.0), np.float32([3.0, 5.0]), (-7.0, 7.0)
    ),
    "a comparison of equals": (lambda x: ops.exp(ops.log(x)) <= x, np.float32([3.0, 5.0]), (0.0, 1.0)),
    "a pole that may be there": (lambda x: 1.0 / (ops.exp(ops.log(x)) - x), np.float32([3.0, 5.0]), None),
    "a root of what may be negative": (lambda x: ops.sqrt(ops.exp(ops.log(x)) - x), np.float32([3.0]), None),
    "0 times what may be infinite": (lambda x: 0.0 * ops.log(ops.exp(ops.log(x)) - x), np.float32([3.0]), None),
}  # fmt: skip


@pytest.mark.parametrize("name", UNDECIDED)
def test_what_no_precision_decides_ends(name):
    """It ends at the last rung, as the hull (or as unknown), and is counted."""
    function, x, hull = UNDECIDED[name]
    found = output(trace_of(function, x=x))
    assert (found.status, found.backend, found.bits) == ("undecided", "ball", ladder.BALL_BITS[-1])
    values = found.values
    if hull is None:
        assert (values.kind == UNKNOWN).all()
    else:
        assert (values.kind == FINITE).all()
        assert (values.hi - values.radius <= hull[0]).all() or name.startswith("floor")
        assert (values.hi + values.radius >= np.minimum(x, hull[1])).all()


def test_the_floor_of_an_exact_sum_of_integers_is_decided():
    found = output(
        trace_of(lambda x: ops.floor(ops.sum_(x, axis=-1) * 0.5), x=np.float32([[1.0, 2.0, 3.0], [1.0, 1.0, 5.0]]))
    )
    assert found.status == "certified"
    assert found.values.values().tolist() == [3.0, 3.0]


def test_specials_are_certified_not_enclosed():
    def special(x):
        return ops.log(x)

    found = output(trace_of(special, x=np.float32([0.0, -1.0, np.inf, np.nan, 1.0])))
    assert found.status == "certified"
    assert found.values.kind.tolist() == [2, NAN, POSITIVE_INFINITY, NAN, FINITE]


@pytest.mark.parametrize("fmt", ["fp16", "bf16", "fp32"])
def test_an_overflow_of_fp64_is_an_overflow_of_every_narrower_format(fmt):
    found = output(trace_of(lambda x: ops.exp(x) * ops.exp(x), fmt, x=np.array([500.0, 1.0])))
    assert found.status == "certified"
    assert found.values.kind.tolist() == [POSITIVE_INFINITY, FINITE]


def test_an_intermediate_overflow_of_fp64_is_seen_through():
    """e^800 / e^799 = e, though neither fits fp64."""
    found = output(trace_of(lambda x, y: ops.exp(x) / ops.exp(y), "fp32", x=np.array([800.0]), y=np.array([799.0])))
    assert found.status == "certified"
    assert abs(found.values.values()[0] - np.e) < 1e-15


class TestCasts:
    """storage keeps declared float casts, total ignores them, local sees one cast at a time."""

    def narrowed(self, x):
        return ops.cast(ops.cast(x, "fp16"), "fp32") * 3.0

    x = np.float32([1 + 2.0**-11 + 2.0**-20, 0.1])
    as_fp16 = np.float16(x).astype(np.float64)

    def test_total_ignores_them(self):
        assert (
            output(trace_of(self.narrowed, x=self.x)).values.values().tolist() == (3.0 * self.x.astype(float)).tolist()
        )

    def test_storage_keeps_them(self):
        found = output(trace_of(self.narrowed, x=self.x), "storage")
        assert found.values.values().tolist() == (3.0 * self.as_fp16).tolist()

    def test_the_local_error_of_a_cast_is_its_rounding(self):
        trace = trace_of(self.narrowed, x=self.x)
        found = reference.local(trace)
        assert found["cast"].values.values().tolist() == self.x.astype(float).tolist()
        assert found["cast#2"].values.values().tolist() == self.as_fp16.tolist()

    def test_a_mode_is_kept(self):
        trace = trace_of(lambda x: ops.cast(x, "fp16", mode="up"), x=self.x)
        up = np.float16([1 + 2.0**-10, np.nextafter(np.float16(0.1), np.float16(1))])
        assert self.x[1] > np.float16(0.1)
        assert output(trace, "storage").values.values().tolist() == up.astype(float).tolist()

    def test_a_cast_to_integers_is_a_function_and_kept(self):
        trace = trace_of(lambda x: ops.cast(x * 10.0, "i8"), x=np.float32([0.25, 0.349999, -13.0, np.nan]))
        for kind in ("total", "storage", "local"):
            found = output(trace, kind)
            assert (found.status, found.values.values().tolist()) == ("certified", [2.0, 3.0, -128.0, 0.0])


def test_an_exact_tie_at_a_storage_cast_goes_by_the_formats_rule():
    tie = np.float32([1 + 2.0**-11, 1 + 3 * 2.0**-11])
    found = output(trace_of(lambda x: ops.cast(x, "fp16"), x=tie), "storage")
    assert found.values.values().tolist() == [1.0, 1 + 2.0**-9]


def test_a_tie_no_precision_decides_ends_as_the_hull():
    near = lambda x: ops.cast(ops.exp(ops.log(x)), "fp16")  # noqa: E731
    found = output(trace_of(near, x=np.float32([1 + 2.0**-11])), "storage")
    assert found.status == "undecided"
    assert found.values.hi - found.values.radius <= 1.0 and found.values.hi + found.values.radius >= 1 + 2.0**-10


@pytest.mark.parametrize("backend", ["auto", "mpmath"])
def test_backends_agree(backend):
    trace = trace_of(lambda x: ops.softplus(x) * ops.tanh(x), "fp16", x=np.linspace(-6, 6, 40))
    found = reference.total(trace, backend=backend)
    truth = evaluate(trace, MpMachine(800))
    for id, made in found.items():
        assert failures(made.values, truth[id].planes[0]) == []
        assert made.status == ("certified" if backend == "auto" else "estimated")


def test_an_unknown_backend_names_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"unknown backend 'mpmth'. Did you mean 'mpmath'\?"):
        reference.total(trace_of(lambda x: x + 1.0, x=np.float32([1.0])), backend="mpmth")


def test_decimal_literals_are_exact_in_references():
    from precdiff.kernels.expression import expression_kernel

    trace = run_kernel(expression_kernel("x * 0.1"), {"x": np.float64(1.0)}, format="fp64").trace
    values = output(trace).values
    with mpmath.workprec(300):
        off = abs(mpmath.mpf(1) / 10 - mpmath.mpf(float(values.hi)) - mpmath.mpf(float(values.lo)))
        assert off <= mpmath.mpf(float(values.radius)) < 2.0**-100


def test_a_number_of_the_source_is_its_binary64_value():
    values = output(trace_of(lambda x: x * 0.1, x=np.float16([1.0]))).values
    assert (values.hi[0], values.lo[0], values.radius[0]) == (0.1, 0.0, 0.0)
