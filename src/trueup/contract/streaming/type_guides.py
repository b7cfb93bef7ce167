"""Guides by Python types: predict each closed member of a growing value in the form that the contract's type will give
it.

Takes a type; for each member that closes, returns its data and its Python value. A model is validated through a twin in
which every field may be missing, so that its own validators, aliases and constraints apply. A member that depends on
the others (a validator of the whole model, a union) waits until its container has closed.
"""

import dataclasses
import sys
import typing
from collections.abc import Iterable, Mapping, Sequence
from types import UnionType
from typing import TYPE_CHECKING, Any

import msgspec

from trueup.conform.annotations import hints_of, is_typed_dict
from trueup.conform.members import UNBUILT, Settled, growing_members
from trueup.conform.refusals import SchemaError
from trueup.conform.schema import Schema
from trueup.conform.survey import places_along
from trueup.contract.streaming.visible_value import Guide
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.contract.contract import Contract

_BARE = (str, int, bool)
_LISTS = (list, Sequence, Iterable)  # in a set, the next item may equal an earlier one
_DICTS = (dict, Mapping)
_MARKS = (typing.Required, typing.NotRequired)
_MOST_STEPS = 16  # nested aliases and annotations


class _Typed:
    """A container of a Python type in which all members have one type, or the root."""

    __slots__ = ("_hint", "_types", "fields", "label", "members", "names")

    def __init__(self, types: "_Types", hint: Any, label: str) -> None:
        self._types = types
        self._hint = hint  # of every member
        self.members = types.contract_for(hint)  # judges each of them
        self.label = label
        self.fields: Mapping[str, str] = {}
        self.names: Iterable[str] = ()

    def inside(self, slot: Any, container: Any) -> Guide | None:  # noqa: ARG002 - one for all
        return self._types.guide(self._hint, container)

    def settle(self, slot: Any, data: Any) -> Settled | None:
        if self._hint in _BARE and type(data) is self._hint:
            return Settled(slot, data, data)
        verdict = _judged(self.members, data)
        return Settled(slot, data, UNBUILT) if verdict is None else Settled(slot, verdict.data, _built(verdict))

    def closed(self, written: Any, shown: Any) -> Any:  # noqa: ARG002 - the guide around it settles it as a whole
        return None


class _Root(_Typed):
    """The root, treated as the only member of a container."""

    __slots__ = ()

    def __init__(self, types: "_Types", hint: Any, contract: "Contract[Any]") -> None:
        super().__init__(types, hint, _label(hint))
        self.members = contract
        own = types.guide(hint, {})
        self.names = () if own is None else own.names


class _Record:
    """A class with fields: a pydantic model, a dataclass, a TypedDict or a Struct."""

    __slots__ = ("_bare", "_hints", "_twin", "_types", "fields", "label", "names")

    def __init__(self, types: "_Types", source: Any) -> None:
        self._types = types
        self.label = _label(source)
        self._hints, self.fields, twin = _model(source) if "__pydantic_fields__" in vars(source) else _fields(source)
        is_plain = twin is not None and not _changes_text(source)
        self._bare = {key: hint for key, hint in self._hints.items() if hint in _BARE} if is_plain else {}
        self.names = tuple(self.fields.values())
        self._twin = None if twin is None else types.contract_for(twin)

    def inside(self, slot: Any, container: Any) -> Guide | None:
        hint = self._hints.get(slot)
        return None if hint is None else self._types.guide(hint, container)

    def settle(self, slot: Any, data: Any) -> Settled | None:
        if self._bare.get(slot) is type(data):
            return Settled(slot, data, data)
        verdict = _judged(self._twin, {slot: data}) if slot in self.fields else None
        if verdict is None or not isinstance(verdict.data, dict):
            return Settled(slot, data, UNBUILT)
        if slot not in verdict.data:
            return None if data is None else Settled(slot, data, UNBUILT)
        built = _built(verdict)
        if built is not UNBUILT:
            built = built[slot] if isinstance(built, dict) else getattr(built, self.fields[slot], UNBUILT)
        return Settled(slot, verdict.data[slot], built)

    def closed(self, written: Any, shown: Any) -> Any:  # noqa: ARG002 - as above
        return None


