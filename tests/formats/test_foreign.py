"""What a user hands in becomes a numpy array of the same bits, or one clear refusal."""

import gc

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from precdiff.errors import PrecDiffError
from precdiff.formats import FORMATS, as_array, native_dtype, to_bits

DTYPES = sorted({native_dtype(format).name for _, format in FORMATS.items()})
TORCH = [name for name in DTYPES if not name.startswith("uint") or name == "uint8"]


class Exporter:
    """An object that speaks DLPack alone, as another library's tensor does."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, **asked):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.device


class OnDevice(Exporter):
    """A tensor elsewhere: it comes to the host when asked by DLPack's `dl_device`, or not at all."""

    def __init__(self, array, comes):
        super().__init__(array, (2, 0))
        self.comes = comes

    def __dlpack__(self, *, dl_device=None, **asked):
        if not self.comes or dl_device != (1, 0):
            raise BufferError("it lies on another device")
        return self.array.__dlpack__()


@st.composite
def views(draw):
    """An array of any of DLPack's shapes: sliced, stepped, backwards, transposed, empty, of no dimension."""
    dtype = draw(
        st.sampled_from([np.float16, np.float32, np.float64, np.int8, np.uint16, np.int64, np.uint64, np.bool_])
    )
    array = draw(arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)))
    steps = tuple(slice(None, None, draw(st.sampled_from([1, 2, -1, -2]))) for _ in array.shape)
    return array[steps].T if array.ndim else array


@given(views())
def test_a_capsule_is_read_in_every_layout(view):
    found = as_array(Exporter(view))

    assert (found.dtype, found.shape) == (view.dtype, view.shape)
    assert found.tobytes() == view.tobytes()


def test_a_capsule_keeps_its_memory_and_is_not_copied():
    array = np.arange(1000.0)
    found = as_array(Exporter(array))
    array[3] = -1.0
    del array
    gc.collect()

    assert found[3] == -1.0 and found.sum() == 999 * 500 - 3 - 1


def test_a_tensor_elsewhere_is_asked_to_come():
    assert as_array(OnDevice(np.ones(2), comes=True)).tolist() == [1.0, 1.0]
    with pytest.raises(PrecDiffError, match=r"x: found .*OnDevice, which gives no array \(it lies on another device\)"):
        as_array(OnDevice(np.ones(2), comes=False), "x")


class HasArray:
    def __array__(self, dtype=None, copy=None):
        return np.array([1, 2], ml_dtypes.bfloat16)


@pytest.mark.parametrize(
    ("value", "dtype", "listed"),
    [
        (HasArray(), "bfloat16", [1, 2]),
        (memoryview(b"ab"), "uint8", [97, 98]),
        ([1.5, 2], "float64", [1.5, 2]),
        ((1, 2), "int64", [1, 2]),
        (True, "bool", True),
        (np.float16(2), "float16", 2),
        ([np.float32(1), np.float32(2)], "float32", [1, 2]),
        ([], "float64", []),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_numpy_knows(value, dtype, listed):
    found = as_array(value)

    assert (type(found), found.dtype.name, found.tolist()) == (np.ndarray, dtype, listed)


@given(st.lists(st.integers(-(2**70), 2**70) | st.integers(-(2**63), 2**64 - 1), min_size=1, max_size=4))
def test_integers_of_a_list_are_never_rounded(numbers):
    assert [int(x) for x in as_array(numbers).tolist()] == numbers


@given(st.integers(2**53, 2**63 - 1), st.floats(-1, 1))
def test_nor_beside_floats(whole, fraction):
    assert as_array([whole, fraction]).tolist() == [whole, fraction]


REFUSED = {
    "masked": (np.ma.masked_array([1.0, 2.0], [0, 1]), r"x: found a masked array; .* x\.filled\(value\)"),
    "ragged": ([[1, 2], [3]], r"x: found list, which gives no array \(.*inhomogeneous"),
    "raising": (type("T", (), {"__dlpack__": None, "__dlpack_device__": lambda self: (1, 0)})(), "x: found .*T, which"),
}


@pytest.mark.parametrize(("value", "message"), REFUSED.values(), ids=REFUSED)
def test_refusals(value, message):
    with pytest.raises(PrecDiffError, match=message):
        as_array(value, "x")


@pytest.mark.torch
@pytest.mark.parametrize("name", TORCH)
def test_torch_tensors_of_every_format(name):
    torch = pytest.importorskip("torch")
    expected = np.array([[0, 1, 2], [0.5, 1, 2]]).astype(name if hasattr(np, name) else getattr(ml_dtypes, name))
    tensor = torch.tensor([[0, 1, 2], [0.5, 1, 2]], dtype=torch.float64).to(getattr(torch, name))

    for found, wanted in ((as_array(tensor), expected), (as_array(tensor.T), expected.T)):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        assert found.tobytes() == wanted.tobytes()


@pytest.mark.torch
def test_torch_bits_of_bf16_are_kept():
    torch = pytest.importorskip("torch")
    codes = np.arange(2**16, dtype=np.uint16)
    tensor = torch.from_numpy(codes.view(np.int16)).view(torch.bfloat16)

    assert (to_bits(as_array(tensor), "bf16") == codes).all()


@pytest.mark.torch
def test_torch_tensors_with_a_past():
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    lazy = torch.view_as_complex(torch.ones(2, 2)).conj().imag

    assert as_array(weight * 2).tolist() == [2, 2]
    assert as_array(lazy).tolist() == [-1, -1]


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["sparse", "meta"])
def test_torch_tensors_that_hold_no_plain_data(kind):
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(2).to_sparse() if kind == "sparse" else torch.zeros(2, device="meta")
    with pytest.raises(PrecDiffError, match=r"x: found torch\.Tensor, which gives no array"):
        as_array(tensor, "x")
