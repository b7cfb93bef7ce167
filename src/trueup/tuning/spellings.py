"""Spellings: values and keys that models write often, that the contract refuses, and that people accept.

A value that means an enum value, or a key that means a required key, becomes an alias. The meaning comes from the notes
of labels, or from the spelling. A value with an unknown meaning is proposed as a new enum value.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from trueup.conform.names import fold, words
from trueup.tuning.edits import Append, Edit, Put, with_path
from trueup.tuning.evidence import JudgedCase, judged
from trueup.tuning.proposals import NEEDED, Kind, Proposal, Trial, Workshop, of
from trueup.tuning.schemas import schema_place
from trueup.verdict.facts import Finding
from trueup.verdict.paths import Parts, folded, parse, render, value_at

_LIKE = 75.0  # out of 100, for two spellings of one word
_SHORTEST = 2
_SEVERAL = 3  # spellings with the same prefix or delimiter; if there are fewer, each is an alias
_SIGNS = (" | ", " - ", " – ", " — ", ": ", ", ", " / ", " (")
_WORKS = 0.8  # the share of the affected replies that a change must improve


class SpellingGroup(NamedTuple):
    """Replies that show one spelling."""

    place: Parts
    """The place of the value's schema inside the schema."""
    found: str
    meant: str
    numbers: tuple[int, ...]
    """The labelled replies with this spelling."""
    path: str
    said: tuple[str, ...] = ()


def spellings(shop: Workshop) -> Iterator[Proposal]:
    """A proposal for each spelling with enough labelled replies."""
    schema = shop.data.get("schema")
    if not isinstance(schema, dict):
        return
    yield from _enum_values(shop, schema)
    yield from _keys(shop, schema)


# -- values of enums ---------------------------------------------------------------------------


def _enum_values(shop: Workshop, schema: dict[str, Any]) -> Iterator[Proposal]:
    groups: dict[tuple[Parts, str], list[tuple[int, str]]] = {}
    for one in shop.evidence.labelled:
        for found in one.errors:
            value = value_at(one.data, parse(found.path)) if found.code == "V005" else None
            place = schema_place(schema, parse(found.path)) if isinstance(value, str) else None
            if place is not None and isinstance(value, str):
                shown = groups.setdefault((place, value), [])
                if not shown or shown[-1][0] != one.number:
                    shown.append((one.number, found.path))
    known: list[SpellingGroup] = []
    for (place, value), shown in groups.items():
        numbers = tuple(number for number, _ in shown)
        allowed = [text for text in value_at(schema, place).get("enum") or () if isinstance(text, str)]
        notes = [shop.evidence.seen[number].said.note for number in numbers]
        known.append(SpellingGroup(place, value, meaning(value, allowed, notes), numbers, shown[0][1]))
    few: dict[Parts, list[SpellingGroup]] = {}
    for group in known:
        if len(group.numbers) >= NEEDED:
            yield from _enum_proposal(shop, [group])
        elif group.meant:
            few.setdefault(group.place, []).append(group)
    yield from _affixes(shop, known)
    for rare in few.values():
        if sum(len(group.numbers) for group in rare) >= NEEDED:
            yield from _enum_proposal(shop, rare)


def _enum_proposal(shop: Workshop, groups: list[SpellingGroup]) -> Iterator[Proposal]:
    first = groups[0]
    at: Parts = ("schema", *first.place)
    about = frozenset(number for group in groups for number in group.numbers)
    listed = ", ".join(f"{group.found!r}" for group in groups[:4]) + (" …" if len(groups) > 4 else "")
    if first.meant:
        pairs = [(group.meant, group.found) for group in groups]
        means = " or ".join(dict.fromkeys(f"{group.meant!r}" for group in groups[:3]))
        title = f"{_field(first.path)} is often {listed}: read it as {means}"
        facts: dict[str, Any] = {"values": {group.found: group.meant for group in groups}}
        yield from _tested(shop, _Draft("alias", at, title, about, f"V005 {folded(first.path)}", facts, pairs=pairs))
    else:
        edits: list[Edit] = [Append((*at, "enum"), first.found)]
        title = f"{_field(first.path)} is often {listed}: allow the value"
        facts = {"value": first.found}
        yield from _tested(shop, _Draft("value", at, title, about, f"V005 {folded(first.path)}", facts, edits))


