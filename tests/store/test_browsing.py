"""Pages, counts and facets of stored verdicts: nothing is lost, nothing comes twice, numbers are those that Python counts, and a look is bounded."""

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.conftest import Hand
from trueup import Contract
from trueup.store.browsing import Count, Filters, Search, VerdictPage, count_after, excerpted, page
from trueup.store.facets import CAP, FACETS, Counts, counts, times, values
from trueup.store.open import open_store
from trueup.store.records import Note, Stored, new_id
from trueup.store.store import Store

PERSON = Contract(
    {"type": "object", "required": ["age"], "properties": {"age": {"type": "integer"}}},
    rules=[{"name": "grown up", "expr": "age >= 18"}, {"name": "long " * 60, "expr": "age != 7"}],
    name="person",
)
CHAT = Contract(reply=True, name="chat")
TEXTS = (
    '{"age": 36}',
    '{"age": 7}',
    '{"name": "Zoë"}',
    '{"age": "x"}',
    "Straße, K\u212a!",
    "",
    'a "quoted" \\ line\nand another',
)
ODD = "'; DROP TABLE verdicts; -- \x00\ud83d\\u0000 %s ? <b>"


@cache
def judged(rules: str, text: str) -> Any:
    return (PERSON if rules == "person" else CHAT).check(text)


def fill(store: Store, clock: Hand, number: int, seed: int = 8) -> None:
    chance = random.Random(seed)
    for n in range(number):
        rules = chance.choice([PERSON, CHAT])
        made = store.record_verdict(
            judged(rules.name, chance.choice(TEXTS)), model=f"m-{min(n % 5, n % 3)}", contract=rules, wait=False,
            tenant=chance.choice(["", "acme", "t" * 300]), state=chance.choice(["", "ASKING", "S" * 300, ODD]),
            conversation=f"c-{n % 5}", outcome=chance.choice(["", "repaired"]), user=chance.choice(["ada", "bob"]),
        )  # fmt: skip
        if n % 9 == 0:
            store.record_feedback(made, outcome=chance.choice(["right", "wrong"]), user="ada")
            store.record_feedback(made, chance.choice([True, False, None]), label=ODD, user="bob")
        if chance.random() < 0.3:  # some share their instant
            clock.go(chance.choice([1, 1, 5000]))
    store.flush()


@pytest.fixture
def filled(opened: Store, clock: Hand) -> Store:
    fill(opened, clock, 130)
    return opened


VALUES: dict[str, list[Any]] = {
    "model": ["m-0", "m-1", "none"], "contract": ["person", "chat"], "fingerprint": [PERSON.fingerprint], "state": ["ASKING", "S" * 300, ODD, ""],
    "tenant": ["acme", "t" * 300, ""], "conversation": ["c-1"], "code": ["V002", "B005"], "rule": ["grown up", "long " * 60],
    "outcome": ["failed", "accepted", "repaired"], "ok": [True, False], "label": ["right", "wrong", "helpful", ODD], "labelled": [True, False],
    "text": ["AGE", "strasse", "kk!", 'A "QUOTED" \\', "line\nAND", "ö", "nowhere"],
}  # fmt: skip


def is_wanted(stored: Stored, labels: set[tuple[str, str]], wanted: dict[str, Any]) -> bool:
    """The meaning of the filters, in Python."""
    body = stored.body or {}
    known: dict[str, Callable[[Any], bool]] = {
        "code": lambda code: code in stored.codes,
        "rule": lambda rule: rule in {found["data"].get("rule") for found in body["findings"]},
        "label": lambda label: (stored.id, label) in labels,
        "labelled": lambda yes: (stored.id in {verdict for verdict, _ in labels}) is yes,
        "text": lambda text: text.casefold() in body["reply"]["text"].casefold(),
        "since": lambda when: stored.at >= when,
        "until": lambda when: stored.at < when,
    }
    return all(
        known[name](value) if name in known else getattr(stored, name) == value for name, value in wanted.items()
    )


