"""Help for developers: a contract's signature, its `repr`, and the name that a misspelled option meant."""

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from trueup import Contract, Policy, Price
from trueup.ask.conversation import Conversation
from trueup.ask.drivers.aio import aask
from trueup.ask.drivers.sync import ask
from trueup.ask.stream import AskStream, AsyncAskStream
from trueup.conform.refusals import SchemaError
from trueup.contract.options import OPTIONS
from trueup.watch.observe import Observed, observed

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
def test_the_repr_distinguishes_contracts(contract: Contract, shown: str) -> None:
    assert repr(contract).startswith(shown)
    assert len(repr(contract)) < 200


@pytest.mark.parametrize(
    ("slip", "meant"), [("shema", "schema"), ("tool", "tools"), ("acept", "accept"), ("max_dept", "max_depth")]
)
def test_a_misspelled_option_gets_the_one_that_was_meant(slip: str, meant: str) -> None:
    with pytest.raises(TypeError, match=f"^Contract has no option '{slip}'; did you mean '{meant}'\\?$"):
        Contract(**{slip: None})  # type: ignore[arg-type]


def test_an_option_like_no_other_gets_them_all() -> None:
    with pytest.raises(TypeError, match=f"its options are schema, tools, .*{[*OPTIONS][-1]}$"):
        Contract(zzz=1)  # type: ignore[call-overload]


def model(messages: list[Any]) -> str:
    return '{"number": "7"}'


INVOICES = Contract(Invoice)
WATCHED = observed(INVOICES, str)
ASKING: dict[str, Callable[..., Any]] = {
    "Contract.ask": INVOICES.ask,
    "Contract.aask": INVOICES.aask,
    "Contract.ask_stream": INVOICES.ask_stream,
    "Contract.aask_stream": INVOICES.aask_stream,
    "Observed.ask": WATCHED.ask,
    "Observed.aask": WATCHED.aask,
    "Observed.ask_stream": WATCHED.ask_stream,
    "Observed.aask_stream": WATCHED.aask_stream,
    "ask": lambda *given, **options: ask(INVOICES, *given, **options),
    "aask": lambda *given, **options: aask(INVOICES, *given, **options),
    "AskStream": lambda *given, **options: AskStream(INVOICES, *given, **options),
    "AsyncAskStream": lambda *given, **options: AsyncAskStream(INVOICES, *given, **options),
    "Conversation.ask": lambda call, said, **options: Conversation(INVOICES, call).ask(said, **options),
    "Conversation.aask": lambda call, said, **options: Conversation(INVOICES, call).aask(said, **options),
}


@pytest.mark.parametrize("asking", ASKING.values(), ids=ASKING)
@pytest.mark.parametrize(("slip", "meant"), [("polcy", "policy"), ("contxt", "context"), ("on_events", "on_event")])
def test_every_way_to_ask_says_which_option_was_meant(asking: Callable[..., Any], slip: str, meant: str) -> None:
    async def asked() -> None:
        made = asking(model, "Which?", **{slip: None})
        if inspect.isawaitable(made):
            await made

    with pytest.raises(TypeError, match=rf"^\w+ has no option '{slip}'; did you mean '{meant}'\?$"):
        asyncio.run(asked())


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Contract.load(EXAMPLES / "contracts" / "salon.yaml", acept="none"), r"Contract\.load .* 'accept'\?$"),
        (lambda: Contract.envelope(tols=[look]), r"Contract has no option 'tols'; did you mean 'tools'\?$"),
        (lambda: Policy(atempts=3), r"Policy has no option 'atempts'; did you mean 'attempts'\?$"),
        (lambda: Policy(max_retries=3), r"Policy has no option 'max_retries'; did you mean 'repairs'\?$"),
        (lambda: Contract(response_model=dict), r"Contract has no option 'response_model'; did you mean 'schema'\?$"),
        (lambda: INVOICES.ask(model, "?", model="gpt"), r"ask has no option 'model'; use policy=Policy\(models=…\)$"),
        (
            lambda: observed(INVOICES, on_event=str),
            r"observed has no option 'on_event'; its options are contract, \*subscribers$",
        ),
        (
            lambda: observed(INVOICES, subscriber=str),
            r"observed has no option 'subscriber'; did you mean '\*subscribers'\?$",
        ),
        (lambda: Price(inptu=1, output=2), r"Price has no option 'inptu'; did you mean 'input'\?$"),
        (
            lambda: Conversation(INVOICES, model, polcy=None),
            r"Conversation has no option 'polcy'; did you mean 'policy'\?$",
        ),
    ],
    ids=[
        "load",
        "envelope",
        "Policy",
        "retries",
        "schema",
        "model",
        "observed",
        "subscribers",
        "Price",
        "Conversation",
    ],
)
def test_so_does_everything_else_that_takes_options(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        make()


@pytest.mark.parametrize(
    "function",
    [
        Contract, Policy, observed, ask, aask, AskStream, AsyncAskStream,
        *(getattr(Contract, name) for name in ("ask", "aask", "ask_stream", "aask_stream", "load", "envelope")),
        *(getattr(Observed, name) for name in ("ask", "aask", "ask_stream", "aask_stream")),
        Conversation, Conversation.ask, Conversation.aask,
    ],
    ids=lambda function: function.__qualname__,
)  # fmt: skip
def test_every_option_has_a_name_and_a_type_in_the_signature(function: Any) -> None:
    for parameter in inspect.signature(function).parameters.values():
        assert parameter.name == "self" or parameter.annotation is not inspect.Parameter.empty
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:  # the table of a contract's options
            assert parameter.annotation in {"Unpack[Loaded]", "Unpack[OtherOptions]"}


def test_asking_later_is_still_a_coroutine_function() -> None:
    assert inspect.iscoroutinefunction(Contract.aask)
    assert inspect.iscoroutinefunction(Observed.aask)


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (look, r"look is a function, not a type; .* tools=\[look\]"),
        (len, "len is a function"),
        (Fieldless, "Fieldless.* cannot be read as a type: .*; use a pydantic model, a dataclass"),
        (Fieldless(), "cannot be read as a type: .*; use a pydantic model"),
    ],
)
def test_a_value_that_is_not_a_schema_gets_advice(schema: object, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        Contract(schema)


def test_a_verdict_shows_its_value_and_its_codes() -> None:
    contract = Contract(Invoice)
    assert repr(contract.check('{"number": "7",}')) == "<Verdict ok: Invoice(number='7'); S001>"
    assert repr(contract.check("{}")) == "<Verdict refused: {}; V002>"
    assert repr(contract.check("no")) == "<Verdict refused: P001>"
    assert len(repr(Contract(True).check('["' + "x" * 10_000 + '"]'))) < 130


@pytest.mark.parametrize(
    ("options", "meant"), [({"calls": {"requird": True}}, "required"), ({"order": {"sequnce": ["look"]}}, "sequence")]
)
def test_a_misspelled_key_of_a_table_says_which_one_was_meant(options: Any, meant: str) -> None:
    with pytest.raises(ValueError, match=f"it takes .*; did you mean '{meant}'\\?$"):
        Contract(tools=[look], **options)
