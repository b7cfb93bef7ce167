"""Events in OpenTelemetry: a check is a `gen_ai.evaluation.result` event of the current span. Needs the extra
`telemetry`.

Events go to the logger provider of the application; nothing is exported unless the application configures that.
"""

from typing import Any

from trueup.verdict.events import Checked, Event, Subscriber
from trueup.watch.lines import Field, fields_of, seriousness
from trueup.watch.missing import needed

RESULT = "gen_ai.evaluation.result"


def telemetry_events(provider: Any = None, *, warnings: Any = None, refusals: Any = None) -> Subscriber:
    """A subscriber that emits each event through a logger `provider`, by default the global one.

    `warnings` and `refusals` are severity numbers, by default `WARN` and `ERROR`; they are used for the same events as
    in `log_events`.
    """
    logs = needed("opentelemetry._logs")
    numbers = logs.SeverityNumber
    severity = {"info": numbers.INFO, "warning": warnings or numbers.WARN, "refusal": refusals or numbers.ERROR}
    logger = (provider or logs.get_logger_provider()).get_logger("trueup")
    context = needed("opentelemetry.context")

    def emit(event: Event) -> None:
        checked = isinstance(event, Checked)
        logger.emit(
            logs.LogRecord(
                timestamp=int(event.at * 1e9) or None,
                context=context.get_current(),
                severity_number=severity[seriousness(event)],
                event_name=RESULT if checked else f"trueup.{event.event}",
                attributes=_evaluation(event) if isinstance(event, Checked) else _own(event),
            )
        )

    return emit


def _evaluation(event: Checked) -> dict[str, Field]:
    """The attributes from the conventions, then our own."""
    fields = fields_of(event)
    found = {
        "gen_ai.evaluation.name": event.contract or "trueup",
        "gen_ai.evaluation.score.value": 1.0 if event.ok else 0.0,
        "gen_ai.evaluation.score.label": "pass" if event.ok else "fail",
        **({"gen_ai.evaluation.explanation": fields["violations"]} if event.violations else {}),
        **({"gen_ai.response.model": fields["model"]} if event.model else {}),
    }
    own = {name: value for name, value in _own(event).items() if name not in {"trueup.contract", "trueup.model"}}
    return {**found, **own}


def _own(event: Event) -> dict[str, Field]:
    return {f"trueup.{name}": value for name, value in fields_of(event).items()}
