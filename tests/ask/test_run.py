"""Runs: the whole loop of a model with tools. Valid calls run, refused ones get an error, order and budgets apply to the whole run."""

import _thread
import asyncio
import json
import signal
import threading
from typing import Any

import pytest
from pydantic import BaseModel, ValidationInfo, field_validator

from tests.ask.clients.kinds import DIRECT, KINDS, aclose, closing
from tests.ask.clients.test_sdks import PAIRED
from tests.ask.stage import Model, StageClock
from tests.waiting import await_for, wait_for
from trueup import Context, Contract, Policy, Price, Rejected, Run, ToolCall
from trueup.ask.cache import MemoryCache
from trueup.ask.memory import Memory
from trueup.ask.run import Called, RunPart
from trueup.testing.script import Call, Fail, Say
from trueup.testing.server import ScriptedServer
from trueup.verdict.events import Event, Ran
from trueup.watch.observe import observed

pytestmark = [
    pytest.mark.spec("T11"),
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),
]

made: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_was_made() -> None:
    made.clear()


def check_slot(day: int) -> str:
    """Look whether a day is free."""
    made.append(("check_slot", day))
    if day > 31:
        raise LookupError("password=hunter2")
    return "free"


def book(day: int) -> dict[str, Any]:
    """Book a day."""
    made.append(("book", day))
    return {"booked": day}


async def pay(amount: int) -> str:
    """Pay."""
    await asyncio.sleep(0)
    made.append(("pay", amount))
    return f"paid {amount}"


SALON = Contract(tools=[check_slot, book], order={"requires": {"book": ["check_slot"]}, "only_once": ["book"]})


