"""Who gets in, what they may reach, and what the browser is told."""

import json

import pytest

from precdiff.web import create_app
from tests.report.example import report as example

TOKEN = "a-token-of-the-tests"


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "served"
    root.mkdir()
    (root / "pow.json").write_text(json.dumps(example().to_json()))
    (tmp_path / "secret.json").write_text(json.dumps(example().to_json()))
    return root


def client_of(root, **config):
    return create_app(root, {"TOKEN": TOKEN, **config}).test_client()


def let_in(client):
    client.get(f"/?token={TOKEN}")
    return client


@pytest.mark.parametrize(
    "address", ["/", "/index.json", "/runs/x", "/-/health", "/nowhere", "/?token=wrong", "/?token="]
)
def test_without_the_token_nothing_is_shown(root, address):
    response = client_of(root).get(address)

    assert response.status_code == 401
    assert "pow.json" not in response.text
    assert "Set-Cookie" not in response.headers


def test_the_token_is_swapped_for_a_cookie_and_leaves_the_address(root):
    client = client_of(root)
    response = client.get(f"/runs/x?token={TOKEN}&sort=max_ulp")
    cookie = response.headers["Set-Cookie"]

    assert (response.status_code, response.headers["Location"]) == (303, "/runs/x?sort=max_ulp")
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and TOKEN not in cookie
    assert client.get("/").status_code == 200


def test_the_cookie_of_one_server_does_not_open_another(root):
    first, second = client_of(root), client_of(root)
    name, _, value = first.get(f"/?token={TOKEN}").headers["Set-Cookie"].partition(";")[0].partition("=")
    second.set_cookie(name, value)

    assert second.get("/").status_code == 401


def test_two_servers_on_one_host_do_not_overwrite_each_others_cookie(root):
    names = [
        create_app(root, {"TOKEN": token}).test_client().get(f"/?token={token}").headers["Set-Cookie"].partition("=")[0]
        for token in ("one", "two")
    ]

    assert names[0] != names[1]


def test_a_token_is_made_where_none_is_given(root):
    tokens = {create_app(root).config["TOKEN"] for _ in range(2)}

    assert len(tokens) == 2 and all(len(token) >= 32 for token in tokens)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("LOCALHOST", 200),
        ("evil.example", 400),
        ("127.0.0.1.evil.example", 400),
        ("localhost.evil.example:80", 400),
        ("192.168.0.7", 400),
    ],
)
def test_only_named_hosts_are_served(root, host, status):
    client = client_of(root)
    cookie = client.get(f"/?token={TOKEN}").headers["Set-Cookie"].partition(";")[0]
    plain = client.application.test_client(use_cookies=False)

    assert plain.get("/", headers={"Host": host, "Cookie": cookie}).status_code == status
    with plain.get("/static/style.css", headers={"Host": host}) as response:
        assert response.status_code == status


@pytest.mark.parametrize("address", ["/", "/index.json", "/nowhere", "/static/style.css"])
def test_every_response_carries_the_headers(root, address):
    with let_in(client_of(root)).get(address) as response:
        headers = response.headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "script-src" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(root, method):
    assert let_in(client_of(root)).open("/", method=method).status_code == 405


@pytest.mark.parametrize(
    "address",
    [
        "/runs/../secret",
        "/runs/..%2fsecret.json",
        "/runs/%2e%2e%2fsecret",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
    ],
)
def test_addresses_are_ids_not_paths(root, address):
    assert let_in(client_of(root)).get(address).status_code in (404, 308)


def test_links_out_of_the_folder_are_not_followed(root):
    (root / "link.json").symlink_to(root.parent / "secret.json")
    (root / "up").symlink_to(root.parent)
    runs = let_in(client_of(root)).get("/index.json").get_json()["runs"]

    assert [row["name"] for row in runs] == ["pow.json"]


def test_links_within_the_folder_are(root):
    (root / "again.json").symlink_to(root / "pow.json")
    runs = let_in(client_of(root)).get("/index.json").get_json()["runs"]

    assert sorted(row["name"] for row in runs) == ["again.json", "pow.json"]


def test_too_large_a_file_is_listed_and_refused(root):
    client = let_in(client_of(root, MAX_REPORT_BYTES=100))
    row = client.get("/index.json").get_json()["runs"][0]
    response = client.get(f"/runs/{row['id']}")

    assert (row["verdict"], response.status_code) == (None, 422)
    assert "allowed are 100" in response.text


def test_the_number_of_entries_is_limited(root):
    for number in range(5):
        (root / f"{number}.h5").touch()

    assert len(let_in(client_of(root, MAX_ENTRIES=3)).get("/index.json").get_json()["runs"]) == 3


def test_ids_tell_nothing_about_paths(root):
    row = let_in(client_of(root)).get("/index.json").get_json()["runs"][0]

    assert len(row["id"]) == 12 and set(row["id"]) <= set("0123456789abcdef")
