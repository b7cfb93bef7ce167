"""Contracts in the store: versions, codes over time, precision; quick with many verdicts, and separate for each tenant."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.studio.conftest import SECRETS
from tests.studio.contracts.conftest import SHOP, Fill
from trueup import Contract
from trueup.store.browsing import seconds
from trueup.store.open import open_store
from trueup.studio.contracts import stored
from trueup.studio.contracts.codes import codes_over_time
from trueup.studio.contracts.precision import precision
from trueup.studio.contracts.stored import history, known_contracts
from trueup.studio.contracts.versions import written
from trueup.studio.door.sessions import digest_of
from trueup.studio.settings import Key

OLD = [({"total": 10}, None)] * 6 + [({"total": 500}, True)] * 3 + [({"total": 500}, False)] * 9 + [("no", None)] * 2
NEW = SHOP.replace("total < 100", "total < 600")


@pytest.fixture
def two(folder: Path, filled: Fill, database: Callable[[], str]) -> str:
    """A store in which a contract was changed once: 20 verdicts before, 4 after."""
    url = database()
    filled(folder / "shop.yaml", OLD, url=url)
    (folder / "shop.yaml").write_text(NEW)
    return filled(folder / "shop.yaml", [({"total": 500}, None)] * 3 + [({"total": -1}, None)], url=url, start=50)


def test_versions_have_their_texts_and_refusals(served: Any, folder: Path, two: str) -> None:
    desk = served(role="reader", folders=(folder,), store=two)
    found = desk.get("/contracts/history", name="shop")
    first, second = found["versions"]
    assert (found["complete"], found["omitted"]) == (True, 0)
    assert (first["verdicts"], first["refused"], second["verdicts"], second["refused"]) == (20, 14, 4, 1)
    assert first["first"] <= first["last"] <= second["first"] <= second["last"]
    assert first["diff"] is None
    assert "-    expr: total < 100\n+    expr: total < 600\n" in second["diff"]
    assert first["text"].startswith("name: shop\nschema:\n  type: object\n")
    assert second["fingerprint"] == desk.get("/contracts/file", file="contracts/shop.yaml")["fingerprint"]
    row = desk.get("/contracts")["files"][0]
    assert (row["verdicts"], row["refused"], row["versions"], row["capped"]) == (24, 15, 2, False)
    assert row["labelled"] == 12
    assert row["last"] == second["last"]
    assert desk.get("/contracts/history", name="nobody's")["versions"] == []


def test_a_contract_without_a_file_is_only_in_the_store(served: Any, folder: Path, two: str) -> None:
    (folder / "shop.yaml").unlink()
    desk = served(folders=(folder,), store=two)
    found = desk.get("/contracts")
    assert [(row["name"], row["verdicts"]) for row in found["stored"]] == [("shop", 24)]


def test_codes_are_counted_over_time(served: Any, folder: Path, two: str) -> None:
    desk = served(folders=(folder,), store=two)
    for by, since, many in (("hour", "1d", 25), ("day", "30d", 31)):
        found = desk.get("/contracts/codes", name="shop", since=since, by=by)
        assert len(found["times"]) == len(found["judged"]) == many
        assert (sum(found["judged"]), sum(found["refused"])) == (24, 15)
        counts = {row["code"]: sum(row["counts"]) for row in found["series"]}
        assert counts == {"B005": 12, "P001": 2, "V004": 1}
        assert found["series"][0]["title"]
    for wrong in ({"since": "2000-01-01", "by": "hour"}, {"by": "week"}, {"since": "2999-01-01"}):
        assert desk.client.get("/contracts/codes", params={"name": "shop", **wrong}).status_code == 400


def test_precision_follows_from_the_labels(served: Any, folder: Path, two: str) -> None:
    desk = served(folders=(folder,), store=two)
    found = desk.get("/contracts/precision", name="shop")
    rows = {row["rule"] or row["code"]: row for row in found["rows"]}
    small = rows["small"]
    assert (small["fired"], small["labelled"], small["right"], small["precision"]) == (12, 12, 9, 0.75)
    assert 0.46 < small["low"] < 0.47
    assert 0.91 < small["high"] < 0.92
    assert (rows["P001"]["fired"], rows["P001"]["labelled"], rows["P001"]["precision"]) == (2, 0, None)
    assert found["labelled"] == 12


def test_a_key_of_one_tenant_gets_only_that_tenants_numbers(served: Any, folder: Path, two: str) -> None:
    key = Key("ada", digest_of(SECRETS["reader"]), "reader", tenant="t1")
    desk = served(role="reader", keys=(key,), folders=(folder,), store=two)
    row = desk.get("/contracts")["files"][0]
    assert (row["verdicts"], row["refused"], row["versions"]) == (12, 8, 2)
    assert row["labelled"] is None
    versions = desk.get("/contracts/history", name="shop")["versions"]
    assert [(each["verdicts"], each["refused"]) for each in versions] == [(10, 7), (2, 1)]
    codes = desk.get("/contracts/codes", name="shop", since="1d")
    assert sum(codes["judged"]) == 12
    assert {each["code"]: each["total"] for each in codes["series"]} == {"B005": 6, "P001": 1, "V004": 1}
    rows = {each["rule"]: each for each in desk.get("/contracts/precision", name="shop")["rows"]}
    assert (rows["small"]["fired"], rows["small"]["labelled"]) == (6, 6)
    nobody = Key("bo", digest_of(SECRETS["reader"]), "reader", tenant="t9")
    other = served(role="reader", keys=(nobody,), folders=(folder,), store=two)
    assert other.get("/contracts")["files"][0]["verdicts"] == 0
    assert other.get("/contracts/history", name="shop")["versions"] == []
    assert other.get("/contracts/precision", name="shop")["rows"] == []


def test_warnings_are_not_errors_for_any_role(served: Any, folder: Path, filled: Fill) -> None:
    where = filled(folder / "shop.yaml", [('{"total": 1, "total": 2}', None), ({"total": 500}, None)], tenant="t1")
    key = Key("ada", digest_of(SECRETS["reader"]), "reader", tenant="t1")
    for desk in (served(folders=(folder,), store=where), served("reader", keys=(key,), folders=(folder,), store=where)):
        found = desk.get("/contracts/codes", name="shop", since="1d")
        assert {each["code"]: each["total"] for each in found["series"]} == {"B005": 1}
        assert sum(found["judged"]) == 2


def test_a_query_that_exceeds_its_time_limit_is_reported(two: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any time, every request gets an answer that says that it is incomplete and invents nothing."""
    for module in ("stored", "codes", "precision"):
        monkeypatch.setattr(f"trueup.studio.contracts.{module}.seconds", lambda _: seconds(-1.0))
    monkeypatch.setattr(stored, "MOST_COUNTED", 5)
    monkeypatch.setattr(stored, "_SAMPLE", 4)
    with open_store(two) as store:
        assert [each.name for each in known_contracts(store)] == ["shop"]
        found = history(store, "shop")
        assert not found["complete"]
        assert {(each["verdicts"], each["capped"], each["estimated"]) for each in found["versions"]} == {
            (5, True, True),
            (4, False, False),
        }
        assert not precision(store, "shop")["complete"]
        first = min(each.at for each in store.verdicts())
        late = codes_over_time(store, "shop", since=first - 3600, by="hour", tenant="t1")
        assert sum(late["judged"]) == 12, "one piece is looked at all the same"


