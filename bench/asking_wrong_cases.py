"""Replies that fit their schema and are wrong, in five languages, and a server that plays them: the cases of `asking_wrong.py`.

Each prompt follows a worked example, as in the study. The first reply of a case is valid and has one wrong value, or two that were
exchanged. The last two kinds are there because grounding cannot see them: the value is in the text, or is not a value at all.
"""

import json
from typing import Any, NamedTuple

from pydantic import BaseModel

from asking_tasks import DATA
from trueup import Contract
from trueup.testing.wire import Request

MODEL = "scripted"


class Contact(BaseModel):
    name: str
    email: str | None
    phone: str | None


class Bill(BaseModel):
    supplier: str
    total: float
    due: str


class Guest(BaseModel):
    name: str
    age: int


class Guests(BaseModel):
    people: list[Guest]


class Visit(BaseModel):
    name: str
    date: str
    time: str


class Review(BaseModel):
    product: str
    quote: str


class Order(BaseModel):
    customer: str
    item: str
    quantity: int


MODELS: dict[str, type[BaseModel]] = {model.__name__: model for model in (Contact, Bill, Guests, Visit, Review, Order)}
EXAMPLES: dict[str, tuple[str, dict[str, Any]]] = {
    "Contact": ("Leo Fox, leo@example.com, 555-0111", {"name": "Leo Fox", "email": "leo@example.com", "phone": "555-0111"}),
    "Bill": ("Acorn Ltd, 80.00, due 2 January 2026", {"supplier": "Acorn Ltd", "total": 80.0, "due": "2026-01-02"}),
    "Guests": ("Amy (22) and Bob (33)", {"people": [{"name": "Amy", "age": 22}, {"name": "Bob", "age": 33}]}),
    "Visit": ("Amy, 9 January 2026, 11:00", {"name": "Amy", "date": "2026-01-09", "time": "11:00"}),
    "Review": ("Lamp: “Far too dim.”", {"product": "Lamp", "quote": "Far too dim."}),
    "Order": ("Amy: 7 pens", {"customer": "Amy", "item": "pens", "quantity": 7}),
}  # fmt: skip


class Case(NamedTuple):
    """A prompt, the mistake in the first reply, the right value and the wrong one."""

    lang: str
    kind: str
    model: str
    prompt: str
    right: dict[str, Any]
    wrong: dict[str, Any]

    @property
    def schema(self) -> type[BaseModel]:
        return MODELS[self.model]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation to send: the worked example and the prompt."""
        prompt, reply = EXAMPLES[self.model]
        return [
            {"role": "user", "content": prompt},
            {"role": "assistant", "content": json.dumps(reply, ensure_ascii=False)},
            {"role": "user", "content": self.prompt},
        ]

    def contract(self, *, grounded: bool) -> Contract:
        """The contract for a reply; if it is grounded, each value must be in the prompt, and a quotation word for word."""
        return Contract(self.schema, grounded={"quotations": ["quote"]}) if grounded else Contract(self.schema)


def cases() -> list[Case]:
    lines = (DATA / "asking_wrong.jsonl").read_text("utf-8").splitlines()
    return [Case(**json.loads(line)) for line in lines]


class Server:
    """Answers the first request of a case with the wrong value and later ones with the right one, or all of them; counts the calls."""

    def __init__(self) -> None:
        self._case: Case | None = None
        self._right = False
        self.calls = 0

    def begin(self, case: Case, *, right: bool = False) -> None:
        self._case, self._right, self.calls = case, right, 0

    def answer(self, _request: Request) -> str:
        assert self._case is not None
        self.calls += 1
        right = self._right or self.calls > 1
        return json.dumps(self._case.right if right else self._case.wrong, ensure_ascii=False)


def plain(made: Any) -> Any:
    """A library's result as JSON data."""
    return made.model_dump() if isinstance(made, BaseModel) else made
