"""A second maker of random replies, unlike `generated`: different shapes, rarer absences and different damage.

A shape is a function that makes a value. Its properties are read from the values before any of them is damaged, so this
module does not need its own schema and knows nothing about drafting.
"""

import json
import random
import string
from collections.abc import Callable
from typing import Any

Rng = random.Random
Make = Callable[[Rng], Any]

NOUNS = "invoice parcel sensor ticket lesson recipe vessel clinic branch engine permit survey cellar orchard festival".split()
NAMES = [
    "id", "Name", "full name", "e-mail", "größe", "名前", "first.name", "x", "y", "$ref_no", "is_ok", "hasItems", "2nd", "meta", "type", "kind",
    "values", "children", "data", "config", "ratio", "amount", "note", "when", "owner", "steps", "matrix", "labels", "limits", "version", "lang",
    "description", "enum", "required", "items", "properties", "title", "default", "a/b", "#tag", "@type", "null", "true", "arguments", "parameters",
]  # fmt: skip


def words(rng: Rng, most: int = 9) -> str:
    """A sentence with common punctuation."""
    text = " ".join(rng.choices(NOUNS, k=rng.randint(1, most)))
    return text + rng.choice(
        [
            "",
            ".",
            " (new)",
            ", or so",
            " - draft",
            " & co",
            "; see above",
            " 50 %",
            "\nsecond line",
            ' "quoted"',
            " it's",
            " a: b",
        ]
    )


def _pick(values: list[Any]) -> Make:
    return lambda r: r.choice(values)


def texts(rng: Rng) -> Make:
    kinds: list[Make] = [
        words,
        words,
        lambda r: f"{r.randint(1980, 2040)}-{r.randint(1, 12):02}-{r.randint(1, 28):02}",
        lambda r: "".join(r.choices(string.hexdigits.lower()[:16], k=24)),
        lambda r: f"ORD-{r.randint(1, 10**6):07}",
        lambda r: f"{r.choice(NOUNS)}@{r.choice(NOUNS)}.example",
        lambda r: f"{r.randint(1, 12)}:{r.randint(0, 59):02} {r.choice(['am', 'pm'])}",
        lambda r: f"{r.randint(0, 99999):05}",
        lambda r: f"+{r.randint(1, 99)} {r.randint(100, 999)} {r.randint(1000, 9999)}",
        lambda r: r.choice(["", words(r, 3)]),
    ]
    return rng.choice(kinds)


def choices(rng: Rng) -> Make:
    many = rng.choice([2, 3, 5, 8, 15, 40])
    return _pick([f"{rng.choice(NOUNS)}{rng.choice(['_', ' ', '-'])}{number}" for number in range(many)])


def numbers(rng: Rng) -> Make:
    kinds: list[Make] = [
        lambda r: r.randint(0, 9),
        lambda r: r.randint(-1000, 1000),
        lambda r: r.randint(10**15, 10**18),
        lambda r: round(r.uniform(-5, 5), 3) or 0.5,
        lambda r: r.choice([r.randint(0, 9), r.randint(0, 9) + 0.5]),
        lambda r: r.randint(0, 20) / 4,
        lambda r: r.randint(1, 50) * 1e-7,
    ]
    return rng.choice(kinds)


def constants(rng: Rng) -> Make:
    value = rng.choice(["v1", "en", 1, 0, True, False, "USD", 3.5])
    return lambda r: value


def mixed(rng: Rng) -> Make:
    pairs: list[tuple[Make, Make]] = [
        (words, lambda r: r.randint(1, 99)),
        (words, lambda r: [words(r, 2)]),
        (words, lambda r: {"value": words(r, 2)}),
        (lambda r: r.random() < 0.5, lambda r: r.choice(["unknown", "both"])),
        (lambda r: {"a": r.randint(0, 5)}, lambda r: [{"a": r.randint(0, 5)}]),
    ]
    one, other = rng.choice(pairs)
    part = rng.uniform(0.25, 0.75)
    return lambda r: one(r) if r.random() < part else other(r)