class _Types:
    """The guides of one contract, made when a value first has such a container."""

    __slots__ = ("_contracts", "_guides", "_of")

    def __init__(self, of: "Contract[Any]") -> None:
        self._of = of
        self._guides: dict[Any, Any] = {}
        self._contracts: dict[Any, Any] = {}

    def guide(self, hint: Any, container: Any) -> "_Typed | _Record | None":
        """The guide for a container with a type hint; None if its members cannot be settled one by one."""
        key = (id(hint), type(container))
        if key not in self._guides:  # the hint is kept, so that its id is not reused
            self._guides[key] = (hint, self._made(_plain(hint), type(container)))
        guide: _Typed | _Record | None = self._guides[key][1]
        return guide

    def _made(self, hint: Any, kind: type) -> "_Typed | _Record | None":
        origin, args = typing.get_origin(hint) or hint, typing.get_args(hint)
        if kind is dict and _is_record(origin):
            return _Record(self, hint if _is_model(hint) else origin)
        if kind is dict and origin in _DICTS and len(args) == 2:
            return _Typed(self, args[1], _label(hint))
        if kind is list and origin in _LISTS and len(args) == 1:
            return _Typed(self, args[0], _label(hint))
        if kind is list and origin is tuple and len(args) == 2 and args[1] is Ellipsis:
            return _Typed(self, args[0], _label(hint))
        return None

    def contract_for(self, hint: Any) -> "Contract[Any] | None":
        """A contract for a part of the value, with the options of the whole; None if its type cannot be read alone."""
        from trueup.contract.contract import Contract  # it makes this

        of = self._of
        if id(hint) not in self._contracts:
            try:
                made = Contract(hint, accept=of.accept, coerce=of.options, max_size=of.max_size, max_depth=of.max_depth)
            except (SchemaError, TypeError, ValueError):
                made = None
            self._contracts[id(hint)] = (hint, made)
        contract: Contract[Any] | None = self._contracts[id(hint)][1]
        return contract


def guide_of(contract: "Contract[Any]", source: Any) -> Guide | None:
    """How the values of a contract are shown while they grow; `source` is its schema or its type, in the given form."""
    schema = contract.schema
    if schema is None:
        return None
    if not schema.is_type:
        return growing_members(schema, contract.options)
    return _Root(_Types(contract), getattr(source, "_type", source), contract)


def item_contract(contract: "Contract[Any]", source: Any, path: Sequence[Any]) -> "Contract[Any] | None":
    """The contract for the items of the list at a path; None if the contract does not describe them."""
    from trueup.contract.contract import Contract  # as above

    schema = contract.schema
    if schema is None:
        return None
    if schema.is_type:
        kinds: list[Any] = [[] if isinstance(slot, int) else {} for slot in path] + [
            []
        ]  # the container of each slot; a list
        guide: Any = _Types(contract).guide(getattr(source, "_type", source), kinds[0])
        for slot, kind in zip(path, kinds[1:], strict=True):
            guide = None if guide is None else guide.inside(slot, kind)
        if isinstance(guide, _Typed):
            return guide.members
    lists = places_along(schema.place, tuple(path))
    places = [here.child("items") for here in lists if isinstance(here.rules.get("items"), dict)]
    if len(places) != 1:
        return None
    item = Schema(places[0], places[0].judge)
    return Contract(item, accept=contract.accept, coerce=contract.options, max_depth=contract.max_depth)


def _judged(contract: "Contract[Any] | None", data: Any) -> Verdict[Any] | None:
    """The verdict on a part; None if a user's validator fails, perhaps on members that have not arrived."""
    if contract is None:
        return None
    try:
        return contract.check_value(data)
    except Exception:  # noqa: BLE001 - whatever the validator raises is raised again when the whole reply is judged
        return None


def _built(verdict: Verdict[Any]) -> Any:
    return verdict.value if verdict.ok else UNBUILT


def _plain(hint: Any) -> Any:
    """A hint without its wrappers: annotations that do not validate, aliases, `| None`."""
    for _ in range(_MOST_STEPS):
        origin = typing.get_origin(hint)
        if origin is typing.Annotated:
            if any(type(note).__name__.endswith("Validator") for note in hint.__metadata__):
                return None
            hint = hint.__origin__
        elif origin in (typing.Union, UnionType):
            arms = [arm for arm in typing.get_args(hint) if arm is not type(None)]
            if len(arms) != 1:
                return None
            hint = arms[0]
        elif origin in _MARKS:
            hint = typing.get_args(hint)[0]
        elif hasattr(hint, "__value__") and not isinstance(hint, type):
            hint = hint.__value__
        else:
            return hint
    return None


