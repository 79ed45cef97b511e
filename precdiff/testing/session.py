"""PrecDiff, the object behind the fixture `precdiff`: what one test compares, and what became of it.

    assert_close   with the truth or with expected values: fails at once, as every assertion
    check          with the baseline of the test: every check is made, then the test fails once (checks.py)
    run, explain   precdiff.run and precdiff.explain, with what the test's marks say

Judging is api.compare's, words are the report's. This file knows a test's marks and options, and what to remember.
"""

from __future__ import annotations

import dataclasses
import math
import shutil
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from precdiff import api
from precdiff.comparison import require_compared, worst_ulp
from precdiff.errors import PrecDiffError
from precdiff.kernels import Run
from precdiff.report import Report, render, rows
from precdiff.report.notable import subject
from precdiff.report.regression import Allowance
from precdiff.testing import places, saving
from precdiff.testing.assertions import PrecisionError, briefly, kernel_report, precise_report
from precdiff.testing.checks import Checks
from precdiff.testing.warning import AccuracyLossWarning

#: seconds a problem that a cause is looked for
BUDGETS = {"off": 0.0, "fast": 2.0, "full": math.inf}
_RUNNING, _LOSSES = ("profile", "format"), ("max_loss_db", "max_loss_ulp")


@dataclass
class Judged:
    """One comparison: what it is called, its report, and the dump it left."""

    name: str
    report: Report
    dump: str = ""


