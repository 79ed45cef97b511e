"""The pytest plugin as a project meets it: options, ini keys, marks, fixtures, and what is told at the end.

Projects run in this process, which has loaded everything a test of theirs may ask for; what depends on a fresh process
(import time, xdist, the entry point) has one.
"""

import importlib
import json
import pkgutil
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib import metadata
from pathlib import Path

import flint
import h5py
import ml_dtypes
import mpmath
import numpy as np
import pytest
from click.testing import CliRunner

import precdiff
from precdiff import api
from precdiff.cli.main import main
from precdiff.dump.baselines import read_baseline
from precdiff.generate import data_cases
from precdiff.report import Report

for found in pkgutil.walk_packages(precdiff.__path__, "precdiff."):  # pytester forgets what its runs import
    if not found.name.startswith("precdiff.web"):
        importlib.import_module(found.name)
LOADED = (flint, h5py, ml_dtypes, mpmath)

CLOSE = """
import numpy as np

def test_a(precdiff):
    precdiff.assert_close(np.float16([1, 2, 3]), np.float16([1, 2, {last}]){more})
"""
CHECK = """
import numpy as np

def test_a(precdiff):
    precdiff.check("x", np.float16([1, 2, {last}]))
"""
POW = """
import numpy as np

def test_pow(precdiff):
    x, y = np.linspace(0.1, 10, 64), np.linspace(-4, 4, 64)
    precdiff.assert_close(precdiff.run("pow", format="fp16", inputs={"x": x, "y": y}))
"""


@pytest.fixture(autouse=True)
def no_ci(monkeypatch):
    monkeypatch.delenv("CI", raising=False)


@pytest.fixture
def project(pytester):
    """project(source, *options) -> the outcome of its tests; without a source the files stay as they are."""

    def run(source=None, *options, how="runpytest_inprocess"):
        if source is not None:
            pytester.makepyfile(test_it=source)
        return getattr(pytester, how)("-p", "no:cacheprovider", *options)

    return run


def text(result):
    return result.stdout.str() + result.stderr.str()


# Loading.


def test_the_entry_point_is_the_plugin():
    (found,) = [point for point in metadata.entry_points(group="pytest11") if point.value.startswith("precdiff")]
    assert (found.name, found.value) == ("precdiff", "precdiff.testing.plugin")


def test_a_run_that_does_not_use_it_loads_nothing_heavy(project, pytester):
    pytester.makeconftest(
        "import sys\n\ndef pytest_sessionfinish(session):\n"
        "    own = session.config.pluginmanager.hasplugin('precdiff')\n"
        "    heavy = {'numpy', 'h5py', 'mpmath', 'flint', 'ml_dtypes', 'click', 'flask', 'precdiff.api'}\n"
        "    print('HERE', own, sorted(heavy & set(sys.modules)))\n"
    )
    result = project("def test_a():\n    pass\n", "-s", how="runpytest_subprocess")
    assert "HERE True []" in text(result)


