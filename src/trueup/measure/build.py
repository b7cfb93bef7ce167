"""How this trueup was built: with its hot modules compiled, or as pure Python. Nothing is imported to find out."""

from importlib.util import find_spec

_HOT = "trueup.recover.json.splice"


def build() -> str:
    """The kind of this build.

    >>> build() in ("compiled", "pure Python")
    True
    """
    spec = find_spec(_HOT)
    return "pure Python" if spec is None or str(spec.origin).endswith(".py") else "compiled"
