"""T11: calls are judged first, only those that pass are run, and every call is answered."""

import asyncio
import datetime as dt
import json
from typing import Any

import pytest
from pydantic import BaseModel

from trueup import Contract
from trueup.contract.call_results import Unmet, aexecute, execute
from trueup.read.answers import PROVIDERS

pytestmark = pytest.mark.spec("T11")

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_was_run() -> None:
    ran.clear()


def add(a: int, b: int = 0) -> int:
    """Add."""
    ran.append((a, b))
    return a + b


def fail(why: str) -> None:
    """Fail."""
    ran.append(why)
    raise RuntimeError(why)


async def later(x: int) -> int:
    """Double it later."""
    await asyncio.sleep(0)
    ran.append(x)
    return 2 * x


def day_after(day: dt.date) -> dt.date:
    """The next day."""
    return day + dt.timedelta(days=1)


TOOLS = [add, fail, later, day_after]
CONTRACT = Contract(tools=TOOLS)


def reply(*calls: tuple[str, Any]) -> dict[str, Any]:
    rows = [
        {"id": f"c{i}", "type": "function", "function": {"name": n, "arguments": a}} for i, (n, a) in enumerate(calls)
    ]
    return {"role": "assistant", "content": None, "tool_calls": rows}


def test_only_calls_that_passed_are_run_and_all_are_answered_in_order() -> None:
    verdict = CONTRACT.check(
        reply(("add", {"a": "x"}), ("add", {"a": 1, "b": "2"}), ("ad", {}), ("fail", {"why": "no"}), ("add", "{"))
    )
    execution = execute(verdict, TOOLS)
    assert ran == [(1, 2), "no"]
    assert [(d.call.id, d.value, str(d.error or "")) for d in execution.done] == [("c1", 3, ""), ("c3", None, "no")]
    assert [(m["tool_call_id"], m["content"]) for m in execution.messages][1] == ("c1", "3")
    assert [m["tool_call_id"] for m in execution.messages] == ["c0", "c1", "c2", "c3", "c4"]
    said = [m["content"] for m in execution.messages]
    assert said[0].startswith("The call of 'add' was not made. ")
    assert "integer" in said[0]
    assert "'add'" in said[2]
    assert said[3] == "The tool 'fail' failed (RuntimeError)."
    assert "cut off" in said[4]


def test_a_refused_verdict_runs_nothing() -> None:
    strict = Contract(tools=TOOLS, strict=True, calls={"parallel": False})
    verdict = strict.check(reply(("add", {"a": 1}), ("add", {"a": 2})))
    assert execute(verdict, TOOLS).done == ()
    assert ran == []
    assert len(execute(verdict, TOOLS).messages) == 2


def test_calls_that_were_answered_before_are_not_run_again() -> None:
    conversation = [
        {"role": "user", "content": "add"},
        reply(("add", {"a": 1})),
        {"role": "tool", "tool_call_id": "c0", "content": "1"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "d", "function": {"name": "add", "arguments": {"a": 5}}}],
        },
    ]
    execution = execute(CONTRACT.check(conversation), TOOLS)
    assert ran == [(5, 0)]
    assert [m["tool_call_id"] for m in execution.messages] == ["d"]


def test_a_call_read_from_the_text_is_run_and_answered() -> None:
    verdict = CONTRACT.check('<tool_call>{"name": "functions.add", "arguments": {"a": "4"}}</tool_call>')
    execution = execute(verdict, TOOLS)
    assert ran == [(4, 0)]
    assert execution.messages == [{"role": "tool", "tool_call_id": "call_0", "content": "4"}]


def test_arguments_arrive_as_the_function_wants_them() -> None:
    execution = execute(CONTRACT.check(reply(("day_after", {"day": "2024-02-29"}))), TOOLS)
    assert execution.done[0].value == dt.date(2024, 3, 1)
    assert execution.messages[0]["content"] == '"2024-03-01"'


def test_an_asynchronous_tool_needs_aexecute() -> None:
    verdict = CONTRACT.check(reply(("later", {"x": 2}), ("add", {"a": 1})))
    execution = execute(verdict, TOOLS)
    assert [type(d.error) for d in execution.done] == [TypeError, type(None)]
    assert "use aexecute()" in str(execution.done[0].error)
    assert execution.messages[0]["content"] == "The tool 'later' failed (TypeError)."
    assert ran == [(1, 0)]
    ran.clear()
    execution = asyncio.run(aexecute(verdict, TOOLS))
    assert [d.value for d in execution.done] == [4, 1]
    assert ran == [2, (1, 0)]


