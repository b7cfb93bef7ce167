"""Random contracts with traffic, labels and planted faults that the tuner must find, and good rules that it must not
change.

A world is a contract file, replies judged under it, people's labels, and the planted faults. Every part of a contract
draws its own fields, so the true errors in a reply are known without any contract.
"""

import json
import keyword
import random
from collections.abc import Callable
from typing import Any, NamedTuple

from trueup.contract.contract import Contract
from trueup.contract.files.documents import parse_document
from trueup.material.case import Case, Label, Recorded

Parts = tuple[str | int, ...]

NOUNS = (
    "amount price weight height score rating age count total level depth width speed volume distance duration humidity dose "
    "balance mileage quantity priority severity latency yield margin pressure altitude"
).split()
ADJECTIVES = "net gross final raw mean peak base first last local daily safe open main extra spare".split()
TEXTS = "summary comment reason title note answer remark description label caption".split()
KINDS: tuple[tuple[str, ...], ...] = (
    ("low", "medium", "high"),
    ("open", "pending", "closed", "rejected"),
    ("refund", "exchange", "complaint", "question"),
    ("positive", "negative", "neutral"),
    ("north", "south", "east", "west"),
    ("beginner", "intermediate", "advanced", "expert"),
    ("cash", "transfer", "voucher"),
    ("morning", "afternoon", "evening"),
)
FOREIGN = {
    "low": "bajo", "medium": "medio", "high": "alto", "open": "abierto", "pending": "pendiente", "closed": "cerrado",
    "refund": "reembolso", "exchange": "cambio", "positive": "gut", "negative": "schlecht", "north": "nord", "south": "sud",
    "morning": "mañana", "evening": "abend", "cash": "efectivo", "expert": "maestro",
}  # fmt: skip
OTHER_KEYS = "qty amt val lvl info detail field_one kosten grund wert x_total meta_value".split()
WORDS = (
    "the order arrived late and box was open we checked stock again customer asked for new one our team will look into it "
    "delivery takes two days from now item fits well colour is lighter than shown return label sent by mail price includes tax"
).split()
AUTHORS = ("ana", "ben", "chloe", "dev")


class Planted(NamedTuple):
    """A planted fault in a contract: its kind, its place in the document, and the correct value."""

    kind: str
    at: Parts
    right: Any = None
    wrong: Any = None


class Drawn(NamedTuple):
    """One part's share of a reply: its fields, whether they are truly wrong, whether its fault shows, and a note for
    labels."""

    fields: dict[str, Any]
    is_bad: bool = False
    shows: bool = False
    remark: str = ""
    said: tuple[str, ...] = ()


class Part(NamedTuple):
    """A part of a contract: what it adds to the file, and how replies draw their values for it."""

    draw: Callable[[random.Random], Drawn]
    properties: dict[str, Any] = {}
    required: tuple[str, ...] = ()
    rules: tuple[dict[str, Any], ...] = ()
    ranges: dict[str, Any] = {}
    forbid: tuple[Any, ...] = ()
    min_text: int | None = None
    fault: Callable[[dict[str, Any]], Planted] | None = None


class World(NamedTuple):
    """A contract file, replies with labels, and the faults planted in the contract."""

    text: str
    cases: list[Case]
    planted: list[Planted]


