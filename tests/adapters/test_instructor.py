"""instructor: completions in several modes, over the real client of OpenAI and a server on loopback."""

import asyncio
import pickle
from typing import Any

import instructor
import pytest
from instructor.core.exceptions import InstructorRetryException
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel, TypeAdapter, ValidationInfo, field_validator

from tests.adapters.person import ADA, BROKEN, CONTRACT, GOOD, MISSING, REFUSED, Person
from trueup import Contract, Rejected, Verdict
from trueup.adapters.instructor import contract_model
from trueup.testing.script import Call, Say, Step
from trueup.testing.server import ScriptedServer

MODES = [instructor.Mode.TOOLS, instructor.Mode.JSON, instructor.Mode.MD_JSON, instructor.Mode.JSON_SCHEMA]
QUESTION: Any = [{"role": "user", "content": "Who is Ada?"}]


def ask(
    script: list[Any],
    response_model: Any,
    *,
    mode: instructor.Mode = instructor.Mode.JSON,
    awaited: bool = False,
    **options: Any,
) -> Any:
    """The value that instructor returns, and the messages that it sent."""
    arguments = {"response_model": response_model, "messages": QUESTION, "model": "m", **options}

    async def wait(url: str) -> Any:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as raw:
            return await instructor.from_openai(raw, mode=mode).create(**arguments)

    with ScriptedServer(script) as server:
        if awaited:
            value = asyncio.run(wait(server.url))
        else:
            with OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as raw:
                value = instructor.from_openai(raw, mode=mode).create(**arguments)
        return value, [request.messages for request in server.requests]


def reply(text: str, mode: instructor.Mode) -> Step:
    """A reply as the model sends it in this mode."""
    return Say(None, (Call("Person", text),)) if mode is instructor.Mode.TOOLS else Say(text)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("awaited", [False, True])
def test_a_broken_completion_is_repaired_before_it_is_parsed(*, mode: instructor.Mode, awaited: bool) -> None:
    verdicts: list[Verdict] = []
    model = contract_model(CONTRACT, Person, on_verdict=verdicts.append)
    value, sent = ask([reply(BROKEN, mode)], model, mode=mode, awaited=awaited)
    assert value == ADA
    assert len(sent) == 1
    assert [verdict.ok for verdict in verdicts] == [True]
    assert verdicts[0].fixes


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("awaited", [False, True])
def test_instructors_own_retry_sends_the_correction(*, mode: instructor.Mode, awaited: bool) -> None:
    script = [reply(REFUSED, mode), reply(GOOD, mode)]
    value, sent = ask(script, contract_model(CONTRACT, Person), mode=mode, awaited=awaited, max_retries=1)
    assert value == ADA
    told = str(sent[1][-1]["content"])
    assert "Your reply was not valid." in told
    assert "age >= 0" in told


@pytest.mark.parametrize("text", [REFUSED, MISSING, "I do not know."])
def test_the_verdict_is_a_cause_when_the_retries_are_used_up(text: str) -> None:
    with pytest.raises(InstructorRetryException) as caught:
        ask([text, text], contract_model(CONTRACT, Person), max_retries=1)
    assert caught.value.n_attempts == 2
    error: BaseException | None = caught.value
    while error is not None and not isinstance(error, Rejected):
        error = error.__cause__
    assert error is not None
    assert error.verdict.reply.text == text
    attempts = [attempt.exception.__cause__ for attempt in caught.value.failed_attempts]
    assert all(isinstance(cause, Rejected) for cause in attempts)


def test_the_model_that_is_sent_has_the_name_and_the_schema_of_the_users() -> None:
    model = contract_model(CONTRACT, Person)
    assert model.__name__ == "Person"
    assert model.model_json_schema() == Person.model_json_schema()
    assert issubclass(model, Person)


def test_the_context_of_a_call_is_added_to_that_of_the_model() -> None:
    contract = Contract(Person, rules=["age >= least"], input=["least"])
    model = contract_model(contract, Person, context={"input": {"least": 40}})
    with pytest.raises(InstructorRetryException):
        ask([GOOD], model, max_retries=0)
    value, _ = ask([GOOD], model, max_retries=0, context={"input": {"least": 30}})
    assert value == ADA


def test_a_contract_with_a_json_schema_judges_for_a_model() -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}}
    value, _ = ask([BROKEN], contract_model(Contract(schema), Person))
    assert value == ADA