def lists(rng: Rng, depth: int) -> Make:
    inner = anything(rng, depth + 1)
    low, high = rng.choice([(0, 3), (1, 4), (2, 2), (3, 3), (0, 1)])
    return lambda r: [inner(r) for _ in range(r.randint(low, high))]


def maps(rng: Rng, depth: int) -> Make:
    key: Make = rng.choice([
        lambda r: f"{r.choice(NOUNS)} {r.randint(1, 10**5)}",
        lambda r: str(r.randint(1, 10**6)),
        lambda r: f"20{r.randint(10, 40)}-{r.randint(1, 12):02}-{r.randint(1, 28):02}",
        lambda r: "".join(r.choices("0123456789abcdef", k=12)),
    ])  # fmt: skip
    value = rng.choice([texts, numbers, numbers])(rng) if rng.random() < 0.7 else objects(rng, depth + 1)
    return lambda r: {key(r): value(r) for _ in range(r.randint(1, 6))}


def objects(rng: Rng, depth: int = 0) -> Make:
    keys = rng.sample(NAMES, rng.randint(1, 4) if depth else rng.randint(3, 12))
    parts = {key: (anything(rng, depth + 1), rng.uniform(0.6, 0.97) if rng.random() < 0.3 else 1.0) for key in keys}

    def make(r: Rng) -> dict[str, Any]:
        chosen = {key: part(r) for key, (part, often) in parts.items() if often == 1 or r.random() < often}
        if r.random() < 0.3:
            return {key: chosen[key] for key in r.sample(list(chosen), len(chosen))}
        return chosen

    return make


def anything(rng: Rng, depth: int) -> Make:
    chance = rng.random()
    deep = depth > 4
    if chance < 0.3 or (deep and chance < 0.6):
        made = texts(rng)
    elif chance < 0.42 or (deep and chance < 0.7):
        made = choices(rng)
    elif chance < 0.58 or deep:
        made = numbers(rng)
    elif chance < 0.64:
        made = _pick([True, False])
    elif chance < 0.68:
        made = constants(rng)
    elif chance < 0.70:
        made = rng.choice([lambda r: [], lambda r: {}])  # type: ignore[arg-type,return-value]
    elif chance < 0.74:
        made = mixed(rng)
    elif chance < 0.84:
        made = lists(rng, depth)
    elif chance < 0.88:
        made = maps(rng, depth)
    else:
        made = objects(rng, depth)
    if rng.random() < 0.12:
        part = rng.uniform(0.1, 0.6)
        return lambda r: None if r.random() < part else made(r)
    return made


def shape(rng: Rng) -> Make:
    """The shape of every reply to one prompt."""
    return lists(rng, 0) if rng.random() < 0.08 else objects(rng)


