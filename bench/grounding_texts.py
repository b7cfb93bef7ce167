"""Records as texts in many formats: a record enters, a source (text, named texts, or chat messages) leaves.

The templates of sentences are in `data/grounding/<language>.txt`, by half. Every leaf is said exactly once; `Document.said` keeps how.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from grounding_forms import Form, Locale, locale
from grounding_records import DOMAINS, Field, Leaf, Maker, read, surfaces

Source = str | list[Any] | dict[str, str]


@dataclass
class Document:
    """A record with its text."""

    name: str
    language: str
    half: str
    domain: str
    format: str
    place: Locale
    maker: Maker
    chance: Random
    leaves: list[Leaf] = field(default_factory=list)
    value: dict[str, Any] = field(default_factory=dict)
    source: Source = ""
    labels: dict[str, str] = field(default_factory=dict)
    colon: str = ""

    @property
    def text(self) -> str:
        """The whole source as one text."""
        if isinstance(self.source, str):
            return self.source
        parts = list(self.source.values()) if isinstance(self.source, dict) else self.source
        return "\n\n".join(part if isinstance(part, str) else part["content"] for part in parts)

    def say(self, leaf: Leaf, where: str) -> str:
        """Draw a surface form for a leaf at a place; the first one also settles the value."""
        choices = [
            (value, form)
            for value, form in surfaces(leaf, self.place, self.half, self.chance)
            if where in form.where and not form.name.endswith("-h" if self.half == "dev" else "-d")
        ]
        value, form = self.chance.choice(choices)
        leaf.value = value
        leaf.said.append(form)
        text = form.text
        units = read(self.language).get("units", {}).get(leaf.key)
        if where == "c" and units and self.chance.random() < 0.25:
            text += ("" if self.place.east else " ") + self.chance.choice(units)
        return text

    def label(self, key: str) -> str:
        key = "item" if (self.domain, key) == ("products", "name") else key
        if key not in self.labels:
            self.labels[key] = self.chance.choice(read(self.language)[f"labels {self.half}"][key])
        return self.labels[key]

    def word(self, key: str) -> str:
        return self.maker.word(f"misc {self.half}", key)

    def head(self, key: str) -> Leaf:
        return next(leaf for leaf in self.leaves if leaf.key == key and not leaf.group)

    def records(self) -> list[list[Leaf]]:
        group = DOMAINS[self.domain].group
        count = 1 + max((leaf.index for leaf in self.leaves if leaf.group == group), default=-1) if group else 0
        return [[leaf for leaf in self.leaves if leaf.group == group and leaf.index == at] for at in range(count)]


def document(name: str, language: str, half: str, seed: str) -> Document:
    chance = Random(seed)
    place = locale(language, chance)
    maker = Maker(language, half, place, chance)
    domain = chance.choice(sorted(DOMAINS))
    made = Document(name, language, half, domain, "", place, maker, chance)
    _fill(made)
    choices = [name for name, (_, needs) in FORMATS.items() if not needs or DOMAINS[domain].group]
    if domain == "minutes":
        choices = [name for name in choices if name not in ("transposed", "csv", "aligned")]
    if domain in ORDER:
        choices += ["chat", "chat"]  # slots are mostly filled in dialogues
    made.format = chance.choice(choices)
    made.source = FORMATS[made.format][0](made)
    made.value = _value(made)
    return made


def _fill(made: Document) -> None:
    """The leaves of a record, with things that differ where a reader expects them to."""
    domain, chance = DOMAINS[made.domain], made.chance
    for one in domain.head:
        if one.spec == "list":
            people = _distinct(made, one, chance.randint(2, 5))
            made.leaves += [
                Leaf(f"$.{one.key}[{at}]", one.key, one, one.kind, thing, value, one.key, at)
                for at, (thing, value) in enumerate(people)
            ]
            continue
        thing, value = made.maker.make(one)
        while one.key == "destination" and value == made.head("origin").value:
            thing, value = made.maker.make(one)
        made.leaves.append(Leaf(f"$.{one.key}", one.key, one, one.kind, thing, value))
    if not domain.group:
        return
    count = chance.choice((1, 2, 2, 3, 3, 4, 5))
    columns = {one.key: _distinct(made, one, count) if one is domain.fields[0] else [made.maker.make(one) for _ in range(count)] for one in domain.fields}  # fmt: skip
    if made.domain == "minutes":
        columns["quote"] = _distinct(made, domain.fields[1], min(count, 4))
        columns["speaker"] = columns["speaker"][: len(columns["quote"])]
        count = len(columns["quote"])
    for at in range(count):
        for one in domain.fields:
            thing, value = columns[one.key][at]
            key = one.key
            if made.domain == "shipping" and key == "weight" and made.name.endswith(("0", "3", "6", "9")):
                key, thing, value = "weight_kg", (thing[0], "kg", at == 0 and chance.random() < 0.3), thing[0]
            made.leaves.append(
                Leaf(f"$.{domain.group}[{at}].{key}", one.key, one, one.kind, thing, value, domain.group, at)
            )
    _add_up(made)


def _add_up(made: Document) -> None:
    """The total of an invoice or a receipt is the sum of its lines."""
    totals = [leaf for leaf in made.leaves if leaf.field.spec == "total"]
    if not totals:
        return
    total = 0.0
    for record in made.records():
        line = {leaf.key: leaf.value for leaf in record}
        total += line["price"] * line.get("quantity", 1)
    tax = next((leaf.value for leaf in made.leaves if leaf.key == "tax_rate"), 0)
    total = round(total * (1 + tax), 0 if made.language == "ja" else 2)
    totals[0].thing = totals[0].value = int(total) if total.is_integer() else total


def _distinct(made: Document, one: Field, count: int) -> list[tuple[Any, Any]]:
    drawn: dict[str, tuple[Any, Any]] = {}
    while len(drawn) < count:
        thing, value = made.maker.make(one)
        drawn.setdefault(str(value), (thing, value))
    return list(drawn.values())


def _value(made: Document) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for leaf in made.leaves:
        key = leaf.path.rsplit(".", 1)[-1]
        if not leaf.group:
            value[key] = leaf.value
        elif leaf.group == leaf.key:
            value.setdefault(leaf.group, []).append(leaf.value)
        else:
            rows = value.setdefault(leaf.group, [])
            if len(rows) == leaf.index:
                rows.append({})
            rows[leaf.index][key] = leaf.value
    return value


# -- sentences ------------------------------------------------------------------------------------------------------------------


def _sentence(made: Document, template: str, leaves: Sequence[Leaf], where: str) -> str:
    out = ""
    for at, piece in enumerate(re.split(r"\{(\w+)\}", template)):
        text = piece
        if at % 2:
            said = [made.say(leaf, where) for leaf in leaves if leaf.key == piece]
            text = ("、" if made.place.east else ", ").join(said)
        if out[-1:].isdigit() and text[:1].isdigit():
            out += " "  # a date before a time, in languages without spaces
        out += text
    return out


def _heads(made: Document) -> list[Leaf]:
    return [leaf for leaf in made.leaves if leaf.group in ("", "attendees") and leaf.kind != "flag"]


def _parts(made: Document, where: str = "p") -> tuple[list[str], list[str], list[str]]:
    """Sentences of the head, of the records and of the tail."""
    texts = read(made.language)[f"{made.half} {made.domain}"]
    head = [_sentence(made, made.chance.choice(texts["head"]), _heads(made), where)]
    form = made.chance.choice(texts["rec"]) if "rec" in texts else ""
    rows = []
    for record in made.records():
        if made.chance.random() < 0.3:
            form = made.chance.choice(texts["rec"])
        rows.append(_sentence(made, form, record, where))
    tail = [_sentence(made, made.chance.choice(texts["tail"]), _heads(made), where)] if "tail" in texts else []
    return head, rows, tail


def _title(made: Document) -> str:
    return made.chance.choice(read(made.language)[f"{made.half} {made.domain}"]["title"])


def _stranger(made: Document) -> str:
    from grounding_marks import full_name

    return full_name(made.maker.person(), made.language)


def _join(made: Document, sentences: Sequence[str]) -> str:
    return ("" if made.place.east else " ").join(sentences)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _mail(made: Document) -> str:
    head, rows, tail = _parts(made)
    breaks = made.chance.random() < 0.5
    body = [_join(made, head), ("\n" if breaks else "" if made.place.east else " ").join(rows), _join(made, tail)]
    if made.chance.random() < 0.6:
        body.insert(made.chance.randint(1, 3), made.word("filler"))
    text = "\n\n".join(part for part in body if part) if breaks else _join(made, [part for part in body if part])
    hello = "" if made.place.east and made.chance.random() < 0.3 else made.word("hello") + "\n\n"
    return f"{_title(made)}\n\n{hello}{text if hello else _capital(text)}\n\n{made.word('bye')}\n{_stranger(made)}\n"


def _letter(made: Document) -> str:
    chance = made.chance
    head, rows, tail = _parts(made)
    sender = made.chance.choice(made.maker.lists["company"])
    top = f"{sender}\n{made.maker.address()}\nRef. {chance.randrange(100, 999)}/{chance.randrange(10, 99)}-{_code(chance)}"
    body = "\n\n".join([*head, *rows, made.word("filler"), *tail])
    foot = f"{made.word('bye')}\n\n{_stranger(made)}\n{sender}\n\n– 1/2 –"
    return f"{top}\n\n\n{_title(made).upper()}\n\n{made.word('hello')}\n\n{body}\n\n{foot}\n"


def _code(chance: Random) -> str:
    return "".join(chance.choice("BCDFGHKLMNPRSTVW") for _ in range(3))


# -- cells ------------------------------------------------------------------------------------------------------------------------


def _labelled(made: Document, leaves: Sequence[Leaf]) -> list[tuple[str, str]]:
    """Labels and cells; the names of a list share one label."""
    rows: list[tuple[str, str]] = []
    for leaf in leaves:
        if leaf.kind == "flag":
            continue
        said = made.say(leaf, "c")
        if leaf.group == "attendees" and leaf.index:
            label, before = rows[-1]
            rows[-1] = (label, f"{before}; {said}")
            continue
        rows.append((made.label(leaf.key), said))
    return rows


def _pairs(made: Document, leaves: Sequence[Leaf]) -> str:
    marks = ("：", ": ", "　", ":") if made.place.east else (": ", ":", " : ", ":\t", " = ")
    made.colon = made.colon or made.chance.choice(marks)
    return "\n".join(f"{label}{made.colon}{said}" for label, said in _labelled(made, leaves))


def _kv(made: Document) -> str:
    blocks = [_title(made), _pairs(made, _heads(made))]
    mark = made.chance.choice(("---", "", "*", "({})", "#{}"))
    for at, record in enumerate(made.records()):
        blocks.append((mark.format(at + 1) + "\n" if mark else "") + _pairs(made, record))
    if made.chance.random() < 0.5:
        blocks.append(made.word("filler"))
    return "\n\n".join(blocks) + "\n"


def _grid(made: Document) -> list[list[str]]:
    """The records as rows under their labels."""
    records = made.records()
    keys = [leaf.key for leaf in records[0]]
    order = list(range(len(keys)))
    if made.chance.random() < 0.3:
        made.chance.shuffle(order)
    labels = [made.label(keys[at]) for at in order]
    return [labels, *([made.say(record[at], "c") for at in order] for record in records)]


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def _markdown(made: Document) -> str:
    blocks = [f"# {_title(made)}"]
    flat = not made.records()
    if flat or made.chance.random() < 0.3:
        blocks.append(_table([(made.label("name"), "…"), *_labelled(made, _heads(made))]))
    else:
        blocks.append("\n".join(f"**{label}:** {said}  " for label, said in _labelled(made, _heads(made))))
    if not flat:
        blocks.append(_table(_grid(made)))
    blocks.append(f"*{made.word('filler')}*")
    return "\n\n".join(blocks) + "\n"


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _aligned_rows(rows: Sequence[Sequence[str]], gap: int) -> str:
    widths = [max(_width(row[at]) for row in rows) + gap for at in range(len(rows[0]))]
    return "\n".join(
        "".join(cell + " " * (size - _width(cell)) for cell, size in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _aligned(made: Document) -> str:
    title = _title(made).upper()
    gap = made.chance.choice((2, 3, 5))
    pairs = _aligned_rows([[f"{label}:", said] for label, said in _labelled(made, _heads(made))], gap)
    rows = _aligned_rows(_grid(made), gap)
    rule = "-" * 60
    return f"{title}\n{rule}\n{pairs}\n{rule}\n{rows}\n{rule}\n"


def _transposed(made: Document) -> str:
    rows = _grid(made)
    turned = [list(column) for column in zip(*rows, strict=True)]
    body = _table([["", *(f"({at})" for at in range(1, len(rows)))], *turned])
    if made.chance.random() < 0.5:
        body = _aligned_rows(turned, 3)
    return f"{_title(made)}\n\n{_pairs(made, _heads(made))}\n\n{body}\n"


def _csv(made: Document) -> str:
    mark = made.chance.choice((",", ";", "\t"))

    def row(cells: Sequence[str]) -> str:
        return mark.join('"' + cell.replace('"', '""') + '"' if mark in cell or '"' in cell else cell for cell in cells)

    head = _labelled(made, _heads(made))
    blocks = [row([label for label, _ in head]) + "\n" + row([said for _, said in head])]
    if made.records():
        blocks.append("\n".join(row(cells) for cells in _grid(made)))
    return "\n\n".join(blocks) + "\n"


def _bullets(made: Document) -> str:
    mark = made.chance.choice(("- ", "• ", "* ", "– "))
    lines = [_title(made), ""]
    lines += [f"{mark}{label}: {said}" for label, said in _labelled(made, _heads(made))]
    bare = made.chance.random() < 0.5
    link = (
        made.chance.choice((" – ", ", ", " / ", " · "))
        if not made.place.east
        else made.chance.choice(("、", "，", " / ", "・"))
    )
    for at, record in enumerate(made.records()):
        lead = f"{at + 1}. " if made.chance.random() < 0.5 else f"  {mark}"
        cells = [said if bare else f"{label} {said}" for label, said in _labelled(made, record)]
        lines.append(lead + link.join(cells))
    return "\n".join(lines) + "\n"


def _html(made: Document) -> str:
    """The rest of a page when its tags are removed: cells on separate lines, entities, no-break spaces."""

    def entities(text: str) -> str:
        return text.replace("&", "&amp;").replace(" ", "\u00a0" if made.chance.random() < 0.2 else " ")

    lines = [_title(made), "", ""]
    for label, said in _labelled(made, _heads(made)):
        lines += [entities(label), "  " + entities(said), ""]
    if made.records():
        for row in _grid(made):
            lines += [*(f"    {entities(cell)}" for cell in row), ""]
    lines += ["", made.word("filler"), "©"]
    return "\n".join(lines) + "\n"


# -- scans ------------------------------------------------------------------------------------------------------------------------

NUMERALS = set("〇一二三四五六七八九十百千万亿億零两年月日号時时分点半刻上下午前後晚元円")


def _scanned(made: Document) -> str:
    """A text as a scanner gives it: odd spaces and line breaks everywhere but inside numbers, and spaced capitals."""
    chance = made.chance
    text = chance.choice([_mail, _kv, _aligned] if made.records() and made.domain != "minutes" else [_mail, _kv])(made)
    title, _, rest = text.partition("\n")
    if chance.random() < 0.5 and not made.place.east:
        title = " ".join(title.upper().replace(" ", "  "))
    out = []
    for at, char in enumerate(rest):
        before, after = rest[at - 1 : at], rest[at + 1 : at + 2]
        near_digit = before.isdigit() or after.isdigit()
        if char == " " and not near_digit:
            out.append(chance.choice((" ",) * 14 + ("  ", "   ", "\n", " ")))
        elif char in ",:" and not near_digit and chance.random() < 0.15:
            out.append(f" {char}")
        elif made.place.east and _han(char) and _han(after) and chance.random() < 0.04:
            out.append(char + " ")
        else:
            out.append(char)
    return title + "\n" + "".join(out)


def _han(char: str) -> bool:
    return bool(char) and "\u4e00" <= char <= "\u9fff" and char not in NUMERALS


# -- several documents and chats ------------------------------------------------------------------------------------------------


def _several(made: Document) -> Source:
    rows: list[str] = []
    texts = read(made.language)[f"{made.half} {made.domain}"]
    head = [_sentence(made, made.chance.choice(texts["head"]), _heads(made), "p")]
    tail = [_sentence(made, made.chance.choice(texts["tail"]), _heads(made), "p")] if "tail" in texts else []
    if made.records():
        rows = [
            _table(_grid(made))
            if made.chance.random() < 0.5
            else "\n\n".join(_pairs(made, one) for one in made.records())
        ]
    first, second = _capital(_join(made, head)), "\n\n".join([*rows, *map(_capital, tail)])
    parts = {
        "mail": f"{first}\n\n{made.word('bye')}\n{_stranger(made)}",
        "attachment": second,
        "terms": made.word("also"),
    }
    parts = {name: text for name, text in parts.items() if text}
    if made.chance.random() < 0.3:
        return list(parts.values())
    names = list(parts)
    made.chance.shuffle(names)
    return {name: parts[name] for name in names}


def _chat(made: Document) -> Source:
    if made.domain in ORDER and made.chance.random() < 0.7:
        return _slots(made)
    head, rows, tail = _parts(made)
    messages = []
    for at, text in enumerate([*head, *rows, *tail]):
        if at:
            messages.append({"role": "assistant", "content": made.word("ack")})
        messages.append({"role": "user", "content": _capital(text)})
    return messages


ORDER = {
    "booking": ("place", "date", "time", "people", "guest", "phone", "reference"),
    "trip": ("origin", "destination", "date", "time", "people", "passenger", "price", "reference"),
}


def _slots(made: Document) -> Source:
    """Question and answer for each slot, some answers in one turn."""
    texts = read(made.language)[f"ask {made.half}"]
    messages: list[dict[str, str]] = [{"role": "user", "content": made.word("hello").rstrip(",:，：")}]
    for key in ORDER[made.domain]:
        question, answer = texts[key]
        leaves = [made.head(key)]
        if "{" not in answer:
            said = _sentence(made, question, leaves, "t")
            messages += [{"role": "assistant", "content": said}, {"role": "user", "content": answer}]
            continue
        messages += [
            {"role": "assistant", "content": question},
            {"role": "user", "content": _sentence(made, answer, leaves, "t")},
        ]
    return messages


FORMATS: dict[str, tuple[Callable[[Document], Source], bool]] = {
    "mail": (_mail, False),
    "letter": (_letter, False),
    "key value": (_kv, False),
    "markdown": (_markdown, False),
    "aligned": (_aligned, True),
    "transposed": (_transposed, True),
    "csv": (_csv, False),
    "bullets": (_bullets, False),
    "html": (_html, False),
    "scan": (_scanned, False),
    "documents": (_several, False),
    "chat": (_chat, False),
}


def shown(made: Document) -> str:
    """The document for a reader: the source and the value."""
    source = made.source if isinstance(made.source, str) else json.dumps(made.source, ensure_ascii=False, indent=1)
    return f"== {made.name} {made.language} {made.half} {made.domain} {made.format} today={made.place.today}\n{source}\n-- {json.dumps(made.value, ensure_ascii=False)}\n"


__all__ = ["FORMATS", "Document", "Form", "document", "shown"]
