"""What stands around a value: fences, prose, reasoning, tags, special tokens.

The text and the stretches that were used enter; the records that cover everything else leave.
No character outside the used stretches goes unnamed, white space alone excepted.
"""

import re

from trueup.recover.json.parser import Record

REASONING_OPEN = re.compile(
    r"<\s*(?=[trsai])(think|seed:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|antThinking|inner_monologue)\b[^<>\n]{0,80}>"
    r"|<\|(?:begin_of_thought|channel\|>analysis<\|message|START_THINKING)\|>|◁think▷|(?-i:\[THINK\])|<unused94>(?:thought)?",
    re.IGNORECASE,
)
REASONING_CLOSE = re.compile(
    r"<\s*/\s*(?=[trsai])(think|seed:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|antThinking|inner_monologue)\s*>"
    r"|<\|(?:end_of_thought|end|END_THINKING)\|>|◁/think▷|(?-i:\[/THINK\])|<unused95>",
    re.IGNORECASE,
)
REASONING_MARK = re.compile(
    r"</?(?:think|thought|reasoning|reflection|scratchpad|analysis|ant|inner|seed:|unused9)|<\|(?:begin|end|channel|start_t)",
    re.IGNORECASE,
)
# A word of each of them.
_REASONING_WORDS = (
    "think",
    "thought",
    "reasoning",
    "reflection",
    "scratchpad",
    "analysis",
    "inner_monologue",
    "<|end",
    "<unused9",
)
_PIECE = re.compile(
    r"(?P<fence>(?:```+|~~~+)[^\n`{\[]{0,60}(?:\n|\Z)|(?:```+|~~~+)[\w+.-]{0,20})"
    r"|(?P<token><\|[^<>|\n]{1,60}\|>|<｜[^<>｜\n]{1,60}｜>|</?s>|\[/?INST\]|\[TOOL_CALLS\]|\[ARGS\]|<\|[^<>|\n]{1,40}>|<[^<>|\n]{1,40}\|>)"
    r"|(?P<tag></?[A-Za-z_][\w:.-]{0,60}(?:[ =][^<>\n]{0,200})?/?>|<!\[CDATA\[|\]\]>)"
    r"|(?P<invisible>[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\u180e\u0000]+)"
)
_FENCE_LINE = re.compile(r"^[ \t]*(```+|~~~+)[ \t]*([\w+#.-]*)[^\n`]*$", re.MULTILINE)
_LANGUAGES = frozenset(
    "bash c c++ cpp cs csharp css dart go golang groovy haskell html java javascript js jsx kotlin less lua matlab objc perl"
    " php powershell ps1 py python r rb rs ruby rust scala scss sh shell sql swift ts tsx typescript vue zsh".split()
)
_BRACKET = re.compile(r"[{\[]")
_OPENS = re.compile(r"\s*+[{\[]")
_JSON_BLANK = " \t\r\n"
_MARKUP = "`~*_#>⚠️❗ \t\r\n"
_CODES = {"fence": "W001", "token": "W005", "tag": "W004", "invisible": "W006"}
_CLOSERS_ONLY = re.compile(r"[\s,;]*[}\])][\s}\]),;.]*+(?=```|~~~|\Z)")
_COMMENT_ONLY = re.compile(r"\s*(?://[^\n]*|/\*[\s\S]*?\*/|#[^\n]*)\s*\Z")
_EDGE = re.compile(r"\n[ \t]*\n|```|~~~|</|<\|")
_LEADING_CLOSERS = re.compile(r"[\s}\]),;]*")
_KEY_BEFORE = re.compile(r"""(?:^|[\n,{])\s*["'][^"'\n]{1,60}["']\s*:[^\n]*\Z""")
FAR = 400  # letters behind a value in which it may be taken back
_LEAST_WORD = 4
# How what is taken back starts, where no word that is looked for anyway is certain to be in it; see `retractions`.
_REGRETS = frozenset(
    "actu|apol|disr|hold|igno|my m|my e|my a|no, |no. |no! |no w|no s|oh, |oh n|oh w|oh s|ah, |scra|sorr|erra|korr|beri|rect|corr|nein"
    "|mome|halt|stop|wart|ups,|ups!|ups:|ups |ents|verz|non,|oups|atte|pard|déso|excu|espe|perd|disc|lo s|aspe|scus|desc"
    "|upda|edit|fina|but ".split("|")
)
_PLEAS = frozenset({"please i", "please d"})
_ASIAN_REGRETS = frozenset("等抱不对上以更订訂勘申す失")
_STRUCTURE = re.compile(r'[{}\[\]"]')
# After a value: further members or items, so the value ended too soon.
_DEBRIS = re.compile(
    r"""(?:[\s,}\])]++|//[^\n]*\n|(?<=, )\#[^\n]*\n|/\*[^*]*\*/)*+["'][^"'\n]{0,80}["']\s*[:：,\]}=]"""
    r"""|\s*[,，](?:\s++|//[^\n]*\n|\#[^\n]*\n|/\*[^*]*\*/)*+[\["'{“]"""
)


