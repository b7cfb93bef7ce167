"""Random schemas, replies that fit them, and damage that models do to replies.

Types and required fields of a schema can be inferred from 100 replies: an optional field, a null or a second type is
present often enough and missing often enough for the expected count of its parent. This module knows nothing about
drafting.
"""

import json
import random
import string
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Rng = random.Random
Make = Callable[[Rng], Any]
WHOLE = 0.8  # the share of whole replies; the others may be cut
CERTAIN = 1e-4  # the chance that a sample does not show a choice


class Part(NamedTuple):
    """One place of a schema: its types, a function that makes its values, and the places below it."""

    types: frozenset[str]
    make: Make
    members: dict[str, tuple["Part", bool]] = {}
    """The fields of an object, and whether each is required."""
    item: "Part | None" = None
    value: "Part | None" = None
    """The values of a map."""


WORDS = (
    "amber bold crisp delta ember frost grove haze iris jade kite lark maple north opal pine quartz ridge slate tide umber vale willow "
    "zephyr river stone cloud field market garden window paper silver copper harbour station bridge letter morning winter summer"
).split()
KEYS = (
    "name title age count price total status kind note summary tags items address city country email phone score rating label code url "
    "created updated owner author body lines quantity unit currency paid active level priority category source target width height "
    "comment reason result parts notes entries first_name last_name orderId itemCount isValid unit_price due_date user_id"
).split()


def sentence(rng: Rng) -> str:
    """A few words, sometimes with characters that break JSON if they are not escaped."""
    words = rng.choices(WORDS, k=rng.randint(2, 12))
    text = " ".join(words).capitalize()
    if rng.random() < 0.15:
        text = text.replace(" ", ", ", 1)
    if rng.random() < 0.1:
        text += f": {rng.choice(WORDS)}"
    if rng.random() < 0.1:
        text += f", it's {rng.choice(WORDS)}"
    if rng.random() < 0.1:
        text += f' and "{rng.choice(WORDS)}"'
    return text + rng.choice(["", ".", "!", "?"])


def name(rng: Rng) -> str:
    return f"{rng.choice(WORDS).capitalize()} {rng.choice(WORDS).capitalize()}"


def date(rng: Rng) -> str:
    return f"{rng.randint(1990, 2030)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


def moment(rng: Rng) -> str:
    return f"{date(rng)}T{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}Z"


def email(rng: Rng) -> str:
    return f"{rng.choice(WORDS)}.{rng.choice(WORDS)}{rng.randint(1, 99)}@example.org"


def link(rng: Rng) -> str:
    return f"https://example.org/{rng.choice(WORDS)}/{rng.randint(1, 9999)}"


def uuid(rng: Rng) -> str:
    digits = "".join(rng.choices("0123456789abcdef", k=32))
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def code(rng: Rng) -> str:
    return "".join(rng.choices(string.ascii_uppercase, k=2)) + f"-{rng.randint(100, 9999)}"


TEXTS: list[Make] = [sentence, sentence, name, name, date, moment, email, link, uuid, code]


def _text(rng: Rng) -> Part:
    if rng.random() < 0.3:
        values = rng.sample(WORDS, rng.randint(2, 6))
        return Part(frozenset({"string"}), lambda r: r.choice(values))
    return Part(frozenset({"string"}), rng.choice(TEXTS))


def _integer(rng: Rng) -> Part:
    low, high = rng.choice([(0, 10), (1, 5), (0, 100), (-50, 50), (1, 100_000), (1900, 2030), (-(10**9), 10**9)])
    return Part(frozenset({"integer"}), lambda r: r.randint(low, high))


def _number(rng: Rng) -> Part:
    low, high, digits = rng.choice([(0, 1, 3), (0, 100, 1), (-90, 90, 4), (0, 5000, 2), (-1, 1, 2)])
    return Part(frozenset({"number"}), lambda r: round(r.uniform(low, high), digits))


def _boolean(rng: Rng) -> Part:
    share = rng.uniform(0.2, 0.8)
    return Part(frozenset({"boolean"}), lambda r: r.random() < share)


def _scalar(rng: Rng) -> Part:
    return rng.choice([_text, _text, _text, _integer, _number, _boolean])(rng)


