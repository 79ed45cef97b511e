"""Baselines: what is written comes back bit for bit, and no kill and no second writer loses one."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precdiff.dump import baselines, orphans
from precdiff.dump.baselines import (
    Baseline,
    Kept,
    accept,
    drop,
    find,
    pending_of,
    read_baseline,
    update,
    write_baseline,
)
from precdiff.errors import FileError
from precdiff.formats import FORMATS, carrier, format_of, native_dtype

NAN, INF = float("nan"), float("inf")


def of(value, **figures):
    return Kept(np.float32([value]), "fp32", figures)


def values(path):
    return {name: row.values.tolist() for name, row in read_baseline(path).kept.items()}


#: formats that an array tells by its dtype; tf32 and hf32 are fp32 there
NAMES = [name for name, format in FORMATS.items() if format_of(np.zeros(0, native_dtype(format))).name == name]


@pytest.mark.parametrize("name", NAMES)
def test_every_format_comes_back_bit_for_bit(tmp_path, name):
    format = FORMATS[name]
    codes = np.arange(256 if format.bits <= 8 else 512)
    array = codes.astype(bool if format.kind == "bool" else format.storage).view(native_dtype(format)).reshape(2, -1)
    write_baseline(tmp_path / "b.h5", Baseline("t", {"x": Kept(carrier(array), name)}))
    made = read_baseline(tmp_path / "b.h5").kept["x"]
    assert (made.format, made.native.dtype, made.native.shape) == (name, array.dtype, array.shape)
    assert made.native.tobytes() == array.tobytes()


@given(
    figures=st.dictionaries(st.sampled_from(["max_ulp", "snr_db", "rmse"]), st.floats()),
    name=st.text("aé/.[ ]", min_size=1),
)
def test_figures_and_names_come_back(tmp_path_factory, figures, name):
    path = tmp_path_factory.mktemp("b") / "b.h5"
    write_baseline(path, Baseline("test_it.py::test_a[ä]", {name: Kept(figures=figures)}))
    made = read_baseline(path)
    assert made.owner == "test_it.py::test_a[ä]" and list(made.kept) == [name] and made.kept[name].values is None
    assert repr(dict(made.kept[name].figures)) == repr(figures)


def test_accepting_keeps_the_names_a_pending_file_does_not_hold(tmp_path):
    path = tmp_path / "b.h5"
    write_baseline(path, Baseline("t", {"a": of(1), "b": of(2)}))
    write_baseline(pending_of(path), Baseline("t", {"b": of(3), "c": of(4)}))
    assert accept(pending_of(path)) == path
    assert values(path) == {"a": [1], "b": [3], "c": [4]} and not pending_of(path).exists()


def test_an_update_takes_the_pending_file_along(tmp_path):
    path = tmp_path / "b.h5"
    write_baseline(pending_of(path), Baseline("t", {"a": of(1)}))
    update(path, Baseline("t", {"a": of(2)}))
    assert values(path) == {"a": [2]} and not pending_of(path).exists()


def test_dropping_names_and_then_all(tmp_path):
    path = tmp_path / "precdiff_baselines" / "test_it" / "b.h5"
    write_baseline(path, Baseline("t", {"a": of(1), "b": of(2)}))
    drop(path, ["a"])
    assert values(path) == {"b": [2]}
    drop(path)
    assert list(tmp_path.iterdir()) == []


def test_finding_looks_into_folders_of_that_name_only(tmp_path):
    for place in (
        "precdiff_baselines/t/a.h5",
        "x/precdiff_baselines/t/b.h5",
        ".venv/precdiff_baselines/c.h5",
        "run.h5",
    ):
        write_baseline(tmp_path / place, Baseline("t", {"a": of(1)}))
    write_baseline(tmp_path / "precdiff_baselines/t/a.pending.h5", Baseline("t", {"a": of(1)}))
    assert [path.name for path in find([tmp_path])] == ["a.h5", "b.h5"]
    assert [path.name for path in find([tmp_path], pending=True)] == ["a.pending.h5"]
    assert [path.name for path in find([tmp_path / "run.h5"])] == ["run.h5"]
    with pytest.raises(FileError, match="there is no such file or folder"):
        find([tmp_path / "nowhere"])


def test_a_dump_is_no_baseline(tmp_path):
    from precdiff import api

    api.run("softmax", inputs={"x": np.float16([[1, 2]])}, dump=tmp_path / "run.h5")
    with pytest.raises(FileError, match="is a dump, but no baseline"):
        read_baseline(tmp_path / "run.h5")


def test_a_changed_byte_is_told(tmp_path):
    path = tmp_path / "b.h5"
    array = np.float32(np.arange(100)) + np.float32(0.125)
    write_baseline(path, Baseline("t", {"x": Kept(array, "fp32")}))
    data = bytearray(path.read_bytes())
    data[data.index(array.tobytes()) + 5] ^= 1
    path.write_bytes(data)
    with pytest.raises(FileError, match="the values of 'x' do not match their checksum"):
        read_baseline(path)


WRITER = """
import sys, numpy as np
from pathlib import Path
from precdiff.dump.baselines import Baseline, Kept, accept, pending_of, update, write_baseline
path, own = Path(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
for n in range(1, 100000):
    kept = {own: Kept(np.full(3000, n, np.float32), "fp32", {"max_ulp": float(n)})}
    if n % 2:
        update(path, Baseline("t", kept))
    else:
        write_baseline(path.with_name(own + ".pending.h5"), Baseline("t", kept))
        accept(path.with_name(own + ".pending.h5"))
"""


def writers(path, *names):
    made = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], stdout=subprocess.PIPE, text=True)
        for name in names
    ]
    for one in made:
        assert one.stdout.readline() == "ready\n"
    return made


def whole(path):
    """The number that each name's values and figures agree on."""
    found = {}
    for name, row in read_baseline(path).kept.items():
        numbers = set(row.values.tolist())
        assert len(row.values) == 3000 and numbers == {row.figures["max_ulp"]}
        found[name] = numbers.pop()
    return found


@pytest.mark.parametrize("kills", [8, pytest.param(200, marks=pytest.mark.slow)])
def test_kills_and_a_second_writer_lose_nothing(tmp_path, kills):
    """Two processes write their own name into one file, and one of them is killed again and again."""
    path, rng = tmp_path / "precdiff_baselines" / "b.h5", random.Random(1)
    update(path, Baseline("t", {"kept": Kept(np.full(3000, 7, np.float32), "fp32", {"max_ulp": 7.0})}))
    (steady,) = writers(path, "steady")
    try:
        last = {}
        for _ in range(kills):
            (victim,) = writers(path, "victim")
            time.sleep(rng.uniform(0.0, 0.15))
            os.kill(victim.pid, signal.SIGKILL)
            victim.communicate()
            found = whole(path)
            assert found["kept"] == 7 and set(found) <= {"kept", "steady", "victim"}
            assert last.keys() <= found.keys() and found.get("steady", 0) >= last.get("steady", 0)
            last = found
    finally:
        steady.kill()
        steady.communicate()
    update(path, Baseline("t", {"end": of(1)}))
    assert {"kept", "steady", "end"} <= set(read_baseline(path).kept)
    assert not list(path.parent.glob(".*")), "the next writer clears what killed ones left"


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "precdiff_baselines").write_text("a file")
    with pytest.raises(FileError, match="baselines cannot be written there"):
        write_baseline(tmp_path / "precdiff_baselines" / "b.h5", Baseline("t", {"a": of(1)}))


