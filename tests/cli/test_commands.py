"""The smaller commands: eval, inspect, verify, list, doctor, demo, serve."""

import json
import re
import socket

import mpmath
import numpy as np
import pytest
import waitress

from precdiff.formats import FORMATS


def test_eval_shows_where_the_digits_went(precdiff, document):
    # 4097 is halfway between fp16's 4096 and 4100: the tie goes to 4096, and nothing of the 1 is left
    assert float(np.float16(4097)) == 4096
    made = document("eval", "(x + 1) - x", "x=4096")
    assert (made["schema"], made["code"]) == ("precdiff.eval/1", 1)
    steps = {step["id"]: step for step in made["steps"]}
    assert steps["sub"]["value"] == 0.0 and float(steps["sub"]["exact"]) == 1.0 and steps["sub"]["bits"] == "0x0000"
    assert steps["add"]["local"] == -0.25
    text = precdiff("eval", "(x + 1) - x", "x=4096").stderr
    assert "4097" in text and "0x6c00" in text and "Next: precdiff eval '(x + 1) - x' x=4096 --format fp32" in text


def test_eval_in_another_format_passes(precdiff):
    assert precdiff("eval", "(x + 1) - x", "x=4096", "--format", "fp32").exit_code == 0
    assert precdiff("eval", "(x + 1) - x", "x=4096", "--max-ulp", "2000").exit_code == 0


def test_numbers_of_the_expression_are_exact_in_the_reference(document):
    made = document("eval", "x * 0.1", "x=1", "--format", "fp32")
    constant = next(step for step in made["steps"] if step["op"] == "constant")
    assert float(constant["exact"]) == 0.1 and constant["value"] == float(np.float32(0.1))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("lgo(x)", "x=1"), "unknown function 'lgo' at column 1; did you mean 'log'?"),
        (("x * y", "x=1"), "y has no value. Its names are x, y: give x=1.5 y=1.5"),
        (("x", "x=1", "z=2"), "z does not occur in it"),
        (("x", "x=abc"), "x=abc: not a number"),
        (("x", "x"), "found 'x'; allowed is NAME=VALUE"),
        (("1 + 2",), "found no input"),
        (("x", "x=1", "--format", "fp17"), "unknown format 'fp17'"),
        (("__import__('os').system('x')", "x=1"), "found a call of"),
    ],
)
def test_eval_says_what_is_wrong(precdiff, words, message):
    result = precdiff("eval", *words)
    assert result.exit_code == 2 and message in result.stderr


def test_inspect_shows_tree_and_values(precdiff, document, dump):
    text = precdiff("inspect", dump).stderr
    assert text.startswith("run.h5: pow on ieee, seed 0") and re.search(
        r"^  exp +output +fp16 +256 ", text, re.MULTILINE
    )
    made = document("inspect", dump, "x")
    assert made["schema"] == "precdiff.inspect/1" and made["shown"] == 1
    first = made["values"][0]
    assert float(np.uint16(int(first["bits"], 16)).view(np.float16)) == pytest.approx(float(first["value"]), rel=1e-4)
    assert len(made["values"]) == 8 and made["values"][7]["index"] == "[7]"


def test_inspect_of_an_unknown_path_names_the_nearest(precdiff, dump):
    result = precdiff("inspect", dump, "epx")
    assert result.exit_code == 2 and "Did you mean 'exp'?" in result.stderr


def test_verify_finds_a_changed_byte_and_salvages_the_rest(precdiff, document, dump, folder):
    assert precdiff("verify", dump).exit_code == 0
    bits = np.uint16([int(row["bits"], 16) for row in document("inspect", dump, "x")["values"]])
    data = bytearray((folder / dump).read_bytes())
    place = data.find(bits.tobytes())
    assert place > 0
    data[place] ^= 1
    (folder / "bad.h5").write_bytes(data)
    found = document("verify", "bad.h5")
    assert found["code"] == 1 and any("x" in row["where"] for row in found["problems"])
    saved = document("verify", "bad.h5", "--salvage")
    assert saved["code"] == 1 and saved["salvaged"] == "bad.salvaged.h5" and saved["tensors"] > 0
    assert precdiff("inspect", "bad.salvaged.h5").exit_code == 0