def _seen(share: float, times: float) -> bool:
    """Whether something with this share is almost certain to be present and to be missing, in this many values."""
    return share**times < CERTAIN and (1 - share) ** times < CERTAIN


def _union(rng: Rng, times: float) -> Part:
    """A scalar that may have a second type, if both are frequent enough."""
    one = rng.choice([_integer, _boolean])(rng)
    other = _text(rng)
    share = rng.uniform(0.3, 0.7)
    if not _seen(share, times):
        return one
    return Part(one.types | other.types, lambda r: one.make(r) if r.random() < share else other.make(r))


def _nullable(part: Part, share: float) -> Part:
    made = part.make
    return part._replace(types=part.types | {"null"}, make=lambda r: None if r.random() < share else made(r))


def _array(rng: Rng, times: float, depth: int) -> Part:
    most = rng.randint(2, 5)
    item = _object(rng, times * most / 2, depth + 1) if depth < 3 and rng.random() < 0.4 else _scalar(rng)
    least = rng.randint(0, 1)
    return Part(frozenset({"array"}), lambda r: [item.make(r) for _ in range(r.randint(least, most))], item=item)


def _map(rng: Rng) -> Part:
    """An object with data as keys."""
    value = _scalar(rng)
    key = rng.choice([name, date, code, email])
    return Part(frozenset({"object"}), lambda r: {key(r): value.make(r) for _ in range(r.randint(1, 5))}, value=value)


def _object(rng: Rng, times: float, depth: int = 0) -> Part:
    members: dict[str, tuple[Part, float]] = {}
    for key in rng.sample(KEYS, rng.randint(2, 8 if depth == 0 else 4)):
        share = rng.uniform(0.3, 0.9) if rng.random() < 0.35 else 1.0
        if share < 1 and not _seen(share, times):
            share = 1.0
        members[key] = (_any(rng, times * share, depth), share)

    def make(r: Rng) -> dict[str, Any]:
        return {key: part.make(r) for key, (part, share) in members.items() if share == 1 or r.random() < share}

    return Part(frozenset({"object"}), make, {key: (part, share == 1) for key, (part, share) in members.items()})


def _any(rng: Rng, times: float, depth: int) -> Part:
    null = rng.uniform(0.15, 0.5) if rng.random() < 0.15 else 0.0
    if not _seen(null, times):
        null = 0.0
    times *= 1 - null
    kind = rng.random()
    if kind < 0.6 or depth >= 3:
        part = _scalar(rng)
    elif kind < 0.75:
        part = _array(rng, times, depth)
    elif kind < 0.87:
        part = _object(rng, times, depth + 1)
    elif kind < 0.92 and times >= 30:
        part = _map(rng)
    else:
        part = _union(rng, times)
    return _nullable(part, null) if null else part


def schema(rng: Rng, replies: int = 100) -> Part:
    """A random schema: an object, or sometimes a list of objects."""
    times = replies * WHOLE
    if rng.random() < 0.1:
        item = _object(rng, times * 2)
        return Part(frozenset({"array"}), lambda r: [item.make(r) for _ in range(r.randint(1, 4))], item=item)
    return _object(rng, times)


class Style(NamedTuple):
    """The style of a reply. The defaults are JSON."""

    quote: str = '"'
    python: bool = False
    trailing: bool = False
    comments: bool = False
    bare_keys: bool = False
    newlines: bool = True
    loose: float = 0.0
    no_commas: float = 0.0
    raw_quotes: bool = False
    raw_breaks: bool = False


def written(value: Any, style: Style, rng: Rng, depth: int = 0) -> str:
    """A value in a style."""
    step = "\n" + "  " * (depth + 1) if style.newlines else " "
    end = "\n" + "  " * depth if style.newlines else ""
    if isinstance(value, dict | list) and value:
        inner = (
            [f"{_key(key, style)}: {written(item, style, rng, depth + 1)}" for key, item in value.items()]
            if isinstance(value, dict)
            else [written(item, style, rng, depth + 1) for item in value]
        )
        parts = []
        for index, piece in enumerate(inner):
            comma = "," if index < len(inner) - 1 or style.trailing else ""
            if style.newlines and rng.random() < style.no_commas:
                comma = ""
            note = f"  // {rng.choice(WORDS)}" if style.comments and style.newlines and rng.random() < 0.3 else ""
            parts.append(step + piece + comma + note)
        left, right = "{}" if isinstance(value, dict) else "[]"
        return left + "".join(parts) + end + right
    if isinstance(value, str):
        return _loosely_quoted(value, style)
    if style.loose and type(value) in (int, float, bool) and rng.random() < style.loose:
        return json.dumps(json.dumps(value))
    if style.python and (value is None or isinstance(value, bool)):
        return repr(value)
    return json.dumps(value)