def test_the_module_imports_nothing_but_pytest_and_the_standard_library():
    code = (
        "import sys, pytest, _pytest.pytester; before = set(sys.modules); import precdiff.testing.plugin\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new - set(sys.stdlib_module_names)), sorted(n for n in sys.modules if n.startswith('precdiff')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['precdiff'] ['precdiff', 'precdiff.testing', 'precdiff.testing.plugin']"


def test_it_can_be_turned_off(project):
    result = project("def test_a(precdiff):\n    pass\n", "-p", "no:precdiff")
    result.stdout.fnmatch_lines(["*fixture 'precdiff' not found*"])


def test_marks_and_options_are_known(project):
    shown = text(project("", "--markers")) + text(project("", "--help"))
    for word in ("precdiff(", "precdiff_data(", "--precdiff-update", "--precdiff-report", "precdiff_max_ulp"):
        assert word in shown


def test_collecting_runs_and_writes_nothing(project, pytester):
    result = project(CHECK.format(last=3), "--collect-only", "-q")
    assert "test_it.py::test_a" in text(result) and result.ret == 0
    assert [path.name for path in pytester.path.iterdir() if path.name != "__pycache__"] == ["test_it.py"]


# assert_close.


@pytest.mark.parametrize(
    ("last", "more", "passes"),
    [("3", "", True), ("3.01", "", False), ("3.01", ", max_ulp=5", True), ("3.01", ", max_ulp=4.9", False)],
)
def test_close(project, last, more, passes):
    # 3.01 is 5 steps of 2**-9 from 3 in fp16
    assert (np.float16(3.01) - 3) / 2.0**-9 == 5
    project(CLOSE.format(last=last, more=more)).assert_outcomes(passed=passes, failed=not passes)


def test_a_failure_reads_well(project):
    result = project(CLOSE.format(last="3.01", more=""))
    result.stdout.fnmatch_lines(
        [
            ">*assert_close(np.float16([[]1, 2, 3[]]), np.float16([[]1, 2, 3.01[]]))",
            "E*PrecisionError: FAIL: actual (fp16 3): worst 5 ULP, abs 0.009766, rel *; error <= 4 ULP of fp16*",
            "E*would pass    at a limit of 5 ULP",
            "test_it.py:4: PrecisionError",
            "*= precdiff =*",
            "test_it.py::test_a [[]assert-1[]]",
        ]
    )
    assert "precdiff/testing/" not in text(result)


@pytest.mark.parametrize(
    ("mark", "passes"),
    [
        ("max_ulp=5", True),
        ("max_ulp=4.9", False),
        ("standard='bitwise'", False),
        ("rtol=0.01, standard='allclose'", True),
    ],
)
def test_a_mark_sets_the_limits(project, mark, passes):
    source = f"import pytest\npytestmark = pytest.mark.precdiff({mark})\n" + CLOSE.format(last="3.01", more="")
    project(source).assert_outcomes(passed=passes, failed=not passes)


def test_the_nearest_mark_and_then_the_call_win(project, pytester):
    pytester.makeini("[pytest]\nprecdiff_max_ulp = 1\n")
    source = """
        import numpy as np, pytest
        pytestmark = pytest.mark.precdiff(max_ulp=2)
        three, off = np.float16([3]), np.float16([3.01])

        @pytest.mark.precdiff(max_ulp=5)
        def test_mark(precdiff):
            precdiff.assert_close(three, off)

        def test_module(precdiff):
            with pytest.raises(AssertionError, match="<= 2 ULP"):
                precdiff.assert_close(three, off)
            precdiff.assert_close(three, off, max_ulp=5)
        """
    project(source).assert_outcomes(passed=2)


@pytest.mark.parametrize(("file", "table"), [("pytest.ini", "pytest"), ("pyproject.toml", "tool.pytest.ini_options")])
def test_ini_keys(project, pytester, file, table):
    (pytester.path / file).write_text(f"[{table}]\nprecdiff_max_ulp = 5\n")
    project(CLOSE.format(last="3.01", more="")).assert_outcomes(passed=1)


@pytest.mark.skipif(pytest.version_tuple < (9,), reason="native TOML came with pytest 9")
def test_ini_keys_in_native_toml(project, pytester):
    keys = "precdiff_max_ulp = 5\nprecdiff_max_loss_db = 0.5\nprecdiff_save_failures = true\nprecdiff_report = ['json']"
    pytester.makepyprojecttoml(f"[tool.pytest]\n{keys}\n")
    project(CLOSE.format(last="3.01", more="")).assert_outcomes(passed=1)
    assert (pytester.path / ".precdiff/results.json").exists()


def test_a_device_is_judged_by_the_truth_of_its_kernel(project):
    source = """
        import numpy as np, pytest

        @pytest.mark.precdiff(format="fp16")
        def test_softmax(precdiff):
            x = np.float16([[0, 1, 2, 3]])
            e = np.exp(x.astype(np.float64))
            good = (e / e.sum()).astype(np.float16)
            assert precdiff.assert_close(good, kernel="softmax", inputs={"x": x}).tensors[0].max_ulp <= 0.5
            with pytest.raises(AssertionError, match="FAIL: out"):
                precdiff.assert_close(good + np.float16(0.01), kernel="softmax", inputs={"x": x})
        """
    project(source, "--precdiff-explain=off").assert_outcomes(passed=1)


def test_explain_says_why(project):
    source = POW.replace("precdiff.assert_close(", "run = (") + (
        "    report = precdiff.explain(run)\n    assert report.findings[0].cause == 'error_amplification'\n"
        "    assert precdiff.explain(run).verdict == 'fail'\n"
    )
    project(source).assert_outcomes(passed=1)


@pytest.mark.parametrize(("how", "found"), [("off", "not looked for"), ("fast", "error_amplification")])
def test_causes_are_looked_for_as_asked(project, how, found):
    result = project(POW, f"--precdiff-explain={how}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E*likely cause  {found}*"])


