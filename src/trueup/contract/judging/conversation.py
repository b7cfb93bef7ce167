"""The conversation around a reply: the messages before it, the user's question, and whether the model has spoken
before.

`completed` takes what is checked and the caller's context, and returns the context with these three; values from the
caller take precedence. `arrived` takes the findings about an interrupted stream, and returns them as warnings if the
part that arrived is judged alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from trueup.verdict.facts import Finding, demoted
from trueup.verdict.reply import Reply

_KNOWN = ("history", "question", "first")
_CUT = frozenset({"R003", "R004"})  # an interrupted stream; a conversation in which the model has not spoken


def history_in(context: Mapping[str, Any]) -> Any:
    """The history of a context, None if it has none; anything but a list of messages is refused."""
    history = context.get("history")
    if history is not None and not isinstance(history, list | tuple):
        raise TypeError(f"history must be a list of the messages before the reply; got {type(history).__name__}")
    return history


def completed(source: Any, context: dict[str, Any]) -> dict[str, Any]:
    """The context with `history`, `question` and `first`, taken from the messages that are checked or from the history.

    >>> asked = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because it rains."}]
    >>> found = completed(asked, {})
    >>> found["question"], found["first"], len(found["history"])
    ('Why?', True, 1)
    """
    history = history_in(context)
    messages = () if type(source) is str else _messages(source)
    if not messages and not history:
        return {"history": [], "question": "", "first": True, **context}
    if all(name in context for name in _KNOWN):
        return context
    from trueup.read.messages import before_reply, in_history  # a separate room, not needed for plain text

    before = before_reply(messages)
    past = in_history(history) if history else before
    return {"history": past.messages, "question": before.question or past.question, "first": past.first, **context}


def _messages(source: Any) -> Sequence[Any]:
    """The messages that are checked, even if they were read already; empty if something else is checked."""
    reply = getattr(source, "reply", source)  # a Reading has one
    given = reply.raw if isinstance(reply, Reply) else source
    if type(given) is dict:
        given = given.get("messages")
    return given if isinstance(given, list | tuple) and not hasattr(given, "_asdict") else ()


def arrived(reply: Reply, findings: tuple[Finding, ...], *, judges_calls: bool) -> tuple[Finding, ...]:
    """The findings about an interrupted stream, as warnings: the part that arrived is judged alone, even if it is
    empty.

    They stay errors if the provider failed before any text or withheld the rest, or if a call may be incomplete.
    """
    broken_off = all(found.code in _CUT or (found.code == "R002" and reply.text) for found in findings)
    cut_call = judges_calls and any(not call.answered for call in reply.calls)
    if not broken_off or cut_call or reply.finish == "filter":
        return findings
    return tuple(map(demoted, findings))
