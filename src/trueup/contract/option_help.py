"""Options for people: the signature and docstring of `Contract`, a line for `repr`, and the name that a misspelled
option meant.

Takes options, and returns text about them or refuses a misspelled one; nothing is stored here. The options themselves
are in `options`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, ForwardRef, TypeVar

from trueup.contract.options import OPTIONS, Loaded
from trueup.verdict.likeness import nearest

F = TypeVar("F", bound=Callable[..., Any])
_REST, _ASYNC = 0x04, 0x80  # flags of code: `*args`, a coroutine function; `inspect` takes milliseconds to import


def named(owner: str) -> Callable[[F], F]:
    """Make a function refuse an unknown option with the name that was meant; its signature does not change.

    >>> @named("knead")
    ... def knead(dough, *, minutes=10): ...
    >>> knead("rye", minuets=5)
    Traceback (most recent call last):
    TypeError: knead has no option 'minuets'; did you mean 'minutes'?
    """

    def decorate(function: Any) -> Any:
        known = frozenset(options_of(function))

        @wraps(function)
        def refusing(*given: Any, **options: Any) -> Any:
            if not known.issuperset(options):
                refuse_unknown(owner, options, options_of(function), _rest_of(function))
            return function(*given, **options)

        @wraps(function)
        async def refusing_later(*given: Any, **options: Any) -> Any:
            return await refusing(*given, **options)

        return refusing_later if function.__code__.co_flags & _ASYNC else refusing

    return decorate


def refuse_unknown(owner: str, options: Iterable[str], known: Collection[str], rest: Sequence[str] = ()) -> None:
    """Raise TypeError for the first option that is not `known`; `rest` are names to mention that cannot be keywords."""
    for name in options:
        if name not in known:
            raise TypeError(no_such_option(name, owner, [*known, *rest]))


def options_of(function: Any) -> tuple[str, ...]:
    """The names of a function's parameters, except self."""
    code = getattr(function, "__wrapped__", function).__code__
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names[1:] if names[:1] == ("self",) else names


def _rest_of(function: Any) -> list[str]:
    """A function's variadic positional parameter."""
    code = getattr(function, "__wrapped__", function).__code__
    if not code.co_flags & _REST:
        return []
    return [f"*{code.co_varnames[code.co_argcount + code.co_kwonlyargcount]}"]


# Names of the same options in other libraries.
_ELSEWHERE = {
    "max_retries": "repairs",
    "model": "models",
    "timeout": "deadline",
    "response_model": "schema",
    "output_type": "schema",
    "response_format": "schema",
}


def no_such_option(name: str, owner: str, known: Sequence[str]) -> str:
    """The message for an unknown option.

    >>> no_such_option("shema", "Contract", ["schema", "tools"])
    "Contract has no option 'shema'; did you mean 'schema'?"
    """
    meant = _ELSEWHERE.get(name, "")
    if meant and meant not in known and "policy" in known:
        return f"{owner} has no option {name!r}; use policy=Policy({meant}=…)"
    near = meant if meant in known else nearest(name, known)
    return f"{owner} has no option {name!r}; " + (
        f"did you mean {near!r}?" if near else f"its options are {', '.join(known)}"
    )


def told(name: str, given: Mapping[str, Any]) -> str:
    """The options that are set, in a few words.

    >>> told("shop", {"schema": int, "tools": [len], "accept": "lossy", "strict": False})
    " 'shop': schema int, tools, accept='lossy'"
    """
    words = []
    for option, value in given.items():
        if option == "schema" and value is not None:
            words.append(f"schema {_short(value)}")
        elif OPTIONS[option].default is None:
            if value is not None and option != "schema":
                words.append(option)
        elif OPTIONS[option].default != "" and value != OPTIONS[option].default:
            words.append(f"{option}={value!r:.60}")
    return (f" {name!r}:" if name else "") + (f" {', '.join(words)}" if words else "")


def _short(schema: Any) -> str:
    if isinstance(schema, type):
        return schema.__qualname__
    text = str(schema) if hasattr(schema, "__fspath__") or isinstance(schema, str) else repr(schema)
    return text if len(text) <= 60 else f"{text[:59]}…"


def documented(docstring: str | None) -> str | None:
    """The docstring of `Contract` with a line for each option, in place of the word OPTIONS."""
    lines = (f"- `{name}`: {about_option(name)}" for name in OPTIONS)
    return docstring and docstring.replace("OPTIONS", "\n    ".join(lines))


def about_option(name: str) -> str:
    """The purpose of an option, and the meaning of its default if the default does not show it.

    >>> about_option("order")
    'the order of calls, as a list of names, an `Order` or its fields. None: any order.'
    """
    option = OPTIONS[name]
    about = option.about[:1].lower() + option.about[1:]
    return f"{about} {'Empty' if option.default == '' else 'None'}: {option.unset}." if option.unset else about


def type_of(name: str) -> str:
    """The type of an option, as it is written in the table."""
    form = Loaded.__annotations__[name].__origin__
    return form.__forward_arg__ if isinstance(form, ForwardRef) else form.__name__


class SignatureOfOptions:
    """The `__signature__` of a class that takes the options of a contract, made on first access."""

    def __get__(self, instance: object, owner: type) -> Any:
        """The signature; a subclass with its own constructor keeps its own."""
        if "__init__" in vars(owner) and vars(owner).get("__signature__") is not self:
            raise AttributeError("__signature__")
        from inspect import Parameter, Signature  # takes milliseconds to import

        def parameter(name: str) -> Parameter:
            kind = Parameter.POSITIONAL_OR_KEYWORD if name == "schema" else Parameter.KEYWORD_ONLY
            return Parameter(name, kind, default=OPTIONS[name].default, annotation=type_of(name))

        return Signature([parameter(name) for name in OPTIONS], return_annotation=None)
