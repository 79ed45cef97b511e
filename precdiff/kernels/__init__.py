"""The programs: one kernel a file, written once, run on any machine."""

from precdiff.kernels.kernel import KERNELS, Kernel, Limit, backward, get_kernel, kernel, ulp
from precdiff.kernels.run import Run, run_kernel

__all__ = [
    "KERNELS",
    "Kernel",
    "Limit",
    "Run",
    "backward",
    "get_kernel",
    "kernel",
    "run_kernel",
    "ulp",
]
