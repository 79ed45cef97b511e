"""SPECs: the values they stand for, and what is said of a text that is not one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precdiff.errors import PrecDiffError
from precdiff.formats import FORMATS, get_format
from precdiff.generate import GENERATORS, generate, parse_spec


def drawn(text, format="fp32", seed=7):
    return generate(text, np.random.default_rng(seed), format)


def test_uniform_covers_its_range_and_nothing_beyond():
    values = drawn("uniform(-2, 3, shape=(100, 100))", "fp64")
    assert values.shape == (100, 100)
    assert -2 <= values.min() < -1.99 and 2.99 < values.max() < 3
    assert abs(values.mean() - 0.5) < 0.05  # sd of the mean: 5 / sqrt(12) / 100 = 0.0144


def test_normal_has_its_mean_and_deviation():
    values = drawn("normal(10, 0.5, shape=(10000,))", "fp64")
    assert abs(values.mean() - 10) < 0.02 and abs(values.std() - 0.5) < 0.02


def test_linspace_and_constant():
    assert drawn("linspace(-1, 1, shape=(5,))", "fp64").tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert drawn("linspace(0, 3, shape=(2, 2))", "fp64").tolist() == [[0, 1], [2, 3]]
    assert drawn("constant(-inf)").tolist() == -np.inf
    assert drawn("constant(value=2.5, shape=3)").tolist() == [2.5, 2.5, 2.5]
    assert np.isnan(drawn("constant(nan)"))


def test_the_same_seed_gives_the_same_values():
    text = "normal(0, 1, shape=(50,))"
    assert drawn(text).tolist() == drawn(text).tolist()
    assert drawn(text).tolist() != drawn(text, seed=8).tolist()


@pytest.mark.parametrize("format", ["fp16", "bf16", "e4m3fn", "e5m2", "fp64"])
def test_special_holds_the_ends_of_the_format(format):
    row = get_format(format)
    values = drawn("special()", format).astype(float).tolist()
    ends = [row.min_subnormal, row.min_normal, row.max_finite, 1 + 2.0 ** (1 - row.p), 1 - row.u]
    assert {*ends, *(-end for end in ends), 0.0} <= set(values)
    assert sum(v == 0 and np.signbit(v) for v in values) == 1
    assert (np.inf in values) is row.has_inf and any(np.isnan(values)) is row.has_nan


def test_special_of_integers_and_with_a_shape():
    assert drawn("special()", "i8").tolist() == [-128, -1, 0, 1, 127]
    few, many = drawn("special(shape=(3,))"), drawn("special(shape=(30, 10))")
    assert few.shape == (3,) and many.shape == (30, 10)
    assert set(np.unique(many).tolist()[:-1]) <= set(np.unique(drawn("special()")).tolist())


def test_as_makes_values_representable_there():
    # numpy's own cast is the oracle: nearest-even to fp16
    plain = drawn("uniform(0.1, 10, shape=(500,))", "fp64")
    narrow = drawn("uniform(0.1, 10, shape=(500,), as=fp16)", "fp64")
    assert narrow.tolist() == plain.astype(np.float16).astype(float).tolist()
    assert drawn("uniform(0, 9, shape=(20,), as='i8')", "fp32").tolist() == [
        float(n) for n in drawn("uniform(0, 9, shape=(20,), as=i8)", "i8")
    ]


def test_values_are_rounded_once_to_the_format():
    plain = drawn("normal(0, 100, shape=(500,))", "fp64")
    assert drawn("normal(0, 100, shape=(500,))", "fp16").tolist() == plain.astype(np.float16).astype(float).tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("unifrom(0, 1, shape=(3,))", r"unknown generator 'unifrom' at column 1; did you mean 'uniform'\? known"),
        ("uniform(0, 1)", r"shape is missing; it is written uniform\(low, high, shape=\(n,\)"),
        ("uniform(0, shape=(3,))", "high is missing"),
        ("uniform(0, 1, shap=(3,))", r"unknown argument 'shap' at column 15; did you mean 'shape'\?"),
        ("uniform(0, 1, 2, shape=3)", "one number too many at column 15"),
        ("uniform(0, 1, shape=(3,), low=3)", "low is given twice at column 27"),
        ("uniform(0, 1, shape=(3,), as=fp17)", r"as is fp17, no format at column 30; did you mean 'fp16'\? known"),
        ("uniform(0, x, shape=(3,))", "high is x at column 12; allowed is a number"),
        ("uniform(0, True, shape=(3,))", "high is True at column 12"),
        ("uniform(0, 1+1, shape=(3,))", "high is 1 . 1 at column 12"),
        ("uniform(0, 1, shape=(-3,))", r"shape is \(-3,\) at column 21; allowed are up to 8 whole numbers"),
        ("uniform(0, 1, shape=(1.5,))", "shape is"),
        ("uniform(0, 1, shape=(99999, 99999))", "9,999,800,001 elements at column 21; allowed are 134,217,728"),
        ("uniform(0, 1", "cannot be read at column 8"),
        ("uniform(2, 1, shape=3)", "low is 2 and high is 1"),
        ("uniform(-1e308, 1e308, shape=3)", "a finite range"),
        ("normal(0, -1, shape=3)", "sd is -1"),
        ("linspace(0, inf, shape=3)", "a finite range"),
        ("uniform", "found no call"),
        ("np.random(0, 1)", "the generator is not a name"),
        ("uniform(*[1, 2], shape=3)", "high is missing"),
        ("uniform(**{'a': 1})", "unknown argument 'None'"),
        ("constant(1" + "0" * 400 + ")", "beyond binary64"),
        ("constant(1" + "0" * 2000 + ")", "2011 characters; allowed are 1000"),
        ("", "cannot be read"),
    ],
)  # fmt: skip
def test_what_is_no_spec_is_refused_with_its_place(text, message):
    with pytest.raises(PrecDiffError, match=message):
        drawn(text)


@given(st.text(max_size=40) | st.text("uniformspecal(0,1)=[]{}'\"*-.:_", max_size=40))
def test_no_text_does_more_than_refuse(text):
    try:
        spec = parse_spec(text)
    except PrecDiffError:
        return
    assert spec.generator.name in GENERATORS


@given(st.sampled_from([n for n, f in FORMATS.items() if f.is_float]), st.integers(0, 2**32))
def test_every_format_gets_values_of_its_own(format, seed):
    values = drawn("normal(0, 1, shape=(20,))", format, seed)
    assert values.dtype == np.dtype(get_format(format).carrier)
