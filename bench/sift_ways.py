"""The comparisons for sifting: the files, a hand-written loop, and the source system's way, each inside this process.

The floor is what a careful person would write for clean replies: orjson, jsonschema-rs, the rules as Python, records written;
no recovery, no resume, no checks of the lines themselves.
"""

import io
import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

import cases

SCHEMA = cases.SCHEMA
RULES = [
    {
        "name": "sums_up",
        "expr": "abs(total - subtotal - shipping) < 0.01",
        "error": "{total} is not {subtotal} + {shipping}",
    },
    {"name": "has_items", "expr": "len(items) > 0 and risk <= 1"},
    {"name": "few_tries", "expr": "0 <= attempts <= 5"},
]
KINDS = ("a fence and prose", "a trailing comma", "Python's words", "an apology", "a field of the wrong type")
COERCED = len(KINDS)  # a number in quotes: every such reply is repaired
SMALL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "category", "quantity", "price", "in_stock"],
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "category": {"enum": ["tool", "food", "book"]},
        "quantity": {"type": "integer", "minimum": 0},
        "price": {"type": "number", "minimum": 0},
        "in_stock": {"type": "boolean"},
    },
}
SMALL_RULES = [{"name": "stocked", "expr": "not in_stock or quantity > 0"}]
SOURCE_LINES = 20_000  # the source's way is timed on this many lines: more would take many minutes
# what its interpreter keeps from one rule to the next
SOURCE_FUNCTIONS = frozenset(
    "sum len min max abs round all any sorted list dict set str int float bool isinstance enumerate zip range".split()
)


class Shape(NamedTuple):
    """Replies of one form: their contract, a value for each number, the field that is given a wrong type, and the hand-written loop."""

    name: str
    schema: dict[str, Any]
    rules: list[dict[str, Any]]
    value: Callable[[random.Random, int], dict[str, Any]]
    field: str
    by_hand: Callable[[Path], int]


