"""Whether a reply makes a call or talks about one, in every language with phrases."""

import tomllib
from pathlib import Path

import pytest

from trueup import Contract
from trueup.recover.calls.acting import acts
from trueup.recover.words import tables

CASES: dict[str, dict[str, list[str]]] = tomllib.loads(
    (Path(__file__).parents[1] / "cases" / "acting.toml").read_text("utf-8")
)
CONTRACT = Contract(
    tools=[{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]
)
BARE = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
CALLS = {"bare": BARE, "fenced": f"```json\n{BARE}\n```", "marked": f"<tool_call>{BARE}</tool_call>"}
each_form = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


def cases(kind: str) -> pytest.MarkDecorator:
    rows = [pytest.param(words, id=f"{lang}: {words}") for lang, table in CASES.items() for words in table[kind]]
    return pytest.mark.parametrize("words", rows)


def reply(words: str, call: str) -> str:
    return words.replace("{}", call) if "{}" in words else f"{words}\n{call}"


def test_every_language_has_its_cases() -> None:
    assert set(CASES) == set(tables())
    assert all(len(table["acts"]) + len(table["talks"]) >= 25 for table in CASES.values())


@pytest.mark.spec("X16", "T2")
@each_form
@cases("acts")
def test_a_reply_that_announces_its_call_acts(words: str, call: str) -> None:
    verdict = CONTRACT.check(reply(words, call))
    assert [(made.name, made.args) for made in verdict.calls] == [("get_weather", {"city": "Oslo"})]


@pytest.mark.spec("X16", "T2")
@each_form
@cases("talks")
def test_a_reply_that_talks_about_a_call_does_not_act(words: str, call: str) -> None:
    verdict = CONTRACT.check(reply(words, call))
    assert (verdict.calls, verdict.refused) == ((), ())


@pytest.mark.parametrize(
    ("before", "behind", "made"),
    [
        ("Voy a mirar, p. ej. en Oslo. ", "", True),
        ("好的。", "", True),
        ("承知しました。", "", True),
        ("Ich rufe es auf. ", "", True),
        ("D'accord. ", "", True),
        ("", " ist ein Aufruf.", False),
        ("", " est un appel.", False),
        ("", " 是一个调用。", False),
        ("", " を呼び出します。", False),
        ("> ", "", False),
        ("`", "`", False),
    ],
)
def test_words_on_the_line_of_a_call_decide_what_it_is(before: str, behind: str, made: bool) -> None:
    text = before + BARE + behind
    assert acts(text, len(before), len(before) + len(BARE), marked=False) is made
