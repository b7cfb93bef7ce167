"""Paths as the model knows them."""

import pytest

from trueup.ask.words.places import shown
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.verdict import Refusal, Verdict


def verdict(*names: str, origin: str) -> Verdict:
    calls = tuple(ToolCall(name, {}, origin=origin, index=index) for index, name in enumerate(names))
    return Verdict(Reply(), calls=calls[:1], refused=tuple(Refusal(call, ()) for call in calls[1:]))


@pytest.mark.parametrize(
    ("path", "origin", "expected"),
    [
        ("$.calls[0].args.a[1].b", "envelope", "$.toolCalls[0].arguments.a[1].b"),
        ("$.calls[1]", "envelope", "$.toolCalls[1]"),
        ("$.calls", "envelope", "$"),
        ("$.calls[0].args.a[1].b", "native", "ping #1 $.a[1].b"),
        ("$.calls[1].args", "text:json", "ping #2 $"),
        ("$.calls[2]", "text:tag", "look"),
        ("$.calls[9].args", "native", "$"),
        ("$.age", "native", "$.age"),
    ],
)
def test_a_path_in_a_call(path: str, origin: str, expected: str) -> None:
    assert shown(path, verdict("ping", "ping", "look", origin=origin)) == expected


def test_calls_in_the_value_have_their_path_there() -> None:
    assert shown("$.calls", Verdict(Reply()), inside=True) == "$.toolCalls"
