"""A process that ends with dumps still open ends well, and what was recorded is there."""

import subprocess
import sys
from pathlib import Path

import pytest

from precdiff.dump import open_dump

ROOT = Path(__file__).parents[2]
BEGINNING = """
import builtins, sys
import numpy as np
from precdiff.dump import DumpWriter, open_dump
"""
WRITER = """
builtins.kept = DumpWriter(sys.argv[1])  # lives as long as the interpreter
builtins.kept.add_tensor("x", np.ones(3, np.float32), "fp16")
"""
READER = """
with DumpWriter(sys.argv[1]) as writer:
    writer.add_tensor("x", np.ones(3, np.float32), "fp16")
builtins.kept = open_dump(sys.argv[1])
"""
CYCLE = """
class Cycle: pass
cycle = Cycle()
cycle.itself, cycle.writer = cycle, DumpWriter(sys.argv[1])
cycle.writer.add_tensor("x", np.ones(3, np.float32), "fp16")
del cycle
"""


@pytest.mark.parametrize("ending", ["", "raise SystemExit(0)"], ids=["end", "exit"])
@pytest.mark.parametrize("program", [WRITER, READER, CYCLE], ids=["writer", "reader", "writer in a cycle"])
def test_open_at_the_end_of_the_process(program, ending, tmp_path):
    path = tmp_path / "run.h5"
    command = [sys.executable, "-c", BEGINNING + program + ending, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    with open_dump(path) as dump:
        assert list(dump.tensors) == ["x"]
