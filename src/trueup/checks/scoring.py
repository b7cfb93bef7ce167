"""A learned score: takes a text; returns the probability that it is a good reply, or why there is no score.

The score is a logistic regression over hashed words and pairs of words, without case, accents or the values of digits.
A model is data: numbers and facts about its training, read from JSON and refused if anything in it does not fit.
Nothing is read from a file here, and the same text always gets the same score.
"""

from collections.abc import Iterable
from itertools import accumulate
from math import exp, fsum, isfinite, sqrt
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from trueup.checks.folding import Folded, apart
from trueup.verdict.patterns import lazy_regex

LEAST_LABELS = 80
MOST_BYTES = 300_000
MOST_BUCKETS = 60_000
_MOST_TEXT = 50_000  # characters that are used
_LARGEST = 1e6
_TOKEN = lazy_regex(rb"[a-zA-Z0-9_]+|[?!.,:]")  # the bytes of a folded text
_DIGITS = bytes(ord("0") if chr(byte).isdigit() and byte < 128 else byte for byte in range(256))
_TOLD = lazy_regex(r"[a-zA-Z]")  # a part of a reply that is quoted has some letters
_MARKS = frozenset({b"?", b"!", b".", b",", b":"})


class BadModel(ValueError):
    """The given model is not valid."""


