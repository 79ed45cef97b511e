"""Write the sample dumps of this folder again, the same to the last bit (what each shows: README.md here).

Nothing in them depends on the clock, the command line or installed versions. After a change to a kernel's source, its
line numbers or the profile, run `make samples` and commit the result.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from pathlib import Path

from precdiff.dump import DumpWriter
from precdiff.generate import input_array
from precdiff.kernels import run_kernel

SEED = 1
CREATED = "2026-01-01T00:00:00+00:00"


@dataclass(frozen=True)
class Sample:
    """One file: a kernel on the ascend-910b profile, with seeded inputs."""

    file: str
    kernel: str
    format: str
    inputs: dict[str, str]
    options: dict[str, str] = field(default_factory=dict)


SAMPLES = (
    Sample(
        "pow_v1.h5", "pow", "fp16", {"x": "uniform(0.1,10,shape=(256,))", "y": "uniform(-4,4,shape=(256,))"},
        {"variant": "v1"},
    ),
    Sample("softmax_naive.h5", "softmax_naive", "fp16", {"x": "normal(0,6,shape=(8,64))"}),
)  # fmt: skip


def write(sample: Sample, folder: Path) -> Path:
    """Write one sample into a folder."""
    path = folder / sample.file
    made = {name: input_array(name, text, seed=SEED, format=sample.format) for name, text in sample.inputs.items()}
    provenance = {"versions": {}, "command": ["dumps/make_samples.py"], "inputs": sample.inputs}
    with DumpWriter(path, created=CREATED, provenance=provenance, flush_seconds=math.inf) as writer:
        run = run_kernel(
            sample.kernel, made, profile="ascend-910b", format=sample.format, options=sample.options, seed=SEED,
            sink=writer.sink,
        )  # fmt: skip
        writer.finish(run.trace)
    return path


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for each in SAMPLES:
        path = write(each, target)
        print(f"{path}  {path.stat().st_size} bytes")
