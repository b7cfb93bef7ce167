"""The options of a contract as its users see them: the name that a misspelled one meant, the values they take, a line for `repr`.

Options enter, words about them leave, or a refusal of one that is wrong; nothing is kept here. Their types: `forms`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

from trueup.conform.options import read_options
from trueup.verdict.catalogue import GRADES
from trueup.verdict.likeness import nearest

F = TypeVar("F", bound=Callable[..., Any])
_REST, _ASYNC = 0x04, 0x80  # flags of code: `*args`, a coroutine function; `inspect` takes milliseconds to import


def named(owner: str) -> Callable[[F], F]:
    """Make a function refuse an unknown option with the name that was meant; its signature stays its own.

    >>> @named("knead")
    ... def knead(dough, *, minutes=10): ...
    >>> knead("rye", minuets=5)
    Traceback (most recent call last):
    TypeError: knead takes no 'minuets'; did you mean 'minutes'?
    """

    def decorate(function: Any) -> Any:
        known = frozenset(options_of(function))

        @wraps(function)
        def refusing(*given: Any, **options: Any) -> Any:
            if not known.issuperset(options):
                refuse_unknown(owner, options, function)
            return function(*given, **options)

        @wraps(function)
        async def refusing_later(*given: Any, **options: Any) -> Any:
            return await refusing(*given, **options)

        return refusing_later if function.__code__.co_flags & _ASYNC else refusing

    return decorate


def refuse_unknown(owner: str, options: Iterable[str], function: Any) -> None:
    """Raise TypeError for the first option that the function does not take."""
    known = options_of(function)
    for name in options:
        if name not in known:
            raise TypeError(no_such_option(name, owner, [*known, *_rest_of(function)]))


def options_of(function: Any) -> tuple[str, ...]:
    """The names that a function takes, `self` aside."""
    code = getattr(function, "__wrapped__", function).__code__
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names[1:] if names[:1] == ("self",) else names


def _rest_of(function: Any) -> list[str]:
    """What a function takes any number of, by position alone."""
    code = getattr(function, "__wrapped__", function).__code__
    if not code.co_flags & _REST:
        return []
    return [f"*{code.co_varnames[code.co_argcount + code.co_kwonlyargcount]}"]


# What other libraries call it.
_ELSEWHERE = {
    "max_retries": "repairs",
    "model": "models",
    "timeout": "deadline",
    "response_model": "schema",
    "output_type": "schema",
    "response_format": "schema",
}


def no_such_option(name: str, owner: str, known: Sequence[str]) -> str:
    """What to say of an option that there is not.

    >>> no_such_option("shema", "Contract", ["schema", "tools"])
    "Contract takes no 'shema'; did you mean 'schema'?"
    """
    meant = _ELSEWHERE.get(name, "")
    if meant and meant not in known and "policy" in known:
        return f"{owner} takes no {name!r}; use policy=Policy({meant}=…)"
    near = meant if meant in known else nearest(name, known)
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
    read_options(coerce)
    if not isinstance(strict, bool):
        raise TypeError(f"strict is True or False; got {strict!r}")
    for name, number, highest in (("max_size", max_size, None), ("max_depth", max_depth, 500)):
        if not isinstance(number, int) or isinstance(number, bool):
            raise TypeError(f"{name} is a whole number; got {number!r}")
        if number < 1 or (highest and number > highest):
            raise ValueError(f"{name} is {f'between 1 and {highest}' if highest else 'at least 1'}; got {number!r}")
