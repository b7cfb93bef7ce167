"""Recent activity in a store: on both databases, every number equals a plain count of the rows that were written."""

import random
from collections import Counter
from functools import partial
from typing import Any, NamedTuple

import pytest

from trueup import Contract
from trueup.store import recent
from trueup.store.alarm import LEAST, RETRY_RATE
from trueup.store.errors import MICROS
from trueup.store.records import GivenUp, Note, new_id
from trueup.store.store import Store
from trueup.studio.live.looking import look

CONTRACT = Contract({"type": "object", "required": ["a"]}, name="a")
GOOD, BAD = CONTRACT.check('{"a": 1}'), CONTRACT.check("{}")
LENGTHS = {"5m": 300, "1h": 3600, "24h": 86_400, "7d": 7 * 86_400}
STEPS = {"5m": 5, "1h": 60, "24h": 3600, "7d": 3 * 3600}


class Written(NamedTuple):
    """A request as it was written, and when."""

    at: int
    notes: tuple[Note, ...]

    @property
    def last(self) -> Note:
        return self.notes[-1]


def request(dice: random.Random) -> tuple[Note, ...]:
    """The notes of a request as the gateway writes them: refused attempts, then the one that ended it."""
    name = new_id()
    tenant, model, extra = dice.choice(("a", "b")), dice.choice(("m1", "m2")), dice.choice((0, 0, 0, 1, 2))
    moved = extra == 2 and dice.random() < 0.5  # the first model is given up after two attempts
    refused = [
        Note(
            new_id(), BAD, name, number + 1, tenant, model="m1" if moved else model, contract="a", outcome="refused", latency=0.1, cost=7, final=False,
        )
        for number in range(extra)
    ]  # fmt: skip
    is_valid = dice.random() < 0.9
    outcome = "failed" if not is_valid else dice.choice(("repaired", "fallback")) if extra else "accepted"
    final = Note(
        name, GOOD if is_valid else BAD, name, extra + 1, tenant, model="m3" if moved else model, contract="a", outcome=outcome,
        attempts=extra + 1, latency=dice.choice((0.0, dice.expovariate(1.0))), cost=7 * extra + dice.randint(1, 90),
        given_up=(GivenUp("m1", 2, "V002", 14),) if moved else (),
    )  # fmt: skip
    return (*refused, final)


def fill(store: Store, clock: Any, size: int = 150) -> list[Written]:
    """Requests of the last nine days, more of them lately; some at the very edges of the windows."""
    dice = random.Random(3)
    now = clock.micros
    begins = [now - now % (STEPS[name] * MICROS) + (STEPS[name] - LENGTHS[name]) * MICROS for name in LENGTHS]
    times = [now - int(9 * 86_400 * MICROS * dice.random() ** 4) for _ in range(size)]
    times += [edge + shift for edge in begins for shift in (-1, 0)] + [now]
    written = []
    for at in sorted(times):
        clock.micros = at
        notes = request(dice)
        for note in notes:
            store.note(note)
        store.flush()
        written.append(Written(at, notes))
    clock.micros = now
    return written


def nearest_rank(values: list[int], percent: int) -> float | None:
    """The percentile by its definition."""
    ordered = sorted(values)
    return next((value / MICROS for n, value in enumerate(ordered, 1) if n * 100 >= percent * len(ordered)), None)


def test_numbers_equal_a_plain_count(opened: Store, clock: Any) -> None:
    written = fill(opened, clock)
    for window in LENGTHS:
        for tenant in (None, "b"):
            shown = opened.read(partial(look, name=window, tenant=tenant))
            compare(shown, written, clock.micros, window, tenant)


