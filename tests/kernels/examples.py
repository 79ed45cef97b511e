"""Runs of kernels on their own examples, or on smaller ones for which every element can be defined in mpmath."""

from precdiff import api
from precdiff.generate import input_array
from precdiff.kernels import KERNELS

FLOATS = ("fp16", "bf16", "fp32")
PROFILES = ("ieee", "ascend-910b", "numpy-pairwise")

_ROWS = {"x": "normal(0,3,shape=(3,17))"}
_CURVE = {"x": "normal(0,3,shape=(120,))"}
_ATTENTION = {"q": "normal(0,1,shape=(2,3,4))", "k": "normal(0,1,shape=(2,11,4))", "v": "normal(0,1,shape=(2,11,5))"}
_VECTORS = {"gamma": "normal(1,0.1,shape=(17,))", "beta": "normal(0,0.1,shape=(17,))"}

SMALL = {
    "softmax": _ROWS,
    "layernorm": {**_ROWS, **_VECTORS},
    "rmsnorm": {**_ROWS, "gamma": _VECTORS["gamma"]},
    "silu": _CURVE,
    "sigmoid": _CURVE,
    "gelu": _CURVE,
    "gelu_tanh": _CURVE,
    "logsumexp": _ROWS,
    "log_softmax": _ROWS,
    "cross_entropy": {**_ROWS, "target": "uniform(0,16,shape=(3,))"},
    "attention": _ATTENTION,
    "flash_attention": _ATTENTION,
    "rope": {"x": "normal(0,1,shape=(9,8))"},
    "conv2d": {"x": "normal(0,1,shape=(2,2,5,4))", "w": "normal(0,1,shape=(3,2,3,2))"},
    "adam_step": {
        "param": "normal(0,1,shape=(40,))", "grad": "normal(0,0.01,shape=(40,))", "m": "normal(0,0.001,shape=(40,))",
        "v": "uniform(0,0.0001,shape=(40,))",
    },
    "matmul": {"a": "normal(0,1,shape=(3,7))", "b": "normal(0,1,shape=(7,2))"},
    "reduce_sum": {"x": "normal(0,1,shape=(3,17))"},
    "softmax_backward": {"x": "normal(0,2,shape=(2,5))", "dy": "normal(0,1,shape=(2,5))"},
    "layernorm_backward": {
        "x": "normal(0,1,shape=(2,5))", "gamma": "normal(1,0.1,shape=(5,))", "beta": "normal(0,0.1,shape=(5,))",
        "dy": "normal(0,1,shape=(2,5))",
    },
    "matmul_backward": {
        "a": "normal(0,1,shape=(2,4))", "b": "normal(0,1,shape=(4,3))", "dy": "normal(0,1,shape=(2,3))",
    },
}  # fmt: skip


def arrays(name, specs, format, seed=0):
    fixed = {n: f for n, f in KERNELS[name].formats.items() if f != "accumulator"}
    return {n: input_array(n, s, seed=seed, format=fixed.get(n, format)) for n, s in specs.items()}


def run(name, format, profile="ieee", specs=None, **options):
    inputs = arrays(name, specs or KERNELS[name].examples, format)
    return api.run(name, format=format, profile=profile, inputs=inputs, options=options)
