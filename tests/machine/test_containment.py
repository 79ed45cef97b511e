"""Interval, double-double and ball contain what mpmath computes, for every row and every kernel.

Rows on every combination of edges and on random operands of fp64, alone and with inexact operands (two rows one after
the other); kernels on their own examples and on unruly inputs, in every format. The emulated value of every step lies
within its a-priori bound. Everything here must hold for each element: a single miss is a defect.
"""

import itertools
import re

import mpmath
import numpy as np
import pytest

from precdiff import ops, reference
from precdiff.device import get_profile
from precdiff.formats import carrier, get_format
from precdiff.generate.inputs import input_array
from precdiff.kernels import KERNELS, run_kernel
from precdiff.machine import BallMachine, DoubleDoubleMachine, IntervalMachine, MpMachine
from precdiff.machine.realarray import FINITE, UNKNOWN
from precdiff.ops import OPS
from precdiff.trace import evaluate
from tests.machine.containment import failures, tensor
from tests.ops.points import ARITY, COMPARISONS, NUMERIC, edge_operands, random_operands

TRUTH, KERNEL_TRUTH = 1200, 500
REFERENCES = {
    "interval": IntervalMachine, "double-double": DoubleDoubleMachine, "ball": lambda: BallMachine(128),
    "coarse ball": lambda: BallMachine(64),
}  # fmt: skip


def apply(name, machine, arrays):
    return OPS[name](*(tensor(machine, a) for a in arrays))


def thinned(arrays, count, seed=0):
    """At most `count` of the tuples, seeded."""
    size = arrays[0].size
    chosen = np.sort(np.random.default_rng(seed).choice(size, min(count, size), replace=False))
    return [a[chosen] for a in arrays]


def row_operands(name):
    edges = thinned(edge_operands(name), 250, seed=ARITY[name])
    return [np.concatenate(p) for p in zip(edges, random_operands(name, 100, np.random.default_rng(5)), strict=True)]


TRUTHS = {}


def truth_of(name):
    if name not in TRUTHS:
        TRUTHS[name] = apply(name, MpMachine(TRUTH), row_operands(name)).planes[0]
    return TRUTHS[name]


@pytest.mark.parametrize("name", [*NUMERIC, *COMPARISONS])
@pytest.mark.parametrize("machine", REFERENCES)
def test_rows_at_points(machine, name):
    used = REFERENCES[machine]()
    found = used.reals(apply(name, used, row_operands(name)))
    assert failures(found, truth_of(name)) == []
    if machine.endswith("ball"):  # which know everything but what exceeds flint's exponents
        assert all(abs(mpmath.mag(v)) > 2**60 for v in truth_of(name)[found.kind == UNKNOWN])


#: (first row, second row): inexact operands of every kind reach every row
INNER = {
    "third": lambda x: x / 3.0, "cancelled": lambda x: (x + 1.0 / 3.0) - 1.0 / 3.0, "log": ops.log,
    "difference": lambda x: ops.sqrt(x * x) - ops.abs_(x), "huge": lambda x: x * 1e300 * 1e300,
    "exp": lambda x: ops.exp(ops.minimum(x, 1e3)),
}  # fmt: skip


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("name", [*NUMERIC, *COMPARISONS])
def test_rows_of_inexact_operands(name, inner):
    """One operand comes out of another op: intervals around 0 in divisions and logs, unbounded and unknown ones."""
    arrays = thinned(row_operands(name), 40, seed=len(inner))
    results = {}
    for machine in (MpMachine(TRUTH), *(make() for make in REFERENCES.values())):
        tensors = [tensor(machine, a) for a in arrays]
        result = OPS[name](INNER[inner](tensors[0]), *tensors[1:])
        results[machine] = result.planes[0] if machine.name == "mpmath" else machine.reals(result)
    truth, *found = results.values()
    for machine, values in zip(list(results)[1:], found, strict=True):
        assert failures(values, truth) == [], machine.name


def unruly(values, fmt, rng):
    """The same with zeros of both signs, ties, huge, tiny and special ones among them."""
    row = get_format(fmt)
    odd = [0.0, -0.0, 1.0, -1.0, 2.5, row.max_finite, -row.max_finite, row.min_subnormal, np.inf, -np.inf, np.nan]
    return np.where(rng.random(values.shape) < 0.1, rng.choice(odd, values.shape), values)


