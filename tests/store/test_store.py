"""Verdicts, replies and feedback, on each database: what goes in comes out, and what must not be kept is not."""

import asyncio
import csv
import json
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.conftest import Hand
from trueup import Contract, Verdict
from trueup.store.cells import pack, unpack
from trueup.store.errors import StoreBusy, StoreClosed, StoreError, StoreUnavailable, UnknownVerdict
from trueup.store.open import backend_of, open_store
from trueup.store.records import Note, decode, encode, new_id
from trueup.store.redaction import MARK, Redaction
from trueup.store.retention import Retention
from trueup.store.schema import VERSIONS, migrate
from trueup.store.store import Store

CONTRACT = Contract({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]})
GOOD = CONTRACT.check('```json\n{"age": 36,}\n```')
BAD = CONTRACT.check('{"age": "old"}')
ODD = [
    "",
    "plain",
    "a\x00b",
    "\ud83d",
    "\ud83d\x00\ude00",
    "\\u0000",
    "=cmd()",
    "'; DROP TABLE verdicts; --",
    "ñ\u202e",
]


def test_a_verdict_is_read_back_unchanged(opened: Store, clock: Hand) -> None:
    made = opened.record_verdict(
        GOOD, request="r1", tenant="acme", user="ada", model="m-1", contract="person", state="ASKING",
        outcome="repaired", attempts=2, attempt=2, latency=0.25, cost=1234,
    )  # fmt: skip
    stored = opened.get(made)
    assert stored.verdict == GOOD
    assert (stored.at, stored.request, stored.tenant, stored.user) == (clock.micros / 1e6, "r1", "acme", "ada")
    assert (stored.model, stored.contract, stored.state) == ("m-1", "person", "ASKING")
    assert (stored.ok, stored.outcome, stored.attempts, stored.attempt) == (True, "repaired", 2, 2)
    assert (stored.latency, stored.cost, stored.reason, stored.codes) == (0.25, 1234, "", ())
    with pytest.raises(UnknownVerdict, match="no verdict 'none'"):
        opened.get("none")
    with pytest.raises(UnknownVerdict, match="no verdict"):
        opened.get("\x00\ud800")


@pytest.mark.spec("X44")
def test_a_change_is_stored_with_the_text_before_it(opened: Store) -> None:
    body = opened.get(opened.record_verdict(GOOD)).body
    assert body is not None
    assert body["reply"]["text"] == '```json\n{"age": 36,}\n```'
    assert [(fix["code"], fix["before"], fix["after"]) for fix in body["fixes"]][1] == ("S001", ",", "")


@pytest.mark.spec("X5")
@pytest.mark.parametrize("text", ODD)
def test_any_text_is_preserved_by_store_and_export(opened: Store, tmp_path: Path, text: str) -> None:
    verdict = CONTRACT.check(text)
    made = opened.record_verdict(verdict, tenant=text, user=text, model=text, contract=text, request=text)
    opened.record_feedback(made, True, user=text, note=text, label=text)
    stored = opened.get(made)
    assert stored.verdict == verdict
    assert {stored.tenant, stored.user, stored.model, stored.contract, stored.request} == {text}
    assert [found.id for found in opened.verdicts(tenant=text)] == [made]
    said = opened.feedback(made)[0]
    assert (said["user"], said["note"], said["label"], said["helpful"]) == (text, text, text, True)
    assert [rate.model for rate in opened.stats()] == [text]

    assert opened.export(tmp_path / "out.jsonl") == 1
    row = json.loads((tmp_path / "out.jsonl").read_text("ascii"))
    assert (row["tenant"], row["body"]["reply"].get("text", "")) == (text, text)

    parquet = pytest.importorskip("pyarrow.parquet")
    assert opened.export(tmp_path / "out.parquet") == 1
    row = parquet.read_table(tmp_path / "out.parquet").to_pylist()[0]
    assert (unpack(row["tenant"]), json.loads(row["body"])["reply"].get("text", "")) == (text, text)


@pytest.mark.spec("X23")
def test_no_cell_of_a_csv_file_is_a_formula(opened: Store, tmp_path: Path) -> None:
    formulas = ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "＝1"]
    for text in formulas:
        opened.record_verdict(CONTRACT.check(text), tenant=text, user=text, model=text)
    assert opened.export(tmp_path / "out.csv") == len(formulas)
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["tenant"] for row in rows] == [f"'{text}" for text in formulas]
    starts = {cell[0] for row in rows for cell in row.values() if cell}
    assert not starts & set("=+-@\t\r＝")


