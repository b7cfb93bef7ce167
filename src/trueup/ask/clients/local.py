"""LocalModel: a small real model on this machine, with OpenAI's API, in this process or over loopback.

Takes the parameters of a chat completion; returns a chat completion, or its chunks. The model's errors are LocalErrors with a status.
It needs no network and no key. It listens on loopback, and requires a key that only this process knows, unless you give one.
The model always writes chunk by chunk, so that it can stop at the next chunk if nobody waits for it.
"""

import atexit
import os
import queue
import secrets
import signal
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from trueup.ask.clients.client import Client
from trueup.ask.clients.parameters import chat_parameters
from trueup.ask.clients.request import Request
from trueup.ask.clients.weights import NAME, find, locate
from trueup.ask.drivers.worker import arun, stopping
from trueup.ask.shapes.openai import as_texts

MAX_TOKENS = 512  # the limit of a reply if the caller does not give one
_BATCH = 64  # tokens of a prompt that are read in one step; a call can be stopped between steps
_END = object()


class LocalError(RuntimeError):
    """The model did not answer; `status_code` and `body` are the same as from an OpenAI-compatible server."""

    def __init__(self, status: int, message: str, kind: str = "invalid_request_error") -> None:
        super().__init__(message)
        self.status_code = status
        self.body = {"error": {"message": message, "type": kind, "code": status}}


class LocalModel(Client):
    """The bundled model (or any GGUF file), loaded and ready; loading takes about 0.4 s and 200 MB of memory.

    `model.complete(messages=[…], temperature=0)` gives the same answer as `POST {model.url}/v1/chat/completions` with `model.api_key`;
    `contract.ask(model, messages)` asks it. It works on one request at a time. A reply has at most 512 tokens, unless the request sets
    `max_tokens`.

    - `path`: a GGUF file; None: the bundled model.
    - `threads`: the number of threads; None: half of the cores, at most four.
    - `context`: the most tokens that a request and its reply may have together.
    - `port`: the port to listen on; 0: any free port.
    - `api_key`: the key that a request over HTTP needs; None: a new key, empty: no key.
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
        given.n_predict, given.n_batch, given.n_ubatch = MAX_TOKENS, _BATCH, _BATCH
        given.cpuparams.n_threads = given.cpuparams_batch.n_threads = threads or _threads()
        # No browser page and no slots or properties endpoints; pages of other origins may not send requests.
        given.ui = given.endpoint_slots = given.endpoint_props = False
        given.hostnames, given.port, given.cors_origins = ["127.0.0.1"], port, "http://127.0.0.1"
        given.api_keys = [self.api_key] if self.api_key else []
        if self.name == NAME:  # the template inside the file does not support tools
            given.chat_template = (files("trueup.ask.clients") / "smollm2.jinja").read_text("utf-8")
        if port:
            _check_port(port)
        try:
            with _undisturbed():
                self._server: Any = xllamacpp.Server(given)
                _loaded.append(self._server)
        except RuntimeError as error:
            raise LocalError(500, f"{file.name}: the model could not be loaded: {error}", "server_error") from None
        self.url: str = self._server.listening_address
        _loaded.remove(self._server)
        self.key = f"local:{self.name}"

    def complete(self, **body: Any) -> dict[str, Any]:
        """A chat completion; `body` has the parameters of the request, including `timeout` in seconds.

        The model stops on Ctrl-C and after the timeout.
        """
        seconds = body.pop("timeout", None)
        chunks = _Chunks(self._server, {**body, "stream_options": {"include_usage": True}}, seconds)
        try:
            return joined(chunks)
        finally:
            chunks.close()

    async def acomplete(self, **body: Any) -> dict[str, Any]:
        """The same, awaited; `body` is the same as for `complete`."""
        return await arun(partial(self.complete, **body))

    def chunks(self, **body: Any) -> Iterator[dict[str, Any]]:
        """The chunks of a chat completion as they arrive; closing the iterator stops the model. `body` is the same as for `complete`."""
        chunks = _Chunks(self._server, body, body.pop("timeout", None))
        try:
            yield from chunks
        finally:
            chunks.close()

    def send(self, request: Request) -> dict[str, Any]:
        return self.complete(messages=as_texts(request.messages, "the local model"), **self._parameters(request))

    def stream(self, request: Request) -> Iterator[dict[str, Any]]:
        return self.chunks(messages=as_texts(request.messages, "the local model"), **self._parameters(request))

    def _parameters(self, request: Request) -> dict[str, Any]:
        """The parameters without a model, because there is only one; streams include their usage."""
        return {**chat_parameters(request), "model": self.name, "stream_options": {"include_usage": True}}

    def close(self) -> None:
        """Unload the model and stop listening, after the current request ends."""
        self._server = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Chunks:
    """The chunks of one completion, made in a separate thread, which ends soon after `close`."""

    def __init__(self, server: Any, body: dict[str, Any], seconds: float | None) -> None:
        if server is None:
            raise LocalError(503, "the local model is closed", "server_error")
        self._server = server
        self._body = {"max_tokens": MAX_TOKENS, **{key: value for key, value in body.items() if value is not None}}
        self._body |= {"stream": True, "return_progress": True}  # to stop while reading a prompt
        self._seconds = seconds
        self._stop = threading.Event()
        self._out: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="local-model", daemon=True)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        end = None if self._seconds is None else time.monotonic() + self._seconds
        with stopping(self._stop.set):
            _working.add(self)
            self._thread.start()
            while (chunk := self._next(end)) is not _END:
                if isinstance(chunk, BaseException):
                    raise chunk
                if "prompt_progress" not in _checked(chunk):
                    yield chunk

    def _next(self, end: float | None) -> Any:
        try:
            return self._out.get(timeout=None if end is None else max(0.0, end - time.monotonic()))
        except queue.Empty:
            raise TimeoutError(f"the local model did not answer within {self._seconds:g} s") from None

    def _put(self, chunk: Any) -> bool:
        self._out.put(chunk)
        return self._stop.is_set()  # True ends the generation

    def _work(self) -> None:
        try:
            self._server.handle_chat_completions(self._body, self._put)
        except Exception as error:  # noqa: BLE001 - whatever the library raises is told to the caller
            self._out.put(LocalError(400, str(error)))
        self._server = None
        _working.discard(self)
        self._out.put(_END)

    def close(self) -> None:
        """Make the model stop at the next chunk."""
        self._stop.set()

    def join(self) -> None:
        """Wait until it has stopped."""
        if self._thread.is_alive():
            self._thread.join()


_working: set[_Chunks] = set()
_loaded: list[Any] = []  # kept, because a model that is deleted immediately after loading, as on Ctrl-C, may hang


@atexit.register
def _stop_all() -> None:
    """Stop all models, because they must not run during the interpreter's shutdown."""
    for chunks in tuple(_working):
        chunks.close()
        chunks.join()


