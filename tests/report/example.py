"""A report like the real ones: pow(x, y) = exp(y log x) in fp16, each step rounded once, compared, explained by hand.

numpy computes in fp64 and rounds to fp16; fp64 is 42 bits finer, so its own error does not show.
"""

from dataclasses import replace

import numpy as np

from precdiff.comparison import Expected, Identity, Limits, ReferenceInfo, compare_tensor
from precdiff.diagnose.finding import Counterfactual, Finding
from precdiff.report import Report

LIMIT = 4.0
INFO = ReferenceInfo("interval", 53, "certified", 0.0, 32)
SOURCE = {"log": "kernels/pow.py:12", "mul": "kernels/pow.py:12", "exp": "kernels/pow.py:13"}


def fp16(x):
    return np.asarray(x).astype(np.float16).astype(np.float32)


def reals(x, measures):
    zeros = np.zeros(x.shape)
    return Expected(x.astype(np.float64), zeros, zeros, zeros.astype(np.uint8), info=INFO, measures=measures)


def inputs():
    rng = np.random.default_rng(20261130)
    return fp16(rng.uniform(0.8, 1.25, (8, 64))), fp16(rng.uniform(1, 40, (8, 64)))


def steps(rounded=fp16):
    """The steps of the kernel: name, what it gave, and its op exactly on what it was given."""
    x, y = (array.astype(np.float64) for array in inputs())
    log = rounded(np.log(x))
    mul = rounded(y * log)
    exp = fp16(np.exp(mul.astype(np.float64)))
    exact = (np.log(x), y * log.astype(np.float64), np.exp(mul.astype(np.float64)))
    return tuple(zip(("log", "mul", "exp"), (log, mul, exp), exact, strict=True))


def truth():
    x, y = (array.astype(np.float64) for array in inputs())
    return np.power(x, y)


def rms(actual):
    expected = truth()
    ulps = (actual - expected) / np.spacing(np.abs(expected).astype(np.float16)).astype(np.float64)
    return float(np.sqrt(np.mean(ulps**2)))


def step_row(name, values, exact):
    identity = Identity(name, name, layer="pow", op=name, source=SOURCE[name], role="intermediate")
    return compare_tensor(values, reals(exact, "local"), "fp16", "auto", Limits(bound=0.5), identity).row


def finding():
    before, after = rms(steps()[-1][1]), rms(steps(rounded=np.asarray)[-1][1])
    floor = rms(fp16(truth()))
    change = {"kind": "format", "value": "fp32", "steps": ["log", "mul"], "exit": "wide"}
    factor = before / after
    return Finding(
        id="f1",
        cause="error_amplification",
        standing="verified",
        step="exp",
        source=SOURCE["exp"],
        layer="pow",
        region=("log", "mul", "exp"),
        born_at=("log", "mul"),
        chain=("log", "mul", "exp"),
        share=0.975,
        statistic="rms_ulp",
        limit=LIMIT,
        group="finite",
        elements=301,
        evidence={"condition number": 8.9, "rejected": [{"cause": "cancellation", "error_after": before}]},
        counterfactual=Counterfactual(change, before, after, floor, factor, False),
        remedy="keep log(x) and y * log(x) in fp32",
        also=("intermediate_too_narrow",),
    )


def report():
    values = steps()[-1][1]
    identity = Identity("exp", "out", layer="pow", op="exp", source=SOURCE["exp"], role="output")
    output = compare_tensor(values, reals(truth(), "total"), "fp16", "auto", Limits(max_ulp=LIMIT), identity).row
    rows = [*(step_row(*step) for step in steps()), output]
    inherited = replace(rows[2], errors=replace(rows[2].errors, inherited=output.max_ulp))
    return Report.of(
        [*rows[:2], inherited, output],
        actual="pow.h5",
        expected="reference",
        first_divergence="log",
        envelope=[{"profile": "ieee", "verdict": "fail"}, {"profile": "ieee-exact", "verdict": "fail"}],
        findings=(finding(),),
        provenance={"kernel": "pow", "profile": "ieee", "seed": 20261130},
    )
