"""A verdict on the screen. The verdicts are made by hand, without the engine."""

import io
import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from trueup.cli.display.verdict import render, show
from trueup.cli.terminal.layout import Layout
from trueup.verdict.catalogue import FINDINGS, FIXES
from trueup.verdict.facts import Finding, Findings, Fix, finding, fix
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.verdict import Refusal, Verdict

SGR = re.compile(r"\x1b\[[0-9;]*m")
REPLY = """Sure! Here is the person you asked for:

```json
{'name': 'Ada', 'age': '36', 'mail': "ada@", 'tags': ['math',],}
```
"""


def at(piece: str) -> tuple[int, int]:
    start = REPLY.index(piece)
    return start, start + len(piece)


def example(*, ok: bool) -> Verdict:
    fixes = [
        fix("W002", "$", (0, REPLY.index("```")), "", ""),
        fix("W001", "$", at("```json\n"), "```json\n", ""),
        *(fix("S008", f"$.{w}", at(f"'{w}'"), f"'{w}'", f'"{w}"') for w in ("name", "age", "mail", "tags")),
        fix("S008", "$.name", at("'Ada'"), "'Ada'", '"Ada"'),
        fix("S008", "$.age", at("'36'"), "'36'", '"36"'),
        fix("C001", "$.age", at("'36'"), '"36"', "36"),
        fix("S008", "$.tags[0]", at("'math'"), "'math'", '"math"'),
        fix("S001", "$.tags", (at(",]")[0], at(",]")[0] + 1), ",", ""),
        fix("S001", "$", (at(",}")[0], at(",}")[0] + 1), ",", ""),
        fix("W001", "$", at("\n```\n"), "\n```\n", ""),
        fix("C009", "$.nick", None, "null", ""),
    ]
    findings = [
        finding("V010", "$.mail", 'Field "mail": Expected an email', at('"ada@"'), hint="Give an address."),
        finding("V002", "$.phone", 'Field "phone": Required field is missing'),
    ]
    data = {"name": "Ada", "age": 36, "mail": "ada@", "tags": ["math"]}
    return Verdict(REPLY, data, Findings([] if ok else findings), tuple(fixes))


def printed(verdict: Verdict, view: Layout, *, color: bool = False) -> str:
    out = io.StringIO()
    system = "standard" if color else None
    show(verdict, Console(file=out, force_terminal=color, color_system=system, width=view.width), view)  # type: ignore[arg-type]
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 40])
@pytest.mark.parametrize("ok", [True, False], ids=["ok", "refused"])
def test_it_looks_like_this(ok: bool, width: int, snapshot: Callable[[str, str], None]) -> None:
    text = printed(example(ok=ok), Layout(width, name="reply.txt", schema="person.json"))
    snapshot(f"{'ok' if ok else 'refused'}-{width}.txt", text)


@pytest.mark.parametrize("width", [20, 30, 40, 80, 200])
def test_it_fits_the_screen(width: int) -> None:
    for line in printed(example(ok=False), Layout(width, name="reply.txt", schema="person.json")).splitlines():
        assert cell_len(line) <= width, line


def test_colour_changes_nothing_but_colour() -> None:
    view = Layout(80)
    coloured = printed(example(ok=False), view, color=True)
    assert coloured != printed(example(ok=False), view)
    assert SGR.sub("", coloured) == printed(example(ok=False), view)


def test_the_outcome_is_shown_in_words() -> None:
    assert printed(example(ok=True), Layout()).startswith("✓ ok  14 fixes\n")
    assert printed(example(ok=False), Layout()).startswith("✗ refused  2 errors, 14 fixes\n")
    assert printed(Verdict("1", 1), Layout()).startswith("✓ ok  clean: nothing was changed\n  reply · 1 character\n")


