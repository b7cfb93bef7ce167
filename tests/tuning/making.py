"""Contracts and labelled replies for the tests of tuning."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trueup.contract.lint.run import load_contract
from trueup.material.case import Case, Label, Recorded
from trueup.tuning.tune import Tuning, tune


def write(folder: Path, text: str, name: str = "contract.yaml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def cases_of(file: Path, replies: Iterable[tuple[Any, bool | None]], **more: Any) -> list[Case]:
    """Cases as in a store: judged by the contract in the file, and labelled with whether they should pass (None: no
    label)."""
    contract = load_contract(file)
    context = more.get("context")
    cases = []
    for number, (reply, should) in enumerate(replies):
        text = reply if isinstance(reply, str) else json.dumps(reply)
        verdict = contract.check(text, context)
        outcome = "right" if verdict.ok is should else "wrong"
        labels = () if should is None else (Label(f"v{number}", outcome, "ada", drawn=more.get("drawn", "")),)
        codes = tuple(found.code for found in verdict.findings)
        recorded = Recorded(verdict.ok, codes, fingerprint=contract.fingerprint)
        cases.append(Case(f"v{number}", text, context, recorded=recorded, labels=labels))
    return cases


def tuned(file: Path, replies: Iterable[tuple[Any, bool | None]], **more: Any) -> Tuning:
    return tune(file, cases_of(file, replies, **more), backtest=False)


def kinds(tuning: Tuning) -> list[str]:
    return [suggestion.proposal.kind for suggestion in tuning.suggestions]
