"""Asking again: once, with the correction; then the fallback of the state. The models are LangChain's own."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from tests.acceptance.coherence.bot import CONTRACT, POLICY, ResponseValidator, fsm_in
from trueup import Contract, Policy
from trueup.ask.gate import AnswerPart
from trueup.ask.report import Report
from trueup.ask.words.templates import WordsError
from trueup.checks.dialogue import BadStates

EARLY = "Las estilistas disponibles son: 1. Ana, 2. María"
FINE = "¿Qué servicio te gustaría?"
TALK = [SystemMessage("Eres el asistente del salón."), HumanMessage("Hola, quiero una cita.")]


class ScriptedModel(BaseChatModel):
    """A custom chat model: it gives its replies, keeps its requests, and has no `bind_tools`."""

    lines: list[str]
    seen: list[tuple[list[BaseMessage], dict[str, Any]]] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.seen.append((messages, kwargs))
        line = self.lines[min(len(self.seen), len(self.lines)) - 1]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(line))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        message = self._generate(messages, stop, run_manager, **kwargs).generations[0].message
        for word in str(message.content).split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"{word} "))


def scripted(*lines: str) -> ScriptedModel:
    return ScriptedModel(lines=list(lines), seen=[])


@pytest.mark.spec("C9")
@pytest.mark.parametrize("make", [scripted, lambda *lines: FakeListChatModel(responses=list(lines))])
def test_an_incoherent_reply_is_requested_again_once(make: Any) -> None:
    validator, fsm = ResponseValidator(), fsm_in("SERVICE_SELECTION")
    answer = validator.respond(make(EARLY, FINE), TALK, fsm)
    assert (answer.outcome, answer.text, answer.regenerations) == ("regenerated", FINE, 1)
    answer = asyncio.run(validator.arespond(make(EARLY, FINE), TALK, fsm))
    assert (answer.outcome, answer.text, len(answer.attempts)) == ("regenerated", FINE, 2)
    answer = validator.respond(make(FINE), TALK, fsm)
    assert (answer.outcome, answer.text, answer.regenerations) == ("accepted", FINE, 0)


@pytest.mark.spec("C9")
def test_the_correction_is_a_system_message_with_the_hint_and_the_state() -> None:
    model = scripted(EARLY, FINE)
    ResponseValidator().respond(model, TALK, fsm_in("SERVICE_SELECTION"))
    (first, _), (second, options) = model.seen
    own = ["Eres el asistente del salón.", "Hola, quiero una cita."]
    # If the model does not take tools, they are described in a separate system message.
    assert [message.content for message in first if message.content in own] == own
    (added,) = [message for message in second if message.content not in {each.content for each in first}]
    assert isinstance(added, SystemMessage)
    assert added.content == (
        "CORRECCIÓN REQUERIDA:\n"
        "NO menciones estilistas. Solo pregunta sobre servicios.\n\n"
        "Estado FSM actual: SERVICE_SELECTION\n"
        "NO violes las restricciones del estado actual."
    )
    # Intentionally different from the document: it is with the system messages, not after the user's.
    assert isinstance(second[-1], HumanMessage)
    assert options["temperature"] == 0.3
    assert [message.content for message in TALK] == own  # the author's messages are not changed


@pytest.mark.spec("C10", "C11")
@pytest.mark.parametrize("state", ["SERVICE_SELECTION", "STYLIST_SELECTION", "SLOT_SELECTION", "CUSTOMER_DATA"])
def test_after_the_second_incoherent_reply_the_fallback_is_sent(state: str) -> None:
    bad = f"{EARLY}. Ana puede a las 10:30. Tu cita está confirmada."
    model, fsm = scripted(bad), fsm_in(state)
    answer = ResponseValidator().respond(model, TALK, fsm)
    assert (answer.outcome, len(model.seen)) == ("fallback", 2)
    # The document has one generic reply for all states; here each state has its own, which moves it forward.
    assert answer.text == CONTRACT.fallback({"state": fsm})
    assert CONTRACT.check(answer.text, {"state": fsm}).ok


def on_screen(parts: list[AnswerPart]) -> str:
    """The final text on the user's screen; `Ana` never appears on it."""
    shown = ""
    for part in parts:
        shown = "" if part.kind == "restart" else shown + part.text
        assert "Ana" not in shown
    return shown


