r"""Compiles patterns and terms, which people write for ordinary text, to sources that search folded text.

Takes a term or a pattern; returns the source of a linear-time expression over folded text (see `folding`). Features
that such an engine cannot run in linear time (look-around, back-references) are refused with the reason and the
position.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

import re2

from trueup.checks.distinctions import CASE, PatternNote, told_apart
from trueup.checks.folding import LEADS, SIGN_LEAD, SIGN_TAILS, TAILS, fold, is_spaced
from trueup.verdict.patterns import lazy_regex

_LETTER = f"[{LEADS}][{TAILS}]{{4}}"
_SIGN = f"{SIGN_LEAD}[{SIGN_TAILS[0]}-{SIGN_TAILS[-1]}]{{7}}"
_CODES = "A-MO-Z\\x01-\\x07"
_WORD, _DIGIT, _SPACE = "a-zN0-9_", "0-9", "\\t\\n\\r "
_KINDS = {"w": (_WORD, True), "d": (_DIGIT, False), "s": (_SPACE, False)}
_POSIX = {"alpha": ("a-zN", True), "alnum": ("a-zN0-9", True), "digit": (_DIGIT, False), "space": (_SPACE, False),
          "lower": ("a-zN", True), "upper": ("a-zN", True), "word": (_WORD, True), "punct": ("!-/:-@[-^`{-~", False)}  # fmt: skip
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\n", "v": "\n"}
_HEX = lazy_regex(r"\\(?:x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))")
_PROPERTY = lazy_regex(r"\\[pP](?:(\w)|\{(\^?\w+)\})")
_FLAGS = lazy_regex(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])")
_NAMED = lazy_regex(r"\(\?P?<([A-Za-z_]\w*)>")
_LOOK = {"(?=": "look-ahead", "(?!": "look-ahead", "(?<=": "look-behind", "(?<!": "look-behind",
         "(?>": "an atomic group", "(?(": "a conditional group", "(?P=": "a back-reference", "(?#": "a comment"}  # fmt: skip
_WIDEST = 2_000
_EDGE = r"(?:\b|_)"  # Markdown puts underscores around a word
_SAMPLES = (b"", b"aa  1", b"1 -\n-", b"--")  # texts that reveal a pattern that can match nothing at a word edge
_BLANK = ("", " ", "\t", "\n", "\r")
_DROPPED = "folded text contains none of this: invisible and control characters and accents are dropped"


class BadPattern(ValueError):
    """A pattern that cannot be used, and the reason; `column` counts from 1."""

    def __init__(self, reason: str, column: int = 0) -> None:
        super().__init__(f"{reason} (column {column})" if column else reason)
        self.reason = reason
        self.column = column


@lru_cache(maxsize=2048)  # lint compiles a contract twice, and an editor does so after each key
def term_source(term: str) -> str:
    """The source that finds a term as a whole word, whatever its case and accents.

    >>> term_source("Ana"), term_source("a las")
    ('(?:\\\\b|_)ana(?:\\\\b|_)', '(?:\\\\b|_)a\\\\s+las(?:\\\\b|_)')
    """
    plain = unicodedata.normalize("NFC", term).strip()
    if not fold(plain).strip():
        raise BadPattern("a term has at least one visible character")
    out = ""
    for char in plain:
        if fold(char) not in _BLANK:
            out += _literal(char)
        elif not out.endswith(r"\s+") and fold(char):
            out += r"\s+"
    return _edge(plain[0], 0) + out + _edge(plain[-1], -1)


def _edge(char: str, side: int) -> str:
    """The edge of a term at this character; a sign such as `¼`, which does not fold to a letter, has none."""
    folded = fold(char)
    return _EDGE if is_spaced(char) and (folded[side].isalnum() or folded[side] == "_") else ""


@lru_cache(maxsize=2048)
def pattern_source(pattern: str) -> str:
    r"""The source that finds a pattern in folded text.

    >>> pattern_source(r"\bmamá \d+")
    '\\bmama\\s[0-9]+'
    """
    source = _Rewriter(unicodedata.normalize("NFC", pattern)).run()
    try:
        compiled = re2.compile(source.encode(), options())
    except re2.error as error:
        said = error.args[0] if error.args else error
        raise BadPattern(said.decode() if isinstance(said, bytes) else str(said)) from None
    if any(found.start() == found.end() for sample in _SAMPLES for found in compiled.finditer(sample)):
        raise BadPattern("it matches the empty text, and so every reply")
    return source


def pattern_notes(pattern: str) -> list[PatternNote]:
    r"""The places where a pattern makes a distinction that folded text loses, and so finds more or less than it seems
    to.

    >>> [note.message for note in pattern_notes(r"\b[A-Z]{3}\b")]
    ['case is ignored: this also finds lower-case letters']
    """
    return list(_notes(pattern))


@lru_cache(maxsize=2048)
def _notes(pattern: str) -> tuple[PatternNote, ...]:
    rewriter = _Rewriter(unicodedata.normalize("NFC", pattern))
    rewriter.run()
    return tuple(rewriter.notes)


def options() -> re2.Options:
    """How every expression is compiled: linear, quiet, 64 MB for its tables."""
    made = re2.Options()
    made.max_mem = 64 << 20
    made.log_errors = False
    return made


@lru_cache(maxsize=1024)
def _literal(char: str) -> str:
    """A character of a pattern; `ñ` also finds an `n` that is written without the tilde."""
    if char in "ñÑ":
        return "[nN]"
    folded = fold(char)
    escaped = re.sub(r"([^\w\s])", r"\\\1", folded, flags=re.ASCII) if folded.isprintable() else _hexed(folded)
    return escaped if len(folded) <= 1 else f"(?:{escaped})"


def _hexed(text: str) -> str:
    return "".join(f"\\x{ord(char):02x}" for char in text)


class _Set(NamedTuple):
    """The contents of a bracketed class: parts of an ASCII class, whole codes, and whether it has all other letters."""

    parts: list[str]
    codes: list[str]
    letters: bool
    signs: bool = False

    def source(self, column: int, *, negated: bool) -> str:
        body = "".join(self.parts)
        if not negated:
            arms = [f"[{body}]"] if body else []
            arms += self.codes
            arms += [_LETTER] if self.letters else []
            arms += [_SIGN] if self.signs else []
            return arms[0] if len(arms) == 1 else f"(?:{'|'.join(arms)})"
        if self.codes:
            raise BadPattern("a negated class takes Latin letters and ASCII signs only", column)
        arms = [f"[^{body}{_CODES}]"] + ([] if self.letters else [_LETTER]) + ([] if self.signs else [_SIGN])
        return f"(?:{'|'.join(arms)})"


class _Rewriter:
    """Rewrites one pattern, atom by atom."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.out: list[str] = []
        self.all_dots = [False]  # per open group: whether `.` matches line ends too
        self.named: set[str] = set()  # the characters that the current class names
        self.notes: list[PatternNote] = []

    def run(self) -> str:
        pattern = self.pattern
        while self.at < len(pattern):
            char = pattern[self.at]
            if char == "\\":
                self._escape()
            elif char == "[":
                self._bracket()
            elif char == "(":
                self._group()
            elif char in ")*+?{}|^$.":
                self._operator(char)
            else:
                self.out.append(r"\s" if char == " " else _literal(char))  # a line may be wrapped at any space
                self.at += 1
        return "".join(self.out)

    def _operator(self, char: str) -> None:
        if char == ")" and len(self.all_dots) > 1:
            self.all_dots.pop()
        if char == ".":
            any_sign = f"[^{_CODES}]" if self.all_dots[-1] else f"[^{_CODES}\\n]"
            char = f"(?:{any_sign}|{_LETTER}|{_SIGN})"
        elif char == "{" and not re.compile(r"\{\d+(?:,\d*)?\}").match(self.pattern, self.at):
            char = r"\{"
        elif char == "{":
            end = self.pattern.index("}", self.at) + 1
            char, self.at = self.pattern[self.at : end], end - 1
        elif char == "}":
            char = r"\}"
        self.out.append(char)
        self.at += 1

    def _group(self) -> None:
        rest = self.pattern[self.at : self.at + 4]
        for sign, name in _LOOK.items():
            if rest.startswith(sign):
                reason = f"{name} needs an engine without a time bound; write the pattern without it, or allow a timed pattern"
                raise BadPattern(reason, self.at + 1)
        named = _NAMED.match(self.pattern, self.at)
        flags = _FLAGS.match(self.pattern, self.at)
        dots = self.all_dots[-1]
        if named:
            self.at = named.end()
            self.out.append("(?:")
        elif flags:
            self.at = flags.end()
            self._refuse_flags(flags)
            dots = (dots or "s" in flags[1]) and "s" not in (flags[2] or "")
            kept = "m" if "m" in flags[1] else ""
            if flags[3] == ")":
                self.all_dots[-1] = dots
                self.out.append(f"(?{kept})" if kept else "")
                return
            self.out.append(f"(?{kept}:")
        else:
            self.at += 1
            self.out.append("(?:")  # groups are not captured: matching is faster without them
        self.all_dots.append(dots)

    def _refuse_flags(self, flags: re.Match[str]) -> None:
        unknown = set(flags[1] + (flags[2] or "")) - set("imsu")
        if unknown:
            raise BadPattern(f"unknown flag {min(unknown)!r}; the flags are i, m and s", flags.start() + 1)
        if "i" in (flags[2] or ""):
            raise BadPattern("case is always ignored here, whatever a flag says", flags.start() + 1)

    def _escape(self) -> None:
        single, kind = self._escaped()
        self.out.append(_literal(single) if kind is None else kind)

    def _escaped(self) -> tuple[str, str | None]:
        """The character that an escape means, or the source of a whole class or an anchor."""
        pattern, start = self.pattern, self.at
        char = self._single()
        if char is not None:
            return char, None
        letter = pattern[start + 1 : start + 2]
        if letter in "bBA":
            self.at += 2
            return "", f"\\{letter}"
        if letter in "zZ":
            self.at += 2
            return "", r"\z"
        parts, letters, negated = self._class_escape()
        return "", _Set([parts], [], letters).source(start + 1, negated=negated)

    def _single(self) -> str | None:
        """The single character that the escape here means, if it is one."""
        found = _HEX.match(self.pattern, self.at)
        if found:
            self.at = found.end()
            point = int(next(filter(None, found.groups())), 16)
            if point > 0x10FFFF:
                raise BadPattern("there is no such character", found.start() + 1)
            return chr(point)
        letter = self.pattern[self.at + 1 : self.at + 2]
        if not letter:
            raise BadPattern("a backslash at the end escapes nothing", self.at + 1)
        if letter in _CONTROLS:
            self.at += 2
            return _CONTROLS[letter]
        if letter.isdigit() or letter in "kg":
            raise BadPattern(
                "a back-reference needs an engine without a time bound; allow a timed pattern", self.at + 1
            )
        if not (letter.isascii() and letter.isalpha()):
            self.at += 2
            return letter
        return None

    def _class_escape(self) -> tuple[str, bool, bool]:
        r"""`\w` and similar: its ASCII part, whether it includes other letters, whether it is negated."""
        start = self.at
        letter = self.pattern[start + 1]
        found = _PROPERTY.match(self.pattern, start)
        if found:
            self.at = found.end()
            name = (found[1] or found[2]).lstrip("^")
            negated = (letter == "P") != (found[2] or "").startswith("^")
            if name in ("L", "Latin"):
                return "a-zN", name == "L", negated
            if name in ("N", "Nd"):
                return _DIGIT, False, negated
            raise BadPattern(r"only the properties \p{L}, \p{Latin} and \p{N} are supported: text is folded before it is matched", start + 1)  # fmt: skip
        if letter.lower() not in _KINDS:
            raise BadPattern(f"\\{letter} is not supported", start + 1)
        self.at += 2
        parts, letters = _KINDS[letter.lower()]
        return parts, letters, letter.isupper()

    def _bracket(self) -> None:
        start = self.at
        self.at += 1
        negated = self.pattern.startswith("^", self.at)
        self.at += negated
        held = _Set([], [], letters=False)
        self.named = set()
        first = True
        while first or not self.pattern.startswith("]", self.at):
            if self.at >= len(self.pattern):
                raise BadPattern("the class is not closed with ]", start + 1)
            held = self._member(held)
            first = False
        self.at += 1
        if not (negated or held.parts or held.codes or held.letters or held.signs):
            raise BadPattern(_DROPPED, start + 1)
        said = told_apart(self.named, negated=negated)
        if said:
            self.notes.append(PatternNote(start + 1, said))
        self.out.append(held.source(start + 1, negated=negated))

    def _member(self, held: _Set) -> _Set:
        """Add one member of a class: a character, a range, an escape, a POSIX name."""
        posix = re.compile(r"\[:(\w+):\]").match(self.pattern, self.at)
        if posix:
            self.at = posix.end()
            if posix[1] not in _POSIX:
                raise BadPattern(f"[:{posix[1]}:] is not supported", posix.start() + 1)
            parts, letters = _POSIX[posix[1]]
            if posix[1] in ("upper", "lower"):
                self.notes.append(PatternNote(posix.start() + 1, CASE))
            return held._replace(parts=[*held.parts, parts], letters=held.letters or letters)
        start = self.at
        low = self._character()
        if low is None:
            parts, letters, negated = self._class_escape()
            if negated:
                return _with_negated(held, parts, letters=letters)
            return held._replace(parts=[*held.parts, parts], letters=held.letters or letters)
        if self.pattern.startswith("-", self.at) and not self.pattern.startswith("-]", self.at):
            self.at += 1
            high = self._character()
            if high is None or high < low or ord(high) - ord(low) > _WIDEST:
                raise BadPattern("the range is not between two characters, runs backwards, or is too wide", start + 1)
            self.named.update(map(chr, range(ord(low), ord(high) + 1)))
            return _with_range(held, low, high)
        self.named.add(low)
        return _with(held, [low])

    def _character(self) -> str | None:
        if self.pattern.startswith("\\b", self.at):
            raise BadPattern(r"\b has no meaning inside a class", self.at + 1)
        if self.pattern.startswith("\\", self.at):
            return self._single()
        char = self.pattern[self.at : self.at + 1]
        self.at += 1
        return char or None