@dataclass(repr=False)
class PrecDiff:
    """What the fixture hands to a test."""

    item: pytest.Item
    #: what the marks say, nearest first
    mark: Mapping[str, Any]
    explains: str
    saves: bool
    checks: Checks
    judged: list[Judged] = field(default_factory=list)
    _last: tuple[Any, Any, Mapping[str, Any]] | None = None

    @classmethod
    def of(cls, item: pytest.Item) -> PrecDiff:
        """Make it for a test."""
        mark = {
            key: value for one in reversed(list(item.iter_markers("precdiff"))) for key, value in one.kwargs.items()
        }
        given = {name: places.setting(item.config, name) for name in places.NUMBERS}
        if "standard" in mark:
            given.pop("max_ulp")  # of the standard that holds where none is named
        mark = {**{name: value for name, value in given.items() if value is not None}, **mark}
        allowed = {name.removeprefix("max_loss_"): mark.pop(name) for name in _LOSSES if name in mark}
        saves = bool(places.setting(item.config, "save_failures"))
        if saves:
            shutil.rmtree(places.failure_folder(item), ignore_errors=True)
        explains = places.setting(item.config, "explain") or "fast"
        return cls(item, mark, explains, saves, Checks.of(item, Allowance(**allowed)))

    @briefly
    def assert_close(
        self, actual: Any, expected: Any = None, *, kernel: Any = None, inputs: Mapping[str, Any] | None = None,
        msg: str | None = None, **options: Any,
    ) -> Report:  # fmt: skip
        """Assert that `actual` is within the standard, and give back the report.

        `actual` and `expected` are arrays, mappings of arrays, Runs or dumps. Without `expected` a Run or dump is
        judged by its reference; with `kernel` and `inputs` an array is judged as the output of that kernel. Options are
        those of precdiff.compare (max_ulp, standard, ...); what the test's marks say holds where they say nothing.
        """
        asked, dtype = self._asked(options)
        budget = BUDGETS[self.explains]
        if kernel is not None:
            declared = self.run(kernel, inputs=inputs)
            report = kernel_report(actual, expected, declared, asked, budget)
            asked["declared"] = declared
        elif inputs is not None:
            raise PrecDiffError("inputs: found without kernel, whose inputs they are; pass kernel=... as well")
        else:
            report = precise_report(actual, expected, asked, dtype, budget)
        require_compared(report.tensors)
        self._last = (actual, expected, asked)
        found = Judged(f"assert-{1 + len(self.judged)}", report)
        self.judged.append(found)
        if report.verdict != "pass":
            self._keep(found, actual, expected, asked.get("declared"))
            raise PrecisionError(found.report, msg)
        return report

    @briefly
    def check(
        self, name: str, value: Any, expected: Any = None, *, values: bool = True, **options: Any
    ) -> Report | None:
        """Compare with what the baseline of this test keeps under `name`; None where it keeps nothing yet.

        `value` is an array, a mapping of arrays or a Run. A Run, or a value with `expected`, also has figures against
        the truth, which may not get worse. `values=False` keeps the figures only. The test goes on, and fails at its
        end.
        """
        asked, dtype = self._asked(options)
        known = expected is not None or isinstance(value, Run)
        truth = precise_report(value, expected, asked, dtype, 0.0) if known else None
        report = self.checks.check(name, value, truth, values, asked)
        self._last = (value, expected, asked)
        while self.checks.lost:
            warnings.warn(self.checks.lost.pop(0), AccuracyLossWarning, stacklevel=3)
        made = report if report is not None else truth
        if made is not None:
            self.judged.append(Judged(name, made))
        return report

    @briefly
    def run(self, kernel: Any, *, inputs: Mapping[str, Any] | None = None, **how: Any) -> Run:
        """Run a kernel on the emulated device: precdiff.run, with the profile and format of the test's marks."""
        own = {name: self.mark[name] for name in _RUNNING if name in self.mark}
        return api.run(kernel, inputs=inputs, **{**own, **how})

    @briefly
    def explain(self, actual: Any = None, expected: Any = None, **options: Any) -> Report:
        """Say why: of what is given, or of what was judged last."""
        if actual is not None:
            return api.explain(actual, expected, **self._asked(options)[0])
        if self._last is None:
            raise PrecDiffError("explain: nothing was judged yet; pass what is to be explained, or assert_close first")
        last, wanted, asked = self._last
        report = api.explain(last, wanted, **{**asked, **options})
        if self.judged:
            self.judged[-1].report = report
        return report

    def _asked(self, options: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """The settings of a comparison, and the dtype whose ULP counts."""
        marked = {name: value for name, value in self.mark.items() if name not in _RUNNING}
        if "standard" in options:
            marked.pop("max_ulp", None)
        asked = {"standard": "auto", **marked, **options}
        dtype = asked.pop("dtype", None)
        return asked, dtype

    def _keep(self, found: Judged, actual: Any, expected: Any, declared: Run | None) -> None:
        """Keep what was compared, where the run asks for it."""
        if self.saves:
            folder, name = places.failure_folder(self.item), places.file_name(found.name)
            path, command = saving.save(folder, name, actual, expected, declared)
            found.dump = places.shown(self.item.config, path)
            short = command.replace(str(folder), places.shown(self.item.config, folder))
            about = {**found.report.provenance, "next": short}
            found.report = dataclasses.replace(found.report, actual=found.dump, provenance=about)
            saving.save_report(path, found.report)

    # For the plugin.

    def __repr__(self) -> str:
        return f"<precdiff of {self.checks.owner}>"

    def closed(self) -> str:
        """Write baselines, and say what the checks found; empty where all agree, or it was said before."""
        return self.checks.close()

    def finish(self) -> None:
        """Fail the test where its checks do not agree with the baseline."""
        __tracebackhide__ = True
        said = self.closed()
        if said:
            pytest.fail(said, pytrace=False)  # the checks passed by long ago; no line of the test is where it fails

    def properties(self) -> list[tuple[str, object]]:
        """For JUnit: the largest error, the cause of the first failure, its dump."""
        if not self.judged:
            return []
        worst = max((worst_ulp(row) for one in self.judged for row in _subjects(one.report)), default=0.0)
        found = [("precdiff.max_ulp", f"{worst:.6g}")]
        causes = [finding.cause for one in self.judged for finding in one.report.findings]
        dumps = [one.dump for one in self.judged if one.dump]
        found += [("precdiff.cause", causes[0])] if causes else []
        return [*found, *([("precdiff.dump", dumps[0])] if dumps else [])]

    def told(self, when: str) -> dict[str, Any]:
        """What the end of the run needs to know of this test, as plain data (it may cross processes)."""
        whole = bool(places.words(self.item.config, "report"))
        return {
            "reports": [self._row(one, whole) for one in self.judged if when == "call"],
            "checks": self.checks.told(),
        }

    def _row(self, one: Judged, whole: bool) -> dict[str, Any]:
        about = subject(one.report)
        row: dict[str, Any] = {"name": one.name, "dump": one.dump, "verdict": one.report.verdict}
        row |= {"line": rows.verdict_line(one.report)}
        row |= {"max_ulp": -1.0 if about is None else float(worst_ulp(about))}
        row |= {"cause": one.report.findings[0].cause if one.report.findings else ""}
        return {**row, **({"report": one.report.to_json(), "text": render(one.report)} if whole else {})}


def _subjects(report: Report) -> list[Any]:
    found = subject(report)
    return [] if found is None else [found]
