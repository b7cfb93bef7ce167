"""A clean JSON object that calls nothing is told apart without a search; the search agrees."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trueup.recover.calls.search import _calls_nothing, _Found, _Search
from trueup.recover.calls.values import CALL_KEYS

_keys = st.sampled_from([*sorted(CALL_KEYS), "x", "book", "properties", "description"])
_leaves = st.sampled_from(
    ["book", "cancel", "object", "function", "book_it", "hi there", 5, None, "Action: book", "<a>"]
)
_values = st.recursive(_leaves, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_keys, inner, max_size=3))


@given(st.dictionaries(_keys, _values, max_size=4), st.sampled_from([None, 1, 2]))
def test_the_quick_look_never_misses_what_the_search_finds(value: dict[str, Any], indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    for offered in ({"book", "cancel"}.__contains__, str.isidentifier):
        found = _Search(_Found(text), offered, 500).run()
        assert not (_calls_nothing(text, offered) and found)
