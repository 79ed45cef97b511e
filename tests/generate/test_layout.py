"""Cases as files: what lies where, that golden outputs are the truth rounded once, and that all appears or nothing."""

import json
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import precdiff
from precdiff import ops
from precdiff.errors import FileError
from precdiff.formats import FORMATS, carrier, get_format, next_down, next_up
from precdiff.generate import data_cases, layout, read_array, write_cases
from precdiff.generate.golden import golden
from precdiff.generate.subject import subject_of
from precdiff.generate.target import target_kernel
from precdiff.kernels import KERNELS


def subject(name, format="fp16", shape=None, **more):
    return subject_of(target_kernel(name), get_format(format), shape, **more)


def written(folder, name, format="fp16", kind="bin", **more):
    made, cases = subject(name, format), data_cases(name, format=format, **more)
    return made, cases, write_cases(folder, made, cases, kind)


@pytest.mark.parametrize("format", ["fp16", "bf16", "fp32", "e5m2"])
@pytest.mark.parametrize("op", ["exp", "tanh", "sqrt"])
def test_golden_values_are_the_numbers_nearest_to_the_truth(op, format):
    row, made = get_format(format), subject(op, format, (50,))
    x = carrier(made.completed({"x": np.abs(np.random.default_rng(1).normal(0, 2, 50))})["x"])
    found = golden(made, {"x": x})["out"]
    assert (found.format, found.undecided) == (row, 0)
    around = (next_down(found.values, row), next_up(found.values, row))
    with mpmath.workprec(300):
        for v, here, low, high in zip(x, found.values, *around, strict=True):
            truth = getattr(mpmath, op)(mpmath.mpf(float(v)))
            assert abs(truth - float(here)) < min(abs(truth - float(low)), abs(truth - float(high)))


def test_the_golden_output_is_that_of_the_meant_function_not_of_the_twin():
    x = np.float16([[20, 0, -20]])
    twin, meant = (golden(subject(name, shape=(1, 3)), {"x": x})["out"].values for name in ("softmax_naive", "softmax"))
    assert twin.tolist() == meant.tolist() and np.isfinite(twin).all()


def test_beside_a_tie_the_truth_decides_not_the_middle_of_a_ball():
    """m = beta1 m + (1 - beta1) g with beta1 0.9 as binary64 has it: often within 1e-15 of a tie of fp16."""
    made, beta = subject("adam_step", shape=(1024,)), Fraction(0.9)
    wide = made.completed({n: made.rng("tie", n).normal(0, 4, 1024) for n in ("m", "grad")})
    found = golden(made, {**wide, "v": np.abs(wide["v"])})["m"]
    assert found.undecided == 0
    low, high = (carrier(step(found.values, "fp16")) for step in (next_down, next_up))
    near_ties = 0
    for m, g, here, below, above in zip(wide["m"], wide["grad"], found.values, low, high, strict=True):
        truth = beta * Fraction(float(m)) + (1 - beta) * Fraction(float(g))
        away = [abs(truth - Fraction(float(value))) for value in (below, here, above)]
        assert away[1] < away[0] and away[1] < away[2]
        near_ties += min(away[0], away[2]) - away[1] < Fraction(1, 10**15)
    assert near_ties > 10


def test_what_no_precision_decides_is_counted():
    @precdiff.kernel
    def hidden_half(x):
        return ops.floor(ops.exp(ops.log(x)))  # of 3: floor of a number of which no precision tells that it is 3

    found = golden(subject(hidden_half, shape=(2,)), {"x": np.float16([3, 3.5])})["out"]
    assert (found.undecided, float(found.values[1])) == (1, 3.0)


@pytest.mark.parametrize("name", ["gelu", "silu", "softmax"])
def test_beyond_fp64s_range_the_sign_of_a_zero_is_no_doubt(name):
    x = np.float16([[-65504, 0, 65504]])
    assert golden(subject(name, shape=(1, 3)), {"x": x})["out"].undecided == 0


def test_what_comes_out_as_it_went_in_has_a_golden_output_too():
    @precdiff.kernel
    def both(x):
        return x, x + 1.0

    assert golden(subject(both, shape=(2,)), {"x": np.float16([1, 2])})["out0"].values.tolist() == [1, 2]


def test_the_layout_is_that_of_the_samples(tmp_path):
    _, cases, paths = written(tmp_path / "data", "layernorm", classes="typical")
    assert [path.name for path in paths] == [case.name for case in cases]
    case, path = cases[0], paths[0]
    files = sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())
    inputs = [f"input/input_{name}.bin" for name in ("beta", "gamma", "x")]
    assert files == sorted(
        ["case.json", "output/golden.bin", "output/golden.bin.json", *inputs, *(f"{f}.json" for f in inputs)]
    )
    document = json.loads((path / "case.json").read_text())
    assert document["schema"] == "precdiff.case/1" and document["class"] == "typical" and document["seed"] == 0
    about = document["inputs"]["x"]
    raw = np.fromfile(path / about["file"], "<f2").reshape(about["shape"])
    assert raw.tobytes() == case.inputs["x"].tobytes()
    assert read_array(str(path / about["file"])).shape == tuple(about["shape"])
    assert document["outputs"]["out"]["file"] == "output/golden.bin"


