"""Run a kernel in a number system: the device's, or one of the references' (interval, double-double, ball, mpmath)."""

from precdiff.machine.ball import BallMachine
from precdiff.machine.doubledouble import DoubleDoubleMachine
from precdiff.machine.emulated import EmulatedMachine
from precdiff.machine.host import HostMachine
from precdiff.machine.interval import IntervalMachine
from precdiff.machine.machine import Machine
from precdiff.machine.mp import MpMachine
from precdiff.machine.realarray import RealArray, exactly
from precdiff.machine.tensor import Tensor

__all__ = [
    "BallMachine",
    "DoubleDoubleMachine",
    "EmulatedMachine",
    "HostMachine",
    "IntervalMachine",
    "Machine",
    "MpMachine",
    "RealArray",
    "Tensor",
    "exactly",
]
