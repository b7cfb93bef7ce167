"""Verdict: the judgement of one reply. `ok` is derived from the findings, so the two cannot disagree.

A refused verdict is falsy and has no value; the data that was read stays in `data`. Fixes are kept as compact records until
they are read, so a caller that only needs the value does not pay for their paths and excerpts.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple

import msgspec

from trueup.verdict.evidence import Evidence
from trueup.verdict.facts import NO_FINDINGS, Finding, Findings, Fix, finding, promoted
from trueup.verdict.reply import Reply, ToolCall

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # every type checker has it: `Verdict` alone is `Verdict[Any]`

    T = TypeVar("T", default=Any, covariant=True)
else:
    from typing import TypeVar

    T = TypeVar("T", covariant=True)

Fixes = tuple[Fix, ...]
_PARTS = ("reply", "data", "findings", "fixes", "calls", "metrics")
_NO_METRICS: dict[str, Any] = {}
_NO_EVIDENCE: dict[str, Evidence] = {}


class _AsData:
    """The type of `AS_DATA`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "AS_DATA"

    def __reduce__(self) -> str:
        """Stay a singleton when a verdict is copied or sent to another process."""
        return "AS_DATA"


AS_DATA: Final = _AsData()  # "the value is the data"; not None, because a type may build None


_UNKNOWN_TOOL = frozenset({"T001", "T002"})  # the model invented the name


class Refusal(NamedTuple):
    """A refused call, and why it was refused."""

    call: ToolCall
    """The call that was refused."""
    findings: tuple[Finding, ...]
    """The problems of the call."""

    @property
    def message(self) -> str:
        """A message about it for the model, without text that the model wrote: the model could take that for an instruction."""
        from trueup.verdict.neutral import ModelTexts, neutral, texts_in  # imported only for a refused call

        call = self.call
        written = ModelTexts((call.name, call.raw_args, *texts_in(call.args)))
        messages = [neutral(part, written) for f in self.findings for part in (f.message, f.hint) if part]
        sentences = [part if part[-1] in ".!?" else f"{part}." for part in messages]
        is_unknown = any(f.code in _UNKNOWN_TOOL for f in self.findings)
        name = neutral(repr(call.name), written) if is_unknown else repr(call.name)
        return f"The call of {name} was not made. " + " ".join(dict.fromkeys(sentences))


def without_unmet(calls: Sequence[ToolCall]) -> tuple[tuple[ToolCall, ...], tuple[Refusal, ...]]:
    """The calls that may run, and the calls that are refused because they need an earlier call of the reply that is missing."""
    good: list[ToolCall] = []
    refused: list[Refusal] = []
    names: set[str] = set()
    for call in calls:
        missing = [name for name in call.after if name not in names]
        if missing:
            message = f"{call.name} needs {', '.join(missing)} first, and that call was refused"
            hint = f"Call {missing[0]} before {call.name}."
            found = finding("T008", f"$.calls[{call.index}]", message, None, {"missing": missing}, hint)
            refused.append(Refusal(call, (found,)))
        else:
            good.append(call)
            names.add(call.name)
    return tuple(good), tuple(refused)


Answer = Callable[[Sequence["Refusal"], str], list[dict[str, Any]]]
_answers: list[Answer] = []


def answer_with(answer: Answer) -> None:
    """Register the function that turns refusals into a provider's messages; the room `read/` calls this once."""
    _answers[:] = [answer]