# -- damage ------------------------------------------------------------------------------------------


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _each(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [_each(inner, change) for inner in value]
    return change(value)


def _lines(value: Any) -> list[str]:
    return json.dumps(value, indent=2, ensure_ascii=False).split("\n")


def two_objects(value: Any, rng: Rng) -> str:
    example = rng.choice(['{"example": 1}', "{}", '{"status": "thinking"}'])
    return f"An example would be {example}\n\nThe answer:\n```json\n{json.dumps(value)}\n```"


def think_block(value: Any, rng: Rng) -> str:
    tag = rng.choice(["think", "thinking", "reasoning"])
    return f"<{tag}>Let me see: {words(rng)} Maybe {{'x': 1}}?</{tag}>\n{json.dumps(value, indent=1)}"


def prose(value: Any, rng: Rng) -> str:
    return f"{words(rng)}\n\nHere it is: {json.dumps(value)}\n\nNote: {words(rng)}"


def encoded_twice(value: Any, rng: Rng) -> str:
    return json.dumps(json.dumps(value))


def cut_short(value: Any, rng: Rng) -> str:
    text = json.dumps(value, indent=rng.choice([None, 2]))
    return text[: max(2, int(len(text) * rng.uniform(0.4, 0.99)))]


def quotes_missing(value: Any, rng: Rng) -> str:
    """Keys without quotes; sometimes a key keeps one of its quotes."""
    out = []
    for line in _lines(value):
        head, mark, tail = line.partition('":')
        key = head.strip().removeprefix('"')
        if mark and key.isidentifier() and head.strip().startswith('"'):
            pad = head[: len(head) - len(head.lstrip())]
            line = rng.choice([f"{pad}{key}:{tail}", f"{pad}{key}:{tail}", f'{pad}{key}":{tail}'])
        out.append(line)
    return "\n".join(out)


def commented(value: Any, rng: Rng) -> str:
    mark = rng.choice([" // {}", " /* {} */", " # {}"])
    return "\n".join(
        line + mark.format(rng.choice(NOUNS)) if line.endswith((",", "{", "[")) and rng.random() < 0.4 else line
        for line in _lines(value)
    )


def repeated_keys(value: Any, rng: Rng) -> str:
    text = json.dumps(value)
    if not isinstance(value, dict) or not value:
        return f"```\n{text}\n```"
    key = rng.choice(list(value))
    return text[:-1] + f", {json.dumps(key)}: {json.dumps(value[key])}}}"


def python_literal(value: Any, rng: Rng) -> str:
    return f"result = {value!r}"


def no_commas(value: Any, rng: Rng) -> str:
    return "\n".join(line.removesuffix(",") if rng.random() < 0.3 else line for line in _lines(value))


def trailing(value: Any, rng: Rng) -> str:
    return json.dumps(value, indent=2).replace("\n}", ",\n}").replace("{,", "{").replace("\n]", ",\n]")


def no_number(value: Any, rng: Rng) -> str:
    """Some fractions as NaN; everything else unchanged."""
    lost = rng.random()
    return (
        json.dumps(_each(value, lambda one: float("nan") if type(one) is float and lost < 0.1 else one)) + "\n\nDone."
    )


def other_case(value: Any, rng: Rng) -> str:
    if not isinstance(value, dict):
        return f"Answer: {json.dumps(value)}"
    change = rng.choice([str.upper, str.title, str.capitalize])
    spelled = {change(key) if key.isascii() else key: inner for key, inner in value.items()}
    return f"```json\n{json.dumps(spelled if len(spelled) == len(value) else value)}\n```"


def numbers_as_text(value: Any, rng: Rng) -> str:
    return "Sure!\n" + json.dumps(
        _each(value, lambda one: json.dumps(one) if type(one) in (int, float, bool) and rng.random() < 0.15 else one)
    )


def open_end(value: Any, rng: Rng) -> str:
    return "```json\n" + json.dumps(value, indent=2).rstrip("]} \n")


def raw_breaks(value: Any, rng: Rng) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\\n", "\n") + " "


def fenced_twice(value: Any, rng: Rng) -> str:
    return f"~~~\n{json.dumps(value)}\n~~~\n\n{words(rng)}\n```python\nprint({rng.randint(1, 9)})\n```"


def yaml_lines(value: Any, rng: Rng) -> str:
    """Flat objects as lines of YAML, others as JSON in a fence."""
    if isinstance(value, dict) and value and all(type(one) in (int, bool) for one in value.values()):
        return "\n".join(f"{key}: {json.dumps(one)}" for key, one in value.items())
    return f"```yaml\n{json.dumps(value, indent=2)}\n```"


def enveloped(value: Any, rng: Rng) -> str:
    return json.dumps({rng.choice(["response", "result", "output", "json"]): value}) + "\n"


def quotes_unescaped(value: Any, rng: Rng) -> str:
    return json.dumps(value, indent=1).replace('\\"', '"')


def single_quotes(value: Any, rng: Rng) -> str:
    return repr(value).replace("None", "null").replace("True", "true")


def invented_key(value: Any, rng: Rng) -> str:
    extra = {f"{rng.choice(NOUNS)}_{rng.choice(NOUNS)}": words(rng, 3)}
    return f"Here:\n{json.dumps({**value, **extra} if isinstance(value, dict) else value)}\nThanks"


def tagged(value: Any, rng: Rng) -> str:
    tag = rng.choice(["json", "answer", "output"])
    return f"{words(rng)}\n<{tag}>\n{json.dumps(value)}\n</{tag}>"


def missing_end_of_text(value: Any, rng: Rng) -> str:
    """Remove the closing quote of one text at the end of its line."""
    lines = _lines(value)
    ends = [at for at, line in enumerate(lines) if line.endswith('",') and '": "' in line and "\\" not in line]
    if ends:
        at = rng.choice(ends)
        lines[at] = lines[at][:-2] + ","
    return "\n".join(lines) + "\n."


DAMAGE: list[Callable[[Any, Rng], str]] = [
    two_objects, think_block, prose, encoded_twice, cut_short, quotes_missing, commented, repeated_keys, python_literal, no_commas, trailing,
    no_number, other_case, numbers_as_text, open_end, raw_breaks, fenced_twice, yaml_lines, enveloped, quotes_unescaped, single_quotes, invented_key, tagged, missing_end_of_text,
]  # fmt: skip


def replies(make: Make, rng: Rng, count: int = 100) -> tuple[list[Any], list[str]]:
    """A number of values, and equally many replies, every second one damaged."""
    values = [make(rng) for _ in range(count)]
    return values, [json.dumps(one) if at % 2 else rng.choice(DAMAGE)(one, rng) for at, one in enumerate(values)]


# -- the truth ---------------------------------------------------------------------------------------


def _kind(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", type(None): "null"}
    return names.get(type(value), "number")


def wrong_places(values: list[Any], schema: Any, most: int = 12) -> tuple[int, list[str]]:
    """The number of places of the values, and those where a draft is wrong about types or required keys.

    Objects with many keys and ever new ones are maps: all of their keys count as one.
    """
    places, wrong = 0, []
    open_: list[tuple[str, list[Any], Any]] = [("$", values, schema)]
    while open_:
        path, here, drafted = open_.pop()
        places += 1
        kinds = {_kind(one) for one in here}
        kinds -= {"integer"} if "number" in kinds else set()
        said = drafted.get("type", []) if isinstance(drafted, dict) else []
        got = {said} if isinstance(said, str) else set(said)
        if isinstance(drafted, dict) and "oneOf" in drafted:
            got = {arm["type"] for arm in drafted["oneOf"]}
        if got != kinds:
            wrong.append(f"{path}: {sorted(kinds)}, drafted {sorted(got)}")
        drafted = drafted if isinstance(drafted, dict) else {}
        lists_ = [one for one in here if isinstance(one, list)]
        items = [inner for one in lists_ for inner in one]
        if items:
            open_.append((f"{path}[]", items, drafted.get("items") or (drafted.get("prefixItems") or [{}])[0]))
        found = [one for one in here if isinstance(one, dict)]
        keys = list(dict.fromkeys(key for one in found for key in one))
        if len(keys) > most and len(keys) > 0.5 * len(found):
            open_.append(
                (f"{path}{{}}", [inner for one in found for inner in one.values()], drafted.get("additionalProperties"))
            )
            continue
        for key in keys:
            arms = [arm for arm in drafted.get("oneOf", [drafted]) if key in arm.get("properties", {})]
            having = [one for one in found if key in one]
            if "oneOf" in drafted:
                continue
            needed = len(having) == len(found)
            if needed is not (key in drafted.get("required", [])):
                wrong.append(f"{path}.{key}: {'' if needed else 'not '}required ({len(having)} of {len(found)})")
            open_.append((f"{path}.{key}", [one[key] for one in having], arms[0]["properties"][key] if arms else None))
    return places, wrong
