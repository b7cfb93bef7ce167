"""Subscribers with the real libraries: each one's output for the same frozen event."""

import io
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from prometheus_client import CollectorRegistry, generate_latest

from trueup.verdict.events import Checked, Event, Failed, FellBack, Finished, Judged, Violation
from trueup.verdict.extras import install
from trueup.watch.lines import fields_of, line_of, visible
from trueup.watch.log import log_events
from trueup.watch.prometheus import MOST_LABELS, prometheus_events
from trueup.watch.structured import structlog_events
from trueup.watch.telemetry import telemetry_events

REFUSED = Checked(
    contract="salon",
    state="SLOT_SELECTION",
    text="Tu cita ha sido confirmada",
    ok=False,
    violations=(Violation("D001", "$", "confirms the appointment: 'confirmada'"),),
    certainty=0.8,
    seconds=0.00012,
    regenerations=1,
    at=1_700_000_000.5,
)
FORGED = Checked(
    state="IDLE\r\n2026-01-01 INFO all is well",
    text='ok\n{"ok": true}\x1b[2J\u2028next\u202e\x85\x9b0m\u200b" ok=true',
    ok=False,
    violations=(Violation("D001", "$.a\nb", "says\x00\x07"),),
)


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """The output of the log named trueup."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
    logger = logging.getLogger("trueup")
    logger.addHandler(handler)
    level, logger.level = logger.level, logging.INFO
    yield out
    logger.removeHandler(handler)
    logger.setLevel(level)


@pytest.mark.spec("C13")
def test_the_log_has_state_text_result_violations_time_and_regenerations(stream: io.StringIO) -> None:
    log_events()(REFUSED)
    assert stream.getvalue() == (
        'ERROR trueup checked contract="salon" state="SLOT_SELECTION" text="Tu cita ha sido confirmada" ok=false '
        "violations=\"D001 $: confirms the appointment: 'confirmada'\" certainty=0.8 confidence=0.8 seconds=0.00012 regenerations=1\n"
    )


def test_a_record_carries_the_fields(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("other")
    with caplog.at_level(logging.INFO, "other"):
        log_events(logger)(REFUSED)
    assert caplog.records[0].trueup["state"] == "SLOT_SELECTION"  # type: ignore[attr-defined]
    assert caplog.records[0].levelno == logging.ERROR


WARNED = Checked(contract="helpdesk", warnings=(Violation("T011", "$", "mentions 'check_cable'"),))
LEVELS = [
    (REFUSED, "ERROR"),
    (WARNED, "WARNING"),
    (Checked(fixes=2), "INFO"),
    (Judged(ok=False, fault="format"), "ERROR"),
    (Failed(reason="503"), "WARNING"),
    (FellBack(reason="gave up"), "WARNING"),
    (Finished(ok=True), "INFO"),
]


@pytest.mark.parametrize(("event", "level"), LEVELS)
def test_refusals_are_errors_and_warnings_are_warnings(event: Event, level: str, stream: io.StringIO) -> None:
    log_events()(event)
    assert stream.getvalue().split()[0] == level


def test_a_warning_is_logged_at_the_default_level() -> None:
    code = (
        "from trueup import Contract; from trueup.watch.log import log_events; from trueup.watch.observe import observed;"
        "observed(Contract(tools=[{'name': 'check_adapter_status'}]), log_events()).check('I ran check_network_status.')"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "T011" in run.stderr


@pytest.mark.parametrize(
    ("event", "level"), [(REFUSED, "CRITICAL"), (WARNED, "INFO"), (Checked(), "DEBUG")], ids=["refused", "warned", "ok"]
)
def test_the_levels_can_be_set(event: Event, level: str, caplog: pytest.LogCaptureFixture) -> None:
    log = log_events(info=logging.DEBUG, warnings=logging.INFO, refusals=logging.CRITICAL)
    with caplog.at_level(logging.DEBUG, "trueup"):
        log(event)
    assert [record.levelname for record in caplog.records] == [level]


def test_levels_and_loggers_may_be_given_by_name(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "myapp"):
        log_events("myapp", warnings="critical")(WARNED)
        log_events(logging.LoggerAdapter(logging.getLogger("myapp")), refusals="FATAL")(REFUSED)
    assert [(record.name, record.levelname) for record in caplog.records] == [("myapp", "CRITICAL")] * 2


@pytest.mark.parametrize("level", ["loud", "", None, 1.5])
def test_a_level_that_does_not_exist_is_refused_before_anything_is_logged(level: Any) -> None:
    with pytest.raises(ValueError, match="is not a logging level"):
        log_events(warnings=level)


@pytest.mark.spec("X24", "X19")
def test_a_reply_cannot_forge_a_line_or_move_the_cursor(stream: io.StringIO) -> None:
    log_events()(FORGED)
    written = stream.getvalue()
    assert written.count("\n") == 1
    assert len(written.splitlines()) == 1
    assert written[:-1].isprintable()
    assert "ok=false" in written.split("text=")[0] + written.split('ok=true"')[-1]


@pytest.mark.spec("X24")
@given(st.text(), st.text(), st.text())
def test_one_event_is_one_line(text: str, state: str, message: str) -> None:
    line = line_of(Checked(text=text, state=state, violations=(Violation("D001", "$", message),)))
    assert len(line.splitlines()) == 1
    assert line.isprintable()
    assert line.encode()


@given(st.text())
def test_printable_text_is_not_changed(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    if text.isprintable():
        assert shown == text


def test_a_line_can_be_read_back() -> None:
    name, *rest = line_of(FORGED).split(" ", 1)
    decoder, at, fields = json.JSONDecoder(), 0, {}
    while at < len(rest[0]):
        key, _, _ = rest[0][at:].partition("=")
        value, end = decoder.raw_decode(rest[0], at + len(key) + 1)
        fields[key], at = value, end + 1
    assert name == "checked"
    assert fields == fields_of(FORGED)


@pytest.mark.spec("C13")
def test_structlog_gets_plain_fields() -> None:
    with structlog.testing.capture_logs() as entries:
        structlog_events()(REFUSED)
        structlog_events()(Checked(text="hola"))
    assert entries[0]["event"] == "trueup.checked"
    assert entries[0]["log_level"] == "error"
    assert (entries[0]["state"], entries[0]["regenerations"]) == ("SLOT_SELECTION", 1)
    assert entries[1]["log_level"] == "info"
    with structlog.testing.capture_logs() as entries:
        structlog_events()(WARNED)
        structlog_events(warnings="debug", refusals="critical")(WARNED)
        structlog_events(warnings="debug", refusals="critical")(REFUSED)
    assert [entry["log_level"] for entry in entries] == ["warning", "debug", "critical"]


@pytest.mark.spec("X24")
@pytest.mark.parametrize("renderer", [structlog.dev.ConsoleRenderer(colors=False), structlog.processors.KeyValueRenderer(), structlog.processors.JSONRenderer()])  # fmt: skip
def test_structlog_writes_one_line_with_every_renderer(renderer: Any) -> None:
    out = io.StringIO()
    logger = structlog.wrap_logger(structlog.PrintLogger(out), processors=[renderer])
    structlog_events(logger)(FORGED)
    assert len(out.getvalue().splitlines()) == 1


def test_opentelemetry_gets_an_evaluation_result() -> None:
    exporter = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    telemetry_events(provider)(REFUSED)
    telemetry_events(provider)(Checked(ok=True, model="m-1"))
    telemetry_events(provider)(WARNED)
    telemetry_events(provider, refusals=SeverityNumber.FATAL)(REFUSED)
    records = [data.log_record for data in exporter.get_finished_logs()]
    assert [record.severity_number.name for record in records if record.severity_number] == [
        "ERROR", "INFO", "WARN", "FATAL",
    ]  # fmt: skip
    first, second, *_ = records
    assert first.event_name == second.event_name == "gen_ai.evaluation.result"
    assert first.timestamp == 1_700_000_000_500_000_000
    attributes = dict(first.attributes or {})
    assert attributes["gen_ai.evaluation.name"] == "salon"
    assert attributes["gen_ai.evaluation.score.value"] == 0.0
    assert attributes["gen_ai.evaluation.score.label"] == "fail"
    assert "D001" in str(attributes["gen_ai.evaluation.explanation"])
    assert attributes["trueup.state"] == "SLOT_SELECTION"
    assert dict(second.attributes or {})["gen_ai.response.model"] == "m-1"


def test_opentelemetry_events_belong_to_the_current_span() -> None:
    from opentelemetry.sdk.trace import TracerProvider

    exporter = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    with TracerProvider().get_tracer("test").start_as_current_span("chat") as span:
        telemetry_events(provider)(REFUSED)
    assert exporter.get_finished_logs()[0].log_record.trace_id == span.get_span_context().trace_id


def test_other_events_have_our_own_name() -> None:
    class Happened(Event, frozen=True):
        attempt: int = 1

    exporter = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    telemetry_events(provider)(Happened())
    record = exporter.get_finished_logs()[0].log_record
    assert (record.event_name, dict(record.attributes or {})) == ("trueup.happened", {"trueup.attempt": 1})


def test_prometheus_counts() -> None:
    registry = CollectorRegistry()
    count = prometheus_events(registry)
    for _ in range(3):
        count(REFUSED)
    count(Checked(contract="salon", state="IDLE", fixes=2, seconds=0.5))
    text = generate_latest(registry).decode()
    assert 'trueup_checks_total{contract="salon",result="refused",state="SLOT_SELECTION"} 3.0' in text
    assert 'trueup_checks_total{contract="salon",result="ok",state="IDLE"} 1.0' in text
    assert 'trueup_findings_total{code="D001",contract="salon",level="error"} 3.0' in text
    assert 'trueup_fixes_total{contract="salon"} 2.0' in text
    assert 'trueup_check_seconds_count{contract="salon"} 4.0' in text


def test_the_number_of_labels_is_bounded() -> None:
    registry = CollectorRegistry()
    count = prometheus_events(registry)
    for n in range(MOST_LABELS + 50):
        count(Checked(state=f"S{n}"))
    lines = [line for line in generate_latest(registry).decode().splitlines() if line.startswith("trueup_checks_total")]
    assert len(lines) == MOST_LABELS + 1
    assert next(line for line in lines if 'state="other"' in line).endswith(" 50.0")


def test_a_missing_package_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("structlog", "prometheus_client", "opentelemetry", "opentelemetry._logs"):
        monkeypatch.setitem(sys.modules, name, None)
    for subscriber in (structlog_events, prometheus_events, telemetry_events):
        with pytest.raises(ModuleNotFoundError, match=re.escape(install("telemetry"))):
            subscriber()


def kinds(base: type[Event]) -> list[type[Event]]:
    found = [kind for kind in base.__subclasses__() if kind.__module__ == "trueup.verdict.events"]
    return [*found, *(inner for kind in found for inner in kinds(kind))]


@pytest.mark.parametrize("kind", kinds(Event), ids=lambda kind: kind.__name__)
def test_every_subscriber_takes_every_event(kind: type[Event], stream: io.StringIO) -> None:
    provider = LoggerProvider()
    for subscriber in (log_events(), structlog_events(structlog.testing.CapturingLogger()), telemetry_events(provider), prometheus_events(CollectorRegistry())):  # fmt: skip
        subscriber(kind(contract="c\n"))
    assert stream.getvalue().count("\n") == 1
