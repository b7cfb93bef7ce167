"""Metrics: every request counts once, every call counts for its model, and one page covers all workers."""

import contextlib
import multiprocessing
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.conftest import GOOD, PERSON, Open
from tests.gateway.serving import configured, serving
from tests.waiting import wait_for
from trueup.ask.policy import Policy
from trueup.gateway.watching.board import living
from trueup.gateway.watching.metrics import Metrics
from trueup.store.open import open_store
from trueup.testing.script import Fail
from trueup.testing.server import ScriptedServer


def values(page: str, name: str) -> dict[str, float]:
    """The numbers of one metric by their labels."""
    found = re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", page, re.MULTILINE)
    return {labels: float(number) for labels, number in found}


def test_a_refusal_counts_with_its_route_and_model_if_they_are_known(desk: Open) -> None:
    with desk([], PERSON, then="no") as d:
        assert d.chat().status_code == 422
        assert d.chat(headers={"x-trueup-state": "x" * 300}).status_code == 400
        assert d.http.post("/v1/chat/completions", content=b"{").status_code == 400
        page = d.http.get("/metrics").text
    assert values(page, "trueup_requests_total") == {
        'route="all",model="m",outcome="failed",status="422"': 1,
        'route="all",model="m",outcome="refused",status="400"': 1,
        'route="",model="",outcome="refused",status="400"': 1,
    }


@pytest.mark.spec("Q14")
def test_each_call_counts_for_the_model_that_was_asked_with_its_reason(desk: Open) -> None:
    policy = Policy(
        models=("spare",), otherwise="failed", repairs=0, regenerations=0, retries=0, backoff=0.01, backoff_cap=0.02
    )
    script = {"m": [Fail(500), "no json here"], "spare": [GOOD, GOOD]}
    with desk(script, PERSON, policy=policy) as d:
        for _ in range(2):
            reply = d.chat()
            assert reply.json()["choices"][0]["message"]["content"] == GOOD, reply.text
        page = d.http.get("/metrics").text
    assert values(page, "trueup_attempts_total") == {'model="m"': 2, 'model="spare"': 2}
    assert values(page, "trueup_asked_total") == {'model="m"': 2, 'model="spare"': 2}
    assert values(page, "trueup_retried_total") == {'model="m"': 2}
    assert values(page, "trueup_failures_total") == {'model="m",reason="500"': 1, 'model="m",reason="P001"': 1}
    assert values(page, "trueup_findings_total") == {'contract="person",model="m",code="P001"': 1}


@pytest.mark.spec("Q14")
@pytest.mark.parametrize("stored", [False, True])
def test_failure_rate_and_reasons_are_counted_by_model_with_a_warning_above_20_percent(
    desk: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture, stored: bool
) -> None:
    """Failure rate and reasons by model over time; warn when a model's retry rate passes 20 %."""
    policy = Policy(models=("spare",), otherwise="failed", repairs=0, regenerations=0, retries=0)
    script = {"m": ["no json here"] * 6 + [GOOD] * 24, "spare": [GOOD] * 6}
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(open_store(tmp_path / "v.db")) if stored else None
        d = stack.enter_context(desk(script, PERSON, policy=policy, store=store))
        assert [d.chat().status_code for _ in range(30)] == [200] * 30
        if store is not None:
            store.flush()
            rates = {rate.model: rate for rate in store.stats()}
            assert (rates["m"].asked, rates["m"].failed, rates["m"].reasons) == (30, 6, {"P001": 6})
            assert (rates["spare"].asked, rates["spare"].failed, rates["spare"].retried) == (6, 0, 0)
            assert (rates["m"].retry_rate, rates["m"].attempts, rates["spare"].attempts) == (0.2, 30, 6)
        page = d.http.get("/metrics").text
    assert values(page, "trueup_asked_total") == {'model="m"': 30, 'model="spare"': 6}
    assert values(page, "trueup_failures_total") == {'model="m",reason="P001"': 6}
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warned == ["model 'm' is asked again for 30% of its last 20 requests, over 20%"]


def test_the_number_of_labels_of_a_metric_is_limited() -> None:
    metrics = Metrics()
    for number in range(300):
        metrics.count("trueup_requests_total", model=f"model-{number}")
    found = values(metrics.page(), "trueup_requests_total")
    assert len(found) == 101
    assert found['model="other"'] == 200
    for one in range(100):
        for other in range(100):
            metrics.count("trueup_findings_total", code=f"c{one}", contract=f"k{other}")
    found = values(metrics.page(), "trueup_findings_total")
    assert len(found) <= 2001
    assert sum(found.values()) == 10_000


def test_a_label_cannot_forge_a_line() -> None:
    metrics = Metrics()
    metrics.count("trueup_requests_total", model='m"} 9\nforged_total 1\n')
    assert "\nforged_total" not in metrics.page()


