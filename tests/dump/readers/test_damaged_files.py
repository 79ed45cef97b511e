"""10,000 damaged files over all readers: no traceback, nothing slower than 5 s, no gigabyte, one message and exit 2.

Bytes flipped, blanked, swapped, cut off, repeated; headers of one kind on another; numbers in text replaced by absurd
ones; lengths by all ones. Each file goes through inspect, verify and convert in a process of its own that handles many.
HDF5's C library can crash or never come back on damaged bytes: such losses are counted apart, at most 1 in 100
HDF5 files (tests/dump/test_mutated_files.py damages PrecDiff's own dumps further, through HDF5).

All of them under `make test-all`; a seeded slice otherwise.
"""

import json
import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from precdiff.dump import READERS
from tests.dump.readers import samples

FILES = 10_000 if os.environ.get("PRECDIFF_EXHAUSTIVE") == "1" else 250
#: files of one worker
CHUNK = 50
#: seconds for one file with its three commands on an idle machine, and what is allowed on a busy one
SECONDS, BUSY = 5, 60
#: resident bytes a file may cost
MEMORY = 2**30

WORKER = """
import json, resource, shutil, sys, time
from click.testing import CliRunner
from precdiff.cli.main import main
import precdiff.dump.converting, h5py, numpy

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for line in sys.stdin:
    path = line.strip()
    said, began = [], time.process_time()
    for words in (["inspect", path], ["verify", path], ["convert", path, "-o", path + ".out.h5", "--force"]):
        result = CliRunner().invoke(main, words)
        ended = result.exception is None or isinstance(result.exception, SystemExit)
        said.append([words[0], result.exit_code, "" if ended else repr(result.exception), result.stderr])
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps([said, time.process_time() - began, used * 1024]), flush=True)
"""


def flipped(content, rng):
    for _ in range(int(rng.integers(1, 20))):
        content[int(rng.integers(0, len(content)))] ^= 1 << int(rng.integers(0, 8))


def blanked(content, rng):
    start = int(rng.integers(0, len(content)))
    content[start : start + 100] = bytes(len(content[start : start + 100]))


