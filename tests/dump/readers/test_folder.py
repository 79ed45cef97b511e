"""Folders of arrays and bare values: names, order, links, and what is passed over."""

import json

import numpy as np
import pytest

from precdiff import api
from precdiff.dump import open_dump, open_dumps
from precdiff.errors import FileError

ONE, TWO = np.float32([1, 2]), np.float32([3, 4])


def test_names_are_those_of_the_files(tmp_path):
    (tmp_path / "layer10").mkdir()
    (tmp_path / "layer2").mkdir()
    np.save(tmp_path / "layer10" / "out.npy", ONE)
    np.save(tmp_path / "layer2" / "out.v1.npy", TWO)
    np.savez(tmp_path / "many.npz", a=ONE, b=TWO)
    np.save(tmp_path / "a%2Fb.npy", TWO)
    (tmp_path / "notes.txt").write_text("hello")
    with open_dump(tmp_path) as dump:
        assert dump.reader == "folder"
        assert list(dump.tensors) == ["a/b", "layer2/out.v1", "layer10/out", "many/a", "many/b"]
        assert dump.tensor("layer10/out").tolist() == [1, 2]
        assert dump.tensor("many/b").tolist() == [3, 4]
        assert dict(dump.attrs.provenance) == {"passed_over": ["notes.txt"]}


def test_one_name_in_two_kinds(tmp_path):
    np.save(tmp_path / "x.npy", ONE)
    np.savez(tmp_path / "x.npz", y=TWO)
    with open_dump(tmp_path) as dump:
        assert list(dump.tensors) == ["x.npy", "x.npz"]


def test_links_are_not_followed(tmp_path):
    (tmp_path / "out").mkdir()
    np.save(tmp_path / "secret.npy", ONE)
    folder = tmp_path / "out"
    np.save(folder / "x.npy", TWO)
    (folder / "linked.npy").symlink_to(tmp_path / "secret.npy")
    (folder / "loop").symlink_to(tmp_path)
    with open_dump(folder) as dump:
        assert list(dump.tensors) == ["x"]


def raw(path, content, **about):
    path.write_bytes(content)
    path.with_name(f"{path.name}.json").write_text(json.dumps(about))
    return path


def test_bare_values(tmp_path):
    path = raw(tmp_path / "y.bin", np.float16([1, 2, 3]).tobytes(), format="fp16", shape=[3, 1])
    with open_dump(path) as dump:
        (row,) = dump.tensors.values()
        assert (dump.reader, row.id, row.format, row.shape) == ("raw", "y", "fp16", (3, 1))
        assert dump.tensor("y").tolist() == [[1], [2], [3]]
    with open_dump(tmp_path) as dump:
        assert (list(dump.tensors), dict(dump.attrs.provenance)) == (["y"], {})


REFUSED = {
    "short": ({"format": "fp16", "shape": [4]}, "expected 8 bytes"),
    "long": ({"format": "fp16", "shape": [2]}, "expected 4 bytes"),
    "huge": ({"format": "fp16", "shape": [2**62, 8]}, "no array is that large"),
    "format": ({"format": "fp17", "shape": [3]}, "fp17"),
    "shape": ({"format": "fp16", "shape": 3}, "expected format and shape"),
    "missing": ({"shape": [3]}, "expected format and shape"),
}


@pytest.mark.parametrize(("about", "message"), REFUSED.values(), ids=REFUSED)
def test_bare_values_that_are_not_as_said(tmp_path, about, message):
    path = raw(tmp_path / "y.bin", bytes(6), **about)
    with pytest.raises(Exception, match=message) as raised:
        open_dump(path)
    assert type(raised.value).__module__.startswith("precdiff")


def test_a_folder_without_arrays(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(FileError, match="is a folder without dumps"):
        open_dump(tmp_path)


def test_folders_by_step_and_rank_are_a_run(tmp_path):
    """What a device program may write: RUN/step0/rank1/layer/name.bin with NAME.bin.json beside."""
    for side, wrong in (("npu", 2), ("gpu", None)):
        for step in (0, 1, 10):
            for rank in range(2):
                place = tmp_path / side / f"step{step}" / f"rank{rank}" / "layer0"
                place.mkdir(parents=True)
                values = ONE * (3 if step == 10 and rank == 1 and wrong else 1)
                raw(place / "out.bin", values.tobytes(), format="fp32", shape=[2])
    with open_dump(tmp_path / "npu" / "step1" / "rank0") as dump:
        assert (dump.attrs.iteration, dump.attrs.rank, list(dump.tensors)) == (1, 0, ["layer0/out"])
    found = [(dump.attrs.iteration, dump.attrs.rank) for dump in open_dumps(tmp_path / "npu")]
    assert found == [(0, 0), (0, 1), (1, 0), (1, 1), (10, 0), (10, 1)]
    report = api.compare(tmp_path / "npu", tmp_path / "gpu")
    assert report.provenance["diverges_at"] == {"iteration": 10, "rank": 1}
