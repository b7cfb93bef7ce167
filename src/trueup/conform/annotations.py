"""Looks through the annotations of a Python type, to decide which library reads it.

Takes a type; returns whether it contains pydantic models, constraints of pydantic or annotated_types, or constraints of msgspec.
Each library silently ignores the constraints of the others. pydantic is never imported here.
"""

import dataclasses
import enum
import functools
import operator
import sys
import typing
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from types import UnionType
from typing import Any

import msgspec

_LIBRARIES = frozenset({*sys.stdlib_module_names, "pydantic", "pydantic_core", "msgspec"}) - {"__main__"}
_SETS = (set, frozenset, AbstractSet)
_SILENT = frozenset({"Doc", "Deprecated"})  # metadata of typing_extensions that only describes


class AnnotationContents:
    """The relevant parts of an annotation, including everything nested in it."""

    __slots__ = ("converts", "foreign", "meta", "models", "structs")

    def __init__(self) -> None:
        self.models = False  # a pydantic model or dataclass
        self.foreign: Any = None  # the first constraint or validator that msgspec would ignore
        self.meta: Any = None  # the first `msgspec.Meta`, which pydantic would ignore
        self.structs: type | None = None  # the first msgspec Struct, which pydantic cannot read
        # a set, a `__post_init__` or an Enum that finds members: even a strict reader may change the data
        self.converts = False


def contents_of(source: Any) -> AnnotationContents:
    """Look through an annotation: its arguments, and the fields of plain classes.

    >>> from typing import Annotated
    >>> contents_of(list[Annotated[int, msgspec.Meta(ge=1)]]).meta
    msgspec.Meta(ge=1)
    """
    contents = AnnotationContents()
    seen: set[int] = set()
    stack = [source]
    while stack:
        here = stack.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        if is_pydantic(here):
            contents.models = True
            continue
        if typing.get_origin(here) is typing.Annotated:
            _note(here.__metadata__, contents)
        plain = typing.get_origin(here) or here
        if isinstance(plain, type):
            if issubclass(plain, msgspec.Struct):
                contents.structs = contents.structs or plain
            contents.converts = contents.converts or _may_convert(plain)
        stack += _below(here)
    return contents


def _may_convert(plain: type) -> bool:
    """Whether instances of a class may differ from their JSON data."""
    finds = issubclass(plain, enum.Enum) and plain._missing_.__func__ is not enum.Enum._missing_.__func__  # type: ignore[attr-defined]
    return finds or issubclass(plain, _SETS) or hasattr(plain, "__post_init__")


def code_in(source: Any) -> list[Any]:
    """The user's classes and the functions of validators in an annotation, including models and their fields.

    >>> from typing import Annotated
    >>> code_in(list[Annotated[int, "how many"]])
    []
    """
    found: list[Any] = []
    seen: set[int] = set()
    stack = [getattr(source, "_type", source)]  # the type of a pydantic TypeAdapter
    while stack:
        here = stack.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        if typing.get_origin(here) is typing.Annotated:
            found += [note.func for note in here.__metadata__ if callable(getattr(note, "func", None))]
        plain = typing.get_origin(here) or here
        if isinstance(plain, type) and plain.__module__.partition(".")[0] not in _LIBRARIES:
            found.append(plain)
            stack += hints_of(plain).values()
        stack += _below(here)
    return found


def is_pydantic(source: Any) -> bool:
    """Whether pydantic made a type, or the type defines how pydantic reads it."""
    if "pydantic" not in sys.modules:
        return False
    plain = typing.get_origin(source) or source
    own = plain if isinstance(plain, type) else type(plain)
    named = any(hasattr(own, name) for name in ("__pydantic_core_schema__", "__get_pydantic_core_schema__"))
    return named or own.__module__.partition(".")[0] in ("pydantic", "pydantic_core", "pydantic_extra_types")


def _note(metadata: tuple[Any, ...], contents: AnnotationContents) -> None:
    for note in metadata:
        if isinstance(note, msgspec.Meta):
            contents.meta = contents.meta or note
        elif not isinstance(note, str) and type(note).__name__ not in _SILENT and contents.foreign is None:
            contents.foreign = note


def _below(source: Any) -> Iterator[Any]:
    """The annotations inside one: arguments of generics, fields of classes, the target of an alias."""
    origin = typing.get_origin(source)
    if origin is typing.Annotated:
        yield source.__origin__
    elif origin is not typing.Literal:
        yield from (arg for arg in typing.get_args(source) if arg is not Ellipsis and not isinstance(arg, list))
    for name in ("__supertype__", "__value__"):  # NewType, and `type X = …`
        if not isinstance(source, type) and hasattr(source, name):
            yield getattr(source, name)
    plain = origin or source
    if isinstance(plain, type) and has_fields(plain):
        yield from hints_of(plain).values()


def has_fields(source: type) -> bool:
    """Whether the annotations of a class are the fields of its JSON objects."""
    is_named_tuple = issubclass(source, tuple) and hasattr(source, "_fields")
    return (
        dataclasses.is_dataclass(source)
        or is_named_tuple
        or is_typed_dict(source)
        or issubclass(source, msgspec.Struct)
    )


def is_typed_dict(source: Any) -> bool:
    """Whether a class is a TypedDict, of typing or of typing_extensions."""
    return isinstance(source, type) and hasattr(source, "__required_keys__") and hasattr(source, "__total__")


def hints_of(source: Any) -> dict[str, Any]:
    """The annotations of a class or function with their metadata; empty if a name in them cannot be resolved."""
    try:
        return typing.get_type_hints(source, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return {}


def modern(source: Any) -> Any:
    """The annotation with `typing_extensions.TypedDict` for `typing.TypedDict`, which pydantic does not read before Python 3.12."""
    if sys.version_info >= (3, 12):
        return source
    return _modern(source, ())


def _modern(source: Any, outer: tuple[Any, ...]) -> Any:
    origin = typing.get_origin(source)
    if is_typed_dict(source) and type(source).__module__ == "typing" and source not in outer:
        return _typed_dict(source, (*outer, source))
    if origin is None or origin is typing.Literal:
        return source
    if origin is typing.Annotated:
        return typing.Annotated[(_modern(source.__origin__, outer), *source.__metadata__)]
    args = typing.get_args(source)
    inner = tuple(arg if arg is Ellipsis or isinstance(arg, list) else _modern(arg, outer) for arg in args)
    if all(new is old for new, old in zip(inner, args, strict=True)):
        return source
    return functools.reduce(operator.or_, inner) if origin in (typing.Union, UnionType) else origin[inner]


def _typed_dict(source: Any, outer: tuple[Any, ...]) -> Any:
    import typing_extensions  # comes with pydantic, and is slow to import

    fields = {}
    for name, hint in hints_of(source).items():
        bare = hint.__args__[0] if typing.get_origin(hint) in (typing.Required, typing.NotRequired) else hint
        mark = typing.Required if name in source.__required_keys__ else typing.NotRequired
        fields[name] = mark[_modern(bare, outer)]
    make: Any = typing_extensions.TypedDict
    made = make(source.__name__, fields)
    made.__doc__, made.__module__ = source.__doc__, source.__module__
    if hasattr(source, "__pydantic_config__"):
        made.__pydantic_config__ = source.__pydantic_config__
    return made
