"""Work of a gateway apart from requests: it prunes its store, and notices when the store is down."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.running import free_port
from tests.gateway.conftest import GOOD, PERSON, QUICK
from tests.gateway.test_metrics import values
from tests.store.conftest import _as_server, _programs, _wait_until_up
from tests.waiting import wait_for
from trueup import Contract
from trueup.gateway.config import of
from trueup.gateway.running import running
from trueup.gateway.serving.keeping import Keeper
from trueup.gateway.watching.metrics import Metrics
from trueup.store.open import open_store
from trueup.store.retention import Retention
from trueup.store.sqlite import machine_clock
from trueup.testing.server import ScriptedServer
from trueup.verdict.verdict import Verdict

DAY = 86_400_000_000


def old_store(path: Path, days: int = 400) -> None:
    """A store with verdicts from long ago, and one of today."""
    with open_store(path, clock=lambda: machine_clock() - days * DAY) as store:
        for number in range(1200):
            store.record_verdict(Verdict("old"), tenant="acme", wait=number == 1199)
    with open_store(path) as store:
        store.record_verdict(Verdict("new"), tenant="acme", id="today")


def test_a_gateway_prunes_its_store_on_startup_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "v.db"
    old_store(path)
    with ScriptedServer(then=GOOD) as upstream:
        config = of(upstream.url, Contract(PERSON, name="person"), policy=QUICK, store=str(path), retention=Retention())
        with running(config) as gateway:
            wait_for(lambda: values(httpx.get(f"{gateway.url}/metrics").text, "trueup_pruned_total"))
            page = httpx.get(f"{gateway.url}/metrics").text
    assert values(page, "trueup_pruned_total")['what="verdicts"'] == 1200
    assert values(page, "trueup_pruned_timestamp_seconds")[""] > 0
    with open_store(path) as store:
        assert [stored.id for stored in store.verdicts()] == ["today"]


def test_only_one_worker_prunes_within_the_hour(tmp_path: Path) -> None:
    path = tmp_path / "v.db"
    old_store(path)
    now = machine_clock()
    with open_store(path, clock=lambda: now) as one, open_store(path, clock=lambda: now) as other:
        seen = [Metrics(), Metrics(), Metrics()]

        async def prune() -> None:
            for metrics, store in zip(seen, (one, other, one), strict=True):
                await Keeper(metrics, lambda store=store: store, prunes=True).prune()  # type: ignore[misc]

        asyncio.run(prune())
        assert [bool(values(metrics.page(), "trueup_pruned_total")) for metrics in seen] == [True, False, False]
        now += 3600 * 1_000_000
        assert other.lease("prune", 3000)
        assert not one.lease("prune", 3000)
        now -= 400 * DAY  # a clock that was wrong, and was set right
        assert one.lease("prune", 3000)


@contextlib.contextmanager
def own_postgres() -> Iterator[tuple[str, Any]]:
    """A PostgreSQL of this test's own, which it may stop: its address, and its process."""
    who = _as_server()
    folder = Path(tempfile.mkdtemp(prefix="trueup-pg-"))
    try:
        if who:
            os.chown(folder, who["user"], who["group"])
        here: dict[str, Any] = {"cwd": folder, "extra_groups": [], **who} if who else {"cwd": folder}
        data, port = folder / "data", free_port()
        make = [_programs() / "initdb", "-D", data, "-A", "trust", "-U", "trueup", "-E", "UTF8", "--no-sync"]
        subprocess.run([*make, "--locale=C"], check=True, capture_output=True, **here)
        options = [f"-p{port}", "-h127.0.0.1", f"-k{folder}", "-cfsync=off", "-cshared_buffers=16MB"]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen([_programs() / "postgres", "-D", data, *options], stdout=log, stderr=log, **here)
        try:
            url = f"postgresql://trueup@127.0.0.1:{port}/postgres"
            _wait_until_up(url, process, folder / "log")
            yield url, process
        finally:
            process.send_signal(signal.SIGQUIT)
            process.wait(60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.needs("database")
def test_the_gauge_shows_that_postgresql_is_down_even_if_nothing_waits_to_be_written() -> None:
    ask = {"model": "m", "messages": [{"role": "user", "content": "Who?"}]}
    contract = Contract(PERSON, name="person")
    with (
        own_postgres() as (url, process),
        ScriptedServer(then=GOOD) as upstream,
        running(of(upstream.url, contract, policy=QUICK, store=url, quota=True)) as gateway,
    ):
        assert values(httpx.get(f"{gateway.url}/metrics").text, "trueup_store_trouble") == {"": 0}
        process.send_signal(signal.SIGQUIT)
        process.wait(60)
        assert values(httpx.get(f"{gateway.url}/metrics").text, "trueup_store_trouble") == {"": 1}
        assert httpx.post(f"{gateway.url}/v1/chat/completions", json=ask, timeout=60).status_code == 503
        assert values(httpx.get(f"{gateway.url}/metrics").text, "trueup_store_trouble") == {"": 1}