# What cannot be meant.


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("", ["--precdiff-update", "tests"], "found 'tests'; allowed is new, changed, all"),
        ("", ["--precdiff-explain=slow"], "found 'slow'; allowed is off, fast, full"),
        ("", ["--precdiff-report=pdf"], "found 'pdf'; allowed is html, json"),
        ("", ["-o", "precdiff_explain=slow"], "precdiff_explain: found 'slow'; allowed is off, fast, full"),
        (
            "import pytest\n@pytest.mark.precdiff(max_upl=1)\ndef test_a(precdiff): pass\n",
            [],
            "test_it.py::test_a: @pytest.mark.precdiff: found max_upl; allowed are keywords *max_ulp",
        ),
        (
            "import pytest\n@pytest.mark.precdiff_data('exp')\ndef test_a(): pass\n",
            [],
            "test_it.py::test_a: @pytest.mark.precdiff_data hands over cases; take the argument precdiff_case",
        ),
        (
            "import pytest\n@pytest.mark.precdiff_data('exq')\ndef test_a(precdiff_case): pass\n",
            [],
            "unknown kernel or op 'exq'",
        ),
        (
            "import pytest\n@pytest.mark.precdiff_data('exp', size=3)\ndef test_a(precdiff_case): pass\n",
            [],
            "allowed is precdiff_data(target, classes, format, seed, shape)",
        ),
    ],
)
def test_usage_errors(project, source, options, message):
    result = project(source, *options)
    assert result.ret in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED)
    assert re.search(".*".join(map(re.escape, message.split("*"))), text(result), re.DOTALL), text(result)
    assert "INTERNALERROR" not in text(result)


@pytest.mark.parametrize("value", ["five", "-1", "nan"])
@pytest.mark.parametrize("key", ["precdiff_max_ulp", "precdiff_max_loss_db", "precdiff_max_loss_ulp"])
def test_a_number_that_is_none(project, pytester, key, value):
    pytester.makeini(f"[pytest]\n{key} = {value}\n")
    result = project(CLOSE.format(last="3", more=""))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert re.search(f"{key}: .*{value}.*; allowed is a number of at least 0", text(result))


def test_loading_it_takes_less_than_20_ms():
    code = (
        "import time, pytest, _pytest.terminal; start = time.perf_counter()\n"
        "import precdiff.testing.plugin, precdiff.testing.summary; print(time.perf_counter() - start)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    assert min(float(run.stdout) for run in runs) < 0.020


def test_updates_under_ci_are_refused_unless_forced(project, pytester, monkeypatch):
    monkeypatch.setenv("CI", "true")
    result = project(CHECK.format(last=3), "--precdiff-update")
    assert result.ret == pytest.ExitCode.USAGE_ERROR and "--precdiff-force" in text(result)
    assert not (pytester.path / "precdiff_baselines").exists()
    project(None, "--precdiff-update", "--precdiff-force").assert_outcomes(passed=1)


# Baselines.

ACCEPTED = "precdiff_baselines/test_it/test_a.h5"
PENDING = "precdiff_baselines/test_it/test_a.pending.h5"


def kept(pytester, path=ACCEPTED):
    return {name: row.native.tolist() for name, row in read_baseline(pytester.path / path).kept.items()}


def test_a_missing_baseline_fails_and_waits_and_still_fails_next_time(project, pytester):
    for source in (CHECK.format(last=3), None):
        result = project(source)
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["*1 of 1 checks do not agree with the baseline (missing): " + ACCEPTED])
        result.stdout.fnmatch_lines(["*baselines pending: 1 missing*precdiff review*precdiff accept --all*"])
        assert kept(pytester, PENDING) == {"x": [1, 2, 3]} and not (pytester.path / ACCEPTED).exists()


