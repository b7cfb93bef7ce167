"""Verdicts in the studio: the table, one verdict, labels, the queue; the rights of keys; hostile texts; the page by
keyboard alone.
"""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.studio.conftest import KEYS, Desk, axe
from tests.studio.driving import LONGEST, expect
from trueup import Contract
from trueup.store.browsing import Count
from trueup.store.facets import FACETS, Counts
from trueup.store.open import open_store
from trueup.store.redaction import Redaction
from trueup.studio.door.sessions import digest_of
from trueup.studio.settings import Key

PERSON_FILE = """
name: person
schema: {type: object, required: [age], properties: {age: {type: integer}}}
rules: [{name: grown up, expr: age >= 18}]
"""
HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>\"'`${alert(3)}\u202e\x00\ud800"
TEXTS = ('{"age": 36}', '{"age": 7}', '{"age": "x"}', "no", "```json\n{'age': 40,}\n```", '{"age": 41}')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "contracts"
    made.mkdir()
    (made / "person.yaml").write_text(PERSON_FILE)
    return made


def fill(path: Path, contract: Contract[Any], number: int = 60, **known: Any) -> list[str]:
    """A store of verdicts; their ids, newest first."""
    chance = random.Random(4)
    now = iter(range(1_700_000_000_000_000, 10**18, 60_000_000))
    with open_store(path, clock=lambda: next(now), keep_context=True) as store:
        return [
            store.record_verdict(
                contract.check(chance.choice(TEXTS)), contract=contract, request=f"r-{n // 2}", attempt=n % 2 + 1, attempts=2,
                **{"model": f"m-{n % 3}", "tenant": ["acme", "beta"][n % 2], "state": ["", "ASKING"][n % 2], "conversation": f"c-{n // 6}",
                   "latency": 0.5, "cost": 300, "context": {"question": f"How old, {n}?"}, **known},
            )
            for n in range(number)
        ][::-1]  # fmt: skip


@pytest.fixture
def ids(tmp_path: Path, folder: Path) -> list[str]:
    return fill(tmp_path / "v.db", Contract.load(folder / "person.yaml"))


@pytest.fixture
def desk(served: Callable[..., Desk], tmp_path: Path, folder: Path, ids: list[str]) -> Desk:
    return served(folders=(folder,), store=str(tmp_path / "v.db"))


def refusal(desk: Desk, path: str, body: Any = None) -> tuple[int, str]:
    response = desk.client.get(path) if body is None else desk.client.post(path, json=body)
    return response.status_code, response.json()["error"]["message"]


def test_pages_are_consecutive_and_counts_agree(desk: Desk, ids: list[str]) -> None:
    for filters in (
        {},
        {"ok": False},
        {"model": "m-1", "tenant": "acme"},
        {"text": "AGE"},
        {"since": "2023-11-14T22:50:00Z"},
    ):
        rows, cursor = [], ""
        while cursor is not None:
            page = desk.get("/verdicts", **filters, cursor=cursor, limit=7)
            rows += page["rows"]
            cursor = page["next"]
            assert page["searched"]["complete"]
        counts = desk.get("/verdicts/counts", **filters)
        assert counts["total"] == {"count": len(rows), "capped": False}
        assert [row["id"] for row in rows] == [name for name in ids if name in {row["id"] for row in rows}]
        told = {each["value"]: each["count"] for each in counts["facets"]["code"]}
        assert all(sum(code in row["codes"] for row in rows) == n for code, n in told.items())
        assert filters or len(rows) == 60
    first = rows[0]
    assert first["excerpt"] in {" ".join(text.split()) for text in TEXTS}
    assert (first["attempts"], first["latency"], first["cost"], first["label"]) == (2, 0.5, 300, "")
    assert desk.get("/verdicts/news", after=page["place"] or f"{0}.0")["count"] >= 0
    assert desk.get("/verdicts/values", facet="model", begins="M-")["values"] == ["m-0", "m-1", "m-2"]
    assert sum(n for _, n, _ in desk.get("/verdicts/times")["hours"]) == 60
    assert desk.get("/verdicts/times", state="ASKING")["hours"] is None