def swapped(content, rng):
    size = min(64, len(content) // 2)
    one, other = (int(v) for v in rng.integers(0, len(content) - size + 1, 2))
    content[one : one + size], content[other : other + size] = content[other : other + size], content[one : one + size]


def cut(content, rng):
    del content[int(rng.integers(0, len(content))) :]


def repeated(content, rng):
    start = int(rng.integers(0, len(content)))
    content[start:start] = content[start : start + 200] * int(rng.integers(1, 50))


def other_head(content, rng):
    """It begins as a file of another kind."""
    heads = (b"\x93NUMPY\x01\x00v\x00", b"PK\3\4", b"\x89HDF\r\n\x1a\n", b'{"data": ', b"$Version=1.0\n", b"\x80\x02}(",
             (200).to_bytes(8, "little") + b"{", b"\x08\x06\x08\x05\x10\x01", b"GCOL\x01\0\0\0")  # fmt: skip
    head = heads[int(rng.integers(0, len(heads)))]
    content[: len(head)] = head


def grown(content, rng):
    """A little-endian number becomes the largest, or nearly so."""
    start, width = int(rng.integers(0, len(content))), int(rng.choice([1, 2, 4, 8]))
    content[start : start + width] = (b"\xff" * width, b"\xff" * (width - 1) + b"\x7f")[int(rng.integers(0, 2))]


def absurd(content, rng):
    """A number in text becomes an absurd one."""
    found = list(re.finditer(rb"\d+", bytes(content)))
    if found:
        match = found[int(rng.integers(0, len(found)))]
        values = (b"99999999999999999999", b"-1", b"1e999", b"4611686018427387904", b"NaN", b"0.5", b"[]", b'"x"', b"0")
        content[match.start() : match.end()] = values[int(rng.integers(0, len(values)))]


DAMAGE = [flipped, blanked, swapped, cut, repeated, other_head, grown, absurd]


def damaged(place, samples_by_kind, count):
    """`count` paths, each a damaged copy; the kind and the damage are in the name."""
    kinds = sorted(samples_by_kind)
    for n in range(count):
        rng = np.random.default_rng([7, n])
        kind, damage = kinds[n % len(kinds)], DAMAGE[n // len(kinds) % len(DAMAGE)]
        source = samples_by_kind[kind]
        copy = place / f"{n}-{kind}-{damage.__name__}{source.suffix}"
        if source.is_dir():
            shutil.copytree(source, copy)
            files = sorted(file for file in copy.rglob("*") if file.is_file())
            target = files[int(rng.integers(0, len(files)))]
        else:
            target = Path(shutil.copy(source, copy))
            beside = source.with_name(f"{source.name}.json")
            if beside.exists():
                target = (
                    Path(shutil.copy(beside, copy.with_name(f"{copy.name}.json"))) if rng.random() < 0.5 else target
                )
        content = bytearray(target.read_bytes())
        damage(content, rng)
        target.write_bytes(content)
        yield copy


class LostError(Exception):
    """The process ended, or said nothing for BUSY seconds."""


class Worker:
    """One process that reads paths and says what the commands did."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()

    def tried(self, path):
        self._process.stdin.write(f"{path}\n".encode())
        self._process.stdin.flush()
        began, line = time.monotonic(), b""
        while not line.endswith(b"\n"):
            left = BUSY - (time.monotonic() - began)
            ready = left > 0 and select.select([self._process.stdout], [], [], left)[0]
            piece = os.read(self._process.stdout.fileno(), 2**16) if ready else b""
            if not piece:
                raise LostError(f"{path.name}: {'the process ended' if ready else f'nothing for {BUSY} s'}")
            line += piece
        return json.loads(line)


def faults(said, seconds, memory):
    """What a damaged file must not do."""
    for command, code, raised, text in said:
        if raised or "Traceback" in text or "a defect of PrecDiff" in text:
            yield f"{command}: {raised or text[-300:]}"
        elif code not in (0, 1, 2):
            yield f"{command}: exit code {code}"
        elif code == 2 and not text.strip():
            yield f"{command}: exit code 2 without a message"
    if seconds > SECONDS:
        yield f"{seconds:.1f} s"
    if memory > MEMORY:
        yield f"{memory:,} bytes"


def test_every_reader_is_tried():
    assert set(samples.KINDS) == set(READERS)


@pytest.mark.parametrize("part", range(max(1, FILES // 2500)))
def test_damaged_files(tmp_path, part):
    made = {}
    for kind, make in samples.KINDS.items():
        (tmp_path / "whole" / kind).mkdir(parents=True)
        made[kind] = make(tmp_path / "whole" / kind)
    paths = [path for n, path in enumerate(damaged(tmp_path, made, FILES)) if n % max(1, FILES // 2500) == part]
    wrong, codes, lost, count = [], [], [], len(paths)
    while paths:
        with Worker() as worker:
            for path in paths[:CHUNK]:
                paths.remove(path)
                try:
                    outcome = worker.tried(path)
                except LostError as loss:
                    lost.append(str(loss))
                    break
                codes += [code for _, code, _, _ in outcome[0]]
                wrong += [f"{path.name}: {fault}" for fault in faults(*outcome)]
    print(f"{count} files, exit codes {dict(Counter(codes))}; lost: {lost}")
    assert not wrong, "\n".join([f"{len(wrong)} faults", *wrong[:20]])
    assert codes.count(2) > len(codes) / 10  # the damage is felt
    # a library of C, met by damaged bytes, may be lost; nothing of ours may
    assert all(re.match(r"\d+-(hdf5|precdiff)-", name) for name in lost), lost
    assert len(lost) <= FILES / len(samples.KINDS) / 100 + 1, lost


def test_whole_files_are_read(tmp_path):
    """The control: what is damaged above is read as it is."""
    with Worker() as worker:
        for kind, make in samples.KINDS.items():
            (tmp_path / kind).mkdir()
            said, _, _ = worker.tried(make(tmp_path / kind))
            assert [code for _, code, _, _ in said] == [0, 0, 0], (kind, said)
