"""The door: which hosts, which keys, which rights, which origins, which bodies; and what every response says to a browser."""

import contextlib
import gzip
import http.client
import json
import logging
import resource
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.studio.conftest import KEYS, SECRETS, Desk, axe, serving
from tests.waiting import wait_for
from trueup.store.open import open_store
from trueup.studio import answering
from trueup.studio.app import Application
from trueup.studio.assets import version
from trueup.studio.deadline import Connection
from trueup.studio.door.attempts import MOST
from trueup.studio.door.guard import WRITE_HEADER
from trueup.studio.door.sessions import LASTS, Codes, by_cookie, by_secret, cookie_value, digest_of
from trueup.studio.endpoint import Endpoint, JsonLines, Nothing
from trueup.studio.settings import Key, StudioSettings

READER = {"authorization": f"Bearer {SECRETS['reader']}"}
POST = next(
    each for each in Application(StudioSettings(keys=KEYS))._table if each.method == "POST" and each.right == "read"
)


def raw(url: str, text: bytes) -> bytes:
    """The response to the bytes of a request."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), 30) as line:
        line.sendall(text)
        line.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: line.recv(65536), b""))


@pytest.mark.spec("X48")
def test_only_known_hosts_are_answered(served: Any) -> None:
    desk = served(hosts=frozenset({"127.0.0.1", "localhost", "[::1]", "studio.example.com"}))
    paths = [
        "/",
        "/try",
        "/sign-in",
        "/healthz",
        "/api/about",
        "/api/openapi.json",
        f"/assets/{version()}/studio.js",
        "/?token=x",
    ]
    known = ["127.0.0.1", "LOCALHOST:1", "[::1]:80", "studio.example.com"]
    unknown = [
        "evil.example",
        "127.0.0.1.evil.example",
        "",
        "localhost.",
        "localhost:1:2",
        "localhost:x",
        "[::2]",
        "10.0.0.1",
        "127.0.0.1@evil",
    ]
    with httpx.Client(base_url=desk.url, headers=READER) as client:
        for path in paths:
            for host in known:
                assert client.get(path, headers={"host": host}).status_code in (200, 303), (path, host)
            for host in unknown:
                for method in ("GET", "HEAD", "POST"):
                    assert client.request(method, path, headers={"host": host}).status_code == 403, (path, host)
        assert client.get("/api/about", headers={"host": "evil.example"}).json()["error"]["code"] == "unknown_host"
    twice = b"GET /api/about HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert raw(desk.url, twice).split(b" ", 2)[1] == b"400"
    absolute = b"GET http://evil.example/api/about HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert raw(desk.url, absolute).split(b" ", 2)[1] == b"403"


def test_any_address_is_accepted_if_it_listens_on_all_interfaces(served: Any) -> None:
    desk = served(addresses=True)
    for host, status in [
        ("10.0.0.1:80", 200),
        ("[2001:db8::1]", 200),
        ("evil.example", 403),
        ("10.0.0.1.nip.example", 403),
    ]:
        assert httpx.get(f"{desk.url}/api/about", headers={**READER, "host": host}).status_code == status


def test_the_first_url_becomes_a_cookie_and_a_clean_address(served: Any) -> None:
    desk: Desk = served()
    with httpx.Client(base_url=desk.url) as browser:
        code = desk.code
        answer = browser.get(f"/verdicts/a%2Fb%C3%A9?text=%26+x&token={code}&ok=&empty")
        assert (answer.status_code, answer.headers["location"]) == (303, "/verdicts/a%2Fb%C3%A9?text=%26+x&ok=&empty")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert SECRETS["editor"] not in cookie
        assert cookie.startswith(f"trueup_studio_{urlsplit(desk.url).port}=")
        assert browser.get("/api/about").json()["role"] == "editor"
        assert browser.get(f"/try?token={code}").headers["location"] == "/try", "the browser has its key"
    with httpx.Client(base_url=desk.url) as browser:
        again = browser.get(f"/try?token={code}&a=1")
        assert (again.headers["location"], "set-cookie" in again.headers) == ("/sign-in?used=1&to=/try%3Fa%3D1", False)
        secret = browser.get(f"/try?token={SECRETS['editor']}")
        assert (secret.headers["location"], "set-cookie" in secret.headers) == ("/sign-in?used=1&to=/try", False)
        for site in ({"sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}, {"sec-fetch-dest": "iframe"}):
            refused = browser.get(f"/try?token={desk.code}", headers=site)
            assert (refused.status_code, "set-cookie" in refused.headers) == (403, False)
        for path in ("//evil.example/x", "/\\evil.example/x", "/%2f/evil.example/x"):
            head = f"GET {path}?token={desk.code} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            way = raw(desk.url, head.encode()).partition(b"location: ")[2].partition(b"\r\n")[0]
            assert way.startswith(b"/")
            assert not way.startswith((b"//", b"/\\"))
        asked = browser.get("/api/about", params={"token": SECRETS["editor"]})
        assert asked.status_code == 401, "the API takes no key in its URL"


def test_a_code_signs_in_once() -> None:
    codes, ana = Codes(), Key("ana", digest_of("x"))
    code = codes.new(ana)
    assert (codes.take("other"), codes.take(code), codes.take(code)) == (None, ana, None)


def test_a_session_has_the_rights_of_its_key() -> None:
    ana, bob = Key("ana", digest_of("a"), "editor"), Key("bob", digest_of("b"))
    cookie = cookie_value(ana, "s", now=1000)
    assert by_cookie([bob, ana], "s", cookie, now=1000) == ana
    assert by_cookie([bob], "s", cookie, now=1000) is None, "the key was taken out"
    assert by_cookie([Key("ana", digest_of("new"), "editor")], "s", cookie, now=1000) is None, "the key was exchanged"
    assert by_cookie([ana], "other", cookie, now=1000) is None, "another server signed it"
    assert by_cookie([ana], "s", cookie, now=1000 + LASTS + 1) is None
    name, until, signature = cookie.split(".")
    for forged in (
        f"{name}.{int(until) + 1}.{signature}",
        f"{b'bob'.hex()}.{until}.{signature}",
        f"{name}.{until}.é",
        "..",
        "",
        "é.1.2",
        f"{name}.{'9' * 30}.{signature}",
    ):
        assert by_cookie([ana, bob], "s", forged, now=1000) is None
    ended = Key("ana", digest_of("a"), "editor", expires=2000.0)
    assert by_cookie([ended], "s", cookie, now=1999) == ended
    assert by_cookie([ended], "s", cookie, now=2000) is None
    assert by_secret([ended], "a", now=1999) == ended
    assert by_secret([ended], "a", now=2000) is None
    assert by_secret([ana], "\ud800") is None


def test_the_digest_of_a_key_does_not_sign_in(served: Any) -> None:
    """A thief of the gateway's file has the digests, but cannot make a cookie from them."""
    desk = served()
    key = KEYS[-1]
    name = f"trueup_studio_{urlsplit(desk.url).port}"
    for signing in ("", key.digest, "s"):
        cookies = {name: cookie_value(key, signing)}
        assert httpx.get(f"{desk.url}/api/about", cookies=cookies).status_code == 401
    assert httpx.get(f"{desk.url}/api/about", headers={"cookie": f"{name}=é.1.é".encode()}).status_code == 401


