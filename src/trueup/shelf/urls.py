"""`urls`: the addresses in a reply. Takes a reply; returns addresses that are broken, that mislead, or that are not on
the list.

An address has a scheme and `//`, or begins with `www.`. In links (of Markdown, of HTML, or alone between quotes) it may
also have only a scheme (`javascript:`) or begin with `//`. Nothing is downloaded. A host is compared in the form that a
browser reads: without the user name, in lower case, with `xn--` names decoded.
"""

import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv6Address
from typing import Any, NamedTuple

from trueup.checks.folding import fold
from trueup.shelf.options import OptionReader
from trueup.shelf.subject import CheckedText, Look, ReadyFinding
from trueup.verdict.likeness import nearest
from trueup.verdict.patterns import lazy_regex

# The text before the target of a link, then addresses anywhere. A target ends at a space or a quote, an address also at
# `](`.
_LINK = (
    r"""^[ \t>]{0,9}\[[^\[\]\n]{1,200}\]:[ \t]{0,3}<?|(?:(?<=^)|(?<=[\s"'<]))(?:href|src|action|formaction|poster|cite|data|background|ping"""
    r"""|xlink:href)\s{0,3}=\s{0,3}["']?|(?:["']|\x00\n)(?=//|\\\\|javascript:|vbscript:|data:\w{1,20}/\w)"""
)
_REST = r"[^\s<>\"`|^\]]*(?:\](?!\()[^\s<>\"`|^\]]*)*"
_TOKEN = lazy_regex(
    rf"""\]\(\s{{0,3}}<?(?P<target>(?:[^\s<>"'`()]+|\([^\s<>()]*\))*)|(?:{_LINK})(?P<given>(?<=["'])[^"'<>]*|[^\s<>"'`]*)"""
    rf"""|:(?:[/\\]{{2}})(?P<rest>{_REST})|(?<![\w@.\-])(?P<www>www\.(?=\w){_REST})""",
    re.IGNORECASE | re.MULTILINE,
)
_MAYBE = lazy_regex(r":|[/\\]{2}|www\.", re.IGNORECASE)  # without one of these there is no address
_SCHEME = lazy_regex(r"[A-Za-z][A-Za-z0-9+.\-]{0,30}\Z")
_WITH_SCHEME = lazy_regex(r"([A-Za-z][A-Za-z0-9+.\-]{0,30}):(?!\d{1,5}(?:[/?#]|\Z))(.*)", re.DOTALL)
_PLACEHOLDER = lazy_regex(
    r"\$?\{[^{}/]*\}?|\$\w+|\$?\([^()/]*\)?|<[^<>]*>?|\*+|\.{3,}|…|%s|%\(\w{1,40}\)s|\[[^\[\]/]*\]?"
)
_LABEL = lazy_regex(r"[^\W\-][\w\-]{0,62}\Z", re.UNICODE)
_DOTTED = lazy_regex(r"\d{1,3}(?:\.\d{1,3}){3}\Z")
_NUMERIC = lazy_regex(r"(?:0x[0-9a-f]+|\d+)(?:\.(?:0x[0-9a-f]+|\d+)){0,3}\Z", re.IGNORECASE)
_PORT = lazy_regex(r"\d{0,5}\Z")
_AFTER = lazy_regex(r"[/?#\\]")
_DOT = lazy_regex(
    r"[。｡](?=[A-Za-z0-9\-]{2,63}(?:\Z|[/:?#.\\]))"
)  # browsers read it as a dot; elsewhere it ends a sentence
_SHUT = lazy_regex("[。｡、」』】》]")
_OTHER = lazy_regex(r"[,;:!?()](?=[^\x00-\x7f])|(?<=\.)(?P<last>[A-Za-z0-9\-]+)(?P<words>[^\x00-\x7f][^.]*)\Z")
_MEDIA = lazy_regex(r"(?:image/(?!svg)|audio/|video/|font/)", re.IGNORECASE)
_TRAILING = ".,;:!?'\"*_~…"
_WEB = frozenset({"http", "https"})
_RISKY = frozenset({"javascript", "data", "vbscript", "file", "blob"})
_KNOWN = ("allow", "schemes")
_WHOLE = "Write whole addresses, such as https://example.com/page."


class Parts(NamedTuple):
    """The parts of an address, as a browser reads them."""

    scheme: str
    user: str
    host: str
    port: str


