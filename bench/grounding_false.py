"""False values: a document with its true value enters, copies with one false leaf leave, each by the kind of mistake.

A false value is drawn again until it is certain that the text does not say it in any form; what cannot be made certain is left out. Only
`swap` and `copied` use values that the text has: those of another record of the same document. A swap has two false leaves.
"""

import copy
import datetime as dt
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from grounding_forms import bare
from grounding_records import DOMAINS, Leaf, quotation
from grounding_texts import Document
from grounding_words import words

KINDS = ("neighbour", "near miss", "example", "invented", "swap", "copied", "altered quotation")
TRIES = 14
SWAPPED = {"integer", "amount", "percent", "date", "time", "measure"}


class Case(NamedTuple):
    """One reply to check: a value, the paths of its false leaves, and the instructions that came with the text."""

    document: Document
    kind: str  # "true" or one of KINDS
    value: Any
    false: tuple[str, ...]
    leaves: tuple[Leaf, ...]
    prompt: str = ""


def fold(text: str) -> str:
    """Letters and digits only, without case, accents and width."""
    return "".join(char for char in bare(unicodedata.normalize("NFKC", text)).casefold() if char.isalnum())


def tokens(text: str) -> set[str]:
    return {bare(one) for one in re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())}


class Facts:
    """Everything that a text may say, read as widely as possible: too many numbers rather than one too few."""

    def __init__(self, text: str, leaves: Sequence[Leaf], language: str) -> None:
        self.language, self.leaves = language, leaves
        self.text = unicodedata.normalize("NFKC", text)
        self.lower = bare(self.text).casefold()
        self.folded = fold(text)
        self.values = {
            fold(leaf.value) for leaf in leaves if isinstance(leaf.value, str)
        }  # also those that the text misspells
        self.tokens = tokens(text)
        self.digits = re.sub(r"\D", "", self.text)
        self.numbers = _numbers(self.text) | {round(float(n), 6) for leaf in leaves for n in _own_numbers(leaf)}
        self.times = {one for leaf in leaves if leaf.kind == "time" for one in leaf.known} | _times(self.text)
        dates = [leaf for leaf in leaves if leaf.kind == "date"]
        self.dates = {str(one) for leaf in dates for one in leaf.known}
        self.days = {leaf.value[5:] for leaf in dates if any(form.name == "no year" for form in leaf.said)}

    def says_number(self, value: float) -> bool:
        if round(float(value), 6) in self.numbers or value in (0, 1):
            return True
        if not float(value).is_integer() or value > 9_999_999:
            return False
        forms = {
            words(int(value), self.language),
            words(int(value), self.language, feminine=True),
            "两" if value == 2 else "",
        }
        east = self.language in ("zh", "ja")
        for form in filter(None, forms):
            said = bare(form).casefold()
            if said in self.text if east else re.search(rf"\b{re.escape(said)}\b", self.lower):
                return True
        return False

    def says_string(self, text: str) -> bool:
        folded = fold(text)
        return folded in self.folded or any(folded in value for value in self.values)

    def says_name(self, name: str) -> bool:
        """Whether the name can be read anywhere: every part is there, or one of them with an initial of the other."""
        if self.language in ("zh", "ja"):
            return fold(name) in self.folded
        parts = [bare(part).casefold() for part in re.findall(r"[\w'-]+", name)]
        long = [part for part in parts if len(part) > 1]
        missing = [part for part in long if not tokens(part) <= self.tokens]
        if not missing or (len(long) < len(parts) and tokens(long[-1]) <= self.tokens):
            return True
        if len(missing) == len(long):
            return False
        return any(re.search(rf"\b{part[0]}\.", self.lower) for part in missing)


def _own_numbers(leaf: Leaf) -> Iterator[float]:
    thing = leaf.thing
    if leaf.kind in ("integer", "amount", "percent"):
        yield thing
        yield leaf.value
    elif leaf.kind == "measure":
        yield from (thing[0], thing[0] * 1000, thing[0] / 1000)


def _numbers(text: str) -> set[float]:
    found: set[float] = set()
    for run in re.findall(r"\d+(?:[.,'’\u202f\u00a0 ]\d+)*", text):
        pieces = re.split(r"\D", run)
        for start in range(len(pieces)):
            for end in range(start + 1, min(len(pieces), start + 5) + 1):
                part = pieces[start:end]
                found.add(float("".join(part)))
                if len(part) > 1:
                    found.add(round(float("".join(part[:-1]) + "." + part[-1]), 6))
    return found


