"""Text for a terminal cannot contain control sequences."""

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.cli.terminal.output import open_console
from trueup.verdict.display import safe, safe_json, safe_line

ANY_TEXT = st.text(st.characters(codec=None, categories=None))  # surrogates too


def harmful(text: str, allowed: str = "\n\t") -> list[str]:
    return [c for c in text if c not in allowed and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]


@pytest.mark.spec("X19")
@given(ANY_TEXT)
def test_nothing_harmful_is_left(text: str) -> None:
    assert not harmful(safe(text))
    assert not harmful(safe_line(text), allowed="")


@pytest.mark.spec("X19")
def test_every_harmful_character_of_unicode_is_made_visible() -> None:
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    assert not harmful(safe(everything))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("\x1b]8;;http://x\x07y", "\\x1b]8;;http://x\\x07y"),
        ("a\rb", "a\\rb"),
        ("\x7f\x9b", "\\x7f\\x9b"),
        ("\u202e\u200b\ufeff", "<U+202E><U+200B><U+FEFF>"),
        ("\ud83d", "<U+D83D>"),
        ("\U000e0041", "<U+E0041>"),
        ("é ñ 漢 😀 ❤️", "é ñ 漢 😀 ❤️"),
        ("[/foo] [red]x[/]", "[/foo] [red]x[/]"),
    ],
)
@pytest.mark.spec("X19")
def test_escapes_are_visible(text: str, shown: str) -> None:
    assert safe(text) == shown


@given(st.recursive(st.none() | st.integers() | ANY_TEXT, lambda v: st.lists(v) | st.dictionaries(ANY_TEXT, v)))
def test_safe_json_means_the_same(value: object) -> None:
    text = safe_json(json.dumps(value, ensure_ascii=False))
    assert not harmful(text)
    assert json.loads(text) == json.loads(json.dumps(value))


def test_plain_text_is_not_changed() -> None:
    assert safe("one\ttwo\nthree") == "one\ttwo\nthree"
    assert safe_line("one\ttwo\nthree") == "one\\ttwo\\nthree"


@pytest.mark.parametrize(
    ("color", "no_color", "colours"), [("always", "", True), ("always", "1", True), ("never", "", False)]
)
def test_colour_depends_on_the_terminal_and_the_environment(
    color: str, no_color: str, colours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm-256color")
    console = open_console(color)  # type: ignore[arg-type]
    assert (console.color_system is not None) == colours


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert open_console("auto").color_system is None