def test_one_verdict_is_shown_in_full(desk: Desk, ids: list[str]) -> None:
    refused = desk.get("/verdicts", rule="grown up")["rows"][0]
    found = desk.get(f"/verdicts/{refused['id']}")
    assert found["row"] == refused
    assert found["verdict"]["text"] == '{"age": 7}'
    fact = found["verdict"]["facts"][0]
    assert (fact["code"], fact["rule"], fact["subject"]) == ("B005", "grown up", "rule:grown up")
    assert "age" in found["verdict"]["told"]
    assert [row["attempt"] for row in found["attempts"]] == [
        refused["attempt"]
    ]  # its sibling belongs to another tenant
    assert len(found["conversation"]) == 3
    assert {row["tenant"] for row in found["conversation"]} == {refused["tenant"]}
    assert found["contract"] | {"fingerprint": "", "now": ""} == {
        "name": "person", "file": "contracts/person.yaml", "current": True, "fingerprint": "", "now": "",
    }  # fmt: skip
    assert json.loads(found["context"]["text"])["question"].startswith("How old")
    again = desk.get(f"/verdicts/{refused['id']}/again")
    assert (again["reply"], again["verdict"]["ok"], again["contract"]["text"]) == ('{"age": 7}', False, PERSON_FILE)
    assert ids


def test_a_contract_file_changed_since_the_verdict_is_reported(desk: Desk, folder: Path, ids: list[str]) -> None:
    (folder / "person.yaml").write_text(PERSON_FILE.replace("18", "5"))
    refused = desk.get("/verdicts", rule="grown up")["rows"][0]["id"]
    assert desk.get(f"/verdicts/{refused}")["contract"]["current"] is False
    assert desk.get(f"/verdicts/{refused}/again")["verdict"]["ok"] is True
    (folder / "person.yaml").unlink()
    assert desk.get(f"/verdicts/{refused}")["contract"]["file"] == ""
    assert "No file" in desk.get(f"/verdicts/{refused}/again")["why"]
    assert ids


def test_missing_data_is_explained(served: Any, tmp_path: Path) -> None:
    contract = Contract(schema=True, name="any")
    with open_store(tmp_path / "none.db", redaction=Redaction(bodies="none")) as store:
        made = store.record_verdict(contract.check("no"), contract="any")
    desk = served(store=str(tmp_path / "none.db"))
    found = desk.get(f"/verdicts/{made}")
    assert (found["verdict"], found["kept"], found["row"]["excerpt"]) == (None, "none", None)
    assert "not to keep" in found["gone"]
    assert "not to keep" in desk.get(f"/verdicts/{made}/again")["why"]
    assert desk.get("/queue")["unreadable"] == {"the store was configured not to keep the text of the reply": 1}
    for path in ("/verdicts/zzz", "/verdicts/%00", "/verdicts/zzz/again", f"/verdicts/{'x' * 5000}"):
        status, said = refusal(desk, path)
        assert (status, "There is no verdict" in said) == (404, True), path
    for path in (
        "?limit=0",
        "?limit=9999",
        "?cursor=zzz",
        "?cursor=1.%00",
        "?since=yesterday",
        "?mood=1",
        f"?text={'x' * 2000}",
        "/news?after=",
    ):
        assert refusal(desk, f"/verdicts{path}")[0] == 400, path
    assert refusal(served(), "/verdicts")[0] == 404


def test_labels_are_stored_with_a_name_and_can_be_undone(desk: Desk, ids: list[str]) -> None:
    first, second = ids[:2]
    given = desk.post("/labels", {"items": [{"verdict": first, "outcome": "right"}]})["items"]
    changed = desk.post("/labels", {"items": [{"verdict": first, "outcome": "wrong", "note": "no", "drawn": "uncertain"}, {"verdict": second, "outcome": "right", "subject": "rule:grown up"}]})["items"]  # fmt: skip
    assert [each["before"] for each in given + changed] == [None, {"outcome": "right", "note": "", "drawn": ""}, None]
    row = desk.get("/verdicts", limit=1)["rows"][0]
    assert (row["label"], row["mine"]) == ("wrong", "wrong")
    assert desk.get("/verdicts", label="wrong")["rows"] == [row]
    said = desk.get(f"/verdicts/{second}")["labels"]
    assert [(each["author"], each["outcome"], each["subject"], each["mine"]) for each in said] == [
        ("editor", "right", "rule:grown up", True)
    ]
    assert desk.post("/labels/undo", {"items": changed})["undone"] == 2
    assert desk.get("/verdicts", limit=1)["rows"][0]["mine"] == "right"
    assert desk.post("/labels/undo", {"items": given})["undone"] == 1
    assert desk.post("/labels/undo", {"items": given})["undone"] == 0
    assert desk.get("/verdicts/counts")["facets"]["label"] == []
    for wrong in (
        {"outcome": ""},
        {"outcome": "x" * 300},
        {"outcome": "right", "subject": "V005"},
        {"outcome": "comment"},
    ):
        assert refusal(desk, "/labels", {"items": [{"verdict": first, **wrong}]})[0] == 400
    status, said = refusal(
        desk, "/labels", {"items": [{"verdict": first, "outcome": "right"}, {"verdict": "zzz", "outcome": "right"}]}
    )
    assert (status, "'zzz'; nothing was stored" in said) == (404, True)
    assert desk.get("/verdicts/counts")["facets"]["label"] == []


