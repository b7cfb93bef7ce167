"""Phrases of natural languages: the notation, and that every language is complete and matches what it should."""

import re
from importlib import resources
from pathlib import Path

import pytest

from tests.growth import assert_linear
from trueup.recover import remarks, words
from trueup.recover.words import Phrase, PhraseGroup, parse, pattern, source, tables

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = list(tables())
LISTS = list(tables()["en"])
PHRASES = [(language, name, text) for language, table in tables().items() for name in table for text in table[name]]
PLAIN = {"sentence.abbreviations", "member.joins"}  # read as words, not as a pattern
MAY_BE_EMPTY = {"sentence.abbreviations"}
# Beginnings of sentences that may retract a value; see `may_withdraw`.
OPENING = "oops wait sorry drops heading wrong mistake announces corrected".split()


def samples(phrase: Phrase) -> list[str]:
    """Texts that a phrase matches: each of its alternatives at least once, with and without its optional parts."""
    texts = [""]
    for node in phrase:
        if isinstance(node, PhraseGroup):
            options = [text for option in node.options for text in samples(option)] + [""] * node.optional
            first = [text + options[0] for text in texts]
            texts = first + [texts[0] + option for option in options[1:]]
        else:
            written = {"*": "", "\x00": "value", "…": " xyz "}.get(node, node)
            texts = [text + written for text in texts]
    return texts


def file_of(language: str) -> str:
    return (resources.files("trueup.recover") / "phrases" / f"{language}.toml").read_text("utf-8")


# -- the files -----------------------------------------------------------------------------------


def test_the_docs_list_every_language_and_every_list() -> None:
    assert {"de", "en", "es", "fr", "it", "ja", "pt", "zh"} <= set(LANGUAGES)
    page = (ROOT / "docs" / "languages.md").read_text("utf-8")
    assert re.findall(r"^\| `(\w\w)` \|", page, re.MULTILINE) == LANGUAGES
    for name in LISTS:
        assert f"`{name}`" in page, f"{name} is not described"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_every_list_in_the_same_order_with_the_same_comment(language: str) -> None:
    assert list(tables()[language]) == LISTS
    heads = re.compile(r"^(?:\[\w+\]|# .*|\w+ = )", re.MULTILINE)
    assert heads.findall(file_of(language))[1:] == heads.findall(file_of("en"))[1:]
    assert all(tables()[language][name] for name in LISTS if name not in MAY_BE_EMPTY)


@pytest.mark.parametrize("name", LISTS)
def test_a_list_matches_something_and_never_nothing(name: str) -> None:
    found = pattern(f"<{name}>")
    assert found.search("") is None
    assert found.search(" ,.") is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_phrase_matches_sentences_built_from_it(language: str) -> None:
    for row in PHRASES:
        if row[0] == language:
            is_well_written(*row)


def is_well_written(language: str, name: str, text: str) -> None:
    phrase = parse(text)
    assert text == text.lower(), "phrases are compared with small letters"
    assert text == " ".join(text.split())
    assert tables()[language][name].count(text) == 1
    assert text.count("…") <= 2, "gaps add up"
    assert name not in PLAIN or not set(text) & set("(|)*…?")
    found = pattern(f"<{name}>")
    for sample in samples(phrase):
        assert found.search(sample), sample
        assert found.search(f"«{sample}»"), sample
        if found.fullmatch(sample) and sample[0].isascii() and sample[0].isalpha():
            assert not pattern(rf"\A{source(name)}").search(f"q{sample}"), "a word begins at its edge"


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_of_retraction_pass_the_quick_check(language: str) -> None:
    texts = [row[2] for row in PHRASES if row[0] == language and row[1].split(".")[1] in OPENING]
    for sample in (sample for text in texts for sample in samples(parse(text))):
        for before in ("{}", "{}\n\n**", "```\n{}\n```\n", "{} Fine so far. "):
            reply = f"{before}{sample.capitalize()}: x"
            assert remarks.may_withdraw(reply, reply.index("}") + 1), reply


