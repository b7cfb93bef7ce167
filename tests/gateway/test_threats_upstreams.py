"""Hostile upstreams: smuggled lengths, bombs, drips, cuts, resets, redirects, forged events. Nobody takes any of it for a reply."""

import gzip
import json
import subprocess
import sys
from typing import Any

import httpx
import openai
import pytest

from tests.gateway.conftest import GOOD, KEY, PERSON, Desk, Open
from tests.waiting import wait_for
from trueup import Contract
from trueup.ask.policy import Policy
from trueup.gateway.config import Config, Limits, Route, Upstream
from trueup.testing.script import (
    Bomb,
    Cut,
    Erring,
    Fail,
    Hang,
    Raw,
    Redirect,
    Reset,
    Say,
    Slow,
    Wire,
    WrongLength,
)

ONCE = Policy(otherwise="failed", retries=0, backoff=0.01, repairs=0, timeout=60, deadline=120)
REPLY = json.dumps(
    {"id": "c", "object": "chat.completion", "model": "m",
     "choices": [{"index": 0, "message": {"role": "assistant", "content": GOOD}, "finish_reason": "stop"}]}
).encode()  # fmt: skip
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def length(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n" % len(body)


def post_request(d: Desk, path: str, **more: Any) -> httpx.Response:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}], "input": "x", **more}
    return d.http.post(path, json=body)


@pytest.mark.spec("X30")
@pytest.mark.parametrize("contract", [None, PERSON], ids=["passed", "judged"])
@pytest.mark.parametrize(
    "raw",
    [
        OK + length(REPLY) + b"Transfer-Encoding: chunked\r\n\r\n" + REPLY,
        OK + b"Transfer-Encoding: chunked\r\n" + length(REPLY) + b"\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(REPLY), REPLY),
        OK + length(REPLY) + b"Content-Length: 5\r\n\r\n" + REPLY,
        OK + b"Content-Length: 5\r\n" + length(REPLY) + b"\r\n" + REPLY,
        OK + b"Content-Length: %d, 5\r\n\r\n" % len(REPLY) + REPLY,
        OK + b"Content-Length: -5\r\n\r\n" + REPLY,
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + REPLY,
        OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n" + REPLY,
        b"HTTP/1.1 200 OK\nX: " + b"\x00" + b"\n\n" + REPLY,
        b"ICY 200 OK\r\n\r\n" + REPLY,
        OK + b"X-Long: " + b"a" * 200_000 + b"\r\n" + length(REPLY) + b"\r\n" + REPLY,
        b"",
        b"\r\n\r\n\r\n",
        bytes(range(256)) * 10,
    ],
)  # fmt: skip
def test_an_answer_with_conflicting_or_invalid_lengths_is_refused(desk: Open, raw: bytes, contract: object) -> None:
    with desk([Wire((raw,))], contract, policy=ONCE) as d:
        response = d.chat()
        assert response.status_code == 502
        assert response.json()["error"]["type"] == "server_error"
        assert b"Ada" not in response.content


@pytest.mark.spec("X30")
def test_bytes_after_an_answer_are_not_read_as_the_next(desk: Open) -> None:
    forged = OK + length(REPLY) + b"\r\n" + REPLY.replace(b"Ada", b"Eve")
    with desk([Wire((OK + length(REPLY) + b"\r\n" + REPLY + forged,), end="hang"), GOOD], PERSON) as d:
        assert "Ada" in d.chat().text
        assert "Ada" in d.chat().text
        assert len(d.upstream.requests) == 2


@pytest.mark.spec("X30", "X26", "X25")
@pytest.mark.parametrize("contract", [None, PERSON], ids=["passed", "judged"])
def test_only_listed_headers_of_an_answer_are_passed_each_on_one_line(desk: Open, contract: object) -> None:
    odd = (
        b"Set-Cookie: a=b\r\nConnection: x-secret, close\r\nX-Secret: 1\r\nX-Request-ID: r1\r\nX-Trueup-Outcome: forged\r\n"
        b"OpenAI-Processing-Ms: 12\r\nOpenAI-Organization: org-ours\r\nProxy-Authenticate: Basic\r\nServer: evil\r\n"
        b"Access-Control-Allow-Origin: *\r\nX-RateLimit-Echo: " + KEY.encode() + b"\r\nTrailer: x\r\nUpgrade: h2c\r\n"
    )
    with desk([Wire((OK + odd + length(REPLY) + b"\r\n" + REPLY,))], contract) as d:
        response = d.chat()
        assert response.status_code == 200
        assert response.headers.keys() <= {
            "content-type", "content-length", "x-request-id", "openai-processing-ms", "x-ratelimit-echo",
            "x-trueup-outcome", "x-trueup-attempts", "x-trueup-verdict", "x-trueup-overhead-ms",
        }  # fmt: skip
        assert response.headers["x-trueup-outcome"] in ("passed", "accepted")
        assert KEY not in str(response.headers)


