"""Every kernel and every op, in every format, of every class: there is data with golden outputs, or it is said why not.

What can be made is a fact of the op: of numbers with a fraction all but the ops on integers, and ops on tensors only.
"""

import json
import os

import numpy as np
import pytest

from precdiff.errors import PrecDiffError
from precdiff.formats import FORMATS, get_format
from precdiff.generate import data_cases, data_classes, write_cases
from precdiff.generate.subject import subject_of
from precdiff.generate.target import target_kernel
from precdiff.kernels import KERNELS
from precdiff.ops import OPS
from precdiff.ops.integers import IntegerOp

EXHAUSTIVE = os.environ.get("PRECDIFF_EXHAUSTIVE") == "1"
FLOATS = [name for name in FORMATS if get_format(name).is_float]
OTHERS = [name for name in FORMATS if name not in FLOATS]
#: of which a shape, a format, an index or a value is asked that is no tensor
NEED_MORE = """bitcast broadcast_to cast concatenate constant decide getitem reshape scatter_along unfold update
""".split()
ON_INTEGERS = [name for name, op in OPS.items() if isinstance(op, IntegerOp)]
#: of integers, those tried every time
FEW = ["add", "shift_left", "int8_matmul", "softmax", "where", "cast"]
TARGETS = sorted({*KERNELS, *OPS, "solve", "inv", "scatter_add", "mean", "softplus"})


def written(name, format, folder):
    """One case of every class as files: (classes, what is said where there are none)."""
    try:
        made = subject_of(target_kernel(name), get_format(format), None)
        cases = data_cases(made.kernel, format=format)
    except PrecDiffError as error:
        return [], str(error)
    first = {case.data_class: case for case in reversed(cases)}
    write_cases(folder, made, list(first.values())[: None if EXHAUSTIVE else 1])
    assert list(folder.glob("*/output/golden*.bin"))
    return sorted(first), ""


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("format", ["fp16", *(pytest.param(f, marks=pytest.mark.slow) for f in FLOATS if f != "fp16")])
def test_of_numbers_with_a_fraction_there_is_data(tmp_path, name, format):
    classes, said = written(name, format, tmp_path / "data")
    if name in NEED_MORE:
        assert said == f"op {name}: it needs more than tensors; write a kernel around it, and give that"
    elif name in ON_INTEGERS:
        assert f"{name}: found {format}; allowed are i8 ... u64" in said
    else:
        assert (classes, said) == (sorted(data_classes()), "")


@pytest.mark.parametrize("format", OTHERS)
@pytest.mark.parametrize(
    "name", [name if name in FEW else pytest.param(name, marks=pytest.mark.slow) for name in TARGETS]
)
def test_of_integers_there_is_data_or_it_is_said_why_not(tmp_path, name, format):
    classes, said = written(name, format, tmp_path / "data")
    if name in ON_INTEGERS and format != "bool":
        assert not said
    elif classes:
        assert {"typical", "boundary"} <= set(classes)
    else:
        assert said.startswith((f"no data for {name} in {format} with ", f"op {name}: ")) and "\n" not in said
    if name in NEED_MORE:
        assert said


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TARGETS if name not in (*NEED_MORE, *ON_INTEGERS)])
def test_every_case_has_golden_outputs_that_are_decided(tmp_path, name):
    made, cases = subject_of(target_kernel(name), get_format("fp16"), None), data_cases(name)
    for path in write_cases(tmp_path / "data", made, cases):
        outputs = json.loads((path / "case.json").read_text())["outputs"]
        assert [out["undecided"] for out in outputs.values()] == [0] * len(outputs), path.name


@pytest.mark.parametrize("op", ["take", "take_along", "scatter", "scatter_add"])
@pytest.mark.parametrize("format", ["fp16", "i32"])
def test_indices_are_integers_in_range_in_every_case(op, format):
    for case in data_cases(op, format=format):
        length = case.inputs["x"].shape[1 if op == "take_along" else 0]
        found = case.inputs["indices"]
        assert found.dtype == np.int32 and found.min() >= 0 and found.max() < length, case.name