class Names:
    """Names that are unique in a world."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._used: set[str] = set()

    def new(self, pool: list[str]) -> str:
        while True:
            name = self._rng.choice(pool)
            if self._rng.random() < 0.4:
                joiner = self._rng.choice(["_", "_", "-" if self._rng.random() < 0.1 else "_"])
                name = f"{self._rng.choice(ADJECTIVES)}{joiner}{name}"
            if name not in self._used:
                self._used.add(name)
                return name

    def rule(self, about: str) -> str:
        return f"{about.replace('-', '_')}_{self._rng.choice(['ok', 'check', 'holds', 'sane', 'plausible'])}"

    def plain(self, pool: list[str]) -> str:
        """A name that an expression can use."""
        while True:
            name = self.new(pool)
            if name.isidentifier() and not keyword.iskeyword(name):
                return name


def sentence(rng: random.Random, low: int = 4, high: int = 14) -> str:
    said = " ".join(rng.choice(WORDS) for _ in range(rng.randint(low, high)))
    return said[0].upper() + said[1:] + rng.choice([".", ".", "", "!"])


# -- distributions of numbers ------------------------------------------------------------------


def numbers(rng: random.Random) -> tuple[Callable[[random.Random], float | int], bool]:
    """A function that draws numbers, and whether they are integers."""
    kind = rng.choice(["uniform", "normal", "skewed", "share"])
    scale = rng.choice([10, 50, 100, 1000, 20000])
    if kind == "share":
        digits = rng.choice([2, 3])
        return (lambda r: round(min(1.0, max(0.0, r.gauss(0.6, 0.17))), digits)), False
    whole = rng.random() < 0.7 or scale == 10
    digits = rng.choice([1, 2])

    def draw(r: random.Random) -> float | int:
        if kind == "uniform":
            x = r.uniform(0, scale * 3)
        elif kind == "normal":
            x = max(0.0, r.gauss(scale * 2, scale * 0.6))
        else:
            x = r.lognormvariate(0, 0.6) * scale
        return round(x) if whole else round(x, digits)

    return draw, whole


def quantile(draw: Callable[[random.Random], float | int], share: float, rng: random.Random) -> float | int:
    """The number that a given share of the drawn numbers does not exceed."""
    drawn = sorted(draw(rng) for _ in range(3000))
    return drawn[min(len(drawn) - 1, int(share * len(drawn)))]


# -- parts of contracts for data -----------------------------------------------------------------


def bounded(rng: random.Random, names: Names, fault: str = "") -> Part:
    """A number with one bound in the schema, in `ranges` or in a rule. The fault moves the bound, or makes it
    misfire."""
    upper = rng.random() < 0.5
    where = "rule" if fault == "misfire" else rng.choice(["schema", "ranges", "rule", "rule"])
    name = names.plain(NOUNS) if where == "rule" else names.new(NOUNS)
    draw, whole = numbers(rng)
    bad_share = rng.uniform(0.08, 0.16) if fault == "lax" else rng.uniform(0.02, 0.07)

    def at(share: float) -> float | int:
        return quantile(draw, 1 - share if upper else share, random.Random(rng.random()))

    true = at(bad_share)
    shown = true
    if fault == "strict":
        shown = at(bad_share + rng.uniform(0.05, 0.14))
    elif fault == "lax":
        shown = at(bad_share * rng.uniform(0.0, 0.25))
    elif fault == "misfire":
        shown = true = at(rng.uniform(0.05, 0.11))
    if fault in ("strict", "lax") and shown == true:
        return bounded(rng, names, fault)
    forgiven = rng.uniform(0.8, 1.0) if fault == "misfire" else rng.uniform(0.0, 0.12)

    def one(r: random.Random) -> Drawn:
        x = draw(r)
        beyond = x > true if upper else x < true
        refused = x > shown if upper else x < shown
        is_bad = beyond and r.random() >= forgiven
        shows = refused if fault == "misfire" else refused != beyond
        return Drawn({name: x}, is_bad, bool(fault) and shows)

    kind = "integer" if whole else "number"
    rule_name = names.rule(name)
    part = Part(one, {name: {"type": kind}}, (name,))
    planted = {"strict": "threshold", "lax": "threshold", "misfire": "misfire"}.get(fault, "")
    if where == "schema":
        word = "maximum" if upper else "minimum"
        part = part._replace(properties={name: {"type": kind, word: shown}})
        place: Callable[[dict[str, Any]], Parts] = lambda doc: ("schema", "properties", name, word)  # noqa: E731
    elif where == "ranges":
        part = part._replace(ranges={name: [None, shown] if upper else [shown, None]})
        place = lambda doc: ("rules", "ranges", name, 1 if upper else 0)  # noqa: E731
    else:
        sign = rng.choice(["<=", "<="]) if upper else ">="
        expr = f"{name} {sign} {shown}" if rng.random() < 0.7 else f"{shown} {'>=' if upper else '<='} {name}"
        rule = {"name": rule_name, "expr": expr, "error": f"{name} is {{{name}}}"}
        part = part._replace(rules=(rule,))
        place = lambda doc: rule_place(doc, rule_name)  # noqa: E731
    if planted:
        part = part._replace(fault=lambda doc: Planted(planted, place(doc), true, shown))
    return part


def lengthy(rng: random.Random, names: Names, fault: str = "") -> Part:
    """A text that must not be too short or too long."""
    name = names.plain(TEXTS)
    longest = rng.random() < 0.4
    where = rng.choice(["schema", "rule"])
    centre = rng.choice([30, 60, 120])

    def length(r: random.Random) -> int:
        return max(1, round(r.gauss(centre, centre / 3)))

    def at(share: float) -> int:
        return int(quantile(length, 1 - share if longest else share, random.Random(rng.random())))

    bad_share = rng.uniform(0.03, 0.07)
    true = at(bad_share)
    shown = at(bad_share + rng.uniform(0.06, 0.14)) if fault else true
    if fault and shown == true:
        return lengthy(rng, names, fault)

    def one(r: random.Random) -> Drawn:
        size = length(r)
        text = sentence(r, size // 4 + 2, size // 4 + 4).ljust(size, "x")[:size]
        text = text[:-1].strip().ljust(size - 1, "o") + "."
        beyond = len(text) > true if longest else len(text) < true
        refused = len(text) > shown if longest else len(text) < shown
        return Drawn({name: text}, beyond, bool(fault) and refused != beyond)

    rule_name = names.rule(name)
    word = "maxLength" if longest else "minLength"
    if where == "schema":
        part = Part(one, {name: {"type": "string", word: shown}}, (name,))
        if fault:
            part = part._replace(
                fault=lambda doc: Planted("threshold", ("schema", "properties", name, word), true, shown)
            )
        return part
    rule = {"name": rule_name, "expr": f"len({name}) {'<=' if longest else '>='} {shown}"}
    part = Part(one, {name: {"type": "string"}}, (name,), (rule,))
    return part._replace(
        fault=(lambda doc: Planted("threshold", rule_place(doc, rule_name), true, shown)) if fault else None
    )


def varied(rng: random.Random, value: str) -> tuple[str, str]:
    """Another common spelling of an enum value, and a possible note of a label about it."""
    ways = ["decorated", "short", "inflected", "foreign"]
    way = rng.choice(ways)
    if way == "foreign" and value in FOREIGN:
        return FOREIGN[value], value
    if way == "short" and len(value) >= 5:
        return value[: rng.randint(3, 4)], ""
    if way == "inflected":
        return value + rng.choice(["s", "ish", "ed", "er"]), ""
    return rng.choice([f"very {value}", f"{value} (auto)", f"{value} now", f"level {value}", f"quite {value}"]), ""


def listed(rng: random.Random, names: Names, fault: str = "") -> Part:
    """One of a few values, sometimes inside an object or a list. The fault is a missing alias."""
    name = names.new(["kind", "status", "category", "mood", "region", "stage", "method", "slot", "tier", "class"])
    values = rng.choice(KINDS)
    spelling, remark = varied(rng, rng.choice(values))
    target = remark or next((v for v in values if spelling.startswith(v[:3]) or v in spelling), "")
    wrong = rng.uniform(0.01, 0.04)
    share = rng.uniform(0.05, 0.12) if fault else 0.0
    shape = rng.choice(["plain", "plain", "object", "list"])
    outer = names.new(["details", "entry", "record", "lines", "parts"]) if shape != "plain" else name
    nonsense = rng.sample(["n/a", "banana", "???", "unclear", "it depends", "none of these", "42"], 3)

    def one(r: random.Random) -> Drawn:
        x, drawn = r.choice(values), r.random()
        bad = shows = False
        if drawn < wrong:
            x, bad = r.choice(nonsense), True
        elif drawn < wrong + share:
            x, shows = spelling, True
        if shape == "object":
            fields: dict[str, Any] = {outer: {name: x}}
        elif shape == "list":
            others = [{name: r.choice(values)} for _ in range(r.randint(0, 2))]
            fields = {outer: [*others, {name: x}]}
        else:
            fields = {name: x}
        return Drawn(fields, bad, shows, remark if shows else "")

    inner: dict[str, Any] = {"type": "string", "enum": list(values)}
    held = {"type": "object", "properties": {name: inner}, "required": [name]}
    if shape == "object":
        properties, place = {outer: held}, ("schema", "properties", outer, "properties", name)
    elif shape == "list":
        properties = {outer: {"type": "array", "items": held}}
        place = ("schema", "properties", outer, "items", "properties", name)
    else:
        properties, place = {name: inner}, ("schema", "properties", name)
    planted = Planted("alias", place, target, spelling)
    return Part(one, properties, (outer,), fault=(lambda doc: planted) if fault else None)


def keyed(rng: random.Random, names: Names, fault: str = "") -> Part:
    """A required key. The fault is another name that models use for it."""
    name = names.new([*NOUNS, *TEXTS])
    other = names.new(OTHER_KEYS) if rng.random() < 0.5 else f"{name}{rng.choice(['_value', 's', '_text', 'Info'])}"
    is_text = rng.random() < 0.5
    left_out, share = rng.uniform(0.01, 0.03), rng.uniform(0.05, 0.11) if fault else 0.0

    def one(r: random.Random) -> Drawn:
        value: Any = sentence(r) if is_text else r.randint(1, 500)
        drawn = r.random()
        if drawn < left_out:
            return Drawn({}, True)
        if drawn < left_out + share:
            return Drawn({other: value}, False, True)
        return Drawn({name: value})

    planted = Planted("alias", ("schema", "properties", name), name, other)
    kind = {"type": "string" if is_text else "integer"}
    return Part(one, {name: kind}, (name,), fault=(lambda doc: planted) if fault else None)


def needless(rng: random.Random, names: Names) -> Part:
    """A required key that nobody needs."""
    name = names.new([*NOUNS, *TEXTS])
    share, forgiven = rng.uniform(0.05, 0.1), rng.uniform(0.85, 1.0)

    def one(r: random.Random) -> Drawn:
        if r.random() < share:
            return Drawn({}, r.random() >= forgiven, True)
        return Drawn({name: r.randint(1, 500)})

    planted = Planted("misfire", ("schema", "required"), name)
    return Part(one, {name: {"type": "integer"}}, (name,), fault=lambda doc: planted)


def dressed(rng: random.Random, names: Names, fault: str = "") -> Part:
    """A number or a boolean that models write as people do. The fault is that only plain spellings are accepted."""
    flag = rng.random() < 0.35
    name = names.new(["paid", "urgent", "refundable", "insured", "verified"] if flag else NOUNS)
    share, wrong = rng.uniform(0.05, 0.12) if fault else 0.0, rng.uniform(0.01, 0.03)
    style = rng.choice(["money", "percent", "unit", "grouped"])
    unit = rng.choice(["kg", "km", "minutes", "USD", "€", "points"])

    def spelled(r: random.Random) -> str:
        if flag:
            return r.choice(["yes", "no", "Yes", "No"])
        n = r.randint(1000, 99999)
        return {
            "money": f"${n:,}", "percent": f"{n % 100} %", "unit": f"{n % 1000} {unit}", "grouped": f"{n:,}"
        }[style]  # fmt: skip

    def one(r: random.Random) -> Drawn:
        drawn = r.random()
        if drawn < wrong:
            return Drawn({name: r.choice(["unknown", "to be decided", "see text", "maybe"])}, True)
        if drawn < wrong + share:
            return Drawn({name: spelled(r)}, False, True)
        return Drawn({name: r.random() < 0.5 if flag else r.randint(1, 99999)})

    kind = {"type": "boolean" if flag else rng.choice(["integer", "number"])}
    planted = Planted("coercion", ("schema", "properties", name))
    return Part(one, {name: kind}, (name,), fault=(lambda doc: planted) if fault else None)


def paired(rng: random.Random, names: Names, fault: str = "") -> Part:
    """A rule between two fields, or between a list and its total. The fault is that people accept violations."""
    first, second, rule_name = names.plain(NOUNS), names.plain(NOUNS), ""
    rule_name = names.rule(f"{first}_{second}")
    share = rng.uniform(0.05, 0.1) if fault else rng.uniform(0.007, 0.05)
    forgiven = rng.uniform(0.8, 1.0) if fault else rng.uniform(0.0, 0.12)
    adds_up = rng.random() < 0.4

    def one(r: random.Random) -> Drawn:
        broken = r.random() < share
        if adds_up:
            items = [r.randint(1, 90) for _ in range(r.randint(1, 5))]
            fields: dict[str, Any] = {first: items, second: sum(items) + (r.randint(1, 9) if broken else 0)}
        else:
            low, high = sorted(r.sample(range(1, 2000), 2))
            fields = {first: high if broken else low, second: low if broken else high}
        return Drawn(fields, broken and r.random() >= forgiven, bool(fault) and broken)

    number = {"type": "integer"}
    properties = {first: {"type": "array", "items": number} if adds_up else number, second: number}
    expr = f"sum({first}) == {second}" if adds_up else rng.choice([f"{first} <= {second}", f"{second} >= {first}"])
    rule = {"name": rule_name, "expr": expr, "error": f"{first} and {second} do not agree"}
    planted = (lambda doc: Planted("misfire", rule_place(doc, rule_name))) if fault else None
    return Part(one, properties, (first, second), (rule,), fault=planted)


def worded(rng: random.Random, names: Names, fault: str = "") -> Part:
    """A rule about a word in a text. The fault is that the word is fine."""
    name = names.plain(TEXTS)
    rule_name = names.rule(name)
    word = rng.choice(["sorry", "cannot", "as an ai", "guarantee", "free of charge", "maybe"])
    share = rng.uniform(0.05, 0.1) if fault else rng.uniform(0.01, 0.05)
    forgiven = rng.uniform(0.8, 1.0) if fault else rng.uniform(0.0, 0.12)

    def one(r: random.Random) -> Drawn:
        text, said = sentence(r), r.random() < share
        if said:
            text = f"{text[:-1]} {word} {sentence(r, 2, 5)}"
        return Drawn({name: text}, said and r.random() >= forgiven, bool(fault) and said)

    rule = {"name": rule_name, "expr": f'"{word}" not in {name}.lower()', "error": f"{name} says {word}"}
    planted = (lambda doc: Planted("misfire", rule_place(doc, rule_name))) if fault else None
    return Part(one, {name: {"type": "string"}}, (name,), (rule,), fault=planted)


def dead(rng: random.Random, names: Names) -> Part:
    """A rule that no reply of this traffic can break."""
    name = names.plain(NOUNS)
    rule_name = names.rule(name)
    expr, when = rng.choice(
        [
            (f"{name} < 10000000", None), (f"{name} > -5000", None), (f"{name} != 123456789", None),
            (f"{name} % 2 == 0", f"{name} > 9000000"), (f"{name} in [1, 2, 3]", f"{name} < 0"),
            (f"str({name}) != 'unknown'", None),
        ]
    )  # fmt: skip
    rule = {"name": rule_name, "expr": expr, **({"when": when} if when else {}), "error": f"{name} is odd"}

    def one(r: random.Random) -> Drawn:
        return Drawn({name: r.randint(1, 9000)})

    return Part(
        one,
        {name: {"type": "integer"}},
        (name,),
        (rule,),
        fault=lambda doc: Planted("dead", rule_place(doc, rule_name)),
    )


def rule_place(doc: dict[str, Any], name: str) -> Parts:
    """The place of a rule in the document."""
    rules = doc["rules"]
    at: Parts = ("rules",) if isinstance(rules, list) else ("rules", "rules")
    listed_rules = rules if isinstance(rules, list) else rules["rules"]
    return (*at, next(i for i, rule in enumerate(listed_rules) if rule["name"] == name))


# -- parts of contracts for talk -----------------------------------------------------------------


def spoken(rng: random.Random, names: Names, fault: str = "") -> Part:
    """Forbidden words. The fault is that people accept them, or that no reply contains them."""
    words = rng.choice(
        [
            ["guaranteed", "risk free"], ["discount", "half price"], ["diagnosis", "you suffer from"], ["lawsuit", "sue them"],
            ["password", "secret code"], ["competitor", "other brand"], ["as a language model", "i was trained"],
        ]
    )  # fmt: skip
    label = names.new(["claims", "prices", "promises", "legal", "secrets", "others", "manners", "medical"])
    share = 0.0 if fault == "dead" else rng.uniform(0.05, 0.1) if fault else rng.uniform(0.01, 0.05)
    forgiven = rng.uniform(0.8, 1.0) if fault == "misfire" else rng.uniform(0.0, 0.12)
    tag = f"{label[:3]}{rng.randint(10, 99)}"

    def one(r: random.Random) -> Drawn:
        said = r.random() < share
        return Drawn(
            {},
            said and r.random() >= forgiven,
            bool(fault) and said,
            said=(f"{r.choice(words)} {tag}",) if said else (),
        )

    pattern = rf"\b(?:{'|'.join(words)}) {tag}\b"
    body = {"patterns": [pattern], "why": f"speaks of {label}", "name": label}
    if rng.random() < 0.3:
        body = {"terms": [f"{word} {tag}" for word in words], "why": f"speaks of {label}", "name": label}

    def planted(doc: dict[str, Any]) -> Planted:
        index = next(i for i, entry in enumerate(doc["states"]["always"]["forbid"]) if entry["name"] == label)
        return Planted(fault, ("states", "always", "forbid", index))

    return Part(one, forbid=(body,), fault=planted if fault else None)


def short(rng: random.Random, names: Names, fault: str = "") -> Part:
    """The minimum number of characters in a reply."""
    true = rng.choice([5, 8, 12])
    shown = true + rng.choice([10, 15, 25]) if fault else true
    bad, between = rng.uniform(0.03, 0.06), rng.uniform(0.07, 0.13) if fault else 0.0

    def one(r: random.Random) -> Drawn:
        drawn = r.random()
        if drawn < bad:
            return Drawn({}, True, said=("!" + "o" * r.randint(1, true - 3) + "k",))
        if drawn < bad + between:
            return Drawn(
                {},
                False,
                True,
                said=(
                    "!"
                    + "Yes indeed, it will be sent out".ljust(60)[: r.randint(true, shown - 2)]
                    .strip()
                    .ljust(true, "s"),
                ),
            )
        return Drawn({})

    planted = Planted("threshold", ("reply", "min_text"), true, shown)
    return Part(one, min_text=shown, fault=(lambda doc: planted) if fault else None)


# -- a whole contract ------------------------------------------------------------------------------

FAULTS_OF_DATA: dict[str, Callable[[random.Random, Names], Part]] = {
    "dead": dead,
    "misfire": lambda r, n: r.choice(
        [lambda: bounded(r, n, "misfire"), lambda: paired(r, n, "misfire"), lambda: worded(r, n, "misfire"), lambda: needless(r, n)]
    )(),
    "threshold": lambda r, n: r.choice(
        [lambda: bounded(r, n, "strict"), lambda: bounded(r, n, "lax"), lambda: lengthy(r, n, "strict")]
    )(),
    "alias": lambda r, n: r.choice([lambda: listed(r, n, "alias"), lambda: keyed(r, n, "alias")])(),
    "coercion": lambda r, n: dressed(r, n, "coercion"),
}  # fmt: skip
FAULTS_OF_TALK: dict[str, Callable[[random.Random, Names], Part]] = {
    "dead": lambda r, n: spoken(r, n, "dead"),
    "misfire": lambda r, n: spoken(r, n, "misfire"),
    "threshold": lambda r, n: short(r, n, "strict"),
}


def make(seed: int, faults: int | None = None) -> World:
    """The world for a seed, with `faults` planted faults, or one to three."""
    rng = random.Random(f"world {seed}")
    names = Names(rng)
    talk = rng.random() < 0.25
    table = FAULTS_OF_TALK if talk else FAULTS_OF_DATA
    count = rng.randint(1, 3) if faults is None else faults
    kinds = rng.sample(list(table), min(count, len(table)))
    parts = [table[kind](rng, names) for kind in kinds]
    if talk:
        parts += [spoken(rng, names) for _ in range(rng.randint(1, 3))]
        parts += [] if any(part.min_text for part in parts) else [short(rng, names)]
    else:
        healthy = [bounded, lengthy, listed, keyed, dressed, paired, worded]
        parts += [make_part(rng, names) for make_part in rng.choices(healthy, k=rng.randint(3, 7))]
    rng.shuffle(parts)
    data = talk_data(parts) if talk else record_data(rng, parts)
    text = written(rng, data)
    document = parse_document(text, "contract.yaml").data
    assert document == data, "the file says what was meant"
    planted = [part.fault(data) for part in parts if part.fault is not None]
    return World(text, traffic(rng, parts, data, talk=talk), planted)


def record_data(rng: random.Random, parts: list[Part]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
    rules: list[Any] = []
    ranges: dict[str, Any] = {}
    for part in parts:
        schema["properties"] |= part.properties
        schema["required"] += part.required
        rules += part.rules
        ranges |= part.ranges
    if rng.random() < 0.4:
        schema["additionalProperties"] = False
    data: dict[str, Any] = {"name": "planted", "schema": schema}
    if ranges:
        data["rules"] = {"ranges": ranges, **({"rules": rules} if rules else {})}
    elif rules:
        data["rules"] = rules
    return data


def talk_data(parts: list[Part]) -> dict[str, Any]:
    forbid = [entry for part in parts for entry in part.forbid]
    least = next(part.min_text for part in parts if part.min_text)
    data: dict[str, Any] = {"name": "planted", "reply": {"min_text": least}}
    data["states"] = {"start": "CHAT", "always": {"forbid": forbid}, "CHAT": {"fallback": "How can I help you today?"}}
    return data


# -- the file, with comments and in several styles -------------------------------------------------


def written(rng: random.Random, data: dict[str, Any]) -> str:
    """A contract file as a person might write it."""
    lines = ["# Written by hand; keep the comments."]
    for key, value in data.items():
        lines += ["", f"# {rng.choice(['what must hold', 'agreed with the team', 'see the wiki'])}: {key}"] * (
            rng.random() < 0.5
        )
        lines += block(rng, key, value, 0)
    return "\n".join(lines) + "\n"


def scalar(value: Any) -> str:
    if isinstance(value, str):
        plain = value.replace("_", "a").replace("-", "a").replace(" ", "a").isalnum() and not value[0].isdigit()
        is_word = value in ("yes", "no", "true", "false", "null", "on", "off") or value != value.strip()
        return value if plain and not is_word else "'" + value.replace("'", "''") + "'"
    return json.dumps(value)


def flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(k)}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def block(rng: random.Random, key: str, value: Any, indent: int) -> list[str]:
    pad = " " * indent
    comment = (
        f"   # {rng.choice(['why not', 'ticket 12', 'asked for by sales', 'do not touch'])}"
        if rng.random() < 0.15
        else ""
    )
    small = len(flow(value)) < 70 and rng.random() < 0.6
    if not isinstance(value, dict | list) or not value or (small and indent):
        return [f"{pad}{scalar(key)}: {flow(value)}{comment}"]
    out = [f"{pad}{scalar(key)}:{comment}"]
    if isinstance(value, dict):
        for inner, part in value.items():
            out += block(rng, inner, part, indent + 2)
        return out
    for item in value:
        if rng.random() < 0.2:
            out.append(f"{pad}  # {rng.choice(['next', 'the important one', 'since May'])}")
        if isinstance(item, dict) and rng.random() < 0.7:
            inner_lines = [line for k, v in item.items() for line in block(rng, k, v, indent + 4)]
            out += [f"{pad}  - {inner_lines[0].lstrip()}", *inner_lines[1:]]
        else:
            out.append(f"{pad}  - {flow(item)}")
    return out


# -- replies and labels ----------------------------------------------------------------------------


class Told(NamedTuple):
    """One reply with the known facts about it."""

    text: str
    is_bad: bool
    shows: tuple[int, ...]
    remark: str


def traffic(rng: random.Random, parts: list[Part], data: dict[str, Any], *, talk: bool) -> list[Case]:
    size = rng.choice([800, 1000, 1400, 2200])
    unseen = rng.uniform(0.0, 0.02)
    told = [reply(rng, parts, unseen, talk=talk) for _ in range(size)]
    contract = Contract(**data)
    verdicts = [contract.check(one.text) for one in told]
    labels = label_all(rng, told, [verdict.ok for verdict in verdicts], parts, verdicts)
    cases = []
    for at, (one, verdict) in enumerate(zip(told, verdicts, strict=True)):
        recorded = None
        if rng.random() < 0.8:
            found = tuple(f.to_dict() for f in verdict.findings)
            codes = tuple(f.code for f in verdict.findings)
            recorded = Recorded(verdict.ok, codes, found, verdict.data, contract.fingerprint)
        labels_of = tuple(labels.get(at, ()))
        cases.append(Case(f"v{at}", one.text, recorded=recorded, labels=labels_of, at=float(at), place="memory"))
    return cases


def reply(rng: random.Random, parts: list[Part], unseen: float, *, talk: bool) -> Told:
    drawn = [part.draw(rng) for part in parts]
    is_bad = any(one.is_bad for one in drawn) or rng.random() < unseen
    shows = tuple(at for at, one in enumerate(drawn) if one.shows)
    remark = next((one.remark for one in drawn if one.remark), "")
    if talk:
        said = [text for one in drawn for text in one.said]
        alone = [text for text in said if text.startswith("!")]
        if alone and len(said) == 1:
            return Told(alone[0][1:], is_bad, shows, remark)
        if alone:
            return reply(rng, parts, unseen, talk=talk)
        whole = " ".join([sentence(rng, 8, 16), *(f"{text} {sentence(rng, 2, 6)}" for text in said)])
        return Told(whole, is_bad, shows, remark)
    record: dict[str, Any] = {}
    for one in drawn:
        record |= one.fields
    text = json.dumps(record, ensure_ascii=False)
    dress = rng.random()
    if dress < 0.1:
        text = f"```json\n{text}\n```"
    elif dress < 0.15:
        text = f"Here you are:\n{text}"
    elif dress < 0.18:
        text = text[:-1] + ",}"
    return Told(text, is_bad, shows, remark)


def label_all(
    rng: random.Random, told: list[Told], accepted: list[bool], parts: list[Part], verdicts: list[Any]
) -> dict[int, list[Label]]:
    """People's labels: for refusals, for a random sample of accepted replies, and for each fault that somebody
    noticed."""
    authors = rng.sample(AUTHORS, rng.randint(1, 4))
    noise = rng.uniform(0.0, 0.04)
    labels: dict[int, list[Label]] = {}

    def say(at: int, drawn: str) -> None:
        if at in labels:
            return
        people = rng.sample(authors, min(len(authors), 2 if rng.random() < 0.2 else 1))
        for author in people:
            is_right = accepted[at] != told[at].is_bad
            if rng.random() < noise:
                is_right = not is_right
            subject = ""
            errors = verdicts[at].findings.errors
            if len(errors) == 1 and rng.random() < 0.15:
                rule = errors[0].data.get("rule") if errors[0].code in ("B005", "D001") else None
                subject = f"rule:{rule}" if rule else f"code:{errors[0].code}"
            note = f"{told[at].remark} is meant" if told[at].remark and rng.random() < 0.5 else ""
            note = told[at].remark if note and rng.random() < 0.5 else note
            outcome = "right" if is_right else "wrong"
            labels.setdefault(at, []).append(Label(f"v{at}", outcome, author, float(at), subject, note, drawn))

    refused = [at for at, ok in enumerate(accepted) if not ok]
    passed = [at for at, ok in enumerate(accepted) if ok]
    for at in rng.sample(passed, min(len(passed), rng.randint(60, 250))):
        say(at, "random")
    for at in rng.sample(refused, min(len(refused), rng.randint(60, 200))):
        say(at, "uncertain")
    for number, part in enumerate(parts):
        if part.fault is None:
            continue
        alone = [
            at for at, one in enumerate(told)
            if one.shows == (number,) and (accepted[at] or len(verdicts[at].findings.errors) <= 2)
        ]  # fmt: skip
        wanted = rng.randint(14, 40)
        done = sum(at in labels for at in alone)
        for at in rng.sample(alone, len(alone)):
            if done >= wanted:
                break
            if at not in labels:
                say(at, "uncertain" if not accepted[at] else "")
                done += 1
    return labels
