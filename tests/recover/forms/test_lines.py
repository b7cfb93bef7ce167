"""Fields in lines: what belongs to a text at its end, keys given again, numbers with their thousands apart; several lists."""

from typing import Any

import pytest

from trueup import Contract

TEXT, WHOLE, REAL = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def an(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


QUERY = an(ask=TEXT, sql=TEXT, why=TEXT)
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
BILL = an(number=TEXT, total=REAL, count=WHOLE)
CITIES: dict[str, Any] = {"type": "array", "items": an(city=TEXT)}


@pytest.mark.parametrize(
    ("schema", "reply", "expected"),
    [
        pytest.param(
            QUERY,
            "ask: Who?\nsql: SELECT 1;\nwhy: It counts.",
            {"ask": "Who?", "sql": "SELECT 1;", "why": "It counts."},
            id="semicolon-of-the-text",
        ),
        pytest.param(
            QUERY,
            "- **ask:** Who?\n- **sql:** SELECT 1;\n- **why:** rows",
            {"ask": "Who?", "sql": "SELECT 1;", "why": "rows"},
            id="in-a-list",
        ),
        pytest.param(
            QUERY, "ask: Who,\nsql: x,\nwhy: rows", {"ask": "Who", "sql": "x", "why": "rows"}, id="commas-of-members"
        ),
        pytest.param(
            QUERY, "ask: a;\nsql: x;\nwhy: r;", {"ask": "a", "sql": "x", "why": "r"}, id="semicolons-of-members"
        ),
        pytest.param(TEXTS, "- apple,\n- banana,\n- cherry", ["apple", "banana", "cherry"], id="commas-of-items"),
        pytest.param(TEXTS, "1. a b c\n2. d, e,\n3. f", ["a b c", "d, e,", "f"], id="comma-of-an-item"),
        pytest.param(
            BILL,
            "number: 1,234\ntotal: 5,\ncount: 7,",
            {"number": "1,234", "total": 5, "count": 7},
            id="commas-behind-numbers",
        ),
    ],
)
def test_signs_at_the_end_of_a_line(schema: Any, reply: str, expected: Any) -> None:
    verdict = Contract(schema).check(reply)
    assert verdict.ok, verdict.findings
    assert verdict.data == expected


def test_a_field_given_again_counts_and_is_said() -> None:
    verdict = Contract(QUERY).check("- **ask:** Who\n- **why:** 6 %\n- **sql:** SELECT\n- **why:** rows")
    assert verdict.ok
    assert verdict.data == {"ask": "Who", "sql": "SELECT", "why": "rows"}
    assert [finding.code for finding in verdict.findings] == ["P003"]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("number: B\ntotal: 2,701.00\ncount: 1,234", {"number": "B", "total": 2701.0, "count": 1234}),
        ("number: B\ntotal: 2,701\ncount: 1", None),  # a comma may stand for the point
        ("number: B\ntotal: 1\ncount: 1,234.5", None),
        (
            "| number | total | count |\n|---|---|---|\n| B | 1,000,000 | 3,000 |",
            {"number": "B", "total": 1_000_000, "count": 3000},
        ),
        ('{"number": "B", "total": 2,701.00, "count": 1,234}', {"number": "B", "total": 2701.0, "count": 1234}),
        ('{"number": 1,234, "total": 5, "count": 6}', {"number": "1,234", "total": 5, "count": 6}),
        ('{"number": "B", "total": 2,701, "count": 6}', None),
        ('{"number": "B", "total": 27, "count": "1,234"}', None),  # a string that spells a number: `coerce="eager"`
    ],
)
@pytest.mark.spec("B4")
def test_thousands_set_apart_are_read_where_the_type_leaves_one_reading(reply: str, expected: Any) -> None:
    verdict = Contract(BILL).check(reply)
    assert verdict.ok == (expected is not None), verdict.data
    if expected is not None:
        assert verdict.data == expected


def test_thousands_without_a_schema_stay_as_they_are_written() -> None:
    verdict = Contract(True).check('{"a": 1,234}')
    assert verdict.data == {"a": "1,234"}
    assert [fix.code for fix in verdict.fixes] == ["S015"]


@pytest.mark.parametrize(
    ("between", "cities"),
    [("Oops, corrected:", ["B"]), ("Sorry, I made a mistake:", ["B"]), ("And in the south:", ["A", "B"])],
)
def test_a_list_that_corrects_another_stands_alone(between: str, cities: list[str]) -> None:
    verdict = Contract(CITIES).check(f'First:\n[{{"city": "A"}}]\n{between}\n[{{"city": "B"}}]')
    assert verdict.ok
    assert verdict.data == [{"city": city} for city in cities]


def test_an_index_is_no_list() -> None:
    assert not Contract(TEXTS).check('{"steps": ["1", "2"], "steps"][0]}').ok


def test_a_text_that_goes_on_below_is_not_cut() -> None:
    mail = an(to=TEXT, body=TEXT)
    reply = "to: ada@example.org\nbody: Dear Ada,\n\nthank you for the engine.\n\nYours,\nCharles"
    assert not Contract(mail).check(reply).ok
    assert Contract(mail).check("to: ada@example.org\nbody: Thank you.\n\nIs there anything else?").ok


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("<result><item>Python</item><item>A &amp; B</item></result>", ["Python", "A & B"]),
        ("Here:\n<ul>\n<li>Python</li>\n<li>C</li>\n</ul>", ["Python", "C"]),
        ("<p>Sorry, no.</p><p>Really.</p>", None),
        ("<b>x</b> and <b>y</b>", None),
    ],
)
def test_elements_of_one_name_are_the_items_of_a_list(reply: str, expected: Any) -> None:
    verdict = Contract(TEXTS).check(reply)
    assert verdict.ok == (expected is not None)
    if expected is not None:
        assert verdict.data == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("- a\\n- b", ["a", "b"]),
        ("1. a\\n2. b, c\\n3. d", ["a", "b, c", "d"]),
        ("intro\\n- a\\n- b", ["intro\n- a\n- b"]),
        ("a", ["a"]),
    ],
)
def test_a_list_with_bullets_in_a_string_is_a_list(said: str, expected: list[str]) -> None:
    verdict = Contract(an(tags=TEXTS)).check(f'{{"tags": "{said}"}}')
    assert verdict.ok
    assert verdict.data == {"tags": expected}
    assert verdict.fixes


@pytest.mark.parametrize(
    ("reply", "city"),
    [
        ('{"city": "A"}\n\nFor example, {"city": "X"} would be wrong.', "A"),
        ('For example: {"city": "X"}\n\nAnswer: {"city": "A"}', "A"),
        ('{"city": "A"} instead of {"city": "X"}', "A"),
        ('Example:\n{"city": "A"}', "A"),
        ('{"city": "X"}\n{"city": "A"}', "A"),
    ],
)
def test_an_example_is_not_the_answer(reply: str, city: str) -> None:
    verdict = Contract(an(city=TEXT)).check(reply)
    assert verdict.ok
    assert verdict.data == {"city": city}


def test_word_boundaries_of_a_pattern_are_kept() -> None:
    verdict = Contract(True).check(r'{"re": "\bfoo\b \s"}')
    assert verdict.data == {"re": r"\bfoo\b \s"}
