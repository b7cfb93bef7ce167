"""Filling: writes sample traffic into an empty store, as if it had arrived over the last days, with people's labels and
tenants' quotas.

The store's own code writes the rows, in one transaction, with a clock that is set to each time: tallies, facts, buckets
and texts of contracts are the same as from a gateway.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec

from trueup.store import ledger, records
from trueup.store.books import Books, Memo
from trueup.store.contexts import bytes_kept
from trueup.store.errors import MICROS
from trueup.store.labels import Said
from trueup.store.ledger import Wish
from trueup.store.limits import start_of
from trueup.store.open import open_store
from trueup.store.redaction import Redaction
from trueup.store.session import Session
from trueup.store.sqlite import Sqlite
from trueup.store.store import Store
from trueup.store.texts import StoredTexts
from trueup.studio.demo.material import text
from trueup.studio.demo.traffic import DemoRequest, Traffic

_DAY, _HOUR, _MINUTE = 86_400, 3600, 60
_BACK = 7 * _DAY  # seconds
_RISE = 45 * _MINUTE  # seconds ago, when half as many requests came as now
_CHANGED = 2.5 * _DAY  # how long ago the contracts were changed
_LABELLED = 0.06  # share of the requests that people looked at
_REVIEWED = 0.6  # share of the refused tickets that people looked at, to find out why there are so many
_ENOUGH = 20  # letters of a summary that a support team can act on, whatever the contract says
_USED = {"north": 0.62, "harbour": 0.9, "meadow": 0.21}  # share of their quotas
_MINUTES_OF_A_HOLD = 300 * MICROS


class Placed(NamedTuple):
    """A request, and its time (microseconds since 1970)."""

    at: int
    request: DemoRequest
    label: str = ""
    """A person's label of its last verdict; empty: nobody looked."""
    author: str = ""


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def fill(path: Path, traffic: Traffic, chance: Random, now: int, size: int = 2600) -> None:
    """Write about `size` requests of the days before `now` (microseconds) into a new store at `path`."""
    with open_store(path):
        pass  # its tables
    placed = sorted([*_recent(traffic, chance, now, size), *_bookings(traffic, chance, now)], key=lambda each: each.at)
    named = [each._replace(request=_renamed(each, number)) for number, each in enumerate(placed)]
    clock = Hand()
    session = Sqlite(path, clock).connect(writing=True)
    try:
        session.begin(lasting=False)
        _write(session, clock, named)
        _charge(session, clock, named)
        session.commit()
    finally:
        session.close()
    with open_store(path) as store:
        store.record_all([
            Said(each.request.last.id, user=each.author, outcome=each.label, drawn="random", at=(each.at + 600 * MICROS) / MICROS)
            for each in named
            if each.label and each.at + 600 * MICROS < now
        ])  # fmt: skip
        store.record_all(list(_reviews(named, chance, now)))
        _limit(store, named, now)


def _recent(traffic: Traffic, chance: Random, now: int, size: int) -> Iterator[Placed]:
    """Requests of the last days: more and more of them, and fewer at night."""
    left = size
    while left > 0:
        ago = _RISE * ((1 + _BACK / _RISE) ** chance.random() - 1)
        if ago > _HOUR and chance.random() > _busy(now / MICROS - ago):
            continue
        for turn, request in enumerate(traffic.conversation(old=ago > _CHANGED)):
            label = ""
            if chance.random() < _LABELLED:
                label = "right" if request.last.verdict.ok is not request.is_wrong else "wrong"
            at = now - int(ago * MICROS) + turn * 40 * MICROS
            if at <= now:
                yield Placed(at, request, label, chance.choice(("ada", "bo")))
                left -= 1


def _busy(at: float) -> float:
    """How busy an hour is, by UTC: quiet at night."""
    hour = at % _DAY / _HOUR
    return 1.0 if 8 <= hour < 19 else 0.55 if 6 <= hour < 23 else 0.2


