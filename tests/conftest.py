"""What the markers mean, and how many examples hypothesis tries: always the same, more under PRECDIFF_EXHAUSTIVE=1."""

import importlib.util
import os

import pytest
from hypothesis import settings

#: a project of its own, which test_wheel.py runs in its own environment
collect_ignore = ["kernel_project"]

EXHAUSTIVE = os.environ.get("PRECDIFF_EXHAUSTIVE") == "1"

settings.register_profile("quick", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("exhaustive", deadline=None, derandomize=True, max_examples=1000)
settings.load_profile("exhaustive" if EXHAUSTIVE else "quick")


def pytest_collection_modifyitems(items):
    torch = importlib.util.find_spec("torch") is not None
    for item in items:
        if item.get_closest_marker("slow") and not EXHAUSTIVE:
            item.add_marker(pytest.mark.skip(reason="slow: runs under `make test-all`"))
        if item.get_closest_marker("torch") and not torch:
            item.add_marker(pytest.mark.skip(reason="torch is not installed: pip install 'precdiff[torch]'"))
