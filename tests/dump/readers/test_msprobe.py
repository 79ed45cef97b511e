"""msprobe's dumps: the genuine ones of ../shared/cases/msprobe (its README says how they were made), and made-up trees.

Expected values come from the json files themselves, read here by `json`, from torch.load where it is marked so, and
from zlib and struct for the checksums.
"""

import functools
import json
import math
import operator
import os
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from precdiff import api
from precdiff.dump import open_dump, open_dumps
from precdiff.dump.calls import parse_call
from precdiff.errors import FileError, NotComparableError

ROOT = Path(__file__).parents[3]
CASES = Path(os.environ.get("PRECDIFF_CASES", ROOT / "../shared/cases")) / "msprobe"
genuine = pytest.mark.skipif(not CASES.exists(), reason="real dumps: set PRECDIFF_CASES to the folder of cases")
DUMPS = {
    "bf16": (97, 239), "fp32": (97, 239), "fp32_truncate": (44, 127), "fp16_overflow_stats": (97, 239),
    "fp32_md5": (33, 75), "fp32_truncate_md5": (33, 75), "fp32_xor": (64, 164), "bf16_debug": (2, 4),
}  # fmt: skip


def leaf(**more):
    return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 2.0, "Min": 1.0, "Mean": 1.5,
            "Norm": 2.2, "requires_grad": False, **more}  # fmt: skip


def write(folder, data, name="dump.json", **others):
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"task": "tensor", "level": "mix", "framework": "pytorch", "dump_data_dir": None, "data": data})
    (folder / name).write_text(text)
    for stem, content in others.items():
        (folder / f"{stem}.json").write_text(json.dumps(content))
    return folder


# The genuine dumps.


@genuine
@pytest.mark.parametrize("name", list(DUMPS))
def test_every_dump_is_read_whole(name):
    with open_dump(CASES / name) as dump:
        assert (dump.reader, len(dump.steps), len(dump.tensors)) == ("msprobe", *DUMPS[name])
        assert (dump.attrs.iteration, dump.attrs.rank) == (0, None if name == "bf16_debug" else 0)
        assert dump.verify() == []
        assert {row.note for row in dump.tensors.values()} == {""}
        ids = [id for step in dump.steps for _, id in (*step.inputs, *step.outputs)]
        assert sorted(ids) == sorted(dump.tensors)  # private copies: each tensor belongs to one call


@genuine
@pytest.mark.parametrize(
    ("place"), ["fp32", "fp32/step0", "fp32/step0/rank0", "fp32/step0/rank0/dump.json", "bf16_debug/step0/proc1"]
)
def test_every_way_to_name_a_dump(place):
    with open_dump(CASES / place) as dump:
        assert dump.reader == "msprobe"
        assert dump.attrs.iteration == 0


@genuine
def test_a_call_as_it_was_recorded():
    with open_dump(CASES / "fp32") as dump:
        steps = {step.id: step for step in dump.steps}
        data = json.loads((CASES / "fp32/step0/rank0/dump.json").read_text())["data"]
        assert list(steps) == list(data)
        step = steps["Functional.embedding.0.forward"]
        assert (step.op, step.layer, step.phase) == ("Functional.embedding", "emb", "forward")
        assert [role for role, _ in step.inputs] == ["input.0", "input.1"]
        assert step.outputs == (("output.0", "Functional.embedding.0.forward.output.0"),)
        assert dict(step.params) == {
            "input.2": None,
            "input.3": None,
            "input.4": 2.0,
            "input.5": False,
            "input.6": False,
        }
        assert steps["Functional.linear.0.forward"].source == "make_dumps.py:46"
        assert steps["Functional.linear.0.forward"].layer == "layers/0/attn/qkv"
        grads = steps["Module.head.Linear.parameters_grad.0"]
        assert (grads.op, grads.layer, grads.phase) == ("Module.Linear", "head", "backward")
        assert grads.outputs[0] == ("bias", "Module.head.Linear.parameters_grad.0.bias")
        assert {dump.row(id).role for _, id in grads.outputs} == {"grad"}
        recorded = data["Functional.linear.0.forward"]["input_args"][1]
        row = dump.row("Functional.linear.0.forward.input.1")
        assert (row.format, row.stored_format, row.shape, row.data) == ("fp32", "fp32", (24, 8), "full")
        found = row.statistics
        assert [found.min, found.max, found.mean, found.l2] == [recorded[key] for key in ("Min", "Max", "Mean", "Norm")]


