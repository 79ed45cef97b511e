"""A trace written and read back is the same trace: values bit for bit, steps, sources, profile; it replays alone."""

import dataclasses

import numpy as np
import pytest

from precdiff.device import get_profile
from precdiff.dump import DumpWriter, open_dump, write_trace
from precdiff.errors import FileError, UnknownNameError
from precdiff.kernels import run_kernel
from precdiff.trace import Change, Source, Step, Trace, replay


def inputs_of(kernel):
    rng = np.random.default_rng(5)
    x, y = rng.uniform(0.1, 10, (2, 24)), rng.uniform(-4, 4, (2, 24))
    return {
        "pow": {"x": x, "y": y},
        "softmax": {"x": y},
        "matmul": {"a": y, "b": x.T},
        "layernorm": {"x": x, "gamma": x[0], "beta": y[0]},
        "reduce_sum": {"x": x},
        "gelu": {"x": y},
    }[kernel]


def run(kernel, format="fp16", profile="ascend-910b", **more):
    return run_kernel(kernel, inputs_of(kernel), format=format, profile=profile, seed=7, **more)


def same_trace(one, other):
    # repr: a NaN constant is not equal to itself
    for field in ("kernel", "steps", "inputs", "outputs", "formats", "options", "seed"):
        assert repr(getattr(one, field)) == repr(getattr(other, field)), field
    assert one.profile == other.profile
    assert list(one.values) == list(other.values)
    for id, values in one.values.items():
        found = other.values[id]
        assert (found.dtype, found.shape, found.tobytes()) == (values.dtype, values.shape, values.tobytes()), id


@pytest.mark.parametrize("kernel", ["pow", "softmax", "matmul", "layernorm", "reduce_sum", "gelu"])
@pytest.mark.parametrize("format", ["fp16", "bf16", "fp32", "fp64"])
def test_a_run_comes_back_the_same(tmp_path, kernel, format):
    with DumpWriter(tmp_path / "run.h5") as writer:
        trace = run(kernel, format, sink=writer.sink).trace
        writer.finish(trace)
    with open_dump(tmp_path / "run.h5") as dump:
        assert dump.complete
        assert dump.verify() == []
        same_trace(trace, dump.trace())


def test_written_at_once_or_while_running_is_the_same(tmp_path):
    trace = run("softmax").trace
    write_trace(tmp_path / "run.h5", trace)
    with open_dump(tmp_path / "run.h5") as dump:
        same_trace(trace, dump.trace())


def test_a_dump_replays_alone(tmp_path):
    profile = get_profile("ascend-910b").with_(overflow="saturate")
    trace = run("pow", profile=profile).trace
    write_trace(tmp_path / "run.h5", trace)
    with open_dump(tmp_path / "run.h5") as dump:
        stored = dump.trace()
    change = {"log": Change("format", "fp32", exit="wide")}
    same_trace(replay(trace, change), replay(stored, change))


def test_large_and_small_tensors_and_scalars(tmp_path):
    x = np.random.default_rng(1).normal(size=(300, 257)).astype(np.float16)
    trace = run_kernel("reduce_sum", {"x": x}).trace
    write_trace(tmp_path / "run.h5", trace)
    with open_dump(tmp_path / "run.h5") as dump:
        assert dump.row("x").where == "/data/x"
        assert all(row.where.startswith("/pool/") for id, row in dump.tensors.items() if id != "x")
        same_trace(trace, dump.trace())
        assert dump.native("x").tobytes() == x.tobytes()


def odd_trace(**step):
    plain = Step("s", "abs", ("x",), {}, "fp16", "", Source("k.py", 3, "y"))
    trace = Trace("k", get_profile("ieee"), values={"x": np.float32([1])}, formats={"x": "fp16"}, inputs={"x": "x"})
    made = dataclasses.replace(plain, **step)
    trace.steps.append(made)
    trace.values[made.id], trace.formats[made.id] = np.float32([1]), "fp16"
    return trace


@pytest.mark.parametrize(
    "step",
    [
        {"id": "a/b#2"},
        {"id": "%2F"},
        {"id": "."},
        {"id": ".."},
        {"id": "data"},
        {"id": "größe\n"},
        {"params": {"axis": (0, -1), "nested": [(1,), {"a": None}], "value": -0.0, "flag": True}},
        {"params": {"value": float("inf"), "other": -float("inf"), "big": 2**80, "text": "\0 \udc80 ü"}},
        {"params": {"nan": float("nan")}},
        {"source": Source("", 0)},
        {"source": Source("", 0, "name")},
        {"source": Source("c:/odd:12:name.py", 7)},
        {"source": Source("<stdin>", 0)},
        {"layer": "a/b", "phase": "backward"},
    ],
    ids=str,
)
def test_odd_steps_come_back(tmp_path, step):
    trace = odd_trace(**step)
    write_trace(tmp_path / "run.h5", trace)
    with open_dump(tmp_path / "run.h5") as dump:
        same_trace(trace, dump.trace())


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"id": ""}, "cannot be called ''"),
        ({"id": "a\0b"}, "cannot hold the text"),
        ({"id": "\udc80"}, "cannot hold the text"),
        ({"op": "a\0b"}, "NUL"),
        ({"format": "fp32"}, "declares format fp32, its tensor has fp16"),
        ({"params": {"axis": np.int64(3)}}, r"step 's': params.axis cannot be stored .* found int64"),
        ({"params": {"f": {1: 2}}}, "its key 1 is no text"),
        ({"params": {"f": {"$tuple": 2}}}, "begins with"),
        ({"params": {"f": abs}}, "found builtin_function_or_method"),
        ({"source": Source("k.py", -1)}, "cannot hold the source"),
        ({"source": Source("a\0", 1)}, "NUL"),
    ],
    ids=str,
)
def test_what_would_not_come_back_is_refused(tmp_path, step, said):
    with pytest.raises(FileError, match=said):
        write_trace(tmp_path / "run.h5", odd_trace(**step))


@pytest.mark.parametrize("seed", [2**63, -(2**63) - 1])
def test_a_seed_beyond_64_bits_is_refused(tmp_path, seed):
    with pytest.raises(FileError, match="as an attribute"):
        write_trace(tmp_path / "run.h5", dataclasses.replace(odd_trace(), seed=seed))


def test_attributes(tmp_path):
    with DumpWriter(tmp_path / "run.h5", provenance={"note": "mine"}) as writer:
        writer.finish(run("pow", "bf16").trace)
    with open_dump(tmp_path / "run.h5") as dump:
        found = dump.attrs
        assert (found.kernel, found.profile, found.format, found.seed) == ("pow", "ascend-910b", "bf16", 7)
        assert (found.iteration, found.rank, found.microbatch) == (None, None, None)
        assert set(found.provenance) == {"profile", "versions", "command", "note"}
        assert found.options == {"variant": "v1"}
        assert found.created.endswith("+00:00")


def test_the_iteration_and_rank_are_kept(tmp_path):
    with DumpWriter(tmp_path / "run.h5", iteration=0, rank=3, microbatch=2) as writer:
        writer.finish(run("softmax").trace)
    with open_dump(tmp_path / "run.h5") as dump:
        assert (dump.attrs.iteration, dump.attrs.rank, dump.attrs.microbatch) == (0, 3, 2)
    with pytest.raises(UnknownNameError, match="Did you mean 'rank'"):
        DumpWriter(tmp_path / "other.h5", ranks=3)
