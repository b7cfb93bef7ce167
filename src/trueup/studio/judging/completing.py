"""Completing: takes the text of a contract while it is typed and a cursor, and returns the completions there.

Keys and values come from the JSON Schema of contract files; names of fields, tools, states and groups come from the
text itself, as far as it can be read. The editor filters them by what has been typed.
"""

import hashlib
import json
import re
from collections import OrderedDict
from threading import Lock
from typing import Any

from trueup.contract.files.documents import KINDS, LIMITS, parse_document
from trueup.contract.files.extends import read_whole
from trueup.contract.files.faults import ContractError
from trueup.studio.judging.cursor import Cursor, last_of, locate
from trueup.studio.judging.drafts import Finder, place_of
from trueup.studio.judging.names import Names, NamesInContract, is_expression, names_at, properties
from trueup.studio.judging.shapes import Shape, describes, keys, kind_of, shapes, zone
from trueup.studio.judging.units import OffsetUnits
from trueup.studio.judging.vocabulary import FORMATS, FUNCTIONS, KEYWORDS, OWN_KEYWORDS, REPLY_NAMES, SWITCHES, TYPES
from trueup.studio.places import find
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import StudioSettings
from trueup.verdict.paths import Parts

Item = dict[str, str]
_MOST = 400
_KEPT = 8
_DOTTED = re.compile(r"[\w.\[\]]*")
_NAME_FILES = (("extends",), ("schema",), ("tools",), ("quality", "model"))
_PLAIN = re.compile(r"(?!(?i:null|true|false)\Z)[A-Za-z_$][\w$./ -]*\Z")  # text that needs no quotes in YAML
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")  # a key of TOML without quotes
_NAME = re.compile(r"\w*\Z")

_read: "OrderedDict[bytes, NamesInContract]" = OrderedDict()
_lock = Lock()


def complete(settings: StudioSettings, text: str, kind: str, file: str, line: int, column: int) -> dict[str, Any]:
    """The completions at a line and a column, both from 1, the column in UTF-16 units."""
    if is_too_long(text, kind):
        return {"from": {"line": 1, "column": 1}, "items": []}
    lines = text.split("\n")
    row = min(max(line, 1), len(lines)) - 1
    units = OffsetUnits(lines[row])
    cursor = locate(text, kind.lower(), row, units.points(max(column, 1) - 1))
    known = known_in(settings, text, kind, file, row, cursor)
    start = cursor.start + len(cursor.word) - len(cursor.text) if "\n" not in cursor.text else cursor.start
    items: list[Item] = []
    if cursor.role == "key":
        items = _keys(cursor, known, kind)
    value = cursor.path if cursor.role == "value" else cursor.either
    if value is not None:
        expression = is_expression(value, shapes(value))
        if expression:
            items = items if _NAME.match(cursor.text) else []  # the text there is already an expression, not a key
            begun, more = _in_expression(cursor, known, expression)
            start = begun if not items else start
        else:
            more = _values(value, cursor, known, kind)
            more += [_item(name, "file", "", name) for name in _files(settings, value, file)]
        items += more
    return {"from": {"line": row + 1, "column": units.of(start) + 1}, "items": items[:_MOST]}


def is_too_long(text: str, kind: str) -> bool:
    """Whether a text is longer than a contract may be; such texts get no completions."""
    return len(text) > LIMITS.get(kind.lower(), LIMITS[".yaml"])


def known_in(settings: StudioSettings, text: str, kind: str, file: str, row: int, cursor: Cursor) -> NamesInContract:
    """The names in a text.

    If it cannot be read, brackets are closed at the cursor, or its line or all text after it is left out.
    """
    lines = text.split("\n")
    closed = lines[row][: cursor.start + len(cursor.word)] + cursor.closers
    parts = [[*lines[:row], line, *lines[row + 1 :]] for line in ((closed, "") if cursor.closers else ("",))]
    for part in (text, *map("\n".join, parts), "\n".join(lines[:row])):
        key = hashlib.sha256(f"{kind}\0{file}\0{part}".encode("utf-8", "surrogatepass")).digest()
        with _lock:
            known = _read.get(key)
        if known is None:
            known = _known(settings, part, kind, file)
        if known is not None:
            with _lock:
                _read[key] = known
                while len(_read) > _KEPT:
                    _read.popitem(last=False)
            return known
    return NamesInContract(None)


def _known(settings: StudioSettings, text: str, kind: str, file: str) -> NamesInContract | None:
    path, name = place_of(settings, kind, file)
    try:
        return NamesInContract(read_whole(path, Finder(settings, path, name, text, alone=not file)).data)
    except ContractError:
        pass
    try:  # a file that it extends cannot be read: use at least its own names
        data = parse_document(text, name, path.suffix.lower()).data
    except ContractError:
        return None
    return NamesInContract(data) if isinstance(data, dict) else None


def _keys(cursor: Cursor, known: NamesInContract, kind: str) -> list[Item]:
    there = known.at(cursor.path)
    taken = cursor.beside | ({str(key) for key in there} - {cursor.word} if isinstance(there, dict) else set())
    place = zone(cursor.path)
    if place is not None and place.what == "schema" and cursor.path:
        words = KEYWORDS | OWN_KEYWORDS
        found = [_item(word, "", about, _key(word, None, cursor, kind)) for word, about in words.items()]
    else:
        named = names_at(known, cursor.path, "key")
        found = [_item(name, "", about, _key(name, None, cursor, kind)) for name, about in named.items()]
        if place is None or not cursor.path:
            found += [
                _item(name, kind_of(shape), describes(shape), _key(name, shape, cursor, kind))
                for name, shape in keys(cursor.path).items()
            ]
    return [item for item in found if item["label"] not in taken]


