"""Translate filters of stored verdicts into the end of a query; each filter has an index.

A filter repeats the condition of its index literally, so that both databases see that the index applies. Texts of any length
are indexed by their beginning, because PostgreSQL rejects long ones. Only `text` is searched row by row.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from trueup.store.cells import pack, to_text
from trueup.store.errors import MICROS

COLUMNS = (
    "id", "at", "request", "attempt", "tenant", "person", "model", "contract", "state", "ok", "outcome", "reason",
    "codes", "attempts", "latency", "tokens_in", "tokens_out", "cost", "fingerprint", "engine", "context", "conversation",
    "kept",
)  # fmt: skip
MOST = 200  # characters of a text in an index
_WHOLE = ("model", "contract", "fingerprint", "conversation")  # indexed unless empty
_BEGINNING = ("state", "tenant")  # the same, by their beginning
_OTHERS = ("since", "until", "after", "upto", "code", "rule", "label", "text", "limit")
_WORDS = {"helpful": 1, "not_helpful": 0}  # the labels for yes and no

Place = tuple[int, str]
"""A verdict's position among all: its time in microseconds since 1970, and its id."""


class SelectedVerdicts(NamedTuple):
    """The verdicts that match some filters."""

    joins: str
    """What follows `FROM verdicts v`."""
    where: str
    """The conditions, after all joins."""
    values: tuple[Any, ...]
    at: str
    """The time column of the index that is used."""
    id: str
    """Its id column."""
    text: str
    """Text that the reply must contain, ignoring case; empty: anything."""
    limit: int | None

    def tail(self, order: str) -> str:
        """The end of a query, after its joins."""
        cut = "" if self.limit is None or self.text else f" LIMIT {int(self.limit)}"
        return f"{self.where} ORDER BY {order}{cut}"

    @property
    def in_order(self) -> str:
        """The order of `Place`."""
        return f"{self.at}, {self.id}"


def choose(
    *, since: float | None = None, until: float | None = None, after: Place | None = None, upto: Place | None = None,
    code: str | None = None, rule: str | None = None, label: str | None = None, text: str | None = None,
    limit: int | None = None, **equal: Any,
) -> SelectedVerdicts:  # fmt: skip
    """The verdicts with these properties; None means any value."""
    facts = [f"{kind}:{name}" for kind, name in (("code", code), ("rule", rule)) if name is not None]
    at, by = ("f.at", "f.verdict") if facts else ("v.at", "v.id")
    terms = _Terms()
    if facts:
        terms.add("f.fact = ?", fact(facts[0]))
        for other in facts[1:]:
            terms.add("v.id IN (SELECT verdict FROM facts WHERE fact = ?)", fact(other))
    if label is not None:
        _labelled(terms, label)
    for name, value in equal.items():
        if value is not None:
            _equal(terms, name, value)
    start = round((since or 0.0) * MICROS)
    terms.add(f"{at} >= ?", start if after is None else max(start, after[0]))
    if until is not None:
        terms.add(f"{at} < ?", round(until * MICROS))
    if after is not None:
        terms.add(f"({at}, {by}) > (?, ?)", *after)
    if upto is not None:
        terms.add(f"{at} <= ?", upto[0])
        terms.add(f"({at}, {by}) <= (?, ?)", *upto)
    if limit is not None and limit < 0:
        raise ValueError(f"limit must be a number of verdicts, 0 or more; got {limit!r}")
    joined = "JOIN facts f ON f.verdict = v.id" if facts else ""
    return SelectedVerdicts(joined, f"WHERE {' AND '.join(terms.said)}", tuple(terms.values), at, by, text or "", limit)


def fact(said: str) -> str:
    """A fact about a verdict, `code:V005` or `rule:NAME`, as its table stores it: a long one by its beginning and a hash of
    all of it.
    """
    if len(said) > MOST:
        mark = blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        said = f"{said[: MOST - len(mark)]}{mark}"
    return pack(said)


def contains(body: bytes | None, text: str) -> bool:
    """Whether the reply in a stored body contains a text, ignoring case."""
    if body is None:
        return False
    return text.casefold() in text_of(body).casefold()


def text_of(body: bytes) -> str:
    """The text of the reply in a stored body."""
    try:
        return _read(body).reply.text
    except (msgspec.MsgspecError, UnicodeDecodeError):
        import json

        found = json.loads(to_text(body)).get("reply") or {}
        return str(found.get("text") or "")


class _Reply(msgspec.Struct):
    text: str = ""


class _Body(msgspec.Struct):
    reply: _Reply = msgspec.field(default_factory=_Reply)


_read = msgspec.json.Decoder(_Body).decode


class _Terms:
    """Conditions with their values."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.values: list[Any] = []

    def add(self, said: str, *values: Any) -> None:
        self.said.append(said)
        self.values += values


def _equal(terms: _Terms, name: str, value: Any) -> None:
    column = {"user": "person"}.get(name, name)
    if column not in COLUMNS:
        raise ValueError(f"verdicts have no {name!r}; they have {', '.join((*COLUMNS, *_OTHERS))}")
    if column == "ok":
        terms.add(f"v.ok = {int(bool(value))}")  # in the index's own form
        return
    cell = pack(value) if isinstance(value, str) else int(value)
    if column in _BEGINNING and cell:
        # With a plain `=`, SQLite would put the value into the other term, and no longer match the index.
        terms.add(
            f"substr(v.{column}, 1, {MOST}) = ? AND v.{column} <> '' AND v.{column} || '' = ?", str(cell)[:MOST], cell
        )
        return
    if column in _WHOLE and cell:
        terms.add(f"v.{column} <> ''")
    elif column == "outcome" and cell != "accepted":
        terms.add("v.outcome <> 'accepted'")
    terms.add(f"v.{column} = ?", cell)


def _labelled(terms: _Terms, label: str) -> None:
    """The author's statement, as an outcome, a label, or a yes or no."""
    cell = pack(label)
    found = ["SELECT verdict FROM feedback WHERE outcome = ? AND outcome <> ''"]
    found += [f"SELECT verdict FROM feedback WHERE substr(label, 1, {MOST}) = ? AND label <> '' AND label || '' = ?"]  # noqa: S608 - our own words
    values: Sequence[Any] = [cell, cell[:MOST], cell]
    if label in _WORDS:
        found.append(f"SELECT verdict FROM feedback WHERE helpful = {_WORDS[label]} AND helpful IS NOT NULL")  # noqa: S608
    terms.add(f"v.id IN ({' UNION '.join(found)})", *values)
