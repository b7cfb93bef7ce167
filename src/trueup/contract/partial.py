"""Partial: the part of a typed value that has arrived, as an object with the attributes of that type.

A stream makes it, and it never changes. Closed members are the same as in the whole value. A member that is still open
is another Partial, the start of a string, or a list of the items so far. Anything that has not arrived is None.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Generic

from trueup.verdict.verdict import T


class Partial(Generic[T]):
    """The part of a value that has arrived; `Contract(Model).stream(source)` yields one whenever there is more.

    The fields of the type are attributes; None means that the field has not arrived. `data` is the plain JSON data, and
    `complete` names the members that have closed and no longer change. A field that is itself called `data` or
    `complete` is an item: `part["data"]`. A Partial equals another one with the same data and the same closed members,
    and plain data that is equal to its own.

    Streams make it from `values` that have closed (by default the data), the `label` of the type and its `fields`
    (empty if there are none), the name of the member that is `opened` (None if there is none), and its `tail` so far.

    >>> from dataclasses import dataclass
    >>> from trueup import Contract
    >>> @dataclass
    ... class Person:
    ...     name: str
    ...     age: int
    >>> part = Contract(Person).stream().feed('{"age": "36", "name": "Ad')
    >>> part, part.age, part.complete
    (Partial[Person](age=36, name='Ad'), 36, ('age',))
    """

    __slots__ = ("_fields", "_label", "_open", "_values", "data")

    def __init__(
        self, data: Any, values: Any = None, *, label: str = "", fields: Iterable[str] = (), opened: Any = None
    ) -> None:
        self.data = data
        self._values = data if values is None else values  # in the type's form, by field
        self._label = label
        self._fields = fields  # all names that may exist
        self._open = opened  # the name of the member that is open

    @property
    def complete(self) -> tuple[Any, ...]:
        """The names of the members that have closed, in order of arrival; for a list, their positions."""
        values = self._values
        slots = range(len(values)) if isinstance(values, list) else values or ()
        return tuple(slot for slot in slots if slot != self._open)

    def __getattr__(self, name: str) -> Any:
        if name[:1] == "_":
            raise AttributeError(name)
        if isinstance(self._values, dict) and name in self._values:
            return self._values[name]
        if name in self._fields:
            return None
        raise AttributeError(f"{self._label or 'this value'} has no field {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        """The fields too, so that Python can complete a name and suggest one for a misspelled name."""
        held = self._values if isinstance(self._values, dict) else ()
        return [*super().__dir__(), *self._fields, *(name for name in held if name not in self._fields)]

    def __getitem__(self, slot: Any) -> Any:
        return self._values[slot] if self._values is not None else {}[slot]

    def __iter__(self) -> Iterator[Any]:
        """The items of a list; for an object, the names of its members."""
        return iter(self._values or ())

    def __len__(self) -> int:
        return len(self._values or ())

    def __contains__(self, member: object) -> bool:
        return member in (self._values or ())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Partial):
            return bool(self.data == other.data and self.complete == other.complete)
        return bool(self.data == other) if other is None or isinstance(other, dict | list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """The members so far: `Partial[Person](name='Ad')`."""
        head = f"Partial[{self._label}]" if self._label else "Partial"
        if isinstance(self._values, list):
            return f"{head}({self._values!r})"
        return f"{head}({', '.join(f'{name}={member!r}' for name, member in (self._values or {}).items())})"