def test_names_and_codes_may_have_any_characters(tmp_path: Path) -> None:
    """Odd names of contracts, versions that cannot be written down, and a contract without a name."""
    with open_store(tmp_path / "v.db") as store:
        for name in ("<b>", "a\\b", "😀", ""):
            contract = Contract({"type": "object"}, name=name, tools=[open_store] if name == "😀" else None)
            store.record_verdict(contract.check("{}"), contract=contract)
        assert sorted(each.name for each in known_contracts(store)) == ["<b>", "a\\b", "😀"]
        for name in ("<b>", "a\\b"):
            assert len(history(store, name)["versions"]) == 1
        assert history(store, "😀")["versions"][0]["lost"]


def test_a_stored_contract_is_shown_as_readable_text() -> None:
    text, lost = written(
        '{"portable":true,"options":{"rules":["a: b > 0"],"reply":{"hint":"one\\ntwo\\n"},"name":"x","no":null}}'
    )
    assert lost == []
    assert text == "name: x\nrules:\n  - 'a: b > 0'\nreply:\n  hint: |\n    one\n    two\nno:\n"
    assert written(None) == ("", [])
    assert written("not JSON") == ("", ["the text cannot be read"])
    long = '{"portable":true,"options":{"name":"' + "x" * 200_000 + '"}}'
    assert written(long)[0].startswith("{")
