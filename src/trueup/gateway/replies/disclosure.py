"""The facts that a client may learn about a reply: findings and fixes without any text from the model.

They have the code, its name, the place, and the catalogue's sentence for the code. In a place, a name that the contract does
not know is `*`. The store and the log have the full messages.
"""

from collections.abc import Sequence
from functools import lru_cache

from trueup.conform.survey import all_keys
from trueup.contract.contract import Contract
from trueup.gateway.errors import RefusedRequest
from trueup.gateway.protocols.protocol import Body
from trueup.verdict.catalogue import FINDINGS
from trueup.verdict.facts import Finding, Fix
from trueup.verdict.paths import parse, render

# Findings about the request or the contract, whose messages contain nothing of a reply.
_WHOLE = frozenset({"D004", "D006", "D007", "X001"})
_OURS = frozenset({"calls", "args", "toolCalls", "name", "arguments", "content", "needsMoreWork", "value"})


def told_finding(contract: Contract | None, found: Finding) -> Body:
    """A finding as a client may see it."""
    return {
        "code": found.code, "name": found.name, "level": found.level, "path": told_path(contract, found.path),
        "message": sentence(found),
    }  # fmt: skip


def told_fix(contract: Contract | None, fix: Fix) -> Body:
    """A fix as a client may see it, without the text before and after."""
    said = fix.to_dict()
    return {
        "code": fix.code, "name": said["name"], "grade": fix.grade, "path": told_path(contract, fix.path), "span": said["span"],
    }  # fmt: skip


def sentence(found: Finding) -> str:
    """A description of the finding, in the same words for every reply.

    >>> sentence(Finding("T001", "$.calls[0]", "Tool 'pay_mallory' is not defined"))
    'A call names a tool that was not offered.'
    """
    if found.code in _WHOLE:
        return found.message
    kind = FINDINGS.get(found.code)
    return "The reply breaks a rule of its contract." if kind is None else kind.title


def unknown_state(contract: Contract | None, found: Sequence[Finding]) -> RefusedRequest:
    """The error for a request whose state the contract does not know."""
    said = f"the upstream was not asked: {found[0].code} {sentence(found[0])}"
    more = {"findings": [told_finding(contract, each) for each in found]}
    return RefusedRequest(400, said, "invalid_request_error", "unknown_state", more=more)


def told_path(contract: Contract | None, path: str) -> str:
    """A place with only the names that the contract knows.

    >>> told_path(Contract({"properties": {"age": {}}}), "$.people[0].age")
    '$["*"][0].age'
    """
    if path == "$":
        return path
    try:
        parts = parse(path)
    except ValueError:  # a path of a user's own check
        return "$"
    known = _OURS if contract is None else _names(contract)
    return render(tuple(part if isinstance(part, int) or part in known else "*" for part in parts))


@lru_cache(maxsize=256)
def _names(contract: Contract) -> frozenset[str]:
    """Every name of a reply's part that the contract knows."""
    names = set(_OURS)
    if contract.schema is not None:
        names |= {*contract.schema.keys, *contract.schema.names}
    for tool in contract.tools:
        if isinstance(tool.parameters, dict):
            names |= {*all_keys(tool.parameters)}
    return frozenset(names)