@genuine
@pytest.mark.parametrize("name", ["fp32", "bf16", "bf16_debug"])
def test_recorded_extremes_are_those_of_the_values(name):
    with open_dump(CASES / name) as dump:
        for id, row in dump.tensors.items():
            values = dump.tensor(id).astype(np.float64)
            assert (values.min(), values.max()) == (row.statistics.min, row.statistics.max), id


@genuine
@pytest.mark.torch
@pytest.mark.parametrize("name", ["fp32", "bf16"])
def test_values_are_those_torch_loads(name):
    import torch

    with open_dump(CASES / name) as dump:
        for id, row in dump.tensors.items():
            loaded = torch.load(row.where, weights_only=True)
            size = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[loaded.element_size()]
            wanted = loaded.contiguous().view(size).numpy()
            assert dump.codes(id).tobytes() == wanted.tobytes(), id
            assert dump.codes(id).shape == tuple(loaded.shape)


@genuine
@pytest.mark.parametrize(
    ("name", "kind", "agree", "other"), [("fp32_md5", "crc32", 75, 0), ("fp32_xor", "xor64", 132, 30)]
)
def test_checksums_are_those_of_the_values(name, kind, agree, other):
    """Both kinds, recomputed by zlib and struct from the fp32 run of the same step.

    Without the modules' hooks (level L1, fp32_xor) autograd adds the residual's two gradients in another order: the
    calls from there on have other bits, and only those.
    """
    agreeing, differing = [], []
    with open_dump(CASES / name) as sums, open_dump(CASES / "fp32") as full:
        for id, row in sums.tensors.items():
            if id in full.tensors and row.checksum.startswith(kind):
                wanted = f"{kind}:{RECOMPUTED[kind](full.codes(id).tobytes())}"
                (agreeing if row.checksum == wanted else differing).append(id)
    assert (len(agreeing), len(differing)) == (agree, other)
    assert all(".backward." in id for id in differing)
    assert differing[:1] == ["Tensor.__add__.1.backward.input.0"][:other]


def xor_of_words(content):
    words = struct.unpack(f"<{-(-len(content) // 8)}Q", content + bytes(-len(content) % 8))
    return f"{functools.reduce(operator.xor, words):016x}"


RECOMPUTED = {"crc32": lambda content: f"{zlib.crc32(content):08x}", "xor64": xor_of_words}


@genuine
def test_xor_mode_keeps_scalars_and_no_statistics():
    with open_dump(CASES / "fp32_xor") as dump:
        row = dump.row("Functional.cross_entropy.0.forward.output.0")
        assert (row.data, row.checksum, row.statistics) == ("checksum", "value:2.740023374557495", None)


@genuine
def test_overflowed_statistics_stay_as_recorded():
    text = (CASES / "fp16_overflow_stats/step0/rank0/dump.json").read_text()
    assert "NaN" in text
    assert "Infinity" in text
    with open_dump(CASES / "fp16_overflow_stats") as dump:
        rows = dump.tensors.values()
        assert any(math.isinf(row.statistics.l2) and math.isfinite(row.statistics.max) for row in rows)
        assert all(row.data == "stats" for row in rows)


# Names.


@pytest.mark.parametrize(
    ("name", "op", "path", "call", "phase"),
    [
        ("Functional.linear.12.forward", "Functional.linear", "", 12, "forward"),
        ("Tensor.__add__.0.backward", "Tensor.__add__", "", 0, "backward"),
        ("NPU.npu_fusion_attention.3.forward", "NPU.npu_fusion_attention", "", 3, "forward"),
        ("Module.layers.0.attn.qkv.Linear.forward.0", "Module.Linear", "layers.0.attn.qkv", 0, "forward"),
        ("Module.0.layers.1.MLP.backward.2", "Module.MLP", "0.layers.1", 2, "backward"),
        ("Module.head.Linear.parameters_grad", "Module.Linear", "head", None, "backward"),
        ("Cell.conv1.Conv2d.forward.0", "Cell.Conv2d", "conv1", 0, "forward"),
        ("Module.Net.forward.0", "Module.Net", "", 0, "forward"),
        ("my own name", "my own name", "", None, "forward"),
        ("x.backward.weird", "x.backward.weird", "", None, "backward"),
    ],
)
def test_names(name, op, path, call, phase):
    found = parse_call(name)
    assert (found.op, found.path, found.call, found.phase) == (op, path, call, phase)


