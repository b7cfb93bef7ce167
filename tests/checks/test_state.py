"""States: content, exceptions, tools and claims, one check at a time; the example contracts test the sentences of C2 to C6."""

import asyncio
import enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import Contract, Reply, ToolCall
from trueup.checks.dialogue import BadStates
from trueup.checks.state import compile_states

STYLISTS = {"terms": ["Ana", "María", "Carlos"], "why": "names a stylist"}
TIMES = {"pattern": r"\b\d{1,2}:\d{2}\b", "why": "offers a time"}
CONFIRMED = {"pattern": r"cita[^.!?\n]{0,30}\bconfirmada", "why": "confirms"}


def found(text: str, *rules: Any, data: dict[str, Any] | None = None, **spec: Any) -> list[str]:
    states = compile_states({"S": {"forbid": list(rules)}, **spec})
    return [hit for finding in states.judge_text(text, "S", data) for hit in finding.data["found"]]


@pytest.mark.spec("C1")
def test_the_verdict_has_coherence_violations_one_hint_and_a_certainty() -> None:
    contract = Contract(
        states={"S": {"forbid": [STYLISTS, TIMES], "hint": "Ask only for the service.", "fallback": "Which service?"}}
    )
    fine = contract.check("Which service would you like?", {"state": "S"})
    assert (fine.ok, fine.findings, fine.hint, fine.certainty) == (True, (), "", 1.0)
    one = contract.check("Ana or María?", {"state": "S"})
    assert [f.message for f in one.findings] == ["names a stylist: 'Ana', 'María'"]
    assert (one.ok, one.hint, round(one.certainty, 6)) == (False, "Ask only for the service.", 0.8)
    two = contract.check("Ana at 10:30?", {"state": "S"})
    assert [f.message for f in two.findings] == ["names a stylist: 'Ana'", "offers a time: '10:30'"]
    assert (two.hint, round(two.certainty, 6)) == ("Ask only for the service.", 0.9)
    many = Contract(states={"S": {"forbid": [{"term": word} for word in "abcdefg"]}}).check(
        "a b c d e f g", {"state": "S"}
    )
    assert (len(many.findings), many.certainty) == (7, 0.99)


@pytest.mark.spec("C1")
def test_a_violation_has_the_text_and_its_position_in_the_original() -> None:
    text = "👍 Hoy atiende Mari\u0301a, y a las 10:30 А\u200bnа."
    names, times = compile_states({"S": {"forbid": [STYLISTS, TIMES]}}).judge_text(text, "S")
    assert names.data["found"] == ["Mari\u0301a", "А\u200bnа"]
    assert [text[slice(*span)] for span in names.data["spans"]] == names.data["found"]
    assert times.span is not None
    assert text[slice(*times.span)] == "10:30"
    assert (names.data["state"], names.data["rule"], names.path) == ("S", "S.forbid[0]", "$")


@pytest.mark.spec("C7")
@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("Mañana y toda la semana, con Mariana y Susana", []),
        ("Ana", ["Ana"]),
        ("ANA, ana y Ána", ["ANA", "ana", "Ána"]),
        ("Maria, María, Mari\u0301a", ["Maria", "María", "Mari\u0301a"]),
        ("Carlos.", ["Carlos"]),
        ("el carlismo", []),
        ("_Ana_ *Ana* «Ana»", ["_Ana_", "Ana"]),
    ],
)
def test_matching_respects_words_and_accents(text: str, hits: list[str]) -> None:
    assert found(text, STYLISTS) == hits


@pytest.mark.spec("C7")
def test_a_customers_own_name_is_not_a_stylist() -> None:
    for name in ("María", "maria", "Mari\u0301a", "María José"):
        assert found("Perfecto, María.", STYLISTS, data={"first_name": name}) == []
    assert found("Perfecto, María.", STYLISTS, data={"first_name": "Lucía"}) == ["María"]
    assert found("María, te atiende Ana.", STYLISTS, data={"first_name": "María"}) == ["Ana"]
    assert found("Perfecto, María.", STYLISTS, data={"customer": "María"}) == ["María"]
    assert found("Perfecto, María.", STYLISTS, data={"customer": "María"}, names=["customer"]) == []
    own = STYLISTS | {"except": [{"names": ["customer"]}]}
    assert found("Perfecto, María.", own, data={"customer": "María"}) == []
    assert found("Perfecto, María.", STYLISTS, data={"first_name": None}) == ["María"]


