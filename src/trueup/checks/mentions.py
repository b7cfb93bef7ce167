"""Prose about tools: names that no tool has, and claims to have run one that was not called.

The reply's text, the offered tools and the names that were called enter; warnings leave. Words that merely look
like identifiers stay quiet unless they stand where a call is talked about, or are made like an offered name.
"""

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from trueup.checks.toolset import Toolset
from trueup.verdict.facts import Finding, finding

_NAME = r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+"
_RAN = (
    r"(?:ran|run|running|called|calling|call|used|using|use|invoked?|invoking|executed?|executing|triggered|"
    r"ejecut[éeo]|ejecutando|ejecutado|usé|usando|usado|llam[éeo]|llamando|llamado|invoqué|utilic[ée]|utilizando)"
)
_IN_CONTEXT = re.compile(
    rf"\b{_RAN}\s+(?:the\s+|a\s+|la\s+|el\s+)?(?:tool\s+|function\s+|herramienta\s+|función\s+)?[`\"']?({_NAME})\b|`({_NAME})(?:\([^`\n]*\))?`|\b({_NAME})\s?\(",
    re.IGNORECASE,
)
_ANY_NAME = re.compile(rf"\b{_NAME}\b")
_CLAIM = re.compile(
    rf"\b(?:I|I've|I have|we|he|hemos|yo)\s+(?:just\s+|already\s+|have\s+|ya\s+)?{_RAN}\s+(?:the\s+|la\s+|el\s+)?(?:tool\s+|function\s+)?[`\"']?([A-Za-z_][\w-]*)",
    re.IGNORECASE,
)
_MAX = 10


def mention_findings(text: str, tools: Toolset, called: AbstractSet[str]) -> Iterator[Finding]:
    """A warning for each undefined tool that the text talks of, and for each defined one it claims to have run."""
    if "_" in text:
        yield from _undefined(text, tools)
    for claim in _CLAIM.finditer(text):
        name = claim[1]
        if name in tools.tools and name not in called:
            message = f"The text claims to have run {name!r}, but no such call was made"
            yield finding("T012", "$", message, claim.span(1), {"name": name}, f"Call {name!r}, or do not claim it.")


def _undefined(text: str, tools: Toolset) -> Iterator[Finding]:
    said: dict[str, tuple[int, int]] = {}
    for found in _IN_CONTEXT.finditer(text):
        group = found.lastindex or 1
        said.setdefault(found[group], found.span(group))
    made_alike = _likeness(tools)
    for word in _ANY_NAME.finditer(text):
        if word[0] not in said and made_alike(word[0]):
            said[word[0]] = word.span()
    for name, span in list(said.items())[: _MAX * 4]:
        if not tools.offers(name):
            closest = tools.closest(name)
            message = f"The text speaks of a tool {name!r} that is not defined" + (
                f"; the closest is {closest!r}" if closest else ""
            )
            yield finding(
                "T011",
                "$",
                message,
                span,
                {"name": name, "closest": closest},
                f"Speak only of offered tools{f', such as {closest!r}' if closest else ''}.",
            )


def _likeness(tools: Toolset):  # type: ignore[no-untyped-def]
    """A test for names that start and end as an offered name does."""
    ends = {(parts[0], parts[-1]) for parts in (name.split("_") for name in tools.tools) if len(parts) > 2}

    def made_alike(name: str) -> bool:
        parts = name.split("_")
        return len(parts) > 2 and (parts[0], parts[-1]) in ends

    return made_alike
