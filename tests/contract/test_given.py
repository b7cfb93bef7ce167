"""What a developer sees of a contract: a line for it, and what was meant by a slip."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from trueup import Contract
from trueup.conform.refusals import SchemaError
from trueup.contract.given import Given

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Invoice(BaseModel):
    number: str


class Fieldless:
    pass


def look(city: str) -> str:
    return city


@pytest.mark.parametrize(
    ("contract", "shown"),
    [
        (Contract(), "<Contract>"),
        (Contract(Invoice), "<Contract schema Invoice>"),
        (Contract({"type": "object"}, name="shop"), "<Contract 'shop': schema {'type': 'object'}>"),
        (Contract(tools=[look], strict=True), "<Contract tools, strict=True>"),
        (Contract(True, rules=["n < 3"], accept="lossy"), "<Contract schema True, rules, accept='lossy'>"),
        (Contract.load(EXAMPLES / "contracts" / "salon.yaml"), "<Contract 'salon': tools, "),
    ],
    ids=str,
)
def test_a_contract_is_told_from_another(contract: Contract, shown: str) -> None:
    assert repr(contract).startswith(shown)
    assert len(repr(contract)) < 200


@pytest.mark.parametrize(
    ("slip", "meant"), [("shema", "schema"), ("tool", "tools"), ("acept", "accept"), ("max_dept", "max_depth")]
)
def test_a_slip_in_an_option_gets_the_one_that_was_meant(slip: str, meant: str) -> None:
    with pytest.raises(TypeError, match=f"^Contract takes no '{slip}'; did you mean '{meant}'\\?$"):
        Contract(**{slip: None})  # type: ignore[arg-type]


def test_an_option_like_no_other_gets_them_all() -> None:
    with pytest.raises(TypeError, match=f"it takes schema, {', '.join(Given.__annotations__)}"):
        Contract(zzz=1)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (look, r"look is a function, not a type; .* tools=\[look\]"),
        (len, "len is a function"),
        (Fieldless, "Fieldless.* cannot be read as a type: .*; give a pydantic model, a dataclass"),
        (Fieldless(), "cannot be read as a type: .*; give a pydantic model"),
    ],
)
def test_what_is_no_schema_says_what_would_be_one(schema: object, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        Contract(schema)


def test_a_verdict_shows_its_value_and_its_codes() -> None:
    contract = Contract(Invoice)
    assert repr(contract.check('{"number": "7",}')) == "<Verdict ok: Invoice(number='7'); S001>"
    assert repr(contract.check("{}")) == "<Verdict refused: {}; V002>"
    assert repr(contract.check("no")) == "<Verdict refused: P001>"
    assert len(repr(Contract(True).check('["' + "x" * 10_000 + '"]'))) < 130