def test_the_cookie_of_another_server_does_not_end_a_session(served: Any) -> None:
    """Ports share cookies: a server on another port could put a cookie with our name before ours."""
    desk: Desk = served()
    name = f"trueup_studio_{urlsplit(desk.url).port}"
    ours = httpx.get(desk.first_url).cookies[name]
    for cookie in (f"{name}=x; {name}={ours}", f"{name}={ours}; {name}=x", f"{name}=; a=b;{name}={ours}"):
        answer = httpx.get(f"{desk.url}/api/about", headers={"cookie": cookie})
        assert (answer.status_code, answer.json().get("role")) == (200, "editor"), cookie
    assert httpx.get(f"{desk.url}/api/about", headers={"cookie": f"{name}=x; other_{name}={ours}"}).status_code == 401


def test_wrong_keys_are_slowed_down(served: Any) -> None:
    desk = served()
    with httpx.Client(base_url=desk.url) as browser:
        for _ in range(MOST):
            assert browser.post("/sign-in", data={"key": "wrong"}).headers["location"].startswith("/sign-in?failed=1")
        right = browser.post("/sign-in", data={"key": SECRETS["editor"], "to": "/live"})
        assert (right.headers["location"], "set-cookie" in right.headers) == ("/sign-in?wait=1&to=/live", False)
        assert browser.get("/api/about", headers=READER).status_code == 200, "programs are counted by themselves"
        for _ in range(MOST):
            assert browser.get("/api/about", headers={"authorization": "Bearer wrong"}).status_code == 401
        slow = browser.get("/api/about", headers=READER)
        assert (slow.status_code, slow.json()["error"]["code"]) == (429, "too_many_attempts")
        assert int(slow.headers["retry-after"]) > 0