def _affixes(shop: Workshop, groups: list[SpellingGroup]) -> Iterator[Proposal]:
    """A proposal for each prefix or delimiter that appears with several values of an enum."""
    beside: dict[tuple[str, str], list[SpellingGroup]] = {}
    for group in groups:
        for option, affix in _affixes_of(group):
            beside.setdefault((option, affix), []).append(group)
    for (option, affix), shown in beside.items():
        about = frozenset(number for group in shown for number in group.numbers)
        if len({group.found for group in shown}) < _SEVERAL or len(about) < NEEDED:
            continue
        what = (
            "begins with {}: read the part after it"
            if option == "enum_prefixes"
            else "contains {}: read the part before it"
        )
        title = f"{_field(shown[0].path)} often {what.format(repr(affix))}"
        facts = {option: affix, "values": {group.found: group.meant for group in shown}}
        draft = _Draft("affix", ("schema", *shown[0].place), title, about, f"V005 {folded(shown[0].path)}", facts)
        yield from _tested(shop, draft._replace(affix=(option, affix)))


def _affixes_of(group: SpellingGroup) -> Iterator[tuple[str, str]]:
    value, meant = group.found, group.meant
    if meant and value.casefold().endswith(meant.casefold()) and len(value) > len(meant):
        yield "enum_prefixes", value[: -len(meant)].casefold()
    if meant and value.casefold().startswith(meant.casefold()):
        rest = value[len(meant) :]
        yield from (("enum_delimiters", sign) for sign in _SIGNS if rest.startswith(sign))


def with_affix(data: dict[str, Any], option: str, affix: str) -> list[Edit]:
    """The edits that add a prefix or a delimiter to the coercion options.

    >>> with_affix({"coerce": "standard"}, "enum_prefixes", "very ")
    [Put(path=('coerce',), value={'enum_prefixes': ['very ']})]
    """
    given = data.get("coerce")
    if isinstance(given, str):
        return [Put(("coerce",), {**({} if given == "standard" else {"profile": given}), option: [affix]})]
    if given and given.get(option):
        return [Append(("coerce", option), affix)]
    return with_path(data, ("coerce", option), [affix], before="examples")


def meaning(value: str, allowed: Sequence[str], notes: Sequence[str] = ()) -> str:
    """The allowed value that a spelling means, from the notes of labels or from the spelling; empty if it is not clear.

    >>> meaning("very high", ["low", "high"]), meaning("med", ["low", "medium"]), meaning("alto", ["low", "high"])
    ('high', 'medium', '')
    >>> meaning("alto", ["low", "high"], ["", "high is meant"])
    'high'
    """
    named = Counter(text for note in notes for text in allowed if _mentions(note, text))
    if named and (len(named) == 1 or named.most_common(2)[0][1] > named.most_common(2)[1][1]):
        return named.most_common(1)[0][0]
    for alike in (_holds, _begins, _resembles):
        fitting = [text for text in allowed if alike(value, text)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            return ""
    return ""


def _mentions(note: str, text: str) -> bool:
    return f" {' '.join(words(text))} " in f" {' '.join(words(note))} "


def _holds(value: str, text: str) -> bool:
    return _mentions(value, text)


def _begins(value: str, text: str) -> bool:
    short, long = sorted((fold(value), fold(text)), key=len)
    return len(short) >= _SHORTEST and long.startswith(short)


def _resembles(value: str, text: str) -> bool:
    from rapidfuzz import fuzz

    return fuzz.ratio(fold(value), fold(text)) >= _LIKE


def aliases(data: dict[str, Any], pairs: Sequence[tuple[str, str]]) -> list[Edit]:
    """The edits that make each second name an alias of the first."""
    wanted: dict[str, list[str]] = {}
    for name, other in pairs:
        wanted.setdefault(name, []).append(other)
    given = data.get("coerce")
    if isinstance(given, str):
        held: dict[str, Any] = {"aliases": wanted} if given == "standard" else {"profile": given, "aliases": wanted}
        return [Put(("coerce",), held)]
    known = (given or {}).get("aliases")
    if not known:
        return with_path(data, ("coerce", "aliases"), wanted, before="examples")
    edits: list[Edit] = []
    for name, others in wanted.items():
        if name in known:
            edits += [Append(("coerce", "aliases", name), other) for other in others]
        else:
            edits += with_path(data, ("coerce", "aliases", name), others)
    return edits


# -- keys ----------------------------------------------------------------------------------------


def _keys(shop: Workshop, schema: dict[str, Any]) -> Iterator[Proposal]:
    groups: dict[tuple[Parts, str, str], list[int]] = {}
    for one in shop.evidence.labelled:
        for found in one.errors:
            for place, missing, other in _pairs(schema, one, found):
                shown = groups.setdefault((place, missing, other), [])
                if not shown or shown[-1] != one.number:
                    shown.append(one.number)
    # if several keys could mean one key, or one could mean several, the most frequent pair counts
    taken: set[tuple[Parts, str]] = set()
    for (place, missing, other), numbers in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0][1:])):
        if len(numbers) < NEEDED or (place, other) in taken:
            continue
        at: Parts = ("schema", *place, "properties", missing) if missing else ("schema", *place, "properties")
        if missing:
            title = f"Key {missing!r} is often written {other!r}: read it as {missing!r}"
            facts: dict[str, Any] = {"values": {other: missing}}
            draft = _Draft("alias", at, title, frozenset(numbers), f"V002 {missing}", facts, pairs=[(missing, other)])
        else:
            edits = with_path(shop.data, (*at, other), {})
            title = f"Key {other!r} is often added: allow it"
            draft = _Draft("key", at, title, frozenset(numbers), f"V003 {other}", {"key": other}, edits)
        made = list(_tested(shop, draft))
        if made:
            taken.add((place, other))
            yield from made


