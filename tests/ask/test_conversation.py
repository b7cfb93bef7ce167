"""Conversations: state, history and order over turns; failed turns do not change the history; calls keep their results."""

import asyncio
from typing import Any

import pytest

from tests.ask.clients.kinds import KINDS, closing
from tests.ask.clients.test_sdks import paired_chat, paired_messages
from tests.ask.stage import Model
from trueup import Contract, Policy
from trueup.ask.clients.request import CallFailure
from trueup.ask.conversation import Conversation
from trueup.testing.script import Call, Say
from trueup.testing.server import ScriptedServer

SALON = Contract(
    states={
        "SERVICE": {
            "forbid": [{"terms": ["Ana"], "why": "names a stylist"}],
            "hint": "Do not name a stylist yet.",
            "fallback": "Which service would you like?",
        },
        "STYLIST": {"fallback": "Who shall it be?"},
    }
)


@pytest.mark.spec("C9", "C11")
def test_a_reply_that_does_not_fit_the_state_is_regenerated_with_the_hint_after_the_system_messages() -> None:
    model = Model(["Ana is free.", "We cut and colour."])
    start = [{"role": "system", "content": "You are a salon."}, {"role": "system", "content": "Be kind."}]
    talk = Conversation(SALON, model, state="SERVICE", messages=start)
    answer = talk.ask("Hello")
    assert (answer.outcome, answer.text) == ("regenerated", "We cut and colour.")
    again = model.seen[1]
    assert [m["role"] for m in again["messages"]] == ["system", "system", "system", "user"]
    assert "Do not name a stylist yet." in again["messages"][2]["content"]
    assert again["temperature"] == 0.3
    assert [m["content"] for m in talk.messages[2:]] == ["Hello", "We cut and colour."]


@pytest.mark.spec("C10", "C11")
def test_the_states_fallback_is_sent_when_the_second_reply_is_wrong_too_and_the_state_decides() -> None:
    model = Model(["Ana is free."])
    talk = Conversation(SALON, model, state="SERVICE")
    answer = talk.ask("Hello")
    assert (answer.outcome, answer.text, len(model.seen)) == ("fallback", "Which service would you like?", 2)
    assert SALON.check(answer.text, {"state": "SERVICE"}).ok
    talk.state = "STYLIST"
    assert talk.ask("And now?").outcome == "accepted"
    assert [m["role"] for m in talk.messages] == ["user", "assistant", "user", "assistant"]


def test_a_failed_turn_does_not_change_the_history() -> None:
    model = Model([CallFailure("no", "fatal", 401), "Fine."])
    talk = Conversation(Contract(), model)
    assert talk.ask("Hello").outcome == "failed"
    assert talk.messages == []
    assert talk.ask("Hello").outcome == "accepted"
    assert len(talk.messages) == 2


def look(day: int) -> str:
    return f"day {day} is free"


def book(day: int) -> str:
    return f"day {day} is booked"


@pytest.mark.spec("A14")
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_calls_keep_their_results_and_order_applies_across_turns(kind: str) -> None:
    contract = Contract(tools=[look, book], order={"requires": {"book": ["look"]}})
    script: list[Any] = [
        Say("", (Call("book", {"day": 3}, id="c1"),)),
        Say("", (Call("look", {"day": 3}, id="c2"),)),
        Say("", (Call("book", {"day": 3}, id="c3"),)),
        "Booked.",
    ]
    with ScriptedServer(script) as server:
        client = KINDS[kind].make(server)
        with closing(client):
            talk = Conversation(contract, client, policy=Policy(models=("m",)))
            first = talk.ask("Book the third.")
            assert first.outcome == "repaired", "book before look is refused"
            with pytest.raises(ValueError, match="no result yet"):
                talk.ask("Hurry!")
            assert [done.value for done in talk.run([look, book]).done] == ["day 3 is free"]
            assert [call.name for call in talk.ask().calls] == ["book"]
            talk.run([look, book])
            assert talk.ask().text == "Booked."
            with pytest.raises(ValueError, match="no call is waiting"):
                talk.run([look, book])
    paired: Any = paired_chat if kind == "openai" else paired_messages
    assert paired(server.requests[-1].messages) == 2


def test_calls_written_into_the_text_become_calls_of_the_conversation() -> None:
    said = '<tool_call>{"name": "look", "arguments": {"day": 4}}</tool_call>'
    model = Model([said, "It is free."])
    talk = Conversation(Contract(tools=[look, book]), model)

    async def going() -> None:
        assert [call.name for call in (await talk.aask("Look!")).calls] == ["look"]
        await talk.arun([look, book])
        assert (await talk.aask()).text == "It is free."

    asyncio.run(going())
    assert paired_chat(model.seen[1]["messages"]) == 1
    with pytest.raises(ValueError, match="nothing to ask"):
        Conversation(Contract(), model).ask()


def test_a_failed_tools_text_is_not_in_the_history_unless_requested() -> None:
    def broken(day: int) -> str:
        raise RuntimeError("password=hunter2")

    said = '<tool_call>{"name": "look", "arguments": {"day": 4}}</tool_call>'
    for errors, told in (
        ("type", "The tool 'look' failed (RuntimeError)."),
        ("text", "RuntimeError: password=hunter2"),
    ):
        talk = Conversation(Contract(tools=[look]), Model([said]))
        talk.ask("Look!")
        execution = talk.run({"look": broken}, errors=errors)  # type: ignore[arg-type]
        assert talk.messages[-1]["content"] == told
        assert str(execution.done[0].error) == "password=hunter2"
