"""The live backtest of a draft: right figures, flips with their marks, and work that ends when its client leaves."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.studio.conftest import SECRETS
from tests.studio.contracts.conftest import SHOP, Fill
from tests.waiting import wait_for
from trueup import backtest
from trueup.studio.door.sessions import digest_of
from trueup.studio.settings import Key

NAME = "contracts/shop.yaml"
DRAFT = SHOP.replace("total < 100", "total < 50 or total > 200")
TOTALS = [10, 60, 70, 120, 130, 250, 260, 40, 99, 300]


def replies(many: int = 40) -> list[tuple[Any, bool | None]]:
    dice = random.Random(7)
    return [({"total": dice.choice(TOTALS)}, dice.choice([True, False, None])) for _ in range(many)]


def last(desk: Any, **body: Any) -> Any:
    events = list(desk.lines("/backtest", {"file": NAME, "text": DRAFT, **body}))
    assert list(events[-1]) == ["result"], events[-1]
    return events[-1]["result"]


def test_the_result_equals_a_backtest(
    served: Any, folder: Path, filled: Fill, database: Callable[[], str], tmp_path: Path
) -> None:
    """On both databases, with labels, costs and flips in both directions."""
    url = database()
    filled(folder / "shop.yaml", [*replies(), ("not JSON 😀", True)], url=url, latency=1.5, cost=1000)
    desk = served(role="reader", folders=(folder,), store=url)
    events = list(desk.lines("/backtest", {"file": NAME, "text": DRAFT}))
    result = events[-1]["result"]
    (tmp_path / "new.yaml").write_text(DRAFT)
    whole = backtest(tmp_path / "new.yaml", url, against=folder / "shop.yaml").to_dict()
    for name in (
        "total",
        "judged",
        "newly_refused",
        "newly_accepted",
        "unchanged",
        "rates",
        "tests",
        "labels",
        "cost",
        "unjudgeable",
    ):
        assert result[name] == json.loads(json.dumps(whole[name])), name
    assert result["newly_refused"]
    assert result["newly_accepted"]
    told = [event for event in events if "progress" in event]
    assert told[-1]["progress"]["judged"] == told[-1]["progress"]["total"] == result["judged"]
    assert told[-1]["estimate"]["newly_refused"] == result["newly_refused"]
    assert str(tmp_path) not in str(events)
    assert "password" not in str(events)
    flips = {flip["id"]: flip for flip in result["flips"]}
    assert len(flips) == result["newly_refused"] + result["newly_accepted"]
    assert {flip["label"] for flip in flips.values()} == {"better", "worse", "unlabelled"}
    for flip in flips.values():
        assert flip["was"] is not flip["now"]
        assert flip["recorded"] is flip["was"]
        assert flip["codes"] == ["B005"]
        assert flip["rule"] == "small"
        assert flip["codes_new" if flip["was"] else "codes_old"] == ["B005"]
        assert flip["codes_old" if flip["was"] else "codes_new"] == []
        assert flip["text"].startswith('{"total"')


def test_a_selection_limits_what_is_judged(served: Any, folder: Path, filled: Fill) -> None:
    store = filled(folder / "shop.yaml", replies())
    filled(folder / "shop.yaml", [({"total": 60}, None)] * 5, start=100, state="PAY", model="other")
    desk = served(folders=(folder,), store=store)
    found = last(desk, model="other", state="PAY", tenant="t1", since="1h", until="2100-01-01")
    assert (found["total"], {flip["model"] for flip in found["flips"]}) == (2, {"other"})
    assert last(desk, contract="none")["total"] == 0, "of another contract"
    for wrong in ({"limit": 0}, {"since": "yesterday"}, {"file": "contracts/none.yaml"}, {"against": "0" * 16}):
        answer = desk.client.post("/backtest", json={"file": NAME, "text": DRAFT, **wrong})
        assert answer.status_code in (400, 404), wrong


CHAT = "name: chat\nstates:\n  groups:\n    bad: {terms: [never]}\n  IDLE: {forbid: [bad]}\n"


def test_the_text_of_each_mark_is_correct(served: Any, folder: Path, filled: Fill) -> None:
    """Emoji, combining letters and right-to-left text before a place, and replies longer than what is shown."""
    file = folder / "chat.yaml"
    file.write_text(CHAT)
    before = ["", "😀😀 é\u0302 ", "שלום ", "x" * 2000 + " 😀 ", "\ud83d "]
    texts = [
        f"{start}we {word} do{end}" for start in before for word in ("never", "always") for end in ("", " 😀" * 900)
    ]
    store = filled(file, [(text, None) for text in texts], context={"state": "IDLE"})
    desk = served(folders=(folder,), store=store)
    body = {"file": "contracts/chat.yaml", "text": CHAT.replace("never", "always")}
    flips = list(desk.lines("/backtest", body))[-1]["result"]["flips"]
    assert len(flips) == len(texts)
    for flip in flips:
        units = flip["text"].encode("utf-16-le", "surrogatepass")
        marked = [
            [units[2 * start : 2 * end].decode("utf-16-le", "surrogatepass") for start, end, _ in flip[side]]
            for side in ("marks_old", "marks_new")
        ]
        assert marked == ([[], ["always"]] if flip["was"] else [["never"], []])
        assert len(flip["text"]) <= 602, "an excerpt of a long reply"
        assert flip["cut"] is (len(flip["text"]) > 60)


def test_one_flip_is_shown_side_by_side(served: Any, folder: Path, filled: Fill) -> None:
    store = filled(folder / "shop.yaml", [({"total": 60}, True)])
    desk = served(role="reader", folders=(folder,), store=store)
    both = desk.post("/backtest/flip", {"id": "v0", "file": NAME, "text": DRAFT})
    assert (both["old"]["ok"], both["new"]["ok"], both["recorded"]) == (True, False, True)
    assert [fact["code"] for fact in both["new"]["facts"]] == ["B005"]
    assert both["old"]["text"] == both["new"]["text"] == '{"total": 60}'
    for body, status in (({"id": "none"}, 404), ({"text": "rules: [1 +"}, 422), ({"against": "1" * 16}, 404)):
        answer = desk.client.post("/backtest/flip", json={"id": "v0", "file": NAME, "text": DRAFT, **body})
        assert answer.status_code == status


def test_a_draft_can_be_compared_with_a_stored_version(served: Any, folder: Path, filled: Fill) -> None:
    store = filled(folder / "shop.yaml", replies())
    desk = served(folders=(folder,), store=store)
    version = desk.get("/contracts/file", file=NAME)["fingerprint"]
    (folder / "shop.yaml").write_text(DRAFT)
    assert "this text decides the same as the saved contract" in last(desk)["conclusion"]
    assert "this text decides the same as that version" in last(desk, text=SHOP, against=version)["conclusion"]
    found = last(desk, against=version)
    assert found["newly_refused"] > 0
    assert not found["same_fingerprint"]


def test_a_draft_that_decides_the_same_is_not_judged(served: Any, folder: Path, filled: Fill) -> None:
    store = filled(folder / "shop.yaml", replies())
    desk = served(folders=(folder,), store=store)
    found = last(desk, text=SHOP + "# a comment\n")
    assert found["same_fingerprint"]
    assert found["flips"] == []
    assert "Nothing can flip" in found["conclusion"]


def test_a_saved_file_with_errors_is_compared_by_what_was_recorded(served: Any, folder: Path, filled: Fill) -> None:
    store = filled(folder / "shop.yaml", replies())
    (folder / "shop.yaml").write_text(SHOP.replace("expr: total < 100", "expr: total <"))
    desk = served(folders=(folder,), store=store)
    found = last(desk)
    assert found["newly_refused"] > 0
    both = desk.post("/backtest/flip", {"id": found["flips"][0]["id"], "file": NAME, "text": DRAFT})
    assert both["old"] is None
    assert both["new"] is not None


def test_a_draft_with_errors_is_refused_with_its_faults(served: Any, folder: Path, filled: Fill) -> None:
    store = filled(folder / "shop.yaml", replies(2))
    desk = served(folders=(folder,), store=store)
    for text in ("rules: [1 +", "", "schema: {type: nmber}", "extends: ../../etc/passwd", "a: !!python/object:os {}"):
        answer = desk.client.post("/backtest", json={"file": NAME, "text": text})
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "lint_errors"), text
        assert answer.json()["error"]["faults"]


def test_without_a_store_nothing_is_judged(served: Any, folder: Path) -> None:
    desk = served(folders=(folder,))
    for path in ("/backtest", "/tune"):
        body = {"file": NAME, **({"text": DRAFT} if path == "/backtest" else {})}
        assert desk.client.post(path, json=body).json()["error"]["code"] == "no_store"


def test_a_key_of_one_tenant_sees_only_that_tenant(served: Any, folder: Path, filled: Fill) -> None:
    store = filled(folder / "shop.yaml", replies())
    key = Key("ada", digest_of(SECRETS["reader"]), "reader", tenant="t1")
    desk = served(role="reader", keys=(key,), folders=(folder,), store=store)
    for given in ({}, {"tenant": "t1"}):
        found = last(desk, **given)
        assert found["total"] == 20
        assert {flip["tenant"] for flip in found["flips"]} == {"t1"}
    other = desk.client.post("/backtest", json={"file": NAME, "text": DRAFT, "tenant": "t0"})
    assert (other.status_code, other.json()["error"]["code"]) == (403, "no_right")
    assert desk.client.post("/backtest/flip", json={"id": "v0", "file": NAME, "text": DRAFT}).status_code == 404
    assert desk.post("/backtest/flip", {"id": "v1", "file": NAME, "text": DRAFT})["id"] == "v1"


# -- work that ends ----------------------------------------------------------------------------


SLOW = SHOP.replace("total < 100", "sum([n * m for n in range(int(total)) for m in range(int(total))]) >= 0")


def long_work() -> list[tuple[Any, bool | None]]:
    """Replies that take some milliseconds each: the first block of them a second, all of them several."""
    return [({"total": 70}, None)] * 2400


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def family(pid: int) -> set[int]:
    """A process and all processes that it has started."""
    found = {pid}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == pid:  # of its group
            found.add(int(path.parent.name))
    return found


@pytest.fixture
def busy(served: Any, folder: Path, filled: Fill) -> Any:
    """A studio with a backtest that does not end soon."""
    store = filled(folder / "shop.yaml", long_work())
    return served(folders=(folder,), store=store)


def begun(desk: Any) -> tuple[Any, set[int]]:
    """A running response, and the processes that work for it."""
    stream = desk.client.stream("POST", "/backtest", json={"file": NAME, "text": SLOW})
    response = stream.__enter__()
    assert response.status_code == 200
    response.lines = response.iter_lines()
    assert next(response.lines)
    return stream, family(desk.app.studio.works.works[-1].pid)


def test_a_client_that_leaves_ends_the_work(busy: Any) -> None:
    stream, (pid,) = begun(busy)
    wait_for(lambda: len(family(pid)) > 1, "no other process judges")
    working = family(pid)
    stream.__exit__(None, None, None)
    wait_for(lambda: all(map(is_gone, working)), "processes work on for nobody")
    wait_for(lambda: not busy.app.studio.works.works, "its slot is not free again")
    assert busy.get("/contracts")["files"]


def test_at_most_two_backtests_run_together(busy: Any) -> None:
    first, _ = begun(busy)
    second, _ = begun(busy)
    answer = busy.client.post("/backtest", json={"file": NAME, "text": SLOW})
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "too_much_work")
    waiting: list[int] = []
    asked = threading.Thread(target=lambda: waiting.append(len(begun(busy)[1])))
    first.__exit__(None, None, None)
    asked.start()
    asked.join(60)
    assert waiting, "there is room again as soon as one has left"
    second.__exit__(None, None, None)


def test_a_studio_that_stops_ends_its_work(busy: Any) -> None:
    stream, working = begun(busy)
    busy.app.close()
    wait_for(lambda: all(map(is_gone, working)), "processes outlive their studio")
    stream.__exit__(None, None, None)


SERVER = """
import sys
from trueup.studio.working.work import LongJob
work = LongJob("backtest", __import__("json").loads(sys.stdin.readline()))
for event in work:
    print(work.pid, flush=True)
