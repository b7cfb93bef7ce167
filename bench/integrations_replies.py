"""Replies with a known record: a third clean, a third in a fence or prose, a third faulty. Nothing is asked, nothing is stored."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, Field

Record = dict[str, Any]
CITIES = ("Lima", "Oslo", "Kyoto", "São Paulo", "Zürich")
NOTES = ("leave it at the door", "call first", "a gift, no invoice", "the blue one", "second floor")


class Order(BaseModel):
    """An order of a shop."""

    order_id: str
    city: str
    quantity: Annotated[int, Field(ge=1)]
    amount: float
    express: bool
    note: str


class Reply(NamedTuple):
    """A reply, its kind, and the record that it gives. None: the reply breaks the schema and must be refused."""

    kind: str
    text: str
    record: Record | None


def _unquoted(record: Record) -> str:
    return "{" + ", ".join(f"{name}: {json.dumps(value)}" for name, value in record.items()) + "}"


def _as_texts(record: Record) -> str:
    return json.dumps({**record, "quantity": str(record["quantity"]), "amount": str(record["amount"])})


def _without_amount(record: Record) -> str:
    return json.dumps({name: value for name, value in record.items() if name != "amount"})


CLEAN: dict[str, Callable[[Record], str]] = {"clean JSON": json.dumps}
WRAPPED: dict[str, Callable[[Record], str]] = {
    "in a fence": lambda record: f"```json\n{json.dumps(record, indent=2)}\n```",
    "prose and a fence": lambda record: f"Here is the order:\n\n```json\n{json.dumps(record)}\n```\n\nAnything else?",
    "in prose, no fence": lambda record: f"Sure! The order is {json.dumps(record)}. Anything else?",
}
BROKEN: dict[str, Callable[[Record], str]] = {
    "a Python dict": repr,
    "trailing comma": lambda record: f"{json.dumps(record)[:-1]},}}",
    "keys without quotes": _unquoted,
    "a comment": lambda record: json.dumps(record, indent=1).replace(",\n", ",  // as asked\n", 1),
    "last brace missing": lambda record: json.dumps(record)[:-1],
    "numbers as texts": _as_texts,
}
INVALID: dict[str, Callable[[Record], str]] = {
    "a required field missing": _without_amount,
    "a quantity of 0": lambda record: json.dumps({**record, "quantity": 0}),
}
THIRDS = (("clean", CLEAN), ("fence or prose", WRAPPED), ("faulty", BROKEN | INVALID))


def record_of(number: int, dice: random.Random) -> Record:
    return {
        "order_id": f"A-{number:06}",
        "city": dice.choice(CITIES),
        "quantity": dice.randint(1, 40),
        "amount": dice.randint(100, 99_999) / 100,
        "express": dice.random() < 0.5,
        "note": f"{dice.choice(NOTES)} ({number})",
    }


def replies(count: int, seed: int = 11) -> list[Reply]:
    """Replies of the three thirds in turn, each kind of a third in turn."""
    dice = random.Random(seed)
    made = []
    for number in range(count):
        kinds = THIRDS[number % 3][1]
        kind = list(kinds)[number // 3 % len(kinds)]
        record = record_of(number, dice)
        made.append(Reply(kind, kinds[kind](record), None if kind in INVALID else record))
    return made


def only(kinds: dict[str, Callable[[Record], str]], given: Sequence[Reply]) -> list[Reply]:
    return [reply for reply in given if reply.kind in kinds]
