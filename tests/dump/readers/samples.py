"""A small whole file or folder of each kind of dump, as other programs write it: KINDS[reader](folder) is its path."""

import base64
import io
import json
import pickle
import zipfile

import h5py
import numpy as np

from precdiff.dump import DumpWriter, TensorRow

RNG = np.random.default_rng(5)
X = RNG.normal(size=(6, 5)).astype(np.float32)
Y = RNG.integers(0, 99, (2, 3, 4)).astype(np.int64)


def npy(folder):
    np.save(folder / "x.npy", X)
    return folder / "x.npy"


def npz(folder):
    np.savez_compressed(folder / "x.npz", x=X, y=Y)
    return folder / "x.npz"


def raw(folder, name="x.bin"):
    (folder / name).write_bytes(X.tobytes())
    (folder / f"{name}.json").write_text(json.dumps({"format": "fp32", "shape": [6, 5]}))
    return folder / name


def safetensors(folder):
    header = {
        "x": {"dtype": "F32", "shape": [6, 5], "data_offsets": [0, 120]},
        "y": {"dtype": "I64", "shape": [2, 3, 4], "data_offsets": [120, 312]},
    }
    text = json.dumps(header).encode()
    (folder / "x.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + X.tobytes() + Y.tobytes())
    return folder / "x.safetensors"


def state_dict(**arrays):
    """data.pkl of a dict of fp32 and i64 tensors, as torch.save writes it (protocol 2)."""
    out = io.BytesIO()
    out.write(b"\x80\x02}(")
    for key, (name, array) in enumerate(arrays.items()):
        kind = {"float32": b"FloatStorage", "int64": b"LongStorage"}[array.dtype.name]
        strides = tuple(n // array.itemsize for n in array.strides)
        out.write(
            plain(name) + b"ctorch._utils\n_rebuild_tensor_v2\n((" + plain("storage") + b"ctorch\n" + kind + b"\n"
        )
        out.write(plain(str(key)) + plain("cpu") + plain(array.size) + b"tQK\x00" + plain(array.shape) + plain(strides))
        out.write(b"\x89ccollections\nOrderedDict\n)RtR")
    out.write(b"u.")
    return out.getvalue()


def plain(value):
    """The opcodes of a plain value, without a memo."""
    if isinstance(value, tuple):
        return b"(" + b"".join(plain(item) for item in value) + b"t"
    if isinstance(value, str):
        return b"X" + len(value).to_bytes(4, "little") + value.encode()
    return pickle.dumps(value, 2)[2:-1]


def pytorch(folder, name="x.pt", **arrays):
    arrays = arrays or {"x": X, "y": Y}
    with zipfile.ZipFile(folder / name, "w") as file:
        file.writestr("x/data.pkl", state_dict(**arrays))
        for key, array in enumerate(arrays.values()):
            file.writestr(f"x/data/{key}", array.tobytes())
    return folder / name


def a_folder(folder):
    place = folder / "dump"
    (place / "layer0").mkdir(parents=True)
    for make in (npy, safetensors, npz):
        make(place / "layer0")
    raw(place, "y.bin")
    pytorch(place)
    return place


def msprobe(folder):
    place = folder / "step0" / "rank0"
    (place / "dump_tensor_data").mkdir(parents=True)
    leaf = {
        "type": "torch.Tensor",
        "dtype": "torch.float32",
        "shape": [6, 5],
        "Max": 2.0,
        "Min": -2.0,
        "Mean": 0.1,
        "Norm": 5,
    }
    call = "Functional.linear.0.forward"
    data = {
        call: {
            "input_args": [{**leaf, "data_name": f"{call}.input.0.npy"}, {"type": "int", "value": 3}, None],
            "input_kwargs": {"dim": {"type": "int", "value": -1}},
            "output": [{**leaf, "md5": "0123abcd"}],
        },
        "Module.head.Linear.backward.0": {"input": [leaf], "output": [leaf]},
    }
    np.save(place / "dump_tensor_data" / f"{call}.input.0.npy", X)
    about = {"task": "tensor", "level": "mix", "framework": "pytorch", "dump_data_dir": None}
    (place / "dump.json").write_text(json.dumps({**about, "data": data}))
    (place / "stack.json").write_text(json.dumps({"0": [[call], ["File /a/b.py, line 3, in f, \n x"]]}))
    (place / "construct.json").write_text(json.dumps({call: "Module.head.Linear.forward.0"}))
    return folder


def hdf5(folder):
    with h5py.File(folder / "x.h5", "w") as file:
        file["layer/x"] = X
        file.create_dataset("layer/y", data=Y, chunks=(1, 3, 4), compression="gzip")
        file["layer"].attrs["text"] = "what another program says"
        file["layer/x"].attrs["format"] = "fp32"
    return folder / "x.h5"


def precdiff(folder):
    made = {"x": X, "y": Y, "large": np.ones((80, 300), np.float32)}
    with DumpWriter(folder / "x.h5") as writer:
        for name, array in made.items():
            row = TensorRow(
                name,
                {4: "fp32", 8: "i64"}[array.itemsize],
                array.shape,
                stored_format={4: "fp32", 8: "i64"}[array.itemsize],
            )
            writer.add_row(row, array.view(f"u{array.itemsize}"))
        writer.complete()
    return folder / "x.h5"


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def number(field, value):
    return varint(field << 3) + varint(value)


def sized(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def tensor_proto(array, data_type, name="x"):
    dims = b"".join(number(1, n) for n in array.shape)
    return dims + number(2, data_type) + sized(8, name.encode()) + sized(9, array.tobytes())


def onnx(folder):
    graph = sized(2, b"g") + sized(5, tensor_proto(X, 1)) + sized(5, tensor_proto(Y, 7, "y"))
    (folder / "x.onnx").write_bytes(number(1, 10) + sized(2, b"me") + sized(7, graph) + sized(8, number(2, 21)))
    return folder / "x.onnx"


def cann_tensor(data_type, layout, shape, size, original, *, of_output):
    dims = [sized(number_, sized(1, b"".join(map(varint, axes)))) for number_, axes in
            ((3, shape), (7 if of_output else 6, original))]  # fmt: skip
    return number(1, data_type) + number(2, layout) + dims[0] + number(6 if of_output else 5, size) + dims[1]


def nz(array, inner, rows=16):
    """A matrix in FRACTAL_NZ, element by element."""
    n, c = array.shape
    tiled = np.zeros((-(-c // inner), -(-n // rows), rows, inner), array.dtype)
    for i, j in np.ndindex(n, c):
        tiled[j // inner, i // rows, i % rows, j % inner] = array[i, j]
    return tiled


def adump(folder):
    tiled = nz(X, 8)
    header = (
        sized(1, b"2.0") + number(2, 1623124369613540)
        + sized(3, cann_tensor(8, 2, Y.shape, Y.nbytes, Y.shape, of_output=True))
        + sized(4, cann_tensor(1, 29, tiled.shape, tiled.nbytes, X.shape, of_output=False))
        + sized(6, b"MatMul")
    )  # fmt: skip
    path = folder / "MatMul.mm_1.3.2.1623124369613540"
    path.write_bytes(len(header).to_bytes(8, "little") + header + tiled.tobytes() + Y.tobytes())
    return path


def atb(folder):
    text = f"$Version=1.0\n$Object.Count=1\n$Object.Length={X.nbytes}\nformat=2\ndtype=0\ndims=6,5\n"
    text += f"$Object.data=0,{X.nbytes}\n$End=1\n"
    (folder / "x.bin").write_bytes(text.encode() + X.tobytes())
    return folder / "x.bin"


def polygraphy(folder):
    def array(value):
        out = io.BytesIO()
        np.save(out, value)
        return {"array": base64.b64encode(out.getvalue()).decode(), "polygraphy_class": "ndarray"}

    outputs = {name: {"values": array(value), "polygraphy_class": "LazyArray"} for name, value in (("x", X), ("y", Y))}
    iteration = {"outputs": outputs, "runtime": 0.5, "runner_name": "r", "polygraphy_class": "IterationResult"}
    (folder / "x.json").write_text(json.dumps({"lst": [["r", [iteration]]], "polygraphy_class": "RunResults"}))
    return folder / "x.json"


KINDS = {
    "npy": npy, "npz": npz, "raw": raw, "safetensors": safetensors, "pytorch": pytorch, "folder": a_folder,
    "msprobe": msprobe, "hdf5": hdf5, "precdiff": precdiff, "onnx": onnx, "adump": adump, "atb": atb,
    "polygraphy": polygraphy,
}  # fmt: skip
