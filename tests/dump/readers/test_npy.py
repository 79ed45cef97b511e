"""The .npy reader against numpy.load, and what it refuses."""

import numpy as np
import pytest

from precdiff.dump import open_dump
from precdiff.errors import FileError
from precdiff.formats import get_format

DTYPES = ["<f2", "<f4", "<f8", ">f4", ">f2", "|i1", "<i2", ">i4", "<i8", "|u1", ">u2", "<u4", "<u8", "|b1"]
SHAPES = [(), (0,), (5,), (3, 4), (2, 3, 4), (1, 0, 2)]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_order_and_shape(tmp_path, dtype, shape, order):
    rng = np.random.default_rng(0)
    wanted = np.asarray(rng.integers(0, 2, shape).astype(dtype), order=order)
    np.save(tmp_path / "x.npy", wanted)
    with open_dump(tmp_path / "x.npy") as dump:
        (row,) = dump.tensors.values()
        assert (row.id, row.shape, row.role) == ("x", shape, "output")
        assert get_format(row.format).native == np.dtype(dtype).name
        assert dump.native("x").tolist() == wanted.tolist()
        assert dump.codes("x").tobytes() == wanted.astype(wanted.dtype.newbyteorder("<")).tobytes()


@pytest.mark.parametrize("order", ["C", "F"])
def test_pieces_are_read_alone(tmp_path, order):
    wanted = np.asarray(np.arange(6 * 7 * 5, dtype=np.int32).reshape(6, 7, 5), order=order)
    np.save(tmp_path / "x.npy", wanted)
    with open_dump(tmp_path / "x.npy") as dump:
        pieces = [(place.start, codes.tolist()) for place, codes in dump.code_chunks("x", 35)]
        assert [start for start, _ in pieces] == list(range(0, 210, 35))
        assert [code for _, codes in pieces for code in codes] == list(range(210))


def header(text, version=b"\1\0"):
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text


def array(shape, descr="'<f4'", content=b""):
    return header(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()) + content


REFUSED = {
    "huge": (array("(1000000000, 1000)"), "takes 4,000,000,000,000 bytes, the file has 0"),
    "absurd": (array("(1000000000, 1000000000)"), "no array is that large"),
    "negative": (array("(-1,)"), "found the shape"),
    "overflow": (array("(9999999999999999999999999,)"), "found a shape"),
    "axes": (array("(" + "1," * 99 + ")"), "99 axes"),
    "objects": (array("(1,)", "'|O'", b"cos\nsystem\n."), "never loaded"),
    "complex": (array("(1,)", "'<c8'"), "real and imaginary"),
    "fields": (array("(1,)", "[('a', '<f4')]"), "field by field"),
    "bare": (array("(1,)", "'<V2'", b"ab"), "forgets bf16"),
    "code": (header(b"__import__('os').system('true')"), "header cannot be read"),
    "deep": (header(b"[" * 9000), "header cannot be read"),
    "version": (b"\x93NUMPY\7\0" + b" " * 20, "version 1 to 3"),
    "cut": (array("(3,)", content=bytes(11)), "takes 12 bytes, the file has 11"),
    "long": (b"\x93NUMPY\2\0\xff\xff\xff\xff{", "longer than 10,000"),
    "bool": (array("(1,)", "'|b1'", b"\7"), "holds the byte 7"),
}


@pytest.mark.parametrize(("content", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(tmp_path, content, message):
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(FileError, match=message):
        open_dump(tmp_path / "x.npy").codes("x")
