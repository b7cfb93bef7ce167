"""Describes the gateway's paths as an OpenAPI document, for tools and for a test that exercises it.

Describes only what the gateway itself reads; everything else in a body is up to the upstream, and allowed.
"""

from typing import Any

from trueup import __version__
from trueup.gateway.pages.feedback import MOST_COMMENT, MOST_ITEMS, MOST_LABEL, MOST_NAME
from trueup.gateway.passing.endpoints import ENDPOINTS, Endpoint

_TEXT: dict[str, Any] = {"type": "string"}
_ERROR = {"type": "object", "properties": {"error": {"type": "object"}}, "required": ["error"]}
_EXTENSION = {
    "type": "object",
    "description": "The context of the conversation; removed before anything is sent on.",
    "properties": {
        "contract": _TEXT,
        "state": _TEXT,
        "data": {"type": "object"},
        "expected_sequence": {"type": "array", "items": _TEXT},
        "user": _TEXT,
        "tenant": _TEXT,
        "conversation": _TEXT,
        "include": {"type": "boolean"},
        "progress": {"type": "boolean"},
    },
}
_HEADERS = {
    "x-trueup-contract": "The name of a contract, if no route binds one.",
    "x-trueup-state": "The state that the conversation is in.",
    "x-trueup-context": "The context of the conversation, as a JSON object.",
    "x-trueup-tenant": "The tenant of the request, unless its key determines that.",
    "x-trueup-user": "The user of the request.",
    "x-trueup-conversation": "The conversation that the request belongs to; stored with the verdict.",
    "x-trueup-include": "1: the reply has a `trueup` object with findings and fixes.",
    "x-trueup-progress": "1: report retries and repairs: in the comments of a stream, or in a header of this name.",
    "idempotency-key": "A repeated request with the same key gets the first reply again, and is charged once.",
}


# Where a client may put its key; a gateway without `clients` needs none.
_SCHEMES: dict[str, Any] = {
    "bearer": {"type": "http", "scheme": "bearer"},
    **{name: {"type": "apiKey", "in": "header", "name": name} for name in ("x-api-key", "api-key")},
}


def document() -> dict[str, Any]:
    """The description of every path."""
    messages = {"type": "array", "minItems": 1, "items": {"type": "object"}}
    chat = _post("A chat completion.", {"messages": messages}, ["messages"])
    message = _post("A message.", {"messages": messages, "max_tokens": {"type": "integer"}}, ["messages"])
    response = _post("A response.", {"input": {"anyOf": [{"type": "string", "minLength": 1}, messages]}}, ["input"])
    paths: dict[str, Any] = {
        "/v1/chat/completions": {"post": chat},
        "/v1/messages": {"post": message},
        "/v1/responses": {"post": response},
        "/v1/check": {"post": _check()},
        "/v1/feedback": {"post": _feedback()},
        "/v1/models": {"get": _get("The models that clients can ask for.", 401, 502, 503)},
        "/": {"get": _get("The status page of this gateway.", 401, 403, kind="text/html")},
        "/healthz": {"get": _get("Whether the process is alive.")},
        "/readyz": {"get": _get("Whether the gateway can take requests.", 503)},
        "/metrics": {"get": _get("Counters for Prometheus.", kind="text/plain")},
    }
    for endpoint in ENDPOINTS:
        path = f"/v1/{endpoint.path.replace('*', '{id}')}"
        paths.setdefault(path, {})[endpoint.method.lower()] = _passed(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "trueup gateway", "version": __version__},
        "paths": paths,
        "components": {"securitySchemes": _SCHEMES},
        "security": [{name: []} for name in _SCHEMES],
    }


