"""Framework calls on torch tensors, as rows (name, function, arguments, keywords) for test_calls.py."""

import numpy as np
import pytest

from precdiff.formats import get_format
from precdiff.reference.calls import Operand
from precdiff.rounding import Rounding, round_array

torch = pytest.importorskip("torch")
F = torch.nn.functional

FORMATS = {
    torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16", torch.float64: "fp64", torch.int64: "i64",
    torch.bool: "bool",
}  # fmt: skip


def operand(value):
    """Tensors as Operands, also in lists."""
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        wide = plain.float() if value.dtype in (torch.bfloat16, torch.float16) else plain
        return Operand(wide.numpy(), get_format(FORMATS[value.dtype]))
    if isinstance(value, list | tuple):
        return [operand(item) for item in value]
    return value


def calls(dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def r(*shape):
        return torch.randn(*shape, generator=generator).to(dtype)

    def classes(*shape):
        return torch.randint(0, 50, shape, generator=generator)

    x, positive = r(8, 64), r(8, 64).abs()
    q, k, v = r(2, 4, 9, 16), r(2, 4, 12, 16), r(2, 4, 12, 16)
    return [
        ("add", torch.add, (x, r(8, 64)), {}), ("add", torch.add, (x, r(64)), {"alpha": 2}),
        ("sub", torch.sub, (x, r(8, 1)), {}), ("mul", torch.mul, (x, 0.3), {}), ("div", torch.div, (x, r(8, 1)), {}),
        ("rsub", torch.rsub, (x, 1.5), {}), ("square", torch.square, (x,), {}), ("sqrt", torch.sqrt, (positive,), {}),
        ("reciprocal", torch.reciprocal, (x,), {}), ("rsqrt", torch.rsqrt, (positive,), {}),
        ("exp", torch.exp, (x,), {}), ("exp2", torch.exp2, (x,), {}), ("expm1", torch.expm1, (x,), {}),
        ("log", torch.log, (positive,), {}), ("log1p", torch.log1p, (positive,), {}),
        ("log2", torch.log2, (positive,), {}), ("sin", torch.sin, (x,), {}), ("cos", torch.cos, (x,), {}),
        ("pow", torch.pow, (positive, 2.5), {}), ("tanh", torch.tanh, (x * 3,), {}), ("erf", torch.erf, (x,), {}),
        ("sigmoid", torch.sigmoid, (x * 4,), {}), ("relu", F.relu, (x,), {}), ("gelu", F.gelu, (x * 3,), {}),
        ("gelu", F.gelu, (x * 3,), {"approximate": "tanh"}), ("silu", F.silu, (x * 3,), {}),
        ("softplus", F.softplus, (x * 8,), {}), ("leaky_relu", F.leaky_relu, (x, 0.1), {}),
        ("maximum", torch.maximum, (x, r(8, 64)), {}), ("clamp", torch.clamp, (x, -0.3, 0.7), {}),
        ("where", torch.where, (x > 0, x, r(8, 64)), {}), ("masked_fill", torch.masked_fill, (x, x > 0, -1e4), {}),
        ("lerp", torch.lerp, (x, r(8, 64), 0.25), {}), ("addcmul", torch.addcmul, (x, x, positive), {"value": 0.5}),
        ("softmax", F.softmax, (x * 4,), {"dim": -1}), ("softmax", F.softmax, (x * 4,), {"dim": 0}),
        ("log_softmax", F.log_softmax, (x * 4,), {"dim": -1}),
        ("layer_norm", F.layer_norm, (x, (64,), r(64)), {}), ("rms_norm", F.rms_norm, (x, (64,), r(64), 1e-6), {}),
        ("linear", F.linear, (r(4, 7, 64), r(32, 64), r(32)), {}), ("linear", F.linear, (x, r(16, 64)), {}),
        ("matmul", torch.matmul, (r(2, 8, 64), r(2, 64, 16)), {}), ("matmul", torch.matmul, (r(8, 64), r(64)), {}),
        ("matmul", torch.matmul, (r(64), r(64, 8)), {}), ("bmm", torch.bmm, (r(2, 8, 256), r(2, 256, 16)), {}),
        ("addmm", torch.addmm, (r(16), x, r(64, 16)), {"beta": 2, "alpha": 0.5}),
        ("conv2d", F.conv2d, (r(2, 3, 9, 9), r(5, 3, 3, 3), r(5)), {"stride": 2, "padding": 1}),
        ("embedding", F.embedding, (classes(4, 7), r(50, 16)), {}),
        ("sum", torch.sum, (x,), {"dim": 1}), ("sum", torch.sum, (x,), {}),
        ("mean", torch.mean, (r(8, 1000),), {"dim": -1, "keepdim": True}), ("var", torch.var, (x,), {"dim": -1}),
        ("std", torch.std, (x,), {"dim": -1}), ("norm", torch.linalg.vector_norm, (x,), {"dim": -1}),
        ("cumsum", torch.cumsum, (x, 1), {}), ("amax", torch.amax, (x,), {"dim": 1}),
        ("amin", torch.amin, (x,), {"dim": 1}), ("logsumexp", torch.logsumexp, (x, 1), {}),
        ("scaled_dot_product_attention", F.scaled_dot_product_attention, (q, k, v), {}),
        ("scaled_dot_product_attention", F.scaled_dot_product_attention, (q, q, q), {"is_causal": True}),
        ("scaled_dot_product_attention", F.scaled_dot_product_attention, (q, k, v), {"attn_mask": r(9, 12)}),
        ("cross_entropy", F.cross_entropy, (r(20, 50), classes(20)), {}),
        ("cross_entropy", F.cross_entropy, (r(20, 50), classes(20)), {"reduction": "sum"}),
        ("nll_loss", F.nll_loss, (r(20, 50), classes(20)), {}), ("mse_loss", F.mse_loss, (x, r(8, 64)), {}),
        ("l1_loss", F.l1_loss, (x, r(8, 64)), {}), ("cat", torch.cat, ([x, x],), {"dim": 1}),
        ("stack", torch.stack, ([x, positive],), {"dim": 1}), ("permute", torch.permute, (r(2, 3, 4), (2, 0, 1)), {}),
        ("transpose", torch.transpose, (r(2, 3, 4), 0, 2), {}), ("split", torch.split, (x, 24), {"dim": 1}),
        ("chunk", torch.chunk, (x, 3), {"dim": 1}), ("flatten", torch.flatten, (r(2, 3, 4), 1), {}),
        ("squeeze", torch.squeeze, (r(2, 1, 4),), {}), ("unsqueeze", torch.unsqueeze, (x, 1), {}),
        ("index_select", torch.index_select, (r(50, 4), 0, classes(6)), {}),
        ("gather", torch.gather, (r(6, 50), 1, classes(6, 3)), {}),
        ("dropout", F.dropout, (x,), {"p": 0.5, "training": False}),
    ]  # fmt: skip


def is_float(value):
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def results(made):
    return list(made) if isinstance(made, list | tuple) else [made]


def excess(operand, truth):
    """The largest error as a share of what is allowed; 0 / 0 is 0. What is not finite in the format must be equal."""
    rounded = round_array(truth.exact.values(), Rounding(operand.format))
    finite, actual = np.isfinite(rounded), np.asarray(operand.values, np.float64)
    assert np.array_equal(actual[~finite], rounded[~finite], equal_nan=True)
    error = np.abs(actual - truth.exact.hi - truth.exact.lo)[finite]
    allowed = truth.allowed[finite]
    return float(np.max(np.where(error == 0, 0.0, error / np.maximum(allowed, 1e-300)), initial=0.0))
