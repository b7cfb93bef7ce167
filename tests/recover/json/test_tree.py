"""The quick way to the path of a fix agrees with the slow one."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trueup.recover.json.tree import Seen, Tree, json_spans, mended_offsets, nodes_at
from trueup.verdict.paths import Parts

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=10,
)


@given(st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=3), values, max_size=3), st.booleans())
def test_every_offset_of_a_json_text_has_the_path_that_a_full_reading_gives(value: Any, wide: bool) -> None:
    text = json.dumps(value, indent=1 if wide else None)
    places = Tree(text, 0, len(text), frozenset(), 100)
    offsets = range(len(text))
    # a key with the sign of a comment in it is what only the slow way takes for more than a key
    if "//" in text or "/*" in text:
        return
    assert nodes_at(text, [(at, True) for at in offsets]) == [places.node_at("S001", at) for at in offsets]
    assert nodes_at(text, [(at, False) for at in offsets]) == [places.node_at("S018", at) for at in offsets]


def test_edits_inside_each_other_are_left_to_the_slow_way() -> None:
    assert mended_offsets([(0, 5, "x", "S008"), (3, 4, "y", "S018")]) is None
    assert mended_offsets([(7, 8, "", "S001"), (0, 4, "true", "S018")]) == [7, 0]


@given(values)
def test_many_paths_are_found_where_each_alone_is(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    seen: Seen = {}
    stack: list[tuple[Parts, Any]] = [((), value)]
    while stack:
        path, here = stack.pop()
        assert json_spans(text, 0, path, seen) == json_spans(text, 0, path)
        for part in (*path, "absent", 99):
            assert json_spans(text, 0, (*path, part), seen) == json_spans(text, 0, (*path, part))
        members = here.items() if isinstance(here, dict) else enumerate(here) if isinstance(here, list) else ()
        stack += [((*path, key), inner) for key, inner in members]
