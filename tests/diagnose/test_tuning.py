"""tune: sets are 1-minimal, and up to 16 steps the smallest there are, checked by trying every set."""

import itertools

import pytest

from precdiff.diagnose.judgement import Judgement
from precdiff.diagnose.settings import Settings
from precdiff.diagnose.tuning import candidates, operations, tune
from precdiff.kernels import KERNELS, run_kernel
from precdiff.trace import Change, replay
from tests.kernels.examples import SMALL, arrays

#: kernels in fp16 and a limit their fp16 form misses
CASES = {
    "softmax": 1, "softmax_naive": 1, "layernorm": 2, "layernorm_one_pass": 4, "gelu_naive": 4, "gelu_tanh_naive": 4,
    "silu_naive": 1, "sigmoid_naive": 1, "logsumexp": 0.6, "logsumexp_naive": 0.6, "log_softmax_naive": 2,
    "rmsnorm_naive": 1, "cross_entropy_naive": 1, "attention_naive": 2, "adam_step_naive": 2, "pow": 2,
    "reduce_sum": 0.6, "matmul": 0.6, "rope_bf16_table": 2, "gelu": 0.5, "silu": 0.5,
}  # fmt: skip


def small(name):
    twin = name.replace("_naive", "").replace("_one_pass", "").replace("_bf16_table", "")
    if name == "pow":
        return {"x": "uniform(0.1,10,shape=(40,))", "y": "uniform(-4,4,shape=(40,))"}
    return SMALL[twin]


def judged(name, limit, cache={}):  # noqa: B006 - one run a kernel
    if name not in cache:
        made = run_kernel(KERNELS[name], arrays(name, small(name), "fp16"), format="fp16")
        cache[name] = made.trace, Judgement(made.trace, made.kernel, Settings(max_ulp=limit))
    return cache[name]


def holds(trace, judgement, steps):
    return judgement.judged(replay(trace, {s: Change("format", "fp32", "wide") for s in steps}) if steps else trace)[1]


@pytest.mark.parametrize(("name", "limit"), CASES.items())
def test_no_step_may_be_left_out(name, limit):
    trace, judgement = judged(name, limit)
    found = tune(trace, judgement.judged, budget=20)
    if found.best is None:
        assert not holds(trace, judgement, candidates(trace, "fp32"))
        return
    assert holds(trace, judgement, found.best.steps)
    for step in found.best.steps:
        assert not holds(trace, judgement, [s for s in found.best.steps if s != step]), step


@pytest.mark.parametrize("name", ["softmax", "logsumexp", "silu_naive", "reduce_sum", "sigmoid_naive", "softmax_naive"])
def test_no_smaller_set_would_do(name):
    """Every set of the candidates, by brute force."""
    trace, judgement = judged(name, CASES[name])
    found = tune(trace, judgement.judged)
    every = candidates(trace, "fp32")
    assert len(every) <= 16 and found.minimum
    sizes = range(len(every) + 1)
    holding = (n for n in sizes for steps in itertools.combinations(every, n) if holds(trace, judgement, steps))
    assert next(holding, None) == (None if found.best is None else len(found.best.steps))


def test_the_front_falls_and_counts_operations():
    trace, judgement = judged("softmax", 1)
    found = tune(trace, judgement.judged)
    errors = [trial.error for trial in found.pareto]
    assert errors == sorted(errors, reverse=True) and len(errors) >= 3
    counts = operations(trace, found.best.steps, "fp32")
    assert sum(counts.values()) == sum(trace.values[s.id].size for s in trace.steps if s.inputs)
    assert counts["fp32"] == sum(trace.values[s].size for s in found.best.steps)


def test_a_spent_budget_proves_nothing():
    trace, judgement = judged("layernorm_one_pass", 4)
    assert not tune(trace, judgement.judged, budget=0).minimum
