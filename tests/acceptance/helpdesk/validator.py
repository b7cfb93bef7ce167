"""The interface of the document for code that still calls it: each function is a line or two on the contract of the desk.

New code does not need this: `verdict.ok`, `verdict.errors` and `verdict.warnings` have the same facts, with codes and paths.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.acceptance.helpdesk.desk import make_contract
from tests.acceptance.helpdesk.registry import NETWORK, ToolRegistry
from trueup import Contract, Verdict
from trueup.verdict.likeness import nearest

_OBJECT = Contract({"type": "object"})


@dataclass(frozen=True)
class ValidationResult:
    """The result of the document's validator."""

    is_valid: bool
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    sanitized_response: dict[str, Any] | None = None  # the text, and the calls that may run, repaired

    @classmethod
    def of(cls, verdict: Verdict) -> "ValidationResult":
        """The result for a verdict."""
        calls = [{"name": call.name, "arguments": call.args} for call in verdict.calls]
        return cls(
            verdict.ok,
            [found.message for found in verdict.errors],
            [found.message for found in verdict.warnings],
            {"content": verdict.reply.text, "tool_calls": calls},
        )


class ResponseValidator:
    """Judges replies by the tools of a registry."""

    def __init__(self, tool_registry: ToolRegistry = NETWORK, *, strict_mode: bool = False) -> None:
        self._contract = make_contract(tool_registry, strict=strict_mode)

    def validate_response(self, response: Any, expected_sequence: list[str] | None = None) -> ValidationResult:
        """Judge a whole reply, and the place of each call if a sequence is expected."""
        reply = {"role": "assistant", **response} if isinstance(response, dict) else response
        return ValidationResult.of(self._contract.check(reply, {"expected_sequence": expected_sequence}))

    def validate_tool_call(self, tool_name: str, arguments: Any) -> ValidationResult:
        """Judge one call."""
        return self.validate_response({"tool_calls": [{"name": tool_name, "arguments": arguments}]})


def validate_diagnostic_sequence(tool_calls: list[dict[str, Any]]) -> ValidationResult:
    """Judge the order of a diagnosis alone; tools outside it do not count."""
    names = [call.get("name") or call["function"]["name"] for call in tool_calls]
    bare = Contract(tools=[{"name": name} for name in dict.fromkeys([*DIAGNOSED, *names])], order=DIAGNOSED)
    return ValidationResult.of(
        bare.check({"tool_calls": [{"name": name, "id": str(i)} for i, name in enumerate(names)]})
    )


DIAGNOSED = [definition.name for definition in NETWORK.get_all_definitions()]


def suggest_tool(invalid_name: str, valid_tools: Iterable[str]) -> str | None:
    """The valid tool that was likely meant."""
    return nearest(invalid_name, valid_tools)


def repair_json_arguments(malformed: str) -> Any:
    """The arguments that a text was meant to be, or None."""
    return _OBJECT.check(malformed).data