def call(name: str, ident: str = "", **args: Any) -> dict[str, Any]:
    return {"id": ident or f"c_{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}


def calling(*calls: dict[str, Any], text: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "tool_calls": list(calls)}


def statuses(run: Run[Any]) -> list[tuple[str, str]]:
    return [(called.call.name, called.status) for called in run.calls]


# -- real clients ---------------------------------------------------------------------------------------

SCRIPT: list[Any] = [
    Say("", (Call("check_slot", {"day": "3"}, id="c1"), Call("book", {"day": "soon"}, id="c2"))),
    Say("", (Call("book", {"day": 3}, id="c3"),)),
    "Booked for the third.",
]
# The script's server sends the pieces of calls as OpenAI does; Mistral's SDK takes whole calls only.
CLIENTS = [(name, False) for name in KINDS] + [(name, True) for name in DIRECT if not name.startswith("mistral")]


@pytest.mark.parametrize(("name", "streamed"), CLIENTS)
def test_the_whole_loop_with_every_client(name: str, streamed: bool) -> None:
    kind = KINDS[name]
    parts: list[RunPart] = []

    async def awaited(client: Any) -> Run[Any]:
        try:
            if not streamed:
                return await SALON.arun(client, "Book the third.", Policy(models=("m",)), memory=Memory())
            async with SALON.arun_stream(client, "Book the third.", Policy(models=("m",)), memory=Memory()) as stream:
                parts.extend([part async for part in stream])
            return stream.run
        finally:
            await aclose(client)

    def plain(client: Any) -> Run[Any]:
        if not streamed:
            return SALON.run(client, "Book the third.", Policy(models=("m",)), memory=Memory())
        with SALON.run_stream(client, "Book the third.", Policy(models=("m",)), memory=Memory()) as stream:
            parts.extend(stream)
        return stream.run

    with ScriptedServer(SCRIPT) as server:
        client = kind.make(server)
        if kind.is_async:
            run = asyncio.run(awaited(client))
        else:
            with closing(client):
                run = plain(client)
    assert run.ok, run.findings
    assert (run.text, run.reason) == ("Booked for the third.", "")
    assert statuses(run) == [("check_slot", "done"), ("book", "refused"), ("book", "done")]
    assert made == [("check_slot", 3), ("book", 3)]
    assert [step.number for step in run.steps] == [1, 2, 3]
    assert len(server.requests) == 3
    assert run.usage["output_tokens"] > 0
    if kind.protocol in PAIRED:
        paired: Any = PAIRED[kind.protocol]
        assert paired(server.requests[-1].messages) == 3, "every call has its result"
    if streamed:
        assert [part.kind for part in parts if part.kind in {"call", "result"}] == [
            "result", "call", "result", "call", "result",
        ]  # fmt: skip
        assert "".join(part.text for part in parts if part.turn == 3) == "Booked for the third."


def test_thinking_goes_back_to_the_model_with_its_results() -> None:
    script: list[Any] = [Say("", (Call("check_slot", {"day": 3}, id="c1"),), thinking="Let me look."), "Free."]
    with ScriptedServer(script) as server:
        client = KINDS["anthropic"].make(server)
        with closing(client):
            assert SALON.run(client, "Free?", Policy(models=("m",))).ok
    said = server.requests[-1].messages[1]["content"]
    assert [block["type"] for block in said] == ["thinking", "tool_use"]
    assert said[0]["thinking"] == "Let me look."


def test_a_run_continues_with_the_next_client_and_keeps_its_history() -> None:
    fails: list[Any] = [SCRIPT[0], Fail(401, "no such key"), Fail(401, "no such key")]
    with ScriptedServer(fails) as first, ScriptedServer(SCRIPT[1:]) as second:
        one, other = KINDS["openai"].make(first), KINDS["anthropic"].make(second)
        with closing(one), closing(other):
            run = SALON.run([(one, "a"), (other, "b")], "Book the third.", memory=Memory())
    assert run.ok, run.findings
    assert statuses(run) == [("check_slot", "done"), ("book", "refused"), ("book", "done")]
    assert PAIRED["anthropic"](second.requests[-1].messages) == 3


def test_hooks_and_caches_of_requests_apply_to_every_turn() -> None:
    seen: list[int] = []
    cache = MemoryCache()
    asked = {"index": 0, "finish_reason": "tool_calls", "message": calling(call("check_slot", day=3))}
    script = [{"id": "c", "object": "chat.completion", "model": "m", "choices": [asked]}, "Free."]

    def look(request: Any) -> None:
        seen.append(len(request.messages))

    model = Model(script)
    assert SALON.run(model, "Free?", on_request=look, cache=cache).ok
    assert seen == [1, 3]
    assert SALON.run(model, "Free?", cache=cache).text == "Free."
    assert len(model.seen) == 2, "the second run of the same model came from the cache"
    assert made == [("check_slot", 3)] * 2, "tools are called all the same"


# -- order, over the whole run ----------------------------------------------------------------------------


@pytest.mark.spec("T6")
def test_a_failed_call_is_not_a_prerequisite_in_this_turn_or_later() -> None:
    model = Model([
        calling(call("check_slot", day=32), call("book", day=32)),
        calling(call("book", "c3", day=3)),
        calling(call("check_slot", "c4", day=3), call("book", "c5", day=3)),
        "Done.",
    ])  # fmt: skip
    run = SALON.run(model, "Book!")
    assert run.ok
    assert statuses(run) == [("check_slot", "failed"), ("book", "skipped"), ("check_slot", "done"), ("book", "done")]
    assert made == [("check_slot", 32), ("check_slot", 3), ("book", 3)]
    skipped = run.calls[1].text
    assert skipped == "The call of 'book' was not made: it needs check_slot first, and that did not succeed."
    assert run.steps[1].answer.outcome == "repaired", "book alone was refused, and the model was told so"


@pytest.mark.spec("T6")
def test_only_once_applies_to_the_run_and_a_refused_call_does_not_count() -> None:
    model = Model([
        calling(call("check_slot", day=3), call("book", day="soon")),
        calling(call("book", "c2", day=3)),
        calling(call("book", "c3", day=4), call("check_slot", "c4", day=4)),
        "Done.",
    ])  # fmt: skip
    run = SALON.run(model, "Book!")
    assert statuses(run) == [
        ("check_slot", "done"), ("book", "refused"), ("book", "done"), ("book", "refused"), ("check_slot", "done"),
    ]  # fmt: skip
    assert [found.code for found in run.calls[3].findings] == ["T009"]
    assert made == [("check_slot", 3), ("book", 3), ("check_slot", 4)]


def test_a_reply_with_only_refused_calls_is_repaired_by_the_ask() -> None:
    model = Model([calling(call("check_slot", day="x")), calling(call("check_slot", day=3)), "Free."])
    run = SALON.run(model, "Free?")
    assert run.ok
    assert len(run.steps) == 2
    assert run.steps[0].answer.outcome == "repaired"
    assert [message["role"] for message in run.messages] == ["user", "assistant", "tool", "assistant"]


def test_in_async_ordered_tools_run_one_after_the_other_and_the_rest_concurrently() -> None:
    running: list[str] = []
    most: list[int] = []

    async def look(n: int) -> str:
        running.append("look")
        await await_for(lambda: running.count("look") == 3)
        most.append(running.count("look"))
        return "seen"

    async def first() -> str:
        running.append("first")
        await asyncio.sleep(0.01)
        assert "second" not in running
        return "1"

    async def second() -> str:
        running.append("second")
        return "2"

    contract = Contract(tools=[look, first, second], order={"requires": {"second": ["first"]}})
    calls = [call("look", f"l{n}", n=n) for n in range(3)]
    reply = calling(*calls, call("first"), call("second"))
    run = asyncio.run(contract.arun(Model([reply, "Done."]).aplay, "Go."))
    assert run.ok
    assert [called.call.name for called in run.calls] == ["look", "look", "look", "first", "second"]
    assert all(called.ok for called in run.calls), run.calls
    assert most == [3, 3, 3]


def test_no_more_calls_run_at_once_than_allowed() -> None:
    now: set[int] = set()
    seen: list[int] = []

    async def look(n: int) -> int:
        now.add(n)
        seen.append(len(now))
        await asyncio.sleep(0.005)
        now.discard(n)
        return n

    reply = calling(*(call("look", f"l{n}", n=n) for n in range(7)))
    run = asyncio.run(Contract(tools=[look]).arun(Model([reply, "Done."]).aplay, "Go.", parallel=2))
    assert run.ok
    assert max(seen) == 2


def test_a_blocking_function_does_not_block_the_event_loop() -> None:
    gate = threading.Event()

    def slow() -> str:
        assert gate.wait(60)
        return "slow"

    async def quick() -> str:
        gate.set()  # reached only if the event loop is not blocked
        return "quick"

    reply = calling(call("slow"), call("quick"))
    run = asyncio.run(Contract(tools=[slow, quick]).arun(Model([reply, "Done."]).aplay, "Go."))
    assert [called.value for called in run.calls] == ["slow", "quick"]


# -- tools ------------------------------------------------------------------------------------------------


def test_tools_of_the_call_are_added_and_definitions_get_their_functions() -> None:
    described = Contract(
        tools=[{"name": "plus", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}]
    )
    model = Model([calling(call("plus", a=1), call("check_slot", day=3)), "Done."])
    run = described.run(model, "Go.", tools=[lambda_named("plus"), check_slot])
    assert [called.value for called in run.calls] == [2, "free"]
    assert [tool["function"]["name"] for tool in model.seen[0]["tools"]] == ["plus", "check_slot"]
    assert [tool.name for tool in described.tools] == ["plus"], "the contract itself is as it was"
    with pytest.raises(ValueError, match="the tool 'plus' has no function; give one"):
        described.run(model, "Go.")


def lambda_named(name: str) -> Any:
    def plus(a: int) -> int:
        return a + 1

    plus.__name__ = name
    return plus


def test_a_run_without_tools_is_an_ask() -> None:
    run = Contract({"type": "object"}).run(Model(['{"a": 1}']), "Go.")
    assert (run.ok, run.value, run.calls) == (True, {"a": 1}, ())


def test_langchain_tools_can_be_run_directly() -> None:
    from langchain_core.tools import tool

    @tool
    def look_up(city: str) -> str:
        """Look up a city."""
        return f"{city}: rain"

    contract = Contract(tools=[look_up])
    reply = calling(call("look_up", city="Oslo"))
    assert contract.run(Model([reply, "Rain."]), "Oslo?").calls[0].value == "Oslo: rain"
    assert asyncio.run(contract.arun(Model([reply, "Rain."]), "Oslo?")).calls[0].value == "Oslo: rain"
    assert Contract().run(Model([reply, "Rain."]), "Oslo?", tools=[look_up]).calls[0].value == "Oslo: rain"


def test_an_asynchronous_tool_in_a_plain_run_is_an_error_that_says_so() -> None:
    run = Contract(tools=[pay]).run(Model([calling(call("pay", amount=1)), "Done."]), "Pay.", errors="text")
    assert statuses(run) == [("pay", "failed")]
    assert "pay is asynchronous" in run.calls[0].text


def test_the_text_of_an_exception_is_not_sent_unless_requested(caplog: pytest.LogCaptureFixture) -> None:
    for errors, told in (
        ("type", "The tool 'check_slot' failed (LookupError)."),
        ("text", "LookupError: password=hunter2"),
    ):
        run = SALON.run(Model([calling(call("check_slot", day=32)), "Sorry."]), "Go.", errors=errors)  # type: ignore[arg-type]
        assert run.messages[2]["content"].removeprefix("Error: ") == told
        assert str(run.calls[0].error) == "password=hunter2"
    assert "hunter2" in caplog.text


def test_a_result_that_is_too_long_is_cut_with_a_note() -> None:
    def dump() -> str:
        return "x" * 1000

    run = Contract(tools=[dump]).run(Model([calling(call("dump")), "Done."]), "Go.", max_result=100)
    (called,) = run.calls
    assert (len(called.value), called.left_out) == (1000, 900)
    assert run.messages[2]["content"] == "x" * 100 + "\n… [cut here: 900 more characters]"


def test_the_final_reply_keeps_the_schema_and_a_required_call_is_one_in_the_run() -> None:
    class Booking(BaseModel):
        day: int

    contract = Contract(Booking, tools=[check_slot], calls={"required": True})
    model = Model(["No tool.", calling(call("check_slot", day=3)), '{"day": "third"}', '{"day": 3}'])
    run = contract.run(model, "Book!")
    assert run.unwrap() == Booking(day=3)
    assert [step.answer.outcome for step in run.steps] == ["repaired", "repaired"]


def test_calls_in_the_text_of_a_model_without_tools() -> None:
    said = 'Let me see. <tool_call>{"name": "check_slot", "arguments": {"day": 4}}</tool_call>'
    model = Model([said, "It is free."])
    run = SALON.run(model.plain, "Free?")
    assert (run.text, made) == ("It is free.", [("check_slot", 4)])
    assert run.messages[1]["content"] == "Let me see."


# -- the hook ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_hook_may_veto_change_and_let_pass(asynchronous: bool) -> None:
    def decide(one: ToolCall) -> Any:
        if one.name == "check_slot":
            return None
        if one.args == {"day": 1}:
            return "Sundays are closed."
        if one.args == {"day": 2}:
            return False
        return ToolCall("book", {"day": "13"})

    async def later(one: ToolCall) -> Any:
        await asyncio.sleep(0)
        return decide(one)

    contract = Contract(tools=[check_slot, book], order={"requires": {"book": ["check_slot"]}})
    model = Model([calling(call("check_slot", day=3), *(call("book", f"b{n}", day=n) for n in (1, 2, 3))), "Done."])
    run = (
        asyncio.run(contract.arun(model, "Go.", on_call=later))
        if asynchronous
        else contract.run(model, "Go.", on_call=decide)
    )
    assert statuses(run) == [("check_slot", "done"), ("book", "vetoed"), ("book", "vetoed"), ("book", "done")]
    assert [called.text for called in run.calls[1:3]] == [
        "The call of 'book' was not made: Sundays are closed.",
        "The call of 'book' was not made: the application does not allow it.",
    ]
    changed = run.calls[3]
    assert (changed.given.args, changed.call.args, changed.value) == ({"day": 3}, {"day": 13}, {"booked": 13})
    assert made == [("check_slot", 3), ("book", 13)]
    assert [message["tool_call_id"] for message in run.messages[2:6]] == ["c_check_slot", "b1", "b2", "b3"]


def test_a_changed_call_is_judged_again() -> None:
    model = Model([calling(call("check_slot", day=3), call("check_slot", "c2", day=4)), "Done."])
    changes = iter([ToolCall("check_slot", {"day": "someday"}), ToolCall("book", {"day": 4})])
    run = SALON.run(model, "Go.", on_call=lambda _: next(changes))
    assert statuses(run) == [("check_slot", "refused"), ("check_slot", "refused")]
    assert [found.code for called in run.calls for found in called.findings] == ["V001", "T008"]
    assert made == []


def test_an_exception_in_a_hook_ends_the_run() -> None:
    def refuse(_: ToolCall) -> None:
        raise PermissionError("no")

    model = [calling(call("check_slot", day=3)), "Done."]
    with pytest.raises(PermissionError):
        SALON.run(Model(model), "Go.", on_call=refuse)
    with pytest.raises(PermissionError):
        asyncio.run(SALON.arun(Model(model), "Go.", on_call=refuse))
    with pytest.raises(TypeError, match="on_call must return None, False, a reason or a ToolCall; got int"):
        SALON.run(Model(model), "Go.", on_call=lambda _: 5)  # type: ignore[arg-type,return-value]
    with pytest.raises(TypeError, match="on_call must be a function"):
        SALON.run(Model(model), "Go.", on_call="no")  # type: ignore[arg-type]


# -- budgets ----------------------------------------------------------------------------------------------


def test_the_number_of_turns_bounds_a_run_and_its_messages_can_be_continued() -> None:
    model = Model([calling(call("check_slot", day=3))])
    run = SALON.run(model, "Go.", turns=3)
    assert (run.ok, run.reason, len(run.steps), len(model.seen)) == (False, "turns", 3, 3)
    assert run.stopped is not None
    assert run.stopped.code == "A001"
    assert run.value is None
    with pytest.raises(Rejected, match="3 of 3 turns are spent"):
        run.unwrap()
    again = SALON.run(Model(["Free."]), [*run.messages, {"role": "user", "content": "And?"}])
    assert again.ok


@pytest.mark.spec("A8")
@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (Policy(attempts=2), "attempts"),
        (Policy(tokens=250), "tokens"),
        (Policy(money=0.00025, prices={"*": Price(1.0, 1.0)}), "money"),
    ],
)
def test_the_budgets_of_the_policy_bound_the_whole_run(policy: Policy, reason: str) -> None:
    reply = {
        "choices": [{"message": calling(call("check_slot", day=3)), "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100},
    }
    model = Model([reply])
    run = SALON.run(model, "Go.", policy)
    assert (run.ok, run.reason) == (False, reason)
    assert len(model.seen) == 2  # a third call would exceed the budget, because the usage of the second is known
    assert run.usage["total_tokens"] == 100 * len(model.seen)


def test_a_budget_that_ends_inside_a_turn_is_reported_as_the_runs() -> None:
    model = Model([calling(call("check_slot", day=3)), calling(call("check_slot", day="x"))])
    run = SALON.run(model, "Go.", Policy(attempts=2))
    assert (run.reason, len(model.seen)) == ("attempts", 2)
    assert run.stopped is not None
    assert "2 of 2 calls are spent" in run.stopped.message
    assert [found.code for found in run.findings].count("A001") == 1


@pytest.mark.spec("A8")
def test_the_deadline_counts_from_the_start_of_the_run() -> None:
    clock = StageClock()

    def slow(day: int) -> str:
        clock.time += 40
        return "free"

    model = Model([calling(call("check_slot", day=3))], clock)
    run = Contract(tools={"check_slot": slow}).run(model, "Go.", Policy(deadline=100.0), clock=clock, wait=clock.wait)
    assert (run.reason, len(model.seen)) == ("deadline", 3)


def hanging() -> tuple[Any, threading.Event]:
    release = threading.Event()

    def hang() -> str:
        made.append("hang")
        release.wait(60)
        return "late"

    return hang, release


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_tool_that_hangs_is_given_up_at_the_deadline(asynchronous: bool) -> None:
    hang, release = hanging()
    contract = Contract(tools=[hang, check_slot], order=["hang", "check_slot"])
    model = Model([calling(call("hang"), call("check_slot", day=3)), "Done."])
    policy = Policy(deadline=0.5)
    run = asyncio.run(contract.arun(model, "Go.", policy)) if asynchronous else contract.run(model, "Go.", policy)
    assert (run.reason, len(model.seen)) == ("deadline", 1)
    assert statuses(run) == [("hang", "stopped"), ("check_slot", "stopped")]
    assert not release.is_set(), "the tool was still running"
    assert [message["role"] for message in run.messages] == ["user", "assistant", "tool", "tool"]
    assert "given up" in run.messages[2]["content"]
    release.set()


def test_cancelling_ends_a_run_while_a_tool_hangs() -> None:
    hang, release = hanging()
    cancel = threading.Event()

    def cancelling() -> None:
        wait_for(lambda: "hang" in made)
        cancel.set()

    thread = threading.Thread(target=cancelling)
    thread.start()
    run = Contract(tools=[hang]).run(Model([calling(call("hang")), "Done."]), "Go.", cancel=cancel)
    thread.join()
    assert (run.reason, statuses(run)) == ("cancelled", [("hang", "stopped")])
    assert run.stopped is not None
    assert run.stopped.code == "A005"
    release.set()


@pytest.mark.parametrize("asynchronous", [False, True])
def test_no_call_begins_once_the_time_is_over(asynchronous: bool) -> None:
    clock = StageClock()

    def slow(_: ToolCall) -> None:
        clock.time += 200

    model = Model([calling(call("check_slot", day=3), call("check_slot", "c2", day=4)), "Done."])
    run = (
        asyncio.run(SALON.arun(model, "Go.", clock=clock, on_call=slow))
        if asynchronous
        else SALON.run(model, "Go.", clock=clock, on_call=slow)
    )
    assert (run.reason, statuses(run), made) == ("deadline", [("check_slot", "stopped")] * 2, [])


def test_a_hook_may_cancel_the_run() -> None:
    cancel = threading.Event()
    model = Model([calling(call("check_slot", day=3)), "Done."])
    run = SALON.run(model, "Go.", cancel=cancel, on_call=lambda _: cancel.set())
    assert (run.reason, statuses(run), made) == ("cancelled", [("check_slot", "stopped")], [])


def test_cancelling_the_task_ends_it() -> None:
    hang, release = hanging()

    async def going() -> None:
        task = asyncio.ensure_future(Contract(tools=[hang]).arun(Model([calling(call("hang"))]), "Go."))
        await await_for(lambda: "hang" in made)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(going())
    release.set()


def test_an_interrupt_ends_a_run_while_a_tool_hangs() -> None:
    hang, release = hanging()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background processes ignore SIGINT

    def interrupting() -> None:
        wait_for(lambda: "hang" in made)
        _thread.interrupt_main()

    thread = threading.Thread(target=interrupting)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            Contract(tools=[hang]).run(Model([calling(call("hang")), "Done."]), "Go.")
    finally:
        signal.signal(signal.SIGINT, before)
    thread.join()
    assert not release.is_set(), "the tool was still running"
    release.set()


def test_an_interrupt_in_a_tool_ends_the_run() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Contract(tools=[stop]).run(Model([calling(call("stop"))]), "Go.")


def test_a_failed_ask_ends_the_run_with_its_reason() -> None:
    run = SALON.run(Model([calling(call("check_slot", day=3)), "", ""]), "Go.", Policy(retries=0))
    assert (run.ok, run.reason, run.text) == (False, "retries", "")
    assert len(run.steps) == 2
    assert [message["role"] for message in run.messages] == ["user", "assistant", "tool"]


# -- streams ----------------------------------------------------------------------------------------------


def test_a_stream_that_is_closed_makes_no_further_call() -> None:
    model = Model([[calling(call("check_slot", day=3), call("check_slot", "c2", day=4))], "Done."])
    with SALON.run_stream(model, "Go.") as stream:
        for part in stream:
            if part.kind == "result":
                break
    assert made == [("check_slot", 3)]
    with pytest.raises(RuntimeError, match="has not been read to its end"):
        _ = stream.run


def test_an_asynchronous_stream_that_is_closed_cancels_its_calls() -> None:
    async def wait() -> str:
        made.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            made.append("ended")
        return "never"

    async def going() -> None:
        async with Contract(tools=[wait]).arun_stream(Model([[calling(call("wait"))]]), "Go.") as stream:
            async for part in stream:
                assert part.kind == "call"
                await await_for(lambda: "begun" in made)
                break

    asyncio.run(going())
    assert made == ["begun", "ended"]


def test_a_model_that_gives_whole_replies_can_be_streamed_too() -> None:
    from openai.types.chat import ChatCompletion

    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "It is free."}}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    for last in (body, ChatCompletion.model_validate(body), {"role": "assistant", "content": "It is free."}):
        with SALON.run_stream(Model([calling(call("check_slot", day=3)), last]), "Go.") as stream:
            parts = list(stream)
        assert [(part.kind, part.text) for part in parts] == [("call", ""), ("result", ""), ("text", "It is free.")]


