"""Upstreams in clouds: the paths, keys, tokens and signatures that Azure, Bedrock and Vertex expect, checked by servers that insist on them."""

import base64
import contextlib
import json
import struct
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from tests.gateway.conftest import PERSON
from trueup import Contract
from trueup.ask.policy import Policy
from trueup.gateway.client.inflate import BadEncoding
from trueup.gateway.cloud.eventstream import Frames
from trueup.gateway.cloud.sigv4 import SignedAddress, signed
from trueup.gateway.cloud.tokens import bearer_of, until_of
from trueup.gateway.config import Access, AwsKeys, Config, Route, Spare, TokenSource, Upstream
from trueup.gateway.running import running
from trueup.gateway.settings import read_config
from trueup.testing.server import ScriptedServer

GOOD = '{"name":"Ada","age":36}'
KEYS = AwsKeys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "session-token-0123456789")
CONTRACT = Contract(PERSON, name="person")
CLAUDE = "anthropic.claude-haiku-4-5-20251001-v1:0"
WORDS: list[Any] = [{"role": "user", "content": "Who?"}]
MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5", "stop_reason": "end_turn",
    "stop_sequence": None, "content": [{"type": "text", "text": GOOD}], "usage": {"input_tokens": 9, "output_tokens": 7},
}  # fmt: skip
EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": GOOD}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 7}},
    {"type": "message_stop"},
]  # fmt: skip
Answer = tuple[int, str, bytes]
Handler = Callable[[str, dict[str, str], bytes], Answer]


@contextlib.contextmanager
def cloud(handler: Handler) -> Iterator[str]:
    """A server that answers each request with what a function makes of its path, headers and body."""

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            status, kind, said = handler(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def gateway(upstream: Upstream, model: str, contract: Contract | None = None, *spares: Upstream) -> Iterator[str]:
    known = {each.name: each for each in (upstream, *spares)}
    policy = Policy(otherwise="failed", backoff=0.01, retries=0)
    fallback = tuple(Spare(each.name) for each in spares)
    route = Route("all", ("*",), contract, upstream.name, policy, model=model, fallback=fallback)
    with running(Config(known, (route,))) as found:
        yield found.url


def frame(payload: bytes, headers: dict[str, str] | None = None) -> bytes:
    """A frame of an event stream, as AWS writes it."""
    given = {":event-type": "chunk", ":message-type": "event"} if headers is None else headers
    head = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in given.items()
    )
    lengths = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    whole = lengths + struct.pack(">I", zlib.crc32(lengths)) + head + payload
    return whole + struct.pack(">I", zlib.crc32(whole))


def framed(event: dict[str, Any]) -> bytes:
    return frame(json.dumps({"bytes": base64.b64encode(json.dumps(event).encode()).decode(), "p": "ab"}).encode())


STREAM = b"".join(map(framed, EVENTS))


def botocores(url: str, headers: dict[str, str], body: bytes) -> str:
    """The signature that botocore makes for the same request at the same time."""
    signer = SigV4Auth(Credentials(KEYS.access_key, KEYS.secret_key, KEYS.session_token), "bedrock", "eu-central-1")
    names = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    request = AWSRequest("POST", url, {name: headers[name] for name in names}, body)
    request.context["timestamp"] = headers["x-amz-date"]
    made: str = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    return made


# -- Bedrock -------------------------------------------------------------------------------------


@given(
    st.sampled_from([f"/model/{CLAUDE.replace(':', '%3A')}/invoke", "/openai/v1/chat/completions", "/model/arn%3Aaws%3Ax%2Fy/invoke", "/"]),
    st.binary(max_size=50), st.dictionaries(st.sampled_from(["Content-Type", "x-extra"]), st.sampled_from(["a", " b  c "])),
    st.sampled_from(["", "token/with+signs=="]),
)  # fmt: skip
def test_a_signature_equals_the_one_from_botocore(
    path: str, body: bytes, headers: dict[str, str], session: str
) -> None:
    keys = AwsKeys(KEYS.access_key, KEYS.secret_key, session)
    host = "bedrock-runtime.eu-central-1.amazonaws.com"
    ours = signed(
        SignedAddress(host, path, "eu-central-1"), body, headers, keys, datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    )
    assert ours["x-amz-date"] == "20260304T050607Z"
    assert f"Signature={botocores(f'https://{host}{path}', {**ours, 'host': host}, body)}" in ours["authorization"]
    assert session == ours.get("x-amz-security-token", "")


