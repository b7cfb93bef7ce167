"""Secrets in the text of providers and SDKs: keys, tokens and passwords are masked wherever they appear, in any notation.

This module takes a text and the values that are known to be secret, and returns the text with `[key]` in place of each secret. Providers
repeat the key that they refuse, SDKs repeat the URL with its query, and servers repeat the headers that they received. This module does
not mask the text of a model's reply.
"""

import re
from collections.abc import Iterable

from trueup.verdict.patterns import lazy_regex

MARK = "[key]"

# Keys and tokens of the large providers and clouds, in a reply: strict patterns, because a reply may be about anything.
KINDS = (
    ("an API key", r"\b(?:sk|pk|rk)[-_](?:[a-z_\-]{0,7}[A-Z0-9][\w\-]{12,}|[a-z_\-]{8,}[A-Z0-9][\w\-]{6,}|[a-z]{20,})"),
    (
        "an API key",
        r"\b(?:gsk|xai|hf|nvapi|pplx|glpat)[-_](?:[a-z_\-]{0,7}[A-Z0-9][\w\-]{16,}|[a-z_\-]{8,}[A-Z0-9][\w\-]{9,})",
    ),
    ("a bearer token", r"(?i)\bbearer\s+[A-Za-z0-9._~+/\-]{16,}=*"),
    ("a GitHub token", r"\bgh[pousr]_[A-Za-z0-9]{30,}"),
    ("a gateway key", r"\btu-[0-9a-f]{48}"),  # of the gateway's own clients
    ("an AWS access key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("a Google API key", r"\bAIza[0-9A-Za-z_\-]{30,}"),
    ("a Slack token", r"\bxox[abpr]-[A-Za-z0-9\-]{10,}"),
    ("a JSON Web Token", r"\beyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]+"),
    ("a private key", r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----"),
)
FORMS = tuple(form for _, form in KINDS)
# A quick test of JSON: without a match, it has no secret. The letter of an escape may come before a key, so there is no word boundary.
HINT = (
    rb"[spr]k[-_][A-Za-z0-9_\-]{16}|(?:xai|hf|nvapi|pplx|glpat)[-_][A-Za-z0-9_\-]{20}|(?i:bearer)|gh[pousr]_[A-Za-z0-9]{30}"
    rb"|tu-[0-9a-f]{48}|AKIA|ASIA|AIza|xox[abpr]-|eyJ|PRIVATE KEY"
)
# Keys in a provider's error, whole or with stars in the middle: little else in an error looks like a key.
_KEYS = lazy_regex(
    r"\b(?:[spr]k[-_]|(?:gsk|hf|r8|fw|tgp|gh[opusr]|github_pat)_|(?:xai|csk|nvapi|pplx|glpat|sess)-)"
    r"(?=[a-z_\-]{0,60}[A-Z0-9*.]|[a-z]{20})[A-Za-z0-9*][\w\-*.]{9,}[\w*]"
    r"|\btu-[0-9a-f]{48}|\bAIza[\w\-*]{8,}|\b(?:AKIA|ASIA)[0-9A-Z]{12,}|\bya29\.[\w\-.]{10,}|\bxox[abprs]-[\w\-]{10,}"
    r"|\beyJ[\w\-]{6,1500}\.[\w\-]{6,}(?:\.[\w\-]*)?"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?<=://)[^\s/:@\"']{0,200}:[^\s@\"']{1,200}(?=@)"  # the user and the password of an address
)
_SCHEMES = lazy_regex(r"\b(bearer|basic)(\s+|%20)(?=[^\s\"',;]*[\d._~+/=\-])[\w.~+/%\-]{8,}=*", re.IGNORECASE)
# A secret recognized by the name before it: in a header, a query, JSON or a shell variable.
_NAMES = (
    r"(?:[\w\-]{0,40}(?:api[-_]?key|access[-_]?key(?:[-_]?id)?|secret(?:[-_]access)?(?:[-_]key)?|private[-_]key|auth[-_]?token"
    r"|access[-_]token|refresh[-_]token|session[-_]token|security[-_]token|password|passwd|credential|signature)"
    r"|(?:proxy-)?authorization|(?:set-)?cookie|(?-i:[A-Z][A-Z0-9_]{0,40}_(?:KEY|TOKEN|SECRET)))"
)
_NAMED = lazy_regex(rf"(?i:\b({_NAMES}[\"']?\s*[:=]\s*[\"']?(?:(?:bearer|basic)\s+)?))([^\s\"'&,;{{}}\[\]()<>]{{4,}})")
_COOKIE = lazy_regex(r"(\b(?:set-)?cookie[\"']?\s*[:=]\s*[\"']?)([^\r\n\"']{4,})", re.IGNORECASE)
_QUERY = lazy_regex(
    r"([?&](?:[\w\-]{0,40}key|[\w\-]{0,40}token|sig|signature|code|auth|secret|password|pwd|subscription-key)=)([^\s&\"'#<>]+)",
    re.IGNORECASE,
)


def masked(text: str, values: Iterable[str] = ()) -> str:
    """A text without its secrets; `values` are known secrets.

    >>> masked("Incorrect API key provided: sk-proj-abc123********wxyz.")
    'Incorrect API key provided: [key].'
    >>> masked("GET https://me:pw@host/v1?key=0123 failed; x-api-key: hush-hush", ["hush-hush"])
    'GET https://[key]@host/v1?key=[key] failed; x-api-key: [key]'
    """
    if not text:
        return text
    for value in values:
        if value in text:
            text = text.replace(value, MARK)
    text = _KEYS.sub(MARK, text)
    text = _SCHEMES.sub(rf"\1\2{MARK}", text)
    for pattern in (_QUERY, _COOKIE, _NAMED):
        text = pattern.sub(rf"\1{MARK}", text)
    return text
