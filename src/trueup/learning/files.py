"""Model files: a model and a path enter; the whole file is there in the end, or what was there before.

Another file than a model is never replaced.
"""

import os
from pathlib import Path

import msgspec

from trueup.batch.disk.placing import placed
from trueup.checks.scoring import MOST_BYTES, BadModel, Model
from trueup.contract.meaning.scores import load_model


class NotReplaced(ValueError):
    """A file is in the way that is not a model."""


def refuse_other(path: Path) -> Model | None:
    """Raise if there is something at the path that is not a quality model, or none can be written there; return the model that is there."""
    try:
        if path.is_dir():
            raise NotReplaced(f"{path}: that is a directory; name a file")
        if not path.parent.is_dir():
            raise NotReplaced(f"{path}: there is no directory {path.parent}")
        if not os.access(path.parent, os.W_OK):
            raise NotReplaced(f"{path}: no file can be written in {path.parent}")
        if not path.is_file() or not path.stat().st_size:
            return None
        return load_model(path)
    except OSError as error:
        raise NotReplaced(f"{path}: cannot be written: {error.strerror or error}") from None
    except BadModel:
        raise NotReplaced(f"{path}: there is a file that is not a quality model; choose another name") from None


def write_model(path: Path, model: Model) -> int:
    """Write a model, and return how many bytes it has."""
    text = msgspec.json.encode(model) + b"\n"
    assert len(text) <= MOST_BYTES, "training keeps models small"
    with placed(path) as (draft,):
        draft.write(text)
    return len(text)
