"""The pytest plugin `precdiff`: options, ini keys, markers, fixtures, and what is told at the end (docs/pytest.md).

This module imports nothing but pytest, since every pytest run of an environment loads it: what a test needs is imported
when a test first asks for it. Values are compared in session.py; the end of a run is in summary.py.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from precdiff.testing.session import PrecDiff

UPDATES, EXPLAINS, REPORTS = ("new", "changed", "all"), ("off", "fast", "full"), ("html", "json")

#: ini key -> type and what it is for; a mark's keyword of the same name wins
INI = {
    "precdiff_max_ulp": ("float", "largest ULP error allowed where a test names none"),
    "precdiff_max_loss_db": ("float", "how much worse than its baseline a figure may get before it fails [1]"),
    "precdiff_max_loss_ulp": ("float", "what a largest error may grow by in any case [0.5]"),
    "precdiff_explain": ("string", "off | fast | full: how long the cause of a failure is looked for [fast]"),
    "precdiff_report": ("args", "html, json: reports to write at the end"),
    "precdiff_save_failures": ("bool", "keep dumps of what fails"),
    "precdiff_baseline_dir": ("string", "folder of baselines beside each test file, or one absolute one"),
    "precdiff_output_dir": ("string", "where reports and dumps of failures go [.precdiff]"),
}
#: keywords of @pytest.mark.precdiff
MARK = frozenset(
    "max_ulp standard rtol atol zero_atol allow_fraction dtype op profile format max_loss_db max_loss_ulp".split()
)
DATA_MARK = frozenset("format classes seed shape".split())

FIXTURE = pytest.StashKey["PrecDiff"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and ini keys."""
    group = parser.getgroup("precdiff", "precdiff: numerical precision")
    update = "accept what differs from the baselines: new (missing ones), changed, or all"
    group.addoption("--precdiff-update", nargs="?", const="all", type=_one_of("update", UPDATES), help=update)
    group.addoption("--precdiff-force", action="store_true", help="allow --precdiff-update where CI is set")
    group.addoption("--precdiff-report", type=_some_of(REPORTS), help="reports to write at the end: html,json")
    group.addoption("--precdiff-save-failures", action="store_true", default=None, help="keep dumps of what fails")
    group.addoption("--precdiff-explain", type=_one_of("explain", EXPLAINS), help="off, fast [default] or full")
    group.addoption("--precdiff-baseline-dir", metavar="DIR", help="baselines: beside each test file, or absolute")
    group.addoption("--precdiff-output-dir", metavar="DIR", help="reports and dumps of failures [.precdiff]")
    for name, (kind, line) in INI.items():
        parser.addini(name, line, type=kind, default=None)  # type: ignore[arg-type]  # a Literal of pytest's


def _one_of(name: str, allowed: tuple[str, ...]) -> Any:
    def chosen(text: str) -> str:
        if text not in allowed:
            advice = f"write --precdiff-{name}={allowed[0]}, with =; paths go elsewhere on the line"
            raise argparse.ArgumentTypeError(f"found {text!r}; allowed is {', '.join(allowed)} ({advice})")
        return text

    return chosen


def _some_of(allowed: tuple[str, ...]) -> Any:
    def chosen(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",")]
        wrong = next((name for name in names if name not in allowed), None)
        if wrong is not None:
            raise argparse.ArgumentTypeError(f"found {wrong!r}; allowed is {', '.join(allowed)}, with commas")
        return names

    return chosen


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and refuse what cannot be meant."""
    from precdiff.testing import places
    from precdiff.testing.summary import Summary

    config.addinivalue_line("markers", f"precdiff({', '.join(sorted(MARK))}): limits of the test's precdiff fixture")
    data = "precdiff_data(target, *, format, classes, seed, shape): run the test on each case of data, precdiff_case"
    config.addinivalue_line("markers", data)
    places.check(config, {"explain": EXPLAINS, "report": REPORTS})
    ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    if ci and config.getoption("precdiff_update") and not config.getoption("precdiff_force"):
        advice = "accept baselines where somebody looks at them, or add --precdiff-force"
        raise pytest.UsageError(f"--precdiff-update under CI (the variable CI is set): {advice}")
    config.pluginmanager.register(Summary(config), "precdiff_summary")


# Tests.


@pytest.fixture
def precdiff(request: pytest.FixtureRequest) -> Iterator[PrecDiff]:
    """Compare with the truth or with a baseline: .assert_close .check .run .explain (docs/pytest.md)."""
    from precdiff.testing.session import PrecDiff

    made = request.node.stash[FIXTURE] = PrecDiff.of(request.node)
    yield made
    made.finish()


@pytest.fixture
def precdiff_case(request: pytest.FixtureRequest) -> Any:
    """One case of the data that @pytest.mark.precdiff_data asks for: .inputs, .name, .data_class, .note."""
    if not hasattr(request, "param"):
        raise pytest.UsageError(f"{request.node.nodeid}: precdiff_case needs @pytest.mark.precdiff_data(target)")
    return request.param


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test once for each case of its precdiff_data mark."""
    mark = metafunc.definition.get_closest_marker("precdiff_data")
    if mark is None:
        return
    where = metafunc.definition.nodeid
    if "precdiff_case" not in metafunc.fixturenames:
        raise pytest.Collector.CollectError(
            f"{where}: @pytest.mark.precdiff_data hands over cases; take the argument precdiff_case"
        )
    if len(mark.args) != 1 or not set(mark.kwargs) <= DATA_MARK:
        allowed = f"precdiff_data(target, {', '.join(sorted(DATA_MARK))})"
        raise pytest.Collector.CollectError(f"{where}: found {mark.args} {sorted(mark.kwargs)}; allowed is {allowed}")
    from precdiff.testing.cases import cases_of

    cases = cases_of(where, mark.args[0], mark.kwargs)
    metafunc.parametrize("precdiff_case", cases, ids=[case.name for case in cases], indirect=True)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Refuse a mark's unknown keyword before anything runs."""
    for mark in item.iter_markers("precdiff"):
        wrong = [*map(str, mark.args), *sorted(set(mark.kwargs) - MARK)]
        if wrong:
            allowed = f"keywords {', '.join(sorted(MARK))}"
            raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.precdiff: found {wrong[0]}; allowed are {allowed}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Let the checks of a test fail it once, with all that was found, in the phase that is called `call`."""
    try:
        result = yield
    except BaseException as error:
        made = item.stash.get(FIXTURE, None)
        said = made.closed() if made is not None else ""
        if said:
            error.add_note(said)
        raise
    made = item.stash.get(FIXTURE, None)
    if made is not None:
        made.finish()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """Give the report what was judged: properties for JUnit, everything for the end of the run."""
    made = item.stash.get(FIXTURE, None)
    if call.when == "call" and made is not None:
        item.user_properties.extend(made.properties())
    report = yield
    if call.when in ("call", "teardown") and made is not None:
        report.precdiff = made.told(call.when)
    return report


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Say what `==` found where one side is an ulp_approx; whoever made one has loaded its module."""
    module = sys.modules.get("precdiff.testing.approx")
    return module.compared(op, left, right) if module is not None else None
