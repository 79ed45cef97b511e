"""JSON, terminal, assertion and page, each parsed on its own, show the same numbers for the same run."""

import json
import re

import numpy as np
import pytest

import precdiff
from precdiff.report import assertion, render
from precdiff.web import create_app
from tests.report.example import inputs
from tests.report.example import report as example
from tests.web.test_pages import Page

SIGNIFICANT = ".4g"


def shown(x):
    """A number as everything that shows it must round it: four significant digits, a dash for what is not known."""
    return "-" if x in (None, "nan") else format(float(x), SIGNIFICANT)


def explained():
    """A real run of the same kernel, defective variant."""
    x, y = (array.astype(np.float16) for array in inputs())
    return precdiff.explain(precdiff.run("pow", format="fp16", inputs={"x": x, "y": y}, variant="v1"))


@pytest.fixture(scope="module", params=[example, explained], ids=["made by hand", "a real run"])
def report(request):
    return request.param()


@pytest.fixture(scope="module")
def document(report):
    return json.loads(json.dumps(report.to_json(), allow_nan=False))


@pytest.fixture(scope="module")
def text(report):
    return render(report, width=200, verbose=True)


@pytest.fixture(scope="module")
def page(report, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    (folder / "pow.json").write_text(json.dumps(report.to_json()))
    client = create_app(folder, {"TOKEN": "t"}).test_client()
    client.get("/?token=t")
    id = client.get("/index.json").get_json()["runs"][0]["id"]
    return Page(client.get(f"/runs/{id}").text)


def output(document):
    return next(row for row in document["tensors"] if row["role"] == "output")


HEADLINE = re.compile(r"worst (\S+) ULP, abs (\S+), rel (\S+); error <= (\S+) ULP")


def test_the_headline(report, document, text, page):
    row = output(document)
    wanted = tuple(shown(row[key]) for key in ("max_ulp", "max_abs", "max_rel"))
    sources = {"terminal": text, "assertion": assertion(report), "page": " ".join("".join(page.text).split())}

    assert {name: HEADLINE.search(source).groups()[:3] for name, source in sources.items()} == dict.fromkeys(
        sources, wanted
    )


def test_every_tensor(report, document, text, page):
    def of_json(row):
        errors = row["errors"]
        local, inherited = (errors[kind] for kind in ("local", "inherited"))
        figures = [row["max_ulp"], row["p99_ulp"], local, inherited, row["unavoidable_ratio"]]
        words = [row["name"], row["verdict"], str(row["over_limit"])]
        return [*words, *map(shown, figures)]

    def of_table(head, cells):
        row = dict(zip(head, cells, strict=True))
        titles = ["tensor", "verdict", "over limit", "max ULP", "p99 ULP", "local", "inherited", "error / unavoidable"]
        return [row[title] for title in titles]

    wanted = [of_json(row) for row in document["tensors"]]
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("tensor "))
    head, *cells = (re.split(r"\s{2,}", line.strip()) for line in lines[start : start + 1 + len(wanted)])
    table = page.table("Errors of every tensor")

    assert [of_table(head, row) for row in cells] == wanted
    assert [of_table(table[0], row) for row in table[1:]] == wanted


def test_the_worst_elements(report, document, text, page):
    row = output(document)
    wanted = [(tuple(worst["index"]), shown(worst["ulp"]), worst["actual_bits"]) for worst in row["worst"]]
    pattern = re.compile(r"^ +(\(\d+, \d+\)) +\S+ +\S+ +(\S+) +(0x\w+)$", re.MULTILINE)

    def parsed(found):
        return [(tuple(map(int, re.findall(r"\d+", index))), ulp, bits) for index, ulp, bits in found]

    of_text = parsed(pattern.findall(text[text.index("out (fp16 8x64)\n") :]))
    of_assertion = parsed(pattern.findall(assertion(report)))
    of_page = parsed((cells[0], cells[3], cells[4]) for cells in page.table("Worst elements of out")[1:])

    assert of_text == of_page == wanted
    assert of_assertion == wanted[:5]


def test_the_values_of_the_worst_elements(report, document, text, page):
    worst = output(document)["worst"][0]
    cells = page.table("Worst elements of out")[1]

    assert float(cells[1]) == pytest.approx(worst["actual"], rel=1e-4)
    assert float(cells[2]) == pytest.approx(worst["expected"], rel=1e-7)
    for source in (text, assertion(report)):
        assert f"{cells[1]}  {cells[2]}".replace(" ", "") in source.replace(" ", "")


def test_the_distribution(report, document, text, page):
    counts = {}
    for edge, count in output(document)["ulp_histogram"]:
        name = next(name for name, top in (("1/2", 0.5), ("1", 1), ("2", 2), ("4", 4), ("8", 8)) if edge <= top)
        counts[name] = counts.get(name, 0) + count

    def parsed(source):
        return {name: int(count) for name, count in re.findall(r"(exact|[\d/-]+): (\d+)", source)}

    lines = [line for line in text.splitlines() if line.strip().startswith("ULP  ")]
    table = page.table("ULP errors of out")

    assert parsed(lines[-1]) == counts
    assert parsed(next(line for line in assertion(report).splitlines() if line.startswith("  ULP"))) == counts
    words = " ".join("".join(page.text).split())
    assert parsed(words[words.index("ULP <= 1/2") : words.index("would pass")]) == counts
    assert [[cells[0], int(cells[1])] for cells in table[1:]] == [
        [shown(edge), count] for edge, count in output(document)["ulp_histogram"]
    ]


def test_the_proof(report, document, text, page):
    proof = document["findings"][0]["counterfactual"]
    wanted = tuple(shown(proof[key]) for key in ("error_before", "error_after", "factor", "floor"))
    pattern = re.compile(r"(\S+) -> (\S+) RMS ULP \(factor (\S+); limit \S+, floor (\S+)\)")
    words = " ".join("".join(page.text).split())

    assert pattern.search(text).groups() == wanted
    assert pattern.search(words).groups() == wanted
    assert f"{wanted[0]} -> {wanted[1]} RMS ULP" in assertion(report)


def test_the_limit_that_would_pass(report, document, page):
    needed = output(document)["extra"]["needed_limit"]
    pattern = re.compile(r"at a limit of (\S+) ULP")
    stated = {float(pattern.search(source)[1]) for source in (assertion(report), " ".join("".join(page.text).split()))}

    assert len(stated) == 1
    assert needed <= stated.pop() <= needed * 1.001