# update, states of the two names then: `old` is there and changed, `fresh` is missing; what is accepted afterwards
@pytest.mark.parametrize(
    ("update", "passes", "old", "fresh"),
    [
        (None, False, [1], None),
        ("new", False, [1], [3]),
        ("changed", False, [2], None),
        ("all", True, [2], [3]),
    ],
)
def test_updates(project, pytester, update, passes, old, fresh):
    source = "import numpy as np\ndef test_a(precdiff):\n    precdiff.check('old', np.float32([{}]))\n"
    project(source.format(1), "--precdiff-update").assert_outcomes(passed=1)
    more = "    precdiff.check('fresh', np.float32([3]))\n"
    options = [f"--precdiff-update={update}"] if update else []
    result = project(source.format(2) + more, *options)
    result.assert_outcomes(passed=passes, failed=not passes)
    assert kept(pytester) == {"old": old, **({"fresh": fresh} if fresh else {})}
    assert (pytester.path / PENDING).exists() is not passes
    assert ("baselines updated: " in text(result)) is (update is not None)


def test_every_check_of_a_test_is_made_and_all_are_told(project):
    source = """
        import numpy as np
        def test_a(precdiff):
            precdiff.check("a", np.float16([{0}, 1]))
            precdiff.check("b", np.float16([1]))
            precdiff.check("c", np.float16([{0}]))
        """
    project(source.format(1), "--precdiff-update").assert_outcomes(passed=1)
    result = project(source.format(2))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*2 of 3 checks*(changed)*", "*FAIL: a*", "*FAIL: c*"])


def test_a_pending_file_goes_when_the_baseline_is_met_again(project, pytester):
    project(CHECK.format(last=3), "--precdiff-update")
    project(CHECK.format(last=4)).assert_outcomes(failed=1)
    assert (pytester.path / PENDING).exists()
    project(CHECK.format(last=3)).assert_outcomes(passed=1)
    assert not (pytester.path / PENDING).exists()


@pytest.mark.parametrize("last", ["3.001953125 + 0", "2.98"], ids=["one ulp", "ten ulp"])
def test_a_check_is_as_tolerant_as_a_comparison(project, last):
    project(CHECK.format(last=3), "--precdiff-update")
    passes = last.startswith("3.00")
    project(CHECK.format(last=last)).assert_outcomes(passed=passes, failed=not passes)


@pytest.mark.parametrize(
    ("value", "said"),
    [("np.float32([1, 2, 3])", "x: was fp16 (3,), is fp32 (3,)"), ("np.float16([[1, 2, 3]])", "is fp16 (1, 3)")],
)
def test_another_format_or_shape_is_a_change(project, value, said):
    project(CHECK.format(last=3), "--precdiff-update")
    result = project(CHECK.format(last=3).replace("np.float16([1, 2, 3])", value))
    result.assert_outcomes(failed=1)
    assert said in text(result)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("precdiff.check('', np.ones(2))", "check: found the name ''; allowed is a text"),
        ("precdiff.check('x', np.ones(0))", "nothing was compared"),
        ("precdiff.check('x', np.float32([np.nan]))", "nothing but NaN"),
        ("precdiff.check('x', np.ones(2), values=False)", "values=False keeps figures only; pass a Run, or expected"),
        ("precdiff.check('x', {})", "found no arrays; there is nothing to keep"),
        ("precdiff.explain()", "nothing was judged yet"),
        ("precdiff.assert_close(np.ones(2), inputs={})", "inputs: found without kernel"),
    ],
)
def test_checks_that_mean_nothing(project, line, message):
    result = project(f"import numpy as np\ndef test_a(precdiff):\n    {line}\n")
    result.assert_outcomes(failed=1)
    assert message in text(result) and "precdiff_baselines" not in text(result)


def test_two_checks_of_one_name_are_refused(project):
    twice = "precdiff.check('x', np.ones(2)); precdiff.check('x', np.zeros(2))"
    result = project(f"import numpy as np\ndef test_a(precdiff):\n    {twice}\n", "--precdiff-update")
    result.assert_outcomes(failed=1)
    assert "check 'x': this test checked that name before; give every value its own" in text(result)


