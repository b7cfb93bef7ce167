"""Model files: takes a model and a path; at the end, the file is complete or unchanged.

Only model files are ever replaced.
"""

import os
from pathlib import Path

import msgspec

from trueup.batch.disk.placing import placed
from trueup.checks.scoring import MOST_BYTES, BadModel, Model
from trueup.contract.meaning.scores import load_model


class NotReplaced(ValueError):
    """The path has a file that is not a model."""


def refuse_other(path: Path) -> Model | None:
    """Raise if the path is not a quality model or cannot be written. Return the model that is there, if any."""
    try:
        if path.is_dir():
            raise NotReplaced(f"{path}: this is a directory; give a file name")
        if not path.parent.is_dir():
            raise NotReplaced(f"{path}: the directory {path.parent} does not exist")
        if not os.access(path.parent, os.W_OK):
            raise NotReplaced(f"{path}: cannot write files in {path.parent}")
        if not path.is_file() or not path.stat().st_size:
            return None
        return load_model(path)
    except OSError as error:
        raise NotReplaced(f"{path}: cannot be written: {error.strerror or error}") from None
    except BadModel:
        raise NotReplaced(f"{path}: this file exists and is not a quality model; choose another name") from None


def write_model(path: Path, model: Model) -> int:
    """Write a model, and return its size in bytes."""
    text = msgspec.json.encode(model) + b"\n"
    assert len(text) <= MOST_BYTES, "training keeps models small"
    with placed(path) as (draft,):
        draft.write(text)
    return len(text)
