"""Lists of plain values: with marks, in brackets, between commas, one per line; and prose that is not a list."""

from typing import Any

import pytest

from tests.recover.forms.cases import WORDS, Row, checked, gives, listed
from trueup import Contract

NUMBERS = listed({"type": "integer"})

MARKED: list[Row] = [
    ("numbers", WORDS, "1. apple\n2. banana\n3. cherry", ["apple", "banana", "cherry"]),
    ("bullets", WORDS, "- apple\n- banana", ["apple", "banana"]),
    ("lead and close", WORDS, "Here are some fruits:\n\n* apple\n* banana\n\nEnjoy!", ["apple", "banana"]),
    ("loose", WORDS, "1) apple\n\n2) banana", ["apple", "banana"]),
    ("items go on", WORDS, "- apple\n  and pear\n- banana", ["apple and pear", "banana"]),
    ("colons in items", WORDS, "- apple: red\n- banana: yellow", ["apple: red", "banana: yellow"]),
    ("integers", listed({"type": "integer"}), "- 3\n- 14\n- 15", [3, 14, 15]),
    ("in a fence", WORDS, "```\n- apple\n- banana\n```", ["apple", "banana"]),
    ("enum", listed({"enum": ["RED", "BLUE"]}), "- red\n- **blue**", ["RED", "BLUE"]),
    ("chinese items", WORDS, "水果如下：\n1. 苹果\n2. 香蕉", ["苹果", "香蕉"]),
    ("letters", WORDS, "a) apple\nb) banana", ["apple", "banana"]),
    ("a lead of two lines", WORDS, "Sure! Here they are.\n\nFruits:\n- apple\n- banana", ["apple", "banana"]),
    ("a remark of two lines", WORDS, "- apple\n- banana\n\nBoth are fruits.\nBoth are sweet.", ["apple", "banana"]),
    ("lists in a list", listed(NUMBERS), "- - 1\n  - 2\n- - 3\n  - 4", [[1, 2], [3, 4]]),
]  # fmt: skip

BARE: list[Row] = [
    ("lines", WORDS, "apple\nbanana\ncherry", ["apple", "banana", "cherry"]),
    ("names", WORDS, "Ada Lovelace\nGrace Hopper", ["Ada Lovelace", "Grace Hopper"]),
    ("lines in a fence", WORDS, "```text\napple\nbanana\n```\nDone.", ["apple", "banana"]),
    ("lines with commas", WORDS, "apple,\nbanana,\ncherry", ["apple", "banana", "cherry"]),
    ("commas over lines", WORDS, "a, b,\nc, d", ["a", "b", "c", "d"]),
    ("commas", WORDS, "red, green, blue", ["red", "green", "blue"]),
    ("commas and a remark", WORDS, "red, green, blue\n\nThese are colours.", ["red", "green", "blue"]),
    ("lines and a remark", WORDS, "apple\nbanana\n\nLet me know if you need more!", ["apple", "banana"]),
    ("a label", WORDS, "Answer: red, green, blue", ["red", "green", "blue"]),
    ("a lead", WORDS, "The fruits in the order in which you gave them to me before:\napple\nbanana", ["apple", "banana"]),
    ("and", WORDS, "apple, banana, and cherry", ["apple", "banana", "cherry"]),
    ("and without a comma", WORDS, "apple, banana and cherry", ["apple", "banana", "cherry"]),
    ("und", WORDS, "Äpfel, Birnen und Pflaumen", ["Äpfel", "Birnen", "Pflaumen"]),
    ("a point", WORDS, "Red, green, blue.", ["Red", "green", "blue"]),
    ("a sentence behind", WORDS, "red, green, blue. These are colours.", ["red", "green", "blue"]),
    ("blanks", NUMBERS, "1 2 3", [1, 2, 3]),
    ("semicolons", WORDS, "red; dark green; blue", ["red", "dark green", "blue"]),
    ("code marks", WORDS, "`red`, `green`", ["red", "green"]),
    ("chinese", WORDS, "苹果、香蕉、樱桃", ["苹果", "香蕉", "樱桃"]),
    ("inside an answer tag", WORDS, "So:\n\n<answer>\nred\ngreen\n</answer>", ["red", "green"]),
    ("numbers", NUMBERS, "1, 2, 3", [1, 2, 3]),
    ("numbers without blanks", NUMBERS, "4,8,15,16", [4, 8, 15, 16]),
    ("a comma at the end", NUMBERS, "1, 2, 3,", [1, 2, 3]),
    ("number lines", NUMBERS, "1\n2\n3", [1, 2, 3]),
    ("truths", listed({"type": "boolean"}), "true, false", [True, False]),
    ("strings", WORDS, '"a, b", "c"', ["a, b", "c"]),
    ("strings in lines", WORDS, '"a, b"\n"c"', ["a, b", "c"]),
    ("strings apart", WORDS, '"a"\n\n"b"', ["a", "b"]),
    ("single quotes", WORDS, "'a', 'b'", ["a", "b"]),
    ("strings and a remark", WORDS, '"a", "b"\n\nEnjoy', ["a", "b"]),
]  # fmt: skip

