"""log_pair: ln x as hi + lo in fp32, a few bits better than log; what it leaves to log."""

import mpmath
import numpy as np
import pytest

from precdiff.kernels import kernel, run_kernel
from precdiff.kernels.log_pair import log_pair
from precdiff.machine import BallMachine
from precdiff.trace import evaluate


@kernel
def own(x):
    return log_pair(x)


def pair(x):
    found = run_kernel(own, {"x": np.asarray(x, np.float32)}).trace
    return (
        found,
        found.values[found.outputs["out0"]].astype(np.float64),
        found.values[found.outputs["out1"]].astype(np.float64),
    )


def relative_errors(x):
    _, hi, lo = pair(x)
    with mpmath.workprec(150):
        exact = [mpmath.log(mpmath.mpf(float(v))) for v in np.asarray(x, np.float32)]
        return np.array([
            float(abs(e - mpmath.mpf(h) - mpmath.mpf(t)) / abs(e)) if e else abs(h + t)
            for e, h, t in zip(exact, hi.tolist(), lo.tolist(), strict=True)
        ])  # fmt: skip


RNG = np.random.default_rng(0)
POINTS = {
    "around 1": 1 + RNG.uniform(-0.3, 0.4, 2000),
    "close to 1": 1 + RNG.choice([-1, 1], 2000) * np.exp2(RNG.uniform(-23, -2, 2000)),
    "all sizes": np.exp2(RNG.uniform(-119, 119, 2000)),
    "powers of two": np.exp2(np.arange(-119.0, 120.0)),
    "eighths and their middles": np.arange(10, 25) / 16,
    "ends of the reduced range": np.array([0.5**0.5, 2**0.5, 0.70711, 0.7071, 1.41421, 1.41422]),
}


@pytest.mark.parametrize("name", POINTS)
def test_the_pair_is_three_bits_better_than_log(name):
    """fp32's own log is off by 2^-24 of its value; here the rounding of r^2/2, r up to 1/10, is what is left."""
    worst = float(np.max(relative_errors(POINTS[name])))
    print(f"log_pair, {name}: worst relative error 2^{np.log2(worst) if worst else -np.inf:.1f}")
    assert worst < 2.0**-27.5


@pytest.mark.parametrize("name", POINTS)
def test_the_pair_is_normalised(name):
    """hi is ln x to fp32's last bit or the one beside it, lo below half of that."""
    _, hi, lo = pair(POINTS[name])
    assert (np.abs(lo) <= np.spacing(np.abs(hi).astype(np.float32)).astype(np.float64)).all()


@pytest.mark.parametrize(
    ("x", "hi"),
    [(0.0, -np.inf), (-0.0, -np.inf), (-1.0, np.nan), (np.inf, np.inf), (np.nan, np.nan), (1.0, 0.0)],
)
def test_special_values_are_logs(x, hi):
    _, high, low = pair([x])
    np.testing.assert_equal(high[0], hi)
    assert low[0] == 0.0


@pytest.mark.parametrize("x", [2.0**-125, 2.0**-149, 2.0**121, 3e38])
def test_beyond_its_range_it_is_log(x):
    _, high, low = pair([x])
    assert high[0] == pytest.approx(np.log(np.float32(x).astype(np.float64)), rel=2.0**-24)
    assert low[0] == 0.0


def test_in_exact_arithmetic_the_pair_misses_ln_by_its_constants_only():
    """The same source on balls: series and split constants."""
    x = np.array([0.3, 0.9, 1.1, 7.7])
    trace, *_ = pair(x)
    machine = BallMachine(200)
    found = evaluate(trace, machine, [trace.outputs["out0"], trace.outputs["out1"]])
    total = sum(machine.reals(found[trace.outputs[f"out{i}"]]).values() for i in (0, 1))
    assert np.abs(total / np.log(x.astype(np.float32).astype(np.float64)) - 1).max() < 2.0**-33