def test_items_of_a_list_are_judged_when_they_are_validated() -> None:
    verdicts: list[Verdict] = []
    model = contract_model(CONTRACT, Person, on_verdict=verdicts.append)
    script = [f'{{"tasks": [{GOOD}, {REFUSED}]}}', f'{{"tasks": [{GOOD}]}}']
    value, sent = ask(script, list[model], max_retries=1)  # type: ignore[valid-type]
    assert [item.model_dump() for item in value] == [ADA.model_dump()]
    assert "age >= 0" in str(sent[1][-1])
    assert [verdict.ok for verdict in verdicts] == [True, False, True]


def streamed(script: list[Any], *, awaited: bool, partial: bool) -> list[Any]:
    """The parts of a stream from instructor: a growing person, or one person after another."""
    model: Any = contract_model(CONTRACT, Person)
    arguments: Any = {"response_model": model, "messages": QUESTION, "model": "m"}

    async def read(url: str) -> list[Any]:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as raw:
            client = instructor.from_openai(raw, mode=instructor.Mode.JSON)
            stream = client.create_partial(**arguments) if partial else client.create_iterable(**arguments)
            return [part async for part in stream]

    with ScriptedServer(script) as server:
        if awaited:
            return asyncio.run(read(server.url))
        with OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as raw:
            client = instructor.from_openai(raw, mode=instructor.Mode.JSON)
            return list(client.create_partial(**arguments) if partial else client.create_iterable(**arguments))


@pytest.mark.parametrize("awaited", [False, True])
def test_a_stream_of_partial_values_is_judged_at_its_end(*, awaited: bool) -> None:
    parts = streamed([Say(GOOD, piece=4)], awaited=awaited, partial=True)
    assert len(parts) > 2
    assert parts[-1].model_dump() == ADA.model_dump()
    with pytest.raises(Exception, match="age >= 0"):
        streamed([Say(REFUSED, piece=4)], awaited=awaited, partial=True)


@pytest.mark.parametrize("awaited", [False, True])
def test_each_item_of_a_stream_is_judged(*, awaited: bool) -> None:
    items = streamed([Say(f'{{"tasks": [{GOOD}, {GOOD}]}}', piece=4)], awaited=awaited, partial=False)
    assert items == [ADA, ADA]
    with pytest.raises(Exception, match="age >= 0"):
        streamed([Say(f'{{"tasks": [{GOOD}, {REFUSED}]}}', piece=4)], awaited=awaited, partial=False)


def test_an_item_of_a_list_compares_and_pickles_like_an_instance_of_the_users_model() -> None:
    model = contract_model(CONTRACT, Person)
    (item,) = TypeAdapter(list[model]).validate_python([{"name": "Ada", "age": "36"}])  # type: ignore[valid-type]
    assert item == ADA
    assert item != ADA.model_copy(update={"age": 37})
    assert type(pickle.loads(pickle.dumps(item))) is Person
    assert pickle.loads(pickle.dumps(item)) == ADA


class Noted(BaseModel):
    name: str
    tags: tuple[str, ...] = ()

    @field_validator("name")
    @classmethod
    def note(cls, name: str, info: ValidationInfo) -> str:
        return f"{name} of {info.context['house']}"


def test_validators_of_the_model_get_the_context_of_the_call() -> None:
    model = contract_model(Contract({"type": "object"}), Noted)
    noted = model.model_validate_json('{"name": "Ada", "tags": ["x"],}', context={"house": "Byron"}, strict=True)
    assert noted == Noted.model_construct(name="Ada of Byron", tags=("x",))


def test_a_schema_is_not_a_contract() -> None:
    with pytest.raises(TypeError, match="expected a Contract or the path of a contract file, got dict"):
        contract_model({"type": "object"}, Person)  # type: ignore[arg-type]


def test_a_contract_without_a_schema_and_a_model_of_another_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="contract_model needs a contract with a schema"):
        contract_model(Contract(reply=True), Person)
    with pytest.raises(TypeError, match="model: expected a pydantic model, got <class 'dict'>"):
        contract_model(CONTRACT, dict)  # type: ignore[type-var]


def test_a_missing_state_is_not_asked_for_again() -> None:
    model = contract_model(Contract(Person, states={"IDLE": {}}), Person)
    with pytest.raises(InstructorRetryException, match="asking again would not help") as caught:
        ask([GOOD] * 3, model, max_retries=3)
    assert caught.value.n_attempts == 1
    assert isinstance(caught.value.__cause__, RuntimeError)
