"""A scalar, or a list of them, that is the substance of a reply in plain words.

A text and what the schema asks for enter; candidates leave. A refusal, an error and a number with a word that scales it
are no answers; one truth word or one number in a sentence is, when the caller asked for eager reading.
"""

import re
from typing import Any

from trueup.recover.candidate import Candidate
from trueup.recover.forms.blocks import Block, Unreadable
from trueup.recover.forms.outline import FENCE, RULE, TEXT, Keys, Line
from trueup.recover.json.clean import decode
from trueup.recover.json.parser import Record
from trueup.recover.json.tokens import read_token

_FENCED_SCALAR = re.compile(
    r"```(?:json|JSON)?[ \t]*\n?[ \t]*(-?[0-9.eE+-]{1,40}|true|false|null|\"[^\"\\\n]*\")[ \t]*\n?```"
)
_FENCE_OPEN = re.compile(r"(```+|~~~+)[^\n`]{0,60}\n")
_TOKEN = re.compile(r"<\|[^<>|\n]{1,60}\|>|<｜[^<>｜\n]{1,60}｜>|</?s>|\[/?INST\]")
_ANSWER_TAG = re.compile(r"<(answer|response|output|result|final_answer|final|reply)>", re.IGNORECASE)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*+"')
_STRINGS = re.compile(rf"\s*+{_STRING.pattern}(?:[ \t]*+(?:,|\n)\s*+{_STRING.pattern})++\s*+,?\s*+")
_TOKEN_LENGTH = 70
_MAX_LAYERS = 6
_DECORATION = " \t\r\n*_`~\"'“”"
_NUMBER = re.compile(r"(?<![\w.,/:\u2212-])[-+\u2212]?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?(?![\w/:\u2212-]|[.,][0-9])")
_MAX_SENTENCE = 400
_NUMBERS = frozenset({"number", "integer"})
_KINDS = {bool: frozenset({"boolean"}), int: _NUMBERS, float: _NUMBERS, type(None): frozenset({"null"})}

