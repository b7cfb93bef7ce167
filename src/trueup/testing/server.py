"""ScriptedServer: a model server on loopback that answers real clients from a script.

Takes requests from clients of OpenAI, Azure, Anthropic, Gemini, Mistral, Cohere, Ollama and Bedrock. Sends the script's
replies and faults in the provider's own protocol, and keeps every request. It uses one thread, which the `with` block
closes, and sends nothing anywhere else.
"""

import asyncio
import threading
from collections.abc import Callable, Collection, Sequence
from types import TracebackType
from typing import Any, Literal, Self

import msgspec

from trueup.testing.batch_files import BatchFiles
from trueup.testing.batch_messages import BatchMessages
from trueup.testing.batches import Batch
from trueup.testing.faults import build, refused
from trueup.testing.protocols.routes import short, spoken
from trueup.testing.protocols.shapes import CREATED, CREATED_TEXT, Speaks, json_body
from trueup.testing.script import Fail, Reel, Script, ScriptError, Step
from trueup.testing.wire import ClientConnection, Request, Response

START_SECONDS = 10.0


class ServedRequest(msgspec.Struct):
    """One request and its result: the status, the number of body bytes sent, and how it ended.

    The status and the bytes are recorded before they are sent, so a client that has the reply finds them here. `ended`
    is recorded when the server sees the end. The client may see it earlier: wait with `ScriptedServer.wait_until`.
    """

    request: Request
    status: int = 0
    sent: int = 0
    ended: Literal["open", "complete", "client left", "server closed"] = "open"