@pytest.mark.spec("C7")
@pytest.mark.parametrize(
    ("text", "excused"),
    [
        ("Tu cita ha sido confirmada.", False),
        ("Tu cita no ha sido confirmada.", True),
        ("Todavía no está tu cita confirmada.", True),
        ("No te preocupes, tu cita ha sido confirmada.", False),
        ("¿No te lo dije? Tu cita ha sido confirmada.", False),
        ("No. Tu cita está confirmada.", False),
        ("Tu cita está confirmada, no lo olvides.", False),
        ("Nunca se dio tu cita por confirmada.", True),
    ],
)
def test_denials_can_be_excepted(text: str, excused: bool) -> None:
    assert bool(found(text, CONFIRMED)) is True
    assert bool(found(text, CONFIRMED | {"except": ["negated"]})) is not excused


@pytest.mark.spec("C7")
@pytest.mark.parametrize(
    ("text", "excused"),
    [
        ("¿Está tu cita confirmada?", True),
        ("Hola. ¿Está tu cita confirmada? Dime.", True),
        ("Tu cita está confirmada, ¿algo más?", False),
        ("Tu cita está confirmada. ¿Algo más?", False),
        ("¿Algo más? Tu cita está confirmada.", False),
        ("Is your cita confirmada?", True),
        ("Your cita is confirmada, anything else?", False),
        ("So your cita is confirmada?", True),
    ],
)
def test_questions_can_be_excepted(text: str, excused: bool) -> None:
    assert bool(found(text, CONFIRMED | {"except": ["question"]})) is not excused


@pytest.mark.spec("C7")
@pytest.mark.parametrize(
    ("text", "excused"),
    [
        ("Preguntas «¿está ya mi cita confirmada?», y no.", True),
        ('Decías: "mi cita está confirmada". Gracias.', True),
        ('Decías: "vale. Mi cita está confirmada".', False),
        ("Me escribes “cita confirmada”; todavía no.", True),
        ('Tu cita está "confirmada".', False),
        ('Dijiste "mañana" y tu cita está confirmada.', False),
        ('Tu cita "confirmada', False),
        ('Decías "vale.\nTu cita está confirmada".', False),
    ],
)
def test_quotations_can_be_excepted(text: str, excused: bool) -> None:
    assert bool(found(text, CONFIRMED | {"except": ["quoted"]})) is not excused
    assert found(text, CONFIRMED)


@pytest.mark.spec("C7")
@pytest.mark.parametrize(
    ("text", "excused"),
    [
        ("Perfecto, Ana. ¿Qué servicio deseas?", True),
        ("¡Hola Ana!", True),
        ("Muchas gracias, Ana 😊", True),
        ("Encantada de saludarte, Ana.", True),
        ("Hi Ana, what can I do for you?", True),
        ("¿Qué te hacemos hoy, Ana?", True),
        ("Perfecto, Ana te atiende.", False),
        ("Hola, Ana y María están libres.", False),
        ("Te atiende, si quieres, Ana.", False),
        ("1. Ana", False),
        ("Ana, si quieres.", False),
        ("¿Quieres con Ana?", False),
    ],
)
def test_the_person_addressed_can_be_excepted(text: str, excused: bool) -> None:
    rule = STYLISTS | {"except": ["addressed"]}
    assert bool(found(text, rule)) is not excused
    assert found(text, STYLISTS)
    assert found(text, rule, data={"first_name": "Eva"}), "another customer"


def test_the_words_of_address_can_be_given() -> None:
    states = {"S": {"forbid": [STYLISTS | {"except": ["addressed"]}]}, "groups": {"addressed": {"terms": ["moin"]}}}
    judge = compile_states(states).judge_text
    assert judge("Moin, Ana!", "S") == []
    assert [one.code for one in judge("Hola, Ana!", "S")] == ["D001"]
    with pytest.raises(BadStates, match="'quoted' is recognized by its marks"):
        compile_states({"S": {}, "groups": {"quoted": ["x"]}})


