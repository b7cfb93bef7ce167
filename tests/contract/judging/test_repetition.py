"""A text that repeats itself endlessly is found soon, whatever it repeats; text that only looks like it is accepted."""

import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.growth import assert_linear
from trueup import Contract
from trueup.contract.judging.repetition import Looping, repeated

CHANCE = random.Random(7)
PARAGRAPH = "".join(CHANCE.choice("abcdefgh ") for _ in range(700)) + ". "

# The repeated text, and the number of characters within which it is found.
LOOPS: dict[str, tuple[str, int]] = {
    "a sentence": ("I am sorry. ", 7_000),
    "a word": ("yes ", 7_000),
    "a line": ("- and so on\n", 7_000),
    "a paragraph": (PARAGRAPH, 8_000),
    "words of a script without blanks": ("好的，", 7_000),
    "blanks": (" ", 5_000),
    "line breaks": ("\n", 5_000),
    "blanks as a string has them": ("\\n\\n\\t", 5_000),
    "one sign": ("!", 21_000),
    "letters": ("la", 41_000),
    "members that are alike": ('{"name": "Ada"}, ', 21_000),
    "zeros": ("0, ", 61_000),
}

QUIET: dict[str, str] = {
    "laughter": "ha " * 400,
    "a punishment": "I will not talk in class. " * 200,
    "a refrain": ("We all live here, we all live here, we all live here. " * 6 + "And so they sang of other things. ")
    * 4,
    "a table": "| a | b | c |\n" + "|---|---|---|\n" + "".join(f"| {n} | {n * n} | same |\n" for n in range(4_000)),
    "a table of lines": "+-----+-----+-----+\n" * 600,
    "rows that are similar": "["
    + ", ".join(f'{{"id": {n}, "state": "open", "owner": "nobody"}}' for n in range(4_000))
    + "]",
    "rows that are the same": "[" + ", ".join(['{"state": "open"}'] * 800) + "]",
    "zeros": "[" + ", ".join(["0"] * 12_000) + "]",
    "base64": base64.b64encode(CHANCE.randbytes(60_000)).decode(),
    "base64 of zeros": base64.b64encode(bytes(20_000)).decode(),
    "a picture": ("   /\\_/\\   " * 8 + "\n" + "  ( o.o )  " * 8 + "\n" + "   > ^ <   " * 8 + "\n") * 15,
    "rules": "=" * 120 + "\n" + "text\n" + "-" * 120 + "\n",
    "deep indentation": "\n".join(" " * 4 * n + "{" for n in range(90)),
    "code": "".join(f"    result.append(value_{n})\n" for n in range(3_000)),
    "dna": "".join(CHANCE.choice("acgt") for _ in range(50_000)),
}


def found_at(text: str, piece: int, *, is_data: bool = False) -> int | None:
    """The number of characters after which reading the text stops."""
    looping = Looping(is_data=is_data)
    for at in range(0, len(text), piece):
        if looping.feed(text[at : at + piece]) is not None:
            return at + piece
    return None


@pytest.mark.spec("A15")
@pytest.mark.parametrize("piece", [1, 4, 37])
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_found_soon(name: str, piece: int) -> None:
    unit, soon = LOOPS[name]
    begin = "Let me see. Here is what I found out about it, in a few words: "
    at = found_at(begin + unit * (soon * 2 // len(unit)), piece)
    assert at is not None
    assert at < soon + len(begin) + 2_200


@pytest.mark.spec("A15")
@pytest.mark.parametrize("is_data", [False, True])
@pytest.mark.parametrize("name", QUIET)
def test_intentional_repetition_is_accepted(name: str, is_data: bool) -> None:
    assert found_at(QUIET[name], 5, is_data=is_data) is None


@given(st.text(max_size=2_000), st.integers(1, 50))
def test_no_short_text_is_a_loop(text: str, piece: int) -> None:
    assert found_at(text, piece, is_data=True) is None or len(text) >= 2_000


@given(st.text(st.sampled_from("ab "), min_size=1, max_size=40), st.integers(4, 60))
def test_the_repeated_text_is_a_period_of_the_end(unit: str, times: int) -> None:
    text = "x" * 60 + unit * times
    found, size = repeated(text)
    if found:
        end = text[-size:]
        assert end[len(found) :] == end[: -len(found)]
        assert size >= 2 * len(found)


@pytest.mark.spec("A15")
@pytest.mark.parametrize("contract", [Contract(), Contract({"type": "object"})])
def test_a_stream_says_that_its_reply_loops(contract: Contract) -> None:
    stream = contract.stream()
    stream.push('{"a": "')
    for _ in range(2_000):
        stream.push("and so on, ")
        if stream.findings:
            break
    (found,) = stream.findings
    assert (found.code, found.level, found.data["text"]) == ("P013", "error", "and so on,")


@pytest.mark.growth
@pytest.mark.parametrize("unit", ["ab ", "0, ", PARAGRAPH[:97]])
def test_looking_for_loops_takes_linear_time(unit: str) -> None:
    """The loop is interrupted now and then, so that the text is read to its end."""

    def text(size: int) -> str:
        return "".join(f"{unit * 40}{n}" for n in range(size // 40))

    assert_linear(lambda given: found_at(given, 4), text, 8_000)