def compile_check(given: Mapping[str, Any]) -> Look:
    """The check; `allow` lists the hosts that links may lead to, including all hosts below them, and `schemes` the
    allowed schemes (http and https if `allow` is given, otherwise all except those that run something).

    >>> look = compile_check({"allow": ["example.com"]})
    >>> text = "See https://docs.example.com/a and https://example.com@evil.org/."
    >>> [told.message for told in look(CheckedText(text))]
    ["An address hides its host 'evil.org' behind a user name"]
    """
    options = OptionReader("urls", given, _KNOWN)
    allow = None if given.get("allow") is None else tuple(map(_listed, options.texts("allow")))
    schemes = frozenset(one.lower().rstrip(":/") for one in options.texts("schemes"))
    if allow is not None and not schemes:
        schemes = _WEB
    for one in allow or ():
        if not one or any(sign in one for sign in "/@ ") or (":" in one and not one.startswith("[")):
            raise options.bad("allow", f"takes hosts such as example.com, without scheme and port; got {one!r:.60}")
    return lambda seen: _look(seen, allow, schemes)


def _listed(host: str) -> str:
    return _plain(host.strip().lower().removeprefix("*.").rstrip("."))


def _look(seen: CheckedText, allow: tuple[str, ...] | None, schemes: frozenset[str]) -> Iterator[ReadyFinding]:
    if _MAYBE.search(seen.text) is None:
        return
    for found in _TOKEN.finditer(seen.text):
        token = _address(found, seen.text) if found["www"] or found["rest"] is not None else _target(found)
        if token is None:
            continue
        scheme, rest, start, size = token
        kept = _without_tail(rest)
        told = _judged(scheme, kept, (start, start + size - len(rest) + len(kept)), allow, schemes)
        if told is not None:
            yield told


def _address(found: re.Match[str], text: str) -> tuple[str, str, int, int] | None:
    """The scheme of an address, the text after the slashes, the start of the address and its length."""
    if found["www"]:
        return "https", found["www"], found.start(), len(found["www"])
    before = _SCHEME.search(text[max(0, found.start() - 31) : found.start()])
    if before is None:
        return None
    return (
        before[0].lower(),
        found["rest"],
        found.start() - len(before[0]),
        found.end() - found.start() + len(before[0]),
    )


def _target(found: re.Match[str]) -> tuple[str, str, int, int] | None:
    """The same for the target of a link; None if it stays on the same site. Browsers ignore tabs and line breaks."""
    group = "given" if found["target"] is None else "target"
    written = found[group]
    lead = len(written) - len(written.lstrip())
    target = re.sub(r"[\t\r\n]", "", written.strip())
    start, size = found.start(group) + lead, len(written.strip())
    if target[:2] in ("//", "\\\\", "/\\", "\\/"):
        host = _AFTER.split(target[2:], maxsplit=1)[0]
        return ("https", target[2:], start, size) if "." in host and not re.search(r"\s", host) else None
    parts = _WITH_SCHEME.match(target)
    if parts is None:
        return None
    scheme, rest = parts[1].lower(), parts[2]
    if scheme == "data" and _MEDIA.match(rest):
        return None  # an image in the text itself
    if scheme not in _WEB | _RISKY and not rest.startswith("//"):
        return None  # a mail address, or a word before a colon
    return scheme, rest.lstrip("/\\") if scheme in _WEB else rest, start, size


def _judged(
    scheme: str, rest: str, span: tuple[int, int], allow: tuple[str, ...] | None, schemes: frozenset[str]
) -> ReadyFinding | None:
    parts = _filled(split(scheme, rest))
    if parts is None:
        return None
    problem = _problem(parts, schemes) or (_unlisted(parts.host, allow) if allow is not None else None)
    if problem is None:
        return None
    data = {"scheme": scheme, "host": parts.host[:253]} if scheme in _WEB else {"scheme": scheme}
    return ReadyFinding(*problem, span, data)


def _filled(parts: Parts) -> Parts | None:
    """An address with a word for each placeholder; None if the host is one: `https://{host}/`, `https://…`."""
    if not parts.host.strip("./-") and not parts.user:
        return None
    if parts.scheme not in _WEB or parts.host.startswith("["):
        return parts
    host = _PLACEHOLDER.sub("\x00", parts.host).replace("\x00.", "\x00").replace("\x00", "\x00.").strip(".")
    if "\x00" not in host:
        return parts
    labels = host.split(".")
    return None if any("\x00" in label for label in labels[-2:]) else parts._replace(host=host.replace("\x00", "x"))


