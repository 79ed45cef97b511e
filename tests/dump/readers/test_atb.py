"""ATB's .bin files: a header of lines, every type, values in another file."""

import ml_dtypes
import numpy as np
import pytest

from precdiff.dump import open_dump
from precdiff.errors import FileError
from tests.dump.readers import samples

TYPES = {
    0: "float32", 1: "float16", 2: "int8", 3: "int32", 4: "uint8", 6: "int16", 7: "uint16", 8: "uint32", 9: "int64",
    10: "uint64", 11: "float64", 12: "bool", 27: ml_dtypes.bfloat16,
}  # fmt: skip


def minimal(path, type_, dims, content, more=""):
    path.write_bytes(f"dtype={type_}\ndims={dims}\n{more}$End=1\n".encode() + content)
    return path


def test_a_whole_header(tmp_path):
    with open_dump(samples.atb(tmp_path)) as dump:
        assert (dump.reader, dict(dump.attrs.options)) == ("atb", {"format": "2"})
        assert dump.tensor("x").tobytes() == samples.X.tobytes()


@pytest.mark.parametrize(("type_", "dtype"), TYPES.items(), ids=map(str, TYPES))
def test_every_type(tmp_path, type_, dtype):
    array = np.random.default_rng(0).integers(0, 2, (3, 4)).astype(dtype)
    with open_dump(minimal(tmp_path / "x.bin", type_, "3,4", array.tobytes())) as dump:
        found = dump.native("x")
        assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_values_in_another_file(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "v").write_bytes(np.float32([1, 2, 3]).tobytes())
    with open_dump(minimal(tmp_path / "x.bin", 0, "3", b"", "data=inner/v\n")) as dump:
        assert dump.tensor("x").tolist() == [1, 2, 3]


@pytest.mark.parametrize("place", ["../secret", "/etc/hostname", "link"])
def test_that_stays_in_the_folder(tmp_path, place):
    (tmp_path / "secret").write_bytes(bytes(12))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(FileError, match="may not point outside its folder"):
        open_dump(minimal(tmp_path / "in" / "x.bin", 0, "3", b"", f"data={place}\n"))


LIES = {"too large": ("0", "9,9", "takes 324 bytes"), "no number": ("0", "3,x", "where a number"),
        "negative": ("0", "-3", "where a number"), "no type": ("x", "3", "where a number"),
        "huge": ("0", "99999999999,99999999999", "no array is that large")}  # fmt: skip


@pytest.mark.parametrize(("type_", "dims", "said"), LIES.values(), ids=LIES)
def test_headers_that_lie(tmp_path, type_, dims, said):
    with pytest.raises(FileError, match=said):
        open_dump(minimal(tmp_path / "x.bin", type_, dims, bytes(12)))


def test_unknown_types_are_listed(tmp_path):
    with open_dump(minimal(tmp_path / "x.bin", 16, "3", bytes(24))) as dump:
        assert dump.row("x").note == "PrecDiff has no format of ACL type 16"
