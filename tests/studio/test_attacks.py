"""Attacks: paths that lead outside, links, other sites, other tenants, and script in every text that a view shows."""

import contextlib
import hashlib
import http.server
import json
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Error as PlaywrightError

from tests.studio.conftest import KEYS, SECRETS, Desk, serving
from trueup.batch.judging.contracts import spec_of
from trueup.batch.sift import sift
from trueup.contract.contract import Contract
from trueup.store.labels import Said
from trueup.store.open import open_store
from trueup.store.records import Note, new_id
from trueup.studio.app import Application
from trueup.studio.door.sessions import digest_of
from trueup.studio.endpoint import Endpoint, Nothing
from trueup.studio.settings import Key, StudioSettings

CANARY = "CANARY7f3a"
PWN = "window.__pwned=1"
IMG = f"<img src=x onerror={PWN}>"
SCRIPT = f"</script><script>{PWN}</script>"
TEXTS = [IMG, SCRIPT, f"<svg onload={PWN}>", f"javascript:{PWN}", f'"onfocus="{PWN}" autofocus="', "{{constructor.constructor('x')()}}", f"<iframe srcdoc='{IMG}'>"]  # fmt: skip
HOSTILE = " ".join(TEXTS)


# -- paths ---------------------------------------------------------------------------------


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A folder `inside` with links that lead out of it, and a folder `outside` with a secret in every form."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    contract = f"name: {CANARY}\nschema: {{type: object, title: {CANARY}, required: [{CANARY}]}}\n"
    for folder in (outside, inside / ".hidden"):
        folder.mkdir(exist_ok=True)
        (folder / "secret.yaml").write_text(contract)
        (folder / "secret.json").write_text(json.dumps({"title": CANARY, "type": "object", "required": [CANARY]}))
        (folder / "secret.jsonl").write_text(json.dumps({"id": CANARY, "reply": CANARY}) + "\n")
    (inside / "good.yaml").write_text("name: good\nschema: {type: object}\n")
    (inside / ".env.yaml").write_text(contract)
    (inside / "link.yaml").symlink_to(outside / "secret.yaml")
    (inside / "linked").symlink_to(outside)
    (inside / "loop").symlink_to(inside / "loop")
    (inside / "dangling.yaml").symlink_to(outside / "missing.yaml")
    os.mkfifo(inside / "pipe.yaml")
    sift([str(outside / "secret.jsonl")], spec_of(Contract.load(outside / "secret.yaml")), outside / "sifted")
    return tmp_path


def ways_out(top: Path) -> list[str]:
    """Names that lead, or seem to lead, out of `inside`."""
    found = []
    for target in ("secret.yaml", "secret.json", "secret.jsonl", "sifted", ""):
        path = (top / "outside" / target).as_posix().rstrip("/")
        found += [
            path, f"inside/../outside/{target}", f"../outside/{target}", f"inside/{path}", f"inside/linked/{target}", f"file://{path}",
            f"inside/./../outside/{target}", f"inside/../inside/../outside/{target}", f"inside/linked/../outside/{target}",
        ]  # fmt: skip
    found += [
        "inside/link.yaml", "inside/.hidden/secret.yaml", "inside/.env.yaml", "inside/loop", "inside/pipe.yaml", "inside//../outside/secret.yaml",
        "inside\\..\\outside\\secret.yaml", "inside/..%2foutside/secret.yaml", "inside/good.yaml\0/../../outside/secret.yaml", "~/x.yaml",
        "/etc/passwd", "/proc/self/environ", "inside/" + "../" * 20 + "etc/passwd", "..", ".", "/", "inside/..", "outside/secret.yaml",
        f"inside/{'x' * 300}.yaml", "inside/" + "x/" * 3000, f"{'x' * 9000}.yaml", "inside/dangling.yaml", "inside/\ud800.yaml",
    ]  # fmt: skip
    return found