def _without_tail(rest: str) -> str:
    """The address without the punctuation after it; a closing bracket stays if it has an opening one."""
    rest = _DOT.sub(".", rest)
    rest = rest[: len(rest) if (shut := _SHUT.search(rest)) is None else shut.start()]
    authority = _AFTER.split(rest, maxsplit=1)[0]
    if "@" not in authority and (other := _OTHER.search(authority)):  # words of a script without spaces follow
        rest = rest[: other.start("words") if other["words"] else other.start()]
    extra = {shut: rest.count(shut) - rest.count(opens) for opens, shut in ("()", "[]", "{}")}
    end = len(rest)
    while end:
        last = rest[end - 1]
        if last not in _TRAILING and extra.get(last, 0) <= 0:
            break
        if last in extra:
            extra[last] -= 1
        end -= 1
    return rest[:end]


def split(scheme: str, rest: str) -> Parts:
    """The parts of an address, from the text after the slashes.

    >>> split("https", "example.com@evil.org:80/x").host, split("https", "evil.org\\\\@example.com").host
    ('evil.org', 'evil.org')
    """
    authority = _AFTER.split(rest.lstrip("/\\"), maxsplit=1)[0]
    user, _, place = authority.rpartition("@")
    if place.startswith("["):
        host, _, port = place.partition("]")
        return Parts(scheme, user, f"{host.lower()}]", port.lstrip(":"))
    host, _, port = place.partition(":")
    return Parts(scheme, user, host.lower().rstrip("."), port)


def _problem(parts: Parts, schemes: frozenset[str]) -> tuple[str, str] | None:
    """The problem of an address, no matter which hosts are allowed."""
    host = parts.host
    if parts.scheme not in schemes if schemes else parts.scheme in _RISKY - {"file"}:
        return f"An address has the scheme {parts.scheme!r}", _by_scheme(schemes)
    if parts.scheme not in _WEB:
        return None
    if parts.user:
        return (
            # prose: allow behind (hiding behind something is the idiom)
            f"An address hides its host {host[:80]!r} behind a user name",
            "Write addresses without a user name and @.",
        )
    if not host:
        return "An address has no host", _WHOLE
    if host.startswith("["):
        return None if _is_ipv6(host[1:-1]) else ("An address is not well formed", _WHOLE)
    if _NUMERIC.match(host):
        plain = _DOTTED.match(host) and all(len(one) < 2 or one[0] != "0" for one in host.split("."))
        if plain and all(int(one) < 256 for one in host.split(".")):
            return None
        return f"An address gives its host as the number {host[:80]!r}", "Write the name of the host."
    if not all(map(_LABEL.match, host.split("."))) or len(host) > 253 or not _is_port(parts.port):
        return "An address is not well formed", _WHOLE
    plain_host = _plain(host)
    if _is_posing(plain_host):
        twin = fold(plain_host)
        return (
            f"An address is written with letters that look like {twin[:80]!r}",
            "Write the host with its own letters.",
        )
    return None


def _is_port(port: str) -> bool:
    return _PORT.match(port) is not None and int(port or 0) < 65_536


def _is_ipv6(address: str) -> bool:
    try:
        IPv6Address(address)
    except ValueError:
        return False
    return True


def _by_scheme(schemes: frozenset[str]) -> str:
    return f"Link only to addresses with {' or '.join(sorted(schemes or _WEB))}."


def _is_posing(host: str) -> bool:
    return (
        not host.isascii()
        and any(not _is_latin(sign) for sign in host)
        and re.fullmatch(r"[a-z0-9.\-]+", fold(host)) is not None
    )


def _is_latin(sign: str) -> bool:
    return sign.isascii() or "\u00c0" <= sign <= "\u024f"


def _plain(host: str) -> str:
    """A host with its `xn--` parts decoded."""
    return ".".join(map(_decoded, host.split("."))) if "xn--" in host else host


def _decoded(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label


def _unlisted(host: str, allow: tuple[str, ...]) -> tuple[str, str] | None:
    """The problem of a host that is not on the list; it may look like one that is."""
    plain = _plain(host)
    if any(plain == one or plain.endswith(f".{one}") for one in allow):
        return None
    hint = f"Link only to {', '.join(allow[:8])}." if allow else "Give no addresses."
    folded = fold(plain)
    for one in allow:
        if folded == one or folded.endswith(f".{one}"):
            return f"The host {host[:80]!r} only looks like {one!r}", hint
    near = nearest(folded, allow) if len(folded) < 100 else None
    also = f"; it is close to {near!r}" if near else ""
    return f"The host {host[:80]!r} is not allowed{also}", hint