def bedrock(seen: list[tuple[str, dict[str, Any]]], stream: bytes = STREAM) -> Handler:
    """Bedrock, which lets in only what is signed as botocore signs it."""

    def answer(path: str, headers: dict[str, str], body: bytes) -> Answer:
        signature = botocores(f"http://{headers['host']}{path}", headers, body)
        if f"Signature={signature}" not in headers["authorization"]:
            return 403, "application/json", b'{"message": "The request signature we calculated does not match"}'
        asked = json.loads(body)
        seen.append((path, asked))
        if "model" in asked or "stream" in asked or asked.get("anthropic_version") != "bedrock-2023-05-31":
            return 400, "application/json", b'{"message": "Malformed input request"}'
        if path.endswith("/invoke"):
            return 200, "application/json", json.dumps(MESSAGE).encode()
        return 200, "application/vnd.amazon.eventstream", stream

    return answer


@pytest.mark.parametrize("contract", [CONTRACT, None])
def test_bedrock_gets_signed_requests_whole_and_streamed(contract: Contract | None) -> None:
    seen: list[tuple[str, dict[str, Any]]] = []
    with cloud(bedrock(seen)) as url:
        access = Access("bedrock", region="eu-central-1", aws=KEYS)
        upstream = Upstream("aws", url, "anthropic", access=access, responses=False, private=True)
        with (
            gateway(upstream, CLAUDE, contract) as base,
            anthropic.Anthropic(base_url=base, api_key="any", default_headers={"anthropic-beta": "one,two"}) as claude,
            openai.OpenAI(base_url=f"{base}/v1", api_key="any") as chat,
        ):
            said = claude.messages.create(model="m", max_tokens=50, messages=WORDS)
            assert said.content[0].text == GOOD
            with claude.messages.stream(model="m", max_tokens=50, messages=WORDS) as events:
                assert events.get_final_message().content[0].text == GOOD
            assert chat.chat.completions.create(model="m", messages=WORDS).choices[0].message.content == GOOD
            assert chat.responses.create(model="m", input="Who?").output_text == GOOD
    name = CLAUDE.replace(":", "%3A")
    invoked, streamed = f"/model/{name}/invoke", f"/model/{name}/invoke-with-response-stream"
    assert [path for path, _ in seen] == [invoked, streamed, invoked, invoked]
    assert seen[0][1]["anthropic_beta"] == ["one", "two"]


def test_bedrock_accepts_a_key_or_credentials_from_a_command(tmp_path: Path) -> None:
    seen: list[tuple[str, dict[str, Any]]] = []
    script = tmp_path / "credentials.py"
    printed = {
        "Version": 1, "AccessKeyId": KEYS.access_key, "SecretAccessKey": KEYS.secret_key,
        "SessionToken": KEYS.session_token, "Expiration": "2099-01-01T00:00:00Z",
    }  # fmt: skip
    script.write_text(f"print('''{json.dumps(printed)}''')")
    source = TokenSource((sys.executable, str(script)))
    with cloud(bedrock(seen)) as url:
        access = Access("bedrock", region="eu-central-1", token=source)
        with gateway(Upstream("aws", url, "anthropic", access=access, private=True), CLAUDE) as base:
            body = {"model": "m", "max_tokens": 9, "messages": WORDS}
            assert httpx.post(f"{base}/v1/messages", json=body).json()["content"] == MESSAGE["content"]
    with ScriptedServer(then=GOOD, key="bedrock-api-key-0123") as server:
        access = Access("bedrock", key="bedrock-api-key-0123", region="eu-central-1")
        with gateway(
            Upstream("aws", server.url, access=access, private=True), "openai.gpt-oss-20b-1:0", CONTRACT
        ) as base:
            got = httpx.post(f"{base}/v1/chat/completions", json={"model": "m", "messages": WORDS})
            assert got.status_code == 200
            assert server.requests[0].path == "/openai/v1/chat/completions"
            assert server.requests[0].json["model"] == "openai.gpt-oss-20b-1:0"


