"""Where a call stands: does the reply act there, or does it talk about a call (X16)?

A text and a stretch of it enter; a yes or no leaves. An example, a quotation, a listing, an instruction to the reader
is no call. A bounded stretch before and behind is looked at. The words that tell are data: see `words`.
"""

import re

from trueup.recover.marks import CLOSES_REASONING
from trueup.recover.sentences import bounds, last
from trueup.recover.words import pattern
from trueup.verdict.patterns import lazy_regex

_WINDOW = 400
_FAR = 10_000  # a code block that was opened further back is not seen
_SAID = 240  # of a sentence without an end, so much is looked at
_SURE = r"¡?<call.sure>[.!…。！]{1,3}"
# A label of what was called before.
_PAST = r"[#*_\s]{0,8}<call.past>[*_]{0,2}[:：][*_]{0,2}"
# An order to the reader, up to the end of the sentence: the reply tells how to call instead of calling.
_ORDER = r"(?:^|[.!?:;,]\s+|[，、；：]|<call.then>\s)<call.orders>(?!\s*$)[^.!?\n]{0,80}[:：]?$"
# Right behind a call, in small letters: a capital begins a sentence of its own.
_IS = r"[ \t]*[`\"'”»)]*[ \t]*<call.is>"
_GOES_ON = r"[ \t]*[`\"'”»)]*[ \t]*<call.goes_on>"
_REMARK = r"\W{0,8}<call.remarks>"
# Words that put a call off, turn it down or tell of one: a question, the end of a sentence, the beginning of one.
_ASKS = r"(?:\A|[^\w\s]\s?|<call.then>\s)<call.asks>"
_REPORTS = r"<call.reports>[\s:：,，*_]{0,8}\Z"
_LEAVES_OPEN = r"[\W_]{0,8}(?:<call.confirms>|<call.refuses>)"
# A heading, or a word before a call, that says it is one.
_LABEL = r"[#*_\s]{0,8}<call.label>[:：]?[*_\s]{0,4}"
# Tags, tokens and fences right before a call wrap it and say nothing.
_WRAP = lazy_regex(
    r"(?:(?P<tag></?[\w:｜-]{1,40}>)|(?P<token><[|｜][^<>\n]{1,60}[|｜]>|\[[A-Z_]{4,20}\])"
    r"|(?P<fence>(?:(?<=\n)|\A)[ \t]*(?:`{3,9}|~{3,9})[\w+-]{0,20})|(?P<role>(?<=>)(?:assistant|function)))\s*\Z"
)
_TAGS_BEHIND = lazy_regex(r"(?:[ \t]*(?:</?[\w:-]{1,40}>|<[|｜][^<>\n]{1,60}[|｜]>))*")
# Inside of these it is told what came back, or what somebody else said.
_TOLD = lazy_regex(r"<(?:examples?|user|quote|blockquote|doc|document)>|\[AVAILABLE_TOOLS\]", re.IGNORECASE)
_LIST_ITEM = lazy_regex(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|[a-z]\))[ \t]")
_HEADING = lazy_regex(r"[ \t]*(?:#{1,6}\s|\*\*[^*\n]{1,80}\*\*:?\s*$|__)")
_QUOTES = "\"'“”‘’«»`("
_QUESTION = lazy_regex(r"[?？][\s*_\"'”»」)`]*\Z")
# Behind a call, where another one or a value begins: `{`, `<`, `[`, `f(a=`.
_NO_PROSE = lazy_regex(r"[{<\[=|]|\w\(")


def acts(text: str, start: int, stop: int, marked: bool, since: int = 0) -> bool:
    """Whether the reply makes the call that stands there; `since` is where the call before it ended.

    >>> acts("Let me look.\\nf(a=1)", 13, 19, False), acts("For example:\\nf(a=1)", 13, 19, False)
    (True, False)
    """
    said = CLOSES_REASONING.split(text[max(since, start - _WINDOW, 0) : start])[-1]
    bare, told = _unwrapped(said)
    above, _, before = bare.rpartition("\n")
    if "\n" in said[len(bare) :]:
        above, before = bare, ""
    if told or _quoted(before):
        return False
    before = before.strip()
    before = "" if before == "json" else before  # the word of a fence that got lost
    if before and not marked and not before.endswith((":", "：")) and not _says_and_does(before, text, stop):
        return False
    if not before and not marked and _among_code(above, text, start):
        return False
    behind = text[stop : stop + _WINDOW]
    if _goes_on(behind, marked, bool(before)) or _is_left_open(behind):
        return False
    return not _talks((before or above.rstrip()).lower(), marked, bool(before))


