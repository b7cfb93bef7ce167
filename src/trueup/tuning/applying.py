"""Apply suggestions: takes a finished tuning and the numbers of suggestions, and changes the contract's file.

The file must be unchanged since the suggestion was made, and the result must lint clean, including its examples;
otherwise nothing is written. The deciding replies become examples in the file. Writing is one step: a file is never
half written.
"""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

from trueup.contract.contract import Contract
from trueup.contract.files.extends import read_whole
from trueup.contract.files.faults import ContractError, Fault
from trueup.contract.lint.examples import run_examples
from trueup.contract.lint.run import Linted, lint_contract
from trueup.tuning.edits import Add, Append, Edit, Remove, changed
from trueup.tuning.evidence import JudgedCase, JudgedCases, judged
from trueup.tuning.files import FileChange, contract_of
from trueup.tuning.proposals import Proposal
from trueup.tuning.tune import Suggestion, Tuning
from trueup.tuning.yamltext import CannotEdit
from trueup.verdict.verdict import Verdict

MOST_EXAMPLES = 4  # for each suggestion
_STILL = 1  # at most this many of them are refused before and after
_LONGEST = 2_000  # characters of a reply or a context


class CannotApply(ValueError):
    """A suggestion cannot be written, for the given reason. Nothing was written."""


class Applied(NamedTuple):
    """The changed files and the added examples."""

    files: tuple[Path, ...]
    examples: int
    left_out: int
    """Deciding replies that cannot become an example: too long, or neither text nor JSON."""
    note: str = ""


def apply(tuning: Tuning, numbers: Sequence[int], *, examples: bool = True) -> Applied:
    """Write suggestions to the files of their contract, with the deciding replies as examples."""
    chosen = [_numbered(tuning, number) for number in dict.fromkeys(numbers)]
    _refuse_changed(tuning)
    edits = together(tuning.file.data, [suggestion.proposal for suggestion in chosen])
    data = changed(tuning.file.data, edits)
    try:
        contract = contract_of(data)
    except (ValueError, TypeError) as error:
        raise CannotApply(f"these suggestions cannot be combined: {error}") from None
    picked: list[dict[str, Any]] = []
    left_out = 0
    for suggestion in chosen if examples else ():
        for one in deciding(tuning.evidence, suggestion):
            example = _example(one, contract)
            if example is None:
                left_out += 1
            elif not _is_there(example, [*(data.get("examples") or ()), *picked]):
                verdict = judged(contract, one.case)
                if verdict is not None and verdict.ok == example["ok"]:
                    picked.append(example)
    note = ""
    try:
        changes = tuning.file.change([*edits, *_added(tuning.file.data, picked)])
    except CannotEdit as error:
        if not picked:
            raise CannotApply(str(error)) from None
        try:
            changes = tuning.file.change(edits)
        except CannotEdit:
            raise CannotApply(str(error)) from None
        note, picked = f"No examples were added: {error}.", []
    expected = {**data, **({"examples": [*(data.get("examples") or ()), *picked]} if picked else {})}
    _write(tuning, changes, contract, expected)
    return Applied(tuple(change.file for change in changes), len(picked), left_out, note)


def _numbered(tuning: Tuning, number: int) -> Suggestion:
    if not 1 <= number <= len(tuning.suggestions):
        count = len(tuning.suggestions)
        there = f"the last suggestion is {count}" if count else "there are no suggestions"
        raise CannotApply(f"unknown suggestion {number}; {there}")
    suggestion = tuning.suggestions[number - 1]
    if suggestion.refusal:
        raise CannotApply(f"suggestion {number}: {suggestion.refusal}")
    return suggestion


def together(data: dict[str, Any], proposals: Sequence[Proposal]) -> list[Edit]:
    """The edits of several proposals, in an order in which they can be combined."""
    edits = in_order([edit for proposal in proposals if proposal.remade is None for edit in proposal.edits])
    for proposal in proposals:
        if proposal.remade is not None:
            edits += proposal.remade(changed(data, edits))
    return edits


def in_order(edits: Sequence[Edit]) -> list[Edit]:
    """Edits in an order that keeps every path valid: removals last, and within a list from its end.

    >>> [edit.path for edit in in_order([Remove(("a", 1)), Remove(("a", 2)), Append(("a",), 1)])]
    [('a',), ('a', 2), ('a', 1)]
    """
    removals = [edit for edit in edits if isinstance(edit, Remove)]
    others = [edit for edit in edits if not isinstance(edit, Remove)]
    removals.sort(key=lambda edit: [(isinstance(part, int), part if isinstance(part, int) else 0, str(part)) for part in edit.path], reverse=True)  # fmt: skip
    return [*others, *removals]


def deciding(evidence: JudgedCases, suggestion: Suggestion) -> list[JudgedCase]:
    """The labelled replies that decided: some that are judged correctly only now, and some that stay refused."""
    proposal, labelled = suggestion.proposal, evidence.labelled
    better = [evidence.seen[number] for number in reversed(proposal.better)]  # for a bound, those nearest to it
    if proposal.kind != "threshold":
        better.sort(key=lambda one: len(one.case.text))
    decided = frozenset((*proposal.better, *proposal.worse))
    still = [
        one for one in labelled
        if one.number not in decided and one.said.should is False and not one.ok and proposal.unit in one.refusing
    ]  # fmt: skip
    still = still[:_STILL]
    return [*better[: MOST_EXAMPLES - len(still)], *still]