# Sets.


def test_steps_and_ranks_are_a_set(tmp_path):
    for step in (2, 10):
        for rank in (0, 1):
            write(tmp_path / f"step{step}" / f"rank{rank}", {"Torch.exp.0.forward": {"output": [leaf()]}})
    with pytest.raises(FileError, match=r"holds 4 dumps: step2/rank0/dump\.json, .*Name one of them"):
        open_dump(tmp_path)
    found = [(dump.attrs.iteration, dump.attrs.rank) for dump in open_dumps(tmp_path)]
    assert found == [(2, 0), (2, 1), (10, 0), (10, 1)]
    assert len(open_dumps(tmp_path / "step2")) == 2
    with open_dump(tmp_path / "step10" / "rank1") as dump:
        assert (dump.attrs.iteration, dump.attrs.rank) == (10, 1)


# What is kept apart, left out and refused.


def test_a_folder_of_several_dumps_names_them(tmp_path):
    for name in ("npu", "gpu"):
        write(tmp_path / name / "step0" / "rank0", {"Torch.exp.0.forward": {"output": [leaf()]}})
    with pytest.raises(FileError, match=r"holds 2 dumps: gpu/step0/rank0/dump\.json, npu/.*Name one of them"):
        open_dump(tmp_path)
    with pytest.raises(NotComparableError, match=r"2 dumps of one step and rank: .*name one of them"):
        api.compare(tmp_path, tmp_path / "npu")


def test_bf16_is_stored_as_fp32_where_the_file_cannot_hold_it(tmp_path):
    folder = write(tmp_path, {"Mint.exp.0.forward": {"output": [leaf(dtype="BFloat16", data_name="x.npy")]}})
    (folder / "dump_tensor_data").mkdir()
    np.save(folder / "dump_tensor_data" / "x.npy", np.float32([1.0, 2.0]))
    with open_dump(folder) as dump:
        row = dump.row("Mint.exp.0.forward.output.0")
        assert (row.format, row.stored_format) == ("bf16", "fp32")
        assert dump.tensor(row.id).tolist() == [1.0, 2.0]


def test_tensors_without_a_file_are_statistics(tmp_path):
    names = [None, "gone.pt"]
    folder = write(tmp_path, {"Torch.exp.0.forward": {"output": [leaf(data_name=name) for name in names]}})
    with open_dump(folder) as dump:
        assert [row.data for row in dump.tensors.values()] == ["stats", "stats"]
        with pytest.raises(FileError, match=r"only stats was kept, not its values: its file gone\.pt is missing"):
            dump.codes("Torch.exp.0.forward.output.1")


def test_what_is_no_tensor_is_a_param(tmp_path):
    content = {
        "input_args": [leaf(), {"type": "int", "value": 3}, None, {}, [leaf(), {"type": "str", "value": "s"}]],
        "input_kwargs": {"dim": {"type": "int", "value": -1}, "dtype": {"type": "torch.dtype", "value": "torch.half"}},
        "output": [leaf(dtype="torch.complex64"), {"unknown": leaf()}],
        "is_recompute": True,
    }
    with open_dump(write(tmp_path, {"Torch.f.0.forward": content})) as dump:
        (step,) = dump.steps
        assert [role for role, _ in step.inputs] == ["input.0", "input.4.0"]
        assert [role for role, _ in step.outputs] == ["output.0", "output.1.unknown"]
        assert dict(step.params) == {
            "input.1": 3, "input.2": None, "input.3": {}, "input.4.1": "s", "kwargs.dim": -1,
            "kwargs.dtype": {"type": "torch.dtype", "value": "torch.half"},
        }  # fmt: skip
        assert dump.row("Torch.f.0.forward.output.0").format == "torch.complex64"
        with pytest.raises(FileError, match="only stats"):
            dump.codes("Torch.f.0.forward.output.0")


