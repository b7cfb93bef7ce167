"""Providers' batches: sends a file of requests, polls it, and fetches the answers. There is one class for each interface.

Takes requests with their custom ids, and returns the id of the batch, then its state, then its lines. Lines come in any order;
the caller matches them by custom id. A batch can be found again by the key that it was sent under.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from trueup.ask.clients.request import CallFailure, Request, TransportFailure
from trueup.batch.pipeline.providers.choose import NoProvider, address, key_of
from trueup.batch.pipeline.providers.http import MOST_FILE, HttpSession
from trueup.batch.pipeline.providers.replay import ReplayProvider, reply_to
from trueup.batch.pipeline.providers.wire import batch_line
from trueup.batch.pipeline.rundir.directory import OwnedRun

Requests = list[tuple[str, str, int, Request]]  # custom id, unit id, number of the reply, request


class BatchStatus(NamedTuple):
    """The state of a batch."""

    state: Literal["running", "ended", "failed"]
    message: str = ""
    done: int = 0
    total: int = 0


class Batches(Protocol):
    """A provider that accepts batches."""

    name: str
    keyed: bool  # it stores the key of a batch, so a batch that is found is certainly ours

    async def submit(self, key: str, step: str, requests: Requests) -> str: ...

    async def find(self, key: str, requests: int, known: set[str]) -> str | None:
        """The batch that was sent under a key, if the provider has one; `known` are batches of other keys."""
        ...

    async def look(self, batch: str) -> BatchStatus: ...

    def results(self, batch: str) -> AsyncIterator[bytes]: ...

    async def close(self) -> None: ...


def _named(answer: Mapping[str, Any], key: str) -> str:
    """The provider's name for an object that it created. An answer without it is not valid."""
    name = answer.get(key)
    if not isinstance(name, str) or not name:
        raise TransportFailure(CallFailure(f"the provider's answer has no {key!r}: {str(answer)[:200]}", "fatal"))
    return name


