"""`precdiff gen`: cases listed and written, and what is said where they cannot be."""

import json
import time
from pathlib import Path

import pytest


def test_without_a_folder_cases_are_listed(document, precdiff):
    made = document("gen", "exp", "--classes", "typical,boundary", "--shape", "8", "--seed", "3")
    assert (made["schema"], made["kernel"], made["seed"], made["hunted"], made["code"]) == (
        "precdiff.gen/1", "exp", 3, None, 0,
    )  # fmt: skip
    assert {row["class"] for row in made["cases"]} == {"typical", "boundary"}
    assert all(row["path"] is None for row in made["cases"])
    assert f"{len(made['cases'])} cases; -o DIR writes them" in precdiff("gen", "exp", "--classes", "typical,boundary",
                                                                         "--shape", "8").stderr  # fmt: skip


def test_what_is_written_is_what_compare_and_verify_result_take(document, precdiff):
    made = document("gen", "softmax", "--classes", "typical", "--shape", "4,32", "-o", "data")
    for row in made["cases"]:
        place = Path(row["path"])
        golden, x = place / "output/golden.bin", place / "input/input_x.bin"
        judged = document("compare", golden, "--kernel", "softmax", "--input", f"x={x}", "--max-ulp", "0.5")
        assert (judged["verdict"], judged["tensors"][0]["shape"]) == ("pass", [4, 32])
        assert precdiff("verify-result", golden, golden, "--format", "fp16").stdout.endswith("test pass\n")


def test_a_hunt_ends_in_cases_of_its_own(document, precdiff):
    made = document("gen", "pow", "--evaluations", "3000", "-o", "data")
    hunted, (worst, *_) = made["hunted"], made["cases"]
    assert worst["name"] == "adversarial-worst" and hunted["evaluations"] == 3000 and not hunted["exhaustive"]
    inputs = [word for name in "xy" for word in ("--input", f"{name}={worst['path']}/input/input_{name}.bin")]
    precdiff("run", "pow", *inputs, "-o", "run.h5")
    assert document("compare", "run.h5")["tensors"][-1]["max_ulp"] == pytest.approx(hunted["max_ulp"])


def test_where_it_cannot_be_written_nothing_is_hunted_first(precdiff):
    Path("full").mkdir()
    Path("full/mine").touch()
    start = time.monotonic()
    assert precdiff("gen", "exp", "--format", "fp32", "--adversarial", "60", "-o", "full").exit_code == 2
    assert precdiff("gen", "exp", "--format", "bf16", "--evaluations", "9", "--to", "npz", "-o", "d").exit_code == 2
    assert time.monotonic() - start < 30


def test_by_force_cases_are_made_anew(document, precdiff):
    words = ("gen", "exp", "--shape", "4", "-o", "data", "--classes")
    document(*words, "typical")
    assert precdiff(*words, "special").exit_code == 2
    made = document(*words, "special", "--force")
    assert sorted(map(str, Path("data").iterdir())) == sorted(row["path"] for row in made["cases"])


def test_both_classes_and_a_hunt(document):
    made = document("gen", "exp", "--classes", "special", "--evaluations", "500")
    assert {row["class"] for row in made["cases"]} == {"special", "adversarial"}


def test_options_of_the_kernel_and_a_file(document):
    Path("mine.py").write_text(
        "from precdiff import kernel\n@kernel\ndef scaled(x, *, by: float = 2.0):\n    return x * by\n"
    )
    made = document("gen", "mine.py:scaled", "--set", "by=3", "--classes", "typical", "--shape", "4", "-o", "d")
    about = json.loads((Path(made["cases"][0]["path"]) / "case.json").read_text())
    assert (about["kernel"], about["options"]) == ("mine.py:scaled", {"by": 3.0})


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("nope", "unknown kernel or op 'nope'. Did you mean"), ("exp --classes typ", "unknown data class 'typ'"),
        ("exp --format fp17", "unknown format 'fp17'"), ("exp --shape 3,x", "--shape: found '3,x'; allowed"),
        ("exp --shape 0,4", "shape: found (0, 4); allowed are"), ("exp --set by", "--set: found 'by'; allowed"),
        ("exp --set by=1", "unknown option of kernel exp 'by'"), ("exp --adversarial 0", "seconds: found 0.0"),
        ("exp --adversarial nan", "seconds: found nan"), ("exp --evaluations 0", "evaluations: found 0"),
        ("exp --format bf16 --to npz -o d", "a .npz cannot say that its values are bf16"),
        ("exp --profile nope --evaluations 9", "unknown profile 'nope'"),
        ("exp -o full", "exists and is no empty folder"),
        ("exp --format i8", "exp: not defined for i8"), ("exp --to zip", "'zip' is not one of"),
        ("exp -o file", "file exists and is no empty folder"),
        ("exp -o file/x", "cannot write file/x: Not a directory"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_is_said(precdiff, words, says):
    Path("full").mkdir()
    Path("full/mine").touch()
    Path("file").touch()
    result = precdiff("gen", *words.split())
    assert result.exit_code == 2 and says in " ".join(result.stderr.split()), result.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["file", "full"]
