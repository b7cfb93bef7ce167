"""Making the calls of a turn: changed calls keep the order, all kinds of tools run, and their results are reported correctly."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ValidationInfo, field_validator

from tests.ask.clients.kinds import KINDS, closing
from tests.ask.stage import Model
from trueup import Context, Contract, Policy, Run, ToolCall
from trueup.ask.memory import Memory
from trueup.testing.script import Call, Say
from trueup.testing.server import ScriptedServer
from trueup.verdict.events import Event, Ran

pytestmark = pytest.mark.spec("T11")

made: list[Any] = []
DESCRIBED = {"name": "look", "parameters": {"type": "object", "properties": {"days": {"type": "array"}}}}


@pytest.fixture(autouse=True)
def _nothing_was_made() -> None:
    made.clear()


async def look(n: int = 0) -> str:
    """Look."""
    made.append(("look", n))
    await asyncio.sleep(0.01)
    return "seen"


async def pay(n: int = 0) -> str:
    """Pay."""
    made.append(("pay", n))
    await asyncio.sleep(0.01)
    return "paid"


def call(name: str, ident: str = "", /, **args: Any) -> dict[str, Any]:
    return {"id": ident or f"c_{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}


def calling(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def statuses(run: Run[Any]) -> list[tuple[str, str, str]]:
    return [(called.given.name, called.call.name, called.status) for called in run.calls]


def both(order: dict[str, Any], script: list[Any], **options: Any) -> Iterator[Run[Any]]:
    """The same run with both tools, synchronous and asynchronous."""

    def plain(tool: Any) -> Any:
        return lambda n=0: asyncio.run(tool(n))

    made.clear()
    yield asyncio.run(Contract(tools=[look, pay], order=order).arun(Model(script), "Go.", **options))
    made.clear()
    contract = Contract(tools={"look": plain(look), "pay": plain(pay)}, order=order)
    yield contract.run(Model(script), "Go.", **options)


def paying(one: ToolCall) -> ToolCall | None:
    return ToolCall("pay", {"n": 9}) if one.name == "look" else None


@pytest.mark.spec("T6")
@pytest.mark.parametrize(
    ("calls", "paid"),
    [
        ([call("look", "a", n=1), call("look", "b", n=2)], [("pay", 9)]),
        ([call("pay", "a", n=1), call("look", "b", n=2)], [("pay", 1)]),
        ([call("look", "a", n=1), call("pay", "b", n=2)], [("pay", 2)]),
    ],
    ids=["both changed", "after it", "before it"],
)
def test_only_once_applies_to_calls_that_a_hook_changes_in_one_reply(calls: list[Any], paid: list[Any]) -> None:
    for run in both({"only_once": ["pay"]}, [calling(*calls), "Done."], on_call=paying):
        assert made == paid
        assert sorted(status for _, _, status in statuses(run)) == ["done", "refused"]
        refused = next(called for called in run.calls if called.status == "refused")
        assert [found.code for found in refused.findings] == ["T009"]


@pytest.mark.spec("T6")
def test_a_changed_call_counts_in_later_turns_as_what_was_made() -> None:
    order = {"only_once": ["pay"], "at_most": {"look": 1}}
    turns = [calling(call("look", "a")), calling(call("look", "b"), call("pay", "c")), "Done."]
    for run in both(order, turns, on_call=lambda one: paying(one) if one.id == "a" else None):
        assert made == [("pay", 9), ("look", 0)], "look was not made in the first turn, and pay was"
        assert statuses(run) == [("look", "pay", "done"), ("look", "look", "done"), ("pay", "pay", "refused")]
        said = run.messages[1]["tool_calls"][0]["function"]["name"]
        assert said == "look", "the conversation holds what the model said"


@pytest.mark.spec("T6")
def test_a_changed_call_is_judged_in_its_place() -> None:
    order = {"sequence": ["look", "pay"], "requires": {"pay": ["look"]}, "level": "error"}
    script = [calling(call("look"), call("pay")), "Done."]
    for run in both(order, script, on_call=lambda one: ToolCall(one.name, {"n": 5})):
        assert made == [("look", 5), ("pay", 5)]
        assert [called.status for called in run.calls] == ["done", "done"]


@pytest.mark.spec("T6")
def test_a_call_is_not_made_if_what_it_requires_was_changed_away() -> None:
    script = [calling(call("pay", "a", n=1), call("look", "b")), "Done."]
    for run in both(
        {"requires": {"look": ["pay"]}}, script, on_call=lambda one: ToolCall("look", {}) if one.id == "a" else None
    ):
        assert made == [], "look needs pay, and pay was changed into look"
        assert [called.status for called in run.calls] == ["refused", "skipped"]


def test_arguments_that_a_hook_changes_in_place_are_judged_too() -> None:
    def spoil(one: ToolCall) -> None:
        assert one.args is not None
        one.args["n"] = "much"

    run = asyncio.run(Contract(tools=[pay]).arun(Model([calling(call("pay", n=1)), "Done."]), "Go.", on_call=spoil))
    assert (made, run.calls[0].status, run.calls[0].given.args) == ([], "refused", {"n": 1})

    def mend(one: ToolCall) -> None:
        assert one.args is not None
        one.args["n"] = 2

    run = asyncio.run(Contract(tools=[pay]).arun(Model([calling(call("pay", n=1)), "Done."]), "Go.", on_call=mend))
    assert (made, run.calls[0].given.args, run.calls[0].call.args) == ([("pay", 2)], {"n": 1}, {"n": 2})


def test_a_tool_cannot_change_its_recorded_arguments() -> None:
    reply = calling(call("look", days=[1, 2, 3]))
    run = Contract(tools=[DESCRIBED]).run(Model([reply, "Done."]), "Go.", tools={"look": lambda days: days.pop()})
    assert (run.calls[0].value, run.calls[0].given.args, run.calls[0].call.args) == (
        3,
        {"days": [1, 2, 3]},
        {"days": [1, 2, 3]},
    )


# -- the kinds of tools ------------------------------------------------------------------------------------


@dataclass
class Greeter:
    """Greet somebody."""

    word: str

    def __call__(self, ctx: Context[str], name: str) -> str:
        """Greet somebody."""
        return f"{self.word}, {name} from {ctx.deps}"


@pytest.mark.spec("T1")
@pytest.mark.parametrize("tools", [[Greeter("Hi")], {"Greeter": Greeter("Hi")}], ids=["list", "by name"])
def test_an_object_that_can_be_called_is_a_tool(tools: Any) -> None:
    contract = Contract(tools=tools)
    assert [tool.name for tool in contract.tools] == ["Greeter"]
    assert contract.tools[0].parameters["required"] == ["name"]  # type: ignore[index]
    reply = calling(call("Greeter", name="Ada"))
    for run in (
        contract.run(Model([reply, "Done."]), "Go.", deps="us"),
        asyncio.run(contract.arun(Model([reply, "Done."]), "Go.", deps="us")),
    ):
        assert run.calls[0].value == "Hi, Ada from us"


def test_langchain_tools_can_be_given_by_name() -> None:
    from langchain_core.tools import tool

    @tool
    def look_up(city: str) -> str:
        """Look up a city."""
        return f"{city}: rain"

    reply = calling(call("weather", city="Oslo"))
    assert Contract().run(Model([reply, "Rain."]), "Oslo?", tools={"weather": look_up}).calls[0].value == "Oslo: rain"


def test_the_items_of_a_generator_are_collected() -> None:
    def rows() -> Iterator[int]:
        yield from (1, 2)

    async def pages() -> AsyncIterator[str]:
        for page in ("a", "b"):
            await asyncio.sleep(0)
            yield page

    reply = calling(call("rows"), call("pages"))
    run = asyncio.run(Contract(tools=[rows, pages]).arun(Model([reply, "Done."]), "Go."))
    assert [(called.value, called.text) for called in run.calls] == [([1, 2], "[1,2]"), (["a", "b"], '["a","b"]')]
    plain = Contract(tools=[rows, pages]).run(Model([reply, "Done."]), "Go.", errors="text")
    assert plain.calls[0].value == [1, 2]
    assert plain.calls[1].text == "TypeError: pages is asynchronous; use aexecute(), or arun()"


def test_a_tool_that_cancels_itself_has_failed_and_the_run_continues() -> None:
    async def awaited() -> None:
        raise asyncio.CancelledError

    def called() -> None:
        raise asyncio.CancelledError

    reply = calling(call("awaited"), call("called"), call("look"))
    run = asyncio.run(Contract(tools=[awaited, called, look]).arun(Model([reply, "Done."]), "Go.", errors="text"))
    assert (run.ok, [one.status for one in run.calls]) == (True, ["failed", "failed", "done"])
    assert run.calls[0].text == "RuntimeError: awaited was cancelled while it ran"
    plain = Contract(tools=[called]).run(Model([calling(call("called")), "Done."]), "Go.")
    assert (plain.ok, plain.calls[0].status) == (True, "failed")


def test_a_tool_that_ends_the_program_ends_it_quietly(caplog: pytest.LogCaptureFixture) -> None:
    def leave() -> None:
        raise SystemExit(2)

    async def going() -> None:
        with pytest.raises(SystemExit):
            await Contract(tools=[leave, look]).arun(Model([calling(call("leave"), call("look"))]), "Go.")

    asyncio.run(going())
    assert not [record for record in caplog.records if record.name == "asyncio"]


@pytest.mark.spec("T1")
def test_a_context_may_be_optional_or_have_a_remark() -> None:
    def first(ctx: Context[int] | None = None, n: int = 0) -> int:
        return n if ctx is None else ctx.deps

    def second(ctx: Annotated[Context[int], "the shop"], n: int = 0) -> int:
        return ctx.deps + n

    contract = Contract(tools=[first, second])
    assert [sorted(tool.parameters["properties"]) for tool in contract.tools] == [["n"], ["n"]]  # type: ignore[index]
    run = contract.run(Model([calling(call("first"), call("second")), "Done."]), "Go.", deps=7)
    assert [called.value for called in run.calls] == [7, 7]


class Order(BaseModel):
    item: str

    @field_validator("item")
    @classmethod
    def sold(cls, item: str, info: ValidationInfo) -> str:
        if item not in (info.context or {})["deps"] and item != (info.context or {}).get("extra"):
            raise ValueError(f"{item} is not sold here")
        return item


def test_validators_get_the_context_if_a_definition_has_a_function() -> None:
    def buy(order: Order) -> str:
        return order.item

    described = {"name": "buy", "parameters": {"type": "object", "properties": {"order": {"type": "object"}}}}
    items = [call("buy", name, order={"item": name}) for name in ("tea", "gold", "milk")]
    for run in (
        Contract(tools=[described]).run(
            Model([calling(*items), "Done."]), "Go.", tools={"buy": buy}, deps=["tea"], context={"extra": "milk"}
        ),
        asyncio.run(
            Contract(tools=[described]).arun(
                Model([calling(*items), "Done."]), "Go.", tools={"buy": buy}, deps=["tea"], context={"extra": "milk"}
            )
        ),
    ):
        assert [called.status for called in run.calls] == ["done", "failed", "done"]
        assert "gold is not sold here" in run.calls[1].text


# -- what they return --------------------------------------------------------------------------------------


@pytest.mark.spec("T6")
@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "bedrock", "langchain-anthropic"])
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
def test_an_error_that_a_tool_returns_is_a_failure_with_every_provider(provider: str) -> None:
    def check(day: int) -> dict[str, Any]:
        """Look whether a day is free."""
        return {"error": "no such day " + "x" * 200} if day > 31 else {"free": True, "error": None}

    def book(day: int) -> str:
        """Book a day."""
        made.append(day)
        return "booked"

    contract = Contract(tools=[check, book], order={"requires": {"book": ["check"]}})
    script: list[Any] = [
        Say("", (Call("check", {"day": 32}, id="c1"), Call("book", {"day": 32}, id="c2"))),
        Say("", (Call("book", {"day": 4}, id="c3"),)),
        Say("", (Call("check", {"day": 5}, id="c4"),)),
        Say("", (Call("book", {"day": 5}, id="c5"),)),
        "Booked.",
    ]
    with ScriptedServer(script) as server:
        client = KINDS[provider].make(server)
        with closing(client):
            run = contract.run(client, "Book!", Policy(models=("m",)), memory=Memory(), max_result=100)
    assert run.ok, run.findings
    assert [called.status for called in run.calls] == ["failed", "skipped", "done", "done"]
    assert run.calls[0].value["error"].startswith("no such day"), "the value is whole"
    assert made == [5]
    again = contract.check(calling(call("book", day=6)), {"history": run.messages[:-4]})
    assert [found.code for found in again.errors] == ["T008"], "the messages say the same to whoever reads them later"


def test_events_name_what_failed_without_the_tools_text() -> None:
    def fetch() -> str:
        """Fetch a page."""
        return "Error: password=hunter2"

    events: list[Event] = []
    Contract(tools=[fetch]).run(Model([calling(call("fetch")), "Sorry."]), "Go.", on_event=events.append)
    assert [(one.status, one.reason) for one in events if isinstance(one, Ran)] == [("failed", "returned")]


def test_half_of_a_surrogate_pair_does_not_end_a_run() -> None:
    def read() -> str:
        """Read a file."""
        return b"caf\xe9".decode("utf-8", "surrogateescape")

    with ScriptedServer([Say("", (Call("read", {}, id="c1"),)), "Read."]) as server:
        client = KINDS["openai"].make(server)
        with closing(client):
            run = Contract(tools=[read]).run(client, "Read it.", Policy(models=("m",)), memory=Memory())
    assert (run.ok, run.calls[0].text) == (True, "caf\ufffd")


@pytest.mark.spec("T6")
def test_a_history_in_the_context_replaces_the_messages_as_in_ask() -> None:
    contract = Contract(tools=[look], order={"at_most": {"look": 2}})
    messages = [
        {"role": "user", "content": "Go."}, calling(call("look", "a")), {"role": "tool", "tool_call_id": "a", "content": "seen"},
    ]  # fmt: skip
    script = [calling(call("look", "b")), "Done."]
    run = asyncio.run(contract.arun(Model(script), messages, context={"history": messages}))
    assert [called.status for called in run.calls] == ["done"]
    assert len(messages) == 3
    spent = asyncio.run(contract.arun(Model(script), "Go.", context={"history": messages * 2}, turns=1))
    assert spent.calls == ()
