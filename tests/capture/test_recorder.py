"""The Recorder: what comes back is what was recorded, bit for bit, whatever ended the program."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import ml_dtypes
import numpy as np
import pytest

from precdiff import api
from precdiff.capture import Recorder
from precdiff.dump import open_dump
from precdiff.errors import PrecDiffError

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
W = np.linspace(0.1, 1.7, 8, dtype=np.float32).reshape(2, 4)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.int32, np.bool_])
def test_tensors_come_back(tmp_path, dtype):
    x = X.astype(dtype)
    with Recorder(tmp_path / "run.h5") as rec:
        rec.record("encoder/layer 0/out", x)
    with open_dump(tmp_path / "run.h5") as dump:
        assert dump.complete
        back = dump.native("encoder/layer 0/out")
        assert (back.dtype, back.tobytes()) == (x.dtype, x.tobytes())
        assert dump.tensors["encoder/layer 0/out"].layer == "encoder/layer 0"


def test_a_tensor_is_kept_as_it_was(tmp_path):
    x = X.copy()
    with Recorder(tmp_path / "run.h5") as rec:
        rec.record("x", x)
        x += 1
        rec.record("x", x)
    with open_dump(tmp_path / "run.h5") as dump:
        np.testing.assert_array_equal(dump.native("x"), X)
        np.testing.assert_array_equal(dump.native("x.1"), X + 1)


def test_a_run_stands_in_a_larger_one(tmp_path):
    with Recorder(tmp_path / "run.h5", iteration=3, rank=1) as rec:
        rec.record("x", X)
    with open_dump(tmp_path / "run.h5") as dump:
        assert (dump.attrs.iteration, dump.attrs.rank) == (3, 1)


def linear(folder, y):
    with Recorder(folder / "run.h5") as rec:
        rec.call("Functional.linear", {"input.0": X, "input.1": W}, {"output.0": y}, layer="head")
    return api.compare(folder / "run.h5")


def test_calls_are_judged_by_their_own_inputs(tmp_path):
    right = (X.astype(np.float64) @ W.T.astype(np.float64)).astype(np.float32)
    assert linear(tmp_path, right).verdict == "pass"
    wrong = right.copy()
    wrong[1, 1] *= 1.001
    report = linear(tmp_path, wrong)
    assert (report.verdict, report.first_divergence) == ("fail", "Functional.linear.0.forward.output.0")
    assert report.tensors[0].worst[0].index == (1, 1)


def test_lists_and_plain_values(tmp_path):
    with Recorder(tmp_path / "run.h5") as rec:
        rec.call("Torch.cat", {"input.0": [X, X], "kwargs.dim": 1}, {"output.0": np.concatenate([X, X], 1)})
        rec.call("Tensor.view", {"input.0": X, "input.1": (2, 6)}, {"output.0": X.reshape(2, 6)})
    report = api.compare(tmp_path / "run.h5")
    assert [(t.id, t.verdict) for t in report.tensors] == [
        ("Torch.cat.0.forward.output.0", "pass"), ("Tensor.view.0.forward.output.0", "pass"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("tensor", "said"),
    [(object(), "gives no array"), (np.complex64([1j]), "complex"), (np.array(["a"]), "no array of numbers")],
    ids=["object", "complex", "text"],
)
def test_what_is_no_tensor_is_refused_and_costs_nothing(tmp_path, tensor, said):
    with Recorder(tmp_path / "run.h5") as rec:
        rec.record("x", X)
        with pytest.raises((PrecDiffError, TypeError), match=said):
            rec.record("y", tensor)
    with open_dump(tmp_path / "run.h5") as dump:
        assert (dump.complete, list(dump.tensors)) == (True, ["x"])


def test_a_name_is_text(tmp_path):
    with Recorder(tmp_path / "run.h5") as rec, pytest.raises(PrecDiffError, match="allowed is text"):
        rec.record("", X)


def test_an_error_in_the_program_leaves_what_was_recorded(tmp_path):
    with pytest.raises(ZeroDivisionError), Recorder(tmp_path / "run.h5") as rec:  # noqa: PT012 - a program that fails
        rec.record("x", X)
        raise ZeroDivisionError
    with open_dump(tmp_path / "run.h5") as dump:
        assert (dump.complete, list(dump.tensors)) == (False, ["x"])


PROGRAM = """
    import sys
    import numpy as np
    from precdiff.capture import Recorder
    with Recorder(sys.argv[1], ) as rec:
        for i in range(10**6):
            rec.record(f"x{i}", np.full(1000, i, np.float32))
            if i == 200:
                rec.flush()
                print("flushed", flush=True)
"""


def test_a_killed_program_loses_nothing_that_was_flushed(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), str(tmp_path / "run.h5")], stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout.readline() == "flushed\n"
        time.sleep(0.05)
        os.kill(program.pid, signal.SIGKILL)
    with open_dump(tmp_path / "run.h5") as dump:
        assert (dump.complete, len(dump.tensors) > 200) == (False, True)
        for i in (0, 100, 200):
            np.testing.assert_array_equal(dump.native(f"x{i}"), np.full(1000, i, np.float32))