@pytest.mark.needs("browser")
def test_signing_in_returns_to_the_page_and_signing_out_ends_the_session(served: Any, look: Any, browser: Any) -> None:
    desk: Desk = served()
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(f"{desk.url}/live?window=5m#kept")
    tab.wait_for_selector("input[name=key]")
    assert axe(tab) == []
    tab.fill("input[name=key]", "wrong")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("[role=alert]")
    assert tab.inner_text("[role=alert]") == "That key is not valid."
    tab.fill("input[name=key]", SECRETS["labeller"])
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"{desk.url}/live?window=5m#kept")
    tab.wait_for_selector("main[data-ready]")
    assert tab.evaluate("document.cookie") == "", "no script sees the session"
    with tab.expect_navigation():
        tab.evaluate(
            "() => { const form = document.createElement('form'); form.method = 'post'; form.action = '/sign-out'; document.body.append(form); form.submit() }"
        )
    assert tab.url == f"{desk.url}/sign-in"
    assert context.cookies() == []
    context.close()


@pytest.mark.needs("browser")
def test_a_badly_encoded_address_is_not_found(served: Any, look: Any) -> None:
    tab = look(served(), "/contracts/%E0%A4%A", fails=("/contracts/file",))
    tab.wait_for_selector("main [role=alert]")
    assert "There is no file '%E0%A4%A'" in tab.inner_text("main [role=alert]")


@pytest.mark.needs("browser")
def test_the_browser_history_contains_no_key(served: Any, browser: Any) -> None:
    desk: Desk = served()
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(desk.address("/try#shared"))
    tab.wait_for_selector("main[data-ready]")
    assert tab.url == f"{desk.url}/try#shared"
    assert tab.evaluate("performance.getEntries().filter((entry) => entry.name.includes('token')).length") == 0
    assert tab.evaluate("document.referrer") == ""
    tab.goto("about:blank")
    tab.go_back()
    assert "token" not in tab.url
    context.close()


def test_each_role_has_its_rights(served: Any) -> None:
    desk = served()
    for role, rights in {
        "reader": {"read"},
        "labeller": {"read", "label"},
        "editor": {"read", "label", "edit"},
    }.items():
        headers = {"authorization": f"Bearer {SECRETS[role]}"}  # type: ignore[index]
        with httpx.Client(base_url=f"{desk.url}/api", headers=headers, timeout=60) as client:
            assert set(client.get("/about").json()["rights"]) == rights
            for each in desk.app._table:
                if each.right not in rights:
                    answer = client.request(
                        each.method,
                        each.path.replace("{", "").replace("}", ""),
                        json={} if each.method != "GET" else None,
                    )
                    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "no_right"), each.path
    assert all(each.right != "read" or each.method in ("GET", "POST") for each in desk.app._table)


def test_nothing_is_shown_without_a_key(served: Any) -> None:
    desk = served()
    with httpx.Client(base_url=desk.url) as nobody:
        for each in desk.app._table:
            assert nobody.request(each.method, f"/api{each.path}".replace("{", "").replace("}", "")).status_code == 401
        for path in ("/", "/try", "/verdicts/x", "/nothing", "/sign-in/x", "/sign-inx", "/healthzx", "/assetsx"):
            assert nobody.get(path).headers["location"].startswith("/sign-in"), path
        assert nobody.get("/api/openapi.json").status_code == 401
        assert nobody.delete("/try").status_code == 401