@pytest.mark.parametrize("name", ["gone.h5", "."])
def test_what_is_no_dump_is_said(precdiff, name):
    for command in ("inspect", "verify"):
        result = precdiff(command, name)
        assert result.exit_code == 2 and "Traceback" not in result.stderr


@pytest.mark.parametrize("kind", "kernels profiles formats standards causes readers ops generators".split())
def test_list_has_a_line_for_each(precdiff, document, kind):
    made = document("list", kind)
    assert made["kind"] == kind and made["entries"] and all(row["line"] for row in made["entries"])
    assert all(row["name"] in precdiff("list", kind).stderr for row in made["entries"])


def test_list_without_a_kind_names_the_kinds(document):
    assert {"kernels", "formats"} <= {row["name"] for row in document("list")["entries"]}
    assert {row["name"] for row in document("list", "formats")["entries"]} == set(FORMATS)


def test_list_names_the_nearest_kind(precdiff):
    result = precdiff("list", "kernal")
    assert result.exit_code == 2 and "Did you mean 'kernels'?" in result.stderr


def test_doctor_checks_this_host(document):
    made = document("doctor")
    assert made["code"] == 0 and len(made["checks"]) == 6 and all(check["ok"] for check in made["checks"])
    assert made["versions"]["numpy"] == np.__version__


def test_doctor_fails_where_a_check_does(precdiff, monkeypatch):
    def broken():
        """the moon is up"""
        return False

    monkeypatch.setattr("precdiff.cli.doctor.CHECKS", (broken,))
    result = precdiff("doctor")
    assert result.exit_code == 2 and "FAILED" in result.stderr and "the moon is up" in result.stderr


def test_the_demo_proves_the_cause_and_measures_the_remedy(document):
    """Floors and ratios by the theory of rounding: u16 = 2^-11, u32 = 2^-24, and u16 / u32 = 8192."""
    made = document("demo")
    assert made["code"] == 0 and made["report"]["verdict"] == "fail"
    finding = made["report"]["findings"][0]
    assert finding["standing"] == "verified" and set(finding["born_at"]) == {"log", "mul"}
    rows = {row["variant"]: row for row in made["variants"]}
    # relative error of one rounding is at most u / (1 + u)
    assert 0.9 * 2**-11 < rows["floor"]["max_rel"] <= 2**-11 and rows["floor"]["max_ulp"] <= 0.5
    assert rows["v2"]["max_rel"] <= 1.02 * 2**-11 and rows["v2"]["output"] == "fp16"
    # ln and the product each err by u, and y ln x reaches 4 ln 10 = 9.2 (fp16 ulp half as wide below 8)
    assert 4 * 2**-11 < rows["v1"]["max_rel"] < 2 * 9.3 * 2**-11
    assert rows["v4"]["output"] == "fp32" and rows["v4"]["max_rel"] < 2 * 9.3 * 2**-24
    assert 2000 < rows["v4"]["gain_max_rel"] < 30000 and rows["v2"]["gain_max_rel"] < 20


def test_the_demo_names_metric_format_and_range(precdiff):
    text = " ".join(precdiff("demo").stderr.split())
    for words in (
        "max rel error",
        "fp16 -> fp32 intermediates, fp16 output",
        "fp32 output",
        "x in 0.1 ... 10, y in -4 ... 4",
    ):
        assert words in text
    assert "A gain of 5700x" in text and "can only be fp16 -> fp32 intermediates with fp32 output" in text


def test_serve_listens_and_asks_for_its_token(precdiff, monkeypatch):
    served = []
    monkeypatch.setattr(
        waitress, "serve", lambda app, sockets, **more: served.append((app, sockets[0].getsockname()[1]))
    )
    result = precdiff("serve", ".", "--port", "0")
    ((app, port),) = served
    assert result.exit_code == 0 and f"http://127.0.0.1:{port}/?token=" in result.stderr
    assert app.test_client().get("/").status_code == 401
    assert app.test_client().get(f"/?token={app.config['TOKEN']}").status_code == 303


def test_serve_says_why_it_cannot(precdiff, monkeypatch):
    assert "no folder 'gone'" in precdiff("serve", "gone").stderr
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = precdiff("serve", "--port", str(taken.getsockname()[1]))
    assert result.exit_code == 2 and "cannot listen on 127.0.0.1" in result.stderr


