"""OpenAI's /v1/files and /v1/batches in memory: uploads, validation like the provider's, output and error files."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from trueup.testing.batches import Batch, LineResult, file_of, results_of
from trueup.testing.encoding import dump, load
from trueup.testing.protocols.chat import Chat
from trueup.testing.protocols.responses import Responses
from trueup.testing.protocols.shapes import CREATED, json_body
from trueup.testing.script import Fail
from trueup.testing.wire import Request, Response

ENDPOINTS = {"/v1/chat/completions": Chat(), "/v1/responses": Responses()}
Take = Callable[[Request], Any]


class _Job(msgspec.Struct):
    """A batch in progress: its current status, and its final result."""

    plan: Batch
    now: dict[str, Any]
    last: dict[str, Any]
    polls: int


class BatchFiles:
    """Answers the file and batch endpoints. `take` returns the step for each line of a batch; `plans` describes each
    batch.
    """

    def __init__(self, take: Take, plans: list[Batch]) -> None:
        self._take, self._plans = take, plans
        self._files: dict[str, tuple[dict[str, Any], bytes]] = {}
        self._jobs: dict[str, _Job] = {}
        self._lines = 0

    def answer(self, request: Request, path: str) -> Response | None:
        """The answer to a path below /files or /batches; None for other paths."""
        match [request.method, *path.strip("/").split("/")]:
            case ["POST", "files"]:
                return self._upload(request)
            case ["GET", "files"]:
                return json_body(
                    {"object": "list", "data": [about for about, _ in self._files.values()], "has_more": False}
                )
            case [method, "files", ident, *rest]:
                return self._file(method, ident, rest)
            case ["POST", "batches"]:
                return self._create(request.fields)
            case ["GET", "batches"]:
                return json_body(
                    {"object": "list", "data": [job.now for job in self._jobs.values()], "has_more": False}
                )
            case [method, "batches", ident, *rest]:
                return self._batch(method, ident, rest)
        return None

    def _store(self, name: str, purpose: str, data: bytes) -> dict[str, Any]:
        ident = f"file-{len(self._files) + 1:04}"
        about = {"id": ident, "object": "file", "bytes": len(data), "created_at": CREATED, "filename": name}
        about |= {"purpose": purpose, "status": "processed"}
        self._files[ident] = (about, data)
        return about

    def _upload(self, request: Request) -> Response:
        form = parts_of(request)
        if "file" not in form or "purpose" not in form:
            return _refuse(400, "a form with `file` and `purpose` is needed")
        return json_body(self._store(form["file"][0] or "upload", form["purpose"][1].decode(), form["file"][1]))

    def _file(self, method: str, ident: str, rest: list[str]) -> Response:
        if ident not in self._files:
            return _refuse(404, f"No such File object: {ident}")
        about, data = self._files[ident]
        if method == "DELETE":
            del self._files[ident]
            return json_body({"id": ident, "object": "file", "deleted": True})
        if rest == ["content"]:
            return Response(200, (("Content-Type", "application/octet-stream"),), (data,))
        return json_body(about)

    def _create(self, fields: dict[str, Any]) -> Response:
        ident, source = f"batch_{len(self._jobs) + 1:04}", str(fields.get("input_file_id"))
        endpoint = str(fields.get("endpoint"))
        if source not in self._files:
            return _refuse(400, f"No such File object: {source}")
        if endpoint not in ENDPOINTS:
            return _refuse(400, f"Invalid endpoint: {endpoint}")
        plan = self._plans.pop(0) if self._plans else Batch()
        requests, errors = read_lines(self._files[source][1], endpoint)
        head = {"id": ident, "object": "batch", "endpoint": endpoint, "input_file_id": source, "created_at": CREATED}
        head |= {"completion_window": fields.get("completion_window", "24h"), "metadata": fields.get("metadata")}
        counts = {"total": len(requests), "completed": 0, "failed": 0}
        now = {**head, "status": "validating", "errors": None, "request_counts": counts}
        if errors or plan.status == "failed":
            errors = errors or [{"code": "scripted", "message": plan.message, "line": None, "param": None}]
            last = {**now, "status": "failed", "failed_at": CREATED, "errors": {"object": "list", "data": errors}}
        else:
            last = self._run(now, plan, requests, endpoint)
        self._jobs[ident] = _Job(plan, now, last, plan.polls)
        return json_body(now)

    def _run(self, now: dict[str, Any], plan: Batch, requests: list[Request], endpoint: str) -> dict[str, Any]:
        steps = [(request, self._take(request)) for request in requests]
        results = results_of(plan, steps, ENDPOINTS[endpoint], self._lines + 1)
        self._lines += len(requests)
        good = [(r.custom_id, _line(r)) for r in results if r.kind == "replied"]
        bad = [(r.custom_id, _line(r)) for r in results if r.kind != "replied"]
        last = {**now, "status": plan.status, f"{plan.status}_at": CREATED}
        last["request_counts"] = {"total": len(requests), "completed": len(good), "failed": len(bad)}
        for word, lines in (("output", good), ("error", bad)):
            if lines:
                last[f"{word}_file_id"] = self._store(
                    f"{now['id']}_{word}.jsonl", "batch_output", file_of(plan, lines)
                )["id"]
        return last

    def _batch(self, method: str, ident: str, rest: list[str]) -> Response:
        job = self._jobs.get(ident)
        if job is None:
            return _refuse(404, f"No batch found with id '{ident}'.")
        if method == "POST" and rest == ["cancel"]:
            if job.now["status"] in ("validating", "in_progress"):
                job.last = {**job.now, "status": "cancelled", "cancelled_at": CREATED}
                job.now, job.polls = {**job.now, "status": "cancelling", "cancelling_at": CREATED}, 0
            return json_body(job.now)
        if job.polls > 0:
            job.polls -= 1
            job.now = {**job.now, "status": "in_progress", "in_progress_at": CREATED}
        else:
            job.now = job.last
        return json_body(job.now)


def read_lines(data: bytes, endpoint: str) -> tuple[list[Request], list[dict[str, Any]]]:
    """The requests of an input file, and the errors of the provider's validation."""
    requests: list[Request] = []
    errors: list[dict[str, Any]] = []
    seen: set[str] = set()
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        fault = ""
        try:
            value = load(line)
        except ValueError:
            value, fault = None, "invalid_json_line"
        if not fault and not (isinstance(value, dict) and {"custom_id", "method", "url", "body"} <= value.keys()):
            fault = "missing_required_parameter"
        elif not fault and value["url"] != endpoint:
            fault = "mismatched_endpoint"
        elif not fault and value["custom_id"] in seen:
            fault = "duplicate_custom_id"
        if fault:
            errors.append({"code": fault, "message": f"line {number}: {fault}", "line": number, "param": None})
            continue
        seen.add(value["custom_id"])
        body = dump({**value["body"], "stream": False})
        requests.append(Request(value["method"], value["url"], body=body, custom_id=value["custom_id"]))
    if not requests and not errors:
        errors.append({"code": "empty_file", "message": "the file contains no requests", "line": None, "param": None})
    return requests, errors


def _line(result: LineResult) -> dict[str, Any]:
    line: dict[str, Any] = {"id": f"batch_req_{result.number:04}", "custom_id": result.custom_id}
    if result.kind == "expired":
        message = "This request could not be executed before the completion window expired."
        return {**line, "response": None, "error": {"code": "batch_expired", "message": message}}
    response = {"status_code": result.status, "request_id": f"req_{result.number:04}", "body": result.body}
    return {**line, "response": response, "error": None}


def parts_of(request: Request) -> dict[str, tuple[str, bytes]]:
    """The parts of a multipart form: name → (file name, content)."""
    found = re.search(r'boundary="?([^";]+)', request.headers.get("content-type", ""))
    if found is None:
        return {}
    parts = {}
    for piece in request.body.split(b"--" + found[1].encode("latin-1"))[1:-1]:
        head, _, content = piece.partition(b"\r\n\r\n")
        words = dict(re.findall(r'(\w+)="([^"]*)"', head.decode("utf-8", "replace")))
        parts[words.get("name", "")] = (words.get("filename", ""), content[:-2])
    return parts


def _refuse(status: int, message: str) -> Response:
    return Chat().failure(Fail(status, message), 0)