def _key(key: str, style: Style) -> str:
    return key if style.bare_keys and key.isidentifier() else _quoted(key, style.quote)


def _quoted(text: str, quote: str) -> str:
    inner = json.dumps(text)[1:-1]
    return f'"{inner}"' if quote != "'" else "'" + inner.replace('\\"', '"').replace("'", "\\'") + "'"


def _loosely_quoted(text: str, style: Style) -> str:
    quoted = _quoted(text, style.quote)
    if style.raw_quotes and style.quote == '"':
        quoted = quoted.replace('\\"', '"')
    if style.quote == "“":
        quoted = "“" + quoted[1:-1] + "”"
    return quoted.replace(", ", ",\n", 1) if style.raw_breaks else quoted


BEFORE = [
    "Sure! Here is the JSON:\n\n",
    "Here you go:\n",
    "The answer is below.\n\n",
    "Okay, let me think about it.\n\n",
]
AFTER = ["\n\nLet me know if you need anything else!", "\n\nI hope this helps.", "\n"]


KINDS = (
    "single", "python", "trailing", "comments", "bare", "fence", "prose", "loose", "think", "open", "cut", "commas", "smart", "quotes", "breaks",
)  # fmt: skip


def damaged(value: Any, rng: Rng) -> str:
    """A reply that contains a value but is not JSON, in one of the ways that models have."""
    while True:
        text = _damaged(value, rng)
        try:
            json.loads(text)
        except ValueError:
            return text


def _damaged(value: Any, rng: Rng) -> str:
    style = Style(newlines=rng.random() < 0.7)
    kinds = rng.sample(KINDS, rng.choice([1, 1, 2, 3]))
    style = style._replace(
        no_commas=0.2 if "commas" in kinds else 0.0, raw_quotes="quotes" in kinds, raw_breaks="breaks" in kinds,
        quote="'" if "single" in kinds else "“" if "smart" in kinds else '"', python="python" in kinds, trailing="trailing" in kinds, comments="comments" in kinds,
        bare_keys="bare" in kinds, loose=0.1 if "loose" in kinds else 0.0,
    )  # fmt: skip
    text = written(value, style, rng)
    if "cut" in kinds:
        return _wrapped(text[: int(len(text) * rng.uniform(0.5, 0.98))], kinds, rng, closed=False)
    if "open" in kinds:
        text = text.rstrip()
        for _ in range(rng.randint(1, 2)):
            if text[-1:] in "]}":
                text = text[:-1].rstrip()
        return _wrapped(text, kinds, rng, closed=False)
    return _wrapped(text, kinds, rng, closed=True)


def _wrapped(text: str, kinds: list[str], rng: Rng, *, closed: bool) -> str:
    if "fence" in kinds:
        text = f"```{rng.choice(['json', '', 'JSON'])}\n{text}" + ("\n```" if closed else "")
    if "prose" in kinds:
        text = rng.choice(BEFORE) + text + (rng.choice(AFTER) if closed else "")
    if "think" in kinds:
        text = f"<think>\nI need the fields. {sentence(rng)}\n</think>\n" + text
    return text


def replies(part: Part, rng: Rng, count: int = 100) -> list[str]:
    """A number of replies, every second one damaged."""
    made = [part.make(rng) for _ in range(count)]
    return [json.dumps(value) if index % 2 else damaged(value, rng) for index, value in enumerate(made)]


def places(part: Part, path: str = "$") -> Iterator[tuple[str, Part, bool | None]]:
    """Every place of a schema: its path, the place, and whether it is required (None if that has no meaning)."""
    yield path, part, None
    for key, (inner, required) in part.members.items():
        for place in places(inner, f"{path}.{key}"):
            yield (place[0], place[1], required) if place[0] == f"{path}.{key}" else place
    if part.item is not None:
        yield from places(part.item, f"{path}[]")
    if part.value is not None:
        yield from places(part.value, f"{path}{{}}")