class Rejected(ValueError):
    """Raised by `Verdict.unwrap()`; carries the refused `verdict`."""

    def __init__(self, verdict: "Verdict") -> None:
        errors = verdict.findings.errors
        shown = "; ".join(str(f) for f in errors[:3])
        more = f" (and {len(errors) - 3} more)" if len(errors) > 3 else ""
        super().__init__(f"reply refused: {shown}{more}")
        self.verdict = verdict

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling, because the exception may be raised in another process."""
        return type(self), (self.verdict,)


class Verdict(Generic[T]):
    """The result for one reply: its value, every change made to it, and everything that is wrong with it.

    A refused verdict is falsy. A type checker knows the type of the value: `Contract(Invoice).check(reply)`
    is a `Verdict[Invoice]`, whose `value` is `Invoice | None` and whose `unwrap()` returns an `Invoice`.

    - `reply`: the reply that was judged, or its text.
    - `data`: the plain JSON data that was read, possibly incomplete if the reply is refused; None if there is none.
    - `findings`: everything that is wrong, errors first; empty if nothing is wrong.
    - `fixes`: every change that was made, or a function that returns them; empty if nothing was changed.
    - `value`: the data as the contract's type; by default the data itself.
    - `calls`: the tool calls that passed; empty if there are none.
    - `metrics`: numbers that checks add, by name; empty if there are none.
    - `refused`: the tool calls that did not pass; empty if there are none.
    - `passed`: the `reason` of a verdict that is ok; empty if there is none.
    - `evidence`: for each path of a grounded value, where it is in the sources; empty if the contract is not grounded.
    """

    __slots__ = ("_fixes", "_passed", "_reply", "_value", "calls", "data", "evidence", "findings", "metrics", "refused")

    def __init__(
        self,
        reply: Reply | str,
        data: Any = None,
        findings: Findings = NO_FINDINGS,
        fixes: Fixes | Callable[[], Fixes] = (),
        value: Any = AS_DATA,
        calls: tuple[ToolCall, ...] = (),
        *,
        metrics: dict[str, Any] = _NO_METRICS,
        refused: tuple[Refusal, ...] = (),
        passed: str = "",
        evidence: dict[str, Evidence] = _NO_EVIDENCE,
    ) -> None:
        self._reply = reply
        self._passed = passed
        self.data = data
        self.findings = findings
        self._fixes = fixes
        self._value: Any = AS_DATA if value is data else value
        self.calls = calls
        self.metrics = metrics
        self.refused = refused
        self.evidence = evidence

    @property
    def ok(self) -> bool:
        """True when no finding is an error."""
        findings = self.findings
        return not findings or all(f.level != "error" for f in findings)

    @property
    def reason(self) -> str:
        """Why the reply is refused (the message of the first error) or passes (the reason of the reply rules; empty without them).

        >>> from trueup import Contract
        >>> contract = Contract(reply=True)
        >>> contract.check("Yes").reason, contract.check("Yes, I can help with that.").reason
        ('Insufficient text (3 chars)', 'Sufficient text content')
        """
        return next((found.message for found in self.findings if found.level == "error"), self._passed)

    def __bool__(self) -> bool:
        """A refused verdict is falsy."""
        return self.ok

    @property
    def value(self) -> T | None:
        """The value: an instance of the contract's Python type, or plain JSON data for a JSON Schema. None if refused.

        >>> from trueup import Contract
        >>> ages = Contract(list[int])
        >>> refused = ages.check('[1, "two"]')
        >>> refused.value, refused.data
        (None, [1, 'two'])
        """
        return self._judged() if self.ok else None

    def _judged(self) -> T:
        """The value, refused or not."""
        value: T = self.data if self._value is AS_DATA else self._value
        return value

    @property
    def fixes(self) -> Fixes:
        """Every change that was made, in the order of the text."""
        fixes = self._fixes
        if callable(fixes):
            fixes = self._fixes = fixes()
        return fixes

    @property
    def errors(self) -> Findings:
        """The findings that refuse the reply."""
        return self.findings.errors

    @property
    def warnings(self) -> Findings:
        """The findings that let the reply pass."""
        return self.findings.warnings

    @property
    def reply(self) -> Reply:
        """The reply that was judged; its text is the original one."""
        reply = self._reply
        if isinstance(reply, str):
            reply = self._reply = Reply(text=reply)
        return reply

    @property
    def certainty(self) -> float:
        """How sure the judgement is, whether the reply passed or was refused. It does not rate the value.

        1.0 if ok; if refused, 0.7 plus 0.1 for each error, at most 0.99.

        >>> from trueup import Contract
        >>> Contract({"type": "object"}).check("[]").certainty
        0.8
        """
        errors = len(self.findings.errors)
        return min(0.99, (7 + errors) / 10) if errors else 1.0

    @property
    def confidence(self) -> float:
        """Deprecated since 0.2: use `certainty`, which is the same number under a clearer name."""
        warnings.warn(
            "Verdict.confidence is deprecated since 0.2; use Verdict.certainty", DeprecationWarning, stacklevel=2
        )
        return self.certainty

    @property
    def hint(self) -> str:
        """A hint for the model on how to correct the errors; empty if ok."""
        lines = dict.fromkeys(f.hint or f.message for f in self.findings.errors)
        return "\n".join(lines)

    def with_more(
        self,
        findings: Sequence[Finding],
        metrics: Mapping[str, Any],
        *,
        strict: bool = False,
        passed: str = "",
        evidence: dict[str, Evidence] | None = None,
    ) -> "Verdict[T]":
        """This verdict with further `findings` and `metrics`; an error at `$.calls[n]` refuses the call of that index.

        With `strict`, the further findings are errors. `passed` replaces the reason of a verdict that is ok, unless it is empty. `evidence` replaces
        the evidence of the values, unless it is None.
        """
        more = [promoted(f) for f in findings] if strict else findings
        ordered = self.findings
        if more:
            ordered = Findings(sorted((*ordered, *more), key=lambda f: f.level != "error"))
        against: dict[str, list[Finding]] = {}
        for found in more:
            if found.level == "error" and found.path.startswith("$.calls["):
                against.setdefault(found.path[8 : found.path.index("]")], []).append(found)
        calls, refused = self.calls, self.refused
        if against:
            judged = [(call, tuple(against.get(str(call.index), ()))) for call in calls]
            calls = tuple(call for call, problems in judged if not problems)
            calls, unmet = without_unmet(calls)
            refused = (*refused, *(Refusal(call, problems) for call, problems in judged if problems), *unmet)
            waited = [found for refusal in unmet for found in refusal.findings]
            ordered = Findings(sorted((*ordered, *waited), key=lambda f: f.level != "error")) if waited else ordered
        return Verdict(
            self._reply, self.data, ordered, self._fixes, self._value, calls, metrics={**self.metrics, **metrics}, refused=refused,
            passed=passed or self._passed, evidence=self.evidence if evidence is None else evidence,
        )  # fmt: skip

    def with_findings(self, findings: Findings, *, runs: bool = True) -> "Verdict[T]":
        """This verdict with other `findings`; with `runs=False`, none of its calls may run."""
        calls, refused = (self.calls, self.refused) if runs else ((), ())
        return Verdict(
            self._reply, self.data, findings, self._fixes, self._value, calls, metrics=self.metrics, refused=refused,
            passed=self._passed, evidence=self.evidence,
        )  # fmt: skip

    def rejections(self, provider: str = "") -> list[dict[str, Any]]:
        """The refused calls as tool-result messages, in the shape that `provider` expects.

        Without a `provider`, the shape is the same as the reply's, or OpenAI's if that is not known.
        """
        return _answers[0](self.refused, provider or self.reply.provider or "openai") if self.refused else []

    def unwrap(self) -> T:
        """The value; raises `Rejected` if the verdict is not ok."""
        if not self.ok:
            raise Rejected(self)
        return self._judged()

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON-able data."""
        fields = msgspec.to_builtins(msgspec.structs.replace(self.reply, raw=None))
        reply = {key: part for key, part in fields.items() if part or (key == "turns" and part is not None)}
        return {
            "ok": self.ok,
            "reason": self.reason,
            "data": self.data,
            "findings": [f.to_dict() for f in self.findings],
            "fixes": [f.to_dict() for f in self.fixes],
            "calls": [msgspec.to_builtins(c) for c in self.calls],
            "refused": [
                {"call": msgspec.to_builtins(r.call), "findings": [f.to_dict() for f in r.findings]}
                for r in self.refused
            ],
            "metrics": dict(self.metrics),
            "certainty": self.certainty,
            "confidence": self.certainty,  # the name of `certainty` before 0.2
            "hint": self.hint,
            "reply": reply,
            **({"evidence": {path: one.to_dict() for path, one in self.evidence.items()}} if self.evidence else {}),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Verdict":
        """Read a verdict back from `data`, the result of `to_dict()`; derived values are computed again.

        >>> Verdict.from_dict({"reply": {"text": "{}"}, "data": {}})
        Traceback (most recent call last):
        ValueError: not a verdict from `to_dict()`; missing: findings, fixes, calls, metrics
        """
        lacking = [part for part in _PARTS if part not in data]
        if lacking:
            raise ValueError(f"not a verdict from `to_dict()`; missing: {', '.join(lacking)}")
        return cls(
            reply=msgspec.convert(data["reply"], Reply),
            data=data["data"],
            findings=Findings(msgspec.convert(data["findings"], list[Finding])),
            fixes=tuple(msgspec.convert(data["fixes"], list[Fix])),
            calls=tuple(msgspec.convert(data["calls"], list[ToolCall])),
            metrics=dict(data["metrics"]),
            refused=tuple(
                msgspec.convert([(r["call"], r["findings"]) for r in data.get("refused", [])], list[Refusal])
            ),
            passed=data.get("reason", "") if data.get("ok") else "",
            evidence=msgspec.convert(data.get("evidence") or {}, dict[str, Evidence]),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fixes themselves, because the function that computes them refers to the whole contract."""
        others = {"metrics": self.metrics, "refused": self.refused, "_passed": self._passed, "evidence": self.evidence}
        return Verdict, (self._reply, self.data, self.findings, self.fixes, self._value, self.calls), (None, others)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Verdict) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        """The verdict for a notebook: the marked reply, findings, fixes and the value."""
        from trueup.verdict.notebook import verdict_html  # imported only in a notebook

        return verdict_html(self)

    def __repr__(self) -> str:
        """State, value and codes on one line: `<Verdict ok: {'age': 36}; W001, C001>`."""
        codes = ", ".join(dict.fromkeys([f.code for f in self.findings] + [f.code for f in self.fixes]))
        ok = self.ok
        shown = self._judged() if ok else self.data
        value = "" if shown is None and self.data is None else repr(shown)
        value = value if len(value) <= 100 else f"{value[:99]}…"
        details = "; ".join(part for part in (value, codes) if part)
        return f"<Verdict {'ok' if ok else 'refused'}{f': {details}' if details else ''}>"
