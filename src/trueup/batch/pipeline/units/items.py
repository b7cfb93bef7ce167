"""Makes units from items: permutation, cross product or one each, repeated as often as requested.

Takes a pipeline's processing section and its loaded items, and yields units one by one, each with a unique id. Two items whose
names make the same id are refused, and so is an item without a name. The number of units is known before the first one is made;
more than `processing.unit_limit` are refused.
"""

import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trueup.batch.pipeline.units.seeds import REPETITION_SEED, base_seed
from trueup.contract.lint.nearest import did_you_mean
from trueup.verdict.paths import Parts

Unit = dict[str, Any]
STRATEGIES = ("permutation", "cross_product", "direct")
MOST_ID = 4096  # characters; an id is data, never a file name
UNIT_LIMIT = 10_000_000  # units of a run, unless the configuration allows more
_COUNTED = 10**60  # a number of units beyond which nothing is counted
_MOST_FACTORS = 100_000


class ItemsError(ValueError):
    """The items cannot become units. `path` is the place in the configuration that they come from, `hint` a suggestion.

    `item` is the path of one item inside the file of the items, if the error is about one.
    """

    def __init__(
        self, message: str, path: Parts = ("processing", "items"), hint: str = "", item: Parts | None = None
    ) -> None:
        super().__init__(message)
        self.path = path
        self.hint = hint
        self.item = item


def make_units(processing: Mapping[str, Any], data: Any, most: int | None = None) -> Iterator[Unit]:
    """Every unit in order, at most `most` of them. Repetitions are interleaved, so that the first few show every item.

    >>> rows = [{"id": "a b", "n": 1}, {"id": "c/d", "n": 2}]
    >>> [u["unit_id"] for u in make_units({"strategy": "direct", "repeat": 2}, rows)]
    ['a_b__rep0000', 'c-d__rep0000', 'a_b__rep0001', 'c-d__rep0001']
    """
    strategy = processing.get("strategy") or "permutation"
    if strategy not in STRATEGIES:
        message = f"strategy must be one of {', '.join(STRATEGIES)}; got {strategy!r}"
        raise ItemsError(message, ("processing", "strategy"), did_you_mean(str(strategy), STRATEGIES))
    make = {"permutation": _permuted, "cross_product": _crossed, "direct": _direct}[strategy]
    repeat = _repeat(processing)
    most = None if most is None else min(most, sys.maxsize)
    refuse_too_many(processing, data, most)
    for twin in twins(processing, data):
        raise twin
    if repeat == 1:
        return itertools.islice(_distinct(make(processing, data)), most)
    wanted = None if most is None else min(most, 1 << 40)
    bases = list(itertools.islice(_distinct(make(processing, data)), wanted))
    return itertools.islice(_repeated(bases, repeat), most)


def refuse_too_many(processing: Mapping[str, Any], data: Any, most: int | None = None) -> None:
    """Raise ItemsError if there would be more units than the limit, without making any; `most` is the number of units requested."""
    limit = processing.get("unit_limit", UNIT_LIMIT)
    if type(limit) is not int or limit < 1:
        raise ItemsError(
            f"unit_limit must be a whole number of at least 1; got {repr(limit)[:60]}", ("processing", "unit_limit")
        )
    count, counted = count_units(processing, data)
    if min(count, count if most is None else most) <= limit:
        return
    path: Parts = ("processing", "repeat") if (processing.get("repeat") or 1) > 1 else ("processing",)
    hint = "Use fewer items, positions or repetitions, take the first with --max-units, or raise processing.unit_limit."
    raise ItemsError(f"{counted} make {_number(count)} units; the limit is {limit:,}", path, hint)


def count_units(processing: Mapping[str, Any], data: Any) -> tuple[int, str]:
    """The number of units, and how it is composed; extremely large numbers are cut short.

    >>> count_units({"strategy": "direct", "repeat": 3}, ["a", "b"])
    (6, '2 items, 3 times')
    """
    strategy = processing.get("strategy") or "permutation"
    repeat = _repeat(processing)
    times = f", {_number(repeat)} times" if repeat > 1 else ""
    if strategy == "direct":
        items = len(listed_items(processing, data))
        return _product((items, repeat)), f"{items:,} items{times}"
    if strategy == "permutation":
        positions, listed = _to_permute(processing, data)
        chosen = (len(listed) - used for used in range(len(positions)))
        said = f"{len(listed):,} items in {len(positions):,} positions{times}"
        return _product((*itertools.islice(chosen, _MOST_FACTORS), repeat)), said
    sizes = [len(items) for _, items in _groups(processing, data)]
    return _product((*sizes, repeat)), f"{' × '.join(f'{size:,}' for size in sizes[:8])} items{times}"


