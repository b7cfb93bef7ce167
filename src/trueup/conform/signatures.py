"""Signatures: the annotations of a function's parameters, and the call of a function with arguments by name.

A function enters; its annotations leave, each resolved alone, so that one name that cannot be found does not lose the limits of the others.
Names of the functions around it are found too. Text that is not an expression, such as a remark, annotates nothing.
"""

import functools
import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from types import SimpleNamespace, UnionType
from typing import Any

from trueup.verdict.context import Context


class Hints(typing.NamedTuple):
    """The annotations of a function by parameter, and for each that cannot be resolved why."""

    known: dict[str, Any]
    unknown: dict[str, Exception]


def hints_of_function(function: Callable[..., Any]) -> Hints:
    """The annotations of a function with their metadata.

    >>> def pay(amount: "int", to: "Nobody") -> None: ...
    >>> hints = hints_of_function(pay)
    >>> hints.known, str(hints.unknown["to"])
    ({'amount': <class 'int'>}, "name 'Nobody' is not defined")
    """
    inner = innermost(function)
    known: dict[str, Any] = {}
    unknown: dict[str, Exception] = {}
    around = _around(inner)
    for name, hint in _annotations(inner).items():
        if name == "return":
            continue
        alone = SimpleNamespace(__annotations__={name: hint})
        try:
            known |= typing.get_type_hints(alone, *around, include_extras=True)
        except (NameError, AttributeError) as error:
            unknown[name] = error
        except (TypeError, SyntaxError):  # a remark, or an object that is not a type
            continue
    return Hints(known, unknown)


def context_parameter(function: Callable[..., Any]) -> str | None:
    """The name of the parameter that takes a `Context`, None where the function takes none.

    >>> def pay(ctx: Context[int], amount: int) -> None: ...
    >>> context_parameter(pay), context_parameter(len)
    ('ctx', None)
    """
    return _context_parameter(hashable(function))


@functools.lru_cache(maxsize=512)
def _context_parameter(function: Callable[..., Any]) -> str | None:
    if isinstance(function, type):
        return None
    known = hints_of_function(function).known
    return next((name for name, hint in known.items() if _is_context(hint)), None)


def _is_context(hint: Any) -> bool:
    """Whether an annotation is `Context`, also one with a remark, or one of several that a parameter may be."""
    if isinstance(hint, UnionType) or typing.get_origin(hint) is typing.Union:
        return any(map(_is_context, typing.get_args(hint)))
    if typing.get_origin(hint) is typing.Annotated:
        return _is_context(typing.get_args(hint)[0])
    return (typing.get_origin(hint) or hint) is Context


def hashable(function: Callable[..., Any]) -> Callable[..., Any]:
    """What stands for a function where something is remembered about it: objects that can be called need not have a hash.

    >>> hashable(len)
    <built-in function len>
    """
    try:
        hash(function)
    except TypeError:
        return function.__call__  # type: ignore[no-any-return,operator]  # a method is told apart by the object itself
    return function


def innermost(function: Callable[..., Any]) -> Any:
    """What a partial, or an object that can be called, comes down to."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or isinstance(function, type):
        return function
    return function.__call__ if not hasattr(function, "__name__") else function  # type: ignore[operator]


def call(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call a function with arguments by name; those of parameters that have only a position are passed so.

    >>> def half(number: float, /, digits: int = 1) -> float:
    ...     return round(number / 2, digits)
    >>> call(half, {"number": 5.0})
    2.5
    """
    named = dict(arguments)
    placed = []
    for parameter in _positional(function):
        if parameter.name in named:
            placed.append(named.pop(parameter.name))
        elif parameter.default is not parameter.empty:
            placed.append(parameter.default)
    return function(*placed, **named)


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function in their order, also where an annotation cannot be resolved."""
    known: Any = inspect.signature
    if sys.version_info >= (3, 14):
        import annotationlib

        known = functools.partial(known, annotation_format=annotationlib.Format.FORWARDREF)
    return list(known(function).parameters.values())


def _positional(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters that cannot be given by name."""
    try:
        found = parameters(function)
    except (TypeError, ValueError):  # written in C
        return []
    return [one for one in found if one.kind is inspect.Parameter.POSITIONAL_ONLY]


def _annotations(function: Any) -> dict[str, Any]:
    """The annotations as they were written; since Python 3.14, names that are not known yet are references."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(function, format=annotationlib.Format.FORWARDREF)
    found: dict[str, Any] = getattr(function, "__annotations__", {})
    return found


def _around(function: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The names that a function sees: those of its module, and those of the functions around it that it uses."""
    plain = inspect.unwrap(function)
    code, cells = getattr(plain, "__code__", None), getattr(plain, "__closure__", None)
    enclosed: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars if code is not None else (), cells or (), strict=False):
        try:
            enclosed[name] = cell.cell_contents
        except ValueError:  # not filled yet
            continue
    return getattr(plain, "__globals__", {}), enclosed
