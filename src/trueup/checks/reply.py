"""Is a reply worth charging for? Checks its substance, its explanation and the contract's own rules.

Takes a reply and the conversation's context; returns at most one finding, the metrics, and why it passes. The rules run
in a fixed order, and the first broken one becomes the finding: no message, empty, calls without text, whitespace,
outputs without a follow-up, too short, then custom rules. It reads nothing else, except the environment if the contract
has `environment: check`.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from trueup.checks.conversation import visible
from trueup.checks.custom import Custom, read_custom, switches_of
from trueup.checks.problems import closest
from trueup.checks.steps import Steps, refuse, run
from trueup.verdict.facts import Finding, finding
from trueup.verdict.reply import Reply, Turn

MIN_TEXT = 10
# Invisible characters: whitespace, control and format characters, fillers, variation selectors, tags.
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
_OPTIONS = (*_SWITCHES, "min_explanation", "lenient", "rules", "environment")
_READ = ("load", "check")  # when the environment is read
_YES, _NO = frozenset(("true", "1", "yes", "on")), frozenset(("false", "0", "no", "off"))

_HINTS = {
    "Q001": "Answer the user.",
    "Q002": "Answer the user in words.",
    "Q003": "Say in words what you do and what the result is.",
    "Q004": "Answer the user in words.",
    "Q005": "After the last tool output, tell the user what it means.",
    "Q006": "Give a fuller answer.",
}


class BadReplyRules(ValueError):
    """The reply rules of a contract, or an environment variable, cannot be read."""


class ReplySettings(NamedTuple):
    """Which rules are on, and their thresholds."""

    off: frozenset[str] = frozenset()
    min_text: int = MIN_TEXT
    min_explanation: int = MIN_TEXT
    lenient: bool = False
    custom: tuple[Custom, ...] = ()

    @property
    def least(self) -> int:
        """How many characters after a tool's output count as an explanation."""
        return 1 if self.lenient else self.min_explanation


class Worth(msgspec.Struct, frozen=True):
    """The answer of the rules about a reply: at most one finding, the metrics, and the reason why it passes."""

    findings: list[Finding]
    metrics: dict[str, Any]
    reason: str = ""


class ReplyRules:
    """The reply rules of one contract; `settings` are the ones in force."""

    __slots__ = ("_environment", "_read", "_settings")

    def __init__(self, settings: ReplySettings, environment: "Environment | None" = None) -> None:
        self._settings = settings
        self._environment = environment
        self._read = None if environment is None else environment.read()

    @property
    def settings(self) -> ReplySettings:
        """The rules that are on, and their thresholds; with `environment: check`, the environment's current ones."""
        if self._environment is not None and (read := self._environment.read()) != self._read:
            self._settings = self._environment.settings()
            self._read = read
        return self._settings

    @property
    def asks(self) -> bool:
        """Whether there are custom rules, or the environment can switch some on."""
        return self._environment is not None or bool(self._settings.custom)

    @property
    def awaits(self) -> bool:
        """Whether a rule that is on is asynchronous; no rule runs while the environment cannot be read."""
        try:
            return any(rule.awaits for rule in self.settings.custom)
        except BadReplyRules:
            return False

    def check(self, reply: Reply, context: Mapping[str, Any]) -> tuple[list[Finding], dict[str, Any]]:
        """The first rule that a reply breaks, as a finding, and the metrics of the reply.

        >>> found, metrics = compile_reply(True, {}).check(Reply(text="Yes"), {})
        >>> found[0].message, metrics["total_text_length"]
        ('Insufficient text (3 chars)', 3)
        """
        worth = run(self.judge(reply, context), refuse)
        return worth.findings, worth.metrics

    def judge(self, reply: Reply, context: Mapping[str, Any]) -> Steps[Worth]:
        """The answer of all rules, in steps: custom rules may have to wait."""
        worth = self.worth(reply)
        if worth.findings:
            return worth
        metrics, reason = worth.metrics, worth.reason
        for rule in self._settings.custom:
            opinion = yield from rule.opinion(reply, context, metrics)
            metrics |= opinion.metrics
            if opinion.refused:
                data = {"rule": rule.name, "reason": opinion.refused}
                return Worth([finding("Q007", "$", opinion.refused, None, data, rule.hint)], metrics)
            reason = opinion.passed or reason
        return Worth([], metrics, reason)

    def worth(self, reply: Reply) -> Worth:
        """The answer of the fixed rules, without custom rules."""
        turns = reply.messages
        if reply.refusal and not reply.text and reply.turns is None:  # a refusal counts as the model's text
            turns = (Turn(text=reply.refusal, calls=len(reply.calls)),)
        try:
            settings = self.settings
        except BadReplyRules as error:
            message = f"The reply rules cannot be read from the environment: {error}"
            data = {"check": "reply", "error": type(error).__name__}
            return Worth([finding("N022", "$", message, None, data)], measure(turns))
        metrics = measure(turns, settings.least)
        broken = _broken(settings, turns, metrics)
        if broken is None:
            return Worth([], metrics, _passed(settings, metrics))
        code, rule, why = broken
        return Worth([finding(code, "$", why, None, {"rule": rule, "reason": why}, _HINTS[code])], metrics)