def _number(count: int) -> str:
    return f"{count:,}" if count < _COUNTED else f"more than 10^{len(str(_COUNTED)) - 1}"


def _product(factors: Iterable[int]) -> int:
    """The product of numbers, as far as it is counted; zero if one of them is zero."""
    found = 1
    factors = tuple(factors)
    if 0 in factors:
        return 0
    for factor in factors:
        found *= factor
        if found >= _COUNTED:
            return _COUNTED
    return found


def twins(processing: Mapping[str, Any], data: Any) -> Iterator[ItemsError]:
    """An error for each item without a name, or with a name that another one has, ignoring spaces and slashes.

    >>> [str(error) for error in twins({"strategy": "direct"}, ["a b", "c", "a_b"])]
    ["item 3 has the id 'a_b', like item 1: names must differ in more than spaces and slashes"]
    """
    for path, field, items in _named_lists(processing, data):
        seen: dict[str, int] = {}
        for index, item in enumerate(items):
            at = (*path, index)
            try:
                name = identify(_name_of(item, field))
            except ItemsError as error:
                yield ItemsError(str(error), item=at)
                continue
            first = seen.setdefault(name, index)
            if first != index:
                same = f"item {index + 1} has the id {name[:120]!r}, like item {first + 1}"
                yield ItemsError(f"{same}: names must differ in more than spaces and slashes", item=at)


def _named_lists(processing: Mapping[str, Any], data: Any) -> Iterator[tuple[Parts, str, list[Any]]]:
    """Each list of items, once for every field that names them, with its place in the file."""
    strategy = processing.get("strategy") or "permutation"
    common = _name_field(processing)
    if strategy == "direct":
        yield list_path(processing, data), common, listed_items(processing, data)
        return
    lists: dict[tuple[Parts, str], list[Any]] = {}
    if strategy == "permutation":
        positions, items = _to_permute(processing, data)
        for position in positions:
            lists[list_path(processing, data), position.get("name_field") or common] = items
    else:
        for position, items in _groups(processing, data):
            key = str(position.get("source_key") or f"{position['name']}s")
            lists[(key,), position.get("name_field") or common] = items
    for (path, field), items in lists.items():
        yield path, field, items


def list_path(processing: Mapping[str, Any], data: Any) -> Parts:
    """The place of the list of items in their file."""
    key = _word(processing, "key", None)
    if key is not None:
        return (key,)
    return (str(next(iter(data))),) if isinstance(data, dict) and len(data) == 1 else ()


