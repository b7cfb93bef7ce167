"""Asynchronous checks for both kinds of callers: awaited in the caller's event loop, or run in a new one, with a time limit."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from trueup import Contract, Policy, Reply
from trueup.ask.drivers import awaiting
from trueup.contract.plugins import check
from trueup.testing.server import ScriptedServer
from trueup.verdict.bugs import bug_of
from trueup.verdict.events import Event
from trueup.watch.observe import observed

TEXT = "A fine and full answer."
QUICK = Policy(backoff=0.01, backoff_cap=0.02)


async def in_thread(reply: Reply, context: Any) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"metrics": {"thread": threading.current_thread().name, "loop": id(asyncio.get_running_loop())}}


CONTRACT = Contract(reply={"rules": [in_thread]})


def test_acheck_awaits_in_the_loop_of_its_caller() -> None:
    async def judge() -> None:
        metrics = (await CONTRACT.acheck(TEXT)).metrics
        assert metrics["loop"] == id(asyncio.get_running_loop())
        assert metrics["thread"] == threading.current_thread().name

    asyncio.run(judge())
    assert CONTRACT.awaits
    assert not Contract(reply=True).awaits


def test_check_makes_a_loop_and_inside_a_running_loop_uses_another_thread() -> None:
    assert CONTRACT.check(TEXT).metrics["thread"] == threading.current_thread().name

    async def judge() -> None:
        metrics = CONTRACT.check(TEXT).metrics
        assert metrics["loop"] != id(asyncio.get_running_loop())
        assert metrics["thread"] != threading.current_thread().name

    asyncio.run(judge())


def test_a_check_that_never_answers_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(reply: Reply, context: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(awaiting, "SECONDS", 0.05)
    contract = Contract(reply={"rules": [never]})
    ways: list[Callable[[], Any]] = [lambda: contract.check(TEXT), lambda: asyncio.run(contract.acheck(TEXT))]
    for judge in ways:
        with pytest.raises(TimeoutError, match=r"no answer within 0\.05 s") as caught:
            judge()
        bug = bug_of(caught.value)
        assert bug is not None
        assert bug.what == "the reply rule 'never'"
        assert bug.place.startswith("tests/ask/drivers/test_awaiting.py:")


def test_a_checks_own_timeout_is_raised_unchanged() -> None:
    own = TimeoutError("the moderation service did not answer")

    async def moderated(reply: Reply, context: Any) -> None:
        await asyncio.sleep(0)
        raise own

    with pytest.raises(TimeoutError) as caught:
        Contract(reply={"rules": [moderated]}).check(TEXT)
    assert caught.value is own


async def ignores_its_end(reply: Reply, context: Any) -> bool:
    try:
        await asyncio.sleep(5)
    except asyncio.CancelledError:
        await asyncio.sleep(0)
    return True


async def blocks_the_loop(reply: Reply, context: Any) -> bool:
    time.sleep(0.1)  # noqa: ASYNC251 - the mistake that is tested
    return True


async def exits(reply: Reply, context: Any) -> None:
    sys.exit(3)


async def awaits_what_was_cancelled(reply: Reply, context: Any) -> None:
    task = asyncio.ensure_future(asyncio.sleep(5))
    task.cancel()
    await task


@pytest.mark.parametrize(
    ("rule", "kind", "said"),
    [
        (ignores_its_end, TimeoutError, "no answer within 0.05 s"),
        (blocks_the_loop, TimeoutError, "no answer within 0.05 s"),
        (exits, RuntimeError, "it called exit(3)"),
        (awaits_what_was_cancelled, RuntimeError, "it was cancelled"),
    ],
)
def test_a_rule_does_not_pass_after_its_time_or_end_the_program(
    rule: Any, kind: type[Exception], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(awaiting, "SECONDS", 0.05)
    contract = Contract(reply={"rules": [rule]})

    async def inside() -> Any:
        return contract.check(TEXT)

    ways: list[Callable[[], Any]] = [
        lambda: contract.check(TEXT),
        lambda: asyncio.run(contract.acheck(TEXT)),
        lambda: asyncio.run(inside()),
    ]
    for judge in ways:
        with pytest.raises(kind) as caught:
            judge()
        bug = bug_of(caught.value)
        assert bug is not None
        assert (str(caught.value), bug.function) == (said, rule.__name__)
        assert bug.place.startswith("tests/ask/drivers/test_awaiting.py:")


def test_a_check_that_yields_forever_is_stopped() -> None:
    @check("AWT002", "endless", "Endless.")
    async def endless(verdict: Any, context: Any) -> Any:
        while True:
            yield "again"

    with pytest.raises(TypeError, match="more than 1,000"):
        Contract(checks=[endless]).check(TEXT)


def test_exceptions_of_a_check_are_raised() -> None:
    @check("AWT001", "broken", "Broken.")
    async def broken(verdict: Any, context: Any) -> Any:
        await asyncio.sleep(0)
        raise KeyError("score")

    contract = Contract(checks=[broken])
    ways: list[Callable[[], Any]] = [lambda: contract.check(TEXT), lambda: asyncio.run(contract.acheck(TEXT))]
    for judge in ways:
        with pytest.raises(KeyError, match="score") as caught:
            judge()
        bug = bug_of(caught.value)
        assert bug is not None
        assert (bug.what, bug.kind) == ("the check 'broken'", "KeyError")


def test_a_value_error_refuses_the_reply() -> None:
    async def short(reply: Reply, context: Any) -> None:
        await asyncio.sleep(0)
        raise ValueError("too short by far")

    contract = Contract(reply={"rules": [short]})
    for verdict in (contract.check(TEXT), asyncio.run(contract.acheck(TEXT))):
        assert [(found.code, found.message) for found in verdict.findings] == [("Q007", "too short by far")]


def test_acheck_equals_check_for_everything_else() -> None:
    contract = Contract({"type": "object"})
    for reply in (
        '{"a": 1}',
        "no JSON",
        b"{}",
        {"role": "assistant", "content": "{}"},
        [{"role": "user", "content": "?"}],
    ):
        assert asyncio.run(contract.acheck(reply)) == contract.check(reply)
    with pytest.raises(TypeError, match="context must be a dict"):
        asyncio.run(contract.acheck("{}", []))  # type: ignore[arg-type]


def test_a_cancelled_check_ends() -> None:
    started = asyncio.Event()

    async def waits(reply: Reply, context: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    async def judge() -> None:
        task = asyncio.ensure_future(Contract(reply={"rules": [waits]}).acheck(TEXT))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(judge())


def test_asking_in_a_loop_awaits_there_streamed_or_not_and_watched() -> None:
    async def ask(url: str) -> None:
        here = id(asyncio.get_running_loop())
        events: list[Event] = []
        answer = await observed(CONTRACT, events.append).aask(url, "Hello", QUICK)
        assert answer.verdict.metrics["loop"] == here
        assert "checked" in {event.to_dict()["event"] for event in events}
        stream = CONTRACT.aask_stream(url, "Hello", QUICK)
        assert "".join([part.text async for part in stream]) == TEXT
        assert stream.answer.verdict.metrics["loop"] == here

    with ScriptedServer([TEXT, TEXT]) as model:
        asyncio.run(ask(model.url))


def test_asking_without_a_loop_works_too() -> None:
    with ScriptedServer([TEXT, TEXT]) as model:
        assert CONTRACT.ask(model.url, "Hello", QUICK).ok
        assert "".join(part.text for part in CONTRACT.ask_stream(model.url, "Hello", QUICK)) == TEXT


def test_a_stream_that_ends_in_a_loop_is_judged_there() -> None:
    async def judge() -> None:
        for pieces in (("A fine ", "and full answer."), (b"A fine ", "and full answer.")):
            stream = CONTRACT.stream()
            for piece in pieces:
                stream.feed(piece)
            assert (await stream.afinish()).metrics["loop"] == id(asyncio.get_running_loop())

    asyncio.run(judge())
