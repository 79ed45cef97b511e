"""Clean runs of every kernel in three formats, faults injected into them, and how a diagnosis is scored."""

from dataclasses import dataclass, field

import numpy as np

from precdiff import kernel, ops
from precdiff.diagnose.faults import faults
from precdiff.diagnose.proportion import Proportion
from precdiff.diagnose.reproduction import explain_device
from precdiff.kernels import KERNELS, run_kernel
from tests.kernels.examples import SMALL, arrays

#: longer reductions than SMALL's, and inputs at which the rarer faults bite
LONG = {
    "reduce_sum": {"x": "normal(0,1,shape=(6,300))"},
    "matmul": {"a": "normal(0,1,shape=(8,256))", "b": "normal(0,1,shape=(256,6))"},
    "softmax": {"x": "normal(0,2,shape=(4,200))"},
    "rmsnorm": {"x": "normal(0,300,shape=(4,128))", "gamma": "normal(1,0.1,shape=(128,))"},
    "layernorm": {
        "x": "normal(0,2,shape=(4,128))", "gamma": "normal(1,0.1,shape=(128,))", "beta": "normal(0,0.1,shape=(128,))",
    },
    "pow": {"x": "uniform(0.1,10,shape=(120,))", "y": "uniform(-4,4,shape=(120,))"},
}  # fmt: skip
FORMATS = ("fp16", "bf16", "fp32")


def _specs(name):
    """Short inputs of the kernel; a bad form takes those of the good one it is a form of, else its own examples."""
    own = max((known for known in SMALL if name.startswith(known)), key=len, default=name)
    return {**SMALL.get(own, KERNELS[name].examples), **LONG.get(own, {})}


@kernel(name="best_of")
def best_of(x):
    """Indices of the largest: where equal elements are common, their order shows."""
    return {"values": ops.topk(x, 4)[0], "indices": ops.topk(x, 4)[1], "best": ops.argmax(x)}


@kernel(name="tiny")
def tiny(x):
    """Results and operands near the end of the range."""
    return (x * x) * 3.0 + x * 0.25


def clean_runs(seed=0, formats=FORMATS, names=None):
    """Every built-in kernel on small inputs, and two more whose inputs make ties and subnormals."""
    found = []
    for name in names or KERNELS:
        for fmt in formats:
            inputs = arrays(name, _specs(name), fmt, seed)
            found.append(run_kernel(KERNELS[name], inputs, format=fmt, profile="ieee").trace)
    rng = np.random.default_rng(seed)
    for fmt in formats:
        found.append(run_kernel(best_of, {"x": rng.integers(0, 5, (6, 40)).astype(np.float32)}, format=fmt).trace)
        scale = {"fp16": 2.0**-9, "bf16": 2.0**-64, "fp32": 2.0**-64}[fmt]
        found.append(run_kernel(tiny, {"x": (rng.normal(size=200) * scale).astype(np.float32)}, format=fmt).trace)
    return found


@dataclass
class Score:
    """What came of a number of faults. `given`: the first finding's replay gives every known bit."""

    cases: int = 0
    located: int = 0
    named: int = 0
    given: int = 0
    replays: list = field(default_factory=list)
    confusion: dict = field(default_factory=dict)
    misses: list = field(default_factory=list)

    def add(self, fault, findings):
        first = findings[0] if findings else None
        cause = first.cause if first else "nothing"
        self.cases += 1
        self.located += first is not None and first.step == fault.step
        self.named += cause in fault.causes
        if first is not None:
            self.replays.append(first.evidence["replays"])
            self.given += first.counterfactual.reproduces_bits
        self.confusion[fault.kind, cause] = self.confusion.get((fault.kind, cause), 0) + 1
        if cause not in fault.causes or first.step != fault.step:
            self.misses.append((fault, first))

    def rate(self, what):
        """The Proportion of the cases that were `located`, `named` or `given`."""
        return Proportion(getattr(self, what), self.cases)

    def median(self):
        """Of the replays."""
        counts = sorted(self.replays) or [0]
        return counts[len(counts) // 2]

    def line(self):
        return f"located {self.rate('located')}, named {self.rate('named')}, replays median {self.median()}"


def joined(parts):
    """The Score of several cells together."""
    made = Score()
    for part in parts:
        made.cases, made.located, made.named = (
            made.cases + part.cases, made.located + part.located, made.named + part.named,
        )  # fmt: skip
        made.given, made.replays = made.given + part.given, made.replays + part.replays
    return made


def scored(count, seed, listed, full, runs=None, budget=float("inf")):
    """The Score of `count` faults; `full`: every step's tensor is known, else inputs and outputs only."""
    score, drawn = Score(), faults(runs or clean_runs(), np.random.default_rng(seed), listed)
    for _ in range(count):
        fault = next(drawn)
        known = [s.id for s in fault.clean.steps] if full else list(fault.clean.outputs.values())
        actual = {id: fault.faulty.values[id] for id in known}
        score.add(fault, explain_device(fault.clean, actual, budget))
    return score