def test_several_outputs_have_a_file_each(tmp_path):
    _, _, (path, *_) = written(tmp_path / "data", "layernorm_backward", classes="typical")
    outputs = json.loads((path / "case.json").read_text())["outputs"]
    assert len(outputs) == 3 and all((path / f"output/golden_{name}.bin").exists() for name in outputs)


@pytest.mark.parametrize("name", list(KERNELS))
def test_every_kernels_golden_output_passes_where_it_is_compared(tmp_path, name):
    _, cases, paths = written(tmp_path / "data", name, classes="typical")
    document = json.loads((paths[0] / "case.json").read_text())
    declared = precdiff.run(name, inputs=cases[0].inputs, format="fp16")
    outputs = {n: read_array(str(paths[0] / about["file"])) for n, about in document["outputs"].items()}
    device = next(iter(outputs.values())) if len(outputs) == 1 else outputs
    report = precdiff.compare(device, declared=declared)
    assert report.verdict != "fail"  # a twin whose own sums overflow has no limit to be judged by
    assert all(row.max_ulp <= 0.5 for row in report.tensors if get_format(row.format).is_float)


@pytest.mark.parametrize("kind", ["npz", "h5"])
def test_other_kinds_hold_the_same_tensors(tmp_path, kind):
    _, cases, paths = written(tmp_path / "data", "softmax", kind=kind, classes="typical")
    with precdiff.open_dump(paths[0]) as dump:
        assert dump.native("input/x").tobytes() == cases[0].inputs["x"].tobytes()
        assert dump.native("golden/out").dtype == np.float16


@pytest.mark.parametrize("format", [name for name, row in FORMATS.items() if row.is_float and name != "fp64"])
def test_raw_files_hold_every_format_bit_for_bit(tmp_path, format):
    _, cases, paths = written(tmp_path / "data", "add", format, classes="special")
    for case, path in zip(cases, paths, strict=True):
        assert json.loads((path / "input/input_x.bin.json").read_text())["format"] == format
        found = read_array(str(path / "input/input_x.bin"))
        assert found.tobytes() == np.asarray(case.inputs["x"]).tobytes()


def test_a_npz_has_no_place_for_bf16(tmp_path):
    with pytest.raises(FileError, match=r"\.npz cannot say that its values are bf16; write bin or h5"):
        written(tmp_path / "data", "exp", "bf16", "npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_that_holds_something_is_left_alone(tmp_path, force):
    (tmp_path / "mine").write_text("kept")
    says = "holds mine, which is no case of precdiff gen" if force else "exists and is no empty folder"
    with pytest.raises(FileError, match=says):
        write_cases(tmp_path, subject("exp"), data_cases("exp", classes="typical"), force=force)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("kind", ["bin", "npz", "h5"])
def test_cases_are_replaced_by_force_only(tmp_path, kind):
    _, old, _ = written(tmp_path, "exp", kind=kind, classes="typical,special")
    (tmp_path / ".precdiff-part-killed").mkdir()
    made, cases = subject("softmax"), data_cases("softmax", classes="typical")
    with pytest.raises(FileError, match=r"exists and is no empty folder; .* or replace its cases by force"):
        write_cases(tmp_path, made, cases, kind)
    assert len(list(tmp_path.iterdir())) == len(old) + 1
    paths = write_cases(tmp_path, made, cases, kind, force=True)
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_the_working_folder_and_a_link_are_filled(tmp_path, monkeypatch):
    work, link = tmp_path / "work", tmp_path / "link"
    work.mkdir()
    link.symlink_to(tmp_path / "elsewhere")
    monkeypatch.chdir(work)
    before = work.stat().st_ino
    for place in (".", link):
        write_cases(place, subject("exp"), data_cases("exp", classes="typical")[:1])
    assert work.stat().st_ino == before and link.is_symlink()
    assert [p.name for p in work.iterdir()] == [p.name for p in link.iterdir()] == ["typical-uniform"]


def test_all_appears_or_nothing(tmp_path, monkeypatch):
    def full(path, *_):
        path.write_bytes(b"some")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(layout, "_raw", full)
    with pytest.raises(FileError, match=r"cannot write .*data: No space left on device; the disk is full"):
        written(tmp_path / "data", "exp", classes="typical")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    assert written(tmp_path / "data", "exp", classes="typical")[2][0].is_dir()