def test_undo_keeps_later_changes(desk: Desk, ids: list[str]) -> None:
    """As in another tab of the same person."""
    one = [{"verdict": ids[0], "outcome": "right"}]
    first = desk.post("/labels", {"items": one})["items"]
    second = desk.post("/labels", {"items": [{**one[0], "outcome": "wrong"}]})["items"]
    assert desk.post("/labels/undo", {"items": first})["undone"] == 0
    assert desk.get("/verdicts", limit=1)["rows"][0]["mine"] == "wrong"
    assert desk.post("/labels/undo", {"items": second})["undone"] == 1
    assert desk.post("/labels/undo", {"items": second})["undone"] == 0
    assert desk.post("/labels/undo", {"items": first})["undone"] == 1
    assert desk.post("/labels/undo", {"items": second})["undone"] == 0, "what is gone does not come back"
    assert desk.get("/verdicts", labelled=True)["rows"] == []


def test_the_nearest_of_very_many_attempts_are_shown(served: Any, tmp_path: Path) -> None:
    contract = Contract(schema=True, name="any")
    now = iter(range(1_700_000_000_000_000, 10**18))
    with open_store(tmp_path / "many.db", clock=lambda: next(now)) as store:
        made = [
            store.record_verdict(
                contract.check("no"), request="r", conversation="c", attempt=n, attempts=200, wait=False
            )
            for n in range(1, 201)
        ]
    desk = served(store=str(tmp_path / "many.db"))
    for name, numbers in ((made[0], range(1, 22)), (made[149], range(130, 171)), (made[-1], range(180, 201))):
        found = desk.get(f"/verdicts/{name}")
        assert [row["attempt"] for row in found["attempts"]] == list(numbers)
        assert found["attempts"] == found["conversation"]
        assert found["of"] == {"attempts": 200, "conversation": 200}


def test_only_a_labeller_may_label(served: Any, tmp_path: Path, ids: list[str]) -> None:
    reader = served(role="reader", store=str(tmp_path / "v.db"))
    assert refusal(reader, "/labels", {"items": [{"verdict": ids[0], "outcome": "right"}]})[0] == 403
    assert refusal(reader, "/labels/undo", {"items": []})[0] == 403
    assert reader.get("/queue")["entries"]


def test_the_queue_equals_the_queue_of_the_command(desk: Desk, tmp_path: Path, ids: list[str]) -> None:
    from trueup.labelling.queue import queue
    from trueup.material.sources import cases

    found = desk.get("/queue", limit=12)
    expected = queue(cases([tmp_path / "v.db"]), size=12, author="editor").entries
    assert {entry["drawn"] for entry in found["entries"]} == {"random", "uncertain"}
    assert sorted(entry["row"]["id"] for entry in found["entries"] if entry["drawn"] == "random") == sorted(
        entry.case.id for entry in expected if entry.drawn == "random"
    )
    assert len(found["entries"]) == len(expected)
    assert found["from"] == {"seen": 60, "since": pytest.approx(1_700_000_000, abs=600), "all": True}
    for entry in found["entries"]:
        desk.post("/labels", {"items": [{"verdict": entry["row"]["id"], "outcome": "right", "drawn": entry["drawn"]}]})
    left = desk.get("/queue", limit=12)
    assert left["labelled"] == len(expected)
    assert not {entry["row"]["id"] for entry in left["entries"]} & {entry["row"]["id"] for entry in found["entries"]}
    assert ids


