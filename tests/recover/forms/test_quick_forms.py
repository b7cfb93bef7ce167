"""Quick looks at a text tell what the slow ones would: calls, reports, elements, and the way back from an unfolded text."""

from hypothesis import given
from hypothesis import strategies as st

from trueup.recover.forms import shapes as forms
from trueup.recover.forms import tags as markup
from trueup.recover.forms.outline import Keys
from trueup.recover.forms.tables import _all_named
from trueup.recover.json.lexer import ESCAPE
from trueup.recover.layers import views as unfold

CALLS = [
    "a", "array", "(", "((", "x=", "x ==", "x = 1", ")", ".", "\n", " ", "'k' =>", '"k"=>', "_b", "é", "1", "f(", "f(a=",
    "obj.f( b =", "new P(a=1)", "array('k' =>", 'array("k" =>', "²", "٣",
]  # fmt: skip
REPORTS = [
    "Traceback (most recent call last):", 'File "a", line 3', 'file "a"', "at a.b(c)", "  at A.B$c(d)", "at ", "\n", "  ",
    "<html>", "<HTML ", "<!DOCTYPE html", "x", "<html", "(", ")", "é", "Fıle \"a\", line 3", "moſt",
]  # fmt: skip
TAGS = [
    "<a>", "</a>", "<b>", "</b>", "<x:name>", "</x:name>", "<name>", "</name>", '<field name="age">', "</field>", "<i age='3'/>", "text",
    " ", "\n", "<", ">", "<!-- <name> -->", "<![CDATA[<age>]]>", "<Name ", "age=", "<age", "</age>", "<br/>",
]  # fmt: skip


def pieces(of: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(of), max_size=14).map("".join)


@given(pieces(CALLS), st.integers(0, 30))
def test_leaping_from_bracket_to_bracket_finds_the_same_call(text: str, at: int) -> None:
    plain, quick = forms._CALL_START.search(text, at), forms._next_call(text, at)
    assert (plain and plain.span()) == (quick and quick.span())


@given(pieces(REPORTS))
def test_a_look_for_the_words_of_a_report_misses_none(text: str) -> None:
    assert forms.is_report(text) == (forms._REPORT.search(text) is not None)


@given(pieces(TAGS))
def test_where_no_tag_may_name_a_key_the_tree_would_hold_none(text: str) -> None:
    keys = Keys(["name", "age"])
    root = markup._Tree(text, keys).read()
    if root is not None and not markup._may_hold(text, keys):
        assert markup._Values(text, keys, lambda _: frozenset()).candidates(root) == []


@given(st.lists(st.sampled_from(["name", "Name", "age", "x", ""]), max_size=4))
def test_labels_name_fields_all_of_them_or_none(labels: list[str]) -> None:
    keys = Keys(["name", "age"])
    named = [keys.get(label) for label in labels]
    assert _all_named(labels, keys) == ([] if None in named else named)


@given(pieces(["{", '\\"', "\\n", "a", ": 1", "}", "\\\\", "\\u00e9", "\\ud83d", "é", " "]))
def test_every_letter_of_an_unfolded_text_knows_where_it_came_from(text: str) -> None:
    unfolded = unfold.unfold(text, 0, len(text))
    ends = [unfolded.back(at) for at in range(len(unfolded.text) + 2)]
    assert ends == sorted(ends)
    assert ends[-2:] == [len(text), len(text)]
    escapes = {found.start() for found in ESCAPE.finditer(text)}
    for at, letter in enumerate(unfolded.text):
        assert ends[at] in escapes or text[ends[at]] == letter
