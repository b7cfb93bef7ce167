"""The log of every check: state, the reply cut at 200 characters, the result, the violations, the time, regenerations."""

import asyncio
import logging
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from tests.acceptance.coherence.bot import ResponseValidator, fsm_in

LOG = logging.getLogger("salon.test")
EARLY = "Las estilistas disponibles son: 1. Ana, 2. María"


def records(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    return [record.__dict__["trueup"] for record in caplog.records if record.__dict__["trueup"]["event"] == event]


@pytest.mark.spec("C13")
def test_each_check_is_one_record(caplog: pytest.LogCaptureFixture) -> None:
    validator = ResponseValidator(LOG)
    with caplog.at_level(logging.INFO, LOG.name):
        asyncio.run(validator.validate("¿Qué servicio te gustaría?", fsm_in("SERVICE_SELECTION")))
        asyncio.run(validator.validate(EARLY + " y más" * 100, fsm_in("SERVICE_SELECTION")))
    fine, broken = records(caplog, "checked")
    assert (fine["state"], fine["ok"], fine["text"]) == ("SERVICE_SELECTION", True, "¿Qué servicio te gustaría?")
    assert "violations" not in fine
    assert (broken["state"], broken["ok"], broken["regenerations"]) == ("SERVICE_SELECTION", False, 0)
    assert len(broken["text"]) <= 200
    assert broken["text"].startswith(EARLY)
    assert "Menciona estilistas en SERVICE_SELECTION: 'Ana', 'María'" in broken["violations"]
    assert broken["seconds"] > 0
    assert [record.levelno >= logging.WARNING for record in caplog.records] == [False, True]


@pytest.mark.spec("C10", "C13")
def test_regenerations_and_the_fallback_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, LOG.name):
        answer = ResponseValidator(LOG).respond(
            FakeListChatModel(responses=[EARLY]), [{"role": "user", "content": "Hola"}], fsm_in("SERVICE_SELECTION")
        )
    assert answer.outcome == "fallback"
    checks = records(caplog, "checked")
    assert [(check["ok"], check["regenerations"]) for check in checks] == [(False, 0), (False, 1), (True, 1)]
    assert len(records(caplog, "regenerating")) == 1
    assert [record.levelno for record in caplog.records if record.__dict__["trueup"]["event"] == "fell_back"] == [
        logging.WARNING
    ]
    (finished,) = records(caplog, "finished")
    assert (finished["outcome"], finished["regenerations"]) == ("fallback", 1)