def positions_of(processing: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The positions, each a mapping with a name; a bare string is a name."""
    found = []
    listed = processing.get("positions") or []
    if not isinstance(listed, list):
        raise ItemsError("positions must be a list of names", ("processing", "positions"))
    for index, position in enumerate(listed):
        if isinstance(position, str):
            position = {"name": position}
        if not isinstance(position, dict) or not isinstance(position.get("name"), str):
            raise ItemsError("a position must be a name, or a mapping with one", ("processing", "positions", index))
        if not isinstance(position.get("name_field", ""), str):
            raise ItemsError("name_field must be a word", ("processing", "positions", index))
        found.append(position)
    return found


def identify(name: Any) -> str:
    """A name as part of a unit id.

    >>> identify("The Fool/Reversed")
    'The_Fool-Reversed'
    """
    return str(name).replace(" ", "_").replace("/", "-")


def _repeat(processing: Mapping[str, Any]) -> int:
    repeat = processing.get("repeat", 1)
    if repeat is None:
        return 1
    if type(repeat) is not int or repeat < 1:
        raise ItemsError(
            f"repeat must be a whole number of at least 1; got {repr(repeat)[:60]}", ("processing", "repeat")
        )
    return repeat


def _permuted(processing: Mapping[str, Any], data: Any) -> Iterator[Unit]:
    positions, items = _to_permute(processing, data)
    fields = [position.get("name_field") or _name_field(processing) for position in positions]
    for chosen in itertools.permutations(items, len(positions)):
        yield _combined(positions, fields, chosen)


def _to_permute(processing: Mapping[str, Any], data: Any) -> tuple[list[dict[str, Any]], list[Any]]:
    positions = positions_of(processing)
    items = listed_items(processing, data)
    if not positions:
        raise ItemsError("the permutation strategy needs positions", ("processing",))
    if len(items) < len(positions):
        raise ItemsError(f"{len(items)} items cannot fill {len(positions)} positions", ("processing", "positions"))
    return positions, items


def _crossed(processing: Mapping[str, Any], data: Any) -> Iterator[Unit]:
    groups = _groups(processing, data)
    positions = [position for position, _ in groups]
    fields = [position.get("name_field") or _name_field(processing) for position in positions]
    for chosen in itertools.product(*(items for _, items in groups)):
        yield _combined(positions, fields, chosen)


def _combined(positions: Sequence[Mapping[str, Any]], fields: Sequence[str], chosen: Sequence[Any]) -> Unit:
    names = [_name_of(item, field) for item, field in zip(chosen, fields, strict=True)]
    unit: Unit = {"unit_id": "-".join(map(identify, names))}
    for position, item in zip(positions, chosen, strict=True):
        unit[position["name"]] = item
    return unit


def _direct(processing: Mapping[str, Any], data: Any) -> Iterator[Unit]:
    field = _name_field(processing)
    for item in listed_items(processing, data):
        unit = {"unit_id": identify(_name_of(item, field))}
        fields = item if isinstance(item, dict) else {field: item}  # a bare name is an item without other fields
        unit.update((key, value) for key, value in fields.items() if key != "unit_id")
        yield unit


def _repeated(bases: Sequence[Unit], repeat: int) -> Iterator[Unit]:
    seeds = [base_seed(unit["unit_id"]) for unit in bases]
    for number in range(repeat):
        for unit, seed in zip(bases, seeds, strict=True):
            again = {**unit, "_repetition_id": number, REPETITION_SEED: seed + number}
            again["unit_id"] = f"{unit['unit_id']}__rep{number:04d}"
            yield again


def _distinct(units: Iterable[Unit]) -> Iterator[Unit]:
    """Refuse an id that occurred before."""
    seen: set[str] = set()
    for unit in units:
        unit_id = unit["unit_id"]
        if unit_id in seen:
            raise ItemsError(
                f"two units have the id {unit_id[:120]!r}: names must differ in more than spaces and slashes"
            )
        if len(unit_id) > MOST_ID:
            raise ItemsError(f"a unit id has {len(unit_id):,} characters; at most {MOST_ID:,}: {unit_id[:60]!r}…")
        seen.add(unit_id)
        yield unit


def listed_items(processing: Mapping[str, Any], data: Any) -> list[Any]:
    """The items of a file that contains one list of them, or several named lists."""
    given = data
    key = _word(processing, "key", None)
    if key is not None:
        if not isinstance(data, dict) or key not in data:
            held = f"; it has {', '.join(map(str, data))}" if isinstance(data, dict) and data else ""
            names = [str(name) for name in data] if isinstance(data, dict) else []
            hint = did_you_mean(key, names)
            raise ItemsError(
                f"the items file does not have the key {key!r}{held}", ("processing", "items", "key"), hint
            )
        data = data[key]
    elif isinstance(data, dict) and len(data) == 1:
        data = next(iter(data.values()))
    if not isinstance(data, list):
        raise ItemsError("the items are not a list; name the key of the list in processing.items.key")
    for index, item in enumerate(data):
        if not isinstance(item, dict | str):
            message = f"item {index + 1} must be a mapping or a name, not {type(item).__name__}"
            raise ItemsError(message, item=(*list_path(processing, given), index))
    return data


def _groups(processing: Mapping[str, Any], data: Any) -> list[tuple[dict[str, Any], list[Any]]]:
    positions = positions_of(processing)
    if not positions:
        raise ItemsError("the cross_product strategy needs positions", ("processing",))
    if not isinstance(data, dict):
        raise ItemsError("for cross_product the items file must be a mapping of lists")
    groups = []
    for index, position in enumerate(positions):
        key = position.get("source_key") or f"{position['name']}s"
        if not isinstance(key, str):
            raise ItemsError(f"source_key must be the name of a list; got {key!r}", ("processing", "positions", index))
        if not isinstance(data.get(key), list):
            wrong = "is not a list" if key in data else "does not exist"
            raise ItemsError(
                f"position {position['name']!r} takes its items from {key!r}, which {wrong} in the items file",
                ("processing", "positions", index),
            )
        groups.append((position, data[key]))
    return groups


def _name_field(processing: Mapping[str, Any]) -> str:
    return _word(processing, "name_field", "name") or "name"


def _word(processing: Mapping[str, Any], name: str, default: str | None) -> str | None:
    """A word in `processing.items`; anything else is refused."""
    items = processing.get("items") or {}
    if not isinstance(items, dict):
        raise ItemsError("processing.items must be a mapping with the source of the items")
    value = items.get(name, default)
    if value is not None and not isinstance(value, str):
        raise ItemsError(f"{name} must be a word; got {value!r}", ("processing", "items", name))
    return value


def _name_of(item: Any, field: str) -> Any:
    if isinstance(item, str | int) and item != "" and not isinstance(item, bool):
        return item
    for name in (field, "id", "name"):
        value = item.get(name) if isinstance(item, dict) else None
        if value not in (None, ""):
            return value
    raise ItemsError(f"an item has no {field!r}, 'id' or 'name' for its id: {str(item)[:120]}")
