"""The place of a fault in what the model wrote: a path in its own JSON, or the name of a call and a path in its arguments.

Takes a verdict and the path of one of its findings; returns the path to show. Findings name a place in any call as `$.calls[0].args`. A
model that wrote an envelope knows the place as `$.toolCalls[0].arguments`; a model that made a call knows the call's name.
"""

import re

from trueup.verdict.reply import ToolCall
from trueup.verdict.verdict import Verdict

_CALL = re.compile(r"\$\.calls(?:\[(\d+)\])?(\.args)?(.*)", re.DOTALL)


def shown(path: str, verdict: Verdict, *, inside: bool = False, names: frozenset[str] | None = None) -> str:
    """The path as the model knows it; `inside` is true if calls belong in the reply's value.

    With `names`, a call with another name is shown without it, so that an invented name is not repeated.

    >>> from trueup.verdict.reply import Reply
    >>> made = Verdict(Reply(), calls=(ToolCall("book", {}, origin="native"),))
    >>> shown("$.calls[0].args.day", made), shown("$.age", made)
    ('book $.day', '$.age')
    >>> shown("$.calls[0].args.day", Verdict(Reply(), calls=(ToolCall("book", {}, origin="envelope"),)))
    '$.toolCalls[0].arguments.day'
    """
    place = _CALL.fullmatch(path)
    if place is None:
        return path
    calls = calls_of(verdict)
    index, args, rest = place.groups()
    call = None if index is None else calls.get(int(index))
    if call is not None and call.origin != "envelope":
        name = _name(call, calls, names)
        return f"{name} ${rest}" if args else name + rest
    if call is None and not inside:
        return "$"
    return "$.toolCalls" + ("" if index is None else f"[{index}]") + (".arguments" if args else "") + rest


def inner(path: str) -> str:
    """The path inside the arguments of a call; any other path unchanged.

    >>> inner("$.calls[0].args.day"), inner("$.calls[0]"), inner("$.age")
    ('$.day', '$', '$.age')
    """
    place = _CALL.fullmatch(path)
    return path if place is None else f"${place[3]}" if place[2] else "$"


def calls_of(verdict: Verdict) -> dict[int, ToolCall]:
    """All calls of a reply by their index, whether they passed or not."""
    found = {call.index: call for call in verdict.reply.calls}
    found |= {call.index: call for call in verdict.calls}
    return found | {refusal.call.index: refusal.call for refusal in verdict.refused}


def _name(call: ToolCall, calls: dict[int, ToolCall], names: frozenset[str] | None) -> str:
    """The name of a call, with its number if the reply makes several calls with that name."""
    said = {index: made.name if names is None or made.name in names else "call" for index, made in calls.items()}
    alike = [index for index in sorted(said) if said[index] == said[call.index]]
    return said[call.index] if len(alike) < 2 else f"{said[call.index]} #{alike.index(call.index) + 1}"
