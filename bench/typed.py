"""Contracts of Python types, compared with the libraries that read them: a clean reply, one that the type converts, one that is broken.

Returns CPU microseconds per reply, peers in the same run. On a clean reply pydantic alone is the floor: trueup asks it too.
"""

import json
from dataclasses import dataclass
from typing import Any

import msgspec
from pydantic import BaseModel

from trueup.contract.contract import Contract
from trueup.measure.timing import race

Result = dict[str, Any]


class Line(BaseModel):
    sku: str
    qty: int
    price: float


class Order(BaseModel):
    id: str
    lines: list[Line]
    note: str | None = None


@dataclass
class PlainLine:
    sku: str
    qty: int
    price: float


@dataclass
class PlainOrder:
    id: str
    lines: list[PlainLine]
    note: str | None = None


CLEAN = json.dumps(
    {"id": "a1", "lines": [{"sku": f"s{n}", "qty": n, "price": n + 0.5} for n in range(10)], "note": "by noon"}
)
CONVERTED = CLEAN.replace('"qty": 3', '"qty": "3"')
BROKEN = f"```json\n{CLEAN[:-1]},}}\n```"


def typed(rounds: int) -> Result:
    """Microseconds per reply, by kind of reply and reader."""
    model, plain = Contract(Order), Contract(PlainOrder)
    decoder = msgspec.json.Decoder(PlainOrder)
    kinds: dict[str, dict[str, Any]] = {
        "clean": {
            "trueup, pydantic model": lambda: model.check(CLEAN),
            "pydantic alone": lambda: Order.model_validate_json(CLEAN),
            "trueup, dataclass": lambda: plain.check(CLEAN),
            "msgspec alone": lambda: decoder.decode(CLEAN),
        },
        "converted by the model": {
            "trueup, pydantic model": lambda: model.check(CONVERTED),
            "pydantic alone": lambda: Order.model_validate_json(CONVERTED),
        },
        "broken": {
            "trueup, pydantic model": lambda: model.check(BROKEN),
            "trueup, dataclass": lambda: plain.check(BROKEN),
        },
    }
    try:
        from json_repair import loads
    except ImportError:
        pass
    else:
        kinds["broken"]["json_repair + pydantic"] = lambda: Order.model_validate(loads(BROKEN))
    for calls in kinds.values():
        for call in calls.values():
            assert call()
    return {kind: race(calls, rounds) for kind, calls in kinds.items()}


def table(data: Any) -> tuple[str, str, list[str], list[list[str]]]:
    """The section of the report."""
    rows = []
    for kind, took in data.items():
        base = took.get("pydantic alone") or took["trueup, pydantic model"]
        rows += [[kind, name, f"{us:.1f}", f"{us / base:.2f}"] for name, us in took.items()]
    note = (
        "An order with ten lines (560 characters) under a pydantic model or a dataclass. CPU µs per reply; the ratio is to "
        "pydantic alone, for broken replies to trueup. trueup reports every value that the type converts."
    )
    return "Python types", note, ["reply", "reader", "µs", "ratio"], rows
