"""The help desk of the document, written on trueup: one contract instead of a validator, a recovery and a sequence checker.

The registry is used unchanged. The contract judges names, arguments, order and prose before a tool runs. Its findings go to the
log of the application, warnings as warnings and refusals as errors. Refused replies are sent back to the model.
"""

import logging
from typing import Any

from tests.acceptance.helpdesk.registry import NETWORK, ToolRegistry
from trueup import Contract, Policy
from trueup.ask.answer import Answer
from trueup.watch.log import log_events
from trueup.watch.observe import observed

log = logging.getLogger("techtime.llm")

DIAGNOSIS = ["check_adapter_status", "get_ip_config", "ping_gateway", "ping_dns", "test_dns_resolution"]
CALLS = {
    "types": "warning",  # an argument of another type is passed on, with a warning
    "mentions": {"prefixes": ["check_", "get_"], "suffixes": ["_status"]},  # such names count anywhere
}
RECOVERING = {**CALLS, "defaults": True, "outside_enum": "default"}  # "invalid arguments: use defaults"


def make_contract(
    registry: ToolRegistry = NETWORK, *, strict: bool = False, calls: dict[str, Any] | None = None
) -> Contract:
    """The contract for the assistant's replies."""
    return Contract(tools=registry, order=DIAGNOSIS, calls=calls or CALLS, strict=strict, name="helpdesk")


class Desk:
    """The application's interface: asks a model, judges the reply, and logs the findings."""

    def __init__(self, model: Any, registry: ToolRegistry = NETWORK, *, strict: bool = False) -> None:
        self._model = model
        self._contract = observed(make_contract(registry, strict=strict), log_events(log))

    async def chat(self, messages: list[dict[str, Any]], policy: Policy | None = None) -> Answer:
        """One turn of the conversation; calls that were made before count for the order."""
        return await self._contract.aask(self._model, messages, policy, context={"history": messages})
