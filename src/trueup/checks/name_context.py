"""The words around a name: do they make it the name of a tool, or of something else?

Takes a text and the position of a name; answers questions about the words around it. Reads only a bounded stretch
before and after the name. The words are data for all languages together: the lists `mention.*` of `recover/phrases`.
`naming` looks at the name itself.
"""

import re

from trueup.checks.naming import SHARED, VERB, Likeness
from trueup.recover.words import pattern, small
from trueup.verdict.patterns import lazy_regex

_BEFORE, _BEHIND, _ARGUMENTS = 160, 80, 200
_GAP = r"\s{0,4}"
_ARTICLES = rf"(?:{_GAP}<mention.article>){{0,2}}"
# Names of other tools before this one: `check_cable, ping_dns and`.
_NAMES = (
    r"(?:(?:`[^`\n]{1,60}`|[a-z0-9]{1,40}[_.-][\w.-]{1,60})(?:\s{0,2}[,、]|\s{1,2}<scalar.and>){1,2}\s{0,2}`?){1,8}"
)
_OPENING = " \t`\"'“‘«„*_(「"
_ENDS = lazy_regex(r"[.!?](?=\s)|[。！？\n]")
_CLAUSES = r"[,;:—–，；：、]|<mention.but>"
_JOINS = r"\s*(?:(?:[a-z0-9]+[_.-][\w.-]+|<scalar.and>|<call.then>)\s*){0,4}"
_LISTED = r"\s*(?:[,.;)]|<scalar.and>|\Z)"
_CALLED = lazy_regex(rf"\([^()\n]{{0,{_ARGUMENTS}}}\)")
_WORD_BEHIND = lazy_regex(r"[^\W\d_]{3,}")
_CLOSING = lazy_regex(r"[`\"'”’»*_」]{0,3}[ \t]*")
# The beginning of a line that is a list item, a heading or a step: `- `, `2. `, `**Step 2: `.
_ITEM = lazy_regex(r"[ \t]*(?:(?:[-*+•]|\d{1,3}[.)]|#{1,6})[ \t])?[ \t*]*(?:[^\W\d_]{1,12}[ \t]*\d{1,3}[:.])?[ \t*`]*")
_LABEL = lazy_regex(r"[`*]{0,3}[ \t]*(?:\n|\Z|[:–—→]|[-=]>|- |to )")
_AT_THE_END = lazy_regex(r"[`*]{0,3}[.!…]{0,3}\s*(?:\n|\Z)")
_USES = rf"(?:<mention.uses>|\A\W{{0,8}}<mention.did>){_ARTICLES}(?:{_GAP}<mention.tool>|{_GAP}<mention.function>)?{_ARTICLES}{_GAP}\Z"
_USES_A = rf"(?:<mention.uses>|\A\W{{0,8}}<mention.did>){_ARTICLES} \w{{2,12}} \Z"  # with an adjective: "I ran a quick"
_ORDERS = rf"<mention.orders>{_ARTICLES}{_GAP}\Z"
_TOOL = rf"<mention.tool>{_ARTICLES}(?:(?: \w{{1,12}})?[:：])?{_GAP}(?:{_NAMES})?\Z"
_USES_SEVERAL = rf"<mention.uses>{_ARTICLES}(?:{_GAP}<mention.tool>)?{_ARTICLES}{_GAP}{_NAMES}\Z"
_FUNCTION = rf"<mention.function>{_ARTICLES}{_GAP}\Z"
_FROM = rf"(?:<mention.with>|<mention.by>){_ARTICLES}{_GAP}\Z"
_DATA = rf"<mention.data>{_ARTICLES}{_GAP}\Z"
_OWN = rf"<mention.own>{_GAP}\Z"
_TOLD = rf"<mention.told>{_ARTICLES}{_GAP}\Z"
_OWNED = r"\A\W{0,8}<mention.owner>"
_CHANGED = r"\A\W{0,8}<mention.changes>"
_VALUE = rf"<mention.values>{_GAP}:?{_GAP}(?:{_NAMES})?{_ARTICLES}{_GAP}\Z"
_ONE_OF = rf"<mention.indefinite>{_GAP}\Z"
_NAMED = rf"<mention.named>{_GAP}\Z"
_OF_CODE = r"<mention.code>|\b[\w-]{1,60}\.(?:py|js|ts|tsx|jsx|java|go|rs|rb|php|c|cpp|h|cs|sql)\b"
_QUOTES = frozenset("`\"'“”‘’«»„「」")
_QUOTED = lazy_regex(r"[\"“«][^\"”»\n]{0,200}(?:[\"”»]|\Z)")
# A name followed by a value, as in a setting or in code.
_ASSIGNED = lazy_regex(
    r"[*_]{0,3}[ \t]*(?::?=(?![>=])|\[|::|:[ \t]*(?:(?:true|false|null|none|yes|no)\b|[{\[]|\d+[ \t]*(?:\n|\Z)))",
    re.IGNORECASE,
)
# A line of code, of a log, or of a table with columns.
_NO_PROSE = lazy_regex(
    r"[;{}]\s*\Z|\A\s*(?:def|class|import|return|const|let|var|export|func|fn|select|insert|alter|\$|>>>|#include)\s"
    r"|\A\s*[\w.\[\]]{1,60}\s=\s|==|!=|&&|\|\||=>\s*[{(]"
    r"|\A\s*(?:\w{0,40}Error|\w{0,40}Exception|Traceback)\b|\A\W{0,4}\d{4}-\d\d-\d\d|\A\W{0,4}\d\d:\d\d:\d\d"
    r"|\A\W{0,4}(?:\S{1,30}\s){0,2}\W?(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL)\b"
    r"|\A\w+(?:,\w+){2,}\s*\Z|\A\s*\|?(?:[^|\n]*\|){2}"
)