def test_an_exception_applies_up_to_a_but() -> None:
    rule = {"pattern": r"\d+:\d+", "except": [{"terms": ["cerramos", "we close"]}]}
    assert found("Hoy cerramos a las 20:00.", rule) == []
    assert found("Hoy cerramos a las 20:00, pero hay sitio a las 19:15.", rule) == ["19:15"]
    assert found("There is room at 19:15, but we close at 20:00.", rule) == ["19:15"]


@pytest.mark.spec("C7")
def test_conditions_can_be_excepted() -> None:
    rule = CONFIRMED | {"except": ["conditional"]}
    assert not found("Cuando tu cita esté confirmada, te aviso.", rule)
    assert not found("Una vez que la cita quede confirmada, te aviso.", rule)
    assert found("Tu cita está confirmada. Cuando llegues, avisa.", rule)


@pytest.mark.spec("C7")
def test_opening_hours_can_be_allowed() -> None:
    hours = {"terms": ["abrimos", "cerramos"]}
    text = "Abrimos a las 10:00 y cerramos a las 20:00. Ana puede a las 11:30."
    assert found(text, TIMES) == ["10:00", "20:00", "11:30"]
    assert found(text, TIMES | {"except": [hours]}) == ["11:30"]
    assert found(text, TIMES | {"except": ["hours"]}, groups={"hours": hours}) == ["11:30"]
    states = compile_states({"groups": {"hours": hours}, "S": {"forbid": [TIMES], "allow": ["hours"]}})
    assert [f.data["found"] for f in states.judge_text(text, "S")] == [["11:30"]]
    everywhere = compile_states({"always": {"allow": [hours]}, "S": {"forbid": [TIMES]}})
    assert [f.data["found"] for f in everywhere.judge_text(text, "S")] == [["11:30"]]


@pytest.mark.spec("C7")
@pytest.mark.parametrize(
    ("language", "terms", "text", "denied"),
    [
        ("ru", ["подтверждена"], "Ваша запись подтверждена.", "Ваша запись не подтверждена."),
        ("de", ["bestätigt"], "Ihr Termin ist bestaetigt, ja BESTÄTIGT.", "Ihr Termin ist nicht bestätigt."),
        ("fr", ["confirmé"], "Votre rendez-vous est confirme.", "Votre rendez-vous n'est pas confirmé."),
        ("el", ["επιβεβαιώθηκε"], "Το ραντεβού ΕΠΙΒΕΒΑΙΩΘΗΚΕ.", "Το ραντεβού δεν επιβεβαιώθηκε."),
    ],
)
def test_terms_patterns_and_exceptions_are_data_in_any_language(
    language: str, terms: list[str], text: str, denied: str
) -> None:
    words = {"ru": "не", "de": "nicht", "fr": "pas", "el": "δεν"}
    rule = {"terms": terms, "except": ["negated"]}
    groups = {"negated": {"terms": [words[language]]}}
    assert found(text, rule, groups=groups)
    assert not found(denied, rule, groups=groups)


@pytest.mark.spec("C5")
def test_rules_may_depend_on_what_was_collected() -> None:
    rule = CONFIRMED | {"unless": "first_name"}
    assert found("Tu cita está confirmada.", rule)
    assert not found("Tu cita está confirmada.", rule, data={"first_name": "Lucía"})
    for nothing in (None, "", "  ", False):
        assert found("Tu cita está confirmada.", rule, data={"first_name": nothing})
    both = CONFIRMED | {"unless": ["first_name", "phone"]}
    assert found("Tu cita está confirmada.", both, data={"first_name": "Lucía"})
    assert not found("Tu cita está confirmada.", both, data={"first_name": "Lucía", "phone": 600123123})