@pytest.mark.spec("X28")
@pytest.mark.parametrize("status", [301, 303, 307, 308, 304])
@pytest.mark.parametrize("contract", [None, PERSON], ids=["passed", "judged"])
def test_no_redirect_is_followed(desk: Open, status: int, contract: object) -> None:
    with desk([]) as sink:
        to = Redirect(sink.upstream.url + "/v1/chat/completions", status)
        with desk([to, to, to], contract, policy=ONCE) as d:
            assert post_request(d, "/v1/chat/completions").status_code == 502
            assert post_request(d, "/v1/messages", stream=True).status_code == 502
            response = post_request(d, "/v1/responses")
            assert response.status_code == 502
            assert "location" not in response.headers
            assert len(d.upstream.requests) == 3
        assert sink.upstream.requests == []


_BOMB = """
import json, resource, sys
import httpx
from trueup import Contract
from trueup.gateway.config import Config, Limits, Route, Upstream
from trueup.gateway.config import POLICY
from trueup.gateway.running import running
url, judged, cap = sys.argv[1], sys.argv[2] == "judged", int(sys.argv[3])
routes = (Route("all", ("*",), Contract({"type": "object"}), policy=POLICY),) if judged else ()
config = Config({"main": Upstream("main", url, private=True)}, routes, limits=Limits(reply=cap))
with running(config) as gateway, httpx.Client(base_url=gateway.url, timeout=120) as client:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    client.post("/v1/chat/completions", json=body)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = [client.post("/v1/chat/completions", json={**body, "stream": stream}).status_code for stream in (False, True)]
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps([told, grown // 1024]))
"""


