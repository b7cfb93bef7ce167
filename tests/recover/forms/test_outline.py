"""A text as lines: fences, bullets, keys and values; names found by similar spellings."""

from typing import Any

import pytest

from trueup.recover.forms.outline import FENCE, ROW, RULE, KeyFinder, fenced, lines_of, spaced_fields, split_fields


def seen(text: str, *of: str) -> list[Any]:
    return [tuple(getattr(line, name) for name in of) for line in lines_of(text, 0, len(text))]


@pytest.mark.parametrize(
    ("line", "label", "sep", "value"),
    [
        ("name: Ada", "name", ":", "Ada"),
        ("**Name:** Ada", "Name", ":", "Ada"),
        ("**Name: Ada**", "Name", ":", "Ada"),
        ("- `name` = Ada", "name", "=", "Ada"),
        ("2. Name → Ada", "Name", "→", "Ada"),
        ("a) Name: Ada", "Name", ":", "Ada"),
        ("> ### Name: Ada", "Name", ":", "Ada"),
        ("https://a.b/c: d", "", "", ""),
        ('"Title: sub" is quoted', '"Title: sub" is quoted', "", ""),
    ],
)
def test_a_line_has_a_key_and_a_value(line: str, label: str, sep: str, value: str) -> None:
    assert seen(line, "label", "sep", "value")[0] == (label, sep, value) or (not sep and seen(line, "sep") == [("",)])


@pytest.mark.parametrize(
    ("text", "opaque"),
    [
        ("```\na\n```\nb", [False, True, False, False]),
        ('```json title="x y"\na\n```\nb', [False, True, False, False]),
        ("~~~\n```\na\n~~~", [False, True, True, False]),
        ("````md\n```py\na\n```\n````\nb", [False, True, True, True, False, False]),
        ("```py\na\n```js\nb\n```\nc", [False, True, False, True, False, False]),
        ("```a``` is code\nb", [False, False]),
        ("```\na", [False, True]),
    ],
)
def test_the_content_of_a_fence_is_opaque(text: str, opaque: list[bool]) -> None:
    assert [line.opaque for line in lines_of(text, 0, len(text))] == opaque


def test_text_inside_fences_is_located() -> None:
    text = "x\n```\na\nb\n```\ny\n```\nc"
    assert fenced(lines_of(text, 0, len(text))) == [(2, 4), (7, 8)]


def test_lines_have_their_kind_and_gaps() -> None:
    assert seen("a\n\n---\n| b |\n```", "kind", "gap") == [("text", 0), (RULE, 1), (ROW, 0), (FENCE, 0)]


@pytest.mark.parametrize(
    ("label", "key"),
    [
        ("Unit price", "unit_price"),
        ("UNIT-PRICE (EUR)", "unit_price"),
        ("titulo", "título"),
        ("price", None),
        ("", None),
    ],
)
def test_a_name_is_found_by_a_varied_spelling(label: str, key: str | None) -> None:
    assert KeyFinder(["unit_price", "título"]).get(label) == key


def test_several_fields_on_a_line_are_split_only_at_known_names() -> None:
    keys = KeyFinder(["name", "age"])
    text = "name: Ada, born: 1815, age: 36"
    pieces = split_fields(text, lines_of(text, 0, len(text)), keys)
    assert [(piece.label, piece.value) for piece in pieces] == [("name", "Ada, born: 1815"), ("age", "36")]
    assert split_fields("name: Ada", lines_of("name: Ada", 0, 9), keys) == []


def test_a_field_without_a_separator_fills_its_paragraph() -> None:
    keys = KeyFinder(["name", "age"])
    for text, count in (("name Ada\nage 36", 2), ("name Ada\nage 36\nand so on", 0), ("name Ada\nname Bob", 0)):
        assert len(spaced_fields(text, lines_of(text, 0, len(text)), keys)) == count