@pytest.mark.spec("X14")
@pytest.mark.parametrize(
    "hidden", ["А\u200bnа", "A\u00adna", "𝐀na", "A\u202ena", "A\U000e0041na", "ＡＮＡ", "Αna", "A\u0336n\u0336a"]
)
def test_the_folded_text_is_matched_and_the_original_stored(hidden: str) -> None:
    text = f"Hoy atiende {hidden}."
    verdict = Contract(states={"S": {"forbid": [STYLISTS]}}).check(text, {"state": "S"})
    assert verdict.findings[0].data["found"] == [hidden]
    assert verdict.reply.text == text


BOOKING = {"claims": {"book": ["he reservado", "queda reservada"]}, "S": {}, "BOOKED": {}}


def called(name: str) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "function": {"name": name, "arguments": "{}"}}],
    }


@pytest.mark.spec("C6")
@pytest.mark.parametrize("state", ["S", "BOOKED", None, "ELSEWHERE"])
def test_a_claim_without_its_call_is_a_violation_in_every_state(state: str | None) -> None:
    contract = Contract(states=BOOKING)
    context: dict[str, Any] = {"state": state} if state else {}
    assert "D003" in {f.code for f in contract.check("He reservado tu cita.", context).findings}
    assert "D003" not in {f.code for f in contract.check("No he reservado tu cita.", context).findings}
    assert "D003" not in {f.code for f in contract.check("¿He reservado tu cita?", context).findings}
    made = {**called("book"), "content": "He reservado tu cita."}
    assert "D003" not in {f.code for f in contract.check(made, context).findings}
    before = {**context, "history": [called("book"), {"role": "tool", "tool_call_id": "c1", "content": "ok"}]}
    assert "D003" not in {f.code for f in contract.check("He reservado tu cita.", before).findings}
    written = {"role": "assistant", "content": '<tool_call>{"name": "book", "arguments": {}}</tool_call>'}
    leaked = {**context, "history": [written, {"role": "user", "content": "¿Y bien?"}, "a stray text"]}
    assert "D003" not in {f.code for f in contract.check("He reservado tu cita.", leaked).findings}
    failed = {**context, "history": [called("book"), {"role": "tool", "tool_call_id": "c1", "content": "Error: full"}]}
    assert "D003" in {f.code for f in contract.check("He reservado tu cita.", failed).findings}
    other = {**context, "history": [called("look")]}
    assert "D003" in {f.code for f in contract.check("He reservado tu cita.", other).findings}


@pytest.mark.spec("C6")
def test_claims_of_any_kind_are_known_by_the_tools_of_the_states() -> None:
    states = compile_states({"S": {"tools": ["book_table", "search"]}})
    assert [f.data["tool"] for f in states.judge_text("I've booked the table for you.", "S")] == ["book_table"]
    assert states.judge_text("I've booked the table for you.", "S", made={"book_table"}) == []
    assert states.judge_text("I can book the table for you.", "S") == []


@pytest.mark.spec("C6", "C8")
def test_a_call_that_the_state_refuses_does_not_back_a_claim() -> None:
    spec = {**BOOKING, "S": {"tools": ["look"]}}
    verdict = Contract(states=spec).check({**called("book"), "content": "He reservado tu cita."}, {"state": "S"})
    assert [f.code for f in verdict.findings] == ["D002", "D003"]


@pytest.mark.spec("C8")
def test_a_call_that_the_state_does_not_permit_is_a_violation_and_refused() -> None:
    tools = [{"name": "book"}, {"name": "find_slots"}]
    contract = Contract(tools=tools, states={"S": {"tools": ["find_slots"]}, "ANY": {}, "NONE": {"tools": []}})
    reply = {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "c1", "function": {"name": "find_slots", "arguments": "{}"}},
            {"id": "c2", "function": {"name": "book", "arguments": "{}"}},
        ],
    }
    verdict = contract.check(reply, {"state": "S"})
    assert [(f.code, f.path) for f in verdict.findings] == [("D002", "$.calls[1]")]
    assert [call.name for call in verdict.calls] == ["find_slots"]
    assert [refusal.call.name for refusal in verdict.refused] == ["book"]
    assert "not a tool of the state S" in verdict.rejections()[0]["content"]
    assert contract.check(reply, {"state": "ANY"}).ok
    assert [f.path for f in contract.check(reply, {"state": "NONE"}).findings] == ["$.calls[0]", "$.calls[1]"]