@pytest.mark.spec("X34")
@pytest.mark.parametrize("contract", ["passed", "judged"])
def test_a_decompression_bomb_uses_little_more_memory_than_the_limit(contract: str) -> None:
    from trueup.testing.server import ScriptedServer

    cap = 10_000_000
    with ScriptedServer([GOOD], then=Bomb(1000)) as upstream:
        command = [sys.executable, "-c", _BOMB, upstream.url, contract, str(cap)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr[-2000:]
    told, grown = json.loads(done.stdout)
    assert told == [502, 502]
    assert grown <= cap / 1e6 + 20, f"{grown} MB for a bomb of 1000 MB"


@pytest.mark.spec("X34")
def test_bytes_after_the_end_of_a_compressed_body_are_dropped() -> None:
    from trueup.gateway.client.inflate import BadEncoding, Inflater

    inflater = Inflater("gzip", 1000)
    assert inflater.feed(gzip.compress(b"hello")) == b"hello"
    with pytest.raises(BadEncoding, match="continues after its end"):
        inflater.feed(b"x" * 100_000)
    with pytest.raises(BadEncoding, match="continues after its end"):
        Inflater("gzip", 1000).feed(gzip.compress(b"hello") + b"x")


@pytest.mark.spec("X34", "X33")
@pytest.mark.parametrize("contract", [None, PERSON], ids=["passed", "judged"])
def test_a_plain_answer_over_the_limit_is_refused_with_and_without_a_length(desk: Open, contract: object) -> None:
    def config(url: str) -> Config:
        routes = () if contract is None else (Route("all", ("*",), Contract(contract), policy=ONCE),)
        return Config({"main": Upstream("main", url, private=True)}, routes, limits=Limits(reply=50_000))

    chunked = OK + b"Transfer-Encoding: chunked\r\n\r\n"
    block = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    with desk([Raw(b" " * 60_000), Wire((chunked, *[block] * 100))], config=config) as d:
        for _ in range(2):
            response = d.chat()
            assert response.status_code == 502
            assert "more than 50,000 bytes" in response.json()["error"]["message"]


# A reply that would take half a minute and more, with never a long pause: only a deadline for the whole of it ends it sooner.
DRIP = Slow(GOOD, every=0.1, size=1)


@pytest.mark.spec("X35")
@pytest.mark.parametrize("stream", [False, True])
def test_one_deadline_applies_to_a_whole_attempt_however_slowly_it_drips(desk: Open, stream: bool) -> None:
    policy = Policy(otherwise="failed", retries=0, repairs=0, timeout=0.5, deadline=120)
    with desk([DRIP], PERSON, policy=policy, hold="whole") as d:
        response = d.chat(stream=stream)
        assert response.status_code == 504 or b'"upstream_timeout"' in response.content
        assert b"Ada" not in response.content
        wait_for(lambda: d.upstream.exchanges[0].ended == "client left", "the gateway read the drip to its end")


@pytest.mark.spec("X35")
def test_one_deadline_applies_to_a_request_with_all_its_attempts(desk: Open) -> None:
    policy = Policy(otherwise="failed", retries=50, backoff=0.01, timeout=0.3, deadline=1.0)
    with desk([], PERSON, then=DRIP, policy=policy) as d:
        assert d.chat().status_code == 504
        assert len(d.upstream.requests) <= 5, "of 51: no attempt was begun after the deadline"
        wait_for(lambda: {exchange.ended for exchange in d.upstream.exchanges} == {"client left"})


@pytest.mark.spec("X35")
def test_passed_replies_have_a_deadline_too(desk: Open) -> None:
    config = lambda url: Config({"main": Upstream("main", url, private=True)}, limits=Limits(total_seconds=0.5))  # noqa: E731
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    with desk([Hang(), DRIP, DRIP, Wire((head,), end="hang")], config=config) as d:
        assert d.chat().status_code == 504
        assert d.chat().status_code == 504
        streamed = d.chat(stream=True)
        assert b"upstream_timeout" in streamed.content
        assert b"[DONE]" not in streamed.content
        assert d.chat(stream=True).status_code == 504
        wait_for(lambda: {exchange.ended for exchange in d.upstream.exchanges} == {"client left"})


@pytest.mark.spec("X35")
@pytest.mark.parametrize("broken", [Hang(), Reset(), Redirect("/elsewhere"), Wire((b"junk",)), Bomb(50)])
def test_a_missing_list_of_models_is_an_error_in_time(broken: Any) -> None:
    from trueup.gateway.running import running
    from trueup.testing.server import ScriptedServer

    class Evil(ScriptedServer):
        def _list(self, request: Any, path: str, protocol: Any, number: int) -> Any:
            from trueup.testing.faults import build

            return build(broken, request, protocol, number)

    with Evil() as upstream:
        config = Config({"main": Upstream("main", upstream.url, private=True)}, limits=Limits(total_seconds=0.5))
        with running(config) as gateway:
            response = httpx.get(f"{gateway.url}/v1/models", timeout=60)
    assert response.status_code in (502, 504)
    assert response.json()["error"]["message"]


PATHS = ("/v1/chat/completions", "/v1/messages", "/v1/responses")


@pytest.mark.spec("X36")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("silent", [False, True], ids=["seen", "silent"])
def test_a_reply_cut_anywhere_is_never_complete(desk: Open, path: str, stream: bool, silent: bool) -> None:
    """Every place of a cut: the client gets the second, whole reply, or an error; never half a reply as if it were all."""
    step = Say(GOOD, piece=4)
    with desk([], Contract(PERSON), then=step, policy=ONCE, hold="whole") as d:
        whole = post_request(d, path, stream=stream)
        assert whole.status_code == 200
        events = whole.text.count("data: ")
    places: list[Any] = (
        [{"events": n} for n in range(1, events)] if stream else [{"after": n / 10} for n in range(1, 10)]
    )
    last = places.pop() if stream else None  # all but the event that only marks the end: the reply is complete
    script = [Cut(step, silent=silent, **place) for place in places]
    with desk(script, Contract(PERSON), policy=ONCE, hold="whole") as d:
        for _ in places:
            response = post_request(d, path, stream=stream)
            text = response.text
            assert response.status_code != 200 or "error" in text, (last, text)
            assert "[DONE]" not in text
            assert "message_stop" not in text
            assert "response.completed" not in text


@pytest.mark.spec("X36")
def test_text_cut_in_the_middle_of_a_sentence_is_not_a_reply(desk: Open) -> None:
    """Text has no bracket that would be missing: only the finish reason shows that it is complete."""
    words = Say("I can book you a room for two, as long as you do not mind that it is not", piece=6)
    contract = Contract(reply={"min_text": 1}, name="words")
    with desk(
        [Cut(words, events=4, silent=True), words, Raw(REPLY.replace(b', "finish_reason": "stop"', b"")), words],
        contract,
    ) as d:
        assert d.chat(stream=True).text.rstrip().endswith("[DONE]")
        assert len(d.upstream.requests) == 2
        assert d.chat().headers["x-trueup-attempts"] == "2", "no finish reason, no reply"


@pytest.mark.spec("X36")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "step", [Reset(), Reset(Say(GOOD, piece=4), events=3), WrongLength(GOOD), Erring(Say(GOOD, piece=4))]
)
def test_resets_and_wrong_lengths_are_connection_failures(desk: Open, step: Any, stream: bool) -> None:
    with desk([step, GOOD], PERSON, hold="whole") as d:
        response = d.chat(stream=stream)
        assert response.status_code == 200
        text = response.text
        if stream:
            lines = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
            text = "".join((line["choices"][0]["delta"].get("content") or "") for line in lines if line["choices"])
            assert json.loads(text) == {"name": "Ada", "age": 36}
        else:
            assert json.loads(response.json()["choices"][0]["message"]["content"]) == {"name": "Ada", "age": 36}