def test_a_test_that_fails_otherwise_still_says_what_its_checks_found(project, pytester):
    result = project(CHECK.format(last=3) + "    raise ValueError('of its own')\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*ValueError: of its own", "E*1 of 1 checks do not agree*"])
    assert (pytester.path / PENDING).exists()


def test_figures_may_not_get_worse_though_the_values_are_within_the_limit(project):
    source = """
        import numpy as np
        def test_a(precdiff):
            truth = np.linspace(1, 1.9, 64)
            made = np.float16(truth + {})
            precdiff.check("x", made, truth, max_ulp=50)
        """
    step = 2.0**-10  # of fp16 between 1 and 2
    project(source.format(0), "--precdiff-update").assert_outcomes(passed=1)
    result = project(source.format(3 * step))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*(worse)*", "*worse than the baseline: x: 0.* -> 3.* ULP, more than the 0.5 ULP*"])
    assert project(source.format(3 * step), "-o", "precdiff_max_loss_db=100", "-Wdefault").ret == 0


def test_a_loss_inside_the_tolerance_warns(project):
    source = """
        import numpy as np
        def test_a(precdiff):
            truth = np.linspace(1, 1.9, 64)
            precdiff.check("x", np.float16(truth + {}), truth, max_ulp=50)
        """
    project(source.format(0), "--precdiff-update")
    result = project(source.format(0.05 * 2.0**-10), "-Wdefault")
    result.assert_outcomes(passed=1, warnings=2)  # of the largest error and of SNR
    result.stdout.fnmatch_lines(["*AccuracyLossWarning: worse than the baseline: x: * ULP, within the 0.5 ULP*"])
    strict = project(None, "-W", "error::precdiff.testing.AccuracyLossWarning")
    strict.assert_outcomes(failed=1)


def test_a_run_keeps_outputs_and_figures(project, pytester):
    source = POW.replace("precdiff.assert_close(", "precdiff.check('p', ").replace("test_pow", "test_a")
    project(source, "--precdiff-update").assert_outcomes(passed=1)
    (row,) = read_baseline(pytester.path / ACCEPTED).kept.items()
    assert row[0] == "p" and row[1].format == "fp16" and row[1].figures["max_ulp"] > 4
    project(source).assert_outcomes(passed=1)


@pytest.mark.parametrize("damage", [b"", b"nothing"], ids=["empty", "text"])
def test_a_damaged_baseline_is_an_error_of_that_test_alone(project, pytester, damage):
    source = CHECK.format(last=3) + CHECK.format(last=3).replace("test_a", "test_b")
    project(source, "--precdiff-update").assert_outcomes(passed=2)
    (pytester.path / ACCEPTED).write_bytes(damage)
    result = project(source)
    result.assert_outcomes(passed=1, failed=1)
    assert (pytester.path / ACCEPTED).read_bytes() == damage and "INTERNALERROR" not in text(result)


@pytest.mark.parametrize("name", ["test_a[fp16-0.5]", "test_a[ä/b:c]", "TestX::test_a", "test_" + 300 * "x"])
def test_every_test_has_a_file_name_of_its_own(name):
    from precdiff.testing.places import file_name

    made = file_name(name)
    assert re.fullmatch(r"[a-z0-9_-]{1,100}", made) and made != file_name(name + "x")


def test_baselines_may_lie_elsewhere(project, pytester):
    project(CHECK.format(last=3), "--precdiff-update", f"--precdiff-baseline-dir={pytester.path / 'kept'}")
    assert (pytester.path / "kept/test_it/test_a.h5").exists()
    project(CHECK.format(last=3), "--precdiff-update", "--precdiff-baseline-dir=beside")
    assert (pytester.path / "beside/test_it/test_a.h5").exists()


# Baselines nobody uses.