@pytest.mark.spec("C8")
def test_calls_are_judged_by_state_even_without_a_list_of_tools() -> None:
    states = compile_states({"S": {"tools": ["look"]}})
    (finding,) = states.check(Reply(), (ToolCall("book", {}),), {"state": "S"})
    assert finding.code == "D002"
    assert states.permits("S", "look")
    assert not states.permits("S", "book")


@pytest.mark.spec("C6")
def test_a_state_without_rules_lets_anything_pass() -> None:
    contract = Contract(states={"S": {"forbid": [STYLISTS]}, "IDLE": {}, "BOOKED": None})
    for state in ("IDLE", "BOOKED"):
        assert contract.check("Ana, 10:30, cita confirmada.", {"state": state}).findings == ()


def test_rules_for_every_state_are_judged_without_a_state_too() -> None:
    contract = Contract(states={"always": {"forbid": [{"term": "password", "hint": "Never ask for it."}]}, "S": {}})
    for context in ({}, {"state": "S"}, {"state": "other"}):
        assert "D001" in {f.code for f in contract.check("Your password?", context).findings}
    assert contract.check("Your password?", {"state": "S"}).hint == "Never ask for it."


def test_all_messages_of_a_reply_are_judged_and_each_violation_is_reported_once() -> None:
    contract = Contract(states={"S": {"forbid": [STYLISTS]}})
    messages = [{"role": "assistant", "content": "Ana."}, {"role": "assistant", "content": "Y Ana otra vez."}]
    assert [f.code for f in contract.check(messages, {"state": "S"}).findings] == ["D001"]
    hidden = [
        {**called("look"), "content": "Ana."},
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
        messages[1],
    ]
    assert not contract.check(hidden, {"state": "S"}).ok


def test_letters_written_as_json_escapes_are_read() -> None:
    contract = Contract({"type": "object"}, states={"S": {"forbid": [STYLISTS]}})
    assert not contract.check('{"say": "Mar\\u00eda"}', {"state": "S"}).ok


def test_the_level_and_hint_of_a_rule_override_the_states() -> None:
    soft = STYLISTS | {"level": "warning", "hint": "No names."}
    verdict = Contract(states={"S": {"forbid": [soft], "hint": "Only services."}}).check("Ana", {"state": "S"})
    assert verdict.ok
    assert verdict.findings[0].hint == "No names."


@pytest.mark.spec("C12", "X11")
def test_a_timed_pattern_is_opt_in_and_bounded() -> None:
    with pytest.raises(BadStates, match=r"states\.S\.forbid\[0\]\.pattern.*look-ahead"):
        compile_states({"S": {"forbid": [{"pattern": "cita(?= confirmada)"}]}})
    states = compile_states({"S": {"forbid": [{"pattern": "cita(?= confirmada)", "timed": 0.05}]}})
    assert [f.code for f in states.judge_text("Tu cita confirmada", "S")] == ["D001"]
    assert states.judge_text("Tu cita", "S") == []
    slow = compile_states({"S": {"forbid": [{"pattern": "(?:a|b|ab)+(?=c)", "timed": 0.02}]}})
    assert [f.code for f in slow.judge_text("ab" * 60, "S")] == ["D005"]


