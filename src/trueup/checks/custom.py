"""Custom reply rules: Python functions or expressions of the contract, each with a reason and a switch.

Takes the `rules:` of a contract's `reply:`; returns rules that judge one reply at a time. A rule may be asynchronous
and may add metrics. A function that raises a ValueError or an AssertionError refuses the reply, and so does an
expression that cannot be evaluated. Any other exception is a bug in the function; it is raised with a note that names
the function's line.
"""

import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from trueup.checks.conversation import visible
from trueup.checks.machines import state_name
from trueup.checks.problems import closest
from trueup.checks.steps import Steps, is_async, pending
from trueup.expressions.errors import ExpressionError
from trueup.verdict.bugs import is_fault, pointed, refusal
from trueup.verdict.reply import Reply

_KEYS = ("name", "expr", "check", "reason", "hint", "on")
_ANSWER = ("ok", "reason", "metrics")
FIELDS = ("text", "length", "messages", "calls", "first", "question", "state", "data", "has_tool_outputs")


class Opinion(msgspec.Struct, frozen=True):
    """A rule's answer about a reply: why it is refused, or why it passes; either may be empty."""

    refused: str = ""
    passed: str = ""
    metrics: dict[str, Any] = {}


_PASSES = Opinion()


class Custom(NamedTuple):
    """One rule: its name, how to ask it, and why it refuses a reply."""

    name: str
    ask: Callable[[Reply, Mapping[str, Any], Mapping[str, Any]], Any]
    reason: str
    hint: str = ""
    awaits: bool = False
    source: Any = None  # the function or the expression that the contract gives

    def opinion(self, reply: Reply, context: Mapping[str, Any], metrics: Mapping[str, Any]) -> Steps[Opinion]:
        """The rule's answer. A rule may raise to refuse the reply; a bug is raised unchanged, with a note."""
        try:
            try:
                answer = self.ask(reply, context, metrics)
                if answer is True or answer is None:  # most answers
                    return _PASSES
                awaited = pending(answer)
                if awaited is not None:
                    answer = yield awaited
            except ExpressionError as error:  # the data of this reply does not fit the expression
                return Opinion(f"The rule {self.name!r} cannot be evaluated: {error}"[:300])
            except Exception as error:
                if not is_fault(error):
                    raise
                return Opinion(refusal(error) or self.reason)
            return self._read(answer, metrics)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - raised again, whatever it is
            raise pointed(error, f"the reply rule {self.name!r}", self.source)  # noqa: B904 - it is the same exception

    def _read(self, answer: Any, known: Mapping[str, Any]) -> Opinion:
        answer = scalar(answer)
        if answer is True or answer is None:
            return _PASSES
        if answer is False:
            return Opinion(self.reason)
        if isinstance(answer, str):
            return Opinion(answer)
        if isinstance(answer, Mapping):
            return self._read_mapping(answer, known)
        raise TypeError(f"it returned {type(answer).__name__}; a rule returns true, false, a text or a mapping")

    def _read_mapping(self, answer: Mapping[str, Any], known: Mapping[str, Any]) -> Opinion:
        unknown = [key for key in answer if key not in _ANSWER]
        if unknown:
            raise ValueError(f"it returned a mapping with {unknown[0]!r}; the keys are {', '.join(_ANSWER)}")
        if "reason" in answer and "ok" not in answer:
            raise ValueError("it returned a mapping with 'reason' but without 'ok'")
        ok = scalar(answer.get("ok", True))
        if not isinstance(ok, bool):
            raise TypeError(f"'ok' must be true or false; got {ok!r:.60}")
        metrics = checked_metrics(answer.get("metrics") or {}, known)
        reason = str(answer.get("reason") or "")
        return Opinion("", reason, metrics) if ok else Opinion(reason or self.reason, "", metrics)


def scalar(value: Any) -> Any:
    """A scalar of numpy, torch or a similar library as a plain Python value; any other value unchanged."""
    item = getattr(value, "item", None)
    return item() if callable(item) else value


