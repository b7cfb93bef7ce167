"""Removes markup from JSON that was escaped for a page or for Markdown.

Takes a text; returns a view without HTML entities or Markdown's backslashes, or None if there are none.
"""

import re

from trueup.recover.layers.view import LayerView, without
from trueup.verdict.patterns import lazy_regex

_ENTITY = lazy_regex(
    r"&(?:quot|apos|amp|lt|gt|nbsp|[lr][ds]quo|#34|#39|#160|#822[01]|#x22|#x27|#x201[cd]);", re.IGNORECASE
)
_ENTITY_START = lazy_regex(
    r"[{\[](?:\s|&nbsp;)*+&(?:quot|apos|l[ds]quo|#34|#39|#8220|#x22|#x27|#x201c);", re.IGNORECASE
)
_MARKED = lazy_regex(r"\\(\\|[_\[\]{}])")
_MARKS = ("\\[", "\\]", "\\{", "\\}", "\\_")
_MARKED_START = lazy_regex(r'"(?:[^"\\\n]|\\[^\n])*"?|(?<!\\)\\[\[\]{}]|[{,]\s*\w*\\_')


def unentity(text: str) -> LayerView | None:
    """Decode HTML entities in JSON that was escaped for a page; None if none follows an opening bracket.

    >>> unentity("{&quot;a&quot;: 1}").text
    '{"a": 1}'
    """
    if "&" not in text or not _ENTITY_START.search(text):
        return None
    import html  # its table of entities is large, and few replies need it

    return without(_ENTITY, text, lambda match: html.unescape(match[0]))


def unmark(text: str) -> LayerView | None:
    """Remove Markdown's backslashes before brackets and underscores outside strings; None if there are none."""
    if "\\" not in text or not any(mark in text for mark in _MARKS):
        return None
    if all(match[0][0] == '"' for match in _MARKED_START.finditer(text)):
        return None
    return without(_MARKED, text, lambda match: match[0] if match[1] == "\\" else match[1])
