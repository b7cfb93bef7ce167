"""Replies that a person reads without doubt, or would refuse to read; each is from a handwritten table of replies."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.recover.laws import reads_as as check
from trueup import Contract
from trueup.recover.aims import Aims
from trueup.recover.readings import every_reading, is_mere_prose, readings

TEXT, NUMBER = {"type": "string"}, {"type": "number"}


def object_schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


PAIR = object_schema(a=TEXT, b=TEXT)
WORDS = {"type": "array", "items": TEXT}
ROWS = {"type": "array", "items": {"type": "array", "items": NUMBER}}


@pytest.mark.parametrize(
    ("schema", "reply", "expected"),
    [
        pytest.param(
            PAIR,
            '{"input": {"a": "1", "b": "2"}, "output": {"a": "x", "b": "y"}}',
            {"a": "x", "b": "y"},
            id="input-and-output",
        ),
        pytest.param(PAIR, '{"input": {"a": "x", "b": "y"}}', {"a": "x", "b": "y"}, id="input-alone"),
        pytest.param(
            PAIR, '{"a": "\\u{1F600}", "b": "\\u{e9}t\\u{E9}",}', {"a": "😀", "b": "été"}, id="escapes-of-javascript"
        ),
        pytest.param(
            PAIR,
            '{"a": "x", "b": "Il a dit : "Bonjour", puis : "Au revoir"."}',
            {"a": "x", "b": 'Il a dit : "Bonjour", puis : "Au revoir".'},
            id="a-blank-before-the-colon",
        ),
        pytest.param(PAIR, '{"a": "x", "b": "new" "}', {"a": "x", "b": "new"}, id="a-quote-too-many"),
        pytest.param(
            PAIR,
            "{&ldquo;a&rdquo;: &ldquo;x &amp; y&rdquo;,&nbsp;&ldquo;b&rdquo;: &ldquo;z&rdquo;}",
            {"a": "x & y", "b": "z"},
            id="curved-quotes-as-entities",
        ),
        pytest.param(WORDS, '[\n  - "a",\n  - "b, c"\n]', ["a", "b, c"], id="bullets-in-a-list"),
        pytest.param(WORDS, '[\n  - "a"\n  - "b"\n]', ["a", "b"], id="bullets-instead-of-commas"),
        pytest.param(True, '[\n  - {"a": 1},\n  - {"a": -2}\n]', [{"a": 1}, {"a": -2}], id="bullets-before-objects"),
        pytest.param(True, "{x: [- 5, -6]}", {"x": ["- 5", -6]}, id="a-minus-is-no-bullet"),
        pytest.param(WORDS, '("a", "b, c")', ["a", "b, c"], id="a-tuple"),
        pytest.param(True, "(1, 2.5, 'x')", [1, 2.5, "x"], id="a-tuple-without-a-schema"),
        pytest.param(WORDS, '"a", "b, c",\n"d \\"e\\""', ["a", "b, c", 'd "e"'], id="strings-with-commas"),
        pytest.param(WORDS, '"a"\n"b"\n', ["a", "b"], id="strings-in-lines"),
        pytest.param(
            object_schema(items={"type": "array", "items": PAIR}, n=NUMBER),
            '{"items": [{"a": "1", "b": "2"}, "a": "3", "b": "4"}, {"a": "5", "b": "6"}], "n": 3}',
            {"items": [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}, {"a": "5", "b": "6"}], "n": 3},
            id="an-opening-brace-is-missing",
        ),
        pytest.param(
            object_schema(items={"type": "array", "items": object_schema(name=TEXT)}, name=TEXT),
            '{"items": [{"name": "a"}, "name": "x"}',
            {"items": [{"name": "a"}], "name": "x"},
            id="a-closing-bracket-is-missing",
        ),
        pytest.param(ROWS, "[1, 2]\n[3, 4]", [[1, 2], [3, 4]], id="rows-on-lines"),
        pytest.param(ROWS, "[1, 2], [3, 4]", [[1, 2], [3, 4]], id="rows-with-commas"),
    ],
)
def test_values_that_are_clear_to_a_person_are_read(schema: Any, reply: str, expected: Any) -> None:
    check(schema, reply, expected)


def test_lists_that_are_complete_answers_are_not_read_as_rows() -> None:
    assert Contract({"type": "array", "items": NUMBER}).check("[1, 2]\n[3, 4]").data == [3, 4]
    assert Contract(ROWS).check("[[1], [2]]\n[[3], [4]]").data in ([[1], [2], [3], [4]], [[3], [4]])


@pytest.mark.parametrize(
    "reply", ['{"a": "x" (a guess), "b": "y"}', '{"a": "x" <- here, "b": "y"}', '{"a": "x" as given, "b": "y", "c": 1}']
)
def test_words_before_a_member_do_not_hide_it(reply: str) -> None:
    verdict = Contract(True).check(reply)
    assert not verdict.ok or verdict.data["b"] == "y"


def test_an_escape_that_lacks_digits_is_a_guess() -> None:
    grades = {fix.grade for fix in Contract(True).check('{"a": "caf\\u00e", "b": 1}').fixes}
    assert "guess" in grades


@pytest.mark.parametrize(
    "reply", ['{"a": "x" or "y", "b": "z"}', '{"a": "x" | "y", "b": "z"}', '{"a": "x" if big else "y", "b": "z"}']
)
def test_two_strings_are_neither_chosen_from_nor_joined(reply: str) -> None:
    assert not Contract(PAIR).check(reply).ok


def test_a_quotation_is_not_two_strings() -> None:
    check(PAIR, '{"a": "say "yes or no" now", "b": "z"}', {"a": 'say "yes or no" now', "b": "z"})


@pytest.mark.parametrize("reply", ["[1,000, 2,500, 3]", "[1,5; 2,5]", "[1, 2; 3, 4]", "Numbers: [12,050, 7]"])
def test_commas_that_may_be_inside_numbers_do_not_split_them(reply: str) -> None:
    for schema in ({"type": "array", "items": NUMBER}, True):
        assert not Contract(schema).check(reply).ok


def test_lists_with_plain_separators_are_read() -> None:
    check({"type": "array", "items": NUMBER}, "[1; 2.5; 3]", [1, 2.5, 3])
    check({"type": "array", "items": NUMBER}, "[01, 02]", [1, 2])


@pytest.mark.parametrize("reply", ['```json\n{"a": "x", "b": "y"}}\n```', '```json\n{"a": "x", "b": "y"}]\n```\nDone.'])
def test_an_extra_bracket_in_a_fence_is_reported(reply: str) -> None:
    verdict = Contract(PAIR).check(reply)
    assert verdict.data == {"a": "x", "b": "y"}
    assert "S007" in {fix.code for fix in verdict.fixes}


def test_a_list_split_over_fences_is_not_read_partly() -> None:
    items = {"type": "array", "items": PAIR}
    reply = '```json\n[{"a": "x", "b": "y"},\n```\n```json\n{"a": "1", "b": "2"}]\n```'
    verdict = Contract(items).check(reply)
    assert not verdict.ok or len(verdict.data) == 2


@pytest.mark.parametrize("words", ["Wait, that's wrong. It is z.", "Correction: b is z."])
def test_fields_in_lines_can_be_retracted_too(words: str) -> None:
    assert not Contract(PAIR).check(f"a: x\nb: y\n\n{words}").ok
    assert Contract(PAIR).check("a: x\nb: y\n\nLet me know if that helps.").ok


PERSON = object_schema(
    name=TEXT,
    born=TEXT,
    n=NUMBER,
    address=object_schema(city=TEXT),
    items={"type": "array", "items": object_schema(sku=TEXT)},
)
TOML = """name = 'Zoë'
born = 1983-05-01
n = 1_233

