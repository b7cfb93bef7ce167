"""Timings of replies and states: the reply rules, and 100 patterns and 200 terms over 1 KB of Spanish, next to `re`."""

import re
from collections.abc import Callable
from typing import Any

from trueup.checks.state import States, compile_states
from trueup.measure.timing import Call, race, timed

Result = dict[str, Any]
DAYS = "lunes martes miércoles jueves viernes sábado domingo".split()
NOUNS = "cita reserva hora visita sesión consulta prueba entrega plaza mesa".split()
STEMS = "confirmada reservada agendada hecha lista apuntada anotada cerrada guardada fijada".split()
NAMES = "Ana María Carlos Pilar Laura Lucía Elena Sofía Marta Paula Irene Nuria Rocío Begoña Íñigo Óscar Raúl Andrés Víctor Inés".split()
PATTERNS = [rf"\b{noun}\b[^.!?\n]{{0,30}}\b{stem}\b" for noun in NOUNS for stem in STEMS[:9]]
PATTERNS += [rf"\b{day} (?:día )?\d{{1,2}} a las? \d{{1,2}}:\d{{2}}\b" for day in DAYS]
PATTERNS += [r"\b(?:tu|su) (?:nombre|teléfono)\b", r"\bhe (?:reservado|apuntado)\b", r"\bdisponibles? el \d{1,2}\b"]
TERMS = [
    f"{name} {last}" for name in NAMES for last in "Peña Núñez García Muñoz Ibáñez Gómez Sáez Vélez Ruiz Soler".split()
]
TEXT = (
    "Perfecto, ¿qué servicio te gustaría reservar? Tenemos corte, color, mechas, peinado y tratamientos de hidratación. "
    "El corte dura unos cuarenta minutos y cuesta dieciocho euros; el color, según el largo, entre treinta y sesenta. "
    "Si quieres, también podemos hacerte un diagnóstico sin compromiso. Mañana seguimos con la promoción de otoño: "
    "dos servicios por el precio de uno durante toda la semana. Dime qué te apetece y te explico cómo continuar. "
)
TEXT = (TEXT * 4)[:1024]


def make_states(**rule: Any) -> States:
    """The states with all patterns and terms, each with the settings of `rule`."""
    forbid: list[Result] = [{"pattern": pattern, **rule} for pattern in PATTERNS]
    return compile_states({"S": {"forbid": [*forbid, {"terms": TERMS, **rule}]}})


def _each(patterns: list[str]) -> Callable[[str], list[Any]]:
    compiled = [re.compile(pattern, re.IGNORECASE) for pattern in patterns]
    return lambda text: [pattern for pattern in compiled if pattern.search(text)]


def state(rounds: int) -> Result:
    """One check of each kind in CPU µs, and the compile time of the contract in seconds."""
    assert (len(PATTERNS), len(TERMS)) == (100, 200)
    compiled, states = timed(make_states)
    excused = make_states(**{"except": ["negated", "question", "conditional"]})
    naive = _each([*PATTERNS, *(rf"\b{term}\b" for term in TERMS)])
    joined = re.compile("|".join([*PATTERNS, rf"\b(?:{'|'.join(TERMS)})\b"]), re.IGNORECASE)
    late = TEXT[:950] + " Tu cita ya está confirmada."
    denied = TEXT[:950] + " Tu cita aún no está confirmada."
    emoji = TEXT[:900] + " 👍 “vale” – ¡genial! 😊 … ✅"
    assert not states.judge_text(TEXT, "S")
    assert states.judge_text(late, "S")
    assert not excused.judge_text(denied, "S")
    calls: dict[str, Call] = {
        "state, coherent reply": lambda: states.judge_text(TEXT, "S"),
        "state, with emoji and typographic quotes": lambda: states.judge_text(emoji, "S"),
        "state, one violation": lambda: states.judge_text(late, "S"),
        "state, one match that a denial excuses": lambda: excused.judge_text(denied, "S"),
        "the same patterns and terms, one `re` each": lambda: naive(TEXT),
        "the same patterns and terms, one joined `re`": lambda: joined.search(TEXT),
    }
    return {"us": race(calls, rounds), "compiled": compiled, "characters": len(TEXT)}


def reply(rounds: int) -> Result:
    """The reply rules alone, and with a conversation's state, in CPU µs."""
    from trueup.checks.reply import compile_reply
    from trueup.contract.contract import Contract
    from trueup.verdict.reply import Reply, Turn

    rules = compile_reply(spec=True, environ={})
    one = Reply(text=TEXT)
    turns = (Turn(text="Un momento, por favor.", calls=1), Turn("tool", outputs=1), Turn(text=TEXT))
    outputs = Reply(text=TEXT, turns=turns)
    contract = Contract(states=make_states(), reply=rules)
    calls: dict[str, Call] = {
        "reply rules, one message": lambda: rules.check(one, {}),
        "reply rules, a call, its output and an answer": lambda: rules.check(outputs, {}),
        "whole check: reply rules and state": lambda: contract.check(TEXT, {"state": "S"}),
    }
    compiled = race({"compiling": lambda: compile_reply(spec=True, environ={})}, rounds)["compiling"]
    return {"us": race(calls, rounds), "compiled": compiled, "characters": len(TEXT)}