class NameInContext:
    """The position of a name, with the words around it in lower case."""

    __slots__ = ("_before", "_behind", "_called", "_clause", "_sentence", "_start", "_stop", "_text")

    def __init__(self, text: str, start: int, stop: int) -> None:
        self._text, self._start, self._stop = text, start, stop
        before = small(text[max(0, start - _BEFORE) : start])
        ends = [end.end() for end in _ENDS.finditer(before)]
        self._before = before[ends[-1] if ends else 0 :].rstrip(_OPENING)
        self._called = _CALLED.match(text, stop)
        at = self._called.end() if self._called else stop
        closing = _CLOSING.match(text, at)
        at = closing.end() if closing else at
        self._behind = small(text[at : at + _BEHIND])
        end = _ENDS.search(self._behind)
        self._clause = self._last_clause()
        self._sentence = f"{self._before} {self._behind[: end.start() if end else None]}"

    def speaks_of_a_tool(self, likeness: Likeness, *, usual: bool) -> bool:
        """Whether the name belongs to a tool: its surroundings say so, or it looks like one and nothing says otherwise.

        `usual` means that the name is written like the offered names.
        """
        if self.is_used() or self._is_named_a_tool():
            return True
        if likeness == 0 or self._is_in_code():
            return False
        if self._follows(_USES_A, f"{self._clause} "):
            return True
        if self._is_a_source(likeness) or self._precedes("<mention.results>"):
            return True
        if pattern("<mention.yours>").search(self._sentence) or self._is_a_part_of_something():
            return False
        if self._is_set_apart(likeness):
            return True
        if self._precedes("<mention.gives>") and likeness == SHARED:
            return True
        if not self._is_in_plain_prose(likeness):
            return False
        return self._precedes("<mention.gives>") or (usual and (likeness >= VERB or self._is_a_subject()))

    def gives_results(self) -> bool:
        """Whether plain prose names it as a source: "according to wifi_status", "wifi_status says"."""
        if self._is_in_code() or pattern("<mention.yours>").search(self._sentence) or self._is_a_part_of_something():
            return False
        if not self._is_in_plain_prose(0):
            return False
        return self._is_a_source(0) or (self._is_a_subject() and self._precedes("<mention.gives>|<mention.results>"))

    def _is_a_source(self, likeness: Likeness) -> bool:
        """Whether something is done with it or known from it; in quotes, only by the speaker."""
        if self._is_quoted() and likeness < SHARED and not self._speaker_acts():
            return False
        return self._follows(_FROM, self._clause)

    def _last_clause(self) -> str:
        """The clause before the name; a clause that only joins the name to the text before it includes that text."""
        clauses = pattern(_CLAUSES).split(self._before)
        first = len(clauses) - 1
        while first and pattern(_JOINS).fullmatch(clauses[first]):
            if not clauses[first].strip() and not pattern(_LISTED).match(self._behind):
                break  # the name begins a clause: "your line is fine, check_cable says"
            first -= 1
        return ",".join(clauses[first:])

    def is_used(self) -> bool:
        """Whether the words before the name say that the speaker uses it."""
        return self._follows(_USES, self._clause) or self._follows(_USES_SEVERAL, self._before)

    def is_a_tool_of_the_speaker(self) -> bool:
        """Whether the word before "tool" names one: the speaker has it or uses it, or it did something."""
        if self._follows(_OWN, self._clause) or self.is_used():
            return True
        if not self._precedes("<mention.tool>") and not self._follows(_TOOL, self._before):
            return False
        if pattern("<mention.yours>|<mention.advises>").search(self._sentence):
            return False
        done = pattern(rf"<mention.tool>{_GAP}<mention.gives>").match(self._behind)
        singled_out = self._is_quoted() or self._follows(rf"<mention.article>{_GAP}\Z", self._clause)
        return bool(done or (singled_out and self._speaker_acts()))

    def stands_alone(self) -> bool:
        """Whether the text consists of the name alone."""
        if len(self._text) > self._stop - self._start + _BEHIND:
            return False
        return not (self._text[: self._start] + self._text[self._stop :]).strip("`\"'*.!: \t\r\n()")

    def is_no_tool(self) -> bool:
        """Whether the words say that it is a field, that no such tool exists, or that the reader should do it."""
        return (
            self._precedes("<mention.data>|<mention.denied>")
            or self._follows(_DATA, self._before)
            or (self._follows(_NAMED, self._before) and not self._is_named_a_tool())
            or pattern("<mention.denies>").search(self._clause) is not None
            or self._is_for_the_reader()
        )

    def _is_for_the_reader(self) -> bool:
        """Whether the words before it ask the reader to act: "could you run", but not "can you confirm that I may"."""
        asked = pattern("<mention.reader>").search(self._clause)
        if not asked or pattern("<mention.sees>").search(self._clause):
            return False
        return not (pattern("<mention.speaker>").search(self._clause, asked.end()) and self.is_used())

    def _is_named_a_tool(self) -> bool:
        return self._precedes("<mention.tool>") or self._follows(_TOOL, self._before)

    def _is_set_apart(self, likeness: Likeness) -> bool:
        """Whether a name is written like a tool: as a call, in backticks, as an order, alone on a line."""
        if self._called and (likeness == SHARED or (likeness == VERB and "=" in self._called[0])):
            return True
        if likeness < SHARED:
            return False
        if self._text[self._start - 1 : self._start] == "`" or self._precedes("<mention.function>"):
            return True
        if self._follows(_ORDERS, self._clause) or self._follows(_FUNCTION, self._clause):
            return True
        if self._before.endswith((":", "：")) and _AT_THE_END.match(self._text, self._stop):
            return True
        return self._begins_a_line() and _LABEL.match(self._text, self._stop) is not None

    def _is_in_plain_prose(self, likeness: Likeness) -> bool:
        """Whether a name is used in a sentence without quotes, and nothing says that it belongs to another program."""
        if self._is_quoted():
            return False
        if likeness < SHARED and self._follows(_ONE_OF, self._clause) and not self._speaker_acts():
            return False
        if any(
            self._follows(*frame)
            for frame in ((_OWNED, self._clause), (_CHANGED, self._before), (_VALUE, self._before))
        ):
            return False
        return not pattern(_OF_CODE).search(_QUOTED.sub("", self._sentence))

    def _is_a_part_of_something(self) -> bool:
        """Whether a name has a value, or the words next to it say that it is a part of a program or a setting."""
        if _ASSIGNED.match(self._text, self._stop) or self._precedes("<mention.part>"):
            return True
        return self._follows(_TOLD, self._clause) and not self._speaker_acts()

    def begins_a_sentence(self) -> bool:
        """Whether the name is the first word of its sentence."""
        return not self._before.strip(" \n\t-*>")

    def _is_a_subject(self) -> bool:
        """Whether the name begins a clause and a word follows."""
        return not self._clause.strip() and _WORD_BEHIND.match(self._behind) is not None

    def _is_quoted(self) -> bool:
        """Whether the name has quotes or backticks around it."""
        return (
            self._text[self._start - 1 : self._start] in _QUOTES or self._text[self._stop : self._stop + 1] in _QUOTES
        )

    def _speaker_acts(self) -> bool:
        return pattern("<mention.speaker>").search(self._clause) is not None

    def _is_in_code(self) -> bool:
        """Whether the name is on a line of code, of a log or of a table."""
        start = self._text.rfind("\n", max(0, self._start - _BEFORE), self._start) + 1 or max(0, self._start - _BEFORE)
        stop = self._text.find("\n", self._stop, self._stop + _BEFORE)
        return _NO_PROSE.search(self._text[start : stop if stop >= 0 else self._stop + _BEFORE]) is not None

    def _begins_a_line(self) -> bool:
        """Whether only the mark of a list, a heading or a step is before the name on its line."""
        line = self._text.rfind("\n", max(0, self._start - _BEHIND), self._start) + 1
        if not line and self._start > _BEHIND:
            return False
        return _ITEM.fullmatch(self._text, line, self._start) is not None

    def _follows(self, frame: str, before: str) -> bool:
        return pattern(frame).search(before) is not None

    def _precedes(self, frame: str) -> bool:
        return pattern(frame).match(self._behind) is not None
