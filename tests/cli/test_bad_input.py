"""Bad input, entry by entry: exit code 2, a message on stderr that says what was found and what to do, no traceback."""

import os
import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

PROGRAM = """
def raises(x):
    y = x + x
    raise ValueError("the scale is wrong")

def branches(x):
    return x if x > 0 else -x

def mixes(x):
    return x + x.astype("fp32")

def widths(x, y):
    return x + y

KEPT = []
def keeps(x):
    KEPT.append(x)
    return KEPT[0] + x
"""

ARRAYS = {
    "x": np.float16([1, 2, 3, 4]), "y": np.float16([1, 2, 3]), "object": np.array([{}, 1], object),
    "complex": np.ones(2, np.complex64), "nan": np.full(3, np.nan, np.float16), "zero": np.zeros((0, 2), np.float16),
    "text": np.array(["a"]), "scalar": np.float16(2.5), "grid": np.float16([[1, 2], [3, 4]]),
}  # fmt: skip


@pytest.fixture(autouse=True)
def files(folder, dump):
    Path("k.py").write_text(PROGRAM)
    Path("empty.h5").touch()
    Path("folder").mkdir()
    for name in ("deep.json", "raw.json"):
        Path(name).write_text("[" * 100_000)
    Path("raw").write_bytes(bytes(4))
    Path("deep.fpcore").write_text(f"(FPCore (x) {'(- ' * 9000}x{')' * 9001}")
    Path("huge.fpcore").write_text("(FPCore (x) (+ x 1e9999))")
    for name, array in ARRAYS.items():
        np.save(f"{name}.npy", array)
    with h5py.File("other.h5", "w") as file:
        file.create_group("weights")
    Path("short.h5").write_bytes(Path(dump).read_bytes()[:20_000])


TABLE = {
    "missing file": ("compare ran.h5", r"ran\.h5: there is no such file .*Did you mean run\.h5\?"),
    "a folder": ("inspect folder", "is a folder without dumps"),
    "an empty file": ("compare empty.h5", "is empty: .* Run it again"),
    "truncated HDF5": ("compare short.h5", r"short\.h5 is (truncated|a damaged HDF5 file).*--salvage"),
    "HDF5 without a tensor": ("compare other.h5", r"other\.h5 .*it holds /weights"),
    "unknown kernel": ("run softmx --input x=x.npy", r"kernel 'softmx'.*Did you mean 'softmax'"),
    "a file without its function": ("run k.py --input x=x.npy", r"name one, as in k\.py:FUNCTION"),
    "unknown profile": ("run softmax --input x=x.npy --profile ascend-910", r"profile 'ascend-910'.*Did you mean"),
    "unknown format": ("eval x+1 x=1 --format fp61", "format 'fp61'.*Did you mean 'fp64'"),
    "unknown standard": ("compare run.h5 --standard ulps", "standard 'ulps'.*Did you mean 'ulp'"),
    "shape mismatch": ("compare x.npy y.npy", r"\(4,\).*\(3,\)"),
    "empty tensors": ("compare zero.npy zero.npy", "nothing"),
    "NaN-only pairs": ("compare nan.npy nan.npy", "nothing"),
    "object dtype": ("compare object.npy object.npy", "object"),
    "text": ("compare text.npy text.npy", "dtype"),
    "complex": ("compare complex.npy complex.npy", "pass real and imaginary parts as two tensors"),
    "complex input": ("run softmax --input x=complex.npy", "pass real and imaginary parts as two tensors"),
    "a kernel that raises": ("run k.py:raises --input x=x.npy", r"raised ValueError: the scale is wrong \(at k\.py:4"),
    "a branch on a tensor": ("run k.py:branches --input x=scalar.npy", r"where.*k\.py:7"),
    "mixed formats": ("run k.py:mixes --input x=x.npy", r"fp16.*fp32.*cast"),
    "incompatible broadcasting": ("run k.py:widths --input x=x.npy --input y=y.npy", r"add: .*\(4,\).*\(3,\)"),
    "unwritable output": ("run softmax --input x=grid.npy -o no/such/run.h5", "no/such"),
    "output onto a folder": ("run softmax --input x=grid.npy -o folder", "folder"),
    "eval of an attribute": ("eval x.real x=1", "allowed are numbers, names"),
    "eval of an import": ("eval __import__('os') x=1", "__import__"),
    "eval of a comprehension": ("eval [y+for+y+in+x] x=1", "this cannot be read|allowed are numbers"),
    "eval of a power tower": ("eval x+9**9**9**9**9 x=1", ""),
    "eval of a huge number": ("eval x+1e999999999 x=1", "allowed are 0 and magnitudes"),
    "a path too long": (f"inspect {'x' * 300}", "xxx: File name too long. Name another path"),
    "a profile nested without end": ("run softmax --input x=grid.npy --profile deep.json", r"deep\.json: .*depth"),
    "a sidecar nested without end": ("compare raw raw", r"raw\.json: its JSON is nested too deeply"),
    "an FPCore nested without end": ("eval deep.fpcore x=1", "nested too deeply; allowed are 200 levels"),
    "an FPCore of a huge number": ("eval huge.fpcore x=1", "'1e9999'; allowed are 0 and magnitudes"),
    "fault bits that are no number": ("eval --batch deep.json --fault-bits fp16=nan", "allowed is FORMAT=BITS"),
    "a table onto a dump": ("sweep pow --csv run.h5", r"run\.h5 exists and is no table of sweep"),
    "a host that is no name": ("serve folder --host naïve..x --port 0", r"cannot listen on naïve\.\.x"),
    "eval without a value": ("eval x+y x=1", "y has no value"),
}  # fmt: skip


