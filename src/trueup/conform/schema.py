"""Compiles schemas once, offline and within limits: takes JSON Schema, Python types or a path, and returns a `Schema`.

The draft is 2020-12 unless `$schema` names 2019-09 or 7. No reference is ever fetched, patterns run on a linear
engine, and a schema that is too large, too deep or not valid is refused with a `SchemaError`.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from trueup.conform import survey
from trueup.conform.breadth import breadth
from trueup.conform.document import JsonSchema, SchemaDocument, SchemaPlace
from trueup.conform.errors import explain
from trueup.conform.nodes import Node
from trueup.conform.own_code import OwnCode
from trueup.conform.refusals import SchemaError, reason
from trueup.verdict.bugs import tried
from trueup.verdict.facts import Finding
from trueup.verdict.paths import Parts
from trueup.verdict.patterns import lazy_regex

if TYPE_CHECKING:
    from jsonschema_rs import RegexOptions, Validator

    from trueup.conform.types import Built, PythonType, Read

__all__ = ["MAX_BYTES", "MAX_DEPTH", "Schema", "SchemaError", "compile_schema", "refuse_bad_schema"]

MAX_BYTES = 2_000_000
MAX_DEPTH = 200
# A check costs about 13 ns, so that the worst schema takes less than 100 ms for one place of a value.
MAX_LOOKS = 5_000_000
CACHE_SIZE = 256
CACHE_BYTES = 16_000_000
_PATTERN_BYTES = 64_000_000
_DRAFTS = lazy_regex(r"https?://json-schema\.org/(?:draft/(?:2020-12|2019-09)|draft-0[467])/schema#?\Z")


class Schema:
    """A compiled schema, which judges values at C speed and has its keys and types."""

    __slots__ = (
        "_item",
        "_members",
        "_python",
        "aliases",
        "has_integer",
        "is_type",
        "is_valid",
        "keys",
        "names",
        "names_grounded",
        "place",
        "plans",
        "root_keys",
        "source",
        "types",
    )

    def __init__(self, place: SchemaPlace, is_valid: Callable[[Any], bool], python: "PythonType | None" = None) -> None:
        self.place = place
        self.source: JsonSchema = place.schema
        self.is_valid = is_valid if python is None else partial(_accepts, python)
        self.keys = survey.all_keys(place.document.schema)
        self.types = survey.types_at(place)
        self.root_keys = survey.root_keys(place)
        self.aliases: dict[str, list[str]] = {} if python is None else python.aliases
        # including alternative names of the type
        self.names = self.root_keys if python is None else self.root_keys | python.names
        self.has_integer = survey.asks_integer(place.document.schema)
        self.names_grounded = survey.has_keyword(place.document.schema, "x-grounded")
        self.is_type = python is not None
        # Coercion plans by the identity of their options; filled by `coerce`, a handful at most.
        self.plans: dict[int, tuple[object, Node]] = {}
        self._python = python
        self._item: Schema | None = None
        self._members: dict[str, Schema | None] = {}

    @property
    def item(self) -> "Schema | None":
        """The schema of the items if the root is an array, otherwise None."""
        if self._item is None:
            place = survey.item_place(self.place)
            if place is not None:
                inner = None if self._python is None else self._python.item
                self._item = Schema(place, place.judge, None if inner is None else _python_type(inner))
        return self._item

    def member(self, key: str) -> "Schema | None":
        """The schema of one property that the root itself names, otherwise None."""
        if key not in self._members:
            properties = self.source.get("properties") if isinstance(self.source, dict) else None
            known = isinstance(properties, dict) and key in properties
            place = self.place.child("properties", key) if known else None
            self._members[key] = Schema(place, place.judge) if place is not None else None
        return self._members[key]

    def errors(self, value: Any, limit: int = 20) -> list[Finding]:
        """The findings for a value, in words that a model can act on, the best first.

        >>> schema = compile_schema({"properties": {"age": {"type": "integer"}}})
        >>> print(*schema.errors({"age": "old"}))
        V001 $.age: Field "age": Expected integer, got string
        """
        return explain(self.place, value, limit)

    def build(self, data: Any, text: bytes | None = None) -> "Built":
        """The Python value that the schema's type builds from JSON data, or its findings; `text` is the same data as JSON text."""
        return (data, []) if self._python is None else self._python.accept(data, text)

    def read(self, data: Any, value: Any, text: bytes | None = None) -> "Read":
        """The data as the schema's type reads them, and its conversions; `text` is the same data as JSON text."""
        return (data, []) if self._python is None else self._python.read(data, value, text)

    def wide(self, place: Parts) -> Parts | None:
        """The place that may have more faults than the one that the schema's type reports; None if there are no others."""
        return () if self._python is None else self._python.wide(place)

    @property
    def own_code(self) -> OwnCode:
        """The user code that the schema's type has; empty without a type."""
        return OwnCode() if self._python is None else self._python.own_code()

    def __repr__(self) -> str:
        return f"<Schema {' | '.join(sorted(self.types))}>"


