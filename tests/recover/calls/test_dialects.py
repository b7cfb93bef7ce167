"""The table of dialects: every row, and every mark of reasoning, is found at its place by its beginning."""

import re
import tomllib
from importlib.resources import files

import pytest

from tests.recover.calls.dialects import DIALECTS as WRITERS
from tests.recover.calls.test_search import CONTRACT, ONE
from trueup.recover.calls.dialects import CLOSE, DIALECTS, LINES, RESULT, STOP, normalized
from trueup.recover.calls.signs import Signs, may_mark

SAMPLES = [
    ("xtml", '<|open|>call tool="f"'),
    ("tag", '<invoke name="f">'),
    ("tag", "<function=f>"),
    ("told", "<tool_response>"),
    ("told", "<|START_TOOL_RESULT|>"),
    ("told", "[TOOL_RESULTS]"),
    ("told", "✿RESULT✿"),
    ("told", "<|start|>functions.f to=assistant"),
    ("behind", "f[ARGS]{"),
    ("behind", "f<|tool_call_argument_begin|>"),
    ("behind", "f <arg_key>"),
    ("any", "<tool_call>"),
    ("any", "<|tool_call|>"),
    ("any", "<｜tool▁calls▁begin｜>"),
    ("any", "<<function>>"),
    ("any", "[TOOL_CALLS]"),
    ("any", "[tool_call]"),
    ("any", "[TOOL_REQUEST]"),
    ("any", "[Calling tool: f("),
    ("any", "[Tool call: f("),
    ("any", "TOOL_CALLS [{"),
    ("any", "functools["),
    ("any", "function<|tool_sep|>"),
    ("any", "function call{"),
    ("named", "functions.f:0{"),
    ("any", "✿FUNCTION✿:"),
    ("any", "x>>>f\n{"),
    ("any", "```tool_code\n"),
    ("to", "to=functions.f "),
    ("react", "\nAction: "),
    ("recipient", "\n>>>f"),
    ("raven", "\nCall: "),
    ("seen", "\nObservation: "),
    ("unmarked", '\n{"name"'),
    ("unmarked", "\n  f(a=1)"),
    ("inline", 'word: {"name"'),
]


def met(text: str) -> set[str]:
    """The readers for the signs of a text."""
    signs, at, readers = Signs(text), 0, set()
    while sign := signs.after(at):
        readers.add(sign.reader)
        at = max(sign.stop, sign.start + 1)
    return readers


@pytest.mark.parametrize(("reader", "mark"), SAMPLES)
def test_every_mark_is_found(reader: str, mark: str) -> None:
    text = f"Words. {mark}"
    assert reader in met(text)
    assert may_mark(text) or reader in {row.reader for row in LINES} | {"inline"}


def test_every_reader_of_the_table_has_a_sample() -> None:
    readers = {row.reader for row in (*DIALECTS, *LINES)} - {"think"}
    assert readers <= {reader for reader, _ in SAMPLES}
    assert all(row.writers for row in (*DIALECTS, *LINES))


@pytest.mark.parametrize("row", [row for row in DIALECTS if row.starts], ids=lambda row: row.writers[:30])
def test_a_mark_starts_with_plain_text_and_takes_no_group(row) -> None:  # type: ignore[no-untyped-def]
    assert re.compile(row.rest).groups == 0


@pytest.mark.parametrize("dialect", [d for d in WRITERS if d.marks], ids=lambda d: d.name)
def test_a_text_with_a_mark_is_recognized_by_the_quick_look(dialect) -> None:  # type: ignore[no-untyped-def]
    assert may_mark(dialect.write(ONE)) or dialect.name.startswith(("react", "command-r-old", "raven"))


@pytest.mark.parametrize(
    "mark", ["</tool_call>", "<｜tool▁call▁end｜>", "[/TOOL_CALLS]", "[END_TOOL_REQUEST]", "<|call|>", "<bot_end>", "<tool_call|>"]
)  # fmt: skip
def test_the_end_of_a_call_ends_a_value(mark: str) -> None:
    assert CLOSE.fullmatch(mark)
    assert STOP.match(mark)
    assert not RESULT.match(mark)


def test_other_spellings_of_the_same_marks_have_the_same_length() -> None:
    for text in ("＜tool_call＞", "]<]minimax[>[<invoke", "<｜tool calls begin｜>"):
        assert len(normalized(text)) == len(text)
        assert normalized(text) != text


# -- reasoning: every mark of the one table ----------------------------------------------------------

TABLE = tomllib.loads((files("trueup.recover") / "marks.toml").read_text("utf-8"))["reasoning"]
PAIRS = [(f"<{name}>", f"</{name}>") for row in TABLE["tags"] for name in row["names"]]
PAIRS += [(opening, (row["close"] or row["weak"])[0]) for row in TABLE["tokens"] for opening in row["open"]]
CALL = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
DRAFTS = [f"<tool_call>{CALL}</tool_call>", CALL, "get_weather(city='Oslo')", "[\"get_weather(city='Oslo')\"]"]


@pytest.mark.parametrize(("opening", "closing"), PAIRS, ids=[opening for opening, _ in PAIRS])
def test_a_call_drafted_in_reasoning_is_not_a_call(opening: str, closing: str) -> None:
    assert "think" in met(f"- {opening} words")
    for draft in DRAFTS:
        for text in (f"{opening}\n{draft}\n{closing}\nIt is fine.", f"{opening}{draft}{closing}It is fine."):
            verdict = CONTRACT.check(text)
            assert (verdict.calls, verdict.refused) == ((), ()), text
        made = CONTRACT.check(f"{opening}\nping(host='a')\n{closing}\n{draft}")
        assert [(call.name, call.args) for call in made.calls] == [("get_weather", {"city": "Oslo"})], draft
