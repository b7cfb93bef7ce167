"""Tune: suggestions from labelled replies, each with its diff and backtest; one is written into its file, if that is still the same."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.studio.conftest import SECRETS
from tests.studio.contracts.conftest import Fill
from trueup.contract.lint.run import lint_contract
from trueup.studio.door.sessions import digest_of
from trueup.studio.settings import Key
from trueup.studio.working import tune as tuning

LEVELS = """# Levels.
name: levels
schema:
  type: object
  properties:
    level: {enum: [low, high]}   # two
"""
ALIAS = [({"level": "very high"}, True)] * 12 + [({"level": "banana"}, False)] * 11 + [({"level": "low"}, None)] * 30
NAME = "contracts/levels.yaml"


@pytest.fixture
def levels(folder: Path) -> Path:
    file = folder / "levels.yaml"
    file.write_bytes(LEVELS.replace("\n", "\r\n").encode())
    file.chmod(0o640)
    return file


def tuned(desk: Any, **asked: Any) -> Any:
    events = list(desk.lines("/tune", {"file": NAME, **asked}))
    assert list(events[-1]) == ["result"], events[-1]
    return events


def test_a_suggestion_is_made_and_written(
    served: Any, levels: Path, folder: Path, filled: Fill, database: Callable[[], str], tmp_path: Path
) -> None:
    url = database()
    filled(levels, ALIAS, url=url)
    desk = served(folders=(folder,), store=url)
    events = tuned(desk)
    result = events[-1]["result"]
    assert any("progress" in event for event in events)
    assert (result["replies"], result["labelled"], result["name"]) == (53, 23, "levels")
    (suggestion,) = [each for each in result["suggestions"] if each["advice"]]
    assert suggestion["kind"] == "alias"
    assert suggestion["diff"].startswith(f"--- a/{NAME}\n+++ b/{NAME}\n")
    assert suggestion["backtest"]["newly_accepted"] == 12
    assert suggestion["examples"][0]["should"] is True
    assert str(tmp_path) not in json.dumps(events), "no path of this machine"
    body = {"file": NAME, "hash": result["hash"], "suggestions": [suggestion["id"]]}
    written = desk.post("/tune/apply", body)
    assert (written["files"], written["examples"]) == ([NAME], 2)
    raw = levels.read_bytes()
    assert b"aliases: {high: [very high]}" in raw
    assert raw.startswith(b"# Levels.\r\n"), "comments and line ends stay"
    assert raw.count(b"\n") == raw.count(b"\r\n")
    assert levels.stat().st_mode & 0o777 == 0o640
    assert not lint_contract(levels).faults
    assert written["hash"] == desk.get("/contracts/file", file=NAME)["hash"]
    assert sorted(path.name for path in folder.iterdir()) == ["levels.yaml", "shop.yaml"]
    again = desk.client.post("/tune/apply", json=body)
    assert (again.status_code, again.json()["error"]["code"]) == (409, "changed")
    gone = desk.client.post("/tune/apply", json={**body, "hash": written["hash"]})
    assert (gone.status_code, gone.json()["error"]["code"]) == (409, "gone")
    assert levels.read_bytes() == raw


def test_only_an_editor_may_apply_and_only_existing_suggestions(
    served: Any, levels: Path, folder: Path, filled: Fill
) -> None:
    store = filled(levels, ALIAS)
    reader = served(role="reader", folders=(folder,), store=store)
    body = {"file": NAME, "hash": "", "suggestions": ["0" * 16]}
    assert reader.client.post("/tune/apply", json=body).status_code == 403
    desk = served(folders=(folder,), store=store)
    body["hash"] = desk.get("/contracts/file", file=NAME)["hash"]
    assert desk.client.post("/tune/apply", json=body).json()["error"]["code"] == "gone"
    levels.chmod(0o444)
    (suggestion,) = [each["id"] for each in tuned(desk)[-1]["result"]["suggestions"] if each["advice"]]
    answer = desk.client.post("/tune/apply", json={**body, "suggestions": [suggestion]})
    assert answer.json()["error"]["code"] == "cannot_apply"
    assert "contracts/levels.yaml is read-only" in answer.json()["error"]["message"]
    levels.write_bytes(b"rules: [1 +")
    assert desk.client.post("/tune", json={"file": NAME}).json()["error"]["code"] == "lint_errors"


def test_a_key_of_one_tenant_learns_from_that_tenant(served: Any, levels: Path, folder: Path, filled: Fill) -> None:
    store = filled(levels, ALIAS)
    key = Key("ada", digest_of(SECRETS["reader"]), "reader", tenant="t1")
    desk = served(role="reader", keys=(key,), folders=(folder,), store=store)
    for given in ({}, {"tenant": "t1"}):
        result = tuned(desk, **given)[-1]["result"]
        assert (result["replies"], result["labelled"]) == (26, 11)
        assert [row["unit"] for row in result["labels_needed"]] == []
    other = desk.client.post("/tune", json={"file": NAME, "tenant": "t0"})
    assert (other.status_code, other.json()["error"]["code"]) == (403, "no_right")


def test_rules_that_need_labels_are_listed(served: Any, levels: Path, folder: Path, filled: Fill) -> None:
    store = filled(levels, [({"level": "banana"}, None)] * 20)
    desk = served(folders=(folder,), store=store)
    result = tuned(desk)[-1]["result"]
    assert [(row["fired"], row["labels"], row["needed"]) for row in result["labels_needed"]] == [(20, 0, 10)]


def test_a_sample_of_very_many_replies_is_read(
    levels: Path, folder: Path, filled: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every labelled reply, and some of the others."""
    monkeypatch.setattr(tuning, "MOST_OTHERS", 7)
    store = filled(levels, ALIAS)
    events: list[Any] = []
    tuning.tune({"folders": [str(folder)], "store": store, "file": NAME, "selection": {}}, events.append)
    result = events[-1]["result"]
    assert (result["replies"], result["labelled"]) == (30, 23)
