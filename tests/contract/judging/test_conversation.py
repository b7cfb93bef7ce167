"""The conversation around a reply: the question, the history, and whether it is the first reply."""

import copy
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from trueup import Contract
from trueup.contract.judging.conversation import completed
from trueup.read.reader import read

ASKED = {"role": "user", "content": "Why?"}
HELLO = {"role": "assistant", "content": "Hello!"}
SAID = {"role": "assistant", "content": "Because it rains."}


@pytest.mark.parametrize(
    ("source", "question", "first"),
    [
        ([ASKED, SAID], "Why?", True),
        ([HELLO, ASKED, SAID], "Why?", False),
        ([ASKED, HELLO, {"role": "user", "content": "And?"}, SAID], "And?", False),
        ({"messages": [HELLO, ASKED, SAID]}, "Why?", False),
        ((ASKED, SAID), "Why?", True),
        ([{"role": "user", "content": [{"type": "input_text", "text": "Why?"}]}, SAID], "Why?", True),
        ([{"role": "user", "parts": [{"type": "text", "text": "Why?"}]}, SAID], "Why?", True),
        ([HumanMessage("Why?"), AIMessage("Because.")], "Why?", True),
        ([AIMessage("Hello!"), HumanMessage("Why?"), AIMessage("Because.")], "Why?", False),
        (read([HELLO, ASKED, SAID]), "Why?", False),
        (read([HELLO, ASKED, SAID]).reply, "Why?", False),
    ],
)
def test_messages_show_the_question_and_whether_a_reply_is_the_first(source: Any, question: str, first: bool) -> None:
    found = completed(source, {"state": "S"})
    assert (found["question"], found["first"], found["state"]) == (question, first, "S")


@pytest.mark.parametrize("source", ["text", b"bytes", [SAID], {"choices": []}, ["a", "b"], None, 5, {"messages": 3}])
def test_without_a_conversation_the_reply_is_the_first_and_nothing_was_asked(source: Any) -> None:
    assert completed(source, {"state": "S"}) == {"history": [], "question": "", "first": True, "state": "S"}


@pytest.mark.parametrize("history", ["Why?", {"messages": []}, 3, iter([ASKED])])
def test_a_history_that_is_not_a_list_is_refused(history: Any) -> None:
    with pytest.raises(TypeError, match="history must be a list of the messages before the reply; got "):
        Contract(reply={"rules": [lambda reply, context: True]}).check("Because it rains.", {"history": history})


def test_the_caller_s_context_takes_precedence_and_is_not_changed() -> None:
    context = {"history": [HELLO], "question": "Mine?"}
    before = copy.deepcopy(context)
    found = completed([ASKED, SAID], context)
    assert (found["history"], found["question"], found["first"]) == ([HELLO], "Mine?", False)
    assert completed("text", {"history": [ASKED]})["question"] == "Why?"
    assert completed([ASKED, SAID], {"first": False})["first"] is False
    assert context == before


def test_checks_and_rules_of_every_kind_get_the_conversation() -> None:
    seen: list[Any] = []

    def look(verdict: Any, context: Any) -> None:
        seen.append((context["question"], context["first"], len(context["history"])))

    Contract(checks=[look]).check([HELLO, ASKED, SAID])
    assert seen == [("Why?", False, 2)]


def test_tools_called_before_the_reply_were_called_before_it() -> None:
    call = {"id": "1", "function": {"name": "find", "arguments": "{}"}}
    book = {"id": "2", "function": {"name": "book", "arguments": "{}"}}
    contract = Contract(tools=[{"name": "find"}, {"name": "book"}], order={"requires": {"book": ["find"]}})
    later = {"role": "assistant", "tool_calls": [book]}
    assert not contract.check([ASKED, later]).ok
    earlier = [
        ASKED,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "x"},
    ]
    assert contract.check([*earlier, ASKED, later]).ok