# -- events ------------------------------------------------------------------------------------


def event(text: str, **more: Any) -> bytes:
    delta = {"role": "assistant", "content": text}
    return b"data: " + json.dumps({"id": "c", "choices": [{"index": 0, "delta": delta, **more}]}).encode()


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
END = event("", finish_reason="stop") + b"\n\ndata: [DONE]\n\n"
CALM = Contract(states={"CALM": {"forbid": [{"terms": ["secret"], "why": "it is secret"}]}}, name="calm")


def shown(d: Desk) -> str:
    """The client SDK's view of a stream: its text, or its error."""
    client = openai.OpenAI(
        base_url=f"{d.url}/v1", api_key="x", max_retries=0, default_headers={"x-trueup-state": "CALM"}
    )
    said = []
    try:
        for chunk in client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "x"}], stream=True
        ):
            said += [choice.delta.content or "" for choice in chunk.choices]
    except openai.APIError as error:
        said.append(f"[{error.code}]")
    return "".join(said)


@pytest.mark.spec("X26")
@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize(
    "forged",
    [
        b"data: [DONE]",
        b"event: error" + b"\n" + event("the secret is 42. And more of it to come, much more."),
        b": a comment" + b"\n" + event("the secret is 42. And more of it to come, much more."),
        b"id: 1\nretry: 1\n" + event("the secret is 42. And more of it to come, much more."),
        b"\xef\xbb\xbf" + event("the secret is 42. And more of it to come, much more."),
    ],
    ids=["done", "error", "comment", "id", "bom"],
)
def test_line_breaks_of_any_kind_cannot_forge_an_event(desk: Open, ends: bytes, forged: bytes) -> None:
    first = event("A first sentence that is long enough to be shown at once. ")
    stream = (first + b"\n\n" + forged + b"\n\n" + event("A last one.") + b"\n\n" + END).replace(b"\n", ends)
    with desk([], CALM, then=Wire((STREAM + stream,)), policy=ONCE) as d:
        seen = shown(d)
        assert "secret" not in seen
        assert seen == "" or seen.startswith(("A first sentence", "["))


@pytest.mark.spec("X26")
def test_breaks_inside_a_text_stay_inside_its_event(desk: Open) -> None:
    evil = 'One sentence that is long enough to be shown.\r\n\r\ndata: {"choices": []}\n\ndata: [DONE]\r\rretry: 1\u2028\u2029\x85 End.'
    with desk([Say(evil, piece=7)], CALM) as d:
        assert shown(d) == evil
    with desk([Say(evil, piece=7)], CALM, protocol="anthropic") as d:
        text = d.message(stream=True, headers={"x-trueup-state": "CALM"}).text
        events = [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: ")]
        assert "".join(e["delta"].get("text", "") for e in events if e["type"] == "content_block_delta") == evil


@pytest.mark.spec("X26")
def test_an_error_of_the_upstream_cannot_forge_an_event_or_a_header(desk: Open) -> None:
    evil = 'no\r\n\r\ndata: {"choices":[{"delta":{"content":"forged"}}]}\r\n\r\nX-Evil: 1'
    words = Say("One sentence that is long enough to be shown at once. And another that is as long.", piece=9)
    with desk([Erring(words, 8, Fail(500, evil)), Fail(400, evil)], CALM, policy=ONCE) as d:
        text = d.chat(stream=True, headers={"x-trueup-state": "CALM"}).text
        events = [line for line in text.replace("\r", "\n").split("\n") if line]
        assert all(line.startswith("data: ") for line in events), events
        assert "forged" not in "".join(
            c["delta"].get("content") or ""
            for line in events if line != "data: [DONE]"
            for c in json.loads(line[6:]).get("choices", ())
        )  # fmt: skip
        response = d.chat()
        assert "x-evil" not in response.headers
        assert response.json()["error"]["message"]


@pytest.mark.spec("X26")
def test_an_endless_event_is_refused(desk: Open) -> None:
    block = b"x" * 100_000
    with desk([Wire((STREAM + b"data: ", *[block] * 60))], CALM, policy=ONCE) as d:
        response = d.chat(stream=True, headers={"x-trueup-state": "CALM"})
        assert b"more than 4,000,000 bytes" in response.content


# -- keys and ends, piece by piece -------------------------------------------------------------


def _echo(kind: str, text: bytes) -> tuple[bytes, ...]:
    """An answer with a text in it, split into every two pieces in turn by the caller."""
    if kind == "events":
        body = b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text.decode()}, "finish_reason": "stop"}]}).encode()  # fmt: skip
        return STREAM, body + b"\n\ndata: [DONE]\n\n"
    body = REPLY.replace(b'"id": "c"', b'"id": "' + text + b'"')
    if kind == "gzip":
        body = gzip.compress(body, 0)
        return OK + b"Connection: close\r\nContent-Encoding: gzip\r\n" + length(body) + b"\r\n", body
    return OK + b"Connection: close\r\n" + length(body) + b"\r\n", body