def _example(one: JudgedCase, contract: Contract) -> dict[str, Any] | None:
    """A reply as an example for a contract file, without irrelevant context; None if it cannot become an example."""
    reply, context = one.case.reply, dict(one.case.context or {})
    alone = judged(contract, structs.replace(one.case, context=None))
    beside = judged(contract, one.case)
    if alone is not None and beside is not None and _told(alone) == _told(beside):
        context = {}
    if not isinstance(reply, str | dict | list) or not _fits(reply) or not _fits(context):
        return None
    should = bool(one.said.should)
    example: dict[str, Any] = {"name": f"{one.case.id}: people {'accept' if should else 'refuse'} it", "reply": reply}
    state = context.pop("state", None)
    if isinstance(state, str):
        example["state"] = state
    elif state is not None:
        context["state"] = state
    if context:
        example["context"] = context
    return {**example, "ok": should}


def _told(verdict: Verdict) -> tuple[bool, list[tuple[str, str]]]:
    return verdict.ok, [(found.code, found.path) for found in verdict.findings]


def _fits(value: Any) -> bool:
    try:
        return len(json.dumps(value, ensure_ascii=False, allow_nan=False)) <= _LONGEST
    except (TypeError, ValueError, RecursionError):
        return False


def _is_there(example: dict[str, Any], others: Sequence[dict[str, Any]]) -> bool:
    keys = ("reply", "state", "context")
    return any(all(example.get(key) == other.get(key) for key in keys) for other in others)


def _added(data: dict[str, Any], examples: list[dict[str, Any]]) -> list[Edit]:
    if not examples:
        return []
    if "examples" in data:
        return [Append(("examples",), example) for example in examples]
    return [Add((), "examples", examples)]


# -- writing -----------------------------------------------------------------------------------


def _refuse_changed(tuning: Tuning) -> None:
    """Refuse if a file has changed."""
    for file, digest in tuning.file.digests().items():
        try:
            text = file.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        except (OSError, UnicodeDecodeError):
            text = ""
        if hashlib.sha256(text.encode()).hexdigest() != digest:
            raise CannotApply(f"{file} has changed since the suggestions were made; run `trueup tune` again")
    try:
        data = read_whole(tuning.file.path).data
    except ContractError:
        data = {}
    if data != tuning.file.data:
        said = "or a file that it names has changed since the suggestions were made"
        raise CannotApply(f"{tuning.file.path} {said}; run `trueup tune` again")


def _write(tuning: Tuning, changes: Sequence[FileChange], contract: Contract, expected: dict[str, Any]) -> None:
    linted = Linted(contract, (), tuple(expected.get("examples") or ()), tuning.file.whole.marks)
    _refuse(run_examples(linted))
    with contextlib.ExitStack() as parts:
        ready = []
        for change in changes:
            target = change.file.resolve()
            part = _part(target, change.new)
            parts.callback(part.unlink, missing_ok=True)
            is_own = change.file == tuning.file.path
            _refuse_faults(change.file, part, examples=len(changes) == 1 or not is_own)
            if is_own and len(changes) == 1 and read_whole(part).data != expected:
                raise CannotApply(
                    f"{change.file} extends other files, so this edit would not have its effect; edit the files by hand"
                )
            ready.append((part, target))
        for part, target in ready:
            part.replace(target)


def _part(target: Path, text: str) -> Path:
    """A file next to the target with the new content and the same owner, permissions, line ends and byte order mark."""
    raw, known = target.read_bytes(), target.stat()
    if not known.st_mode & 0o222:  # a rename would replace even a read-only file, against its owner's wish
        raise CannotApply(f"{target} is read-only; nothing was written")
    if 0 < raw.count(b"\r\n") < raw.count(b"\n"):
        raise CannotApply(f"{target} mixes two kinds of line ends; save it with one kind first")
    if b"\r\n" in raw:
        text = text.replace("\n", "\r\n")
    content = (b"\xef\xbb\xbf" if raw.startswith(b"\xef\xbb\xbf") else b"") + text.encode()
    number, name = tempfile.mkstemp(prefix=f".{target.stem}.", suffix=target.suffix, dir=target.parent)
    part = Path(name)
    with os.fdopen(number, "wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(number)
    with contextlib.suppress(OSError, AttributeError):  # not permitted, or a system without owners
        os.chown(part, known.st_uid, known.st_gid)
    part.chmod(known.st_mode & 0o7777)
    return part


def _refuse_faults(old: Path, new: Path, *, examples: bool) -> None:
    """Refuse a contract file with a fault that the old one did not have. A separate schema file is not a contract
    file.
    """
    before = lint_contract(old)
    if before.contract is None:
        return
    linted = lint_contract(new)
    known = {(found.code, found.path) for found in before.faults}
    _refuse(found for found in linted.faults if (found.code, found.path) not in known)
    if examples:
        _refuse(run_examples(linted))


def _refuse(found: Iterable[Fault]) -> None:
    faults = list(found)
    if faults:
        first = faults[0]
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        said = f"{first.code} {first.path}: {first.message}{more}"
        raise CannotApply(f"nothing was written, because the result would not lint clean: {said}")
