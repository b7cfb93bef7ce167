"""Is a reply worth charging for: substance, explanation, the contract's own rules.

A reply and the conversation's context enter; at most one finding and the metrics leave. The rules have a fixed order and
the first that applies gives the reason: no message, empty, calls without text, whitespace, outputs without a follow-up,
too short, then custom rules. The same reply always gets the same answer; nothing is read but the arguments.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from trueup.checks.custom import Custom, read_custom
from trueup.checks.problems import closest
from trueup.checks.spoken import visible
from trueup.verdict.facts import Finding, finding
from trueup.verdict.reply import Reply, Turn

MIN_TEXT = 10
# What nobody sees: white space, control and format characters, fillers, variation selectors, tags.
_UNSEEN = (
    (0x00, 0x20), (0x7F, 0xA0), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x1680, 0x1680),
    (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F), (0x2800, 0x2800),
    (0x3000, 0x3000), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE007F), (0xE0100, 0xE01EF),
)  # fmt: skip
_BLANK = "".join(chr(point) for start, stop in _UNSEEN for point in range(start, stop + 1))
_SWITCHES = ("no_message", "no_empty", "no_tool_only", "no_whitespace", "tool_explanation", "min_text")
_ENVIRONMENT = {f"VALIDATE_{name.upper()}": name for name in _SWITCHES}
LENGTH_VARIABLE = "MIN_VALIDATION_TEXT_LENGTH"
_OPTIONS = (*_SWITCHES, "min_explanation", "lenient", "rules")
_YES, _NO = frozenset(("true", "1", "yes", "on")), frozenset(("false", "0", "no", "off"))

_HINTS = {
    "Q001": "Answer the user.",
    "Q002": "Answer the user in words.",
    "Q003": "Say in words what you do and what came of it.",
    "Q004": "Answer the user in words.",
    "Q005": "After the last tool output, tell the user what it means.",
    "Q006": "Give a fuller answer.",
}


class BadReplyRules(ValueError):
    """The reply rules of a contract, or a variable of the environment, are not written as they should be."""


class Settings(NamedTuple):
    """Which rules are on, and their thresholds."""

    off: frozenset[str] = frozenset()
    min_text: int = MIN_TEXT
    min_explanation: int = MIN_TEXT
    lenient: bool = False
    custom: tuple[Custom, ...] = ()


class ReplyRules:
    """The reply rules of one contract."""

    __slots__ = ("settings",)

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def check(self, reply: Reply, context: Mapping[str, Any]) -> tuple[list[Finding], dict[str, Any]]:
        """The first rule that a reply breaks, as a finding, and the metrics of the reply.

        >>> found, metrics = compile_reply(True, {}).check(Reply(text="Yes"), {})
        >>> found[0].message, metrics["total_text_length"]
        ('Insufficient text (3 chars)', 3)
        """
        turns = reply.messages
        if reply.refusal and not reply.text and reply.turns is None:  # what a model refuses with is what it says
            turns = (Turn(text=reply.refusal, calls=len(reply.calls)),)
        metrics = measure(turns)
        broken = self._broken(turns, metrics)
        if broken is None:
            for rule in self.settings.custom:
                reason = rule.refuses(reply, context, metrics)
                if reason:
                    data = {"rule": rule.name, "reason": reason}
                    return [finding("Q007", "$", reason, None, data, rule.hint)], metrics
            return [], metrics
        code, rule_name, reason = broken
        data = {"rule": rule_name, "reason": reason}
        return [finding(code, "$", reason, None, data, _HINTS[code])], metrics

    def _broken(self, turns: tuple[Turn, ...], metrics: Mapping[str, Any]) -> tuple[str, str, str] | None:
        """The code, rule and reason of the first rule that is broken; one that is off is passed over."""
        off, length = self.settings.off, metrics["total_text_length"]
        if not metrics["assistant_messages"]:
            return None if "no_message" in off else ("Q001", "no_message", "No assistant message")
        if not length:
            acts = any(turn.calls or turn.outputs for turn in turns)
            blank = any(visible(turn.text) for turn in turns)
            if not acts and not blank and "no_empty" not in off:
                return "Q002", "no_empty", "Empty response"
            if acts and "no_tool_only" not in off:
                return "Q003", "no_tool_only", "Tool calls without text"
            if blank and "no_whitespace" not in off:
                return "Q004", "no_whitespace", "Whitespace-only content"
        if metrics["has_tool_outputs"] and "tool_explanation" not in off:
            if len(explanation(turns)) >= (1 if self.settings.lenient else self.settings.min_explanation):
                return None
            return "Q005", "tool_explanation", "Tool calls without text"
        if length < self.settings.min_text and "min_text" not in off:
            return "Q006", "min_text", f"Insufficient text ({length} chars)"
        return None


def trimmed(text: str) -> str:
    """A text without the whitespace and the invisible characters around it.

    >>> trimmed(" \\u200b hi \\ufeff")
    'hi'
    """
    text = text.strip()
    return text if not text or (" " < text[0] < "\x7f" and " " < text[-1] < "\x7f") else text.strip(_BLANK)


def measure(turns: tuple[Turn, ...]) -> dict[str, Any]:
    """The metrics of a reply: counted over its messages, texts trimmed.

    >>> measure((Turn(text="Let me help"), Turn(text="with that.")))["total_text_length"]
    21
    """
    messages = empty = length = unexplained = 0
    outputs = explained = False  # seen from the end: whether something was said after a call
    for turn in reversed(turns):
        outputs = outputs or turn.outputs > 0
        if turn.role != "assistant":
            continue
        messages += 1
        seen = visible(turn.text)
        said = len(trimmed(seen))
        length += said
        explained = explained or said > 0
        if not explained:
            unexplained += turn.calls
        if not seen and not turn.calls and not turn.outputs:
            empty += 1
    return {
        "assistant_messages": messages,
        "total_text_length": length,
        "has_tool_outputs": outputs,
        "empty_messages": empty,
        "tool_calls_without_text": unexplained,
    }


def explanation(turns: tuple[Turn, ...]) -> str:
    """What was said after the last tool output, trimmed.

    >>> explanation((Turn(text="I look.", calls=1), Turn("tool", outputs=1), Turn(text="It rains. ")))
    'It rains.'
    """
    said: list[str] = []
    for turn in reversed(turns):
        if turn.outputs:
            said.append(visible(turn.after))
            break
        if turn.role == "assistant":
            said.append(visible(turn.text))
    return "".join(map(trimmed, reversed(said)))


def compile_reply(spec: Any, environ: Mapping[str, str]) -> ReplyRules:
    """Reply rules from a contract's `reply:` (True, False or a table) and the environment, which has the last word.

    >>> compile_reply({"min_text": 20}, {"MIN_VALIDATION_TEXT_LENGTH": "15"}).settings.min_text
    15
    """
    if isinstance(spec, ReplyRules):
        return spec
    if isinstance(spec, bool):
        settings = Settings() if spec else Settings(off=frozenset(_SWITCHES))
    elif isinstance(spec, Mapping):
        settings = _from_table(spec, environ)
    else:
        raise BadReplyRules(f"reply: takes true, false or a table of rules; got {spec!r:.60}")
    off = set(settings.off)
    for variable, rule in _ENVIRONMENT.items():
        if environ.get(variable, "").strip():
            (off.discard if _switch(variable, environ[variable]) else off.add)(rule)
    settings = settings._replace(off=frozenset(off))
    if environ.get(LENGTH_VARIABLE, "").strip():
        least = _length(LENGTH_VARIABLE, environ[LENGTH_VARIABLE])
        settings = settings._replace(min_text=least, min_explanation=least)
    return ReplyRules(settings)


def _from_table(spec: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
    unknown = [key for key in spec if key not in _OPTIONS]
    if unknown:
        near = closest(unknown[0], _OPTIONS)
        raise BadReplyRules(f"reply.{unknown[0]}: not known here; it takes {', '.join(_OPTIONS)}{near}")
    off = {name for name in _SWITCHES if spec.get(name) is False}
    lenient = spec.get("lenient", False) or spec.get("tool_explanation") == "lenient"
    for name in (*_SWITCHES, "lenient"):
        value = spec.get(name, True)
        fine = isinstance(value, bool) or name == "min_text" or (name == "tool_explanation" and value == "lenient")
        if not fine:
            raise BadReplyRules(f"reply.{name}: takes true or false; got {value!r}")
    least = spec.get("min_text", True)
    least = MIN_TEXT if isinstance(least, bool) else _length("reply.min_text", least)
    after = _length("reply.min_explanation", spec.get("min_explanation", least))
    custom = read_custom(spec.get("rules", ()), environ, _switch, BadReplyRules)
    return Settings(frozenset(off), least, after, bool(lenient), custom)


def _switch(place: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word not in _YES | _NO:
        raise BadReplyRules(f"{place}: takes true or false; got {value!r}")
    return word in _YES


def _length(place: str, value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise BadReplyRules(f"{place}: takes a number of characters from 0 on; got {value!r}")
    return number
