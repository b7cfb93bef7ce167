"""`urls`: the addresses in a reply. A reply enters; addresses that are broken, that mislead, or that are not on the list leave.

An address has a scheme and `//`, or begins with `www.`; links of Markdown may also have a scheme alone (`javascript:`). Nothing is
fetched. A host is compared as a browser reads it: behind the user name, in small letters, with the letters that an `xn--` name stands for.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from trueup.checks.folding import fold
from trueup.shelf.options import Options
from trueup.shelf.seen import Look, Seen, Told
from trueup.verdict.likeness import nearest
from trueup.verdict.patterns import lazy_regex

_URL = lazy_regex(
    r"(?<![\w@/.\-])(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]{1,30}):(?://|\\\\|/\\|\\/)|(?P<www>www\.(?=[\w\-])))(?P<rest>[^\s<>\"`|^]{1,4000})"
    r"|\]\(\s{0,3}(?P<bare>(?i:javascript|data|vbscript|file|blob)):[^\s)]{0,4000}"
    r"|\]\(\s{0,3}//(?P<host>[^\s)<>\"`]{1,4000})",
)
_TEMPLATE = lazy_regex(r"[{}$*\[(<]|\.\.\.|…|%s|%\(")
_LABEL = lazy_regex(r"[^\W\-][\w\-]{0,62}\Z", re.UNICODE)
_DOTTED = lazy_regex(r"\d{1,3}(?:\.\d{1,3}){3}\Z")
_NUMERIC = lazy_regex(r"(?:0x[0-9a-f]+|\d+)(?:\.(?:0x[0-9a-f]+|\d+)){0,3}\Z", re.IGNORECASE)
_PORT = lazy_regex(r"\d{0,5}\Z")
_TRAILING = ".,;:!?'\"*_~"
_WEB = frozenset({"http", "https"})
_RISKY = frozenset({"javascript", "data", "vbscript", "file", "blob"})
_KNOWN = ("allow", "schemes")


class Parts(NamedTuple):
    """An address in its parts, as a browser takes them."""

    scheme: str
    user: str
    host: str
    port: str


def compile_check(given: Mapping[str, Any]) -> Look:
    """The check; `allow` lists the hosts that may be linked to, with all below them, and `schemes` what may stand before `://`
    (http and https where `allow` is given, else any but those that run something).

    >>> look = compile_check({"allow": ["example.com"]})
    >>> text = "See https://docs.example.com/a and https://example.com@evil.org/."
    >>> [told.message for told in look(Seen(text))]
    ["An address hides its host 'evil.org' behind a user name"]
    """
    options = Options("urls", given, _KNOWN)
    allow = None if given.get("allow") is None else tuple(map(_listed, options.texts("allow")))
    schemes = frozenset(one.lower().rstrip(":/") for one in options.texts("schemes"))
    if allow is not None and not schemes:
        schemes = _WEB
    for one in allow or ():
        if not one or "/" in one or "@" in one or " " in one:
            raise options.bad("allow", f"takes hosts such as example.com; got {one!r:.60}")
    return lambda seen: _look(seen, allow, schemes)


def _listed(host: str) -> str:
    return _plain(host.strip().lower().removeprefix("*.").rstrip("."))


def _look(seen: Seen, allow: tuple[str, ...] | None, schemes: frozenset[str]) -> Iterator[Told]:
    for found in _URL.finditer(seen.text):
        if found["bare"]:
            scheme = found["bare"].lower()
            if scheme not in schemes:
                hint = _by_scheme(schemes)
                yield Told(
                    f"A link has the scheme {scheme!r}", hint, (found.start() + 2, found.end()), {"scheme": scheme}
                )
            continue
        told = _judged(found, allow, schemes)
        if told is not None:
            yield told


def _judged(found: re.Match[str], allow: tuple[str, ...] | None, schemes: frozenset[str]) -> Told | None:
    rest = found["rest"] or found["host"] or ""
    kept = _without_tail(rest)
    start = found.start() + (found[0].index("//") if found["host"] else 0)
    span = (start, found.end() - len(rest) + len(kept))
    scheme = (found["scheme"] or "https").lower()
    parts = split(scheme, ("www." if found["www"] else "") + kept)
    if _is_template(parts, kept):
        return None
    problem = _problem(parts, schemes) or (_unlisted(parts.host, allow) if allow is not None else None)
    if problem is None:
        return None
    message, hint = problem
    return Told(message, hint, span, {"scheme": scheme, "host": parts.host[:253]})


def _is_template(parts: Parts, kept: str) -> bool:
    """Whether what stands for a host is to be filled in: `https://{host}/`, `http://$HOST`, `https://…`."""
    return not kept.strip("./-") or (not parts.host.startswith("[") and bool(_TEMPLATE.search(parts.host)))


def _without_tail(rest: str) -> str:
    """The address without the punctuation behind it; a closing bracket stays if it has an opening one."""
    while rest:
        last = rest[-1]
        if last in _TRAILING or (last in ")]}" and rest.count(last) > rest.count("([{"[")]}".index(last)])):
            rest = rest[:-1]
        else:
            break
    return rest


def split(scheme: str, rest: str) -> Parts:
    """The parts of an address, from what stands behind the slashes.

    >>> split("https", "example.com@evil.org:80/x").host, split("https", "evil.org\\\\@example.com").host
    ('evil.org', 'evil.org')
    """
    authority = re.split(r"[/?#\\]", rest.lstrip("/\\"), maxsplit=1)[0]
    user, _, place = authority.rpartition("@")
    if place.startswith("["):
        host, _, port = place.partition("]")
        return Parts(scheme, user, f"{host.lower()}]", port.lstrip(":"))
    host, _, port = place.partition(":")
    return Parts(scheme, user, host.lower().rstrip("."), port)


def _problem(parts: Parts, schemes: frozenset[str]) -> tuple[str, str] | None:
    """What is wrong with an address, whatever hosts are allowed."""
    host = parts.host
    if parts.scheme not in schemes if schemes else parts.scheme in _RISKY - {"file"}:
        return (
            f"An address has the scheme {parts.scheme!r}",
            _by_scheme(schemes),
        )
    if parts.scheme not in _WEB:
        return None
    if parts.user:
        return (
            f"An address hides its host {host[:80]!r} behind a user name",
            "Write addresses without a user name and @.",
        )
    if not host:
        return "An address has no host", "Write whole addresses, such as https://example.com/page."
    if host.startswith("["):
        return None
    if _NUMERIC.match(host):
        plain = _DOTTED.match(host) and all(len(one) < 2 or one[0] != "0" for one in host.split("."))
        if plain and all(int(one) < 256 for one in host.split(".")):
            return None
        return f"An address writes its host as the number {host[:80]!r}", "Write the name of the host."
    if not all(map(_LABEL.match, host.split("."))) or len(host) > 253 or not _PORT.match(parts.port):
        return "An address is not well formed", "Write whole addresses, such as https://example.com/page."
    plain_host = _plain(host)
    if _is_posing(plain_host):
        twin = fold(plain_host)
        return (
            f"An address is written with letters that look like {twin[:80]!r}",
            "Write the host with its own letters.",
        )
    return None


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
    """A host with the letters that its `xn--` parts stand for."""
    return ".".join(map(_decoded, host.split("."))) if "xn--" in host else host


def _decoded(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label


def _unlisted(host: str, allow: tuple[str, ...]) -> tuple[str, str] | None:
    """What is wrong with a host that is not on the list; it may look like one that is."""
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