@pytest.mark.parametrize("entry", [name for name in TABLE if name != "eval of a power tower"])
def test_it_is_refused(precdiff, entry):
    words, message = TABLE[entry]
    result = precdiff(*words.split(" "))
    said = re.sub(r"\s+", " ", result.stderr)

    assert result.exit_code == 2, said
    assert re.search(message, said), said
    assert "Traceback" not in said
    assert result.stdout == ""


def test_a_power_tower_overflows_in_the_format(precdiff):
    """9^9^9^9^9 is no Python integer here: it overflows as any other step does, at once."""
    result = precdiff(*TABLE["eval of a power tower"][0].split(" "))
    assert result.exit_code == 0
    assert re.search(r"^power#4 .* inf +0x7c00 ", result.stderr, re.MULTILINE), result.stderr


@pytest.mark.parametrize("size", [10_001, 1_000_000])
def test_a_long_expression_is_refused(precdiff, size):
    result = precdiff("eval", "+".join(["x"] * (size // 2 + 1)), "x=1")
    assert result.exit_code == 2 and "allowed are 10,000" in result.stderr


def test_zero_dimensions_are_compared(precdiff):
    assert precdiff("compare", "scalar.npy", "scalar.npy").exit_code == 0


def test_mixed_machines(precdiff):
    """A tensor of an earlier run, kept in a global of the kernel's file, belongs to another machine."""
    from precdiff import api
    from precdiff.errors import PrecDiffError
    from precdiff.kernels import get_kernel

    keeps = get_kernel("k.py:keeps")
    api.run(keeps, inputs={"x": ARRAYS["x"]})
    with pytest.raises(PrecDiffError, match="machine"):
        api.run(keeps, inputs={"x": ARRAYS["x"]})


@pytest.mark.skipif(not os.access("/dev/full", os.W_OK), reason="this system has no /dev/full")
def test_a_full_disk_loses_nothing_that_was_there(precdiff, process):
    program = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000));"
        "from precdiff.cli.main import main; main()"
    )
    words = ["run", "softmax", "--input", "x=normal(0,1,shape=(200,256))", "-o", "big.h5"]
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert re.search(r"big\.h5.*(File too large|full)", re.sub(r"\s+", " ", done.stderr))
    if Path("big.h5").exists():
        assert precdiff("verify", "big.h5").exit_code in (1, 2)