def inputs_of(kernel, fmt, kind):
    """The kernel's own examples with no axis longer than 6."""
    found = {}
    for name, spec in kernel.examples.items():
        shape = re.search(r"shape=\(([\d,]+)\)", spec)[1]
        small = ",".join(str(min(int(n), 6)) for n in shape.split(",") if n) + ","
        given = kernel.formats.get(name, fmt)
        values = carrier(input_array(name, spec.replace(shape, small), seed=1, format=given))
        if get_format(given).is_float:
            found[name] = unruly(values, fmt, np.random.default_rng(2)) if kind == "unruly" else values
        else:
            found[name] = values % 6  # an index into what has become that short
    return found


#: formats beside fp16, one for every kernel in turn; the variants of pow share most steps
TURNS = itertools.cycle(["bf16", "fp32", "fp64"])
POW = {"v1": "fp16 fp32 fp64", "v2": "fp16", "v3": "bf16", "v4": "fp16", "v5": "fp16 fp64"}


def kernel_runs():
    for name, kernel in KERNELS.items():
        for variant, formats in POW.items() if name == "pow" else [("", f"fp16 {next(TURNS)}")]:
            for fmt in formats.split():
                options = {"variant": variant} if variant else {}
                yield pytest.param(kernel, options, fmt, id="-".join([name, *options.values(), fmt]))


KERNEL_RUNS = list(kernel_runs())


@pytest.mark.parametrize(("kernel", "options", "fmt"), KERNEL_RUNS)
@pytest.mark.parametrize("kind", ["ordinary", "unruly"])
def test_kernels(kernel, options, fmt, kind):
    """Every step of every kernel, on every machine."""
    if kind == "ordinary" and fmt != "fp16":
        return
    trace = run_kernel(kernel, inputs_of(kernel, fmt, kind), format=fmt, options=options).trace
    for casts in ("ignored", "rounded") if any(s.op == "cast" for s in trace.steps) else ("ignored",):
        truth = evaluate(trace, MpMachine(KERNEL_TRUTH, casts))
        for machine in (IntervalMachine(casts), DoubleDoubleMachine(casts), BallMachine(128, casts)):
            found = evaluate(trace, machine)
            for step in trace.steps:
                assert failures(machine.reals(found[step.id]), truth[step.id].planes[0]) == [], (machine.name, step.id)


PROFILES = {name: get_profile(name) for name in ("ieee", "ieee-exact", "numpy-pairwise", "ascend-910b-sat")} | {
    "ascend-910b flushing": get_profile("ascend-910b").with_(subnormal_inputs="flush", subnormal_outputs="flush"),
    "ieee upwards": get_profile("ieee").with_(direction="up"),
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("kernel", "options", "fmt"), KERNEL_RUNS)
def test_emulated_steps_are_within_their_bound(kernel, options, fmt, profile):
    """|recorded - exact on recorded inputs| <= bound, for every step of every kernel on every device."""
    given = inputs_of(kernel, fmt, "unruly")
    trace = run_kernel(kernel, given, format=fmt, options=options, profile=PROFILES[profile]).trace
    exact = reference.local(trace)
    for step in trace.steps:
        real = exact[step.id].values
        recorded = np.asarray(trace.values[step.id], np.float64)
        with np.errstate(all="ignore"):
            error = np.abs((recorded - real.hi) - real.lo) - real.radius
        usable = (real.kind == FINITE) & np.isfinite(recorded)
        row = get_format(step.format)
        if row.is_float:  # what overflows, or saturates, is the comparison's business (its conventions)
            usable &= np.abs(real.hi) <= row.max_finite
        if step.op in ("sum", "matmul"):
            usable &= reference.terms(trace, step) <= reference.accumulator(trace, step).max_finite
        allowed = reference.bound(trace, step, real)
        beyond = usable & (error > allowed * (1 + 2.0**-40))
        assert not beyond.any(), (step.id, recorded[beyond][:3], real.hi[beyond][:3], allowed[beyond][:3])
