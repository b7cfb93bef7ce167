"""Scenes: replies of models. Takes a random generator and a kind, and returns a reply with the context to judge it in.

A kind describes the model's behaviour, not the engine's verdict: `good`, `messy` (right, but in the wrong format) or
`wrong`. All verdicts come from the engine. Recorded replies come from the examples; others are put together here.
"""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Literal, NamedTuple

from trueup.studio.demo.material import text

Kind = Literal["good", "messy", "wrong"]
_Lines = Mapping[str, Mapping[str, Sequence[str]]]  # by state: good and wrong ones

_NAMES = (
    "Ada",
    "Grace",
    "Alan",
    "Hedy",
    "Edsger",
    "Dorothy",
    "Katherine",
    "Radia",
    "Barbara",
    "Margaret",
    "Frances",
    "Zoë",
    "José",
    "小明",
)
_BIOS = (
    "Writes compilers and plays the piano.", "Known for data abstraction.", "Was there when the first program ran.",
    "Said \"ready\" twice, and meant it.", "Draws maps of networks.", "Prefers proofs to tests, and runs both.",
)  # fmt: skip
_LANGUAGES = ("English", "French", "German", "Spanish", "Dutch", "Japanese")
_CHATTER = (
    "Sure! Here is the profile you asked for:",
    "Here you go:",
    "Of course. This is what I found:",
    "Gerne! Hier ist das Ergebnis:",
    "¡Claro! Aquí tienes:",
)
_GOODBYE = ("Let me know if you need anything else.", "I hope this helps!", "Anything else?")
_SORRY = (
    "I'm sorry, but the text does not mention a person, so I cannot fill in the form.",
    "As a language model I cannot share personal profiles.",
)  # fmt: skip


class SceneReply(NamedTuple):
    """A reply that is not judged yet."""

    reply: str | dict[str, Any]
    context: dict[str, Any]


class Scene(NamedTuple):
    """A source of replies: a contract, and a function that plays the models. Dialogues go through `states` in order."""

    contract: str
    """The name of its example file."""
    say: Callable[[Random, Kind, str], SceneReply]
    states: tuple[str, ...] = ()


def _profile(chance: Random, kind: Kind, state: str) -> SceneReply:  # noqa: ARG001 - every scene's signature
    value: dict[str, Any] = {
        "name": chance.choice(_NAMES),
        "age": chance.randint(19, 97),
        "role": chance.choice(("engineer", "designer", "writer")),
    }
    if chance.random() < 0.7:
        value["languages"] = chance.sample(_LANGUAGES, chance.randint(1, 3))
    if chance.random() < 0.5:
        value["remote"] = chance.random() < 0.5
    if chance.random() < 0.5:
        value["bio"] = chance.choice(_BIOS)
    if kind == "good":
        return SceneReply(json.dumps(value, ensure_ascii=False), {})
    return SceneReply(_messed(chance, value) if kind == "messy" else _wronged(chance, value), {})


_SUPPLIERS = ("Northwind Tools Ltd", "Harbour Paper Ltd", "Alder & Sons Ltd")
_ITEMS = (
    ("bench vice", 64.5), ("drill press", 1049.0), ("paper, A4, box", 21.9), ("desk lamp", 38.25), ("oak board", 112.4),
    ("toner, black", 79.8),
)  # fmt: skip
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September")
_DUE = {14: "fourteen", 30: "thirty", 60: "sixty"}


