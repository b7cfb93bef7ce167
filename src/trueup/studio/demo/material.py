"""Material: the examples of trueup, wherever they are. A name such as `contracts/salon.yaml` enters, its path leaves.

A wheel carries the examples beside this file (`force-include` in pyproject.toml); in a checkout they lie at its top.
"""

from pathlib import Path

_PACKED = Path(__file__).parent / "examples"
_CHECKOUT = Path(__file__).parents[4] / "examples"


def example(name: str) -> Path:
    """The path of a file or folder of the examples."""
    top = _PACKED if _PACKED.is_dir() else _CHECKOUT
    path = top / name
    if not path.exists():
        raise FileNotFoundError(f"the example {name!r} is missing from this installation of trueup")
    return path


def text(name: str) -> str:
    """What an example says."""
    return example(name).read_text("utf-8")
