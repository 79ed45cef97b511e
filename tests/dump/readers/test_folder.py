"""Folders of arrays and bare values: names, order, links, and what is passed over."""

import json

import numpy as np
import pytest

from precdiff.dump import open_dump
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