def joined(chunks: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """A chat completion from its chunks.

    >>> part = {
    ...     "id": "c",
    ...     "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}],
    ...     "usage": {"total_tokens": 2},
    ... }
    >>> joined([part])["choices"]
    [{'index': 0, 'message': {'role': 'assistant', 'content': 'Hi'}, 'finish_reason': 'stop'}]
    """
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls: dict[int, dict[str, Any]] = {}
    finish = None
    for chunk in chunks:
        whole |= {key: value for key, value in chunk.items() if key != "choices"}
        for choice in chunk["choices"]:
            finish = choice.get("finish_reason") or finish
            delta = choice.get("delta") or {}
            for key in ("content", "reasoning_content"):
                if delta.get(key):
                    message[key] = (message.get(key) or "") + delta[key]
            for call in delta.get("tool_calls") or ():
                _add(calls.setdefault(call.get("index", 0), {"type": "function", "function": {}}), call)
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    elif message["content"] is None:
        message["content"] = ""
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    return {**whole, "object": "chat.completion", "choices": choices}


def _add(call: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add the next piece of a call to it."""
    if delta.get("id"):
        call["id"] = delta["id"]
    function = delta.get("function") or {}
    for key in ("name", "arguments"):
        if function.get(key):
            call["function"][key] = call["function"].get(key, "") + function[key]


def _checked(value: Any) -> dict[str, Any]:
    if isinstance(value, dict) and "error" in value:
        error = value["error"]
        raise LocalError(int(error.get("code") or 500), str(error.get("message")), str(error.get("type")))
    if not isinstance(value, dict):
        raise LocalError(500, f"the model did not reply: {value!r:.80}", "server_error")
    return value


def _threads() -> int:
    """Half of the processors, at most four: with more threads, the model is slow if one of them is interrupted."""
    return max(1, min(4, (os.cpu_count() or 1) // 2))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Delay Ctrl-C until the model is loaded, because a signal during loading makes the library hang."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _check_port(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise LocalError(500, f"cannot use port {port} of loopback: {error.strerror}", "server_error") from None


_lock = threading.Lock()
_shared: dict[int, LocalModel] = {}


def shared() -> LocalModel:
    """One model for the whole process, loaded on first use and closed at exit."""
    with _lock:
        here = os.getpid()  # a forked child cannot use its parent's threads
        if here not in _shared:
            _shared.clear()
            _shared[here] = LocalModel()
            atexit.register(_shared.clear)
        return _shared[here]