def test_a_key_with_a_tenant_sees_nothing_of_others(served: Any, tmp_path: Path, folder: Path, ids: list[str]) -> None:
    every = served(folders=(folder,), store=str(tmp_path / "v.db"))
    foreign = next(row for row in every.get("/verdicts")["rows"] if row["tenant"] == "beta")
    every.post("/labels", {"items": [{"verdict": foreign["id"], "outcome": "of beta"}]})
    key = Key("ann", digest_of("of acme"), "labeller", tenant="acme")
    desk = served(folders=(folder,), store=str(tmp_path / "v.db"), keys=(*KEYS, key))
    desk.client.headers["authorization"] = "Bearer of acme"
    rows = desk.get("/verdicts")["rows"]
    assert {row["tenant"] for row in rows} == {"acme"}
    assert len(rows) == 30
    counts = desk.get("/verdicts/counts")
    assert counts["total"]["count"] == 30
    assert [each["value"] for each in counts["facets"]["tenant"]] == ["acme"]
    assert counts["facets"]["state"] == counts["facets"]["label"] == []  # only beta has states and labels
    assert desk.get("/verdicts/values", facet="tenant")["values"] == ["acme"]
    assert desk.get("/verdicts/values", facet="state")["values"] == []
    assert desk.get("/verdicts/times")["hours"] is None
    assert desk.get("/verdicts/news", after="0.0")["count"] == 30
    assert {entry["row"]["tenant"] for entry in desk.get("/queue")["entries"]} == {"acme"}
    assert refusal(desk, "/verdicts?tenant=beta")[0] == 403
    for path in (f"/verdicts/{foreign['id']}", f"/verdicts/{foreign['id']}/again"):
        assert refusal(desk, path)[0] == 404
    given = [{"verdict": foreign["id"], "outcome": "right"}]
    assert refusal(desk, "/labels", {"items": given})[0] == 404
    assert refusal(desk, "/labels/undo", {"items": given})[0] == 404
    assert ids


@pytest.mark.needs("browser")
@pytest.mark.spec("X21", "X22")
def test_hostile_texts_stay_text_in_every_column(served: Any, look: Any, tmp_path: Path) -> None:
    plain = HOSTILE.rstrip("\ud800\x00")
    contract = Contract(schema=True, rules=[{"name": plain, "expr": "false"}], name=plain)
    names = {
        name: f"{HOSTILE} {name}" for name in ("model", "tenant", "state", "conversation", "user", "request", "outcome")
    }
    with open_store(tmp_path / "h.db", keep_context=True) as store:
        made = [
            store.record_verdict(
                contract.check(json.dumps(text)), contract=contract, context={HOSTILE: HOSTILE}, **names
            )
            for text in (plain, HOSTILE, plain)  # half a surrogate pair is refused before any rule is tried
        ]
        store.record_feedback(
            made[0], outcome="wrong", note=HOSTILE, label=HOSTILE, user=HOSTILE, subject=f"rule:{plain}"
        )
    desk = served(store=str(tmp_path / "h.db"))
    tab = look(desk, "/verdicts", width=1800)
    tab.wait_for_selector(".grid .tr:nth-child(3)")
    assert "onerror=alert(1)" in tab.inner_text(".grid")
    for facet in ("Model", "Rule", "Tenant", "Outcome", "Label", "State", "Contract"):
        tab.get_by_role("button", name=facet, exact=True).click()
        tab.wait_for_selector(".drop li button")
        assert "<img" in tab.inner_text(".drop")
        tab.keyboard.press("Escape")
    tab.locator("body").press("j")
    tab.locator("body").press("End")
    tab.locator("body").press("Enter")
    tab.wait_for_selector(".verdict[data-id]")
    tab.goto(desk.address(f"/verdicts/{made[0]}"))
    tab.wait_for_selector(".verdict[data-id]")
    assert HOSTILE[:40] in tab.inner_text(".verdict .labels")
    assert tab.evaluate("document.querySelectorAll('img, main script').length") == 0
    assert axe(tab) == []


def rows_shown(tab: Any) -> list[str]:
    return tab.evaluate("[...document.querySelectorAll('.grid .tr:not(.th) .reply')].map((each) => each.textContent)")


