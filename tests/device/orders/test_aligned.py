"""The fused dot product against tensor cores: results measured on real GPUs, and published models of them."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from precdiff.device import AlignedTruncated, Groups, Sequential
from precdiff.device.orders import visible
from precdiff.errors import PrecDiffError, UnknownNameError
from precdiff.formats import from_bits
from precdiff.rounding import Rounding

FP32 = Rounding("fp32")
CORES = json.loads((Path(__file__).parent.parent / "data" / "tensor_cores.json").read_text())
ROOT = Path(__file__).parents[3]
VECTORS = Path(os.environ.get("PRECDIFF_CASES", ROOT / "../shared/cases")) / "gpu_vectors" / "gpu_vectors.npz"
#: device: products a node, fraction bits, exponent of zero for fp32 and for fp16 results (MMA-Sim, arXiv 2511.10909)
UNITS = {"V100": (4, 23, -131, -19), "A100": (8, 24, -132, -20), "Ada": (8, 24, -132, -20), "H100": (16, 25, -133, -21)}
TF32_PRODUCTS = {"A100": 4, "Ada": 4, "H100": 8}


def numbers(codes, fmt):
    return from_bits(np.array([int(code, 16) for code in codes], f"u{len(codes[0]) // 2}"), fmt)


def core(record):
    return AlignedTruncated(record["group"], record["fraction_bits"], zero_exponent=record["zero_exponent"])


def label(record):
    return f"{record['profile']}-{record['inputs']}"


@pytest.mark.parametrize("record", CORES["models"], ids=label)
def test_published_samples(record):
    for sample in record["samples"]:
        a, b = numbers(sample["a"], record["inputs"]), numbers(sample["b"], record["inputs"])
        c = float(numbers([sample["c"]], "fp32")[0])

        found = core(record).dot(a, b, FP32, c=c, data=record["inputs"])

        assert found == numbers([sample["result"]], "fp32")[0]
        assert found != Sequential().dot(a, b, FP32, c=c)


@pytest.mark.parametrize("record", CORES["models"], ids=label)
def test_published_trees(record):
    n = len(record["samples"][0]["a"])

    assert visible(core(record).tree(n, start=True)) == visible(record["tree"])


def test_subnormal_products_on_a_real_h100():
    # only the right exponent of zero gives this (MATLAB-tensor-core, issue 7)
    row = CORES["measured"]
    a, b = numbers(row["a"], "bf16"), numbers(row["b"], "bf16")

    def result(zero_exponent):
        unit = AlignedTruncated(16, 25, zero_exponent=zero_exponent)
        return unit.dot(a, b, FP32, c=float(numbers([row["c"]], "fp32")[0]), data="bf16")

    expected = numbers([row["result"]], "fp32")[0]
    assert result(-133) == expected
    assert result(-132) != expected


@pytest.mark.parametrize(
    ("k0", "bits", "n", "expected"),
    [(4, 23, 4, 1.0), (8, 24, 8, 1 + 2.0**-21), (8, 24, 16, 1 + 2.0**-20), (16, 25, 16, 1 + 2.0**-20)],
    ids=["Volta", "Turing", "Ampere", "Hopper"],
)
def test_what_is_left_of_n_small_products_beside_one(k0, bits, n, expected):
    a = np.full(n, 2.0**-24)

    assert AlignedTruncated(k0, bits).dot(a, np.ones(n), FP32, c=1.0) == expected
    assert Groups(k0).dot(a, np.ones(n), FP32, c=1.0) == 1 + n * 2.0**-24


def test_subnormal_factors_keep_the_smallest_exponent():
    # 2^-24 is a subnormal half: with exponent -14 - 14, its square lies 20 places below the unit's last bit
    tiny = np.array([2.0**-24])
    unit = AlignedTruncated(1, 10)

    assert unit.dot(tiny, tiny, FP32, data="fp16") == 0.0
    assert unit.dot(tiny, tiny, FP32, data="bf16") == 2.0**-48


def test_wrong_fields_are_said():
    with pytest.raises(PrecDiffError, match="found bits=60; allowed are 1 to 37"):
        AlignedTruncated(16, 60)
    with pytest.raises(UnknownNameError, match="Did you mean 'toward-zero'"):
        AlignedTruncated(16, 24, final="towards-zero")


@pytest.mark.skipif(not VECTORS.exists(), reason="real-GPU vectors: set PRECDIFF_CASES to the folder of cases")
@pytest.mark.parametrize("inputs", ["fp16", "bf16", "tf32"])
@pytest.mark.parametrize("device", UNITS)
def test_real_gpus(device, inputs):
    with np.load(VECTORS) as vectors:
        rows = {
            name.removeprefix(f"{device}_{inputs}_"): vectors[name] for name in vectors if f"{device}_{inputs}_" in name
        }
    if not rows:
        pytest.skip(f"no rows of {device} for {inputs}")
    k0, bits, zero_exponent, zero_exponent_half = UNITS[device]
    if inputs == "tf32":  # the unit reads the upper 19 bits
        k0 = TF32_PRODUCTS[device]
        rows |= {name: rows[name] & 0xFFFFE000 for name in "ab"}
    a, b, c = (rows[name].view(np.float32) for name in "abc")
    data = "fp32" if inputs == "tf32" else inputs

    found = AlignedTruncated(k0, bits, zero_exponent=zero_exponent).dot(a, b, FP32, c=c, data=data)

    assert np.array_equal(found, rows["d_fp32"].view(np.float32), equal_nan=True)
    if "d_fp16" in rows:
        unit = AlignedTruncated(k0, bits, zero_exponent=zero_exponent_half, final="nearest-even")
        found = unit.dot(a, b, Rounding("fp16"), c=c.astype(np.float16), data=data)
        assert np.array_equal(found, rows["d_fp16"].view(np.float32), equal_nan=True)
