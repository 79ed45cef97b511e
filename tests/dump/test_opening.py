"""What opening says when it cannot: asked, found, allowed, to do."""

import os
import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from precdiff.dump import READERS, DumpWriter, open_dump, verify, write_trace
from precdiff.dump.schema import chunk_shape, dataset_name, parse_place
from precdiff.errors import FileError, UnknownNameError
from precdiff.kernels import run_kernel

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def trace():
    x = np.random.default_rng(0).normal(size=(200, 256)).astype(np.float16)
    return run_kernel("softmax", {"x": x}, profile="ascend-910b").trace


@pytest.fixture
def path(tmp_path, trace):
    write_trace(tmp_path / "run.h5", trace)
    return tmp_path / "run.h5"


def test_missing(path):
    with pytest.raises(FileError, match=r"ran\.h5 does not exist\. Did you mean .*run\.h5\?"):
        open_dump(path.with_name("ran.h5"))
    with pytest.raises(FileError, match=r"does not exist. Nor does its folder"):
        open_dump(path.parent / "no" / "run.h5")


def test_a_folder_of_one_dump_is_that_dump(path):
    with open_dump(path.parent) as dump:
        assert dump.path == path


def test_a_folder(path):
    (path.parent / "again.h5").write_bytes(path.read_bytes())
    with pytest.raises(FileError, match=r"holds 2 dumps: again\.h5, run\.h5\. Name one of them"):
        open_dump(path.parent)
    (path.parent / "other.exe").touch()
    with pytest.raises(FileError, match=r"is a folder with again\.h5, .*run\.h5; name one dump"):
        open_dump(path.parent)
    (path.parent / "inner").mkdir()
    with pytest.raises(FileError, match=r"is a folder without dumps"):
        open_dump(path.parent / "inner")


def test_an_empty_file(tmp_path):
    (tmp_path / "x.h5").touch()
    with pytest.raises(FileError, match=r"is empty: .* Run it again"):
        open_dump(tmp_path / "x.h5")


def test_no_permission(path):
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root reads everything")
    with pytest.raises(FileError, match=r"cannot read .* Permission denied"):
        open_dump(path)


def test_no_dump_at_all(tmp_path):
    (tmp_path / "x.npz").write_bytes(b"PK\3\4 and so on")
    with pytest.raises(FileError, match=r"begins with 50 4b 03 04 .* Known kinds: .*precdiff.* PATH:FORMAT:SHAPE"):
        open_dump(tmp_path / "x.npz")


@pytest.mark.parametrize("keep", [100, 2000, 0.3, 0.9, 0.999])
def test_truncated(path, keep):
    size = path.stat().st_size
    os.truncate(path, int(keep if keep > 1 else keep * size))
    with pytest.raises(FileError, match=r"run\.h5 is (truncated|a damaged HDF5 file).*--salvage"):
        open_dump(path)