OUTSIDE = ["../../etc/passwd", "/etc/passwd", "a/b.pt", "..", "a\\b.pt", "", 7]


@pytest.mark.parametrize("name", OUTSIDE, ids=map(str, OUTSIDE))
def test_no_file_outside_the_folder(tmp_path, name):
    folder = write(tmp_path, {"Torch.exp.0.forward": {"output": [leaf(data_name=name)]}})
    with pytest.raises(FileError, match="a dump may not point outside its folder"):
        open_dump(folder)


def test_a_link_is_not_followed(tmp_path):
    folder = write(tmp_path / "dump", {"Torch.exp.0.forward": {"output": [leaf(data_name="x.npy")]}})
    np.save(tmp_path / "secret.npy", np.float32([1, 2]))
    (folder / "dump_tensor_data").mkdir()
    (folder / "dump_tensor_data" / "x.npy").symlink_to(tmp_path / "secret.npy")
    with open_dump(folder) as dump, pytest.raises(FileError, match="is missing, or a link"):
        dump.codes("Torch.exp.0.forward.output.0")


def test_a_linked_folder_of_data_is_not_followed(tmp_path):
    folder = write(tmp_path / "dump", {"Torch.exp.0.forward": {"output": [leaf(data_name="x.npy")]}})
    (tmp_path / "elsewhere").mkdir()
    np.save(tmp_path / "elsewhere" / "x.npy", np.float32([1, 2]))
    (folder / "dump_tensor_data").symlink_to(tmp_path / "elsewhere")
    with open_dump(folder) as dump, pytest.raises(FileError, match="is missing, or a link"):
        dump.codes("Torch.exp.0.forward.output.0")


def test_links_in_a_circle_end(tmp_path):
    write(tmp_path / "step0" / "rank0", {"Torch.exp.0.forward": {"output": [leaf()]}})
    (tmp_path / "step0" / "rank1").symlink_to(tmp_path)
    assert len(open_dumps(tmp_path)) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read as JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"data": []}', "found no entries"),
        ("[1]", "found a JSON list"),
        ('{"data": {"x": 3}}', "entry 'x': found int"),
        ('{"data": {"x": {"output": [{"dtype": "torch.half", "shape": [-1]}]}}}', "found the shape"),
        ('{"data": {"x": {"output": [{"dtype": "torch.half", "shape": [1, 2.5]}]}}}', "found the shape"),
        ('{"data": {"x": {"output": ' + "[" * 100 + "]" * 100 + "}}}", "nested deeper than 64"),
    ],
    ids=["cut", "deep", "data", "list", "entry", "negative", "float", "deep entry"],
)
def test_damaged_json(tmp_path, text, message):
    (tmp_path / "dump.json").write_text(text)
    with pytest.raises(FileError, match=message):
        open_dump(tmp_path)


def test_json_and_file_that_disagree(tmp_path):
    folder = write(tmp_path, {"Torch.exp.0.forward": {"output": [leaf(data_name="x.npy")]}})
    (folder / "dump_tensor_data").mkdir()
    np.save(folder / "dump_tensor_data" / "x.npy", np.float32([1, 2, 3]))
    with open_dump(folder) as dump, pytest.raises(FileError, match=r"is fp32 \[2\] by the json, but x\.npy holds"):
        dump.codes("Torch.exp.0.forward.output.0")


def test_a_pickle_that_calls_is_refused_when_it_is_reached(tmp_path):
    folder = write(tmp_path, {"Torch.exp.0.forward": {"output": [leaf(data_name="x.pt")]}})
    (folder / "dump_tensor_data").mkdir()
    with zipfile.ZipFile(folder / "dump_tensor_data" / "x.pt", "w") as archive:
        archive.writestr("x/data.pkl", b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.")
    with open_dump(folder) as dump, pytest.raises(FileError, match=r"refused, its pickle names .os\.system."):
        dump.codes("Torch.exp.0.forward.output.0")