def _invoice(chance: Random, kind: Kind, state: str) -> SceneReply:  # noqa: ARG001
    """A reply about an invoice, with the text of the invoice as its source."""
    month, day, due = chance.randrange(len(_MONTHS)), chance.randint(1, 28), chance.choice(list(_DUE))
    lines: list[dict[str, Any]] = [
        {"item": item, "quantity": quantity, "price": price}
        for (item, price), quantity in zip(chance.sample(_ITEMS, 2), chance.sample(range(2, 13), 2), strict=True)
    ]
    total = round(sum(line["quantity"] * line["price"] for line in lines), 2)
    number, supplier = f"2026-{chance.randint(100, 999)}", chance.choice(_SUPPLIERS)
    rows = "".join(
        f"  {line['quantity']:>3}   {line['item']:<16}{line['price']:>10,.2f}{line['quantity'] * line['price']:>12,.2f}\n"
        for line in lines
    )
    source = (
        f"INVOICE No. {number}                  {day} {_MONTHS[month]} 2026\n{supplier}\n\n  Qty   Item                 Price      Amount\n{rows}\n"
        f"Total {f'GBP {total:,.2f}':>40}\nPayable within {_DUE[due]} days.\n"
    )
    value: dict[str, Any] = {
        "number": number, "supplier": supplier.removesuffix(" Ltd"), "date": f"2026-{month + 1:02}-{day:02}", "due_days": due,
        "lines": lines, "total": total,
    }  # fmt: skip
    if kind == "wrong":
        value |= chance.choice((
            {"total": round(total + chance.choice((-90.0, 9.0, 18.0)), 2)}, {"supplier": "Example Corp"}, {"number": number[::-1]},
            {"date": f"2026-{month + 1:02}-{day % 28 + 1:02}"},
        ))  # fmt: skip
    written = _messed(chance, value) if kind == "messy" else json.dumps(value, ensure_ascii=False)
    return SceneReply(written, {"source": source})


def _messed(chance: Random, value: dict[str, Any]) -> str:
    """The right answer in the wrong format."""
    written = json.dumps(value, ensure_ascii=False, indent=2)
    for change in chance.sample(_MESSES, chance.randint(1, 2)):
        written = change(chance, written)
    return written


_MESSES: tuple[Callable[[Random, str], str], ...] = (
    lambda chance, said: f"{chance.choice(_CHATTER)}\n\n```json\n{said}\n```\n\n{chance.choice(_GOODBYE)}",
    lambda _, said: f"```json\n{said}\n```",
    lambda _, said: said.replace('"\n}', '",\n}').replace("]\n}", "],\n}"),
    lambda _, said: said.replace('"name"', "'name'").replace('"age"', "age"),
    lambda _, said: said.replace(': true', ": True").replace(": false", ": False"),
    lambda _, said: said.replace('"role":', '"role":  // from the text\n   '),
    lambda _, said: f'<think>\nMaybe {{"name": "Bob", "age": 5}}? No.\n</think>\n{said}',
    lambda _, said: said.rstrip("}").rstrip(),
    lambda _, said: said.replace('"age": ', '"age": "').replace(',\n  "role"', '",\n  "role"'),
)  # fmt: skip


def _wronged(chance: Random, value: dict[str, Any]) -> str:
    """An answer that cannot be repaired."""
    way = chance.randrange(6)
    if way == 0:
        return _messed(chance, {**value, "role": chance.choice(("mathematician", "CEO", "astronaut", "manager"))})
    if way == 1:
        return json.dumps({**value, "age": chance.choice((-4, 300, 969))}, ensure_ascii=False)
    if way == 2:
        return (
            "```json\n"
            + json.dumps({**value, "bio": chance.choice(_BIOS)}, ensure_ascii=False)[: -chance.randint(8, 16)]
        )
    if way == 3:
        return chance.choice(_SORRY)
    if way == 4:
        return json.dumps({name: value[name] for name in ("name", "role")}, ensure_ascii=False)
    return json.dumps({**value, "age": chance.choice(("unknown", "thirty-ish", None))}, ensure_ascii=False)


def recorded(name: str) -> Iterator[dict[str, Any]]:
    """The lines of an example, without the damaged ones that are meant for other tests."""
    for line in text(name).split("\n"):
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            if (
                isinstance(row, dict)
                and isinstance(row.get("raw_response"), str)
                and isinstance(row.get("input"), dict)
            ):
                yield row


def _recorded(name: str) -> Callable[[Random, Kind, str], SceneReply]:
    """Replies of a file, for any kind, exactly as recorded."""
    rows = list(recorded(name))

    def say(chance: Random, kind: Kind, state: str) -> SceneReply:  # noqa: ARG001
        row = chance.choice(rows)
        return SceneReply(row["raw_response"], dict(row["input"]))

    return say


