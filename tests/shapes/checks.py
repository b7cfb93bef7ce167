"""Text against a contract's terms, patterns, states and tools: hostile patterns (X11), repeated text (C12), ten megabytes."""

from collections.abc import Callable
from typing import Any

from tests.shapes.shape import Shape, checked, repeated
from trueup import Contract
from trueup.checks.folding import Folded
from trueup.checks.mentions import mention_findings
from trueup.checks.reply import compile_reply
from trueup.checks.state import compile_states
from trueup.checks.toolset import Toolset
from trueup.verdict.reply import Reply
from trueup.verdict.tool import Tool

TEN_MEGABYTES = 10_000_000
PATTERNS = [r"(a+)+$|zzz", r"(a|aa)+$|zzz", r"q(.*)*x", r"q([a-z]+)*[0-9]", r"q(?:a?){30}a{30}", r"q.*.*=.*"]
_UNITS = [
    "10:30 ", "cita confirmada, ", "no ", "¿no? ", "ana.", "ana ", "Ан\u200bа ", "ñ", "n\u0303", "жена ", "👍", "a\n", ",", "aaaa", "ß",
]  # fmt: skip
_SPOKEN = [
    "The fox has run over a lazy dog. ", "he ejecutado ", "I've booked ", "\u202eanA", "A\u200b", "a_b ",
    "I'll use the hammer tool. ", "Let me use check_cable and ", "`get_wifi` is a field. ", "aBcDef ",
]  # fmt: skip
_REPLIES = ["Perfecto, ¿qué servicio te gustaría? Mañana está libre. ", "Ana 👍 “vale” – a las 10:30. "]
_TOOLS = Toolset([Tool(name) for name in ("book_table", "check_network_status", "send_mail", "search")])
_FORBIDDEN: list[dict[str, Any]] = [
    {"terms": ["ana", "жена"], "except": ["negated", "question", "conditional", {"terms": ["abrimos"]}]},
    {"pattern": r"\d\d:\d\d", "except": [{"pattern": r"[^.]*abrimos"}]},
    {"pattern": r"a.*b|a", "except": [{"terms": ["a"]}]},
]
_STATES = {"S": {"forbid": [{"terms": ["Ana", "María"]}, {"pattern": r"\d\d:\d\d", "except": ["negated", "question"]}]}}


def _judged(forbid: list[dict[str, Any]]) -> Callable[[str], object]:
    states = compile_states({"S": {"forbid": forbid}})
    return lambda text: states.judge_text(text, "S")


def _mentioned(text: str) -> None:
    list(mention_findings(text, _TOOLS, frozenset()))
    Folded(text)


def _reasoned(text: str) -> object:
    return compile_reply(True, {}).check(Reply(text=text), {})


HOSTILE = [Shape(p, lambda n: "a" * n + "!", _judged([{"pattern": p}]), 30_000) for p in PATTERNS]
STALLING = [
    Shape(
        "patterns that stall a loop", lambda n: "qa" + "a" * (n // 2) + "!" + "x" * (n // 2),
        _judged([{"pattern": r"q(a+)+$"}, {"pattern": r"(x+x+)+y"}]), 2_000, 0.020,
    )
]  # fmt: skip
TEXTS = [Shape(repr(unit), repeated(unit), _judged(_FORBIDDEN), 160_000, 2.0) for unit in _UNITS]
REPLIES = [
    Shape(repr(u), repeated(u), checked(Contract(reply=True, states=_STATES), {"state": "S"}), TEN_MEGABYTES, 2.0)
    for u in _REPLIES
]
MENTIONS = [Shape(repr(unit), repeated(unit, "a_b "), _mentioned, TEN_MEGABYTES, 2.0) for unit in _SPOKEN]
REASONING = [Shape("blocks of reasoning", repeated("<think></think> "), _reasoned, 1_280_000)]
