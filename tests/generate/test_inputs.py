"""Inputs of a command line: numbers, SPECs and files, each from its own stream."""

import numpy as np
import pytest

from precdiff.errors import PrecDiffError
from precdiff.generate import input_array


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_an_input_does_not_depend_on_the_others():
    one = input_array("x", "uniform(0, 1, shape=(9,))", seed=3, format="fp32")
    assert one.tolist() == input_array("x", "uniform(0, 1, shape=(9,))", seed=3, format="fp32").tolist()
    assert one.tolist() != input_array("y", "uniform(0, 1, shape=(9,))", seed=3, format="fp32").tolist()


def test_numbers_and_specs_take_the_format_and_files_keep_theirs():
    np.save("x.npy", np.float32([0.1]))
    assert input_array("x", "0.1", seed=0, format="bf16").dtype.name == "bfloat16"
    assert input_array("x", "x.npy", seed=0, format="bf16").dtype.name == "float32"


def test_a_file_may_be_called_like_a_call():
    np.save("data(1).npy", np.float32([0.5]))
    assert input_array("x", "data(1).npy", seed=0, format="fp16").tolist() == [0.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("special", r"input x: there is no file 'special'. For the generator write special\("),
        ("nothing.npy", r"input x: nothing.npy: there is no file"),
        ("unifrom(0,1)", r"input x: SPEC 'unifrom\(0,1\)': unknown generator"),
        ("x.bin:fp61:3", "input x: unknown format 'fp61'"),
        ("uniform(" + "0" * 900, "input x: SPEC"),
    ],
)
def test_errors_name_the_input(text, message):
    with pytest.raises(PrecDiffError, match=message):
        input_array("x", text, seed=0, format="fp16")
