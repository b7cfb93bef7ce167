"""Replies in prose: claims without a source, quotations and citations. Text without claims stays quiet."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trueup import Contract

PROSE = Contract(grounded=True)
CASES = json.loads((Path(__file__).parent / "cases" / "prose.json").read_text("utf-8"))
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
def test_supported_claims_stay_quiet(text: str) -> None:
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
def test_unsupported_claims_are_marked(text: str, expected: list[tuple[str, str]]) -> None:
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


def answers(kind: str) -> Iterator[Any]:
    """The answers of a kind, with documents: those used to develop the rules, and those written afterwards (`held`)."""
    for group, languages in CASES.items():
        for language, one in languages.items():
            for at, case in enumerate(one[kind]):
                yield pytest.param(case, one["documents"], id=f"{group}-{language}-{at}")


@pytest.mark.spec("E5")
@pytest.mark.parametrize(("text", "documents"), list(answers("true")))
def test_a_true_answer_raises_no_alarm(text: str, documents: dict[str, str]) -> None:
    assert [str(one) for one in PROSE.check(text, {"source": documents}).findings] == []


@pytest.mark.spec("E5")
@pytest.mark.parametrize(("case", "documents"), list(answers("false")))
def test_a_false_claim_is_flagged(case: dict[str, str], documents: dict[str, str]) -> None:
    text = case["text"]
    findings = PROSE.check(text, {"source": documents}).findings
    assert [one.code for one in findings] == [case["code"]]
    if "marked" in case:
        assert [one.span and text[slice(*one.span)] for one in findings] == [case["marked"]]


@pytest.mark.parametrize(
    "text",
    [
        "It needs 12 m² of room, and x^2 + y^2 = z^2.",
        "There are three (3) ways: (1) wait and (2) pay.",
        "Section 4(1) says so. Footnote one.[^1]",
        "See [the docs](/plant).",
        "1) one\n2) two\n10. ten",
        "```\nx = values[17] + 4096\n```\nand `a[9]`.",
        "Roughly 4.5 thousand pumps, or 4.5k.",
        "It grew from 2019-2023; the score was 41-6.",
        "Sources:\n[1] The plant\n[2] The price",
        "That is twice as much, a good score, and one of the best.",
        "It is not “safe to use in wet rooms”.",
    ],
)
def test_text_without_claims_stays_quiet(text: str) -> None:
    documents = [
        "It makes 4,500 pumps. 12 m².",
        "It is not safe to use in wet rooms.",
        "From 2019 to 2023. Score 41-6.",
    ]
    assert [str(one) for one in PROSE.check(text, {"source": documents}).findings] == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("It costs 45 EUR [2].", ""),
        ("It costs 45 EUR [Source 2].", ""),
        ("It costs 45 EUR [1].", "E006"),
        ("It costs 45 EUR [3].", "E005"),
    ],
)
@pytest.mark.parametrize(
    "prompt",
    [
        "[1] It opened in 2019.\n[2] It costs 45 EUR.\n\nWhat does it cost?",
        "Document 1: It opened in 2019.\nDocument 2: It costs 45 EUR.\n\nWhat does it cost?",
        '<doc id="1">It opened in 2019.</doc> <doc id="2">It costs 45 EUR.</doc>',
    ],
)
def test_marks_name_the_passages_that_a_prompt_numbers(prompt: str, text: str, code: str) -> None:
    verdict = PROSE.check(text, {"history": [{"role": "user", "content": prompt}]})
    assert [one.code for one in verdict.findings] == ([code] if code else [])


def test_messages_without_numbers_cannot_be_cited_wrongly() -> None:
    history = [
        {"role": "user", "content": "What does it cost?"},
        {
            "role": "tool",
            "tool_call_id": "1",
            "content": '[{"text": "It opened in 2019."}, {"text": "It costs 45 EUR."}]',
        },
    ]
    assert PROSE.check("It costs 45 EUR [2].", {"history": history}).ok


def test_a_document_that_is_cited_by_the_name_of_a_file_must_exist() -> None:
    context = {"source": {"a.pdf": "It opened in 2019.", "b.pdf": "It costs 45 EUR."}}
    verdict = PROSE.check("It costs 45 EUR [b.pdf], as [c.pdf] says [or so].", context)
    assert [(one.code, one.data["citation"]) for one in verdict.findings] == [("E005", "c.pdf")]
