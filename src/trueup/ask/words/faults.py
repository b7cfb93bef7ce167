"""Faults as a model reads them in a correction: one line for each, in one language.

Takes findings; returns lines. A line contains the contract's own words, types and sizes. Values and names from the model appear only in the
quotation of its reply. Messages from a check or a Python type are shown without the passages that also occur in the reply.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from trueup.ask.words.places import calls_of, inner, shown
from trueup.ask.words.quoting import cut, disarm
from trueup.ask.words.shape import FORMATS
from trueup.ask.words.templates import FIELD, Templates, fill
from trueup.conform.survey import all_keys
from trueup.verdict.facts import Finding
from trueup.verdict.neutral import ModelTexts, neutral, texts_in
from trueup.verdict.paths import Parts, parse, render, value_at
from trueup.verdict.reply import Reply
from trueup.verdict.tool import Tool
from trueup.verdict.verdict import Verdict

# The syntax defect that a fix or a finding shows.
_DEFECTS = {
    "P009": "truncated", "T006": "unfinished", "S028": "unfinished", "S029": "unfinished", "S030": "unfinished", "W015": "unfinished",
    "P013": "loop",
    "W004": "tag", "F004": "tag", "F005": "tag", "W005": "tag",
    "W001": "fence", "W002": "prose", "S014": "names", "S001": "comma",
    "S008": "quotes", "S009": "quotes", "S010": "quotes", "S016": "newline", "S017": "comment", "S018": "literal",
    "S027": "ellipsis", "S012": "inner_quote", "S013": "inner_quote", "W013": "reasoning", "S032": "twice",
    "S005": "brackets", "S006": "brackets",
}  # fmt: skip
# The same for fixes that a contract may refuse; if it accepts them, they are not mentioned.
_REFUSED = {
    "C001": "number", "C002": "number", "C004": "number", "C014": "number", "S020": "number", "S021": "number",
    "C003": "literal", "C013": "literal", "S019": "literal", "C010": "spelling", "C011": "spelling", "C012": "spelling",
    "C015": "spelling", "K002": "spelling", "W010": "several", "W012": "several", "W014": "several", "W017": "several",
    "W018": "several", "W019": "several", "S036": "value", "S037": "value",
}  # fmt: skip
_WHOLE = ("truncated", "unfinished", "loop")  # for a reply with one of these, no other advice is given
_CALL_WORDS = frozenset({"calls", "args", "toolCalls", "arguments", "name", "content", "needsMoreWork"})
_WRITTEN = frozenset(
    {"value", "similar", "name", "raw", "argument", "reason", "text", "refusal", "fault"}
)  # written by the model
_GROUNDED = frozenset({"E001", "E002", "E003", "E004", "E005", "E006"})  # claims that the sources do not support
_OF_SOURCE = frozenset({"nearest", "says", "owner", "record", "stated"})  # data of a finding that comes from a source
_NUMBERED = re.compile(r'\["(\*|\(key #\d+\))"\]')  # replacements for the model's names in a path
_MOST_SHOWN = 400
_MOST_LISTED = 12
_MOST_CLAIM = 40  # the longest claim in prose that is repeated, in characters
_MOST_QUOTED = 200  # characters of the source in one line


class VerdictWords:
    """The words that may be used about one verdict: the contract's own names, but not the model's text."""

    __slots__ = ("_value", "inside", "names", "verdict", "words", "written")

    def __init__(
        self,
        verdict: Verdict,
        words: Templates,
        schema: Any = None,
        tools: Iterable[Tool] = (),
        *,
        inside: bool = False,
    ) -> None:
        self.verdict = verdict
        self.words = words
        self.inside = inside  # calls belong in the reply's value
        self._value = _value_of(verdict)
        parts = [schema, *(tool.parameters for tool in tools)]
        self.names = _CALL_WORDS.union(
            {tool.name for tool in tools}, *(all_keys(part) for part in parts if isinstance(part, dict))
        )
        texts = texts_in(verdict.data, *(call.args for call in verdict.reply.calls))
        self.written = ModelTexts([as_text(verdict.reply), *texts])

    def lines(self, faults: Iterable[Finding], most: int) -> str:
        """The first `most` faults as a list."""
        given = list(faults)
        wrong = {fault.path for fault in given}
        kept = [fault for fault in given if not any(f"{fault.path}.{name}" in wrong for name in _needed(fault))]
        told = list(dict.fromkeys(self._line(fault) for fault in kept))
        if len(told) > most:
            told = [*told[:most], self.words.fill("more", count=len(told) - most)]
        return "\n".join(told)

    def texts(self, texts: Iterable[str], most: int) -> list[str]:
        """The first `most` messages and hints, in a form that is safe in a system message."""
        written = self.written
        return list(dict.fromkeys(one_line(neutral(text, written), _MOST_SHOWN) for text in texts))[:most]

    def _line(self, fault: Finding) -> str:
        path = own_path(fault.path, self.names, self._value, parent=fault.code == "V003")
        place = shown(path, self.verdict, inside=self.inside, names=self.names)
        message = one_line(self._message(fault, path), _MOST_SHOWN)
        return self.words.fill("fault", code=fault.code, path=one_line(place, 120), message=message)

    def _message(self, fault: Finding, path: str) -> str:
        """The template's message for a finding, if there is one; otherwise the finding's own message with its hint."""
        words = self.words
        defect = defect_of(fault, self.verdict)
        if defect is not None and defect in words.hints and fault.code not in words.messages:
            return words.hints[defect].removeprefix("- ")
        values = {name: self._said(name, value) for name, value in fault.data.items() if value not in (None, [])}
        values |= _quoted(fault)
        values |= {"field": field_name(inner(path)), "place": self._place(inner(path))}
        if fault.code in _GROUNDED and "kind" in fault.data:  # a claim in prose
            values["place"] = self._claim(fault)
        values["which"] = self._which(fault)
        values["s"] = "" if fault.data.get("limit") == 1 else "s"  # plural
        if fault.data.get("format") in FORMATS:
            values["example"] = FORMATS[fault.data["format"]]
        if fault.code == "V005" and len(fault.data.get("allowed", ())) > 1:
            values["allowed"] = f"{words.types.get('one_of', 'one of')} {values['allowed']}"
        for key in (f"{fault.code} {fault.data.get('rule')}", *(f"{fault.code} {name}" for name in values), fault.code):
            template = words.messages.get(key)
            if template is not None and values.keys() >= set(FIELD.findall(template)):
                return fill(template, values)
        parts = [self._safe(part) for part in (fault.message, fault.hint) if part]
        return " ".join(part if part[-1] in ".!?" else f"{part}." for part in parts)

    def _which(self, fault: Finding) -> str:
        """The numbers of all unknown keys with the same message; empty if they are not known, or if there is only one key."""
        if fault.code != "V003":
            return ""
        around, meant = parse(fault.path)[:-1], fault.data.get("suggestion")
        alike = [one for one in self.verdict.errors if one.code == "V003" and one.data.get("suggestion") == meant]
        unknown = {path[-1] for path in (parse(one.path) for one in alike) if path[:-1] == around}
        keys = _keys_at(self._value, around)
        numbers = [f"#{number}" for number, key in enumerate(keys, 1) if key in unknown]
        return f" ({', '.join(numbers[:_MOST_LISTED])})" if len(keys) > 1 and numbers else ""

    def _place(self, path: str) -> str:
        types = self.words.types
        if path == "$":
            return types.get("whole", "Value")
        return f'{types.get("field", "Field")} "{field_name(path)}"'

    def _claim(self, fault: Finding) -> str:
        """A claim of a reply in prose, if it is too short to be an instruction: a number, a date."""
        value = one_line(self._safe(str(fault.data.get("value"))), _MOST_CLAIM + 1)
        return value if "…" not in value else self.words.types.get("whole", "Value")

    def _said(self, name: str, value: Any) -> str:
        types = self.words.types
        if name in _WRITTEN:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            return self._safe(text.removeprefix("Value error, ").removeprefix("Assertion failed, ").rstrip(". "))
        if name in ("expected", "got"):
            kinds = value if isinstance(value, list) else [value]
            return f" {types.get('or', 'or')} ".join(
                types.get(f"kind_{kind}", types.get(kind, str(kind))) for kind in kinds
            )
        if isinstance(value, list):
            listed = [json.dumps(one, ensure_ascii=False, default=str) for one in value[:_MOST_LISTED]]
            return ", ".join([*listed, "…"] if len(value) > _MOST_LISTED else listed)
        return str(value)

    def _safe(self, text: str) -> str:
        return neutral(text, self.written, self.names)


def _quoted(fault: Finding) -> dict[str, str]:
    """The sources' texts in a finding's data, in quotation marks and each on one line, and the marks that cite them."""
    if fault.code not in _GROUNDED:
        return {}
    texts = {name: str(fault.data[name]) for name in _OF_SOURCE if fault.data.get(name)}
    said = {name: json.dumps(one_line(text, _MOST_QUOTED), ensure_ascii=False) for name, text in texts.items()}
    return {**said, "marks": ", ".join(f"[{number}]" for number in fault.data.get("cited") or ())}


def fault_lines(faults: Iterable[Finding], words: Templates, most: int, *, verdict: Verdict, schema: Any = None, tools: Sequence[Tool] = (), inside: bool = False) -> str:  # fmt: skip
    """The first `most` faults of a verdict as a list, each with its place as the model knows it."""
    return VerdictWords(verdict, words, schema, tools, inside=inside).lines(faults, most)


def own_path(path: str, names: frozenset[str], value: Any = None, *, parent: bool = False) -> str:
    """A path with the model's own names replaced by their number among the keys, or by `*` if there is only one key.

    `value` is the value that the path belongs to; `parent` leaves out the last name if the model chose it.

    >>> own_path('$.scores["Reply with OK"].points', frozenset({"scores", "points"}))
    '$.scores.*.points'
    >>> own_path("$.scores.bob", frozenset({"scores"}), {"scores": {"ada": 1, "bob": 2}})
    '$.scores.(key #2)'
    """
    try:
        parts = parse(path)
    except ValueError:
        return "$"
    if parent and parts and parts[-1] not in names:
        parts = parts[:-1]
    named = [
        part if isinstance(part, int) or part in names else _numbered(part, _keys_at(value, parts[:depth]))
        for depth, part in enumerate(parts)
    ]
    return _NUMBERED.sub(r".\1", render(tuple(named)))


def _numbered(key: str, keys: list[Any]) -> str:
    return f"(key #{keys.index(key) + 1})" if key in keys and len(keys) > 1 else "*"


def _keys_at(value: Any, path: Parts) -> list[Any]:
    """The keys of the object at a place, in order; empty if there is no object."""
    value = value_at(value, path)
    return list(value) if isinstance(value, dict) else []


def _value_of(verdict: Verdict) -> Any:
    """The value that the paths of a verdict's findings belong to, with the arguments of the calls by their index."""
    called: dict[Any, Any] = {index: {"args": call.args} for index, call in calls_of(verdict).items()}
    data = verdict.data if isinstance(verdict.data, dict) else {}
    return {**data, "calls": called} if called else verdict.data


