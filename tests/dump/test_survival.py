"""Whatever stops a writer, what it flushed is there: killed between any two writes, a full disk, a real SIGKILL."""

import errno
import io
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from precdiff.cli.main import main
from precdiff.device import get_profile
from precdiff.dump import DumpWriter, open_dump, session
from precdiff.dump.commit import CommitFile, journal_of
from precdiff.errors import FileError
from precdiff.kernels import run_kernel
from precdiff.trace import Source, Step, Trace

ROOT = Path(__file__).parents[2]
INCOMPLETE = ["incomplete: the run did not come to its end"]


class Disk(io.RawIOBase):
    """A file in memory that writes down what is done to it, and is full after `room` bytes."""

    def __init__(self, content=b"", room=None):
        self.content, self.place, self.ops, self.room = bytearray(content), 0, [], room

    def write(self, data):
        data = bytes(data)
        if self.room is not None:
            data = data[: max(self.room, 0)]
            self.room -= len(data)
            if not data:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.apply(("write", self.place, data))
        self.place += len(data)
        return len(data)

    def truncate(self, size=None):
        self.apply(("truncate", size, b""))
        return size

    def apply(self, op):
        self.ops.append(op)
        kind, place, data = op
        if kind == "truncate":
            del self.content[place:]
        self.content.extend(bytes(max(0, place + len(data) - len(self.content))))
        self.content[place : place + len(data)] = data

    def read(self, count=-1):
        found = bytes(self.content[self.place :][: count if count >= 0 else None])
        self.place += len(found)
        return found

    def seek(self, offset, whence=io.SEEK_SET):
        self.place = offset if whence == io.SEEK_SET else len(self.content) + offset
        return self.place

    def close(self):
        pass


def steps_of_a_run(count):
    """A trace whose every eleventh tensor is large."""
    rng = np.random.default_rng(3)
    trace = Trace("k", get_profile("ieee"), inputs={"x": "x"})
    trace.values["x"], trace.formats["x"] = np.ones(300, np.float32), "fp16"
    for i in range(count):
        shape = (200, 180) if i % 11 == 5 else (rng.integers(1, 900),)
        step = Step(f"step{i}", "abs", ("x",), {"i": i}, ["fp16", "bf16", "fp32"][i % 3], "", Source("k.py", i))
        trace.steps.append(step)
        trace.values[step.id] = rng.integers(0, 100, shape).astype(np.float32)
        trace.formats[step.id] = step.format
    return trace


def write_steps(path, trace, flush_after=7):
    """Write step by step and yield (number of steps flushed) after every flush."""
    writer = DumpWriter(path, flush_seconds=float("inf"))
    sink = writer.sink(trace)
    yield 0
    for i, step in enumerate(trace.steps, 1):
        sink(step, trace.values[step.id])
        if i % flush_after == 0:
            writer.flush()
            yield i
    writer.finish(trace)
    yield len(trace.steps)
    writer.close()


def check_holds(path, trace, flushed):
    with open_dump(path) as dump:
        assert [s.id for s in dump.steps[:flushed]] == [s.id for s in trace.steps[:flushed]]
        assert dump.complete <= (len(dump.steps) == len(trace.steps))
        assert [str(p) for p in dump.verify()] == ([] if dump.complete else INCOMPLETE)
        for id in dump.tensors:
            assert dump.tensor(id).tobytes() == trace.values[id].tobytes()


