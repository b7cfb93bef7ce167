"""What one check of a contract gives: its findings, and the metrics that it adds."""

from typing import Any

import msgspec

from trueup.verdict.facts import Finding


class CheckOutcome(msgspec.Struct, frozen=True):
    """What a check finds, and the metrics it adds."""

    findings: list[Finding]
    metrics: dict[str, Any] = {}
