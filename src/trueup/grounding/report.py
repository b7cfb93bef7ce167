"""What is said about values without evidence: each finding with the nearest evidence, in words that a model can act on.

A value and what was found enter; a finding leaves. The hint quotes the source, so that the next reply can take the value from there.
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
    from trueup.grounding.settings import Settings

_SHOWN, _AROUND = 60, 40


def missing(value: Any, path: str, nearest: "Where | None", level: Level) -> Finding:
    """A value that no source has."""
    near = "" if nearest is None else f"; the nearest there is {_cut(nearest.text)!r}"
    hint = f"Take {_field(path)} from the source. " + (
        _quoted(nearest) if nearest is not None else "If the source does not say it, do not make it up."
    )
    return Finding(
        "E001",
        path,
        f"{_named(path)}{_shown(value)} is not in the source{near}",
        None,
        _data(value, nearest),
        hint.strip(),
        level,
    )


def only_in_prompt(value: Any, path: str, where: "Where", nearest: "Where | None", level: Level) -> Finding:
    """A value that stands only in the instructions or in an example."""
    message = f"{_named(path)}{_shown(value)} stands only in the prompt's instructions or example, not in the source"
    hint = f"Do not copy {_field(path)} from the example. Take it from the source. " + (
        "" if nearest is None else _quoted(nearest)
    )
    data = {**_data(value, nearest), "document": where.document.name}
    return Finding("E002", path, message, None, data, hint.strip(), level)


def other_record(stranger: "Stranger", path: str, level: Level) -> Finding:
    """A value that the source gives for another record."""
    owner, own = _cut(stranger.owner), _cut(stranger.own)
    value = stranger.leaf.value
    message = f"{_named(path)}the source gives {_shown(value)} for {owner!r}, not for {own!r}"
    hint = f"Take {_field(path)} from what the source says about {own!r}. " + (
        "" if stranger.instead is None else _quoted(stranger.instead)
    )
    data = {**_data(value, stranger.instead), "owner": stranger.owner, "record": stranger.own}
    return Finding("E003", path, message, None, data, hint.strip(), level)


def altered(value: Any, path: str, nearest: "Where | None", words: tuple[str, ...], level: Level) -> Finding:
    """A quotation that is not word for word."""
    instead = "" if nearest is None else f"; the source says {_cut(nearest.text, 160)!r}"
    hint = "Quote the source word for word." + ("" if nearest is None else f" It says: {_cut(nearest.text, 240)!r}")
    data = {**_data(value, nearest), "words": list(words[:20])}
    return Finding("E004", path, f"{_named(path)}the quotation was altered{instead}", None, data, hint, level)


def no_source(settings: "Settings", context: Mapping[str, Any]) -> Finding:
    """A check without a source, under a contract that needs one; of a unit it says which field lacks it."""
    field = settings.source or SOURCE
    lacking = "" if context.get("source") is not None else lacking_in(context.get("input"), settings.source)
    hint = 'Pass the source with the check: context={"source": text}.'
    if lacking:
        hint = f"Give the unit the text that the reply is about in its field {field!r}; `grounded: {{source: …}}` names another field."
    elif isinstance(context.get("input"), Mapping):
        lacking = "the unit has no field that could be one"
    message = f"The contract is grounded, and {lacking or 'the context has no source'}"
    return Finding("E007", "$", message, None, {"source": field}, hint, "error")


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


def _quoted(where: "Where") -> str:
    """What the source says around a place."""
    start, end = where.span
    text = where.document.text
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    begin, stop = max(first, start - _AROUND), min(last if last >= 0 else len(text), end + _AROUND)
    begin = begin if begin == first else text.find(" ", begin, start) + 1 or begin
    stop = stop if stop in (last, len(text)) else max(text.rfind(" ", end, stop), end)
    return f"It says: {_cut(text[begin:stop], 2 * _AROUND + _SHOWN + 20)!r}"


def _data(value: Any, nearest: "Where | None") -> dict[str, Any]:
    return (
        {"value": value}
        if nearest is None
        else {"value": value, "nearest": nearest.place().text, "document": nearest.document.name}
    )
