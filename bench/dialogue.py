"""Replies and states: the cost of the reply rules, and of 100 patterns and 200 terms over 1 KB of Spanish, beside `re`."""

import re
import time
from typing import Any

from timing import race, timed

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


def _states(**rule: Any) -> Any:
    from trueup.checks.state import compile_states

    forbid = [{"pattern": pattern, **rule} for pattern in PATTERNS]
    return compile_states({"S": {"forbid": [*forbid, {"terms": TERMS, **rule}]}})


def _each(patterns: list[str]) -> Any:
    compiled = [re.compile(pattern, re.IGNORECASE) for pattern in patterns]
    return lambda text: [pattern for pattern in compiled if pattern.search(text)]


def dialogue(rounds: int) -> Result:
    """One check of each kind, in CPU µs; what a contract costs to compile; 10 MB at once."""
    from trueup import Contract
    from trueup.checks.reply import compile_reply
    from trueup.verdict.reply import Reply, Turn

    assert (len(PATTERNS), len(TERMS)) == (100, 200)
    compiled, states = timed(_states)
    excused = _states(**{"except": ["negated", "question", "conditional"]})
    rules = compile_reply(True, {})
    reply = Reply(text=TEXT)
    turns = (Turn(text="Un momento, por favor.", calls=1), Turn("tool", outputs=1), Turn(text=TEXT))
    outputs = Reply(text=TEXT, turns=turns)
    contract = Contract(states=states, reply=rules)
    naive = _each([*PATTERNS, *(rf"\b{term}\b" for term in TERMS)])
    joined = re.compile("|".join([*PATTERNS, rf"\b(?:{'|'.join(TERMS)})\b"]), re.IGNORECASE)
    late = TEXT[:950] + " Tu cita ya está confirmada."
    denied = TEXT[:950] + " Tu cita aún no está confirmada."
    emoji = TEXT[:900] + " 👍 “vale” – ¡genial! 😊 … ✅"
    assert not states.judge_text(TEXT, "S")
    assert states.judge_text(late, "S")
    assert not excused.judge_text(denied, "S")
    calls = {
        "state, coherent reply": lambda: states.judge_text(TEXT, "S"),
        "state, with emoji and typographic quotes": lambda: states.judge_text(emoji, "S"),
        "state, one violation": lambda: states.judge_text(late, "S"),
        "state, one match that a denial excuses": lambda: excused.judge_text(denied, "S"),
        "the same patterns and terms, one `re` each": lambda: naive(TEXT),
        "the same patterns and terms, one joined `re`": lambda: joined.search(TEXT),
        "reply rules, one message": lambda: rules.check(reply, {}),
        "reply rules, a call, its output and an answer": lambda: rules.check(outputs, {}),
        "whole check: reply rules and state": lambda: contract.check(TEXT, {"state": "S"}),
    }
    return {"us": race(calls, rounds), "compiled": compiled, "large": _large(states, rules), "characters": len(TEXT)}


def _large(states: Any, rules: Any) -> Result:
    """CPU seconds for 10 MB of one kind of text each."""
    from trueup.verdict.reply import Reply

    units = {
        "Spanish": TEXT,
        "Spanish with emoji": "Perfecto 👍 ¿qué servicio? – “sí” ",
        "Russian": "Добрый день, какую услугу вы хотите? ",
    }
    found: Result = {}
    for name, unit in units.items():
        text = unit * (10_000_000 // len(unit))
        begun = time.process_time()
        states.judge_text(text, "S")
        found[f"state, 10 MB of {name}"] = time.process_time() - begun
    begun = time.process_time()
    rules.check(Reply(text=TEXT * (10_000_000 // len(TEXT))), {})
    found["reply rules, 10 MB"] = time.process_time() - begun
    return found


def table(data: Any) -> tuple[str, str, list[str], list[list[str]]]:
    """The rows for report.DRAW."""
    rows = [[name, f"{us:.1f} µs" if us < 100 else f"{us:,.0f} µs"] for name, us in data["us"].items()]
    rows += [[name, f"{seconds:.2f} s"] for name, seconds in data["large"].items()]
    rows.append(["compiling 100 patterns and 200 terms", f"{data['compiled'] * 1000:.0f} ms"])
    note = (
        f"{data['characters']} characters of Spanish against 100 patterns and 200 terms, whatever their case and accents "
        "(the rows of `re` know case alone). CPU time of one check."
    )
    return "Replies and states", note, ["check", "time"], rows
