"""Joins Gemini's calls whose arguments arrive in fragments, as Vertex streams them.

The parts of a content keep their order; the fragments of one call become one part with `args`. An unfinished call has its
arguments as text without the end, so that it counts as cut off.
"""

from collections.abc import Iterator
from typing import Any

from trueup.read.calls import as_text
from trueup.read.objects import Row, record, rows, word
from trueup.verdict.patterns import lazy_regex

_STEP = lazy_regex(r"\.([^.\[\]]+)|\[(\d{1,6})\]|\['((?:[^'\\]|\\.)*)'\]|\[\"((?:[^\"\\]|\\.)*)\"\]")
_VALUES = (("stringValue", "string_value"), ("numberValue", "number_value"), ("boolValue", "bool_value"))
_DEEPEST = 100


def whole_calls(parts: Any) -> Iterator[Row]:
    """The parts, with the fragments of each call joined."""
    started: Row | None = None
    unread: list[Any] = []
    signed: Row = {}
    for item in parts:
        part = record(item)
        fragment = _fragment(part)
        if fragment is None or (started is None and not _is_partial(fragment)):
            yield part
            continue
        if started is None or word(fragment.get("name")):
            if started is not None:
                yield _cut(started)
            started, unread = {"name": fragment.get("name"), "id": fragment.get("id"), "args": {}}, []
            signed = _signature(part)
        signed = signed or _signature(part)
        started["args"] |= record(fragment.get("args"))
        pieces = rows(fragment.get("partialArgs") or fragment.get("partial_args"))
        unread += [piece for piece in pieces if not _put(started["args"], record(piece))]
        if not (fragment.get("willContinue") or fragment.get("will_continue")):
            yield {"functionCall": {**started, "args": as_text(unread)} if unread else started, **signed}
            started = None
    if started is not None:
        yield _cut(started)


def _signature(part: Row) -> Row:
    """The signature of a part, if it has one."""
    return {name: part[name] for name in ("thoughtSignature", "thought_signature") if part.get(name)}


def _fragment(part: Row) -> Row | None:
    call = part.get("functionCall")
    call = part.get("function_call") if call is None else call
    return None if call is None else record(call)


def _is_partial(call: Row) -> bool:
    return any(call.get(name) for name in ("partialArgs", "partial_args", "willContinue", "will_continue"))


def _cut(call: Row) -> Row:
    return {"functionCall": {**call, "args": as_text(call["args"]).rstrip("]}").removesuffix('"')}}


def _put(args: Row, piece: Row) -> bool:
    """Put one fragment where its path says; return False if the path is invalid."""
    path = word(piece.get("jsonPath") or piece.get("json_path"))
    steps = _steps(path)
    if not steps or not isinstance(steps[0], str):
        return False
    here: Any = args
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if isinstance(here, list) and isinstance(step, int) and step <= len(here):
            here += [None] * (step == len(here))
        elif not (isinstance(here, dict) and isinstance(step, str)):
            return False
        held = here.get(step) if isinstance(here, dict) else here[step]
        if following is None:
            here[step] = _value(piece, held)
            return True
        if held is None:
            held = here[step] = {} if isinstance(following, str) else []
        here = held
    return False


def _steps(path: str) -> list[str | int]:
    """The names and numbers of a path such as `$.stops[0].city`; none if it is not such a path."""
    found = list(_STEP.finditer(path, 1))
    if path[:1] != "$" or len(found) > _DEEPEST or sum(len(step[0]) for step in found) != len(path) - 1:
        return []
    return [int(step[2]) if step[2] else step[1] or step[3] or step[4] or "" for step in found]


def _value(piece: Row, held: Any) -> Any:
    """The value of a fragment; text is appended to existing text."""
    for camel, snake in _VALUES:
        value = piece.get(camel)
        value = piece.get(snake) if value is None else value
        if value is not None:
            return held + value if isinstance(held, str) and isinstance(value, str) else value
    return None