def everything(store: Store) -> tuple[list[Stored], set[tuple[str, str]]]:
    """Every verdict, newest first, and every label."""
    every = [row.stored() for row in store.rows()]
    return every[::-1], {(label["verdict"], label["outcome"]) for label in store.labels()}


def pages(store: Store, filters: Filters, limit: int = 7, patience: int = 10**9) -> Iterator[VerdictPage]:
    """Page after page; each look may visit so many pieces."""
    before = None

    def look(session: Any) -> VerdictPage:
        looks = itertools.count()
        return page(session, filters, before, limit, lambda: next(looks) >= patience)

    while True:
        found = store.read(look)
        yield found
        before = found.next
        if before is None:
            return


def test_pages_contain_each_matching_verdict_once_newest_first(filled: Store) -> None:
    every, labels = everything(filled)
    singles = [{name: value} for name, some in VALUES.items() for value in some]
    singles += [{}, {"since": every[40].at}, {"until": every[40].at}, {"since": every[90].at, "until": every[20].at}]
    pairs = [{**a, **b} for a, b in itertools.combinations(singles, 2)]
    some = random.Random(3).sample(pairs, 250)
    hits = 0
    for number, wanted in enumerate([*singles, *some]):
        expected = [stored.id for stored in every if is_wanted(stored, labels, wanted)]
        found = list(pages(filled, Filters(**wanted), limit=1 + number % 50))
        assert [row.id for each in found for row in each.rows] == expected, wanted
        assert [each.is_searched for each in found] == [True] * len(found)
        hits += bool(expected)
    assert hits > 100


def test_a_page_has_every_stored_field(filled: Store) -> None:
    rows = [row for each in pages(filled, Filters()) for row in each.rows]
    for row, stored in zip(rows, everything(filled)[0], strict=True):
        for name in row.__struct_fields__:
            if name not in ("excerpt", "found"):
                assert getattr(row, name) == getattr(stored, name), name
        assert row.excerpt == " ".join((stored.body or {})["reply"]["text"].split())


@given(
    st.lists(st.sampled_from(["store", "look"]), min_size=2, max_size=10),
    st.sampled_from(
        [{}, {"model": "m-0"}, {"ok": False, "model": "m-1"}, {"text": "age"}, {"code": "V002", "labelled": False}]
    ),
    st.integers(1, 20),
)
def test_verdicts_that_arrive_during_paging_move_nothing(
    store_of_pages: Any, turns: list[str], wanted: dict[str, Any], limit: int
) -> None:
    """Between two pages anything may be stored: whatever was there at the first page comes exactly once and in order."""
    store, clock = store_of_pages
    every, labels = everything(store)
    expected = [stored.id for stored in every if is_wanted(stored, labels, wanted)]
    seen: list[str] = []
    looking = pages(store, Filters(**wanted), limit, patience=1)
    for turn in itertools.chain(turns, itertools.repeat("look")):
        if turn == "store":
            fill(store, clock, 2, seed=limit)
            continue
        found = next(looking, None)
        if found is None:
            break
        seen += [row.id for row in found.rows]
    before = {stored.id for stored in every}
    assert [name for name in seen if name in before] == expected
    assert len(seen) == len(set(seen))


@pytest.fixture(scope="module")
def store_of_pages(database: Callable[[], str]) -> Iterator[tuple[Store, Hand]]:
    clock = Hand()
    with open_store(database(), clock=clock) as store:
        fill(store, clock, 60)
        yield store, clock


def test_a_query_at_its_time_limit_says_how_far_it_came(filled: Store) -> None:
    every, _ = everything(filled)
    for filters in (Filters(text="nowhere"), Filters(text="nowhere", model="m-0")):
        found = list(pages(filled, filters, patience=0))
        assert all(not each.rows for each in found)
        assert found[-1].next is None
        assert found[-1].is_searched
        assert found[-1].reached == 0.0
        assert [each.reached for each in found] == sorted((each.reached for each in found), reverse=True)
    assert every