@pytest.mark.needs("browser")
def test_the_page_works_by_keyboard_alone(desk: Desk, look: Any, ids: list[str]) -> None:
    tab = look(desk, "/verdicts")
    body = tab.locator("body")
    tab.wait_for_selector(".grid .tr:not(.th)")
    assert tab.evaluate("document.querySelectorAll('*').length") <= 500
    assert axe(tab) == []
    # search, and the filter in the URL
    body.press("/")
    tab.keyboard.type("age")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/verdicts?text=age")
    tab.wait_for_selector(".grid mark")
    tab.keyboard.press("Escape")
    # a facet: open, find, choose
    tab.get_by_role("button", name="Model", exact=True).focus()
    tab.keyboard.press("Enter")
    tab.keyboard.type("m-2")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/verdicts?text=age&model=m-2")
    tab.wait_for_function("() => document.querySelector('.foot').textContent.includes(' match')")
    tab.get_by_role("button", name="Remove the filter for model").press("Enter")
    tab.wait_for_url("**/verdicts?text=age")
    tab.goto(desk.address("/verdicts?ok=false"))
    tab.wait_for_selector(".grid .tr.refused")
    refused = [row["id"] for row in desk.get("/verdicts", ok=False)["rows"]]
    # move, label and move on, undo
    for key in "jjk":
        body.press(key)
    body.press("r")
    tab.wait_for_selector(".tr.said-right + .tr.at")
    body.press("w")
    body.press("x")
    body.press("u")
    tab.wait_for_function("() => document.querySelectorAll('.tr')[3].classList.contains('at')")
    wait_until(
        tab,
        lambda: (
            {row["id"]: row["mine"] for row in desk.get("/verdicts", labelled=True)["rows"]}
            == {refused[0]: "right", refused[1]: "wrong"}
        ),
    )
    # open beside the list; the list follows
    body.press("Enter")
    tab.wait_for_url("**open=" + refused[2])
    tab.wait_for_selector(f'.verdict[data-id="{refused[2]}"]')
    assert axe(tab) == []
    body.press("k")
    tab.wait_for_selector(f'.verdict[data-id="{refused[1]}"] button.wrong[aria-pressed=true]')
    tab.locator(".verdict .subjects button.right").first.press("Enter")
    wait_until(tab, lambda: any(each["subject"] for each in desk.get(f"/verdicts/{refused[1]}")["labels"]))
    tab.wait_for_selector(".verdict .labels code")  # the label of a finding
    tab.locator(".verdict .cm-content").focus()
    tab.keyboard.press("j")  # the reply cannot be edited: letters are shortcuts there too
    tab.wait_for_url("**open=" + refused[2])
    body.press("Escape")
    tab.wait_for_url("**/verdicts?ok=false")
    # as its own page, and back
    tab.goto(desk.address(f"/verdicts/{refused[3]}?ok=false"))
    tab.wait_for_selector(f'.verdict[data-id="{refused[3]}"]')
    body.press("j")
    tab.wait_for_url(f"**/verdicts/{refused[4]}?ok=false")
    assert axe(tab) == []
    body.press("Escape")
    tab.wait_for_selector(".grid .tr.at")
    assert ids


