"""The place of a cursor in a text while it is typed; `¦` stands for the cursor."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.studio.judging.cursor import locate

Parts = tuple[Any, ...]

YAML: list[tuple[str, Parts, str, str]] = [
    ("¦", (), "key", ""),
    ("sch¦", (), "key", "sch"),
    ("name: x\n¦", (), "key", ""),
    ("schema:\n  ¦", ("schema",), "key", ""),
    ("schema:\n  type: object\n  ¦", ("schema",), "key", ""),
    ("schema:\n  type: ob¦", ("schema", "type"), "value", "ob"),
    ("schema:\n  type: object\n¦", (), "key", ""),
    ("schema:\n  properties:\n    age:\n      ¦", ("schema", "properties", "age"), "key", ""),
    ("schema:\n  properties:\n    age: {type: int¦", ("schema", "properties", "age", "type"), "value", "int"),
    ("schema:\n  properties:\n    age: {type: integer, ¦", ("schema", "properties", "age"), "key", ""),
    (
        "schema:\n  properties:\n    age: {\n      type: integer,\n      mini¦",
        ("schema", "properties", "age"),
        "key",
        "mini",
    ),
    ("schema:\n  required: [na¦", ("schema", "required", 0), "value", "na"),
    ("schema:\n  required: [name, a¦", ("schema", "required", 1), "value", "a"),
    ("rules:\n  - ¦", ("rules", 0), "key", ""),
    ("rules:\n- a > 1\n- ¦", ("rules", 1), "key", ""),
    ("rules:\n  - name: a\n    ¦", ("rules", 0), "key", ""),
    ("rules:\n  - name: a\n  - na¦", ("rules", 1), "key", "na"),
    ("rules:\n  - name: a\n    expr: len(¦", ("rules", 0, "expr"), "value", ""),
    ("rules:\n  - name: a\n    expr: len(x) > ag¦", ("rules", 0, "expr"), "value", "ag"),
    ("rules:\n  - {name: a, le¦", ("rules", 0), "key", "le"),
    ("rules:\n  - 'len(na¦", ("rules", 0), "value", "na"),
    ("rules:\n  - expr: >\n      len(na¦", ("rules", 0, "expr"), "value", "na"),
    ("rules:\n  - expr: >\n      len(na)\n    ¦", ("rules", 0), "key", ""),
    ("states:\n  IDLE:\n    tools: [a, ¦", ("states", "IDLE", "tools", 1), "value", ""),
    ("states:\n  IDLE:\n    next:\n      - DO¦", ("states", "IDLE", "next", 0), "key", "DO"),
    ("# note: x\naccept: ¦", ("accept",), "value", ""),
    ("accept:\n  gue¦", ("accept",), "key", "gue"),
    ('"name": x\n"sch¦', (), "key", "sch"),
    ("a: 'it''s'\nb: \"x: y\"\n¦", (), "key", ""),
    ("description: |\n  text: {[\n  more\n¦", (), "key", ""),
    ("tools:\n  - name: a\n    parameters:\n      type: object\n      ¦", ("tools", 0, "parameters"), "key", ""),
    ("order: {level: ¦", ("order", "level"), "value", ""),
    ("examples:\n  - reply: '{\"a\": 1}'\n    gives: [V0¦", ("examples", 0, "gives", 0), "value", "V0"),
]
JSON: list[tuple[str, Parts, str, str]] = [
    ("{¦", (), "key", ""),
    ('{"sch¦', (), "key", "sch"),
    ('{"schema": {"type": "ob¦', ("schema", "type"), "value", "ob"),
    ('{"schema": {"required": ["a", "¦', ("schema", "required", 1), "value", ""),
    ('{"rules": [{"expr": "a > 1"},\n {¦', ("rules", 1), "key", ""),
    ('{"a": "x, {y", "¦', (), "key", ""),
]
TOML: list[tuple[str, Parts, str, str]] = [
    ("na¦", (), "key", "na"),
    ('name = "x"\naccept = "gu¦', ("accept",), "value", "gu"),
    ("[order]\nseq¦", ("order",), "key", "seq"),
    ("[[rules]]\nname = 'a'\n[[rules]]\nex¦", ("rules", 1), "key", "ex"),
    ("[schema.properties.age]\ntype = ¦", ("schema", "properties", "age", "type"), "value", ""),
    ("[order]\nsequence = [\n  'a',\n  'b¦", ("order", "sequence", 1), "value", "b"),
    ("[ord¦", (), "key", "ord"),
    ("[schema.properties.ag¦", ("schema", "properties"), "key", "ag"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "text", "path", "role", "word"),
    [(kind, *case) for kind, cases in ((".yaml", YAML), (".json", JSON), (".toml", TOML)) for case in cases],
)
def test_the_context_of_a_cursor_is_found(kind: str, text: str, path: Parts, role: str, word: str) -> None:
    before, after = text.split("¦")
    lines = before.split("\n")
    found = locate(before + after, kind, len(lines) - 1, len(lines[-1]))
    assert (found.path, found.role, found.word) == (path, role, word)
    assert found.start == len(lines[-1]) - len(word)


PIECES = st.sampled_from(
    ["a", "b: ", "- ", "\n", "  ", "{", "}", "[", "]", ",", '"', "'", "|", "#", "=", "😀", ":", "\t", "\\"]
)


@given(
    st.lists(PIECES, max_size=30).map("".join),
    st.integers(-2, 12),
    st.integers(-2, 20),
    st.sampled_from([".yaml", ".json", ".toml"]),
)
def test_a_cursor_in_any_text_has_a_context(text: str, line: int, column: int, kind: str) -> None:
    found = locate(text, kind, line, column)
    assert found.role in ("key", "value")
    assert found.start >= 0