@given(st.lists(st.integers(1, len(STREAM) - 1), max_size=6))
def test_frames_are_the_same_however_they_are_split(cuts: list[int]) -> None:
    frames = Frames()
    places = [0, *sorted(set(cuts)), len(STREAM)]
    out = b"".join(frames.feed(STREAM[a:b]) for a, b in pairwise(places))
    frames.end()
    assert [json.loads(line[6:]) for line in out.decode().splitlines() if line.startswith("data: ")] == EVENTS


@pytest.mark.parametrize(
    "data",
    [
        STREAM[:-1], STREAM[:40], b"\x00" * 16, STREAM[:20] + b"\xff" + STREAM[21:], frame(b"{}"), frame(b'{"bytes": 5}'),
        frame(b"not json"), frame(b'{"bytes": "!!"}'), struct.pack(">III", 2**31, 4, zlib.crc32(struct.pack(">II", 2**31, 4))) + b"xxxx",
    ],
)  # fmt: skip
def test_a_broken_frame_is_an_error(data: bytes) -> None:
    frames = Frames()

    def read() -> None:
        frames.feed(data)
        frames.end()

    with pytest.raises(BadEncoding):
        read()


def test_a_failing_bedrock_stream_is_an_error_for_the_client() -> None:
    failed = frame(
        b'{"message": "Too many requests"}', {":exception-type": "throttlingException", ":message-type": "exception"}
    )
    assert b'"rate_limit_error"' in Frames().feed(failed)
    for stream in (framed(EVENTS[0]) + failed, STREAM[:-5]):
        with cloud(bedrock([], stream)) as url:
            access = Access("bedrock", region="eu-central-1", aws=KEYS)
            with gateway(Upstream("aws", url, "anthropic", access=access, private=True), CLAUDE) as base:
                body = {"model": "m", "max_tokens": 9, "messages": WORDS, "stream": True}
                got = httpx.post(f"{base}/v1/messages", json=body)
                assert "event: error" in got.text
                assert "event: message_stop" not in got.text


# -- Azure ---------------------------------------------------------------------------------------


def test_azure_gets_requests_for_a_deployment_and_version_or_at_the_newer_paths() -> None:
    with ScriptedServer(then=GOOD) as server:
        for version, path in (
            ("2024-10-21", "/openai/deployments/small/chat/completions"),
            ("", "/openai/v1/chat/completions"),
        ):
            access = Access("azure", key="azure-key-0123456789", version=version)
            with gateway(Upstream("azure", server.url, access=access, private=True), "small", CONTRACT) as base:
                for stream in (False, True):
                    body = {"model": "m", "messages": WORDS, "stream": stream}
                    assert httpx.post(f"{base}/v1/chat/completions", json=body).status_code == 200
                    request = server.requests[-1]
                    assert (request.path, request.headers["api-key"]) == (path, "azure-key-0123456789")
                    assert "authorization" not in request.headers
                    assert request.query == ({"api-version": version} if version else {})
        with gateway(Upstream("azure", server.url, access=access, private=True), "small") as base:
            assert httpx.post(f"{base}/v1/responses", json={"model": "m", "input": "Who?"}).status_code == 200
            assert server.requests[-1].path == "/openai/v1/responses"