def wait_until(tab: Any, is_so: Callable[[], bool]) -> None:
    for _ in range(LONGEST // 25):
        if is_so():
            return
        tab.wait_for_timeout(25)
    raise AssertionError("it never becomes so")


@pytest.mark.needs("browser")
def test_the_queue_works_by_keyboard_and_reports_a_label_that_cannot_be_stored(
    desk: Desk, look: Any, ids: list[str]
) -> None:
    tab = look(desk, "/verdicts?queue=1&ok=false", fails=("/api/labels",))
    body = tab.locator("body")
    tab.wait_for_selector(".verdict[data-id]")
    assert axe(tab) == []
    first = tab.get_attribute(".verdict", "data-id")
    body.press("w")
    tab.wait_for_function("(id) => document.querySelector('.verdict').dataset.id !== id", arg=first)
    body.press("u")
    tab.wait_for_selector(f'.verdict[data-id="{first}"]')
    wait_until(tab, lambda: desk.get("/verdicts/counts")["facets"]["label"] == [])
    tab.route("**/api/labels", lambda route: route.abort())
    body.press("r")
    tab.wait_for_selector(".messages .bad")
    tab.unroute("**/api/labels")
    body.press("k")
    tab.wait_for_selector(f'.verdict[data-id="{first}"] .judge button[aria-pressed=false]')
    assert tab.locator(".judge button[aria-pressed=true]").count() == 0
    entries = len(desk.get("/queue", ok=False)["entries"])
    for _ in range(entries):
        body.press("r")
    tab.wait_for_selector("text=answered.")
    assert axe(tab) == []
    wait_until(tab, lambda: desk.get("/verdicts/counts", label="right")["total"]["count"] == entries)
    drawn = {
        label["drawn"]
        for row in desk.get("/verdicts", label="right")["rows"]
        for label in desk.get(f"/verdicts/{row['id']}")["labels"]
    }
    assert drawn == {"uncertain"}
    assert ids


@pytest.mark.needs("browser")
def test_a_skipped_verdict_comes_last(desk: Desk, look: Any, ids: list[str]) -> None:
    tab = look(desk, "/verdicts?queue=1&ok=false")
    tab.wait_for_selector(".verdict[data-id]")
    passed = tab.get_attribute(".verdict", "data-id")
    body = tab.locator("body")
    body.press("j")
    for _ in range(len(desk.get("/queue", ok=False)["entries"]) - 1):
        body.press("r")
    tab.wait_for_selector(f'.verdict[data-id="{passed}"]')
    body.press("?")
    tab.wait_for_selector("dialog[open]")
    body.press("Escape")  # closes the dialog, and does not leave the queue
    tab.wait_for_selector("dialog[open]", state="detached")
    body.press("x")
    tab.wait_for_selector("text=answered.")
    assert "1 skipped" in tab.inner_text("main")
    assert ids


@pytest.mark.needs("browser")
def test_a_skip_removes_no_label(desk: Desk, look: Any, ids: list[str]) -> None:
    tab = look(desk, f"/verdicts/{ids[0]}")
    tab.wait_for_selector(".verdict[data-id]")
    for name in ("Right r", "Skip x"):
        tab.goto(desk.address(f"/verdicts/{ids[0]}"))
        tab.wait_for_selector(".grid, .judge")
        tab.get_by_role("button", name=name).click()
        wait_until(tab, lambda: desk.get("/verdicts", limit=1)["rows"][0]["mine"] == "right")
    tab.goto(desk.address(f"/verdicts/{ids[0]}"))
    tab.wait_for_selector(".judge .right[aria-pressed=true]")
    assert [each["outcome"] for each in desk.get(f"/verdicts/{ids[0]}")["labels"]] == ["right"]


@pytest.mark.needs("browser")
def test_leaving_before_a_label_is_stored_asks_for_confirmation(desk: Desk, look: Any, ids: list[str]) -> None:
    tab = look(desk, "/verdicts")
    tab.wait_for_selector(".grid .tr:not(.th)")
    leave = "() => dispatchEvent(new Event('beforeunload', {cancelable: true}))"
    held: list[Any] = []
    tab.route("**/api/labels", lambda route: route.continue_() if held else held.append(route))
    for key in "jrw":
        tab.locator("body").press(key)
    wait_until(tab, lambda: len(held) == 1)  # the second one waits for the first
    assert tab.evaluate(leave) is False
    held[0].continue_()
    wait_until(tab, lambda: len(desk.get("/verdicts", labelled=True)["rows"]) == 2)
    tab.wait_for_function(leave)
    assert ids


@pytest.mark.needs("browser")
def test_a_verdict_outside_the_list_can_be_labelled_by_key(served: Any, look: Any, tmp_path: Path) -> None:
    made = fill(tmp_path / "long.db", Contract(schema=True, name="any"), 250)
    desk = served(store=str(tmp_path / "long.db"))
    tab = look(desk, f"/verdicts/{made[-1]}")
    tab.wait_for_selector(".verdict[data-id]")
    tab.locator("body").press("w")
    tab.wait_for_selector(".judge .wrong[aria-pressed=true]")
    wait_until(tab, lambda: bool(desk.get("/verdicts", label="wrong")["rows"]))
    assert tab.get_attribute(".verdict", "data-id") == made[-1], "there is no next one"


@pytest.mark.needs("browser")
def test_letters_typed_while_answers_arrive_are_kept(desk: Desk, look: Any, ids: list[str]) -> None:
    tab = look(desk, "/verdicts")
    tab.wait_for_selector("[data-rows=ready][data-counts=ready]")
    tab.locator("body").press("/")
    tab.evaluate(
        """async () => {  // a second letter in the moment in which the rows of the first one are drawn
          const field = document.querySelector('.words');
          const type = (letter) => document.execCommand('insertText', false, letter);
          type('a');
          while (!location.search.includes('text=a') || !document.querySelector('.grid mark')) {
            if (location.search.includes('text=a') && field.value === 'a') type('g');
            await new Promise((done) => setTimeout(done, 5));
          }
          type('e');
        }"""
    )
    tab.wait_for_url("**/verdicts?text=age")
    assert tab.input_value(".words") == "age"
    assert ids


@pytest.mark.needs("browser")
def test_the_list_can_be_retried_and_requests_each_number_once(desk: Desk, look: Any, ids: list[str]) -> None:
    tab = look(desk, "/live", fails=("/api/verdicts?",))
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url.partition("/api")[2]))
    tab.route("**/api/verdicts?*", lambda route: route.abort())
    tab.locator("body").press("2")
    tab.wait_for_selector("text=The studio does not respond.")
    tab.unroute("**/api/verdicts?*")
    tab.get_by_role("button", name="Try again").click()
    tab.wait_for_selector("[data-rows=ready][data-counts=ready] .grid .tr:not(.th)")
    tab.wait_for_selector(".foot >> text=60 verdicts")
    assert [path for path in asked if path.startswith("/verdicts/counts")] == ["/verdicts/counts"]
    assert ids


