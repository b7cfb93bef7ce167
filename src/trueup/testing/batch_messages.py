"""Anthropic's /v1/messages/batches in memory: create, retrieve, cancel, delete, results as JSONL."""

from typing import Any

import msgspec

from trueup.testing.batch_files import Take
from trueup.testing.batches import Batch, LineResult, file_of, results_of
from trueup.testing.encoding import dump, load
from trueup.testing.protocols.messages import Messages, error_of
from trueup.testing.protocols.shapes import CREATED_TEXT, json_body
from trueup.testing.script import Fail
from trueup.testing.wire import Request, Response


class _Job(msgspec.Struct):
    """A batch in progress, and its results after the end."""

    about: dict[str, Any]
    counts: dict[str, int]
    results: bytes
    polls: int


class BatchMessages:
    """Answers the message batch endpoints. `take` returns the step for each request; `plans` describes each batch."""

    def __init__(self, take: Take, plans: list[Batch]) -> None:
        self._take, self._plans = take, plans
        self._jobs: dict[str, _Job] = {}
        self._count = 0

    def answer(self, request: Request, path: str, root: str) -> Response | None:
        """The answer to a path below /messages/batches; None for other paths. `root` is the server's address."""
        match [request.method, *path.strip("/").split("/")]:
            case ["POST", "messages", "batches"]:
                return self._create(request)
            case ["GET", "messages", "batches"]:
                about = [job.about for job in self._jobs.values()]
                ends = (
                    {"first_id": about[0]["id"], "last_id": about[-1]["id"]}
                    if about
                    else {"first_id": None, "last_id": None}
                )
                return json_body({"data": about, "has_more": False, **ends})
            case [method, "messages", "batches", ident, *rest]:
                job = self._jobs.get(ident)
                if job is None:
                    return Messages().failure(Fail(404, f"no batch {ident}"), 0)
                return self._one(method, job, rest, root)
        return None

    def _create(self, request: Request) -> Response:
        wanted = request.fields.get("requests")
        if not isinstance(wanted, list) or not wanted:
            return Messages().failure(Fail(400, "requests: List should have at least 1 item"), 0)
        ids = [line.get("custom_id") for line in wanted]
        if len(set(ids)) != len(ids):
            return Messages().failure(Fail(400, "requests: custom_id must be unique"), 0)
        plan = self._plans.pop(0) if self._plans else Batch()
        lines = [
            Request(
                "POST",
                "/v1/messages",
                body=dump({**line["params"], "stream": False}),
                custom_id=line["custom_id"],
            )
            for line in wanted
        ]
        results = results_of(plan, [(line, self._take(line)) for line in lines], Messages(), self._count + 1)
        self._count += len(lines)
        kinds = [_result(result)["type"] for result in results]
        counts = {kind: kinds.count(kind) for kind in ("succeeded", "errored", "canceled", "expired")}
        about: dict[str, Any] = {
            "id": f"msgbatch_{len(self._jobs) + 1:04}",
            "type": "message_batch",
            "processing_status": "in_progress",
            "request_counts": {"processing": len(lines), "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
            "created_at": CREATED_TEXT,
            "expires_at": CREATED_TEXT,
            "ended_at": None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": None,
        }
        rows = [(r.custom_id, {"custom_id": r.custom_id, "result": _result(r)}) for r in results]
        self._jobs[about["id"]] = _Job(about, counts, file_of(plan, rows), plan.polls)
        return json_body(about)

    def _one(self, method: str, job: _Job, rest: list[str], root: str) -> Response:
        ident = job.about["id"]
        if rest == ["results"]:
            return Response(200, (("Content-Type", "application/x-jsonl"),), (job.results,))
        if method == "DELETE":
            del self._jobs[ident]
            return json_body({"id": ident, "type": "message_batch_deleted"})
        if method == "POST" and rest == ["cancel"]:
            if job.about["processing_status"] == "in_progress":
                total = job.about["request_counts"]["processing"]
                job.counts = {"succeeded": 0, "errored": 0, "canceled": total, "expired": 0}
                job.results, job.polls = _cancelled(job.results), 0
                job.about = {**job.about, "processing_status": "canceling", "cancel_initiated_at": CREATED_TEXT}
        elif job.polls > 0:
            job.polls -= 1
        elif job.about["processing_status"] != "ended":
            done = {
                "processing_status": "ended",
                "ended_at": CREATED_TEXT,
                "request_counts": {"processing": 0, **job.counts},
            }
            job.about = {**job.about, **done, "results_url": f"{root}/v1/messages/batches/{ident}/results"}
        return json_body(job.about)


def _result(result: LineResult) -> dict[str, Any]:
    if result.kind == "expired":
        return {"type": "expired"}
    if result.kind == "failed":
        wrapped = isinstance(result.body, dict) and "error" in result.body
        return {"type": "errored", "error": result.body if wrapped else error_of(Fail(result.status, str(result.body)))}
    return {"type": "succeeded", "message": result.body}


def _cancelled(results: bytes) -> bytes:
    rows = []
    for line in results.splitlines():
        try:
            ident = load(line)["custom_id"]
        except ValueError:
            continue
        rows.append(dump({"custom_id": ident, "result": {"type": "canceled"}}) + b"\n")
    return b"".join(rows)
