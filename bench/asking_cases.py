"""Twenty typical failures of a model server, and a server that plays them: the cases of `asking_failures.py`.

The model improves when it is asked again, or always gives the same reply. Calls and tokens are counted here, in the same way for every library.
"""

import json
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, Field

from trueup.testing.script import Cut, Fail, Say
from trueup.testing.wire import Request

MODEL = "scripted"
PROMPT = "Ana orders two coffees, not express. She adds: no sugar."
GOOD = {"customer": "Ana", "item": "coffee", "quantity": 2, "express": False, "note": "no sugar"}
GOOD_TEXT = json.dumps(GOOD)


class Order(BaseModel):
    """An order of a customer."""

    customer: str
    item: Literal["tea", "coffee", "juice"]
    quantity: int = Field(ge=1, le=20)
    express: bool
    note: str | None = None


class Case(NamedTuple):
    """A failure: its name, and the step of the server until the model improves."""

    name: str
    step: Any


def _with(**changes: Any) -> str:
    return json.dumps({**GOOD, **changes})


CASES = (
    Case("a code fence and a remark", f"Here is the order:\n```json\n{GOOD_TEXT}\n```\nAnything else?"),
    Case("prose around the JSON", f"Sure! The order is {GOOD_TEXT}. Let me know if that is right."),
    Case("a trailing comma", GOOD_TEXT[:-1] + ",}"),
    Case("a Python literal", repr(GOOD)),
    Case("comments", GOOD_TEXT.replace('"quantity": 2,', '"quantity": 2, // two coffees\n')),
    Case("names without quotes", GOOD_TEXT.replace('"customer":', "customer:").replace('"item":', "item:")),
    Case("a line break in a string", GOOD_TEXT.replace("no sugar", "no\nsugar")),
    Case("the last brace is missing", GOOD_TEXT[:-1]),
    Case("reasoning before the JSON", f"<think>Two coffees, so {{quantity: 2}}.</think>\n{GOOD_TEXT}"),
    Case("an enum value in capitals", _with(item="Coffee")),
    Case("the value inside a list", f"[{GOOD_TEXT}]"),
    Case("the value under an extra key", json.dumps({"order": GOOD})),
    Case("a number in words", _with(quantity="two")),
    Case("a missing field", json.dumps({key: value for key, value in GOOD.items() if key != "express"})),
    Case("a number out of range", _with(quantity=0)),
    Case("prose alone", "Two coffees for Ana, without sugar. Enjoy!"),
    Case("an empty reply", Say("")),
    Case("cut at the length limit", Say(GOOD_TEXT[:45], finish="length")),
    Case("503, overloaded", Fail(503, "The server is overloaded.")),
    Case("a connection that breaks", Cut(Say(GOOD_TEXT), 0.5)),
)


class Server:
    """Answers every request of a case and counts calls and tokens: one token for every four bytes that the model would read or write."""

    def __init__(self) -> None:
        self.case, self.stubborn = CASES[0], False
        self.calls = self.tokens = 0

    def begin(self, case: Case, *, stubborn: bool) -> None:
        self.case, self.stubborn = case, stubborn
        self.calls = self.tokens = 0

    def answer(self, request: Request) -> Any:
        self.calls += 1
        step = self.case.step if self.stubborn or self.calls == 1 else GOOD_TEXT
        fields = request.fields
        read = [fields.get(name) for name in ("messages", "tools", "response_format") if fields.get(name)]
        said = step if isinstance(step, str) else step.text if isinstance(step, Say) else ""
        self.tokens += (
            0 if isinstance(step, Fail) else (len(json.dumps(read, ensure_ascii=False).encode()) + len(said or "")) // 4
        )
        return step


def is_valid(made: Any) -> bool:
    """Whether a library read the order from the server's reply; a line break that the model wrote is part of its value."""
    if not isinstance(made, Order):
        return False
    note = " ".join((made.note or "").split())
    return {**made.model_dump(), "note": note} == GOOD