[address]
city = "Liège" # Belgium

[[items]]
sku = "a"

[[items]]
sku = "b"
"""


@pytest.mark.parametrize("reply", [TOML, f"```toml\n{TOML}```\nDone.", f"Here it is:\n\n{TOML}\nHope that helps!"])
def test_toml_with_tables_is_read(reply: str) -> None:
    whole = {"name": "Zoë", "born": "1983-05-01", "n": 1233, "address": {"city": "Liège"}}
    check(PERSON, reply, {**whole, "items": [{"sku": "a"}, {"sku": "b"}]})


@pytest.mark.parametrize(
    "reply",
    [
        TOML.replace("1_233", "nan"),
        TOML.replace("[address]", "[name]"),
        "n = " + "[" * 5000,
        "[" + "a." * 3000 + "a]\nn = 1",
        "[a]\n" * 3000 + "n = 1",
    ],
)
def test_invalid_toml_is_refused(reply: str) -> None:
    assert not Contract(PERSON).check(reply).ok


@pytest.mark.parametrize("reply", ['("just this")', "(1) Read. (2) Write.", '"a" and "b"', '"a"'])
def test_text_that_is_not_a_list_does_not_become_one(reply: str) -> None:
    assert not Contract({**WORDS, "minItems": 2}).check(reply).ok


@pytest.mark.parametrize(
    ("opened", "closed"),
    [
        ("<seed:think>", "</seed:think>"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        ("[THINK]", "[/THINK]"),
        ("<unused94>thought\n", "<unused95>"),
        ("<unused94>", "<unused95>"),
        ("<think>", "</think>"),
    ],
)
def test_a_draft_in_the_marks_of_reasoning_is_not_the_answer(opened: str, closed: str) -> None:
    draft, answer = '{"a": "1", "b": "2"}', '{"a": "x", "b": "y"}'
    for schema in (PAIR, True):
        contract = Contract(schema)
        for reply in (f"{opened}Maybe {draft}?{closed}\n{answer}", f"{answer}\n{opened}Or {draft}?{closed}"):
            verdict = contract.check(reply)
            assert verdict.unwrap() == {"a": "x", "b": "y"}
            assert "W003" in {fix.code for fix in verdict.fixes}
        assert not contract.check(f"{opened}Maybe {draft}, or").ok
        assert not contract.check(f"{opened}Maybe {draft}.{closed}").ok


def test_brackets_with_a_word_are_not_marks_of_reasoning() -> None:
    assert Contract(PAIR).check('[think] about it: {"a": "x", "b": "y"}').unwrap() == {"a": "x", "b": "y"}
    assert Contract(PAIR).check('{"a": "[THINK]", "b": "[/THINK]"}').unwrap() == {"a": "[THINK]", "b": "[/THINK]"}
    assert Contract(PAIR).check('{"a": "[THINK]", "b": "x",}').unwrap() == {"a": "[THINK]", "b": "x"}


@pytest.mark.parametrize("size", [1, 3, 7, 50])
def test_a_stream_does_not_show_a_draft(size: int) -> None:
    for opened, closed in (("[THINK]", "[/THINK]"), ("<|START_THINKING|>", "<|END_THINKING|>")):
        text = f'{opened}Maybe {{"a": "1"}}?{closed}\n{{"a": "x", "b": "y"}}'
        stream = Contract(PAIR).stream()
        for at in range(0, len(text), size):
            stream.feed(text[at : at + size])
            assert (stream.partial or {}).get("a", "x") in ("x", "")
        assert stream.finish().unwrap() == {"a": "x", "b": "y"}


def aims_of(*types: str, keys: tuple[str, ...] = ("unit_price", "colour"), field: tuple[str, ...] = ()) -> Aims:
    known = frozenset(keys)
    return Aims(known, known, frozenset(types), 64, eager=True, any_value=False, field=frozenset(field))


WORDS_OF_PROSE = st.sampled_from(
    ["I", "am", "sorry", "can't", "price", "unit", "true", "None", "yes", "no", "Infinity", "json", "Thinking", "at"]
)
PROSE = st.lists(WORDS_OF_PROSE | st.text("aBz'", min_size=1, max_size=4), min_size=2, max_size=12)


@given(
    PROSE,
    st.lists(st.sampled_from([" ", ", ", ". ", "! ", "?\n", "\n\n", "... ", ".\n'", "  "]), min_size=12),
    st.booleans(),
)
def test_plain_prose_has_no_reading(words: list[str], signs: list[str], named: bool) -> None:
    text = "".join(word + sign for word, sign in zip(words, signs, strict=False))
    aims = aims_of("object") if named else aims_of("object", keys=())
    assume(is_mere_prose(text, aims))
    assert not any(every_reading(text, aims))
    assert not any(readings(text, aims))


@pytest.mark.parametrize(
    ("text", "aims"),
    [
        pytest.param("Unit price five, colour red", aims_of("object"), id="names-a-field"),
        pytest.param("red, green, blue", aims_of("array"), id="a-list"),
        pytest.param("red, green, blue", aims_of("object", "array"), id="a-list-or-an-object"),
        pytest.param("The answer is yes", aims_of("boolean"), id="a-scalar"),
        pytest.param("light blue", aims_of("object", field=("string",)), id="the-only-field"),
        pytest.param("true.", aims_of("object"), id="one-word"),
        pytest.param("Sorry, here it is: {}", aims_of("object"), id="a-bracket"),
        pytest.param("'light blue'", aims_of("object"), id="in-quotes"),
        pytest.param("", aims_of("object"), id="nothing"),
    ],
)
def test_a_possible_value_is_not_only_prose(text: str, aims: Aims) -> None:
    assert not is_mere_prose(text, aims)


def test_an_apology_is_plain_prose() -> None:
    text = "I'm sorry, but I can't help with that.\n\nIs there anything else?"
    assert is_mere_prose(text, aims_of("object"))
    (found,) = Contract(PAIR).check("Sorry, I do not know.").findings
    assert (found.code, found.span) == ("P001", (0, 21))