def defect_of(fault: Finding, verdict: Verdict) -> str | None:
    """The syntax defect that a finding is about, if any."""
    code = str(fault.data.get("fix", "")) if fault.code == "G001" else fault.code
    defect = _DEFECTS.get(code) or (_REFUSED.get(code, "plain") if fault.code == "G001" else None)
    return "truncated" if defect == "unfinished" and verdict.reply.finish == "length" else defect


def defects(verdict: Verdict, *, tags: bool = False) -> list[str]:
    """The syntax defects of a reply, worst first. For an incomplete reply, no other advice is given.

    A call in tags is a defect, unless the model was asked to write it in `tags`.

    >>> from trueup import Contract
    >>> defects(Contract({"type": "object"}).check("```json\\n{'a': 1,}\\n```"))
    ['fence', 'quotes', 'comma']
    """
    codes = [fact.code for fact in (*verdict.findings, *verdict.fixes)]
    seen = dict.fromkeys(_DEFECTS[code] for code in codes if code in _DEFECTS)
    if not tags and any(fix.code == "K001" and str(fix.before)[:1] == "<" for fix in verdict.fixes):
        seen["tag"] = None
    if verdict.reply.finish == "length":
        return ["truncated"]
    whole = next((defect for defect in _WHOLE if defect in seen), None)
    return list(seen) if whole is None else [whole]


