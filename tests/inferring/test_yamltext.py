"""Drafts as YAML: reading returns what was written, for any strings in the replies."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trueup.contract.files.documents import parse_document
from trueup.inferring.yamltext import WIDTH, document, scalar

EVIL = [
    "", " ", "yes", "No", "null", "~", "<<", "a: b", "# x", "\u202eabc", "\x1b[31m", "x\ny", "'", '"', "{a", "- b", "\ufffe", "\U000e0041", "é",
    "😀", "*a", "&b", "!c", "%d", "@e", "`f", "1", "1e3", "0x1", "1:30", "trailing ", " leading", "\u2028", "=", "---", "...", "? x", "\x85",
    "\xa0", "\\", "a\\nb", "a,b", "[", "]", "}", "a #b", "|", ">", "\x00", "\x7f",
]  # fmt: skip
texts = st.one_of(st.sampled_from(EVIL), st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
scalars = st.one_of(
    texts,
    st.none(),
    st.booleans(),
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
)
data = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)


def read(text: str) -> Any:
    found = parse_document(text, "draft.yaml")
    assert not found.faults
    return found.data


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, one in inner for path in paths(one, (*at, key)))]


@given(
    st.dictionaries(texts, data, min_size=1, max_size=4), st.randoms(use_true_random=False), st.lists(texts, max_size=8)
)
def test_drafts_read_back_equal(value: dict[str, Any], rng: Any, notes: list[str]) -> None:
    chosen = paths(value)[1:]
    said = {rng.choice(chosen): note for note in notes}
    assert repr(read(document(value, said, notes))) == repr(read(document(value, {}, []))) == repr(value)


def test_every_evil_text_is_kept_as_key_and_value() -> None:
    value = {"x": {text: text for text in EVIL}, "y": EVIL}
    assert read(document(value, {}, [])) == value


def test_nothing_invisible_is_written() -> None:
    text = document({"k": EVIL[:-8]}, {("k",): "".join(EVIL[:30])}, ["\x1b[2J\u202e"])
    assert all(char.isprintable() or char == "\n" for char in text)


def test_lines_are_short_where_they_can_be() -> None:
    value = {"schema": {"properties": {f"field_{n}": {"type": "string", "minLength": 1} for n in range(9)}}}
    notes = {("schema", "properties", f"field_{n}"): "in 1,998 of 2,000, " + "and so on " * n for n in range(9)}
    assert max(map(len, document(value, notes, ["word " * 60]).splitlines())) <= WIDTH


def test_words_of_older_yaml_are_quoted() -> None:
    assert [scalar(word) for word in ("on", "Off", "y", "N")] == ['"on"', '"Off"', '"y"', '"N"']