SLIPS: list[tuple[Any, str, str]] = [
    ([], "states", "table of names"),
    ({"S": {"forbidden": []}}, "states.S.forbidden", "did you mean 'forbid'"),
    (
        {"S": {"forbid": ["stylist"]}, "groups": {"stylists": ["Ana"]}},
        "states.S.forbid[0].group",
        "did you mean 'stylists'",
    ),
    ({"S": {"forbid": [{"why": "x"}]}}, "states.S.forbid[0]", "a group, terms or patterns"),
    ({"S": {"forbid": [{"terms": ["Ana", ""]}]}}, "states.S.forbid[0].terms[1]", "expected a text"),
    ({"S": {"forbid": [{"terms": ["\u200b"]}]}}, "states.S.forbid[0].terms[0]", "visible"),
    ({"S": {"forbid": [{"patterns": ["a", "(b"]}]}}, "states.S.forbid[0].patterns[1]", "cannot be used"),
    ({"S": {"forbid": [{"term": "a", "level": "fatal"}]}}, "states.S.forbid[0].level", "error or warning"),
    ({"S": {"forbid": [{"term": "a", "except": [{"why": "x"}]}]}}, "states.S.forbid[0].except[0].why", "not known"),
    ({"S": {"forbid": [{"pattern": "a", "timed": 5}]}}, "states.S.forbid[0].timed", "up to 1"),
    ({"S": {"fallback": " "}}, "states.S.fallback", "can be sent"),
    ({"S": {"tools": 5}}, "states.S.tools", "list"),
    ({"S": []}, "states.S", "table"),
    ({"groups": {"g": {}}}, "states.groups.g", "terms or patterns"),
    ({"groups": {"question": ["why"]}}, "states.groups.question", "marks"),
    ({"always": {"tools": []}}, "states.always.tools", "belongs to a state"),
    ({"claims": {"book": {}}}, "states.claims.book", "terms or patterns"),
    ({"start": 5, "S": {}}, "states.start", "name"),
    ({"S": {"forbid": [{"term": "Ana"}], "fallback": "¿Con Ana?"}}, "states.S.fallback", "breaks its own rules"),
]


@pytest.mark.parametrize(("spec", "path", "reason"), SLIPS, ids=[slip[1] for slip in SLIPS])
def test_a_mistake_is_refused_with_its_key_path(spec: Any, path: str, reason: str) -> None:
    with pytest.raises(BadStates) as caught:
        compile_states(spec)
    assert str(caught.value).startswith(f"{path}: ")
    assert reason in str(caught.value)


class Booking(enum.Enum):
    SLOT_SELECTION = "slot"
    CUSTOMER_DATA = 2


@pytest.mark.spec("C14")
def test_the_state_may_be_an_enum_member_by_value_or_name_and_in_any_case() -> None:
    contract = Contract(states={"SLOT_SELECTION": {"fallback": "When?"}, "customer_data": {"fallback": "Who?"}})
    assert contract.fallback({"state": Booking.SLOT_SELECTION}) == "When?"
    assert contract.fallback({"state": Booking.CUSTOMER_DATA}) == "Who?"
    assert contract.fallback({"state": "slot_selection"}) == "When?"
    assert contract.fallback({"state": "nowhere"}) is None
    assert contract.fallback() is None
    assert Contract(reply=True).fallback({"state": "S"}) is None


@pytest.mark.spec("C14")
def test_lint_reports_problems_with_their_paths() -> None:
    spec = {
        "start": "A",
        "A": {"forbid": [{"term": "x"}], "fallback": "ok", "next": ["B", "Z"]},
        "B": {"forbid": [{"term": "Ana"}], "fallback": "¿Con Ana?", "next": ["A"]},
        "LOST": {"forbid": [{"term": "x"}], "next": ["A"]},
        "FREE": {"next": []},
    }
    problems = compile_states(spec, lenient=True).problems()
    assert [(p.kind, p.path) for p in problems] == [
        ("unknown-next", ("states", "A", "next", 1)),
        ("fallback-violates", ("states", "B", "fallback")),
        ("unreachable", ("states", "LOST")),
        ("no-fallback", ("states", "LOST")),
        ("unreachable", ("states", "FREE")),
    ]
    assert compile_states({"start": "Q", "A": {}}).problems()[0].kind == "unknown-start"
    assert compile_states({"A": {}, "B": {}}).problems() == []


def test_a_stretch_of_a_stream_is_judged_at_its_offset() -> None:
    states = compile_states({"S": {"forbid": [STYLISTS]}})
    whole = "Hola. Te atiende Ana. Adiós."
    start = whole.index(" Te")
    (finding,) = states.judge_text(" Te atiende Ana.", "S", offset=start)
    assert finding.span is not None
    assert whole[slice(*finding.span)] == "Ana"