def _pairs(schema: dict[str, Any], one: JudgedCase, found: Finding) -> Iterator[tuple[Parts, str, str]]:
    """For a missing key, the unknown keys next to it; for an unknown key without a missing one, only this key."""
    if found.code not in ("V002", "V003"):
        return
    path = parse(found.path)
    place = schema_place(schema, path[:-1])
    parent = value_at(one.data, path[:-1])
    if place is None or not isinstance(parent, dict):
        return
    known = value_at(schema, (*place, "properties")) or {}
    unknown = [key for key in parent if key not in known]
    if found.code == "V002":
        yield from ((place, str(path[-1]), key) for key in unknown)
        return
    required = value_at(schema, (*place, "required")) or ()
    if not any(key not in parent for key in required):
        absent = [key for key in known if key not in parent]
        yield place, meaning(str(path[-1]), absent), str(path[-1])


# -- shared by both --------------------------------------------------------------------------------


class _Draft(NamedTuple):
    """A change that may help: its edits, or the pairs of names for an alias."""

    kind: Kind
    at: Parts
    title: str
    about: frozenset[int]
    unit: str
    facts: dict[str, Any]
    edits: Sequence[Edit] = ()
    pairs: Sequence[tuple[str, str]] = ()
    affix: tuple[str, str] = ("", "")


def _tested(shop: Workshop, draft: _Draft) -> Iterator[Proposal]:
    """The proposal, or None if the change does not have its effect."""
    about, pairs = draft.about, draft.pairs
    remade: Callable[[dict[str, Any]], list[Edit]] | None = None
    if pairs:
        remade = partial(aliases, pairs=pairs)
    elif draft.affix[0]:
        remade = partial(with_affix, option=draft.affix[0], affix=draft.affix[1])
    edits = list(draft.edits) if remade is None else remade(shop.data)
    trial = shop.try_out(edits)
    if trial is None or not _cures(shop, edits, about, draft.unit[:4]):
        return
    better, worse = _of(trial, about)
    counted = shop.votes(better, worse)
    if counted.total < NEEDED:
        return
    why = f"{len(better)} of {of(len(better) + len(worse), 'label')} say that the refusal is wrong.{counted.source}"
    yield Proposal(
        draft.kind, draft.at, draft.title, why, counted.p, tuple(edits), len(better) + len(worse), better, worse, unit=draft.unit, facts=draft.facts,
        remade=remade,
    )  # fmt: skip


def _cures(shop: Workshop, edits: list[Edit], about: frozenset[int], code: str) -> bool:
    """Whether a change removes the finding. Rules may still refuse a reply that the schema then accepts."""
    contract = shop.file.contract(edits)
    cured = 0
    for number in about:
        verdict = judged(contract, shop.evidence.seen[number].case)
        now = [found.code for found in verdict.findings] if verdict is not None else [code]
        cured += now.count(code) < [found.code for found in shop.evidence.seen[number].errors].count(code)
    return cured >= _WORKS * len(about)


def _of(trial: Trial, about: frozenset[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The replies that a change makes better or worse, also elsewhere."""
    return tuple(number for number in trial.better if number in about), trial.worse


def _field(path: str) -> str:
    return render(tuple(part for part in parse(path) if not isinstance(part, int)))[2:] or "The value"