@pytest.mark.spec("X25")
@pytest.mark.parametrize("kind", ["events", "plain", "gzip"])
def test_a_key_split_over_pieces_never_reaches_the_client(desk: Open, kind: str) -> None:
    head, body = _echo(kind, KEY.encode())
    start = body.index(KEY.encode())
    script = [
        Slow(Wire((head + body[:start], body[start : start + n], body[start + n :])), every=0.02)
        for n in range(1, len(KEY), 4)
    ]
    each = (body[at : at + 1] for at in range(start, start + len(KEY)))
    script.append(Slow(Wire((head + body[:start], *each, body[start + len(KEY) :])), every=0.005))
    with desk(script) as d:
        for _ in script:
            response = d.chat(stream=kind == "events")
            assert response.status_code == 200
            assert KEY[:6].encode() not in response.content
            assert b"[key]" in response.content


@pytest.mark.spec("X25")
def test_text_that_only_begins_like_a_key_arrives(desk: Open) -> None:
    head, body = _echo("events", KEY[:-1].encode() + b"!")
    with desk([Wire((head + body[:-40], body[-40:])), Wire((head + body + KEY[:9].encode(),))]) as d:
        assert d.chat(stream=True).content == body
        assert d.chat(stream=True).content == body + KEY[:9].encode()


@pytest.mark.spec("X36")
@pytest.mark.parametrize("framed", ["close", "chunked"])
@pytest.mark.parametrize("path", PATHS)
def test_a_passed_stream_without_an_end_is_broken_for_the_client(desk: Open, path: str, framed: str) -> None:
    with desk([Say("Hello there", piece=4)]) as d:
        whole = post_request(d, path, stream=True).content
    events = [event + b"\n\n" for event in whole.split(b"\n\n") if event]
    head = STREAM if framed == "close" else STREAM.replace(b"close\r\n", b"close\r\nTransfer-Encoding: chunked\r\n")

    def wire(cut: list[bytes]) -> Wire:
        sent = b"".join(cut)
        return Wire((head + (sent if framed == "close" else b"%x\r\n%s\r\n0\r\n\r\n" % (len(sent), sent)),))

    with desk([wire(events[:n]) for n in range(1, 4)] + [wire(events)]) as d:
        for n in range(1, 4):
            text = post_request(d, path, stream=True).content
            assert text.startswith(b"".join(events[:n]))
            assert b'"error"' in text
            assert b"the answer was cut off" in text
        assert post_request(d, path, stream=True).content == whole


@pytest.mark.spec("X36")
@pytest.mark.parametrize("path", PATHS)
def test_a_passed_reply_cut_by_the_end_of_the_connection_is_an_error(desk: Open, path: str) -> None:
    with desk(
        [Wire((OK + b"\r\n" + REPLY[:n],)) for n in (1, 40, len(REPLY) - 1)] + [Wire((OK + b"\r\n" + REPLY,))]
    ) as d:
        for _ in range(3):
            response = post_request(d, path)
            assert response.status_code == 502
            assert "the answer was cut off" in response.text
        assert post_request(d, path).content == REPLY