def _times(text: str) -> set[str]:
    found = set()
    for hour, minute in re.findall(r"(\d{1,2})\s?[:.h時时点]\s?(\d{2})", text):
        for h in (int(hour), int(hour) + 12):
            if h < 25 and int(minute) < 60:
                found.add(f"{h % 24:02}:{minute}")
    return found


def is_false(leaf: Leaf, value: Any, facts: Facts) -> bool:
    """Whether the text says this value nowhere, in no form."""
    if value == leaf.value or value is None:
        return False
    kind = leaf.kind
    if kind in ("integer", "amount"):
        return value > 0 and not facts.says_number(value)
    if kind == "percent":
        return value > 0 and not facts.says_number(value) and not facts.says_number(round(value * 100, 6))
    if kind == "measure":
        return _false_measure(value, facts)
    if kind == "date":
        return value not in facts.dates and value[5:] not in facts.days
    if kind == "time":
        return value not in facts.times
    if kind == "name":
        return not facts.says_name(value)
    if kind == "phone":
        return re.sub(r"\D", "", value)[-8:] not in facts.digits
    return not facts.says_string(value)


def _false_measure(value: Any, facts: Facts) -> bool:
    if isinstance(value, str):
        number = value.split()[0]
        own = {_grams(leaf.value) for leaf in facts.leaves if leaf.kind == "measure" and isinstance(leaf.value, str)}
        if _grams(value) in own:
            return False
        if any(
            isinstance(leaf.value, str) and leaf.value.split()[0] == number
            for leaf in facts.leaves
            if leaf.kind == "measure"
        ):
            return True  # the number is there, with another unit
        value = float(number)
    return value > 0 and not any(facts.says_number(round(value * times, 6)) for times in (1, 1000, 0.001))


def _grams(text: str) -> float:
    number, unit = text.split()
    return round(float(number) * {"kg": 1000, "mg": 0.001, "g": 1, "ml": 1e9}[unit], 6)


# -- near misses ------------------------------------------------------------------------------------------------------------------


def _tidy(number: float) -> float | int:
    return int(number) if float(number).is_integer() else round(number, 4)


def _digit(text: str, chance: Random) -> str:
    """One digit changed, or two neighbours exchanged."""
    places = [at for at, char in enumerate(text) if char.isdigit()]
    pairs = [at for at in places if text[at + 1 : at + 2].isdigit() and text[at] != text[at + 1]]
    if pairs and chance.random() < 0.5:
        at = chance.choice(pairs)
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    if not places:
        return text
    at = chance.choice(places)
    return text[:at] + str((int(text[at]) + chance.randint(1, 9)) % 10) + text[at + 1 :]


def _near_number(value: float, chance: Random, times: tuple[float, ...]) -> float | int:
    way = chance.random()
    if way < 0.25:
        return _tidy(value * chance.choice(times))
    if way < 0.4 and isinstance(value, int) and value < 10_000:
        return value + chance.choice((-1, 1))
    text = f"{value}"
    head, zeros = text.rstrip("0"), len(text) - len(text.rstrip("0"))
    if zeros > 1 and "." not in text:
        return _tidy(float(_digit(head, chance) + "0" * zeros))
    return _tidy(float(_digit(text, chance)))


def _near_date(leaf: Leaf, chance: Random) -> str:
    date: dt.date = leaf.thing
    way = chance.choice(("day", "day", "month", "swap", "year"))
    plain = leaf.said[-1].name
    if way == "swap" and date.day <= 12 and not plain.startswith(("slashed", "dashed-d")):
        return date.replace(month=date.day, day=date.month).isoformat()
    if way == "month":
        month = date.month % 12 + 1
        if date.day <= 28 and month > date.month:
            return date.replace(month=month).isoformat()
    if way == "year" and plain not in ("no year", "relative") and (date.month, date.day) != (2, 29):
        return date.replace(year=date.year + chance.choice((-1, 1))).isoformat()
    return (date + dt.timedelta(days=chance.choice((-1, 1)))).isoformat()


def _near_time(leaf: Leaf, chance: Random) -> str:
    hour, minute = leaf.thing
    way = chance.choice(("hour", "quarter", "flip"))
    if way == "flip" and not leaf.said[-1].also and hour != 12:
        return f"{(hour + 12) % 24:02}:{minute:02}"
    moved = hour * 60 + minute + (chance.choice((-60, 60)) if way == "hour" else chance.choice((-15, 15)))
    return f"{moved // 60 % 24:02}:{moved % 60:02}"