def _values(path: Parts, cursor: Cursor, known: NamesInContract, kind: str) -> list[Item]:
    place = zone(path)
    names: Names
    if place is not None and place.what not in ("schema", "names"):
        names = _schema_values(path, place.what, place.start, known)
    elif place is not None and path != ("schema",):
        names = dict.fromkeys(("true", "false"), "") if place.what == "schema" else {}
    else:
        names = {}
        for shape in shapes(path):
            names |= dict.fromkeys((str(value) for value in shape.get("enum", ())), "")
            if "boolean" in shape.get("type", ()):
                names |= dict.fromkeys(("true", "false"), "")
        names = {**names_at(known, path, "value"), **names}
    return [_item(name, "", about, _scalar(name, cursor, kind)) for name, about in names.items()]


def _files(settings: StudioSettings, path: Parts, file: str) -> list[str]:
    """The files near the contract that can be named at a path."""
    if not file or not (path in _NAME_FILES or (len(path) == 2 and path[0] == "extends")):
        return []
    own = find(settings, file)
    label = file.rpartition("/")[0]
    beside = sorted(each.name for each in own.parent.iterdir() if each.suffix.lower() in KINDS and each != own)
    return [name for name in beside[:_MOST] if not name.startswith(".") and _is_there(settings, f"{label}/{name}")]


def _is_there(settings: StudioSettings, name: str) -> bool:
    try:
        return find(settings, name).is_file()
    except RequestRefused:
        return False


def _schema_values(path: Parts, word: str, start: Parts, known: NamesInContract) -> Names:
    """The values of a keyword of JSON Schema."""
    node = path[:-2] if isinstance(path[-1], int) else path[:-1]
    if word == "type":
        return dict.fromkeys(TYPES, "")
    if word == "format":
        return dict.fromkeys(FORMATS, "")
    if word in OWN_KEYWORDS:
        return dict.fromkeys(("true", "false", "quotation"), "")
    if word in SWITCHES:
        return dict.fromkeys(("true", "false"), "")
    root = known.at(start)
    if word == "required":
        listed = known.at((*node, "required"))
        members = properties(known.at(node), root)
        return {name: "" for name in members if not isinstance(listed, list) or name not in listed}
    if word == "$ref":
        held = [(name, root.get(name)) for name in ("$defs", "definitions")] if isinstance(root, dict) else []
        return {f"#/{name}/{each}": "" for name, inner in held if isinstance(inner, dict) for each in inner}
    return {}


def _in_expression(cursor: Cursor, known: NamesInContract, over: str) -> tuple[int, list[Item]]:
    """The names in an expression: after a dot, the fields of the member before it."""
    written = last_of(_DOTTED, cursor.text)
    around, dot, last = written.rpartition(".")
    start = cursor.start + len(cursor.word) - len(last)
    if over == "reply" and not dot:
        names = {**REPLY_NAMES, **FUNCTIONS}
    elif dot:
        steps: Parts = tuple(
            0 if step.isdigit() else step for part in around.split(".") for step in part.replace("]", "").split("[")
        )
        names = known.fields(steps) if over == "value" else known.fields(steps[1:]) if steps[:1] == ("data",) else {}
    else:
        names = {**known.fields(), **FUNCTIONS}
    items = [_item(name, "function" if name in FUNCTIONS else "field", about, name) for name, about in names.items()]
    return start, items


def _item(label: str, detail: str, info: str, apply: str) -> Item:
    return {"label": label, "detail": detail, "info": info, "apply": apply}


def _key(name: str, shape: Shape | None, cursor: Cursor, kind: str) -> str:
    """A key in the notation of its file, with its suffix."""
    quoted = json.dumps(name, ensure_ascii=False)
    if cursor.quoted:
        return name
    if kind.lower() == ".json":
        return f"{quoted}: "
    if kind.lower() == ".toml":
        bare = name if _BARE.match(name) else quoted
        return bare if cursor.in_head else f"{bare} = "
    plain = name if _PLAIN.match(name) else quoted
    kinds = {arm.get("type") for arm in _arms(shape)} if shape is not None else set()
    if cursor.flow or not kinds or not kinds <= {"object", "array", "null"}:
        return f"{plain}: "
    deeper = " " * (cursor.column + 2)
    return f"{plain}:\n{deeper}- " if kinds == {"array"} else f"{plain}:\n{deeper}"


def _arms(shape: Shape) -> list[Shape]:
    """The alternatives of a shape whose kinds are plain words."""
    return [arm for arm in shape.get("anyOf", [shape]) if not isinstance(arm.get("type"), list)]


def _scalar(name: str, cursor: Cursor, kind: str) -> str:
    """A value in the notation of its file."""
    bare = name in ("true", "false") or (kind.lower() in (".yaml", ".yml") and _PLAIN.match(name) is not None)
    return name if bare or cursor.quoted else json.dumps(name, ensure_ascii=False)