def make_file(
    path: Path, lines: int, share: float, shape: "Shape | None" = None, kinds: Sequence[int] = range(5), doubled: int = 0
) -> None:  # fmt: skip
    """A file of units; a share of the replies is broken in one of `kinds`, and this many lines have the id of an earlier one.

    Two of the five usual kinds cannot be repaired.
    """
    shape = shape or LARGE
    dice = random.Random(7)
    again = set(range(lines - 1, 0, -max(1, lines // doubled))[:doubled]) if doubled else set()
    with path.open("wb") as opened:
        for number in range(lines):
            reply = json.dumps(shape.value(dice, number))
            if dice.random() < share:
                reply = broken(kinds[dice.randrange(len(kinds))], reply, shape.field)
            # the line before the one in the middle may be one of them, but not both
            taken = number if number not in again else number // 2 - (number // 2 in again)
            row = {"unit_id": f"unit-{taken:08d}", "input": {"n": number}, "raw_response": reply}
            opened.write(orjson.dumps(row) + b"\n")


def value(dice: random.Random, number: int) -> dict[str, Any]:
    """The document of 20 fields that the other measurements use, no two alike."""
    subtotal = round(dice.random() * 900, 2)
    return {
        **cases.DOCUMENT,
        "order_id": f"SO-{number}",
        "subtotal": subtotal,
        "total": round(subtotal + cases.DOCUMENT["shipping"], 2),
        "weight_grams": dice.randrange(10_000),
        "paid": dice.random() < 0.5,
    }


def small_value(dice: random.Random, number: int) -> dict[str, Any]:
    """A document of five fields; its line has about 200 bytes."""
    return {
        "name": f"Item {number:08d} of the autumn catalogue",
        "category": dice.choice(("tool", "food", "book")),
        "quantity": dice.randrange(1, 500),
        "price": round(dice.random() * 900, 2),
        "in_stock": dice.random() < 0.5,
    }


def broken(kind: int, reply: str, field: str = "attempts") -> str:
    """A reply broken in one of five ways, or with the number of a field in quotes."""
    if kind == 0:
        return f"Here you are:\n```json\n{reply}\n```"
    if kind == 1:
        return reply[:-1] + ",}"
    if kind == 2:
        return reply.replace("true", "True").replace("false", "False").replace("null", "None")
    if kind == 3:
        return "I am sorry, but I cannot help with that."
    return re.sub(rf'("{field}": )(\d+)', r'\1"more than one"' if kind == 4 else r'\1"\2"', reply, count=1)


def read_only(path: Path) -> int:
    with path.open("rb") as opened:
        return sum(len(line) for line in opened)


def orjson_only(path: Path) -> int:
    loads = orjson.loads
    with path.open("rb") as opened:
        return sum(1 for line in opened if loads(loads(line)["raw_response"]))


def by_hand(path: Path) -> int:
    """The floor: what a careful person would write for clean replies."""
    import jsonschema_rs

    is_valid = jsonschema_rs.validator_for(SCHEMA).is_valid
    loads, dumps, newline = orjson.loads, orjson.dumps, orjson.OPT_APPEND_NEWLINE
    count = 0
    with path.open("rb") as opened, path.with_suffix(".floor").open("wb") as out:
        for line in opened:
            row = loads(line)
            data = loads(row["raw_response"])
            sums = abs(data["total"] - data["subtotal"] - data["shipping"]) < 0.01
            if is_valid(data) and sums and len(data["items"]) > 0 and data["risk"] <= 1 and 0 <= data["attempts"] <= 5:
                record = {
                    "unit_id": row["unit_id"],
                    "input": row["input"],
                    "data": data,
                    "raw_response": row["raw_response"],
                }
                out.write(dumps(record, option=newline))
                count += 1
    path.with_suffix(".floor").unlink()
    return count


def by_hand_small(path: Path) -> int:
    """The same for the small shape and its rule."""
    import jsonschema_rs

    is_valid = jsonschema_rs.validator_for(SMALL_SCHEMA).is_valid
    loads, dumps, newline = orjson.loads, orjson.dumps, orjson.OPT_APPEND_NEWLINE
    count = 0
    with path.open("rb") as opened, path.with_suffix(".floor").open("wb") as out:
        for line in opened:
            row = loads(line)
            data = loads(row["raw_response"])
            if is_valid(data) and (not data["in_stock"] or data["quantity"] > 0):
                record = {
                    "unit_id": row["unit_id"],
                    "input": row["input"],
                    "data": data,
                    "raw_response": row["raw_response"],
                }
                out.write(dumps(record, option=newline))
                count += 1
    path.with_suffix(".floor").unlink()
    return count


LARGE = Shape("20 fields, 1 KB", SCHEMA, RULES, value, "attempts", by_hand)
SMALL = Shape("5 fields, 200 bytes", SMALL_SCHEMA, SMALL_RULES, small_value, "quantity", by_hand_small)


def as_the_source_does(path: Path) -> int:
    """Two validators with lines of JSON between them, in the steps that the source describes, all in one process.

    Sanitise, parse, merge; phase 1 reads that, walks it for coercions, lists jsonschema's errors and writes it; phase 2 reads
    that and evaluates the rules in one asteval interpreter whose symbols are cleared and set again for each of them. Not
    counted: its processes, its pipes, its logs, and what it does with the output of phase 1 before phase 2.
    """
    import asteval
    import jsonschema

    validator = jsonschema.Draft202012Validator(SCHEMA)
    evaluate = asteval.Interpreter(err_writer=io.StringIO())
    count = 0
    with path.open("rb") as opened, path.with_suffix(".source").open("w") as out:
        for _, line in zip(range(SOURCE_LINES), opened, strict=False):
            row = json.loads(line)
            text = re.sub(r"^```(?:json)?\s*|\s*```$", "", row["raw_response"].strip())
            merged = json.dumps({**row["input"], **json.loads(text), "unit_id": row["unit_id"]})
            first = _coerced(json.loads(merged), SCHEMA)
            if list(validator.iter_errors(first)):
                continue
            second = json.loads(json.dumps(first))
            if all(_evaluated(evaluate, rule["expr"], second) for rule in RULES):
                out.write(json.dumps(second) + "\n")
                count += 1
    path.with_suffix(".source").unlink()
    return count


def _evaluated(evaluate: Any, expr: str, fields: dict[str, Any]) -> Any:
    """A rule of the source: nothing is left of the unit before, but the functions that rules may call."""
    symbols = evaluate.symtable
    for name in [name for name in symbols if not name.startswith("_") and name not in SOURCE_FUNCTIONS]:
        del symbols[name]
    for name, value in fields.items():
        symbols[name] = value
    return evaluate(expr)


def _coerced(value: Any, schema: dict[str, Any]) -> Any:
    """A value brought to its schema's types in place, as far as plain schemas go."""
    kind = schema.get("type")
    if kind in ("integer", "number"):
        if isinstance(value, str):
            try:
                return int(value) if kind == "integer" else float(value)
            except ValueError:
                return value
        whole = kind == "integer" and isinstance(value, float) and value.is_integer()
        return int(value) if whole else value
    if kind == "boolean" and isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower(), value)
    if kind == "object" and isinstance(value, dict):
        members = schema.get("properties", {})
        for key, part in value.items():
            if key in members:
                value[key] = _coerced(part, members[key])
    elif kind == "array" and isinstance(value, list):
        item = schema.get("items")
        for index, part in enumerate(value):
            value[index] = _coerced(part, item) if isinstance(item, dict) else part
    return value