# Words that make another number of the one before them.
_SCALE = re.compile(
    r"[ \t\u00a0*_]{0,4}(?:k|m|bn|mn|tn|thousands?|hundreds?|dozens?|millions?|billions?|trillions?|lakhs?|crores?|mil|"
    r"mill[oó]n(?:es)?|millardos?|tausend|million(?:en)?|milliarden?|mille|milliards?|mio|mrd|milh(?:ão|ões)|bilh(?:ão|ões)|"
    r"[万萬亿億千百])(?![^\W\d_])",
    re.IGNORECASE,
)
_NO_ANSWER_BEFORE = re.compile(
    r"(?:errors?|status|code|http|exception|fehler|erreur|error de|código|line|step|version|page|not|isn['’]t|never|nicht|no es|"
    r"错误|第)[ \t*_:#]{0,4}\Z",
    re.IGNORECASE,
)
_LIST_MARK = re.compile(r"[.)][ \t]+\S")
_REFUSAL = re.compile(
    r"\b(?:sorry|apolog\w+|cannot|can['’]?t|could ?n['’]t|unable|won['’]t|as an ai|not able|don['’]t know|do not know|not sure|"
    r"lo siento|no puedo|no sé|disculp\w+|leider|kann (?:ich )?(?:das )?nicht|weiß (?:ich )?nicht|entschuldig\w+|désolé\w*|"
    r"ne peux pas|je ne sais|desculp\w+|não posso|não sei|rate limit|traceback|exception|timed? ?out)\b"
    r"|抱歉|对不起|無法|无法|不能|不知道|申し訳|できません|わかりません",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:not|n['’]t|isnt|never|neither|nor|whether|if|unless|maybe|perhaps|might|could|may|depends?|unclear|unsure|unknown|"
    r"either|would|should|nicht|kein\w*|ob|vielleicht|nunca|tal vez|quizás?|depende|ne|pas|peut-être|não|talvez)\b"
    r"|n['’]t\b|[?？]|不|没|未|吗",
    re.IGNORECASE,
)
_TRUE = frozenset("true verdadero verdadera cierto wahr vrai vraie verdadeiro verdadeira 正确 真".split())
_FALSE = frozenset("false falso falsa falsch faux fausse 错误 假".split())
_YES = frozenset("yes yeah yep yup sí ja oui sim はい 是 是的 对".split())
_NO = frozenset("no nope nein non não いいえ 否".split())
_WORD = re.compile(r"[^\W\d_]+")
_FIRST = re.compile(r"[^\w]*([^\W\d_]+)[\s*_`\"'”]*(?:[,.!;:，。！；：—–]|-\s|\Z)")
_LAST = re.compile(r"(?:\bis|\bes|\bist|\best|\bé|[:：=,，])[\s*_`\"'“]*([^\W\d_]+)[\s*_`\"'”.!。！]*\Z", re.IGNORECASE)


def fenced_scalar(text: str) -> list[Candidate]:
    """A JSON scalar alone in a code fence that says json, or alone in the reply's only fence."""
    fences = list(_FENCED_SCALAR.finditer(text)) if "```" in text else []
    if len(fences) != 1:
        return []
    value, code = read_token(fences[0][1])
    if fences[0][1][:1] == '"':
        value, code = fences[0][1][1:-1], None
    return [Candidate(value, [fences[0].span(1)], [], "scalar")] if code is None else []


def scalar(text: str, types: frozenset[str], eager: bool) -> list[Candidate]:
    """The whole text as one scalar; eagerly also the one number or truth word inside a sentence."""
    start, stop = _unwrapped(text)
    if start >= stop:
        return []
    span = (start, stop)
    whole = text[start:stop]
    core = whole.strip(_DECORATION).rstrip(".!,;。").strip(_DECORATION)
    value = read_token(core)[0] if core else whole
    if not isinstance(value, str) and types & _KINDS[type(value)]:
        return [Candidate(value, [span], [("F008", *span, core, None)], "scalar")]
    out = [Candidate(whole, [span], [("F008", *span, "", None)], "scalar")]
    plain = not eager or "string" in types or stop - start > _MAX_SENTENCE
    if plain or not isinstance(value, str) or _REFUSAL.search(text, start, stop):
        return out
    if "boolean" in types:
        out += _truth(text, start, stop)
    if types & _NUMBERS:
        out += _number(text, start, stop)
    return out


def _unwrapped(text: str) -> tuple[int, int]:
    """The text without the fence, the answer tags and the special tokens around all of it."""
    start, stop = _trimmed(text, 0, len(text))
    for _ in range(_MAX_LAYERS):
        before = (start, stop)
        token = _TOKEN.match(text, start, stop)
        if token:
            start = token.end()
        for token in _TOKEN.finditer(text, max(start, stop - _TOKEN_LENGTH), stop):
            stop = token.start() if token.end() == stop else stop
        fence = _FENCE_OPEN.match(text, start, stop)
        if (
            fence
            and text.endswith(fence[1], fence.end(), stop)
            and text.find("\n" + fence[1], start, stop) == stop - len(fence[1]) - 1
        ):
            start, stop = fence.end(), stop - len(fence[1]) - 1
            return start, max(start, stop)
        tag = _ANSWER_TAG.match(text, start, stop)
        if tag and text.endswith(f"</{tag[1]}>", tag.end(), stop):
            start, stop = tag.end(), stop - len(tag[1]) - 3
        elif text.startswith("<![CDATA[", start, stop) and text.endswith("]]>", start, stop):
            start, stop = start + 9, stop - 3
        start, stop = _trimmed(text, start, stop)
        if (start, stop) == before:
            break
    return start, stop


def _trimmed(text: str, start: int, stop: int) -> tuple[int, int]:
    raw = text[start:stop]
    words = raw.strip()
    start += len(raw) - len(raw.lstrip())
    return start, start + len(words)


def _number(text: str, start: int, stop: int) -> list[Candidate]:
    """The one number in a sentence."""
    numbers = list(_NUMBER.finditer(text, start, stop))
    if not numbers or len({n[0] for n in numbers}) > 1 or len(numbers[0][0]) == stop - start:
        return []
    for found in numbers:
        listed = (
            _LIST_MARK.match(text, found.end())
            and not text[text.rfind("\n", 0, found.start()) + 1 : found.start()].strip()
        )
        if (
            listed
            or _SCALE.match(text, found.end(), stop)
            or _NO_ANSWER_BEFORE.search(text, max(start, found.start() - 40), found.start())
        ):
            return []
    span = numbers[0].span()
    value, _ = read_token(numbers[0][0].replace(",", "").replace("\u2212", "-"))
    return [] if isinstance(value, str) else [Candidate(value, [span], [("F006", *span, "", None)], "scalar")]


def _truth(text: str, start: int, stop: int) -> list[Candidate]:
    """A sentence that answers yes or no, or calls something true or false, and does not deny or doubt it."""
    said: dict[bool, list[re.Match[str]]] = {True: [], False: []}
    for word in _WORD.finditer(text, start, stop):
        folded = word[0].casefold()
        if folded in _TRUE or folded in _FALSE:
            said[folded in _TRUE].append(word)
    for edge in (_FIRST.match(text, start, stop), _LAST.search(text, start, stop)):
        folded = edge[1].casefold() if edge else ""
        if edge and (folded in _YES or folded in _NO):
            if said[folded in _NO] or (folded in _YES and _DOUBT.search(text, edge.end(1), stop)):
                return []
            return _true_or_false(folded in _YES, edge.span(1))
    if bool(said[True]) == bool(said[False]) or _DOUBT.search(text, start, stop):
        return []
    value = bool(said[True])
    return _true_or_false(value, said[value][-1].span())


def _true_or_false(value: bool, span: tuple[int, int]) -> list[Candidate]:
    return [Candidate(value, [span], [("F006", *span, "", None)], "scalar")]


def strings(text: str) -> list[Candidate]:
    """Nothing but strings of JSON, with commas or line breaks between them."""
    if text.lstrip()[:1] != '"' or not _STRINGS.fullmatch(text):
        return []
    found = list(_STRING.finditer(text))
    try:
        value = [decode(string[0]) for string in found]
    except (ValueError, RecursionError):
        return []
    span = (found[0].start(), found[-1].end())
    return [Candidate(value, [span], [("F010", *span, "", None)], "lines")]


def bullets(text: str, lines: list[Line], max_depth: int) -> list[Candidate]:
    """A list with a bullet or a number before each item, when it is what the reply is about: one line before and after."""
    first = next(
        (i for i, line in enumerate(lines) if line.bullet and line.kind == TEXT and not line.opaque), len(lines)
    )
    if not _is_aside(text, lines[:first]):
        return []
    block = Block(text, lines, Keys(()), frozenset(), max_depth, free=False)
    block.at, block.stop = first, len(lines)
    try:
        items: list[Any] = block.sequence(lines[first].indent, None, 1) if first < len(lines) else []
    except Unreadable:
        return []
    counted = [
        int(found[0])
        for line in lines[first : block.at]
        if line.indent == lines[first].indent and (found := re.match(r"\d+", line.bullet))
    ]
    if len(items) < 2 or not _is_aside(text, lines[block.at :]) or None in items:
        return []
    if counted and counted != list(range(counted[0], counted[0] + len(items))):
        return []
    span = (lines[first].start, lines[block.at - 1].end)
    records: list[Record] = [("F010", *span, "", None), *block.records]
    return [Candidate(items, [span], records, "lines")]


def _is_aside(text: str, lines: list[Line]) -> bool:
    """Whether lines are at most one line of prose that refuses nothing, fences and rules left aside."""
    prose = [line for line in lines if line.kind not in (FENCE, RULE)]
    return len(prose) <= 1 and not any(_REFUSAL.search(text, line.start, line.end) for line in prose)
