"""Examples inside a contract: each reply is judged, and the result is compared with the one in the example.

An example without an expected result expects its reply to pass without a finding.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from trueup.contract.contract import Contract
from trueup.contract.files.extends import Origins
from trueup.contract.files.faults import Fault, fault
from trueup.contract.lint.run import Linted
from trueup.verdict.bugs import bug_of
from trueup.verdict.paths import Parts
from trueup.verdict.verdict import Verdict


def run_examples(linted: Linted) -> Iterator[Fault]:
    """A fault for each example of a contract with an unexpected result."""
    contract, marks = linted.contract, linted.marks
    if contract is None or marks is None:
        return
    for index, example in enumerate(linted.examples):
        yield from _run(contract, example, ("examples", index), marks)


def _run(contract: Contract, example: dict[str, Any], path: Parts, marks: Origins) -> Iterator[Fault]:
    context = dict(example.get("context") or {})
    if "state" in example:
        context["state"] = example["state"]
    name = example.get("name") or f"example {int(path[-1]) + 1}"
    try:
        verdict = contract.check(example["reply"], context)
    except (Exception, SystemExit) as error:
        bug = bug_of(error)
        if bug is None:
            raise
        yield fault("N020", marks.value(path), path, f"{name}: the reply cannot be judged: {bug}")
        return
    for key, message in _differences(verdict, example):
        at = (*path, key)
        yield fault("N020", marks.value(at if key in example else path), at, f"{name}: {message}")


def _differences(verdict: Verdict, example: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The differences from the expected result: the example's key, and a sentence."""
    expected = example.get("gives", [] if "ok" not in example else None)
    if expected is not None:
        real = [f"{f.code} {f.path}" for f in verdict.findings]
        missing, extra = _compared([str(item) for item in expected], real)
        said = [f"does not give {item}" for item in missing]
        said += [f"gives {item} ({_message(verdict, item)})" for item in extra]
        if said:
            yield "gives", "; ".join(said)
    ok = example.get("ok")
    if ok is not None and ok is not verdict.ok:
        why = "; ".join(str(f) for f in verdict.findings.errors[:3])
        yield "ok", f"the reply is refused: {why}" if ok else "the reply passes"
    if "data" in example and example["data"] != verdict.data:
        yield "data", f"the value is {verdict.data!r:.200}"


def _compared(expected: list[str], real: list[str]) -> tuple[list[str], list[str]]:
    """The findings that were expected but are missing, and the ones that were not expected; a bare code matches any
    path.

    >>> _compared(["V001 $.a", "B001"], ["V001 $.a", "B001 $", "B002 $"])
    ([], ['B002 $'])
    """
    left = Counter(real)
    missing = []
    for item in sorted(expected, key=lambda item: " " not in item):
        fits = item if left[item] else next((r for r in left if left[r] and r.split(" ")[0] == item), "")
        if fits:
            left[fits] -= 1
        else:
            missing.append(item)
    return missing, [item for item in real if left[item] > 0]


def _message(verdict: Verdict, item: str) -> str:
    code, _, path = item.partition(" ")
    return next(f.message for f in verdict.findings if (f.code, f.path) == (code, path))
