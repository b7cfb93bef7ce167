"""Limits of a reply: its size and its depth; a reply over the limits is refused before it is read further."""

from typing import Any

from trueup.verdict.facts import Findings, finding
from trueup.verdict.reply import Reply
from trueup.verdict.verdict import Verdict


def too_large(reply: Any, text: str, limit: int) -> Verdict:
    """The verdict for a reply over the size limit: it is not read at all."""
    message = f"The reply has {len(text):,} characters; the limit is {limit:,}"
    found = finding("L001", "$", message, None, {"size": len(text), "limit": limit}, "Give a shorter reply.")
    return Verdict(shown(reply, text), None, Findings((found,)))


def depth_over(value: Any, limit: int) -> bool:
    """Whether a value is nested deeper than the limit, examined level by level."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        if not level:
            return False
        level = [
            child
            for outer in level
            for child in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(child, dict | list)
        ]
    return bool(level)


def shown(reply: Any, text: str) -> Reply | str:
    """The reply in the form that a verdict contains."""
    return reply if isinstance(reply, Reply | str) else text
