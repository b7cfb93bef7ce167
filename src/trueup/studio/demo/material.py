"""Material: finds trueup's examples. It takes a name such as `contracts/salon.yaml` and returns its path.

A wheel contains the examples beside this file (`force-include` in pyproject.toml); a checkout has them at its top.
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
    """The text of an example."""
    return example(name).read_text("utf-8")
