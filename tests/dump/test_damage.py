"""Verify finds every planted fault; salvage keeps what is whole and says what is not."""

import contextlib
import os
import re

import h5py
import numpy as np
import pytest

from precdiff import api
from precdiff.dump import DumpWriter, open_dump, salvage, verify, write_trace
from precdiff.errors import FileError, PrecDiffError
from precdiff.kernels import run_kernel


@pytest.fixture(scope="module")
def trace():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 256)).astype(np.float16)
    return run_kernel("softmax", {"x": x}, profile="ascend-910b").trace


@pytest.fixture
def path(tmp_path, trace):
    write_trace(tmp_path / "run.h5", trace)
    return tmp_path / "run.h5"


def corrupted_value(file):
    file["data/exp"][3, 4] = 7.0


def corrupted_pool(file):
    file["pool/fp16"][5] = 7.0


def other_type(file):
    del file["data/exp"]
    file["data/exp"] = np.zeros((200, 256), np.float32)


def other_shape(file):
    del file["data/exp"]
    file["data/exp"] = np.zeros((199, 256), np.float16)


def missing_data(file):
    del file["data/exp"]


def short_pool(file):
    file["pool/fp16"].resize((150,))


def set_row(table, row_id, /, **columns):
    def change(file):
        for index, row in enumerate(file[table][:]):
            if row["id"] == row_id.encode():
                for name, value in columns.items():
                    row[name] = value
                file[table][index] = row

    return change


FAULTS = {
    corrupted_value: "tensor exp: its values have sha256",
    corrupted_pool: "tensor max: its values have sha256",
    other_type: "tensor exp: cannot be read: .* holds HDF5 type float32",
    other_shape: r"tensor exp: cannot be read: .* does not fit /data/exp, which has \(199, 256\)",
    missing_data: "tensor exp: cannot be read: .*data/exp is missing",
    short_pool: r"tensor max: cannot be read: .* does not fit /pool/fp16\[0:200\]",
    set_row("tensors", "exp", mean=1.0): "tensor exp: its statistics are",
    set_row("tensors", "exp", nan_count=3): "tensor exp: its statistics are",
    set_row("tensors", "exp", shape="[256, 200]"): "tensor exp: cannot be read: .* does not fit",
    set_row("tensors", "exp", where="/steps"): "tensor exp: cannot be read: .* as a tensor's place",
    set_row("tensors", "exp", stored_format="fp17"): "tensor exp: cannot be read: .* stored as 'fp17', is unknown",
    set_row("tensors", "exp", stored_format="fp32"): "tensor exp: cannot be read: .* declared fp32 but holds HDF5 type",
    set_row("tensors", "exp", format="fp17"): "tensor exp: cannot be read: format 'fp17'",
    set_row("tensors", "exp", data="some"): "tensor exp: keeps 'some' of its values; allowed are full, stats",
    set_row("steps", "exp", inputs='[["input", "nowhere"]]'): "step exp: names tensor 'nowhere'",
    set_row("steps", "exp", inputs='[["input", "div"]]'): "step exp: takes tensor 'div', which no step before it makes",
    set_row("steps", "exp", inputs='[["input", "exp"]]'): "step exp: takes tensor 'exp', which no step before it makes",
    set_row("steps", "exp", id="sub"): "step sub: recorded twice",
    lambda file: file.attrs.__setitem__("outputs", '{"out": "gone"}'): "output 'out' is tensor 'gone'",
    lambda file: file.attrs.__delitem__("complete"): "incomplete: the run did not come to its end",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: FAULTS[fault][:40])
def test_a_fault_is_found(path, fault):
    assert verify(path) == []
    with h5py.File(path, "r+") as file:
        fault(file)
    problem, *more = verify(path)
    assert re.search(FAULTS[fault], str(problem))
    assert more == [] or fault is short_pool


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("kernel", 3, "found 3; allowed is str"),
        ("profile", np.arange(3), "allowed is str"),
        ("seed", "three", "found 'three'; allowed is int"),
        ("rank", 1.5, "found 1.5; allowed is int"),
        ("complete", 1, "found 1; allowed is bool"),
        ("outputs", "[]", "allowed is a JSON object"),
        ("outputs", '{"out": 3}', "outputs are names and ids of tensors"),
        ("options", "[" * 100_000, "nested too deeply"),
    ],
)
def test_an_attribute_of_another_type(path, name, value, said):
    with h5py.File(path, "r+") as file:
        file.attrs[name] = value
    with pytest.raises(FileError, match=f"attribute {name} cannot be read: .*{re.escape(said)}"):
        open_dump(path)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"inputs": '[["input", "div"]]'}, "step 'exp' takes 'div', which is no input and which no step before it"),
        ({"outputs": '[["output", "sub"]]'}, "step 'exp' makes"),
        ({"inputs": '[["input", "sub"], ["input", "sub"]]'}, "step 'exp': exp with 2 inputs"),
        ({"op": "reshape"}, "step 'exp': reshape with 1 inputs and params {} cannot be run again: TypeError"),
        ({"op": "reshape", "params": '{"shape": [256, 200]}'}, r"step 'exp' gives the shape \(256, 200\), recorded"),
        ({"op": "expp"}, "op 'expp'"),
        ({"params": '{"value": 1.0}'}, "step 'exp': exp with 1 inputs and params {'value': 1.0} cannot be run again"),
    ],
)
def test_a_step_that_never_was_one_of_a_run_is_not_judged(path, columns, said):
    with h5py.File(path, "r+") as file:
        set_row("steps", "exp", **columns)(file)
    with pytest.raises(PrecDiffError, match=said):
        api.compare(path)


