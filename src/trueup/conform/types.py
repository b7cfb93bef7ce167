"""Python types as schemas: takes a type, and returns its JSON Schema, its own judgement and its own reading of JSON data.

pydantic reads its own types and every annotation with constraints or validators that msgspec does not enforce; msgspec reads the
others. The schema guides coercion and explains faults, but the type alone decides whether data are valid. pydantic is imported only
if it is needed.
"""

import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Annotated, Any, NamedTuple, Protocol, get_args, get_origin

import msgspec

from trueup.conform.annotations import AnnotationContents, code_in, contents_of
from trueup.conform.document import JsonSchema
from trueup.conform.own_code import OwnCode
from trueup.conform.readings import Converted, by_msgspec, fields_of, read
from trueup.conform.refusals import SchemaError
from trueup.verdict import paths
from trueup.verdict.bugs import bug_in, is_fault, pointed, refusal
from trueup.verdict.codec import written
from trueup.verdict.facts import Finding, finding

Built = tuple[Any, list[Finding]]
Read = tuple[Any, list[Converted]]
Parts = paths.Parts

_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType)
_KEY = "key` in `"  # msgspec's text before the place of a mapping with a faulty key
_FIELDS = {"Object missing required field": "missing", "Object contains unknown field": "extra"}
HOW = "use a pydantic model, a dataclass, a TypedDict, a msgspec Struct or a JSON Schema"


class Accept(Protocol):
    """Judges JSON data; `text` is the same data as JSON text."""

    def __call__(self, data: Any, text: bytes | None = None) -> Built: ...


class ReadBack(Protocol):
    """Reads data the way a type does, from the value that it built; `text` is the same data as JSON text."""

    def __call__(self, data: Any, value: Any, text: bytes | None = None) -> Read: ...


class PythonType(NamedTuple):
    """The JSON side of a Python type.

    `accept` returns the value that the type builds from JSON data (and from their text, if it is known), or findings. An exception that
    is a bug in the user's code is passed on.
    `read` returns the data as the type reads them. `wide` returns the place that may have more faults than the reported one, or None if
    every fault is reported. `names` are all keys that the type takes at the root, `item` is the type of the items of a list, `aliases`
    are alternative names of fields anywhere, and `own_code` says which validators the type has.
    """

    schema: JsonSchema
    accept: Accept
    read: ReadBack
    wide: Callable[[Parts], Parts | None]
    names: frozenset[str] = frozenset()
    item: Any = None
    aliases: dict[str, list[str]] = {}
    own_code: Callable[[], OwnCode] = OwnCode


def python_type(source: Any) -> PythonType:
    """The JSON side of a Python type; raises `SchemaError` if no library can read the type.

    >>> from typing import Annotated
    >>> python_type(Annotated[int, msgspec.Meta(ge=1)]).accept(0)[1][0].message
    'Value: Expected `int` >= 1'
    """
    if isinstance(source, PythonType):
        return source
    if isinstance(source, list | tuple | set | int | float | None):
        raise SchemaError(f"{source!r:.80} is neither a JSON Schema nor a type")
    if isinstance(source, _FUNCTIONS):
        name = source.__qualname__
        raise SchemaError(
            f"{name} is a function, not a type; pass a function that the model may call as a tool: tools=[{name}]"
        )
    return _by_library(source)._replace(names=_names(source), item=_item(source), aliases=_aliases(source))


def _by_library(source: Any) -> PythonType:
    inside = contents_of(source)
    if inside.models or inside.foreign is not None:
        return _constrained(source, inside)
    try:
        return _by_msgspec(source, converts=inside.converts)
    except (TypeError, NameError, ValueError) as error:
        # Only a caller who already uses pydantic can have a type with its models.
        if "pydantic" in sys.modules:
            return _by_pydantic(source)
        detail = str(error).splitlines()[-1] if str(error) else type(error).__name__
        raise SchemaError(
            f"{source!r:.80} is neither a JSON Schema nor a type that can be read: {detail}; {HOW}"
        ) from None


def _aliases(source: Any) -> dict[str, list[str]]:
    """Alternative names of fields in the classes of a type, by the first name."""
    found: dict[str, list[str]] = {}
    for part in code_in(source):
        for field in (fields_of(part) if isinstance(part, type) else None) or ():
            if not field.plain:
                others = [str(way[0]) for way in field.ways if len(way) == 1 and way[0] != field.name]
                found.setdefault(field.name, []).extend(others)
    return found


def _names(source: Any) -> frozenset[str]:
    """Every key under which a class accepts one of its fields."""
    plain = get_origin(source) or source
    fields = fields_of(plain) if isinstance(plain, type) else None
    return frozenset(str(way[0]) for field in fields or () for way in field.ways)


def _item(source: Any) -> Any:
    """The type of the items, if a type is a list."""
    if get_origin(source) is Annotated:
        source = source.__origin__
    args = get_args(source)
    return args[0] if get_origin(source) in (list, set, frozenset) and len(args) == 1 else None