def _accepts(python: "PythonType", value: Any) -> bool:
    found = tried(python.accept, value)
    return found is not None and not found[1]


def compile_schema(source: Any) -> Schema:
    """Compile a schema from any of its forms; the same schema is compiled only once.

    >>> compile_schema({"type": "integer"}).is_valid(5)
    True
    >>> compile_schema(list[int]).build([1, 2])
    ([1, 2], [])
    """
    if isinstance(source, Schema):
        return source
    if isinstance(source, bool):
        return _from_json(source)
    if isinstance(source, str | os.PathLike):
        return _from_json(_read(source))
    if isinstance(source, dict):
        return _from_json(source)
    return _from_type(source)


def refuse_bad_schema(source: JsonSchema, what: str) -> None:
    """Raise SchemaError for a schema that is not valid JSON Schema; much cheaper than compiling it.

    >>> refuse_bad_schema({"type": "object"}, "this one")
    """
    import jsonschema_rs  # as in `_compile`

    if isinstance(source, bool) or jsonschema_rs.meta.is_valid(source):
        return
    try:
        compile_schema(source)
    except SchemaError as error:
        raise SchemaError(f"{what}: {error}") from None


def _read(path: Any) -> JsonSchema:
    if isinstance(path, str) and path.lstrip().startswith(("{", "[")):
        raise SchemaError("a schema cannot be given as text; pass a dict, or the path of a .json file")
    from pathlib import Path  # loaded by the first schema in a file

    try:
        file = Path(path)
        if file.stat().st_size > MAX_BYTES:
            raise SchemaError(f"schema file {str(path)!r} is larger than {MAX_BYTES:,} bytes")
        schema = msgspec.json.decode(file.read_bytes())
    except OSError as error:
        raise SchemaError(f"cannot read schema file {str(path)!r}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"schema file {str(path)!r} is not JSON: {error}") from None
    if not isinstance(schema, dict | bool):
        raise SchemaError(f"schema file {str(path)!r} contains {survey.type_of(schema)}, not a JSON Schema object")
    return schema


def _from_json(source: JsonSchema) -> Schema:
    text = _serialised(source)
    return _CACHE.get(text, lambda: _compile(text, None), len(text))


def _python_type(source: Any) -> "PythonType":
    from trueup.conform.types import python_type  # loaded by the first schema that is a type

    return python_type(source)


def _from_type(source: Any) -> Schema:
    def compile_type() -> Schema:
        python = _python_type(source)
        return _compile(_serialised(python.schema), python)

    try:
        hash(source)
    except TypeError:  # an annotation with metadata that cannot be hashed
        return compile_type()
    return _CACHE.get(("type", source), compile_type, 10_000)


def _serialised(source: JsonSchema) -> bytes:
    try:
        text = msgspec.json.encode(source)
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError(f"the schema is not JSON data: {error}") from None
    if len(text) > MAX_BYTES:
        raise SchemaError(f"the schema is {len(text):,} bytes long; the limit is {MAX_BYTES:,}")
    if _depth(text) > MAX_DEPTH:
        raise SchemaError(f"the schema is nested deeper than {MAX_DEPTH} levels")
    return text


_BRACKETS = bytes(c for c in range(256) if c not in b'{}[]"\\')


def _depth(text: bytes) -> int:
    """The nesting depth of JSON text, counted without recursion."""
    depth = deepest = 0
    in_string = skip = False
    for byte in text.translate(None, _BRACKETS):
        if skip:
            skip = False
        elif in_string:
            skip = byte == 0x5C
            in_string = byte != 0x22
        elif byte == 0x22:
            in_string = True
        elif byte in b"{[":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
    return deepest


def _compile(text: bytes, python: "PythonType | None") -> Schema:
    import jsonschema_rs  # loaded by the first schema that is compiled: it takes longer than everything else in a first check

    # Decoded again, so that a caller who changes their dict later does not change the schema.
    schema: JsonSchema = msgspec.json.decode(text)
    settings: dict[str, Any] = {
        "offline": True,
        "pattern_options": _pattern_options(schema),
        # A Python type judges dates and addresses itself, often more leniently than RFC 3339.
        "validate_formats": python is None,
    }
    try:
        draft = _draft(schema)
        jsonschema_rs.meta.validate(schema)
        document = SchemaDocument(schema, draft, settings)
        _refuse_fans(document)
        judge = draft(schema, base_uri=document.base_uri, **settings)
    except SchemaError:
        raise
    except ValueError as error:
        raise SchemaError(reason(error)) from None
    if schema is not True and schema != {}:
        document.root.judged_by(judge.is_valid)
    return Schema(document.root, document.root.judge, python)


def _draft(schema: JsonSchema) -> "type[Validator]":
    named = schema.get("$schema") if isinstance(schema, dict) else None
    if named is not None and (not isinstance(named, str) or not _DRAFTS.match(named)):
        raise SchemaError(f"$schema {named!r:.120} is not known; use Draft 2020-12, 2019-09 or 7, or leave it out")
    from jsonschema_rs import validator_cls_for  # as above

    return validator_cls_for(schema)


def _refuse_fans(document: SchemaDocument) -> None:
    span = breadth(document.root)
    if span.looks > MAX_LOOKS:
        raise SchemaError(
            f"unions and references of the schema multiply to more than {MAX_LOOKS:,} checks of one value; "
            "let fewer alternatives refer to the same definition"
        )
    if span.depth > MAX_DEPTH:
        raise SchemaError(f"references and unions of the schema are nested deeper than {MAX_DEPTH} at one value")


def _pattern_options(schema: JsonSchema) -> "RegexOptions":
    """The linear engine, with a memory limit that many patterns share."""
    from jsonschema_rs import RegexOptions  # as above

    count = 1
    for here in survey.subschemas(schema):
        count += "pattern" in here
        count += len(here.get("patternProperties") or ())
    limit = max(65_536, min(10_485_760, _PATTERN_BYTES // count))
    return RegexOptions(size_limit=limit, dfa_size_limit=min(limit, 2_097_152))


class _Cache:
    """The most recently compiled schemas, limited in number and in bytes of their text."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Any, tuple[Schema, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Any, make: Callable[[], Schema], size: int) -> Schema:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found[0]
        schema = make()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = (schema, size)
                self._bytes += size
            while len(self._kept) > CACHE_SIZE or (self._bytes > CACHE_BYTES and len(self._kept) > 1):
                _, (_, freed) = self._kept.popitem(last=False)
                self._bytes -= freed
        return schema

    def __len__(self) -> int:
        return len(self._kept)


_CACHE = _Cache()
