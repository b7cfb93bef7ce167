"""Decides whether a reply makes a call at a place, or only talks about one.

Takes a text and a stretch of it; returns yes or no. An example, a quotation, a listing or an instruction to the reader is
not a call. Only a bounded stretch before and after is examined. The phrases that decide are data: see `words`.
"""

import re

from trueup.recover.marks import CLOSES_REASONING
from trueup.recover.sentences import bounds, last
from trueup.recover.words import pattern
from trueup.verdict.patterns import lazy_regex

_WINDOW = 400
_FAR = 10_000  # code blocks that were opened further back are ignored
_LONGEST_SENTENCE = 240  # only this much of a sentence without an end is examined
_SURE = r"¡?<call.sure>[.!…。！]{1,3}"
# A label of earlier calls.
_PAST = r"[#*_\s]{0,8}<call.past>[*_]{0,2}[:：][*_]{0,2}"
# An order to the reader, up to the end of the sentence: the reply explains how to call instead of calling.
_ORDER = r"(?:^|[.!?:;,]\s+|[，、；：]|<call.then>\s)<call.orders>(?!\s*$)[^.!?\n]{0,80}[:：]?$"
# Right after a call, in lower case: a capital letter begins a new sentence.
_IS = r"[ \t]*[`\"'”»)]*[ \t]*<call.is>"
_GOES_ON = r"[ \t]*[`\"'”»)]*[ \t]*<call.goes_on>"
_REMARK = r"\W{0,8}<call.remarks>"
# Words that postpone, refuse or report a call: in a question, at the end or at the beginning of a sentence.
_ASKS = r"(?:\A|[^\w\s]\s?|<call.then>\s)<call.asks>"
_REPORTS = r"<call.reports>[\s:：,，*_]{0,8}\Z"
_LEAVES_OPEN = r"[\W_]{0,8}(?:<call.confirms>|<call.refuses>)"
# A heading or a word that introduces a call.
_LABEL = r"[#*_\s]{0,8}<call.label>[:：]?[*_\s]{0,4}"
# Tags, tokens and fences right before a call wrap it and have no meaning.
_WRAP = lazy_regex(
    r"(?:(?P<tag></?[\w:｜-]{1,40}>)|(?P<token><[|｜][^<>\n]{1,60}[|｜]>|\[[A-Z_]{4,20}\])"
    r"|(?P<fence>(?:(?<=\n)|\A)[ \t]*(?:`{3,9}|~{3,9})[\w+-]{0,20})|(?P<role>(?<=>)(?:assistant|function)))\s*\Z"
)
_TAGS_AFTER = lazy_regex(r"(?:[ \t]*(?:</?[\w:-]{1,40}>|<[|｜][^<>\n]{1,60}[|｜]>))*")
# Inside these, the text is an example, or somebody else's words.
_QUOTING_TAG = lazy_regex(r"<(?:examples?|user|quote|blockquote|doc|document)>|\[AVAILABLE_TOOLS\]", re.IGNORECASE)
_LIST_ITEM = lazy_regex(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|[a-z]\))[ \t]")
_HEADING = lazy_regex(r"[ \t]*(?:#{1,6}\s|\*\*[^*\n]{1,80}\*\*:?\s*$|__)")
_QUOTES = "\"'“”‘’«»`("
_QUESTION = lazy_regex(r"[?？][\s*_\"'”»」)`]*\Z")
# After a call, the beginning of another call or value: `{`, `<`, `[`, `f(a=`.
_NO_PROSE = lazy_regex(r"[{<\[=|]|\w\(")


def acts(text: str, start: int, stop: int, *, marked: bool, since: int = 0) -> bool:
    """Whether the reply makes the call in this stretch; `since` is the end of the previous call.

    >>> acts("Let me look.\\nf(a=1)", 13, 19, marked=False), acts("For example:\\nf(a=1)", 13, 19, marked=False)
    (True, False)
    """
    lead = CLOSES_REASONING.split(text[max(since, start - _WINDOW, 0) : start])[-1]
    bare, is_quoted = _unwrapped(lead)
    above, _, before = bare.rpartition("\n")
    if "\n" in lead[len(bare) :]:
        above, before = bare, ""
    if is_quoted or _quoted(before):
        return False
    before = before.strip()
    before = "" if before == "json" else before  # the language of a fence that was lost
    if before and not marked and not before.endswith((":", "：")) and not _says_and_does(before, text, stop):
        return False
    if not before and not marked and _among_code(above, text, start):
        return False
    after = text[stop : stop + _WINDOW]
    if _continues_sentence(after, marked=marked, inline=bool(before)) or _is_left_open(after):
        return False
    return not _talks((before or above.rstrip()).lower(), marked=marked, same_line=bool(before))


