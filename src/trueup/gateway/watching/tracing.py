"""OpenTelemetry spans and events: a request is a span, each call of an upstream is a span inside it, and events report the
steps.

Names follow the conventions for generative AI; our own begin with `trueup.`. Nothing is exported unless the application has
set that up, no span contains text of a request or a reply, and a client's trace is continued. Needs the extra `telemetry`.
"""

from collections.abc import Callable
from typing import Any

from trueup.ask.answer import Answer
from trueup.gateway.door.exchange import Exchange
from trueup.gateway.errors import RefusedRequest
from trueup.verdict.events import Event
from trueup.watch.missing import needed
from trueup.watch.telemetry import telemetry_events

_NANO = 1_000_000_000


class Tracing:
    """Creates the spans of a gateway, with the application's providers or the given ones."""

    def __init__(self, tracers: Any = None, logs: Any = None) -> None:
        self._trace = needed("opentelemetry.trace")
        self._propagate = needed("opentelemetry.propagate")
        self._tracer = (tracers or self._trace.get_tracer_provider()).get_tracer("trueup.gateway")
        self._emit = telemetry_events(logs)

    def close(self) -> None:
        """The gateway stops; the application closes its own providers."""

    def begin(self, exchange: Exchange) -> Any:
        """The span of a request."""
        model = exchange.head.model if isinstance(exchange.head.model, str) else ""
        found = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": model,
            "gen_ai.provider.name": exchange.upstream.protocol,
            "trueup.route": exchange.route.name if exchange.route is not None else "",
            "trueup.contract": exchange.contract.name if exchange.contract is not None else "",
        }
        kind = self._trace.SpanKind.SERVER
        return self._tracer.start_span(
            f"chat {model}", context=self._propagate.extract(exchange.headers), kind=kind, attributes=found
        )

    def listener(self, span: Any) -> Callable[[Event], object]:
        """A subscriber whose events belong to a span."""

        def listen(event: Event) -> None:
            with self._trace.use_span(span, end_on_exit=False):
                self._emit(event)

        return listen

    def answered(self, span: Any, exchange: Exchange, answer: Answer, at: float) -> None:
        """Record the outcome of a request; `at` is when it began, in seconds since 1970."""
        codes = sorted({found.code for found in answer.verdict.errors})
        span.set_attributes(
            {
                "trueup.verdict": exchange.verdict_id,
                "trueup.outcome": answer.outcome,
                "trueup.attempts": len(answer.attempts),
                "trueup.codes": codes,
                **{f"gen_ai.usage.{name}": n for name, n in answer.usage.items() if name != "total_tokens"},
            }
        )
        parent = self._trace.set_span_in_context(span)
        for attempt in answer.attempts:
            start = int((at + attempt.at) * _NANO)
            told = attempt.verdict.errors if attempt.verdict is not None else ()
            inner = self._tracer.start_span(
                f"{attempt.purpose} {attempt.model or exchange.head.model}", context=parent,
                kind=self._trace.SpanKind.CLIENT, start_time=start,
                attributes={
                    "gen_ai.request.model": attempt.model or str(exchange.head.model),
                    "trueup.purpose": attempt.purpose, "trueup.mode": attempt.mode,
                    "trueup.codes": sorted({found.code for found in told}),
                },
            )  # fmt: skip
            if attempt.failure is not None:
                inner.set_status(self._trace.StatusCode.ERROR, attempt.failure.reason)
            inner.end(start + int(attempt.seconds * _NANO))

    def end(self, span: Any, error: BaseException | None) -> None:
        """The request is over."""
        if isinstance(error, RefusedRequest):
            span.set_attribute("http.response.status_code", error.status)
            span.set_status(self._trace.StatusCode.ERROR, error.code or error.kind)
        elif error is not None:
            span.set_status(self._trace.StatusCode.ERROR, type(error).__name__)
        span.end()
