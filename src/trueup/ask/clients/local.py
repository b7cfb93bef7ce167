"""LocalModel: a small real model on this machine, asked in OpenAI's words, in this process or over loopback.

The parameters of a chat completion go in, a chat completion (or its chunks) comes out; an error of the model is a LocalError with a status.
No network and no key; the address it listens on is on loopback and wants a key that only this process knows, unless one is given.
"""

import asyncio
import atexit
import os
import queue
import secrets
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from trueup.ask.clients.client import Client
from trueup.ask.clients.parameters import chat_parameters
from trueup.ask.clients.request import Request
from trueup.ask.clients.weights import NAME, find, locate

MAX_TOKENS = 512
_END = object()


class LocalError(RuntimeError):
    """The model did not answer; `status_code` and `body` are what an OpenAI-compatible server says."""

    def __init__(self, status: int, message: str, kind: str = "invalid_request_error") -> None:
        super().__init__(message)
        self.status_code = status
        self.body = {"error": {"message": message, "type": kind, "code": status}}


class LocalModel(Client):
    """The bundled model (or any GGUF file), loaded and ready; about 0.4 s and 200 MB.

    `model.complete(messages=[…], temperature=0)` answers as `POST {model.url}/v1/chat/completions` does with `model.api_key`;
    `contract.ask(model, messages)` asks it. One request is worked on at a time.

    - `path`: a GGUF file; None: the bundled model.
    - `threads`: how many threads it uses; None: half of the cores, at most four.
    - `context`: how many tokens a request and its reply may have together.
    - `port`: the port it listens on; 0: any free one.
    - `api_key`: the key that a request over HTTP needs; None: a new one, empty: no key.
    """

    kind = "the local model"

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        threads: int | None = None,
        context: int = 4096,
        port: int = 0,
        api_key: str | None = None,
    ) -> None:
        file = locate(path)
        import xllamacpp  # type: ignore[import-untyped]  # it ships no types

        self.api_key = secrets.token_urlsafe(24) if api_key is None else api_key
        self.name = NAME if file == find() else file.stem
        given = xllamacpp.CommonParams()
        given.model.path = str(file)
        given.model_alias = {self.name}
        given.n_ctx, given.n_parallel, given.verbosity = context, 1, 0
        given.cpuparams.n_threads = given.cpuparams_batch.n_threads = threads or _threads()
        # A browser page, slots and properties have no business here, and no page of another origin may ask.
        given.ui = given.endpoint_slots = given.endpoint_props = False
        given.hostnames, given.port, given.cors_origins = ["127.0.0.1"], port, "http://127.0.0.1"
        given.api_keys = [self.api_key] if self.api_key else []
        if self.name == NAME:  # the template inside the file knows no tools
            given.chat_template = (files("trueup.ask.clients") / "smollm2.jinja").read_text("utf-8")
        if port:
            _check_port(port)
        try:
            self._server: Any = xllamacpp.Server(given)
        except RuntimeError as error:
            raise LocalError(500, f"{file.name}: the model could not be loaded: {error}", "server_error") from None
        self.url: str = self._server.listening_address
        self.key = f"local:{self.name}"

    def complete(self, **body: Any) -> dict[str, Any]:
        """A chat completion; `body` is the parameters of the request, `timeout` in seconds among them.

        Ctrl-C is noticed at once, though the model finishes its sentence.
        """
        seconds = body.pop("timeout", None)
        replies = self._start({**body, "stream": False}, threading.Event())
        try:
            value = replies.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError(f"the local model did not answer within {seconds:g} s") from None
        if isinstance(value, BaseException):
            raise value
        return _checked(value)

    async def acomplete(self, **body: Any) -> dict[str, Any]:
        """The same, awaited; `body` is that of `complete`."""
        return await asyncio.to_thread(self.complete, **body)

    def chunks(self, **body: Any) -> Iterator[dict[str, Any]]:
        """The chunks of a chat completion as they come; closing the iterator stops the model. `body` is that of `complete`."""
        stop = threading.Event()
        chunks = self._start({**body, "stream": True}, stop)
        try:
            while (chunk := chunks.get()) is not _END:
                if isinstance(chunk, BaseException):
                    raise chunk
                yield _checked(chunk)
        finally:
            stop.set()

    def send(self, request: Request) -> dict[str, Any]:
        return self.complete(messages=request.messages, timeout=request.timeout, **self._parameters(request))

    def stream(self, request: Request) -> Iterator[dict[str, Any]]:
        return self.chunks(messages=request.messages, **self._parameters(request))

    async def astream(self, request: Request) -> AsyncIterator[dict[str, Any]]:
        pieces = self.stream(request)
        try:
            while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
                yield piece
        finally:
            pieces.close()  # type: ignore[attr-defined]  # a generator

    def _parameters(self, request: Request) -> dict[str, Any]:
        """There is one model here, whatever it is called; a stream says what it cost."""
        return {**chat_parameters(request), "model": self.name, "stream_options": {"include_usage": True}}

    def _start(self, body: dict[str, Any], stop: threading.Event) -> "queue.SimpleQueue[Any]":
        """Work on the request in a thread of its own: replies, an exception and, last, the end come through the queue."""
        server = self._server
        if server is None:
            raise LocalError(503, "the local model is closed", "server_error")
        out: queue.SimpleQueue[Any] = queue.SimpleQueue()
        body = {"max_tokens": MAX_TOKENS, **{key: value for key, value in body.items() if value is not None}}

        def put(chunk: Any) -> bool:
            out.put(chunk)
            return stop.is_set()  # True ends the generation

        def work() -> None:
            try:
                if body["stream"]:
                    server.handle_chat_completions(body, put)
                else:
                    out.put(server.handle_chat_completions(body))
            except Exception as error:  # noqa: BLE001 - whatever the library raises is told to the caller
                out.put(LocalError(400, str(error)))
            out.put(_END)

        threading.Thread(target=work, name="local-model").start()
        return out

    def close(self) -> None:
        """Unload the model and stop listening, after a request that is being worked on."""
        self._server = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _checked(value: Any) -> dict[str, Any]:
    if isinstance(value, dict) and "error" in value:
        error = value["error"]
        raise LocalError(int(error.get("code") or 500), str(error.get("message")), str(error.get("type")))
    if not isinstance(value, dict):
        raise LocalError(500, f"no reply of the model: {value!r:.80}", "server_error")
    return value


def _threads() -> int:
    """Half the processors, at most four: threads that wait for one that was displaced make the model slow."""
    return max(1, min(4, (os.cpu_count() or 1) // 2))


def _check_port(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise LocalError(500, f"port {port} of loopback cannot be used: {error.strerror}", "server_error") from None


_lock = threading.Lock()
_shared: dict[int, LocalModel] = {}


def shared() -> LocalModel:
    """One model for the whole process, loaded when first asked for and closed at exit."""
    with _lock:
        here = os.getpid()  # a forked child cannot use its parent's threads
        if here not in _shared:
            _shared.clear()
            _shared[here] = LocalModel()
            atexit.register(_shared.clear)
        return _shared[here]
