"""TOML and INI with tables; anything else is left to the other forms."""

from typing import Any

import pytest

from trueup.recover.forms.toml import documents


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a = 1\n[b]\nc = 'x'\n", {"a": 1, "b": {"c": "x"}}),
        ("Here:\n\n[b]\nd = 2024-05-01\n\nDone.", {"b": {"d": "2024-05-01"}}),
        ('```toml title="x.toml"\na = 1\n[b]\nc = 2\n```', {"a": 1, "b": {"c": 2}}),
        ("name = Ada\n[b]\nc = New York\nd = true\n", {"name": "Ada", "b": {"c": "New York", "d": True}}),
        ('[b]\nc = """\nx = word\n"""\nd = 1', {"b": {"c": "x = word\n", "d": 1}}),
    ],
)
def test_tables_give_their_fields(text: str, value: Any) -> None:
    (candidate,) = documents(text, 9)
    assert candidate.value == value


@pytest.mark.parametrize(
    "text", ["a = 1\nb = 2", "[note] a = b", "[b]\nc = nan", "[a.b.c.d.e]\nf = 1", "[b]\nc = 'x' y"]
)
def test_text_that_is_not_a_table_is_not_changed(text: str) -> None:
    assert documents(text, 4) == []
