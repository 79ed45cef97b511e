"""numpy's order, held to what FPRev revealed of numpy 2.4.6, to stored sums, and to the numpy that runs here."""

import json
from pathlib import Path

import numpy as np
import pytest

from precdiff.device import Pairwise, get_profile
from precdiff.device.orders import visible
from precdiff.formats import from_bits
from precdiff.rounding import Rounding, round_array

RECORDS = json.loads((Path(__file__).parent.parent / "data" / "numpy_sums.json").read_text())["records"]
KINDS = {"add_f32": "fp32", "add_f64": "fp64"}


def names(record):
    sample = record["sample"][0]["a"][0] if record["sample"] else ""
    return f"{record['node']}-{4 * len(sample)}-{record['n']}"


@pytest.mark.parametrize("record", RECORDS, ids=names)
def test_the_tree_follows_from_n_alone(record):
    assert visible(Pairwise().tree(record["n"])) == visible(record["tree"])


@pytest.mark.parametrize("record", [record for record in RECORDS if record["sample"]], ids=names)
def test_stored_sums_bit_for_bit(record):
    for sample in record["sample"]:
        data = {4: "fp16", 8: "fp32", 16: "fp64"}[len(sample["result"])]
        code = f"u{len(sample['result']) // 2}"
        terms = from_bits(np.array([int(bits, 16) for bits in sample["a"]], code), data)

        total = Pairwise().sum(terms, Rounding(KINDS[record["node"]]), data=data)

        expected = from_bits(np.array(int(sample["result"], 16), code), data)
        assert round_array(total, Rounding(data)) == expected


@pytest.mark.parametrize("n", [1, 5, 8, 100, 129, 1000, 10007])
def test_the_numpy_here_float32(n):
    terms = np.random.default_rng(n).standard_normal((3, n)).astype(np.float32)

    found = Pairwise().sum(terms, Rounding("fp32"))

    assert found.tolist() == [np.sum(line) for line in terms]


@pytest.mark.parametrize("n", [7, 128, 1000])
def test_the_numpy_here_float64_and_float16(n):
    wide = np.random.default_rng(n).standard_normal(n)
    half = wide.astype(np.float16)
    profile = get_profile("numpy-pairwise")

    assert Pairwise().sum(wide, Rounding("fp64")) == np.sum(wide)
    accumulator = profile.accumulator("sum", "fp16")
    total = profile.sum_order.value.sum(half.astype(np.float32), profile.rounding(accumulator, "sum"), data="fp16")
    assert accumulator.name == "fp32"
    assert round_array(total, Rounding("fp16")) == np.sum(half)


def test_it_differs_from_a_sequential_sum():
    terms = np.random.default_rng(0).standard_normal(1000).astype(np.float32)

    assert Pairwise().sum(terms, Rounding("fp32")) != np.cumsum(terms)[-1]


def test_a_sum_of_negative_zeros_is_positive_as_in_numpy():
    terms = np.full(20, -0.0, np.float32)

    assert np.signbit(Pairwise().sum(terms, Rounding("fp32"))) == np.signbit(np.sum(terms)) == False  # noqa: E712