def compare(shown: dict[str, Any], requests: list[Written], now: int, window: str, tenant: str | None) -> None:
    """Count again, row by row."""
    step = STEPS[window] * MICROS
    since = now - now % step + step - LENGTHS[window] * MICROS
    written = [each for each in requests if each.at >= since and tenant in (None, each.last.tenant)]

    assert shown["requests"] == len(written) > 2
    assert {each["outcome"]: each["count"] for each in shown["outcomes"]} == Counter(
        each.last.outcome for each in written
    )
    bars: Counter[tuple[str, int]] = Counter((each.last.outcome, (each.at - since) // step) for each in written)
    assert {(each["outcome"], at): n for each in shown["outcomes"] for at, n in enumerate(each["counts"]) if n} == bars
    assert [round(at * MICROS) for at in shown["times"]] == list(range(since, now + 1, step))

    latencies = [int(each.last.latency * MICROS) for each in written if each.last.latency]
    wanted = {"median": nearest_rank(latencies, 50), "p95": nearest_rank(latencies, 95), "of": len(latencies)}
    assert shown["latency"] == wanted
    assert shown["cost"] == sum(each.last.cost for each in written)

    for row in shown["models"]:
        finals = [each.last for each in written if each.last.model == row["model"]]
        left = [each.last for each in written for up in each.last.given_up if up.model == row["model"]]
        assert row["asked"] == len(finals) + len(left)
        assert row["retried"] == sum(note.own_attempts > 1 for note in finals) + len(left)
        assert row["failed"] == sum(note.outcome == "failed" for note in finals) + len(left)
        assert row["warned"] is (row["asked"] >= LEAST and row["retried"] / row["asked"] > RETRY_RATE)
    assert sum(row["cost"] for row in shown["models"]) == shown["cost"]

    refused = sorted(
        ((each.at, note.id) for each in written for note in each.notes if not note.verdict.ok), reverse=True
    )
    assert [round(each["at"] * MICROS) for each in shown["refusals"]] == [at for at, _ in refused][:12]
    assert {each["id"] for each in shown["refusals"]} <= {name for _, name in refused}
    assert {each["code"]: each["count"] for each in shown["codes"]} == ({"V002": len(refused)} if refused else {})


@pytest.mark.parametrize(
    ("requests", "again", "warned"), [(20, 4, False), (20, 5, True), (19, 19, False), (400, 80, False), (400, 81, True)]
)
def test_a_model_above_twenty_percent_gets_a_warning(
    opened: Store, clock: Any, requests: int, again: int, warned: bool
) -> None:
    clock.go(1800)  # into the hour
    for number in range(requests):
        retried = number < again
        opened.note(
            Note(new_id(), GOOD, model="m", attempts=2 if retried else 1, outcome="repaired" if retried else "accepted")
        )
    opened.flush()
    for window in ("1h", "24h"):
        (row,) = opened.read(partial(look, name=window))["models"]
        assert (row["asked"], row["retried"], row["warned"]) == (requests, again, warned)


def test_a_window_with_too_many_replies_starts_later_or_is_sampled(
    opened: Store, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = fill(opened, clock)
    monkeypatch.setattr(recent, "MOST", 20)
    short = opened.read(lambda session: look(session, "1h"))
    assert (short["is_cut"], short["replies"]) == (True, 20)
    newest = [at for at, notes in reversed(written) for _ in notes][:20]
    assert round(short["since"] * MICROS) == newest[-1]
    assert short["requests"] <= 20

    long = opened.read(lambda session: look(session, "7d"))
    whole = [each for each in written if each.at >= round(long["since"] * MICROS)]
    assert (long["is_cut"], long["is_sampled"]) == (False, True)
    assert long["requests"] == len(whole)
    assert 0 < long["latency"]["of"] < len(whole)
    assert long["cost"] == sum(each.last.cost for each in whole)


def test_quotas_show_the_current_period_and_the_fullest_first(opened: Store, clock: Any) -> None:
    quota = opened.quota
    for tenant, amount in (("a", 10), ("b", 4), ("unused", 5), ("free", -1)):
        quota.set_limit(tenant, amount, period="day")
    quota.set_limit("*", 100, period="hour")
    quota.set_limit("a", 50, scope="user", name="*", period="day")
    clock.micros -= 2 * 86_400 * MICROS
    quota.capture(quota.reserve("a", amount=9))
    clock.micros += 2 * 86_400 * MICROS
    quota.capture(quota.reserve("b", amount=3))
    quota.reserve("b")
    quota.capture(quota.reserve("a", user="u"))
    quota.capture(quota.reserve("free"))

    found = [(each.tenant, each.period, each.used, each.held, each.limit) for each in opened.read(recent.quotas)]
    assert found == [
        ("b", "day", 3, 1, 4), ("a", "day", 1, 0, 10), ("b", "hour", 3, 1, 100), ("a", "hour", 1, 0, 100),
        ("free", "hour", 1, 0, 100), ("unused", "day", 0, 0, 5),
    ]  # fmt: skip
    mine = opened.read(lambda session: recent.quotas(session, "a"))
    assert {each.tenant for each in mine} == {"a"}
