"""A verdict in a notebook: the marked reply, its findings, fixes and value; whatever a reply holds stays text."""

import re
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.growth import assert_linear
from trueup import Contract, Finding, Fix, Verdict
from trueup.verdict.facts import Findings
from trueup.verdict.marking import pieces

_TAGS = frozenset("div style b span h4 table tr td pre code mark sup br".split())
_ATTRIBUTES = frozenset({"class", "title"})
_KINDS = frozenset("trueup-verdict head ok refused soft name badge lossless guess lossy error warning".split())


class Page(HTMLParser):
    """The elements of a page and the text of some of them; refuses what a notebook should not get."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.marked: list[tuple[str, str]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _TAGS, tag
        assert {name for name, _ in attrs} <= _ATTRIBUTES, attrs
        known = dict(attrs)
        assert set((known.get("class") or "").split()) <= _KINDS, attrs
        if tag != "br":
            self.open.append(tag)
        if tag == "mark":
            self.marked.append((known["class"] or "", ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.text += data
        if "mark" in self.open and "sup" not in self.open:
            kind, text = self.marked[-1]
            self.marked[-1] = (kind, text + data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    handle_decl = handle_pi = handle_comment


class Person(BaseModel):
    name: str
    age: int


def test_fixes_findings_and_the_value_are_there_and_marked_in_place() -> None:
    verdict = Contract({"properties": {"age": {"type": "integer"}, "n": {"type": "integer"}}}).check(
        "{'age': 'old', 'n': '5',}"
    )
    page = Page(verdict._repr_html_())
    assert ("error", "'old'") in page.marked
    assert ("lossless", ",") in page.marked
    assert ("guess", "'5'") in page.marked
    for said in ("✗ refused", "V001", "wrong-type", "trailing-comma", "to-integer", "$.n", "Best reading", '"n": 5'):
        assert said in page.text, said


def test_a_valid_reply_shows_its_value_as_the_type_has_it() -> None:
    page = Page(Contract(Person).check('{"name": "Ada", "age": 36}')._repr_html_())
    assert "Person(name='Ada', age=36)" in page.text
    assert "clean: nothing was changed" in page.text
    assert page.marked == []


def test_calls_are_shown_with_their_verdicts() -> None:
    def book(guests: int) -> None: ...

    calls = [{"id": f"c{n}", "function": {"name": "book", "arguments": {"guests": n}}} for n in (4, "some")]
    page = Page(Contract(tools=[book]).check({"role": "assistant", "tool_calls": calls})._repr_html_())
    assert 'okbook{"guests": 4}' in page.text
    assert 'refusedbook{"guests": "some"}' in page.text


def test_an_answer_says_how_it_was_obtained() -> None:
    replies = iter(["no", '{"name": "Ada", "age": 36}'])
    answer = Contract(Person).ask(lambda messages: next(replies), "Who?")
    page = Page(answer._repr_html_())
    assert "Answer: repaired" in page.text
    assert "2 attempts · 1 repair" in page.text
    assert "Person(name='Ada', age=36)" in page.text


HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", '" onmouseover="alert(1)', "'><svg/onload=alert(1)>", "</pre></div>",
    "</style><script>", "&lt;b&gt;", "<!--", "]]>", "\x00\x1b[31m\u202e", "{'a': \"<b>\",}", "```json\n", "{", '"', "<tool_call>", "javascript:alert(1)",
]  # fmt: skip
REPLIES = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=20), max_size=8).map("".join)


@given(
    REPLIES, st.sampled_from([Contract(True), Contract(Person), Contract({"type": "array"}, strict=True), Contract()])
)
def test_every_reply_is_shown_as_text(reply: str, contract: Contract[Any]) -> None:
    verdict = contract.check(reply)
    page = Page(verdict._repr_html_())
    assert not set(page.text) & set("\x00\x1b\u202e\u2066\u200b")


@given(REPLIES, REPLIES)
def test_every_name_path_and_message_is_shown_as_text(one: str, other: str) -> None:
    findings = Findings([Finding("V" + one, other, one + other, (0, 1), {}, other)])
    fixes = (Fix("S" + other, one, other, (0, 1), one, other),)  # type: ignore[arg-type]
    html = Verdict("text", {one: other}, findings, fixes)._repr_html_()
    assert "<script" not in html
    assert "<img" not in html
    assert "<svg" not in html
    assert 'onmouseover="' not in html


@given(REPLIES)
def test_the_pieces_of_a_reply_are_the_reply(reply: str) -> None:
    verdict = Contract(Person).check(reply)
    assert "".join(piece.text for piece in pieces(verdict)) == verdict.reply.text


def test_a_fact_inside_another_is_marked_too() -> None:
    outer, inner = Finding("V001", "$", "outer", (1, 9)), Finding("V002", "$", "inner", (3, 5))
    found = pieces(Verdict("0123456789", None, Findings([outer, inner])))
    assert [(piece.text, [fact.code for fact in piece.facts]) for piece in found] == [
        ("0", []), ("12", ["V001"]), ("34", ["V001", "V002"]), ("5678", ["V001"]), ("9", []),
    ]  # fmt: skip
    assert [fact.code for piece in found for fact in piece.ends] == ["V002", "V001"]


def test_long_replies_and_values_are_cut_visibly() -> None:
    reply = "[" + "1, " * 50_000 + "'x', " + "1, " * 50_000 + "1]"
    html = Contract({"type": "array", "items": {"type": "integer"}}).check(reply)._repr_html_()
    page = Page(html)
    assert len(html) < 30_000
    assert "(300,008 characters)" in page.text
    assert re.search(r"… 149,4\d\d characters …", page.text)
    many = Page(Contract(True).check("[" + "'a'," * 5_000 + "]")._repr_html_())
    assert "the first 20 are shown" in many.text
    assert re.search(r"… [\d,]+ characters …", many.text)


def test_a_broken_repr_does_not_hide_the_verdict() -> None:
    @dataclass
    class Odd:
        n: int

        def __repr__(self) -> str:
            raise RuntimeError("no")

    page = Page(Contract(Odd).check('{"n": 1}')._repr_html_())
    assert "✓ ok" in page.text
    assert "its repr failed with RuntimeError" in page.text


def test_nothing_is_fetched_or_run_and_colours_leave_the_theme_alone() -> None:
    html = Contract(Person).check("{'name': 'Ada',}")._repr_html_()
    style = html[html.index("<style>") : html.index("</style>")]
    assert not re.search(r"<script|\bon\w+=|https?:|url\(|@import|src=|href=", unescape(html))
    assert not re.search(r"(?<!-)color: (?!inherit)", style), "text has the colour of the notebook"
    assert not re.search(r"background: (?!none|rgba)", style), "backgrounds let the notebook's own through"


@pytest.mark.growth
def test_a_view_takes_time_in_proportion_to_its_reply() -> None:
    assert_linear(lambda verdict: verdict._repr_html_(), lambda n: Contract(True).check("[" + "'a', " * n + "]"), 8_000)


def test_evidence_is_shown_for_each_value() -> None:
    contract = Contract({"type": "object"}, grounded=True)
    verdict = contract.check('{"who": "Ana <b>", "total": 1187, "n": true}', {"source": "Ana <b> pays 1,178."})
    page = verdict._repr_html_()
    shown = Page(page).text
    assert "Evidence" in shown
    assert "Ana <b>" in shown
    assert "nearest: 1,178" in shown
    assert "not checkable" in shown