@pytest.mark.parametrize("how", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_unused_baselines_are_told(project, pytester, how):
    two = CHECK.format(last=3) + "    precdiff.check('y', np.ones(2))\n" + CHECK.format(last=3).replace("_a", "_gone")
    project(two, "--precdiff-update")
    result = project(CHECK.format(last=3), *how, how="runpytest_subprocess" if how else "runpytest_inprocess")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "baselines nobody uses: 2. Remove them: precdiff baseline prune",
            "*test_it/test_a.h5: its test does not check y",
            "*test_it/test_gone.h5: its test is gone",
        ]
    )


@pytest.mark.parametrize(
    "options", [["-k", "test_a"], ["test_it.py::test_a"], ["--deselect", "test_it.py::test_b"]], ids=str
)
def test_a_part_of_the_tests_says_nothing_of_the_others(project, options):
    project(CHECK.format(last=3) + CHECK.format(last=3).replace("_a", "_b"), "--precdiff-update")
    assert "nobody uses" not in text(project(None, *options))


def test_a_test_that_did_not_run_to_its_end_keeps_its_baseline(project):
    source = CHECK.format(last=3)
    project(source, "--precdiff-update")
    early = source.replace("    precdiff.check", "    import pytest; pytest.skip('not here')\n    precdiff.check")
    assert "nobody uses" not in text(project(early))


# Reports.


def test_failures_leave_what_was_compared(project, pytester):
    project(CLOSE.format(last="3.01", more="") + POW, "--precdiff-save-failures").assert_outcomes(failed=2)
    folder = pytester.path / ".precdiff/failures/test_it"
    report = Report.from_json(json.loads((folder / "test_pow/assert-1.json").read_text()))
    again = api.explain(folder / "test_pow/assert-1.h5")
    assert (report.verdict, report.findings[0].cause) == ("fail", again.findings[0].cause)
    assert report.tensors[-1].max_ulp == again.tensors[-1].max_ulp
    assert np.load(folder / "test_a/assert-1-actual.npy").tolist() == [1, 2, 3]
    assert np.load(folder / "test_a/assert-1-expected.npy")[2] == np.float16(3.01)
    project(CLOSE.format(last="3", more=""), "--precdiff-save-failures").assert_outcomes(passed=1)
    assert not (folder / "test_a").exists()


def test_mappings_are_kept_as_folders(project, pytester):
    sides = '{"a": np.float16([1, 2]), "b/c": np.float16([3])}, {"a": np.float16([1, 2.5]), "b/c": np.float16([3])}'
    source = f"import numpy as np\ndef test_a(precdiff):\n    precdiff.assert_close({sides}, max_ulp=1)\n"
    project(source, "--precdiff-save-failures").assert_outcomes(failed=1)
    folder = pytester.path / ".precdiff/failures/test_it/test_a"
    report = api.explain(folder / "assert-1-actual", folder / "assert-1-expected")
    assert {row.name or row.id: row.verdict for row in report.tensors} == {"a": "fail", "b/c": "pass"}


OWN = """
import numpy as np
from precdiff import kernel
@kernel
def half(x, *, by: float = 2.0):
    return x / by
def test_a(precdiff):
    precdiff.assert_close(np.float16([9]), kernel=half, inputs={"x": np.float16([2])}, max_ulp=1)
"""


def test_a_kernels_inputs_are_kept_so_that_the_next_command_runs(project, pytester):
    result = project(OWN, "--precdiff-save-failures")
    (line,) = [line for line in result.outlines if " next  " in line]
    words = shlex.split(line.split("precdiff ", 1)[1])
    assert words[0] == "explain" and words[-1].startswith("x=") and "test_it.py:half" in " ".join(words)
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1 and "wrong_formula" in done.stderr


def test_bf16_is_kept_bit_for_bit(project, pytester):
    source = CLOSE.format(last="3.5", more="").replace("np.float16([", "np.array([").replace("])", "], bfloat16)")
    project("from ml_dtypes import bfloat16\n" + source, "--precdiff-save-failures").assert_outcomes(failed=1)
    folder = pytester.path / ".precdiff/failures/test_it/test_a"
    assert np.fromfile(folder / "assert-1-actual.bin", np.uint16).tolist() == [0x3F80, 0x4000, 0x4040]
    assert json.loads((folder / "assert-1-actual.bin.json").read_text()) == {"format": "bf16", "shape": [3]}


