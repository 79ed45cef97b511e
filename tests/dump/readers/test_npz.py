"""The .npz reader against numpy.load: stored and deflated, and zips that are bombs or lie."""

import io
import zipfile

import numpy as np
import pytest

from precdiff.dump import open_dump
from precdiff.errors import FileError

RNG = np.random.default_rng(0)
ARRAYS = {
    "a": RNG.normal(size=(40, 50)).astype(np.float32),
    "big endian": RNG.normal(size=(7, 3)).astype(">f8"),
    "fortran": np.asfortranarray(RNG.integers(-9, 9, (6, 5, 4)).astype(np.int16)),
    "scalar": np.float16(1.5),
    "empty": np.empty((0, 3), np.uint8),
    "in/folder": np.array([True, False]),
}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed], ids=["stored", "deflated"])
def test_what_numpy_saves(tmp_path, save):
    save(tmp_path / "x.npz", **ARRAYS)
    with open_dump(tmp_path / "x.npz") as dump:
        assert dump.reader == "npz"
        assert list(dump.tensors) == list(ARRAYS)
        for id, wanted in ARRAYS.items():
            assert dump.row(id).shape == wanted.shape
            assert dump.native(id).tolist() == wanted.tolist(), id
            pieces = np.concatenate([codes for _, codes in dump.code_chunks(id, 7)] or [np.empty(0)])
            assert pieces.tobytes() == dump.codes(id).tobytes(), id
        assert dump.verify() == []


def test_going_back_in_a_deflated_member(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", a=ARRAYS["a"])
    with open_dump(tmp_path / "x.npz") as dump:
        row = dump.row("a")
        late, early = dump.block(row, (30, 0), (5, 50)), dump.block(row, (2, 0), (5, 50))
        inner = dump.block(row, (3, 4), (5, 6))
    bits = ARRAYS["a"].view(np.uint32)
    assert (late == bits[30:35]).all()
    assert (early == bits[2:7]).all()
    assert (inner == bits[3:8, 4:10]).all()


def npy_bytes(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def test_a_bomb_is_refused_before_it_is_inflated(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        file.writestr("x.npy", npy_bytes(np.zeros(70 * 2**20, np.uint8)))
    assert (tmp_path / "x.npz").stat().st_size < 100_000
    with pytest.raises(FileError, match=r"bytes that become 73,400,448; save it uncompressed"):
        open_dump(tmp_path / "x.npz")


LIES = {
    "shape": npy_bytes(np.zeros(3, np.float32)).replace(b"(3,)", b"(9,)"),
    "pickle": npy_bytes(np.zeros(3, np.float32)).replace(b"<f4", b"|O8"),
    "none": b"hello, world",
}


@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
@pytest.mark.parametrize("content", LIES.values(), ids=LIES)
def test_members_that_lie(tmp_path, content, kind):
    with zipfile.ZipFile(tmp_path / "x.npz", "w", kind) as file:
        file.writestr("x.npy", content)
    with pytest.raises(FileError):
        open_dump(tmp_path / "x.npz")


def test_a_member_that_is_no_array(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as file:
        file.writestr("x.npy", npy_bytes(np.zeros(3)))
        file.writestr("../../evil", b"x")
    with pytest.raises(FileError, match=r"holds '\.\./\.\./evil'; a \.npz holds \.npy files"):
        open_dump(tmp_path / "x.npz")
