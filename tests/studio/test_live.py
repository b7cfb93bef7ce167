"""Live: the numbers of a store through the API and on the page, which follows the store without being loaded again."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.studio.conftest import KEYS, axe
from tests.studio.driving import expect
from trueup import Contract
from trueup.store.open import open_store
from trueup.store.store import Store
from trueup.studio.door.sessions import digest_of
from trueup.studio.settings import Key

CONTRACT = Contract({"type": "object", "required": ["a"]}, name="things")
MODEL = "<b>small</b>-1"  # names come from outside


def fill(store: Store) -> None:
    """Thirty requests of one model, ten of which were asked again, and two of another tenant."""
    for number in range(30):
        tenant, request = ("north", f"n{number}") if number else ("harbour", "h0")
        if number < 10:
            store.record_verdict(
                CONTRACT.check("<script>alert(1)</script> {}"), request=request, tenant=tenant, model=MODEL, contract=CONTRACT, state="START",
                outcome="refused", final=False, wait=False,
            )  # fmt: skip
        store.record_verdict(
            CONTRACT.check('{"a": 1}'), request=request, tenant=tenant, model=MODEL, contract=CONTRACT, attempt=2 if number < 10 else 1,
            attempts=2 if number < 10 else 1, outcome="repaired" if number < 10 else "accepted", latency=0.1 * (number + 1), cost=1000, wait=False,
        )  # fmt: skip
    store.record_verdict(
        CONTRACT.check("no"), request="h1", tenant="harbour", model="large-1", contract=CONTRACT, latency=9.0
    )
    for tenant, amount in (("north", 20), ("harbour", 4)):
        store.quota.set_limit(tenant, amount)
        store.quota.capture(store.quota.reserve(tenant, amount=3))


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with open_store(tmp_path / "v.db") as opened:
        fill(opened)
        yield opened


def test_the_api_counts_and_gives_the_total(served: Any, store: Store) -> None:
    desk = served("reader", store=store.where)
    desk.app.studio.gateway = lambda: {"version": "1", "uptime": 5.0, "problems": [], "routes": [], "breakers": []}
    for window in ("5m", "1h", "24h", "7d"):
        shown = desk.get("/live", window=window)
        assert (shown["requests"], shown["is_cut"], shown["is_sampled"]) == (31, False, False)
        assert {each["outcome"]: each["count"] for each in shown["outcomes"]} == {
            "accepted": 20,
            "repaired": 10,
            "failed": 1,
        }
        assert shown["latency"]["of"] == 31
        assert [(row["model"], row["asked"], row["warned"]) for row in shown["models"]] == [
            (MODEL, 30, True),
            ("large-1", 1, False),
        ]
        assert [(each["tenant"], each["used"], each["limit"]) for each in shown["quotas"]] == [
            ("harbour", 3, 4),
            ("north", 3, 20),
        ]
        assert [each["tenant"] for each in shown["refusals"]].count("harbour") == 2
        assert shown["gateway"]["version"] == "1"
    assert desk.client.get("/live", params={"window": "1y"}).status_code == 400


def test_a_key_of_a_tenant_sees_only_that_tenants_numbers(served: Any, store: Store) -> None:
    desk = served(store=store.where, keys=(*KEYS, Key("h", digest_of("of-harbour"), "reader", "harbour")))
    desk.app.studio.gateway = lambda: {"version": "1"}
    with httpx.Client(base_url=f"{desk.url}/api", headers={"authorization": "Bearer of-harbour"}) as client:
        for window in ("5m", "1h", "24h", "7d"):
            shown = client.get("/live", params={"window": window}).json()
            assert shown["requests"] == 2
            assert {each["tenant"] for each in [*shown["quotas"], *shown["refusals"]]} == {"harbour"}
            assert {row["model"]: row["asked"] for row in shown["models"]} == {MODEL: 1, "large-1": 1}
            assert sum(each["count"] for each in shown["codes"]) == len(shown["refusals"]) == 2
            assert shown["cost"] == 1000
            assert shown["gateway"] is None


@pytest.mark.needs("browser")
def test_the_page_follows_the_store(served: Any, look: Any, store: Store) -> None:
    desk = served("reader", store=store.where)
    tab = look(desk, "/live?window=5m")
    figure = tab.locator(".card .figure").first
    expect(figure).to_have_text("31")
    tab.evaluate("window.same = true")
    assert (
        tab.locator(".warned").inner_text().split()
        == f"warning {MODEL} is asked again for 33 % of 30 requests, over 20 %.".split()
    )
    assert axe(tab) == []

    store.record_verdict(CONTRACT.check("{}"), model="large-1", contract=CONTRACT, latency=0.5)
    expect(figure).to_have_text("32")
    assert tab.evaluate("window.same"), "the page was loaded again"

    tab.locator("body").press("p")  # paused, it does not change
    tab.wait_for_selector("text=Paused; numbers from")
    store.record_verdict(CONTRACT.check("{}"), model="large-1", contract=CONTRACT)
    tab.wait_for_timeout(2500)
    assert figure.inner_text() == "32"
    tab.locator("body").press("]")  # the next window has the new one
    tab.wait_for_url("**/live?window=1h")
    expect(figure).to_have_text("33")
    tab.get_by_role("link", name="24 hours").click()
    tab.wait_for_url("**/live?window=24h")
    tab.wait_for_selector(".live:not(.old)")
    tab.go_back()
    tab.wait_for_url("**/live?window=1h")

    tab.locator(".refusals a").first.click()
    tab.wait_for_url("**/verdicts/*")


@pytest.mark.needs("browser")
@pytest.mark.parametrize(("width", "dark"), [(1440, True), (400, False)])
def test_charts_are_readable_with_a_screen_reader(
    served: Any, look: Any, store: Store, width: int, *, dark: bool
) -> None:
    tab = look(served("reader", store=store.where), "/live?window=24h", width=width, dark=dark)
    tab.wait_for_selector(".chart canvas")
    chart = tab.get_by_role("group", name="Requests by outcome, a chart")
    chart.focus()
    tab.keyboard.press("End")
    said = tab.locator(".chart [aria-live]").first
    expect(said).to_contain_text("accepted 20, repaired 10, failed 1")
    tab.keyboard.press("ArrowLeft")
    expect(said).to_contain_text("accepted 0, repaired 0, failed 0")
    assert tab.locator(".legend").first.inner_text().split() == [
        "accepted",
        "0",
        "repaired",
        "0",
        "failed",
        "0",
        *tab.locator(".legend .time").first.inner_text().split(),
    ]

    tab.locator("summary").first.click()
    row = tab.locator(".numbers tbody tr").first
    expect(row.locator("td")).to_have_text(["20", "10", "1"])
    assert tab.locator(".numbers tbody tr").count() == 24
    assert axe(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")

    before = tab.evaluate(
        "document.querySelector('.chart canvas').toDataURL()"
    )  # another colour scheme draws other colours
    tab.emulate_media(color_scheme="light" if dark else "dark")
    tab.wait_for_function("before => document.querySelector('.chart canvas').toDataURL() !== before", arg=before)


@pytest.mark.needs("browser")
def test_the_numbers_of_one_request_are_in_the_singular(served: Any, look: Any, tmp_path: Path) -> None:
    with open_store(tmp_path / "one.db") as store:
        store.record_verdict(CONTRACT.check("no"), model="m", contract=CONTRACT, outcome="degraded")
    tab = look(served("reader", store=str(tmp_path / "one.db")), "/live?window=7d")
    tab.wait_for_selector(".cards")
    said = tab.locator(".card .under").all_inner_texts()
    assert said[0] == "0.1 a day"
    assert said[3:5] == ["1 degraded", "not measured"]
    assert "No latency was measured." in tab.inner_text("main")
    assert "counts for both" not in tab.inner_text("main")
    assert axe(tab) == []


@pytest.mark.needs("browser")
def test_a_request_to_two_models_is_explained(served: Any, look: Any, tmp_path: Path) -> None:
    with open_store(tmp_path / "two.db") as store:
        store.record_verdict(CONTRACT.check("no"), request="r", model="a", outcome="refused", final=False)
        store.record_verdict(
            CONTRACT.check('{"a": 1}'), request="r", model="b", attempt=2, attempts=2, outcome="repaired"
        )
    tab = look(served("reader", store=str(tmp_path / "two.db")), "/live")
    expect(tab.locator(".card .figure").first).to_have_text("1")
    assert tab.locator("tbody tr").count() == 2
    assert "counts for both" in tab.inner_text('section[aria-label="Models"]')


@pytest.mark.needs("browser")
def test_without_requests_or_a_store_the_page_says_what_to_do(served: Any, look: Any, tmp_path: Path) -> None:
    tab = look(served("reader"), "/live")
    assert "--store verdicts.db" in tab.locator("main").inner_text()
    with open_store(tmp_path / "empty.db"):
        pass
    tab = look(served("reader", store=str(tmp_path / "empty.db")), "/live")
    tab.wait_for_selector("text=No requests in the last hour")
    assert "trueup serve" in tab.locator("main").inner_text()
    assert axe(tab) == []