def test_a_token_from_a_command_is_used_until_it_expires_and_redacted(tmp_path: Path) -> None:
    count, script = tmp_path / "count", tmp_path / "token.py"
    script.write_text(
        "import json, pathlib, sys\n"
        f"path = pathlib.Path({str(count)!r})\n"
        "n = len(path.read_text()) if path.exists() else 0\n"
        "path.write_text('x' * (n + 1))\n"
        "lasts = 61 if n == 0 else 7200\n"  # a minute before its end a token is fetched again
        "print(json.dumps({'accessToken': f'entra-token-{n:04}', 'expires_in': lasts}))\n"
    )
    given: list[str] = []

    def azure(_: str, headers: dict[str, str], body: bytes) -> Answer:
        given.append(headers["authorization"])
        return 418, "application/json", json.dumps({"error": {"message": f"odd: {headers['authorization']}"}}).encode()

    access = Access("azure", token=TokenSource((sys.executable, str(script))))
    with cloud(azure) as url, gateway(Upstream("azure", url, access=access, private=True), "small") as base:
        while "Bearer entra-token-0001" not in given[-1:]:
            got = httpx.post(f"{base}/v1/chat/completions", json={"model": "m", "messages": WORDS})
            assert "entra-token" not in got.text
            assert "[key]" in got.text
        httpx.post(f"{base}/v1/chat/completions", json={"model": "m", "messages": WORDS})
    assert given[0] == "Bearer entra-token-0000"
    assert given[-1] == "Bearer entra-token-0001"
    assert count.read_text() == "xx"


@pytest.mark.parametrize("contract", [CONTRACT, None])
def test_an_upstream_without_a_token_is_skipped(contract: Contract | None) -> None:
    source = TokenSource((sys.executable, "-c", "print('secret words'); raise SystemExit(3)"))
    access = Access("azure", token=source)
    with ScriptedServer(then=GOOD) as server:
        azure, spare = (
            Upstream("azure", server.url, access=access, private=True),
            Upstream("spare", server.url, private=True),
        )
        body = {"model": "m", "messages": WORDS}
        with gateway(azure, "small", contract, spare) as base:
            assert httpx.post(f"{base}/v1/chat/completions", json=body).headers["x-trueup-upstream"] == "spare"
        with gateway(azure, "small", contract) as base:
            got = httpx.post(f"{base}/v1/chat/completions", json=body)
            assert got.status_code == 502
            assert "ended with status 3" in got.text
            assert "secret words" not in got.text


@pytest.mark.parametrize(
    ("printed", "token", "lasts"),
    [
        ("plain", "plain", 300.0), ('{"access_token": "a", "expires_in": 100}', "a", 100.0), ('{"token": "a"}', "a", 300.0),
        ('{"accessToken": "a", "expires_on": 4102444800}', "a", None), ('{"accessToken": "a", "expiresOn": "2100-01-01 00:00:00"}', "a", None),
        ("{not json", "", 300.0), ("{}", "", 300.0),
    ],
)  # fmt: skip
def test_the_output_of_a_command_is_read(printed: str, token: str, lasts: float | None) -> None:
    assert bearer_of(printed) == token
    assert until_of(printed, 300.0, 1_000.0) == (4_102_444_800.0 if lasts is None else 1_000.0 + lasts)


# -- Vertex --------------------------------------------------------------------------------------


def test_vertex_gets_requests_for_claude_and_gemini_with_a_token_from_the_metadata_server() -> None:
    seen: list[tuple[str, dict[str, Any]]] = []

    def vertex(path: str, headers: dict[str, str], body: bytes) -> Answer:
        if path.startswith("/computeMetadata/"):
            known = headers.get("metadata-flavor") == "Google"
            return (200 if known else 403), "application/json", b'{"access_token": "ya29.token", "expires_in": 3599}'
        if headers.get("authorization") != "Bearer ya29.token":
            return 401, "application/json", b'{"error": {"message": "who?", "code": 401}}'
        asked = json.loads(body)
        seen.append((path, asked))
        if path.endswith(":streamRawPredict"):
            events = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in EVENTS)
            return 200, "text/event-stream", events.encode()
        if path.endswith(":rawPredict"):
            return 200, "application/json", json.dumps(MESSAGE).encode()
        choice = {"index": 0, "message": {"role": "assistant", "content": GOOD}, "finish_reason": "stop"}
        return 200, "application/json", json.dumps({"id": "x", "choices": [choice], "model": "gemini"}).encode()

    with cloud(vertex) as url:
        access = Access("vertex", project="p-1", region="europe-west1", token=TokenSource(metadata=True), server=url)
        claude = Upstream("vertex", url, "anthropic", access=access, responses=False, private=True)
        with gateway(claude, "claude-haiku-4-5@20251001", CONTRACT) as base:
            body = {"model": "m", "max_tokens": 9, "messages": WORDS}
            assert httpx.post(f"{base}/v1/messages", json=body).status_code == 200
            assert httpx.post(f"{base}/v1/messages", json={**body, "stream": True}).status_code == 200
        where = "/v1/projects/p-1/locations/europe-west1/publishers/anthropic/models/claude-haiku-4-5@20251001"
        assert [path for path, _ in seen] == [f"{where}:rawPredict", f"{where}:streamRawPredict"]
        assert all(asked["anthropic_version"] == "vertex-2023-10-16" and "model" not in asked for _, asked in seen)
        seen.clear()
        gemini = Upstream("vertex", url, access=access, responses=False, private=True)
        with gateway(gemini, "google/gemini-2.5-flash") as base:
            assert httpx.post(f"{base}/v1/chat/completions", json={"model": "m", "messages": WORDS}).status_code == 200
            got = httpx.post(f"{base}/v1/responses", json={"model": "m", "input": "Who?"})
            assert got.json()["output"][0]["content"][0]["text"] == GOOD
        assert {path for path, _ in seen} == {
            "/v1/projects/p-1/locations/europe-west1/endpoints/openapi/chat/completions"
        }
        assert {asked["model"] for _, asked in seen} == {"google/gemini-2.5-flash"}


