"""X25 from the words of the spec: a canary key is absent from every file, log, reply and store after every error path.

`trueup serve` runs as a separate process. The upstream repeats every header that it received in every place of an
answer that may contain text; no pattern can recognize the canaries.
"""

import base64
import contextlib
import itertools
import json
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.running import COMMAND, clean_environment, free_port
from tests.waiting import wait_for
from trueup import Contract
from trueup.gateway.config import Config, Route, Upstream
from trueup.gateway.keys import hash_of, new_key
from trueup.gateway.running import running
from trueup.gateway.settings import read_config
from trueup.testing.script import Cut, Fail, Hang, Raw, Reset, Say
from trueup.testing.server import ScriptedServer

pytestmark = pytest.mark.spec("X25")

UPSTREAM, HEADER, CLIENT, STORE, OTLP, ADDRESS, WRONG, TOKEN, AMAZON = (f"Zq7{name}Zq7canary" for name in (
    "upstream", "header", "client", "store", "otlp", "address", "wrong", "token", "amazon",
))  # fmt: skip
HASHED = new_key()
BASIC = base64.b64encode(f"ada:{ADDRESS}".encode()).decode()
SECRETS = (UPSTREAM, HEADER, CLIENT, STORE, OTLP, ADDRESS, WRONG, TOKEN, AMAZON, HASHED, hash_of(HASHED)[7:], BASIC)
ENVIRONMENT = {
    "UP": UPSTREAM, "HEAD": HEADER, "CLIENT": CLIENT, "HASH": hash_of(HASHED), "AWS": AMAZON, "PYTHONFAULTHANDLER": "1",
    "OTEL_EXPORTER_OTLP_HEADERS": f"authorization={OTLP}",
}  # fmt: skip
FILE = """
store: "{store}"
upstreams:
  main: {{url: "{url}", key: $UP, private: true, headers: {{x-token: $HEAD}}}}
  also: {{url: "{url}", protocol: anthropic, key: $UP, private: true, headers: {{x-token: $HEAD}}}}
  basic: {{url: "{basic}", private: true, headers: {{x-token: $HEAD}}}}
  azure: {{url: "{url}", private: true, auth: {{kind: azure, token: {{file: token}}}}}}
  bedrock: {{url: "{url}", private: true, auth: {{kind: bedrock, region: eu-1, access_key: AKIAEXAMPLE, secret_key: $AWS, session_token: $AWS}}}}
  down: {{url: "http://127.0.0.1:9", key: $UP, private: true}}
models: {{"basic": basic, "down": down}}
contracts: {{person: person.yaml, buggy: buggy.yaml}}
routes:
  - {{name: strict, models: [strict], contract: person, policy: {{repairs: 1, deadline: 1, timeout: 0.5, retries: 0}}}}
  - {{name: buggy, models: [buggy], contract: buggy}}
  - {{name: basic, models: [basic], upstream: basic}}
  - {{name: azure, models: [azure], upstream: azure}}
  - {{name: bedrock, models: [bedrock], upstream: bedrock}}
  - {{name: down, models: [down], upstream: down}}
clients: [{{key: $CLIENT, tenant: acme}}, {{hash: $HASH, name: web, tenant: acme}}]
limits: {{total_seconds: 0.7, reply: 100000}}
telemetry: true
quota: true
logs: {{access: access.log, verdicts: judged.log}}
"""


def echo(request: Any) -> Any:
    """Repeats the request, in the place that the question names."""
    said = " ".join(f"{name}: {value}" for name, value in request.headers.items())
    where = str(request.json.get("messages", [{}])[-1].get("content", "")) if request.json else ""
    body = json.dumps({"error": {"message": f"rejected: {said} {where}", "code": said, "type": said}})
    kind = where.partition(" ")[0]
    return {
        "401": Raw(body, status=401), "400": Raw(body, status=400), "429": Raw(body, status=429), "500": Fail(500, said),
        "html": Raw(f"<html>{said}</html>", 502, "text/html"), "bytes": Raw(said.encode() + b"\xff", 500),
        "json": Raw(f'{{"x": "{said}"'), "reset": Reset(), "hang": Hang(), "cut": Cut(f'{{"name": "{said}"}}'),
        "text": Say(f"you sent {said} {where}", piece=99999), "value": Say(json.dumps({"name": said, "age": where}), piece=99999),
        "valid": Say(json.dumps({"name": said + where, "age": 3}), piece=99999),
    }.get(kind, Say('{"name": "Ada", "age": 36}'))  # fmt: skip


KINDS = ("401", "400", "429", "500", "html", "bytes", "json", "reset", "hang", "cut", "text", "value", "valid", "fine")


def write(folder: Path, url: str, store: str = "verdicts.db") -> Path:
    basic = url.replace("http://", f"http://ada:{ADDRESS}@")
    (folder / "gateway.yaml").write_text(FILE.format(url=url, basic=basic, store=store))
    person = "schema: {type: object, properties: {name: {type: string}, age: {type: integer}}, required: [name, age]}\n"
    (folder / "person.yaml").write_text(person)
    (folder / "token").write_text(TOKEN)
    (folder / "buggy.yaml").write_text(
        'schema: {type: object}\nrules: [{name: bug, expr: "1 / (age - 36) > 0 or name"}]\n'
    )
    return folder / "gateway.yaml"


