"""For each contract and fingerprint: when its verdicts were made, and how many of them were refused.

Counts stored verdicts, so deleted ones are missing.
"""

from typing import Any

import msgspec

from trueup.store.cells import pack, unpack
from trueup.store.errors import MICROS
from trueup.store.session import Session


class RulesVersion(msgspec.Struct, frozen=True):
    """One version of a contract's rules: its first and last verdict (seconds since 1970), and what it refused."""

    contract: str
    fingerprint: str
    first: float
    last: float
    verdicts: int
    refused: int
    reasons: dict[str, int]

    @property
    def refusal_rate(self) -> float:
        return self.refused / self.verdicts if self.verdicts else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON-able data, including its rate."""
        return {**msgspec.structs.asdict(self), "refusal_rate": round(self.refusal_rate, 6)}


def changes(session: Session, contract: str | None = None, since: float = 0.0) -> list[RulesVersion]:
    """Each contract and fingerprint among the verdicts, ordered by first verdict."""
    term, values = (
        ("at >= ?", [int(since * MICROS)])
        if contract is None
        else ("at >= ? AND contract = ?", [int(since * MICROS), pack(contract)])
    )
    rows = session.run(
        "SELECT contract, fingerprint, ok, reason, MIN(at), MAX(at), COUNT(*) FROM verdicts "  # noqa: S608 - our own words
        f"WHERE {term} GROUP BY contract, fingerprint, ok, reason",
        values,
    )
    found: dict[tuple[str, str], list[Any]] = {}
    for name, mark, ok, reason, first, last, n in rows:
        entry = found.setdefault((unpack(name), unpack(mark)), [first, last, 0, 0, {}])
        entry[0], entry[1] = min(entry[0], first), max(entry[1], last)
        entry[2] += n
        if not ok:
            entry[3] += n
            entry[4][reason] = entry[4].get(reason, 0) + n
    listed = [
        RulesVersion(
            name, mark, first / MICROS, last / MICROS, n, refused, dict(sorted(why.items(), key=lambda item: -item[1]))
        )
        for (name, mark), (first, last, n, refused, why) in found.items()
    ]
    return sorted(listed, key=lambda change: (change.first, change.contract, change.fingerprint))