def test_orphans_of_files_looked_at_are_replaced_and_others_stay(tmp_path):
    paths = [tmp_path / f"{n}.h5" for n in range(3)]
    for path in paths:
        path.touch()
    rows = [{"path": str(p), "module": f"m{n}", "names": [], "why": "gone"} for n, p in enumerate(paths)]
    orphans.note(tmp_path, rows[:2], ["m0", "m1"])
    orphans.note(tmp_path, rows[2:], ["m1", "m2"])
    assert orphans.noted(tmp_path) == [rows[0], rows[2]]
    Path(rows[0]["path"]).unlink()
    assert orphans.noted(tmp_path) == [rows[2]]
    orphans.note(tmp_path, [], ["m2"])
    assert not (tmp_path / orphans.FILE).exists()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"orphans": 3}', '{"orphans": [3]}', '{"orphans": [{}]}'])
def test_a_damaged_note_says_nothing(tmp_path, content):
    (tmp_path / orphans.FILE).write_text(content)
    assert orphans.noted(tmp_path) == []


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("test_pow.py", True),
        ("test_pow.py::test_v1", True),
        ("tests/test_pow.py::test_v1[fp16]", True),
        ("*fp16*", True),
        ("precdiff_baselines/b.h5", True),
        ("precdiff_baselines/b.pending.h5", True),
        ("test_po", False),
        ("test_pow.py::test_v", False),
        ("test_other.py", False),
    ],
)
def test_words_that_mean_a_baseline(word, meant):
    path = Path("precdiff_baselines/b.pending.h5")
    assert baselines.matches("test_pow.py::test_v1[fp16]", path, word) is meant
