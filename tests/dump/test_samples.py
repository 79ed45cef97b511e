"""The sample dumps are what dumps/make_samples.py writes today, to the last bit, and show what they are there for."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from precdiff.dump import open_dump

DUMPS = Path(__file__).parents[2] / "dumps"
AGAIN = "the sample differs from what dumps/make_samples.py writes now: run `make samples` and look at what changed"


def script():
    spec = importlib.util.spec_from_file_location("make_samples", DUMPS / "make_samples.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


MAKE = script()


@pytest.mark.parametrize("sample", MAKE.SAMPLES, ids=lambda sample: sample.file)
def test_a_sample_is_written_again_bit_for_bit(tmp_path, sample):
    written = MAKE.write(sample, tmp_path)
    with open_dump(DUMPS / sample.file) as kept, open_dump(written) as made:
        assert kept.attrs == made.attrs, AGAIN
        # repr: a NaN constant is not equal to itself
        assert repr(kept.steps) == repr(made.steps), AGAIN
        assert repr(kept.tensors) == repr(made.tensors), AGAIN
        for id in kept.tensors:
            assert kept.codes(id).tobytes() == made.codes(id).tobytes(), AGAIN
    first = written.read_bytes()
    assert MAKE.write(sample, tmp_path).read_bytes() == first


@pytest.mark.parametrize("sample", MAKE.SAMPLES, ids=lambda sample: sample.file)
def test_a_sample_is_whole_and_small(sample):
    path = DUMPS / sample.file
    assert path.stat().st_size < 100 * 1024
    with open_dump(path) as dump:
        assert dump.complete
        assert dump.verify() == []
        assert dump.attrs.profile == "ascend-910b"
        assert dump.attrs.provenance["versions"] == {}


def test_no_file_lies_in_the_folder_that_nobody_writes():
    assert {path.name for path in DUMPS.glob("*.h5")} == {sample.file for sample in MAKE.SAMPLES}


def test_pow_is_off_by_more_than_its_limit():
    with open_dump(DUMPS / "pow_v1.h5") as dump:
        x, y = (dump.tensor(name).astype(np.float64) for name in ("x", "y"))
        out = dump.tensor(dump.attrs.outputs["out"]).astype(np.float64)
        assert (x.min() >= 0.1, x.max() <= 10, y.min() >= -4, y.max() <= 4, x.shape) == (True,) * 4 + ((256,),)
        ulps = np.abs(out - x**y) / np.spacing((x**y).astype(np.float16)).astype(np.float64)
        assert 4 < ulps.max() < 50


def test_naive_softmax_overflows():
    with open_dump(DUMPS / "softmax_naive.h5") as dump:
        (exp,) = (step.id for step in dump.steps if step.op == "exp")
        assert dump.row(exp).statistics.inf_count > 0
        assert dump.row(dump.attrs.outputs["out"]).statistics.nan_count > 0
