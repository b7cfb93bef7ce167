"""A bug in the contract during an ask: raised immediately, not sent to the model, and charged once."""

import asyncio
from typing import Any

import pytest

from trueup import Contract, Policy
from trueup.ask.conversation import Conversation
from trueup.contract.plugins import check
from trueup.testing.server import ScriptedServer
from trueup.verdict.bugs import bug_of

TEXT = "A fine and full answer. There is more to say."
QUICK = Policy(backoff=0.01, backoff_cap=0.02, otherwise="text")


@check("BUG001", "lookup", "Looks something up.")
def lookup(verdict: Any, context: Any) -> Any:
    raise KeyError("customer")


@check("BUG002", "moderated", "Asks a service.")
def moderated(verdict: Any, context: Any) -> Any:
    raise ConnectionError("the moderation service cannot be reached")  # a client might also raise this


@check("BUG003", "late", "Asks a service.")
async def late(verdict: Any, context: Any) -> Any:
    await asyncio.sleep(0)
    raise TimeoutError("the moderation service did not answer")


async def drained(contract: Contract, url: str) -> list[Any]:
    return [part async for part in contract.aask_stream(url, "Hello", QUICK)]


WAYS: dict[str, Any] = {
    "ask": lambda contract, url: contract.ask(url, "Hello", QUICK),
    "aask": lambda contract, url: asyncio.run(contract.aask(url, "Hello", QUICK)),
    "ask_stream": lambda contract, url: list(contract.ask_stream(url, "Hello", QUICK)),
    "aask_stream": lambda contract, url: asyncio.run(drained(contract, url)),
    "conversation": lambda contract, url: Conversation(contract, url, policy=QUICK).ask("Hello"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("broken", "kind"),
    [(lookup, KeyError), (moderated, ConnectionError), (late, TimeoutError)],
    ids=["lookup", "moderated", "late"],
)
def test_a_bug_is_raised_to_the_caller_and_the_model_is_not_asked_again(way: str, broken: Any, kind: Any) -> None:
    with ScriptedServer([TEXT], then=TEXT) as model:
        with pytest.raises(kind) as caught:
            WAYS[way](Contract(checks=[broken]), model.url)
        assert len(model.requests) == 1
    bug = bug_of(caught.value)
    assert bug is not None
    assert bug.what == f"the check {broken.name!r}"
    assert bug.place.startswith("tests/ask/test_bugs_in_contracts.py:")


def test_if_the_fallback_shows_the_bug_nothing_is_sent() -> None:
    with ScriptedServer(then=TEXT) as model:
        with pytest.raises(KeyError):
            Contract(checks=[lookup]).ask(model.url, "Hello", Policy(fallback="Sorry, not now."))
        assert not model.requests


def test_a_failed_check_is_reported_to_the_model() -> None:
    def longer(verdict: Any, context: Any) -> None:
        if len(verdict.reply.text) < 60:
            raise ValueError("give at least 60 characters")

    with ScriptedServer([TEXT, f"{TEXT} {TEXT}"]) as model:
        answer = Contract(checks=[longer]).ask(model.url, "Hello", Policy(backoff=0.01))
        assert (answer.outcome, len(model.requests)) == ("repaired", 2)
        assert "give at least 60 characters" in str(model.requests[1].json)


def test_a_conversation_is_unchanged() -> None:
    with ScriptedServer(then=TEXT) as model:
        talk = Conversation(Contract(checks=[lookup]), model.url)
        with pytest.raises(KeyError):
            talk.ask("Hello")
        assert talk.messages == []


def test_a_check_that_works_on_the_whole_reply_may_fail_on_a_part() -> None:
    def second(verdict: Any, context: Any) -> None:
        if not verdict.reply.text.split(". ")[2]:  # a part does not have a third sentence
            raise ValueError("nothing behind it")

    with ScriptedServer([f"{TEXT} And then some."]) as model:
        stream = Contract(checks=[second]).ask_stream(model.url, "Hello")
        assert "".join(part.text for part in stream) == f"{TEXT} And then some."
        assert stream.answer.ok


def test_reply_rules_that_cannot_be_read_are_not_the_fault_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    contract = Contract(reply={"environment": "check"})
    monkeypatch.setenv("MIN_VALIDATION_TEXT_LENGTH", "many")
    with ScriptedServer(then=TEXT) as model:
        answer = contract.ask(model.url, "Hello", Policy(backoff=0.01))
        assert (answer.ok, answer.reason, len(model.requests)) == (False, "bug", 1)
        assert [found.code for found in answer.verdict.errors] == ["N022"]
