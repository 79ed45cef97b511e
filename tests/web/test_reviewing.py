"""Decisions taken on the pages: kept where `compare` reads them, bound to values, and refused from anywhere else."""

import html
import re
import threading

import pytest

from precdiff import api
from precdiff.dump.decisions import Decisions
from precdiff.web import create_app

TOKEN = "a-token-of-the-tests"


@pytest.fixture
def root(tmp_path):
    inputs = {"x": np_uniform(0), "y": np_uniform(1)}
    api.run("pow", inputs=inputs, dump=tmp_path / "run.h5")
    return tmp_path


def np_uniform(seed):
    import numpy as np

    low, high = ((0.1, 10), (-4, 4))[seed]
    return np.random.default_rng(seed).uniform(low, high, 256).astype(np.float16)


@pytest.fixture
def client(root):
    made = create_app(root, {"TOKEN": TOKEN}).test_client()
    made.get(f"/?token={TOKEN}")
    return made


@pytest.fixture
def page(client):
    """The address of the failing output's page."""
    (row,) = client.get("/index.json").json["runs"]
    tensors = client.get(f"/runs/{row['id']}.json").json["tensors"]
    number = next(n for n, tensor in enumerate(tensors) if tensor["verdict"] == "fail")
    return f"/runs/{row['id']}/tensors/{number}"


def fields(client, page):
    hidden = re.findall(r'name="(form_token|seen)" value="([^"]*)"', client.get(page).text)
    return dict(hidden)


def decide(client, page, **given):
    form = {**fields(client, page), "verdict": "accept", "author": "Ana", **given}
    return client.post(f"{page}/decisions", data=form)


def test_what_is_decided_counts_in_compare(client, page, root):
    assert "Nobody has decided on this tensor" in client.get(page).text
    response = decide(client, page, reason="exp table", max_ulp="12", expires="2999-12-31")
    assert (response.status_code, response.headers["Location"]) == (303, f"{page}#decision")
    (kept,) = Decisions(root).standing("tensor")
    assert (kept.run, kept.verdict, kept.author, kept.max_ulp, kept.expires) == (
        "run.h5", "accept", "Ana", 12.0, "2999-12-31",
    )  # fmt: skip
    shown = re.sub(r"<[^>]+>|\s+", " ", html.unescape(client.get(page).text))
    assert re.search(r"accept\s+up to 12 ULP by Ana, .* UTC, until 2999-12-31: exp table", shown)
    document = client.get(f"{page}/decisions.json").json
    assert (document["schema"], document["name"]) == ("precdiff.decisions/1", kept.name)
    assert document["decisions"][0]["reason"] == "exp table"


def test_undo_and_history(client, page, root):
    decide(client, page, verdict="reject", reason="too far")
    decide(client, page, verdict="undo")
    assert Decisions(root).standing("tensor") == []
    text = client.get(page).text
    assert "Nobody has decided" in text and "All 2 decisions" in text and "too far" in text


def test_it_holds_until_the_values_change(client, page, root):
    decide(client, page)
    assert "does not hold any more" not in client.get(page).text
    inputs = {"x": np_uniform(0) + 1, "y": np_uniform(1)}
    (root / "run.h5").unlink()
    api.run("pow", inputs=inputs, dump=root / "run.h5")
    assert "It does not hold any more" in client.get(page).text


def test_who_was_faster_is_said_and_nothing_is_lost(client, page, root):
    seen = fields(client, page)["seen"]
    decide(client, page, author="Li")
    response = decide(client, page, author="Ana", verdict="reject", seen=seen)
    assert response.status_code == 409 and "Li decided" in html.unescape(response.text)
    assert [row.author for row in Decisions(root).history()] == ["Li"]


def test_forty_at_once_are_all_kept_or_told(client, page, root):
    form = {**fields(client, page), "verdict": "accept"}
    del form["seen"]
    app = client.application
    cookie = client._cookies  # the browser's

    def post(number):
        other = app.test_client()
        other._cookies = cookie
        codes.append(other.post(f"{page}/decisions", data={**form, "author": f"r{number}"}).status_code)

    codes = []
    threads = [threading.Thread(target=post, args=(n,)) for n in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [303] * 40
    assert sorted(row.author for row in Decisions(root).history()) == sorted(f"r{n}" for n in range(40))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"author": " "}, "a decision names its author"), ({"verdict": "maybe"}, "verdict: found 'maybe'; allowed is"),
        ({"max_ulp": "many"}, "limit: found 'many'"), ({"max_ulp": "-1"}, "max_ulp: found -1.0"),
        ({"expires": "soon"}, "expires: found 'soon'"), ({"verdict": "undo"}, "nothing is decided"),
    ],
)  # fmt: skip
def test_what_is_no_decision_is_said(client, page, root, given, says):
    response = decide(client, page, **given)
    assert response.status_code == 422 and says in html.unescape(response.text)
    assert Decisions(root).history() == []


@pytest.mark.parametrize(
    ("headers", "given"),
    [
        ({"Origin": "http://evil.example"}, {}), ({"Sec-Fetch-Site": "cross-site"}, {}), ({}, {"form_token": "wrong"}),
        ({}, {"form_token": ""}), ({"Origin": "null"}, {}),
    ],
)  # fmt: skip
def test_only_these_pages_may_decide(client, page, root, headers, given):
    form = {**fields(client, page), "verdict": "accept", "author": "Eve", **given}
    assert client.post(f"{page}/decisions", data=form, headers=headers).status_code == 403
    assert Decisions(root).history() == []


def test_without_the_cookie_nobody_may(root, client, page):
    stranger = create_app(root, {"TOKEN": "another"}).test_client()
    assert stranger.post(f"{page}/decisions", data={"verdict": "accept", "author": "Eve"}).status_code == 401


def test_names_are_no_markup(client, page):
    decide(client, page, author="<script>alert(1)</script>", reason="<b>bold</b>")
    text = client.get(page).text
    assert "<script" not in text and "&lt;script&gt;" in text and "&lt;b&gt;bold" in text
