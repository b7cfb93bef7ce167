"""`no_email`: e-mail addresses in a reply. Takes a reply; returns the position of each address and its domain.

An address is recognized by its form: a name, `@` or an at sign in brackets (`ada [at] example [dot] org`), and a domain
that ends with letters. User names of URLs (`https://user@host`), remotes such as `git@host:path` and file names such as
`icon@2x.png` do not count. Whether the mailbox exists is not checked.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trueup.shelf.options import OptionReader
from trueup.shelf.subject import CheckedText, Look, ReadyFinding
from trueup.verdict.patterns import lazy_regex

_AT = lazy_regex(r"@|%40|[(\[{<]\s?(?:@|at|ät|arroba|chez|chiocciola)\s?[)\]}>]\s{0,2}", re.IGNORECASE)
_DOT = r"(?:\.|[。｡](?=[a-z0-9])|\s{0,2}[(\[{<]\s?(?:\.|dot|punkt|punto|point|ponto)\s?[)\]}>]\s{0,2})"
_DOMAIN = lazy_regex(
    rf"(?:[^\W_](?:[\w\-]{{0,61}}[^\W_])?{_DOT}){{1,8}}(?:[a-z]{{2,24}}(?![a-z0-9_\-])|xn--[a-z0-9\-]{{2,50}}|[^\W\d_a-z]{{2,24}})",
    re.IGNORECASE,
)
_A_DOT = lazy_regex(_DOT, re.IGNORECASE)
_NAME = lazy_regex(r"[^\W_][\w.!#$%&'*+^{|}~\-]{0,63}\Z")  # others are allowed, but nobody uses them
_USER = lazy_regex(r"//[^\s/?#]*\Z")  # the part of an address before a host
_REMOTE = lazy_regex(r":(?:~?/|[\w.\-]+/)")
_NOT_DOMAINS = frozenset(
    "png jpg jpeg gif svg webp html htm css js jsx ts tsx json yaml yml toml txt lock conf cfg ini exe dll service socket target timer mount slice scope swap device automount local internal".split()
)
_LONGEST = 65  # characters of a name, and one before it
_HINT = "Leave out every e-mail address."


def compile_check(given: Mapping[str, Any]) -> Look:
    """The check; `allow` lists domains and addresses that a reply may contain.

    >>> look = compile_check({"allow": ["example.com"]})
    >>> [(told.span, told.data) for told in look(CheckedText("Write to ada@example.com or bob [at] example.org."))]
    [((28, 48), {'domain': 'example.org'})]
    """
    allowed = frozenset(
        one.casefold().lstrip("@") for one in OptionReader("no_email", given, ("allow",)).texts("allow")
    )
    return lambda seen: _look(seen, allowed)


def _look(seen: CheckedText, allowed: frozenset[str]) -> Iterator[ReadyFinding]:
    text = seen.text
    end = 0
    for sign in _AT.finditer(text):
        span = _around(text, sign) if sign.start() >= end else None
        if span is not None:
            end = span[1]
            domain = _A_DOT.sub(".", text[sign.end() : end]).casefold()
            name = text[span[0] : sign.start()].rstrip().casefold()
            if f"{name}@{domain}" not in allowed and not _is_below(domain, allowed):
                yield ReadyFinding("The reply contains an e-mail address", _HINT, span, {"domain": domain})


def _around(text: str, sign: re.Match[str]) -> tuple[int, int] | None:
    """The address around an at sign; None if there is none."""
    domain = _DOMAIN.match(text, sign.end())
    if domain is None or domain[0].rpartition(".")[2].lower() in _NOT_DOMAINS:
        return None
    at = sign.start()
    before = text[max(0, at - _LONGEST) : at]
    if sign[0][0] in "([{<":  # in brackets, with or without a space before them
        before = before.rstrip(" ")
        at = sign.start() - len(text[max(0, at - _LONGEST) : at]) + len(before)
    found = _NAME.search(before.rpartition("\n")[2])
    name = found[0] if found else ""
    if not name or name.endswith(".") or ".." in name or _USER.search(before):
        return None
    return None if sign[0] == "@" and _REMOTE.match(text, domain.end()) else (at - len(name), domain.end())


def _is_below(domain: str, allowed: frozenset[str]) -> bool:
    """Whether a domain, or a domain above it, is in a set."""
    parts = domain.split(".")
    return any(".".join(parts[index:]) in allowed for index in range(len(parts)))
