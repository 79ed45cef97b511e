"""Where tensors come from: by equal bits, casts, sums of gradients, parts; and not where one element is another."""

import ml_dtypes
import numpy as np
import pytest

from precdiff.diagnose.recorded.contents import Contents
from precdiff.diagnose.recorded.origins import Origin, origins
from tests.diagnose.recorded.memory import recorded

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 16)).astype(np.float32)


def one_later(value, *made, phase="forward"):
    """The origin of the input of a second call, after one that made `made`."""
    outputs = {f"output.{i}": m for i, m in enumerate(made)}
    first = (f"Functional.f.0.{phase}", "Functional.unheard_of", {}, outputs)
    second = (f"Functional.g.0.{phase}", "Functional.unheard_of", {"input.0": value}, {})
    return origins(Contents(recorded(first, second))).get(f"Functional.g.0.{phase}.input.0")


A, B, C = (RNG.normal(size=(4, 16)).astype(np.float32) for _ in range(3))


@pytest.mark.parametrize(
    ("value", "made", "phase", "kind"),
    [
        (X, [X], "forward", "same"),
        (X.reshape(64), [X], "forward", "same"),
        (X.astype(ml_dtypes.bfloat16), [X], "forward", "cast"),
        (X.T.copy(), [X], "forward", "parts"),
        (X[1:3, 4:12].copy(), [X], "forward", "parts"),
        (A + B, [A, B], "backward", "sum"),
        ((A + B) + C, [A, B, C], "backward", "sum"),
        (A + B, [A, B], "forward", None),
        (np.nextafter(X, np.float32(9)), [X], "forward", None),
        (np.where(np.arange(16) == 3, X + 1, X), [X], "forward", None),
    ],
    ids=["same", "view", "cast", "transposed", "slice", "sum of two", "sum of three", "sums are autograd's",
         "an ulp off", "one column off"],
)  # fmt: skip
def test_origin(value, made, phase, kind):
    found = one_later(value, *made, phase=phase)
    assert (found.kind if found else None) == kind


def test_the_latest_is_taken():
    calls = [(f"Functional.f.{i}.forward", "Functional.unheard_of", {}, {"output.0": X}) for i in range(3)]
    found = origins(Contents(recorded(*calls)))
    assert found["Functional.f.2.forward.output.0"] == Origin("same", ("Functional.f.1.forward.output.0",))


def test_one_number_is_no_evidence():
    assert one_later(np.float32([2.0]), np.float32([2.0])) is None


def test_parts_of_few_values_are_no_evidence():
    ones = np.ones((4, 4), np.float32)
    assert one_later(ones[:2].copy(), ones) is None
