"""The JSON Schema of a gateway's file.

Names, choices, limits and defaults come from the code that reads the file; sentences come from the fields of the configuration,
where the file means the same.
"""

from typing import Any, get_args, get_type_hints

import msgspec

from editor.structs import SWITCH, TEXT, Shape, mapping, or_null, said, sentences, struct
from trueup.ask.policy import Policy, Price
from trueup.gateway import keys, settings
from trueup.gateway.client.tls import Tls
from trueup.gateway.config import (
    ENDPOINTS,
    POLICY,
    AwsKeys,
    Caller,
    Config,
    Limits,
    Logs,
    Route,
    Spare,
    StudioKey,
    StudioSection,
    TokenSource,
    Upstream,
)
from trueup.gateway.file.access import _KINDS
from trueup.gateway.passing.endpoints import GROUPS
from trueup.store.redaction import Redaction
from trueup.store.retention import Retention

NAMES: Shape = {"anyOf": [TEXT, {"type": "array", "items": TEXT, "minItems": 1}]}
SHARE: Shape = {"type": ["number", "null"], "exclusiveMinimum": 0, "exclusiveMaximum": 1}
VARIABLE = "Write $NAME to take it from an environment variable."
HASH = said(TEXT, f"The SHA-256 of the key, as sha256:…; `trueup keys hash` prints it. {VARIABLE}")
AMOUNT = r"^\d{1,16}(\.\d{1,6})? (per (hour|day|month)|in total)$"


def _choices(kind: type[msgspec.Struct], name: str) -> Shape:
    """The words of a field."""
    return {"enum": [*get_args(get_type_hints(kind)[name])]}


def _default(kind: type[msgspec.Struct], name: str) -> Any:
    return next(field.default for field in msgspec.structs.fields(kind) if field.name == name)


def _source() -> Shape:
    about = sentences(TokenSource)
    return mapping(
        "Source of a token",
        "Where a token comes from: one of `command`, `file` and `metadata`.",
        {
            "command": said({"type": "array", "items": TEXT, "minItems": 1}, about["command"]),
            "file": said(TEXT, about["file"]),
            "metadata": said(SWITCH, about["metadata"], default=False),
            "seconds": said(
                {"type": "number", "exclusiveMinimum": 0}, about["seconds"], default=_default(TokenSource, "seconds")
            ),
        },
        oneOf=[{"required": [name]} for name in ("command", "file", "metadata")],
    )


def _auth() -> Shape:
    aws = sentences(AwsKeys)
    token = {"$ref": "#/$defs/Token"}
    parts: dict[str, Shape] = {
        "version": said(TEXT, "The version of Azure's API, such as 2024-10-21; leave it out for the newer paths."),
        "region": said(TEXT, "The region, such as eu-central-1; for Bedrock also from $AWS_REGION."),
        "project": said(TEXT, "The Vertex project."),
        "token": said(token, "Where tokens come from."),
        "credentials": said(token, "Where AWS credentials come from."),
        **{name: said(TEXT, f"{text} {VARIABLE}") for name, text in aws.items()},
    }
    needed = {"azure": [], "bedrock": [], "vertex": ["project", "region", "token"]}
    kinds = [
        mapping(
            kind,
            f"How to reach {kind}.",
            {"kind": said({"const": kind}, "The cloud."), **{name: parts[name] for name in names if name != "kind"}},
            required=["kind", *needed[kind]],
        )
        for kind, names in _KINDS.items()
    ]
    return {"anyOf": [{"enum": [*_KINDS]}, *kinds, {"type": "null"}]}


def _upstream() -> Shape:
    about = sentences(Upstream)
    return mapping(
        "Upstream",
        about_kind(Upstream),
        {
            "url": said(
                {"type": ["string", "null"]}, "Its base address, without /v1/…, such as https://api.openai.com."
            ),
            "protocol": said(_choices(Upstream, "protocol"), about["protocol"], default=_default(Upstream, "protocol")),
            "key": said(TEXT, f"The key sent to it. {VARIABLE}"),
            "private": said(SWITCH, about["private"], default=False),
            "headers": {
                "type": "object",
                "additionalProperties": TEXT,
                "description": f"Extra headers for every request. {VARIABLE}",
            },
            "auth": said(_auth(), "How to address it and sign requests, if it is in a cloud of Azure, AWS or Google."),
            "responses": said(SWITCH, about["responses"]),
            "tls": said(
                {"anyOf": [{"$ref": "#/$defs/Tls"}, {"type": "null"}]},
                "Which certificates to trust, and which one to present.",
            ),
            "tenant": said(TEXT, about["tenant"]),
        },
        anyOf=[{"required": ["url"]}, {"required": ["auth"]}],
    )