def _says_and_does(before: str, text: str, stop: int) -> bool:
    """Whether a reply says what it will do and then ends with the call: "I will look that up. {…}", "Sure! {…}"."""
    if before[-1] not in ".!…。！" or text[stop : stop + _WINDOW].strip():
        return False
    sentence = last(before.lower())[-_LONGEST_SENTENCE:]
    return pattern(_SURE).fullmatch(sentence) is not None or pattern("<call.acts>").search(sentence) is not None


def _unwrapped(lead: str) -> tuple[str, bool]:
    """The words before a call without the tags, tokens and fences around it, and whether a tag marks it as quoted."""
    for _ in range(8):
        wrap = _WRAP.search(lead)
        if wrap is None:
            break
        if (wrap["tag"] or wrap["token"]) and _QUOTING_TAG.fullmatch(wrap[0].rstrip()):
            return lead, True
        lead = lead[: wrap.start()]
    return lead, False


def _continues_sentence(after: str, *, marked: bool, inline: bool) -> bool:
    """Whether the words after a call make it part of a sentence, or call it an example."""
    same_line, _, further = after[_TAGS_AFTER.match(after).end() :].partition("\n")  # type: ignore[union-attr]
    if pattern(_IS).match(same_line) or same_line.strip(" \t`*_").startswith(("?", "？")):
        return True
    rest = same_line.strip(" \t\r`;.,])}。、")
    rest = "" if rest.startswith(">>>") else rest  # the next call, in Functionary's format
    if not marked and (pattern(_GOES_ON).match(same_line) or (rest and not inline)):
        return True
    return pattern(_REMARK).match((same_line if rest else further.lstrip("\n` ")).lower()) is not None


def _is_left_open(after: str) -> bool:
    """Whether a sentence after a call asks the reader to confirm it, or says that it is not made."""
    after = after[_TAGS_AFTER.match(after).end() :].lower()  # type: ignore[union-attr]
    prose = _NO_PROSE.split(after, maxsplit=1)[0]
    leaves_open = pattern(_LEAVES_OPEN)
    return any(leaves_open.match(prose, start, stop) is not None for start, stop in bounds(prose))


def _is_put_off(sentence: str) -> bool:
    """Whether the sentence before a call asks whether to make it, refuses it, or reports an earlier one."""
    if _mentions("awaits", sentence) or pattern(_REPORTS).search(sentence):
        return True
    if _QUESTION.search(sentence) and pattern(_ASKS).search(sentence):
        return True
    refused = pattern("<call.refuses>").search(sentence)
    return refused is not None and pattern("<call.acts>").search(sentence, refused.end()) is None


def _among_code(above: str, text: str, start: int) -> bool:
    """Whether the line is in a code block with other code above it."""
    far = max(0, start - _FAR)
    if not above.strip() or text.count("```", far, start) % 2 == 0:
        return False
    opened = text.rfind("```", far, start)
    return bool(text[text.find("\n", opened) : start].strip())


def _quoted(before: str) -> bool:
    """Whether the call is in quotes, a code span, a quotation or a list item."""
    if before.lstrip().startswith(">") or _LIST_ITEM.match(before) or before.lstrip().startswith("|"):
        return True
    if before.replace("```", "").count("`") % 2:
        return True
    return before[-1:] != "" and before[-1] in _QUOTES and not before.endswith("```")


def _talks(lead: str, *, marked: bool, same_line: bool) -> bool:
    """Whether the words before a call talk about calling."""
    if not lead:
        return False
    paragraph = lead.rsplit("\n\n", 1)[-1]
    line = paragraph.rsplit("\n", 1)[-1]
    sentence = last(line)[-_LONGEST_SENTENCE:]
    if _is_put_off(sentence):
        return True
    if _HEADING.match(line):
        return (not marked and pattern(_LABEL).fullmatch(line) is None) or _mentions("talks", line)
    open_ended = same_line or sentence.endswith((":", "：", ",", "，", "-", "—")) or sentence[-1:].isalnum()
    if _mentions("about_calls", sentence) or pattern(_PAST).fullmatch(sentence):
        return True
    if not open_ended:
        return False
    is_mine = _mentions("acts", sentence)
    if _mentions("talks", sentence) or (not marked and _mentions("talks_loosely", sentence)):
        return not is_mine or _mentions("acts_not", sentence)
    return not is_mine and pattern(_ORDER).search(sentence) is not None


def _mentions(name: str, sentence: str) -> bool:
    return pattern(f"<call.{name}>").search(sentence) is not None
