"""pending, accept, reject, review; baseline list, set, prune; compare --baseline."""

from pathlib import Path

import numpy as np
import pytest

from precdiff.dump import orphans
from precdiff.dump.baselines import Baseline, Kept, read_baseline, write_baseline

FOLDER = Path("tests/precdiff_baselines/test_pow")


def keep(name, pending=False, **values):
    path = FOLDER / f"{name}{'.pending' if pending else ''}.h5"
    kept = {key: Kept(np.float16(value), "fp16", {"max_ulp": 1.0}) for key, value in values.items()}
    write_baseline(path, Baseline(f"test_pow.py::{name}", kept))
    return path


@pytest.fixture
def two():
    """One test whose value changed and that has a new one, and one that has no baseline yet."""
    keep("test_a", x=[1, 2])
    return keep("test_a", pending=True, x=[1, 3], y=[5]), keep("test_b", pending=True, x=[9])


def held(name):
    path = FOLDER / f"{name}.h5"
    return {k: row.native.tolist() for k, row in read_baseline(path).kept.items()} if path.exists() else None


def test_pending(precdiff, document, two):
    made = document("pending")
    assert (made["schema"], made["code"]) == ("precdiff.pending/1", 0)
    assert [row["names"] for row in made["pending"]] == [{"x": "changed", "y": "new"}, {"x": "new"}]
    assert "test_pow.py::test_a: x (changed), y (new)\n" in precdiff("pending").stderr
    assert document("pending", "*test_b*")["pending"][0]["test"] == "test_pow.py::test_b"


def test_nothing_pending(precdiff):
    assert (precdiff("pending").exit_code, precdiff("pending").stderr) == (0, "0 pending\n")
    assert precdiff("review").stderr == "0 pending\n"


def test_accept(precdiff, two):
    assert precdiff("accept", "tests/test_pow.py::test_a").exit_code == 0
    assert held("test_a") == {"x": [1, 3], "y": [5]} and held("test_b") is None
    assert not two[0].exists() and two[1].exists()
    assert precdiff("accept", "--all").exit_code == 0
    assert held("test_b") == {"x": [9]}


def test_reject(precdiff, two):
    assert precdiff("reject", str(two[0])).exit_code == 0
    assert held("test_a") == {"x": [1, 2]} and not two[0].exists() and two[1].exists()


@pytest.mark.parametrize("verb", ["accept", "reject"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "say which TESTs, or --all, and not both; pending is test_pow.py::test_a, test_pow.py::test_b"),
        (("test_pow.py::test_a", "--all"), "say which TESTs, or --all, and not both"),
        (("test_pow.py::test_c",), "nothing of that name is pending; pending is test_pow.py::test_a"),
        (("--all", "--in", "nowhere"), "nowhere: there is no such file or folder"),
    ],
)
def test_what_is_not_said_clearly_does_nothing(precdiff, two, verb, words, message):
    result = precdiff(verb, *words)
    assert result.exit_code == 2 and message in result.stderr
    assert all(path.exists() for path in two)


@pytest.mark.parametrize(
    ("keys", "a", "b", "left"),
    [
        ("ar", {"x": [1, 3], "y": [5]}, None, [False, False]),
        ("sa", {"x": [1, 2]}, {"x": [9]}, [True, False]),
        ("zq", {"x": [1, 2]}, None, [True, True]),
        ("", {"x": [1, 2]}, None, [True, True]),
    ],
)
def test_review(precdiff, two, monkeypatch, keys, a, b, left):
    waiting = list(keys)
    monkeypatch.setattr("click.getchar", lambda: waiting.pop(0) if waiting else "")
    monkeypatch.setattr("precdiff.cli.review.asks_a_person", lambda: True)
    result = precdiff("review")
    assert result.exit_code == 0, result.stderr
    assert (held("test_a"), held("test_b"), [path.exists() for path in two]) == (a, b, left)
    assert "FAIL: x (fp16 2): worst 512 ULP" in result.stderr  # 3 against 2: 1 / 2**-9, in ulps at 2
    assert "y: new, fp16 1" in result.stderr and "max_ulp 1 -> 1" in result.stderr


def test_review_without_a_terminal_says_what_scripts_use(precdiff, two):
    result = precdiff("review")
    assert result.exit_code == 2 and "Use pending, accept and reject" in result.stderr
    assert all(path.exists() for path in two)


def test_list(precdiff, document, two):
    made = document("baseline", "list")
    (row,) = made["baselines"]
    assert (row["owner"], row["names"]) == ("test_pow.py::test_a", {"x": "fp16 2; against the truth: max_ulp 1"})
    assert precdiff("baseline", "list", "tests").stderr.endswith("1 baselines\n")


def test_figures_of_a_run_are_kept_and_compared(precdiff, document, dump):
    assert precdiff("compare", dump, "--baseline").exit_code == 2
    first = document("baseline", "set", dump)
    assert (first["code"], first["names"], first["path"]) == (0, ["out"], "precdiff_baselines/run.h5")
    same = document("compare", dump, "--max-ulp", "1000", "--baseline")
    assert (same["verdict"], same["provenance"]["lost"]) == ("pass", [])
    worse = read_baseline(Path(first["path"])).kept["out"]
    better = {**worse.figures, "max_ulp": worse.figures["max_ulp"] / 2}
    write_baseline(Path(first["path"]), Baseline("run", {"out": Kept(figures=better)}))
    lost = document("compare", dump, "--max-ulp", "1000", "--baseline")
    assert (lost["verdict"], lost["code"]) == ("fail", 1)
    text = precdiff("compare", dump, "--max-ulp", "1000", "--baseline").stderr
    assert "worse than its baseline: out: " in text and "\n  lost  " in text


def test_arrays_have_baselines_too(precdiff, document):
    truth = np.linspace(1, 1.9, 64)
    np.save("truth.npy", truth)
    for name, error in (("a.npy", 0), ("b.npy", 3)):
        np.save(name, np.float16(truth + error * 2.0**-10))
    assert document("baseline", "set", "a.npy", "truth.npy", "--baseline-dir", "kept")["path"] == "kept/a.h5"
    Path("kept/a.h5").rename("kept/b.h5")
    made = document("compare", "b.npy", "truth.npy", "--baseline", "--baseline-dir", "kept")
    assert (made["verdict"], len(made["provenance"]["lost"])) == ("fail", 2)
    assert precdiff("compare", "b.npy", "truth.npy").exit_code == 0


def test_a_folder_without_the_flag_is_refused(precdiff, dump):
    result = precdiff("compare", dump, "--baseline-dir", "kept")
    assert result.exit_code == 2 and "--baseline-dir goes with --baseline" in result.stderr


def test_prune(precdiff, two):
    path = FOLDER / "test_a.h5"
    orphans.note(Path(".precdiff"), [{"path": str(path), "module": "m", "names": [], "why": "its test is gone"}], ["m"])
    dry = precdiff("baseline", "prune", "--dry-run")
    assert "would remove" in dry.stderr and path.exists()
    assert precdiff("baseline", "prune").exit_code == 0 and not path.exists()
    assert "0 unused" in precdiff("baseline", "prune").stderr