def _dialogue(lines: _Lines, words: Mapping[str, Sequence[Any]]) -> Callable[[Random, Kind, str], SceneReply]:
    def say(chance: Random, kind: Kind, state: str) -> SceneReply:
        line = chance.choice(lines[state]["wrong" if kind == "wrong" else "good"])
        picked = {name: chance.choice(some) for name, some in words.items()}
        first, second, third = chance.sample(words["who"], 3)
        return SceneReply(line.format(a=first, b=second, c=third, **picked), {"state": state})

    return say


_SALON: _Lines = {
    "SERVICE_SELECTION": {
        "good": (
            "¡Hola! ¿Qué servicio te gustaría: corte, color o peinado?", "Claro que sí. ¿Buscas un corte, un tinte o un tratamiento?",
            "El salón abre de 9:00 a 20:00. ¿Qué servicio deseas?", "El corte dura 1h; con color, 2h30. ¿Qué te apetece?",
            "Bienvenida. Cuéntame, ¿qué te quieres hacer?", "Estamos en la plaza del Pilar. ¿Qué servicio deseas?",
        ),
        "wrong": (
            "Las estilistas disponibles son: 1. {a}, 2. {b}", "Tenemos cita disponible mañana a las {hour}.", "Abrimos a las 9:00 y te atiende {a}.",
            "¡Genial! {a} tiene hueco el {day} a las {hour}.", "¿Te va bien con {a}, el {day}?",
        ),
    },
    "STYLIST_SELECTION": {
        "good": (
            "Puedes elegir entre {a}, {b} y {c}.", "¿Prefieres a {a} o a {b}?", "Tanto {a} como {b} hacen ese servicio. ¿Con quién quieres la cita?",
            "Si te da igual, te busco yo a alguien. ¿{a}, {b} o {c}?",
        ),
        "wrong": ("{a} puede el {day} o el jueves.", "{a} puede a las {hour}.", "Hay hueco el {day} 25.", "¡Con {a} entonces! Te espera el {day} a las {hour}."),
    },
    "SLOT_SELECTION": {
        "good": (
            "Tenemos libre el {day} {n} a las {hour} y a las 12:00.", "¿Quieres confirmar este horario?", "¿Te va mejor el {day} a las {hour} o por la tarde?",
            "Cuando elijas una hora quedas apuntada.", "Con {a} hay sitio el {day} a las {hour}. ¿Te viene bien?", "Esa hora ya está reservada por otra clienta.",
        ),
        "wrong": (
            "Tu cita ha sido confirmada.", "¡Listo! Confirmada.", "Ya hemos confirmado tu cita para el {day}.", "Queda reservado.", "¿Me dices tu nombre?",
            "Quedas apuntada el {day} a las {hour}. ¡Te esperamos!", "Voy a confirmar tu cita.",
        ),
    },
    "CUSTOMER_DATA": {
        "good": ("Para seguir, ¿me dices tu nombre, por favor?", "¿A nombre de quién pongo la cita?", "Solo me falta tu nombre para terminar."),
        "wrong": ("Tu cita está confirmada.", "Perfecto, queda reservada para el {day}.", "¡Confirmada! Nos vemos el {day} a las {hour}."),
    },
}  # fmt: skip
_SALON_WORDS = {
    "who": ("Ana", "María", "Carlos", "Pilar", "Laura"), "day": ("lunes", "martes", "miércoles", "viernes", "sábado"),
    "hour": ("9:30", "10:30", "11:15", "16:00", "17:45"), "n": (3, 12, 18, 25),
}  # fmt: skip
_CLINIC: _Lines = {
    "REASON": {
        "good": (
            "What would you like to see a doctor about?", "I'm sorry to hear that. How long have you had it?", "We open at 8:30. What brings you in?",
            "Is this about something new, or a follow-up?", "The clinic opens at 8:30 and closes at 18:00. What is the visit for?",
        ),
        "wrong": ("Dr. {a} could see you.", "Dr. {a} is free on {day} at {hour}.", "I've booked you in with Dr. {a}.", "How about {day} at {hour}?"),
    },
    "DOCTOR": {
        "good": (
            "Dr. {a} and Dr. {b} both treat this. Who do you prefer?", "Would you rather see Dr. {a}, Dr. {b} or Dr. {c}?", "Do you have a doctor you usually see?",
            "Dr. {a} is not available on {day}.",
        ),
        "wrong": ("Dr. {a} is free on {day}.", "Dr. {a} can do {day} or Thursday.", "Dr. {a} is free at {hour}.", "You're all set with Dr. {a}!"),
    },
    "SLOT": {
        "good": (
            "Dr. {a} is free on {day} 5th at {hour} or 14:00.", "Tell me which one suits you and I'll book it.", "Would {day} at {hour} work for you?",
            "Nothing is final: your appointment is not yet confirmed.", "The mornings are fully booked, but {day} at {hour} is open.",
        ),
        "wrong": (
            "Your appointment is confirmed for {hour}.", "I'm going to confirm your appointment.", "What name should I put it under?",
            "Could you give me your full name?", "You're booked for {day} at {hour}. See you then!",
        ),
    },
    "DETAILS": {
        "good": ("To continue, please give me your full name and date of birth.", "May I have your name and date of birth?"),
        "wrong": ("You're all set!", "Your visit on {day} is confirmed.", "Done! I have you down for {day} at {hour}."),
    },
}  # fmt: skip
_CLINIC_WORDS = {
    "who": ("Patel", "Jones", "Okafor", "Lindqvist"), "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday"),
    "hour": ("8:45", "9:30", "10:30", "14:00", "16:15"),
}  # fmt: skip