def _broken(
    settings: ReplySettings, turns: tuple[Turn, ...], metrics: Mapping[str, Any]
) -> tuple[str, str, str] | None:
    """The code, name and reason of the first rule that is broken and not switched off."""
    off, length = settings.off, metrics["total_text_length"]
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
        if len(explanation(turns)) >= settings.least:
            return None
        return "Q005", "tool_explanation", "Tool calls without text"
    if length < settings.min_text and "min_text" not in off:
        return "Q006", "min_text", f"Insufficient text ({length} chars)"
    return None


def _passed(settings: ReplySettings, metrics: Mapping[str, Any]) -> str:
    """Why a reply passes when it breaks none of the fixed rules."""
    if metrics["has_tool_outputs"] and "tool_explanation" not in settings.off:
        return "Tool outputs with explanation"
    if metrics["total_text_length"] >= settings.min_text and "min_text" not in settings.off:
        return "Sufficient text content"
    return "No rule refuses the reply"


def trimmed(text: str) -> str:
    """A text without the whitespace and the invisible characters around it.

    >>> trimmed(" \\u200b hi \\ufeff")
    'hi'
    """
    text = text.strip()
    return text if not text or (" " < text[0] < "\x7f" and " " < text[-1] < "\x7f") else text.strip(_BLANK)


def measure(turns: tuple[Turn, ...], least: int = MIN_TEXT) -> dict[str, Any]:
    """The metrics of a reply, counted over its messages with texts trimmed; `least` characters explain a tool's output.

    >>> measure((Turn(text="Let me help"), Turn(text="with that.")))["total_text_length"]
    21
    """
    messages = empty = 0
    outputs = acts = False
    lengths: list[int] = []
    for turn in turns:
        if turn.outputs:
            outputs = acts = True
        elif turn.calls:
            acts = True
        if turn.role != "assistant":
            lengths.append(0)
            continue
        messages += 1
        seen = visible(turn.text)
        lengths.append(len(trimmed(seen)))
        if not seen and not turn.calls and not turn.outputs:
            empty += 1
    return {
        "assistant_messages": messages,
        "total_text_length": sum(lengths),
        "has_tool_outputs": outputs,
        "empty_messages": empty,
        "tool_calls_without_text": unexplained(turns, lengths, max(1, least)) if acts else 0,
    }


def unexplained(turns: tuple[Turn, ...], lengths: list[int], least: int) -> int:
    """How many calls have no explanation; `lengths` are the characters of each message.

    A call with an output needs `least` characters after the output; a call without an output needs some text next to
    it.

    >>> unexplained((Turn(text="I look it up.", calls=1), Turn("tool", outputs=1)), [13, 0], 10)
    1
    >>> unexplained((Turn(text="I look it up.", calls=1),), [13], 10)
    0
    """
    count = after = 0
    for turn, length in zip(reversed(turns), reversed(lengths), strict=True):
        if turn.outputs and after + len(trimmed(visible(turn.after))) < least:
            count += turn.outputs
        after += length
    return count + _unexplained_open(turns, lengths)