def test_a_gauge_that_cannot_be_read_does_not_break_the_page() -> None:
    metrics = Metrics()
    metrics.gauge("trueup_broken", lambda: 1 / 0)
    metrics.gauge("trueup_breaker_open", lambda: 1, how="max", upstream="main")
    assert values(metrics.page(), "trueup_breaker_open") == {'upstream="main"': 1}


def count_until_killed(folder: Path, ready: Any) -> None:
    metrics = Metrics(folder)
    metrics.ready()
    metrics.gauge("trueup_store_queued", lambda: 7)
    metrics.gauge("trueup_store_trouble", lambda: 1, how="max")
    for number in range(100):
        metrics.count("trueup_requests_total", model=f"m{number % 2}")
        metrics.time("trueup_overhead_seconds", 0.003)
    metrics.publish()
    ready.set()
    signal.pause()


def test_one_page_has_the_numbers_of_all_workers_including_dead_ones(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    mine = Metrics(tmp_path)
    mine.ready()
    mine.count("trueup_requests_total", 5, model="m0")
    mine.gauge("trueup_store_queued", lambda: 1)
    mine.gauge("trueup_store_trouble", lambda: 0, how="max")
    for round_ in (1, 2):
        ready = spawn.Event()
        worker = spawn.Process(target=count_until_killed, args=(tmp_path, ready))
        worker.start()
        assert ready.wait(120)
        page = mine.page()
        assert values(page, "trueup_requests_total") == {'model="m0"': 5 + 50 * round_, 'model="m1"': 50 * round_}
        assert values(page, "trueup_overhead_seconds_count") == {"": 100 * round_}
        assert values(page, 'trueup_overhead_seconds_bucket{le="0.005"}') == {"": 100 * round_}
        assert values(page, "trueup_store_queued") == {"": 8}
        assert values(page, "trueup_store_trouble") == {"": 1}
        assert values(page, "trueup_workers") == {"": 2}
        assert worker.pid is not None
        assert sorted(living(tmp_path)) == sorted([os.getpid(), worker.pid])
        os.kill(worker.pid, signal.SIGKILL)
        worker.join()
        assert living(tmp_path) == [os.getpid()]
        page = mine.page()
        assert values(page, "trueup_requests_total")['model="m1"'] == 50 * round_, "what a dead worker counted stays"
        assert values(page, "trueup_store_queued") == {"": 1}, "its gauges do not"
        assert values(page, "trueup_workers") == {"": 1}
    assert len(list(tmp_path.glob("*.names"))) == 2, "a new worker takes the place of a dead one"
    mine.close()


def test_numbers_are_readable_by_the_parser_of_prometheus(desk: Open) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    with desk([GOOD], PERSON) as d:
        d.chat()
        wait_for(lambda: values(d.http.get("/metrics").text, "trueup_requests_total"))
        families = {family.name: family.type for family in text_string_to_metric_families(d.http.get("/metrics").text)}
    assert families["trueup_requests"] == "counter"
    assert families["trueup_overhead_seconds"] == "histogram"
    assert families["trueup_requests_active"] == "gauge"


def test_passed_requests_count_for_their_model_too(desk: Open) -> None:
    with desk([GOOD, Fail(500)]) as d:
        assert [d.chat().status_code for _ in range(2)] == [200, 500]
        page = d.http.get("/metrics").text
    assert values(page, "trueup_attempts_total") == {'model="m"': 2}
    assert values(page, "trueup_failures_total") == {'model="m",reason="500"': 1}


def test_a_full_disk_loses_names_of_series_and_no_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = Metrics(tmp_path)
    metrics.count("trueup_requests_total", model="before")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("trueup.gateway.watching.board.os.write", full)
    for number in range(3):
        metrics.count("trueup_requests_total", model=f"after-{number}")
    metrics.count("trueup_requests_total", model="before")
    page = metrics.page()
    assert values(page, "trueup_requests_total") == {'model="before"': 2}
    assert values(page, "trueup_uncounted_total") == {"": 3}
    metrics.close()


@pytest.mark.parametrize("server", ["uvicorn", "granian"])
def test_every_scrape_has_the_numbers_of_all_workers_even_after_one_was_killed(server: str, tmp_path: Path) -> None:
    with (
        ScriptedServer(then=GOOD) as upstream,
        serving(tmp_path, configured(upstream.url), "--workers", "2", "--server", server) as served,
    ):
        assert [served.chat().status_code for _ in range(20)] == [200] * 20

        def counted() -> float:
            return sum(values(served.page(), "trueup_requests_total").values())

        wait_for(lambda: counted() == 20, "a request was not counted")  # that is done after its reply was sent
        assert [counted() for _ in range(10)] == [20] * 10
        before = served.workers()
        os.kill(before[0], signal.SIGKILL)
        wait_for(lambda: before[0] not in served.workers() and len(served.workers()) == 2, "no worker takes its place")
        wait_for(lambda: values(served.page(), "trueup_workers") == {"": 2}, "it does not serve")
        assert counted() == 20
