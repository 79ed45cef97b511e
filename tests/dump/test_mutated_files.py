"""Dumps damaged at random: no traceback of ours, no hang of ours, whatever command meets them.

Bytes flipped, blocks zeroed, swapped, cut off; and, through HDF5 itself, tables and attributes of other types, missing
parts, foreign ids, cycles, giant shapes. Each file goes through inspect, verify, compare, explain and --salvage in a
process of its own that handles many files: HDF5's C library can crash or never come back on damaged bytes (about one
in 250), and that is counted apart: the worker is started anew. 2,000 files under `make test-all`, a slice otherwise.
"""

import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from precdiff.dump import write_trace
from precdiff.kernels import run_kernel

ROOT = Path(__file__).parents[2]
FILES = 2000 if os.environ.get("PRECDIFF_EXHAUSTIVE") == "1" else 150
#: seconds for one file; a whole one takes a quarter of a second
LIMIT = 20

WORKER = """
import faulthandler, json, sys, traceback
from click.testing import CliRunner
from precdiff.cli.main import main

for line in sys.stdin:
    path = line.strip()
    said = []
    for words in (["inspect", path], ["verify", path], ["verify", path, "--salvage", "-o", path + ".saved.h5"],
                  ["compare", path], ["explain", path, "--budget", "2"]):
        result = CliRunner().invoke(main, words)
        crash = result.exception is not None and not isinstance(result.exception, SystemExit)
        text = "".join(traceback.format_exception(result.exception)) if crash else ""
        said.append([words[0], result.exit_code, text, bool(result.stderr.strip())])
    print(json.dumps(said), flush=True)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run.h5"
    x = np.random.default_rng(0).normal(size=(40, 32)).astype(np.float16)
    write_trace(path, run_kernel("softmax", {"x": x}, profile="ascend-910b").trace)
    return path


def flipped(content, rng):
    for _ in range(int(rng.integers(1, 40))):
        content[int(rng.integers(0, len(content)))] ^= 1 << int(rng.integers(0, 8))


def zeroed(content, rng):
    start = int(rng.integers(0, len(content)))
    content[start : start + 200] = bytes(len(content[start : start + 200]))


def swapped(content, rng):
    one, other = (int(v) for v in rng.integers(0, len(content) - 256, 2))
    content[one : one + 256], content[other : other + 256] = content[other : other + 256], content[one : one + 256]


def cut(content, rng):
    del content[int(rng.integers(0, len(content))) :]


def noise(content, rng):
    start = int(rng.integers(0, len(content)))
    content[start : start + 64] = rng.bytes(len(content[start : start + 64]))


def _cell(rng):
    """A value no table expects."""
    return rng.choice([
        "", "x", "exp", "max", "nowhere", "/data/exp", "[]", "[-1]", "[99999999999]", "[1e9]", "[[]]", "{", "null",
        '[["input","exp"]]', '[["input","div"],["input","div"]]', "[40,32]", "[32,40]", "fp16", "fp17", "fp64", "i8",
        "full", "stats", "/pool/fp16[0:99999999]", "/pool/fp16[5:1]", "/../x", "/steps", '{"axis": 7}', '{"axis": "x"}',
        '{"value": 1e999}', "reshape", "matmul", "cast", "constant", "\u65e5" * 40,
    ])  # fmt: skip


def table_cell(file, rng):
    table = file[str(rng.choice(["steps", "tensors"]))]
    index = int(rng.integers(0, len(table)))
    row = table[index]
    name = str(rng.choice(np.array(row.dtype.names)))
    numeric = row[name].dtype.kind in "iuf" if hasattr(row[name], "dtype") else False
    row[name] = float(rng.choice([0, -1, 1e300, np.nan])) if numeric and row[name].dtype.kind == "f" else (
        int(rng.choice([0, 5, 127])) if numeric else str(_cell(rng)))  # fmt: skip
    table[index] = row


def attribute(file, rng):
    name = str(rng.choice(list(file.attrs)))
    values = [0, -1.5, "", "x", "{", "[]", '{"out": 3}', np.arange(3), '{"out": "exp", "b": "gone"}', 2**62]
    file.attrs[name] = values[int(rng.integers(0, len(values)))]


def attribute_gone(file, rng):
    del file.attrs[str(rng.choice(list(file.attrs)))]


def part_gone(file, rng):
    parts = []
    file.visit(parts.append)
    del file[str(rng.choice(parts))]


def other_dataset(file, rng):
    parts = [name for name in ("data/exp", "pool/fp16", "pool/fp32", "steps", "tensors") if name in file]
    name = str(rng.choice(parts))
    del file[name]
    made = [np.zeros((3, 4), np.float32), np.array(b"text"), np.arange(5, dtype=complex), np.zeros(0, np.int8)]
    if rng.random() < 0.2:
        file.create_dataset(name, shape=(2**40,), dtype="f4", chunks=(1024,))
    else:
        file[name] = made[int(rng.integers(0, len(made)))]


def linked_to_itself(file, rng):
    file["data/round" if "data" in file else "round"] = file["/"]
    if "steps" in file and rng.random() < 0.5:
        del file["steps"]
        file["steps"] = h5py.SoftLink("/steps")


BYTES = [flipped, zeroed, swapped, cut, noise]
CONTENT = [table_cell, table_cell, table_cell, attribute, attribute_gone, part_gone, other_dataset, linked_to_itself]


def damaged(whole, path, rng):
    """A damaged copy; the kind of damage."""
    if rng.random() < 0.4:
        kind = BYTES[int(rng.integers(0, len(BYTES)))]
        content = bytearray(whole.read_bytes())
        kind(content, rng)
        path.write_bytes(content)
        return kind.__name__
    kinds = [CONTENT[i] for i in rng.integers(0, len(CONTENT), rng.integers(1, 4))]
    shutil.copy(whole, path)
    with h5py.File(path, "r+") as file:
        for kind in kinds:
            try:
                kind(file, rng)
            except (KeyError, ValueError, TypeError, OSError, IndexError, RuntimeError):
                continue  # two of them do not go together
    return "+".join(kind.__name__ for kind in kinds)


class Worker:
    """A process that handles file after file; `ask` gives what it said, or None where it died or never came back."""

    def __init__(self):
        self.process = None

    def ask(self, path):
        if self.process is None:
            command = [sys.executable, "-W", "ignore", "-c", WORKER]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
            )
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], LIMIT)
        said = self.process.stdout.readline() if ready else ""
        if said:
            return json.loads(said)
        self.close()
        return None

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def test_no_traceback_and_no_hang_of_ours(whole, tmp_path):
    rng, worker = np.random.default_rng(2026), Worker()
    codes, lost = dict.fromkeys((0, 1, 2), 0), []
    for number in range(FILES):
        path = tmp_path / f"{number}.h5"
        kind = damaged(whole, path, rng)
        said = worker.ask(path)
        if said is None:
            lost.append((number, kind))
            continue
        for command, code, text, spoke in said:
            assert (text, code in codes) == ("", True), (number, kind, command, code)
            assert spoke or code != 2, (number, kind, command)
            codes[code] += 1
        for made in tmp_path.glob(f"{number}.h5*"):
            made.unlink()
    worker.close()
    print(f"{FILES} files, exit codes {codes}, 0 tracebacks; lost inside HDF5's library: {lost}")
    # only damaged bytes can reach the library's own defects; what h5py could write is ours to refuse
    assert {kind for _, kind in lost} <= {kind.__name__ for kind in BYTES}
    assert len(lost) <= max(2, FILES // 100)