@pytest.mark.parametrize("text", ["{", "[1]", '[["input"]]', '[["input", 3]]'])
def test_a_row_that_means_nothing_stops_the_reader_but_not_salvage(path, text):
    with h5py.File(path, "r+") as file:
        set_row("steps", "exp", inputs=text)(file)
    with pytest.raises(FileError, match=r"is damaged: /steps: 1 rows cannot be read, the first is row 2"):
        open_dump(path)
    kept = salvage(path, path.with_name("saved.h5"))
    assert kept.steps == 4
    assert "1 rows cannot be read" in str(kept.lost[0])
    with open_dump(kept.path) as dump:
        assert "exp" in dump.tensors
        assert "exp" not in {step.id for step in dump.steps}
        assert not dump.complete


def test_salvage_of_a_whole_dump_is_the_same_dump(path):
    kept = salvage(path, path.with_name("saved.h5"))
    assert kept.lost == ()
    with open_dump(path) as one, open_dump(kept.path) as other:
        assert other.complete
        assert other.verify() == []
        assert one.steps == other.steps
        assert (one.attrs.inputs, one.attrs.outputs) == (other.attrs.inputs, other.attrs.outputs)
        assert one.trace().profile == other.trace().profile
        assert other.attrs.provenance["salvaged"] == {"from": "run.h5", "lost": []}
        assert one.attrs.created == other.attrs.created
        for id in one.tensors:
            assert one.row(id) == other.row(id)
            assert one.codes(id).tobytes() == other.codes(id).tobytes()


def test_salvage_leaves_out_what_is_not_whole_and_what_needs_it(path):
    with h5py.File(path, "r+") as file:
        corrupted_value(file)
    kept = salvage(path, path.with_name("saved.h5"))
    lost = [str(problem) for problem in kept.lost]
    assert [text.partition(":")[0] for text in lost] == ["tensor exp", "step exp", "step sum", "step div"]
    assert (kept.steps, kept.tensors) == (2, 5)
    assert [str(p) for p in verify(kept.path)] == ["incomplete: the run did not come to its end"]


@pytest.mark.parametrize("share", [0.5, 0.7, 0.9, 0.99, 0.9999])
def test_salvage_of_a_truncated_dump(tmp_path, trace, share):
    path = tmp_path / "run.h5"
    with DumpWriter(path) as writer:
        sink = writer.sink(trace)
        for step in trace.steps:
            sink(step, trace.values[step.id])
            writer.flush()
    os.truncate(path, int(share * path.stat().st_size))
    kept = salvage(path, path.with_name("saved.h5"))
    assert kept.lost
    with open_dump(kept.path) as dump:
        assert len(dump.tensors) == kept.tensors >= (1 if share >= 0.9 else 0)
        for id in dump.tensors:
            assert dump.tensor(id).tobytes() == trace.values[id].tobytes()


def test_what_cannot_be_salvaged(path):
    with pytest.raises(FileError, match="goes to a file of its own"):
        salvage(path, path)
    os.truncate(path, 60)
    with pytest.raises(FileError, match="nothing can be saved"):
        salvage(path, path.with_name("saved.h5"))
    with pytest.raises(FileError, match="No such file"):
        salvage(path.with_name("no.h5"), path.with_name("saved.h5"))


@pytest.mark.parametrize("seed", range(60))
def test_random_damage_raises_nothing_but_our_errors(path, trace, seed):
    rng = np.random.default_rng(seed)
    content = bytearray(path.read_bytes())
    for _ in range(int(rng.integers(1, 30))):
        content[int(rng.integers(0, len(content)))] = int(rng.integers(0, 256))
    path.write_bytes(content)
    for attempt in (verify, lambda p: salvage(p, p.with_name("saved.h5"))):
        with contextlib.suppress(FileError):
            attempt(path)
