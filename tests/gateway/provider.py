"""A provider with every endpoint, on loopback: it keeps what it was asked, and answers what a test wants it to."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """One request as it was received."""

    method: str
    path: str  # with its query
    headers: dict[str, str]
    body: bytes


class Answer(NamedTuple):
    """The answer to send; `cut` is how many bytes of the body are really sent."""

    body: bytes
    kind: str = "application/json"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    cut: int | None = None


def json_answer(**body: Any) -> Answer:
    """An answer in JSON."""
    return Answer(json.dumps(body).encode())


class Provider:
    """The server, its address and its requests."""

    def __init__(self, url: str, asked: list[Asked]) -> None:
        self.url = url
        self.asked = asked


@contextlib.contextmanager
def provider(answer: Callable[[Asked], Answer]) -> Iterator[Provider]:
    """A provider that answers as this function says."""
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            request = Asked(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, self._body())
            asked.append(request)
            said = answer(request)
            self.send_response(said.status)
            self.send_header("content-type", said.kind)
            self.send_header("content-length", str(len(said.body)))
            for name, value in said.headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(said.body[: said.cut])
            self.close_connection = said.cut is not None

        do_GET = do_POST = do_DELETE = handle_any  # noqa: N815 - as http.server wants it

        def _body(self) -> bytes:
            if self.headers.get("transfer-encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("content-length", 0)))
            pieces = []
            while size := int(self.rfile.readline(), 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *args: Any) -> None:
            """A client that breaks off is what some tests are about."""

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield Provider(f"http://127.0.0.1:{server.server_port}", asked)
        finally:
            server.shutdown()
            thread.join()