def _helpdesk(chance: Random, kind: Kind, state: str) -> SceneReply:  # noqa: ARG001
    adapter, server = chance.choice(("eth0", "wlan0", "enp3s0")), chance.choice(("192.0.2.53", "198.51.100.7"))
    right: list[tuple[str, dict[str, Any]]] = [
        ("check_adapter_status", {"adapter": adapter}), ("get_ip_config", {"adapter": adapter, "version": chance.choice((4, 6))}),
        ("ping_gateway", {"count": chance.randint(1, 9)}), ("ping_dns", {"server": server, "count": 3}), ("test_dns_resolution", {"host": "example.com", "record": "A"}),
    ]  # fmt: skip
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("check_adaptor_status", {"adapter": adapter}), ("ping_gateway", {"count": chance.choice((50, 500))}), ("create_ticket", {"summary": "no network"}),
        ("restart_router", {}), ("ping_dns", {"count": 3}),
    ]  # fmt: skip
    name, arguments = chance.choice(wrong if kind == "wrong" else right)
    if kind == "messy":
        leaked = json.dumps({"name": name, "arguments": {key: str(value) for key, value in arguments.items()}})
        return SceneReply(f"Let me look at that.\n\n<tool_call>\n{leaked}\n</tool_call>", {})
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    message = {"role": "assistant", "content": "Let me look at that.", "tool_calls": [call]}
    return SceneReply(
        {"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]}, {}
    )


def scenes() -> dict[str, Scene]:
    """Every scene by the name of its contract."""
    return {
        "profile": Scene("contracts/profile.yaml", _profile),
        "triage": Scene("support/triage.yaml", _recorded("support/replies.jsonl")),
        "salon": Scene("contracts/salon.yaml", _dialogue(_SALON, _SALON_WORDS), tuple(_SALON)),
        "clinic": Scene("contracts/clinic.yaml", _dialogue(_CLINIC, _CLINIC_WORDS), tuple(_CLINIC)),
        "helpdesk": Scene("contracts/helpdesk.yaml", _helpdesk),
        "invoice": Scene("contracts/invoice.yaml", _invoice),
        "people": Scene("contracts/people.yaml", _recorded("replies/people.jsonl")),
    }