def _near_name(leaf: Leaf, document: Document, facts: Facts) -> str | None:
    person, lists, chance = leaf.thing, document.maker.lists, document.chance
    value: str = leaf.value
    first = chance.random() < 0.5 and person.first in value
    old = person.first if first else person.last
    new = chance.choice(lists["women" if person.woman else "men"] if first else lists["last"])
    if new == old or fold(new) in facts.folded:
        return None
    if document.place.east:
        return value.replace(old, new, 1) if not first else value[: value.rindex(old)] + new
    return value.replace(old, new, 1)


def _near_string(leaf: Leaf, document: Document, facts: Facts) -> str | None:
    text, chance = leaf.value, document.chance
    if any(char.isdigit() for char in text) and chance.random() < 0.6:
        return _digit(text, chance)
    pool = document.maker.lists["city" if leaf.field.spec == "address" else leaf.field.spec]
    other = chance.choice(pool)
    if document.place.east:
        if leaf.field.spec == "address" or min(len(text), len(other)) < 4:
            return None
        new = other[:2]
        return new + text[2:] if fold(new) not in facts.folded else None
    mine = [word for word in re.findall(r"\w+", text) if len(word) >= 4 and not word.isdigit()]
    theirs = [word for word in re.findall(r"\w+", other) if len(word) >= 4 and word not in ("GmbH", "Ltda")]
    theirs = [word for word in theirs if fold(word) not in facts.folded]
    if len(text.split()) < 2 or not mine or not theirs:
        return None
    return str(text.replace(chance.choice(mine), chance.choice(theirs), 1))


def _near_measure(leaf: Leaf, chance: Random) -> Any:
    if not isinstance(leaf.value, str):
        return _near_number(leaf.value, chance, (10, 0.1))
    number, unit = leaf.value.split()
    if chance.random() < 0.2 and unit in ("kg", "mg"):
        return f"{number} g"
    return f"{_near_number(json.loads(number), chance, (10, 0.1))} {unit}"


def near_miss(leaf: Leaf, document: Document, facts: Facts) -> Any:
    chance = document.chance
    if leaf.kind == "date":
        return _near_date(leaf, chance)
    if leaf.kind == "time":
        return _near_time(leaf, chance)
    if leaf.kind == "name":
        return _near_name(leaf, document, facts)
    if leaf.kind == "string":
        return _near_string(leaf, document, facts)
    if leaf.kind in ("id", "phone"):
        return _digit(leaf.value, chance)
    if leaf.kind == "measure":
        return _near_measure(leaf, chance)
    if leaf.kind == "quotation":
        return None
    if leaf.kind == "amount":
        near = _near_number(leaf.value, chance, (10, 0.1))
        return near if round(near, 2) == near else None
    return _near_number(leaf.value, chance, (10,))


# -- the other kinds ----------------------------------------------------------------------------------------------------------------


