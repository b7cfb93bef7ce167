"""Samples: replies with typical problems, each with the contract that judges it, in the order of the menu.

`gives` lists the engine's findings. Tests compare them, so that no title is wrong.
"""

import functools
import json
import textwrap
from typing import NamedTuple

from trueup.studio.demo.material import text

_CHINESE = """好的，这是您要的资料：

｛
  “name”：“小明”，
  “age”：“23”，
  “role”：“engineer”，
  “languages”：[“中文”，“English”]
｝

希望对您有帮助！
"""
_GERMAN = """Gerne! Hier ist das Profil, um das du gebeten hast:

{
  „name“: „Jürgen Groß“,
  „age“: 45,          // im März
  „role“: „Writer“,
  „languages“: „Deutsch“,
  „remote“: True,
}

Sag Bescheid, wenn du noch etwas brauchst.
"""
_SPANISH = """¡Perfecto! Tenemos libre el lunes 25 a las 10:30 y a las 12:00.

Tu cita ha sido confirmada para las 10:30. ¿Me dices tu nombre y tu teléfono?
"""
_CLINIC = """I'm sorry to hear that. Dr. Patel is free on Monday at 10:30, and I've booked it for you.

The clinic opens at 8:30.
"""
_CHARACTER = """```json
{
  "name": "Brannoc",
  "hp": 14,
  "max_hp": 12,
  "wound_count": 3,
  "wounds": {"arm": 2, "leg": 0, "chest": 1},
  "mood": "Nervous",
  "personality_consistency": 0.9,
  "mood_responsiveness": 0.3
}
```
"""
_INVOICE = """INVOICE No. 2024-118                          Leeds, 5 March 2024
Northwind Tools Ltd, 14 Harbour Road, Leeds
Your order of 27 February

  Qty   Item              Price       Amount
    2   bench vice        64.50       129.00
    1   drill press    1,049.00     1,049.00

Total                            GBP 1,178.00
Payable within thirty days.
"""
_SWAPPED = """{
  "number": "2024-118",
  "supplier": "Northwind Tools",
  "date": "2024-03-05",
  "due_days": 30,
  "lines": [
    {"item": "bench vice", "quantity": 2, "price": 64.5},
    {"item": "drill press", "quantity": 1, "price": 1049}
  ],
  "total": 1187,
  "reference": "order"
}
"""
_SORRY = "Sorry, I can't do that."


class SampleReply(NamedTuple):
    """A reply and its contract."""

    name: str
    title: str
    reply: str
    contract: str
    kind: str
    """The ending of the contract's file."""
    state: str
    source: str
    """The text that a grounded contract looks values up in."""
    gives: tuple[str, ...]
    """The codes of its errors; none if it passes."""


class _Row(NamedTuple):
    name: str
    title: str
    reply: str  # the name of an example, or the text itself
    contract: str
    gives: tuple[str, ...] = ()
    state: str = ""
    source: str = ""


_PROFILE = "contracts/profile.yaml"
_TABLE = (
    _Row("almost", "Almost right: one value is wrong", "replies/15-almost.txt", _PROFILE, ("V005",)),
    _Row("evidence", "Valid, but not what the invoice says: refused", _SWAPPED, "contracts/invoice.yaml", ("E001",), source=_INVOICE),
    _Row("fence", "A code fence and chatter", "replies/02-fence-and-chatter.txt", _PROFILE),
    _Row("python-dict", "A Python dict instead of JSON", "replies/03-python-dict.txt", _PROFILE),
    _Row("thinking", "Thinking aloud, with a draft", "replies/04-thinking-aloud.txt", _PROFILE),
    _Row("types", "Right values, wrong types", "replies/05-loose-types.txt", _PROFILE),
    _Row("quotes", "Stray quotes and no end", "replies/06-stray-quotes.txt", _PROFILE),
    _Row("two-objects", "Two objects: the form, then the answer", "replies/07-two-objects.txt", _PROFILE),
    _Row("list", "A Markdown list instead of JSON", "replies/08-markdown-list.txt", _PROFILE),
    _Row("yaml", "YAML lines instead of JSON", "replies/13-yaml-lines.txt", _PROFILE),
    _Row("cut-off", "Cut off in the middle: refused", "replies/09-cut-off.txt", _PROFILE, ("G001",)),
    _Row("apology", "An apology instead of an answer: refused", "replies/11-apology.txt", _PROFILE, ("P001",)),
    _Row("chinese", "Chinese, with full-width punctuation", _CHINESE, _PROFILE),
    _Row("german", "German quotes, a comment and a lone value", _GERMAN, _PROFILE),
    _Row("invoice", "An invoice in an envelope", "replies/invoice-01-envelope.txt", "schemas/invoice.json"),
    _Row("character", "Numbers that contradict each other: refused", _CHARACTER, "contracts/wounds.yaml", ("B005",)),
    _Row("leaked-calls", "Tool calls leaked into the text", "responses/leaked-calls.txt", "contracts/helpdesk.yaml"),
    _Row("spanish", "Spanish: confirmed too early, refused", _SPANISH, "contracts/salon.yaml", ("D001",), "SLOT_SELECTION"),
    _Row("clinic", "Forbidden in this state: refused", _CLINIC, "contracts/clinic.yaml", ("D001",), "REASON"),
    _Row("sorry", "Only an apology: refused", _SORRY, "contracts/chat_quota.yaml", ("Q007",)),
)  # fmt: skip


@functools.cache
def samples() -> tuple[SampleReply, ...]:
    """All samples; the page opens with the first one.

    >>> samples()[0].name
    'almost'
    """
    return tuple(
        SampleReply(
            row.name, row.title, text(row.reply) if _is_name(row.reply) else row.reply, _contract(row.contract), ".yaml",
            row.state, row.source, row.gives,
        )
        for row in _TABLE
    )  # fmt: skip


def _is_name(reply: str) -> bool:
    return reply.startswith(("replies/", "responses/"))


def _contract(name: str) -> str:
    """The text of a contract; for a schema, a contract around it."""
    said = text(name)
    if not name.endswith(".json"):
        return said
    title = str(json.loads(said).get("title", "reply")).lower()
    return f"name: {title}\n\nschema:\n{textwrap.indent(said.strip(), '  ')}\n"
