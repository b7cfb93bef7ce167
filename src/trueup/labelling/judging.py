"""Add verdicts to replies without one: takes cases and a contract, and returns the cases with the contract's decisions.

Recorded verdicts stay, because labels are about the decision that was made. If a check raises, its case stays without a
verdict.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from trueup.material.case import Case, Recorded


def with_verdicts(cases: Iterable[Case], contract: Any) -> Iterator[Case]:
    """The cases; those without a verdict are judged by a contract.

    >>> from trueup import Contract
    >>> [case.recorded.ok for case in with_verdicts([Case("1", "{}"), Case("2", "no")], Contract(True))]
    [True, False]
    """
    name, fingerprint = str(contract.name or ""), str(contract.fingerprint)
    for case in cases:
        if case.recorded is not None or case.unjudgeable is not None or case.reply is None:
            yield case
            continue
        try:
            verdict = contract.check(case.reply, case.context)
        except Exception:  # noqa: BLE001 - a check of the contract's own may raise anything
            yield replace(case, unjudgeable="check_raised")
            continue
        recorded = Recorded(
            verdict.ok,
            tuple(dict.fromkeys(found.code for found in verdict.findings)),
            tuple(found.to_dict() for found in verdict.findings),
            verdict.data,
            fingerprint,
            fixes=tuple(fix.to_dict() for fix in verdict.fixes),
            metrics=verdict.metrics,
        )
        yield replace(case, recorded=recorded, contract=case.contract or name)