def test_a_finding_is_underlined_in_its_line() -> None:
    lines = printed(example(ok=False), Layout(80, name="r.txt")).splitlines()
    row = next(i for i, line in enumerate(lines) if "r.txt:4:38" in line)
    assert "$.mail" in lines[row]
    marked = lines[row + 2].index("^"), lines[row + 2].rindex("^") + 1
    assert lines[row + 1][slice(*marked)] == '"ada@"'
    assert lines[row + 3] == "  hint: Give an address."
    assert "trueup explain V010" in lines[row + 4]


def test_a_refused_reply_without_data_does_not_show_a_value() -> None:
    none = Verdict("sorry", None, Findings([finding("P001", "$", "nothing there")]))
    assert "reading" not in printed(none, Layout())
    assert "Value\nnull" in printed(Verdict("null", None), Layout())


def test_long_lists_are_cut_and_say_so() -> None:
    text = "\n".join(f"{n}," for n in range(100))
    fixes = tuple(fix("S003", f"$[{n}]", (text.index(f"{n},"), text.index(f"{n},") + 1), ",", "") for n in range(100))
    findings = Findings(finding("V001", f"$[{n}]", f"wrong {n}") for n in range(50))
    verdict = Verdict(text, list(range(500)), findings, fixes)
    short = printed(verdict, Layout())
    assert "… and 88 more fixes (--all shows them)" in short
    assert "… and 40 more findings (--all shows them)" in short
    assert "… cut here (--all" in short
    full = printed(verdict, Layout(everything=True))
    assert "--all" not in full
    assert full.count("S003") == 100
    assert "\n  499\n]\n" in full


def test_a_huge_value_costs_only_what_is_shown() -> None:
    value = {"rows": [{"n": n} for n in range(300_000)], "text": "x" * 1_000_000}
    assert len(printed(Verdict("{}", value), Layout())) < 5_000


ODD = st.text(
    st.sampled_from("\x1b\x07\r\n\t\x00\x7f\x9b\u202e\u200b\ufeff\ud800\u2028\U000e0041[]/\\:a'\"漢😀{}")
    | st.characters(codec=None),
    max_size=60,
)
MARKUP = st.sampled_from(
    [
        "[/foo]",
        "[red]x[/red]",
        "[link=http://x]y[/link]",
        ":smile:",
        "\x1b[31m",
        "\x1b]8;;http://x\x1b\\",
        "[@click=app.bell]",
    ]
)
TEXT = st.lists(ODD | MARKUP, max_size=4).map("".join)


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    text = draw(TEXT)
    span = st.none() | st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).map(lambda s: (min(s), max(s)))
    fixes = st.builds(fix, st.sampled_from(sorted(FIXES)), TEXT, span, TEXT, TEXT)
    findings = st.builds(finding, st.sampled_from(sorted(FINDINGS)), TEXT, TEXT, span, st.none(), TEXT)
    data = st.recursive(
        st.none() | st.integers() | TEXT, lambda v: st.lists(v) | st.dictionaries(TEXT, v), max_leaves=4
    )
    chosen: list[Fix] = draw(st.lists(fixes, max_size=5))
    wrong: list[Finding] = draw(st.lists(findings, max_size=3))
    return Verdict(text, draw(data), Findings(wrong), tuple(chosen))


@st.composite
def verdicts_on_calls(draw: st.DrawFn) -> Verdict:
    """Verdicts on a few calls, with facts that may or may not belong to one of them by path and span."""
    made = []
    for index in range(draw(st.integers(1, 3))):
        args = draw(st.none() | st.dictionaries(TEXT, TEXT | st.integers(), max_size=3))
        origin = draw(st.sampled_from(["native", "text:json"]))
        made.append(ToolCall(draw(TEXT), args, draw(TEXT), draw(TEXT), origin, "", index))
    split = draw(st.integers(0, len(made)))
    path = st.sampled_from(["$", "$.calls", "$.calls[0]", "$.calls[0].args", "$.calls[1].args.a", "$.calls[9]"])
    span = st.none() | st.tuples(st.integers(0, 20), st.integers(0, 20)).map(lambda s: (min(s), max(s)))
    fixes = draw(st.lists(st.builds(fix, st.sampled_from(sorted(FIXES)), path, span, TEXT, TEXT), max_size=5))
    wrong = st.builds(finding, st.sampled_from(sorted(FINDINGS)), path, TEXT, span, st.none(), TEXT)
    findings = tuple(draw(st.lists(wrong, max_size=4)))
    refused = tuple(Refusal(call, findings) for call in made[split:])
    reply = Reply(draw(TEXT), tuple(made) if draw(st.booleans()) else (), provider=draw(TEXT), model=draw(TEXT))
    return Verdict(reply, None, Findings(findings), tuple(fixes), None, tuple(made[:split]), refused=refused)