def pictures(top: Path) -> dict[str, str]:
    """Every file below a folder, with a hash of its content."""
    return {
        str(path.relative_to(top)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(top.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


TEXTUAL = ("file", "run", "a", "b", "name", "path", "against", "id", "which", "unit", "step", "contract", "text")
USUAL: dict[str, Any] = {
    "file": "inside/good.yaml", "text": "schema: {type: object}", "contract": "schema: {type: object}", "reply": "{}", "kind": ".yaml",
    "line": 1, "column": 1, "upto": 1, "hash": "", "run": "inside", "a": "inside", "b": "inside", "create": True, "force": True, "suggestions": [1],
    "id": "x", "unit": "x",
}  # fmt: skip


def ask(client: httpx.Client, endpoint: Endpoint, given: dict[str, Any]) -> httpx.Response:
    fields = endpoint.takes.__struct_fields__
    asked = {name: value for name, value in {**USUAL, **given}.items() if name in fields}
    path = re.sub(r"{(\w+)[^}]*}", lambda found: quote(_sendable(asked.pop(found[1], "x")), safe=""), endpoint.path)
    if endpoint.method in ("GET", "DELETE"):
        return client.request(endpoint.method, path, params={name: _sendable(each) for name, each in asked.items()})
    return client.request(endpoint.method, path, content=json.dumps(asked))


def _sendable(given: Any) -> str:
    """A value for a URL, which cannot hold half a surrogate pair as JSON can."""
    return str(given).encode("utf-8", "replace").decode()


def test_no_parameter_of_any_endpoint_reaches_files_outside_the_folders(served: Any, house: Path) -> None:
    desk: Desk = served(folders=(house / "inside",))
    before = pictures(house / "outside")
    tried = 0
    for endpoint in desk.app._table:
        for field in endpoint.takes.__struct_fields__:
            if field not in TEXTUAL:
                continue
            for way in ways_out(house):
                answer = ask(desk.client, endpoint, {field: way})
                tried += 1
                told = answer.text.replace(way, "").replace(json.dumps(way)[1:-1], "")
                assert answer.status_code < 500, (endpoint.path, field, way, answer.text)
                assert CANARY not in told, (endpoint.path, field, way)
                assert "root:" not in told, (endpoint.path, field, way)
                assert str(house) not in told or str(house) in way, (endpoint.path, field, way)
    assert tried > 500
    assert pictures(house / "outside") == before
    assert {path.name for path in house.iterdir()} == {"inside", "outside"}


def test_the_text_of_a_contract_reaches_no_files_outside_the_folders(served: Any, house: Path) -> None:
    """A contract may extend another and name a file of its schema: only below the folders, even if the text is only
    typed.
    """
    desk: Desk = served(folders=(house / "inside",), role="reader")
    ways = [
        *ways_out(house),
        "../outside/secret.yaml",
        "../outside/secret.json",
        "link.yaml",
        "linked/secret.json",
        ".env.yaml",
        ".hidden/secret.yaml",
    ]
    judging = [each for each in desk.app._table if each.right == "read" and {"contract", "text"} & set(each.takes.__struct_fields__) and each.method == "POST"]  # fmt: skip
    assert len(judging) >= 5
    for way in ways:
        spelled = json.dumps(way)
        for text in (f"extends: {spelled}\n", f"schema: {spelled}\n", f"schema: {{$ref: {spelled}}}\n"):
            for endpoint in judging[:4] if way not in ways[-6:] else judging:
                for file in ("inside/good.yaml", ""):
                    answer = ask(
                        desk.client, endpoint, {"contract": text, "text": text, "file": file, "reply": '{"a": 1}'}
                    )
                    told = answer.text.replace(way, "").replace(json.dumps(way)[1:-1], "")
                    assert answer.status_code < 500, (endpoint.path, text, answer.text)
                    assert CANARY not in told, (endpoint.path, text)
                    assert str(house) not in told, (endpoint.path, text, told[:2000])


def test_names_in_a_contract_cannot_read_settings_or_runs(served: Any, tmp_path: Path) -> None:
    """A prompt quotes the schema file of its contract. A key of one tenant sees no runs, and nobody sees the keys of a gateway."""
    (tmp_path / "runs" / "first" / "config").mkdir(parents=True)
    (tmp_path / "flow").mkdir()
    files = {
        "own.yaml": f"upstreams: {{main: {{url: http://x, key: {CANARY}}}}}\n",
        "old.yaml": f"upstreams: {{main: {{url: http://x, key: {CANARY}}}}}\n",
        "flow.yaml": f"{{listen: x, upstreams: {{main: {{key: {CANARY}}}}}}}\n",
        "broken.yaml": f"upstreams: {{main: {{key: {CANARY}}}}}\n: [\n",
        "old.toml": f"[upstreams.main]\nkey = '{CANARY}'\n",
        "old.json": json.dumps({"title": CANARY, "upstreams": {"main": {"key": CANARY}}}),
        "flow/config.yaml": f"title: {CANARY}\nsteps: []\n",
        "runs/first/config/settings.yaml": f"title: {CANARY}\nsteps: []\n",
        "runs/first/MANIFEST.json": json.dumps({"title": CANARY}),
        "runs/first/journal.jsonl": "",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    os.link(tmp_path / "own.yaml", tmp_path / "linked.yaml")
    (tmp_path / "good.yaml").write_text("name: good\nschema: {type: object}\n")
    (tmp_path / "upstreams.json").write_text('{"title": "told", "properties": {"upstreams": {"type": "string"}}}')
    top = tmp_path.name
    keys = (*KEYS, Key("one", digest_of("secret-of-one"), "reader", "mine"))
    desk: Desk = served(keys=keys, folders=(tmp_path,), hidden=frozenset({tmp_path / "own.yaml"}))
    desk.client.headers["authorization"] = "Bearer secret-of-one"
    for way in [*files, "linked.yaml"]:
        assert CANARY not in desk.client.get("/contracts/file", params={"file": f"{top}/{way}"}).text
        for text in (f"schema: {way}\n", f"extends: {way}\n", f"schema: {{$ref: {way}}}\n", f"tools: {way}\n"):
            asked = {"contract": text, "text": text, "file": f"{top}/good.yaml", "form": "json-schema", "reply": "{}"}
            for endpoint in desk.app._table:
                if {"contract", "text"} & set(endpoint.takes.__struct_fields__) and endpoint.method == "POST":
                    assert CANARY not in ask(desk.client, endpoint, asked).text, (endpoint.path, text)
    told = {"contract": "schema: upstreams.json\n", "file": f"{top}/good.yaml", "form": "json-schema"}
    assert "told" in desk.post("/instructions", told)["text"], "a schema of upstreams is a schema"
    assert "linked.yaml" not in desk.client.get("/contracts").text


# -- tenants -------------------------------------------------------------------------------


def test_a_key_of_one_tenant_may_not_ask_for_another(served: Any, tmp_path: Path) -> None:
    """Wherever a tenant can be chosen: a tenant's own numbers under another name would be wrong."""
    (tmp_path / "good.yaml").write_text("name: good\nschema: {type: object}\n")
    open_store(tmp_path / "v.db").close()
    keys = (*KEYS, Key("one", digest_of("secret-of-one"), "editor", "mine"))
    desk: Desk = served(keys=keys, folders=(tmp_path,), store=str(tmp_path / "v.db"))
    desk.client.headers["authorization"] = "Bearer secret-of-one"
    file = f"{tmp_path.name}/good.yaml"
    given = {"file": file, "contract": "good", "suggestions": [], "after": "1.a", "text": "schema: {type: array}"}
    choosing = [each for each in desk.app._table if "tenant" in each.takes.__struct_fields__]
    assert len(choosing) >= 7
    for endpoint in choosing:
        other = ask(desk.client, endpoint, {**given, "tenant": CANARY})
        assert (other.status_code, other.json()["error"]["code"]) == (403, "no_right"), endpoint.path
        assert ask(desk.client, endpoint, {**given, "tenant": "mine"}).status_code != 403, endpoint.path


def test_a_key_of_one_tenant_sees_nothing_of_others(served: Any, tmp_path: Path) -> None:
    file = tmp_path / "files" / "shared.yaml"
    file.parent.mkdir()
    file.write_text("name: shared\nschema: {type: object, required: [name]}\n")
    shared = Contract.load(file)
    ids: dict[str, str] = {}
    with open_store(tmp_path / "v.db", keep_context=True) as store:
        for tenant in ("mine", CANARY):
            for at in range(3):
                mark = "mine" if tenant == "mine" else CANARY
                text = f'{{"note": "{mark}"}}' if at else f'{{"name": "{mark}"}}'
                ids[tenant] = new_id()
                store.note(
                    Note(
                        ids[tenant], shared.check(text), f"r-{mark}-{at}", 1, tenant, f"u-{mark}", f"m-{mark}", "shared", f"s-{mark}", "ok", 1, 0.1,
                        fingerprint=shared.fingerprint, rules=shared, conversation=f"c-{mark}", context={"state": f"s-{mark}", "input": mark},
                    )
                )  # fmt: skip
                store.record_feedback(ids[tenant], helpful=False, user=f"p-{mark}", note=f"n-{mark}")
            store.quota.set_limit(tenant, 10)
    keys = (*KEYS, Key("one", digest_of("secret-of-one"), "editor", "mine"))
    desk: Desk = served(keys=keys, folders=(file.parent,), store=str(tmp_path / "v.db"))
    everything = desk.client.get("/verdicts").text
    assert CANARY in everything
    assert ids[CANARY] in everything
    with httpx.Client(base_url=f"{desk.url}/api", headers={"authorization": "Bearer secret-of-one"}, timeout=60) as one:
        assert one.get("/about").json()["tenant"] == "mine"
        rows = one.get("/verdicts").json()["rows"]
        assert {row["tenant"] for row in rows} == {"mine"}
        for endpoint in desk.app._table:
            if endpoint.path.startswith(("/runs", "/judge", "/replay", "/examples")):
                continue
            for given in (
                {}, {"tenant": CANARY}, {"id": ids[CANARY]}, {"name": "shared"}, {"facet": "tenant"}, {"facet": "model"}, {"facet": "state"},
                {"text": ""}, {"conversation": f"c-{CANARY}"}, {"file": "files/shared.yaml", "text": "name: shared\nschema: {type: array}\n"},
                {"items": [{"verdict": ids[CANARY], "outcome": "right"}]},
            ):  # fmt: skip
                if given and not set(given) & set(endpoint.takes.__struct_fields__):
                    continue
                answer = ask(one, endpoint, {"contract": "shared", "text": "", "file": "files/shared.yaml", **given})
                told = (
                    answer.text.replace(f'"{CANARY}"', "").replace(f"'{CANARY}'", "")
                    if "tenant" in given
                    else answer.text
                )
                for mark in ("m-", "s-", "c-", "u-", "p-", "n-", "r-"):
                    assert f"{mark}{CANARY}" not in told, (endpoint.path, given, answer.text[:3000])
                assert CANARY not in told.replace(f"c-{CANARY}", ""), (endpoint.path, given, answer.text[:3000])
                assert answer.status_code < 500, (endpoint.path, given, answer.text)
    with open_store(tmp_path / "v.db") as store:
        assert {each["user"] for each in store.feedback(ids[CANARY])} == {f"p-{CANARY}"}, "nobody else labelled it"


def shared_store(path: Path, contract: Contract[Any], tenants: tuple[str, ...]) -> None:
    """Six verdicts of each tenant, a millisecond apart, under ids of conversations, requests and people that all tenants share."""
    now = [0]
    with open_store(path, keep_context=True, clock=lambda: now[0]) as store:
        for tenant in tenants:
            for at in range(6):
                now[0] = _LONG_AGO + at * 2000 + 1000 * (tenant != "mine")
                own, name = tenant if at > 3 else "all", f"{tenant}{at}".ljust(32, "0")
                reply = '{"note": "x"}' if at % 2 else '{"name": "x"}'
                store.note(
                    Note(
                        name, contract.check(reply), f"r-{at}", 1, tenant, "u", f"m-{own}", "shared", f"s-{own}", "ok", 1, 0.1,
                        fingerprint=contract.fingerprint, rules=contract, conversation="c", context={"state": "s"},
                    )
                )  # fmt: skip
                said = "right" if tenant == "mine" else "wrong"
                store.record_all(
                    [Said(name, user="one", outcome=said), Said(name, user="two", outcome=said, subject="code:V002")]
                )
            store.quota.set_limit(tenant, 10)


_LONG_AGO = 1_790_000_000_000_000


def test_answers_for_one_tenant_do_not_depend_on_other_tenants(served: Any, tmp_path: Path) -> None:
    """Not a name, not a number: a store without the other tenants gives the same answers."""
    file = tmp_path / "files" / "shared.yaml"
    file.parent.mkdir()
    file.write_text("name: shared\nschema: {type: object, required: [name]}\n")
    shared = Contract.load(file)
    shared_store(tmp_path / "alone.db", shared, ("mine",))
    shared_store(tmp_path / "among.db", shared, ("mine", "aaaa", "zzzz"))
    keys = (*KEYS, Key("one", digest_of("secret-of-one"), "editor", "mine"))
    desks: list[Desk] = [
        served(keys=keys, folders=(file.parent,), store=str(tmp_path / name)) for name in ("alone.db", "among.db")
    ]
    for desk in desks:
        desk.client.headers["authorization"] = "Bearer secret-of-one"
    mine, other = "mine0".ljust(32, "0"), "aaaa0".ljust(32, "0")
    facets = ("model", "contract", "state", "tenant", "outcome", "ok", "code", "rule", "label")
    more: list[dict[str, Any]] = [
        {}, {"id": mine}, {"id": other}, {"labelled": True}, {"label": "wrong"}, {"conversation": "c"}, {"text": "x"}, {"patient": True},
        {"model": "m-aaaa"}, {"name": "shared"}, {"name": "shared", "since": "2026-01-01"}, {"name": "shared", "by": "hour"}, {"after": f"1.{other}"},
        {"cursor": f"{_LONG_AGO + 5000}.{other}"}, *({"facet": facet} for facet in facets), *({"window": each} for each in ("5m", "7d")),
    ]  # fmt: skip
    asked = 0
    for endpoint in desks[0].app._table:
        if endpoint.right != "read" or endpoint.path.startswith(("/runs", "/judge", "/tune")):
            continue
        for given in more:
            if set(given) <= set(endpoint.takes.__struct_fields__):
                usual = {
                    "file": "files/shared.yaml",
                    "text": "name: shared\nschema: {type: array}\n",
                    "contract": "shared",
                }
                if endpoint.method == "GET":
                    answers = [
                        desk.client.get(
                            _filled(endpoint.path, given), params=given if "{" not in endpoint.path else None
                        )
                        for desk in desks
                    ]
                else:
                    answers = [ask(desk.client, endpoint, {**usual, **given}) for desk in desks]
                told = [_untimed(answer.text) for answer in answers]
                assert told[0] == told[1], (endpoint.path, given)
                asked += answers[0].status_code == 200
    assert asked > 40


def _filled(path: str, given: dict[str, Any]) -> str:
    return re.sub(r"{(\w+)[^}]*}", lambda found: str(given.get(found[1], "x")), path)


def _untimed(text: str) -> list[str]:
    """The content of an answer, without durations and times."""
    lines = [line for line in text.splitlines() if not line.startswith(('{"working"', '{"progress"'))]
    return [re.sub(r'"(took|seconds|now|since|times|per_minute)":(\[[^\]]*\]|[\d.e-]+)', "", line) for line in lines]


# -- other sites ---------------------------------------------------------------------------


@contextlib.contextmanager
def another_site(page: str) -> Iterator[str]:
    """A site on another port of this machine: another origin, but the same site for cookies."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = page.encode()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(20)


SITE = """<!doctype html><iframe name=sink></iframe><script>
const studio = new URLSearchParams(location.search).get("studio");
const results = [];
const attempt = async (name, work) => { try { results.push([name, String(await work())]); } catch { results.push([name, "refused"]); } };
const loads = (tag, url) => new Promise((done) => {
  const made = document.createElement(tag);
  made.onload = () => done("loaded"); made.onerror = () => done("refused");
  made[tag === "link" ? "href" : "src"] = url; if (tag === "link") made.rel = "stylesheet"; document.body.append(made);
});
const posts = (enctype) => new Promise((done) => {
  const form = document.createElement("form"); form.method = "post"; form.action = studio + "/api/write"; form.enctype = enctype; form.target = "sink";
  const field = document.createElement("input"); field.name = '{"text": "form", "x": "'; field.value = '"}'; form.append(field);
  document.querySelector("[name=sink]").onload = () => done("sent");
  document.body.append(form); form.submit();
});
// Until an opened page is no longer the empty one, which belongs to its opener.
const arrival = async (page) => {
  for (;;) {
    try { if (page.closed || page.location.href !== "about:blank") return; } catch { return; }
    await new Promise((done) => setTimeout(done, 20));
  }
};
(async () => {
  const write = {method: "POST", credentials: "include", body: '{"text": "fetch"}'};
  const json = {"content-type": "application/json", "x-trueup-studio": "1"};
  await attempt("read", async () => (await fetch(studio + "/api/secret", {credentials: "include"})).text());
  await attempt("read no-cors", async () => (await fetch(studio + "/api/secret", {mode: "no-cors", credentials: "include"})).text());
  await attempt("write", async () => (await fetch(studio + "/api/write", {...write, headers: json})).text());
  await attempt("write plain", async () => (await fetch(studio + "/api/write", {...write, mode: "no-cors", headers: {"content-type": "text/plain"}})).status);
  await attempt("beacon", () => navigator.sendBeacon(studio + "/api/write", '{"text": "beacon"}'));
  await attempt("script", () => loads("script", studio + "/api/secret"));
  await attempt("img", () => loads("img", studio + "/api/secret"));
  await attempt("style", () => loads("link", studio + "/api/secret"));
  await attempt("token", () => loads("img", studio + "/?token=guess"));
  for (const enctype of ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"]) await attempt(enctype, () => posts(enctype));
  const frame = document.createElement("iframe"); frame.src = studio + "/try"; document.body.append(frame);
  await arrival(frame.contentWindow);
  await attempt("frame", () => frame.contentDocument.body.innerText.length);
  const opened = window.open(studio + "/try");
  await arrival(opened);
  await attempt("window", () => opened.document.body.innerText.length);
  window.results = Object.fromEntries(results);
})();
</script>"""


@pytest.mark.needs("browser")
def test_a_page_from_another_origin_can_neither_read_nor_write(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    seen: list[str] = []

    class Text(Nothing, frozen=True):
        text: str = ""

    def write(studio: Any, asked: Text, who: Key) -> dict[str, str]:
        """Write."""
        written.append(asked.text)
        return {"done": "yes"}

    def secret(studio: Any, asked: Nothing, who: Key) -> dict[str, str]:
        """Read."""
        seen.append(who.name)
        return {"secret": CANARY}

    table = [Endpoint("POST", "/write", "edit", write, Text), Endpoint("GET", "/secret", "read", secret)]
    monkeypatch.setattr("trueup.studio.app.endpoints", lambda: table)
    app = Application(StudioSettings(keys=KEYS))
    with serving(app) as url, another_site(SITE) as other:
        desk = Desk(app, url, "editor")
        context = browser.new_context()
        tab = context.new_page()
        tab.goto(desk.address("/try"))
        own = "() => fetch('/api/write', {method: 'POST', headers: {'x-trueup-studio': '1'}, body: '{\"text\": \"own\"}'}).then((answer) => answer.status)"
        assert tab.evaluate(own) == 200
        assert tab.evaluate("() => fetch('/api/secret').then((answer) => answer.status)") == 200
        for site in (other, other.replace("127.0.0.1", "localhost")):
            stranger = context.new_page()
            stranger.goto(f"{site}/?studio={quote(url)}")
            stranger.wait_for_function("window.results")
            results = stranger.evaluate("window.results")
            assert CANARY not in json.dumps(results)
            assert (
                results["read"]
                == results["write"]
                == results["script"]
                == results["img"]
                == results["style"]
                == "refused"
            )
            assert results["frame"] == results["window"] == "refused"
            stranger.close()
        assert written == ["own"]
        assert seen == ["editor"]
        desk.client.close()
        context.close()


# -- script in what is shown ---------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A studio with a hostile store, and hostile files, runs and names."""
    top = tmp_path_factory.mktemp("hostile")
    folder = top / f"{IMG} folder"
    folder.mkdir()
    contract = folder / f"{IMG}.yaml"
    contract.write_text(
        json.dumps({
            "name": HOSTILE, "description": HOSTILE, "schema": {"type": "object", "title": HOSTILE, "properties": {IMG: {"type": "integer", "description": HOSTILE}}, "required": [IMG]},
            "rules": [{"name": IMG, "must": "true == false", "message": HOSTILE}], "states": {IMG: {}}, "start": IMG,
        }), "utf-8",
    )  # fmt: skip
    (folder / f"broken {IMG}.yaml").write_text(f"{HOSTILE}: [\n", "utf-8")
    (folder / "plain.yaml").write_text("name: plain\nschema: {type: object, required: [a]}\n", "utf-8")
    plain = Contract.load(folder / "plain.yaml")
    plain.name = HOSTILE
    rows = [{"id": f"{text} {at}", "reply": f'{{"b": {json.dumps(text)}}} {text}'} for at, text in enumerate(TEXTS)]
    (folder / f"{IMG}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    for out in (f"sifted {IMG}", "other"):
        sift([str(folder / f"{IMG}.jsonl")], spec_of(plain), folder / out)
    with open_store(top / "v.db", keep_context=True) as store:
        for at, text in enumerate(TEXTS):
            verdict = plain.check(f'{text} ```json\n{{"b": {json.dumps(text)},}}\n```')
            store.note(
                Note(
                    f"id {text} {at}".replace("/", ""), verdict, f"r{at} {text}", 1, text, text, text, HOSTILE, text, text, 1, 0.1, 5,
                    fingerprint=plain.fingerprint, rules=plain, conversation=text, context={"state": text, "input": text},
                )
            )  # fmt: skip
            store.quota.set_limit(text, 10)
    with open_store(top / "v.db") as store:
        for row in store.verdicts():
            store.record_feedback(row.id, helpful=False, user=HOSTILE, note=HOSTILE)
    app = Application(StudioSettings(keys=KEYS, folders=(folder,), store=str(top / "v.db")))
    with serving(app) as url:
        desk = Desk(app, url, "editor")
        yield desk
        desk.client.close()
    app.close()


QUERY = quote(HOSTILE)
VISITS = [
    "/try", f"/try?file={QUERY}", f"/try#{QUERY}", "/verdicts", f"/verdicts?model={QUERY}&text={QUERY}&code={QUERY}&cursor={QUERY}", f"/verdicts/{QUERY}",
    "/contracts", f"/contracts/{QUERY}?tab={QUERY}", "/runs", f"/runs/{QUERY}", f"/runs?a={QUERY}&b={QUERY}", "/live", f"/live?window={QUERY}", "/tune",
    f"/tune/{QUERY}", f"/{QUERY}", f"/sign-in?to={QUERY}&failed={QUERY}",
]  # fmt: skip
CHECK = """() => ({
  pwned: window.__pwned, made: document.querySelectorAll("img[src=x], iframe, script:not([src]), [onerror], [onload], [onfocus], object, embed").length,
  ways: [...document.querySelectorAll("a[href], form[action]")].map((each) => each.href ?? each.action).filter((way) => !way.startsWith(location.origin)),
})"""
SAFE = {"pwned": None, "made": 0, "ways": []}


@pytest.mark.needs("browser")
@pytest.mark.spec("X21")
def test_no_text_becomes_script_in_any_view(hostile: Desk, look: Any) -> None:
    tab = look(hostile, "/try", fails=("/api/", "/%3C"))
    dialogs: list[str] = []
    tab.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    shown = ""
    waiting = list(VISITS)
    seen: set[str] = set()
    kinds: dict[str, int] = {}
    while waiting:
        way = waiting.pop(0)
        if way in seen:
            continue
        seen.add(way)
        tab.goto(way if way.startswith("http") else f"{hostile.url}{way}")
        tab.wait_for_selector("main")
        tab.wait_for_load_state("networkidle")
        assert tab.evaluate(CHECK) == SAFE, way
        shown += tab.inner_text("body")
        for link in tab.eval_on_selector_all("main a[href]", "links => links.map((link) => link.href)"):
            kind = re.sub(r"[^/?&=]*%[^/?&=]*", "*", link.removeprefix(hostile.url).partition("#")[0])[:60]
            if (
                link.startswith(hostile.url)
                and "/api/" not in link
                and kinds.get(kind, 0) < 1
                and len(seen) + len(waiting) < 45
            ):
                kinds[kind] = kinds.get(kind, 0) + 1
                waiting.append(link)
    assert dialogs == []
    assert IMG in shown, "the hostile text was shown, as text"
    assert len(seen) > len(VISITS), "links were followed"


@pytest.mark.needs("browser")
@pytest.mark.spec("X21")
def test_a_hostile_reply_and_contract_stay_text_in_try(hostile: Desk, look: Any) -> None:
    tab = look(hostile, "/try", fails=("/api/",))
    editors = tab.locator(".cm-content, textarea")
    editors.first.wait_for()
    for at in range(editors.count()):
        editor = editors.nth(at)
        if not editor.is_visible():
            continue
        editor.click()
        tab.keyboard.press("Control+a")
        tab.keyboard.insert_text(
            f"{HOSTILE}\n" if at == 0 else json.dumps({"name": HOSTILE, "schema": {"required": [IMG]}})
        )
        tab.keyboard.press("Control+Space")
        tab.wait_for_load_state("networkidle")
        assert tab.evaluate(CHECK) == SAFE
        tab.keyboard.press("Escape")
    for selector in ("[role=tab]", "main summary", "main button:not([type=submit])"):
        for each in tab.locator(selector).all()[:20]:
            with contextlib.suppress(PlaywrightError):  # an earlier click may have removed it
                if each.is_visible() and "Save" not in each.inner_text(timeout=500):
                    each.hover(timeout=500)
                    each.click(timeout=500)
            if tab.locator("dialog[open]").count():
                tab.keyboard.press("Escape")
            assert tab.evaluate(CHECK) == SAFE


def test_no_page_contains_the_secrets_of_the_tests(hostile: Desk) -> None:
    with httpx.Client(base_url=hostile.url) as browser:
        browser.get(hostile.first_url)
        for path in ("/try", "/sign-in", "/api/about", "/api/openapi.json"):
            text = browser.get(path).text
            assert not any(secret in text for secret in SECRETS.values())
            assert not any(key.digest in text for key in KEYS)
