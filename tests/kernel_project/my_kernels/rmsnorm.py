"""rmsnorm along the last axis: fp16 in and out; what it adds in decides how precise it is."""

import numpy as np

ACCUMULATE = np.float32


def rmsnorm(x: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """X over the root of the mean of its squares, times gamma."""
    wide = x.astype(ACCUMULATE)
    mean = np.zeros(x.shape[:-1], ACCUMULATE)
    for column in range(x.shape[-1]):  # as a vector unit adds: one after the other
        mean += wide[..., column] * wide[..., column]
    mean /= ACCUMULATE(x.shape[-1])
    scale = ACCUMULATE(1) / np.sqrt(mean + ACCUMULATE(1e-5))
    return (wide * scale[..., None] * gamma.astype(ACCUMULATE)).astype(x.dtype)