class OpenAIBatches:
    """The files and batches of OpenAI and compatible providers."""

    keyed = True

    def __init__(self, name: str, http: HttpSession) -> None:
        self.name = name
        self._http = http
        self._ended: dict[str, dict[str, Any]] = {}

    async def submit(self, key: str, step: str, requests: Requests) -> str:  # noqa: ARG002 - the same for all
        import aiohttp

        lines = [msgspec.json.encode(batch_line(self.name, cid, request)) for cid, _, _, request in requests]
        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        form.add_field("file", b"\n".join(lines) + b"\n", filename=f"{key}.jsonl", content_type="application/jsonl")
        file = await self._http.json("POST", "/files", form=form)
        body = {"input_file_id": _named(file, "id"), "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        batch = await self._http.json("POST", "/batches", {**body, "metadata": {"trueup": key}})
        return _named(batch, "id")

    async def find(self, key: str, requests: int, known: set[str]) -> str | None:  # noqa: ARG002
        after = ""
        for _ in range(20):
            page = await self._http.json("GET", f"/batches?limit=100{after}")
            rows = page.get("data") or []
            for row in rows:
                if (row.get("metadata") or {}).get("trueup") == key:
                    return _named(row, "id")
            if not page.get("has_more") or not rows:
                return None
            after = f"&after={rows[-1]['id']}"
        return None

    async def look(self, batch: str) -> BatchStatus:
        row = await self._http.json("GET", f"/batches/{batch}")
        status, counts = row.get("status"), row.get("request_counts") or {}
        done = int(counts.get("completed") or 0) + int(counts.get("failed") or 0)
        total = int(counts.get("total") or 0)
        if status in {"completed", "expired", "cancelled"}:
            self._ended[batch] = row
            return BatchStatus("ended", str(status), done, total)
        if status == "failed":
            errors = (row.get("errors") or {}).get("data") or []
            said = "; ".join(str(error.get("message")) for error in errors[:3] if isinstance(error, dict))
            return BatchStatus("failed", said or "the provider gives no reason", done, total)
        return BatchStatus("running", str(status), done, total)

    async def results(self, batch: str) -> AsyncIterator[bytes]:
        row = self._ended.pop(batch, None) or await self._http.json("GET", f"/batches/{batch}")
        for name in ("output_file_id", "error_file_id"):
            if row.get(name):
                raw = await self._http.fetch("GET", f"/files/{row[name]}/content", most=MOST_FILE)
                for line in raw.splitlines():
                    yield line

    async def close(self) -> None:
        await self._http.close()


class AnthropicBatches:
    """Anthropic's message batches. They have no key: a batch is found by its size, if it is not known as another run's."""

    name = "anthropic"
    keyed = False

    def __init__(self, http: HttpSession) -> None:
        self._http = http

    async def submit(self, key: str, step: str, requests: Requests) -> str:  # noqa: ARG002
        lines = [batch_line("anthropic", cid, request) for cid, _, _, request in requests]
        return _named(await self._http.json("POST", "/v1/messages/batches", {"requests": lines}), "id")

    async def find(self, key: str, requests: int, known: set[str]) -> str | None:
        """A batch with that many requests whose first answer has a custom id of the key."""
        page = await self._http.json("GET", "/v1/messages/batches?limit=100")
        for row in page.get("data") or []:
            counts = row.get("request_counts") or {}
            if row.get("id") in known or sum(n for n in counts.values() if type(n) is int) != requests:
                continue
            if row.get("processing_status") != "ended" or await self._carries(_named(row, "id"), key):
                return _named(row, "id")
        return None

    async def _carries(self, batch: str, key: str) -> bool:
        async for line in self.results(batch):
            return key.encode() in line
        return False

    async def look(self, batch: str) -> BatchStatus:
        row = await self._http.json("GET", f"/v1/messages/batches/{batch}")
        counts = {name: n for name, n in (row.get("request_counts") or {}).items() if type(n) is int}
        total = sum(counts.values())
        state: Literal["running", "ended"] = "ended" if row.get("processing_status") == "ended" else "running"
        return BatchStatus(state, str(row.get("processing_status")), total - counts.get("processing", 0), total)

    async def results(self, batch: str) -> AsyncIterator[bytes]:
        raw = await self._http.fetch("GET", f"/v1/messages/batches/{batch}/results", most=MOST_FILE)
        for line in raw.splitlines():
            yield line

    async def close(self) -> None:
        await self._http.close()


class GeminiBatches:
    """Gemini's batches, with inline requests; the key is the display name."""

    name = "gemini"
    keyed = True

    def __init__(self, http: HttpSession) -> None:
        self._http = http
        self._ended: dict[str, dict[str, Any]] = {}

    async def submit(self, key: str, step: str, requests: Requests) -> str:  # noqa: ARG002
        lines = []
        for cid, _, _, request in requests:
            one = batch_line("gemini", cid, request)
            lines.append({"request": one["request"], "metadata": {"key": cid}})
        body = {"batch": {"display_name": key, "input_config": {"requests": {"requests": lines}}}}
        model = requests[0][3].model
        return _named(await self._http.json("POST", f"/v1beta/models/{model}:batchGenerateContent", body), "name")

    async def find(self, key: str, requests: int, known: set[str]) -> str | None:  # noqa: ARG002
        after = ""
        for _ in range(20):
            page = await self._http.json("GET", f"/v1beta/batches?pageSize=100{after}")
            for row in page.get("operations") or page.get("batches") or []:
                about = row.get("metadata") or row
                if key in {about.get("displayName"), about.get("display_name")}:
                    return _named(row, "name")
            token = page.get("nextPageToken")
            if not token:
                return None
            after = f"&pageToken={token}"
        return None

    async def look(self, batch: str) -> BatchStatus:
        row = await self._http.json("GET", f"/v1beta/{batch}")
        state = str((row.get("metadata") or {}).get("state") or row.get("state") or "").rpartition("STATE_")[2]
        if row.get("error") or state == "FAILED":
            return BatchStatus("failed", str((row.get("error") or {}).get("message") or state))
        if row.get("done") or state in {"SUCCEEDED", "CANCELLED", "EXPIRED"}:
            self._ended[batch] = row
            return BatchStatus("ended", state)
        return BatchStatus("running", state)

    async def results(self, batch: str) -> AsyncIterator[bytes]:
        row = self._ended.pop(batch, None) or await self._http.json("GET", f"/v1beta/{batch}")
        response = row.get("response") or (row.get("metadata") or {}).get("output") or {}
        inlined = response.get("inlinedResponses") or {}
        listed = inlined.get("inlinedResponses") if isinstance(inlined, dict) else inlined
        for each in listed or []:
            yield msgspec.json.encode({"key": (each.get("metadata") or {}).get("key", ""), **each})
        file = response.get("responsesFile")
        if file:
            raw = await self._http.fetch("GET", f"/download/v1beta/{file}:download?alt=media", most=MOST_FILE)
            for line in raw.splitlines():
                yield line

    async def close(self) -> None:
        await self._http.close()


class ReplayBatches:
    """Recorded replies as batches: finished immediately, in any order, and lost with the process, like a batch that a provider lost."""

    name = "replay"
    keyed = True

    def __init__(self, replay: ReplayProvider) -> None:
        self._replay = replay
        self._done: dict[str, list[bytes]] = {}

    async def submit(self, key: str, step: str, requests: Requests) -> str:
        self._done[key] = [self._line(cid, step, unit, number) for cid, unit, number, _ in reversed(requests)]
        return key

    def _line(self, cid: str, step: str, unit_id: str, number: int) -> bytes:
        self._replay.calls += 1
        try:
            reply: Any = reply_to(self._replay.find(step, unit_id), step, unit_id, number)
        except TransportFailure as error:
            failure = error.failure
            status = failure.status or (429 if failure.kind == "rate" else 500 if failure.kind == "transient" else 400)
            body: dict[str, Any] = {"error": {"message": failure.reason, "code": failure.code}}
            return msgspec.json.encode(
                {"custom_id": cid, "response": {"status_code": status, "body": body}, "error": None}
            )
        text, usage, finish = (reply, {}, "stop") if isinstance(reply, str) else (reply.text, reply.usage, reply.finish)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
        tokens = {"prompt_tokens": usage.get("input_tokens"), "completion_tokens": usage.get("output_tokens")}
        body = {"object": "chat.completion", "choices": [choice], "usage": tokens if usage else None}
        return msgspec.json.encode({"custom_id": cid, "response": {"status_code": 200, "body": body}, "error": None})

    async def find(self, key: str, requests: int, known: set[str]) -> str | None:  # noqa: ARG002
        return key if key in self._done else None

    async def look(self, batch: str) -> BatchStatus:
        if batch not in self._done:
            raise TransportFailure(CallFailure(f"unknown batch {batch}", "fatal", 404))
        return BatchStatus("ended", "completed", len(self._done[batch]), len(self._done[batch]))

    async def results(self, batch: str) -> AsyncIterator[bytes]:
        for line in self._done[batch]:
            yield line

    async def close(self) -> None:
        """Nothing is open."""


def open_batches(name: str, run: OwnedRun, replay: ReplayProvider | None = None) -> Batches:
    """The batch interface of a provider."""
    pipeline, wanted = run.pipeline, run.state.run.get("wanted", {})
    if replay is not None:
        return ReplayBatches(replay)
    if name == "local":
        raise NoProvider("provider 'local' does not support batches; run without --batch")
    http = HttpSession(name, address(name, pipeline, _plain(wanted)), key_of(name, pipeline))
    if name == "anthropic":
        return AnthropicBatches(http)
    return GeminiBatches(http) if name == "gemini" else OpenAIBatches(name, http)


def _plain(wanted: Any) -> Mapping[str, Any]:
    return wanted if isinstance(wanted, Mapping) else {}
