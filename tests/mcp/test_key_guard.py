"""The key guard of the HTTP server: keys, hosts, origins, and sizes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.mcp.stage import KEY, Place, http_server, make_place

HEADERS = {
    "authorization": f"Bearer {KEY}",
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return make_place(tmp_path_factory.mktemp("http"), replies=4)


@pytest.fixture(scope="module")
def url(place: Place) -> Iterator[str]:
    with http_server(place) as url:
        yield url


def post(url: str, **headers: str) -> httpx.Response:
    given = {**HEADERS, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return httpx.post(url, json=HELLO, headers={name: value for name, value in given.items() if value}, timeout=60)


def test_the_right_key_is_accepted(url: str) -> None:
    assert post(url).status_code == 200


def test_the_server_listens_on_loopback(url: str) -> None:
    assert url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("key", ["", "Bearer", f"Basic {KEY}", KEY])
def test_a_request_without_a_key_gets_401(url: str, key: str) -> None:
    answer = post(url, authorization=key)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert "Authorization: Bearer" in answer.json()["error"]["hint"]
    assert "TRUEUP_MCP_KEY" in answer.json()["error"]["hint"], "a given key is not printed"


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS", "PUT"])
def test_no_method_works_without_a_key(url: str, method: str) -> None:
    assert httpx.request(method, url).status_code == 401


@pytest.mark.parametrize("path", ["/", "/mcp/x", "/healthz", "/.well-known/oauth-protected-resource"])
def test_no_other_path_answers_without_a_key(url: str, path: str) -> None:
    assert httpx.get(url.removesuffix("/mcp") + path).status_code == 401


@pytest.mark.spec("X48")
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8766", "127.0.0.1.evil.example", "10.0.0.1", "localhost:x"]
)
def test_an_unknown_host_is_refused(url: str, host: str) -> None:
    answer = post(url, host=host)
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "unknown_host"


@pytest.mark.spec("X48")
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost"])
def test_a_web_page_of_another_origin_is_refused(url: str, origin: str) -> None:
    answer = post(url, origin=origin)
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "cross_origin"
    assert "studio" not in answer.text


def test_a_request_of_another_site_is_refused(url: str) -> None:
    assert post(url, sec_fetch_site="cross-site").status_code == 403


def test_the_servers_own_origin_is_allowed(url: str) -> None:
    assert post(url, origin=url.removesuffix("/mcp")).status_code == 200


def test_a_body_that_is_too_large_is_refused(url: str) -> None:
    answer = httpx.post(url, content=b"{" + b" " * (17 * 1024 * 1024), headers=HEADERS, timeout=60)
    assert answer.status_code == 413


def test_ten_wrong_keys_lock_an_address_out(place: Place) -> None:
    with http_server(place) as url:
        answers = [post(url, authorization=f"Bearer wrong-{n}").status_code for n in range(11)]
        assert answers == [401] * 10 + [429]
        locked = post(url)
        assert locked.status_code == 429
        assert int(locked.headers["retry-after"]) > 0


def test_a_new_key_is_printed_if_none_is_given(place: Place) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRUEUP_MCP_KEY"}
    started = subprocess.Popen(
        [sys.executable, "-m", "trueup", "mcp", str(place.folder), "--http", "--port", "0"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    assert started.stderr is not None
    lines = []
    while not lines or "Ctrl-C" not in lines[-1]:
        lines.append(started.stderr.readline())
        assert lines[-1], lines
    url = lines[0].removeprefix("mcp: ").strip()
    key = next(line for line in lines if "key:" in line).split("key:")[1].strip()
    answer = post(url, authorization=f"Bearer {key}")
    started.terminate()
    out, err = started.communicate(timeout=60)
    assert len(key) >= 32
    assert answer.status_code == 200
    assert (started.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("short", "has 5 characters; a key has at least 16"),
        (
            "schl\u00fcssel-der-tests",
            "contains characters that a header cannot send; use ASCII letters, digits and signs",
        ),
        (
            "a-key-of-\x1b-the-tests",
            "contains characters that a header cannot send; use ASCII letters, digits and signs",
        ),
    ],
)
def test_a_key_that_cannot_be_used_is_refused(place: Place, tmp_path: Path, key: str, said: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "trueup", "mcp", str(place.folder), "--http"], cwd=tmp_path, capture_output=True, text=True, timeout=60,
        env={**os.environ, "TRUEUP_MCP_KEY": key}, check=False,
    )  # fmt: skip
    assert ended.returncode == 2
    assert ended.stderr == f"trueup: TRUEUP_MCP_KEY {said}\n"