def _label(hint: Any) -> str:
    """A type as people write it, without module names."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _label(args[0])
    if origin in (typing.Union, UnionType):
        return " | ".join("None" if arg is type(None) else _label(arg) for arg in args)
    name = getattr(origin or hint, "__name__", None) or str(hint)
    return f"{name}[{', '.join('...' if arg is Ellipsis else _label(arg) for arg in args)}]" if args else name


def _is_record(source: Any) -> bool:
    if not isinstance(source, type):
        return False
    if issubclass(source, msgspec.Struct):
        return not source.__struct_config__.array_like
    return dataclasses.is_dataclass(source) or is_typed_dict(source) or _is_model(source)


def _is_model(source: Any) -> bool:
    pydantic = sys.modules.get("pydantic")
    if pydantic is None or not isinstance(source, type) or not issubclass(source, pydantic.BaseModel):
        return False
    return not issubclass(source, pydantic.RootModel)


def _changes_text(source: Any) -> bool:
    """Whether a class has validators for its fields, or options with which pydantic changes or refuses text."""
    decorators = getattr(source, "__pydantic_decorators__", None)
    config = _config(source)
    return bool(decorators and decorators.field_validators) or any(name.startswith("str_") for name in config)


Described = tuple[dict[str, Any], dict[str, str], Any]


def _fields(source: Any) -> Described:
    """The hints of a class by their names in JSON, its fields by these names, and a twin in which no field is required."""
    hints = hints_of(source)
    names = {name: name for name in hints}
    if isinstance(source, type) and issubclass(source, msgspec.Struct):
        names = {field.encode_name: field.name for field in msgspec.structs.fields(source)}
    elif dataclasses.is_dataclass(source):
        names = {field.name: field.name for field in dataclasses.fields(source)}
    held = {key: _unmarked(hints[name]) for key, name in names.items() if name in hints}
    twin = typing.TypedDict(f"Partial{source.__name__}", held, total=False) if held else None  # type: ignore[operator]
    return held, names, twin


def _unmarked(hint: Any) -> Any:
    return typing.get_args(hint)[0] if typing.get_origin(hint) in _MARKS else hint


def _model(source: Any) -> Described:
    """The same for a pydantic model or dataclass: the twin is a subclass, so that it has the same validators."""
    import pydantic

    names: dict[str, str] = {}
    hints: dict[str, Any] = {}
    decorators = source.__pydantic_decorators__
    config = _config(source)
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    fields: dict[str, Any] = {}
    validators = decorators.field_validators.values()
    early = {name for one in validators if one.info.mode != "after" for name in one.info.fields}
    for name, info in source.__pydantic_fields__.items():
        alias = info.validation_alias if info.validation_alias is not None else info.alias
        keys = _keys(alias) if alias is not None else [name]
        names |= dict.fromkeys(_heads(alias), name)
        names |= dict.fromkeys([*keys, name] if by_name else keys, name)
        hint = typing.Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation
        hints |= dict.fromkeys(keys, None if name in early or "*" in early else hint)
        if info.is_required():
            fields[name] = (typing.Annotated[info.annotation, info], pydantic.Field(None, validate_default=False))
    kinds = [one.info.mode for one in decorators.model_validators.values()]
    if decorators.root_validators or any(kind != "after" for kind in kinds):
        return hints, names, None  # its effect on a member depends on the others
    own: dict[str, Any] = {name: pydantic.model_validator(mode="after")(_same) for name in decorators.model_validators}
    try:
        if not _is_model(source):
            return hints, names, _dataclass_twin(source, fields, own)
        own["model_post_init"] = _nothing
        twin = pydantic.create_model(
            f"Partial{source.__name__}", __base__=source, __module__=source.__module__, __validators__=own, **fields
        )
    except Exception:  # noqa: BLE001 - a class of the user's may refuse to be subclassed in any way
        return hints, names, None
    return hints, names, twin


def _dataclass_twin(source: Any, fields: dict[str, Any], own: dict[str, Any]) -> Any:
    """A pydantic dataclass with the hints and defaults of `fields`, and the validators in `own`."""
    import pydantic.dataclasses

    body = {
        "__module__": source.__module__,
        "__annotations__": {name: hint for name, (hint, _) in fields.items()},
        "__post_init__": _prepared,
        **{name: default for name, (_, default) in fields.items()},
        **own,
    }
    own_class = type(f"Partial{source.__name__}", (source,), body)
    is_frozen = source.__dataclass_params__.frozen  # both have to be
    return pydantic.dataclasses.dataclass(own_class, config=_config(source), frozen=is_frozen, kw_only=True)


def _config(source: Any) -> Any:
    """The options of a class that pydantic validates."""
    return getattr(source, "model_config", None) or getattr(source, "__pydantic_config__", None) or {}


def _keys(alias: Any) -> list[str]:
    """The keys of an alias."""
    if isinstance(alias, str):
        return [alias]
    return [key for choice in getattr(alias, "choices", ()) for key in _keys(choice)]


def _heads(alias: Any) -> list[str]:
    """The keys of the containers through which an alias leads."""
    own = [alias.path[0]] if getattr(alias, "path", None) else []
    return [*own, *(key for choice in getattr(alias, "choices", ()) for key in _heads(choice))]


def _same(self: Any) -> Any:
    return self


def _nothing(self: Any, context: Any, /) -> None:
    """Nothing is prepared before the whole value is there."""


def _prepared(self: Any, *_: Any) -> None:
    """The same in a dataclass."""
