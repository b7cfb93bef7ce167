"""A pickled contract carries the options from which it was made."""

import pickle
import threading
from pathlib import Path

import pytest
from pydantic import BaseModel

from tests.batch.sifting import run, unit
from trueup import Contract


class Person(BaseModel):
    name: str
    age: int


def book(day: int) -> str:
    return f"booked {day}"


def travelled(contract: Contract) -> Contract:
    return pickle.loads(pickle.dumps(contract))  # type: ignore[no-any-return]


def test_schema_types_tools_rules_and_options_come_along(root: Path) -> None:
    person = travelled(Contract(Person, coerce="off", strict=True, name="person"))
    assert person.check('{"name": "Ada", "age": 36}').value == Person(name="Ada", age=36)
    assert (person.strict, person.name, person.options.profile) == (True, "person", "off")
    tools = travelled(Contract(tools=[book], order=["book"]))
    assert tools.check({"role": "assistant", "tool_calls": [{"function": {"name": "book", "arguments": "{}"}}]}).errors
    rules = travelled(Contract(True, rules=[{"name": "few", "expr": "n < 3", "error": "too many"}]))
    assert [f.code for f in rules.check('{"n": 5}').errors] == ["B005"]
    salon = travelled(Contract.load(root / "examples" / "contracts" / "salon.yaml"))
    assert not salon.check("Tu cita ha sido confirmada.", {"state": "SLOT_SELECTION"}).ok


def test_a_sift_accepts_a_contract_object_while_other_threads_run(tmp_path: Path) -> None:
    stop = threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    try:
        ran = run(tmp_path, [unit("a"), unit("b", "no")], Contract({"type": "object", "required": ["name"]}))
    finally:
        stop.set()
        other.join()
    assert [row["unit_id"] for row in ran.valid] == ["a"]
    assert [row["unit_id"] for row in ran.failed] == ["b"]


def test_a_contract_that_cannot_travel_says_so() -> None:
    from trueup.batch.judging.contracts import BadContract, spec_of

    spec = spec_of(Contract(tools=[lambda day: day]))
    assert not spec.travels
    with pytest.raises(BadContract, match="cannot be sent to another process"):
        spec.portable()