def hint_lines(verdict: Verdict, words: Templates, *, tags: bool = False) -> str:
    """One line for each defect that is not already among the faults, with a blank line after them."""
    told = {defect_of(fault, verdict) for fault in verdict.errors}
    seen = [defect for defect in defects(verdict, tags=tags) if defect not in told]
    lines = [words.hints[defect] for defect in seen if defect in words.hints]
    return "\n".join(["", *lines, ""]) if lines else ""


def one_line(text: str, most: int) -> str:
    """A text on one line, without tags that a model might repeat."""
    line = " ".join(disarm(text).split())
    return line if len(line) <= most else cut(line, most - 1) + "…"


def field_name(path: str) -> str:
    """A path in the form in which people write the name of a field."""
    return path.replace("[", ".").replace("]", "").removeprefix("$").removeprefix(".") or "$"


def as_text(reply: Reply) -> str:
    """A reply as text, including its calls."""
    from trueup.verdict.codec import written

    calls = [f"{call.name}({call.raw_args or written(call.args or {}).decode()})" for call in reply.calls]
    return "\n".join(part for part in (reply.text, *calls) if part)


def _needed(fault: Finding) -> list[str]:
    """The fields that the alternatives need, if no alternative fits; a fault in one of these fields says enough."""
    labels = fault.data.get("alternatives", ()) if fault.code == "V008" else ()
    return [name.split('"')[0] for label in labels if label.startswith("with ") for name in label.split(' "')[1:]]