"""


def test_killing_the_server_ends_its_work(folder: Path, filled: Fill) -> None:
    store = filled(folder / "shop.yaml", long_work())
    spec = {
        "folders": [str(folder)], "store": store, "file": NAME, "text": SLOW, "old": SHOP, "selection": {},
    }  # fmt: skip
    with subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(spec).encode() + b"\n")
        server.stdin.flush()
        pid = int(server.stdout.readline())
        wait_for(lambda: len(family(pid)) > 1, "no other process judges")
        working = family(pid)
        os.kill(server.pid, signal.SIGKILL)
    wait_for(lambda: all(map(is_gone, working)), "processes outlive their server")


def test_a_crashed_worker_is_reported(busy: Any) -> None:
    stream = busy.client.stream("POST", "/backtest", json={"file": NAME, "text": SLOW})
    with stream as response:
        lines = response.iter_lines()
        next(lines)
        os.kill(busy.app.studio.works.works[-1].pid, signal.SIGKILL)
        told = [json.loads(line) for line in lines]
    assert told[-1]["error"]["code"] == "work_failed"
    wait_for(lambda: not busy.app.studio.works.works, "its slot is not free again")


def test_a_flip_has_the_recorded_verdict_from_the_first_estimate_on(served: Any, folder: Path, filled: Fill) -> None:
    """A label is about the recorded decision, which the saved file may have reversed since then."""
    filled(folder / "shop.yaml", [({"total": 120}, None)] * 3)
    (folder / "shop.yaml").write_text(SHOP.replace("total < 100", "total < 200"))
    desk = served(role="reader", folders=(folder,), store=str(folder.parent / "verdicts.db"))
    events = list(desk.lines("/backtest", {"file": NAME, "text": SHOP}))
    early = next(event["estimate"]["flips"] for event in events if event.get("estimate", {}).get("flips"))
    for flip in (*early, *events[-1]["result"]["flips"]):
        assert (flip["recorded"], flip["was"], flip["now"]) == (False, True, False)


def test_a_contract_without_a_name_is_named_after_its_file(served: Any, folder: Path, filled: Fill) -> None:
    """As in a gateway. If the store does not have this name, the replies of all contracts are judged, as on the command
    line.
    """
    file = folder / "shop.yaml"
    filled(file, replies(20))
    filled(file, replies(5), start=20, contract="another")
    file.write_text(SHOP.replace("name: shop\n", ""))
    draft = DRAFT.replace("name: shop\n", "")
    desk = served(folders=(folder,), store=str(folder.parent / "verdicts.db"))
    assert [(row["name"], row["verdicts"]) for row in desk.get("/contracts")["files"]] == [("shop", 20)]
    assert desk.get("/contracts/file", file=NAME)["name"] == "shop"
    assert last(desk, text=draft)["total"] == 20
    assert list(desk.lines("/tune", {"file": NAME}))[-1]["result"]["name"] == "shop"
    file.rename(folder / "kiosk.yaml")
    assert last(desk, file="contracts/kiosk.yaml", text=draft)["total"] == 25
