"""Views of a text without a layer: each character maps to its origin."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.recover.layers.escaping import unbreak, undouble, unfold
from trueup.recover.layers.markup import unentity, unmark
from trueup.recover.layers.quoting import unlined, unquote
from trueup.recover.layers.view import LayerView

_WAYS: list[Callable[[str], LayerView | None]] = [unbreak, undouble, unentity, unmark, unlined, unquote]
_PIECES = [
    "{", "}", "[", "]", '"a"', ": ", "1", "\n", "\\n", "\\t", '\\"', "\\\\", "\\_", "\\{", "&quot;", "&amp;", "&lt;", "&", "> ", ">",
    "{{", "}}", '{{"a": ', "1: {\n", "2: ", "3: }", "+ ", "# ", "é", " ",
]  # fmt: skip
_texts = st.lists(st.sampled_from(_PIECES), max_size=14).map("".join)


@given(_texts, st.sampled_from(_WAYS))
def test_a_view_has_the_original_positions_of_its_characters(text: str, way: Callable[[str], LayerView | None]) -> None:
    view = way(text)
    if view is None:
        return
    places = [view.back(at) for at in range(len(view.text) + 2)]
    assert places == sorted(places)
    assert places[0] >= 0
    assert places[-2:] == [len(text), len(text)]
    assert len(view.text) <= len(text)


@pytest.mark.parametrize(
    ("way", "text", "plain"),
    [
        (lambda text: unfold(text, 0, len(text)), '{\\"a\\": \\"\\u00e9\\"}', '{"a": "é"}'),
        (unbreak, '{\\n"a": 1\\n}', '{ "a": 1 }'),
        (undouble, '{{"a": {{"b": 1}}}}', '{"a": {"b": 1}}'),
        (unentity, "{&quot;a&quot;: 1}", '{"a": 1}'),
        (unmark, '\\{"a\\_b": 1\\}', '{"a_b": 1}'),
        (unquote, '> {"a": 1,\n> "b": 2}', '{"a": 1,\n"b": 2}'),
        (unlined, '7 | {\n8 | "a": 1\n9 | }', '{\n"a": 1\n}'),
    ],
)
def test_a_layer_is_removed(way: Callable[[str], LayerView | None], text: str, plain: str) -> None:
    view = way(text)
    assert view is not None
    assert view.text == plain
    assert text[view.back(plain.index("a"))] == "a"


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize("text", ["", '{"a": 1}', '{"a": "x > y & z"}', "a\\nb", "1. {"])
def test_a_missing_layer_gives_no_view(way: Callable[[str], LayerView | None], text: str) -> None:
    assert way(text) is None
