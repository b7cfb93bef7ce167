"""The findings of grounding, with the nearest evidence, in words that a model can act on.

Takes a value and its lookup result; returns a finding. The message and the hint are rendered from the finding's data
alone. A store that must not keep source texts can therefore keep the same finding without them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from trueup.grounding.sources import SOURCE, lacking_in
from trueup.verdict.catalogue import Level
from trueup.verdict.facts import Finding
from trueup.verdict.paths import parse

if TYPE_CHECKING:
    from trueup.grounding.lookup import Where
    from trueup.grounding.records import Stranger
    from trueup.grounding.settings import GroundingSettings

_SHOWN, _AROUND = 60, 40
_MOST_QUOTED = 200
# The facts of a finding that quote the source.
OF_SOURCE = frozenset({"nearest", "says", "owner", "record", "stated"})
_Facts = dict[str, Any]


def missing(value: Any, path: str, nearest: "Where | None", level: Level) -> Finding:
    """A value that no source has."""
    return _made("E001", path, {"value": value, **_near(nearest)}, level)


def only_in_prompt(value: Any, path: str, where: "Where", nearest: "Where | None", level: Level) -> Finding:
    """A value that is only in the instructions or in an example."""
    return _made("E002", path, {"value": value, **_near(nearest), "document": where.document.name}, level)


def other_record(stranger: "Stranger", path: str, level: Level) -> Finding:
    """A value that the source gives for another record."""
    facts: _Facts = {"value": stranger.leaf.value, **_near(stranger.instead)}
    if str(stranger.leaf.value) == stranger.owner:
        facts["named"] = True  # the record's name is the misplaced value
    return _made("E003", path, {**facts, "owner": stranger.owner, "record": stranger.own}, level)


def altered(value: Any, path: str, nearest: "Where | None", words: tuple[str, ...], level: Level) -> Finding:
    """A quotation that differs from the source."""
    facts: _Facts = {"value": value}
    if nearest is not None:
        facts |= {
            "nearest": nearest.place().text,
            "document": nearest.document.name,
            "says": _cut(nearest.text, _MOST_QUOTED),
        }
    return _made("E004", path, {**facts, "words": list(words[:20])}, level)


def unknown_citation(name: str, documents: int, level: Level) -> Finding:
    """A mark that names a document that does not exist."""
    return _made("E005", "$", {"citation": name, "documents": documents}, level)


def wrong_citation(cited: list[int], right: int, document: str, stated: str, level: Level) -> Finding:
    """A mark on a sentence that the document does not support."""
    facts = {"cited": cited, "right": right, "document": document}
    return _made("E006", "$", {**facts, "stated": stated} if stated else facts, level)


def no_source(settings: "GroundingSettings", context: Mapping[str, Any]) -> Finding:
    """A check without a source, under a contract that needs one. For a unit, it names the missing field."""
    facts: _Facts = {"source": settings.source or SOURCE}
    given = context.get("input")
    if context.get("source") is None and (lacking := lacking_in(given, settings.source)):
        facts |= {"lacking": lacking, "of_unit": True}
    elif isinstance(given, Mapping):
        facts["lacking"] = "the unit has no field that could be one"
    return _made("E007", "$", facts, "error")


def without_source(found: Finding) -> Finding:
    """A finding without any text of the source. A finding of another family is returned unchanged.

    >>> without_source(Finding("E001", "$.a", "…", data={"value": 1, "nearest": "2 EUR", "says": "Total: 2 EUR"}))
    Finding(code='E001', path='$.a', message='Field "a": 1 is not in the source', span=None, data={'value': 1}, hint="Take 'a' from the source. If the source does not say it, do not make it up.", level='error')
    """
    if found.code not in _WORDS or OF_SOURCE.isdisjoint(found.data):
        return found
    facts = {name: fact for name, fact in found.data.items() if name not in OF_SOURCE}
    message, hint = _WORDS[found.code](found.path, facts)
    return msgspec.structs.replace(found, message=message, hint=hint, data=facts)


def _made(code: str, path: str, facts: _Facts, level: Level) -> Finding:
    message, hint = _WORDS[code](path, facts)
    return Finding(code, path, message, None, facts, hint, level)


def _missing(path: str, facts: _Facts) -> tuple[str, str]:
    near = f"; the nearest there is {_cut(facts['nearest'])!r}" if "nearest" in facts else ""
    hint = f"Take {_field(path)} from the source. " + (
        _said(facts) or "If the source does not say it, do not make it up."
    )
    return f"{_named(path)}{_shown(facts['value'])} is not in the source{near}", hint


def _only_in_prompt(path: str, facts: _Facts) -> tuple[str, str]:
    shown = _shown(facts["value"])
    message = f"{_named(path)}{shown} is only in the prompt's instructions or example, not in the source"
    hint = f"Do not copy {_field(path)} from the example. Take it from the source. {_said(facts)}"
    return message, hint.strip()


def _other_record(path: str, facts: _Facts) -> tuple[str, str]:
    shown = _shown(facts["value"])
    if "owner" not in facts:
        return (
            f"{_named(path)}the source gives {shown} for another record",
            f"Take {_field(path)} from what the source says about this record.",
        )
    own = repr(_cut(facts["record"]))
    if "named" in facts:
        message = f"{_named(path)}the source gives the other values of this record for {own}, not for {_cut(facts['owner'])!r}"
        return message, f"Take the values of each record from what the source says about it. Here it is about {own}."
    hint = f"Take {_field(path)} from what the source says about {own}. {_said(facts)}"
    return f"{_named(path)}the source gives {shown} for {_cut(facts['owner'])!r}, not for {own}", hint.strip()


def _altered(path: str, facts: _Facts) -> tuple[str, str]:
    instead = f"; the source says {_cut(facts['says'], 160)!r}" if "says" in facts else ""
    return (
        f"{_named(path)}the quotation was altered{instead}",
        f"Quote the source word for word. {_said(facts)}".strip(),
    )


def _unknown_citation(_path: str, facts: _Facts) -> tuple[str, str]:
    count = facts["documents"]
    there = "there is 1 document" if count == 1 else f"there are {count} documents"
    hint = "Cite only [1]." if count == 1 else f"Cite one of the documents [1] to [{count}]."
    return f"The reply cites [{facts['citation']}], but {there}", hint


def _wrong_citation(_path: str, facts: _Facts) -> tuple[str, str]:
    cited, right = ", ".join(f"[{number}]" for number in facts["cited"]), facts["right"]
    named = f"document [{right}] ({facts['document']})" if "document" in facts else f"document [{right}]"
    says = f"say {_cut(facts['stated'])!r}" if "stated" in facts else "say what this sentence states"
    message = f"The cited document {cited} does not {says}; {named} does"
    return message, f"Cite [{right}] for this, or leave it out."


def _no_source(_path: str, facts: _Facts) -> tuple[str, str]:
    hint = 'Pass the source with the check: context={"source": text}.'
    if "of_unit" in facts:
        hint = f"Give the unit the text that the reply is about in its field {facts['source']!r}; `grounded: {{source: …}}` names another field."
    return f"The contract is grounded, but {facts.get('lacking', 'the context has no source')}", hint


_WORDS = {
    "E001": _missing,
    "E002": _only_in_prompt,
    "E003": _other_record,
    "E004": _altered,
    "E005": _unknown_citation,
    "E006": _wrong_citation,
    "E007": _no_source,
}


def _field(path: str) -> str:
    parts = parse(path)
    return "the value" if not parts else repr(path.removeprefix("$.") if path.startswith("$.") else path)


def _named(path: str) -> str:
    parts = parse(path)
    return "" if not parts else f'Field "{path.removeprefix("$.")}": '


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return f'"{_cut(text)}"' if isinstance(value, str) else _cut(text)


def _cut(text: str, most: int = _SHOWN) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _said(facts: _Facts) -> str:
    return f"It says: {facts['says']!r}" if "says" in facts else ""


def _near(where: "Where | None") -> _Facts:
    """The nearest text in the sources, and the text around it."""
    if where is None:
        return {}
    return {"nearest": where.place().text, "document": where.document.name, "says": _around(where)}


def _around(where: "Where") -> str:
    start, end = where.span
    text = where.document.text
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    begin, stop = max(first, start - _AROUND), min(last if last >= 0 else len(text), end + _AROUND)
    begin = begin if begin == first else text.find(" ", begin, start) + 1 or begin
    stop = stop if stop in (last, len(text)) else max(text.rfind(" ", end, stop), end)
    return _cut(text[begin:stop], 2 * _AROUND + _SHOWN + 20)
