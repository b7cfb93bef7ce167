"""Signatures: the annotations of a function's parameters, and calling a function with arguments by name.

Takes a function; returns its annotations, each resolved alone, so that one unknown name does not lose the limits of the others.
Names of the enclosing functions are found too. Text that is not an expression, such as a remark, is not an annotation.
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
    """The annotations of a function by parameter, and the error for each one that cannot be resolved."""

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
    """The name of the parameter that takes a `Context`; None if the function takes none.

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
    """Whether an annotation is `Context`, perhaps with a remark or as one of several types."""
    if isinstance(hint, UnionType) or typing.get_origin(hint) is typing.Union:
        return any(map(_is_context, typing.get_args(hint)))
    if typing.get_origin(hint) is typing.Annotated:
        return _is_context(typing.get_args(hint)[0])
    return (typing.get_origin(hint) or hint) is Context


def hashable(function: Callable[..., Any]) -> Callable[..., Any]:
    """A hashable key for a function: callable objects do not always have a hash.

    >>> hashable(len)
    <built-in function len>
    """
    try:
        hash(function)
    except TypeError:
        return function.__call__  # type: ignore[no-any-return,operator]  # a method is identified by its object
    return function


def innermost(function: Callable[..., Any]) -> Any:
    """The function inside a partial or a callable object."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or isinstance(function, type):
        return function
    return function.__call__ if not hasattr(function, "__name__") else function  # type: ignore[operator]


def call(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call a function with arguments by name; positional-only parameters get theirs by position.

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
    """The parameters of a function in order, even if an annotation cannot be resolved."""
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
    """The annotations as written; since Python 3.14, unknown names are forward references."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(function, format=annotationlib.Format.FORWARDREF)
    found: dict[str, Any] = getattr(function, "__annotations__", {})
    return found


def _around(function: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The names that a function sees: those of its module, and those of enclosing functions that it uses."""
    plain = inspect.unwrap(function)
    code, cells = getattr(plain, "__code__", None), getattr(plain, "__closure__", None)
    enclosed: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars if code is not None else (), cells or (), strict=False):
        try:
            enclosed[name] = cell.cell_contents
        except ValueError:  # not filled yet
            continue
    return getattr(plain, "__globals__", {}), enclosed
