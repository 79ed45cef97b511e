"""The pages as a reviewer meets them: what is listed, what a run says, and what happens when something is missing."""

import json
import os
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from precdiff.errors import FileError
from precdiff.report import Report
from precdiff.web import create_app, library, start_url
from tests.report.example import report as example

TOKEN = "a-token-of-the-tests"


class Page(HTMLParser):
    """What a page holds: its text, tables by caption, links, and anything that could run or load."""

    def __init__(self, html):
        super().__init__()
        self.text, self.links, self.tags, self.tables = [], [], [], {}
        self._rows, self._caption, self._cell, self._in_caption = [], "", None, False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "a":
            self.links.append(dict(attrs)["href"])
        if tag == "table":
            self._rows, self._caption = [], ""
        self._in_caption = self._in_caption or tag == "caption"
        if tag == "tr":
            self._rows.append([])
        if tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag):
        if tag == "caption":
            self._in_caption = False
        if tag in ("td", "th"):
            self._rows[-1].append(" ".join("".join(self._cell).split()))
            self._cell = None
        if tag == "table":
            self.tables[self._caption.strip()] = self._rows

    def handle_data(self, data):
        self.text.append(data)
        if self._in_caption:
            self._caption += data
        if self._cell is not None:
            self._cell.append(data)

    def __contains__(self, words):
        return words in " ".join(" ".join(self.text).split())

    def table(self, start):
        return next(rows for caption, rows in self.tables.items() if caption.startswith(start))


@pytest.fixture
def root(tmp_path):
    (tmp_path / "pow.json").write_text(json.dumps(example().to_json()))
    return tmp_path


def client_of(root, **config):
    client = create_app(root, {"TOKEN": TOKEN, **config}).test_client()
    assert client.get(f"/?token={TOKEN}").status_code == 303
    return client


@pytest.fixture
def client(root):
    return client_of(root)


def run_of(client, name="pow.json"):
    runs = client.get("/index.json").get_json()["runs"]
    return next(row["id"] for row in runs if row["name"] == name)


def test_the_index_lists_what_can_be_shown(root):
    (root / "notes.json").write_text('{"schema": "something else"}')
    (root / "sub").mkdir()
    (root / "sub" / "passing.json").write_text(json.dumps(Report.of(example().tensors[:1]).to_json()))
    (root / ".precdiff").mkdir()
    (root / ".precdiff" / "cached.json").write_text(json.dumps(example().to_json()))
    page = Page(client_of(root).get("/").text)
    table = page.table("Reports and dumps under")

    assert sorted((row[0], row[2]) for row in table[1:]) == [("pow.json", "FAIL"), ("sub/passing.json", "PASS")]
    assert "error_amplification" in page


def test_an_empty_folder_says_what_to_run(tmp_path):
    page = Page(client_of(tmp_path).get("/").text)

    assert "neither a report nor a dump" in page
    assert "precdiff explain run.h5" in page


def test_a_run_says_verdict_divergence_findings_and_worst(client):
    page = Page(client.get(f"/runs/{run_of(client)}").text)

    assert "FAIL: 1 of 4 tensors; out (fp16 8x64): worst 6.586 ULP" in page
    assert "First divergence: log (kernels/pow.py:12)" in page
    assert "Finding 1: error_amplification (verified) at exp (kernels/pow.py:13)" in page
    assert "keep log(x) and y * log(x) in fp32" in page
    assert "cancellation: its change leaves" in page
    assert page.table("Worst elements of out")[1][0] == "(7, 61)"
    assert len(page.table("ULP errors of out")) == 1 + len(example().tensors[-1].ulp_histogram)
    assert [row[0] for row in page.table("Errors of every tensor")[1:]] == ["log", "mul", "exp", "out"]


def test_the_proof_is_a_picture_with_its_numbers_as_text(client):
    html = client.get(f"/runs/{run_of(client)}").text
    bars = html[html.index('<svg class="bars"') : html.index("</svg>", html.index('<svg class="bars"'))]

    assert [word for word in ("before", "after", "limit", "floor") if f'class="{word}"' in bars] == [
        "before",
        "after",
        "limit",
        "floor",
    ]
    assert ">1.329<" in bars and 'role="img"' in bars


def test_every_page_has_a_json_twin(client):
    id = run_of(client)

    assert Report.from_json(client.get(f"/runs/{id}.json").get_json()).to_json() == example().to_json()
    assert client.get(f"/runs/{id}/tensors/3.json").get_json() == example().to_json()["tensors"][3]
    assert client.get("/-/versions").get_json()["report"] == "precdiff.report/1"
    for address in ("/", f"/runs/{id}", f"/runs/{id}/tensors/3"):
        twin = next(link for link in Page(client.get(address).text).links if link.endswith(".json"))
        assert client.get(twin).status_code == 200