def test_asynchronous_tools_that_fail_are_answered_too() -> None:
    async def boom(x: int) -> int:
        raise ValueError("boom")

    verdict = Contract(tools=[boom, add]).check(reply(("boom", {"x": 1}), ("add", {"a": 1})))
    execution = asyncio.run(aexecute(verdict, [boom, add], "anthropic"))
    (message,) = execution.messages
    assert [(b["tool_use_id"], b.get("is_error", False)) for b in message["content"]] == [("c0", True), ("c1", False)]


def test_a_registry_is_a_mapping_or_the_functions_themselves() -> None:
    verdict = Contract(tools=[{"name": "plus"}]).check(reply(("plus", {"a": 1, "b": 2})))
    assert execute(verdict, {"plus": add}).done[0].value == 3
    missing = execute(verdict, [add])
    assert missing.messages[0]["content"] == "Error: No function is registered for 'plus'."
    assert missing.done[0].error is not None


def test_a_key_error_of_the_tool_is_its_own() -> None:
    def look(key: str) -> str:
        return {}[key]  # type: ignore[no-any-return]

    verdict = Contract(tools=[look]).check(reply(("look", {"key": "look"})))
    assert execute(verdict, [look], errors="text").messages[0]["content"] == "KeyError: 'look'"


SECRET = "postgres://app:hunter2@db/salon: connection refused\nat /srv/app/book.py"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_text_of_an_exception_is_not_sent_to_the_model(provider: str, caplog: pytest.LogCaptureFixture) -> None:
    verdict = CONTRACT.check(reply(("fail", {"why": SECRET})))
    execution = execute(verdict, TOOLS, provider)
    assert "hunter2" not in json.dumps(execution.messages)
    assert "The tool 'fail' failed (RuntimeError)." in json.dumps(execution.messages)
    assert str(execution.done[0].error) == SECRET
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("trueup.execute", "WARNING")
    assert record.getMessage() == "the tool 'fail' failed: RuntimeError: " + SECRET.replace("\n", "\\n")