def is_debris(text: str, start: int, stop: int) -> bool:
    """Whether what stands behind a value is the rest of it: members go on, or quotes and closing brackets do."""
    if _DEBRIS.match(text, start, stop):
        return True
    edge = _EDGE.search(text, start, stop)
    stop = edge.start() if edge else stop
    depth = 0
    quotes = False
    for sign in _STRUCTURE.finditer(text, _LEADING_CLOSERS.match(text, start, stop).end(), stop):  # type: ignore[union-attr]
        quotes = quotes or sign[0] == '"'
        depth += sign[0] in "{["
        depth -= sign[0] in "}]"
        if depth < 0 and quotes:
            return True
    return False


_QUOTE_OR_ESCAPE = re.compile(r'\\.|"')


def _in_string(text: str, at: int) -> bool:
    """Whether an odd number of quotes stands before an offset on its line."""
    line = text.rfind("\n", 0, at) + 1
    return sum(sign[0] == '"' for sign in _QUOTE_OR_ESCAPE.finditer(text, line, at)) % 2 == 1


def _starts_line(text: str, at: int) -> bool:
    """Whether only blanks stand between an offset and the line's start, or a value's end."""
    while at > 0 and text[at - 1] in " \t":
        at -= 1
    return at == 0 or text[at - 1] in "\n}])"


def may_withdraw(text: str, stop: int) -> bool:
    """Whether the words behind a value may take it back; quick, and True when in doubt.

    >>> may_withdraw("{} I hope this helps!", 2), may_withdraw("{} Wait, that's wrong.", 2)
    (False, True)
    """
    said = text[stop : stop + FAR].strip(_MARKUP).lower()
    if len(said) < _LEAST_WORD:
        return False
    # one word after the other: a pattern of them all takes five times as long
    return (
        "wait" in said or "correct" in said or "mistake" in said or "error" in said or "oops" in said
        or "wrong" in said or "not right" in said or "hmm" in said or "fixed" in said or "revised" in said
        or said[:4] in _REGRETS or said[0] in _ASIAN_REGRETS or said[:8] in _PLEAS
    )  # fmt: skip


def leads_in(text: str, start: int, stop: int) -> bool:
    """Whether what stands before a value is the start of a larger one: open brackets, or a key of its own."""
    if text.endswith("<![CDATA[", start, stop):
        stop -= 9
    edge = stop
    for found in _EDGE.finditer(text, start, stop):
        start = found.end()
    depth = 0
    for sign in _STRUCTURE.finditer(text, start, stop):
        depth += sign[0] in "{["
        depth = max(0, depth - (sign[0] in "}]"))
    return depth > 0 or _KEY_BEFORE.search(text, max(start, edge - 400), edge) is not None