# -- the file --------------------------------------------------------------------------------------


def test_the_file_configures_a_cloud_and_missing_settings_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(
        f"""
upstreams:
  a: {{url: "https://x.openai.azure.com/openai/v1/", auth: azure, key: $AZURE}}
  b: {{auth: {{kind: azure, version: "2024-10-21", token: {{command: [{sys.executable}, -V]}}}}, url: "https://y.openai.azure.com"}}
  c: {{auth: {{kind: bedrock, region: eu-west-1}}, protocol: anthropic}}
  d: {{auth: {{kind: vertex, project: p, region: global, token: {{metadata: true}}}}}}
  e: {{auth: {{kind: bedrock, region: eu-west-1, credentials: {{file: keys.json, seconds: 60}}}}}}
"""
    )
    environ = {"AZURE": "azure-key-0123456789", "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "aws-secret-0123"}
    config, faults = read_config(file, environ)
    assert faults == []
    assert config is not None
    urls = [upstream.url for upstream in config.upstreams.values()]
    assert urls == [
        "https://x.openai.azure.com", "https://y.openai.azure.com", "https://bedrock-runtime.eu-west-1.amazonaws.com",
        "https://aiplatform.googleapis.com", "https://bedrock-runtime.eu-west-1.amazonaws.com",
    ]  # fmt: skip
    assert {"azure-key-0123456789", "aws-secret-0123"} <= set(config.secrets())
    assert "aws-secret" not in repr(config)
    assert [upstream.responses for upstream in config.upstreams.values()] == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("auth: azurre", "auth must be one of azure, bedrock, vertex"), ("auth: azure", "azure needs a key or a token"),
        ("auth: azure, key: k, protocol: anthropic", "azure does not support Anthropic's protocol"),
        ("auth: {kind: azure, regions: x}, key: k", "unknown key 'regions'"),
        ("auth: {kind: azure, token: {command: [no-such-command-here]}}", "the command 'no-such-command-here' is not found"),
        ("auth: {kind: azure, token: {}}", "a token comes from one of"),
        ("auth: {kind: azure, token: {metadata: true}}, key: k", "azure takes a key or a token, not both"),
        ("auth: {kind: bedrock, region: x}", "bedrock needs credentials"), ("auth: bedrock, key: k", "region is missing"),
        ("auth: {kind: vertex, region: x, token: {metadata: true}}", "project is missing"),
        ("auth: {kind: vertex, region: x, project: p}", "vertex needs a token"),
        ("auth: {kind: vertex, region: x, project: p, token: {file: t, seconds: 0}}", "seconds must be a number above 0"),
    ],
)  # fmt: skip
def test_missing_settings_are_reported_before_the_start(tmp_path: Path, part: str, said: str) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(f'upstreams: {{x: {{url: "https://x.example.com", {part}}}}}\n')
    _, faults = read_config(file, {})
    assert said in str([fault.message for fault in faults]), faults
    assert all(fault.line == 1 for fault in faults)
