"""How many digits a step has: found by bisection whatever the number is, from what each imitation leaves."""

import numpy as np
import pytest

from precdiff import api
from precdiff.diagnose.departure import Imitated
from precdiff.diagnose.measuring import measured
from precdiff.diagnose.reproduction import explain_device
from precdiff.diagnose.rule import Digits, Imitation
from precdiff.formats import get_format
from precdiff.trace import Change, replay

ROW = Imitation("any", 1, "", lambda _: (), lambda _: "")
RNG = np.random.default_rng(41)


def rounded(values, p):
    """To p significand bits, ties to even: numpy's arithmetic only."""
    fraction, exponent = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(fraction, p)), exponent - p)


def imitating(device, values):
    """A trial of values in p digits against those of the device."""

    def trial(changes):
        made = rounded(values, changes["step"])
        left = float(np.sum((made - device) ** 2) / np.sum((values - device) ** 2))
        return Imitated(ROW, changes, int(np.count_nonzero(made != device)), left)

    return trial


@pytest.mark.parametrize("count", [6, 100])
@pytest.mark.parametrize("true", range(2, 24))
def test_every_number_of_digits_is_found(true, count):
    values = RNG.uniform(1, 2, count)
    found, replays = measured(Digits(lambda p: {"step": p}, 2, 23), imitating(rounded(values, true), values))
    assert found.changes == {"step": true} and found.differing == 0
    assert replays <= 5 + 12  # the bisection of 22, and six neighbours on either side


def test_what_no_number_of_digits_gives_ends_after_a_few_replays():
    values = RNG.uniform(1, 2, 100)
    found, replays = measured(Digits(lambda p: {"step": p}, 2, 23), imitating(values * 3, values))
    assert found.differing > 0 and found.left > 0.5 and replays <= 10


def test_an_imitation_that_cannot_be_made_is_no_candidate():
    found, replays = measured(Digits(lambda p: {"step": p}, 2, 5), lambda changes: None)
    assert found is None and replays <= 4


UNLISTED = [
    ("rmsnorm", "sum", Change("accumulator", "fp32@p15"), "intermediate_too_narrow"),
    ("rmsnorm", "sqrt", Change("approximation", "fp32@p6"), "intermediate_too_narrow"),
    ("rmsnorm", "div#2", Change("format", "fp32@p9"), "intermediate_too_narrow"),
    ("rmsnorm", "cast#3", Change("cast", {"through": ["fp32@p13"]}), "wrong_rounding_cast"),
    ("rmsnorm", "constant#2", Change("constant", 9.98377799987793e-06), "constant_truncated"),
]


@pytest.mark.parametrize(("name", "step", "change", "cause"), UNLISTED, ids=[f"{n}-{s}" for n, s, *_ in UNLISTED])
@pytest.mark.parametrize("full", [True, False], ids=["full", "outputs"])
def test_digits_that_nobody_lists_are_measured(name, step, change, cause, full):
    rng = np.random.default_rng(42)
    x, gamma = (v.astype(np.float16) for v in (rng.normal(0, 0.003, (6, 64)), rng.normal(1, 0.1, 64)))
    declared = api.run(name, inputs={"x": x, "gamma": gamma}).trace
    assert declared.step(step).op == step.split("#")[0] and get_format(declared.formats[step]).p >= 11
    device = replay(declared, {step: change})
    known = [s.id for s in declared.steps] if full else list(declared.outputs.values())
    first = explain_device(declared, {id: device.values[id] for id in known})[0]
    assert (first.cause, first.standing, first.step) == (cause, "verified", step)
    assert first.counterfactual.reproduces_bits
