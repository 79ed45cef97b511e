"""Every kind that is written, from every other: bit for bit, whole or not at all."""

import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from precdiff.dump import READERS, convert, open_dump, write_trace
from precdiff.dump.copying import copy
from precdiff.errors import FileError
from precdiff.kernels import run_kernel

RNG = np.random.default_rng(0)
NUMPY = {
    "fp16": RNG.integers(0, 2**16, (9, 7)).astype(np.uint16).view(np.float16),
    "fp32": np.float32([np.nan, -np.nan, np.inf, -0.0, 1e-45, 3.0]).reshape(2, 3),
    "fp64": RNG.normal(size=(3, 1, 2)),
    "name/with.dots and spaces": np.int64([2**63 - 1, -(2**63)]),
    "bool": np.array([True, False]),
    "scalar": np.uint8(7),
    "empty": np.empty((3, 0), np.int32),
}
WIDE = {**NUMPY, "bf16": np.arange(2**16, dtype=np.uint16).view(ml_dtypes.bfloat16), "big": RNG.normal(size=(300, 200))}
KINDS = {"safetensors": "x.safetensors", "precdiff": "x.h5", "folder": "x", "npz": "x.npz", "pytorch": "x.pt"}
PAIRS = list(itertools.product(KINDS, repeat=2))


def bits(path):
    with open_dump(path) as dump:
        assert dump.verify() == []
        return {id: (row.format, row.shape, dump.codes(id).tobytes()) for id, row in dump.tensors.items()}


