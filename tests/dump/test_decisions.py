"""Decisions: only ever added, undone by adding, bound to content, and never lost or overwritten between two people."""

import json
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precdiff.dump.decision import Decision, standing
from precdiff.dump.decisions import STORE, ConflictError, Decisions
from precdiff.errors import FileError, PrecDiffError

ACCEPT = Decision("tensor", "a.h5", "exp", "accept", "Li Wei", content="c1", reason="table of the unit", max_ulp=8.0)


@pytest.fixture
def store(tmp_path):
    return Decisions(tmp_path)


def verdicts(rows):
    return [row.verdict for row in rows]


def test_a_decision_comes_back_as_it_was_given(store):
    made = store.record(replace(ACCEPT, layer="pow", expires="2027-03-31"))
    assert store.history() == [made]
    assert replace(made, key="", at="", number=0) == replace(ACCEPT, layer="pow", expires="2027-03-31")
    assert datetime.fromisoformat(made.at).tzinfo == UTC


def test_reading_makes_no_file(store, tmp_path):
    assert store.history() == store.standing() == []
    assert Decisions.near(tmp_path / "a.h5") is None
    assert not list(tmp_path.iterdir())


def test_undo_brings_back_what_stood_before_and_keeps_all_rows(store):
    store.record(ACCEPT)
    store.record(replace(ACCEPT, verdict="reject"))
    store.undo("tensor", "a.h5", "exp", "Ana")
    assert verdicts(store.standing()) == ["accept"]
    store.undo("tensor", "a.h5", "exp", "Ana")
    assert store.standing() == []
    assert verdicts(store.history()) == ["accept", "reject", "undo", "undo"]
    with pytest.raises(PrecDiffError, match="nothing is decided on tensor 'exp'"):
        store.undo("tensor", "a.h5", "exp", "Ana")


@given(st.lists(st.sampled_from(["accept", "reject", "needs_work", "undo"]), max_size=12))
def test_what_stands_is_a_stack(words):
    """The model: a decision pushes, an undo pops."""
    stack, rows = [], []
    for key, word in enumerate(words):
        if word == "undo" and not stack:
            continue
        undoes = stack.pop().key if word == "undo" else ""
        rows.append(replace(ACCEPT, verdict=word, key=str(key), undoes=undoes))
        stack += [rows[-1]] if word != "undo" else []
    assert standing(rows) == stack[-1:]


def test_subjects_do_not_meet(store):
    others = {"kind": "finding", "run": "b.h5", "name": "log"}
    made = [store.record(ACCEPT), *(store.record(replace(ACCEPT, **{k: v})) for k, v in others.items())]
    assert store.standing() == made
    assert store.standing(run="b.h5") == [made[2]]


@pytest.mark.parametrize(
    ("content", "today", "holds"),
    [
        ("c1", "2027-03-30", True),
        ("c1", "2027-03-31", True),
        ("c1", "2027-04-01", False),
        ("c2", "2027-03-30", False),
    ],
    ids=["before", "last day", "after", "changed result"],
)
def test_a_decision_holds_of_its_content_until_its_last_day(content, today, holds):
    assert replace(ACCEPT, expires="2027-03-31").holds(content, date.fromisoformat(today)) is holds


def test_who_has_not_seen_the_newest_decision_is_told_of_it(store):
    first = store.record(ACCEPT, seen="")
    with pytest.raises(ConflictError, match="meanwhile Li Wei decided 'accept'"):
        store.record(replace(ACCEPT, verdict="reject", author="Ana"), seen="")
    store.record(replace(ACCEPT, verdict="reject", author="Ana"), seen=first.key)
    assert verdicts(store.standing()) == ["reject"]


def test_of_many_at_once_with_the_same_view_one_wins_and_no_other_is_kept(store):
    gate = threading.Barrier(8)

    def decide(number):
        gate.wait()
        try:
            return store.record(replace(ACCEPT, author=f"p{number}"), seen="")
        except ConflictError:
            return None

    with ThreadPoolExecutor(8) as pool:
        made = [row for row in pool.map(decide, range(8)) if row]
    assert len(made) == 1 and store.history() == made


def test_of_many_at_once_none_is_lost(store):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: store.record(replace(ACCEPT, name=f"t{n % 3}", author=f"p{n}")), range(48)))
    rows = store.history()
    assert sorted(row.author for row in rows) == sorted(f"p{n}" for n in range(48))
    for name in ("t0", "t1", "t2"):
        times = [row.at for row in rows if row.name == name]
        assert times == sorted(set(times))


