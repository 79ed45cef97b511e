"""The end of a test run: the worst comparisons, what waits for a look, baselines nobody uses, and the reports.

Under xdist the workers run the tests; what they judged travels with the test reports, and the controller tells it. This
file imports nothing heavy unless there is something to tell.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from precdiff.testing import places

#: comparisons listed at the end
_WORST = 10


class Summary:
    """A plugin of one run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tests: dict[str, dict[str, Any]] = {}
        self._passed: set[str] = set()
        #: test file -> its baselines' folder and, by file name, the tests they belong to
        self._modules: dict[str, dict[str, Any]] = {}
        self._left_out: set[str] = set()
        self._orphans: list[dict[str, Any]] = []
        self._written: list[str] = []

    # What there is.

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Remember which tests a folder of baselines may belong to."""
        for item in items:
            folder = places.baseline_folder(self._config, item.path)
            if folder.is_dir():
                own = self._modules.setdefault(str(item.path), {"folder": str(folder), "tests": {}})
                own["tests"][places.baseline_path(item).name] = item.nodeid
            elif folder.parent.is_dir():
                self._modules.setdefault(str(item.path), {"folder": str(folder), "tests": {}})

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """What was deselected cannot be told from what is gone."""
        self._left_out |= {str(item.path) for item in items}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what was judged; under xdist this arrives at the controller as well."""
        if report.when == "call" and report.passed:
            self._passed.add(report.nodeid)
        told = getattr(report, "precdiff", None)
        if told is not None:
            test = self._tests.setdefault(report.nodeid, {"outcome": "", "reports": [], "checks": None})
            test["reports"] += told["reports"]
            test["checks"] = told["checks"]
            test["outcome"] = "failed" if report.failed else test["outcome"] or report.outcome

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker collected."""
        told = getattr(node, "workeroutput", {}).get("precdiff")
        if told is not None:
            self._modules.update(told["modules"])
            self._left_out |= set(told["left_out"])

    # What became of it.

    def pytest_sessionfinish(self) -> None:
        """Hand a worker's part to the controller; there, write the reports."""
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output["precdiff"] = {"modules": self._modules, "left_out": sorted(self._left_out)}
            return
        if self._config.getoption("collectonly", False):
            return
        self._orphans = self._unused()
        if self._modules:
            from precdiff.dump import orphans

            looked_at = sorted(set(self._modules) - self._not_whole())
            orphans.note(places.output_folder(self._config), self._orphans, looked_at)
        self._write_reports()

    def _not_whole(self) -> set[str]:
        """Test files of which not all tests were asked for."""
        here = self._config.invocation_params.dir
        return self._left_out | {str(here / arg.split("::")[0]) for arg in self._config.args if "::" in arg}

    def _unused(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for module in sorted(set(self._modules) - self._not_whole()):
            own = self._modules[module]
            for path in sorted(Path(own["folder"]).glob("*.h5")):
                test = own["tests"].get(path.name.replace(".pending.h5", ".h5"))
                found += self._unused_of(path, test, module)
            found += self._without_file(Path(own["folder"]).parent, Path(module).parent)
        return list({row["path"]: row for row in found}.values())

    def _unused_of(self, path: Path, test: str | None, module: str) -> list[dict[str, Any]]:
        row: dict[str, Any] = {"path": str(path), "module": module, "names": []}
        if test is None:
            return [{**row, "why": "its test is gone"}]
        if test not in self._passed or path.name.endswith(".pending.h5"):
            return []
        checks = self._tests.get(test, {}).get("checks")
        if not checks or not checks["states"]:
            return [{**row, "why": "its test checks nothing"}]
        names = [name for name in checks["kept"] if name not in checks["states"]]
        return [{**row, "names": names, "why": f"its test does not check {', '.join(names)}"}] if names else []

    def _without_file(self, folder: Path, tests: Path) -> list[dict[str, Any]]:
        """Baselines whose test file is gone; only where they lie beside the tests."""
        if folder.parent != tests or not folder.is_dir():
            return []
        gone = [one for one in sorted(folder.iterdir()) if one.is_dir() and not (tests / f"{one.name}.py").exists()]
        return [
            {"path": str(path), "module": str(tests / f"{one.name}.py"), "names": [], "why": "its test file is gone"}
            for one in gone
            for path in sorted(one.glob("*.h5"))
        ]

    def _write_reports(self) -> None:
        wanted = places.words(self._config, "report")
        if wanted and self._tests:
            from precdiff.testing.page import write_reports

            folder = places.output_folder(self._config)
            made = write_reports(folder, wanted, self._tests, self._orphans)
            self._written = [places.shown(self._config, path) for path in made]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Tell what a reader of a terminal should know; nothing where there is nothing."""
        lines = [*self._worst(self._config.get_verbosity() > 0), *self._checks(), *self._unused_lines()]
        lines += [f"report: {path}" for path in self._written]
        if lines:
            terminalreporter.section("precdiff", sep="=")
            for line in lines:
                terminalreporter.write_line(line)

    def _worst(self, verbose: bool) -> list[str]:
        """The failing comparisons, worst first; with -v those that pass as well."""
        found = [(row, test) for test, told in self._tests.items() for row in told["reports"]]
        kept = [(row, test) for row, test in found if verbose or row["verdict"] != "pass"]
        kept.sort(key=lambda pair: (pair[0]["verdict"] == "pass", -pair[0]["max_ulp"]))
        lines = []
        for row, test in kept[:_WORST]:
            more = [f"cause: {row['cause']}"] if row["cause"] else []
            more += [f"dump: {row['dump']}"] if row["dump"] else []
            lines += [f"{test} [{row['name']}]", f"  {row['line']}", *(f"  {line}" for line in more)]
        hidden = len(kept) - _WORST
        return [*lines, *([f"and {hidden} more"] if hidden > 0 else [])]

    def _checks(self) -> list[str]:
        """What waits for a look, and what was accepted in this run."""
        states: dict[str, int] = {}
        for told in self._tests.values():
            for state in (told["checks"] or {"states": {}})["states"].values():
                states[state] = states.get(state, 0) + 1
        waiting = {state: states[state] for state in ("missing", "changed", "worse") if state in states}
        lines = []
        if waiting:
            count = ", ".join(f"{n} {state}" for state, n in waiting.items())
            lines.append(f"baselines pending: {count}. Look: precdiff review. At once: precdiff accept --all")
        if "updated" in states:
            lines.append(f"baselines updated: {states['updated']}. Put them into git")
        return lines

    def _unused_lines(self) -> list[str]:
        if not self._orphans:
            return []
        lines = [f"  {places.shown(self._config, Path(row['path']))}: {row['why']}" for row in self._orphans]
        head = f"baselines nobody uses: {len(lines)}. Remove them: precdiff baseline prune"
        return [head, *lines[:_WORST], *([f"  and {len(lines) - _WORST} more"] if len(lines) > _WORST else [])]
