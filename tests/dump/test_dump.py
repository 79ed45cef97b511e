"""What a Dump gives beside its trace: statistics alone, references, pieces, the summary."""

import numpy as np
import pytest

from precdiff.dump import DumpWriter, Reference, add_references, open_dump, salvage, write_trace
from precdiff.errors import FileError
from precdiff.kernels import run_kernel
from precdiff.machine.realarray import RealArray


@pytest.fixture(scope="module")
def trace():
    x = np.random.default_rng(0).normal(size=(200, 256)).astype(np.float16)
    return run_kernel("softmax", {"x": x}, profile="ascend-910b").trace


@pytest.fixture
def path(tmp_path, trace):
    write_trace(tmp_path / "run.h5", trace)
    return tmp_path / "run.h5"


# Kinds of data, references.


@pytest.mark.parametrize("data", ["stats", "checksum"])
def test_only_statistics_or_checksums(tmp_path, trace, data):
    with DumpWriter(tmp_path / "run.h5", data=data) as writer:
        writer.finish(trace)
    write_trace(tmp_path / "full.h5", trace)
    assert (tmp_path / "run.h5").stat().st_size < 100_000 < (tmp_path / "full.h5").stat().st_size
    with open_dump(tmp_path / "run.h5") as dump, open_dump(tmp_path / "full.h5") as full:
        assert dump.verify() == []
        for id, row in dump.tensors.items():
            assert (row.checksum, row.data, row.where) == (full.row(id).checksum, data, "")
            assert row.statistics == (full.row(id).statistics if data == "stats" else None)
        with pytest.raises(FileError, match=f"of tensor 'x' only {data} was kept"):
            dump.tensor("x")
        with pytest.raises(FileError, match="a replay needs values"):
            dump.trace()
    assert salvage(tmp_path / "run.h5", tmp_path / "saved.h5").lost == ()
    with open_dump(tmp_path / "run.h5") as dump, open_dump(tmp_path / "saved.h5") as saved:
        assert dict(dump.tensors) == dict(saved.tensors)


def some_reference(shape):
    rng = np.random.default_rng(2)
    hi, lo, radius = (rng.normal(size=shape) for _ in range(3))
    hi.reshape(-1)[:1] = -0.0
    kind = np.asarray(rng.integers(0, 5, shape), np.uint8)
    return Reference(RealArray(*map(np.asarray, (hi, lo, abs(radius))), kind), "ball", 128, "certified")


@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (150, 200)])
def test_references_come_back(tmp_path, shape):
    reference = some_reference(shape)
    with DumpWriter(tmp_path / "run.h5") as writer:
        writer.add_tensor("a/b", np.zeros(shape, np.float32), "fp16")
        writer.add_reference("total", "a/b", reference)
        writer.add_reference("storage", "a/b", reference)
        writer.add_reference("total", "a/b", reference)
    add_references(tmp_path / "run.h5", {("local", "a/b"): reference, ("storage", "a/b"): reference})
    with open_dump(tmp_path / "run.h5") as dump:
        assert dump.references() == (("total", "a/b"), ("storage", "a/b"), ("local", "a/b"))
        for kind, id in dump.references():
            found = dump.reference(kind, id)
            assert (found.backend, found.bits, found.status) == ("ball", 128, "certified")
            for plane in ("hi", "lo", "radius", "kind"):
                assert getattr(found.reals, plane).tobytes() == getattr(reference.reals, plane).tobytes()
                assert getattr(found.reals, plane).shape == shape


def test_references_that_are_not_there(path):
    with open_dump(path) as dump:
        assert dump.references() == ()
        with pytest.raises(FileError, match="holds no total reference of 'exp'"):
            dump.reference("total", "exp")
        with pytest.raises(Exception, match="unknown kind of reference 'totally'"):
            dump.reference("totally", "exp")
    with pytest.raises(FileError, match="another writer or reader"), open_dump(path):
        add_references(path, {})


# Pieces and summaries.


@pytest.mark.parametrize("shape", [(), (7,), (0, 4), (5, 6), (3, 4, 5), (2, 3, 200, 300), (70_000,), (1, 70_000)])
@pytest.mark.parametrize("elements", [1, 7, 64, 2**20])
def test_pieces_are_the_tensor_in_order(tmp_path, shape, elements):
    values = np.random.default_rng(0).integers(0, 100, shape).astype(np.float32)
    if values.size // elements > 2000:
        pytest.skip("too many pieces to be worth it")
    with DumpWriter(tmp_path / "run.h5") as writer:
        writer.add_tensor("x", values, "fp16")
    with open_dump(tmp_path / "run.h5") as dump:
        place, found = 0, []
        for where, piece in dump.chunks("x", elements):
            assert (where.start, where.stop) == (place, place + piece.size)
            assert piece.size <= elements and piece.ndim == 1
            place = where.stop
            found.append(piece)
        assert np.concatenate(found).tolist() == values.reshape(-1).tolist()


def test_the_summary(tmp_path):
    x = np.array([[1.0, np.inf, np.nan]], np.float16)
    with DumpWriter(tmp_path / "run.h5") as writer:
        writer.finish(run_kernel("logsumexp", {"x": x}).trace)
    with open_dump(tmp_path / "run.h5") as dump:
        found = dump.summary()
        assert (found["kernel"], found["complete"], found["reader"]) == ("logsumexp", True, "precdiff")
        assert "profile" not in found["provenance"]
        (given,) = found["tree"]["tensors"]
        assert (given["id"], given["role"], given["format"], given["shape"]) == ("x", "input", "fp16", [1, 3])
        assert given["statistics"] == {"min": 1.0, "max": 1.0, "mean": 1.0, "l2": 1.0, "nan_count": 1, "inf_count": 1}
        (layer,) = found["tree"]["layers"]
        assert layer["layer"] == "logsumexp"
        rows = [*layer["tensors"], *(row for inner in layer["layers"] for row in inner["tensors"])]
        assert [row["id"] for row in rows] == [step.id for step in dump.steps]
        assert {row["op"] for row in rows} >= {"max", "exp", "log"}
        assert any(row["statistics"]["mean"] == "nan" for row in rows)
        assert dump.summary(dump.steps[1].id)["shown"] == 1
        assert dump.summary("logsumexp")["shown"] == len(dump.steps)
        with pytest.raises(Exception, match="unknown tensor or layer 'logsumexq'"):
            dump.summary("logsumexq")
