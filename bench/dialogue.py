"""Replies and states: the cost of the reply rules, and of 100 patterns and 200 terms over 1 KB of Spanish, compared with `re`."""

import time
from typing import Any

from trueup.measure.dialogue import TEXT, make_states, reply, state

Result = dict[str, Any]


def dialogue(rounds: int) -> Result:
    """One check of each kind, in CPU µs; the cost of compiling a contract; 10 MB at once."""
    from trueup.checks.reply import compile_reply

    states, replies = state(rounds), reply(rounds)
    return {
        **states,
        "us": {**states["us"], **replies["us"]},
        "large": _large(make_states(), compile_reply(spec=True, environ={})),
    }


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
        f"{data['characters']} characters of Spanish against 100 patterns and 200 terms, ignoring case and accents "
        "(the rows of `re` ignore only case). CPU time of one check."
    )
    return "Replies and states", note, ["check", "time"], rows