class HeldOutScore(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How well a judge finds the bad replies among the held-out labels."""

    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    wrong: int = 0


class Evaluation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model's results on the latest labels, which it was not trained on, next to the rules of its contract."""

    passed: bool = False
    """Whether the model significantly reduces the mistakes of the rules, and its scores are calibrated."""
    labels: int = 0
    below: float = 0.7
    rules: HeldOutScore = HeldOutScore()
    model: HeldOutScore = HeldOutScore()
    together: HeldOutScore = HeldOutScore()
    better: int = 0
    """Replies that the rules alone judge wrongly, and rules and model together judge correctly."""
    worse: int = 0
    """The reverse."""
    p: float | None = None
    """The exact McNemar test of these two, by conversation."""
    calibration_error: float | None = None
    calibration_chance: float | None = None
    """The error that even perfectly calibrated scores exceed in one of twenty samples of this small size."""
    auc: float | None = None
    abstained: int = 0


class Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Facts about the training of a model."""

    labels: int = 0
    good: int = 0
    bad: int = 0
    authors: int = 0
    conversations: int = 0
    since: str = ""
    until: str = ""
    seed: int = 0
    penalty: float = 0.0
    trueup: str = ""
    contract: str = ""
    """The fingerprint of the contract whose replies were labelled."""
    language: str = ""


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model as in its file: weights of buckets, how they become a probability, and how it was made."""

    format: str
    steps: list[int]
    """The buckets that have a weight, in rising order, each as the distance from the previous one."""
    weights: list[int]
    """Their weights, in units of `scale`."""
    scale: float
    bias: float
    slope: float
    shift: float
    unfamiliar: float
    """The share of unknown words above which a text gets no score."""
    bits: int = 20
    by_state: bool = False
    """Whether words count separately for each state of the conversation."""
    facts: Facts = Facts()
    evaluation: Evaluation = Evaluation()


FORMAT = "trueup-quality-1"


class Score(NamedTuple):
    """The probability that a reply is good, or None and the reason."""

    value: float | None
    abstained: str = ""


def read_model(source: Any) -> Model:
    """The model from JSON text, from its data or from another model; a BadModel says what is wrong with it.

    >>> read_model({"format": "trueup-quality-1", "steps": [3]})
    Traceback (most recent call last):
    trueup.checks.scoring.BadModel: not a quality model: Object missing required field `weights`
    """
    if isinstance(source, Model):
        return source
    try:
        if isinstance(source, bytes | str):
            if len(source) > MOST_BYTES:
                raise BadModel(f"not a quality model: it is larger than {MOST_BYTES:,} bytes")
            model = msgspec.json.decode(source, type=Model)
        else:
            model = msgspec.convert(source, Model)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadModel(f"not a quality model: {error}") from None
    problem = _problem(model)
    if problem:
        raise BadModel(f"not a quality model: {problem}")
    return model


def _problem(model: Model) -> str:
    """The first problem with the numbers of a model; empty if there is none."""
    if model.format != FORMAT:
        return f"its format is {model.format!r:.40}, and this version reads {FORMAT!r}"
    if not 8 <= model.bits <= 24:
        return "bits is not between 8 and 24"
    if len(model.steps) != len(model.weights):
        return f"{len(model.steps)} steps do not go with {len(model.weights)} weights"
    if len(model.steps) > MOST_BUCKETS:
        return f"more than {MOST_BUCKETS:,} weights"
    if model.steps and (model.steps[0] < 0 or min(model.steps[1:], default=1) < 1):
        return "its steps do not rise"
    if sum(model.steps) >= 1 << model.bits:
        return f"a bucket is outside of {model.bits} bits"
    if max(map(abs, model.weights), default=0) > _LARGEST:
        return "a weight is too large"
    numbers = {name: getattr(model, name) for name in ("scale", "bias", "slope", "shift")}
    for name, value in numbers.items():
        if not isfinite(value) or abs(value) > _LARGEST:
            return f"{name} is not a usable number: {value!r}"
    if model.slope < 0:
        return f"slope must be 0 or more; got {model.slope!r}"
    if not 0 <= model.unfamiliar <= 1:
        return f"unfamiliar must be between 0 and 1; got {model.unfamiliar!r}"
    facts = model.facts
    if min(facts.labels, facts.good, facts.bad) < 0 or facts.good + facts.bad > facts.labels:
        return "it has more good and bad labels than labels"  # without the numbers: they may be too long to write
    return ""


class Grams(NamedTuple):
    """The features of a reply for a model: hashes of everything, and the hashes of its different words."""

    hashes: frozenset[int]
    words: frozenset[int]


def grams(text: str, state: str = "") -> Grams:
    """The hashes of a reply: its words, signs and pairs of neighbours, the same again for its state, and its length.

    >>> grams("Booked at 9:30").hashes == grams("BOOKED at 8:15").hashes
    True
    """
    tokens = _tokens(text)
    words = frozenset(map(crc32, set(tokens).difference(_MARKS)))
    return Grams(frozenset(map(crc32, _named(tokens, state))), words)


def _tokens(text: str) -> list[bytes]:
    """The words and signs of a text, folded, with every digit as a zero."""
    return _TOKEN.findall(Folded(apart(text[:_MOST_TEXT])).data.translate(_DIGITS))


def _named(tokens: list[bytes], state: str) -> list[bytes]:
    """The names of everything to hash."""
    pairs = [before + b" " + after for before, after in zip([b"^", *tokens], [*tokens, b"$"], strict=True)]
    named = [*tokens, *pairs, b"#length %d" % len(tokens).bit_length()]
    if state:
        prefix = state.encode("utf-8", "replace") + b"|"
        named += [prefix + name for name in named]
    return named


class Scorer:
    """A model that is ready to score texts."""

    __slots__ = ("_bias", "_mask", "_table", "model")

    def __init__(self, model: Model) -> None:
        self.model = model
        self._mask = (1 << model.bits) - 1
        self._bias = model.bias
        self._table = dict(zip(accumulate(model.steps), map(model.scale.__mul__, model.weights), strict=True))

    def score(self, text: str, state: str = "") -> Score:
        """How likely a reply is good; a text without words or with too many unknown ones gets no score."""
        if self.model.facts.labels < LEAST_LABELS:
            return Score(None, f"fewer than {LEAST_LABELS} labels")
        seen = self.grams(text, state)
        if not seen.words:
            return Score(None, "no words")
        if self.unknown(seen) > self.model.unfamiliar:
            return Score(None, "unfamiliar text")
        return Score(round(self.probability(self.margin(seen)), 4))

    def grams(self, text: str, state: str) -> Grams:
        """The features of a reply; with its state only if the model learned from several states."""
        return grams(text, state if self.model.by_state else "")

    def unknown(self, seen: Grams) -> float:
        """The share of a text's different words that were in no label."""
        mask, table = self._mask, self._table
        return sum(word & mask not in table for word in seen.words) / max(1, len(seen.words))

    def margin(self, seen: Grams) -> float:
        """The sum of the weights, on one scale for texts of any length; positive for a reply that is probably good."""
        buckets = map(self._mask.__and__, seen.hashes)
        # fsum: the order of a set's members must not change the sum
        return fsum((self._bias, *filter(None, map(self._table.get, buckets)))) / sqrt(len(seen.hashes) + 1)

    def probability(self, margin: float) -> float:
        """The probability for a margin, by the calibration of the model."""
        z = self.model.slope * margin + self.model.shift
        return 1 / (1 + exp(-z)) if z > -700 else 0.0

    def against(self, text: str, state: str = "", most: int = 3) -> list[str]:
        """The words and pairs of words that count most against a reply."""
        state = state if self.model.by_state else ""
        prefix = f"{state}|" if state else ""
        weights: dict[str, float] = {}
        for name in _named(_tokens(text), state):
            weight = self._table.get(crc32(name) & self._mask, 0.0)
            plain = name.decode("utf-8", "replace").removeprefix(prefix).strip("^$ ")
            if weight < 0 and len(_TOLD.findall(plain)) > 2 and plain[0] != "#":
                weights[plain] = weights.get(plain, 0.0) + weight
        return sorted(weights, key=lambda plain: (weights[plain], plain))[:most]


def buckets_of(hashes: Iterable[int], bits: int) -> frozenset[int]:
    """The buckets that hashes fall into."""
    return frozenset(map(((1 << bits) - 1).__and__, hashes))
