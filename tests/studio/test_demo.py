"""The demo: real verdicts of sample traffic, samples that match their titles, and no leftovers."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.batch.pipeline.making import go, start
from tests.waiting import wait_for
from trueup import Contract
from trueup.batch.pipeline.lint.run import lint_pipeline
from trueup.batch.pipeline.retrying.retry import retry
from trueup.batch.pipeline.rundir.directory import OwnedRun
from trueup.batch.pipeline.rundir.lock import born, is_held, read_owner
from trueup.contract.lint.run import lint_contract
from trueup.grounding.stored import without_texts
from trueup.store.alarm import RETRY_RATE
from trueup.store.errors import MICROS
from trueup.store.open import open_store
from trueup.store.records import Stored
from trueup.studio.demo.demo import demo
from trueup.studio.demo.filling import fill
from trueup.studio.demo.material import copy, example, text
from trueup.studio.demo.pipeline import write_pipeline
from trueup.studio.demo.samples import SampleReply, samples
from trueup.studio.demo.scenes import scenes
from trueup.studio.demo.traffic import OLDER, TENANTS, Traffic
from trueup.studio.runs.acting import resume_run
from trueup.studio.runs.finding import RunPlace
from trueup.studio.settings import StudioSettings

NOW = 1_800_000_000 * MICROS


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.name)
def test_the_verdict_of_a_sample_matches_its_title(sample: SampleReply, tmp_path: Path) -> None:
    path = tmp_path / f"contract{sample.kind}"
    path.write_text(sample.contract, "utf-8")
    verdict = Contract.load(path).check(
        sample.reply, {name: said for name in ("state", "source") if (said := getattr(sample, name))}
    )
    assert tuple(sorted({finding.code for finding in verdict.errors})) == sample.gives
    assert bool(verdict.fixes) or not verdict.ok, "a sample shows something"
    if ":" in sample.title or sample.gives:
        assert ("refused" in sample.title or "wrong" in sample.title) is bool(sample.gives)


def test_samples_are_listed_for_the_page(served: Any) -> None:
    listed = served("reader").get("/samples")
    assert 12 <= len(listed) <= 20
    assert [each["name"] for each in listed] == [sample.name for sample in samples()]
    assert len({each["title"] for each in listed}) == len(listed)
    first = listed[0]
    assert first["name"] == "almost"
    assert first["reply"] == text("replies/15-almost.txt")
    assert set(first) == {"name", "title", "reply", "contract", "kind", "state", "source"}


def test_texts_and_copies_do_not_name_a_schema_by_its_path_in_the_checkout(tmp_path: Path) -> None:
    copy("contracts", tmp_path / "contracts")
    copy("pipelines/reviews", tmp_path / "reviews")
    copy("support/triage.yaml", tmp_path / "triage.yaml")
    copied = [path.read_text("utf-8") for path in tmp_path.rglob("*.yaml")]
    assert len(copied) > 8
    assert not [said for said in (*copied, *(sample.contract for sample in samples())) if "$schema=" in said]
    assert (tmp_path / "contracts" / "profile.yaml").read_text("utf-8").startswith("# The person")
    assert samples()[0].contract.startswith("# The person")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Traffic]:
    folder = tmp_path_factory.mktemp("demo")
    traffic = Traffic(Random(7), folder)
    fill(folder / "v.db", traffic, Random(8), NOW, size=900)
    return folder / "v.db", traffic


def test_every_verdict_comes_from_the_engine(filled: tuple[Path, Traffic]) -> None:
    path, traffic = filled
    contracts = {each.fingerprint: each for each in (*traffic.contracts.values(), *traffic.older.values())}
    booking = Contract.load(example("booking/booking.yaml"))
    contracts[booking.fingerprint] = booking
    with open_store(path, create=False) as store:
        stored = list(store.verdicts())
        assert {each["fingerprint"] for each in store.contracts()} == set(contracts)
    assert len(stored) > 1200
    for each in stored:
        verdict = each.verdict
        assert verdict is not None
        if each.attempt == 0 or each.contract == "helpdesk":  # a fallback; calls come in a provider's format
            continue
        again = without_texts(contracts[each.fingerprint].check(verdict.reply.text, each.context))
        assert (again.ok, again.findings, again.data) == (each.ok, verdict.findings, verdict.data)


def test_sums_equal_the_count_of_the_rows(filled: tuple[Path, Traffic]) -> None:
    path, _ = filled
    with open_store(path, create=False) as store:
        stored = list(store.verdicts())
        rates = {rate.model: rate for rate in store.stats()}
        assert store.quota.audit() == []
        standings = {each.tenant: each for each in store.quota.standings() if each.limit and each.unit == "replies"}
        labels = Counter(label["outcome"] for label in store.labels())
    last = [each for each in stored if each.outcome != "refused"]
    assert len({each.id for each in stored}) == len(stored)
    assert [each.id[:11] for each in stored] == sorted(each.id[:11] for each in stored), "ids sort by time"
    assert all(NOW - 7.1 * 86_400 * MICROS <= each.at * MICROS <= NOW for each in stored)
    for model, rate in rates.items():
        mine = [each for each in last if each.model == model]
        others = {each.request for each in stored if each.model == model} - {each.request for each in mine}
        assert rate.asked == len(mine) + len(others - {""})
    assert {each.outcome for each in last} == {"accepted", "repaired", "regenerated", "fallback", "failed"}
    assert {model for model, rate in rates.items() if rate.retry_rate > RETRY_RATE} == {"fern-3b"}
    assert {each.tenant for each in last} == set(TENANTS)
    used = Counter(each.tenant for each in last if each.outcome != "failed")
    assert {tenant: each.used for tenant, each in standings.items()} == used
    assert labels["right"] > labels["wrong"] > 20
    talks = Counter(each.conversation for each in last if each.conversation)
    assert max(talks.values()) > 2


def test_the_same_seed_gives_the_same_traffic(tmp_path: Path) -> None:
    def told(each: Stored) -> tuple[Any, ...]:
        return each.id, each.at, each.request, each.model, each.outcome, each.codes, each.latency, each.cost, each.body

    found = []
    for name in ("a", "b"):
        fill(tmp_path / f"{name}.db", Traffic(Random(1), tmp_path), Random(2), NOW, size=60)
        with open_store(tmp_path / f"{name}.db", create=False) as store:
            found.append([told(each) for each in store.verdicts()])
    assert found[0] == found[1]


def test_contracts_have_an_earlier_version(filled: tuple[Path, Traffic]) -> None:
    path, traffic = filled
    with open_store(path, create=False) as store:
        for name, (now, then) in OLDER.items():
            assert text(scenes()[name].contract).count(now) == 1
            assert then not in text(scenes()[name].contract)
            older, newer = store.rules(contract=name)
            assert (older.fingerprint, newer.fingerprint) == (
                traffic.older[name].fingerprint,
                traffic.contracts[name].fingerprint,
            )


def test_the_demo_runs_and_leaves_nothing_behind() -> None:
    with demo(StudioSettings(keys=()), size=40, pause=0.05) as settings:
        assert settings.demo
        contracts, replies, runs = settings.folders
        top = contracts.parent
        assert not [
            fault for path in contracts.glob("*.yaml") for fault in lint_contract(path).faults if fault.level == "error"
        ]
        assert list(replies.glob("*.jsonl"))
        with open_store(settings.store, create=False) as store:
            before = store.count()
            wait_for(lambda: store.count() > before)
            wait_for(lambda: (runs / "people" / "summary.json").exists())
            assert store.quota.audit() == []
    assert not top.exists()


def test_traffic_continues_without_output(caplog: pytest.LogCaptureFixture) -> None:
    """Also when all quotas are used up. The page shows that a model is asked again too often; the terminal of the demo shows the URL."""
    with demo(StudioSettings(keys=()), size=20, pause=0) as settings, open_store(settings.store, create=False) as store:
        wait_for(lambda: sum(rate.asked for rate in store.stats() if rate.model == "fern-3b") > 60)
    assert [record.getMessage() for record in caplog.records if record.levelname != "DEBUG"] == []


def test_a_pipeline_has_failures_that_a_retry_can_help(tmp_path: Path) -> None:
    write_pipeline(tmp_path / "triage")
    assert not lint_pipeline(tmp_path / "triage")
    config = tmp_path / "triage" / "config.yaml"
    config.write_text(config.read_text("utf-8").replace('"delay_seconds": 1.5', '"delay_seconds": 0'), "utf-8")
    first = go(start(tmp_path / "triage", tmp_path / "run"))
    codes = {error["code"] for record in first.failed for error in record["errors"]}
    assert len(first.valid) > len(first.failed) > 20
    assert len(codes) > 1
    with contextlib.closing(OwnedRun.open(first.path)) as owned:
        assert retry(owned, attempts=3).units == len(first.failed)
    assert 0 < len(go(first.path).failed) < 10


PROGRAM = """
import time
from trueup.studio.demo.demo import demo
from trueup.studio.settings import StudioSettings
with demo(StudioSettings(keys=()), size=20) as settings:
    print(settings.store, flush=True)
    for _ in range(1200):  # a signal just before one long sleep would wait for its end
        time.sleep(0.05)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing_behind(number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    store = Path(process.stdout.readline().strip())
    assert store.exists()
    process.send_signal(number)
    assert process.wait(30) != 0
    process.stdout.close()
    assert not store.parent.exists()


def test_runs_of_the_demo_are_made_by_the_same_trueup(tmp_path: Path, root: Path) -> None:
    """`make studio` names the folder of the package as seen from the current one."""
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "sitecustomize.py").write_text(
        "import pathlib, sys\nwith pathlib.Path('seen').open('a') as seen:\n    seen.write(f'{sys.orig_argv}\\n')\n",
        "utf-8",
    )
    env = {**os.environ, "PYTHONPATH": f"near{os.pathsep}{root / 'src'}"}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        store = Path(process.stdout.readline().strip())
        wait_for(lambda: (store.parent / "runs" / "tickets" / "summary.json").exists())
        process.terminate()
    assert "'sift'" in (tmp_path / "seen").read_text("utf-8")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_repeated_signals_leave_nothing_behind(number: signal.Signals) -> None:
    """A closing terminal sends two, and an impatient user more."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        store = Path(process.stdout.readline().strip())
        while process.poll() is None:
            process.send_signal(number)
            time.sleep(0.002)
    assert not store.parent.exists()


def test_work_started_on_the_page_ends_with_the_demo() -> None:
    with demo(StudioSettings(keys=()), size=20) as settings:
        runs = settings.folders[-1]
        write_pipeline(runs.parent / "mine")
        path = start(runs.parent / "mine", runs / "mine")
        assert resume_run(settings, RunPlace("runs/mine", path, "run"))["started"]
        owner = wait_for(lambda: is_held(path) and read_owner(path))
    wait_for(lambda: born(owner.pid) != owner.born)
    assert not runs.parent.exists()