def count_in_python(
    every: list[Stored], labels: set[tuple[str, str]], wanted: dict[str, Any]
) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for facet in FACETS:
        others = {name: value for name, value in wanted.items() if name != facet}
        counted: Counter[str] = Counter()
        for stored in every:
            if is_wanted(stored, labels, others):
                rules = {each["data"].get("rule") for each in (stored.body or {})["findings"]} - {None}
                said = {word for verdict, word in labels if verdict == stored.id}
                several = {"code": set(stored.codes), "rule": rules, "label": said, "ok": {str(stored.ok).lower()}}
                counted.update(several[facet] if facet in several else {getattr(stored, facet)} - {""})
        found[facet] = counted
    return found


def test_counts_and_facets_equal_a_count_in_python(filled: Store) -> None:
    every, labels = everything(filled)
    singles = [{name: value} for name, some in VALUES.items() for value in some[:2] if name != "rule"]
    pairs = random.Random(5).sample([{**a, **b} for a, b in itertools.combinations(singles, 2)], 40)
    for wanted in [{}, {"since": every[50].at}, *singles, *pairs]:
        found = filled.read(partial(counts, filters=Filters(**wanted)))
        expected = count_in_python(every, labels, wanted)
        assert found.total == (sum(is_wanted(stored, labels, wanted) for stored in every), True), wanted
        for facet in set(FACETS) - {"rule", "label"}:
            told = {value: n.n for value, n in found.facets[facet].items() if n.n}
            assert told == expected[facet], (wanted, facet)
        assert {value: n.n for value, n in found.facets["label"].items() if n.n and value != "comment"} == {
            value: n for value, n in expected["label"].items() if value != "comment"
        }
        assert found.facets["rule"].get("grown up", (0,))[0] == expected["rule"]["grown up"]
        assert all(n.is_exact for some in found.facets.values() for n in some.values())


def test_every_number_up_to_the_cap_is_exact_even_with_little_time(opened: Store, clock: Hand) -> None:
    fill(opened, clock, 2_200)
    every, labels = everything(opened)
    looks: list[dict[str, Any]] = [
        {}, {"since": every[2_100].at}, {"ok": False}, {"ok": True, "model": "m-0"}, {"code": "V002", "contract": "person", "state": "ASKING"},
        {"label": "right", "tenant": "acme"}, {"labelled": False, "outcome": "repaired"}, {"rule": "grown up", "model": "none"},
    ]  # fmt: skip
    for wanted in looks:
        found = opened.read(partial(counts, filters=Filters(**wanted), is_over=lambda: True))
        expected = count_in_python(every, labels, wanted)
        assert found.total == (sum(is_wanted(stored, labels, wanted) for stored in every), True), wanted
        assert not found.is_hurried
        for facet in set(FACETS) - {"rule", "label"}:
            told = {value: n for value, n in found.facets[facet].items() if n.n}
            assert told == {value: (n, True) for value, n in expected[facet].items()}, (wanted, facet)
    size = len(every)
    for cap, is_exact in ((size, True), (size - 1, False)):
        assert opened.read(partial(counts, filters=Filters(), cap=cap)).total == (min(size, cap), is_exact)
    searched = opened.read(partial(counts, filters=Filters(text="age"), is_over=lambda: True))
    assert searched.is_hurried, "replies are read while there is time"
    assert 0 < searched.total.n < sum(is_wanted(stored, labels, {"text": "age"}) for stored in every)
    assert not searched.total.is_exact
    patient = opened.read(partial(counts, filters=Filters(text="age", ok=False)))
    assert patient.facets["ok"]["true"] == (
        sum(is_wanted(each, labels, {"text": "age", "ok": True}) for each in every),
        True,
    )


def test_numbers_of_a_tenant_are_exact_and_reveal_nothing_about_others(opened: Store, clock: Hand) -> None:
    fill(opened, clock, 300)
    every, labels = everything(opened)
    found = opened.read(
        partial(counts, filters=Filters(tenant="acme", model="m-1"), is_over=lambda: True, is_shared=False)
    )
    own = [stored for stored in every if stored.tenant == "acme"]
    expected = count_in_python(own, labels, {"model": "m-1"})
    for facet in ("model", "contract", "state", "tenant", "outcome", "ok", "code"):
        assert found.facets[facet] == {value: (n, True) for value, n in expected[facet].items()}, facet