ROWS = [
    {"id": "a", "fpcore": "(- (+ x 1) x)", "vars": ["x"], "fmt": "fp16", "mode": "mid", "point": {"x": "0x1p12"}},
    {"id": "b", "fpcore": "(gamma x)", "vars": ["x"], "fmt": "fp16", "point": {"x": "0x1p0"}},
    {"id": "c", "fpcore": "(+ x 1)", "vars": ["x"], "fmt": "bf16", "point": {"x": "0x1p0"}},
    {"id": "d", "fpcore": "(+ x 1)", "vars": ["x"], "fmt": "bf16", "point": {}},
]


def test_a_batch_is_answered_row_by_row(precdiff, folder):
    lines = [*map(json.dumps, ROWS), "", "nonsense"]
    (folder / "rows.jsonl").write_text("\n".join(lines))
    result = precdiff("eval", "--batch", "rows.jsonl")
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert [row["id"] for row in answers] == ["a", "b", "c", "d", 6]
    (finding,) = answers[0]["findings"]
    # 4096 + 1 is 4096 in fp16: the difference is 0 instead of 1, and exact once its operand is
    assert (answers[0]["got"], answers[0]["reference"]) == ("0x0.0p+0", "0x1.0000000000000p+0")
    assert (finding["cause"], finding["op"], finding["paths"], finding["error_bits_after"]) == (
        "cancellation",
        "sub",
        [[]],
        0,
    )
    assert "unknown operation 'gamma'" in answers[1]["error"]
    assert answers[2]["findings"] == [] and answers[2]["error_bits"] == 0
    assert "x has no value" in answers[3]["error"] and "no JSON" in answers[4]["error"]


def test_a_batch_with_other_limits(precdiff, folder):
    (folder / "rows.jsonl").write_text(json.dumps(ROWS[0]))
    made = precdiff("eval", "--batch", "rows.jsonl", "--fault-bits", "fp16=15")
    assert json.loads(made.stdout)["findings"] == []
    for words, message in [
        (["--batch", "rows.jsonl", "x+1"], "allowed is one of the two"), (["--batch", "no"], "cannot read no"),
        (["--batch", "rows.jsonl", "--fault-bits", "fp16"], "allowed is FORMAT=BITS"), ([], "give an EXPRESSION"),
    ]:  # fmt: skip
        refused = precdiff("eval", *words)
        assert refused.exit_code == 2 and message in refused.stderr


def test_an_fpcore_file_is_evaluated(document, folder):
    (folder / "root.fpcore").write_text(
        "(FPCore (a)\n (while (> (fabs (- (* x x) a)) 1e-2)\n  ([x a (* 1/2 (+ x (/ a x)))])\n  x))"
    )
    made = document("eval", "root.fpcore", "a=2")
    assert made["code"] == 0 and made["steps"][-1]["op"] == "decide"
    assert made["report"]["tensors"][-1]["source"].startswith("root.fpcore:")


def test_eval_shows_what_is_too_large_for_fp64(document):
    steps = {row["id"]: row for row in document("eval", "x**9**9", "x=9", "--format", "fp32")["steps"]}
    with mpmath.workdps(40):
        assert steps["power#2"]["exact"] == mpmath.nstr(mpmath.mpf(9) ** 9**9, 20)
    assert steps["power#2"]["value"] == "inf"


LOOP = "(FPCore (n) (while (< n 60) ((n n (+ n 1))) n))"


def test_eval_ends_loops(precdiff, folder):
    (folder / "loop.fpcore").write_text(LOOP)
    row = {"id": "loop", "fpcore": LOOP, "vars": ["n"], "fmt": "fp32", "mode": "RNE", "point": {"n": "0x1p0"}}
    (folder / "rows.jsonl").write_text(json.dumps(row))
    assert precdiff("eval", "loop.fpcore", "n=1", "--max-iterations", "59").exit_code == 0
    refused = precdiff("eval", "loop.fpcore", "n=1", "--max-iterations", "58")
    assert (refused.exit_code, "after 58 iterations" in refused.stderr) == (2, True)
    answered = json.loads(precdiff("eval", "--batch", "rows.jsonl", "--max-iterations", "59").stdout)
    assert answered["got"] == "0x1.e000000000000p+5"
    assert "after 58" in json.loads(precdiff("eval", "--batch", "rows.jsonl", "--max-iterations", "58").stdout)["error"]
