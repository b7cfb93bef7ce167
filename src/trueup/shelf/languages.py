"""`language`: whether a reply is in a language that the contract allows. Takes a reply; returns a finding if most of it
is in another language.

The package `py3langid` says which language a piece of text is in; its model is a file inside the package, and nothing
is downloaded. Code, addresses, numbers and quoted names are left out. A text that is too short, mixed, or close to an
allowed language is not judged.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple

from trueup.shelf.fences import without_code
from trueup.shelf.options import OptionReader
from trueup.shelf.subject import CheckedText, Look, ReadyFinding
from trueup.verdict.extras import install
from trueup.verdict.likeness import nearest
from trueup.verdict.patterns import lazy_regex

# The languages of the model, which is only loaded when a reply is judged; a test compares them.
KNOWN = frozenset(
    """ace af am an ar ary arz as az ba bcl be bg bn br bs ca crh cs cy da de dz el en eo es et eu ext fa fi fo fr fuv fy ga gcf gcr gd gl gom grc gu gug
    guw ha hbo he hi hr ht hu hy id ig is it ja jv ka kab kik kk km kn ko ku ky la lb lg lij ln lo lt ltg lv mg mk ml mn mr ms mt my ne nl nn no nso oc om
    or pa pcm pl ps pt qu ro ru rw sa sdh se si sk sl sn so sq sr st sv sw ta te tg th tk tl tr tt ug uk ur uz uzs vec vi vo wa wuu xh yo yue zh
    zu""".split()
)
LEAST = 30  # letters that a reply needs to be judged; a letter of a script without spaces counts as three
_CHUNK = 200  # letters that are judged together, at least
_CHUNKS = 40  # pieces of a long reply that are judged
_SURE, _DOUBT = (
    0.35,
    0.08,
)  # for a piece in another language: the least share of that language, and the largest share of the allowed ones
_SHARE = 0.5
_NOISE = lazy_regex(
    r"<[^<>\n]{1,200}>|%\(\w{1,40}\)\w|\{[^{}\n]{0,60}\}|[!-~]+"
)  # tags, placeholders, and runs of ASCII
_AROUND = ".,;:!?()\"'[]*"
_NOT_WORDS = lazy_regex(r"[_/\\=@$%{}<>\d]|\A-|\w\.\w|\(\)|&\w+;")
_LONGEST = 60  # letters of a word
_LETTERS = lazy_regex(r"[^\W\d_]+")
_WIDE = lazy_regex("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_BREAK = lazy_regex(r"\n+|(?<=[.!?…])\s+|(?<=[。！？])")
_NAMED_IN = "use a code of ISO 639, such as en, es or zh"
_ALIASES = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "sh": "hr", "cmn": "zh", "fil": "tl", "yue": "zh", "wuu": "zh", "arz": "ar", "ary": "ar", "uzs": "uz"}  # fmt: skip
# Languages that are so similar that a sentence may be in either: if one is guessed, the other is still possible.
_NEAR = tuple(
    frozenset(group.split())
    for group in (
        "no da", "hr bs sr", "id ms jv", "gl es", "gl pt", "an es", "ext es", "an ca", "oc ca", "oc fr", "af nl", "fy nl", "mk bg", "sk cs", "lb de",
        "be ru", "be uk", "hi ne mr sa", "fa ps ur ku sdh", "ar fa ur", "zu xh", "az tr tk crh", "kk ky tt ba", "fo is", "gd ga", "lij it", "vec it", "ltg lv",
        "la it", "eo it", "sl hr", "pcm en", "rw sn", "wa fr", "gcf gcr ht fr", "st nso", "as bn", "yue zh wuu", "ja zh", "grc el", "hbo he", "gom mr", "ast es", "br fr", "vo en",
    )
)  # fmt: skip
_reading = Lock()
_IGNORED = frozenset({"zxx"})  # the model's label for a text without a language
_HINT = "Write the whole reply in {wanted}."


class ReplyStretch(NamedTuple):
    """A stretch of a reply that is judged as one piece."""

    text: str
    start: int
    stop: int
    letters: int


def compile_check(given: Mapping[str, Any]) -> Look:
    """The check; `language` names one language or several, `least` is the number of letters that a reply needs to be
    judged, `share` the part that may be in another language.

    >>> look = compile_check({"language": "es"})
    >>> [told.data["found"] for told in look(CheckedText("Your table is booked for tomorrow evening at nine o'clock."))]
    ['en']
    """
    options = OptionReader("language", given, ("language", "least", "share"))
    wanted = options.texts("language")
    least, share = options.number("least", LEAST, 10), options.share("share", _SHARE)
    if not wanted:
        raise options.bad("language", "name at least one language, such as es")
    if find_spec("py3langid") is None:
        raise ModuleNotFoundError(f"language needs py3langid: {install('shelf')}", name="py3langid")
    allowed = frozenset(_code(name) for name in wanted)
    for name in wanted:
        if _code(name) not in KNOWN:
            near = nearest(name, KNOWN)
            also = f"did you mean {near!r}?" if near else _NAMED_IN
            raise options.bad("language", f"{name!r} is not a known language; {also}")
    return lambda seen: _look(seen, allowed, wanted, least, share)


@lru_cache(maxsize=1024)
def _code(name: str) -> str:
    """The model's code for a language.

    >>> _code("en-GB"), _code("zh_Hant"), _code("nb")
    ('en', 'zh', 'no')
    """
    code = re.split(r"[-_]", name.strip().lower())[0]
    return _ALIASES.get(code, code)


def identifier() -> Any:
    """The language identifier, with the model from inside its package; loaded once, when the first reply is judged."""
    with _reading:  # loading takes a second; other threads wait for it instead of loading it again
        return _identifier()


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _look(
    seen: CheckedText, allowed: frozenset[str], wanted: tuple[str, ...], least: int, share: float
) -> Iterator[ReadyFinding]:
    is_data = seen.data is not None
    text = _strings(seen.data) if is_data else without_code(seen.text)
    found = pieces(text)
    if sum(piece.letters for piece in found) < least:
        return
    judged = [(piece, foreign(piece.text, allowed)) for piece in found]
    other = [(piece, language) for piece, language in judged if language]
    letters = sum(piece.letters for piece, _ in judged)
    strange = sum(piece.letters for piece, _ in other)
    if not other or strange <= share * letters or strange < least:
        return
    tally: dict[str, int] = {}
    for piece, language in other:
        tally[language] = tally.get(language, 0) + piece.letters
    main = max(tally, key=lambda language: (tally[language], language))
    first = other[0][0]
    names = " or ".join(wanted)
    yield ReadyFinding(
        f"The reply is in {main!r}, not in {names}",
        _HINT.format(wanted=names),
        None if is_data else (first.start, first.stop),
        {"found": main, "allowed": list(wanted), "share": round(strange / letters, 2)},
    )


def foreign(text: str, allowed: frozenset[str]) -> str:
    """The language of a text if it is certainly not an allowed one; otherwise empty."""
    likely = identifier().classify(text)[0]  # faster than all languages with their scores, and usually enough
    if _code(likely) in allowed:
        return ""
    ranked: list[tuple[str, float]] = identifier().rank(text)
    (first, score), *_ = ranked
    top = _code(first)
    if first in _IGNORED or score < _SURE or _is_near(top, allowed):
        return ""
    return top if sum(score for language, score in ranked if _code(language) in allowed) <= _DOUBT else ""


@lru_cache(maxsize=512)
def _is_near(language: str, allowed: frozenset[str]) -> bool:
    return any(language in near and near & allowed for near in _NEAR)


def pieces(text: str) -> list[ReplyStretch]:
    """A text in pieces of whole sentences and lines, without parts in no language; a piece is more than just names."""
    clean = _NOISE.sub(_without, text)
    cuts = [0, *(found.end() for found in _BREAK.finditer(clean)), len(clean)]
    size = max(_CHUNK, len(clean) // _CHUNKS)
    found: list[ReplyStretch] = []
    start = letters = 0
    for begin, end in pairwise(cuts):
        letters += _letters(clean[begin:end])
        if letters >= size or end == len(clean):
            if letters and not _names_alone(clean[start:end]):
                found.append(ReplyStretch(" ".join(clean[start:end].split()), *_trimmed(clean, start, end), letters))
            start, letters = end, 0
    return _joined(found)


def _without(found: re.Match[str]) -> str:
    """Spaces for a run that is in no language: an address, a path, a name in code, a number; else the run itself."""
    run = found[0]
    word = run.strip(_AROUND)
    is_word = len(word) <= _LONGEST and not (len(word) > 1 and word.isupper()) and not _NOT_WORDS.search(word)
    return run if is_word else " " * len(run)


def _joined(found: list[ReplyStretch]) -> list[ReplyStretch]:
    """The pieces; a short one at the end is joined to the previous one."""
    if len(found) < 2 or found[-1].letters >= LEAST:
        return found
    last, short = found[-2], found[-1]
    whole = ReplyStretch(f"{last.text} {short.text}", last.start, short.stop, last.letters + short.letters)
    return [*found[:-2], whole]


def _letters(text: str) -> int:
    wide = len(_WIDE.findall(text)) if not text.isascii() else 0
    return sum(map(len, _LETTERS.findall(text))) + 2 * wide


def _names_alone(text: str) -> bool:
    """Whether most words begin with a capital, as in a list of names."""
    words: list[str] = _LETTERS.findall(text)
    return sum(word[0].isupper() for word in words) * 10 > len(words) * 7


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())


def _strings(data: Any) -> str:
    """The strings of a value, one per line, without the names of fields."""
    out: list[str] = []
    todo: list[Any] = [data]
    while todo:
        value = todo.pop()
        if isinstance(value, str):
            out.append(value)
        elif isinstance(value, Mapping):
            todo.extend(reversed(list(value.values())))
        elif isinstance(value, list | tuple):
            todo.extend(reversed(value))
    return "\n".join(text for text in out if " " in text.strip() or not text.isascii())
