"""Relevance: whether a reply is about the user's question. Takes both; returns a score, and a finding if it is too low.

The score compares the means of the word vectors in the package `wordllama` (the extra `relevance`). They cover English
only: other languages are not judged. Nothing is downloaded; the vectors are read from disk when a contract is created,
and kept.
"""

from collections.abc import Mapping
from functools import lru_cache
from math import exp
from pathlib import Path
from typing import Any

from trueup.checks.folding import words
from trueup.checks.quality import BadQuality, Scored, question_in, read_level, read_table, read_threshold, said
from trueup.verdict.catalogue import Level
from trueup.verdict.extras import install
from trueup.verdict.facts import Finding
from trueup.verdict.reply import Reply

BELOW = 0.5
_OPTIONS = ("below", "level")
_FEWEST = 5  # words that a question or a reply needs to be judged
_MOST_TEXT = 4_000  # characters of each that are used
MIDDLE, _WIDTH = 0.1, 0.07  # the similarity at which a score is 0.5, and how fast it changes there: bench/quality.py
_WEIGHTS, _TOKENS = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
_HINT = "Answer the question that the user asked."
_LEAST_ENGLISH = 0.1  # about half the words of English text are in the list below; fewer in lists and code
# Frequent short words of English that related languages lack: Dutch has “is” and “we”, Danish “have” and “by”.
_ENGLISH = frozenset(
    """the and of are were been it its this that these those with from not has you your yours our they their them she his what which who how why when where can could would should do does did than then there here about into after before
    some any each other only also very just because while please yes""".split()
)


class Relevance:
    """The relevance score of one contract."""

    __slots__ = ("below", "level")
    is_shadow = False

    def __init__(self, below: float = BELOW, level: Level = "warning") -> None:
        self.below = below
        self.level: Level = level

    @property
    def given(self) -> dict[str, Any]:
        """The options as a table."""
        return {"below": self.below, "level": self.level}

    @property
    def looks_at(self) -> frozenset[str]:
        """The names of the context values that the score depends on: the question may be in the history."""
        return frozenset({"question", "history"})

    def judge(self, reply: Reply, context: Mapping[str, Any]) -> Scored:
        """The score of a reply, and a finding if it is too low."""
        question, text = question_in(context)[:_MOST_TEXT], said(reply)[:_MOST_TEXT]
        abstained = _unjudged(question, text)
        if abstained:
            return Scored([], {"relevance": None, "relevance_abstained": abstained})
        value = round(1 / (1 + exp((MIDDLE - likeness(question, text)) / _WIDTH)), 4)
        metrics = {"relevance": value}
        if value >= self.below:
            return Scored([], metrics)
        message = f"The reply is not about the question: its relevance is {value:.2f}, below {self.below:g}"
        data = {"score": value, "below": self.below}
        return Scored([Finding("Q009", "$", message, None, data, _HINT, self.level)], metrics)


def _unjudged(question: str, text: str) -> str:
    """Why a pair is not judged; empty if it is."""
    if not question.strip():
        return "no question"
    asked, told = list(words(question)), list(words(text))
    if not is_english([*asked, *told]):
        return "not English"
    if min(len(asked), len(told)) < _FEWEST:
        return "too short"
    # Vectors of two languages cannot be compared, so both must be English.
    return "" if _ENGLISH.intersection(asked) and _ENGLISH.intersection(told) else "not English"


def is_english(found: list[str]) -> bool:
    """Whether words may be English: enough of them are short English words.

    >>> is_english("what time do you open".split()), is_english("a que hora abre la clinica".split())
    (True, False)
    """
    return sum(word in _ENGLISH for word in found) >= _LEAST_ENGLISH * len(found)


def likeness(question: str, text: str) -> float:
    """The similarity of two texts, from -1 to 1."""
    one, other = _mean(question), _mean(text)
    size = float((one @ one) * (other @ other)) ** 0.5
    return float(one @ other) / size if size else 0.0


def _mean(text: str) -> Any:
    """The mean of the vectors of a text's tokens."""
    tokenizer, vectors = load(str(folder()))
    whole = text.encode("utf-8", "replace").decode()  # the tokenizer does not accept lone surrogates
    ids = tokenizer.encode(whole, add_special_tokens=False).ids
    return vectors[ids].astype("float32").mean(0)


@lru_cache(maxsize=1)
def load(place: str) -> tuple[Any, Any]:
    """The tokenizer and the vectors, read once. The package's own loader is not used: it downloads missing files."""
    try:
        from safetensors import safe_open
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(Path(place) / _TOKENS))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        with safe_open(str(Path(place) / _WEIGHTS), framework="np") as opened:
            return tokenizer, opened.get_tensor("embedding.weight")
    except Exception as error:  # noqa: BLE001 - both libraries raise types of their own, or are missing
        raise BadQuality(
            f"relevance: the word vectors in {place} cannot be read: {error!s:.200}; {_install()}"
        ) from None


@lru_cache(maxsize=1)
def folder() -> Path:
    """The folder of the package with the vectors; the package itself is not imported."""
    from importlib.util import find_spec

    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(_install(), name="wordllama")
    found = Path(spec.origin).parent
    lacking = [name for name in (_WEIGHTS, _TOKENS) if not (found / name).is_file()]
    if lacking:
        raise ModuleNotFoundError(f"the installed wordllama has no {lacking[0]}; {_install()}", name="wordllama")
    return found


def _install() -> str:
    return f"relevance needs wordllama: {install('relevance')}"


def compile_relevance(spec: Any, language: str = "") -> Relevance:
    """The relevance score from a contract's `relevance:`; True means the defaults.

    >>> compile_relevance(True, "es")
    Traceback (most recent call last):
    trueup.checks.quality.BadQuality: relevance: works for English only, and the language of this contract is 'es'
    """
    if isinstance(spec, Relevance):
        return spec
    table = {} if spec is True else read_table("relevance", spec, _OPTIONS)
    if not speaks_english(language):
        raise BadQuality(f"relevance: works for English only, and the language of this contract is {language!r}")
    check = Relevance(read_threshold("relevance", table, BELOW), read_level("relevance", table))
    folder()
    return check


def speaks_english(language: str) -> bool:
    """Whether a contract's language is English; without one, it may be.

    >>> speaks_english("en-GB"), speaks_english(""), speaks_english("es"), speaks_english("enochian")
    (True, True, False, False)
    """
    return language.lower().replace("_", "-").partition("-")[0] in ("", "en", "eng", "english")