def _bookings(traffic: Traffic, chance: Random, now: int) -> Iterator[Placed]:
    """The recorded replies, each with its label."""
    labels = {row["verdict"]: row for row in map(json.loads, filter(None, text("booking/labels.jsonl").split("\n")))}
    times = sorted(now - int(chance.uniform(_HOUR, 7 * _DAY) * MICROS) for _ in range(400))
    for at, (unit, request) in zip(times, traffic.booking(), strict=False):
        row = labels.get(unit, {})
        yield Placed(at, request, row.get("outcome", ""), row.get("author", ""))


def _reviews(placed: list[Placed], chance: Random, now: int) -> Iterator[Said]:
    """A person's label of a refused ticket: refusing a summary that is long enough to act on was wrong."""
    for at, request, *_ in placed:
        for note in request.notes[:-1]:
            if note.contract != "triage" or at + 900 * MICROS >= now or chance.random() >= _REVIEWED:
                continue
            data = note.verdict.data
            is_alarm = {each.code for each in note.verdict.errors} == {"B005"} and len(data["summary"]) >= _ENOUGH
            outcome = "wrong" if is_alarm else "right"
            yield Said(note.id, user="ada", outcome=outcome, drawn="uncertain", at=(at + 900 * MICROS) / MICROS)


def _renamed(placed: Placed, number: int) -> DemoRequest:
    """A request whose ids contain its time, like all ids of a store."""

    def name(turn: int, old: str) -> str:
        return f"{placed.at // 1000:011x}{(number * 8 + turn) & 0xFFFFF:05x}{old[16:]}"

    notes = placed.request.notes
    ids = [name(turn, note.id) for turn, note in enumerate(notes)]
    return placed.request._replace(
        notes=tuple(
            msgspec.structs.replace(note, id=new, request=ids[-1] if note.request else "")
            for note, new in zip(notes, ids, strict=True)
        )
    )


def _write(session: Session, clock: Hand, placed: list[Placed]) -> None:
    texts, redaction, kept = StoredTexts(), Redaction(), bytes_kept(keep=True)
    seen: set[str] = set()
    for at, request, *_ in placed:
        clock.now = at
        records.insert(session, request.notes, redaction, kept)
        if request.last.fingerprint not in seen:
            seen.add(request.last.fingerprint)
            texts.insert(session, request.notes, redaction)


def _charge(session: Session, clock: Hand, placed: list[Placed]) -> None:
    """Count what each tenant used, hour by hour: a hold for all replies of the hour, captured, and the cost of each."""
    hours: dict[tuple[int, str], list[Placed]] = defaultdict(list)
    for each in placed:
        if each.request.last.outcome != "failed":
            hours[each.at // (_HOUR * MICROS), each.request.last.tenant].append(each)
    memo = Memo()
    for (hour, tenant), some in sorted(hours.items()):
        clock.now = some[-1].at
        books = session.books = Books(session, memo)
        wish = Wish((tenant, f"demo-{hour:x}"), f"{hour:016x}", "", "", len(some), 0, _MINUTES_OF_A_HOLD, "", new=True)
        ledger.reserve(books, wish)
        ledger.capture(books, wish.place, wish.token, None)
        ledger.spend(books, session, wish.place, wish.token, 1, sum(each.request.last.cost for each in some))
        books.write()


def _limit(store: Store, placed: list[Placed], now: int) -> None:
    """Set quotas of this month so that some tenants have much left and one has little."""
    month = start_of("month", now)
    replies: Counter[str] = Counter()
    cost: Counter[str] = Counter()
    for at, request, *_ in placed:
        if at >= month:
            replies[request.last.tenant] += 1
            cost[request.last.tenant] += request.last.cost
    for tenant, share in _USED.items():
        store.quota.set_limit(tenant, _round(replies[tenant] / share), period="month")
        store.quota.set_limit(tenant, _round(cost[tenant] / share / 0.9), unit="cost", period="month")


def _round(amount: float) -> int:
    """The amount, rounded up to two significant digits."""
    scale = int("1" + "0" * max(0, len(str(int(amount))) - 2))
    return (int(amount) // scale + 1) * scale