def test_hdf5_without_a_tensor(tmp_path):
    """What holds data sets is read (tests/dump/readers/test_hdf5.py)."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_group("weights/a")
        file["elsewhere"] = h5py.ExternalLink("secret.h5", "/x")
    holds = r"it holds /elsewhere \(link\), /weights \(group of 1\)"
    with pytest.raises(FileError, match=f"is no PrecDiff dump but an HDF5 file of another program; {holds}"):
        open_dump(tmp_path / "x.h5")
    with h5py.File(tmp_path / "y.h5", "w"):
        pass
    with pytest.raises(FileError, match="it holds nothing"):
        open_dump(tmp_path / "y.h5")


def test_a_pipe_is_refused_at_once(tmp_path):
    """Opening one waits for a writer, for ever."""
    os.mkfifo(tmp_path / "x.npy")
    with pytest.raises(FileError, match=r"is a pipe or a socket; .* save it to a file first"):
        open_dump(tmp_path / "x.npy")


@pytest.mark.parametrize("name", ["schema", "kernel", "provenance"])
def test_a_damaged_length_of_an_attribute_becomes_no_memory(path, name):
    """The length of a text is a number of 4 bytes, and HDF5 allocates as much: 4 GB."""
    with h5py.File(path) as file:
        text = str(file.attrs[name]).encode()
    content = bytearray(path.read_bytes())
    places = {match.start() for match in re.finditer(b"GCOL", content)}
    heads = [re.escape(len(text).to_bytes(4, "little") + place.to_bytes(8, "little")) for place in places]
    found = [match.start() for head in heads for match in re.finditer(head, content)]
    assert found
    for at in found:
        content[at : at + 4] = b"\xff\xff\xff\xff"
    path.write_bytes(content)
    code = (
        "import resource, sys, precdiff\n"
        "try: precdiff.open_dump(sys.argv[1])\n"
        "except precdiff.errors.PrecDiffError as error: print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    said, kilobytes = done.stdout.splitlines()
    assert "4,294,967,295" in said or "a text longer than the file" in said
    assert int(kilobytes) < 500 * 1024


def test_another_version(path):
    with h5py.File(path, "r+") as file:
        file.attrs["schema_version"] = 2
    with pytest.raises(FileError, match=r"of schema version 2; this PrecDiff reads version 1\. Use"):
        open_dump(path)


def test_being_written(tmp_path):
    with DumpWriter(tmp_path / "run.h5"), pytest.raises(FileError, match="is being written; wait"):
        open_dump(tmp_path / "run.h5")


OUTSIDE = {
    "external link": lambda file: file.__setitem__("data/x", h5py.ExternalLink("other.h5", "/x")),
    "soft link": lambda file: file.__setitem__("data/x", h5py.SoftLink("/steps")),
    "external storage": lambda file: file.create_dataset("data/x", (200, 256), "f2", external=[("raw.bin", 0, 102400)]),
    "virtual": lambda file: file.create_virtual_dataset("data/x", virtual_layout()),
}


def virtual_layout():
    layout = h5py.VirtualLayout((200, 256), "f2")
    layout[:] = h5py.VirtualSource("other.h5", "x", (200, 256))
    return layout


@pytest.mark.parametrize("kind", list(OUTSIDE))
def test_nothing_outside_the_file_is_read(path, kind):
    with h5py.File(path.with_name("other.h5"), "w") as other:
        other["x"] = np.zeros((200, 256), np.float16)
    path.with_name("raw.bin").write_bytes(bytes(102400))
    with h5py.File(path, "r+") as file:
        del file["data/x"]
        OUTSIDE[kind](file)
    with open_dump(path) as dump:
        with pytest.raises(FileError, match="may not point outside itself"):
            dump.tensor("x")
        assert any("may not point outside" in str(problem) for problem in dump.verify())


def test_a_group_that_lies_elsewhere(path):
    with h5py.File(path, "r+") as file:
        file.move("data", "hidden")
        file["data"] = h5py.ExternalLink("run.h5", "/hidden")
    with pytest.raises(FileError, match="/data is a link that leaves"):
        open_dump(path)


@pytest.mark.parametrize("name", ["steps", "tensors", "data", "pool", "reference"])
def test_a_part_is_missing(path, name):
    with h5py.File(path, "r+") as file:
        del file[name]
    with pytest.raises(FileError, match=f"{name} is missing"):
        open_dump(path)


def test_other_columns(path):
    with h5py.File(path, "r+") as file:
        del file["steps"]
        file["steps"] = np.zeros(3, [("id", "i4")])
    with pytest.raises(FileError, match=r"/steps .* has columns"):
        open_dump(path)


# Writing.


def test_a_second_writer_is_refused(tmp_path, trace):
    writer = DumpWriter(tmp_path / "run.h5")
    with pytest.raises(FileError, match=r"another writer or reader has it open"):
        DumpWriter(tmp_path / "run.h5")
    code = "import sys; from precdiff.dump import DumpWriter; DumpWriter(sys.argv[1])"
    command = [sys.executable, "-c", code, str(tmp_path / "run.h5")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "another writer or reader has it open" in done.stderr
    writer.finish(trace)
    writer.close()
    assert verify(tmp_path / "run.h5") == []
    with open_dump(tmp_path / "run.h5"), pytest.raises(FileError, match=r"another writer or reader"):
        DumpWriter(tmp_path / "run.h5")


def test_an_older_dump_is_replaced(path, trace):
    with DumpWriter(path) as writer:
        writer.add_tensor("only", np.ones(2, np.float32), "fp16")
    with open_dump(path) as dump:
        assert list(dump.tensors) == ["only"]


@pytest.mark.parametrize("content", [b"def f(): pass\n", b"\x89HDF\r\n\x1a\n and nonsense"])
def test_no_other_file_is_overwritten(tmp_path, content):
    path = tmp_path / "kernel.py"
    path.write_bytes(content)
    with pytest.raises(FileError, match="exists and is no PrecDiff dump; choose another name, or delete"):
        DumpWriter(path)
    assert path.read_bytes() == content


def test_another_programs_hdf5_is_not_overwritten(tmp_path):
    with h5py.File(tmp_path / "weights.h5", "w") as file:
        file["w"] = 1
    before = (tmp_path / "weights.h5").read_bytes()
    with pytest.raises(FileError, match="no PrecDiff dump"):
        DumpWriter(tmp_path / "weights.h5")
    assert (tmp_path / "weights.h5").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no/run.h5", "No such file or directory; its folder does not exist"),
        (".", "Is a directory; it is a folder: name a file in it"),
        ("/dev/null", "it is a device or a pipe"),
        ("/proc/version", "cannot write /proc/version"),
    ],
)
def test_unwritable(tmp_path, name, said):
    with pytest.raises(FileError, match=said):
        DumpWriter(tmp_path / name)


def test_what_is_not_known_is_refused(tmp_path):
    with pytest.raises(UnknownNameError, match="Known: checksum, full, stats"):
        DumpWriter(tmp_path / "run.h5", data="statistics!")
    assert not (tmp_path / "run.h5").exists()
    with DumpWriter(tmp_path / "run.h5") as writer:
        with pytest.raises(UnknownNameError, match="unknown role"):
            writer.add_tensor("x", np.ones(2), "fp64", role="in")
        writer.add_tensor("x", np.ones(2), "fp64")
        with pytest.raises(FileError, match="two tensors are called 'x'"):
            writer.add_tensor("x", np.ones(2), "fp64")
        assert writer.path.exists()
    with pytest.raises(FileError, match="the dump is closed"):
        writer.add_tensor("y", np.ones(2), "fp64")


def test_ids_that_do_not_exist(path):
    with open_dump(path) as dump, pytest.raises(UnknownNameError, match=r"unknown tensor 'exq'. Did you mean 'exp'"):
        dump.tensor("exq")


# Names.


@pytest.mark.parametrize(
    ("id", "name"),
    [("exp", "exp"), ("a/b#2", "a%2Fb#2"), ("a%2Fb", "a%252Fb"), (".", "%2E"), ("..", ".."), ("./x", ".%2Fx")],
)
def test_dataset_names(id, name):
    assert dataset_name(id) == name


def test_dataset_names_are_different_for_different_ids():
    ids = ["a/b", "a%2Fb", "a%b", "a%25b", ".", "%2E", "..", "%", "%25"]
    assert len({dataset_name(id) for id in ids}) == len(ids)


@pytest.mark.parametrize(
    "where", ["", "/steps", "/data/a/b", "/pool/fp16", "/pool/fp16[1:]", "/data/../steps", "pool/x[1:2]"]
)
def test_other_places_are_refused(where):
    with pytest.raises(FileError, match="as a tensor's place"):
        parse_place(where)


@pytest.mark.parametrize(
    ("shape", "chunk"),
    [
        ((4096, 4096), (256, 256)),
        ((8, 4096, 4096), (1, 256, 256)),
        ((100_000, 3), (21845, 3)),
        ((1_000_000,), (65536,)),
        ((1, 1_000_000), (1, 65536)),
        ((64, 64, 64), (16, 64, 64)),
        ((300, 100), (300, 100)),
        ((2**20, 1), (65536, 1)),
    ],
)
def test_chunks(shape, chunk):
    assert chunk_shape(shape) == chunk


def test_readers_are_listed_with_what_they_read():
    assert READERS["precdiff"].__doc__.startswith("PrecDiff's own dumps")