@given(st.text(alphabet=st.one_of(st.characters(exclude_categories=()), st.sampled_from("\\u0\x00\ud800"))))
def test_packing_can_be_undone_and_gives_nothing_that_a_database_refuses(text: str) -> None:
    packed = pack(text)
    assert unpack(packed) == text
    assert "\x00" not in packed
    packed.encode()
    assert pack(text) == text or "\\" in packed


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet=st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8,
)  # fmt: skip


@given(_json)
def test_bodies_of_any_data_are_read_back_equal(data: Any) -> None:
    assert decode(encode(data)) == data


def test_feedback_needs_a_verdict_and_the_latest_counts(opened: Store) -> None:
    made = opened.record_verdict(GOOD, wait=False)
    opened.record_feedback(made, True, user="ada")
    opened.record_feedback(made, False, user="ada", note="on second thoughts")
    opened.record_feedback(made, None, user="bob", label="tone")
    assert [(f["user"], f["helpful"], f["label"]) for f in sorted(opened.feedback(), key=lambda f: f["user"])] == [
        ("ada", False, ""),
        ("bob", None, "tone"),
    ]
    with pytest.raises(UnknownVerdict, match="ids come from record_verdict"):
        opened.record_feedback("nowhere", True)


def test_verdicts_can_be_looked_up(opened: Store, clock: Hand) -> None:
    first = opened.record_verdict(GOOD, model="a")
    clock.go(60)
    second = opened.record_verdict(BAD, model="b")
    assert [s.id for s in opened.verdicts()] == [first, second]
    assert [s.id for s in opened.verdicts(ok=False)] == [second]
    assert [s.id for s in opened.verdicts(model="a", ok=True)] == [first]
    assert [s.id for s in opened.verdicts(since=clock.micros / 1e6)] == [second]
    assert [s.id for s in opened.verdicts(until=clock.micros / 1e6)] == [first]
    with pytest.raises(ValueError, match="verdicts have no 'colour'"):
        list(opened.verdicts(colour="red"))


def test_the_same_verdict_written_twice_is_stored_once(opened: Store) -> None:
    for _ in range(2):
        opened.record_verdict(GOOD, id="0" * 28, model="m")
    assert [s.id for s in opened.verdicts()] == ["0" * 28]
    assert opened.stats()[0].asked == 1


@pytest.mark.spec("X25")
def test_secrets_patterns_and_named_fields_are_not_stored(database: Callable[[], str]) -> None:
    url = database()
    rules = Redaction(patterns=(r"\b\d{16}\b",), fields=("Email",), words=("hunter2",))
    key = "sk-" + "canary0123456789abcdef"
    verdict = Contract(True).check(json.dumps({
        "key": key, "email": "ada@example.org", "text": f"4111111111111111 hunter2 Bearer {'x' * 20}", key: 1, "n": [key],
    }))  # fmt: skip
    before = verdict.to_dict()
    with open_store(url, redaction=rules) as store:
        made = store.record_verdict(verdict)
        store.record_feedback(made, True, note=f"it said {key}")
        body = json.dumps(store.get(made).body) + json.dumps(store.feedback())
    for secret in (key, "ada@example.org", "4111111111111111", "hunter2", "x" * 20):
        assert secret not in body, secret
    assert f'"email": "{MARK}"' in body
    assert verdict.to_dict() == before
    if not url.startswith("postgresql"):
        assert key.encode() not in b"".join(p.read_bytes() for p in Path(url).parent.glob(f"{Path(url).name}*"))