def test_killed_between_any_two_writes(tmp_path, monkeypatch):
    disk = Disk()
    monkeypatch.setattr(session, "new_file", lambda path: disk)
    trace = steps_of_a_run(24)
    flushes = [(len(disk.ops), flushed) for flushed in write_steps(tmp_path / "run.h5", trace)]
    replayed, flushed = Disk(), 0
    path = tmp_path / "killed.h5"
    journals = 0
    assert disk.ops[0][:2] == ("write", 0)  # all of the empty dump at once
    for number, (kind, place, data) in enumerate(disk.ops, 1):
        if len(data) > 1 and number % 3 == 0 and number > flushes[0][0]:  # half of the write
            torn = Disk(replayed.content)
            torn.apply((kind, place, data[: len(data) // 2]))
            path.write_bytes(torn.content)
            check_holds(path, trace, flushed)
        replayed.apply((kind, place, data))
        flushed = max([f for after, f in flushes if after <= number], default=0)
        if number >= flushes[0][0]:
            path.write_bytes(replayed.content)
            check_holds(path, trace, flushed)
            journals += bool(journal_of(replayed))
    assert flushed == len(trace.steps)
    assert journals > 50  # else nothing was rewritten in place and this shows little


@pytest.mark.parametrize("room", [0, 1, 100, 3000, 9000, *range(30_000, 700_000, 40_011)])
def test_a_full_disk_says_what_was_kept(tmp_path, monkeypatch, room):
    disk = Disk(room=room)
    monkeypatch.setattr(session, "new_file", lambda path: disk)
    trace = steps_of_a_run(30)
    flushes = []
    with pytest.raises(FileError, match="No space left") as caught:
        flushes.extend(write_steps(tmp_path / "run.h5", trace))
    flushed = flushes[-1] if flushes else 0
    (tmp_path / "run.h5").write_bytes(disk.content)
    message = str(caught.value)
    if not disk.content:
        assert "Kept: nothing" in message
        with pytest.raises(FileError, match="is empty"):
            open_dump(tmp_path / "run.h5")
        return
    with open_dump(tmp_path / "run.h5") as dump:
        assert len(dump.steps) >= flushed
        kept = f"{flushed} steps, the last 'step{flushed - 1}'" if flushed else "nothing"
        assert f"Kept: {kept}, of " in message
    check_holds(tmp_path / "run.h5", trace, flushed)


def test_after_a_failure_every_call_says_so(tmp_path, monkeypatch):
    disk = Disk(room=40_000)
    monkeypatch.setattr(session, "new_file", lambda path: disk)
    writer = DumpWriter(tmp_path / "run.h5")
    big = np.random.default_rng(0).normal(size=100_000).astype(np.float32)
    with pytest.raises(FileError, match="disk is full"):
        writer.add_tensor("big", big, "fp32")
    for again in (writer.flush, writer.complete, lambda: writer.add_tensor("a", big, "fp32")):
        with pytest.raises(FileError, match="disk is full"):
            again()
    writer.close()
    writer.close()


KILLED = """
import itertools, sys, numpy as np
from precdiff.dump import DumpWriter
from precdiff.kernels import kernel, run_kernel
from precdiff import ops

@kernel(name="endless")
def endless(x):
    for i in itertools.count(1):
        x = x + 1.0
        if every and i % every == 0:
            writer.flush()
            print(i, flush=True)  # that many steps are in the file
        else:
            print(0, flush=True)

x, every = np.zeros(int(sys.argv[2]), np.float32), int(sys.argv[3])
writer = DumpWriter(sys.argv[1])
run_kernel(endless, {"x": x}, sink=writer.sink)
"""


KILLS = 50 if os.environ.get("PRECDIFF_EXHAUSTIVE") == "1" else 6


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_killed_run_is_readable_and_known_as_incomplete(tmp_path, seed):
    """SIGKILL at a random moment: what was flushed opens, inspect says incomplete, salvage writes a clean file."""
    rng = np.random.default_rng([7, seed])
    after, size = (0.0 if seed == 0 else rng.uniform(0, 1.1)), int(rng.choice([10, 1000, 30_000, 100_000]))
    path, every = tmp_path / "run.h5", int(rng.choice([0, 1, 7, 40]))  # 0: only the writer itself flushes
    command = [sys.executable, "-c", KILLED, str(path), str(size), str(every)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        flushed = int(process.stdout.readline())
        end = time.monotonic() + after
        while time.monotonic() < end:
            flushed = int(process.stdout.readline()) or flushed
        process.send_signal(signal.SIGKILL)
    with open_dump(path) as dump:
        assert not dump.complete
        assert dump.attrs.outputs == {}
        assert [str(p) for p in dump.verify()] == INCOMPLETE
        assert dump.trace().kernel == "endless"
        added = [step.id for step in dump.steps if step.op == "add"]
        assert len(added) >= flushed
        assert all((dump.tensor(id) == number).all() for number, id in enumerate(added, 1))
        assert added or after <= 0.5
        kept = len(dump.steps)
    inspected = CliRunner().invoke(main, ["inspect", str(path)])
    assert (inspected.exit_code, "INCOMPLETE" in inspected.stderr) == (0, True)
    clean = tmp_path / "clean.h5"
    salvaged = CliRunner().invoke(main, ["verify", str(path), "--salvage", "-o", str(clean)])
    assert (salvaged.exit_code, "whole" in salvaged.stderr) == (0, True), salvaged.stderr
    with open_dump(clean) as dump:
        assert len(dump.steps) == kept
        assert [str(p) for p in dump.verify()] == INCOMPLETE


def test_readers_at_once(tmp_path):
    """Eight threads and a second process read one dump, each through a file of its own."""
    path, trace = tmp_path / "run.h5", steps_of_a_run(24)
    assert list(write_steps(path, trace))[-1] == len(trace.steps)
    program = "import sys; from precdiff.dump import verify; print(verify(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(path)]
    with open_dump(path), subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as other:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: check_holds(path, trace, len(trace.steps)), range(16)))
        assert other.communicate()[0] == "[]\n"


def test_a_step_is_flushed_while_the_next_one_takes_long(tmp_path):
    writer = DumpWriter(tmp_path / "run.h5")
    before = Path(tmp_path / "run.h5").read_bytes()
    writer.add_tensor("x", np.ones(3, np.float32), "fp16")
    time.sleep(0.5)
    (tmp_path / "copy.h5").write_bytes(Path(tmp_path / "run.h5").read_bytes())
    with open_dump(tmp_path / "copy.h5") as dump:
        assert dump.tensor("x").tolist() == [1, 1, 1]
    assert before != (tmp_path / "copy.h5").read_bytes()
    writer.close()


def test_sixty_four_megabytes_are_flushed_at_once(tmp_path):
    writer = DumpWriter(tmp_path / "run.h5", flush_seconds=float("inf"))
    for i in range(17):
        writer.add_tensor(f"x{i}", np.zeros(2**20, np.float32), "fp32")
    (tmp_path / "copy.h5").write_bytes((tmp_path / "run.h5").read_bytes())
    with open_dump(tmp_path / "copy.h5") as dump:
        assert list(dump.tensors) == [f"x{i}" for i in range(16)]
    writer.close()


LIMITED = """
import resource, signal, sys, numpy as np
from precdiff.dump import DumpWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
with DumpWriter(sys.argv[1], flush_seconds=0.01) as writer:
    for i in range(1000):
        writer.add_tensor(f"x{i}", np.random.default_rng(i).normal(size=1000).astype(np.float32), "fp32")
        writer.flush()
"""


def test_a_limit_of_the_operating_system(tmp_path):
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "run.h5")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stderr.splitlines()[-1].startswith("precdiff.errors.FileError: writing")
    assert "File too large" in done.stderr
    with open_dump(tmp_path / "run.h5") as dump:
        assert 40 < len(dump.tensors) < 75
        assert len(dump.verify()) == 1


def test_an_exception_in_the_kernel_leaves_what_was_done(tmp_path):
    def fails(x):
        y = x + x
        raise RuntimeError(str(y.shape))

    with pytest.raises(Exception, match="RuntimeError"), DumpWriter(tmp_path / "run.h5") as writer:
        run_kernel(fails, {"x": np.ones(3, np.float16)}, sink=writer.sink)
    with open_dump(tmp_path / "run.h5") as dump:
        assert [step.op for step in dump.steps] == ["add"]
        assert not dump.complete


def test_commit_file_is_a_file():
    rng = np.random.default_rng(0)
    disk = Disk(rng.bytes(10_000))
    file, expected = CommitFile(disk), bytearray(disk.content)
    for _ in range(400):
        place, data = int(rng.integers(0, 30_000)), rng.bytes(int(rng.integers(0, 9_000)))
        file.seek(place)
        file.write(data)
        expected.extend(bytes(max(0, place + len(data) - len(expected))))
        expected[place : place + len(data)] = data
        at = int(rng.integers(0, len(expected)))
        file.seek(at)
        found = bytearray(500)
        file.readinto(found)
        assert found == (expected + bytes(40_000))[at : at + 500]
        if rng.random() < 0.1:
            file.commit()
            assert disk.content == expected
            assert journal_of(disk) == []


@pytest.mark.parametrize("damage", [1, 9, 20, 60, 3000])
def test_a_damaged_journal_is_none(damage):
    disk = Disk(bytes(10_000))
    file = CommitFile(disk)
    file.write(b"new" * 2000)
    file.commit()
    ops = disk.ops
    whole = Disk(bytes(10_000))
    whole.apply(ops[0])
    assert journal_of(whole)
    whole.content[-damage] ^= 1
    assert journal_of(whole) == []