def _post(said: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    body = {
        "type": "object",
        "properties": {
            "model": {"type": "string", "minLength": 1},
            "stream": {"type": "boolean"},
            "trueup": _EXTENSION,
            **properties,
        },
        "required": ["model", *required],
    }
    statuses = (400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504)
    told = {name: {"schema": _TEXT} for name in ("x-trueup-outcome", "x-trueup-attempts")}
    good = {"description": said, "headers": told, "content": {"application/json": {}, "text/event-stream": {}}}
    return {
        "summary": said,
        "parameters": [
            {"name": name, "in": "header", "schema": _TEXT, "description": text} for name, text in _HEADERS.items()
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {"200": good, **{str(status): _refusal(status) for status in statuses}},
    }


def _check() -> dict[str, Any]:
    """The path that only judges."""
    listed = {"type": "array", "items": {"type": "object"}}
    body = {
        "type": "object",
        "description": "Send `reply`, or `messages` that end with the reply. If you send both, `messages` are the ones before the reply.",
        "properties": {
            "contract": {**_TEXT, "description": "The contract to judge by; optional if the gateway has only one."},
            "reply": {
                "anyOf": [_TEXT, {"type": "object"}, listed],
                "description": "A string, or a provider's response.",
            },
            "messages": {**listed, "minItems": 1},
            "context": {
                "type": "object",
                "description": "state, data, question, history, expected_sequence, source, today, and any keys that your own checks read.",
            },
            "model": _TEXT,
            "user": _TEXT,
            "tenant": _TEXT,
            "record": {"type": "boolean", "default": True, "description": "Whether the verdict is stored."},
        },
        "anyOf": [{"required": ["reply"]}, {"required": ["messages"]}],
        "additionalProperties": False,
    }
    objects = {"type": "array", "items": {"type": "object"}}
    told = {"ok": {"type": "boolean"}, "reason": _TEXT, "data": {}, "findings": objects, "fixes": objects}
    told |= {"calls": objects, "refused": objects, "metrics": {"type": "object"}}
    told |= {"certainty": {"type": "number"}, "confidence": {"type": "number", "deprecated": True}}
    told |= {"hint": _TEXT, "id": {"type": ["string", "null"]}, "contract": _TEXT, "fingerprint": _TEXT}
    places = "For each path of a value, how well its sources agree and where; only under a grounded contract."
    shown = {**told, "evidence": {"type": "object", "description": places}}
    verdict = {"type": "object", "properties": shown, "required": list(told)}
    said = "The verdict on a reply; no upstream is asked."
    good = {"description": said, "content": {"application/json": {"schema": verdict}}}
    statuses = (400, 401, 403, 404, 408, 413, 429, 500, 503, 504)
    return {
        "summary": said,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {"200": good, **{str(status): _refusal(status) for status in statuses}},
    }


def _feedback() -> dict[str, Any]:
    """The path that stores feedback on replies."""
    about = {
        "verdict": {
            **_TEXT,
            "description": "The `x-trueup-verdict` of a reply. It can also be sent as a header of that name.",
        },
        "outcome": {
            **_TEXT,
            "maxLength": MOST_LABEL,
            "description": "`right` or `wrong`: whether the verdict or the finding is correct. Or what happened to the reply, such as `refunded`.",
        },
        "code": {**_TEXT, "maxLength": MOST_NAME, "description": "The feedback is about the findings with this code."},
        "rule": {**_TEXT, "maxLength": MOST_NAME, "description": "The feedback is about the findings of this rule."},
        "helpful": {"type": "boolean"},
        "label": {**_TEXT, "maxLength": MOST_LABEL, "description": "A label of your own."},
        "comment": {**_TEXT, "maxLength": MOST_COMMENT},
    }
    item = {"type": "object", "properties": about, "additionalProperties": False}
    properties = {
        **about,
        "items": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_ITEMS,
            "items": item,
            "description": "Several feedback items instead of one. Either all are stored or none.",
        },
        "user": {
            **_TEXT,
            "description": "The user who gives the feedback. Later feedback of the same kind replaces the same user's earlier feedback.",
        },
        "tenant": {**_TEXT, "description": "The tenant of the verdict, unless the key determines that."},
    }
    kept = {
        "verdict": _TEXT,
        "stored": {"type": ["boolean", "integer"], "description": "true, or how many were stored if `items` was sent."},
    }
    schema = {"type": "object", "properties": kept, "required": ["stored"]}
    said = "Feedback is stored with the verdict of a reply."
    body = {"type": "object", "properties": properties, "additionalProperties": False}
    return {
        "summary": said,
        "parameters": [{"name": "x-trueup-verdict", "in": "header", "schema": _TEXT}],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {
            "200": {"description": said, "content": {"application/json": {"schema": schema}}},
            **{str(status): _refusal(status) for status in (400, 401, 404, 408, 413, 503, 504)},
        },
    }


def _passed(endpoint: Endpoint) -> dict[str, Any]:
    """An endpoint of providers that is passed through; its body is up to the upstream."""
    said = f"Passed through; `endpoints: [{endpoint.group}]` turns it on."
    places = [
        {
            "name": "id",
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": "^[A-Za-z0-9_:-]{1,60}$"},
        }
    ]
    found: dict[str, Any] = {
        "summary": said,
        "parameters": [
            *(places if "*" in endpoint.path else []),
            *({"name": name, "in": "query", "schema": _TEXT} for name in endpoint.query),
        ],
        "responses": {
            "200": {"description": said, "content": {"*/*": {}}},
            **{str(status): _refusal(status) for status in (400, 401, 403, 404, 408, 409, 413, 429, 502, 503, 504)},
        },
    }
    body = {"type": "object", "properties": {"model": _TEXT, "trueup": _EXTENSION}}
    kinds = {"json": "application/json", "form": "multipart/form-data", "upload": "multipart/form-data"}
    if endpoint.carries in kinds:
        found["requestBody"] = {"required": True, "content": {kinds[endpoint.carries]: {"schema": body}}}
    return found


def _get(said: str, *statuses: int, kind: str = "application/json") -> dict[str, Any]:
    good = {"description": said, "content": {kind: {}}}
    return {"summary": said, "responses": {"200": good, **{str(status): _refusal(status) for status in statuses}}}


def _refusal(status: int) -> dict[str, Any]:
    schema = {"type": "object"} if status == 503 else _ERROR
    return {"description": "An error of the protocol.", "content": {"application/json": {"schema": schema}}}
