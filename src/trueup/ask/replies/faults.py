"""The fault of a reply, in the form that the plan needs; and a rank to choose the best of several faulty replies.

Takes a verdict; returns a `ReplyFault`, a rank, or the provider's failure. It looks only at codes, never at the text of a message.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from trueup.ask.loop.plan import FaultKind, ReplyFault
from trueup.checks.current_state import UNPLACED
from trueup.verdict.facts import NO_FINDINGS, Finding, Findings
from trueup.verdict.paths import Parts, render
from trueup.verdict.verdict import Verdict

_NOTHING = frozenset({"P002", "T013", "R004"})
_CUT = frozenset({"R003", "A002"})
_STATE = frozenset({"T012"})
_NEVER = frozenset("RDAQX")  # replies with errors of these families are never given as the best reply
_LENGTH = frozenset({"P009", "T006"})
ANSWER = "Answer the user."
"""The hint for a reply that is empty or refuses to answer. Contracts do not give this hint."""
_CONTEXT = UNPLACED | {"E007"}  # the context lacks something: another reply would not be better
_UNJUDGED = frozenset({"X001", "N022"})  # the contract could not judge: another reply would not be better


def fault_of(verdict: Verdict, *, fields: bool = False) -> ReplyFault | None:
    """The fault of a reply; None if it is ok.

    >>> from trueup import Contract
    >>> fault_of(Contract(True).check("no JSON here")).kind
    'prose'
    """
    if verdict.ok:
        return None
    errors = verdict.errors
    codes = {found.code for found in errors}
    length = verdict.reply.finish == "length" or not codes.isdisjoint(_LENGTH)
    signature = "\n".join(sorted(map(str, errors)))
    marks = frozenset(f"{found.code} {found.path}" for found in errors)
    return ReplyFault(_kind(verdict, codes), signature, length, fields, marks)


def _kind(verdict: Verdict, codes: set[str]) -> FaultKind:
    if not codes.isdisjoint(_UNJUDGED):
        return "bug"
    if "R001" in codes and "A002" not in codes:
        return "unreadable"
    if not codes.isdisjoint(_CONTEXT):
        return "context"
    if not codes.isdisjoint(_CUT):
        return "cut"
    if (
        "P010" in codes
        or (verdict.reply.refusal and codes == {"T019"})
        or verdict.reply.finish in {"refusal", "filter"}  # asking for a better form would not help
    ):
        return "refusal"
    rest = {code for code in codes if code not in _NOTHING and not code.startswith("Q")}
    if not rest:
        return "nothing"
    if all(code.startswith("D") or code in _STATE for code in rest):
        return "state"
    return "prose" if "P001" in codes else "format"


def unplaced(contract: Any, context: Mapping[str, Any]) -> Findings:
    """Why no reply can be accepted in a context that does not name a state of the contract. Empty if the context is fine.

    >>> from trueup import Contract
    >>> [found.code for found in unplaced(Contract(states={"IDLE": {}}), {"state": "IDEL"})]
    ['D004']
    """
    states = None if contract.meaning is None else contract.meaning.states
    if states is None:
        return NO_FINDINGS
    return Findings(one for one in states.standing(context).findings if one.code in UNPLACED)


def is_of_asking(found: Mapping[str, Any]) -> bool:
    """Whether a finding, as in `Finding.to_dict`, is an error that `ask` itself reports under any contract.

    >>> is_of_asking({"code": "P002", "hint": ANSWER}), is_of_asking({"code": "P002", "hint": "Send JSON."})
    (True, False)
    """
    code = str(found.get("code"))
    return found.get("level", "error") == "error" and (
        code in ("A002", "A006") or (code in ("P002", "P010") and found.get("hint") == ANSWER)
    )


def excused(verdict: Verdict) -> Verdict:
    """The verdict on one of the contract's own texts, with some errors as warnings.

    A context without a known state is not the text's fault. A missing source is not an error either, because the model did not write the text.
    """
    if not any(map(_is_excused, verdict.errors)):
        return verdict
    findings = Findings(
        msgspec.structs.replace(found, level="warning") if _is_excused(found) else found for found in verdict.findings
    )
    return verdict.with_findings(findings)


def _is_excused(found: Finding) -> bool:
    return found.code in UNPLACED or found.code[0] == "E"


def failure_in(verdict: Verdict) -> Finding | None:
    """The finding for an error that the provider sent instead of a reply, if there is one."""
    return next((found for found in verdict.findings if found.code == "R002"), None)


def is_usable(verdict: Verdict) -> bool:
    """Whether a faulty reply is better than no reply: it has a value or a text, and all of it may be shown."""
    codes = {found.code for found in verdict.errors}
    if verdict.refused or any(code[0] in _NEVER for code in codes) or not codes.isdisjoint(_STATE | {"P010"}):
        return False
    if verdict.reply.finish == "length" or not codes.isdisjoint(_LENGTH):  # a part of it is missing
        return False
    if verdict.data is not None:
        return True
    return bool(verdict.reply.text.strip()) and not any(code[0] in "PV" for code in codes)


def echoed(data: Any, placeholders: frozenset[str]) -> str | None:
    """The path of the first text that only repeats a placeholder from the prompt; None if there is no such text.

    >>> echoed({"name": ["Ada", "<text>"]}, frozenset({"<text>"}))
    '$.name[1]'
    """
    stack: list[tuple[Parts, Any]] = [((), data)]
    while stack:
        path, here = stack.pop()
        if isinstance(here, str) and here in placeholders:
            return render(path)
        if isinstance(here, dict):
            stack += [((*path, key), value) for key, value in here.items()]
        elif isinstance(here, list):
            stack += [((*path, index), value) for index, value in enumerate(here)]
    return None


def rank(verdict: Verdict) -> tuple[bool, bool, int]:
    """A rank for choosing the best reply, lowest first: ok, then usable, then fewer errors."""
    return (not verdict.ok, not is_usable(verdict), len(verdict.errors))