def _says_and_does(before: str, text: str, stop: int) -> bool:
    """Whether a reply says what it will do, and the call ends it: "I will look that up. {…}", "Sure! {…}"."""
    if before[-1] not in ".!…。！" or text[stop : stop + _WINDOW].strip():
        return False
    said = last(before.lower())[-_SAID:]
    return pattern(_SURE).fullmatch(said) is not None or pattern("<call.acts>").search(said) is not None


def _unwrapped(said: str) -> tuple[str, bool]:
    """The words before a call without the tags, tokens and fences that wrap it; whether a tag says it is only told."""
    for _ in range(8):
        wrap = _WRAP.search(said)
        if wrap is None:
            break
        if (wrap["tag"] or wrap["token"]) and _TOLD.fullmatch(wrap[0].rstrip()):
            return said, True
        said = said[: wrap.start()]
    return said, False


def _goes_on(behind: str, marked: bool, inline: bool) -> bool:
    """Whether the words behind a call make it part of a sentence, or say that it was an example."""
    same_line, _, further = behind[_TAGS_BEHIND.match(behind).end() :].partition("\n")  # type: ignore[union-attr]
    if pattern(_IS).match(same_line) or same_line.strip(" \t`*_").startswith(("?", "？")):
        return True
    rest = same_line.strip(" \t\r`;.,])}。、")
    rest = "" if rest.startswith(">>>") else rest  # the next call, as Functionary writes it
    if not marked and (pattern(_GOES_ON).match(same_line) or (rest and not inline)):
        return True
    return pattern(_REMARK).match((same_line if rest else further.lstrip("\n` ")).lower()) is not None


def _is_left_open(behind: str) -> bool:
    """Whether a sentence behind a call asks the reader to agree to it, or says that it is not made."""
    behind = behind[_TAGS_BEHIND.match(behind).end() :].lower()  # type: ignore[union-attr]
    said = _NO_PROSE.split(behind, maxsplit=1)[0]
    leaves_open = pattern(_LEAVES_OPEN)
    return any(leaves_open.match(said, start, stop) is not None for start, stop in bounds(said))


def _is_put_off(sentence: str) -> bool:
    """Whether the sentence before a call asks whether to make it, turns it down, or tells of one that was made."""
    if _speaks_of("awaits", sentence) or pattern(_REPORTS).search(sentence):
        return True
    if _QUESTION.search(sentence) and pattern(_ASKS).search(sentence):
        return True
    refused = pattern("<call.refuses>").search(sentence)
    return refused is not None and pattern("<call.acts>").search(sentence, refused.end()) is None


def _among_code(above: str, text: str, start: int) -> bool:
    """Whether the line stands in a code block with other code above it."""
    far = max(0, start - _FAR)
    if not above.strip() or text.count("```", far, start) % 2 == 0:
        return False
    opened = text.rfind("```", far, start)
    return bool(text[text.find("\n", opened) : start].strip())


def _quoted(before: str) -> bool:
    """In quotes, in a code span, in a quotation or an item of a list."""
    if before.lstrip().startswith(">") or _LIST_ITEM.match(before) or before.lstrip().startswith("|"):
        return True
    if before.replace("```", "").count("`") % 2:
        return True
    return before[-1:] != "" and before[-1] in _QUOTES and not before.endswith("```")


def _talks(lead: str, marked: bool, same_line: bool) -> bool:
    """Whether the words before a call talk about calling."""
    if not lead:
        return False
    paragraph = lead.rsplit("\n\n", 1)[-1]
    line = paragraph.rsplit("\n", 1)[-1]
    sentence = last(line)[-_SAID:]
    if _is_put_off(sentence):
        return True
    if _HEADING.match(line):
        return (not marked and pattern(_LABEL).fullmatch(line) is None) or _speaks_of("talks", line)
    open_ended = same_line or sentence.endswith((":", "：", ",", "，", "-", "—")) or sentence[-1:].isalnum()
    if _speaks_of("about_calls", sentence) or pattern(_PAST).fullmatch(sentence):
        return True
    if not open_ended:
        return False
    is_mine = _speaks_of("acts", sentence)
    if _speaks_of("talks", sentence) or (not marked and _speaks_of("talks_loosely", sentence)):
        return not is_mine or _speaks_of("acts_not", sentence)
    return not is_mine and pattern(_ORDER).search(sentence) is not None


def _speaks_of(name: str, sentence: str) -> bool:
    return pattern(f"<call.{name}>").search(sentence) is not None
