"""Evidence for the page: rows and places in UTF-16 units, for any source of any length."""

import json
import random
from typing import Any

import pytest

from tests.studio.judging.conftest import Bench
from trueup.studio.judging.evidence import MOST_ROWS
from trueup.studio.refusal import RequestRefused

GROUNDED = "schema: {type: object}\ngrounded: true\n"
SOURCE = "😀 Ana 😀 is 40; total 12,50 EUR"
ODD = [
    "😀", "👩‍👩‍👧", "é", "e\u0301", "中文", "עברית", "العربية", "\u202e", "\u2066", "\ud83d", "\udc00", "\x00", "\r\n", "\n", " ", "<b>", "</script>", "&amp;",
    "{{ x }}", "`", "\u2028",
]  # fmt: skip


def odd(rng: random.Random) -> str:
    return "".join(rng.choice(ODD) for _ in range(rng.randrange(30)))


def cut(text: str, start: int, end: int) -> str:
    """A slice of a text in UTF-16 units, as in JavaScript."""
    raw = text.encode("utf-16-le", "surrogatepass")
    return raw[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")


def text_at(evidence: dict[str, Any], place: Any) -> str:
    """The text at a place in the shown part of a source."""
    number, start, end = place
    for first, text in evidence["sources"][number]["pieces"]:
        size = len(text.encode("utf-16-le", "surrogatepass")) // 2
        if first <= start and end <= first + size:
            return cut(text, start - first, end - first)
    raise AssertionError(f"{place} is in no piece")


def evidence_of(bench: Bench, reply: str, source: str = "", contract: str = GROUNDED, **more: Any) -> dict[str, Any]:
    answer = bench.judge(reply, contract, source=source, **more)
    assert answer["faults"] == []
    evidence: dict[str, Any] = json.loads(json.dumps(answer["verdict"]["evidence"]))
    return evidence


def test_each_value_has_its_grade_and_positions(bench: Bench) -> None:
    reply = '{"n": "Ana 😀", "age": 41, "total": 12.5, "ok": true}'
    answer = bench.judge(reply, GROUNDED, source=SOURCE)
    evidence = answer["verdict"]["evidence"]
    rows = {row["path"]: row for row in evidence["rows"]}
    assert {path: row["grade"] for path, row in rows.items()} == {
        "$.n": "exact", "$.age": "none", "$.total": "normalized", "$.ok": "not checkable",
    }  # fmt: skip
    assert text_at(evidence, rows["$.total"]["places"][0]) == "12,50 EUR"
    assert text_at(evidence, rows["$.age"]["nearest"]) == "40"
    assert (rows["$.age"]["level"], rows["$.age"]["value"]) == ("error", "41")
    assert answer["verdict"]["facts"][rows["$.age"]["fact"]]["code"] == "E001"
    assert cut(reply, *rows["$.n"]["span"]) == '"Ana 😀"'
    assert evidence["grades"] == {"exact": 1, "none": 1, "normalized": 1, "not checkable": 1}
    assert answer["contract"]["grounded"] is True


def test_documents_have_names_and_repeated_names_are_distinguished(bench: Bench) -> None:
    context = json.dumps(
        {
            "source": [
                {"title": "mail", "text": "Nothing here."},
                {"title": "mail", "text": "It costs 99 EUR."},
                "A note.",
            ]
        }
    )
    evidence = evidence_of(bench, '{"price": 99}', context=context)
    [row] = evidence["rows"]
    assert [source["name"] for source in evidence["sources"]] == ["mail", "mail", "source[2]"]
    assert text_at(evidence, row["places"][0]).startswith("99")
    assert row["places"][0][0] == 1
    # the field takes precedence over the context
    evidence = evidence_of(bench, '{"price": 99}', source="It costs 98 EUR.", context=context)
    assert [source["name"] for source in evidence["sources"]] == ["source"]
    assert evidence["rows"][0]["grade"] == "none"


def test_the_conversation_is_a_source_and_each_call_has_a_row(bench: Bench) -> None:
    contract = "tools:\n  - {name: book, parameters: {type: object, properties: {day: {type: string}, n: {type: integer}}}}\ngrounded: {calls: true}\n"
    reply = json.dumps(
        {
            "tool_calls": [{"function": {"name": "book", "arguments": '{"day": "Friday", "n": 4}'}}],
            "role": "assistant",
            "content": None,
        }
    )
    context = json.dumps({"history": [{"role": "user", "content": "A table for four on Friday, please."}]})
    evidence = evidence_of(bench, reply, contract=contract, context=context, response=True)
    assert {row["path"]: (row["value"], row["grade"]) for row in evidence["rows"]} == {
        "$.calls[0].args.day": ("Friday", "exact"), "$.calls[0].args.n": ("4", "normalized"),
    }  # fmt: skip
    assert evidence["sources"][0]["name"] == "messages[0]"


def test_claims_in_prose_are_marked_in_the_text(bench: Bench) -> None:
    reply = "😀 The plant makes 5,400 pumps since 2019."
    answer = bench.judge(reply, "grounded: true\n", source="Opened in 2019; 4,500 pumps.")
    evidence = answer["verdict"]["evidence"]
    assert [(row["value"], row["grade"]) for row in evidence["rows"]] == [("5,400", "none"), ("2019", "exact")]
    assert [cut(reply, *row["span"]) for row in evidence["rows"]] == ["5,400", "2019"]
    assert [row["fact"] for row in evidence["rows"]] == [0, None]
    whole = bench.judge("5,400", "grounded: true\n", source="4,500 pumps")["verdict"]["evidence"]["rows"]
    assert [row["fact"] for row in whole] == [0], "a claim that is the whole text has its finding too"


@pytest.mark.parametrize("seed", range(40))
def test_positions_do_not_depend_on_the_surrounding_text(bench: Bench, seed: int) -> None:
    rng = random.Random(seed)
    source = f"{odd(rng)} Ana Ruiz {odd(rng)} 1,234.50 {odd(rng)}"
    evidence = evidence_of(bench, '{"name": "Ana Ruiz", "total": 1234.5}', source)
    for row in evidence["rows"]:
        for place in row["places"]:
            assert text_at(evidence, place) in ("Ana Ruiz", "1,234.50")


def test_the_page_gets_the_excerpts_of_a_long_source_around_positions(bench: Bench) -> None:
    source = "lorem ipsum 😀 " * 70_000 + "Ana is 41. " + "dolor sit " * 20_000
    evidence = evidence_of(bench, '{"name": "Ana", "age": 41, "other": "Grace"}', source)
    [shown] = evidence["sources"]
    assert shown["size"] == len(source.encode("utf-16-le")) // 2 > 1_000_000
    assert sum(len(text) for _, text in shown["pieces"]) < 20_000
    assert [text_at(evidence, row["places"][0]) for row in evidence["rows"][:2]] == ["Ana", "41"]


def test_values_without_evidence_are_listed_first(bench: Bench) -> None:
    reply = json.dumps({f"k{n}": f"word{n}" for n in range(3_000)})
    source = " ".join(f"word{n}" for n in range(2_900))
    evidence = evidence_of(bench, reply, source)
    assert len(evidence["rows"]) == MOST_ROWS
    assert evidence["omitted"] == 3_000 - MOST_ROWS
    grades = [row["grade"] for row in evidence["rows"]]
    assert grades.count("none") == evidence["grades"]["none"] > 0
    numbers = [int(row["path"].removeprefix("$.k")) for row in evidence["rows"]]
    assert numbers == sorted(numbers), "in the order of the value"
    assert sum(len(text) for source in evidence["sources"] for _, text in source["pieces"]) < 400_000


def test_a_source_has_the_limit_of_a_reply(bench: Bench) -> None:
    with pytest.raises(RequestRefused, match="The source is longer than 10,000,000 characters"):
        bench.judge("{}", GROUNDED, source="x" * 10_000_001)


def test_without_a_source_or_a_grounded_contract_there_is_no_evidence(bench: Bench) -> None:
    answer = bench.judge('{"n": 1}', GROUNDED)
    assert [fact["code"] for fact in answer["verdict"]["facts"]] == ["E007"]
    assert answer["verdict"]["evidence"] is None
    answer = bench.judge('{"n": 1}', "schema: {type: object}", source="1")
    assert (answer["verdict"]["evidence"], answer["contract"]["grounded"]) == (None, False)
    answer = bench.judge('{"n": 1}', GROUNDED, context='{"today": "nonsense", "source": "1"}')
    assert answer["verdict"] is None
    assert "today is a date" in answer["faults"][0]["message"]