def test_bodies_may_be_stored_only_for_refusals_or_not_at_all(database: Callable[[], str]) -> None:
    for bodies, kept in (("all", [True, True]), ("refused", [False, True]), ("none", [False, False])):
        with open_store(database(), redaction=Redaction(bodies=bodies)) as store:  # type: ignore[arg-type]
            ids = [store.record_verdict(v) for v in (GOOD, BAD)]
            assert [store.get(made).body is not None for made in ids] == kept
    with pytest.raises(ValueError, match="bodies must be"):
        Redaction(bodies="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="pattern '\\(' cannot be used"):
        Redaction(patterns=("(",))


def test_data_past_its_retention_is_deleted_and_sums_stay(opened: Store, clock: Hand) -> None:
    made = opened.record_verdict(GOOD, model="m")
    opened.record_feedback(made, True)
    held = opened.quota.reserve("acme", "old")
    opened.quota.spend(held, 1, 7)
    opened.quota.capture(held)
    assert opened.prune() == {}
    clock.go(31 * 86_400)
    new = opened.record_verdict(BAD, model="m")
    assert opened.prune() == {"replies": 1}
    assert opened.get(made).body is None
    clock.go(60 * 86_400)
    opened.quota.capture(opened.quota.reserve("acme", "new"))
    assert opened.prune() == {"replies": 1, "ledger": 1, "attempts": 1}
    assert opened.quota.audit() == []
    assert [(s.used, s.held) for s in opened.quota.standings("acme")] == [(7, 0), (2, 0)]
    clock.go(340 * 86_400)
    assert opened.prune(Retention(ledger=None)) == {"verdicts": 2, "facts": 1, "feedback": 1}
    assert [s.id for s in opened.verdicts()] == []
    assert opened.stats()[0].asked == 2
    assert new
    assert opened.prune(Retention(tallies=1, ledger=None)).keys() == {"tallies"}
    with pytest.raises(ValueError, match="number of days"):
        Retention(replies=-1)


def test_a_full_queue_makes_callers_wait_and_then_reports_it(tmp_path: Path) -> None:
    url = str(tmp_path / "s.db")
    with open_store(url, capacity=2) as store:
        other = sqlite3.connect(url, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")  # somebody else writes: ours has to wait
        store._writer._linger = 0
        with pytest.raises(StoreBusy, match="2 writes are waiting"):
            fill(store)
        done = threading.Event()

        def one_more() -> None:
            store.record_verdict(GOOD, wait=False)
            done.set()

        waiting = threading.Thread(target=one_more)
        waiting.start()
        assert not done.wait(0.05)
        other.execute("ROLLBACK")
        other.close()
        assert done.wait(30)
        waiting.join()
        asyncio.run(store.arecord_verdict(GOOD))
        store.flush()
        assert len(list(store.verdicts())) >= 4


def fill(store: Store) -> None:
    for _ in range(10):
        store._writer.record(Note(new_id(), GOOD), wait=False, patience=0.05)


def test_one_bad_record_does_not_lose_others(opened: Store) -> None:
    class Hostile(Verdict):
        @property
        def hint(self) -> str:
            raise RuntimeError("cannot be written")

    bad = Hostile("x")
    ids = [opened.record_verdict(v, wait=False) for v in (GOOD, bad, GOOD)]
    opened.flush()
    assert [s.id for s in opened.verdicts()] == [ids[0], ids[2]]
    with pytest.raises(RuntimeError, match="cannot be written"):
        opened.record_verdict(bad)
    assert opened.trouble is None


def test_a_closed_store_gives_a_clear_error(database: Callable[[], str]) -> None:
    store = open_store(database())
    store.record_verdict(GOOD, wait=False)
    store.close()
    store.close()
    for use in (lambda: store.record_verdict(GOOD), lambda: store.quota.reserve("a"), lambda: list(store.verdicts())):
        with pytest.raises(StoreClosed, match="open it again"):
            use()


def test_closing_writes_what_was_queued(database: Callable[[], str]) -> None:
    url = database()
    with open_store(url) as store:
        for _ in range(50):
            store.record_verdict(GOOD, wait=False)
    with open_store(url) as store:
        assert len(list(store.verdicts())) == 50


def test_tables_are_migrated_and_newer_ones_refused(database: Callable[[], str]) -> None:
    url = database()
    with open_store(url) as store:
        made = store.record_verdict(GOOD)
        backend = store._backend
    newer = (*VERSIONS, ("ALTER TABLE verdicts ADD COLUMN mood TEXT NOT NULL DEFAULT ''",))
    session = backend.connect(writing=True)
    assert migrate(backend, session, newer) == len(VERSIONS)
    assert migrate(backend, session, newer) == len(newer)
    assert session.run("SELECT id, mood FROM verdicts") == [(made, "")]
    with pytest.raises(StoreUnavailable, match="written by a newer trueup"):
        open_store(url)
    broken = (*newer, ("CREATE TABLE half (a TEXT)", "CREATE TABLE half (a TEXT)"))
    with pytest.raises(Exception, match="already exists"):
        migrate(backend, session, broken)
    assert migrate(backend, session, newer) == len(newer), "a version that failed leaves nothing behind"
    session.close()


def test_several_processes_may_open_a_new_store_together(database: Callable[[], str]) -> None:
    url = database()
    faults: list[BaseException] = []

    def run() -> None:
        try:
            with open_store(url) as store:
                store.record_verdict(GOOD)
        except BaseException as error:  # noqa: BLE001 - told below
            faults.append(error)

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    with open_store(url) as store:
        assert len(list(store.verdicts())) == 6


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nowhere/deep/s.db", "there is no folder"),
        (".", "that is a folder"),
        ("mysql://host/db", "mysql:// is not a store"),
        ("text.db", "is not a store"),
    ],
)
def test_a_store_that_cannot_be_opened_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.db").write_text("this is a letter, not a database. " * 40)
    with pytest.raises(StoreUnavailable, match=message):
        open_store(url)
    with pytest.raises(StoreUnavailable, match="no such store"):
        open_store("new.db", create=False)