def test_values_are_streamed_at_the_end() -> None:
    contract = Contract({"type": "object", "properties": {"day": {"type": "integer"}}}, tools=[check_slot])

    def model(messages: Any, **_: Any) -> Any:
        return [calling(call("check_slot", day=3))] if len(messages) < 3 else ['{"day"', ": 3}"]

    with contract.run_stream(model, "Go.") as stream:
        parts = list(stream)
    assert [part.kind for part in parts][:2] == ["call", "result"]
    assert parts[-1].value == {"day": 3}
    assert stream.run.value == {"day": 3}


# -- what it reports ----------------------------------------------------------------------------------------


def test_events_report_every_call_and_a_watched_contract_passes_them_on() -> None:
    events: list[Event] = []
    model = Model([calling(call("check_slot", day=3), call("book", day="x")), "Done."])
    run = observed(SALON, events.append).run(model, "Go.", tools=[pay])
    assert run.ok
    ran = [(event.tool, event.status, event.turn) for event in events if isinstance(event, Ran)]
    assert ran == [("book", "refused", 1), ("check_slot", "done", 1)]
    assert {event.event for event in events} >= {"sent", "judged", "checked", "finished", "ran"}


def test_a_run_is_written_as_json_and_shown_on_a_line() -> None:
    run = SALON.run(Model([calling(call("check_slot", day=32)), "Sorry."]), "Go.")
    assert repr(run) == "<Run ok, 2 turns, 1 call>"
    told = json.loads(json.dumps(run.to_dict()))
    assert told["steps"][0]["calls"][0]["error"] == "LookupError"
    assert bool(run) is told["ok"] is True
    assert isinstance(run.calls[0], Called)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"turns": 0}, "turns must be a whole number, 1 or more; got 0"),
        ({"errors": "all"}, "errors must be one of type, text; got 'all'"),
        ({"max_result": "x"}, "max_result must be a whole number"),
    ],
)
def test_options_that_are_invalid(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SALON.run(Model(["Hi"]), "Go.", **options)


def test_a_misspelled_option() -> None:
    for run in (SALON.run, SALON.run_stream):
        with pytest.raises(TypeError, match="has no option 'turn'; did you mean 'turns'"):
            run(Model(["Hi"]), "Go.", turn=3)  # type: ignore[call-arg]


# -- context ----------------------------------------------------------------------------------------------


class Shop:
    """The dependency of the tools."""

    def __init__(self) -> None:
        self.prices = {"tea": 3}


def price(ctx: Context[Shop], item: str) -> int:
    """The price of an item."""
    assert ctx.call.name == "price"
    return ctx.deps.prices[item] * ctx.turn


async def price_later(ctx: Context[Shop], item: str) -> int:
    """The price of an item, later."""
    return ctx.deps.prices[item]


@pytest.mark.spec("T1")
def test_tools_get_the_context_and_the_model_never_sees_it() -> None:
    contract = Contract(tools=[price, price_later])
    assert all(sorted(tool.parameters["properties"]) == ["item"] for tool in contract.tools)  # type: ignore[index]
    reply = calling(call("price", item="tea"), call("price_later", item="tea"))
    run = asyncio.run(contract.arun(Model([reply, "3"]), "How much?", deps=Shop()))
    assert [called.value for called in run.calls] == [3, 3]
    plain = Contract(tools=[price]).run(Model([calling(call("price", item="tea")), "3"]), "How much?", deps=Shop())
    assert plain.calls[0].value == 3
    invented = Contract(tools=[price]).check(calling(call("price", item="tea", ctx={"deps": 1})))
    assert not invented.ok, "a model cannot fill it in"


class Order(BaseModel):
    item: str

    @field_validator("item")
    @classmethod
    def sold(cls, item: str, info: ValidationInfo) -> str:
        shop = (info.context or {}).get("deps")
        if shop is not None and item not in shop.prices:
            raise ValueError(f"{item} is not sold here")
        return item


def test_validators_get_the_context_too() -> None:
    run = Contract(Order, tools=[price]).run(Model(['{"item": "gold"}', '{"item": "tea"}']), "Order.", deps=Shop())
    assert (run.unwrap().item, run.steps[0].answer.outcome) == ("tea", "repaired")
    given = {"deps": Shop()}
    assert not Contract(Order).check('{"item": "gold"}', given).ok
    assert Contract(Order).check('{"item": "gold"}').ok
    assert Contract(Order).ask(Model(['{"item": "gold"}', '{"item": "tea"}']), "Order.", context=given).repairs == 1
    assert not asyncio.run(Contract(Order).acheck('```json\n{"item": "gold",}\n```', given)).ok
    assert not Contract(Order).check_value({"item": "gold"}, given).ok
    stream = Contract(Order).stream(['{"item": "go', 'ld"}'], given)
    assert list(stream)
    assert not stream.verdict.ok
    tool = Contract(tools=[Order])
    assert not tool.check(calling(call("Order", item="gold")), given).ok
    assert tool.check(calling(call("Order", item="tea")), given).ok
