"""Arrays of Python objects (balls, mpmath numbers): a function applied to every element, or to every row."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def objects(values: np.ndarray, convert: Callable[[Any], Any]) -> np.ndarray:
    """The elements of a numpy array as Python numbers, converted."""
    result = np.empty(np.shape(values), object)
    result.ravel()[:] = [convert(v) for v in np.asarray(values).ravel().tolist()]
    return result


def scalar(value: Any) -> np.ndarray:
    """An array without axes."""
    result = np.empty((), object)
    result[()] = value
    return result


def mapped(function: Callable[..., Any], *planes: np.ndarray) -> np.ndarray:
    """The function of the planes' elements, broadcast."""
    arrays = np.broadcast_arrays(*planes)
    result = np.empty(arrays[0].shape, object)
    result.ravel()[:] = [function(*values) for values in zip(*(a.ravel() for a in arrays), strict=True)]
    return result


def rows(function: Callable[[Any], Any], plane: np.ndarray) -> np.ndarray:
    """The function of every row along the last axis."""
    result = np.empty(plane.shape[:-1], object)
    result.ravel()[:] = [function(row) for row in plane.reshape(math.prod(plane.shape[:-1]), plane.shape[-1])]
    return result
