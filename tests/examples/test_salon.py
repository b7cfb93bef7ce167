"""The salon's contract: each sentence of C2 to C6 and C10's check of fallbacks, in Spanish as the salon speaks it."""

from pathlib import Path
from typing import Any

import pytest

from trueup import Contract
from trueup.contract.lint.examples import run_examples
from trueup.contract.lint.run import lint_contract

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "contracts"
CONTRACTS = ["salon", "clinic", "chat_quota"]
EVERYTHING = "Ana tiene libre el lunes 25 a las 10:30. Tu cita ha sido confirmada. Dime tu nombre."


@pytest.fixture(scope="module")
def salon() -> Contract:
    return Contract.load(FOLDER / "salon.yaml")


def codes(salon: Contract, state: str, text: str, **data: Any) -> set[str]:
    return {found.code for found in salon.check(text, {"state": state, "data": data}).findings}


@pytest.mark.spec("C14")
@pytest.mark.parametrize("name", CONTRACTS)
def test_the_example_contracts_pass_lint_and_their_own_examples(name: str) -> None:
    linted = lint_contract(FOLDER / f"{name}.yaml")
    assert list(linted.faults) == []
    assert list(run_examples(linted)) == []
    assert linted.examples


@pytest.mark.spec("C2")
@pytest.mark.parametrize("name", ["Ana", "María", "Carlos", "Pilar", "Laura", "Maria", "MARÍA", "Mari\u0301a"])
def test_before_the_service_no_stylist_is_named(salon: Contract, name: str) -> None:
    verdict = salon.check(f"Te puede atender {name}.", {"state": "SERVICE_SELECTION"})
    assert [found.code for found in verdict.findings] == ["D001"]
    assert "estilista" in verdict.findings[0].message
    assert verdict.hint == "Pregunta solo por el servicio. No nombres estilistas ni ofrezcas días u horas."


@pytest.mark.spec("C2")
@pytest.mark.parametrize(
    "offer",
    [
        "Tenemos cita a las 10:30.",
        "Hay hueco mañana por la tarde.",
        "Estamos disponibles el jueves.",
        "Tengo libre el martes a las once.",
        "Podría ser el viernes 14.",
        "Tengo libre a las 9h, a las 5h30 y a las 17h.",
        "Abrimos a las 9:00. Te puedo dar cita a las 10:30.",
        "Te atendemos mañana a las 10:30.",
        "Tengo un hueco a las 10:30, cuando abre el salón.",
    ],
)
def test_before_the_service_no_time_is_offered(salon: Contract, offer: str) -> None:
    assert codes(salon, "SERVICE_SELECTION", offer) == {"D001"}


@pytest.mark.spec("C2", "C7")
@pytest.mark.parametrize(
    "fine",
    [
        "¿Qué servicio te gustaría?",
        "Mañana es buen día para un cambio. ¿Corte o color?",
        "Toda la semana tenemos ofertas en color.",
        "Abrimos de 9:30 a 20:00 de lunes a viernes.",
        "El corte cuesta 18,50 € y dura 45 minutos.",
        "El corte dura 1h y el color 2h30.",
        "El salón abre de 9:00 a 20:00. ¿Qué servicio deseas?",
        "Mañana abre el salón a las 9:30.",
        "La peluquería cierra a las 20:00.",
        "Estamos abiertas de 9:00 a 20:00.",
        "Atendemos de lunes a viernes de 10:00 a 19:30.",
        "Horario: lunes a viernes, 10:00–19:30.",
        "El horario del salón es de 9:00 a 20:00.",
    ],
)
def test_before_the_service_one_may_speak_of_services(salon: Contract, fine: str) -> None:
    assert codes(salon, "SERVICE_SELECTION", fine) == set()


@pytest.mark.spec("C2", "C7")
def test_opening_hours_excuse_no_stylist(salon: Contract) -> None:
    assert codes(salon, "SERVICE_SELECTION", "Abrimos a las 9:00, y Ana tiene hueco a las 10:30.") == {"D001"}


@pytest.mark.spec("C7")
@pytest.mark.parametrize(
    ("state", "text", "violation"),
    [
        ("REASON", "The clinic opens at 8:30 and closes at 18:00.", False),
        ("REASON", "We're open 8 am to 6 pm. What brings you in?", False),
        ("REASON", "Our hours are 8:30 to 18:00, Monday to Friday.", False),
        ("REASON", "We open at 8:30, and Dr. Patel has a slot at 10:00.", True),
        ("DOCTOR", "We open at 8:30, and your appointment is confirmed.", True),
        ("DOCTOR", "Dr. Patel works on Mondays, Dr. Jones on Tuesdays.", False),
        ("DOCTOR", "Dr. Patel is not available on Monday.", False),
        ("DOCTOR", "Dr. Patel is available tomorrow at ten.", True),
        ("DOCTOR", "How about Monday at nine?", True),
        ("DOCTOR", "Dr. Patel can see you at half past three.", True),
    ],
)
def test_a_clinic_may_say_its_hours_but_not_offer_times_too_early(state: str, text: str, violation: bool) -> None:
    clinic = Contract.load(FOLDER / "clinic.yaml")
    assert codes(clinic, state, text) == ({"D001"} if violation else set())


@pytest.mark.spec("C3")
@pytest.mark.parametrize(
    ("text", "violation"),
    [
        ("Ana puede a las 10:30.", True),
        ("Hay sitio el lunes 25.", True),
        ("María puede el martes a las doce.", True),
        ("Está disponible este sábado.", True),
        ("¿Prefieres el lunes o el martes?", True),
        ("Tengo a las 10h30 o a las 11.15 h.", True),
        ("1. Ana\n2. María\n3. Carlos\n¿Con quién prefieres?", False),
        ("Laura no trabaja los lunes, pero sí los demás días. ¿Con quién prefieres?", False),
        ("¿Prefieres a Pilar o a Laura?", False),
    ],
)
def test_before_the_stylist_no_time_and_no_day_on_offer(salon: Contract, text: str, violation: bool) -> None:
    assert codes(salon, "STYLIST_SELECTION", text) == ({"D001"} if violation else set())


