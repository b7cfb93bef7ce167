"""Messages that are added to a conversation: roles have the order that providers need, for any shape of the caller's messages."""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from trueup.ask.requests.messages import assistant, can_echo, opened, role, with_system, with_user
from trueup.verdict.reply import Reply, ToolCall

IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}


@pytest.mark.spec("A14")
@pytest.mark.parametrize(
    ("messages", "last"),
    [
        ([{"role": "user", "content": "Hi"}], {"role": "user", "content": "Hi\n\nAgain."}),
        (
            [{"role": "user", "content": [IMAGE]}],
            {"role": "user", "content": [IMAGE, {"type": "text", "text": "Again."}]},
        ),
        (
            [{"role": "user", "content": [{"text": "Hi"}]}],
            {"role": "user", "content": [{"text": "Hi"}, {"text": "Again."}]},
        ),
        (
            [{"role": "user", "parts": [{"text": "Hi"}]}],
            {"role": "user", "parts": [{"text": "Hi"}, {"text": "Again."}]},
        ),
        ([{"role": "tool", "tool_call_id": "a", "content": "1"}], {"role": "user", "content": "Again."}),
        ([{"role": "assistant", "content": "Hi"}], {"role": "user", "content": "Again."}),
        ([("human", "Hi")], {"role": "user", "content": "Again."}),
        ([HumanMessage("Hi")], {"role": "user", "content": "Again."}),
        ([], {"role": "user", "content": "Again."}),
    ],
)
def test_a_text_for_the_model_is_added_to_the_last_user_message(messages: list[Any], last: Any) -> None:
    before = list(messages)
    told = with_user(messages, "Again.")
    assert told[-1] == last
    assert messages == before


@pytest.mark.spec("C9")
@pytest.mark.parametrize(
    ("messages", "at"),
    [
        ([{"role": "user", "content": "Hi"}], 0),
        (
            [
                {"role": "system", "content": "a"},
                {"role": "developer", "content": "b"},
                {"role": "user", "content": "Hi"},
            ],
            2,
        ),
        ([SystemMessage("a"), HumanMessage("Hi"), SystemMessage("c")], 1),
        ([("system", "a"), ("human", "Hi")], 1),
        ([{"role": "system", "content": "a"}], 1),
    ],
)
def test_a_hint_comes_after_the_leading_system_messages(messages: list[Any], at: int) -> None:
    told = with_system(messages, "Hint.")
    assert told[at] == {"role": "system", "content": "Hint."}
    assert [*told[:at], *told[at + 1 :]] == messages


def test_the_role_of_a_message() -> None:
    assert [role(m) for m in ("Hi", ("ai", "x"), HumanMessage("x"), {"role": "model", "parts": []})] == [
        "user", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert opened({"role": "user", "content": "x"}) == [{"role": "user", "content": "x"}]


def test_only_calls_that_fit_into_a_conversation_are_sent_back() -> None:
    good = ToolCall("ping", {"host": "a"}, id="c1", raw_args='{"host":"a"}')
    assert can_echo(Reply(calls=(good,)), "openai")
    assert not can_echo(Reply(), "openai")
    assert not can_echo(Reply(calls=(ToolCall("ping", {"host": "a"}),)), "openai")
    assert can_echo(Reply(calls=(ToolCall("ping", {"host": "a"}),)), "gemini")
    assert not can_echo(Reply(calls=(ToolCall("ping", None, id="c1", raw_args="{"),)), "openai")
    assert not can_echo(Reply(calls=(ToolCall("ping", {}, id="c1", origin="text"),)), "openai")
    assert assistant(Reply(text="Hm.", calls=(good,)), "anthropic")["content"][0] == {"type": "text", "text": "Hm."}
    assert assistant(Reply(calls=(good,)), "openai")["content"] is None
