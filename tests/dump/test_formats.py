"""Every code of every format through HDF5 and back, and the values stock HDF5 readers see."""

import dataclasses

import h5py
import ml_dtypes
import numpy as np
import pytest

from precdiff.dump import DumpWriter, open_dump
from precdiff.dump.h5types import create, file_type, read_codes, stored_format, write_codes
from precdiff.formats import FORMATS, from_bits, get_format


def all_codes(name):
    fmt = get_format(name)
    return np.arange(2**fmt.bits).astype(fmt.storage)


def sample_codes(name):
    """All codes of a narrow format; random ones of a wide one, specials and NaN payloads among them."""
    fmt = get_format(name)
    if fmt.kind == "bool":
        return np.array([0, 1], np.uint8)
    if fmt.bits <= 16:
        return all_codes(name)
    codes = np.random.default_rng(8).integers(0, 2**fmt.bits, 5000, fmt.storage)
    top = {32: 0x7F80_0000, 64: 0x7FF0_0000_0000_0000}[fmt.bits]
    nans = np.arange(top, top + 100).astype(fmt.storage)
    return np.concatenate([codes, nans, nans | fmt.storage.type(1 << (fmt.bits - 1))])


def large(codes):
    return np.resize(codes, max(codes.size, -(-65536 // codes.itemsize)))


@pytest.mark.parametrize("name", list(FORMATS))
@pytest.mark.parametrize("grow", [lambda codes: codes, large], ids=["pool", "data"])
def test_every_code_comes_back(tmp_path, name, grow):
    codes = grow(sample_codes(name))
    with DumpWriter(tmp_path / "run.h5") as writer:
        writer.add_codes("a/b", codes, name)
        writer.add_codes("c", codes[:1].reshape(()), name)
        writer.add_codes("d", codes[:0].reshape(3, 0), name)
    with open_dump(tmp_path / "run.h5") as dump:
        assert dump.codes("a/b").tobytes() == codes.tobytes()
        assert dump.codes("c").shape == ()
        assert dump.codes("d").shape == (3, 0)
        assert dump.row("a/b").where.startswith("/data/a%2Fb" if codes.nbytes >= 65536 else f"/pool/{name}[0:")
        assert len(dump.verify()) == 1


@pytest.mark.parametrize("name", ["fp16", "bf16", "e4m3fn", "e5m2", "fp32", "fp64"])
def test_carriers_and_native_arrays_keep_nan_payloads(tmp_path, name):
    codes = sample_codes(name)
    values = from_bits(codes, name)
    with DumpWriter(tmp_path / "run.h5") as writer:
        writer.add_tensor("x", values, name)
    with open_dump(tmp_path / "run.h5") as dump:
        assert dump.tensor("x").tobytes() == values.tobytes()
        assert dump.codes("x").tobytes() == codes.tobytes()
        assert dump.native("x").dtype.name == get_format(name).native
        assert dump.native("x").tobytes() == codes.tobytes()


@pytest.mark.parametrize(
    ("name", "dtype"), [("bf16", ml_dtypes.bfloat16), ("fp16", np.float16), ("fp32", np.float32), ("fp64", np.float64)]
)
def test_stock_readers_see_the_values(tmp_path, name, dtype):
    codes = large(sample_codes(name))
    with DumpWriter(tmp_path / "run.h5") as writer:
        writer.add_codes("x", codes, name)
        writer.add_codes("small", codes[:100], name)
    with h5py.File(tmp_path / "run.h5") as file:
        for found, expected in ((file["data/x"], codes), (file[f"pool/{name}"], codes[:100])):
            assert found.attrs["format"] == name
            with np.errstate(invalid="ignore"):  # signalling NaNs
                values = expected.view(dtype).astype(np.float64)
                np.testing.assert_array_equal(found[...].astype(np.float64), values)
        packed = file["data/x"]
        assert (packed.shuffle, packed.compression, packed.compression_opts) == (True, "gzip", 1)


@pytest.mark.parametrize(
    ("name", "dtype"), [("e4m3fn", "u1"), ("e5m2", "u1"), ("i16", "<i2"), ("u64", "<u8"), ("bool", "?")]
)
def test_other_types_in_the_file(tmp_path, name, dtype):
    with DumpWriter(tmp_path / "run.h5") as writer:
        writer.add_codes("x", sample_codes(name)[:50], name)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file[f"pool/{name}"].dtype == np.dtype(dtype)
        assert file[f"pool/{name}"].attrs["format"] == name


def test_bfloat16_is_the_layout_that_hdf5_predefines():
    kind = file_type(get_format("bf16"))
    assert (kind.get_size(), kind.get_precision(), kind.get_offset(), kind.get_ebias()) == (2, 16, 0, 127)
    assert kind.get_fields() == (15, 7, 8, 0, 7)  # sign, exponent place and size, significand place and size
    assert kind.get_norm() == h5py.h5t.NORM_IMPLIED
    assert kind.get_order() == h5py.h5t.ORDER_LE


@pytest.fixture
def narrow_fp32(monkeypatch):
    """A format kept in fp32's codes, as tf32 is."""
    row = dataclasses.replace(get_format("fp32"), name="narrow", p=11)
    monkeypatch.setitem(FORMATS._entries, "narrow", row)
    return row


def test_a_format_kept_in_fp32_is_stored_as_fp32(tmp_path, narrow_fp32):
    values = np.float32([1.0, -0.0, 1 + 2.0**-10, np.inf])
    with DumpWriter(tmp_path / "run.h5") as writer:
        writer.add_tensor("x", values, "narrow")
        writer.add_tensor("large", np.resize(values, 20000), "narrow")
        with pytest.raises(Exception, match="holds no"):
            writer.add_tensor("y", np.float32([1 + 2.0**-20]), "narrow")
    with open_dump(tmp_path / "run.h5") as dump:
        assert (dump.row("x").format, dump.row("x").stored_format) == ("narrow", "fp32")
        assert dump.tensor("x").tobytes() == values.tobytes()
    with h5py.File(tmp_path / "run.h5") as file:
        assert (file["pool/narrow"].dtype, file["pool/narrow"].attrs["format"]) == (np.float32, "narrow")
        assert (file["data/large"].dtype, file["data/large"].attrs["format"]) == (np.float32, "narrow")


@pytest.mark.parametrize("name", list(FORMATS))
def test_blocks_of_codes(tmp_path, name):
    fmt = stored_format(name)
    codes = np.resize(sample_codes(name), (6, 7))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = create(file, "x", get_format(name), fmt, codes.shape, chunks=(4, 4), compression=1, shuffle=True)
        write_codes(dataset, codes[:2], (0, 0))
        write_codes(dataset, codes[2:], (2, 0))
        assert read_codes(dataset, fmt).tobytes() == codes.tobytes()
        assert (read_codes(dataset, fmt, (1, 2), (3, 4)) == codes[1:4, 2:6]).all()


def test_big_endian_and_strided_values(tmp_path):
    values = np.arange(12, dtype=">f4").reshape(3, 4)
    with DumpWriter(tmp_path / "run.h5") as writer:
        writer.add_tensor("x", values.T, "fp32")
        writer.add_tensor("y", np.arange(12, dtype=">i4")[::2], "i32")
        writer.add_tensor("z", values[:, ::2], "fp16")
    with open_dump(tmp_path / "run.h5") as dump:
        assert dump.tensor("x").tolist() == values.T.tolist()
        assert dump.tensor("y").tolist() == [0, 2, 4, 6, 8, 10]
        assert dump.tensor("z").tolist() == values[:, ::2].tolist()
        assert len(dump.verify()) == 1
