"""Invented records with known values: takes a language, a half and a seed, and returns a record with the kind of each leaf.

The words come from `data/grounding/<language>.txt`. Names are drawn from lists of first and last names, so nobody in particular is
meant. Each leaf is said once, in a surface form that is drawn when the text is made.
"""

import datetime as dt
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import grounding_forms as forms
import grounding_marks as marks
from grounding_forms import Clock, Form, Locale

DATA = Path(__file__).resolve().parent / "data" / "grounding"
LANGUAGES = ("en", "es", "de", "zh", "ja", "fr", "pt")
HALVES = ("dev", "held")
Sections = dict[str, dict[str, list[str]]]


@functools.cache
def read(language: str) -> Sections:
    """The sections of a language's file; each line is a key and its alternatives, quotations have no key."""
    sections: Sections = {}
    current: dict[str, list[str]] = {}
    for line in (DATA / f"{language}.txt").read_text("utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line.startswith("["):
            current = sections.setdefault(line.strip("[]"), {})
            continue
        key, _, rest = line.partition("=")
        alternatives = [rest.strip()] if not key.strip() else [one.strip() for one in rest.split("|")]
        current.setdefault(key.strip(), []).extend(alternatives)
    return sections


class Field(NamedTuple):
    key: str
    kind: str
    spec: Any = None


class Domain(NamedTuple):
    head: tuple[Field, ...]
    group: str = ""
    fields: tuple[Field, ...] = ()


DOMAINS: dict[str, Domain] = {
    "invoice": Domain(
        (
            Field("number", "id", "invoice"), Field("vendor", "string", "company"), Field("customer", "name"),
            Field("date", "date", (-90, -1)), Field("due", "date", (5, 60)), Field("tax_rate", "percent", "fraction"),
            Field("total", "amount", "total"),
        ),
        "lines",
        (Field("item", "string", "product"), Field("quantity", "integer", (1, 40)), Field("price", "amount", "price")),
    ),
    "receipt": Domain(
        (
            Field("shop", "string", "place"), Field("date", "date", (-30, 0)), Field("time", "time"),
            Field("total", "amount", "total"),
        ),
        "items",
        (Field("item", "string", "product"), Field("price", "amount", "price")),
    ),
    "booking": Domain(
        (
            Field("guest", "name"), Field("phone", "phone"), Field("place", "string", "place"), Field("date", "date", (0, 40)),
            Field("time", "time"), Field("people", "integer", (2, 14)), Field("reference", "id", "code"), Field("terrace", "flag"),
        ),
    ),
    "clinic": Domain(
        (Field("clinic", "string", "place"),),
        "visits",
        (
            Field("patient", "name"), Field("age", "integer", (18, 89)), Field("date", "date", (0, 25)), Field("time", "time"),
            Field("weight", "measure", "body"), Field("dose", "measure", "dose"),
        ),
    ),
    "jobs": Domain(
        (Field("company", "string", "company"), Field("position", "string", "position")),
        "candidates",
        (
            Field("name", "name"), Field("age", "integer", (19, 64)), Field("experience_years", "integer", (2, 35)),
            Field("salary", "amount", "salary"),
        ),
    ),
    "estate": Domain(
        (Field("agent", "name"), Field("phone", "phone")),
        "listings",
        (
            Field("address", "string", "address"), Field("area_m2", "measure", "area"), Field("rooms", "integer", (1, 7)),
            Field("rent", "amount", "rent"), Field("available", "date", (3, 120)),
        ),
    ),
    "shipping": Domain(
        (Field("carrier", "string", "company"), Field("recipient", "name"), Field("address", "string", "address")),
        "parcels",
        (
            Field("tracking", "id", "tracking"), Field("content", "string", "product"), Field("weight", "measure", "parcel"),
            Field("delivery", "date", (1, 14)),
        ),
    ),
    "products": Domain(
        (Field("supplier", "string", "company"),),
        "products",
        (
            Field("sku", "id", "sku"), Field("name", "string", "product"), Field("price", "amount", "price"),
            Field("stock", "integer", (2, 2500)), Field("discount_percent", "percent", "discount"),
        ),
    ),
    "minutes": Domain(
        (
            Field("date", "date", (-40, -1)), Field("time", "time"), Field("chair", "name"), Field("attendees", "name", "list"),
            Field("budget", "amount", "budget"), Field("next_meeting", "date", (7, 60)),
        ),
        "statements",
        (Field("speaker", "name"), Field("quote", "quotation")),
    ),
    "report": Domain(
        (
            Field("company", "string", "company"), Field("date", "date", (-40, -1)), Field("revenue", "amount", "revenue"),
            Field("growth_percent", "percent", "growth"), Field("employees", "integer", (12, 48000)), Field("ceo", "name"),
            Field("quote", "quotation"),
        ),
    ),
    "trip": Domain(
        (
            Field("passenger", "name"), Field("origin", "string", "city"), Field("destination", "string", "city"),
            Field("date", "date", (0, 40)), Field("time", "time"), Field("people", "integer", (1, 9)),
            Field("price", "amount", "price"), Field("reference", "id", "code"),
        ),
    ),
}  # fmt: skip


@dataclass
class Leaf:
    """A value of a record, with its original object and its form in the text."""

    path: str
    key: str
    field: Field
    kind: str
    thing: Any
    value: Any
    group: str = ""
    index: int = -1
    said: list[Form] = field(default_factory=list)

    @property
    def known(self) -> list[Any]:
        """The text's value at this leaf, with every other reading of it."""
        return [self.value, *(other for form in self.said for other in form.also)]


class Maker:
    """Draws values of one language and half."""

    def __init__(self, language: str, half: str, place: Locale, chance: Random) -> None:
        self.language, self.half, self.place, self.chance = language, half, place, chance
        self.sections = read(language)
        self.lists = self.sections[f"words {half}"]

    def word(self, section: str, key: str) -> str:
        return self.chance.choice(self.sections[section][key])

    def person(self) -> marks.Person:
        woman = self.chance.random() < 0.5
        first, middle = self.chance.sample(self.lists["women" if woman else "men"], 2)
        return marks.Person(first, middle, self.chance.choice(self.lists["last"]), woman)

    def make(self, one: Field) -> tuple[Any, Any]:
        """The original object of a field and its canonical value."""
        return getattr(self, f"_{one.kind}")(one.spec)

    def _name(self, _spec: Any) -> tuple[Any, Any]:
        person = self.person()
        return person, marks.full_name(person, self.language)

    def _string(self, spec: str) -> tuple[Any, Any]:
        text = self.address() if spec == "address" else self.chance.choice(self.lists[spec])
        return text, text

    def address(self) -> str:
        chance = self.chance
        street, city = chance.choice(self.lists["street"]), chance.choice(self.lists["city"])
        number = chance.randrange(11, 198)
        return {
            "en": lambda: f"{number} {street}, {city}",
            "de": lambda: f"{street} {number}, {chance.randrange(10111, 98999)} {city}",
            "es": lambda: f"{street}, {number}, {city}",
            "fr": lambda: f"{number} {street}, {chance.randrange(10111, 95999)} {city}",
            "pt": lambda: f"{street}, {number}, {city}",
            "zh": lambda: f"{city}{street}{number}号",
            "ja": lambda: (
                f"{city}{street}{chance.randrange(1, 9)}-{chance.randrange(11, 39)}-{chance.randrange(1, 20)}"
            ),
        }[self.language]()

    def _integer(self, spec: tuple[int, int]) -> tuple[Any, Any]:
        low, high = spec
        if high > 1000:
            number = int(low * (high / low) ** self.chance.random())
            if number > 300 and self.chance.random() < 0.4:
                number = round(number, -2)
        else:
            number = self.chance.randint(low, high)
        return number, number

    def _date(self, spec: tuple[int, int]) -> tuple[Any, Any]:
        low, high = spec
        gap = self.chance.randint(low, high)
        if low == 0 and self.chance.random() < 0.25:
            gap = self.chance.randint(0, 2)
        date = self.place.today + dt.timedelta(days=gap)
        return date, date.isoformat()

    def _time(self, _spec: Any) -> tuple[Any, Any]:
        clock = Clock(self.chance.randint(7, 21), self.chance.choice((0, 0, 5, 10, 15, 15, 20, 30, 30, 40, 45, 45, 50)))
        return clock, str(clock)

    def _amount(self, spec: str) -> tuple[Any, Any]:
        number: float = AMOUNTS[spec](self)
        value = int(number) if float(number).is_integer() else round(number, 2)
        return value, value

    def _percent(self, spec: str) -> tuple[Any, Any]:
        chance = self.chance
        if spec == "fraction":
            percent = chance.choice((4, 5, 6, 7, 7.7, 8, 8.1, 9, 10, 13, 16, 17, 19, 20, 21, 23))
            return percent, round(percent / 100, 4)
        percent = chance.randint(3, 60) if spec == "discount" else round(chance.uniform(0.6, 48), 1)
        percent = int(percent) if float(percent).is_integer() else percent
        return percent, percent

    def _measure(self, spec: str) -> tuple[Any, Any]:
        chance = self.chance
        if spec == "area":
            area = chance.randint(22, 240) if chance.random() < 0.7 else round(chance.uniform(22, 140), 1)
            area = int(area) if float(area).is_integer() else area
            return (area, "m2", False), area
        if spec == "body":
            number, unit = chance.randrange(90, 220) / 2, "kg"
        elif spec == "parcel":
            number, unit = (
                chance.choice((chance.randrange(2, 60) / 4, chance.randrange(2, 300) / 10, chance.randrange(1, 30))),
                "kg",
            )
        elif chance.random() < 0.8:
            number, unit = chance.choice((5, 10, 15, 25, 40, 50, 75, 80, 100, 120, 150, 250, 400, 500, 800)), "mg"
        else:
            number, unit = chance.randrange(2, 30), "ml"
        number = int(number) if float(number).is_integer() else number
        return (number, unit, spec != "body"), f"{number} {unit}"

    def _id(self, spec: str) -> tuple[Any, Any]:
        text = IDS[spec](self.chance, self.half)
        return text, text

    def _phone(self, _spec: Any) -> tuple[Any, Any]:
        digits = marks.phone_digits(self.place.region, self.chance)
        return digits, f"+{marks.COUNTRY[self.place.region]}{digits}"

    def _quotation(self, _spec: Any) -> tuple[Any, Any]:
        template = self.chance.choice(self.sections[f"quotes {self.half}"][""])
        return template, quotation(template, 0)

    def _flag(self, _spec: Any) -> tuple[Any, Any]:
        flag = self.chance.random() < 0.5
        return flag, flag


def quotation(template: str, which: int) -> str:
    """The original quotation (0), or the quotation with one word altered (1)."""
    head, _, rest = template.partition("{")
    word, _, tail = rest.partition("}")
    return head + word.split("|")[which] + tail


def _scale(maker: Maker) -> int:
    return {"JP": 100, "CN": 5, "MX": 15, "BR": 4}.get(maker.place.region, 1)


def _price(maker: Maker) -> float:
    low = maker.chance.random()
    number = 2.5 * (900 / 2.5) ** low * _scale(maker)
    if maker.place.language == "ja":
        return round(number, -1) or 10
    return round(number, maker.chance.choice((0, 1, 2, 2, 2)))


def _rounded(low: int, high: int, digits: int) -> Callable[[Maker], float]:
    def draw(maker: Maker) -> float:
        number = int(low * (high / low) ** maker.chance.random()) * _scale(maker)
        return round(number, digits - len(str(number)))

    return draw


AMOUNTS: dict[str, Callable[[Maker], float]] = {
    "price": _price,
    "total": lambda _maker: 0,  # the sum of the lines, put in when these are known
    "salary": _rounded(26_000, 98_000, 2),
    "rent": _rounded(430, 3900, 3),
    "budget": _rounded(4_000, 950_000, 2),
    "revenue": _rounded(1_200_000, 9_900_000_000, 2),
}


def _letters(chance: Random, count: int, alphabet: str = "ABCDEFGHJKLMNPQRSTUVWXYZ") -> str:
    return "".join(chance.choice(alphabet) for _ in range(count))


def _digits(chance: Random, count: int) -> str:
    return str(chance.randrange(1, 10)) + "".join(str(chance.randrange(10)) for _ in range(count - 1))


IDS: dict[str, Callable[[Random, str], str]] = {
    "invoice": lambda c, half: (
        f"{c.choice(('INV', 'RE', 'FA')) if half == 'dev' else c.choice(('BILL', 'R', 'KX'))}-{_digits(c, 4)}-{_digits(c, 4)}"
    ),
    "code": lambda c, half: (
        _letters(c, 2) + _digits(c, 2) + _letters(c, 2) if half == "dev" else _letters(c, 3) + _digits(c, 4)
    ),
    "tracking": lambda c, half: _digits(c, 12) if half == "dev" else f"{_letters(c, 2)}{_digits(c, 9)}{_letters(c, 2)}",
    "sku": lambda c, half: (
        f"{_letters(c, 2)}-{_digits(c, 4)}" if half == "dev" else f"{_digits(c, 3)}-{_digits(c, 3)}{_letters(c, 1)}"
    ),
}


def surfaces(leaf: Leaf, place: Locale, half: str, chance: Random) -> Iterator[tuple[Any, Form]]:
    """Every value and form that a leaf can take."""
    thing, value = leaf.thing, leaf.value
    if leaf.kind == "name":
        yield from marks.names(thing, place, half)
    elif leaf.kind == "phone":
        yield from marks.phones(thing, place)
    elif leaf.kind == "quotation":
        yield from marks.quotations(value, place, chance)
    else:
        for form in _plain_surfaces(leaf, place, chance):
            yield value, form


def _plain_surfaces(leaf: Leaf, place: Locale, chance: Random) -> list[Form]:
    thing = leaf.thing
    if leaf.kind == "date":
        return forms.dates(thing, place)
    if leaf.kind == "time":
        return forms.times(thing, place)
    if leaf.kind == "integer":
        return forms.integers(thing, place, leaf.key)
    if leaf.kind == "amount":
        return marks.amounts(thing, place)
    if leaf.kind == "percent":
        return marks.percents(thing, place)
    if leaf.kind == "measure":
        number, unit, convert = thing
        return marks.measures(number, unit, place, convert=convert)
    if leaf.kind == "id":
        return marks.identifiers(thing, place)
    texts = forms.strings(thing, place, chance)
    if leaf.field.spec == "address":
        texts = [form for form in texts if form.name != "hyphenated"]
        if place.east:
            texts.append(Form("wide", forms.wide(thing)))
        else:
            texts.append(Form("line break", thing.replace(", ", "\n", 1), "p"))
    return texts
