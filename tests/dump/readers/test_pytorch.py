"""Files of torch.save, read without torch, against torch.load; and pickles that want to run something."""

import io
import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from precdiff.dump import convert, open_dump
from precdiff.errors import FileError

BITS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


def bits(torch, tensor):
    """The bytes of a tensor in C order, by torch itself."""
    whole = tensor.detach().contiguous()
    return whole.view(getattr(torch, BITS[whole.element_size()])).numpy().tobytes()


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def objects(torch):
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    made = torch.Generator().manual_seed(0)
    floats = torch.randn(3, 5, generator=made)
    return {
        "alone": floats,
        "empty": torch.empty(0, 3),
        "scalar": torch.tensor(2.5, dtype=torch.float64),
        "parameter": torch.nn.Parameter(floats.clone()),
        "transposed": base.t(),
        "sliced": base[1::2, 2:5],
        "expanded": base[:1].expand(7, 6),
        "state": torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).state_dict(),
        "shared": {"a": base, "b": base[2], "c": [base[:, 1], (base.t(), {"d": base})]},
        "plain": {"step": 3, "lr": 1e-3, "name": "x", "on": True, "none": None, "x": floats, 7: base},
        **{name: torch.arange(0, 6).to(getattr(torch, name)) for name in
           ("float16", "bfloat16", "float64", "int8", "uint8", "int16", "int32", "int64", "bool",
            "float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64")},
    }  # fmt: skip


