"""Fallbacks: the texts to send if no reply satisfies a contract, one for each state.

They may be given in the states themselves or separately; the one in the state takes precedence. `default` is for all
states without one.
"""

from collections.abc import Mapping
from typing import Any

DEFAULT = "default"


def read_fallbacks(given: Any) -> dict[str, str]:
    """The texts by state, including `default`; anything but such a mapping is refused.

    >>> read_fallbacks({"default": "How can I help?"})
    {'default': 'How can I help?'}
    """
    if given is None:
        return {}
    texts = isinstance(given, Mapping) and all(isinstance(k, str) and isinstance(v, str) for k, v in given.items())
    if not texts or not all(text.strip() for text in given.values()):
        raise ValueError(
            f"fallbacks must be a mapping of states to texts, with `default` for all others; got {given!r:.80}"
        )
    return dict(given)


def with_fallbacks(states: Any, fallbacks: Mapping[str, str]) -> Any:
    """The states of a contract, each with its text from `fallbacks` if it has no fallback itself."""
    if not isinstance(states, dict) or not fallbacks:
        return states
    out = dict(states)
    for name, text in fallbacks.items():
        body = states.get(name, False)
        if body is None or (isinstance(body, dict) and body.get("fallback") is None):
            out[name] = {**(body or {}), "fallback": text}
    return out
