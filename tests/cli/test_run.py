"""`run`: what it writes and says, and what it says where the words are wrong."""

import numpy as np
import pytest

from precdiff import api

SOFTMAX = ("run", "softmax", "--input", "x=normal(0,2,shape=(8,64))")


def test_it_writes_a_dump_and_names_the_next_command(precdiff, folder):
    result = precdiff(*SOFTMAX, "-o", "run.h5")
    assert result.exit_code == 0 and result.stdout == ""
    assert "softmax on ieee, seed 0: " in result.stderr and "written run.h5" in result.stderr
    assert result.stderr.rstrip().endswith("Next: precdiff explain run.h5")
    with api.open_dump("run.h5") as dump:
        assert dump.complete and dump.attrs.kernel == "softmax"


def test_the_document_holds_what_numpy_finds(document):
    made = document(*SOFTMAX, "-o", "run.h5")
    assert made["schema"] == "precdiff.run/1" and made["code"] == 0
    with api.open_dump("run.h5") as dump:
        (output,) = made["outputs"]
        values = np.asarray(dump.native(output["id"]), np.float64)
    assert (output["format"], output["shape"]) == ("fp16", [8, 64])
    assert (output["min"], output["max"]) == (values.min(), values.max())


def test_a_seed_repeats_and_another_differs(document):
    one, again = document(*SOFTMAX)["outputs"], document(*SOFTMAX)["outputs"]
    assert one == again and document(*SOFTMAX, "--seed", "1")["outputs"] != one


def test_format_profile_options_and_fields(document):
    made = document(
        "run", "matmul", "--input", "a=normal(0,1,shape=(4,8))", "--input", "b=normal(0,1,shape=(8,4))",
        "--format", "bf16", "--profile", "ascend-910b", "--set", "out=fp32", "--profile-set", "matmul_product=rounded",
    )  # fmt: skip
    assert [row["format"] for row in made["inputs"]] == ["bf16", "bf16"] and made["outputs"][0]["format"] == "fp32"
    assert made["profile"] == "ascend-910b+matmul_product=rounded" and made["options"]["out"] == "fp32"


def test_raw_files_and_kernels_in_files(document, folder):
    values = np.float32([1.5, -2.0, 0.0])
    values.tofile("x.bin")
    (folder / "mine.py").write_text("def twice(x):\n    return x + x\n")
    made = document("run", "mine.py:twice", "--input", "x=x.bin:fp32:3")
    assert made["kernel"] == "mine.py:twice"
    assert (made["outputs"][0]["min"], made["outputs"][0]["max"]) == (-4.0, 3.0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("softmx",), "unknown kernel 'softmx'. Did you mean 'softmax'? Known: "),
        (("softmax",), "input 'x' was not given. It takes x; found none. For example: --input 'x=normal"),
        (("softmax", "--input", "x=1", "--input", "z=1"), "'z' is not an input. It takes x"),
        (("softmax", "--input", "x=gone.npy"), "input x: gone.npy: there is no file of that name"),
        (("softmax", "--input", "x"), "found 'x'; allowed is NAME=VALUE"),
        (("softmax", "--input", "x=1", "--input", "x=2"), "x is given twice"),
        (("softmax", "--input", "x=unifrom(0,1,shape=(3,))"), "unknown generator 'unifrom' at column 1; did you mean"),
        (("softmax", "--input", "x=1", "--profile", "ascend910b"), "unknown profile 'ascend910b'. Did you mean"),
        (("softmax", "--input", "x=1", "--format", "fp17"), "unknown format 'fp17'. Did you mean 'fp16'?"),
        (("softmax", "--input", "x=1", "--set", "axis=0"), "unknown option of kernel softmax 'axis'"),
        (("pow", "--input", "x=1", "--input", "y=1", "--set", "variant=v9"), "Known: v1, v2"),
        (("softmax", "--input", "x=1", "--profile-set", "overfow=ieee"), "unknown profile field 'overfow'. Did you"),
        (("softmax", "--input", "x=1", "--profile-set", "overflow=wrap"), "found 'wrap'; allowed: ieee, saturate"),
        (("softmax", "--input", "x=normal(0,1,shape=(2,3))", "-o", "no/such/x.h5"), "cannot write no/such/x.h5"),
        (("gone.py:f",), "there is no file 'gone.py'"),
        (("softmax", "--seed", "-1"), "Invalid value for '--seed'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(precdiff, words, message):
    result = precdiff("run", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr and "Traceback" not in result.stderr


def test_shapes_that_do_not_fit_name_the_line_and_both_shapes(precdiff):
    words = [f"--input={n}=normal(0,1,shape={s})" for n, s in (("x", "(4,8)"), ("gamma", "(7,)"), ("beta", "(8,)"))]
    result = precdiff("run", "layernorm", *words)
    assert result.exit_code == 2 and "(4, 8)" in result.stderr and "(7,)" in result.stderr
    assert "layernorm.py:" in result.stderr


def test_a_wrong_size_states_both(precdiff, folder):
    (folder / "x.bin").write_bytes(b"123")
    assert (
        "expected 8 bytes (4 fp16 of 2 bytes), found 3"
        in precdiff("run", "softmax", "--input", "x=x.bin:fp16:4").stderr
    )
