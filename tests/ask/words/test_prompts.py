"""Prompts do not change: a study measured them, so every text that is sent to a model is compared with the file next to this one.

`pytest --update-snapshots` writes the file again; a changed prompt must also be measured again (docs/asking-study.md).
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ask.stage import SCHEMA, Model, StageClock
from trueup import Contract, Policy
from trueup.ask.drivers.sync import ask
from trueup.ask.memory import Memory

SNAPSHOT = Path(__file__).parent / "snapshots" / "prompts.json"
NODE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "label": {"type": "string"},
                "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
            },
            "required": ["label"],
        }
    },
    "$ref": "#/$defs/node",
}
RICH = {
    "title": "Order",
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^[A-Z]{2}$", "description": "The number\non the receipt."},
        "level": {"enum": ["low", "high"], "default": "low"},
        "count": {"type": "integer", "minimum": 1, "exclusiveMaximum": 100, "title": "How many"},
        "price": {"type": ["number", "null"], "multipleOf": 0.5},
        "day": {"type": "string", "format": "date"},
        "tags": {"type": "array", "items": {"type": "string", "minLength": 2}, "maxItems": 5},
        "to": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "zip": {"type": "string", "maxLength": 5}},
            "required": ["street"],
        },
    },
    "required": ["id", "count", "to"],
}
BOOK = {
    "name": "book",
    "description": "Books a table.",
    "parameters": {
        "type": "object",
        "properties": {"day": {"type": "string", "format": "date"}, "people": {"type": "integer", "minimum": 1}},
        "required": ["day"],
    },
}
EVENT = {
    "type": "object",
    "properties": {"type": {"const": "key"}, "key": {"type": "string", "maxLength": 1}},
    "required": ["type", "key"],
}
PING = {"name": "ping", "description": "Says whether the service is up.", "parameters": {"type": "object"}}
TOOLS = [BOOK, PING]

# Name: contract, kind of client, options of the policy, the model's replies.
ASKS: dict[str, tuple[Contract, str, dict[str, Any], list[str]]] = {
    "flat": (Contract(SCHEMA), "plain", {}, ['{"name": "Ada", "age": "x"}', '{"name": "Ada", "age": 1}']),
    "flat, in Spanish": (Contract(SCHEMA, language="es"), "plain", {}, ['{"age": 1}', '{"name": "Ada", "age": 1}']),
    "flat, by fields": (
        Contract(SCHEMA), "plain", {"repair": "fields"}, ['{"name": "Ada"}', '{"age": 1}'],
    ),
    "flat, twice wrong": (
        Contract(SCHEMA), "plain", {}, ['{"name": "Ada"}', '{"name": "Ada"}', '{"name": "Ada", "age": 1}'],
    ),
    "flat, held": (Contract(SCHEMA), "held", {}, ['{"name": "Ada", "age": 1}']),
    "flat, held and told": (Contract(SCHEMA), "held", {"instruct": "always"}, ['{"name": "Ada", "age": 1}']),
    "flat, never told": (Contract(SCHEMA), "plain", {"instruct": "never"}, ['{"name": "Ada", "age": 1}']),
    "rich": (Contract(RICH), "plain", {}, ['{"id": "AB", "count": 1, "to": {"street": "x"}}']),
    "rich, in Spanish": (
        Contract(RICH), "plain", {"language": "es"}, ['{"id": "AB", "count": 1, "to": {"street": "x"}}'],
    ),
    "recursive": (Contract(NODE), "plain", {}, ['{"label": "a"}']),
    "union": (
        Contract({"oneOf": [SCHEMA, {"type": "object", "properties": {"error": {"const": "none"}}}]}),
        "plain", {}, ['{"error": "none"}'],
    ),
    "union, the second arm meant": (
        Contract({"oneOf": [SCHEMA, EVENT]}), "plain", {}, ['{"type": "key"}', '{"type": "key", "key": "a"}'],
    ),
    "union, no arm meant": (
        Contract({"oneOf": [SCHEMA, EVENT]}), "plain", {}, ['{"other": 1}', '{"type": "key", "key": "a"}'],
    ),
    "prose, cut off and twice wrong": (
        Contract(SCHEMA), "plain", {"repairs": 3, "language": "es"},
        ["Ada is old.", '{"name": "Ada', '{"name": "Ada', '{"name": "Ada", "age": 1}'],
    ),
    "a schema that no form shows": (
        Contract({"properties": {"a": {"type": "integer"}}, "patternProperties": {"^x": {"type": "integer"}}}), "plain", {},
        ['{"a": "one"}', '{"a": 1}'],
    ),
    "a call in words": (
        Contract(tools=TOOLS), "plain", {},
        ['<tool_call>{"name": "book", "arguments": {"people": 0}}</tool_call>', "Hello."],
    ),
    "envelope with a faulty call": (
        Contract.envelope(TOOLS), "plain", {},
        ['{"toolCalls": [{"name": "book", "arguments": {}}]}', '{"content": "Hello."}'],
    ),
    "a state that forbids": (
        Contract(states={"ASKING": {"forbid": [{"terms": ["Ana"], "why": "Too early"}]}}), "plain", {}, ["Ana.", "Hello."],
    ),
    "long union": (
        Contract({"anyOf": [{"type": "object", "properties": {f"field_{n:03}": SCHEMA}} for n in range(60)]}),
        "plain", {}, ["{}"],
    ),
    "list": (Contract({"type": "array", "items": SCHEMA}), "plain", {}, ["[]"]),
    "any": (Contract(True), "plain", {}, ["1"]),
    "text": (Contract(reply={"min_text": 2}), "plain", {}, ["Hello there."]),
    "state": (
        Contract(states={"ASKING": {"fallback": "Which one?"}, "DONE": {}}, language="es"), "plain", {}, ["Hola."],
    ),
    "tools in words": (Contract(tools=TOOLS), "plain", {}, ["Hello."]),
    "tools in words, in Spanish": (Contract(tools=TOOLS), "plain", {"language": "es"}, ["Hola."]),
    "tools by the provider": (Contract(tools=TOOLS), "held", {}, ["Hello."]),
    "tools and a schema": (Contract(SCHEMA, tools=TOOLS), "plain", {}, ['{"name": "Ada", "age": 1}']),
    "envelope": (Contract.envelope(TOOLS), "plain", {}, ['{"content": "Hello."}']),
    "envelope, by the provider": (Contract.envelope(TOOLS), "held", {"instruct": "always"}, ['{"content": "Hello."}']),
    "envelope without tools": (Contract.envelope(), "plain", {}, ['{"content": "Hello."}']),
    "envelope with a call": (
        Contract.envelope(TOOLS, calls={"required": True}), "plain", {},
        ['{"toolCalls": [{"name": "ping", "arguments": {}}]}'],
    ),
    "own words": (Contract(SCHEMA), "plain", {"words": {"format": "JSON, please: {shape}"}}, ['{"name": "", "age": 1}']),
}  # fmt: skip


def prompts(name: str) -> list[Any]:
    """All messages that are sent to a model in one of the asks."""
    contract, how, options, script = ASKS[name]
    clock, model = StageClock(), Model(script)
    call = model.plain if how == "plain" else model
    context = {"state": "ASKING"} if "state" in name else None
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Who?"}]
    ask(contract, call, messages, Policy(**options), clock=clock, wait=clock.wait, memory=Memory(), context=context)
    return [request["messages"] for request in model.seen]


@pytest.mark.parametrize("name", ASKS)
def test_prompts_have_not_changed(name: str, request: pytest.FixtureRequest) -> None:
    kept = json.loads(SNAPSHOT.read_text("utf-8")) if SNAPSHOT.exists() else {}
    sent = prompts(name)
    if request.config.getoption("--update-snapshots"):
        SNAPSHOT.write_text(json.dumps({**kept, name: sent}, indent=1, ensure_ascii=False) + "\n", "utf-8")
        return
    assert sent == kept[name]