def test_every_link_leads_somewhere(client):
    seen, todo = set(), ["/"]
    while todo:
        address = todo.pop()
        seen.add(address)
        response = client.get(address)
        assert response.status_code == 200, address
        if response.mimetype == "text/html":
            links = {link.partition("#")[0] for link in Page(response.text).links} - {""}
            todo += [link for link in links if link not in seen and link not in todo]

    assert len(seen) > 10


def test_tensors_can_be_ordered_by_a_figure(client):
    page = Page(client.get(f"/runs/{run_of(client)}?sort=max_ulp").text)
    names = [row[0] for row in page.table("Errors of every tensor")[1:]]

    assert names[0] == "out"
    link = next(link for link in page.links if link.endswith("/tensors/3"))
    assert "out (fp16 8x64)" in Page(client.get(link).text)


def test_of_many_tensors_those_with_something_to_say_come_first(root):
    many = [replace(example().tensors[0], id=f"s{i}", name=f"s{i}") for i in range(50)]
    (root / "many.json").write_text(json.dumps(replace(example(), tensors=[*many, *example().tensors]).to_json()))
    client = client_of(root)
    page = Page(client.get(f"/runs/{run_of(client, 'many.json')}").text)

    assert [row[0] for row in page.table("Tensors with something to say")[1:]] == ["log", "mul", "exp", "out"]
    assert len(page.table("Errors of every tensor")) == 1 + 54
    assert "All 54 tensors" in page


def test_a_tensor_page_shows_every_figure_and_its_neighbours(client):
    page = Page(client.get(f"/runs/{run_of(client)}/tensors/1").text)

    assert "error of the step <= its op's bound (0.5 ULP of fp16)" in page
    assert "previous: log" in page and "next: exp" in page
    assert example().tensors[1].sha256 in page


def test_a_dump_is_judged_when_it_is_opened_and_again_when_it_changes(root, monkeypatch):
    asked = []
    monkeypatch.setattr(library, "_explain", lambda entry: asked.append(entry.name) or example())
    dump = root / "run.h5"
    dump.write_bytes(b"\x89HDF\r\n\x1a\n")
    client = client_of(root)
    id = run_of(client, "run.h5")

    assert "not judged yet" in Page(client.get("/").text)
    assert "out (fp16 8x64)" in Page(client.get(f"/runs/{id}").text)
    assert "not judged yet" not in Page(client.get("/").text)
    client.get(f"/runs/{id}.json")
    assert asked == ["run.h5"]

    os.utime(dump, (1, 1))
    client.get(f"/runs/{id}")
    assert asked == ["run.h5", "run.h5"]


