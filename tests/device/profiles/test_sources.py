"""Every profile: one a file, every fact with a source a stranger can look up, candidates where nobody published."""

import importlib
import pkgutil
import re

import pytest

from precdiff.device import PROFILES, profiles

MODULES = [module.name for module in pkgutil.iter_modules(profiles.__path__)]
FACTS = [(name, field, fact) for name, profile in PROFILES.items() for field, fact in profile.facts().items()]
INNER_WORDS = re.compile(r"numerics|research|shared|\b[A-E]\d+\b|TODO", re.IGNORECASE)


@pytest.mark.parametrize("module", MODULES)
def test_each_file_registers_one_profile(module):
    profile = importlib.import_module(f"precdiff.device.profiles.{module}").PROFILE

    assert PROFILES[module.replace("_", "-")] is profile
    assert profile.name == module.replace("_", "-")
    assert profile.summary


@pytest.mark.parametrize(("name", "field", "fact"), FACTS, ids=[f"{n}-{f}" for n, f, _ in FACTS])
def test_each_fact_has_a_source_of_its_own(name, field, fact):
    assert len(fact.source) > 10
    assert not INNER_WORDS.search(fact.source.replace("A2/A3", ""))


def assumptions(name):
    return {field: fact.candidates for field, fact in PROFILES[name].facts().items() if fact.confidence == "assumed"}


def test_what_nobody_published_of_the_910b_has_candidates():
    found = assumptions("ascend-910b")

    assert set(found) == {
        "direction", "subnormal_inputs", "subnormal_outputs", "sum_accumulator", "matmul_order", "matmul_product",
        "fused_multiply_add", "approximations",
    }  # fmt: skip
    assert [order.label for order in found["matmul_order"]] == ["sequential", "tree16", "trunc24", "once"]
    assert all(order.for_data("fp32") != order for order in found["matmul_order"] if "16" in order.label)


def test_the_910a_marks_what_is_carried_over():
    carried = [field for field, fact in PROFILES["ascend-910a"].facts().items() if "not for 910A" in fact.source]

    assert carried == ["saturated_formats", "saturated_nan", "nan_compare_ne", "max_of_zeros"]
    assert all(PROFILES["ascend-910a"].facts()[field].confidence == "assumed" for field in carried)


def test_the_modes_differ_in_overflow_only():
    facts, saturating = PROFILES["ascend-910b"].facts(), PROFILES["ascend-910b-sat"].facts()

    assert [field for field in facts if facts[field] != saturating[field]] == ["overflow"]
