"""Messages: fields of the data are filled in, and nothing else can be read or made."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.expressions.messages import compile_message, read_path

RECORD: dict[str, Any] = {
    "hp": 3,
    "name": "Ada",
    "share": 0.25,
    "alive": True,
    "note": None,
    "wounds": {"arm": 2, "left-leg": 1, "0": "zero"},
    "items": [{"price": 5, "tags": ["a", "b"]}],
    "_computed": "a field of this name",
    "big": 10**30,
    "e": ValueError("x"),
    "braces": "{hp}",
}

RENDERED = [
    ("hp is {hp}", "hp is 3"),
    ("{name} has {hp} and {hp}", "Ada has 3 and 3"),
    ("{wounds.arm} {items[0].price} {items[0].tags[1]}", "2 5 b"),
    ('{wounds["left-leg"]} {wounds[0]}', "1 zero"),
    ("{share} {alive} {note} {big}", "0.25 true null 1000000000000000000000000000000"),
    ("{wounds}", '{"arm":2,"left-leg":1,"0":"zero"}'),
    ("{items[0].tags}", '["a","b"]'),
    ("{braces}", "{hp}"),
    ("{nobody} {wounds.tail} {items[9]} {name.upper}", "{nobody} {wounds.tail} {items[9]} {name.upper}"),
    ("{} { hp } {hp!r} {hp:>5} {0} {-1}", "{} { hp } {hp!r} {hp:>5} {0} {-1}"),
    ("{{hp}}", "{3}"),
    ("no fields at all", "no fields at all"),
    ("", ""),
    ("open { and close }", "open { and close }"),
]


@pytest.mark.spec("B8")
@pytest.mark.parametrize(("template", "text"), RENDERED)
def test_fields_are_put_in_and_the_rest_stays(template: str, text: str) -> None:
    assert compile_message(template).render(RECORD) == text


@pytest.mark.spec("B8")
def test_computed_is_the_rule_s_and_not_a_field() -> None:
    message = compile_message("got {_computed}, {_computed[0]}")
    assert message.wants_computed
    assert message.render(RECORD, [7, 8]) == "got [7,8], 7"
    assert message.render(RECORD, None) == "got null, {_computed[0]}"
    assert message.render({"hp": 1}) == "got {_computed}, {_computed[0]}"


ATTACKS = [
    "{e.__init__.__globals__[KEY]}",
    "{e.__class__.__mro__}",
    "{hp.__class__}",
    "{name.__class__.__init__.__globals__}",
    "{v:>99999999}",
    "{hp:>99999999}",
    "{hp!a:999999999}",
    "{hp.real}",
    "{e.args[0]}",
    "{0.__class__}",
    "{hp.__format__}",
    "{items.__len__}",
    "%(hp)s",
    "%s" * 10,
    "${hp.x}",
    "{hp\n}",
    "{hp;import os}",
    "{hp+1}",
    "{items[-1]}",
    "{items[hp]}",
    "{wounds['arm']}",
    "{items[99999999999999999999]}",
    "{" * 5000 + "}" * 5000,
]


@pytest.mark.spec("X17")
@pytest.mark.parametrize("template", ATTACKS)
def test_a_corpus_of_attacks_stays_literal(template: str) -> None:
    assert compile_message(template).render(RECORD) == template


@pytest.mark.spec("X17")
def test_inserted_text_is_not_expanded_again_and_is_cut() -> None:
    record = {"a": "{b}{e.__class__}", "b": "secret", "long": "x" * 10_000_000, "deep": [[["y"] * 1000] * 1000] * 1000}
    assert compile_message("{a}").render(record) == "{b}{e.__class__}"
    assert len(compile_message("{long}").render(record)) == 300
    assert compile_message("{deep}").render(record) == "{deep}"


@given(
    st.text("{}ab.[]0\"'_:! ", max_size=40),
    st.dictionaries(st.sampled_from(["a", "b", "ab"]), st.text("{}ab", max_size=3)),
)
def test_any_template_renders(template: str, record: dict[str, str]) -> None:
    text = compile_message(template).render(record)
    assert len(text) <= len(template) + 3 * template.count("{")
    if not any(name in template for name in record):
        assert text == template


def test_paths() -> None:
    assert read_path("a") == ("a",)
    assert read_path('a.b[0]["x-y"].c') == ("a", "b", 0, "x-y", "c")


def test_a_message_is_text() -> None:
    with pytest.raises(TypeError, match="a message must be text"):
        compile_message(3)  # type: ignore[arg-type]
