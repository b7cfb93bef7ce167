"""`no_secrets`: keys, tokens, private keys and passwords in a reply. A reply enters; where a secret is and of what kind leaves.

The forms of keys are those that the store redacts, from the one table in `verdict.secrets`; forms that are too rare in the words of
providers stand here. Values that only show the form (`sk-your-key-here`, `AKIA…EXAMPLE`) are not secrets.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from trueup.shelf.options import Options
from trueup.shelf.seen import Look, Seen, Told
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.secrets import KINDS

# Beside the forms of `verdict.secrets`: what kind of secret it is, its form, and whether it is drawn at random.
_MORE = (
    ("a GitHub token", r"\bgithub_pat_[A-Za-z0-9_]{60,90}"),
    ("an npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("a PyPI token", r"\bpypi-AgEIcHlwaS[\w\-]{50,250}"),
    ("a SendGrid key", r"\bSG\.[\w\-]{20,24}\.[\w\-]{39,50}"),
    ("a Stripe signing secret", r"\bwhsec_[A-Za-z0-9+/]{24,80}"),
    ("a Google OAuth token", r"\bya29\.[\w\-]{30,300}"),
    ("a DigitalOcean token", r"\bdo[opr]_v1_[0-9a-f]{64}\b"),
    ("a Telegram bot token", r"\b[0-9]{8,10}:AA[\w\-]{33}\b"),
    ("a Slack webhook", r"\bhooks\.slack\.com/services/T[A-Z0-9]{7,12}/B[A-Z0-9]{7,12}/[A-Za-z0-9]{20,28}\b"),
    ("an Azure storage key", r"\bAccountKey=[A-Za-z0-9+/]{86}=="),
    ("a secret key", r"(?i:\b(?:api|secret|access|auth|client|private)[_\-]?(?:access[_\-]?)?(?:key|token|secret))[\"']?\s{0,3}[:=]\s{0,3}[\"']?[A-Za-z0-9_\-+/.]{20,120}={0,2}"),
    ("a password", r"\b[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s/:@\"'<>]{0,100}:[^\s/@\"'<>]{1,100}@[A-Za-z0-9\[]"),
)  # fmt: skip
_TABLE = (*KINDS, *_MORE)
_ANY = lazy_regex(lambda: "|".join(f"({_inner(form)})" for _, form in _TABLE), re.ASCII)
_PRIVATE = "a private key"
_PASSWORD = "a password"
_KEY_BODY = lazy_regex(r"(?:\s|\\n)(?:[A-Za-z\-]{4,20}: ?[^\n]{0,80}\n){0,3}\s{0,40}(?:\\n)?[A-Za-z0-9+/=]{32}")
_SHOWN = lazy_regex(
    r"x{4}|\*{3}|\.{3}|…|(?:example|sample|dummy|changeme|redacted|placeholder|abcdef|012345|123456|fake|test[_\-]?key|your|\bmy[_\-])",
    re.IGNORECASE,
)
_STANDS_FOR = frozenset(
    "password passwd pass pwd pw secret token key user username hunter2 changeme example xxx xxxx postgres root admin test guest foo bar baz".split()
)
_FEWEST = 8  # different characters of a value that was drawn at random
_HINT = "Leave out every key, token and password; write a placeholder such as YOUR_API_KEY instead."


def _inner(form: str) -> str:
    """A form as one arm among others: a flag for all of it becomes a flag for the arm."""
    return f"(?i:{form[4:]})" if form.startswith("(?i)") else form


@cache
def _hint() -> Any:
    """The same forms for an engine that says in one quick pass that none of them is there."""
    import re2  # type: ignore[import-untyped]

    from trueup.checks.patterns import options

    chosen = options()
    chosen.encoding = re2.Options.Encoding.LATIN1
    return re2.compile("|".join(f"(?:{_inner(form)})" for _, form in _TABLE).encode(), chosen)


def compile_check(given: Mapping[str, Any]) -> Look:
    """The check; it takes no options of its own.

    >>> look = compile_check({})
    >>> [told.message for told in look(Seen("Use AKIA" + "QX7LTZ3M9KPWB2DR now."))]
    ['The reply holds an AWS access key']
    """
    Options("no_secrets", given, ())
    return _look


def _look(seen: Seen) -> Iterator[Told]:
    if not _hint().search(seen.text.encode("utf-8", "replace")):
        return
    for found in _ANY.finditer(seen.text):
        kind = _TABLE[(found.lastindex or 1) - 1][0]
        if _is_real(kind, found, seen.text):
            data = {"kind": kind.partition(" ")[2], "length": found.end() - found.start()}
            yield Told(f"The reply holds {kind}", _HINT, found.span(), data)


def _is_real(kind: str, found: re.Match[str], text: str) -> bool:
    """Whether a match is a secret, and not the form of one."""
    value = found[0]
    if kind == _PRIVATE:
        return _KEY_BODY.match(text, found.end()) is not None
    if kind == _PASSWORD:
        user, _, password = value.partition("://")[2].rpartition("@")[0].partition(":")
        return (
            password.strip("*.…") != ""
            and password.lower() not in _STANDS_FOR
            and password != user
            and not any(sign in password for sign in "{}$<>[]()|,")
            and not _SHOWN.search(password)
        )
    if _SHOWN.search(value):
        return False
    drawn = re.split(r"[:=\s\"']", value)[-1] if kind in ("a bearer token", "a secret key") else value
    drawn = drawn or value
    return any(sign.isdigit() for sign in drawn) and len(set(drawn)) >= _FEWEST and any(map(str.isalpha, drawn))
