"""The .safetensors reader against the safetensors package, both ways, and headers that lie."""

import json

import ml_dtypes
import numpy as np
import pytest

from precdiff.dump import convert, open_dump
from precdiff.errors import FileError

RNG = np.random.default_rng(0)
ARRAYS = {
    **{name: RNG.normal(size=(3, 5)).astype(name) for name in ("float16", "float32", "float64")},
    **{name: RNG.integers(0, 99, (2, 2, 2)).astype(name) for name in
       ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")},
    "bfloat16": RNG.normal(size=7).astype(ml_dtypes.bfloat16), "float8_e4m3fn": np.ones(3, ml_dtypes.float8_e4m3fn),
    "float8_e5m2": np.ones(3, ml_dtypes.float8_e5m2), "scalar": np.float32(3), "empty": np.empty((0, 2), np.float32),
}  # fmt: skip
TORCH_ONLY = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def by_hand(path, header, content=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content)


def test_what_safetensors_saves(tmp_path):
    saved = pytest.importorskip("safetensors.numpy")
    arrays = {name: np.asarray(a) for name, a in ARRAYS.items() if name not in TORCH_ONLY}
    saved.save_file(arrays, tmp_path / "x.safetensors", {"made": "here"})
    with open_dump(tmp_path / "x.safetensors") as dump:
        assert dump.reader == "safetensors"
        assert dict(dump.attrs.options) == {"made": "here"}
        assert sorted(dump.tensors) == sorted(arrays)
        for id, wanted in arrays.items():
            assert dump.row(id).shape == wanted.shape
            assert dump.native(id).tolist() == wanted.tolist()


@pytest.mark.torch
def test_formats_only_torch_has(tmp_path):
    torch = pytest.importorskip("torch")
    saved = pytest.importorskip("safetensors.torch")
    made = {name: torch.arange(5).to(getattr(torch, name)) for name in TORCH_ONLY}
    saved.save_file(made, tmp_path / "x.safetensors")
    with open_dump(tmp_path / "x.safetensors") as dump:
        for id, wanted in made.items():
            assert dump.tensor(id).tolist() == wanted.to(torch.float32).tolist()


def test_the_package_reads_what_is_written(tmp_path):
    loaded = pytest.importorskip("safetensors.numpy").load_file
    arrays = {name: np.asarray(a) for name, a in ARRAYS.items() if name not in TORCH_ONLY}
    np.savez(tmp_path / "x.npz", **arrays)
    convert(tmp_path / "x.npz", tmp_path / "x.safetensors")
    found = loaded(tmp_path / "x.safetensors")
    assert {id: (a.dtype, a.shape, a.tobytes()) for id, a in found.items()} == {
        id: (a.dtype, a.shape, a.tobytes()) for id, a in arrays.items()
    }


def test_a_dtype_without_a_format_is_listed(tmp_path):
    by_hand(tmp_path / "x", {"s": {"dtype": "F8_E8M0", "shape": [4], "data_offsets": [0, 4]}}, bytes(4))
    with open_dump(tmp_path / "x") as dump, pytest.raises(FileError, match="PrecDiff has no format F8_E8M0"):
        dump.codes("s")


def entry(**changed):
    return {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changed}}


REFUSED = {
    "beyond": entry(data_offsets=[0, 12], shape=[3]), "backwards": entry(data_offsets=[8, 0]),
    "negative": entry(data_offsets=[-8, 0]), "short": entry(data_offsets=[0, 4]), "long": entry(shape=[1]),
    "huge": entry(shape=[2**60, 2**60]), "shape": entry(shape="x"), "text": entry(data_offsets="08"),
    "float": entry(data_offsets=[0.0, 8.0]), "dtype": entry(dtype=4), "entry": {"x": 3}, "list": b"[1]",
    "cut": b'{"x":', "deep": b'{"x":' + b"[" * 100_000, "bool": entry(dtype="BOOL", data_offsets=[0, 2]),
}  # fmt: skip


@pytest.mark.parametrize("header", REFUSED.values(), ids=REFUSED)
def test_refused(tmp_path, header):
    by_hand(tmp_path / "x.safetensors", header, b"\7" * 8)
    with pytest.raises(FileError):
        open_dump(tmp_path / "x.safetensors").codes("x")


def test_a_header_that_is_cut_off(tmp_path):
    (tmp_path / "x").write_bytes((1000).to_bytes(8, "little") + b'{"x":')
    with pytest.raises(FileError, match="its header of 1,000 bytes is cut off"):
        open_dump(tmp_path / "x")
