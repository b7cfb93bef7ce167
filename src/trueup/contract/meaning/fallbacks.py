"""Fallbacks: the texts to send where no reply could be made to keep a contract, one for each state.

They may stand in the states themselves or beside them; the state's own wins. What holds for no state is `default`.
"""

from collections.abc import Mapping
from typing import Any

DEFAULT = "default"


def read_fallbacks(given: Any) -> dict[str, str]:
    """The texts by state, `default` among them; what is no such mapping is refused.

    >>> read_fallbacks({"default": "How can I help?"})
    {'default': 'How can I help?'}
    """
    if given is None:
        return {}
    texts = isinstance(given, Mapping) and all(isinstance(k, str) and isinstance(v, str) for k, v in given.items())
    if not texts or not all(text.strip() for text in given.values()):
        raise ValueError(
            f"fallbacks: a mapping of states to texts is needed, `default` for all others; got {given!r:.80}"
        )
    return dict(given)


def with_fallbacks(states: Any, fallbacks: Mapping[str, str]) -> Any:
    """The states as a contract writes them, each with the text of `fallbacks` where it has none of its own."""
    if not isinstance(states, dict) or not fallbacks:
        return states
    out = dict(states)
    for name, text in fallbacks.items():
        body = states.get(name, False)
        if body is None or (isinstance(body, dict) and body.get("fallback") is None):
            out[name] = {**(body or {}), "fallback": text}
    return out
