"""The chat application's module: whether a response is valid, why, and its measurements, in the application's own words."""

from pathlib import Path
from typing import Any, TypedDict

from trueup import Contract, Verdict

CONTRACT = Contract.load(Path(__file__).with_name("quota.yaml"))

_NAMES = {
    "assistant_messages": "assistantMessageCount",
    "total_text_length": "totalTextLength",
    "has_tool_outputs": "hasToolOutputs",
    "empty_messages": "emptyMessages",
    "tool_calls_without_text": "toolCallsWithoutText",
}


class ValidationResult(TypedDict):
    isValid: bool
    reason: str
    metrics: dict[str, Any]


def result_of(verdict: Verdict) -> ValidationResult:
    metrics = {_NAMES.get(name, name): value for name, value in verdict.metrics.items()}
    return {"isValid": verdict.ok, "reason": verdict.reason, "metrics": metrics}


def validate_response_enhanced(messages: list[Any], contract: Contract = CONTRACT) -> ValidationResult:
    return result_of(contract.check(messages))
