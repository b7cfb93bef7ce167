"""Material: finds trueup's examples. It takes a name such as `contracts/salon.yaml` and returns its path or text, or copies it.

Texts and copies leave out the first line that names a JSON Schema for editors: its path is only right in the checkout.

A wheel contains the examples beside this file (`force-include` in pyproject.toml); a checkout has them at its top.
"""

import shutil
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
    return _without_schema(example(name).read_text("utf-8"))


def copy(name: str, to: Path) -> None:
    """Copy an example, or a folder of them."""
    source = example(name)
    if source.is_dir():
        shutil.copytree(source, to, copy_function=_copied)
    else:
        _copied(source, to)


def _copied(source: str | Path, to: str | Path) -> None:
    shutil.copy(source, to)
    if Path(to).suffix == ".yaml":
        Path(to).write_text(_without_schema(Path(to).read_text("utf-8")), "utf-8")


def _without_schema(said: str) -> str:
    first, _, rest = said.partition("\n")
    return rest if first.startswith("# yaml-language-server:") else said
