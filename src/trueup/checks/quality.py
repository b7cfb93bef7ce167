"""Learned quality: takes a reply; returns its score as a metric, and a finding if the score is too low.

The options of a contract's `quality:` are read here, with the model already loaded. A model that has not passed its
evaluation gives only the metric, and so does one with `shadow: true`. If the model abstains, the metric is None and
says why.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from trueup.checks.conversation import visible
from trueup.checks.machines import state_name
from trueup.checks.problems import takes
from trueup.checks.scoring import BadModel, Model, Scorer, read_model
from trueup.verdict.catalogue import Level
from trueup.verdict.facts import Finding
from trueup.verdict.reply import Reply

BELOW = 0.7
_OPTIONS = ("model", "below", "level", "shadow")
LEVELS: tuple[Level, ...] = ("warning", "error")
_HINT = "Answer the user's last message, fully and to the point."


class BadQuality(ValueError):
    """The `quality:` or `relevance:` of a contract cannot be used; the message begins with the place."""


class Scored(NamedTuple):
    """The part of a verdict that a score adds."""

    findings: list[Finding]
    metrics: dict[str, Any]


class Quality:
    """The learned score of one contract; with `is_shadow`, it gives no finding."""

    __slots__ = ("_shadow", "below", "level", "scorer")

    def __init__(self, model: Model, below: float = BELOW, level: Level = "warning", *, shadow: bool = False) -> None:
        self.scorer = Scorer(model)
        self.below = below
        self.level: Level = level
        self._shadow = shadow

    @property
    def is_shadow(self) -> bool:
        """Whether the score is only recorded."""
        return self._shadow or not self.scorer.model.evaluation.passed

    @property
    def given(self) -> dict[str, Any]:
        """The options as a table that needs no file, to transport the contract and to compute its fingerprint."""
        shadow = {"shadow": True} if self._shadow else {}
        return {"model": self.scorer.model, "below": self.below, "level": self.level, **shadow}

    @property
    def looks_at(self) -> frozenset[str]:
        """The names of the context values that the score depends on."""
        return frozenset({"state"} if self.scorer.model.by_state else ())

    def judge(self, reply: Reply, context: Mapping[str, Any]) -> Scored:
        """The score of a reply, and a finding if the score counts and is too low."""
        text, state = said(reply), state_name(context.get("state")) or ""
        value, abstained = self.scorer.score(text, state)
        if value is None:
            return Scored([], {"quality": None, "quality_abstained": abstained})
        metrics = {"quality": value}
        if value >= self.below or self.is_shadow:
            return Scored([], metrics)
        because = self.scorer.against(text, state)
        quoted = ", ".join(f"“{words}”" for words in because)
        verb = "speaks" if len(because) == 1 else "speak"
        message = f"The learned quality is {value:.2f}, below {self.below:g}{f': {quoted} {verb} against it' if quoted else ''}"
        data = {"score": value, "below": self.below, "because": because}
        return Scored([Finding("Q008", "$", message, None, data, _HINT, self.level)], metrics)


def said(reply: Reply) -> str:
    """The part of a reply that a user sees: the text of its assistant messages, without reasoning.

    >>> said(Reply(text="<think>Hm.</think>Yes."))
    'Yes.'
    """
    if reply.turns is None:
        return visible(reply.text or reply.refusal)
    return "\n".join(visible(turn.text) for turn in reply.turns if turn.role == "assistant" and turn.text)


def question_in(context: Mapping[str, Any]) -> str:
    """The user's question in a context; empty if there is none."""
    question = context.get("question")
    return question if isinstance(question, str) else ""


def compile_quality(spec: Any) -> Quality:
    """The learned score from a contract's `quality:`; its model is data or already loaded.

    >>> compile_quality({"below": 0.5})
    Traceback (most recent call last):
    trueup.checks.quality.BadQuality: quality: has no model; name the file that `trueup learn` wrote
    """
    if isinstance(spec, Quality):
        return spec
    table = read_table("quality", spec, _OPTIONS)
    if table.get("model") is None:
        raise BadQuality("quality: has no model; name the file that `trueup learn` wrote")
    shadow = table.get("shadow", False)
    if not isinstance(shadow, bool):
        raise BadQuality(f"quality.shadow: takes true or false; got {shadow!r:.60}")
    below, level = read_threshold("quality", table, BELOW), read_level("quality", table)
    try:
        model = read_model(table["model"])
    except BadModel as error:
        raise BadQuality(f"quality.model: {error}") from None
    return Quality(model, below, level, shadow=shadow)


def read_table(name: str, spec: Any, options: tuple[str, ...]) -> Mapping[str, Any]:
    """The table of an option, with known keys only."""
    if not isinstance(spec, Mapping):
        raise BadQuality(f"{name}: takes a table with {', '.join(options)}; got {spec!r:.60}")
    unknown = [key for key in spec if key not in options]
    if unknown:
        raise BadQuality(f"{name}.{unknown[0]}: unknown option; {takes(spec, options)}")
    return spec


def read_threshold(name: str, table: Mapping[str, Any], default: float) -> float:
    """The `below` of a table, between 0 and 1."""
    below = table.get("below", default)
    if isinstance(below, bool) or not isinstance(below, int | float) or not 0 <= below <= 1:
        raise BadQuality(f"{name}.below: takes a number between 0 and 1; got {below!r:.60}")
    return float(below)


def read_level(name: str, table: Mapping[str, Any]) -> Level:
    """The `level` of a table; warning by default."""
    level = table.get("level", "warning")
    if level not in LEVELS:
        raise BadQuality(f"{name}.level: takes {' or '.join(LEVELS)}; got {level!r:.60}")
    return LEVELS[LEVELS.index(level)]