def _constrained(source: Any, inside: AnnotationContents) -> PythonType:
    """A type that only pydantic enforces in full; refused if part of it belongs to msgspec, because a limit would be lost."""
    what = "its pydantic models" if inside.foreign is None else _shown(inside.foreign)
    if inside.structs is not None:
        name = inside.structs.__qualname__
        raise SchemaError(f"msgspec, which reads {name}, does not enforce {what}; use msgspec.Meta(…) in a Struct")
    if inside.meta is not None:
        raise SchemaError(
            f"{source!r:.80} combines msgspec limits ({inside.meta!r:.60}) with {what}, and no library enforces both; "
            "use annotated_types or pydantic's Field for all of them"
        )
    return _by_pydantic(source)


def _shown(note: Any) -> str:
    """A constraint as it is written in code."""
    return "Field(…)" if type(note).__name__ == "FieldInfo" else f"{note!r:.60}"


def _by_pydantic(source: Any) -> PythonType:
    try:
        from trueup.conform.pydantic_types import pydantic_type
    except ImportError:
        raise SchemaError(f"pydantic enforces the limits of {source!r:.80}; install pydantic") from None
    return pydantic_type(source)


def _by_msgspec(source: Any, *, converts: bool) -> PythonType:
    schema = msgspec.json.schema(source)
    decoder = msgspec.json.Decoder(source)
    name = type_name(source)

    def accept(data: Any, text: bytes | None = None) -> Built:
        try:
            return decoder.decode(written(data) if text is None else text), []
        except msgspec.ValidationError as error:
            if (bug := bug_in(error)) is not None:
                raise pointed(bug, f"the type {name}", source) from None
            message, _, place = str(error).partition(" - at `")
            return None, [_fault(_place(place.removesuffix("`"), message, data, decoder), message)]
        except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
            return None, [refused("$", str(error))]
        except Exception as error:  # noqa: BLE001 - a user's `__post_init__` may raise anything
            if is_fault(error):  # an assertion, which msgspec does not collect
                return None, [refused("$", refusal(error) or type(error).__name__)]
            raise pointed(error, f"the type {name}", source)  # noqa: B904 - it is the user's own exception

    def read_back(data: Any, value: Any, text: bytes | None = None) -> Read:  # noqa: ARG001 - not needed here
        return read(data, value, by_msgspec) if converts else (data, [])

    return PythonType(schema, accept, read_back, lambda _: ())  # msgspec reports only the first fault


def _fault(place: str, message: str) -> Finding:
    """msgspec's message as a finding; a missing or unknown field gets its own path, not the path of the object around it."""
    field = message.removesuffix("`").partition(" field `")[2]
    for words, kind in _FIELDS.items():
        if field and message.startswith(words):
            return refused(paths.render((*paths.parse(place), field)), message, kind)
    return refused(place, message)


def _place(place: str, message: str, data: Any, decoder: "msgspec.json.Decoder[Any]") -> str:
    """The path that msgspec names; for a mapping it only says `[...]` or "key in", so the member is found by bisection."""
    if not place:
        return "$"
    if place.startswith(_KEY):
        place = place.removeprefix(_KEY) + "[...]"
    known: Parts = ()
    for part in place.split("[...]")[:-1]:
        known = (*known, *paths.parse(f"${part.removeprefix('$')}"))
        mapping = paths.value_at(data, known)
        if not isinstance(mapping, dict):
            return paths.render(known)
        known = (*known, _faulty(known, list(mapping), message, data, decoder))
    return paths.render((*known, *paths.parse(f"${place.rpartition('[...]')[2].removeprefix('$')}")))


def _faulty(path: Parts, keys: list[str], message: str, data: Any, decoder: "msgspec.json.Decoder[Any]") -> str:
    """The first key of a mapping with the same fault."""
    mapping = paths.value_at(data, path)
    while len(keys) > 1:
        half = keys[: len(keys) // 2]
        try:
            decoder.decode(written(paths.with_value(data, path, {key: mapping[key] for key in half})))
            is_here = False
        except Exception as error:  # noqa: BLE001 - only its message counts here
            is_here = str(error).partition(" - at `")[0] == message
        keys = half if is_here else keys[len(half) :]
    return keys[0]


def type_name(source: Any) -> str:
    """The name of a type as it is written in code."""
    if get_origin(source) is Annotated:
        return f"Annotated[{type_name(source.__origin__)}, …]"
    return source.__qualname__ if isinstance(source, type) else f"{source!r:.80}"


def refused(path: str, message: str, kind: str = "", arms: dict[str, str] | None = None) -> Finding:
    """A type's finding about data at a place; `arms` has the reporting arm of each union around it, by the union's place."""
    parts = paths.parse(path)
    where = f'Field "{".".join(map(str, parts))}"' if parts else "Value"
    short = message if len(message) <= 200 else message[:199] + "…"
    data = {"reason": short} | ({"kind": kind} if kind else {}) | ({"arms": arms} if arms else {})
    return finding("V012", path, f"{where}: {short}", data=data, hint=f"{where} must be changed: {short}.")
