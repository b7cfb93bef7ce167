"""Reads foreign objects as plain dicts, one level at a time: SDK models, dataclasses, named tuples, anything with attributes.

No SDK is imported: the object's class decides how it is read. A dict is passed through unchanged and uncopied; something that
is not a record (text, numbers, functions, iterators) gives None. Nothing is ever consumed or changed.
"""

from collections.abc import Mapping
from enum import Enum
from types import FunctionType, MethodType, ModuleType
from typing import Any

_DUMPS: tuple[tuple[str, dict[str, bool]], ...] = (
    ("model_dump", {"warnings": False}),
    ("model_dump", {}),
    ("to_dict", {}),
    ("dict", {}),
    ("_asdict", {}),
)
_NO_RECORD = (str, bytes, bytearray, memoryview, int, float, complex, list, tuple, set, frozenset, type)
_NO_RECORDS = (FunctionType, MethodType, ModuleType, Enum)

Row = dict[str, Any]
_EMPTY: Row = {}


def record(source: Any) -> Row:
    """The dict form of an object, or an empty one.

    >>> record({"a": 1}), record(None)
    ({'a': 1}, {})
    """
    if type(source) is dict:
        return source
    return as_dict(source) or {}


def as_dict(source: Any) -> Row | None:
    """The dict form of an object, or None.

    >>> from types import SimpleNamespace
    >>> as_dict(SimpleNamespace(text="hi", _hidden=1)), as_dict("hi")
    ({'text': 'hi'}, None)
    """
    if source is None:
        return None
    if isinstance(source, Mapping):
        return source if isinstance(source, dict) else dict(source)
    if isinstance(source, _NO_RECORD) and not hasattr(source, "_asdict"):
        return None
    if isinstance(source, _NO_RECORDS):
        return None
    dumped = _dumped(source)
    return _attributes(source) if dumped is None else dumped


def _dumped(source: Any) -> Row | None:
    """The dict from the object's own method. Looked up on the class: a mock answers to any name."""
    kind = type(source)
    for name, options in _DUMPS:
        method = getattr(kind, name, None)
        if not callable(method):
            continue
        try:
            dumped = method(source, **options)
        except Exception:  # noqa: BLE001, S112 - a foreign object's own method may raise anything
            continue
        if isinstance(dumped, dict):
            return dumped
    return None


def _attributes(source: Any) -> Row | None:
    """The public attributes of an object: its fields if its class names them, else all its values."""
    kind = type(source)
    names: Any = getattr(kind, "__struct_fields__", None) or getattr(kind, "__dataclass_fields__", None)
    if names is None:
        held = getattr(source, "__dict__", None)
        names = held if isinstance(held, dict) else getattr(kind, "__slots__", ())
    try:
        found = {n: getattr(source, n) for n in names if isinstance(n, str) and n[:1] != "_" and hasattr(source, n)}
    except Exception:  # noqa: BLE001 - a property may raise anything
        return None
    return found or None


def member(source: Any, name: str) -> Any:
    """A member of an object, in the object's own form, or of a dict; None if there is none.

    If a model declares a base class, its dump loses the fields that the value's own class adds: then the value itself is
    read.

    >>> member({"a": 1}, "a"), member(None, "a")
    (1, None)
    """
    return source.get(name) if isinstance(source, dict) else getattr(source, name, None)


def rows(source: Any) -> list[Any] | tuple[Any, ...]:
    """The items of a list; one record counts as a list of one, anything else as none.

    >>> rows(None), rows([1, 2]), rows({"a": 1})
    ((), [1, 2], ({'a': 1},))
    """
    if isinstance(source, list | tuple):
        return source
    if not source or isinstance(source, str | bytes | int | float):
        return ()
    return (source,)


def place(source: Any) -> int | str | None:
    """The number or name that groups pieces; anything else counts as none.

    >>> place(3), place([3])
    (3, None)
    """
    return source if isinstance(source, int | str) else None


def word(source: Any) -> str:
    """Text as text, an enum member as its value, a number as its digits, anything else as nothing.

    >>> word("stop"), word(None), word(7)
    ('stop', '', '7')
    """
    if type(source) is str:
        return source
    if isinstance(source, Enum):
        source = source.value
    if isinstance(source, str):
        return str(source)
    if isinstance(source, int) and not isinstance(source, bool):
        return str(source)
    return ""
