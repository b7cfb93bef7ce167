"""Formats the numbers of a run from `status` and `Live` as short texts for people.

The progress bar of `trueup run`, `trueup status` and the screens share these texts, so the same number looks the same everywhere.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from trueup.batch.pipeline.estimating.cost import shown
from trueup.batch.pipeline.rundir.state import Money

Row = Mapping[str, Any]


def clock(seconds: float | None) -> str:
    """A remaining time; empty if it is not known.

    >>> clock(42), clock(725), clock(11_400), clock(200_000), clock(None)
    ('0:42', '12:05', '3:10:00', '2d 07h', '')
    """
    if seconds is None:
        return ""
    whole = int(seconds)
    if whole >= 48 * 3600:
        return f"{whole // 86400}d {whole // 3600 % 24:02d}h"
    hours = f"{whole // 3600}:{whole // 60 % 60:02d}" if whole >= 3600 else str(whole // 60)
    return f"{hours}:{whole % 60:02d}"


def cost(found: Row) -> str:
    """The cost of a run so far, the expected cost, and the cap.

    >>> cost({"money": {"calls": 2, "usd": 0.5}, "estimated_usd": 1.25, "cap_usd": 3.0})
    '$0.5000 of about $1.2500, cap $3'
    """
    spent, estimated, cap = so_far(found["money"]), found.get("estimated_usd"), found.get("cap_usd")
    if estimated is not None and estimated > found["money"]["usd"] + 5e-5:
        spent = f"{spent or '$0'} of about ${estimated:.4f}"
    return ", ".join(filter(None, (spent, f"cap ${cap:g}" if cap is not None else "")))


def so_far(money: Row) -> str:
    """The cost so far; empty if no call was made, and never zero because of an unknown price."""
    found = msgspec.convert(dict(money), Money)
    return shown(found) if found.calls else ""


def by_code(counts: Mapping[str, int], most: int = 0) -> str:
    """Units by code, the most frequent first; with `most`, only that many codes and the number of the rest.

    >>> by_code({"C001": 1, "W001": 3}), by_code({"C001": 1, "W001": 3, "V005": 2}, 1)
    ('W001×3 C001×1', 'W001×3 +2 codes')
    """
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    words = [f"{code}×{number:,}" for code, number in (ranked[:most] if most else ranked)]
    more = len(ranked) - len(words)
    return " ".join([*words, *([f"+{more} code{'s' * (more != 1)}"] if more else [])])


def batches(found: Row) -> str:
    """The batches that a provider is working on."""
    sent = found.get("batches") or {}
    if not sent:
        return ""
    number = sent["sent"]
    return f"{number} batch{'es' * (number != 1)} at the provider, {sent['requests']:,} requests"
