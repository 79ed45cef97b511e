"""The ONNX reader against the onnx package: every type, raw and typed values, models, external data."""

import ml_dtypes
import numpy as np
import pytest

from precdiff.dump import convert, open_dump
from precdiff.errors import FileError
from tests.dump.readers import samples

RNG = np.random.default_rng(3)
ARRAYS = {
    **{name: RNG.normal(size=(3, 5)).astype(name) for name in ("float16", "float32", "float64")},
    **{name: RNG.integers(0, 120, (2, 3)).astype(name) for name in
       ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")},
    "negative": np.int64([-1, -(2**63)]), "small": np.int8([-128, -1, 127]), "scalar": np.float32(3),
    "empty": np.empty((0, 2), np.float32), "bfloat16": RNG.normal(size=7).astype(ml_dtypes.bfloat16),
    "float8_e4m3fn": np.arange(8).astype(ml_dtypes.float8_e4m3fn), "float8_e5m2": np.ones(3, ml_dtypes.float8_e5m2),
}  # fmt: skip


@pytest.fixture(scope="module")
def onnx():
    return pytest.importorskip("onnx")


def proto_of(onnx, name, array, *, raw):
    array = np.asarray(array)
    if raw:
        return onnx.numpy_helper.from_array(array, name)
    kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnx.helper.make_tensor(name, kind, array.shape, array.reshape(-1).tolist())


@pytest.mark.parametrize("raw", [True, False], ids=["raw", "typed"])
@pytest.mark.parametrize("name", ARRAYS)
def test_tensors_onnx_writes(onnx, tmp_path, name, raw):
    path = tmp_path / "x.pb"
    path.write_bytes(proto_of(onnx, name, ARRAYS[name], raw=raw).SerializeToString())
    with open_dump(path) as dump:
        assert dump.reader == "onnx"
        assert {id: (row.shape, dump.codes(id).tobytes()) for id, row in dump.tensors.items()} == {
            name: (np.asarray(ARRAYS[name]).shape, np.asarray(ARRAYS[name]).tobytes())
        }


@pytest.mark.parametrize("name", [name for name in ARRAYS if name != "empty"])
def test_onnx_reads_what_convert_writes(onnx, tmp_path, name):
    path = tmp_path / "in.pb"
    path.write_bytes(proto_of(onnx, name, ARRAYS[name], raw=False).SerializeToString())
    convert(path, tmp_path / "out.pb")
    again = onnx.TensorProto.FromString((tmp_path / "out.pb").read_bytes())
    found = onnx.numpy_helper.to_array(again)
    assert (again.name, found.shape, found.tobytes()) == (
        name, np.asarray(ARRAYS[name]).shape, np.asarray(ARRAYS[name]).tobytes()
    )  # fmt: skip


def model(onnx, arrays):
    graph = onnx.helper.make_graph(
        [], "g", [], [], [onnx.numpy_helper.from_array(np.asarray(a), name) for name, a in arrays.items()]
    )
    return onnx.helper.make_model(graph)


def test_the_initialisers_of_a_model(onnx, tmp_path):
    onnx.save(model(onnx, ARRAYS), tmp_path / "x.onnx")
    with open_dump(tmp_path / "x.onnx") as dump:
        assert {id: dump.codes(id).tobytes() for id in dump.tensors} == {
            name: np.asarray(a).tobytes() for name, a in ARRAYS.items()
        }


def test_external_data(onnx, tmp_path):
    onnx.save_model(
        model(onnx, {"w": ARRAYS["float32"], "b": ARRAYS["int64"]}), tmp_path / "x.onnx", save_as_external_data=True,
        all_tensors_to_one_file=True, location="x.data", size_threshold=0,
    )  # fmt: skip
    with open_dump(tmp_path / "x.onnx") as dump:
        assert dump.codes("w").tobytes() == ARRAYS["float32"].tobytes()
        assert dump.codes("b").tobytes() == ARRAYS["int64"].tobytes()
    (tmp_path / "x.data").unlink()
    with pytest.raises(FileError, match=r"its values are in x\.data, which is missing"):
        open_dump(tmp_path / "x.onnx")


def external(folder, location):
    pair = samples.sized(1, b"location") + samples.sized(2, location.encode())
    (folder / "x.pb").write_bytes(samples.number(1, 2) + samples.number(2, 1) + samples.sized(13, pair))
    return folder / "x.pb"


@pytest.mark.parametrize("location", ["../secret", "/etc/hostname", "link", "", "."])
def test_external_data_stays_in_the_folder(tmp_path, location):
    (tmp_path / "secret").write_bytes(bytes(8))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(FileError, match="may not point outside its folder"):
        open_dump(external(folder, location))


def test_types_without_a_format_are_listed(onnx, tmp_path):
    path = tmp_path / "x.pb"
    path.write_bytes(onnx.helper.make_tensor("z", onnx.TensorProto.COMPLEX64, (1,), [1 + 2j]).SerializeToString())
    with open_dump(path) as dump:
        assert (dump.row("z").format, dump.row("z").note) == ("complex64", "PrecDiff has no format complex64")


LIES = {
    "more than there is": (samples.number(1, 100) + samples.number(2, 1) + samples.sized(9, bytes(8)), "takes 400"),
    "a huge shape": (samples.number(1, 2**40) + samples.number(2, 1) + samples.sized(9, bytes(8)), "takes"),
    "a negative shape": (samples.number(1, 2**64 - 1) + samples.number(2, 1) + samples.sized(9, b""), "from 0 on"),
    "too few values": (samples.number(1, 3) + samples.number(2, 6) + samples.sized(5, b"\1\2"), "2 values for"),
    "endless numbers": (samples.number(1, 1) + samples.number(2, 6) + samples.sized(5, b"\xff"), "do not end"),
}


@pytest.mark.parametrize(("content", "said"), LIES.values(), ids=LIES)
def test_tensors_that_lie(tmp_path, content, said):
    (tmp_path / "x.pb").write_bytes(content)
    with pytest.raises(FileError, match=said):
        open_dump(tmp_path / "x.pb")