def test_every_written_kind_is_tried():
    single = {".npy", ".bin", ".pb"}
    written = {reader.suffix for _, reader in READERS.items() if reader.suffix} - single
    assert written <= {Path(name).suffix for name in KINDS.values()}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The same tensors in every kind, all made of one folder of bare values that the test writes itself."""
    place = tmp_path_factory.mktemp("kinds")
    (place / "made").mkdir()
    for id, array in ((id, np.asarray(array)) for id, array in WIDE.items()):
        file = place / "made" / f"{id.replace('/', '%2F')}.bin"
        file.write_bytes(array.tobytes())
        name = {"name/with.dots and spaces": "i64", "scalar": "u8", "empty": "i32", "big": "fp64"}.get(id, id)
        file.with_name(f"{file.name}.json").write_text(f'{{"format": "{name}", "shape": {list(array.shape)}}}')
    return place


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=[f"{one}-{other}" for one, other in PAIRS])
def test_both_ways(tmp_path, sources, one, other):
    left_out = {"bf16"} if "npz" in (one, other) else set()
    made, first, second = tmp_path / "made", tmp_path / "1" / KINDS[one], tmp_path / "2" / KINDS[other]
    shutil.copytree(sources / "made", made, ignore=shutil.ignore_patterns(*(f"{id}*" for id in left_out)))
    for source, destination in ((made, first), (first, second)):
        destination.parent.mkdir()
        convert(source, destination)
    wanted = {id: np.asarray(array) for id, array in WIDE.items() if id not in left_out}
    found = bits(second)
    assert {id: (shape, content) for id, (_, shape, content) in found.items()} == {
        id: (array.shape, array.tobytes()) for id, array in wanted.items()
    }
    with open_dump(second) as dump:
        assert dump.reader == other


def test_numpy_reads_the_npz(tmp_path, sources):
    np.savez(tmp_path / "in.npz", **NUMPY)
    convert(tmp_path / "in.npz", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as found:
        assert {id: (found[id].dtype, found[id].tobytes()) for id in found} == {
            id: (np.asarray(a).dtype, np.asarray(a).tobytes()) for id, a in NUMPY.items()
        }


SINGLE = {".npy": "out", ".bin": "out", ".pb": "in"}


@pytest.mark.parametrize(("ending", "name"), SINGLE.items(), ids=SINGLE)
def test_one_tensor(tmp_path, ending, name):
    """Which is called as its file, or as it says."""
    np.save(tmp_path / "in.npy", NUMPY["fp16"])
    convert(tmp_path / "in.npy", tmp_path / f"out{ending}")
    assert bits(tmp_path / f"out{ending}") == {name: ("fp16", (9, 7), NUMPY["fp16"].tobytes())}
    np.savez(tmp_path / "in.npz", **NUMPY)
    with pytest.raises(FileError, match=r"holds 7 tensors, a .* file holds one"):
        convert(tmp_path / "in.npz", tmp_path / f"two{ending}")
    assert sorted(file.name for file in tmp_path.iterdir() if "two" in file.name) == []


def test_a_trace_keeps_everything_in_h5(tmp_path):
    x = RNG.normal(size=(300, 256)).astype(np.float16)
    run = run_kernel("softmax", {"x": x}, profile="ascend-910b")
    write_trace(tmp_path / "run.h5", run.trace)
    done = convert(tmp_path / "run.h5", tmp_path / "again.h5")
    assert done.left_out == ()
    with open_dump(tmp_path / "run.h5") as one, open_dump(tmp_path / "again.h5") as other:
        assert one.steps == other.steps
        first, second = one.trace(), other.trace()
        assert first.outputs == second.outputs
        assert all(np.array_equal(first.values[id], second.values[id], equal_nan=True) for id in first.values)
        assert one.attrs.created == other.attrs.created
        assert other.verify() == []


def test_what_is_left_out_is_said(tmp_path):
    write_trace(tmp_path / "run.h5", run_kernel("softmax", {"x": NUMPY["fp64"][:, 0].astype(np.float16)}).trace)
    done = convert(tmp_path / "run.h5", tmp_path / "x.npz")
    assert done.left_out == (f"{len(open_dump(tmp_path / 'run.h5').steps)} steps",)


def test_nothing_is_replaced_unasked(tmp_path):
    np.save(tmp_path / "in.npy", NUMPY["fp32"])
    (tmp_path / "out.npz").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine")
    for name, force in (("out.npz", False), ("out", False), ("out", True)):
        with pytest.raises(FileError, match=r"exists; choose another|is a folder that holds something"):
            convert(tmp_path / "in.npy", tmp_path / name, force=force)
    assert (tmp_path / "out.npz").read_text() == "mine"
    convert(tmp_path / "in.npy", tmp_path / "out.npz", force=True)
    assert list(bits(tmp_path / "out.npz")) == ["in"]
    with pytest.raises(FileError, match=r"nothing is written to \.xlsx files; allowed are \.bin, \.h5"):
        convert(tmp_path / "in.npy", tmp_path / "x.xlsx")


def test_a_damaged_source_leaves_nothing(tmp_path):
    np.savez_compressed(tmp_path / "in.npz", a=RNG.normal(size=100_000))
    content = bytearray((tmp_path / "in.npz").read_bytes())
    content[len(content) // 2] ^= 255
    (tmp_path / "in.npz").write_bytes(content)
    for name in ("out.h5", "out", "out.npz", "out.npy"):
        with pytest.raises(FileError, match="damaged zip"):
            convert(tmp_path / "in.npz", tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == ["in.npz"]


def test_a_killed_conversion_leaves_the_old_one(tmp_path):
    """At 8 moments; 50 under `make test-all`."""
    np.save(tmp_path / "in.npy", RNG.normal(size=2_000_000))
    (tmp_path / "out.h5").write_text("the old one")
    paths = f"{str(tmp_path / 'in.npy')!r}, {str(tmp_path / 'out.h5')!r}"
    code = f"from precdiff.dump import convert; convert({paths}, force=True)"
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", code], check=True)
    whole = time.monotonic() - began
    wanted = bits(tmp_path / "out.h5")
    moments = RNG.uniform(0, whole, 50 if os.environ.get("PRECDIFF_EXHAUSTIVE") == "1" else 8)
    for moment in moments:
        (tmp_path / "out.h5").write_text("the old one")
        process = subprocess.Popen([sys.executable, "-c", code])
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (tmp_path / "out.h5").read_bytes() != b"the old one":
            assert bits(tmp_path / "out.h5") == wanted
    convert(tmp_path / "in.npy", tmp_path / "out.h5", force=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["in.npy", "out.h5"]
    assert bits(tmp_path / "out.h5") == wanted


def test_memory_is_that_of_a_piece(tmp_path):
    """128 MB of values copied within 40 MB above what the imports take."""
    with (tmp_path / "in.bin").open("wb") as file:
        file.truncate(128 * 2**20)
    (tmp_path / "in.bin.json").write_text('{"format": "fp32", "shape": [8192, 4096]}')
    code = (
        "import resource, sys\n"
        "from precdiff.dump import convert\n"
        f"source, dest = {str(tmp_path / 'in.bin')!r}, sys.argv[1]\n"
        f"convert({str(tmp_path / 'small.npy')!r}, dest + '.npz')\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "convert(source, dest)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    np.save(tmp_path / "small.npy", np.ones(3))
    for name in ("out.safetensors", "out.npy"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / name)], capture_output=True, text=True, check=True
        )
        assert int(done.stdout) < 40 * 1024, name


def test_copy_is_what_convert_uses_for_h5(tmp_path):
    np.save(tmp_path / "in.npy", NUMPY["fp32"])
    with open_dump(tmp_path / "in.npy") as dump:
        copy(dump, tmp_path / "a.h5")
    assert bits(tmp_path / "a.h5")["in"][2] == NUMPY["fp32"].tobytes()