@given(st.text(max_size=80), st.sampled_from(["S", "T", None]))
def test_any_text_has_a_verdict_and_inputs_stay_as_they_are(text: str, state: str | None) -> None:
    spec: dict[str, Any] = {"S": {"forbid": [STYLISTS | {"except": ["negated", "question", "conditional"]}, TIMES]}}
    context: dict[str, Any] = {"state": state, "data": {"first_name": text[:5]}}
    before = repr((spec, context))
    findings = compile_states(spec).check(Reply(text=text), (), context)
    assert all(text[slice(*f.span)] for f in findings if f.span)
    assert repr((spec, context)) == before


def test_one_contract_serves_many_tasks_at_once() -> None:
    contract = Contract(states={"S": {"forbid": [STYLISTS]}})

    async def many() -> list[bool]:
        async def one(text: str) -> bool:
            await asyncio.sleep(0)
            return contract.check(text, {"state": "S"}).ok

        return await asyncio.gather(*(one("Ana" if n % 2 else "Hola") for n in range(50)))

    assert asyncio.run(many()) == [n % 2 == 0 for n in range(50)]


@pytest.mark.spec("C7")
@pytest.mark.parametrize("yes", ["sí", "SÍ", "si\u0301"])
def test_a_yes_in_spanish_is_not_a_condition(yes: str) -> None:
    rule = {"pattern": r"\bcita\b[^.!?]{0,30}\bconfirmada\b", "except": ["conditional"]}
    states = compile_states({"S": {"forbid": [rule]}})
    assert states.judge_text(f"Tu cita {yes} está confirmada 👍.", "S")
    assert not states.judge_text("Tu cita está confirmada si pagas antes. Sí, de verdad.", "S")


@pytest.mark.spec("C7")
def test_a_match_inside_a_longer_phrase_can_be_excepted() -> None:
    rule = {"terms": ["Ana"], "except": [{"within": r"\b(?:calle|plaza) (?:de )?\w+"}]}
    assert found("Estamos en la calle Ana.", rule) == []
    assert found("Estamos en la plaza de Ana, y te atiende Ana.", rule) == ["Ana"]
    with pytest.raises(BadStates, match=r"forbid\[0\]\.except\[0\]\.within: .* cannot be used"):
        found("", {"terms": ["Ana"], "except": [{"within": "("}]})


@pytest.mark.spec("C7")
def test_each_group_of_a_rule_keeps_its_own_exceptions() -> None:
    groups = {
        "times": {"patterns": [r"\b\d{1,2}:\d{2}\b"], "except": [{"terms": ["abrimos"]}]},
        "days": {"terms": ["lunes"], "except": [{"terms": ["cerramos"]}]},
    }
    both = {"groups": ["times", "days"]}
    assert found("Abrimos a las 9:00 el lunes.", both, groups=groups) == ["lunes"]
    assert found("Cerramos a las 9:00 el lunes.", both, groups=groups) == ["9:00"]
    shared = both | {"except": ["question"]}
    assert found("¿Abrimos a las 9:00 el lunes?", shared, groups=groups) == []


@pytest.mark.spec("C7")
def test_eleven_in_spanish_is_not_a_condition_and_a_number_sign_not_a_denial() -> None:
    rule = {"pattern": r"\b(?:te espero|cita[^.!?\n]{0,30} confirmada)\b", "except": ["negated", "conditional"]}
    assert found("Te espero a las once.", rule)
    assert found("Te espero el lunes a las once menos cuarto.", rule)
    assert found("Tu cita nº 4471 está confirmada.", rule)
    assert not found("Your cita is confirmada once you pay.", rule)
    assert not found("Tu cita no está confirmada.", rule)


def test_a_hint_may_name_the_state_what_was_found_and_the_data() -> None:
    spec = {"S": {"forbid": [{"terms": ["Ana"]}], "hint": "{data.first_name}, {state}: no {found}; {data}"}}
    (one,) = compile_states(spec).judge_text("Ana", "S", {"first_name": "Lu\ncía {state}", "empty": None})
    assert one.hint == "Lu cía {state}, S: no 'Ana'; first_name: Lu cía {state}"
    assert compile_states(spec).hint("S") == ", S: no {found}; "