def about_kind(kind: type) -> str:
    """The first sentence about a class."""
    return " ".join((kind.__doc__ or "").partition("\n\n")[0].split())


def _route() -> Shape:
    about, spare = sentences(Route), sentences(Spare)
    name: Shape = {"type": ["string", "null"]}
    fallback = mapping(
        "Fallback",
        about_kind(Spare),
        {
            "upstream": said(TEXT, spare["upstream"]),
            "model": said(TEXT, spare["model"]),
            "share": said(SHARE, spare["share"]),
        },
        required=["upstream"],
    )
    models: Shape = {"anyOf": [TEXT, {"type": "array", "items": TEXT}]}
    return mapping(
        "Route",
        about_kind(Route),
        {
            "name": said({**TEXT, "pattern": "^[^/]*$"}, about["name"]),
            "models": said(models, about["models"]),
            "contract": said(name, about["contract"]),
            "request": said(name, about["request"]),
            "upstream": said(name, about["upstream"]),
            "model": said(TEXT, about["model"]),
            "share": said(SHARE, about["share"]),
            "fallback": said({"type": ["array", "null"], "items": fallback}, about["fallback"]),
            "policy": said(
                {"anyOf": [{"$ref": "#/$defs/Policy"}, {"type": "null"}]}, "How often to ask again, and when to stop."
            ),
            "hold": said(_choices(Route, "hold"), about["hold"], default=_default(Route, "hold")),
            "state": said(TEXT, about["state"]),
            "unknown_state": said(
                _choices(Route, "unknown_state"), about["unknown_state"], default=_default(Route, "unknown_state")
            ),
            "quota": said({"type": ["boolean", "null"]}, about["quota"]),
        },
        anyOf=[{"required": ["models"]}, {"required": ["name"]}],
    )


def _client() -> Shape:
    about = sentences(Caller)
    expires: Shape = {"type": ["string", "null"]}
    key = {
        "name": said(TEXT, about["name"]),
        "key": said(TEXT, f"{about['key'].partition(';')[0]}. {VARIABLE}"),
        "hash": HASH,
        "expires": said(expires, "When the key stops working: a date or a time, such as 2027-01-31."),
    }
    amount: Shape = {"type": "string", "pattern": AMOUNT}
    amounts: Shape = {"anyOf": [amount, {"type": "array", "items": amount}]}
    limits = mapping(
        "Limits of a client",
        "How much the client may use.",
        {
            "replies": said(amounts, "How many replies, such as 1000 per day, or 5000 in total; needs `quota: true`."),
            "cost": said(amounts, "How much money, such as 2.50 per day; needs `quota: true`."),
            "requests_per_minute": said(
                {"type": ["integer", "null"], "minimum": 1, "maximum": keys.MOST_PER_MINUTE}, about["per_minute"]
            ),
        },
    )
    one = mapping("Key", "One of the client's keys.", key)
    return mapping(
        "Client",
        about_kind(Caller),
        {
            **key,
            "tenant": said({**TEXT, "minLength": 1}, about["tenant"]),
            "user": said(TEXT, about["user"]),
            "keys": said({"type": "array", "items": one, "minItems": 1}, "Its keys, if it has several."),
            "routes": said(NAMES, about["routes"]),
            "models": said(NAMES, about["models"]),
            "limits": {"anyOf": [limits, {"type": "null"}], "description": "How much the client may use."},
        },
        required=["tenant"],
    )


