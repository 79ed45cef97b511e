"""HDF5 of other programs, as h5py writes it: types, layouts, links that lead elsewhere, bombs."""

import h5py
import numpy as np
import pytest

from precdiff.dump import convert, open_dump, write_trace
from precdiff.errors import FileError
from precdiff.kernels import run_kernel

RNG = np.random.default_rng(1)
ARRAYS = {
    **{f"{order}{kind}": RNG.normal(size=(3, 4)).astype(f"{order}{kind}") for order in "<>"
       for kind in ("f2", "f4", "f8")},
    **{f"{order}{kind}": RNG.integers(0, 99, (2, 3)).astype(f"{order}{kind}") for order in "<>"
       for kind in ("i2", "u2", "i4", "u4", "i8", "u8")},
    "i1": np.int8([-3, 4]), "u1": np.uint8([3, 4]), "bool": np.array([True, False]), "scalar": np.float32(2.5),
    "empty": np.empty((0, 3), np.float16), "nan": np.uint32([0x7FC01234, 0xFF812345, 1]).view(np.float32),
}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.h5"


@pytest.mark.parametrize("settings", [{}, {"chunks": True}, {"chunks": True, "compression": "gzip", "shuffle": True}],
                         ids=["contiguous", "chunked", "compressed"])  # fmt: skip
def test_every_type(path, settings):
    with h5py.File(path, "w") as file:
        for name, array in ((name, np.asarray(array)) for name, array in ARRAYS.items()):
            file.create_dataset(f"group/{name}", data=array, **(settings if array.size and array.shape else {}))
    with open_dump(path) as dump:
        assert dump.reader == "hdf5"
        for name, array in ARRAYS.items():
            wanted = np.asarray(array).astype(np.asarray(array).dtype.newbyteorder("<"))
            found = dump.native(f"group/{name}")
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
            assert dump.codes(f"group/{name}").tobytes() == wanted.tobytes()


def test_pieces(path):
    array = RNG.normal(size=(7, 11, 3)).astype(np.float32)
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=array, chunks=(2, 3, 3), compression="gzip")
    with open_dump(path) as dump:
        assert np.concatenate([codes for _, codes in dump.code_chunks("x", 10)]).tobytes() == array.tobytes()


def test_eight_bit_floats_by_their_attribute(path):
    with h5py.File(path, "w") as file:
        file["x"] = np.uint8([0x38, 0x7E])
        file["x"].attrs["format"] = "e4m3fn"
        file["y"] = np.uint8([0x38])
        file["y"].attrs["format"] = "fp32"
    with open_dump(path) as dump:
        assert (dump.row("x").format, dump.tensor("x").tolist()) == ("e4m3fn", [1, 448])
        assert dump.row("y").format == "u8"


@pytest.mark.parametrize("text", ["e4m3fn", np.bytes_("e4m3fn")], ids=["variable", "fixed"])
def test_newer_files_are_read_without_texts_of_unknown_length(path, text):
    """libver "latest" has object headers whose lengths are not looked at: there the type of the data set speaks."""
    with h5py.File(path, "w", libver="latest") as file:
        file["x"] = np.uint8([0x38])
        file["x"].attrs["format"] = text
        file["y"] = np.float32([1])
    with open_dump(path) as dump:
        assert dump.tensor("y").tolist() == [1]
        assert dump.row("x").format == "u8"


def test_what_is_no_tensor_is_passed_over_by_name(path, tmp_path):
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["x"] = np.ones(3)
    (tmp_path / "values").write_bytes(np.ones(3).tobytes())
    layout = h5py.VirtualLayout((3,), float)
    layout[:] = h5py.VirtualSource("secret.h5", "x", (3,))
    with h5py.File(path, "w") as file:
        file["kept"] = np.float32([1])
        file["text"] = "abc"
        file["record"] = np.zeros(2, [("a", "f4")])
        file["external link"] = h5py.ExternalLink("secret.h5", "/x")
        file["soft"] = h5py.SoftLink("/kept")
        file.create_dataset("external", (3,), float, external=[("values", 0, 24)])
        file.create_virtual_dataset("virtual", layout)
        file["group/loop"] = file["/"]
        file["complex"] = np.zeros(2, np.complex64)
    with open_dump(path) as dump:
        assert {id: row.data for id, row in dump.tensors.items()} == {"complex": "stats", "kept": "full"}
        assert dump.attrs.provenance["passed_over"] == [
            "external", "external link", "group/loop", "record", "soft", "text", "virtual",
        ]  # fmt: skip


def test_a_deep_chain_of_groups_ends(path):
    with h5py.File(path, "w") as file:
        file["x"] = np.float32([1])
        group = file
        for _ in range(100):
            group = group.create_group("g")
        group["y"] = np.float32([1])
    with open_dump(path) as dump:
        assert list(dump.tensors) == ["x"]
        assert dump.attrs.provenance["passed_over"] == ["/".join("g" * 64)]


BOMBS = {
    "a huge shape": ({"shape": (2**40,), "dtype": "f4", "chunks": (1024,)}, "more than 1100 times"),
    "a huge chunk": (
        {"shape": (10,), "maxshape": (None,), "dtype": "u1", "chunks": (2**30,)},
        "unpacked one at a time",
    ),
    "a contiguous one": ({"shape": (2**33,), "dtype": "f4"}, "more than 1100 times"),
}


@pytest.mark.parametrize(("settings", "said"), BOMBS.values(), ids=BOMBS)
def test_bombs(path, settings, said):
    with h5py.File(path, "w") as file:
        file.create_dataset("x", **settings)
    assert path.stat().st_size < 10_000
    with open_dump(path) as dump, pytest.raises(FileError, match=said):
        dump.codes("x")


def test_zeros_that_deflate_well_are_no_bomb(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.zeros(2**25, np.float32), chunks=(2**20,), compression="gzip")
    with open_dump(path) as dump:
        assert not any(codes.any() for _, codes in dump.code_chunks("x"))


def test_a_dump_of_ours_is_ours(path):
    write_trace(path, run_kernel("softmax", {"x": np.ones((2, 4), np.float16)}).trace)
    with open_dump(path) as dump:
        assert dump.reader == "precdiff"


def test_as_our_own_and_in_a_folder(path, tmp_path):
    with h5py.File(path, "w") as file:
        file["a/b"] = ARRAYS[">f4"]
    convert(path, tmp_path / "own.h5")
    (tmp_path / "folder").mkdir()
    path.rename(tmp_path / "folder" / "x.h5")
    with open_dump(tmp_path / "own.h5") as one, open_dump(tmp_path / "folder") as other:
        assert (one.reader, other.reader) == ("precdiff", "folder")
        wanted = ARRAYS[">f4"].astype("<f4").tobytes()
        assert one.codes("a/b").tobytes() == wanted
        assert [other.codes(id).tobytes() for id in other.tensors] == [wanted]
