"""Arrays of other libraries as numpy arrays of the same bits: the one door for what a user hands in.

numpy lists and numbers, whatever has `__array__`, and DLPack, the exchange protocol of torch, jax, cupy, paddle and
others (DLPack 1.1, dlpack.h). A capsule is read here and not by numpy, which knows neither bf16 nor the 8-bit floats;
the data is not copied. Tensors of torch's kind lose their gradient and come to the host first. Whole numbers that numpy
would round when it makes one array of a list stay Python's integers (dtype object). Formats are none of this file's
business: it keeps bits.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from precdiff.errors import PrecDiffError
from precdiff.formats.format import Array

#: (DLDataTypeCode, bits) of dlpack.h, and what numpy and ml_dtypes call it; complex numbers only to be refused by name
_DTYPES = {
    **{(0, bits): f"int{bits}" for bits in (8, 16, 32, 64)},
    **{(1, bits): f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{(2, bits): f"float{bits}" for bits in (16, 32, 64)},
    (4, 16): "bfloat16",
    (5, 64): "complex64",
    (5, 128): "complex128",
    (6, 8): "bool",
    (10, 8): "float8_e4m3fn",
    (12, 8): "float8_e5m2",
}
#: DLDeviceType of memory the host can read: kDLCPU, kDLCUDAHost, kDLROCMHost
_HOST = (1, 3, 11)


def as_array(value: object, name: str = "array") -> Array:
    """Return the value as a numpy array, by `name` in messages; what is no array or list of numbers is refused.

    >>> as_array([1.0, 2.0]).dtype.name, as_array([2**63 + 1, -1]).tolist()
    ('float64', [9223372036854775809, -1])
    """
    if isinstance(value, np.ma.MaskedArray):
        message = f"{name}: found a masked array; allowed are plain arrays. Give x.filled(value) or x.compressed()"
        raise PrecDiffError(message)
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)
    try:
        return _from_library(value) if hasattr(value, "__dlpack__") else _from_python(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        message = f"{name}: found {kind}, which gives no array ({error}); allowed are arrays and lists of numbers"
        raise PrecDiffError(f"{message} of one shape") from error


def _from_python(value: Any) -> Array:
    """Lists, numbers and objects with `__array__`."""
    array = np.asarray(value)
    return array if array.dtype != np.float64 or hasattr(value, "__array__") else _unrounded(value, array)


def _unrounded(value: Any, rounded: Array) -> Array:
    """The numbers of a list as they were, where making them fp64 changed an integer."""
    given = np.asarray(value, object)
    changed = (isinstance(x, int) and int(r) != x for x, r in zip(given.flat, rounded.flat, strict=True))
    return given if any(changed) else rounded


def _from_library(value: Any) -> Array:
    """A tensor that speaks DLPack."""
    for step in ("detach", "cpu", "resolve_conj", "resolve_neg"):
        value = getattr(value, step)() if hasattr(value, step) else value
    on_host = int(value.__dlpack_device__()[0]) in _HOST
    return _from_capsule(value.__dlpack__() if on_host else value.__dlpack__(dl_device=(1, 0)))


class _Tensor(ctypes.Structure):
    """The start of DLManagedTensor, which is a DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def _from_capsule(capsule: Any) -> Array:
    """The array of a `dltensor` capsule, which is not consumed: it frees the tensor when the array is gone."""
    tensor = _Tensor.from_address(_pointer(capsule, b"dltensor"))
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    dtype = _dtype(tensor)
    if not np.prod(shape, dtype=object):
        return np.zeros(shape, dtype)
    strides = _strides(tensor, shape)
    reach = [(length - 1) * stride for length, stride in zip(shape, strides, strict=True)]
    below, above = (sum(x for x in reach if x * sign > 0) for sign in (-1, 1))
    memory = (ctypes.c_uint8 * ((above - below + 1) * dtype.itemsize)).from_address(
        tensor.data + tensor.byte_offset + below * dtype.itemsize
    )
    memory.owner = capsule
    steps = tuple(stride * dtype.itemsize for stride in strides)
    return np.ndarray(shape, dtype, memory, -below * dtype.itemsize, steps)


def _strides(tensor: _Tensor, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Steps in elements; a null pointer stands for C order."""
    if tensor.strides:
        return tuple(tensor.strides[i] for i in range(tensor.ndim))
    return tuple(int(np.prod(shape[i + 1 :])) for i in range(tensor.ndim))


def _dtype(tensor: _Tensor) -> np.dtype[Any]:
    name = _DTYPES.get((tensor.code, tensor.bits))
    if name is None or tensor.lanes != 1:
        raise TypeError(f"DLPack type {tensor.code} of {tensor.bits} bits in {tensor.lanes} lanes is not known")
    if hasattr(np, name):
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))