def _with(held: _Set, chars: list[str]) -> _Set:
    parts, codes = dict.fromkeys(held.parts), dict.fromkeys(held.codes)
    for char in chars:
        folded = "" if unicodedata.combining(char) else fold(char)
        if char in "ñÑ":
            parts["nN"] = None
        elif len(folded) == 1:
            parts[_hexed(folded)] = None
        elif folded:
            codes[_hexed(folded)] = None
    return held._replace(parts=list(parts), codes=list(codes))


def _with_range(held: _Set, low: str, high: str) -> _Set:
    chars = [chr(point) for point in range(ord(low), ord(high) + 1)]
    held = _with(held, [char for char in chars if char not in "ñÑ"])
    # a range of plain letters that includes n means the alphabet: ñ is in it
    alphabet = {r"\x6d", r"\x6e", r"\x6f"}.issubset(held.parts)
    return held._replace(parts=[*held.parts, "N"]) if alphabet or "ñ" in chars else held


def _with_negated(held: _Set, parts: str, *, letters: bool) -> _Set:
    """A class of everything that is not in `parts`."""
    if parts == _SPACE:  # [\s\S] is the usual way to write: any character
        return held._replace(parts=[*held.parts, r"\x0e-\x1f!-@\[-~N"], letters=True, signs=True)
    if letters:
        return held._replace(parts=[*held.parts, r"\t\n\r -/:-@\[-^`{-~\x0e-\x1f"], signs=True)
    return held._replace(parts=[*held.parts, r"\t\n\r -/:-@\[-~\x0e-\x1fN"], letters=True, signs=True)
