"""Numbers that only the schema can distinguish from text: `{"share": 3/4}`, `{"total": 2,701.00}`.

Takes a candidate and the types that the schema wants; returns the candidate with numbers in those places, or None if there
are none. Text stays text where the schema wants text. A comma that may be a decimal point is read in both ways.
"""

from collections.abc import Callable, Iterator
from typing import Any

from trueup.recover.candidate import Candidate
from trueup.recover.forms.values import grouped_number
from trueup.recover.json.frames import Node, Record, parts_of
from trueup.verdict.paths import Parts, value_at, with_value
from trueup.verdict.patterns import lazy_regex

_MOST = 200
_THOUSANDS = lazy_regex(r"0\d\d")
_COMMA_TOO = lazy_regex(r"""[\[;][^\[\];"']*\d\s*,\s*[-+]?\d[\d.eE+-]*\s*\Z""")
_NEAR = 120
_NUMERIC = frozenset({"number", "integer", "null"})


def regrouped(candidate: Candidate, wants: Callable[[str], frozenset[str]]) -> tuple[Candidate, Candidate] | None:
    """The candidate with such numbers, and with their other reading; None if there are none."""
    value, other = candidate.value, candidate.value
    records: list[Record] = []
    count = 0
    for record in candidate.records:
        code, start, stop, _, node = record
        parts = parts_of(node)
        numeric = code == "S015" and count < _MOST and _is_numeric(parts, wants)
        written = value_at(candidate.value, parts) if numeric else None
        if isinstance(written, str) and (number := _whole_or_not(written)) is not None:
            count += 1
            value = with_value(value, parts, number)
            clear = written.count(",") > 1 or "." in written
            other = with_value(other, parts, number if clear else float(written.replace(",", ".")))
            record = ("S020", start, stop, repr(number), node)
        records.append(record)
    if not count:
        return None
    spans, form = candidate.spans, candidate.form
    return Candidate(value, spans, records, form), Candidate(other, spans, records, form)


def _whole_or_not(text: str) -> int | float | None:
    whole = grouped_number(text, with_fraction=False)
    return whole if whole is not None else grouped_number(text, with_fraction=True)


def _is_numeric(parts: Parts, wants: Callable[[str], frozenset[str]]) -> bool:
    """Whether the value may be a number, because the schema does not exclude numbers for the key."""
    keys = [part for part in parts if isinstance(part, str)]
    return not keys or wants(keys[-1]) <= _NUMERIC


def splits_numbers(text: str, records: list[Record]) -> bool:
    """Whether a list of numbers was split at commas that may belong to the numbers: `[1,000, 2]`, `[1,5; 2,5]`.

    >>> splits_numbers("[1,000]", [("S015", 3, 6, "", None)]), splits_numbers("[1; 2]", [("S038", 2, 3, "", None)])
    (True, False)
    """
    for code, start, stop, _, _ in records:
        if code == "S015":
            before = text[max(0, start - 2) : start]
            if before[1:] == "," and before[0].isdigit() and _THOUSANDS.fullmatch(text, start, stop):
                return True
        elif (
            code == "S038" and text[start:stop].strip() == ";" and _COMMA_TOO.search(text, max(0, start - _NEAR), start)
        ):
            return True
    return False


# -- fractions ---------------------------------------------------------------------------------------

_FRACTION = lazy_regex(r"([+-]?[0-9]{1,15}) ?/ ?([0-9]{1,15})")
_NUMBER = frozenset({"number", "integer"})


def computed(candidate: Candidate, wants_at: Callable[[Parts], frozenset[str]]) -> Candidate | None:
    """The candidate with every fraction computed where the schema wants a number."""
    places = {parts: number for parts, number in _fractions(candidate) if _is_number(wants_at(parts))}
    if not places:
        return None
    value = candidate.value
    records: list[Record] = []
    for record in candidate.records:
        parts = parts_of(record[4])
        if record[0] == "S015" and parts in places:
            record = ("S021", record[1], record[2], repr(places[parts]), record[4])
        records.append(record)
    recorded = {parts_of(record[4]) for record in records if record[0] == "S021"}
    for parts, number in places.items():
        value = with_value(value, parts, number)
        if parts not in recorded:
            records.append(("S021", *candidate.spans[0], repr(number), _node(parts)))
    return Candidate(value, candidate.spans, records, candidate.form)


def _is_number(wanted: frozenset[str]) -> bool:
    return not wanted.isdisjoint(_NUMBER) and "string" not in wanted


def _fractions(candidate: Candidate) -> Iterator[tuple[Parts, float]]:
    """The unquoted fractions: in JSON only those read as bare words, in other forms all."""
    if candidate.form == "json":
        bare = [parts_of(record[4]) for record in candidate.records if record[0] == "S015"][:_MOST]
        texts = [(parts, value_at(candidate.value, parts)) for parts in bare]
    else:
        texts = list(_leaves(candidate.value))
    for parts, said in texts:
        found = _FRACTION.fullmatch(said.strip()) if isinstance(said, str) else None
        if found is not None and int(found[2]):
            yield parts, int(found[1]) / int(found[2])


def _leaves(value: Any) -> Iterator[tuple[Parts, Any]]:
    stack: list[tuple[Parts, Any]] = [((), value)]
    left = _MOST
    while stack and left:
        left -= 1
        parts, here = stack.pop()
        if isinstance(here, dict):
            stack += [((*parts, key), item) for key, item in here.items()]
        elif isinstance(here, list):
            stack += [((*parts, index), item) for index, item in enumerate(here)]
        else:
            yield parts, here


def _node(parts: Parts) -> Node:
    node: Node = None
    for part in parts:
        node = (node, part)
    return node
