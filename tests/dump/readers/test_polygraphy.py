"""Polygraphy's JSON: files that polygraphy 0.53.6 wrote (files/), and ones that lie."""

import json
from pathlib import Path

import numpy as np
import pytest

from precdiff.dump import open_dump
from precdiff.errors import FileError
from tests.dump.readers import samples

FILES = Path(__file__).parent / "files"
X, Y = np.float16([[1, 2.5], [-0.0, np.nan]]), np.int64([[2**62]])


def test_outputs_polygraphy_wrote():
    """Two runners: IterationResult of {"x": X * 1 | X * 2, "y": Y}, saved with RunResults.save."""
    with open_dump(FILES / "polygraphy-0.53.6-outputs.json") as dump:
        assert dump.reader == "polygraphy"
        wanted = {"trt/0/x": X, "trt/0/y": Y, "onnxrt/0/x": X * np.float16(2), "onnxrt/0/y": Y}
        found = {id: dump.native(id) for id in dump.tensors}
        assert {id: (a.dtype, a.shape, a.tobytes()) for id, a in found.items()} == {
            id: (a.dtype, a.shape, a.tobytes()) for id, a in wanted.items()
        }


def test_inputs_polygraphy_wrote():
    """save_json([{"in": array in Fortran order}])."""
    with open_dump(FILES / "polygraphy-0.53.6-inputs.json") as dump:
        assert {id: dump.tensor(id).tolist() for id in dump.tensors} == {"in": [[1, 2, 3], [4, 5, 6]]}


def changed(folder, **changes):
    document = json.loads(samples.polygraphy(folder).read_text())
    array = document["lst"][0][1][0]["outputs"]["x"]["values"]
    array.update(changes)
    (folder / "x.json").write_text(json.dumps(document))
    return folder / "x.json"


LIES = {
    "a tensor of torch": ({"polygraphy_class": "Tensor"}, "found the class 'Tensor'"),
    "no array": ({"array": 3}, r"is no \.npy file"), "damaged base64": ({"array": "%%%"}, "base64 is damaged"),
    "no .npy": ({"array": "AAAA"}, r"is no \.npy file"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "said"), LIES.values(), ids=LIES)
def test_what_lies(tmp_path, changes, said):
    with pytest.raises(FileError, match=said):
        open_dump(changed(tmp_path, **changes))


def test_objects_are_never_unpickled(tmp_path):
    import base64
    import io

    out = io.BytesIO()
    np.save(out, np.array([{}], object), allow_pickle=True)
    with pytest.raises(FileError, match="Objects are pickles"):
        open_dump(changed(tmp_path, array=base64.b64encode(out.getvalue()).decode()))
