"""Which tensors of two dumps belong together: by name, by the framework's spelling, by structure, by shape."""

import numpy as np
import pytest

from precdiff.comparison.alignment import align
from tests.diagnose.recorded.memory import recorded


def array(*shape):
    return np.zeros(shape, np.float32)


def call(id, op, shape, made=None):
    return id, op, {"input.0": array(*shape)}, {"output.0": array(*(made or shape))}


def pairs(actual, expected, **stated):
    found = align(recorded(*actual), recorded(*expected), stated)
    return {k: v for k, v in found.pairs.items() if "output" in k}, found


def test_equal_names_are_paired():
    calls = [call(f"Functional.relu.{i}.forward", "Functional.relu", (2, i + 1)) for i in range(3)]
    found = pairs(calls, calls)[1]
    assert (set(found.how.values()), found.unmatched_actual, found.unmatched_expected) == ({"name"}, (), ())


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (("Mint.softmax.0.forward", "Mint.softmax"), ("Functional.softmax.0.forward", "Functional.softmax")),
        (("Tensor.__add__.4.forward", "Tensor.__add__"), ("Torch.add.2.forward", "Torch.add")),
        (("Tensor.__itruediv__.0.forward", "Tensor.__itruediv__"), ("Torch.div.0.forward", "Torch.div")),
        (("Module.module.head.Linear.forward.0", "Module.Linear"), ("Module.head.Linear.forward.0", "Module.Linear")),
        (("Cell.head.Dense.forward.0", "Cell.Dense"), ("Module.head.Linear.forward.0", "Module.Linear")),
    ],
    ids=["another library", "operator", "in place", "DDP", "MindSpore"],
)  # fmt: skip
def test_spellings_of_one_call(mine, theirs):
    layer = {"Module.module.head": "module/head", "Cell.head": "head", "Module.head": "head"}

    def dump(name):
        made = recorded(call(*name, (2, 3)))
        path = next((layer[k] for k in layer if name[0].startswith(f"{k}.")), "")
        object.__setattr__(made.steps[0], "layer", path)
        return made

    found = align(dump(mine), dump(theirs))
    assert found.pairs[f"{mine[0]}.output.0"] == f"{theirs[0]}.output.0"
    assert found.how[f"{mine[0]}.output.0"].startswith("rule: ")


def test_a_call_more_on_one_side_does_not_shift_the_others():
    """The actual side casts first; by number its calls would be paired one off."""
    shapes = [(2, 3), (4, 5), (6, 7)]
    expected = [call(f"Torch.exp.{i}.forward", "Torch.exp", s) for i, s in enumerate(shapes)]
    actual = [call(f"Torch.exp.{i}.forward", "Torch.exp", s) for i, s in enumerate([(9, 9), *shapes])]
    found, alignment = pairs(actual, expected)
    assert found == {f"Torch.exp.{i + 1}.forward.output.0": f"Torch.exp.{i}.forward.output.0" for i in range(3)}
    assert alignment.unmatched_actual == ("Torch.exp.0.forward.input.0", "Torch.exp.0.forward.output.0")


def test_between_paired_steps_the_same_shapes_are_the_same_step():
    def side(inner):
        return [
            call("Torch.exp.0.forward", "Torch.exp", (2, 3)), call(f"{inner}.0.forward", inner, (2, 3), (2, 8)),
            call("Torch.log.0.forward", "Torch.log", (2, 3)),
        ]  # fmt: skip

    found, alignment = pairs(side("NPU.npu_swiglu"), side("Torch.silu_and_mul"))
    assert found["NPU.npu_swiglu.0.forward.output.0"] == "Torch.silu_and_mul.0.forward.output.0"
    assert alignment.how["NPU.npu_swiglu.0.forward.output.0"] == "structure"


def test_nothing_is_paired_where_two_would_do():
    actual = [call(f"{op}.0.forward", op, (2, 3)) for op in ("NPU.a", "NPU.b")]
    expected = [call("Torch.c.0.forward", "Torch.c", (2, 3))]
    found, alignment = pairs(actual, expected)
    assert found == {}
    assert len(alignment.unmatched_actual) == 4
    assert len(alignment.unmatched_expected) == 2


def test_what_somebody_stated_comes_first():
    calls = [call(f"Torch.exp.{i}.forward", "Torch.exp", (2, 3)) for i in range(2)]
    one, two = (f"Torch.exp.{i}.forward.output.0" for i in range(2))
    found = align(recorded(*calls), recorded(*calls), {one: two})
    assert (found.pairs[one], found.how[one]) == (two, "map")
    assert two not in found.pairs  # its own partner is taken: it is listed
    assert found.unmatched_actual == (two,)
