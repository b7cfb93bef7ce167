"""Filters of stored verdicts: each uses an index, and all of them choose what Python would."""

import itertools
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.store.conftest import Hand, empty_database
from trueup import Contract
from trueup.store.open import open_store
from trueup.store.records import RawRow, Stored
from trueup.store.selecting import SelectedVerdicts, choose
from trueup.store.store import _ROWS, Store

CONTRACT = Contract(
    {"type": "object", "required": ["age"], "properties": {"age": {"type": "integer"}}},
    rules=[{"name": "grown up", "expr": "age >= 18", "error": "a child"}],
    name="person",
)
OTHER = Contract(reply=True, name="chat")
TEXTS = ('{"age": 36}', '{"age": 7}', '{"name": "Zoë"}', '{"age": "x"}', "Straße")

FILTERS: dict[str, Any] = {
    "model": "m-1", "contract": "person", "fingerprint": CONTRACT.fingerprint, "state": "ASKING", "tenant": "acme",
    "code": "V002", "rule": "grown up", "outcome": "failed", "ok": False, "label": "wrong", "conversation": "c-1",
}  # fmt: skip


@pytest.fixture
def filled(opened: Store, clock: Hand) -> Store:
    chance = random.Random(8)
    for number in range(120):
        rules = chance.choice([CONTRACT, OTHER])
        made = opened.record_verdict(
            rules.check(chance.choice(TEXTS)), model=f"m-{number % 3}", contract=rules, tenant=chance.choice(["", "acme"]),
            state=chance.choice(["", "ASKING", "S" * 300]), conversation=f"c-{number % 5}", wait=False,
            outcome=chance.choice(["", "repaired"]), user=chance.choice(["ada", "bob"]),
        )  # fmt: skip
        if number % 10 == 0:
            opened.record_feedback(made, outcome=chance.choice(["right", "wrong"]), user="ada")
            opened.record_feedback(made, chance.choice([True, False, None]), label="tone" * 100, user="bob")
        if chance.random() < 0.3:
            clock.go(1)
    opened.flush()
    return opened


def is_wanted(stored: Stored, labels: set[tuple[str, str]], wanted: dict[str, Any]) -> bool:
    """The meaning of the filters, in Python."""
    body = stored.body or {}
    rules = {found["data"].get("rule") for found in body["findings"]}
    known = {
        "code": lambda code: code in stored.codes,
        "rule": lambda rule: rule in rules,
        "label": lambda label: (stored.id, label) in labels,
        "text": lambda text: text.casefold() in body["reply"]["text"].casefold(),
        "since": lambda when: stored.at >= when,
        "until": lambda when: stored.at < when,
    }
    return all(
        known[name](value) if name in known else getattr(stored, name) == value for name, value in wanted.items()
    )


def test_filters_select_the_same_as_python(filled: Store) -> None:
    every = list(filled.verdicts())
    labels = {(label["verdict"], label["outcome"]) for label in filled.labels()}
    assert len(every) == 120
    values = {
        **FILTERS, "state": "S" * 300, "text": "STRASSE", "user": "bob", "outcome": "accepted", "ok": True,
        "since": every[40].at, "until": every[90].at,
    }  # fmt: skip
    singles = [{name: value} for both in (FILTERS, values) for name, value in both.items()]
    singles += [
        {"label": "tone" * 100},
        {"label": "helpful"},
        {"label": "not_helpful"},
        {"tenant": ""},
        {"model": "none"},
    ]
    pairs = [{**a, **b} for a, b in itertools.combinations(singles, 2)]
    hits = 0
    for wanted in [*singles, *pairs]:
        found = [stored.id for stored in every if is_wanted(stored, labels, wanted)]
        assert sorted(row.id for row in filled.rows(**wanted)) == sorted(found), wanted
        hits += bool(found)
        if len(wanted) == 1:  # the rest does not depend on how many filters there are
            assert [stored.id for stored in filled.verdicts(**wanted)] == found, wanted
            assert filled.count(**wanted) == len(found)
            assert filled.count(**wanted, limit=2) == min(2, len(found))
            assert len(list(filled.rows(**wanted, limit=2))) == min(2, len(found))
    assert hits > len(pairs) / 3


def test_ranges_contain_each_verdict_once(filled: Store) -> None:
    for wanted, size in itertools.product([{}, {"code": "V002"}, {"ok": False, "model": "m-1"}], [1, 7, 40, 1000]):
        whole = [row.place for row in filled.rows(**wanted)]
        assert whole == sorted(whole)
        ranges = filled.ranges(size, **wanted)
        parts = [[row.place for row in filled.rows(after=after, upto=upto, **wanted)] for after, upto in ranges]
        assert [place for part in parts for place in part] == whole
        assert all(len(part) == size for part in parts[:-1])