@pytest.mark.spec("C4")
@pytest.mark.parametrize(
    ("text", "violation"),
    [
        ("Tu cita ha sido confirmada.", True),
        ("Tu cita ha sido confirmada, ¿necesitas algo más?", True),
        ("¡Listo! La reserva queda hecha.", True),
        ("Confirmada tu cita.", True),
        ("Perfecto, reservado el lunes a las 10:30.", True),
        ("Listo, ya tienes cita el martes a las 12:00.", True),
        ("Nos vemos el lunes a las 10:30.", True),
        ("¿Nos vemos el lunes a las 10:30?", False),
        ("¿Ya tienes cita para otro día?", False),
        ("Tu cita para el lunes 25 ha sido confirmada.", True),
        ("Tu cita con Ana, no con Laura, está confirmada.", True),
        ("Tu cita quedará confirmada cuando me lo digas.", False),
        ("Tu cita está casi confirmada.", False),
        ("¿Me dices tu nombre?", True),
        ("Necesito tus datos.", True),
        ("Necesito un teléfono de contacto.", True),
        ("Tenemos a las 10:30, a las 12:00 y a las 17:15.", False),
        ("El lunes 25 con Ana a las 10:30. ¿Te va bien?", False),
        ("¿Quieres confirmar este horario?", False),
        ("Tu cita todavía no está confirmada.", False),
        ("¿Quieres la cita confirmada por correo?", False),
        ("Cuando la cita esté confirmada te llegará un mensaje.", False),
    ],
)
def test_before_the_slot_nothing_is_confirmed_and_no_data_asked(salon: Contract, text: str, violation: bool) -> None:
    assert codes(salon, "SLOT_SELECTION", text) == ({"D001"} if violation else set())


@pytest.mark.spec("C5")
def test_nothing_is_confirmed_before_the_first_name_is_known(salon: Contract) -> None:
    for text in ("Tu cita está confirmada.", "La cita ha sido reservada."):
        assert codes(salon, "CUSTOMER_DATA", text) == {"D001"}
        assert codes(salon, "CUSTOMER_DATA", text, first_name="") == {"D001"}
        assert codes(salon, "CUSTOMER_DATA", text, first_name="Lucía") == set()
    assert codes(salon, "CUSTOMER_DATA", "¿Me dices tu nombre?") == set()


@pytest.mark.spec("C6")
@pytest.mark.parametrize("state", ["IDLE", "CONFIRMATION", "BOOKED"])
def test_elsewhere_anything_passes(salon: Contract, state: str) -> None:
    assert codes(salon, state, EVERYTHING) == set()


@pytest.mark.spec("C6")
def test_a_booking_that_no_call_made_is_a_violation_in_every_state(salon: Contract) -> None:
    for state in salon._meaning.states.states:  # type: ignore[union-attr]
        assert "D003" in codes(salon, state, "He reservado tu cita para el lunes.", first_name="Lucía")
        made = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "book", "arguments": "{}"}}]}
        context = {"state": state, "history": [made, {"role": "tool", "tool_call_id": "c1", "content": "ok"}]}
        assert "D003" not in {f.code for f in salon.check("He reservado tu cita.", context).findings}


@pytest.mark.spec("C7")
def test_a_customer_called_like_a_stylist(salon: Contract) -> None:
    assert codes(salon, "SERVICE_SELECTION", "Perfecto, María. ¿Qué servicio deseas?", first_name="María") == set()
    assert codes(salon, "SERVICE_SELECTION", "Perfecto, María. ¿Qué servicio deseas?", first_name="Eva") == {"D001"}


@pytest.mark.spec("C8")
def test_each_state_has_its_tools(salon: Contract) -> None:
    def calling(name: str) -> dict[str, Any]:
        call = {"id": "c1", "function": {"name": name, "arguments": "{}"}}
        return {"role": "assistant", "content": "Un momento.", "tool_calls": [call]}

    assert salon.check(calling("find_slots"), {"state": "SLOT_SELECTION"}).ok
    refused = salon.check(calling("book"), {"state": "SLOT_SELECTION"})
    assert [(f.code, f.path) for f in refused.findings] == [("D002", "$.calls[0]")]
    assert refused.calls == ()
    assert salon.check(calling("book"), {"state": "CONFIRMATION"}).ok


@pytest.mark.spec("C14")
def test_every_fallback_keeps_its_own_state_and_moves_it_on(salon: Contract) -> None:
    states = salon._meaning.states  # type: ignore[union-attr]
    sent = {name: salon.fallback({"state": name}) for name in states.states}  # type: ignore[union-attr]
    for name, text in sent.items():
        if text is not None:
            assert salon.check(text, {"state": name}).findings == ()
    given = [text for text in sent.values() if text]
    assert len(set(given)) == len(given) == 4


def test_the_quota_contract_has_a_greeting_that_the_environment_switches_on(monkeypatch: pytest.MonkeyPatch) -> None:
    path = FOLDER / "chat_quota.yaml"
    assert Contract.load(path).check("The answer is forty-two.").ok
    monkeypatch.setenv("VALIDATE_GREETING", "true")
    verdict = Contract.load(path).check("The answer is forty-two.")
    assert [found.message for found in verdict.findings] == ["Missing greeting"]
