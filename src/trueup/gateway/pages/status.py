"""The status page at `/`: one HTML page about a gateway.

It fetches nothing and runs no script; every word on it is escaped. It shows names of routes, contracts and models, and
counts; no text of a request or a reply, no key, no address and no tenant. If there are client keys, it needs one, and counts
only that tenant's requests.
"""

import base64
import hashlib
import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from trueup.gateway.config import Config, Route
from trueup.store.stats import Recent

_ROWS = 50  # rows of a table; a gateway may have many routes and models
_STYLE = """
:root { color-scheme: light dark; --ink: #1a2221; --soft: #5a6664; --line: #d9e0de; --page: #fbfcfc; --good: #0b6e5f; --bad: #b3261e }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4eae8; --soft: #9aa8a5; --line: #33403d; --page: #131a18; --good: #5fd0bb; --bad: #ff9d94 }
}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 3rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.4rem; margin: 0 }
h2 { font-size: 1.05rem; margin: 2rem 0 .5rem }
p { margin: .25rem 0 }
.soft { color: var(--soft) }
.good { color: var(--good); font-weight: 600 }
.bad { color: var(--bad); font-weight: 600 }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .75rem .35rem 0; text-align: left; vertical-align: top;
  min-width: 4.5rem }
th { color: var(--soft); font-weight: 500 }
.n { width: 7rem; text-align: right; padding-right: 0; font-variant-numeric: tabular-nums; white-space: nowrap }
a { color: var(--good) }
nav a { margin-right: 1rem }
"""
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Status(NamedTuple):
    """The content of the page."""

    version: str
    uptime: float  # seconds
    problems: Sequence[str]  # why it is not ready; empty if it is
    routes: Sequence[Route]
    contracts: Sequence[str]
    recent: Recent | str  # the last hour, or why it is unknown


def is_local(host: str, config: Config) -> bool:
    """Whether a page that needs no key may be served under this host name: an address, this machine's name, or the configured
    one.

    Otherwise a site that points its own name at this machine could read the page.

    >>> config = Config({})
    >>> [is_local(host, config) for host in ("127.0.0.1:8080", "[::1]:80", "localhost", "evil.example", "")]
    [True, True, True, False, False]
    """
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    name = name.strip("[]").lower().rstrip(".")
    if name in ("localhost", config.host.lower()):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def key_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers in the form that admission reads: a browser can only send a key as the password of basic authentication."""
    scheme, _, said = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return dict(headers)
    try:
        name, _, password = base64.b64decode(said.strip(), validate=True).decode().partition(":")
    except ValueError:
        return dict(headers)
    return {**headers, "x-api-key": password or name}


def contract_names(config: Config) -> list[str]:
    """The names of all contracts, each once."""
    bound = (route.contract.name for route in config.routes if route.contract is not None)
    return sorted({*config.contracts, *filter(None, bound)})


def page(status: Status) -> str:
    """The page as HTML."""
    ready = (
        f'<span class="bad">not ready: {escape(", ".join(status.problems))}</span>'
        if status.problems
        else '<span class="good">ready</span>'
    )
    contracts = ", ".join(status.contracts[:_ROWS]) or "none"
    routes = [(each.name, ", ".join(each.models) or f"/{each.name}/v1", _contract(each)) for each in status.routes]
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>trueup gateway</title>
<style>{_STYLE}</style>
</head>
<body>
<header>
<h1>trueup gateway</h1>
<p>{ready} <span class="soft">· version {escape(status.version)} · up {_lasted(status.uptime)}</span></p>
</header>
<main>
<h2>Routes</h2>
{_table(("route", "models", "contract"), routes) if routes else "<p>None: replies are passed through.</p>"}
<p class="soft">Contracts: {escape(contracts)}</p>
{_last_hour(status.recent)}
</main>
<h2>More</h2>
<nav><a href="metrics">metrics</a> <a href="openapi.json">openapi.json</a> <a href="readyz">readyz</a></nav>
</body>
</html>
"""


def _last_hour(recent: Recent | str) -> str:
    if isinstance(recent, str):
        return f'<h2>Last hour</h2>\n<p class="soft">{escape(recent)}</p>'
    if not recent.requests:
        return '<h2>Last hour</h2>\n<p class="soft">No request under a contract.</p>'
    outcomes = [(name, f"{n:,}", f"{n / recent.requests:.1%}") for name, n in recent.outcomes]
    models = [(name or "(none)", f"{asked:,}", f"{retried / asked:.1%}") for name, asked, retried in recent.models]
    more = " There were more; the latest are counted." if recent.is_cut else ""
    return f"""<h2>Last hour</h2>
<p class="soft">Requests under a contract: {recent.requests:,}.{more}</p>
{_table(("outcome", "requests", "share"), outcomes, numbers=2)}
<h2>Models</h2>
{_table(("model", "requests", "asked again"), models, numbers=2)}"""


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0) -> str:
    """A table whose last columns are numbers."""

    def cells(tag: str, values: Iterable[str]) -> str:
        kinds = [""] * (len(heads) - numbers) + [' class="n"'] * numbers
        return "".join(f"<{tag}{kind}>{escape(value)}</{tag}>" for kind, value in zip(kinds, values, strict=True))

    body = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows[:_ROWS])
    more = f'\n<p class="soft">and {len(rows) - _ROWS:,} more</p>' if len(rows) > _ROWS else ""
    return f"<table>\n<thead><tr>{cells('th', heads)}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>{more}"


def _contract(route: Route) -> str:
    return "none: passed through" if route.contract is None else route.contract.name or "(unnamed)"


def _lasted(seconds: float) -> str:
    """A duration in its two largest units.

    >>> _lasted(42), _lasted(3700), _lasted(90_061)
    ('42 s', '1 h 1 min', '1 d 1 h')
    """
    left = int(seconds)
    parts: list[str] = []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        if left >= size or (unit == "s" and not parts):
            parts.append(f"{left // size} {unit}")
            left %= size
    return " ".join(parts[:2])