@pytest.mark.needs("browser")
def test_a_completed_search_says_how_many_match(
    desk: Desk, look: Any, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts that had no time are lower bounds; the loaded rows give more."""
    hurried = Counts(Count(0, is_exact=False), {facet: {} for facet in FACETS}, is_hurried=False)
    monkeypatch.setattr("trueup.studio.api.verdicts.counts", lambda *_, **__: hurried)
    fitting = desk.get("/verdicts", text="age")["rows"]
    tab = look(desk, "/verdicts?text=age")
    tab.wait_for_selector(f".foot >> text={len(fitting)} verdicts match")
    assert ids


@pytest.mark.needs("browser")
def test_new_verdicts_are_offered_without_moving_the_list(desk: Desk, look: Any, ids: list[str]) -> None:
    tab = look(desk, "/verdicts")
    tab.wait_for_selector(".grid .tr:not(.th)")
    tab.locator("body").press("j")
    before = rows_shown(tab)
    desk.app.studio.store.record_verdict(Contract(schema=True).check('{"new": 1}'))
    tab.wait_for_selector("text=1 new")
    assert rows_shown(tab) == before
    tab.get_by_role("button", name="1 new").click()
    tab.wait_for_selector('.grid .reply:has-text("new")')
    assert ids


@pytest.mark.needs("browser")
def test_a_long_list_is_scrolled_with_few_nodes(served: Any, look: Any, tmp_path: Path) -> None:
    contract = Contract(schema=True, name="any")
    judged = contract.check("{}")
    with open_store(tmp_path / "long.db") as store:
        made = [store.record_verdict(judged, model=f"m-{n}", wait=False) for n in range(1200)][::-1]
    desk = served(store=str(tmp_path / "long.db"))
    tab = look(desk, "/verdicts")
    tab.wait_for_selector(".grid .tr:not(.th)")
    for _ in range(LONGEST // 50):
        tab.evaluate("document.querySelector('.grid').scrollTop = 1e9")
        if tab.locator("text=End of the list.").count():
            break
        tab.wait_for_timeout(50)
    assert tab.evaluate("document.querySelectorAll('*').length") <= 500
    tab.evaluate("document.querySelector('.grid').scrollTop = 1e9")
    tab.wait_for_function(
        "() => [...document.querySelectorAll('.grid .tr:not(.th) .model')].at(-1).textContent === 'm-0'"
    )
    # back from a verdict finds the same place
    tab.locator(".grid .tr:not(.th)").last.click()
    tab.wait_for_selector(f'.verdict[data-id="{made[-1]}"]')
    top = tab.evaluate("document.querySelector('.grid').scrollTop")
    tab.get_by_label("Open as its own page").click()
    tab.wait_for_url(f"**/verdicts/{made[-1]}")
    tab.go_back()
    tab.wait_for_selector(".grid .tr.at")
    assert tab.evaluate("document.querySelector('.grid').scrollTop") == top


@pytest.mark.needs("browser")
@pytest.mark.parametrize(("width", "dark"), [(400, False), (1440, True)])
def test_every_state_of_the_page_is_readable(
    served: Any, look: Any, desk: Desk, tmp_path: Path, width: int, *, dark: bool
) -> None:
    open_store(tmp_path / "empty.db").close()
    refused = desk.get("/verdicts", ok=False)["rows"][0]["id"]
    views: list[tuple[Desk, dict[str, str]]] = [
        (served(), {"/verdicts": "trueup studio --store"}),
        (served(store=str(tmp_path / "empty.db")), {"/verdicts": "no verdicts yet"}),
        (desk, {
            "/verdicts?code=V004": "Verdict", f"/verdicts/{refused}": "About", "/verdicts/zzz": "There is no verdict", "/verdicts?queue=1": "uncertain",
            "/verdicts/%25zz": "There is no verdict", "/verdicts/%zz": "There is no verdict", "/verdicts?model=zzz": "No verdict matches",
        }),
    ]  # fmt: skip
    for each, paths in views:
        tab = None
        for path, words in paths.items():
            if tab is None:
                tab = look(each, path, width=width, dark=dark, fails=("zz",))
            else:
                tab.goto(each.address(path))
            tab.wait_for_selector(f"main >> text={words}")
            tab.wait_for_function("() => !document.querySelector('main [aria-busy=true]')")
            assert axe(tab) == [], path
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    assert tab is not None
    tab.get_by_role("button", name="Clear the filters").click()
    tab.wait_for_selector(".grid .tr:not(.th)")


@pytest.mark.needs("browser")
def test_a_menu_stays_inside_its_panel(desk: Desk, look: Any, ids: list[str]) -> None:
    tab = look(desk, f"/verdicts?open={ids[0]}", width=1280)
    tab.wait_for_selector("[data-counts=ready]")
    for facet in ("Time", "Contract", "Model", "Label"):
        tab.get_by_role("button", name=facet, exact=True).click()
        tab.wait_for_selector(".drop")
        assert tab.evaluate(
            """() => {
              const panel = document.querySelector('.verdicts');
              return panel.scrollLeft === 0 && document.querySelector('.drop').getBoundingClientRect().right <= panel.getBoundingClientRect().right;
            }"""
        ), facet
        tab.keyboard.press("Escape")


@pytest.mark.needs("browser")
def test_a_link_from_a_wide_screen_shows_its_verdict_on_a_narrow_screen(desk: Desk, look: Any, ids: list[str]) -> None:
    tab = look(desk, f"/verdicts?open={ids[1]}", width=400, height=800)
    tab.wait_for_selector(f'.verdict[data-id="{ids[1]}"]')
    assert tab.locator(".verdict .judge").bounding_box()["y"] < 800
    tab.locator("body").press("Escape")
    tab.wait_for_url("**/verdicts")
    tab.wait_for_selector(".grid .tr:not(.th)")


@pytest.mark.needs("browser")
def test_a_truncated_reply_has_the_direction_of_its_script(served: Any, look: Any, tmp_path: Path) -> None:
    with open_store(tmp_path / "rtl.db") as store:
        store.record_verdict(Contract(reply=True).check("مرحبا بالعالم " * 40), model="m")
        store.record_verdict(Contract(reply=True).check("Hello, world. " * 40), model="m")
    tab = look(served(store=str(tmp_path / "rtl.db")), "/verdicts")
    tab.wait_for_selector(".grid .tr:nth-child(2)")
    shown = tab.evaluate(
        "[...document.querySelectorAll('.tr:not(.th) .reply')].map((cell) => getComputedStyle(cell).direction)"
    )
    assert shown == ["ltr", "rtl"]


@pytest.mark.needs("browser")
def test_a_stored_reply_opens_in_try(desk: Desk, look: Any) -> None:
    refused = desk.get("/verdicts", rule="grown up")["rows"][0]["id"]
    tab = look(desk, f"/verdicts/{refused}")
    tab.get_by_role("button", name="Open in Try").click()
    tab.wait_for_url("**/try")
    tab.wait_for_selector(".headline >> text=Refused")
    reply = tab.locator("#try-reply .cm-content")
    expect(reply).to_have_text('{"age": 7}')
    # it is kept by a reload, and an older draft does not replace another one
    tab.reload()
    expect(reply).to_have_text('{"age": 7}')
    other = next(row["id"] for row in desk.get("/verdicts")["rows"] if row["excerpt"] != '{"age": 7}')
    tab.goto(desk.url + f"/verdicts/{other}")
    shown = tab.locator(".verdict .reply .cm-content")
    expect(shown).not_to_have_text('{"age": 7}')
    text = shown.text_content()
    tab.get_by_role("button", name="Open in Try").click()
    tab.wait_for_url("**/try")
    tab.wait_for_selector("[data-judged]")
    expect(reply).to_have_text(text)
