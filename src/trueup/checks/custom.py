"""Custom reply rules: a Python function, or an expression in the contract, each with a reason and its own switch.

The `rules:` of a contract's `reply:` enter; rules that can be asked about a reply leave. A function or an expression that
fails refuses the reply and says so: a rule that cannot be answered is not kept.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from trueup.checks.machines import state_name
from trueup.checks.problems import closest
from trueup.checks.spoken import visible
from trueup.expressions.errors import ExpressionError
from trueup.verdict.reply import Reply

_KEYS = ("name", "expr", "check", "reason", "hint", "on")
_ASSISTANT = frozenset(("assistant", "ai", "model", "chatbot", "bot"))
FIELDS = ("text", "length", "messages", "calls", "first", "question", "state", "data", "has_tool_outputs")


class Custom(NamedTuple):
    """One rule: what it is called, how it is asked, why a reply is refused."""

    name: str
    ask: Callable[[Reply, Mapping[str, Any], Mapping[str, Any]], Any]
    reason: str
    hint: str = ""

    def refuses(self, reply: Reply, context: Mapping[str, Any], metrics: Mapping[str, Any]) -> str:
        """Why the reply is refused; empty when it is not."""
        try:
            answer = self.ask(reply, context, metrics)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a rule raises, the reply has a verdict
            return f"The rule {self.name!r} gave no answer: {type(error).__name__}: {error}"[:300]
        if answer is None or answer is True:
            return ""
        if isinstance(answer, str):
            return answer
        if answer is False or type(answer).__name__ in ("bool", "bool_"):  # numpy has its own true and false
            return "" if answer else self.reason
        _close(answer)
        return f"The rule {self.name!r} gave no answer: {type(answer).__name__}, and not true, false or a text"


def _close(answer: Any) -> None:
    """A coroutine is not run here; closed, it does not complain of that."""
    if hasattr(answer, "close") and hasattr(answer, "cr_frame"):
        answer.close()


def read_custom(
    source: Any, environ: Mapping[str, str], switch: Callable[[str, Any], bool], refuse: type[ValueError]
) -> tuple[Custom, ...]:
    """The rules that are switched on; `VALIDATE_<NAME>` of the environment has the last word."""
    if not isinstance(source, list | tuple):
        raise refuse(f"reply.rules: takes a list of rules; got {source!r:.60}")
    rules: dict[str, Custom] = {}
    for index, item in enumerate(source):
        place = f"reply.rules[{index}]"
        rule, on = _read(item, place, refuse)
        if rule.name in rules:
            raise refuse(f"{place}.name: two rules are named {rule.name!r}")
        variable = "VALIDATE_" + re.sub(r"\W+", "_", rule.name).upper()
        rules[rule.name] = rule
        if not (switch(variable, environ[variable]) if environ.get(variable, "").strip() else on):
            rules[rule.name] = rule._replace(name="")
    return tuple(rule for rule in rules.values() if rule.name)


def _read(item: Any, place: str, refuse: type[ValueError]) -> tuple[Custom, bool]:
    if callable(item):
        item = {"check": item, "name": getattr(item, "__name__", type(item).__name__)}
    if not isinstance(item, Mapping):
        raise refuse(f"{place}: a rule is a function or a table with {', '.join(_KEYS)}; got {item!r:.60}")
    unknown = [key for key in item if key not in _KEYS]
    if unknown:
        near = closest(unknown[0], _KEYS)
        raise refuse(f"{place}.{unknown[0]}: not known here; it takes {', '.join(_KEYS)}{near}")
    if ("expr" in item) == ("check" in item):
        raise refuse(f"{place}: a rule has either expr or check")
    name = item.get("name")
    if not isinstance(name, str) or not name:
        raise refuse(f"{place}.name: a rule has a name")
    on = item.get("on", True)
    if not isinstance(on, bool):
        raise refuse(f"{place}.on: takes true or false; got {on!r}")
    ask = _expression(item["expr"], place, refuse) if "expr" in item else _function(item["check"], place, refuse)
    reason = item.get("reason") or f"The rule {name!r} refuses the reply"
    return Custom(name, ask, str(reason), str(item.get("hint", ""))), on


def _function(function: Any, place: str, refuse: type[ValueError]) -> Callable[..., Any]:
    if not callable(function):
        raise refuse(f"{place}.check: takes a function of a reply and its context; got {function!r:.60}")
    return lambda reply, context, _: function(reply, context)


def _expression(source: Any, place: str, refuse: type[ValueError]) -> Callable[..., Any]:
    from trueup.expressions.language import compile_expression  # only contracts with such a rule need the language

    try:
        expression = compile_expression(source)
    except ExpressionError as error:
        raise refuse(f"{place}.expr: {error}") from None
    strange = sorted(expression.names - set(FIELDS))
    if strange:
        near = closest(strange[0], FIELDS)
        raise refuse(f"{place}.expr: there is no {strange[0]!r} here; it may speak of {', '.join(FIELDS)}{near}")
    return lambda reply, context, metrics: bool(expression.evaluate(_record(reply, context, metrics)))


def _record(reply: Reply, context: Mapping[str, Any], metrics: Mapping[str, Any]) -> dict[str, Any]:
    """What an expression may speak of."""
    messages = [said for turn in reply.messages if turn.role == "assistant" and (said := visible(turn.text))]
    history = context.get("history") or ()
    return {
        "text": "\n\n".join(messages),
        "length": metrics["total_text_length"],
        "messages": messages,
        "calls": [call.name for call in reply.calls],
        "first": not any(isinstance(m, Mapping) and m.get("role") in _ASSISTANT for m in history),
        "question": context.get("question") or "",
        "state": state_name(context.get("state")) or "",
        "data": context.get("data") or {},
        "has_tool_outputs": metrics["has_tool_outputs"],
    }
