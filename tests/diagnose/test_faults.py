"""Injected faults are what they say: one step departs, the step that was changed, and the outputs show it."""

import numpy as np
import pytest

from precdiff.diagnose.deviation import deviation
from precdiff.diagnose.faults import KINDS, faults, inject
from precdiff.diagnose.rule import RULES
from precdiff.formats import to_bits
from precdiff.kernels import KERNELS
from tests.diagnose.injected import FORMATS, clean_runs

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what faults make of numbers
#: faults that have no parameter another device could choose otherwise
FIXED = ("fma contraction", "ties away", "unstable tie")


@pytest.fixture(scope="module")
def runs():
    return clean_runs(3)


def drawn(kind, runs, listed):
    rng = np.random.default_rng(5)
    made = (inject(runs[int(i)], kind, rng, listed) for i in rng.permutation(len(runs)))
    return next((fault for fault in made if fault is not None), None)


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "unlisted"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_one_step_departs_and_the_outputs_show_it(kind, listed, runs):
    fault = drawn(kind, runs, listed)
    if kind.name in FIXED and not listed:
        assert fault is None
        return
    assert [s.id for s in fault.faulty.steps if deviation(fault.faulty, s) is not None] == [fault.step]
    one, other = fault.clean, fault.faulty
    assert any((to_bits(one.values[o], one.formats[o]) != to_bits(other.values[o], one.formats[o])).any()
               for o in one.outputs.values())  # fmt: skip
    assert set(fault.causes) <= {*RULES}


def test_every_kernel_and_format_is_run(runs):
    assert {run.kernel for run in runs} >= {*KERNELS}
    assert len(runs) == len(FORMATS) * (len(list(KERNELS)) + 2)


def test_the_seed_decides(runs):
    one, other = (next(faults(runs, np.random.default_rng(11))) for _ in range(2))
    assert (one.kind, one.step, one.changes) == (other.kind, other.step, other.changes)
