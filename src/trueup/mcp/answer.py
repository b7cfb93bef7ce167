"""Answers: turns the facts and sections of a tool into a result with a limited number of tokens.

A section is a list of rows or a text. Parts that do not fit are named under `omitted`, with the call that shows them.
One text of a row is a section too: `calls/3/arguments`, or `facts/model` for a text among the facts.
The result has two forms with the same content, for clients with and without structured content: text, and JSON data.
The limit applies to both together.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from trueup.mcp.fence import NOTICE, Fenced, fence, inert, new_mark
from trueup.mcp.tokens import estimate
from trueup.studio.refusal import RequestRefused
from trueup.verdict.display import safe

LIMIT = 4_000  # tokens of a result
_AIM = 3_700  # estimated tokens that are filled
_LEAST_AIM = 200
_NOTES = 420  # tokens of these for omitted parts
_CLIP = 320  # characters of a text in a row
_FIRST_CLIP = 2_400  # characters of the first requested row
_LEAST_CLIP = 40
_SHARE = 0.6  # share of the remaining tokens for a section that is not the last
_FACTS = "facts"
_MOST_DIGITS = 10  # of the number of a row
_LINE = 0.5  # a text is cut at the end of a line if at least this share of it stays

Row = Mapping[str, Any]


class AnswerSection(NamedTuple):
    """A part of an answer that clients can read piece by piece."""

    name: str
    content: "list[Row] | str"
    """Rows, or a text. Text that does not come from trueup is `Fenced`."""
    more: "Omitted | None" = None
    """Further items that were not read, with the call that shows them."""


class Omitted(NamedTuple):
    """A part that a result leaves out."""

    what: str
    tool: str
    arguments: dict[str, Any]


class ToolAnswer(NamedTuple):
    """The complete output of a tool."""

    facts: dict[str, Any]
    sections: tuple[AnswerSection, ...] = ()
    is_error: bool = False


class Rendered(NamedTuple):
    """A result in both forms."""

    text: str
    data: dict[str, Any]


class PageRequest(NamedTuple):
    """The requested part of an answer, and the call that shows more of it."""

    tool: str
    result: str = ""
    """The id under which the answer is kept."""
    section: str = ""
    start: int = 0


def render(answer: ToolAnswer, asked: PageRequest) -> Rendered:
    """The requested part of an answer, within the limit."""
    sections = _chosen(answer, asked)
    aim = _AIM
    rendered = _Page(answer, asked, aim).render(sections)
    while size(rendered) >= LIMIT:
        if aim < _LEAST_AIM:
            raise RequestRefused(
                413, "This result does not fit into an answer.", code="too_large", hint="Give shorter arguments."
            )
        aim = aim * 4 // 5
        rendered = _Page(answer, asked, aim).render(sections)
    return rendered


def size(rendered: Rendered) -> int:
    """The estimated maximum number of tokens of a result as it is sent."""
    return estimate(_written(rendered.data)) + estimate(_written(rendered.text)) + 40


def _chosen(answer: ToolAnswer, asked: PageRequest) -> tuple[AnswerSection, ...]:
    if not asked.section:
        return answer.sections
    for section in answer.sections:
        if section.name == asked.section:
            length = len(section.content)
            if asked.start and asked.start >= length:
                unit = "characters" if isinstance(section.content, str) else "rows"
                raise RequestRefused(400, f"`start` is {asked.start}, but {section.name} has {length:,} {unit}.")
            return (section,)
    text = _text_at(answer, asked.section)
    if text is not None:
        if asked.start >= max(1, len(text)):
            raise RequestRefused(400, f"`start` is {asked.start}, but {asked.section} has {len(text):,} characters.")
        return (AnswerSection(asked.section, text),)
    names = ", ".join(section.name for section in answer.sections) or "none"
    raise RequestRefused(400, f"This result has no section {asked.section[:60]!r}.", hint=f"Its sections: {names}.")


def _text_at(answer: ToolAnswer, path: str) -> Fenced | None:
    """The text that a path such as `calls/3/arguments` names; rows are counted from 1."""
    first, *keys = path.split("/")
    here: Any = {_FACTS: answer.facts, **{section.name: section.content for section in answer.sections}}.get(first)
    for key in keys:
        if isinstance(here, list):
            number = int(key) if key.isascii() and key.isdigit() and len(key) < _MOST_DIGITS else 0
            here = here[number - 1] if 0 < number <= len(here) else None
        else:
            here = here.get(key) if isinstance(here, Mapping) else None
    return here if keys and isinstance(here, Fenced) else None


class _Page:
    """One result while it is filled."""

    def __init__(self, answer: ToolAnswer, asked: PageRequest, aim: int) -> None:
        self._answer = answer
        self._asked = asked
        self._aim = aim
        self._left = 0
        self._omitted: list[Omitted] = []

    def render(self, sections: tuple[AnswerSection, ...]) -> Rendered:
        shown_parts = [self._answer.facts, *(section.content for section in sections)]
        texts = [text for _, text in untrusted(shown_parts)]
        mark = new_mark(texts)
        notice = {"notice": NOTICE.format(mark)} if texts else {}
        facts = _marked(self._answer.facts, mark, _CLIP)
        if not self._asked.section:
            self._omit_texts(_FACTS, self._answer.facts, _CLIP)
        shown: dict[str, Any] = {}
        self._left = self._aim - _NOTES - _cost({**notice, **facts})
        for at, section in enumerate(sections):
            is_last = at == len(sections) - 1
            room = int(self._left * (1 if is_last else _SHARE))
            content, used = self._fill(section, room, mark)
            shown[section.name] = content
            self._left -= used
        data = {**notice, **facts, **shown}
        data["omitted"] = [
            {"what": each.what, "tool": each.tool, "arguments": each.arguments} for each in self._omitted
        ]
        return Rendered(_as_text(data), data)

    def _fill(self, section: AnswerSection, room: int, mark: str) -> tuple[Any, int]:
        """As much of a section as fits, and its tokens."""
        if isinstance(section.content, str):
            return self._text(section, section.content, room, mark)
        return self._rows(section, section.content, room, mark)

    def _rows(self, section: AnswerSection, rows: list[Row], room: int, mark: str) -> tuple[list[Any], int]:
        start = self._asked.start
        kept: list[dict[str, Any]] = []
        used = _cost({section.name: []})
        first_cut: int | None = None
        for at, row in enumerate(rows[start:], start):
            is_requested = bool(self._asked.section) and at == start
            clip = _FIRST_CLIP if is_requested else _CLIP
            marked, cost, clip = self._row(row, room - used, clip, mark, must=not kept)
            if marked is None:
                break
            kept.append(marked)
            used += cost
            if is_requested:
                self._omit_texts(f"{section.name}/{at + 1}", row, clip)
            elif first_cut is None and "cut" in marked:
                first_cut = at
        end = start + len(kept)
        if end < len(rows):
            self._omit(section.name, f"{section.name} {end + 1:,} to {len(rows):,} of {len(rows):,}", end)
        elif section.more is not None:
            self._omitted.append(section.more)
        if first_cut is not None:
            self._omit(section.name, f"the rest of texts in {section.name}; `cut` counts their characters", first_cut)
        return kept, used

    def _row(
        self, row: Row, room: int, clip: int, mark: str, *, must: bool
    ) -> tuple[dict[str, Any] | None, int, int]:  # fmt: skip
        """A row with its texts clipped until it fits, its cost, and the length of the texts; None if it does not fit."""
        while True:
            marked = _marked(row, mark, clip)
            cost = _cost([marked])
            if cost <= room or (must and clip <= _LEAST_CLIP):
                return marked, cost, clip
            if clip <= _LEAST_CLIP or (clip <= _CLIP and not must):
                return None, 0, clip
            clip = max(_LEAST_CLIP, clip // 2)

    def _text(self, section: AnswerSection, content: str, room: int, mark: str) -> tuple[str, int]:
        start = self._asked.start
        is_fenced = isinstance(content, Fenced)
        rest = content[start:]
        piece = _fitting(rest, room - 40 * is_fenced)
        if start + len(piece) < len(content):
            self._omit_characters(section.name, start + len(piece), len(content))
        elif section.more is not None:
            self._omitted.append(section.more)
        shown = fence(inert(piece), mark) if is_fenced else safe(piece)
        return shown, _cost(shown)

    def _omit_texts(self, path: str, row: Row, clip: int) -> None:
        """Name the rest of each clipped text in a row."""
        for keys, text in untrusted(row):
            if len(text) > clip:
                self._omit_characters("/".join((path, *keys)), clip, len(text))

    def _omit_characters(self, section: str, start: int, length: int) -> None:
        self._omit(section, f"{section}, characters {start + 1:,} to {length:,} of {length:,}", start)

    def _omit(self, section: str, what: str, start: int) -> None:
        arguments = {"result": self._asked.result, "section": section, "start": start}
        self._omitted.append(Omitted(what, self._asked.tool, arguments))


def untrusted(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Fenced]]:
    """All untrusted texts in some data, each with its path; items of lists are counted from 1.

    >>> list(untrusted({"a": 1, "b": [Fenced("x"), {"c": Fenced("y")}]}))
    [(('b', '1'), 'x'), (('b', '2', 'c'), 'y')]
    """
    if isinstance(value, Fenced):
        yield path, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from untrusted(each, (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value, 1):
            yield from untrusted(each, (*path, str(number)))


def _marked(row: Row, mark: str, clip: int) -> dict[str, Any]:
    """A row with its untrusted texts fenced and clipped, at any depth."""
    out: dict[str, Any] = _fenced(row, mark, clip)
    cut = sum(max(0, len(text) - clip) for _, text in untrusted(row))
    return {**out, "cut": cut} if cut else out


def _fenced(value: Any, mark: str, clip: int) -> Any:
    if isinstance(value, Fenced):
        return fence(inert(value[:clip]), mark)
    if isinstance(value, Mapping):
        return {key: _fenced(each, mark, clip) for key, each in value.items()}
    if isinstance(value, list):
        return [_fenced(each, mark, clip) for each in value]
    return value


def _fitting(text: str, room: int) -> str:
    """The beginning of a text with at most `room` tokens in both forms; at least one character."""
    piece = text[: max(1, room * 3)]
    while (cost := _cost(inert(piece))) > room and len(piece) > 1:
        piece = piece[: max(1, int(len(piece) * max(0.1, room / cost) * 0.97))]
    if len(piece) < len(text):
        end = piece.rfind("\n") + 1
        if end >= _LINE * len(piece):
            piece = piece[:end]
    return piece


def _cost(value: Any) -> int:
    """The tokens that a value takes in both forms together."""
    written = _written(value)
    text = written if isinstance(value, str) else _written(_as_text(value if isinstance(value, dict) else {"": value}))
    return estimate(written) + estimate(text)


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _as_text(data: Mapping[str, Any]) -> str:
    """Data as lines of text; fenced text is unchanged."""
    return "\n".join(_lines(data.items(), ""))


def _lines(items: Iterable[tuple[str, Any]], indent: str) -> Iterator[str]:
    for key, value in items:
        if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            yield f"{indent}{key}:"
            for row in value:
                first, *others = _lines(row.items(), f"{indent}  ")
                yield f"{indent}- {first[len(indent) + 2 :]}"
                yield from others
        elif isinstance(value, str) and "\n" in value:
            yield f"{indent}{key}:"
            yield value
        else:
            yield f"{indent}{key}: {value if isinstance(value, str) else _written(value)}"