def flat(item, name=""):
    if isinstance(item, dict | list | tuple):
        for key, inner in item.items() if isinstance(item, dict) else enumerate(item):
            yield from flat(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name or "tensor", item


@pytest.mark.torch
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_what_torch_saves(torch, tmp_path, protocol):
    for name, item in objects(torch).items():
        path = tmp_path / f"{name}.pt"
        torch.save(item, path, pickle_protocol=protocol)
        loaded = dict(flat(torch.load(path, weights_only=False)))
        with open_dump(path) as dump:
            assert dump.reader == "pytorch"
            wanted = {id: value for id, value in loaded.items() if isinstance(value, torch.Tensor)}
            assert list(dump.tensors) == list(wanted), name
            for id, value in wanted.items():
                assert dump.row(id).shape == tuple(value.shape)
                assert dump.codes(id).tobytes() == bits(torch, value), (name, id)
            assert dict(dump.attrs.options) == {id: value for id, value in loaded.items() if id not in wanted}


@pytest.mark.torch
def test_pieces_of_a_transposed_tensor(torch, tmp_path):
    base = torch.arange(60, dtype=torch.int32).reshape(3, 4, 5).permute(2, 0, 1)
    torch.save(base, tmp_path / "x.pt")
    with open_dump(tmp_path / "x.pt") as dump:
        found = np.concatenate([codes for _, codes in dump.code_chunks("tensor", 7)])
    assert found.tolist() == base.flatten().tolist()


@pytest.mark.torch
def test_complex_is_listed_not_read(torch, tmp_path):
    torch.save({"z": torch.zeros(3, dtype=torch.complex64), "x": torch.ones(2)}, tmp_path / "x.pt")
    with open_dump(tmp_path / "x.pt") as dump:
        assert dump.tensor("x").tolist() == [1, 1]
        with pytest.raises(FileError, match="only stats was kept, not its values: PrecDiff has no format Complex"):
            dump.codes("z")


@pytest.mark.torch
def test_old_files_are_named(torch, tmp_path):
    torch.save(torch.ones(2), tmp_path / "x.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(FileError, match=r"format of before 1\.6; save it again"):
        open_dump(tmp_path / "x.pt")


@pytest.mark.torch
def test_a_model_is_refused_by_name(torch, tmp_path):
    torch.save(torch.nn.Linear(2, 2), tmp_path / "x.pt")
    with pytest.raises(FileError, match=r"names 'torch\.nn\.modules\.linear\.Linear'.*save them alone"):
        open_dump(tmp_path / "x.pt")


class Runs:
    """An object whose pickle makes a file."""

    def __init__(self, path, by):
        self.path, self.by = path, by

    def __reduce__(self):
        return {"system": (os.system, (f"touch {self.path}",)), "exec": (exec, (f"open({self.path!r}, 'w')",)),
                "popen": (subprocess.Popen, (["touch", self.path],)),
                "getattr": (getattr, ("x", "upper"))}[self.by]  # fmt: skip


PROTOCOL_0 = b"cos\nsystem\n(S'touch {}'\ntR."
HAND_MADE = {
    "inst": b"(S'touch {}'\nios\nsystem\n.",
    "obj": b"(cos\nsystem\nS'touch {}'\no.",
    "newobj": b"\x80\x02cos\nsystem\nX\x01\x00\x00\x00a\x85\x81.",
    "global": PROTOCOL_0,
    "extension": b"\x80\x02\x82\x01.",
    "build": b"\x80\x02ccollections\nOrderedDict\n)R}X\x09\x00\x00\x00__class__K\x01sb"
             b"\x8c\x02os\x8c\x06system\x93\x8c\x05touch\x85R.",
    "persistent": b"\x80\x02X\x01\x00\x00\x00aQ.",
    "typed call": b"\x80\x02ctorch\nFloatStorage\n)R.",
    "builtins": b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x0a1+1       \x85R.",
    "dotted": b"\x80\x04\x8c\x0etorch._utils.x\x8c\x0esystem.__call__\x93.",
}  # fmt: skip


def archive(path, pickled):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("x/data.pkl", pickled)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("by", ["system", "exec", "popen", "getattr"])
def test_nothing_is_run(tmp_path, by, protocol):
    mark = tmp_path / "ran"
    archive(tmp_path / "x.pt", pickle.dumps({"x": Runs(str(mark), by)}, protocol))
    with pytest.raises(FileError, match=r"names '(posix|builtins|__builtin__|subprocess|commands)\."):
        open_dump(tmp_path / "x.pt")
    assert not mark.exists()


@pytest.mark.parametrize("content", HAND_MADE.values(), ids=HAND_MADE)
def test_nothing_is_run_by_hand_made_pickles(tmp_path, content):
    mark = tmp_path / "ran"
    archive(tmp_path / "x.pt", content.replace(b"{}", str(mark).encode()))
    with pytest.raises(FileError, match=r"refused|damaged"):
        open_dump(tmp_path / "x.pt")
    assert not mark.exists()


def test_the_tests_can_fail(tmp_path):
    """pickle itself runs them."""
    pickle.loads(pickle.dumps(Runs(str(tmp_path / "ran"), "system")))
    assert (tmp_path / "ran").exists()


def test_nothing_is_imported(tmp_path):
    """Neither torch nor a module the pickle names."""
    archive(tmp_path / "x.pt", b"\x80\x02cantigravity\nfly\n)R.")
    code = (
        "import sys, precdiff\nfrom precdiff.errors import PrecDiffError\n"
        f"try: precdiff.open_dump({str(tmp_path / 'x.pt')!r})\n"
        "except PrecDiffError as error: print(error)\n"
        "print({'torch', 'antigravity'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "refused, its pickle names 'antigravity.fly'" in found.stdout
    assert found.stdout.endswith("set()\n")


def test_compressed_members_are_refused(tmp_path):
    """So a bomb is never inflated."""
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as file:
        file.writestr("x/data.pkl", b"\x80\x02}.")
        file.writestr(zipfile.ZipInfo("x/data/0"), bytes(10**6), zipfile.ZIP_DEFLATED)
    with pytest.raises(FileError, match=r"is compressed, which torch\.save never does"):
        open_dump(tmp_path / "x.pt")


def storage(size, stride, offset=0, elements=4):
    """data.pkl of one fp32 tensor over a storage of `elements`."""
    out = io.BytesIO()
    out.write(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(")
    out.write(b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu")
    out.write(pickle.dumps(elements, 2)[2:-1] + b"tQ" + pickle.dumps(offset, 2)[2:-1])
    out.write(pickle.dumps(size, 0)[:-1] + pickle.dumps(stride, 0)[:-1])
    out.write(b"\x89ccollections\nOrderedDict\n)RtR.")
    return out.getvalue()


BEYOND = {
    "size": ((5,), (1,), 0), "stride": ((2,), (4,), 0), "offset": ((4,), (1,), 1), "negative": ((2,), (-1,), 3),
    "before": ((2,), (1,), -1), "huge": ((2**40, 2**40), (0, 0), 0), "expanded": ((2**30,), (0,), 0),
    "uneven": ((2,), (), 0),
}  # fmt: skip


@pytest.mark.parametrize(("size", "stride", "offset"), BEYOND.values(), ids=BEYOND)
def test_nothing_beyond_a_storage(tmp_path, size, stride, offset):
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as file:
        file.writestr("x/data.pkl", storage(size, stride, offset))
        file.writestr("x/data/0", bytes(16))
    with pytest.raises(FileError):
        open_dump(tmp_path / "x.pt")


def test_a_storage_by_hand(tmp_path):
    """The control of the test above."""
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as file:
        file.writestr("x/data.pkl", storage((2, 2), (1, 2)))
        file.writestr("x/data/0", np.float32([1, 2, 3, 4]).tobytes())
    assert open_dump(tmp_path / "x.pt").tensor("tensor").tolist() == [[1, 3], [2, 4]]


def test_lists_that_multiply_end(tmp_path):
    """Fifty lists, each twice in the next."""
    item: list = []
    for _ in range(50):
        item = [item, item]
    archive(tmp_path / "x.pt", pickle.dumps(item, 2))
    with pytest.raises(FileError, match="more than 2,000,000 objects"):
        open_dump(tmp_path / "x.pt")


def test_a_list_in_itself_ends(tmp_path):
    item: list = []
    item.append(item)
    archive(tmp_path / "x.pt", pickle.dumps(item, 2))
    with pytest.raises(FileError, match="nested deeper"):
        open_dump(tmp_path / "x.pt")


@pytest.mark.torch
def test_torch_loads_what_convert_writes(torch, tmp_path):
    names = ["float32", "float16", "bfloat16", "float64", "int64", "int8", "uint8", "bool", "float8_e5m2", "uint16"]
    made = {name: torch.arange(6).reshape(2, 3).to(getattr(torch, name)) for name in names}
    made |= {"scalar": torch.tensor(2.5), "empty": torch.empty(0, 3)}
    torch.save(made, tmp_path / "in.pt")
    convert(tmp_path / "in.pt", tmp_path / "a.safetensors")
    convert(tmp_path / "a.safetensors", tmp_path / "out.pt")
    found = torch.load(tmp_path / "out.pt", weights_only=True)
    assert {name: (t.dtype, t.shape) for name, t in found.items()} == {n: (t.dtype, t.shape) for n, t in made.items()}
    for name, tensor in made.items():
        assert found[name].contiguous().view(torch.uint8).equal(tensor.view(torch.uint8)) if tensor.dim() else True