def test_a_long_rule_is_found_by_the_name_in_its_facet(filled: Store) -> None:
    found = filled.read(lambda session: counts(session, Filters()))
    for rule, n in found.facets["rule"].items():
        assert filled.read(partial(counts, filters=Filters(rule=rule))).total == n


def test_counts_beyond_the_cap_are_lower_bounds_and_say_so(filled: Store) -> None:
    every, labels = everything(filled)
    for wanted in (
        {},
        {"since": every[110].at},
        {"ok": False},
        {"contract": "person", "model": "m-0"},
        {"text": "age"},
    ):
        expected = count_in_python(every, labels, wanted)
        found = filled.read(partial(counts, filters=Filters(**wanted), cap=10))
        _are_bounds(found, expected, sum(is_wanted(stored, labels, wanted) for stored in every), 10)
        hurried = filled.read(partial(counts, filters=Filters(**wanted), is_over=lambda: True, cap=10))
        _are_bounds(hurried, expected, len(every), CAP)


def _are_bounds(found: Counts, expected: dict[str, Counter[str]], total: int, cap: int) -> None:
    assert found.total.n <= total
    if found.total.is_exact:
        assert found.total.n <= cap
    for facet in set(FACETS) - {"rule", "label"}:
        for value, n in found.facets[facet].items():
            assert n.n == expected[facet][value] if n.is_exact else n.n <= expected[facet][value]
        if not any(n.n == 0 for n in found.facets[facet].values()):  # every value is listed, counted or not
            assert set(found.facets[facet]) >= {
                value for value in expected[facet] if len(value) < 200 and found.facets[facet]
            }


def test_values_are_found_by_prefix(filled: Store) -> None:
    def ask(facet: str, begins: str = "") -> list[str]:
        return filled.read(lambda session: values(session, facet, begins))

    assert ask("model") == ["m-0", "m-1", "m-2"]
    assert ask("model", "M-1") == ["m-1"]
    assert set(ask("state")) == {"ASKING", ODD}
    assert ask("rule", "gro") == ["grown up"]
    assert "V002" in ask("code")
    assert {"right", "wrong", ODD} <= set(ask("label"))
    assert set(ask("outcome")) == {"accepted", "failed", "repaired"}
    assert set(ask("ok")) == {"true", "false"}


def test_newer_verdicts_are_counted_from_a_position(filled: Store, clock: Hand) -> None:
    first = filled.read(lambda session: page(session, Filters(ok=False), None, 1)).rows[0]
    place = (round(first.at * 1_000_000), first.id)

    def news(most: int = 100) -> Count:
        return filled.read(lambda session: count_after(session, Filters(ok=False), place, most))

    assert news() == Count(0, is_exact=True)
    clock.go(1)
    for text in ("no", '{"age": 40}', "no"):
        filled.record_verdict(PERSON.check(text), contract=PERSON)
    assert (news(), news(1)) == (Count(2, is_exact=True), Count(1, is_exact=False))
    for _ in range(300):
        filled.record_verdict(PERSON.check("no"), contract=PERSON)
    rare = filled.read(lambda session: count_after(session, Filters(text="nowhere"), place, 5, is_over=lambda: True))
    assert rare == Count(0, is_exact=False), "what there was no time for is not told as if it were all"