class ScriptedServer:
    """A model server with scripted replies.

    - `script`: a list of steps, one for each model request in order of arrival; a mapping with a list for each model;
      or a function from Request to step. Empty: `then` answers everything.
    - `then`: the step for all requests after the list; None: they fail.
    - `reject`: parameters and response formats, such as `json_schema`, that get an error 400 without using a step;
      empty by default.
    - `models`: the only known models; empty: any model.
    - `key`: the only accepted key; None: any key.
    - `batches`: the plan of each provider batch; empty: all complete.

    >>> with ScriptedServer(["Hello!"]) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(
        self,
        script: Script = (),
        *,
        then: Step | None = None,
        reject: Collection[str] = (),
        models: Sequence[str] = (),
        key: str | None = None,
        batches: Sequence[Batch] = (),
    ) -> None:
        self._reel = Reel(script, then)
        self._reject, self._models, self._key = frozenset(reject), tuple(models), key
        plans = list(batches)
        self._files = BatchFiles(self._take, plans)
        self._message_batches = BatchMessages(self._take, plans)
        self._change = threading.Condition()
        self._faults: list[BaseException] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stop: asyncio.Event
        self.exchanges: list[ServedRequest] = []
        self.connections = 0
        """The number of open connections."""
        self.url = ""

    @property
    def requests(self) -> list[Request]:
        """All requests so far, in order of arrival."""
        return [exchange.request for exchange in self.exchanges]

    @property
    def left(self) -> int:
        """The steps of the script that no request has used yet."""
        return self._reel.left

    def wait_until(self, test: Callable[[list[ServedRequest]], bool], timeout: float = 10.0) -> bool:
        """Wait until `test` is true for the exchanges; returns False after `timeout` seconds."""
        with self._change:
            return self._change.wait_for(lambda: test(self.exchanges), timeout)

    def start(self) -> Self:
        """Listen on a free port of loopback."""
        if self._thread is not None:
            raise RuntimeError("this server is already running")
        ready = threading.Event()
        thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), name="scripted-server", daemon=True)
        self._thread = thread
        thread.start()
        if not ready.wait(START_SECONDS) or not self.url:
            raise RuntimeError("no port on loopback could be opened")
        return self

    def close(self) -> None:
        """Stop listening, and end all connections and the thread. The recorded requests stay."""
        if self._thread is not None and self._loop is not None:
            try:
                self._loop.call_soon_threadsafe(self._stop.set)
            except RuntimeError:  # the loop has already ended
                pass
            self._thread.join()
            self._thread = self._loop = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if self._faults and kind is None:
            raise self._faults[0]

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        tasks: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._talk(ClientConnection(reader, writer)))
            tasks.add(task)
            task.add_done_callback(ended)
            self._count(1)

        def ended(task: asyncio.Task[None]) -> None:
            tasks.discard(task)
            self._count(-1)

        try:
            server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=1024)
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            ready.set()
        await self._stop.wait()
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()

    def _count(self, change: int) -> None:
        with self._change:
            self.connections += change
            self._change.notify_all()

    async def _talk(self, line: ClientConnection) -> None:
        """Answer the requests of one connection until either side ends it."""
        try:
            while (request := await line.read()) is not None:
                exchange = ServedRequest(request)
                self.exchanges.append(exchange)
                response = self._answer(request, len(self.exchanges))
                with self._change:
                    exchange.status = 0 if response.silent else response.status
                    self._change.notify_all()
                if not await self._deliver(line, exchange, response):
                    break
        except ValueError as error:
            refused = Response(400, (("Content-Type", "text/plain"),), (str(error).encode(),), end="close")
            await line.send(refused, lambda _: None)
        except (OSError, asyncio.CancelledError):
            line.abort()  # the client left, or the server is closing; the exchange says which
        finally:
            await line.close()

    async def _deliver(self, line: ClientConnection, exchange: ServedRequest, response: Response) -> bool:
        """Send the response unless the client leaves first. Returns whether the connection continues."""

        def told(count: int) -> None:
            exchange.sent += count

        sending = asyncio.ensure_future(line.send(response, told, bare=exchange.request.method == "HEAD"))
        leaving = asyncio.ensure_future(line.left())
        again, ended = False, "server closed"
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            ended = "client left"
            if sending.done() and sending.exception() is None:
                again, ended = sending.result(), "complete"
            else:
                line.abort()
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
            with self._change:
                exchange.ended = ended  # type: ignore[assignment]  # one of the four words
                self._change.notify_all()
        return again and exchange.request.headers.get("connection", "").lower() != "close"

    def _take(self, request: Request) -> Any:
        """The script's step. An error in the script is sent to the client and raised again at the end of the `with`
        block.
        """
        try:
            return self._reel.take(request)
        except Exception as error:  # noqa: BLE001 - the script may be any function of the caller's
            self._faults.append(error)
            return Fail(400 if isinstance(error, ScriptError) else 500, f"{type(error).__name__}: {error}", "script")

    def _answer(self, request: Request, number: int) -> Response:
        path = short(request.path)
        protocol, asks = spoken(request)
        if self._key is not None and not self._lets_in(request):
            return protocol.failure(Fail(401, "Incorrect API key provided", "invalid_api_key"), number)
        if request.method == "POST" and asks:
            return self._model(request, protocol, number)
        if path.startswith("/models"):
            return self._list(request, path, protocol, number)
        found = self._message_batches.answer(request, path, self.url) or self._files.answer(request, path)
        return found or protocol.failure(Fail(404, f"Invalid URL ({request.method} {request.path})"), number)

    def _lets_in(self, request: Request) -> bool:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        return self._key in (given, request.headers.get("x-api-key"), request.headers.get("x-goog-api-key"))

    def _model(self, request: Request, protocol: Speaks, number: int) -> Response:
        """A model's answer, after the checks that a provider makes before it asks the model."""
        if not isinstance(request.json, dict):
            return protocol.failure(Fail(400, "We could not parse the JSON body of your request."), number)
        if self._models and request.model not in self._models:
            message = f"The model `{request.model}` does not exist or you do not have access to it."
            return protocol.failure(Fail(404, message, "model_not_found"), number)
        fail = refused(request, self._reject)
        if fail is not None:
            return protocol.failure(fail, number)
        return build(self._take(request), request, protocol, number)

    def _list(self, request: Request, path: str, protocol: Speaks, number: int) -> Response:
        """The known models, in OpenAI's or Anthropic's format."""
        if "anthropic-version" in request.headers:
            rows: list[dict[str, Any]] = [
                {"type": "model", "id": m, "display_name": m, "created_at": CREATED_TEXT} for m in self._known
            ]
            whole = {"data": rows, "has_more": False, "first_id": rows[0]["id"], "last_id": rows[-1]["id"]}
        else:
            rows = [{"id": m, "object": "model", "created": CREATED, "owned_by": "scripted"} for m in self._known]
            whole = {"object": "list", "data": rows}
        name = path.removeprefix("/models").strip("/")
        if not name:
            return json_body(whole)
        for row in rows:
            if row["id"] == name:
                return json_body(row)
        return protocol.failure(Fail(404, f"The model '{name}' does not exist", "model_not_found"), number)

    @property
    def _known(self) -> tuple[str, ...]:
        return self._models or ("scripted",)
