"""The status page at `/`: what it shows to which clients, and that it runs and downloads nothing."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.conftest import GOOD, PERSON, QUICK, Open
from trueup import Contract, __version__
from trueup.gateway.config import Caller, Config, Route, Upstream
from trueup.store.open import open_store
from trueup.store.store import Store

CHROMIUM = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "verdicts.db") as opened:
        yield opened


def config(*clients: Caller, routes: int = 1) -> Any:
    person = Contract(PERSON, name="person <b>")
    more = tuple(Route(f"route-{at}", (f"model-{at}",)) for at in range(routes - 1))
    bound = Route("all & sundry", ("*",), person, policy=QUICK)
    return lambda url: Config({"main": Upstream("main", url, private=True)}, (*more, bound), clients=clients)


def cells(page: str) -> list[list[str]]:
    """The rows of all tables on a page."""
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", page) if "<td" in row]


def test_the_page_shows_the_condition_of_the_gateway_and_its_work(desk: Open, store: Store) -> None:
    with desk([GOOD, '{"name": "Ada"}', GOOD, "no", "no", "no", "no"], then="no", store=store, config=config()) as d:
        for _ in range(3):
            d.chat(model="small-1")
        store.flush()
        answer = d.http.get("/")
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        page = answer.text
        assert '<span class="good">ready</span>' in page
        assert f"version {__version__}" in page
        assert ["all &amp; sundry", "*", "person &lt;b&gt;"] in cells(page)
        assert "Requests under a contract: 3." in page
        assert ["accepted", "1", "33.3%"] in cells(page)
        assert ["repaired", "1", "33.3%"] in cells(page)
        assert ["failed", "1", "33.3%"] in cells(page)
        assert ["small-1", "3", "66.7%"] in cells(page)
        assert all(d.http.get(f"/{path}").status_code == 200 for path in re.findall(r'href="([^"]+)"', page))


def test_with_client_keys_the_page_needs_one_and_counts_only_its_tenant(desk: Open, store: Store) -> None:
    made = config(Caller("key-of-acme", "acme"), Caller("key-of-beta", "beta"))
    with desk([], then=GOOD, store=store, config=made) as d:
        for tenant, model in (("acme", "a-1"), ("acme", "a-1"), ("beta", "b-1")):
            assert d.chat(model=model, headers={"authorization": f"Bearer key-of-{tenant}"}).status_code == 200
        store.flush()
        refused = d.http.get("/")
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Basic ")
        assert not any(word in refused.text for word in ("sundry", "person", "a-1", "b-1"))
        assert d.http.get("/", auth=("x", "wrong")).status_code == 401
        assert d.http.get("/", headers={"authorization": "Basic %%%"}).status_code == 401
        acme = d.http.get("/", auth=("anyone", "key-of-acme")).text
        beta = d.http.get("/", headers={"authorization": "Bearer key-of-beta", "host": "gateway.example"}).text
        assert "contract: 2." in acme
        assert "b-1" not in acme
        assert "contract: 1." in beta
        assert "a-1" not in beta
        assert not any(word in acme + beta for word in ("key-of", "acme", d.upstream.url))


def test_a_foreign_host_name_does_not_show_the_page_without_keys(desk: Open) -> None:
    with desk([], config=config()) as d:
        assert d.http.get("/").status_code == 200
        for host, status in (
            ("localhost:8080", 200),
            ("[::1]:8080", 200),
            ("evil.example", 403),
            ("127.0.0.1.evil.example", 403),
        ):
            assert d.http.get("/", headers={"host": host}).status_code == status, host


def test_a_missing_or_broken_store_is_reported_on_the_page(desk: Open, tmp_path: Path) -> None:
    with desk([]) as d:
        page = d.http.get("/").text
        assert "No store is configured" in page
        assert "None: replies are passed through." in page
    closed = open_store(tmp_path / "closed.db")
    closed.close()
    with desk([], store=closed) as d:
        page = d.http.get("/").text
        assert '<span class="bad">not ready: store</span>' in page
        assert "The store does not answer." in page


@pytest.mark.needs("browser")
@pytest.mark.spec("X21")
def test_the_page_runs_and_fetches_nothing_and_fits_a_phone(desk: Open, store: Store) -> None:
    from playwright.sync_api import sync_playwright

    with desk([], then=GOOD, store=store, config=config(routes=70)) as d, sync_playwright() as playwright:
        d.chat(model=EVIL + "x" * 60)
        store.flush()
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        try:
            grounds = set()
            for scheme in ("light", "dark"):
                tab = browser.new_page(viewport={"width": 360, "height": 700}, color_scheme=scheme)
                asked: list[str] = []
                said: list[str] = []
                tab.on("request", lambda request, asked=asked: asked.append(request.url))
                tab.on("console", lambda message, said=said: said.append(message.text))
                tab.on("dialog", lambda dialog, said=said: said.append(dialog.message))
                tab.goto(d.url + "/")
                assert [url for url in asked if not url.endswith("favicon.ico")] == [d.url + "/"]
                assert [text for text in said if "favicon" not in text] == []
                assert tab.evaluate("document.documentElement.scrollWidth") <= 360
                assert tab.get_by_text("and 20 more").is_visible()
                assert tab.get_by_text("<img src=x").is_visible()
                grounds.add(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
            assert len(grounds) == 2
        finally:
            browser.close()
