"""What a recorder writes down: ids that read like the source, layers, sources and names, and nothing that changes."""

import numpy as np
import pytest

from precdiff import ops
from precdiff.device import get_profile
from precdiff.errors import KernelError, UnknownNameError
from precdiff.formats import get_format
from precdiff.kernels import kernel, run_kernel
from precdiff.machine import EmulatedMachine
from precdiff.trace import RecordingMachine, Trace, cone, consumers, evaluate, layer_of, needed_for

X = np.float16([1.0, 2.0])


def trace_of(function, **inputs):
    return run_kernel(kernel(function), inputs or {"x": X}).trace


def test_ids_are_ops_numbered_from_the_second_on():
    trace = trace_of(lambda x: ops.exp(x) + ops.exp(x * 2.0))
    assert [s.id for s in trace.steps] == ["exp", "constant", "mul", "exp#2", "add"]


def test_an_input_with_the_name_of_an_op_keeps_its_id():
    trace = trace_of(lambda exp: ops.exp(-exp), exp=X)
    assert (trace.inputs, [s.id for s in trace.steps]) == ({"exp": "exp"}, ["neg", "exp#2"])


def test_inner_layers_prefix_the_id():
    trace = trace_of(lambda x: ops.softplus(-x))
    last = trace.steps[-1]
    assert (last.id, last.layer) == ("softplus/add", "<lambda>/softplus")


def test_sources_are_lines_of_the_kernel():
    def function(x):
        first = ops.exp(x)
        second = (
            first * x)  # fmt: skip
        return second + ops.softplus(first)

    trace = trace_of(function)
    start = function.__code__.co_firstlineno
    by_id = {s.id: s for s in trace.steps}
    assert by_id["exp"].source.line == start + 1
    assert by_id["exp"].source.name == "first"
    assert by_id["exp"].source.file.endswith("test_recorder.py")
    assert by_id["mul"].source.line in (start + 2, start + 3)
    assert by_id["mul"].source.name == "second"
    composite = by_id["softplus/add"].source
    assert (composite.line, composite.name) == (start + 4, "")
    assert str(by_id["exp"].source) == f"{by_id['exp'].source.file}:{start + 1}"


def test_everything_is_kept():
    trace = trace_of(lambda x: ops.cast(x, "fp32", mode="up")[::-1])
    assert trace.formats == {"x": "fp16", "cast": "fp32", "getitem": "fp32"}
    assert trace.step("cast").params == {"to": "fp32", "mode": "up"}
    assert trace.step("getitem").params == {"index": [[None, None, -1]]}
    assert trace.values["getitem"].tolist() == [2.0, 1.0]
    assert trace.outputs == {"out": "getitem"}


def test_an_unknown_step_names_the_nearest():
    with pytest.raises(UnknownNameError, match=r"unknown step 'exq'. Did you mean 'exp'\?"):
        trace_of(lambda x: ops.exp(-x)).step("exq")


def test_a_sink_sees_every_step_at_once():
    seen = []

    def sink(trace):
        return lambda step, values: seen.append((step.id, values.tolist(), len(trace.steps)))

    run_kernel(kernel(lambda x: x + x * x), {"x": X}, sink=sink)
    assert seen == [("mul", [1.0, 4.0], 1), ("add", [2.0, 6.0], 2)]


def test_two_inputs_of_one_name():
    recorder = RecordingMachine(EmulatedMachine(get_profile("ieee")), Trace("test", get_profile("ieee")))
    recorder.input("x", X.astype(np.float32), get_format("fp16"))
    with pytest.raises(KernelError, match="two inputs are called 'x'"):
        recorder.input("x", X.astype(np.float32), get_format("fp16"))


def test_parts_of_a_trace():
    trace = trace_of(lambda x, y: ops.exp(x * y) + ops.log(y), x=X, y=X)
    assert cone(trace, "exp").steps == ("mul", "exp")
    assert needed_for(trace, ["log"]) == {"log", "y"}
    assert consumers(trace) == {"x": ["mul"], "y": ["mul", "log"], "mul": ["exp"], "exp": ["add"], "log": ["add"]}
    assert layer_of(trace, "<lambda>").steps == ("mul", "exp", "log", "add")
    assert layer_of(trace, "<lamb").steps == ()


def test_evaluate_takes_known_tensors_as_they_are():
    trace = trace_of(lambda x: ops.exp(x) * 2.0)
    machine = EmulatedMachine(get_profile("ieee"))
    known = {"exp": machine.tensor(np.float32([10.0, 20.0]), get_format("fp16"))}
    assert evaluate(trace, machine, ["mul"], known)["mul"].planes[0].tolist() == [20.0, 40.0]
