"""A case as evidence: takes its reply; returns its value, uncertain parts, calls and text.

The checking reader also reads these replies, first without a schema, then under a draft, because a schema helps. This
module decides which parts remain uncertain after each fix. If a reply has no evidence, it gives the reason.
"""

from typing import Any, NamedTuple

from trueup.contract.contract import Contract
from trueup.inferring.evidence import MEMBERS, TYPE, VALUE
from trueup.material.case import REASONS, Case
from trueup.verdict.codec import as_json, decode
from trueup.verdict.facts import Fix
from trueup.verdict.paths import Parts, parse
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.verdict import Verdict

NOTHING = object()
"""Stands for a reply without a value. None cannot do that: it is a value, null."""

CUT = frozenset({"S005", "S028", "S029", "S030", "S043"})
_WHOLLY = frozenset({"S042", "W013", "W015", "W018", "W019"})
_OPEN = {
    "S012": VALUE, "S013": VALUE, "S015": TYPE, "S019": TYPE, "S027": MEMBERS, "S028": VALUE, "S029": MEMBERS, "S030": TYPE, "S031": MEMBERS,
    "S033": TYPE, "S034": TYPE, "S035": VALUE, "S036": TYPE, "S037": MEMBERS, "S039": VALUE, "S043": TYPE, "F009": VALUE,
}  # fmt: skip
_AROUND = frozenset({"W001", "W002", "W003", "W004", "W005", "W006", "W007", "W008", "W009", "W011", "W016"})
_NAME = lazy_regex(r"[A-Za-z_][\w.-]{0,63}\Z")
_LOSES = frozenset({"S027", "S031", "S033", "S034", "S036", "S037"})
_NO_REPLY = frozenset({"R001", "R002", "R004"})
NOT_USABLE = _NO_REPLY | {"P001", "P002", "P010", "P013", "L001", "L002", "L003", "R003"}
"""Findings of replies without any value."""

WHY: dict[str, str] = {
    **{str(reason): said for reason, said in REASONS.items()},
    "empty": "the reply is empty",
    "no_value": "the reply contains no JSON value",
    "doubtful": "the value cannot be read reliably",
    "refused": "the model refused to answer",
    "too_large": "the reply is too large or too deep to read",
    "other_shape": "the value has a different shape from the rest, such as an error object",
    "not_json": "the value cannot be written as JSON",
    "not_read": "the reply is not in the format of a known provider",
}
"""The reasons for not using a reply, in words."""


class ObservedReply(NamedTuple):
    """The contents of one reply."""

    value: Any = NOTHING
    clean: bool = False
    """Whether the reply needed no fix except to unwrap the value."""
    cut: bool = False
    """Whether the reply may end early."""
    lossy: bool = False
    """Whether part of it was lost."""
    doubts: dict[Parts, str] = {}
    calls: tuple[ToolCall, ...] = ()
    text: str = ""
    ok: bool = True
    """Whether it fits the schema under which it was read."""
    why: str = ""
    """Why there is no value; empty if there is one, or if the reply makes calls."""
    instead: "ObservedReply | None" = None
    """If a value was read as a call, `{"name": …, "arguments": …}`: the same reply as a value; otherwise None."""


def reader(schema: Any = True, **options: Any) -> Contract:  # noqa: FBT002 - True is a schema
    """The contract that reads replies. It accepts any fix, because its values are only evidence.

    >>> observed(reader(), Case("1", '{"a": 1,')).value
    {'a': 1}
    """
    return Contract(schema, accept="lossy", **options)