@pytest.mark.parametrize("how", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_reports_and_junit(project, pytester, how):
    source = CLOSE.format(last="3.01", more="") + POW
    options = ["--precdiff-report=html,json", "--junit-xml=j.xml", "--precdiff-save-failures", *how]
    project(source, *options, how="runpytest_subprocess" if how else "runpytest_inprocess").assert_outcomes(failed=2)
    document = json.loads((pytester.path / ".precdiff/results.json").read_text())
    assert document["schema"] == "precdiff.results/1"
    tests = {row["test"]: row for row in document["tests"]}
    made = Report.from_json(tests["test_it.py::test_pow"]["reports"][0]["report"])
    assert (tests["test_it.py::test_a"]["outcome"], made.verdict) == ("failed", "fail")
    page = (pytester.path / ".precdiff/results.html").read_text()
    assert "2 of 2 comparisons do not pass" in page and "error_amplification" in page
    assert not re.search(r"https?://|<script|<link", page)
    cases = {case.get("name"): case for case in ET.parse(pytester.path / "j.xml").iter("testcase")}
    found = {p.get("name"): p.get("value") for p in cases["test_pow"].iter("property")}
    assert found["precdiff.cause"] == "error_amplification" and float(found["precdiff.max_ulp"]) == pytest.approx(
        max(row.max_ulp for row in made.tensors if row.role == "output"), rel=1e-5
    )
    assert (pytester.path / found["precdiff.dump"]).exists()


def test_a_page_holds_no_markup_of_a_test(project, pytester):
    source = CHECK.format(last=3).replace('"x"', '"<script>alert(1)</script>"')
    project(source, "--precdiff-update")
    project(source.replace("2, 3", "2, 9"), "--precdiff-report=html")
    assert "<script" not in (pytester.path / ".precdiff/results.html").read_text()


def test_a_run_without_any_use_says_nothing(project):
    result = project("def test_a():\n    pass\n", "--precdiff-report=json")
    assert "precdiff =" not in text(result)


# Data, approx, and other runners.


def test_data_cases(project):
    source = """
        import numpy as np, pytest

        @pytest.mark.precdiff_data("exp", classes="typical,special", shape=(16,))
        def test_exp(precdiff, precdiff_case):
            x = precdiff_case.inputs["x"]
            assert x.dtype == np.float16 and precdiff_case.data_class in ("typical", "special")
        """
    result = project(source, "-v", "-p", "no:randomly")
    wanted = [case.name for case in data_cases("exp", classes="typical,special", shape=(16,))]
    result.assert_outcomes(passed=len(wanted))
    for name in wanted:
        assert f"test_exp[{name}]" in text(result)


def test_a_case_without_its_mark(project):
    result = project("def test_a(precdiff_case):\n    pass\n")
    assert "precdiff_case needs @pytest.mark.precdiff_data(target)" in text(result) and result.ret != 0


def test_ulp_approx_reads_well(project):
    source = """
        import numpy as np
        from precdiff.testing import ulp_approx

        def test_a():
            assert np.float16([1, 3]) == ulp_approx([1, 3.01], max_ulp=1)
        """
    result = project(source)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*actual == ulp_approx(..., max_ulp=1)", "E*worst 5.12 ULP*"])


def test_workers_write_each_test_its_own_baseline(project, pytester):
    source = """
        import numpy as np, pytest

        @pytest.mark.parametrize("n", range(12))
        def test_many(precdiff, n):
            precdiff.check("x", np.float32([n]))
        """
    first = project(source, "-n", "2", how="runpytest_subprocess")
    first.assert_outcomes(failed=12)
    first.stdout.fnmatch_lines(["baselines pending: 12 missing*"])
    project(None, "-n", "2", "--precdiff-update=new", how="runpytest_subprocess").assert_outcomes(passed=12)
    found = [read_baseline(path) for path in sorted((pytester.path / "precdiff_baselines").rglob("*.h5"))]
    assert sorted(int(row.kept["x"].values[0]) for row in found) == list(range(12))
    assert not list(pytester.path.rglob("*.pending.h5")) and not list(Path(pytester.path).rglob(".*.part*"))
