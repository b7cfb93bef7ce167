"""granian before the gateway: which hostile clients it refuses by itself, and what only uvicorn does here."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import free_port
from tests.gateway.test_threats_clients import BODY, HEAD, WHOLE, is_readable, line_to, read_until_closed
from tests.waiting import wait_for
from trueup.testing.server import ScriptedServer

LONG = "word " * 200_000
CONFIG = """
upstreams: {{main: {{url: "{url}", private: true, tenant: "*"}}}}
endpoints: [files]
limits: {{head_seconds: 1, body_seconds: 1, total_seconds: 5, request: 100000}}
listen: 127.0.0.1:{port}
server: granian
"""


@pytest.fixture(scope="module")
def upstream() -> Iterator[ScriptedServer]:
    with ScriptedServer([], then=LONG) as server:
        yield server


@pytest.fixture(scope="module")
def url(upstream: ScriptedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A gateway in granian, as `trueup serve` runs it."""
    folder: Path = tmp_path_factory.mktemp("granian")
    port = free_port()
    (folder / "gateway.yaml").write_text(CONFIG.format(url=upstream.url, port=port))
    command = [sys.executable, "-c", "from trueup.cli.main import main; main()", "serve", "gateway.yaml"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        wait_for(lambda: is_open(port) or process.poll() is not None)
        assert process.poll() is None, (folder / "log").read_text()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


def is_open(port: int) -> bool:
    try:
        line_to(f"http://127.0.0.1:{port}").close()
    except OSError:
        return False
    return True


def status(answer: bytes) -> int:
    return int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else 0


CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.spec("X30", "X32", "X33")
@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"POST /v1/chat/comp", {0, 408}),
        (HEAD + b"X-Long: " + b"a" * 100_000, {431}),
        (HEAD + b"X-Many: 1\r\n" * 20_000, {431}),
        (HEAD + b"Content-Length: 100\r\n\r\n{", {408}),
        (HEAD + b"Content-Length: 10\r\nContent-Length: 4\r\n\r\n" + BODY, {400}),
        (HEAD + b"Content-Length: -1\r\n\r\n", {400}),
        (HEAD + b"Content-Length: 64000000\r\n\r\n" + b" " * 200_000, {413}),
        (HEAD + CHUNKED + b"f4240\r\n" + b" " * 1_000_000 + b"\r\n", {413}),
        (HEAD + CHUNKED + b"1;" + b"x" * (1 << 20), {400, 500}),
        (HEAD + CHUNKED + b"0\r\nX-Trailer: " + b"a" * (1 << 20), {400, 500}),
    ],
)
def test_hostile_requests_are_refused_under_granian_too(
    url: str, upstream: ScriptedServer, sent: bytes, expected: set[int]
) -> None:
    asked = len(upstream.requests)
    with line_to(url) as line:
        try:
            line.sendall(sent)
        except OSError:
            pass
        assert status(read_until_closed(line)) in expected
    assert len(upstream.requests) == asked


@pytest.mark.spec("X32")
def test_an_idle_connection_is_closed_and_a_client_that_does_not_read_is_dropped(
    url: str, upstream: ScriptedServer
) -> None:
    with line_to(url) as line:
        line.sendall(WHOLE)
        answer = read_until_closed(line)  # until granian closes it
        head, _, body = answer.partition(b"\r\n\r\n")
        assert status(head) == 200
        assert json.loads(body)["choices"]
    with line_to(url) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        asked = len(upstream.requests)
        line.sendall(WHOLE)
        wait_for(lambda: len(upstream.requests) > asked and is_quiet(url), "the request never ends")


def is_quiet(url: str) -> bool:
    """Whether no request is under way, as the metrics say; nobody waits for a client that does not read."""
    with line_to(url) as line:
        line.sendall(b"GET /metrics HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n")
        return b"trueup_requests_active 0" in read_until_closed(line)


def test_the_page_lists_what_only_uvicorn_refuses(url: str, upstream: ScriptedServer) -> None:
    with line_to(url) as silent, line_to(url) as half:
        half.sendall(b"POST /v1/chat/comp")
        assert status(read_until_closed(half)) in {0, 408}
        assert not is_readable(silent), "it came first, and is open when the time for a head is over"
    asked = len(upstream.requests)
    with line_to(url) as line:
        line.sendall(HEAD + b"Content-Length: 10\r\n" + CHUNKED + b"%x\r\n" % len(BODY) + BODY + b"\r\n0\r\n\r\n")
        assert status(line.recv(65_536)) == 200, "both lengths: chunked is what counts"
    assert len(upstream.requests) == asked + 1


def test_a_file_is_uploaded_and_downloaded_in_pieces(url: str) -> None:
    from openai import OpenAI

    content = b'{"custom_id": "a"}\n' * 50_000  # beyond the limit of other requests
    with OpenAI(base_url=url + "/v1", api_key="any", max_retries=0) as client:
        kept = client.files.create(file=("a.jsonl", content), purpose="batch")
        assert client.files.content(kept.id).content == content
