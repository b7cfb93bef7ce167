"""The options of a contract as its users see them: their types for editors, the nearest for a slip, a line for `repr`.

Options enter, words about them leave, or a refusal of one that is wrong; nothing is kept here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, get_args

from trueup.conform.options import Options, Profile
from trueup.verdict.catalogue import GRADES, Accept
from trueup.verdict.likeness import nearest

_PROFILES = get_args(Profile)


class Given(TypedDict, total=False):
    """What `Contract` takes beside the schema."""

    tools: Any
    order: Any
    calls: Any
    rules: Any
    reply: Any
    states: Any
    fallbacks: Any
    checks: Any
    accept: Accept
    coerce: Profile | Options
    strict: bool
    max_size: int
    max_depth: int
    name: str
    language: str
    version: str


_OPTIONS = ("schema", *Given.__annotations__)


def no_such_option(name: str, owner: str = "Contract", known: Sequence[str] = _OPTIONS) -> str:
    """What to say of an option that there is not.

    >>> no_such_option("shema")
    "Contract takes no 'shema'; did you mean 'schema'?"
    """
    near = nearest(name, known)
    return f"{owner} takes no {name!r}; " + (f"did you mean {near!r}?" if near else f"it takes {', '.join(known)}")


def told(name: str, given: Mapping[str, Any]) -> str:
    """What a contract asks for, in a few words.

    >>> told("shop", {"schema": int, "tools": [len], "accept": "lossy", "strict": False})
    " 'shop': schema int, tools, accept='lossy'"
    """
    words = []
    for option, value in given.items():
        if option == "schema" and value is not None:
            words.append(f"schema {_short(value)}")
        elif option in _PLAIN:
            if value != _PLAIN[option]:
                words.append(f"{option}={value!r:.60}")
        elif option not in ("schema", "name", "language", "version") and value is not None:
            words.append(option)
    return (f" {name!r}:" if name else "") + (f" {', '.join(words)}" if words else "")


_PLAIN: dict[str, Any] = {
    "accept": "guess", "coerce": "standard", "strict": False, "max_size": 10_000_000, "max_depth": 500,
}  # fmt: skip


def _short(schema: Any) -> str:
    if isinstance(schema, type):
        return schema.__qualname__
    text = str(schema) if hasattr(schema, "__fspath__") or isinstance(schema, str) else repr(schema)
    return text if len(text) <= 60 else f"{text[:59]}…"


def refuse_bad_options(accept: Any, coerce: Any, strict: Any, max_size: Any, max_depth: Any) -> None:
    """Say which option is wrong, and what it takes."""
    if accept not in GRADES:
        raise ValueError(f"accept is one of {', '.join(GRADES)}; got {accept!r}")
    if coerce not in _PROFILES and not isinstance(coerce, Options):
        raise ValueError(f"coerce is one of {', '.join(_PROFILES)}, or Options; got {coerce!r}")
    if not isinstance(strict, bool):
        raise TypeError(f"strict is True or False; got {strict!r}")
    for name, number, highest in (("max_size", max_size, None), ("max_depth", max_depth, 500)):
        if not isinstance(number, int) or isinstance(number, bool):
            raise TypeError(f"{name} is a whole number; got {number!r}")
        if number < 1 or (highest and number > highest):
            raise ValueError(f"{name} is {f'between 1 and {highest}' if highest else 'at least 1'}; got {number!r}")
