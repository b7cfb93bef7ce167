"""The quick lane: sweeps that go over a whole text leave what stands inside strings alone."""

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
def test_a_sweep_leaves_strings_alone(text: str, value: object) -> None:
    assert Contract({"type": "object"}).check(text).data == value