def _studio() -> Shape:
    about, one = sentences(StudioSection), sentences(StudioKey)
    key = mapping(
        "Key of the studio",
        about_kind(StudioKey),
        {
            "name": said({**TEXT, "minLength": 1}, one["name"]),
            "role": said(_choices(StudioKey, "role"), one["role"]),
            "key": said(TEXT, f"The key. {VARIABLE}"),
            "hash": HASH,
            "tenant": said({**TEXT, "minLength": 1}, one["tenant"]),
            "expires": said(
                {"type": ["string", "null"]}, "When the key stops working: a date or a time, such as 2027-01-31."
            ),
        },
        required=["name", "role"],
    )
    names: Shape = {"type": ["array", "null"], "items": {**TEXT, "minLength": 1}}
    return mapping(
        "Studio",
        about_kind(StudioSection),
        {
            "keys": said({"type": "array", "items": key, "minItems": 1}, about["keys"]),
            "folders": said(
                names,
                "Folders with contracts and runs, relative to this file; the studio shows and changes no other file.",
            ),
            "hosts": said(names, about["hosts"]),
            "secret": said(TEXT, f"{about['secret']} {VARIABLE}"),
        },
        required=["keys"],
    )


def _policy() -> Shape:
    shape = struct(Policy, "Policy", POLICY)
    for name in ("words", "fallback"):
        shape["properties"][name].pop("default", None)
    shape["properties"]["tokenizer"] = {"type": "null", "description": "A function, which only Python code can give."}
    redaction: Shape = {"anyOf": [{"$ref": "#/$defs/Redaction"}, {"type": "null"}]}
    about = sentences(Policy)["redaction"].partition(":")[0]
    shape["properties"]["redaction"] = said(redaction, f"{about}.")
    shape["properties"]["words"]["type"] = ["string", "object", "null"]
    shape["properties"]["models"]["items"] = {**TEXT, "minLength": 1}
    return shape


def file_schema() -> Shape:
    """The JSON Schema of a gateway's file."""
    about = sentences(Config)
    texts: Shape = {"type": "object", "additionalProperties": {**TEXT, "minLength": 1}}
    parts: dict[str, type[msgspec.Struct]] = {
        "limits": Limits,
        "redaction": Redaction,
        "retention": Retention,
        "logs": Logs,
    }
    top: dict[str, Shape] = {
        "listen": said(
            {"type": ["string", "integer"], "pattern": r":\d{1,5}$|^\d{1,5}$"},
            "The address and the port that it listens on.",
            default=f"{_default(Config, 'host')}:{_default(Config, 'port')}",
        ),
        "server": said(_choices(Config, "server"), about["server"], default=_default(Config, "server")),
        "workers": said(
            {"type": "integer", "minimum": 1, "maximum": settings.MOST_WORKERS}, about["workers"], default=1
        ),
        "store": said(TEXT, f"{about['store']} {VARIABLE}"),
        "quota": said(SWITCH, about["quota"], default=False),
        "choose": said(SWITCH, about["choose"], default=True),
        "upstreams": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"$ref": "#/$defs/Upstream"},
            "description": about["upstreams"],
        },
        "models": said(or_null(texts), about["models"]),
        "contracts": said(or_null(texts), "Contract files, relative to this file, by the names that routes refer to."),
        "routes": said({"type": ["array", "null"], "items": {"$ref": "#/$defs/Route"}}, about["routes"]),
        "clients": said({"type": "array", "items": {"$ref": "#/$defs/Client"}, "minItems": 1}, about["clients"]),
        **{
            name: said({"anyOf": [{"$ref": f"#/$defs/{kind.__name__}"}, {"type": "null"}]}, about[name])
            for name, kind in parts.items()
        },
        "keep_context": said(
            {"type": ["boolean", "integer"], "minimum": 0, "maximum": settings.MOST_CONTEXT},
            about["keep_context"],
            default=False,
        ),
        "telemetry": said(SWITCH, about["telemetry"], default=False),
        "progress": said(SWITCH, about["progress"], default=False),
        "endpoints": said(
            {"type": ["array", "null"], "items": {"enum": [*GROUPS]}}, about["endpoints"], default=[*ENDPOINTS]
        ),
        "studio": said({"anyOf": [{"$ref": "#/$defs/Studio"}, {"type": "null"}]}, about["studio"]),
    }
    price = struct(Price, "Price")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **mapping(
            "trueup gateway",
            "The file of a gateway: its upstreams, and which contract replies must meet.",
            top,
            required=["upstreams"],
        ),
        "$defs": {
            "Upstream": _upstream(),
            "Tls": struct(Tls, "TLS"),
            "Token": _source(),
            "Route": _route(),
            "Policy": _policy(),
            "Price": price,
            "Client": _client(),
            **{kind.__name__: struct(kind, name.capitalize()) for name, kind in parts.items()},
            "Studio": _studio(),
        },
    }
