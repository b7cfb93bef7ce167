"""Assertions for tests of prompts: checks a stored reply under a contract, and fails with a readable message."""

import os
from typing import Any

from trueup.checks.current_state import UNPLACED
from trueup.contract.contract import Contract
from trueup.verdict.verdict import Verdict

_MOST = 20  # the maximum number of lines of one kind in a failure


def assert_ok(
    reply: Any, contract: "Contract | str | os.PathLike[str]", context: dict[str, Any] | None = None
) -> Verdict:
    """Fail unless `reply` is valid under `contract`, which may be the path of a contract file. Returns the verdict.

    `reply` and `context` are the same as for `Contract.check`.

    >>> assert_ok('{"age": 36,}', Contract({"type": "object"})).data
    {'age': 36}
    """
    __tracebackhide__ = True
    judged = _contract(contract)
    verdict = judged.check(reply, context)
    unplaced = [found for found in verdict.errors if found.code in UNPLACED]
    if unplaced:
        raise AssertionError(f"the context of the test is wrong: {unplaced[0].message}")
    if not verdict.ok:
        raise AssertionError(describe(verdict, judged))
    return verdict


def _contract(given: Any) -> Contract:
    __tracebackhide__ = True
    if not isinstance(given, str | os.PathLike):
        if not hasattr(given, "check"):
            raise TypeError(f"assert_ok takes a contract or the path of one; got {given!r:.60}")
        contract: Contract = given
        return contract
    try:
        return Contract.load(given)
    except ValueError as error:  # a ContractError with all errors in the file
        raise AssertionError(f"the contract cannot be used:\n{error}") from None


def describe(verdict: Verdict, contract: Contract) -> str:
    """The errors in a reply, line by line, for the message of a failed test."""
    by = f" by {contract.name}" if contract.name else ""
    lines = [f"the reply is refused{by}:"]
    lines += _some([f"  {found}" + (f"\n    hint: {found.hint}" if found.hint else "") for found in verdict.findings])
    if verdict.fixes:
        lines += ["the changes:", *_some([f"  {fix}" for fix in verdict.fixes])]
    text = verdict.reply.text
    lines.append(f"the reply: {text[:500]!r}{'…' if len(text) > 500 else ''}")
    return "\n".join(lines)


def _some(lines: list[str]) -> list[str]:
    return lines if len(lines) <= _MOST else [*lines[:_MOST], f"  … and {len(lines) - _MOST} more"]
