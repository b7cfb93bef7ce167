"""Spans and events of OpenTelemetry, collected by its own test exporters."""

from typing import Any

import httpx
import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.gateway.conftest import GOOD, KEY, PERSON, QUICK
from trueup import Contract
from trueup.gateway.config import of
from trueup.gateway.running import running
from trueup.gateway.watching.tracing import Tracing
from trueup.testing.script import Fail
from trueup.testing.server import ScriptedServer

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.spec("Q14")
def test_a_request_is_a_span_with_spans_for_its_calls_and_events_inside() -> None:
    spans, records = InMemorySpanExporter(), InMemoryLogRecordExporter()
    tracers, logs = TracerProvider(), LoggerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    logs.add_log_record_processor(SimpleLogRecordProcessor(records))
    contract = Contract(PERSON, name="person")
    with (
        ScriptedServer([Fail(500), "secret words", GOOD, "no", "no", "no"]) as upstream,
        running(of(upstream.url, contract, key=KEY, policy=QUICK), tracing=Tracing(tracers, logs)) as gateway,
    ):
        body = {"model": "m", "messages": [{"role": "user", "content": "private question"}]}
        for _ in range(2):
            httpx.post(f"{gateway.url}/v1/chat/completions", json=body, headers={"traceparent": PARENT}, timeout=60)
    found: list[Any] = list(spans.get_finished_spans())
    first, second = [span for span in found if span.name == "chat m"]
    assert f"{first.context.trace_id:032x}" in PARENT
    assert first.attributes["trueup.outcome"] == "repaired"
    assert (first.attributes["trueup.contract"], first.attributes["trueup.attempts"]) == ("person", 3)
    assert second.attributes["trueup.outcome"] == "failed"
    assert second.attributes["http.response.status_code"] == 422
    assert second.attributes["trueup.codes"] == ("P001",)
    inner = [span for span in found if span.parent and span.parent.span_id == first.context.span_id]
    assert [span.name for span in inner] == ["ask m", "ask m", "repair m"]
    assert inner[0].status.status_code.name == "ERROR"
    assert inner[1].attributes["trueup.codes"] == ("P001",)
    assert all(span.start_time <= span.end_time for span in inner)
    names = {record.log_record.event_name for record in records.get_finished_logs()}
    assert {"trueup.sent", "trueup.judged", "trueup.repairing", "trueup.finished"} <= names
    assert all(record.log_record.trace_id == first.context.trace_id for record in records.get_finished_logs())
    everything = "".join(span.to_json() for span in found)
    assert "private question" not in everything
    assert "secret words" not in everything
    assert KEY not in everything
