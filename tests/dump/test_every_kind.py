"""From every kind that is read to every kind that is written, and every format through each pair: the same bits.

A third of the pairs; all of them under `make test-all`.
"""

import itertools
import json
import os

import numpy as np
import pytest

from precdiff.dump import READERS, convert, open_dump
from precdiff.dump.h5types import stored_format
from precdiff.errors import FileError
from precdiff.formats import FORMATS
from tests.dump.readers import samples

WRITTEN = sorted({reader.suffix for _, reader in READERS.items() if reader.suffix} | {""})
ONE_TENSOR = (".bin", ".npy", ".pb")


def bits(path):
    with open_dump(path) as dump:
        return {
            id: (row.stored_format, row.shape, np.asarray(dump.codes(id)).tobytes())
            for id, row in dump.tensors.items() if row.data == "full"
        }  # fmt: skip


@pytest.mark.parametrize("ending", [ending for ending in WRITTEN if ending not in ONE_TENSOR])
@pytest.mark.parametrize("kind", samples.KINDS)
def test_every_kind_that_is_read(tmp_path, kind, ending):
    """Samples that other programs might have written; their values are the arrays of samples.py."""
    source = samples.KINDS[kind](tmp_path)
    source = source / "step0" / "rank0" if kind == "msprobe" else source
    found = bits(source)
    known = {array.tobytes() for array in (samples.X, samples.Y, np.ones((80, 300), np.float32))}
    assert found and {content for _, _, content in found.values()} <= known
    (tmp_path / "out").mkdir()
    convert(source, tmp_path / "out" / f"x{ending}")
    assert bits(tmp_path / "out" / f"x{ending}") == found


def codes_of(format):
    """Special codes and random ones of a format; 0 and 1 of bool."""
    if format.kind == "bool":
        return np.array([0, 1, 1], format.storage)
    top = 2 ** (8 * format.storage.itemsize)
    edges = [0, 1, top - 1, top // 2, top // 2 - 1, top // 2 + 1]
    rng = np.random.default_rng(format.storage.itemsize)
    random = rng.integers(0, 256, 58 * format.storage.itemsize, np.uint8).view(format.storage)
    return np.concatenate([np.array(edges, np.uint64).astype(format.storage), random])


def cannot(format, ending):
    """Formats a kind has no type for: it must say so."""
    return ending in (".npy", ".npz") and not hasattr(np, stored_format(format).native)


PAIRS = list(itertools.product(WRITTEN, repeat=2))[:: 1 if os.environ.get("PRECDIFF_EXHAUSTIVE") == "1" else 3]


def through(*places):
    """Each converted to the next."""
    for source, destination in itertools.pairwise(places):
        destination.parent.mkdir(exist_ok=True)
        convert(source, destination)


@pytest.mark.parametrize("name", [name for name, row in FORMATS.items() if stored_format(row) == row])
@pytest.mark.parametrize(("one", "other"), PAIRS, ids=[f"{a or 'folder'}-{b or 'folder'}" for a, b in PAIRS])
def test_every_format_through_every_pair(tmp_path, one, other, name):
    """A bare file -> one kind -> the other -> bare codes: nothing but the container has changed."""
    format = FORMATS[name]
    codes = codes_of(format)
    (tmp_path / "in.bin").write_bytes(codes.tobytes())
    (tmp_path / "in.bin.json").write_text(json.dumps({"format": name, "shape": [len(codes)]}))
    first, second = tmp_path / "1" / f"in{one}", tmp_path / "2" / f"in{other}"
    if cannot(format, one) or cannot(format, other):
        with pytest.raises(FileError, match=f"is {name}, which"):
            through(tmp_path / "in.bin", first, second)
        return
    through(tmp_path / "in.bin", first, second)
    (found,) = bits(second).values()
    assert found == (name, codes.shape, codes.tobytes())
