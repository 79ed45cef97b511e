"""`precdiff doctor`: what is installed, and whether this host computes as the emulation relies on."""

from __future__ import annotations

import importlib.util
import platform
import sys
from collections.abc import Callable
from pathlib import Path

from precdiff.cli.options import subcommand
from precdiff.cli.terminal import Terminal

EXTRAS = {"torch": "torch", "interop": "safetensors", "zstd": "hdf5plugin", "cluster": "distributed"}


@subcommand
def command(terminal: Terminal) -> int:
    """Check the installation and this host.

    Exit 2 where a check fails.
    """
    from precdiff import api

    versions = api.versions()
    extras = {name: importlib.util.find_spec(module) is not None for name, module in EXTRAS.items()}
    checks = {check.__doc__ or check.__name__: check() for check in CHECKS}
    cache = str(Path.cwd() / ".precdiff")
    host = f"{platform.system()} {platform.machine()}, {sys.byteorder}-endian"
    rows = [*versions.items(), ("host", host), ("cache", cache)]
    rows += [(f"extra {name}", "installed" if there else "not installed") for name, there in extras.items()]
    rows += [("ok" if passed else "FAILED", name) for name, passed in checks.items()]
    width = max(len(label) for label, _ in rows)
    for label, text in rows:
        terminal.say(f"{label.ljust(width)}  {text}")
    named = [{"name": name, "ok": passed} for name, passed in checks.items()]
    document = {"versions": versions, "host": host, "cache": cache, "extras": extras, "checks": named}
    terminal.document({"schema": "precdiff.doctor/1", **document})
    return 0 if all(checks.values()) else 2


def _native_types() -> bool:
    """every format has its dtype in numpy or ml_dtypes, of the right width"""
    from precdiff.formats import FORMATS, native_dtype

    return all(native_dtype(row).itemsize == row.storage.itemsize for _, row in FORMATS.items())


def _subnormals() -> bool:
    """the host keeps subnormals (no library has set flush-to-zero)"""
    import numpy as np

    tiny = np.array([np.finfo(np.float32).smallest_subnormal, 2e-40], np.float32)
    return bool((tiny * np.float32(1.0) != 0).all()) and float(np.array([5e-324])[0] * 1.0) != 0.0


def _nearest() -> bool:
    """the host rounds to nearest, ties to even"""
    import numpy as np

    one, u = np.array([1.0, 1.0 + 2.0**-52]), 2.0**-53
    return (one + u).tolist() == [1.0, 1.0 + 2.0**-51] and (-one - u).tolist() == [-1.0, -1.0 - 2.0**-51]


def _roundings() -> bool:
    """rounding agrees with numpy and ml_dtypes on every kind of value"""
    import ml_dtypes
    import numpy as np

    from precdiff.formats import native
    from precdiff.rounding import Rounding, round_array

    wide = np.frombuffer(np.random.default_rng(0).bytes(40_000), np.float32)
    edges = np.array([65519.99, 65520, 2049, 2**-25, 1 + 2**-9], np.float32)
    values = np.concatenate([wide[np.isfinite(wide)], edges])
    with np.errstate(all="ignore"):
        peers = {"fp16": values.astype(np.float16), "bf16": values.astype(ml_dtypes.bfloat16)}
    return all(
        (native(round_array(values, Rounding(n)), n).view(np.uint16) == peer.view(np.uint16)).all()
        for n, peer in peers.items()
    )


def _functions() -> bool:
    """exp and log are correctly rounded where mpmath says what that is"""
    import mpmath
    import numpy as np

    from precdiff import api, ops

    x = np.linspace(0.1, 20, 50, dtype=np.float32)
    for op, exact in ((ops.exp, mpmath.exp), (ops.log, mpmath.log)):
        found = api.run(lambda x, op=op: op(x), inputs={"x": x}).outputs["out"]
        with mpmath.workprec(200):
            wanted = np.array([float(exact(mpmath.mpf(float(v)))) for v in x], np.float32)
        if (found != wanted).any():
            return False
    return True


def _files() -> bool:
    """HDF5 files can be written and read back"""
    import io

    import h5py
    import numpy as np

    memory = io.BytesIO()
    with h5py.File(memory, "w") as file:
        file["x"] = np.array([1.5], np.float16)
    with h5py.File(memory, "r") as file:
        return bool(file["x"][0] == 1.5)


CHECKS: tuple[Callable[[], bool], ...] = (_native_types, _subnormals, _nearest, _roundings, _functions, _files)
