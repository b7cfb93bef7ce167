"""Items: a list in a reply, item by item while the reply arrives.

Takes a contract and a source of chunks, and yields each item of the list as soon as it closes, converted by the
contract's type. An item that is not valid, or that the sources do not support, is not yielded but kept with its
findings. The verdict of the whole reply comes last.
"""

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from trueup.conform.survey import types_along
from trueup.conform.validating import validating
from trueup.contract.judging.conversation import completed
from trueup.contract.lint.nearest import did_you_mean
from trueup.contract.stream import Stream, inside
from trueup.verdict.facts import Finding
from trueup.verdict.paths import Parts, parse, render
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.contract.contract import Contract

X = TypeVar("X")
_LIST = frozenset({"array", "null"})


class RefusedItem(msgspec.Struct, frozen=True):
    """An item that is not valid: its position in the list, its data, and its findings."""

    index: int
    """The position of the item in the list, from 0."""
    data: Any
    """The plain data of the item."""
    findings: tuple[Finding, ...]
    """The findings about the item."""


class Items(Generic[X]):
    """The items of a list, each as soon as it has closed; `Contract.items()` makes one. Iterate with `for` or `async for`.

    `refused` contains the items that are not valid. `withdrawn` contains items that were yielded before the reply
    switched to another list; the items of that list follow. `verdict` is the verdict of the whole reply, available
    after the last item: a valid item does not mean that the rest of the reply is valid. `contract` is the contract of
    the whole reply; `source`, `path` and `context` are the same as for `Contract.items`.
    """

    __slots__ = (
        "_begun",
        "_context",
        "_given",
        "_grounding",
        "_item",
        "_known",
        "_path",
        "_stream",
        "_taken",
        "refused",
        "withdrawn",
    )

    def __init__(
        self, contract: "Contract[Any]", source: Any, path: str | None = None, context: dict[str, Any] | None = None
    ) -> None:
        self._path = _list_in(contract) if path is None else _known(contract, _read(path))
        self._item = contract.item_contract(self._path)
        self._stream = Stream(contract, source, context)
        self._context = context
        self._grounding = None if contract.meaning is None else contract.meaning.grounding
        self._known = completed([], context or {}) if self._grounding is not None else {}
        self._begun = 0  # how many times everything so far turned out to be reasoning
        self._taken: list[Any] = []  # the data of the items that were judged
        self._given: list[X] = []
        self.refused: list[RefusedItem] = []
        self.withdrawn: list[X] = []

    @property
    def verdict(self) -> Verdict[Any]:
        """The verdict of the whole reply, once the last item has been taken."""
        return self._stream.verdict

    def __iter__(self) -> Iterator[X]:
        for _ in self._stream.steps():
            yield from self._closed()
        yield from self._left()

    async def __aiter__(self) -> AsyncIterator[X]:
        async for _ in self._stream.asteps():
            for item in self._closed():
                yield item
        for item in self._left():
            yield item

    def _closed(self) -> Iterator[X]:
        if self._stream.restarts > self._begun:
            self._begun = self._stream.restarts
            self._withdraw()
        for index, data in self._stream.closed_items(self._path, len(self._taken)):
            yield from self._judged(index, data)

    def _withdraw(self) -> None:
        """Withdraw the items that were yielded: they belong to a list that does not count."""
        self.withdrawn += self._given
        self._given, self._taken, self.refused = [], [], []

    def _left(self) -> Iterator[X]:
        """Compare with the whole reply; if it is refused, the last item may be the start of a truncated one."""
        verdict = self._stream.verdict
        here = verdict.data if verdict.ok else None
        for slot in self._path:
            here = inside(here, slot)
        if here is not None and not isinstance(here, list):
            raise ValueError(f"the value at {render(self._path)} is not a list; name the list with path=")
        whole = here or []
        if verdict.ok and whole[: len(self._taken)] != self._taken:
            self._withdraw()
        for index, data in enumerate(whole[len(self._taken) :], len(self._taken)):
            yield from self._judged(index, data)

    def _judged(self, index: int, data: Any) -> Iterator[X]:
        with validating(self._context):
            verdict = None if self._item is None else self._item.check_value(data)
        self._taken.append(data if verdict is None else verdict.data)
        unfounded = self._unfounded(index, self._taken[-1]) if verdict is None or verdict.ok else ()
        if unfounded:
            self.refused.append(RefusedItem(index, self._taken[-1], unfounded))
        elif verdict is None or verdict.ok:
            value: Any = data if verdict is None else verdict.value
            self._given.append(value)
            yield value
        else:
            at = render((*self._path, index))
            found = (msgspec.structs.replace(one, path=at + one.path[1:], span=None) for one in verdict.errors)
            self.refused.append(RefusedItem(index, verdict.data, tuple(found)))

    def _unfounded(self, index: int, data: Any) -> tuple[Finding, ...]:
        """The findings of a grounded contract about an item alone; the verdict of the whole reply compares items."""
        if self._grounding is None:
            return ()
        found = self._grounding.judge_part((*self._path, index), data, self._known)
        return tuple(one for one in found if one.level == "error")


def _read(path: str) -> Parts:
    """A path such as `$.page.rows`, or the name of a member."""
    return parse(path) if path.startswith("$") else (path,)


def _known(contract: "Contract[Any]", path: Parts) -> Parts:
    """The path, if the contract may have a list there."""
    schema = contract.schema
    if schema is None or not path:
        return path
    types = types_along(schema.place, path)
    if types and "array" not in types:
        raise ValueError(
            f"the value at {render(path)} is not a list but {' or '.join(sorted(types))}; name a list with path="
        )
    if not types and schema.is_type and len(path) == 1 and schema.root_keys and path[0] not in schema.root_keys:
        raise ValueError(
            f"there is no {path[0]!r} in the contract. {did_you_mean(str(path[0]), schema.root_keys)}".rstrip()
        )
    return path


def _list_in(contract: "Contract[Any]") -> Parts:
    """The path of the list in a contract: the root, or the only member that is a list."""
    schema = contract.schema
    if schema is None:
        raise ValueError("`items` needs a list in JSON: give the contract a schema, such as list[Model]")
    if "array" in schema.types:
        return ()
    lists = [name for name in sorted(schema.root_keys) if _is_list(types_along(schema.place, (name,)))]
    if len(lists) == 1:
        return (lists[0],)
    why = f"has several lists ({', '.join(lists)})" if lists else "has no list at its root or among its members"
    raise ValueError(f"the contract {why}; name the list of the items with path=")


def _is_list(types: frozenset[str]) -> bool:
    return "array" in types and types <= _LIST
