"""`no_secrets`: keys, tokens, private keys and passwords in a reply. Takes a reply; returns the position and kind of
each secret.

Most forms of keys come from the table in `verdict.secrets`, which the store uses to redact them; forms that rarely
occur in the messages of providers are here. Values that only show the form (`sk-your-key-here`, `AKIA…EXAMPLE`) are not
secrets.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from trueup.shelf.options import OptionReader
from trueup.shelf.subject import CheckedText, Look, ReadyFinding
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.secrets import KINDS

# In addition to the forms of `verdict.secrets`: the kind of secret, its form, and whether it is a random value.
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
    ("a Vault token", r"\bhv[sbr]\.[\w\-]{24,300}"),
    ("a Shopify token", r"\bshp(?:at|ca|pa|ss)_[0-9a-f]{32}\b"),
    ("a Square token", r"\bsq0(?:atp|csp)-[\w\-]{22,60}"),
    ("an Atlassian token", r"\bATATT3[\w\-=]{20,300}"),
    ("a Databricks token", r"\bdapi[0-9a-f]{32}\b"),
    ("a Linear key", r"\blin_api_[A-Za-z0-9]{32,60}\b"),
    ("a Mailgun key", r"\bkey-[0-9a-f]{32}\b"),
    ("a GitLab token", r"\bgl(?:pat|ptt|rt|dt|cbt|soat)-[\w\-]{20,60}"),
    ("a Slack token", r"\bxapp-\d-[A-Z0-9]{8,14}-\d{8,14}-[0-9a-f]{32,80}\b"),
    ("a Discord token", r"\b[MNO][\w\-]{23,25}\.[\w\-]{6}\.[\w\-]{27,40}"),
    ("basic credentials", r"(?i:\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?basic\s{1,3})[A-Za-z0-9+/]{12,400}={0,2}"),
    ("a secret key", r"(?i:(?:\b|_)(?:api|secret|access|auth|client|private)[_\- ]?(?:access[_\- ]?)?(?:key|token|secret))[\"'`*]{0,3}(?:\s{0,3}(?:=>|[:=])|\s{1,3}is\b:?)\s{0,3}[\"'`*]{0,3}[A-Za-z0-9_\-+/.]{20,120}={0,2}"),
    ("a password", r"(?i:(?:\b|_)(?:password|passwd|passphrase|pwd))[\"'`*]{0,3}\s{0,3}(?:=>|[:=])\s{0,3}[\"'`*]{0,3}[^\s\"'`<>(){}\[\]$,;|*]{8,100}"),
    ("a password", r"\b[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s/:@\"'<>]{0,100}:[^\s/@\"'<>]{1,100}@[A-Za-z0-9\[]"),
)  # fmt: skip
_TABLE = (*KINDS, *_MORE)
_ANY = lazy_regex(lambda: "|".join(f"({_inner(form)})" for _, form in _TABLE), re.ASCII)
_PRIVATE = "a private key"
_PASSWORD = "a password"
_NAMED = frozenset({"a secret key", "a bearer token"})  # the text before the value is part of the form
_KEY_BODY = lazy_regex(r"(?:\s|\\n)(?:[A-Za-z\-]{4,20}: ?[^\n]{0,80}\n){0,3}\s{0,40}(?:\\n)?[A-Za-z0-9+/=]{32}")
_SHOWN = lazy_regex(
    r"x{4}|\*{3}|\.{3}|…|(?:example|sample|dummy|changeme|redacted|placeholder|abcdef|012345|123456|fake|test[_\-]?key|your|\bmy[_\-])",
    re.IGNORECASE,
)
_STANDS_FOR = frozenset(
    "password passwd pass pwd pw secret token key user username hunter2 changeme example xxx xxxx postgres root admin test guest foo bar baz".split()
)
_ASSIGNED = lazy_regex(r"\A[^:=]*(?:=>|[:=])[\s\"'`*]*")
_CODE_GOES_ON = frozenset("([{$<")
_NO_PASSWORD = lazy_regex(
    r"\A[/~.]|\A[A-Za-z_]\w*(?:[.:/]+\w+)+\Z|pass|word|secret|\Asha\d|://|\Amin|\Amax", re.IGNORECASE
)
_FEWEST = 8  # different characters in a random value
_HINT = "Leave out every key, token and password; write a placeholder such as YOUR_API_KEY instead."


def _inner(form: str) -> str:
    """A form as one alternative of several: a flag for the whole expression becomes a flag for the alternative."""
    return f"(?i:{form[4:]})" if form.startswith("(?i)") else form


@cache
def _hint() -> Any:
    """The same forms for an engine that can say quickly, in one pass, that there is no match."""
    import re2

    from trueup.checks.patterns import options

    chosen = options()
    chosen.encoding = re2.Options.Encoding.LATIN1
    return re2.compile("|".join(f"(?:{_inner(form)})" for _, form in _TABLE).encode(), chosen)


def compile_check(given: Mapping[str, Any]) -> Look:
    """The check; it has no options.

    >>> look = compile_check({})
    >>> [told.message for told in look(CheckedText("Use AKIA" + "QX7LTZ3M9KPWB2DR now."))]
    ['The reply contains an AWS access key']
    """
    OptionReader("no_secrets", given, ())
    return _look


def _look(seen: CheckedText) -> Iterator[ReadyFinding]:
    if not _hint().search(seen.text.encode("utf-8", "replace")):
        return
    for found in _ANY.finditer(seen.text):
        kind = _TABLE[(found.lastindex or 1) - 1][0]
        if _is_real(kind, found, seen.text):
            data = {"kind": kind.partition(" ")[2], "length": found.end() - found.start()}
            start = found.start() + (found[0][0] == "_")  # part of a longer name
            yield ReadyFinding(f"The reply contains {kind}", _HINT, (start, found.end()), data)


def _is_real(kind: str, found: re.Match[str], text: str) -> bool:
    """Whether a match is a secret, and not just an example of its form."""
    value = found[0]
    if kind == _PRIVATE:
        return _KEY_BODY.match(text, found.end()) is not None
    if kind == _PASSWORD:
        in_address = re.match(r"[A-Za-z][A-Za-z0-9+.\-]*://", value)
        return _is_password(value) if in_address else _is_chosen(value, text[found.end() : found.end() + 1])
    if _SHOWN.search(value):
        return False
    if kind in _NAMED:
        value = re.split(r"[:=\s\"'`*>]", value.rstrip("="))[-1] or value
        if not any(len(part) > 5 and _is_mixed(part) for part in re.split(r"[_\-./+]", value)):
            return False  # words with punctuation between them are a name
    return _is_mixed(value) and len(set(value)) >= _FEWEST


def _is_mixed(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _is_password(address: str) -> bool:
    """Whether the password in an address is a real one, and not a word for it."""
    user, _, password = address.partition("://")[2].rpartition("@")[0].partition(":")
    return (
        password.strip("*.…") != ""
        and password.lower() not in _STANDS_FOR
        and password != user
        and not any(sign in password for sign in "{}$<>[]()|,")
        and not _SHOWN.search(password)
    )


def _is_chosen(assigned: str, after: str) -> bool:
    """Whether the value assigned to a password is a real one: letters and digits, and neither a path nor code."""
    value = _ASSIGNED.sub("", assigned).rstrip(".!?")
    return (
        after not in _CODE_GOES_ON
        and len(set(value)) >= _FEWEST - 2
        and _is_mixed(value)
        and not _NO_PASSWORD.search(value)
        and not _SHOWN.search(value)
    )
