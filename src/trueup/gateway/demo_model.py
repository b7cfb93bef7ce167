"""A model that makes the same two mistakes every time, so that the demo can show a repair whatever the local model replies.

Serves chat completions over loopback. The first reply omits the age; the reply to a correction has it as a string, in a fence
and with an extra comma. The name and the age come from the question. Nothing leaves this machine.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NAME = "careless"
_WHO = re.compile(r"[A-Z]\w+(?: [A-Z]\w+)*")
_AGE = re.compile(r"\d+")


@contextmanager
def careless() -> Iterator[str]:
    """Start the model on a free port of this machine; return its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, name="trueup-careless", daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def reply(messages: list[Any]) -> str:
    """The model's reply; a conversation that quotes its first reply is a correction.

    >>> reply([{"role": "user", "content": "Bob is 5. Who is this?"}])
    '{"name": "Bob"}'
    >>> reply([{"role": "user", "content": 'Bob is 5. Who is this? The age is missing in {"name": "Bob"}.'}])
    '```json\\n{"name": "Bob", "age": "5",}\\n```'
    """
    said = "\n".join(str(each.get("content")) for each in messages if isinstance(each, dict))
    who, age = _WHO.search(said), _AGE.search(said)
    name = json.dumps(who.group() if who else "Ada Lovelace", ensure_ascii=False)
    first = f'{{"name": {name}}}'
    if first not in said:
        return first
    return f'```json\n{{"name": {name}, "age": "{age.group() if age else 36}",}}\n```'


class _Handler(BaseHTTPRequestHandler):
    """One connection; the server is for one gateway on this machine."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        message = {"role": "assistant", "content": reply(body["messages"])}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self._send(
            200, {"id": "careless", "object": "chat.completion", "created": 0, "model": NAME, "choices": [choice]}
        )

    def do_GET(self) -> None:
        self._send(200, {"object": "list", "data": []})

    def _send(self, status: int, body: dict[str, Any]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *args: Any) -> None:
        """Log nothing."""