def refuse_canaries(what: str, text: str | bytes) -> None:
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    found = [secret for secret in SECRETS if secret.encode() in data]
    assert not found, f"{what}: {found}"


@contextlib.contextmanager
def serving(folder: Path, *options: str, **environment: str) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """The gateway as a process; its output is in the file `log`."""
    port = free_port()
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [*COMMAND, "serve", "gateway.yaml", "--listen", f"127.0.0.1:{port}", *options],
            cwd=folder, env=clean_environment(**ENVIRONMENT, **environment), stdout=log, stderr=log,
        )  # fmt: skip
        url = f"http://127.0.0.1:{port}"

        def is_up() -> bool:
            assert process.poll() is None, (folder / "log").read_text()
            try:
                return httpx.get(f"{url}/healthz", timeout=30).status_code == 200
            except httpx.TransportError:
                return False

        try:
            wait_for(is_up)
            yield url, process
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(60)


@contextlib.contextmanager
def collecting() -> Iterator[tuple[str, list[str]]]:
    """A collector of spans that refuses them, and repeats the headers that came with them."""
    got: list[str] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            said = str(self.headers)
            got.append(said + self.rfile.read(int(self.headers["content-length"])).decode("latin-1"))
            self.send_response(400, said.replace("\r\n", " ").replace("\n", " "))
            self.end_headers()
            self.wfile.write(said.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def reload_faulty(folder: Path, url: str, process: "subprocess.Popen[bytes]") -> None:
    """Files with a fault, one after the other; the gateway reports each of them and continues as before."""
    for number, fault in enumerate(FAULTS, 1):
        (folder / "gateway.yaml").write_text(fault)
        process.send_signal(signal.SIGHUP)
        failed = re.compile(rf"^trueup_config_reload_failures_total {number}\b", re.MULTILINE)
        wait_for(lambda failed=failed: failed.search(httpx.get(f"{url}/metrics", timeout=60).text))  # type: ignore[misc]


def ask_everything(url: str, kinds: tuple[str, ...] = KINDS) -> int:
    """Every kind of answer, by each protocol, under a contract and without one, whole and streamed; how many replies came."""
    count = 0
    with httpx.Client(base_url=url, timeout=60) as client:
        keys = itertools.cycle([{"authorization": f"Bearer {CLIENT}"}, {"x-api-key": HASHED}, {"api-key": CLIENT}])
        for kind, model, path in itertools.product(kinds, ("strict", "free"), ("/v1/chat/completions", "/v1/messages")):
            for stream in (False, True):
                content = f"{kind} my key is {HASHED}" if kind in ("value", "valid") and model == "strict" else kind
                body = {
                    "model": model,
                    "max_tokens": 9,
                    "stream": stream,
                    "messages": [{"role": "user", "content": content}],
                }
                with contextlib.suppress(httpx.TransportError):  # a stream that breaks off
                    answer = client.post(path, json=body, headers={**next(keys), "x-trueup-include": "1"})
                    if HASHED in content:  # the client's own words, for the client alone
                        refuse_canaries(f"{kind} {model} {path}", answer.text.replace(HASHED, ""))
                    else:
                        refuse_canaries(f"{kind} {model} {path}", f"{answer.headers} {answer.text}")
                    count += 1
        for model, kind in itertools.product(("basic", "azure", "bedrock", "down", "buggy"), ("401", "text", "fine")):
            body = {"model": model, "messages": [{"role": "user", "content": kind}]}
            answer = client.post("/v1/chat/completions", json=body, headers=next(keys))
            refuse_canaries(f"{model} {kind}", f"{answer.headers} {answer.text}")
        for headers in (
            {"authorization": f"Bearer {WRONG}"},
            {"authorization": f"Basic {WRONG}"},
            {"x-api-key": WRONG},
            {},
        ):
            answer = client.post("/v1/chat/completions", json={"model": "free"}, headers=headers)
            assert answer.status_code == 401
            refuse_canaries("401", answer.text)
        for path in ("/", "/metrics", "/readyz", "/v1/models", "/openapi.json", "/nowhere", f"/{WRONG[:3]}/v1/chat"):
            refuse_canaries(path, client.get(path, headers=next(keys)).text)
    return count


def test_no_canary_is_in_any_reply_log_or_file_after_any_error(tmp_path: Path) -> None:
    with ScriptedServer(echo) as upstream, collecting() as (collector, collected):
        write(tmp_path, upstream.url)
        quick = {"OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_EXPORTER_OTLP_ENDPOINT": collector}
        with serving(tmp_path, **quick) as (url, process):
            assert ask_everything(url) > 80
            reload_faulty(tmp_path, url, process)
            assert ask_everything(url, ("401", "valid", "fine")) > 20
            wait_for(lambda: collected)
            process.send_signal(signal.SIGABRT)  # a crash, with a dump of every thread
            process.wait(60)
        seen = json.dumps([dict(request.headers) for request in upstream.requests])
    assert OTLP in collected[0]
    refuse_canaries("spans", " ".join(collected).replace(OTLP, ""))
    assert all(secret in seen for secret in (UPSTREAM, HEADER, BASIC, TOKEN, AMAZON)), (
        "the upstream had something to repeat"
    )
    assert not any(secret in seen for secret in (CLIENT, HASHED)), "a client's key is for the gateway alone"
    log = (tmp_path / "log").read_text()
    assert "Fatal Python error" in log
    for file in tmp_path.rglob("*"):
        data = file.read_bytes()
        if file.name not in ("gateway.yaml", "token"):
            refuse_canaries(file.name, data)
    assert all((tmp_path / name).stat().st_size > 1000 for name in ("access.log", "judged.log"))
    assert (tmp_path / "verdicts.db").stat().st_size > 20_000


def test_a_bug_in_a_check_repeats_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def broken(reply: Any) -> None:
        raise RuntimeError(f"a bug over {reply.text}")

    with ScriptedServer(echo) as upstream:
        up = Upstream("main", upstream.url, key=UPSTREAM, headers={"x-token": HEADER}, private=True)
        contract = Contract(True, checks=[broken], name="buggy")
        config = Config({"main": up}, (Route("buggy", ("*",), contract),), store=str(tmp_path / "s.db"))
        with running(config) as gateway:
            body = {"model": "m", "messages": [{"role": "user", "content": "text"}]}
            for path, more in (("/v1/chat/completions", {}), ("/v1/chat/completions", {"stream": True})):
                answer = httpx.post(gateway.url + path, json={**body, **more}, timeout=60)
                assert "contract_bug" in answer.text
                refuse_canaries(path, answer.text)
    refuse_canaries("log", caplog.text)
    assert "X001" in caplog.text
    for file in tmp_path.iterdir():
        refuse_canaries(file.name, file.read_bytes())


FAULTS = [
    f"upstreams: {{main: {UPSTREAM}}}",
    f"upstreams: {UPSTREAM}",
    f'upstreams: {{main: {{url: "https://ada:{ADDRESS}@m.example/v1/messages?key={UPSTREAM}"}}}}',
    f'upstreams: {{main: {{url: "ftp://ada:{ADDRESS}@m.example"}}}}',
    f'upstreams: {{main: {{url: "https://m.example", key: "{UPSTREAM}\\n"}}}}',
    f'upstreams: {{main: {{url: "https://m.example", key: [{UPSTREAM}]}}}}',
    f'upstreams: {{main: {{url: "https://m.example", headers: {HEADER}}}}}',
    f'upstreams: {{main: {{url: "https://m.example", headers: {{x: "{HEADER}\\r"}}}}}}',
    f'upstreams: {{main: {{url: "https://m.example", headers: {{x: {{y: {HEADER}}}}}}}}}',
    f'upstreams: {{main: {{url: "https://m.example"}}}}\nclients: {CLIENT}',
    f'upstreams: {{main: {{url: "https://m.example"}}}}\nclients: [{CLIENT}]',
    f'upstreams: {{main: {{url: "https://m.example"}}}}\nclients: [{{key: {CLIENT}}}]',
    f'upstreams: {{main: {{url: "https://m.example"}}}}\nclients: [{{key: {CLIENT}, hash: {CLIENT}, tenant: a}}]',
    f'upstreams: {{main: {{url: "https://m.example"}}}}\nclients: [{{keys: {CLIENT}, tenant: a}}, {{keys: [{CLIENT}], tenant: a}}]',
    f'upstreams: {{main: {{url: "https://m.example"}}}}\nclients: [{{key: {CLIENT}, tenant: a}}, {{key: {CLIENT}, tenant: b}}]',
    f'upstreams: {{main: {{url: "https://m.example"}}}}\nstore: mysql://trueup:{STORE}@db/x',
    f'upstreams: {{main: {{url: "https://m.example"}}}}\nstore: postgresql://trueup:{STORE}@db:x/x',
    f'upstreams: {{main: {{url: "https://m.example"}}}}\nstore: {{url: {STORE}}}',
    f'upstreams: {{main: {{url: "https://m.example", key: "{UPSTREAM}}}}}',
    f'upstreams: {{main: {{url: "https://m.example", key: {UPSTREAM}, key: {UPSTREAM}}}}}',
    f"upstreams:\n  main:\n    key: {UPSTREAM}\n   url: https://m.example",
]


@pytest.mark.parametrize("text", FAULTS)
def test_no_fault_of_a_file_repeats_a_canary(tmp_path: Path, text: str) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(text)
    config, faults = read_config(file, {})
    assert faults
    refuse_canaries("faults", " ".join(f"{fault} {fault!r}" for fault in faults))
    assert config is None
