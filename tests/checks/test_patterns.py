"""Patterns of the linear engine, rewritten for folded text, mean the same as in `re`."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.checks.folding import Folded
from trueup.checks.matching import Matcher
from trueup.checks.patterns import BadPattern, pattern_notes, pattern_source, term_source

# Spanish sentences in which ASCII boundaries go wrong, and words that occur in them whole, in part or not at all.
CORPUS = """
Mi mamá no está, pero mamá volverá mañana.
El niño y la niña ni comen ni duermen.
¿Dónde está Ana? Mañana, Ana irá a la semana santa.
María Peña soñó con un año sin sueño; el ano no es el año.
Él dirá que sí, si tú vas así a Cádiz.
Una uña, una caña y una cana: ¡qué pena, Begoña Peñalba!
Según él, el café está aquí; allí habrá té.
Árbol, ángel, índice, óleo, último: ÁRBOL, ÚLTIMO.
La cigüeña averiguó el pingüino del bilingüe.
Reunión el miércoles 25 a las 10:30 h. o el sábado por la mañana.
""".strip().splitlines()
WORDS = sorted(
    {word for line in CORPUS for word in re.findall(r"\w+", line)}
    | set("ma am ni na an ano ana no pe po un ar il so si tu el te".split())
    | {"ñ", "á", "señ", "güe", "rá"}
)


def matches_of(source: str, text: str) -> list[str]:
    folded = Folded(text)
    places = [place for place in Matcher([source]).places(0, folded.data) if place]
    return [text[slice(*folded.span(*place))] for place in places]


def plain(text: str) -> str:
    """Text without accents, but with ñ: what the engine compares."""
    marks = unicodedata.normalize("NFD", text).replace("n\u0303", "ñ").replace("N\u0303", "Ñ")
    return "".join(c for c in marks if not unicodedata.combining(c))


@pytest.mark.spec("X12")
@pytest.mark.parametrize("line", CORPUS)
def test_a_spanish_boundary_corpus_agrees_with_re(line: str) -> None:
    for word in WORDS:
        if "ñ" in word:
            continue  # a pattern with ñ also finds n, see below
        for shape in (r"\b{}\b", r"\b{}", r"{}\b", r"\B{}\b", r"\b{}\w*", r"\w+{}\b", r"{}\W", r"(?:^|\s){}"):
            expected = [m[0] for m in re.finditer(shape.format(plain(word)), plain(line), re.IGNORECASE)]
            real = [plain(text) for text in matches_of(pattern_source(shape.format(word)), line)]
            assert real == expected, (shape, word)


@pytest.mark.spec("X12")
def test_the_measured_misses_of_ascii_boundaries() -> None:
    assert matches_of(pattern_source(r"\bmamá\b"), "Mi mamá no está") == ["mamá"]
    assert matches_of(pattern_source(r"\bni\b"), "El niño come") == []
    assert matches_of(pattern_source(r"\w+"), "niño pingüino") == ["niño", "pingüino"]


ATOMS = st.sampled_from(
    ["a", "e", "á", "o", "m", "x", " ", "1", "ж", "✅", r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", ".", r"\b", r"\B", "[aeo]", "[^aeo]", "[a-z]",
     "[^a-z]", r"[\w-]", r"[^\s\d]", "[áéó1-3]", "[жщ]", r"\.", "^", "$", "[^1]"]
)  # fmt: skip
PIECES = st.builds(
    lambda atom, count: atom if atom in ("^", "$", r"\b", r"\B") else atom + count,
    ATOMS,
    st.sampled_from(["", "", "", "*", "+", "?", "{1,3}", "*?", "+?"]),
)
SEQUENCES = st.lists(PIECES, min_size=1, max_size=5).map("".join)
PATTERNS = st.lists(SEQUENCES, min_size=1, max_size=3).map(
    lambda arms: arms[0] if len(arms) == 1 else f"(?:{'|'.join(arms)})"
)


@pytest.mark.spec("X12")
@given(PATTERNS, st.text(st.sampled_from("aeomñáéóxXÁ 1-.жщ✅¿\n"), max_size=12))
def test_random_patterns_find_what_re_finds(pattern: str, text: str) -> None:
    try:
        source = pattern_source(pattern)
    except BadPattern:
        return  # it matches the empty text
    # intended differences: a space is any whitespace, ñ belongs to the alphabet, $ is only the very end
    meant = plain(pattern).replace(" ", r"\s").replace("a-z", "a-zñ").replace("$", r"\Z")
    expected = [m[0] for m in re.finditer(meant, plain(text), re.IGNORECASE)]
    if all(expected):  # engines continue differently after an empty match
        assert [plain(hit) for hit in matches_of(source, text)] == expected


@pytest.mark.spec("X12", "C7")
def test_ene_is_not_n_but_a_pattern_with_ene_also_finds_n() -> None:
    assert matches_of(pattern_source(r"\bano\b"), "el año") == []
    assert matches_of(pattern_source(r"\baño\b"), "el ano, el AÑO, el an\u0303o") == ["ano", "AÑO", "an\u0303o"]
    assert matches_of(pattern_source(r"[a-z]+"), "caña") == ["caña"]


@pytest.mark.spec("C7")
@pytest.mark.parametrize(
    ("term", "text", "hit"),
    [
        ("Ana", "Mañana, la semana y Diana", []),
        ("Ana", "¡Ana!", ["Ana"]),
        ("María", "maria, MARÍA y Mari\u0301a", ["maria", "MARÍA", "Mari\u0301a"]),
        ("a las", "nos vemos a\n  las diez", ["a\n  las"]),
        ("жена", "Жена и жених", ["Жена"]),
        ("予約", "予約しました", ["予約"]),
        ("C++", "me gusta C++ y C", ["C++"]),
        ("I've booked", "I’ve booked it", ["I’ve booked"]),
        ("10 €", "cuesta 10 € o 110 €", ["10 €"]),
        ("strasse", "die Straße", ["Straße"]),
        ("Ana", "_Ana_, __Ana__ y banana_", ["_Ana_", "_Ana_"]),
    ],
)
def test_terms_are_whole_words_in_any_script(term: str, text: str, hit: list[str]) -> None:
    assert matches_of(term_source(term), text) == hit


@pytest.mark.parametrize(
    ("pattern", "text", "hit"),
    [
        (r"[а-я]+", "abc Жена 1", ["abc", "Жена"]),  # а, с and others look like Latin letters, and fold to them
        (r"\bда\b", "да, дата", ["да"]),
        (r"\p{L}+", "x1 жé", ["x", "жé"]),
        (r"[^\w\s]", "a ✅ b", ["✅"]),
        (r"✅+", "ok ✅✅ x", ["✅✅"]),
        (r"a.c", "aжc a✅c a\nc", ["aжc", "a✅c"]),
        (r"(?s)a.c", "a\nc", ["a\nc"]),
        (r"(?m)^x$", "y\nx\nz", ["x"]),
        (r"[\s\S]b", "ж\nb", ["\nb"]),
        (r"£\d+", "©5 £7", ["£7"]),
        (r"\x41\u00f1o", "AÑO", ["AÑO"]),
        (r"(?P<hour>\d{1,2}):(?P<minute>\d\d)", "a las 10∶30", ["10∶30"]),
        (r"¿no\?", "¿No?", ["¿No?"]),
        (r"[[:alpha:]]+", "12ab", ["ab"]),
        (r"[\D]+", "12ж!", ["ж!"]),
        (r"a{2}b{", "aab{", ["aab{"]),
        (r"[]x]+", "a]x", ["]x"]),
    ],
)
def test_patterns_find_what_they_describe(pattern: str, text: str, hit: list[str]) -> None:
    assert matches_of(pattern_source(pattern), text) == hit


@pytest.mark.spec("X11")
@pytest.mark.parametrize(
    ("pattern", "reason", "column"),
    [
        (r"a(?=b)", "look-ahead", 2),
        (r"(?!b)a", "look-ahead", 1),
        (r"(?<=a)b", "look-behind", 1),
        (r"(a)\1", "back-reference", 4),
        (r"(?>a)b", "atomic", 1),
        (r"a*", "empty text", 0),
        (r"(a", "missing )", 0),
        (r"[a", "not closed", 1),
        (r"[^а-я]", "negated class", 1),
        (r"[一-龥]", "too wide", 2),
        (r"\p{Lu}", "folded", 1),
        (r"a\q", r"\q is not supported", 2),
        ("a\\", "escapes nothing", 2),
        (r"(?x)a", "flag 'x'", 1),
        (r"a{1001}", "repetition size", 0),
    ],
)
def test_unsupported_patterns_are_refused_with_reason_and_position(pattern: str, reason: str, column: int) -> None:
    with pytest.raises(BadPattern) as caught:
        pattern_source(pattern)
    assert reason in str(caught.value)
    assert caught.value.column == column


@given(st.text(max_size=12))
def test_any_text_is_a_pattern_or_a_refusal(pattern: str) -> None:
    try:
        source = pattern_source(pattern)
    except BadPattern:
        return
    assert not Matcher([source]).which(b"")


@given(st.text(min_size=1, max_size=12), st.sampled_from(["", "x ", "¿", "ж "]))
def test_any_term_is_found_in_its_position(term: str, before: str) -> None:
    try:
        source = term_source(term)
    except BadPattern:
        return
    assert matches_of(source, f"{before} {term} .")


@pytest.mark.spec("C7")
@pytest.mark.parametrize(
    ("pattern", "column"),
    [
        (r"[^\x00-\x7f]", 1), ("x[^ -~]", 2), ("[áéíóú]+", 1), ("[À-ÿ]", 1), (r"\b[A-Z]{3}\d", 3), ("a[[:upper:]]", 3),
        ("[[:lower:]]", 2), ("[Ａ-Ｚ]", 1), (r"ref: [\x41-\x5a]+", 6),
    ],
)  # fmt: skip
def test_distinctions_lost_in_folded_text_are_reported_with_their_column(pattern: str, column: int) -> None:
    assert [note.column for note in pattern_notes(pattern)] == [column]


@pytest.mark.parametrize(
    "pattern",
    ["canci[oó]n", "[a-zà-ÿ]+", "[A-Za-z]", "[AP]M", "[ñ]", "[^a-z]", "[а-я]+", "[‘’]", "[€$]5", "MARÍA", "❤️+"],
)
def test_patterns_with_the_same_meaning_when_folded_get_no_note(pattern: str) -> None:
    assert pattern_notes(pattern) == []


@pytest.mark.parametrize(
    ("pattern", "column"), [("x[\u200b]y", 2), ("e[\u0301]", 2), ("[\u0300-\u036f]x", 1), ("[\\x00-\\x08]+x", 1)]
)
def test_a_class_that_folds_to_nothing_is_refused(pattern: str, column: int) -> None:
    with pytest.raises(BadPattern, match="folded text contains none of this") as refused:
        pattern_source(pattern)
    assert refused.value.column == column


def test_a_flag_for_case_is_refused() -> None:
    with pytest.raises(BadPattern, match="case is always ignored"):
        pattern_source("(?-i:ABC)")
    assert pattern_source("(?i:ABC)") == "(?:abc)"


def test_a_repetition_applies_to_the_visible_sign() -> None:
    assert matches_of(pattern_source("❤️{2}"), "❤️❤️")
    assert matches_of(pattern_source("❤️{2}"), "❤❤")
    assert not matches_of(pattern_source("❤️{2}"), "❤️ ❤️")