BRACKETS: list[tuple[str, Any, str, Any]] = [
    ("over lines", WORDS, "[\n  apple,\n  banana\n]", ["apple", "banana"]),
    ("without commas", WORDS, "[\n  apple\n  banana\n]", ["apple", "banana"]),
    ("a remark in parentheses", WORDS, "[oak, elm] (sorted by height)", ["oak", "elm"]),
    ("a comment", WORDS, "[oak, elm]  # two trees", ["oak", "elm"]),
    ("a lead", WORDS, "The trees: [oak, elm] - both are tall", ["oak", "elm"]),
]

REFUSED: list[tuple[str, Any, str]] = [
    ("list in prose", WORDS, "One thing.\nAnother thing.\n- apple\n- banana"),
    ("refusal with bullets", WORDS, "I'm sorry, I can't do that because:\n- it is wrong\n- it is late"),
    ("numbers out of order", WORDS, "1. apple\n5. banana"),
    ("any value", True, "- apple\n- banana"),
    ("sentence", WORDS, "Well, it depends, mostly on the weather"),
    ("short sentence", WORDS, "Hello, world"),
    ("wrapped sentence", WORDS, "Here is the list\nof all fruits"),
    ("list in a sentence", WORDS, "The fruits are apple, banana and cherry."),
    ("a place", WORDS, "Paris, France"),
    ("an answer", WORDS, "yes, sure"),
    ("thousands set apart", NUMBERS, "12 345"),
    ("text may be meant", {"type": ["string", "array"], "minLength": 30}, "red, green, blue"),
    ("speech", WORDS, '"Well", she said, "no"'),
    ("refusal", WORDS, "I'm sorry, I cannot"),
    ("thousands", listed({"type": "integer"}), "1,000, 2,000"),
    ("thousands as text", WORDS, "1,000, 2,000"),
    ("ellipsis", NUMBERS, "1, 2, ..., 10"),
    ("program", WORDS, "x = 1\ny = 2"),
    ("function", WORDS, "def f(x):\n    return x"),
    ("fields", WORDS, "name: Ada\nage: 36"),
    ("table", WORDS, "name,age\nAda,36"),
    ("trace", WORDS, "Error: foo\n  at bar (x.js:1:2)"),
    ("page", WORDS, "<html><body>\napple\nbanana\n</body></html>"),
    ("a source", WORDS, "[Smith, Jones] say so"),
    ("a link", WORDS, "[apple, banana](https://example.org)"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "reply", "expected"), [row[1:] for row in MARKED + BARE], ids=[row[0] for row in MARKED + BARE]
)
def test_a_list_gives_its_items(schema: Any, reply: str, expected: Any) -> None:
    gives(schema, reply, expected)


@pytest.mark.parametrize(
    ("schema", "reply", "expected"), [row[1:] for row in BRACKETS], ids=[row[0] for row in BRACKETS]
)
def test_words_in_brackets_are_a_list(schema: Any, reply: str, expected: Any) -> None:
    verdict = checked(schema, reply)
    assert verdict.ok
    assert verdict.data == expected


@pytest.mark.parametrize(("schema", "reply"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_prose_is_not_a_list(schema: Any, reply: str) -> None:
    assert not checked(schema, reply).ok


def test_numbered_sections_are_not_a_list() -> None:
    assert not Contract(WORDS).check('{"steps": ["1", "2"], "steps"][0]}').ok


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
    verdict = Contract({"type": "object", "properties": {"tags": WORDS}, "required": ["tags"]}).check(
        f'{{"tags": "{said}"}}'
    )
    assert verdict.ok
    assert verdict.data == {"tags": expected}
    assert verdict.fixes


@pytest.mark.parametrize("mark", ["-", "*", "+", "1.", "-\n-", "- ", "•"])
def test_a_mark_without_an_item_never_raises(mark: str) -> None:
    assert Contract(WORDS).check(mark).ok in (True, False)