def test_writes_from_other_sites_are_refused(served: Any) -> None:
    desk = served()
    host = urlsplit(desk.url).netloc
    with httpx.Client(base_url=desk.url) as browser:
        browser.get(desk.first_url)
        path = f"/api{POST.path}"
        mine = {WRITE_HEADER: "1", "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
        assert browser.post(path, headers=mine).status_code != 403
        for bad in (
            {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://["}, {"origin": f"http://{host}.evil.example"},
            {"origin": "http://127.0.0.1:1"}, {"origin": ""}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
            {"sec-fetch-site": "?"},
        ):  # fmt: skip
            answer = browser.post(path, headers={**mine, **bad})
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "cross_origin"), bad
            if "origin" in bad:
                assert browser.post("/sign-in", data={"key": SECRETS["reader"]}, headers=bad).status_code == 403
                assert browser.post("/sign-out", headers=bad).status_code == 403
        assert browser.get("/api/about", headers={"sec-fetch-site": "cross-site"}).status_code == 403
        plain = browser.post(path, headers={"origin": f"http://{host}"})
        assert plain.json()["error"]["code"] == "no_write_header"
        assert plain.json()["error"]["hint"] == "Send `x-trueup-studio: 1`, or the key as `Authorization: Bearer KEY`."
        asked = browser.options(
            path, headers={"origin": "http://evil.example", "access-control-request-method": "POST"}
        )
        assert asked.status_code == 403
        assert not any(name.startswith("access-control") for name in asked.headers)


def test_every_response_has_security_headers(served: Any) -> None:
    desk = served()
    with httpx.Client(base_url=desk.url, headers=READER) as client:
        for path in (
            "/",
            "/try",
            "/nothing",
            "/sign-in",
            "/api/about",
            "/api/nothing",
            "/healthz",
            f"/assets/{version()}/studio.js",
            "/assets/x/y",
        ):
            for method in ("GET", "HEAD", "POST"):
                headers = client.request(method, path).headers
                policy = headers["content-security-policy"]
                assert "default-src 'none'" in policy
                assert "unsafe" not in policy
                assert "script-src 'self';" in policy
                assert "require-trusted-types-for 'script'" in policy
                assert headers["x-content-type-options"] == "nosniff"
                assert headers["referrer-policy"] == "same-origin"
                assert headers["cross-origin-resource-policy"] == "same-origin"
                assert headers["x-frame-options"] == "DENY"
                assert headers["cache-control"] == "no-store" or path.startswith("/assets/")
        nonces = {client.get("/try").headers["content-security-policy"] for _ in range(3)}
        assert len(nonces) == 3
        page = client.get("/try").text
        assert "<script>" not in page
        assert " style=" not in page
        assert " on" not in page.partition("<body>")[2]


def test_assets_are_cached_forever_and_old_ones_are_reported_as_updated(served: Any) -> None:
    desk = served()
    with httpx.Client(base_url=desk.url) as nobody:
        packed = nobody.get(f"/assets/{version()}/studio.js", headers={"accept-encoding": "gzip"})
        plain = nobody.get(f"/assets/{version()}/studio.js", headers={"accept-encoding": "gzip;q=0"})
        assert packed.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert packed.headers["content-encoding"] == "gzip"
        assert "content-encoding" not in plain.headers
        assert packed.content == plain.content
        assert packed.headers["vary"] == "accept-encoding"
        assert nobody.head(f"/assets/{version()}/studio.js").content == b""
        old = nobody.get("/assets/0123456789ab/studio.js")
        assert (old.status_code, old.json()["error"]["code"]) == (404, "updated")
        for name in ("../app.py", "..%2f..%2fsettings.py", "index.html", "nothing.js", "%00", ""):
            assert nobody.get(f"/assets/{version()}/{name}").status_code in (303, 404), name
        assert nobody.get("/healthz").headers["x-trueup-studio-version"] == version()


def test_unknown_paths_and_methods_are_reported(served: Any) -> None:
    desk = served()
    with httpx.Client(base_url=desk.url, headers=READER) as client:
        missing = client.get("/api/nothing").json()["error"]
        assert (missing["code"], missing["hint"]) == ("not_found", "/api/openapi.json lists the paths of the API.")
        assert client.get("/api/about/").status_code == 404
        page = client.get("/nothing", headers={"accept": "text/html"})
        assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        wrong = client.put("/api/about")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD")
        assert client.head("/api/about").status_code == 200
        assert (
            client.get("/api/about?a=1").json()["error"]["message"] == "Unknown parameter 'a'; this path takes nothing."
        )
        assert client.get("/api/about?" + "&".join(f"p{n}=1" for n in range(5000))).status_code == 400


def test_invalid_bodies_are_refused_with_a_message(served: Any) -> None:
    desk = served()
    bodies: list[tuple[bytes, str]] = [
        (b"{", "not JSON"), (b"[]", "must be a JSON object"), (b"null", "must be"), (b"\xff\xfe", "not JSON"), (b'"x"', "must be"),
        (b"[" * 100_000, "nested too deeply"), (b'{"a":' * 100_000, "nested too deeply"), (b'{"a": NaN}', "not JSON"),
        (b'{"a": 1' + b"0" * 5000 + b"}", ""), (b'{"\\ud800": 1}', "Unknown parameter"), (b'{"a\\u0000": 1}', "Unknown parameter"),
    ]  # fmt: skip
    with httpx.Client(base_url=f"{desk.url}/api", headers=READER) as client:
        for body, said in bodies:
            answer = client.post(POST.path, content=body)
            assert answer.status_code == 400, body[:20]
            assert said in answer.json()["error"]["message"], body[:20]


def test_a_request_is_accepted_completely_or_refused(served: Any, tmp_path: Path) -> None:
    """Anything that would be silently ignored is refused, and the message says where it is and what is accepted."""
    open_store(tmp_path / "v.db").close()
    desk = served(store=str(tmp_path / "v.db"))
    label = {"verdict": "x", "outcome": "right"}
    cases: list[tuple[str, str, Any, str, str]] = [
        ("GET", "/explain?code=V005&code=V006", None, "The parameter 'code' was given twice.", "Give it once."),
        ("GET", "/explain", None, "code is missing.", "This path takes code."),
        ("GET", "/live?window=2h", None, "window cannot be '2h'.", "It takes '1h', '24h', '5m', '7d'."),
        ("GET", "/verdicts?limit=many", None, "limit must be a whole number, not text.", ""),
        ("GET", "/verdicts?ok=maybe", None, "ok must be true or false, not text.", ""),
        ("GET", "/runs/units?run=x&limit=0", None, "limit must be a whole number, at least 1.", ""),
        ("POST", "/judge?state=IDLE", {"reply": "{}"}, "The parameter 'state' is in the URL.", "Send it in the body, as a member of a JSON object."),
        ("POST", "/judge", {"reply": None}, "reply must be text, not null.", ""),
        ("POST", "/judge", {"response": "maybe"}, "response cannot be 'maybe'.", "It takes true, false, 'auto'."),
        ("POST", "/labels", {"items": [{**label, "subjct": "code:V005"}]}, "Unknown parameter 'items[0].subjct'.", "This path takes items."),
        ("POST", "/labels", {"items": [{"verdict": "x"}]}, "items[0].outcome is missing.", "This path takes items."),
        ("POST", "/labels", {"items": [{**label, "drawn": "z"}]}, "items[0].drawn cannot be 'z'.", "It takes '', 'random', 'uncertain'."),
        ("POST", "/labels/undo", {"items": [{**label, "before": {"outcome": "x", "by": 1}}]}, "Unknown parameter 'items[0].before.by'.", "This path takes items."),
    ]  # fmt: skip
    for method, path, body, message, hint in cases:
        answer = desk.client.request(method, path, json=body) if body is not None else desk.client.request(method, path)
        told = answer.json()["error"]
        assert (answer.status_code, told["message"], told["hint"]) == (400, message, hint), path
    packed = desk.client.post("/judge", content=gzip.compress(b"{}"), headers={"content-encoding": "gzip"})
    assert (packed.status_code, packed.json()["error"]["code"]) == (415, "encoded")


def _chunks(size: int, count: int) -> Iterator[bytes]:
    piece = b"x" * size
    for _ in range(count):
        yield piece


@pytest.mark.parametrize("chunked", [False, True])
def test_a_huge_body_is_refused_without_being_stored(served: Any, *, chunked: bool) -> None:
    """A paste of 100 MB: the sender gets a message, and memory does not grow."""
    desk = served()
    megabyte, count = 1 << 20, 100
    headers = {**READER, "content-type": "application/json"}
    if not chunked:
        headers["content-length"] = str(megabyte * count)
    with httpx.Client(base_url=f"{desk.url}/api", headers=headers, timeout=60) as client:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        answer = client.post(POST.path, content=_chunks(megabyte, count))
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000, "kilobytes"
        assert httpx.get(f"{desk.url}/api/about", headers=READER).status_code == 200


@pytest.mark.parametrize(
    ("first", "piece", "last", "said"),
    [
        (b'{"contract":[', b"[]," * 1000, b"0]}", "contract contains too many items."),
        (b'{"contract":[', b'{"a":[]},' * 400, b"0]}", "contract contains too many items."),
        (b'{"x":[', b"[]," * 1000, b"0]}", "Unknown parameter 'x'."),
        (b"[", b"[]," * 1000, b"0]", "The body must be a JSON object."),
        (b'{"contract":', b"[" * 3000, b"", "The body is not JSON: nested too deeply"),
    ],
)
def test_a_body_with_very_many_small_values_is_not_parsed(
    served: Any, first: bytes, piece: bytes, last: bytes, said: str
) -> None:
    """24 MB of empty lists would become 700 MB, and block every other thread for seconds, including the gateway's."""
    desk = served()
    count = 22_000_000 // len(piece)

    def sent() -> Iterator[bytes]:
        yield first
        for _ in range(count // 20):
            yield piece * 20
        yield last

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = desk.client.post("/judge", content=sent())
    assert answer.json()["error"]["message"] == said
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000, "kilobytes"
    long = {"reply": "\ud800" + "[" * 2_000_000, "contract": "schema: true"}
    assert desk.client.post("/judge", content=json.dumps(long)).status_code == 200, "texts may be long"


def test_a_body_with_expect_continue_is_refused_before_it_is_sent(served: Any) -> None:
    desk = served()
    head = f"POST /api{POST.path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {READER['authorization']}\r\nContent-Length: 1000000000000\r\n"
    assert raw(desk.url, f"{head}Expect: 100-continue\r\n\r\n".encode()).split(b" ", 2)[1] == b"413"


def test_a_body_that_never_arrives_times_out(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueup.studio.bodies._PIECE", 0.05)
    desk = served()
    parts = urlsplit(desk.url)
    with contextlib.closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)) as line:
        line.putrequest("POST", f"/api{POST.path}")
        line.putheader("authorization", READER["authorization"])
        line.putheader("content-length", "10")
        line.endheaders(b"{")
        answer = line.getresponse()
        assert (answer.status, json.loads(answer.read())["error"]["code"]) == (408, "too_slow")


def test_a_head_that_never_arrives_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few hundred such connections would lock out all other clients."""
    monkeypatch.setattr(Connection, "seconds", 1.0)
    whole = f"GET /api/about HTTP/1.1\r\nHost: localhost\r\nAuthorization: {READER['authorization']}\r\n\r\n".encode()
    with serving(Application(StudioSettings(keys=KEYS)), http=Connection, timeout_keep_alive=300) as url:
        parts = urlsplit(url)
        for first, begun in [(b"", b""), (b"", b"GET /api/ab"), (whole, b"GET /api/ab")]:
            with socket.create_connection((parts.hostname, parts.port), 60) as line:
                line.sendall(first)
                if first:
                    assert b"200 OK" in line.recv(65536)
                line.sendall(begun)
                with contextlib.suppress(ConnectionResetError):
                    while line.recv(65536):
                        pass
        with httpx.Client(base_url=url, headers=READER) as client:
            assert client.get("/api/about").status_code == 200
            time.sleep(1.3)
            assert client.get("/api/about").status_code == 200, "a connection that is kept alive is no head"


def test_an_answer_that_is_never_read_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    table = [Endpoint("GET", "/much", "read", lambda studio, asked, who: {"text": "x" * 50_000_000})]
    monkeypatch.setattr("trueup.studio.app.endpoints", lambda: table)
    head = f"GET /api/much HTTP/1.1\r\nHost: localhost\r\nAuthorization: {READER['authorization']}\r\n\r\n".encode()
    open_: set[Any] = set()
    made, lost = Connection.connection_made, Connection.connection_lost
    monkeypatch.setattr(Connection, "connection_made", lambda self, line: (open_.add(self), made(self, line))[1])
    monkeypatch.setattr(Connection, "connection_lost", lambda self, why: (open_.discard(self), lost(self, why))[1])
    with serving(Application(StudioSettings(keys=KEYS)), http=Connection, timeout_keep_alive=0.3) as url:
        parts = urlsplit(url)
        with socket.create_connection((parts.hostname, parts.port), 60) as line:
            line.sendall(head)
            wait_for(lambda: open_, "it is open")
            wait_for(lambda: not open_, "it is given up, though its client is still there")


class Work:
    """Endless work that records whether it was ended."""

    def __init__(self, **more: str) -> None:
        self.more = more
        self.ended = threading.Event()
        self.begun = threading.Event()

    def __iter__(self) -> "Work":
        return self

    def __next__(self) -> dict[str, int]:
        self.begun.set()
        time.sleep(0.005)
        return {"n": 1, **self.more}

    def close(self) -> None:
        self.ended.set()


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Application, str, list[Work]]]:
    """A studio whose only endpoint streams."""
    made: list[Work] = []

    def stream(studio: Any, asked: Nothing, who: Key) -> JsonLines:
        """Never ends."""
        made.append(Work())
        return JsonLines(iter(made[-1]))

    def heavy(studio: Any, asked: Nothing, who: Key) -> JsonLines:
        """Never ends, and writes a lot."""
        made.append(Work(text="x" * 1_000_000))
        return JsonLines(iter(made[-1]))

    def fails(studio: Any, asked: Nothing, who: Key) -> JsonLines:
        """Fails in the middle."""

        def events() -> Iterator[Any]:
            yield {"text": "\ud800"}
            raise RuntimeError("a detail that nobody sees")

        return JsonLines(events())

    table = [
        Endpoint("POST", "/work", "read", stream, streams=True),
        Endpoint("POST", "/heavy", "read", heavy, streams=True),
        Endpoint("POST", "/fails", "read", fails, streams=True),
    ]
    monkeypatch.setattr("trueup.studio.app.endpoints", lambda: table)
    app = Application(StudioSettings(keys=KEYS))
    with serving(app) as url:
        yield app, url, made


def test_a_client_that_leaves_ends_the_work(works: Any) -> None:
    _, url, made = works
    with httpx.Client(base_url=f"{url}/api", headers=READER, timeout=60) as client:
        with client.stream("POST", "/work") as answer:
            assert answer.headers["content-type"] == "application/x-ndjson"
            assert next(answer.iter_lines()) == '{"n":1}'
        assert made[0].ended.wait(60)


def test_a_client_that_stops_reading_ends_the_work(works: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would occupy one of a few slots for as long as it likes."""
    monkeypatch.setattr("trueup.studio.answering._UNREAD", 0.2)
    app, url, made = works
    parts = urlsplit(url)
    head = f"POST /api/heavy HTTP/1.1\r\nHost: localhost\r\nAuthorization: {READER['authorization']}\r\nContent-Length: 0\r\n\r\n"
    with socket.create_connection((parts.hostname, parts.port), 60) as line:
        line.sendall(head.encode())
        wait_for(lambda: made and made[0].ended.is_set(), "nobody reads on")
        wait_for(lambda: app._threads.streaming == 0, "its place is free")


def test_failed_work_is_reported_in_its_last_line(works: Any, caplog: pytest.LogCaptureFixture) -> None:
    _, url, _ = works
    with caplog.at_level(logging.CRITICAL, "trueup.studio"):
        lines = httpx.post(f"{url}/api/fails", headers=READER, timeout=60).text.splitlines()
    assert json.loads(lines[0]) == {"text": "\ud800"}
    assert json.loads(lines[1])["error"]["code"] == "internal"
    assert "detail" not in lines[1]


def test_the_number_of_long_tasks_is_limited_and_they_end_with_the_studio(works: Any) -> None:
    app, url, made = works
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(httpx.Client(base_url=f"{url}/api", headers=READER, timeout=60))
        answers = [stack.enter_context(client.stream("POST", "/work")) for _ in range(answering.STREAMS)]
        lines = [answer.iter_lines() for answer in answers]
        for each in lines:
            assert next(each)
        busy = client.post("/work")
        assert (busy.status_code, busy.json()["error"]["code"]) == (503, "busy")
        assert httpx.get(f"{url}/healthz").status_code == 200
        app.stop()
        for each in lines:
            assert json.loads(list(each)[-1])["error"]["code"] == "stopping"
        wait_for(lambda: all(work.ended.is_set() for work in made))
        assert client.post("/work").status_code == 503
