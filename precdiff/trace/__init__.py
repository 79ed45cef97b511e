"""What happened: steps as plain data, the recorder that writes them, Change and replay that run them again."""

from precdiff.trace.adjoint import sweep
from precdiff.trace.change import KINDS, Change, Region
from precdiff.trace.evaluate import evaluate, local, native_values, recorded
from precdiff.trace.recorder import RecordingMachine
from precdiff.trace.regions import cone, consumers, layer_of, needed_for
from precdiff.trace.replay import replay, same_bits
from precdiff.trace.step import Source, Step, Trace
from precdiff.trace.tape import Tape

__all__ = [
    "KINDS",
    "Change",
    "RecordingMachine",
    "Region",
    "Source",
    "Step",
    "Tape",
    "Trace",
    "cone",
    "consumers",
    "evaluate",
    "layer_of",
    "local",
    "native_values",
    "needed_for",
    "recorded",
    "replay",
    "same_bits",
    "sweep",
]