def _unexplained_open(turns: tuple[Turn, ...], lengths: list[int]) -> int:
    """How many calls without an output have no text in or after the stretch of messages since the previous output."""
    last_said = max((at for at, length in enumerate(lengths) if length), default=-1)
    waiting: deque[tuple[int, bool]] = deque()  # per message: its calls without an output, and whether it has text
    since = 0  # the first message after the last output
    for at, turn in enumerate(turns):
        if turn.calls:
            waiting.append((turn.calls, last_said >= since))
        outputs = turn.outputs
        while outputs and waiting:
            calls, beside = waiting.popleft()
            if calls > outputs:
                waiting.appendleft((calls - outputs, beside))
            outputs -= min(outputs, calls)
        since = at + 1 if turn.outputs else since
    return sum(calls for calls, beside in waiting if not beside)


def explanation(turns: tuple[Turn, ...]) -> str:
    """The text after the last tool output, trimmed.

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


class Environment(NamedTuple):
    """For contracts that read their switches with each check: the `reply:` table, the variables and their names."""

    spec: Mapping[str, Any]
    variables: Mapping[str, str]
    names: tuple[str, ...]

    def read(self) -> list[str | None]:
        """The current values of the variables."""
        return list(map(self.variables.get, self.names))

    def settings(self) -> ReplySettings:
        """The settings for these values."""
        return _compiled(self.spec, self.variables)


def compile_reply(spec: Any, environ: Mapping[str, str]) -> ReplyRules:
    """Reply rules from a contract's `reply:` (True, False or a table) and the environment, which overrides the
    contract.

    >>> compile_reply({"min_text": 20}, {"MIN_VALIDATION_TEXT_LENGTH": "15"}).settings.min_text
    15
    """
    if isinstance(spec, ReplyRules):
        return spec
    if not isinstance(spec, bool | Mapping):
        raise BadReplyRules(f"reply: takes true, false or a table of rules; got {spec!r:.60}")
    settings = _compiled(spec, environ)
    if isinstance(spec, Mapping) and spec.get("environment") == "check":
        names = (LENGTH_VARIABLE, *_ENVIRONMENT, *switches_of(spec.get("rules", ())))
        return ReplyRules(settings, Environment(spec, environ, names))
    return ReplyRules(settings)


def _compiled(spec: bool | Mapping[str, Any], environ: Mapping[str, str]) -> ReplySettings:  # noqa: FBT001 - the value of `reply:`
    if isinstance(spec, bool):
        settings = ReplySettings() if spec else ReplySettings(off=frozenset(_SWITCHES))
    else:
        settings = _from_table(spec, environ)
    off = set(settings.off)
    for variable, rule in _ENVIRONMENT.items():
        if environ.get(variable, "").strip():
            (off.discard if _switch(variable, environ[variable]) else off.add)(rule)
    settings = settings._replace(off=frozenset(off))
    if environ.get(LENGTH_VARIABLE, "").strip():
        least = _length(LENGTH_VARIABLE, environ[LENGTH_VARIABLE])
        settings = settings._replace(min_text=least, min_explanation=least)
    return settings


def _from_table(spec: Mapping[str, Any], environ: Mapping[str, str]) -> ReplySettings:
    unknown = [key for key in spec if key not in _OPTIONS]
    if unknown:
        near = closest(unknown[0], _OPTIONS)
        raise BadReplyRules(f"reply.{unknown[0]}: unknown option; it takes {', '.join(_OPTIONS)}{near}")
    if spec.get("environment", "load") not in _READ:
        raise BadReplyRules(f"reply.environment: takes {' or '.join(_READ)}; got {spec['environment']!r}")
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
    return ReplySettings(frozenset(off), least, after, bool(lenient), custom)


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
