"""Asking: takes the parameters of a request about the store and returns filters and places. A key with a tenant sees
only that tenant's verdicts.
"""

from typing import Any

import msgspec

from trueup.store.browsing import Filters
from trueup.store.selecting import Place
from trueup.studio.moments import moment
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import Key

_SAME = ("model", "contract", "fingerprint", "state", "tenant", "conversation", "code", "rule", "outcome", "ok", "label", "labelled", "text")  # fmt: skip
_MOST = 1_000  # letters of a filter


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A selection of verdicts; a parameter that is left out matches all."""

    since: str = ""
    """A span such as `7d`, a date, or seconds since 1970."""
    until: str = ""
    model: str | None = None
    contract: str | None = None
    fingerprint: str | None = None
    state: str | None = None
    tenant: str | None = None
    conversation: str | None = None
    code: str | None = None
    rule: str | None = None
    outcome: str | None = None
    ok: bool | None = None
    label: str | None = None
    labelled: bool | None = None
    text: str | None = None
    """Text that the reply contains, in upper or lower case."""


def filters_of(wanted: Wanted, who: Key) -> Filters:
    """The filters that a key may use."""
    given: dict[str, Any] = {name: getattr(wanted, name) for name in _SAME}
    for name, value in given.items():
        if isinstance(value, str) and len(value) > _MOST:
            raise RequestRefused(400, f"{name} has at most {_MOST:,} characters.")
    given["tenant"] = tenant_for(wanted.tenant, who)
    if given["text"] is not None and not given["text"].strip():
        given["text"] = None
    return Filters(since=moment("since", wanted.since), until=moment("until", wanted.until), **given)


def tenant_for(wanted: str | None, who: Key) -> str | None:
    """The requested tenant; None: all. A Refusal if the key may not see its verdicts."""
    if who.tenant is None:
        return wanted
    if wanted not in (None, who.tenant):
        raise RequestRefused(
            403,
            "Your key sees only the verdicts of one tenant.",
            code="no_right",
            hint="Remove the filter for the tenant.",
        )
    return who.tenant


def cursor_of(place: Place | None) -> str | None:
    """A place as text for the page."""
    return None if place is None else f"{place[0]}.{place[1]}"


def place_of(cursor: str) -> Place | None:
    """The place in a cursor; None if it is empty.

    >>> place_of("17.ab.c"), place_of("")
    ((17, 'ab.c'), None)
    """
    if not cursor:
        return None
    at, dot, name = cursor.partition(".")
    if not (dot and at.isascii() and at.isdigit() and len(at) < 18 and "\0" not in name and name.isprintable()):
        raise RequestRefused(400, "This cursor was not made by the studio.", hint="Begin again without it.")
    return int(at), name
