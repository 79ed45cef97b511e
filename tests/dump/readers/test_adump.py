"""CANN's dumps of kernels: types, where the values are, tilings undone element by element."""

import itertools
import json

import ml_dtypes
import numpy as np
import pytest

import precdiff
from precdiff.dump import open_dump
from precdiff.dump.files.stored import Room
from precdiff.dump.files.tiled import fractal_nz, nc1hwc0
from precdiff.errors import FileError, NotComparableError
from precdiff.formats import get_format
from precdiff.generate.rawfile import read_array
from tests.dump.readers import samples

RNG = np.random.default_rng(8)


def written(folder, *tensors):
    """(data_type, layout, array as it lies, original shape) of inputs."""
    header = b"".join(
        samples.sized(4, samples.cann_tensor(type_, layout, array.shape, array.nbytes, original, of_output=False))
        for type_, layout, array, original in tensors
    )
    path = folder / "Add.add.1.2.1623124369613540"
    content = b"".join(array.tobytes() for _, _, array, _ in tensors)
    path.write_bytes(len(header).to_bytes(8, "little") + header + content)
    return path


def test_a_kernel(tmp_path):
    with open_dump(samples.adump(tmp_path)) as dump:
        assert dump.reader == "adump"
        assert {id: (row.role, row.format, row.shape) for id, row in dump.tensors.items()} == {
            "input.0": ("input", "fp32", (6, 5)), "output.0": ("output", "i64", (2, 3, 4)),
        }  # fmt: skip
        assert dump.tensor("input.0").tobytes() == samples.X.tobytes()
        assert dump.codes("output.0").tobytes() == samples.Y.tobytes()
        (step,) = dump.steps
        assert (step.op, step.inputs, step.outputs) == (
            "MatMul", (("input.0", "input.0"),), (("output.0", "output.0"),)
        )  # fmt: skip
        assert dict(dump.attrs.options) == {"input.0.layout": "FRACTAL_NZ", "output.0.layout": "ND"}


def test_a_kernel_that_is_not_known_asks_for_an_expected_side(tmp_path):
    path = samples.adump(tmp_path)
    with pytest.raises(NotComparableError, match=r"\(MatMul is not known\)\. Give an expected side"):
        precdiff.compare(path)
    assert precdiff.compare(path, path).verdict == "pass"


TYPES = {
    1: "float32", 2: "float16", 3: "int8", 4: "uint8", 5: "int16", 6: "uint16", 7: "int32", 8: "int64", 9: "uint32",
    10: "uint64", 11: "bool", 12: "float64", 27: ml_dtypes.bfloat16, 34: ml_dtypes.float8_e5m2,
    35: ml_dtypes.float8_e4m3fn,
}  # fmt: skip


def test_every_type(tmp_path):
    arrays = [RNG.integers(0, 2, (2, 3)).astype(dtype) for dtype in TYPES.values()]
    path = written(tmp_path, *((type_, 2, array, array.shape) for type_, array in zip(TYPES, arrays, strict=True)))
    with open_dump(path) as dump:
        assert [dump.codes(id).tobytes() for id in dump.tensors] == [array.tobytes() for array in arrays]
        assert [dump.native(id).dtype for id in dump.tensors] == [np.dtype(dtype) for dtype in TYPES.values()]


def test_types_without_a_format_are_listed(tmp_path):
    path = written(tmp_path, (33, 2, np.zeros(3, np.uint8), (3,)), (1, 2, np.float32([7]), (1,)))
    with open_dump(path) as dump:
        assert dump.row("input.0").note == "PrecDiff has no format hifloat8"
        assert dump.tensor("input.1").tolist() == [7]


