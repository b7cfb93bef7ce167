"""Types that pydantic reads: models, and plain annotations with constraints or validators.

Takes a type; returns a `PythonType` that judges with pydantic's own `validate_json`. Models and validators convert by their own
rules. Outside them, plain annotations are read strictly, like msgspec does, because trueup coerces values itself and reports it.
"""

import copy
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cache, partial
from typing import Any

import pydantic
from pydantic.dataclasses import is_pydantic_dataclass
from pydantic.errors import PydanticUserError
from pydantic_core import SchemaValidator, to_jsonable_python

from trueup.conform.annotations import modern
from trueup.conform.own_code import own_code
from trueup.conform.readings import read
from trueup.conform.refusals import SchemaError
from trueup.conform.survey import subschemas
from trueup.conform.types import HOW, Built, PythonType, Read, refused, type_name
from trueup.conform.validating import present
from trueup.verdict import paths
from trueup.verdict.bugs import bug_in, pointed
from trueup.verdict.codec import written
from trueup.verdict.facts import Finding

_SHORT: Any = {"include_url": False, "include_context": False, "include_input": False}
_PLAIN = frozenset(
    (
        "bool",
        "bytes",
        "date",
        "datetime",
        "decimal",
        "enum",
        "float",
        "int",
        "lax-or-strict",
        "str",
        "time",
        "timedelta",
        "uuid",
    )
)
# Below these, the user's own rules apply.
_OWN = frozenset({"model", "function-before", "function-wrap", "function-plain", "call", "is-instance", "custom-error"})
_MAX_ARMS = 8  # the arms of unions nested deeper than this are not distinguished
# These contain data, not schemas.
_DATA = frozenset({"default", "default_factory", "metadata", "expected", "members", "config", "serialization", "cls"})


def pydantic_type(source: Any) -> PythonType:
    """The JSON side of a type that pydantic reads; raises `SchemaError` if pydantic cannot read it."""
    own = isinstance(source, pydantic.TypeAdapter)
    try:
        adapter: Any = source if own else pydantic.TypeAdapter(modern(source))
        schema = adapter.json_schema(by_alias=True, mode="validation")
    except (PydanticUserError, TypeError, NameError) as error:
        why = str(error).splitlines()[0].partition(". ")[0] if str(error) else type(error).__name__
        raise SchemaError(f"{source!r:.80} cannot be read as a type: {why}; {HOW}") from None
    strict = None if own else _strict(adapter.core_schema)
    validate = adapter.validate_json if strict is None else SchemaValidator(strict).validate_json
    name = type_name(source)
    fields = {field for part in subschemas(schema) for field in part.get("properties", ())}

    def accept(data: Any, text: bytes | None = None) -> Built:
        context = present()
        given: dict[str, Any] = {} if context is None else {"context": context}
        try:
            return validate(written(data) if text is None else text, **given), []
        except pydantic.ValidationError as error:
            return None, [_finding(data, fault, fields) for fault in error.errors(**_SHORT)]
        except Exception as error:  # noqa: BLE001 - a user's validator may raise anything
            bug = bug_in(error)
            if bug is None:  # text that is not Unicode, or a fault that pydantic does not collect
                return None, [refused("$", str(error))]
            raise pointed(bug, f"the type {name}", source)  # noqa: B904 - it is the user's own exception

    writer = adapter.serializer
    is_simple = not _writes_itself(adapter.core_schema)

    def read_back(data: Any, value: Any, text: bytes | None = None) -> Read:
        if text is not None and is_simple:
            with suppress(Exception):  # a value that cannot be written is read part by part
                if writer.to_json(value, by_alias=True, exclude_unset=True, warnings=False) == text:
                    return data, []
        return read(data, value, _Dump(writer, value))

    code = cache(partial(own_code, adapter.core_schema))
    return PythonType(_linear(schema), accept, read_back, lambda _: None, own_code=code)


def _writes_itself(core: Any) -> bool:
    """Whether a type has custom serializers, which do not write what it read, or iterators, which can be written only once."""
    stack = [core]
    while stack:
        here = stack.pop()
        if isinstance(here, dict):
            own = here.get("serialization")
            if here.get("type") == "generator" or (
                isinstance(own, dict) and str(own.get("type", "")).startswith("function")
            ):
                return True
            stack += [inner for inner in here.values() if isinstance(inner, dict | list)]
        else:
            stack += [inner for inner in here if isinstance(inner, dict | list)]
    return False


class _Dump:
    """Writes parts of a value as JSON data; a part that pydantic cannot write alone is taken from the whole value."""

    __slots__ = ("_value", "_whole", "_writer")

    def __init__(self, writer: Any, value: Any) -> None:
        self._writer, self._value = writer, value
        self._whole: Any = None

    def __call__(self, part: Any, path: paths.Parts = ()) -> Any:
        try:
            return to_jsonable_python(part, by_alias=True)
        except Exception:  # noqa: BLE001 - a user's class
            if self._whole is None:
                self._whole = self._writer.to_python(self._value, mode="json", by_alias=True, warnings=False)
            return paths.value_at(self._whole, path)


def _strict(core: Any) -> Any:
    """A core schema with strict plain scalars; None if it has none outside models and validators."""
    changed = False
    done: Any = copy.copy(core)
    stack: list[Any] = [done]
    while stack:
        here = stack.pop()
        is_schema = isinstance(here, dict) and isinstance(here.get("type"), str)
        for key, inner in list(here.items() if isinstance(here, dict) else enumerate(here)):
            if not isinstance(inner, dict | list) or (is_schema and key in _DATA) or _is_own(inner):
                continue
            here[key] = copy.copy(inner)
            stack.append(here[key])
        if is_schema and here["type"] in _PLAIN and "strict" not in here:
            here["strict"] = changed = True
    return done if changed and not _is_own(core) else None


def _is_own(core: Any) -> bool:
    kind = core.get("type") if isinstance(core, dict) else None
    return kind in _OWN or (kind == "dataclass" and is_pydantic_dataclass(core["cls"]))


def _linear(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without patterns that need a backtracking engine; the type itself checks those."""
    for here in subschemas(schema):
        pattern = here.get("pattern")
        if isinstance(pattern, str) and ("(?!" in pattern or "(?=" in pattern or "(?<" in pattern):
            del here["pattern"]
    return schema


def _finding(data: Any, fault: Any, fields: AbstractSet[str]) -> Finding:
    loc, kind = fault["loc"], str(fault.get("type", ""))
    last = loc[-1] if loc else None
    parts, arms, here = _located(data, loc)
    if isinstance(last, str) and parts[-1:] != [last] and (kind.startswith("missing") or last in fields):
        parts, arms, here = _located(data, loc[:-1])  # the key is not in the data: it is missing, or its default is bad
        parts += [last] if isinstance(here, dict) else []
    return refused(paths.render(tuple(parts)), str(fault["msg"]), kind, arms)


def _located(data: Any, loc: tuple[Any, ...]) -> tuple[list[str | int], dict[str, str], Any]:
    """pydantic's location as a path in the data, and the data there.

    Names of union arms and of validators are not keys of the data; they are returned separately, by their place.
    """
    parts: list[str | int] = []
    arms: dict[str, str] = {}
    here = data
    for part in loc:
        inside = part < len(here) if isinstance(here, list) and isinstance(part, int) else False
        if inside or (isinstance(here, dict) and part in here):
            here = here[part]
            parts.append(part)
        elif isinstance(part, str) and len(arms) < _MAX_ARMS:
            arms.setdefault(paths.render(tuple(parts)), part)
    return parts, arms, here
