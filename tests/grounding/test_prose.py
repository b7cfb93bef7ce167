"""Replies in prose: claims that no source has, quotations and citations; what is not a claim stays quiet."""

from typing import Any

import pytest

from trueup import Contract

PROSE = Contract(grounded=True)
DOCUMENTS = {
    "history": "The plant opened on 5 March 2019 and makes 4,500 pumps a year. More at https://example.com/plant.",
    "prices": "A pump costs 45 EUR. The inspector wrote: the pump is not safe to use in wet rooms.",
}


def found(text: str, **context: Any) -> list[tuple[str, str]]:
    verdict = PROSE.check(text, {"source": DOCUMENTS, **context})
    return [(one.code, "" if one.span is None else text[slice(*one.span)]) for one in verdict.findings]


@pytest.mark.spec("E5")
@pytest.mark.parametrize(
    "text",
    [
        "The plant opened in March 2019 and makes 4500 pumps [1].",
        "A pump costs €45 [2]. It opened on 2019-03-05 [history].",
        "The inspector wrote “the pump is not safe to use” [2].",
        "See https://example.com/plant for more.",
        "There are 3 options:\n1. Wait.\n2. Ask.\n3. Pay 45 EUR.",
        "Run `retry(7200)` and wait.",
        "Nothing to say.",
        "I have two ideas. First, wait.",
    ],
)
def test_what_the_sources_say_stays_quiet(text: str) -> None:
    assert found(text) == []


@pytest.mark.spec("E5")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It makes 5,400 pumps.", [("E001", "5,400")]),
        ("It opened on 6 March 2019.", [("E001", "6 March 2019")]),
        ("A pump costs 54 EUR.", [("E001", "54 EUR")]),
        ("See https://example.com/plants.", [("E001", "https://example.com/plants")]),
        ("He wrote “the pump is safe to use”.", [("E004", "the pump is safe to use")]),
        ("It makes 4,500 pumps [3].", [("E005", "[3]")]),
        ("A pump costs 45 EUR [1].", [("E006", "[1]")]),
        ("The inspector wrote that wet rooms are not safe for the pump. [1]", [("E006", "[1]")]),
    ],
)
def test_what_no_source_says_is_marked(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == expected


def test_declared_kinds_must_be_in_the_source() -> None:
    contract = Contract(grounded={"kinds": {"order": r"\b[A-Z]{2}-\d{4}\b"}})
    context = {"source": "Order AB-1234 was sent."}
    assert contract.check("Your order AB-1234 was sent.", context).ok
    verdict = contract.check("Your order AB-4321 was sent.", context)
    assert [(one.code, one.data["kind"]) for one in verdict.findings] == [("E001", "order")]


def test_the_evidence_of_a_claim_is_found_by_its_place() -> None:
    verdict = PROSE.check("It costs 45 EUR.", {"source": DOCUMENTS})
    assert list(verdict.evidence) == ["text[9:15]"]
    assert verdict.evidence["text[9:15]"].places[0].document == "prices"


def test_results_of_tools_are_a_source() -> None:
    history = [
        {"role": "user", "content": "How warm is it in Oslo?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "function": {"name": "weather", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": '{"city": "Oslo", "temperature": 14.5}'},
    ]
    assert PROSE.check("It is 14.5 degrees in Oslo.", {"history": history}).ok
    assert not PROSE.check("It is 15.4 degrees in Oslo.", {"history": history}).ok
