"""`no_email`: e-mail addresses in a reply. A reply enters; where an address is, and its domain, leaves.

An address by its form: a name, `@`, and a domain whose last part is letters. Addresses inside URLs (`https://user@host`), remotes such as
`git@host:path` and file names such as `icon@2x.png` are none. Whether the mailbox exists is not looked at.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from trueup.shelf.options import Options
from trueup.shelf.seen import Look, Seen, Told
from trueup.verdict.patterns import lazy_regex

_BEFORE = lazy_regex(r"(?:[\w!#$%&'*+/=?^`{|}~.\-]{1,64})\Z")
_DOMAIN = lazy_regex(r"(?:[^\W_](?:[\w\-]{0,61}[^\W_])?\.){1,8}(?:[^\W\d_]{2,24}|xn--[a-z0-9\-]{2,50})(?![\w\-])")
_NAME = lazy_regex(r"[^\W_][\w.!#$%&'+/=?^{|}~\-]*\Z|\w\Z")
_NOT_DOMAINS = frozenset(
    "png jpg jpeg gif svg webp html htm css js jsx ts tsx json yaml yml toml txt lock conf cfg ini exe dll so service socket target timer mount slice scope swap device automount local internal".split()
)
_HINT = "Leave out every e-mail address."


def compile_check(given: Mapping[str, Any]) -> Look:
    """The check; `allow` lists domains and addresses that a reply may hold.

    >>> look = compile_check({"allow": ["example.com"]})
    >>> [(told.span, told.data) for told in look(Seen("Write to ada@example.com or bob@example.org."))]
    [((28, 43), {'domain': 'example.org'})]
    """
    allowed = frozenset(one.casefold().lstrip("@") for one in Options("no_email", given, ("allow",)).texts("allow"))
    return lambda seen: _look(seen, allowed)


def _look(seen: Seen, allowed: frozenset[str]) -> Iterator[Told]:
    text = seen.text
    at = text.find("@")
    while at >= 0:
        span = _around(text, at)
        if span is not None:
            address = text[span[0] : span[1]].casefold()
            domain = text[at + 1 : span[1]].casefold()
            if address not in allowed and not _is_below(domain, allowed):
                yield Told("The reply holds an e-mail address", _HINT, span, {"domain": domain})
        at = text.find("@", at + 1 if span is None else span[1])


def _around(text: str, at: int) -> tuple[int, int] | None:
    """The address around an `@`; None where there is none."""
    domain = _DOMAIN.match(text, at + 1)
    if domain is None:
        return None
    if domain[0].rpartition(".")[2].lower() in _NOT_DOMAINS:
        return None
    start = max(0, at - 65)
    before = _BEFORE.search(text[start:at].rpartition("\n")[2])
    name = before[0] if before else ""
    if not name or "//" in name[-64:] or len(name) > 64:
        return None
    found = _NAME.search(name.lstrip(".'`*/=|{~-"))
    name = found[0] if found else ""
    if not name or name.endswith(".") or ".." in name:
        return None
    end = domain.end()
    if text[end : end + 1] == ":" and text[end + 1 : end + 2].strip() and not text[end + 1].isdigit():
        return None  # git@host:path
    return at - len(name), end


def _is_below(domain: str, allowed: frozenset[str]) -> bool:
    """Whether a domain, or one that it belongs to, is in a set."""
    parts = domain.split(".")
    return any(".".join(parts[index:]) in allowed for index in range(len(parts)))