def test_the_text_of_an_exception_is_sent_on_request() -> None:
    async def boom(x: int) -> int:
        raise ValueError("boom")

    verdict = Contract(tools=[boom]).check(reply(("boom", {"x": 1})))
    assert asyncio.run(aexecute(verdict, [boom])).messages[0]["content"] == "The tool 'boom' failed (ValueError)."
    assert asyncio.run(aexecute(verdict, [boom], errors="text")).messages[0]["content"] == "ValueError: boom"
    with pytest.raises(ValueError, match="errors must be one of type, text; got 'all'"):
        execute(verdict, [boom], errors="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="errors must be one of type, text; got 'all'"):
        asyncio.run(aexecute(verdict, [boom], errors="all"))  # type: ignore[arg-type]


def test_an_argument_that_the_function_refuses_is_explained_to_the_model() -> None:
    verdict = Contract(tools=[{"name": "day_after"}]).check(reply(("day_after", {"day": "soon"})))
    execution = execute(verdict, TOOLS)
    assert "day" in execution.messages[0]["content"]
    assert execution.messages[0]["content"] == f"Error: {execution.done[0].error}"
    assert isinstance(execution.done[0].error, ValueError)


def test_an_interrupt_is_not_swallowed() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(Contract(tools=[stop]).check(reply(("stop", {}))), [stop])


class Place(BaseModel):
    city: str


RETURNED = [
    ("text", "text"),
    (None, "null"),
    ({"a": [1, "é"]}, '{"a":[1,"é"]}'),
    (Place(city="Oslo"), '{"city":"Oslo"}'),
    ([Place(city="Oslo")], '[{"city":"Oslo"}]'),
    ({"at": Place(city="Oslo")}, '{"at":{"city":"Oslo"}}'),
    (Place, "<class 'tests.contract.test_call_results.Place'>"),
    (object, "<class 'object'>"),
    (2**70, str(2**70)),
]


@pytest.mark.parametrize(("value", "said"), RETURNED)
def test_the_result_of_a_tool_is_sent_as_text(value: Any, said: str) -> None:
    def give() -> Any:
        return value

    execution = execute(Contract(tools=[give]).check(reply(("give", {}))), [give])
    assert execution.messages[0]["content"] == said
    assert execution.done[0].value is value


class Unwritable(RuntimeError):
    def __str__(self) -> str:
        raise KeyError("no words")

    __repr__ = __str__


class Holder(BaseModel):
    held: Any


@pytest.mark.parametrize("value", [Unwritable(), Holder(held=Unwritable())], ids=["object", "model"])
def test_a_result_that_cannot_be_written_does_not_lose_the_others(value: Any) -> None:
    def give() -> Any:
        return value

    verdict = Contract(tools=[give, add]).check(reply(("give", {}), ("add", {"a": 1})))
    execution = execute(verdict, [give, add])
    assert execution.done[0].value is value
    told = [message["content"] for message in execution.messages]
    assert told == ["The tool 'give' ran, but its result cannot be written as text.", "1"]


@pytest.mark.parametrize(
    ("errors", "told"), [("type", "The tool 'burst' failed (Unwritable)."), ("text", "Error: Unwritable")]
)
def test_an_exception_that_cannot_be_written_does_not_lose_the_others(errors: Any, told: str) -> None:
    def burst() -> None:
        raise Unwritable

    verdict = Contract(tools=[burst, add]).check(reply(("burst", {}), ("add", {"a": 1})))
    execution = execute(verdict, [burst, add], errors=errors)
    assert [message["content"] for message in execution.messages] == [told, "1"]


def test_a_custom_tool_gets_its_text() -> None:
    contract = Contract(tools=[{"type": "custom", "custom": {"name": "sql"}}])
    call = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    verdict = contract.check({"role": "assistant", "tool_calls": [call]})
    assert execute(verdict, {"sql": str.upper}).done[0].value == "SELECT 1"


@pytest.mark.spec("T1", "T11")
def test_the_functions_by_their_names_are_tools_and_registry_alike() -> None:
    registry = {"plus": add, "minus": lambda a, b: a - b}
    contract = Contract(tools=registry)
    calls = [{"id": name, "function": {"name": name, "arguments": '{"a": "2", "b": 3}'}} for name in ("plus", "add")]
    verdict = contract.check({"role": "assistant", "tool_calls": calls})
    assert [tool.name for tool in contract.tools] == ["plus", "minus"]
    assert [(done.call.name, done.value) for done in execute(verdict, registry).done] == [("plus", 5)]
    assert [refused.call.name for refused in verdict.refused] == ["add"]
    with pytest.raises(ValueError, match="no tool definition"):
        Contract(tools={"plus": add, "other": 5})


# -- calls that require others ----------------------------------------------------------------------------


def check_slot(day: int) -> str:
    """Check whether a day is free."""
    ran.append(("check_slot", day))
    if day > 31:
        raise TimeoutError
    return "free"


def book(day: int) -> str:
    """Book a day."""
    ran.append(("book", day))
    return "booked"


BOOKING = {"requires": {"book": ["check_slot"]}}
SALON = Contract(tools=[check_slot, book, add], order=BOOKING)


@pytest.mark.spec("T6")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_call_is_not_made_if_its_prerequisite_raises_and_the_answer_says_so(asynchronous: bool) -> None:
    verdict = SALON.check(reply(("check_slot", {"day": 32}), ("book", {"day": 32}), ("add", {"a": 1})))
    assert verdict.ok
    assert [call.after for call in verdict.calls] == [(), ("check_slot",), ()]
    tools = [check_slot, book, add]
    execution = asyncio.run(aexecute(verdict, tools)) if asynchronous else execute(verdict, tools)
    assert ran == [("check_slot", 32), (1, 0)]
    assert [type(done.error) for done in execution.done] == [TimeoutError, Unmet, type(None)]
    said = execution.messages[1]["content"]
    assert said == "The call of 'book' was not made: it needs check_slot first, and that did not succeed."
    assert [message["tool_call_id"] for message in execution.messages] == ["c0", "c1", "c2"]


@pytest.mark.spec("T6")
def test_one_of_several_calls_is_enough_and_so_is_one_of_an_earlier_turn() -> None:
    twice = reply(("check_slot", {"day": 32}), ("check_slot", {"day": 3}), ("book", {"day": 3}))
    assert [done.error is None for done in execute(SALON.check(twice), [check_slot, book]).done] == [False, True, True]
    first = reply(("check_slot", {"day": 3}))
    history = [first, *execute(SALON.check(first), [check_slot]).messages]
    verdict = SALON.check(reply(("check_slot", {"day": 32}), ("book", {"day": 3})), {"history": history})
    assert verdict.calls[1].after == ()
    assert execute(verdict, [check_slot, book]).done[1].value == "booked"


@pytest.mark.spec("T6", "T9")
@pytest.mark.parametrize("how", ["check", "strict", "state"])
def test_a_call_is_refused_if_anything_refuses_its_prerequisite(how: str) -> None:
    from trueup.verdict.facts import Finding, finding

    def no_look(judged: Any, context: Any) -> list[Finding]:
        return [finding("B008", "$.calls[0]", "not now", None, {}, "")]

    given: dict[str, dict[str, Any]] = {
        "check": {"checks": [no_look]},
        "strict": {"strict": True},
        "state": {"states": {"IDLE": {"tools": ["book"]}}},
    }
    contract = Contract(tools=[check_slot, book], order=BOOKING, **given[how])
    extra = {"note": 1} if how == "strict" else {}  # an argument that does not exist is a warning
    verdict = contract.check(reply(("check_slot", {"day": 3, **extra}), ("book", {"day": 3})), {"state": "IDLE"})
    assert verdict.calls == ()
    assert [refusal.findings[-1].code for refusal in verdict.refused][-1] == "T008"
    assert verdict.refused[-1].call.name == "book"
    assert {found for refusal in verdict.refused for found in refusal.findings} <= set(verdict.findings)
    assert execute(verdict, [check_slot, book]).done == ()


def test_prerequisites_of_a_call_survive_the_way_to_another_process() -> None:
    from trueup import Verdict

    verdict = SALON.check(reply(("check_slot", {"day": 32}), ("book", {"day": 32})))
    again = Verdict.from_dict(json.loads(json.dumps(verdict.to_dict())))
    assert isinstance(execute(again, [check_slot, book]).done[1].error, Unmet)


def test_langchain_tools_and_contexts_are_run_too() -> None:
    from langchain_core.tools import tool

    from trueup import Context

    @tool
    def look_up(city: str) -> str:
        """Look up a city."""
        return f"{city}: rain"

    def whoami(ctx: Context[str], /, loud: bool = False) -> str:  # noqa: FBT002 - as users write it
        """Say who is asking."""
        return ctx.deps.upper() if loud else ctx.deps

    verdict = Contract(tools=[look_up, whoami]).check(reply(("look_up", {"city": "Oslo"}), ("whoami", {"loud": True})))
    assert [done.value for done in execute(verdict, [look_up, whoami], deps="ada").done] == ["Oslo: rain", "ADA"]
    awaited = asyncio.run(aexecute(verdict, [look_up, whoami], deps="ada"))
    assert [done.value for done in awaited.done] == ["Oslo: rain", "ADA"]


@pytest.mark.spec("T6")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_error_that_a_function_returns_is_a_failure_too(provider: str) -> None:
    order = {"requires": {"add": ["look"]}}
    contract = Contract(tools=[{"name": "look"}, add], order=order)
    verdict = contract.check(reply(("look", "{}"), ("add", '{"a": 1}')))
    for returned in ({"error": "no such day"}, "Error: no such day", {"content": [], "isError": True}):
        execution = execute(verdict, {"look": lambda found=returned: found, "add": add}, provider)
        assert (execution.done[0].value, execution.done[0].error) == (returned, None)
        assert isinstance(execution.done[1].error, Unmet)
    assert ran == []
    assert execute(verdict, {"look": lambda: {"free": True, "error": None}, "add": add}, provider).done[1].value == 1


def test_a_function_cannot_change_the_arguments_of_its_call() -> None:
    contract = Contract(tools=[{"name": "last", "parameters": {"properties": {"days": {"type": "array"}}}}])
    verdict = contract.check(reply(("last", '{"days": [1, 2]}')))
    assert execute(verdict, {"last": lambda days: days.pop()}).done[0].value == 2
    assert verdict.calls[0].args == {"days": [1, 2]}