def reasoning_spans(text: str) -> list[tuple[int, int]]:
    """The stretches of a reply that are reasoning, in order; an unclosed block runs to the end."""
    spans: list[tuple[int, int]] = []
    if "<" not in text and "◁" not in text and "THINK]" not in text:
        return spans
    if text.isascii():  # a look for the words costs less than one for the tags
        small = text.lower()
        if not any(word in small for word in _REASONING_WORDS):
            return spans
    at = 0
    search = 0
    bracket = -1
    while opened := REASONING_OPEN.search(text, search):
        search = opened.end()
        if bracket < at:
            found = _BRACKET.search(text, at)
            bracket = found.start() if found else len(text)
        if bracket < opened.start() and not _starts_line(text, opened.start()):
            continue  # a tag inside a string of the value
        closed = REASONING_CLOSE.search(text, opened.end())
        stop = closed.end() if closed else len(text)
        spans.append((opened.start(), stop))
        at = search = stop
    first = REASONING_CLOSE.search(text)
    if first and _in_string(text, first.start()):
        first = None
    if first and (not spans or first.start() < spans[0][0]) and text.lstrip()[:1] not in ("{", "["):
        spans.insert(0, (0, first.end()))
    return spans


def code_blocks(text: str) -> list[tuple[int, int]]:
    """What stands in fences that are closed and name a programming language, in order; JSON in such a fence is none.

    >>> code_blocks("```js\\nf() { }\\n```\\n```js\\n{}\\n```\\n```json\\n{}\\n```")
    [(5, 14)]
    """
    blocks: list[tuple[int, int]] = []
    if "```" not in text and "~~~" not in text:
        return blocks
    mark = ""
    language, start = "", 0
    for line in _FENCE_LINE.finditer(text):
        if not mark:
            mark, language, start = line[1], line[2].lower(), line.end()
        elif line[1].startswith(mark) and not line[2]:
            if language in _LANGUAGES and not _OPENS.match(text, start, line.start()):
                blocks.append((start, line.start()))
            mark = ""
    return blocks


def gap_records(text: str, used: list[tuple[int, int]], apart: list[tuple[int, int, str]]) -> list[Record]:
    """Records for everything outside the used stretches, each under the name of what it is.

    `apart` are stretches, in order, that have nothing to do with what stands beside them, each with its name.
    """
    records: list[Record] = []
    at = 0
    first = 0
    for start, stop in [*sorted(used), (len(text), len(text))]:
        if start > at:
            while first < len(apart) and apart[first][1] <= at:
                first += 1
            _name_gap(text, at, start, at > 0, apart, first, records)
        at = max(at, stop)
    return records


def _name_gap(
    text: str, start: int, stop: int, behind: bool, apart: list[tuple[int, int, str]], first: int, records: list[Record]
) -> None:
    """Name one gap: what is set apart first, then fences, tags and tokens, the rest as prose."""
    at = start
    while first < len(apart) and apart[first][0] < stop:
        opened, closed, code = apart[first]
        opened = max(at, opened)
        _name_piece(text, at, opened, behind, records)
        at = min(closed, stop)
        if text[opened:at].strip():
            records.append((code, opened, at, "", None))
        first += 1
    _name_piece(text, at, stop, behind, records)


def _name_piece(text: str, start: int, stop: int, behind: bool, records: list[Record]) -> None:
    if not text[start:stop].strip(_JSON_BLANK):
        return
    if not text[start:stop].strip():
        records.append(("W006", start, stop, "", None))
        return
    if behind and (closers := _CLOSERS_ONLY.match(text, start, stop)):
        records.append(("S007", start, closers.end(), "", None))
        _name_piece(text, closers.end(), stop, False, records)
        return
    if behind and is_debris(text, start, stop):
        records.append(("S031", start, stop, "", None))
        return
    if stop < len(text) and leads_in(text, start, stop):
        records.append(("S031", start, stop, "", None))
        return
    at = start
    for piece in _PIECE.finditer(text, start, stop):
        _name_prose(text, at, piece.start(), records)
        records.append((_CODES[piece.lastgroup or "tag"], piece.start(), piece.end(), "", None))
        at = piece.end()
    _name_prose(text, at, stop, records)


def _name_prose(text: str, start: int, stop: int, records: list[Record]) -> None:
    words = text[start:stop]
    if not words.strip(_JSON_BLANK):
        return
    if _COMMENT_ONLY.match(words):
        records.append(("S017", start, stop, "", None))
    elif words.strip() in (",", ";", ".", "，"):
        records.append(("S038", start, stop, "", None))
    else:
        records.append(("W002", start, stop, "", None))
