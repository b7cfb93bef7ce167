"""The tables of `docs/howto/what-reaches-the-client.md`: reads the gateway's list of fields, writes one table for each protocol.

`python -m tools.client_fields` writes them into the page; a test compares the page with the list.
"""

from collections.abc import Iterator
from pathlib import Path

from trueup.gateway.protocols.fields import (
    CHAT,
    CHUNK,
    MESSAGE,
    MESSAGE_EVENTS,
    RESPONSE,
    RESPONSE_EVENTS,
    USAGE,
    AllowedWords,
    Blocks,
    Fate,
    JudgedTexts,
    Rule,
)

PAGE = Path(__file__).resolve().parent.parent / "docs" / "howto" / "what-reaches-the-client.md"
_ORDER = (
    "judged",
    "kept: a number",
    "kept: true or false",
    "kept: an identifier",
    "kept: one of",
    "the request's own",
    "dropped",
)


def table(name: str) -> str:
    """The table of one part of the list: each way of handling fields, and its fields."""
    groups: dict[str, dict[str, None]] = {}
    whole = _in_events(PARTS[name]) if name.endswith("events") else dict(_leaves(PARTS[name]))
    for path, fate in whole.items():
        groups.setdefault(fate, {})[f"`{path}`"] = None
    order = sorted(groups, key=lambda fate: next(at for at, start in enumerate(_ORDER) if fate.startswith(start)))
    rows = [f"| {fate} | {', '.join(groups[fate])} |" for fate in order]
    return "\n".join(["| handling | fields |", "|---|---|", *rows])


def filled(page: str) -> str:
    """The page with new tables."""
    for name in PARTS:
        start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, _, rest = page.partition(start)
        page = f"{before}{start}\n\n{table(name)}\n\n{end}{rest.partition(end)[2]}"
    return page


def _in_events(events: dict[str, Rule]) -> dict[str, str]:
    """The fields of all events; the event is named if its field is handled differently."""
    fates: dict[str, dict[str, list[str]]] = {}
    for kind, rules in events.items():
        for path, fate in _leaves(rules):
            fates.setdefault(path, {}).setdefault(fate, []).append(kind)
    return {
        path if len(found) == 1 else f"{kind} {path}": fate
        for path, found in fates.items()
        for fate, kinds in found.items()
        for kind in kinds
    }


def _leaves(rule: Rule, path: str = "") -> Iterator[tuple[str, str]]:
    if rule is USAGE:
        yield from ((f"{path}.…", fate) for fate in ("kept: a number",))
    elif isinstance(rule, Fate):
        yield path, rule.value
    elif isinstance(rule, AllowedWords):
        yield path, "kept: one of a few words"
    elif isinstance(rule, JudgedTexts):
        yield path, "judged"
        yield from _leaves(rule.parts, path)
    elif isinstance(rule, Blocks):
        for kind, fields in rule.items():
            if kind:
                yield from _leaves(fields, f"{path}[{kind}]")
    elif isinstance(rule, list):
        yield from _leaves(rule[0], f"{path}[0]")
        yield f"{path}[1:]", "dropped"
    else:
        for name, inner in rule.items():
            yield from _leaves(inner, f"{path}.{name}" if path else name)


def _event_rules(events: dict[str, Rule]) -> dict[str, Rule]:
    """The rules of events; the whole object in some of them has its own table."""
    cut = {"message": 1, "response": 1}
    return {
        kind: {name: Fate.JUDGED if name in cut and isinstance(rule, dict) else rule for name, rule in rules.items()}
        for kind, rules in events.items()
    }


PARTS: dict[str, Rule] = {
    "chat completions": CHAT,
    "chunks": CHUNK,
    "messages": MESSAGE,
    "messages events": _event_rules(MESSAGE_EVENTS),
    "responses": RESPONSE,
    "responses events": _event_rules(RESPONSE_EVENTS),
}

if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
