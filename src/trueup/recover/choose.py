"""Chooses among the readings of a reply: the cheapest that fits, or the last of several equals, which is recorded.

Takes candidates and a judge, which brings a value to the schema and prices that. Returns one choice, with records
for everything that was passed over. The order of the candidates does not matter.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from trueup.recover.aims import Aims
from trueup.recover.candidate import Candidate
from trueup.recover.json.frames import Record, TooDeep, TooMany, under
from trueup.verdict.catalogue import GRADE, PRICE
from trueup.verdict.paths import Parts

if TYPE_CHECKING:
    from trueup.recover.envelopes import EnvelopeValue, InnerValue

_BRACKET_CODES = frozenset({"S005", "S006", "S007"})
_TEXT = frozenset({"string", "null"})
# Penalties that are not fixes: the value is a part of another one, is empty, shares no key with the
# schema, or is a list of bare scalars.
_IS_PART, _IS_EMPTY, _IS_FOREIGN, _IS_WEAK = 300, 200, 150, 100
# This many objects in a row are records.
_RECORDS = 3
_BETWEEN_RECORDS = " \t\r\n,;|*-–—•·0123456789.)"
_NEIGHBOURS = 2
_CUT = frozenset({"S005", "S028", "S029", "S030", "S043"})


class SchemaFit(NamedTuple):
    """How a value fits: the coerced value, the notes of the coercions, their price, and whether it fits at all.

    `beside` has fields from around an envelope that stay with the value without being checked by the schema. For a Python
    type, `built` is the instance that the type built from the value, or `refused` has its errors.
    """

    value: Any
    notes: list[Any]
    cost: int
    ok: bool
    beside: dict[str, Any] | None = None
    built: Any = None
    refused: Sequence[Any] = ()


Judge = Callable[[Any], SchemaFit]


class JudgedCandidate(NamedTuple):
    """One judged candidate: its fit, the path of the part that was chosen, extra records, and rival values."""

    candidate: Candidate
    fit: SchemaFit
    base: Parts
    extra: list[Record]
    rivals: list[Any]


class Choice:
    """The winning reading, and the other values that would also have fitted.

    The text around the value is named when `records()` is first called.
    """

    __slots__ = ("_passed", "_records", "_text", "reading", "rivals")

    def __init__(self, text: str, reading: JudgedCandidate, passed: list[JudgedCandidate], rivals: list[Any]) -> None:
        self._text = text
        self.reading = reading
        self._passed = passed
        self._records: list[Record] | None = None
        self.rivals = rivals

    @property
    def codes(self) -> set[str]:
        """The codes of all records, without building the records of the value itself."""
        codes = set(self.reading.candidate.codes)
        codes.update(record[0] for record in self.reading.extra)
        codes.update(record[0] for record in self._outside())
        return codes

    def _name(self, other: JudgedCandidate) -> str:
        """The code for a reading that was passed over."""
        if other.candidate.value == self.reading.candidate.value:
            return "W011"
        return "W010" if other.fit.ok else "W014"

    def records(self) -> list[Record]:
        """A record for every change, and for everything in the text that is left out."""
        return [*self.reading.candidate.records, *self.reading.extra, *self._outside()]

    def _outside(self) -> list[Record]:
        """Records of the text around the value: values passed over, and everything else."""
        if self._records is None:
            self._records = self._named_outside()
        return self._records

    def _named_outside(self) -> list[Record]:
        winner = self.reading
        used = list(winner.candidate.spans)
        if used == [(0, len(self._text))] and not self._passed and winner.candidate.form == "json":
            return []  # the value is the whole text
        outside = _outside_rooms()
        records: list[Record] = []
        at = 0
        for other in sorted(self._passed, key=lambda r: r.candidate.spans[0]) if self._passed else ():
            value, start, stop = other.candidate.value, other.candidate.spans[0][0], other.candidate.end
            apart = start >= at and all(b <= start or stop <= a for a, b in winner.candidate.spans)
            alike = _is_list_of_scalars(value) and _is_list_of_scalars(winner.candidate.value)
            if apart and (_substantial(value) or other.fit.ok or alike):
                records.append((self._name(other), start, stop, "", None))
                used.append((start, stop))
                at = stop
        reasoning = outside.reasoning_spans(self._text)
        if winner.candidate.form != "json":
            # other forms are read with reasoning blanked out, so reasoning may be inside the spans that they used
            records += [("W003", a, b, "", None) for a, b in reasoning if any(c <= a and b <= d for c, d in used)]
        gaps = outside.gap_records(self._text, used, self._apart(reasoning))
        if len(used) > len(winner.candidate.spans):
            # closing brackets next to several values: they were one value that broke apart
            # (a parenthesis belongs to the words around one of them)
            gaps += [("S042", *r[1:]) for r in gaps if r[0] == "S031" or (r[0] == "S007" and not self._is_aside(r))]
        rebracketed = not _BRACKET_CODES.isdisjoint(winner.candidate.codes)
        end = winner.candidate.end
        if rebracketed and any(
            code == "S038" and a == end and self._text[a:b].strip() == "," for code, a, b, _, _ in gaps
        ):
            gaps.append(
                ("S042", end, len(self._text), "", None)
            )  # a comma follows the value, so its last bracket was probably wrong
        return records + gaps + self._doubts(winner.candidate)

    def _is_aside(self, record: Record) -> bool:
        return self._text[record[1] : record[2]].strip(" \t\r\n.,;") == ")"

    def _apart(self, reasoning: list[tuple[int, int]]) -> list[tuple[int, int, str]]:
        """Stretches that cannot be parts of a broken value: reasoning, and fences of code without the value."""
        apart = [(start, stop, "W003") for start, stop in reasoning]
        if ("```" in self._text or "~~~" in self._text) and not self._fills_the_fence():
            taken = sorted([*self.reading.candidate.spans, *reasoning])
            for start, stop in _outside_rooms().code_blocks(self._text):
                after = bisect_left(taken, (stop, stop))
                if after == 0 or taken[after - 1][1] <= start:
                    apart.append((start, stop, "W002"))
            apart.sort()
        return apart

    def _fills_the_fence(self) -> bool:
        """Whether the text has one fence, and the value is in it."""
        text, spans = self._text, self.reading.candidate.spans
        opened, closed = text.find("```"), text.rfind("```")
        if not 0 <= opened < spans[0][0] or spans[-1][1] > closed or "~~~" in text:
            return False
        return text.count("```") == 2

    def _doubts(self, winner: Candidate) -> list[Record]:
        """Records of doubts that the words around the value raise."""
        if not (winner.spans[0][0] or winner.end < len(self._text)) or winner.form == "scalar":
            return []
        outside = _outside_rooms()
        span = winner.spans[0][0], winner.end
        found: list[Record] = []
        if winner.form == "json" and outside.is_example(self._text, span[0]):
            found.append(("W017", *span, "", None))
        if outside.is_withdrawn(self._text, span[1]) or outside.changes(self._text, span[1], winner.value):
            found.append(("W018", *span, "", None))
        return found


class _Outside(NamedTuple):
    """The functions that name the text around a value."""

    gap_records: Callable[[str, list[tuple[int, int]], list[tuple[int, int, str]]], list[Record]]
    reasoning_spans: Callable[[str], list[tuple[int, int]]]
    code_blocks: Callable[[str], list[tuple[int, int]]]
    is_example: Callable[[str, int], bool]
    is_withdrawn: Callable[[str, int], bool]
    changes: Callable[[str, int, Any], bool]


@cache
def _outside_rooms() -> _Outside:
    # loaded once, by the first reply that needs them: an import statement can cost as much as a call of these
    from trueup.recover.layers.fence import code_blocks
    from trueup.recover.layers.reasoning import reasoning_spans
    from trueup.recover.layers.surroundings import gap_records
    from trueup.recover.remarks import changes, is_example, is_withdrawn

    return _Outside(gap_records, reasoning_spans, code_blocks, is_example, is_withdrawn, changes)


def choose(text: str, aims: Aims, judge: Judge, judge_item: Judge | None) -> Choice | None:
    """The best reading of a text; None if there is nothing to read."""
    seen: list[JudgedCandidate] = []
    for found in _readings(text, aims):
        if not found:
            continue
        judged = _judged(text, found, judge, aims)
        gathered = _gather(text, judged, judge, judge_item)
        if gathered is not None:
            return Choice(text, gathered, [], [])
        fitting = [r for r in judged if r.fit.ok] or _rewritten(judged, judge, aims)
        if fitting:
            return _pick(text, fitting, judged, aims)
        seen += judged
    if not seen:
        return None
    best = max(
        seen, key=lambda r: (r.candidate.form not in ("inner", "reasoning"), *_closeness(r, aims), r.candidate.spans[0])
    )
    return Choice(text, best, [r for r in seen if r is not best and r.candidate.form == "json"], [])


def _readings(text: str, aims: Aims) -> Iterator[list[Candidate]]:
    return _reader()(text, aims)


@cache
def _reader() -> Callable[[str, Aims], Iterator[list[Candidate]]]:
    from trueup.recover.readings import readings  # as above

    return readings


@cache
def _open_envelope() -> (
    "Callable[[Any, frozenset[str], Callable[[Parts, str], InnerValue | None]], Iterator[EnvelopeValue]]"
):
    from trueup.recover.envelopes import opened  # as above

    return opened


def choose_only(text: str, candidate: Candidate, judge: Judge, aims: Aims, *, keep_fields: bool = False) -> Choice:
    """The choice for a text that clearly has one value; with `keep_fields`, the fields beside an envelope stay with it."""
    reading = _best_part(text, candidate, judge, aims, keep_fields=keep_fields)
    return Choice(text, reading, [], reading.rivals)


def _judged(text: str, found: list[Candidate], judge: Judge, aims: Aims) -> list[JudgedCandidate]:
    ordered = sorted(found, key=_place)
    if any(_place(a) == _place(b) for a, b in pairwise(ordered)):
        ordered = sorted(found, key=lambda c: (_place(c), repr(c.value)[:80]))
    return [_best_part(text, candidate, judge, aims) for candidate in ordered]


def _place(candidate: Candidate) -> tuple[int, int, bool]:
    return candidate.spans[0][0], -candidate.end, isinstance(candidate.value, str)


def _rewritten(readings: list[JudgedCandidate], judge: Judge, aims: Aims) -> list[JudgedCandidate]:
    """Readings that fit once something in them is read in a different way, which only the schema can decide."""
    return _computed(readings, judge, aims) or _regrouped(readings, judge, aims) or _lifted(readings, judge)


def _computed(readings: list[JudgedCandidate], judge: Judge, aims: Aims) -> list[JudgedCandidate]:
    """Readings that fit once fractions are numbers."""
    out: list[JudgedCandidate] = []
    for reading in readings:
        if reading.candidate.form == "json" and "S015" not in reading.candidate.codes:
            continue
        from trueup.recover.numbers import computed  # as above

        found = computed(reading.candidate, aims.wants_at)
        if found is not None and (fit := judge(found.value)).ok:
            out.append(reading._replace(candidate=found, fit=fit))
    return out


def _regrouped(readings: list[JudgedCandidate], judge: Judge, aims: Aims) -> list[JudgedCandidate]:
    """Readings that fit with commas read as thousands separators, and do not fit with commas read as decimal points."""
    out: list[JudgedCandidate] = []
    for reading in readings:
        if "S015" not in reading.candidate.codes:
            continue
        from trueup.recover.numbers import regrouped  # as above

        both = regrouped(reading.candidate, aims.wants)
        if both is None or not (fit := judge(both[0].value)).ok:
            continue
        if both[0].value == both[1].value or not judge(both[1].value).ok:
            out.append(reading._replace(candidate=both[0], fit=fit))
    return out


def _lifted(readings: list[JudgedCandidate], judge: Judge) -> list[JudgedCandidate]:
    """Readings that fit once members are lifted out of an object that should have been closed before them."""
    out: list[JudgedCandidate] = []
    for reading in readings:
        if "S005" in reading.candidate.codes and reading.candidate.form == "json" and not reading.candidate.lossy:
            from trueup.recover.json.lifted import lifted  # as above

            found = lifted(reading.candidate, lambda value: fit.cost if (fit := judge(value)).ok else None)
            out += [reading._replace(candidate=found, fit=judge(found.value))] if found is not None else []
    return out


def _best_part(
    text: str, candidate: Candidate, judge: Judge, aims: Aims, *, keep_fields: bool = False
) -> JudgedCandidate:
    """The candidate itself, or the value inside its envelope if only that fits."""
    whole = judge(candidate.value)
    fits = whole.ok and not _is_wrapped(candidate.value, whole, aims)
    if fits or not aims.opens or not isinstance(candidate.value, dict | str):
        return JudgedCandidate(candidate, whole, (), [], [])
    if isinstance(candidate.value, dict) and aims.root_keys.issuperset(candidate.value):
        return JudgedCandidate(candidate, whole, (), [], [])  # none of its keys is an envelope

    def fit_inside(base: Parts, value: Any) -> SchemaFit:
        return _fit_beside(base, value, candidate.value, judge) if keep_fields else judge(value)

    def read_inside(base: Parts, inner: str) -> "InnerValue | None":
        return _inner_value(inner, partial(fit_inside, base), aims)

    found = _open_envelope()(candidate.value, aims.root_keys, read_inside)
    fitting = [(inside, fit) for inside in found if (fit := fit_inside(inside.base, inside.value)).ok]
    if not fitting or (aims.types <= _TEXT and _is_in_prose(text, candidate)):
        return JudgedCandidate(candidate, whole, (), [], [])
    inside, fit = next((f for f in fitting if not f[0].is_source), fitting[0])
    rivals = [other.value for _, other in fitting if other.value != fit.value] + list(inside.rivals)
    codes = ["W007"] * bool(inside.base) + list(inside.codes) + ["W010"] * bool(rivals)
    span = candidate.spans[0][0], candidate.end
    base = () if keep_fields and isinstance(fit.value, dict) else inside.base
    return JudgedCandidate(candidate, fit, base, [(code, *span, "", None) for code in dict.fromkeys(codes)], rivals)


def _inner_value(text: str, judge: Judge, aims: Aims) -> "InnerValue | None":
    """The JSON in a string of a value, read like a reply; None if none fits or reading it would lose something."""
    try:
        choice = choose(text, aims._replace(opens=False), judge, None)
    except (TooDeep, TooMany):
        return None
    if choice is None or not choice.reading.fit.ok:
        return None
    reading, codes = choice.reading, choice.codes
    if reading.candidate.form != "json" or any(GRADE[code] == "lossy" for code in codes):
        return None
    from trueup.recover.envelopes import InnerValue  # as above

    return InnerValue(reading.candidate.value, tuple(sorted(codes)), tuple(choice.rivals))


def _fit_beside(base: Parts, value: Any, outer: Any, judge: Judge) -> SchemaFit:
    """How the value of an envelope fits: merged with the fields beside it, or alone, with those fields kept in `beside`."""
    if not base or not isinstance(outer, dict):
        return judge(value)
    rest = {key: part for key, part in outer.items() if key != base[0]}
    together = judge({**rest, **value}) if isinstance(value, dict) else None
    if together is not None and together.ok:
        return together
    alone = judge(value)
    if not alone.ok:
        return together or alone
    # a list of one object may fit as that object
    return alone._replace(beside=rest) if isinstance(alone.value, dict) else alone


def _is_wrapped(value: Any, fit: SchemaFit, aims: Aims) -> bool:
    """Whether an object fits only as the single item of a list, but shares no key with the items: it may be an envelope."""
    if not (isinstance(value, dict) and aims.item_keys and aims.item_keys.isdisjoint(value)):
        return False
    return any(note.code == "C006" and not note.path for note in fit.notes)


def _is_in_prose(text: str, candidate: Candidate) -> bool:
    """Whether there are words next to a value, not only a fence, tags or reasoning."""
    from trueup.recover.layers.reasoning import reasoning_spans
    from trueup.recover.layers.surroundings import gap_records  # as above

    around = gap_records(text, candidate.spans, [(*span, "W003") for span in reasoning_spans(text)])
    return any(record[0] in ("W002", "S031") for record in around)


def _closeness(reading: JudgedCandidate, aims: Aims) -> tuple[int, int, int]:
    value = reading.fit.value
    keys = len(aims.root_keys.intersection(value)) if isinstance(value, dict) else 0
    container = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else "scalar"
    return keys, int(container in aims.types), -reading.candidate.cost


def _rank(reading: JudgedCandidate, own: frozenset[str]) -> tuple[bool, int]:
    """The cost of a reading that fits: first whether it loses something, then the price of all its fixes."""
    candidate, value = reading.candidate, reading.fit.value
    price = candidate.cost + reading.fit.cost + sum(PRICE[record[0]] for record in reading.extra)
    if candidate.form == "part":
        price += _IS_PART
    if isinstance(value, dict) and value and own and own.isdisjoint(value):
        price += _IS_FOREIGN
    elif value in ({}, [], ""):
        price += _IS_EMPTY
    elif isinstance(value, list) and not _substantial(value):
        price += _IS_WEAK
    return candidate.lossy, price


def _pick(text: str, fitting: list[JudgedCandidate], readings: list[JudgedCandidate], aims: Aims) -> Choice:
    """The cheapest of the readings that fit; of several equals the last, which is recorded."""
    ranks = [_rank(r, aims.root_keys) for r in fitting]
    best_rank = min(ranks)
    equals = [r for r, rank in zip(fitting, ranks, strict=True) if rank == best_rank]
    winner = equals[-1]
    if len(equals) > 1:
        # an example, a piece of a program or a replaced value is not the answer, wherever it is
        meant = _meant(text, equals) or equals
        winner = (_current(text, meant) or meant)[-1]
    if len(fitting) > 1 and _takes_its_place(text, winner, fitting[-1]):
        winner = fitting[-1]
    rivals = [r for r in equals if r.fit.value != winner.fit.value and r is not winner]
    passed = [r for r in readings if r.candidate is not winner.candidate]
    if _is_one_of_records(text, winner, readings):
        winner.extra.append(("W019", winner.candidate.spans[0][0], winner.candidate.end, "", None))
    return Choice(text, winner, passed, [*winner.rivals, *(r.fit.value for r in rivals)])


def _is_one_of_records(text: str, winner: JudgedCandidate, readings: list[JudgedCandidate]) -> bool:
    """Whether a value is one of three or more different objects in a row, with nothing between them."""
    run: list[JudgedCandidate] = []
    for reading in readings:
        candidate = reading.candidate
        if not (reading.fit.ok and isinstance(candidate.value, dict) and candidate.form in ("json", "part")):
            continue
        if not _CUT.isdisjoint(candidate.codes):
            continue  # an abandoned draft
        if run and text[run[-1].candidate.end : candidate.spans[0][0]].strip(_BETWEEN_RECORDS):
            if winner in run:
                break
            run = []
        run.append(reading)
    if len(run) < _RECORDS or winner not in run:
        return False
    first = run[0].candidate.value
    return any(reading.candidate.value != first for reading in run)


def _meant(text: str, readings: list[JudgedCandidate]) -> list[JudgedCandidate]:
    """Readings that are neither introduced as an example nor part of a program."""
    from trueup.recover.layers.fence import code_blocks  # as above
    from trueup.recover.remarks import is_example

    blocks = code_blocks(text)

    def in_code(at: int) -> bool:
        before = bisect_right(blocks, (at, len(text)))
        return before > 0 and at < blocks[before - 1][1]

    starts = [(r, r.candidate.spans[0][0]) for r in readings]
    return [r for r, start in starts if not in_code(start) and not is_example(text, start)]


def _current(text: str, readings: list[JudgedCandidate]) -> list[JudgedCandidate]:
    """Readings that the words around them do not call replaced."""
    from trueup.recover.remarks import is_old  # as above

    return [r for r in readings if not is_old(text, r.candidate.spans[0][0], r.candidate.end)]


def _takes_its_place(text: str, winner: JudgedCandidate, last: JudgedCandidate) -> bool:
    """Whether the last reading is complete, and the words before it retract the winner."""
    start = last.candidate.spans[0][0]
    if start < winner.candidate.end or last.candidate.form != "json" or last.candidate.lossy:
        return False
    from trueup.recover.remarks import withdraws  # as above

    return withdraws(text, winner.candidate.end, start)


def _gather(
    text: str, readings: list[JudgedCandidate], judge: Judge, judge_item: Judge | None
) -> JudgedCandidate | None:
    """All of several objects, in order, if the schema asks for a list of them."""
    if judge_item is None or len(readings) < 2:
        return None
    lists = [r for r in readings if isinstance(r.candidate.value, list)]
    items = [r for r in readings if isinstance(r.candidate.value, dict)]
    all_lists = len(lists) == len(readings) and all(r.candidate.value for r in lists)
    if not all_lists and (len(items) < 2 or any(r.fit.ok for r in lists)):
        return None
    if all_lists:
        gathered = _joined(lists, judge) or _rows(text, lists, judge, judge_item)
    else:
        gathered = _collected(text, items, judge, judge_item)
    return None if gathered is None or _set_apart(text, readings) else gathered


def _set_apart(text: str, readings: list[JudgedCandidate]) -> bool:
    """Whether the words between values show that they do not belong together: a correction, or an example."""
    from trueup.recover.remarks import corrects  # as above

    if any(corrects(text, a.candidate.end, b.candidate.spans[0][0]) for a, b in pairwise(readings)):
        return True
    meant = _meant(text, readings)
    return len(meant) < len(readings) and any(r.fit.ok for r in meant)


def _collected(text: str, items: list[JudgedCandidate], judge: Judge, judge_item: Judge) -> JudgedCandidate | None:
    """Objects as the items of one list, if they are side by side or every one of them fits."""
    side_by_side = _side_by_side(text, items)
    if not side_by_side and not all(judge_item(r.candidate.value).ok for r in items):
        return None
    fit = judge([r.candidate.value for r in items])
    if not fit.ok and not side_by_side:
        return None
    return _gathered(items, fit)


def _side_by_side(text: str, readings: list[JudgedCandidate]) -> bool:
    return all(not text[a.candidate.end : b.candidate.spans[0][0]].strip(" \t\r\n,") for a, b in pairwise(readings))


def _gathered(items: list[JudgedCandidate], fit: SchemaFit) -> JudgedCandidate:
    """Several values as the items of one list."""
    spans = [r.candidate.spans[0] for r in items]
    records: list[Record] = []
    for index, reading in enumerate(items):
        records += [(c, a, b, after, under(node, index)) for c, a, b, after, node in reading.candidate.records]
    records.append(("W012", spans[0][0], spans[-1][1], "", None))
    return JudgedCandidate(Candidate(fit.value, spans, records), fit, (), [], [])


def _rows(text: str, lists: list[JudgedCandidate], judge: Judge, judge_item: Judge) -> JudgedCandidate | None:
    """Lists side by side, each an unchanged item and not the whole, if the schema asks for a list of lists."""
    if not _side_by_side(text, lists) or any(r.fit.ok and not r.fit.notes for r in lists):
        return None
    fits = [judge_item(r.candidate.value) for r in lists]
    if not all(fit.ok and not fit.notes for fit in fits):
        return None
    fit = judge([r.candidate.value for r in lists])
    return _gathered(lists, fit) if fit.ok else None


def _joined(lists: list[JudgedCandidate], judge: Judge) -> JudgedCandidate | None:
    """The items of several different lists of objects, in order, if the schema asks for one list."""
    values = [r.candidate.value for r in lists]
    if not all(r.fit.ok and _substantial(r.candidate.value) for r in lists) or any(
        v in values[:i] for i, v in enumerate(values)
    ):
        return None
    fit = judge([item for value in values for item in value])
    records: list[Record] = [("W012", lists[0].candidate.spans[0][0], lists[-1].candidate.end, "", None)]
    for reading in lists:
        records += reading.candidate.records
    spans = [r.candidate.spans[0] for r in lists]
    return JudgedCandidate(Candidate(fit.value, spans, records), fit, (), [], []) if fit.ok else None


def _substantial(value: Any) -> bool:
    """Whether a value that was passed over should be named as a value; `[1]` in prose is prose."""
    return (isinstance(value, dict) and bool(value)) or (
        isinstance(value, list) and any(isinstance(v, dict) for v in value)
    )


def _is_list_of_scalars(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and not any(isinstance(v, dict | list) for v in value)


# -- doubts about the choice -----------------------------------------------------------------------


def doubt(text: str, choice: Choice) -> None:
    """Mark a choice that was probably misread: a list lost its bracket, or numbers were split at their own commas."""
    reading = choice.reading
    if _lost_a_list(text, choice) or _split_numbers(text, reading.candidate):
        reading.extra.append(("S042", reading.candidate.spans[0][0], reading.candidate.end, "", None))


def _lost_a_list(text: str, choice: Choice) -> bool:
    """Whether neighbours became lists of one item and a closing bracket was extra: `[[1, 2], 3, 4]]` lost an opening one."""
    notes = choice.reading.fit.notes
    if len(notes) < _NEIGHBOURS:
        return False
    wrapped = Counter(note.path[:-1] for note in notes if note.code == "C006" and note.path)
    if not wrapped or max(wrapped.values()) < _NEIGHBOURS:
        return False
    return any(code == "S007" and "]" in text[start:stop] for code, start, stop, _, _ in choice.records())


def _split_numbers(text: str, candidate: Candidate) -> bool:
    """Whether numbers with commas may have been read as several numbers."""
    if "S015" not in candidate.codes and "S038" not in candidate.codes:
        return False
    from trueup.recover.numbers import splits_numbers  # as above

    return splits_numbers(text, candidate.records)
