"""Sets up OpenTelemetry's SDK from its own environment variables; spans and events are sent by OTLP over HTTP.

`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME`, `OTEL_TRACES_SAMPLER`, `OTEL_SDK_DISABLED`
and the others mean what the SDK's documentation says. If the application has already set up a provider, that one is used. An
unreachable collector never delays a request. Needs the extra `telemetry`.
"""

import logging
import os
import threading
import time
from typing import Any
from urllib.parse import unquote

from trueup.gateway.watching.tracing import Tracing
from trueup.verdict.secrets import masked
from trueup.watch.missing import needed

log = logging.getLogger("trueup.gateway")

SERVICE = "trueup-gateway"
_PATIENCE = 3.0  # seconds for the last spans, when the gateway stops
_NONE = "none"


class Exporting(Tracing):
    """Spans and events with the providers of this process, which send them in the background."""

    def __init__(self) -> None:
        trace, logs = needed("opentelemetry.trace"), needed("opentelemetry._logs")
        self._own: list[Any] = []
        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            trace.set_tracer_provider(self._tracers())
        if not hasattr(logs.get_logger_provider(), "add_log_record_processor"):
            logs.set_logger_provider(self._logs())
        _mask_logs()
        super().__init__()

    def close(self) -> None:
        """Send what is queued, and stop; do not wait long for a collector that does not answer."""
        endings = [
            threading.Thread(target=provider.shutdown, name="trueup-telemetry-end", daemon=True)
            for provider in self._own
        ]
        self._own.clear()
        until = time.monotonic() + _PATIENCE
        for ending in endings:
            ending.start()
        for ending in endings:
            ending.join(max(0.0, until - time.monotonic()))
        if any(ending.is_alive() for ending in endings):
            log.warning("the last spans were not sent: the collector did not answer within %g s", _PATIENCE)

    def _tracers(self) -> Any:
        sdk = needed("opentelemetry.sdk.trace")
        provider = sdk.TracerProvider(resource=_resource(), shutdown_on_exit=False)
        if _wanted("OTEL_TRACES_EXPORTER"):
            exporter = needed("opentelemetry.exporter.otlp.proto.http.trace_exporter").OTLPSpanExporter()
            provider.add_span_processor(needed("opentelemetry.sdk.trace.export").BatchSpanProcessor(exporter))
        self._own.append(provider)
        return provider

    def _logs(self) -> Any:
        provider = needed("opentelemetry.sdk._logs").LoggerProvider(resource=_resource(), shutdown_on_exit=False)
        if _wanted("OTEL_LOGS_EXPORTER"):
            exporter = needed("opentelemetry.exporter.otlp.proto.http._log_exporter").OTLPLogExporter()
            processor = needed("opentelemetry.sdk._logs.export").BatchLogRecordProcessor(exporter)
            provider.add_log_record_processor(processor)
        self._own.append(provider)
        return provider


class Masking(logging.Filter):
    """Removes the headers of exports from the exporters' logs: a collector may repeat them when it refuses."""

    def __init__(self, secrets: list[str]) -> None:
        super().__init__()
        self._secrets = secrets

    def filter(self, record: logging.LogRecord) -> bool:
        """Let a record pass, as one line without a header."""
        record.msg, record.args = masked(record.getMessage(), self._secrets), None
        if record.exc_info:
            record.msg = f"{record.msg} ({type(record.exc_info[1]).__name__})"
            record.exc_info = record.exc_text = None
        return True


def _mask_logs() -> None:
    """Mask in every existing logger of the SDK; a filter sees only its own logger's records."""
    names = [name for name in os.environ if name.startswith("OTEL_EXPORTER_OTLP_") and name.endswith("HEADERS")]
    values = [part.partition("=")[2].strip() for name in names for part in os.environ[name].split(",")]
    masking = Masking([value for each in values for value in (each, unquote(each)) if len(value) >= 4])
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("opentelemetry."):
            logging.getLogger(name).addFilter(masking)


def check_packages() -> None:
    """Raise ModuleNotFoundError, with the command that installs it, if something that exporting needs is missing."""
    for module in ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http.trace_exporter"):
        needed(module)


def _resource() -> Any:
    """The description of this process in spans; its name is ours unless the environment gives one."""
    resource = needed("opentelemetry.sdk.resources").Resource
    named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return resource.create({} if named else {"service.name": SERVICE})


def _wanted(variable: str) -> bool:
    """Whether a signal is exported; only OTLP over HTTP is supported, and anything else is reported."""
    said = os.environ.get(variable, "otlp").strip().lower()
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf").strip().lower()
    if said not in ("otlp", _NONE, ""):
        log.warning("%s=%s is not supported; using otlp", variable, said[:50])
    if protocol != "http/protobuf":
        log.warning("OTEL_EXPORTER_OTLP_PROTOCOL=%s is not supported; using http/protobuf", protocol[:50])
    return said != _NONE
