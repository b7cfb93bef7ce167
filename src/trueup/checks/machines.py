"""Machines: reads the name of a conversation's state, and its transitions, from the object that keeps them.

Takes a name, an enum member, a dict of graph state, or a running machine (`transitions`, `python-statemachine`,
anything with a `state`); returns names. It imports none of these libraries: objects are recognized by their attributes.
"""

import enum
from collections.abc import Iterable, Mapping
from typing import Any

_KEYS = ("state", "current_state", "fsm_state", "conversation_state", "dialogue_state", "stage", "step", "node")
_DATA = ("collected_data", "data", "slots", "context")
_DEPTH = 4


def state_name(source: Any, depth: int = 0, *, by_name: bool = False) -> str | None:
    """The name of the state that an object is in, or None if the object does not say.

    An enum member means its value, if that is a text, or else its name; with `by_name`, always its name.

    >>> state_name("BOOKED"), state_name({"messages": [], "current_state": "IDLE"})
    ('BOOKED', 'IDLE')
    """
    if source is None or depth > _DEPTH:
        return None
    if isinstance(source, enum.Enum):
        return source.value if isinstance(source.value, str) and not by_name else source.name
    if isinstance(source, str):
        return source or None
    if isinstance(source, Mapping):
        return _of_mapping(source, depth, by_name=by_name)
    if isinstance(source, set | frozenset | list | tuple) or type(source).__name__ == "OrderedSet":
        inner = [state_name(item, depth + 1, by_name=by_name) for item in list(source)[:2]]
        return inner[0] if len(inner) == 1 else None
    return _of_object(source, depth, by_name=by_name)


def collected(context: Mapping[str, Any], machine: Any = None) -> Mapping[str, Any]:
    """The data that a conversation has collected: the context's `data`, or the data in its state or its machine.

    A dict, a machine or another object keeps it as `collected_data`, `data`, `slots` or `context`, or else in its own
    fields. A unit of a batch may have it among its fields.

    >>> collected({"state": {"current_state": "ASKING", "collected_data": {"first_name": "Ada"}}})
    {'first_name': 'Ada'}
    """
    data = context.get("data")
    if data is not None:
        return fields_of(data)
    state = context.get("state")
    if state is None or type(state) is str:
        given = context.get("input")
        kept = given.get("data") if isinstance(given, Mapping) else None
        return fields_of(kept) if kept is not None else _kept_by(machine)
    return _kept_by(state)


def fields_of(source: Any) -> Mapping[str, Any]:
    """The fields of an object with data: a mapping unchanged, an object by its attributes.

    >>> from types import SimpleNamespace
    >>> fields_of(SimpleNamespace(first_name="Ada", _lock=None))
    {'first_name': 'Ada'}
    """
    if isinstance(source, Mapping):
        return source
    if source is None or isinstance(source, str | bytes | int | float | enum.Enum | type):
        return {}
    names = getattr(type(source), "__struct_fields__", None) or getattr(type(source), "_fields", None)
    if isinstance(names, tuple):  # msgspec structs and named tuples have no `__dict__`
        return {name: getattr(source, name, None) for name in names}
    own = getattr(source, "__dict__", None) or {}
    return {name: value for name, value in own.items() if not name.startswith("_")}


def _kept_by(source: Any, depth: int = 0) -> Mapping[str, Any]:
    """The data that an object with a state has collected."""
    if source is None or depth > _DEPTH or isinstance(source, str | enum.Enum):
        return {}
    if isinstance(source, Mapping):
        return next((fields_of(source[key]) for key in _DATA if _holds_data(source.get(key))), source)
    values = getattr(source, "values", None)
    if isinstance(values, Mapping) and hasattr(source, "next"):  # a snapshot of LangGraph
        return _kept_by(values, depth + 1)
    for name in _DATA:
        inner = getattr(source, name, None)
        if _holds_data(inner):
            return fields_of(inner)
    model = getattr(source, "model", None)
    if model is not None and model is not source and not isinstance(model, str):
        return _kept_by(model, depth + 1)
    return fields_of(source)


def _holds_data(value: Any) -> bool:
    return isinstance(value, Mapping) or (not callable(value) and bool(fields_of(value)))


def _of_mapping(source: Mapping[Any, Any], depth: int, *, by_name: bool) -> str | None:
    for key in _KEYS:
        if source.get(key) is not None:
            return state_name(source[key], depth + 1, by_name=by_name)
    return None


def _of_object(source: Any, depth: int, *, by_name: bool) -> str | None:
    if _has(source, "current_state_value"):  # python-statemachine; its `current_state` warns
        return _of_statemachine(source, depth, by_name=by_name)
    values = getattr(source, "values", None)
    if isinstance(values, Mapping) and hasattr(source, "next"):  # a snapshot of LangGraph
        return state_name(values, depth + 1, by_name=by_name) or state_name(
            getattr(source, "next", None), depth + 1, by_name=by_name
        )
    for name in ("state", "current_state"):
        inner = getattr(source, name, None)
        if inner is not None and not callable(inner):
            return state_name(inner, depth + 1, by_name=by_name)
    model = getattr(source, "model", None)  # a machine of `transitions` keeps the state in its model
    if model is not None and model is not source and model != "self":
        return state_name(model, depth + 1, by_name=by_name)
    for name in ("id", "name", "value"):
        inner = getattr(source, name, None)
        if isinstance(inner, str):
            return inner
    return None


def _of_statemachine(source: Any, depth: int, *, by_name: bool) -> str | None:
    value = source.current_state_value
    if isinstance(value, str | enum.Enum):
        return state_name(value, depth + 1, by_name=by_name)
    states = [state for state in _states(source) if _value(state) == value]
    return states[0].id if states else None


def _has(source: Any, name: str) -> bool:
    return hasattr(type(source), name) or name in getattr(source, "__dict__", ())


def _states(machine: Any) -> list[Any]:
    states = getattr(machine, "states", None)
    return list(states.values() if isinstance(states, Mapping) else states or ())


def _value(state: Any) -> Any:
    return getattr(state, "value", None)


def transitions_of(machine: Any) -> tuple[str | None, dict[str, tuple[str, ...]]] | None:
    """The first state of a machine and, for each state, those that may follow; None for objects that are not machines.

    Transitions from every state to every state (`to_…` of `transitions`) are left out: they carry no information.
    """
    events = getattr(machine, "events", None)
    states = _states(machine)
    if isinstance(events, Mapping) and isinstance(getattr(machine, "states", None), Mapping):
        return _of_transitions(machine, events)
    if states and all(hasattr(state, "transitions") for state in states):
        first = next((_id(state) for state in states if getattr(state, "initial", False)), None)
        return first, {_id(state): _unique(map(_id, _targets(state))) for state in states}
    return None


def _of_transitions(machine: Any, events: Mapping[str, Any]) -> tuple[str | None, dict[str, tuple[str, ...]]]:
    follow: dict[str, list[str]] = {state_name(name) or str(name): [] for name in machine.states}
    for name, event in events.items():
        if name.startswith("to_"):
            continue
        for source, ways in event.transitions.items():
            follow.setdefault(source, []).extend(way.dest for way in ways if way.dest)
    return state_name(getattr(machine, "initial", None)), {name: _unique(ends) for name, ends in follow.items()}


def _targets(state: Any) -> list[Any]:
    return [way.target for way in state.transitions if getattr(way, "target", None) is not None]


def _id(state: Any) -> str:
    value = _value(state)
    return value if isinstance(value, str) else str(getattr(state, "id", state))


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