@pytest.mark.parametrize("shape", [(1,), (5,), (64,), (6, 5), (16, 16), (17, 33), (3, 20, 7), (2, 2, 1, 9)], ids=str)
@pytest.mark.parametrize("inner", [8, 16, 32])
def test_fractal_nz(tmp_path, shape, inner):
    """Against the definition, written out element by element; pieces, too."""
    array = RNG.integers(0, 2**31, shape).astype(np.int32)
    matrices = array.reshape(-1, *(array.shape[-2:] if len(shape) > 1 else (1, *shape)))
    tiled = np.stack([samples.nz(matrix, inner) for matrix in matrices])
    tiled = tiled.reshape(*shape[:-2], *tiled.shape[1:])
    path = tmp_path / "x"
    path.write_bytes(tiled.tobytes())
    found = fractal_nz(Room(path, 0, tiled.nbytes), get_format("i32"), tiled.shape, shape)
    assert found is not None
    whole = found.block((0,) * len(shape), shape)
    assert whole.view(np.int32).tolist() == array.tolist()
    for start in itertools.product(*(range(0, n, max(1, n // 2)) for n in shape)):
        size = tuple(max(1, (n - at) // 2) for n, at in zip(shape, start, strict=True))
        index = tuple(slice(at, at + n) for at, n in zip(start, size, strict=True))
        assert found.block(start, size).view(np.int32).tolist() == array[index].tolist()


@pytest.mark.parametrize("order", ["NCHW", "NHWC"])
def test_nc1hwc0(tmp_path, order):
    n, c, h, w, inner = 2, 20, 3, 5, 16
    array = RNG.normal(size=(n, c, h, w)).astype(np.float16)
    tiled = np.zeros((n, 2, h, w, inner), np.float16)
    for at in np.ndindex(array.shape):
        tiled[at[0], at[1] // inner, at[2], at[3], at[1] % inner] = array[at]
    wanted = array if order == "NCHW" else np.moveaxis(array, 1, 3)
    path = written(tmp_path, (2, 3, tiled, wanted.shape))
    with open_dump(path) as dump:
        assert dump.row("input.0").shape == wanted.shape
        assert dump.codes("input.0").tobytes() == np.ascontiguousarray(wanted).tobytes()


def test_shapes_that_do_not_belong_together_stay_as_they_lie(tmp_path):
    """NCHW or NHWC cannot be told, or the tiles are too few: nothing is guessed."""
    room = Room(tmp_path / "x", 0, 10**6)
    assert nc1hwc0(room, get_format("fp16"), (2, 1, 4, 4, 16), (2, 4, 4, 4)) is None
    assert fractal_nz(room, get_format("fp16"), (1, 1, 16, 16), (17, 3)) is None
    array = np.zeros((1, 1, 16, 16), np.float16)
    with open_dump(written(tmp_path, (2, 29, array, (17, 3)))) as dump:
        assert dump.row("input.0").shape == (1, 1, 16, 16)


@pytest.mark.parametrize("size", [10**4, 2**62])
def test_sizes_that_lie(tmp_path, size):
    array = np.float32([1, 2])
    header = samples.sized(4, samples.cann_tensor(1, 2, (2,), size, (2,), of_output=False))
    (tmp_path / "x").write_bytes(len(header).to_bytes(8, "little") + header + array.tobytes())
    with pytest.raises(FileError, match=r"ends at .* of"):
        open_dump(tmp_path / "x")


TILES = {"fp16": (np.float16, None, 16), "fp32": (np.float32, None, 8), "fp32 of L0C": (np.float32, [16, 16], 16),
         "i8": (np.int8, None, 32)}  # fmt: skip


@pytest.mark.parametrize(("dtype", "tile", "inner"), TILES.values(), ids=TILES)
def test_bare_values_in_tiles(tmp_path, dtype, tile, inner):
    """A kernel's own output in FRACTAL_NZ, by its sidecar: as a dump, and as an input."""
    array = RNG.integers(0, 99, (20, 37)).astype(dtype)
    name = {"float16": "fp16", "float32": "fp32", "int8": "i8"}[array.dtype.name]
    about = {"format": name, "shape": [20, 37], "layout": "FRACTAL_NZ", **({"tile": tile} if tile else {})}
    (tmp_path / "x.bin").write_bytes(samples.nz(array, inner).tobytes())
    (tmp_path / "x.bin.json").write_text(json.dumps(about))
    with open_dump(tmp_path / "x.bin") as dump:
        assert dump.native("x").tolist() == array.tolist()
    assert read_array(str(tmp_path / "x.bin")).tolist() == array.tolist()


WRONG = {
    "another layout": ({"layout": "FRACTAL_Z"}, "allowed are ND and FRACTAL_NZ"),
    "a scalar": ({"shape": []}, "a scalar has no tiles"),
    "a tile of nothing": ({"tile": [0, 16]}, r"allowed is \[rows, columns\]"), "a text": ({"tile": "x"}, "allowed is"),
    "too short": ({"shape": [40, 37]}, r"expected 4,608 bytes \(3 x 3 x 16 x 16 fp16\), found 1,024"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "said"), WRONG.values(), ids=WRONG)
def test_sidecars_that_are_wrong(tmp_path, changes, said):
    about = {"format": "fp16", "shape": [20, 5], "layout": "FRACTAL_NZ", **changes}
    (tmp_path / "x.bin").write_bytes(bytes(2 * 32 * 16))
    (tmp_path / "x.bin.json").write_text(json.dumps(about))
    for read in (open_dump, read_array):
        with pytest.raises(FileError, match=said):
            read(str(tmp_path / "x.bin"))