def test_verdicts_are_counted_by_hour_of_arrival(filled: Store) -> None:
    every, _ = everything(filled)
    wanted: dict[str, Any]
    for wanted in ({}, {"model": "m-0"}, {"contract": "chat", "ok": False}, {"ok": True}):
        expected: Counter[float] = Counter()
        for stored in every:
            if is_wanted(stored, set(), wanted):
                expected[stored.at // 3600 * 3600] += 1
        found = filled.read(partial(times, filters=Filters(**wanted)))
        assert {at: n for at, n, _ in found if n} == expected


def test_the_work_of_a_page_does_not_grow_with_the_store(tmp_path: Any) -> None:
    """Counted in steps of SQLite's machine: a store of twice the size costs the same."""
    clock = Hand()
    steps: dict[int, dict[str, int]] = {}
    looks: dict[str, dict[str, Any]] = {
        "none": {}, "model": {"model": "m-0"}, "refused": {"ok": False}, "code": {"code": "V002"}, "rule": {"rule": "grown up"}, "state": {"state": "ASKING"},
        "tenant": {"tenant": "acme"}, "outcome": {"outcome": "repaired"}, "contract": {"contract": "person"}, "two": {"model": "m-0", "code": "V002"},
        "label": {"labelled": False}, "text": {"text": "age"},
    }  # fmt: skip
    with open_store(tmp_path / "s.db", clock=clock) as store:
        for size in (4_000, 8_000):
            for _ in range(8):
                fill(store, clock, 500)
                clock.go(60)
            steps[size] = {name: _steps(store, Filters(**wanted)) for name, wanted in looks.items()}
    for name in looks:
        assert steps[8_000][name] <= 1.3 * steps[4_000][name] + 2_000, (name, steps)


def _steps(store: Store, filters: Filters) -> int:
    session: Any = store.backend.connect()
    taken = itertools.count()
    session._db.set_progress_handler(lambda: next(taken) and None, 100)
    try:
        assert len(page(session, filters, None, 20).rows) == 20
    finally:
        session.close()
    return next(taken) * 100


def test_a_rare_combination_is_searched_by_its_rarest_filter(tmp_path: Any) -> None:
    clock = Hand()
    with open_store(tmp_path / "s.db", clock=clock) as store:
        fill(store, clock, 600)
        store.record_verdict(PERSON.check("{}"), contract=PERSON, model="rare")
        fill(store, clock, 600)

        def visited(**wanted: Any) -> int:
            def look(session: Any) -> int:
                search = Search(session, Filters(**wanted))
                assert len(list(search.rows(10**6))) == 1
                return search.visited

            return store.read(look)

        assert visited(model="rare") == 1
        assert visited(model="rare", ok=False, contract="person", code="V002") == 1


@pytest.mark.parametrize(
    ("reply", "text", "shown", "found"),
    [
        ("One\n\n two", "", "One two", None),
        ("a" * 300 + " needle " + "b" * 300, "NEEDLE", None, "needle"),
        ("Straße", "strasse", "Straße", None),
        ("İİİİİ: İzmir", "izmir", "İİİİİ: İzmir", "İzmir"),
        ("ẞİ a\n\tNeedle", " a \n needle ", "ẞİ a Needle", "a Needle"),
        ("a.b axb", "a.b", "a.b axb", "a.b"),
        ("", "x", "", None),
    ],
)
def test_an_excerpt_shows_the_searched_text(reply: str, text: str, shown: str | None, found: str | None) -> None:
    excerpt, place = excerpted(reply, text)
    assert shown is None or excerpt == shown
    assert (None if place is None else excerpt[slice(*place)]) == found
    assert len(excerpt) <= 241


def test_a_value_is_found_among_very_many(opened: Store) -> None:
    for number in range(60):
        opened.note(
            Note(
                new_id(),
                PERSON.check("no"),
                model=f"{'m' if number < 55 else 'Zeta-'}{number:03}",
                contract=PERSON.name,
            )
        )
    opened.flush()

    def ask(begins: str, facet: str = "model") -> list[str]:
        return opened.read(lambda session: values(session, facet, begins))

    assert len(ask("")) == 50
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trueup.store.facets._MOST_STEPS", 5)
        for begins in ("Zeta-", "zeta-", "m05"):
            assert ask(begins), begins
        assert ask("m054") == ["m054"]
        code = ask("", "code")[0]
        assert ask(code, "code") == ask(code.lower(), "code") == [code]
