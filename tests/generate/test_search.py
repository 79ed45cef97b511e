"""The adversarial search: what can be tried out is tried out, the rest climbs higher than many more random points."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import precdiff
from precdiff import ops
from precdiff.errors import PrecDiffError
from precdiff.formats import carrier, from_ordinal, get_format, native, ordinal
from precdiff.generate import hunt, hunted_cases
from precdiff.generate.mutation import Space, children
from precdiff.generate.scoring import scorer_of, typical_points
from precdiff.generate.subject import subject_of
from precdiff.generate.target import target_kernel
from precdiff.kernels import kernel
from precdiff.ops import OPS, Elementwise

_script = importlib.util.spec_from_file_location("adversarial", Path(__file__).parents[2] / "benchmarks/adversarial.py")
adversarial = importlib.util.module_from_spec(_script)
_script.loader.exec_module(adversarial)

#: of one input, so that all 2^16 can be tried: those tried every time, and all of the ops' table
FEW = ["silu_naive", "sigmoid_naive", "gelu_naive", "gelu_tanh_naive", "exp", "tanh", "log", "rsqrt", "erfc", "sin"]
UNARY = [
    name for name, op in OPS.items()
    if isinstance(op, Elementwise) and not op.result and list(target_kernel(name).inputs) == ["x"]
]  # fmt: skip


def exhaustive_maximum(name, format):
    """By the certified reference on all finite codes whose result is finite."""
    row = get_format(format)
    last = int(ordinal(row.max_finite, row))
    x = native(from_ordinal(np.arange(-last, last + 1), row), row)
    out = precdiff.run(target_kernel(name), inputs={"x": x}, format=format).outputs["out"]
    run = precdiff.run(target_kernel(name), inputs={"x": x[np.isfinite(out.astype(np.float64))]}, format=format)
    (tensor,) = [tensor for tensor in precdiff.compare(run).tensors if tensor.role == "output"]
    return tensor.max_ulp


@pytest.mark.parametrize(
    ("name", "format"),
    [pytest.param(n, f, marks=() if n in FEW and f == "fp16" else pytest.mark.slow)
     for n in {**dict.fromkeys(FEW), **dict.fromkeys(UNARY)} for f in ("fp16", "bf16")],
)  # fmt: skip
def test_of_a_16_bit_format_the_maximum_is_found(name, format):
    found = hunt(name, format=format)
    assert found.exhaustive and found.evaluations <= 2**16
    assert found.max_ulp == pytest.approx(exhaustive_maximum(name, format), rel=1e-9)


@kernel
def log_of_one_plus(x):
    return ops.log(x + 1.0)


def random_maximum(target, format, shape, count):
    subject = subject_of(target_kernel(target), get_format(format), shape, seed=1)
    scorer = scorer_of(subject)
    space, rng = Space(scorer.shapes, subject.formats), np.random.default_rng(2)
    bits, drawn = space.values(space.random(count // 2, rng)), typical_points(subject, scorer.shapes, count // 2, "r")
    return float(scorer({n: np.concatenate([bits[n], drawn[n]]) for n in bits}).ulp.max())


@pytest.mark.parametrize(
    ("target", "format", "shape"),
    [("pow", "fp16", (64,)), ("softmax_naive", "fp16", (8, 8)), ("layernorm_one_pass", "fp16", (8, 8)),
     (log_of_one_plus, "fp32", (64,))],
)  # fmt: skip
@pytest.mark.parametrize("seed", [0, 1])
def test_it_climbs_higher_than_twenty_times_as_many_random_points(target, format, shape, seed):
    found = hunt(target, format=format, shape=shape, evaluations=5_000, seed=seed)
    assert found.evaluations <= 5_000 and not found.exhaustive
    assert found.max_ulp >= random_maximum(target, format, shape, 100_000)


@pytest.mark.slow
@pytest.mark.parametrize("case", adversarial.CASES, ids=["pow", "softmax_naive", "layernorm_one_pass", "log(1+x)"])
def test_it_climbs_as_high_as_ten_million_random_points(case):
    target, format, shape = case
    found = hunt(target, format=format, shape=shape, evaluations=500_000)
    assert found.evaluations <= 500_000
    assert found.max_ulp >= adversarial.random_worst(target, format, shape, 10_000_000)


def test_the_same_seed_gives_the_same_answer():
    one, two = (hunt("pow", evaluations=2000, seed=3) for _ in range(2))
    assert all(one.worst[n].tobytes() == two.worst[n].tobytes() for n in ("x", "y")) and (one.ulp == two.ulp).all()


def test_its_errors_are_those_compare_measures():
    found = hunt("pow", evaluations=3000)
    run = precdiff.run("pow", inputs=dict(found.worst))
    row = precdiff.compare(run).tensors[-1]
    assert row.max_ulp == pytest.approx(found.max_ulp) and len(found.ulp) > 8
    assert (np.diff(found.ulp) <= 0).all()


def test_wrong_infinities_are_told_apart():
    found = hunt("softmax_naive", evaluations=3000, shape=(8, 8))
    assert 0 < found.nonfinite_count <= 3000 and np.isfinite(found.ulp).all()
    run = precdiff.run("softmax_naive", inputs=dict(found.nonfinite))
    assert not np.isfinite(run.outputs["out"].astype(float)).all(axis=-1).any()
    names = [case.name for case in hunted_cases(found)]
    assert names == ["adversarial-worst", "adversarial-nonfinite"]


def test_rows_that_touch_one_another_are_tried_one_at_a_time():
    found = hunt("cross_entropy_naive", evaluations=300)
    assert not found.together and found.evaluations <= 300
    assert all(case.inputs["target"].dtype.kind == "i" for case in hunted_cases(found))


def test_children_are_finite_numbers_of_the_format():
    space = Space({"x": (4,)}, {"x": get_format("fp16")})
    rng = np.random.default_rng(1)
    made = space.values(children(space, space.random(100, rng), 5000, rng))["x"]
    assert made.shape == (5000, 4) and np.isfinite(made.astype(float)).all()
    assert len(np.unique(ordinal(carrier(made), get_format("fp16")))) > 1000


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"evaluations": 0}, "evaluations: found 0; allowed is a whole number of at least 1"),
        ({"evaluations": 2.5}, "evaluations: found 2.5"), ({"seconds": float("nan")}, "seconds: found nan"),
        ({"seconds": -1}, "seconds: found -1; allowed is a finite number above 0"),
        ({"format": "i8"}, "hunt: found the format i8; allowed are float formats"),
    ],
)  # fmt: skip
def test_what_cannot_be_hunted_is_said(how, says):
    with pytest.raises(PrecDiffError, match=says):
        hunt("exp", **how)
