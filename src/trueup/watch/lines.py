r"""Events as flat fields and as one line: a model's text cannot forge a second line or move a cursor.

Every unprintable character (line breaks, escapes, bidirectional marks, separators) becomes a `\u` escape.
"""

import json
from collections.abc import Iterable
from typing import Any, Literal

from trueup.verdict.events import Checked, Event, Violation

Field = str | int | float | bool

Seriousness = Literal["info", "warning", "refusal"]

# Events that are a warning by their name alone.
_WARNINGS = frozenset({"fell_back", "failed"})
_MOST = 2000  # characters of one field


def visible(text: str) -> str:
    r"""Text as one line of printable characters.

    >>> visible("done\n2026 INFO forged \x1b[2J")
    'done\\n2026 INFO forged \\u001b[2J'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def seriousness(event: Event) -> Seriousness:
    """How serious an event is: a refusal, an accepted reply with warnings (or a failed call), or neither.

    Every subscriber that has levels gets them from here.

    >>> from trueup.verdict.events import Checked
    >>> warned = (Violation("T011", "$", "mentions 'check_cable'"),)
    >>> seriousness(Checked(ok=False)), seriousness(Checked(warnings=warned)), seriousness(Checked())
    ('refusal', 'warning', 'info')
    """
    if getattr(event, "ok", True) is False:
        return "refusal"
    warned = event.event in _WARNINGS or (isinstance(event, Checked) and event.warnings)
    return "warning" if warned else "info"


def fields_of(event: Event) -> dict[str, Field]:
    """The fields of an event as plain scalars, safe to write; empty fields are left out.

    >>> from trueup.verdict.events import Checked
    >>> fields_of(Checked(state="IDLE", ok=False, violations=(Violation("D001", "$", "names Ana"),), seconds=0.002))
    {'state': 'IDLE', 'ok': False, 'violations': 'D001 $: names Ana', 'certainty': 1.0, 'confidence': 1.0, 'seconds': 0.002, 'regenerations': 0}
    """
    out: dict[str, Field] = {}
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if name == "at" or value is None:
            continue
        flat = _flat(value)
        if flat not in ("", ()) and not (flat == 0 and name == "fixes"):
            out[name] = flat
            if name == "certainty":
                out["confidence"] = flat  # its name before 0.2
    return out


def _flat(value: Any) -> Field:
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _short(visible(value))
    if isinstance(value, tuple | list):
        return _short("; ".join(_said(item) for item in value))
    return _short(visible(str(value)))


def _said(item: Any) -> str:
    return visible(f"{item.code} {item.path}: {item.message}" if isinstance(item, Violation) else str(item))


def _short(text: str) -> str:
    return text if len(text) <= _MOST else text[: _MOST - 1] + "…"


def line_of(event: Event) -> str:
    """An `event` as one line: its name, then `field=value`, with texts as JSON.

    >>> from trueup.verdict.events import Checked
    >>> line_of(Checked(contract="salon", text="¡Hola!", seconds=0.0001))
    'checked contract="salon" text="¡Hola!" ok=true certainty=1.0 confidence=1.0 seconds=0.0001 regenerations=0'
    """
    return " ".join([event.event, *_pairs(fields_of(event).items())])


def _pairs(fields: Iterable[tuple[str, Field]]) -> Iterable[str]:
    for name, value in fields:
        yield f"{name}={json.dumps(value, ensure_ascii=False)}"