def test_modules_of_the_reader_that_use_phrases_have_no_other_words() -> None:
    allowed = {"json", "true", "false", "yes", "null", "apart"}
    for module in ("remarks.py", "sentences.py", "calls/acting.py", "forms/scalars.py"):
        text = (ROOT / "src" / "trueup" / "recover" / module).read_text("utf-8")
        for frame in re.findall(r"\br[bf]?\"((?:[^\"\\\n]|\\.)+)\"", text):
            if "<" in frame and "." in frame:
                spoken = re.sub(r"<[a-z.]+_?[a-z]*>|\\[A-Za-z]\w*|\{\w+\}", " ", frame)
                assert set(re.findall(r"[^\W\d_]{3,}", spoken)) <= allowed, (module, frame)


# -- the notation --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phrase", "matches", "others"),
    [
        ("that is wrong", ["that is wrong", "that  is\nwrong"], ["thatis wrong", "that is wronger", "what is wrong"]),
        ("(a|the) cat", ["a cat", "the cat"], ["cat", "an cat"]),
        ("the (big)? (red)? cat", ["the cat", "the big cat", "the red cat", "the big red cat"], ["thecat", "the bigcat"]),
        ("old (*)? (was|is)?", ["old", "old was", "old value is", "old value"], ["older"]),
        ("(please)? (just)? stop", ["stop", "please stop", "just stop", "please just stop"], ["pleasestop"]),
        ("that (above)?('s| is) it", ["that's it", "that is it", "that above is it", "that above's it"], ["that 's it"]),
        ("i('ve| have)? made", ["i made", "i've made", "i’ve made", "i have made"], ["imade", "i've  have made"]),
        ("entschuldig*", ["entschuldigung", "entschuldige", "entschuldig"], ["unentschuldigt"]),
        ("the * is", ["the value is", "the x is"], ["the is", "the one value is"]),
        ("das … falsch", ["das ist falsch", "das, was da steht, ist falsch"], ["das ist. falsch", "das ist falscher", "dasfalsch"]),
        ("上面…错了", ["上面错了", "上面的结果错了"], ["上面。错了"]),
        ("(更正|订正)后?", ["更正后?"], ["更正"]),
        ("e.g.", ["e.g.", "e.g.:"], ["eg", "e.gx", "the.g."]),
        ("früherer (tool-)?aufruf", ["früherer aufruf", "früherer tool-aufruf"], ["früherer tool- aufruf", "frühereraufruf"]),
        ("format(:| is)", ["format:", "format is", "format:x"], ["format", "format isn"]),
    ],
)  # fmt: skip
def test_the_notation_of_phrases_is_read(
    phrase: str, matches: list[str], others: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "phrases", lambda _: (parse(phrase),))
    found = re.compile(source.__wrapped__("test.list"))
    assert [text for text in matches if not found.search(text)] == []
    assert [text for text in others if found.search(text)] == []


@pytest.mark.parametrize("phrase", ["(a|b", "a)", "a|b", "", "ab*cd", "ab*(c|d)"])
def test_text_that_is_not_a_phrase_is_refused(phrase: str) -> None:
    with pytest.raises(ValueError):
        parse(phrase)


def test_phrases_of_many_languages_are_one_pattern() -> None:
    assert pattern(r"\A<scalar.yes>\Z") is pattern(r"\A<scalar.yes>\Z")
    for word in ("yes", "ja", "sí", "oui", "sì", "sim", "是的", "はい"):
        assert pattern(r"\A<scalar.yes>\Z").search(word)


def test_lower_casing_keeps_positions() -> None:
    assert words.small("ÉCOLE") == "école"
    assert len(words.small("İstanbul’da YES")) == len("İstanbul’da YES")
    assert words.small("İ YES").endswith("yes")


@pytest.mark.growth
@pytest.mark.parametrize("name", LISTS)
def test_patterns_take_linear_time(name: str) -> None:
    first = samples(words.phrases(name)[0])[0]
    for unit in (first, first.split()[0] + " ", first[:-1] + " ", "the a ", " "):
        assert_linear(pattern(f"<{name}>(?!)").search, lambda size, unit=unit: unit * (size // len(unit)), 40_000)
