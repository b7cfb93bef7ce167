"""Lint of scores: a model that is only recorded, relevance in an unsupported language, a missing extra."""

from collections.abc import Iterator
from typing import Any

from trueup.checks.quality import BadQuality, compile_quality
from trueup.contract.files.extends import Origins
from trueup.contract.files.faults import Fault, fault
from trueup.contract.lint.reply import placed


def lint_quality(spec: Any, marks: Origins) -> Iterator[Fault]:
    """The faults in the learned score of a contract; a model that cannot be read is reported elsewhere."""
    if not isinstance(spec, dict) or spec.get("model", spec) is None:
        return
    try:
        check = compile_quality(spec)
    except BadQuality as error:
        path, message = placed(str(error), ("quality",))
        yield fault("N006", marks.value(path), path, message)
        return
    evaluation = check.scorer.model.evaluation
    if not evaluation.passed:
        message = "the model has not passed its evaluation, so its score is only recorded"
        hint = "Collect more labels and run `trueup learn` again."
        yield fault("N029", marks.value(("quality", "model")), ("quality", "model"), message, hint)


def lint_relevance(spec: Any, language: Any, marks: Origins) -> Iterator[Fault]:
    """The faults in the relevance score of a contract."""
    if spec is None or spec is False:
        return
    from trueup.checks.relevance import compile_relevance, speaks_english  # loaded only if a contract asks for it

    if isinstance(language, str) and not speaks_english(language):
        message = f"relevance supports only English; the language of this contract is {language!r}"
        yield fault("N027", marks.value(("relevance",)), ("relevance",), message, "Remove `relevance`.")
        return
    try:
        compile_relevance(spec)
    except BadQuality as error:
        path, message = placed(str(error), ("relevance",))
        yield fault("N006", marks.value(path), path, message)
    except ModuleNotFoundError as error:
        yield fault("N021", marks.value(("relevance",)), ("relevance",), str(error))
