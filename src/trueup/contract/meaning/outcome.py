"""The outcome of one check of a contract: its findings, and the metrics that it adds."""

from typing import Any

import msgspec

from trueup.verdict.facts import Finding


class CheckOutcome(msgspec.Struct, frozen=True):
    """The findings of a check, and the metrics it adds."""

    findings: list[Finding]
    metrics: dict[str, Any] = {}