@pytest.mark.spec("X19", "X20")
@given(verdicts() | verdicts_on_calls(), st.sampled_from([20, 40, 80]), st.booleans(), TEXT)
def test_no_text_can_control_the_terminal(v: Verdict, width: int, everything: bool, name: str) -> None:
    view = Layout(width, True, everything, name, name)
    lines = list(render(v, view))
    assert all(sum(cell_len(text) for text, _ in line) <= width for line in lines)
    pieces = [text for line in lines for text, _ in line]
    assert not [c for text in pieces for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
    plain = printed(v, view)
    assert not [c for c in plain if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
    assert SGR.sub("", printed(v, view, color=True)) == plain
    assert plain.replace("\n", "") == "".join(pieces)


@pytest.mark.spec("X24")
@given(TEXT)
def test_a_message_is_one_line_when_nothing_breaks_it(text: str) -> None:
    verdict = Verdict("x", None, Findings([finding("P001", text, text, hint=text)]))
    lines = [line for line in printed(verdict, Layout(wrap=False)).split("\n") if line]
    assert len(lines) == 5  # two lines of the headline, the message, its place, and the command that explains it


def test_text_read_in_another_way_is_marked_and_not_struck_out() -> None:
    text = "Found:\n- **Name:** Ada\n- **Age:** 36\n"
    fixes = (
        fix("W002", "$", (0, 7), "Found:\n", ""),
        fix("F002", "$.name", (7, 23), "", ""),
        fix("F002", "$.age", (23, 37), "", ""),
    )
    out = printed(Verdict(text, {"name": "Ada", "age": 36}, Findings(), fixes), Layout())
    assert "  1 - Found:\n" in out
    assert "  2 ~ - **Name:** Ada\n  3 ~ - **Age:** 36\n" in out
    assert "    2:1    F002 markdown-fields ×2 · guess · $.name, $.age\n" in out


def test_an_addition_at_the_end_is_after_the_last_character() -> None:
    verdict = Verdict("[1,\n 2\n\n", [1, 2], Findings(), (fix("S005", "$", (8, 8), "", "]"),))
    out = printed(verdict, Layout())
    assert "  2 -  2\n    +  2]\n    2:3    S005" in out


def test_a_coercion_follows_the_fixes_of_its_text() -> None:
    fixes = (fix("C001", "$.a", (1, 8), '"36"', "36"), fix("S008", "$.a", (4, 8), "'36'", '"36"'))
    out = printed(Verdict("{a: '36'}", {"a": 36}, Findings(), fixes), Layout())
    assert "    + {a: 36}\n" in out


def test_many_fixes_on_one_line_are_shown_piece_by_piece() -> None:
    text = "[" + "'a', " * 400 + "1]"
    fixes = tuple(fix("S008", f"$[{n}]", (1 + 5 * n, 4 + 5 * n), "'a'", '"a"') for n in range(400))
    out = printed(Verdict(text, ["a"] * 400, Findings(), fixes), Layout(everything=True))
    assert sum(int(number) for number in re.findall(r"single-quotes ×(\d+)", out)) == 400
    assert max(map(len, out.splitlines())) <= 80
