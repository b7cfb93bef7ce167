"""Reads a reply in plain words whose answer is a scalar.

Takes a text and the types of the schema; returns candidates. A refusal, an error and a number with a word that scales it
are not answers. With eager reading, a leading verdict, one truth word or one number in a sentence is an answer.
"""

import re

from trueup.recover.candidate import Candidate
from trueup.recover.json.tokens import read_token
from trueup.recover.layers.whole import unwrapped
from trueup.recover.words import pattern, small
from trueup.verdict.patterns import lazy_regex

_FENCED_SCALAR = lazy_regex(
    r"```(?:json|JSON)?[ \t]*\n?[ \t]*(-?[0-9.eE+-]{1,40}|true|false|null|\"[^\"\\\n]*\")[ \t]*\n?```"
)
_DECORATION = " \t\r\n*_`~\"'“”"
_LETTER = r"[^\W\u2e80-\uffef]"  # a letter of a script with word edges
_NUMBER = lazy_regex(
    rf"(?<!{_LETTER})(?<![.,/:\u2212-])[-+\u2212]?[0-9]+(?:,[0-9]{{3}})*(?:\.[0-9]+)?(?!{_LETTER}|[/:+\u2212-]|[.,][0-9])"
)
_MAX_SENTENCE = 400
_MAX_EXPLAINED = 4_000  # a verdict may have a long explanation
_NUMBERS = frozenset({"number", "integer"})
_KINDS = {bool: frozenset({"boolean"}), int: _NUMBERS, float: _NUMBERS, type(None): frozenset({"null"})}
_LIST_MARK = lazy_regex(r"[.)][ \t]+\S")

_NEAR = 40

# Right after a number: it means a different number. Right before it: it is not the answer, or is called wrong.
_SCALED = r"[ \t\u00a0*_]{0,4}<scalar.scales>"
_NOT_ANSWER = r"<scalar.not_answer>[ \t*_:#]{0,4}\Z"
_BOUND = r"(?:<scalar.bounds>|[<>≤≥])[ \t*_:#]{0,4}\Z"
_BOUNDED = r"[ \t\u00a0*_%]{0,4}(?:\w{1,16}+\s)?<scalar.bounded>"
_DENIED = r"<scalar.denies>\s?<scalar.is>?[ \t*_:#]{0,4}\Z"
_TRUE = r"(?P<true>(?<!\w)<scalar.true>(?!\w))"
_FALSE = r"(?P<false>(?<!\w)<scalar.false>(?!\w))"
_ANSWERS = rf"(?:{_TRUE}|{_FALSE}|(?P<yes><scalar.yes>)|(?P<no><scalar.no>))"
# A word inside a sentence is a verdict if the clause ends with it, or if the judged statement follows.
_ENDS = r"[\s*_`\"'”」)]*(?:\Z|[.,;:!。，；：！、—–(（\n]|-\s|<scalar.because>|<scalar.statement>)"
_NOT_SO = r"<scalar.denies>[\s*_]{0,4}\Z"
_VALUES = {"true": True, "yes": True, "false": False, "no": False}
# A verdict at the beginning, perhaps after a label; an explanation follows, in the same sentence or a separate one.
_LEADING = (
    rf"\W{{0,16}}(?:[^\W\d]\w{{0,24}}(?: \w{{1,24}}){{0,2}}[^\w:：]{{0,8}}[:：]\W{{0,8}})?{_ANSWERS}"
    r"[\s*_`\"'”)]*(?:(?P<apart>[.!。！]|(?<=\n)|\Z)|[,;:，；：、—–(（]|-\s|(?<=\s)<scalar.because>)"
)
# An answer at the end: "the answer is yes".
_CLOSING = rf"(?:<scalar.is>|[:：=,，])[\s*_`\"'“「]*{_ANSWERS}[\s*_`\"'”」.!。！]*\Z"
_OPEN = "<scalar.supposes>|<scalar.doubts>|[?？]"
_CLAUSE_END = lazy_regex("[.,;。，；、]")


def fenced_scalar(text: str) -> list[Candidate]:
    """A JSON scalar alone in the reply's only fence of this kind, with or without the language json."""
    fences = list(_FENCED_SCALAR.finditer(text)) if "```" in text else []
    if len(fences) != 1:
        return []
    value, code = read_token(fences[0][1])
    if fences[0][1][:1] == '"':
        value, code = fences[0][1][1:-1], None
    return [Candidate(value, [fences[0].span(1)], [], "scalar")] if code is None else []