def invented(leaf: Leaf, document: Document) -> Any:
    chance = document.chance
    if leaf.kind == "string" and leaf.field.spec != "address" and not document.place.east:
        one, other = (chance.choice(document.maker.lists[leaf.field.spec]).split() for _ in range(2))
        return " ".join([*one[: (len(one) + 1) // 2], *other[len(other) // 2 :]])
    if leaf.kind == "date":
        return (leaf.thing + dt.timedelta(days=chance.randrange(-400, 400))).isoformat()
    value = document.maker.make(leaf.field)[1]
    if leaf.kind == "amount" and leaf.field.spec == "total":
        return _tidy(round(leaf.value * chance.uniform(0.3, 3), 0 if document.language == "ja" else 2))
    if leaf.kind == "measure" and not isinstance(leaf.value, str):
        return _tidy(float(str(value).split()[0]))
    return value


def altered_quotation(leaf: Leaf, chance: Random) -> str | None:
    altered = quotation(leaf.thing, 1)
    if not leaf.value.endswith((".", "。")):
        altered = altered.rstrip(".。")
    found = leaf.value.split()
    way = chance.random()
    if way < 0.6 or len(found) < 6:
        return altered
    at = chance.randrange(1, len(found) - 1)
    if way < 0.8:
        return " ".join([*found[:at], *found[at + 1 :]])
    others = altered.split()
    return " ".join([*found[:at], others[(at + 3) % len(others)].strip(".,"), *found[at + 1 :]])


def _put(value: Any, path: str, new: Any) -> Any:
    """A copy of the value with another leaf."""
    value = copy.deepcopy(value)
    steps = [int(step) if step.isdigit() else step for step in re.findall(r"\w+", path)]
    at = value
    for step in steps[:-1]:
        at = at[step]
    at[steps[-1]] = new
    return value


def _pick(leaves: Sequence[Leaf], chance: Random) -> Leaf:
    """A leaf of a kind drawn first, so that rare kinds are as frequent as the others."""
    kind = chance.choice(sorted({leaf.kind for leaf in leaves}))
    return chance.choice([leaf for leaf in leaves if leaf.kind == kind])


class Pool:
    """The documents of one language and half, for neighbours and examples."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.values: dict[tuple[str, str], list[Any]] = {}
        self.domains: dict[str, list[Document]] = {}
        for one in documents:
            self.domains.setdefault(one.domain, []).append(one)
            for leaf in one.leaves:
                if leaf.kind != "flag":
                    self.values.setdefault((one.domain, leaf.path.rsplit(".", 1)[-1]), []).append(leaf.value)

    def example(self, document: Document) -> Document | None:
        others = [one for one in self.domains[document.domain] if one is not document]
        return document.chance.choice(others) if others else None


def prompt(document: Document, example: Document) -> str:
    """Instructions with an example: the value of another document."""
    return f"{document.word('prompt')}\n{json.dumps(example.value, ensure_ascii=False)}"


def cases(document: Document, pool: Pool) -> Iterator[Case]:
    """The true value, then one case for each kind of mistake that the document allows (two near misses)."""
    chance = document.chance
    example = pool.example(document)
    told = prompt(document, example) if example and chance.random() < 0.4 else ""
    leaves = [leaf for leaf in document.leaves if leaf.kind != "flag"]
    facts = Facts(document.text, document.leaves, document.language)
    yield Case(document, "true", document.value, (), tuple(document.leaves), told)

    def single(kind: str, draw: Callable[[Leaf], Any], among: Sequence[Leaf], said: str = "") -> Iterator[Case]:
        for _ in range(TRIES if among else 0):
            leaf = _pick(among, chance)
            value = draw(leaf)
            if value is not None and is_false(leaf, value, facts):
                yield Case(document, kind, _put(document.value, leaf.path, value), (leaf.path,), (leaf,), said)
                return

    def key(leaf: Leaf) -> str:
        return leaf.path.rsplit(".", 1)[-1]

    yield from single("neighbour", lambda leaf: chance.choice(pool.values[document.domain, key(leaf)]), leaves)
    for _ in range(2):
        yield from single("near miss", lambda leaf: near_miss(leaf, document, facts), leaves)
    yield from single("invented", lambda leaf: invented(leaf, document), leaves)
    if example:
        yield from single("example", lambda leaf: _sampled(leaf, example), leaves, prompt(document, example))
    quotes = [leaf for leaf in leaves if leaf.kind == "quotation"]
    yield from single("altered quotation", lambda leaf: altered_quotation(leaf, chance), quotes)
    yield from _exchanged(document)


def _sampled(leaf: Leaf, example: Document) -> Any:
    """The example's value of the same field, of its first record."""
    path = re.sub(r"\[\d+\]", "[0]", leaf.path)
    return next((other.value for other in example.leaves if other.path == path), None)


def _exchanged(document: Document) -> Iterator[Case]:
    """Values of two records of one document: exchanged, and copied from one to the other."""
    chance = document.chance
    records = document.records()
    if len(records) < 2 or len(DOMAINS[document.domain].fields) < 3:
        return
    for kind in ("swap", "copied"):
        for _ in range(TRIES):
            one, other = chance.sample(records, 2)
            at = chance.choice([n for n, leaf in enumerate(one) if leaf.kind in SWAPPED])
            mine, theirs = one[at], other[at]
            if not (_foreign(mine, theirs, document) and (kind == "copied" or _foreign(theirs, mine, document))):
                continue
            value = _put(document.value, mine.path, theirs.value)
            if kind == "copied":
                yield Case(document, kind, value, (mine.path,), (mine,))
            else:
                yield Case(
                    document, kind, _put(value, theirs.path, mine.value), (mine.path, theirs.path), (mine, theirs)
                )
            break


def _foreign(mine: Leaf, theirs: Leaf, document: Document) -> bool:
    """Whether only other records say the value of `theirs`: not the record of `mine`, nor the head, a label or a footer."""
    if mine.value == theirs.value or theirs.value in mine.known:
        return False
    own = [leaf for leaf in document.leaves if leaf.index == mine.index or leaf.group != mine.group]
    rest = document.text
    for leaf in document.leaves:
        for form in leaf.said:
            rest = rest.replace(form.text, " ", 1)
    said = "\n".join(form.text for leaf in own for form in leaf.said)
    return is_false(mine, theirs.value, Facts(f"{rest}\n{said}", own, document.language))