def test_rows_can_be_sent_and_decoded_in_another_process(filled: Store) -> None:
    import pickle

    for row in filled.rows(limit=5):
        again = pickle.loads(pickle.dumps(row))
        assert isinstance(again, RawRow)
        assert again.stored() == filled.get(row.id)


@pytest.mark.parametrize(
    ("wrong", "said"), [({"mood": 1}, "no 'mood'; they have id"), ({"limit": -1}, "limit must be")]
)
def test_an_unknown_filter_is_reported(tmp_path: Path, wrong: dict[str, Any], said: str) -> None:
    with open_store(tmp_path / "s.db") as store, pytest.raises(ValueError, match=said):
        list(store.rows(**wrong))


@pytest.mark.parametrize("name", [*FILTERS, "since"])
def test_each_filter_uses_an_index(tmp_path: Path, name: str) -> None:
    """No plan scans the verdicts, the facts or the feedback, and none sorts more than rows of one instant."""
    open_store(tmp_path / "s.db").close()
    index = {"code": "facts", "rule": "facts", "label": "feedback", "ok": "refused", "since": "at"}.get(name, name)
    chosen = choose(**({"since": 1.0} if name == "since" else {name: FILTERS[name]}), until=2e9)
    order = chosen.in_order
    with closing(sqlite3.connect(tmp_path / "s.db")) as db:
        plan = [
            row[3]
            for row in db.execute("EXPLAIN QUERY PLAN " + _ROWS.format(chosen.joins, chosen.tail(order)), chosen.values)
        ]
    said = "\n".join(plan)
    assert not any(line.startswith("SCAN") and "(" not in line for line in plan), said
    assert index in said, said
    if name != "label":
        assert "FOR ORDER BY" not in said, said


def test_long_names_are_found_and_stored_on_each_database(database: Callable[[], str]) -> None:
    long = "é" * 5000
    with open_store(database()) as store:
        made = store.record_verdict(CONTRACT.check("no"), state=long, tenant=long)
        store.record_verdict(CONTRACT.check("no"), state=long + "!", tenant=long)
        store.record_feedback(made, label=long)
        for wanted in ({"state": long}, {"label": long}, {"tenant": long, "state": long}):
            assert [row.id for row in store.rows(**wanted)] == [made]
        assert store.count(tenant=long) == 2


def test_rules_named_by_long_expressions_are_distinguished_and_can_be_labelled(database: Callable[[], str]) -> None:
    begin = " and ".join(f"field_{n} != {n}" for n in range(30))
    one, two = (Contract(True, rules=[f"{begin} and n > {n}"]) for n in (1, 2))
    with open_store(database()) as store:
        ids = [store.record_verdict(contract.check('{"n": 0}'), contract=contract) for contract in (one, two)]
        for made, n in zip(ids, (1, 2), strict=True):
            assert [row.id for row in store.rows(rule=f"{begin} and n > {n}")] == [made]
            store.record_feedback(made, outcome="wrong", subject=f"rule:{begin} and n > {n}", user="ada")
        assert {label["subject"][5:] for label in store.labels()} == {f"{begin} and n > {n}" for n in (1, 2)}


def test_moments_are_exact_to_the_microsecond(tmp_path: Path) -> None:
    moments = iter(range(1_034_296_100, 1_034_400_000))  # as seconds, some of them are a little too small
    with open_store(tmp_path / "s.db", clock=lambda: next(moments)) as store:
        made = [store.record_verdict(CONTRACT.check("no")) for _ in range(100)]
        for place, name in enumerate(made):
            at = store.get(name).at
            assert [store.count(since=at), store.count(until=at)] == [100 - place, place]


@pytest.mark.needs("database")
def test_each_filter_uses_an_index_of_postgresql(server: str) -> None:
    with open_store(empty_database(server)()) as store:
        for name, value in FILTERS.items():
            chosen = choose(**{name: value}, until=2e9)

            def plan(session: Any, chosen: SelectedVerdicts = chosen) -> str:
                session.run("SET LOCAL enable_seqscan = off")  # of an empty table, a scan is the cheapest
                session.run("SET LOCAL enable_bitmapscan = off")
                sql = "EXPLAIN " + _ROWS.format(chosen.joins, chosen.tail(chosen.in_order))
                return "\n".join(row[0] for row in session.run(sql, chosen.values))

            said = store.read(plan)
            index = {"code": "facts", "rule": "facts", "label": "feedback", "ok": "verdicts_refused"}.get(
                name, f"verdicts_{name}"
            )
            assert f"using {index}" in said, said
            assert "Seq Scan" not in said, said