@pytest.mark.parametrize("statement", ["UPDATE decisions SET verdict = 'reject'", "DELETE FROM decisions"])
def test_the_file_itself_refuses_changes(store, statement):
    store.record(ACCEPT)
    database = sqlite3.connect(store.path)
    with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
        database.execute(statement)
    assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert database.execute("PRAGMA user_version").fetchone() == (1,)
    database.close()


WRONG = {
    "verdict": ({"verdict": "maybe"}, "verdict: found 'maybe'; allowed is one of accept"),
    "kind": ({"kind": "layer"}, "kind: found 'layer'"),
    "author": ({"author": " "}, "a decision names its author"),
    "limit below 0": ({"max_ulp": -1.0}, "max_ulp: found -1.0"),
    "limit is no number": ({"max_ulp": float("nan")}, "max_ulp: found nan"),
    "no day": ({"expires": "31.3.2027"}, "expires: found '31.3.2027'; allowed is a day as in 2027-03-31"),
}


@pytest.mark.parametrize(("fields", "told"), WRONG.values(), ids=WRONG)
def test_what_is_no_decision_is_refused(store, fields, told):
    with pytest.raises(PrecDiffError, match=told):
        store.record(replace(ACCEPT, **fields))
    assert store.history() == []


def test_export_and_import_carry_the_history_once(store, tmp_path):
    store.record(replace(ACCEPT, max_ulp=float("inf")))
    store.record(replace(ACCEPT, verdict="reject"))
    store.undo("tensor", "a.h5", "exp", "Ana")
    document = json.loads(json.dumps(store.to_json(), allow_nan=False))
    other = Decisions(tmp_path / "other")
    assert (other.merge(document), other.merge(document)) == (3, 0)
    assert other.to_json() == store.to_json()
    assert other.standing()[0].max_ulp == float("inf")


def test_an_imported_decision_takes_its_place_in_time(store, tmp_path):
    other = Decisions(tmp_path / "other")
    other.record(replace(ACCEPT, verdict="needs_work"))
    store.record(ACCEPT)
    store.merge(other.to_json())
    assert verdicts(store.standing()) == ["accept"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"at": "yesterday"}, r"decisions\[0\]: not as PrecDiff writes it"),
        ({"at": "2027-01-01T00:00:00"}, r"decisions\[0\]: not as"),
        ({"key": ""}, r"decisions\[0\]: not as"),
        ({"run": 3}, r"decisions\[0\]: not as"),
        ({"max_ulp": "much"}, r"decisions\[0\]: not as"),
        ({"verdict": "maybe"}, r"decisions\[0\]: verdict: found 'maybe'"),
    ],
)
def test_a_document_with_a_wrong_row_adds_nothing(store, tmp_path, change, told):
    other = Decisions(tmp_path / "other")
    other.record(ACCEPT)
    document = other.to_json()
    rows = [document["decisions"][0] | change, document["decisions"][0]]
    with pytest.raises(FileError, match=told):
        store.merge(document | {"decisions": rows})
    assert store.history() == []


def test_a_document_of_another_schema_is_refused(store):
    with pytest.raises(FileError, match=r"allowed is 'precdiff.decisions/1'"):
        store.merge({"schema": "precdiff.report/1"})


@pytest.mark.parametrize("call", [Decisions.history, lambda store: store.record(ACCEPT)], ids=["read", "write"])
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("PRAGMA user_version = 99", "version 99, made by a newer PrecDiff"),
        ("PRAGMA application_id = 7", "a database of another program"),
    ],
)
def test_a_file_of_others_is_left_alone(store, call, statement, told):
    store.record(ACCEPT)
    database = sqlite3.connect(store.path)
    database.execute(statement)
    database.commit()
    database.close()
    with pytest.raises(FileError, match=told):
        call(store)


@pytest.mark.parametrize("call", [Decisions.history, lambda store: store.record(ACCEPT)], ids=["read", "write"])
def test_a_file_that_is_no_database_is_told(store, call):
    store.path.parent.mkdir()
    store.path.write_bytes(b"no database" * 100)
    with pytest.raises(FileError, match="cannot be used"):
        call(store)


def test_the_store_of_a_dump_is_the_nearest_above_it(tmp_path):
    Decisions(tmp_path).record(ACCEPT)
    inner = tmp_path / "nightly" / "rank0"
    inner.mkdir(parents=True)
    found = Decisions.near(inner / "run.h5")
    assert found.root == tmp_path and found.run_of(inner / "run.h5") == "nightly/rank0/run.h5"
    assert (tmp_path / STORE).is_file()
    Decisions(tmp_path / "nightly").record(ACCEPT)
    assert Decisions.near(inner / "run.h5").run_of(inner / "run.h5") == "rank0/run.h5"
