"""The quick lane: sweeps over a whole text do not change the inside of strings."""

import json
from typing import Any

import pytest

from trueup import Contract


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{a: 1, note: "see {b: c, d: e}", x: True}', {"a": 1, "note": "see {b: c, d: e}", "x": True}),
        ('{note: "a, b: c", x: "d, e: f", k: None,}', {"note": "a, b: c", "x": "d, e: f", "k": None}),
        ('{a: "x//y", b: "/* no */", c: 2, // yes\n d: 3}', {"a": "x//y", "b": "/* no */", "c": 2, "d": 3}),
        ('{a: "say \\"hi, b: c\\"", b: False}', {"a": 'say "hi, b: c"', "b": False}),
    ],
)
def test_a_sweep_does_not_change_strings(text: str, value: object) -> None:
    assert Contract({"type": "object"}).check(text).data == value


@pytest.mark.parametrize("item", [{"a": 1}, {"a": [1, {"b": "]"}]}, [1, [2]], {"a": "x [y", "b": "{"}, {"a": 'q"r'}])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_that_lacks_only_its_last_bracket_is_closed(item: Any, indent: int | None) -> None:
    text = json.dumps([item, item, item], indent=indent)[:-1].rstrip()
    verdict = Contract({"type": "array"}).check(text)
    assert verdict.data == [item, item, item]
    assert [(fix.code, fix.path, fix.span, fix.after) for fix in verdict.fixes] == [
        ("S005", "$", (len(text), len(text)), "]")
    ]
