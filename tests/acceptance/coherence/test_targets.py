"""The targets of the document: no network and no compiling in a check, linear time, at most one regeneration, one short call.

The document asks for less than 100 ms. No test here reads a clock: `make bench` prints how long a check takes.
"""

import socket
from typing import Any, NoReturn

import pytest
import re2

from tests.acceptance.coherence.bot import CONTRACT, POLICY, ResponseValidator, fsm_in
from tests.growth import assert_linear
from trueup.checks import patterns

FINE = "¿Qué servicio te gustaría? Tenemos corte, color y peinado. "


@pytest.mark.spec("C12")
def test_a_check_uses_no_network_and_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fsm = fsm_in("SLOT_SELECTION")
    CONTRACT.check("Ana puede a las 10:30. Tu cita está confirmada.", {"state": fsm})

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(patterns, "pattern_source", refuse)
    monkeypatch.setattr(re2, "compile", refuse)
    assert not CONTRACT.check("Tu cita está confirmada.", {"state": fsm}).ok


@pytest.mark.growth
@pytest.mark.spec("C12")
@pytest.mark.parametrize("state", ["SERVICE_SELECTION", "STYLIST_SELECTION", "SLOT_SELECTION", "CUSTOMER_DATA"])
def test_a_check_takes_time_in_proportion_to_the_text(state: str) -> None:
    assert_linear(lambda text: CONTRACT.check(text, {"state": state}), lambda n: FINE * n, 2000)


@pytest.mark.spec("C9")
def test_a_regeneration_is_one_call_with_one_message_more() -> None:
    sent: list[list[Any]] = []

    def model(messages: list[Any]) -> str:
        sent.append(messages)
        return "Te atiende Ana."

    ResponseValidator().respond(model, [{"role": "user", "content": "Hola"}], fsm_in("SERVICE_SELECTION"))
    assert POLICY.regenerations == 1
    first, second = sent
    assert len(second) == len(first) + 1