def test_a_file_that_is_not_a_store_is_closed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text.db").write_text("this is a letter, not a database. " * 40)
    opened: list[sqlite3.Connection] = []
    real = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *args, **options: opened.append(real(*args, **options)) or opened[-1]
    )
    with pytest.raises(StoreUnavailable):
        open_store(str(tmp_path / "text.db"))
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
            connection.execute("SELECT 1")
    assert opened


@pytest.mark.spec("X25")
@pytest.mark.needs("database")
def test_an_unreachable_server_is_reported_without_the_password() -> None:
    for url in ("postgresql://ada:hunter2@127.0.0.1:1/x", "postgresql://127.0.0.1:1/x?user=ada&password=hunter2"):
        with pytest.raises(StoreUnavailable, match="cannot be reached") as caught:
            open_store(url)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(("path", "message"), [("out.txt", "the ending says"), ("no/out.csv", "cannot be written")])
def test_an_export_that_cannot_be_written_says_why(tmp_path: Path, path: str, message: str) -> None:
    with open_store(tmp_path / "s.db") as store:
        store.record_verdict(GOOD)
        with pytest.raises(StoreError, match=message):
            store.export(tmp_path / path)
        with pytest.raises(StoreError, match="verdicts, feedback and labels"):
            store.export(tmp_path / "out.jsonl", "poems")
        assert store.export(tmp_path / "none.parquet", tenant="nobody") == 0
        assert store.export(tmp_path / "feedback.jsonl", "feedback") == 0
        assert store.export(tmp_path / "lean.csv", bodies=False) == 1
        assert sorted(p.name for p in tmp_path.glob("*.*") if "s.db" not in p.name) == [
            "feedback.jsonl", "lean.csv", "none.parquet",
        ]  # fmt: skip


def test_an_open_store_is_reachable_and_a_closed_one_is_not(database: Callable[[], str]) -> None:
    with open_store(database()) as store:
        assert asyncio.run(store.areach()) is None
    assert isinstance(asyncio.run(store.areach()), StoreClosed)


def test_a_store_from_a_version_without_fingerprints_keeps_its_verdicts(database: Callable[[], str]) -> None:
    url = database()
    backend = backend_of(url)
    session = backend.connect(writing=True)
    assert migrate(backend, session, VERSIONS[:1]) == 0
    session.run(
        "INSERT INTO verdicts VALUES ('old', 1000000, '', 1, '', '', 'm', 'person', '', 1, 'accepted', '', '', 1, 0, 0, 0, 0)"
    )
    session.close()
    with open_store(url) as store:
        assert (store.get("old").model, store.get("old").fingerprint) == ("m", "")
        contract = Contract({"type": "object"}, name="person")
        made = store.record_verdict(contract.check("{}"), contract=contract)
        store.record_verdict(contract.check("no"), contract="person", fingerprint="mine")
        with pytest.raises(TypeError, match="contract must be a Contract or its name; got NoneType"):
            store.record_verdict(contract.check("no"), contract=None)
        assert (store.get(made).contract, store.get(made).fingerprint) == ("person", contract.fingerprint)
        assert [stored.id for stored in store.verdicts(fingerprint=contract.fingerprint)] == [made]
        told = [(each.contract, each.fingerprint, each.verdicts, each.refused, each.reasons) for each in store.rules()]
        assert told == [
            ("person", "", 1, 0, {}),
            ("person", contract.fingerprint, 1, 0, {}),
            ("person", "mine", 1, 1, {"P001": 1}),
        ]
        assert store.rules(contract="nobody") == []
        assert len(store.rules(since=2.0)) == 2


def test_the_reason_of_a_verdict_is_restored(database: Callable[[], str], tmp_path: Path) -> None:
    contract = Contract(reply=True, name="chat")
    with open_store(database()) as store:
        for text, reason in (("I understand.", "Sufficient text content"), ("Yes", "Insufficient text (3 chars)")):
            verdict = contract.check(text)
            read = store.get(store.record_verdict(verdict, contract=contract)).verdict
            assert read == verdict
            assert read is not None
            assert read.reason == reason
        for ending in ("jsonl", "csv", "parquet"):
            assert store.export(tmp_path / f"v.{ending}") == 2
        rows = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
        assert {row["fingerprint"] for row in rows} == {contract.fingerprint}


def test_a_new_file_is_private_and_an_existing_one_keeps_its_permissions(tmp_path: Path) -> None:
    for name in ("new.db", "old.db"):
        if name == "old.db":
            (tmp_path / name).touch(mode=0o640)
            (tmp_path / name).chmod(0o640)
        with open_store(tmp_path / name) as store:
            store.quota.set_limit("acme", 1)
            modes = {path.stat().st_mode & 0o777 for path in tmp_path.glob(f"{name}*")}
        assert modes == {0o600 if name == "new.db" else 0o640}