def observed(contract: Contract, case: Case) -> ObservedReply:
    """The contents of a case, as a contract reads them."""
    if case.unjudgeable is not None:
        return ObservedReply(why=case.unjudgeable)
    if case.reply is None:
        return ObservedReply(why="no_reply")
    if isinstance(case.reply, dict | list) and is_data(case.reply):
        value = json_data(case.reply)
        return ObservedReply(value, clean=True) if value is not NOTHING else ObservedReply(why="not_json")
    verdict = contract.check(case.reply, _context(case))
    if _is_encoded_twice(verdict.data):
        inner = contract.check(verdict.data)
        if isinstance(inner.data, dict | list):
            return _with_value(inner, verdict.reply.calls, verdict.reply.text)._replace(clean=False)
    reply = verdict.reply
    calls, text = reply.calls, reply.text
    if verdict.data is None and not _is_null(verdict):
        return ObservedReply(calls=calls, text=text, why="" if calls else _why(verdict, reply))
    called = _spoken_call(verdict.data, verdict.fixes)
    if called is not None:
        return ObservedReply(calls=(*calls, *called), text=text, instead=_with_value(verdict, calls, text))
    return _with_value(verdict, calls, text)


def _is_encoded_twice(data: Any) -> bool:
    """Whether a value is text that contains the real value, encoded as JSON again."""
    return isinstance(data, str) and data.lstrip()[:1] in ("{", "[")


def _with_value(verdict: Verdict, calls: tuple[ToolCall, ...], text: str) -> ObservedReply:
    codes = {fix.code for fix in verdict.fixes}
    if codes & _WHOLLY:
        return ObservedReply(calls=calls, text=text, why="doubtful")
    doubts: dict[Parts, str] = {}
    for fix in verdict.fixes:
        kind = _OPEN.get(fix.code) or (TYPE if fix.code[0] == "C" and fix.code not in ("C004", "C010") else "")
        if kind:
            place = parse(fix.path)
            if fix.code == "C009" and place:  # the key was there with null
                place, kind = place[:-1], MEMBERS
            if doubts.get(place) != TYPE:
                doubts[place] = kind
    cut = bool(codes & CUT) or verdict.reply.finish == "length"
    lossy = any(fix.grade == "lossy" for fix in verdict.fixes) or bool(codes & _LOSES)
    clean = codes <= _AROUND
    return ObservedReply(verdict.data, clean, cut, lossy, doubts, calls, text, verdict.ok)


def _context(case: Case) -> dict[str, Any] | None:
    """The context without a state: the reader has no states."""
    if not case.context:
        return None
    return {name: value for name, value in case.context.items() if name in ("history", "question", "expected_sequence")}


def is_data(reply: Any) -> bool:
    """Whether a reply is parsed data, not a provider's response."""
    from trueup.read.detect import family, is_error  # only needed if a reply is more than text

    if isinstance(reply, list):
        return not any(isinstance(item, dict) and ("role" in item or "content" in item) for item in reply)
    return family(reply) is None and not is_error(reply)


def json_data(value: Any) -> Any:
    r"""A Python value as JSON data; `NOTHING` if it cannot be written as JSON.

    >>> json_data({"a": (1, 2)}), json_data(["\ud800"]) is NOTHING
    ({'a': [1, 2]}, True)
    """
    try:
        return decode(as_json(value)[1])
    except (TypeError, ValueError, OverflowError, RecursionError):
        return NOTHING


def _is_null(verdict: Verdict) -> bool:
    """Whether the value that was read is null."""
    return not any(found.code[0] in "PLR" for found in verdict.findings) and bool(verdict.reply.text.strip())


def _why(verdict: Verdict, reply: Reply) -> str:
    codes = {found.code for found in verdict.findings}
    if reply.refusal or "P010" in codes:
        return "refused"
    if "R001" in codes:
        return "not_read"
    if codes & _NO_REPLY:
        return "no_reply"
    if any(code[0] == "L" for code in codes):
        return "too_large"
    return "empty" if not reply.text.strip() else "no_value"


def _spoken_call(data: Any, fixes: tuple[Fix, ...]) -> tuple[ToolCall, ...] | None:
    """The call that a value represents, if the model wrote it as text."""
    if not isinstance(data, dict) or len(data) > 3:
        return None
    name, args = data.get("name"), data.get("arguments", data.get("parameters"))
    if not isinstance(name, str) or not isinstance(args, dict) or not _NAME.match(name):
        return None
    is_marked = any(fix.code == "W004" for fix in fixes)
    return (ToolCall(name, args, origin="text:tag"),) if is_marked or len(data) == 2 else None
