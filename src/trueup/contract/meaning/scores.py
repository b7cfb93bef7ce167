"""The scores of a contract, made from its options: `quality` with its model, and `relevance`.

Takes options and returns the checks by name. A path is read here, up to the largest size of a model; a file that is not
a model is refused with its path.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueup.checks.quality import BadQuality, compile_quality
from trueup.checks.scoring import MOST_BYTES, BadModel, Model, read_model

if TYPE_CHECKING:
    from trueup.contract.meaning.meaning import ScoreCheck


def make_scores(quality: Any, relevance: Any, language: str) -> "dict[str, ScoreCheck]":
    """The scores that a contract asks for."""
    scores: dict[str, ScoreCheck] = {}
    if quality is not None:
        scores["quality"] = compile_quality(_with_model(quality))
    if relevance:
        from trueup.checks.relevance import compile_relevance, folder, load  # needed only with the extra

        scores["relevance"] = compile_relevance(relevance, language)
        load(str(folder()))  # now, and not during the first check, which would block a server's event loop
    return scores


def _with_model(spec: Any) -> Any:
    """The options with the model itself in place of its path."""
    given = spec.get("model") if isinstance(spec, Mapping) else None
    if not isinstance(given, str | os.PathLike):
        return spec
    try:
        return {**spec, "model": load_model(Path(given))}
    except BadModel as error:
        raise BadQuality(f"quality.model: {error}") from None


def load_model(path: Path, name: str = "") -> Model:
    """The model in a file; a BadModel says what is wrong with it. `name` is the file's name in messages."""
    name = name or str(path)
    try:
        raw = None
        if path.is_file() or not path.exists():  # a pipe may never end
            with path.open("rb") as opened:
                raw = opened.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise BadModel(f"{name}: the model cannot be read: {reason}") from None
    if raw is None:
        raise BadModel(f"{name}: the model cannot be read: it is not a file")
    try:
        return read_model(raw)
    except BadModel as error:
        raise BadModel(f"{name}: {error}") from None
