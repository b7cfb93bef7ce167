"""Spans of `trueup serve` at a collector: OTLP over HTTP, decoded with the protocol's own messages."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.gateway.conftest import GOOD
from tests.gateway.serving import configured, serving
from trueup.testing.server import ScriptedServer

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Collector:
    """An OTLP receiver on loopback, with everything that it was sent."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.received: list[tuple[str, dict[str, str], bytes]] = []

    def spans(self) -> list[Any]:
        return [span for _, span in self.with_resources()]

    def with_resources(self) -> list[tuple[dict[str, str], Any]]:
        found = []
        for path, _, body in self.received:
            if path == "/v1/traces":
                for part in ExportTraceServiceRequest.FromString(body).resource_spans:
                    about = {each.key: each.value.string_value for each in part.resource.attributes}
                    found += [(about, span) for scope in part.scope_spans for span in scope.spans]
        return found

    def events(self) -> set[str]:
        return {
            record.event_name
            for path, _, body in self.received
            if path == "/v1/logs"
            for part in ExportLogsServiceRequest.FromString(body).resource_logs
            for scope in part.scope_logs
            for record in scope.log_records
        }


@contextlib.contextmanager
def collecting() -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            collector.received.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_spans_and_events_reach_the_collector_that_the_environment_names_at_the_latest_on_sigterm(
    tmp_path: Path,
) -> None:
    config = configured("", telemetry=True)
    with collecting() as collector, ScriptedServer(["secret words", GOOD], then=GOOD) as upstream:
        config["upstreams"]["main"]["url"] = upstream.url
        environment = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_EXPORTER_OTLP_HEADERS": "x-tenant=acme",
            "OTEL_SERVICE_NAME": "front-door", "OTEL_BSP_SCHEDULE_DELAY": "3600000", "OTEL_BLRP_SCHEDULE_DELAY": "3600000",
        }  # fmt: skip
        for options in (("--workers", "1"), ("--workers", "2"), ("--workers", "2", "--server", "granian")):
            collector.received.clear()
            with serving(tmp_path, config, *options, **environment) as served:
                for _ in range(4):
                    assert served.chat(headers={"traceparent": PARENT}).status_code == 200
                assert collector.received == [], "nothing is due before the gateway stops"
                served.stop()
            chats = [span for span in collector.spans() if span.name == "chat m"]
            assert len(chats) == 4, served.log
            assert all(span.trace_id.hex() in PARENT for span in chats)
            assert {about["service.name"] for about, _ in collector.with_resources()} == {"front-door"}
            assert {headers["x-tenant"] for _, headers, _ in collector.received} == {"acme"}
            assert {"trueup.sent", "trueup.judged", "trueup.finished"} <= collector.events()
            sent = b"".join(body for _, _, body in collector.received)
            assert b"secret words" not in sent
            assert b"Who?" not in sent


def test_the_sampler_and_the_switch_in_the_environment_are_respected(tmp_path: Path) -> None:
    with collecting() as collector, ScriptedServer(then=GOOD) as upstream:
        config = configured(upstream.url, telemetry=True)
        for variable, value, logs in (
            ("OTEL_TRACES_SAMPLER", "always_off", True),
            ("OTEL_SDK_DISABLED", "true", False),
        ):
            collector.received.clear()
            environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, variable: value}
            with serving(tmp_path, config, **environment) as served:
                assert served.chat().status_code == 200
                served.stop()
            assert collector.spans() == []
            assert bool(collector.events()) is logs, (variable, served.log)


def test_an_unreachable_collector_does_not_affect_requests(tmp_path: Path) -> None:
    with ScriptedServer(then=GOOD) as upstream:
        config = configured(upstream.url, telemetry=True)
        with serving(tmp_path, config, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9") as served:
            assert served.chat().status_code == 200
            served.stop()
        assert "Traceback" not in served.log