def scalar(text: str, types: frozenset[str], *, eager: bool) -> list[Candidate]:
    """The whole text as one scalar; with `eager`, also the only number or truth word inside a sentence."""
    start, stop = unwrapped(text)
    if start >= stop:
        return []
    span = (start, stop)
    whole = text[start:stop]
    core = whole.strip(_DECORATION).rstrip(".!,;。").strip(_DECORATION)
    value = read_token(core)[0] if core else whole
    if not isinstance(value, str) and types & _KINDS[type(value)]:
        return [Candidate(value, [span], [("F008", *span, core, None)], "scalar")]
    out = [Candidate(whole, [span], [("F008", *span, "", None)], "scalar")]
    if not eager or "string" in types or not isinstance(value, str) or stop - start > _MAX_EXPLAINED:
        return out
    said = small(text)
    if "boolean" in types:
        out += _truth(said, start, stop)
    if types & _NUMBERS and stop - start <= _MAX_SENTENCE and not _refuses(said, start, stop):
        out += _number(said, start, stop)
    return out


def _refuses(said: str, start: int, stop: int) -> bool:
    """Whether words refuse an answer, or report an error."""
    return pattern("<scalar.refuses>").search(said, start, stop) is not None


def _number(said: str, start: int, stop: int) -> list[Candidate]:
    """The only number in a sentence that is not denied."""
    numbers = list(_NUMBER.finditer(said, start, stop))
    if not numbers or len(numbers[0][0]) == stop - start:
        return []
    meant: list[re.Match[str]] = []
    for number in numbers:
        before = said[max(start, number.start() - _NEAR) : number.start()]
        if pattern(_DENIED).search(before):
            continue
        if _counts(said, number) or pattern(_NOT_ANSWER).search(before) or pattern(_BOUND).search(before):
            return []
        if pattern(f"{_SCALED}|{_BOUNDED}").match(said, number.end(), stop):
            return []
        meant.append(number)
    if len({number[0] for number in meant}) != 1:
        return []
    if meant[0][0] != "0" and pattern("<scalar.lacks>").search(said, start, stop):
        return []
    span = meant[0].span()
    value, _ = read_token(meant[0][0].replace(",", "").replace("\u2212", "-"))
    return [] if isinstance(value, str) else [Candidate(value, [span], [("F006", *span, "", None)], "scalar")]


def _counts(said: str, number: re.Match[str]) -> bool:
    """Whether a number is the mark of a list item."""
    line = said.rfind("\n", 0, number.start()) + 1
    return _LIST_MARK.match(said, number.end()) is not None and not said[line : number.start()].strip()


def _truth(said: str, start: int, stop: int) -> list[Candidate]:
    """The verdict of a sentence that answers yes or no, or calls something true or false, without denying or doubting it."""
    leading = pattern(_LEADING).match(said, start, stop)
    if leading is not None:
        return _true_or_false(leading) if _is_settled(leading, said, start, stop) else []
    if stop - start > _MAX_SENTENCE or _refuses(said, start, stop):
        return []
    closing = pattern(_CLOSING).search(said, start, stop)
    if closing is not None:
        clause = max((end.end() for end in _CLAUSE_END.finditer(said, start, closing.start())), default=start)
        denied = pattern("<scalar.denies>").search(said, clause, closing.start()) is not None
        left_open = pattern(_OPEN).search(said, start, closing.start()) is not None
        return [] if denied or left_open or _contradicts(closing, said, start, stop) else _true_or_false(closing)
    verdicts = list(pattern(f"(?:{_TRUE}|{_FALSE}){_ENDS}").finditer(said, start, stop))
    if not verdicts or pattern(f"<scalar.denies>|{_OPEN}").search(said, start, stop) is not None:
        return []
    return [] if _contradicts(verdicts[-1], said, start, stop) else _true_or_false(verdicts[-1])


def _is_settled(verdict: re.Match[str], said: str, start: int, stop: int) -> bool:
    """Whether the text after a verdict neither contradicts it nor leaves it open.

    A denial may explain a "no" or "false", or any verdict in a separate sentence: "True. The sum is not 5."
    """
    answer = _answer(verdict)
    if answer in ("yes", "no") and _refuses(said, start, stop):
        return False
    explained = verdict["apart"] is not None or not _VALUES[answer]
    unsure = "<scalar.doubts>" if explained else f"<scalar.denies>|{_OPEN}"
    left_open = pattern(unsure).search(said, verdict.end(answer), stop) is not None
    return not left_open and not _contradicts(verdict, said, start, stop)


def _contradicts(found: re.Match[str], said: str, start: int, stop: int) -> bool:
    """Whether the text also says the opposite of an answer."""
    opposite = pattern(_FALSE if _VALUES[_answer(found)] else _TRUE)
    denied = pattern(_NOT_SO)
    return any(
        denied.search(said, max(start, word.start() - _NEAR), word.start()) is None
        for word in opposite.finditer(said, start, stop)
    )


def _answer(found: re.Match[str]) -> str:
    return next(name for name, said in found.groupdict().items() if said is not None and name in _VALUES)


def _true_or_false(found: re.Match[str]) -> list[Candidate]:
    name = _answer(found)
    span = found.span(name)
    return [Candidate(_VALUES[name], [span], [("F006", *span, "", None)], "scalar")]