def checked_metrics(metrics: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics that a check adds; raises an error if one cannot be stored or if its name is taken.

    >>> checked_metrics({"quality": 0.9}, {"total_text_length": 3})
    {'quality': 0.9}
    """
    if not isinstance(metrics, Mapping):
        raise TypeError(f"metrics must be a mapping of names to values; got {type(metrics).__name__}")
    added: dict[str, Any] = {}
    for name, given in metrics.items():
        value = scalar(given)
        if not isinstance(name, str) or not name:
            raise ValueError(f"the name of a metric must be a string; got {name!r:.60}")
        if name in known:
            raise ValueError(f"the metric {name!r} exists already; choose another name")
        if not isinstance(value, str | bool | int | float | None) or (isinstance(value, float) and not isfinite(value)):
            raise ValueError(f"the metric {name!r} must be a finite number, a text, true or false; got {value!r:.60}")
        added[name] = value
    return added


def read_custom(
    source: Any, environ: Mapping[str, str], switch: Callable[[str, Any], bool], refuse: type[ValueError]
) -> tuple[Custom, ...]:
    """The rules that are switched on; `VALIDATE_<NAME>` in the environment overrides the contract."""
    if not isinstance(source, list | tuple):
        raise refuse(f"reply.rules: takes a list of rules; got {source!r:.60}")
    rules: dict[str, Custom] = {}
    for index, item in enumerate(source):
        place = f"reply.rules[{index}]"
        rule, on = _read(item, place, refuse)
        if rule.name in rules:
            raise refuse(f"{place}.name: two rules are named {rule.name!r}")
        variable = _variable(rule.name)
        rules[rule.name] = rule
        if not (switch(variable, environ[variable]) if environ.get(variable, "").strip() else on):
            rules[rule.name] = rule._replace(name="")
    return tuple(rule for rule in rules.values() if rule.name)


def switches_of(source: Any) -> tuple[str, ...]:
    """The environment variables that switch the rules of a list."""
    names = [item.get("name", "") if isinstance(item, Mapping) else _name_of(item) for item in source]
    return tuple(map(_variable, names))


def _variable(name: str) -> str:
    return "VALIDATE_" + re.sub(r"\W+", "_", name).upper()


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _read(item: Any, place: str, refuse: type[ValueError]) -> tuple[Custom, bool]:
    if callable(item):
        item = {"check": item, "name": _name_of(item)}
    if not isinstance(item, Mapping):
        raise refuse(f"{place}: a rule must be a function or a table with {', '.join(_KEYS)}; got {item!r:.60}")
    unknown = [key for key in item if key not in _KEYS]
    if unknown:
        near = closest(unknown[0], _KEYS)
        raise refuse(f"{place}.{unknown[0]}: unknown option; it takes {', '.join(_KEYS)}{near}")
    if ("expr" in item) == ("check" in item):
        raise refuse(f"{place}: a rule has either expr or check")
    name = item.get("name")
    if not isinstance(name, str) or not name:
        raise refuse(f"{place}.name: a rule has a name")
    on = item.get("on", True)
    if not isinstance(on, bool):
        raise refuse(f"{place}.on: takes true or false; got {on!r}")
    source = item["expr"] if "expr" in item else item["check"]
    ask = (_expression if "expr" in item else _function)(source, place, refuse)
    reason = str(item.get("reason") or f"The rule {name!r} refuses the reply")
    return Custom(name, ask, reason, str(item.get("hint", "")), is_async(source), source), on


def _function(function: Any, place: str, refuse: type[ValueError]) -> Callable[..., Any]:
    if not callable(function):
        raise refuse(f"{place}.check: takes a function of a reply and its context; got {function!r:.60}")
    return lambda reply, context, _: function(reply, context)


def _expression(source: Any, place: str, refuse: type[ValueError]) -> Callable[..., Any]:
    from trueup.expressions.language import compile_expression  # needed only for expressions

    try:
        expression = compile_expression(source)
    except ExpressionError as error:
        raise refuse(f"{place}.expr: {error}") from None
    strange = sorted(expression.names - set(FIELDS))
    if strange:
        near = closest(strange[0], FIELDS)
        raise refuse(f"{place}.expr: there is no {strange[0]!r} here; it may use {', '.join(FIELDS)}{near}")
    return lambda reply, context, metrics: bool(expression.evaluate(_record(reply, context, metrics)))


def _record(reply: Reply, context: Mapping[str, Any], metrics: Mapping[str, Any]) -> dict[str, Any]:
    """The names that an expression may use, with their values."""
    messages = [said for turn in reply.messages if turn.role == "assistant" and (said := visible(turn.text))]
    return {
        "text": "\n\n".join(messages),
        "length": metrics["total_text_length"],
        "messages": messages,
        "calls": [call.name for call in reply.calls],
        "first": context.get("first", True),
        "question": context.get("question") or "",
        "state": state_name(context.get("state")) or "",
        "data": context.get("data") or {},
        "has_tool_outputs": metrics["has_tool_outputs"],
    }