def test_a_report_beside_a_dump_saves_judging_it(root, monkeypatch):
    monkeypatch.setattr(library, "_explain", lambda entry: pytest.fail("judged again"))
    (root / "pow.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    os.utime(root / "pow.h5", (1, 1))
    client = client_of(root)

    assert "out (fp16 8x64)" in Page(client.get(f"/runs/{run_of(client, 'pow.h5')}").text)


@pytest.mark.parametrize("actual", ["other.h5", "pow.npy", "elsewhere/pow.h5", "run of pow"])
def test_a_report_of_something_else_is_not_the_dumps(root, monkeypatch, actual):
    monkeypatch.setattr(library, "_explain", lambda entry: Report.of(example().tensors[:1]))
    (root / "pow.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    (root / "pow.json").write_text(json.dumps(replace(example(), actual=actual).to_json()))
    os.utime(root / "pow.h5", (1, 1))
    client = client_of(root)

    assert "PASS" in Page(client.get(f"/runs/{run_of(client, 'pow.h5')}").text)


def broken(**change):
    """The example's document with fields of its last tensor changed."""
    document = example().to_json()
    document["tensors"][-1] |= change
    return json.dumps(document).encode()


MALFORMED = {
    "no object": b'["precdiff.report/1"]',
    "cut off": broken()[:-20],
    "no text": b'{"schema": "precdiff.report/1", "x": "\xff"}',
    "deep": b'{"schema": "precdiff.report/1", "x": ' + b"[" * 100_000,
    "deep evidence": broken().replace(b'"condition number": 8.9', b'"a": ' + b"[" * 800 + b"]" * 800),
    "a histogram row": broken(ulp_histogram=[[1.0]]),
    "a huge number": broken(max_ulp=10**400),
    "a huge count": broken(ulp_histogram=[[1.0, 10**400]]),
    "a format": broken(format="fp17"),
    "half a character": broken(name="\ud800"),
    "a shape": broken(shape=[None]),
    "a list for a path": json.dumps({**example().to_json(), "provenance": {"decided_otherwise": 3}}).encode(),
}


@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
def test_the_index_survives_any_file(root, content):
    (root / "broken.json").write_bytes(content)
    client = client_of(root)
    page = client.get("/")

    assert page.status_code == 200
    verdicts = {row[0]: row[2] for row in Page(page.text).table("Reports and dumps under")[1:]}
    assert verdicts == {"pow.json": "FAIL", "broken.json": "unreadable"}
    id = run_of(client, "broken.json")
    for address in (f"/runs/{id}", f"/runs/{id}.json", f"/runs/{id}/tensors/0"):
        assert client.get(address).status_code == 422


@pytest.mark.parametrize("address", ["/runs/nothing", "/runs/nothing.json", "/nowhere", "/runs/x/tensors/0"])
def test_wrong_addresses_say_so(client, address):
    response = client.get(address)

    assert response.status_code == 404
    assert "traceback" not in response.text.lower()
    assert (response.mimetype == "application/json") == address.endswith(".json")


def test_a_tensor_that_is_not_there_is_named(client):
    response = client.get(f"/runs/{run_of(client)}/tensors/9")

    assert response.status_code == 404 and "this run has 4 tensors; there is no number 9" in Page(response.text)


def test_a_broken_report_says_what_is_wrong_and_spoils_nothing_else(root):
    (root / "broken.json").write_text('{"schema": "precdiff.report/1", "verdict": "maybe"}')
    client = client_of(root)
    response = client.get(f"/runs/{run_of(client, 'broken.json')}")

    assert response.status_code == 422
    assert "found 'maybe', allowed is one of pass" in Page(response.text)
    assert "FAIL: 1 of 4 tensors" in Page(client.get("/").text)


def test_what_a_file_says_is_text_never_markup(root):
    evil = "<script>alert(1)</script>"
    found = replace(example(), actual=evil, findings=(replace(example().findings[0], cause=evil, remedy=evil),))
    (root / "evil.json").write_text(json.dumps(found.to_json()))
    client = client_of(root)
    for address in ("/", f"/runs/{run_of(client, 'evil.json')}"):
        html = client.get(address).text
        assert "<script" not in html
        assert "&lt;script&gt;" in html


def test_pages_need_neither_script_nor_any_other_origin(client):
    for address in ("/", f"/runs/{run_of(client)}", f"/runs/{run_of(client)}/tensors/0", "/nowhere"):
        page = Page(client.get(address).text)
        assert not [tag for tag, _ in page.tags if tag in ("script", "iframe", "object", "embed", "style")]
        assert not [attrs for _, attrs in page.tags if "style" in attrs or any(name.startswith("on") for name in attrs)]
        assert all(link.startswith(("/", "#")) for link in page.links)


def test_pages_are_structured_for_those_who_hear_them(client):
    for address in ("/", f"/runs/{run_of(client)}", f"/runs/{run_of(client)}/tensors/0"):
        page = Page(client.get(address).text)
        tags = [tag for tag, _ in page.tags]
        assert (tags.count("h1"), tags.count("main")) == (1, 1)
        assert tags.count("caption") == tags.count("table")
        assert all("scope" in attrs for tag, attrs in page.tags if tag == "th")
        assert all(attrs.get("aria-label") for tag, attrs in page.tags if tag == "svg")
        ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
        assert len(ids) == len(set(ids))


def test_the_start_url():
    assert start_url(create_app(".", {"TOKEN": "t"}), "127.0.0.1", 8123) == "http://127.0.0.1:8123/?token=t"


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileError, match="there is no folder"):
        create_app(tmp_path / "nowhere")


def test_a_dump_that_is_none_says_so(root):
    (root / "torn.h5").write_bytes(b"no HDF5")
    client = client_of(root)
    response = client.get(f"/runs/{run_of(client, 'torn.h5')}")

    assert response.status_code == 422
    assert "torn.h5" in Page(response.text)


def test_a_real_run_is_shown_from_its_dump(root):
    import numpy as np

    from precdiff import run

    run("softmax", format="fp16", inputs={"x": np.float16([[1, 2, 3], [0, -1, 4]])}, dump=root / "softmax.h5")
    client = client_of(root)
    id = run_of(client, "softmax.h5")
    page = Page(client.get(f"/runs/{id}").text)
    report = Report.from_json(client.get(f"/runs/{id}.json").get_json())

    assert [row[0] for row in page.table("Errors of every tensor")[1:]] == [row.name for row in report.tensors]
    assert f"{report.tensors[-1].max_ulp:.4g} ULP" in page
