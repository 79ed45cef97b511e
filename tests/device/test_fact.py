import pytest

from precdiff.device import Fact, assumed, documented, measured
from precdiff.errors import PrecDiffError, UnknownNameError


@pytest.mark.parametrize(
    ("make", "confidence"), [(documented, "documented"), (measured, "measured"), (assumed, "assumed")]
)
def test_each_constructor_names_its_confidence(make, confidence):
    fact = make(16, "manual 3.1")

    assert (fact.value, fact.source, fact.confidence, fact.candidates) == (16, "manual 3.1", confidence, ())


def test_only_an_assumption_has_candidates():
    assert assumed("keep", "not stated", ("flush",)).candidates == ("flush",)
    with pytest.raises(PrecDiffError, match="'keep' is documented; only an assumed value has candidates"):
        Fact("keep", "manual", "documented", ("flush",))


def test_a_fact_needs_a_source():
    with pytest.raises(PrecDiffError, match="needs a source"):
        documented(1, " ")


def test_an_unknown_confidence_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'measured'"):
        Fact(1, "s", "measure")