@pytest.mark.spec("C11", "C15")
def test_a_stream_never_shows_what_is_incoherent() -> None:
    fsm = fsm_in("SERVICE_SELECTION")
    for lines, outcome in [((EARLY, FINE), "regenerated"), ((EARLY,), "fallback")]:
        with CONTRACT.ask_stream(scripted(*lines), TALK, POLICY, context={"state": fsm}) as parts:
            shown = on_screen(list(parts))
        assert parts.answer.outcome == outcome
        assert CONTRACT.check(shown, {"state": fsm}).ok

    async def asked() -> str:
        stream = CONTRACT.aask_stream(scripted(EARLY, FINE), TALK, POLICY, context={"state": fsm})
        return on_screen([part async for part in stream])

    assert asyncio.run(asked()).strip() == FINE


def test_a_model_without_bind_tools_gets_tools_as_text_and_its_call_is_read() -> None:
    model = scripted('<tool_call>{"name": "search_services", "arguments": {}}</tool_call>')
    answer = CONTRACT.ask(model, TALK, context={"state": fsm_in("SERVICE_SELECTION")})
    assert (answer.outcome, [call.name for call in answer.calls]) == ("accepted", ["search_services"])
    assert any("search_services" in str(message.content) for message in model.seen[0][0])


def test_a_model_that_binds_tools_is_given_them() -> None:
    class Binding(ScriptedModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self.bind(tools=tools, **options)

    model = Binding(lines=[FINE], seen=[])
    assert CONTRACT.ask(model, TALK, context={"state": fsm_in("SERVICE_SELECTION")}).text == FINE
    messages, options = model.seen[0]
    assert messages == TALK
    assert len(options["tools"]) == 5


def test_texts_for_the_model_may_name_the_state_and_the_data() -> None:
    model = scripted("Confirmada.", "¿Tu nombre?")
    contract = Contract(
        states={
            "correction": "{state}|{hint}|{violations}|{data.phone}|{data.first_name}|{data}|{tools}|{nth} de {most}",
            "DATOS": {
                "forbid": [{"terms": ["confirmada"], "why": "confirma"}],
                "tools": ["save"],
                "hint": "En {state} falta el nombre; ya tienes {data.phone}.",
            },
        }
    )
    data = {"phone": "600\n{state}", "services": ["corte", "color"], "note": None}
    answer = contract.ask(model, "Hola", context={"state": "DATOS", "data": data})
    assert answer.outcome == "regenerated"
    (told,) = [str(m.content) for m in model.seen[1][0] if isinstance(m, SystemMessage)]
    hint = "En DATOS falta el nombre; ya tienes 600 {state}."
    assert told == (
        f"DATOS|{hint}|- confirma: 'Confirmada'|600 {{state}}||phone: 600 {{state}}, services: corte, color|save|1 de 1"
    )


def test_a_policys_own_words_take_precedence_and_have_the_same_placeholders() -> None:
    model = scripted(EARLY, FINE)
    policy = Policy(words={"regenerate": "{state} ({data.services}): {hint}"})
    fsm = fsm_in("SERVICE_SELECTION", services=["corte"])
    CONTRACT.ask(model, TALK, policy, context={"state": fsm})
    assert any(str(m.content).startswith("SERVICE_SELECTION (corte): NO menciones") for m in model.seen[1][0])
    with pytest.raises(WordsError, match=r"\{estate\}"):
        CONTRACT.ask(model, TALK, Policy(words={"regenerate": "{estate}"}), context={"state": fsm})
    with pytest.raises(BadStates, match=r"there is no placeholder \{estate\}; did you mean 'state'"):
        Contract(states={"S": {"hint": "{estate}"}})
    with pytest.raises(BadStates, match=r"states.correction: there is no placeholder \{fsm.state\}"):
        Contract(states={"correction": "{fsm.state}", "S": {}})


def test_the_report_has_the_regeneration_rate() -> None:
    heard, added = Report(), Report()
    for lines in [(FINE,), (EARLY, FINE), (EARLY,), (FINE,)]:
        context = {"state": fsm_in("SERVICE_SELECTION")}
        added.add(CONTRACT.ask(scripted(*lines), TALK, context=context, on_event=heard))
    for report in (heard, added):
        (row,) = report.rows.values()
        assert (row.asks, row.regenerations, row.regeneration_rate, row.fallback_rate) == (4, 2, 0.5, 0.25)
        assert row.to_dict()["regeneration_rate"] == 0.5
