"""Removes nulls that represent absent fields: the way back from the strict form of a schema.

Takes a value that a provider returned under a strict schema, and the places to which null was added; returns the value without
these nulls. A null that the contract's own schema allows stays. Parts that do not fit the strict schema stay unchanged.
"""

from collections.abc import Iterator
from typing import Any

from trueup.conform.strict import StrictForm
from trueup.conform.views import JsonObject, kind_of

_DEEPEST = 200


def without_nulls(value: Any, form: StrictForm) -> Any:
    """The value without the nulls that only mark absent fields; the same object if there are none.

    >>> from trueup.conform.schema import compile_schema
    >>> from trueup.conform.strict import strict_form
    >>> form = strict_form(
    ...     compile_schema({"properties": {"n": {"type": "integer"}, "m": {"type": "integer"}}}), "openai"
    ... )
    >>> without_nulls({"n": None, "m": 1}, form)
    {'m': 1}
    """
    return _at(value, form.schema, form, 0) if form.nulls else value


def _at(value: Any, schema: JsonObject, form: StrictForm, depth: int) -> Any:
    if depth > _DEEPEST or not isinstance(value, dict | list) or not value:
        return value
    here = _described(value, schema, form.schema)
    if here is None:
        return value
    if isinstance(value, list):
        items = here.get("items")
        if not isinstance(items, dict):
            return value
        inner = [_at(item, items, form, depth + 1) for item in value]
        return inner if any(new is not old for new, old in zip(inner, value, strict=True)) else value
    properties = here.get("properties") or {}
    kept: dict[str, Any] = {}
    for name, item in value.items():
        if item is None and (id(properties), name) in form.nulls:
            continue
        known = properties.get(name)
        kept[name] = _at(item, known, form, depth + 1) if isinstance(known, dict) else item
    same = len(kept) == len(value) and all(kept[name] is item for name, item in value.items())
    return value if same else kept


def _described(value: Any, schema: JsonObject, root: JsonObject) -> JsonObject | None:
    """The schema of an object or a list, through references and unions; None if no schema matches it.

    If several have the same names, the one that the whole value fits counts, because null may be a value there.
    """
    meant = [arm for arm in _arms(schema, root) if _is_meant(value, arm)]
    if len(meant) > 1:
        return next((arm for arm in meant if _fits(value, arm, root)), meant[0])
    return meant[0] if meant else None


def _arms(schema: JsonObject, root: JsonObject) -> Iterator[JsonObject]:
    """The possible schemas of a value, in order, with references and unions resolved."""
    waiting = [schema]
    for _ in range(_DEEPEST):
        if not waiting:
            return
        here = waiting.pop()
        name = here.get("$ref")
        if isinstance(name, str):
            target = root if name == "#" else (root.get("$defs") or {}).get(name.rpartition("/")[2])
            waiting += [target] if isinstance(target, dict) else []
        elif "anyOf" in here:
            waiting += reversed(here["anyOf"])
        else:
            yield here


def _is_meant(value: Any, schema: JsonObject) -> bool:
    """Whether an arm matches a value: the type fits, an object has all required names and no others, and constants are equal."""
    kind = schema.get("type")
    if isinstance(value, list):
        return kind == "array"
    if kind != "object":
        return False
    properties = schema.get("properties") or {}
    if properties and not value.keys() <= properties.keys():
        return False
    if not all(name in value for name in schema.get("required") or ()):
        return False
    return all(_may_be(value[name], inner) for name, inner in properties.items() if name in value)


def _may_be(value: Any, schema: JsonObject) -> bool:
    if "const" in schema:
        return bool(value == schema["const"])
    return "enum" not in schema or value in schema["enum"]


def _fits(value: Any, schema: JsonObject, root: JsonObject, depth: int = 0) -> bool:
    """Whether a value has the types of a strict schema at every place."""
    if depth > _DEEPEST:
        return True
    if not isinstance(value, dict | list):
        return any(_has_type(value, arm) and _may_be(value, arm) for arm in _arms(schema, root))
    for arm in _arms(schema, root):
        if not _is_meant(value, arm):
            continue
        named = arm.get("properties") or {}
        inner = value.items() if isinstance(value, dict) else ((None, item) for item in value)
        if all(
            _fits(item, arm.get("items", {}) if name is None else named.get(name, {}), root, depth + 1)
            for name, item in inner
        ):
            return True
    return False


def _has_type(value: Any, schema: JsonObject) -> bool:
    named = schema.get("type")
    kinds = named if isinstance(named, list) else [named]
    kind = kind_of(value)
    return named is None or kind in kinds or (kind == "integer" and "number" in kinds)
