"""Arrays from files: bits come through unchanged, and a file that does not fit is refused with both sizes."""

import json

import ml_dtypes
import numpy as np
import pytest

from precdiff.dump import convert
from precdiff.errors import FileError, PrecDiffError
from precdiff.generate import read_array


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("format", "dtype"),
    [
        ("fp16", np.float16),
        ("bf16", ml_dtypes.bfloat16),
        ("fp32", np.float32),
        ("e4m3fn", ml_dtypes.float8_e4m3fn),
        ("i16", np.int16),
    ],
)
def test_every_code_of_a_raw_file_comes_through(folder, format, dtype):
    codes = np.arange(256, dtype=np.uint8).repeat(4).tobytes()
    (folder / "x.bin").write_bytes(codes)
    size = 1024 // np.dtype(dtype).itemsize
    values = read_array(f"x.bin:{format}:{size // 4},4")
    assert values.dtype == dtype and values.shape == (size // 4, 4)
    assert values.tobytes() == codes


def test_raw_files_are_little_endian(folder):
    (folder / "x.bin").write_bytes(bytes([0x00, 0x3C, 0x00, 0xC0]))  # 1.0 and -2.0 in fp16
    assert read_array("x.bin:fp16:2").tolist() == [1.0, -2.0]
    assert read_array("x.bin:fp16:2x1").shape == (2, 1)


def test_a_sidecar_says_format_and_shape(folder):
    np.arange(6, dtype=np.float32).tofile(folder / "x.bin")
    (folder / "x.bin.json").write_text(json.dumps({"format": "fp32", "shape": [2, 3], "made_by": "the device"}))
    assert read_array("x.bin").tolist() == [[0, 1, 2], [3, 4, 5]]


def test_npy(folder):
    np.save("x.npy", np.float16([1, 2]))
    assert read_array("x.npy").dtype == np.float16


def bf16_npy():
    np.save("x.npy", np.ones(3, ml_dtypes.bfloat16))


def raw_of_100_bytes():
    np.zeros(100, np.uint8).tofile("x.bin")


@pytest.mark.parametrize(
    ("text", "prepare", "message"),
    [
        ("gone.npy", None, r"no file of that name \(working folder .*Allowed are FILE.npy, FILE:FORMAT:SHAPE"),
        ("gone.bin:fp16:3", None, "gone.bin: there is no file"),
        (".", None, "there is a folder of that name"),
        ("x.bin:fp16:64", raw_of_100_bytes, r"expected 128 bytes \(64 fp16 of 2 bytes\), found 100"),
        ("x.bin:fp16:5,9", raw_of_100_bytes, r"expected 90 bytes \(5 x 9 fp16 of 2 bytes\), found 100"),
        ("x.bin:fp17:50", raw_of_100_bytes, "unknown format 'fp17'. Did you mean 'fp16'"),
        ("x.bin", raw_of_100_bytes, "format and shape are unknown, and there is no x.bin.json"),
        ("x.npy", bf16_npy, r"forget the dtypes numpy does not know.*FILE:bf16:3"),
    ],
)
def test_a_file_that_does_not_fit(folder, text, prepare, message):
    if prepare:
        prepare()
    with pytest.raises(PrecDiffError, match=message):
        read_array(text)


@pytest.mark.parametrize("text", ["{", "[]", '{"format": "fp16"}', '{"format": "fp16", "shape": "3"}'])
def test_a_sidecar_that_says_something_else(folder, text):
    (folder / "x.bin").write_bytes(b"12")
    (folder / "x.bin.json").write_text(text)
    with pytest.raises(FileError, match=r"x.bin.json: (cannot be read as JSON|expected format and shape)"):
        read_array("x.bin")


def test_pickles_are_never_loaded(folder):
    np.save("x.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(FileError, match="Object arrays cannot be loaded"):
        read_array("x.npy")


@pytest.mark.parametrize("name", ["x.safetensors", "x.npz", "x.h5"])
def test_a_file_of_one_array(folder, name):
    wanted = np.float32([[1, 2, 3]])
    np.save("x.npy", wanted)
    convert("x.npy", name)
    assert read_array(name).dtype == np.float32
    assert read_array(name).tolist() == wanted.tolist()


def test_a_file_of_two_arrays(folder):
    np.savez("x.npz", a=np.ones(2), b=np.ones(3))
    with pytest.raises(PrecDiffError, match=r"holds 2 arrays, a, b; one .* `precdiff convert x\.npz -o FOLDER`"):
        read_array("x.npz")
