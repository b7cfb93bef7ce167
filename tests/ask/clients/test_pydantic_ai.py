"""pydantic-ai's models without a server, its own messages, and asks from several threads and event loops."""

import asyncio
import subprocess
import sys
import threading
from typing import Any

import pytest

from tests.ask.clients.kinds import KINDS, closing
from tests.ask.stage import BAD, GOOD, SCHEMA
from trueup import Contract, Policy
from trueup.ask.clients.find import find_client
from trueup.ask.clients.request import Request
from trueup.ask.memory import Memory
from trueup.testing.script import Fail, Hang
from trueup.testing.server import ScriptedServer

CONTRACT = Contract(SCHEMA)
VALUE = {"name": "Ada", "age": 36}


def _playing(*script: str) -> tuple[Any, list[Any]]:
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    replies, seen = list(script), []

    def play(messages: Any, info: Any) -> ModelResponse:
        seen.append((messages, info))
        return ModelResponse(parts=[TextPart(replies.pop(0))])

    async def stream(messages: Any, info: Any) -> Any:
        seen.append((messages, info))
        said = replies.pop(0)
        for at in range(0, len(said), 5):
            yield said[at : at + 5]

    return FunctionModel(play, stream_function=stream), seen


def test_a_function_model_is_asked_and_repaired() -> None:
    model, seen = _playing(BAD, GOOD)
    answer = CONTRACT.ask(model, "Who?", Policy(modes=("text",)), memory=Memory())
    assert (answer.outcome, answer.value) == ("repaired", VALUE)
    system, user = seen[0][0][0].parts
    assert (system.part_kind, user.part_kind, user.content) == ("system-prompt", "user-prompt", "Who?")


def test_a_function_model_streams() -> None:
    model, _ = _playing(GOOD)
    stream = CONTRACT.ask_stream(model, "Who?", Policy(modes=("text",)), memory=Memory())
    assert list(stream)[-1].value == VALUE


def test_the_value_is_asked_for_as_a_call_where_there_is_no_json_mode() -> None:
    from pydantic_ai.messages import ModelResponse, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.profiles import ModelProfile

    def play(messages: Any, info: Any) -> ModelResponse:
        (tool,) = info.function_tools
        return ModelResponse(parts=[ToolCallPart(tool.name, VALUE)])

    model = FunctionModel(play, profile=ModelProfile(supports_json_schema_output=False))
    assert find_client(model).modes == ("tool", "text")
    assert CONTRACT.ask(model, "Who?", memory=Memory()).value == VALUE


def test_messages_of_pydantic_ai_are_passed_on_unchanged() -> None:
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    own = ModelRequest(parts=[UserPromptPart("Who?")])
    model, seen = _playing("Ada")
    find_client(model).send(
        Request([own, {"role": "assistant", "content": "Why?"}, {"role": "user", "content": "So."}])
    )
    (messages, _) = seen[0]
    assert messages[0].parts[0].content == "Who?"
    assert [message.kind for message in messages] == ["request", "response", "request"]


def test_a_model_with_its_own_name_refuses_another() -> None:
    from pydantic_ai.models.fallback import FallbackModel
    from pydantic_ai.models.test import TestModel

    with pytest.raises(ValueError, match="leave 'large' out of Policy"):
        CONTRACT.ask(FallbackModel(TestModel()), "Who?", Policy(models=("large",), modes=("text",)), memory=Memory())


def test_a_wrapped_model_is_asked_for_another_by_its_name_and_sends_once() -> None:
    from pydantic_ai.models.wrapper import WrapperModel

    with ScriptedServer([Fail(503, "down"), GOOD]) as server:
        inner = KINDS["pydantic-ai"].make(server)
        client = find_client(WrapperModel(inner))
        request = Request([{"role": "user", "content": "Who?"}], model="large")
        with closing(inner):
            with pytest.raises(Exception, match="down"):
                client.send(request)
            assert len(server.requests) == 1
            client.send(request)
    assert [asked.model for asked in server.requests] == ["large", "large"]
    assert inner.model_name == "m"


def test_one_model_is_asked_from_threads_and_from_a_loop() -> None:
    with ScriptedServer(then=GOOD) as server:
        model = KINDS["pydantic-ai"].make(server)
        answers: list[Any] = []

        def asking() -> None:
            answers.append(CONTRACT.ask(model, "Who?", memory=Memory()))

        with closing(model):
            threads = [threading.Thread(target=asking) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

            async def inside() -> None:
                answers.append(await asyncio.to_thread(lambda: CONTRACT.ask(model, "Who?", memory=Memory())))

            asyncio.run(inside())
    assert [answer.outcome for answer in answers] == ["accepted"] * 5


@pytest.mark.spec("A11")
def test_a_call_that_hangs_is_cancelled_and_its_connection_closed() -> None:
    with ScriptedServer([Hang()]) as server:
        model = KINDS["pydantic-ai"].make(server)
        with closing(model):
            answer = CONTRACT.ask(model, "Who?", Policy(deadline=4, retries=0), memory=Memory())
            assert answer.outcome == "failed"
            assert server.wait_until(lambda exchanges: bool(exchanges) and exchanges[0].ended == "client left")


def test_one_model_is_asked_with_and_without_awaiting() -> None:
    """Connections belong to one event loop: on another loop's connection, a request would be sent and its reply never read."""
    with ScriptedServer(then=GOOD) as server:
        model = KINDS["pydantic-ai"].make(server)

        async def both() -> list[Any]:
            answers = []
            for _ in range(2):
                answers.append(CONTRACT.ask(model, "Who?", memory=Memory()))
                answers.append(await CONTRACT.aask(model, "Who?", memory=Memory()))
            await model.client.close()
            return answers

        answers = asyncio.run(both())
    assert [(answer.outcome, len(answer.attempts)) for answer in answers] == [("accepted", 1)] * 4
    assert len(server.requests) == 4


def test_the_models_of_one_that_falls_back_send_once() -> None:
    from pydantic_ai.models.fallback import FallbackModel

    with ScriptedServer([Fail(503, "down"), GOOD]) as server:
        inner = KINDS["pydantic-ai"].make(server)
        with closing(inner):
            find_client(FallbackModel(inner, inner)).send(Request([{"role": "user", "content": "Who?"}]))
    assert len(server.requests) == 2


def test_a_program_that_has_asked_ends_without_a_warning() -> None:
    program = """
import asyncio, gc
from tests.ask.clients.kinds import KINDS
from trueup import Contract
from trueup.testing.server import ScriptedServer

with ScriptedServer(then="{}") as server:
    model = KINDS["pydantic-ai"].make(server)
    print(Contract({"type": "object"}).ask(model, "Who?").outcome)
    asyncio.run(model.client.close())
"""
    given = [sys.executable, "-W", "error::ResourceWarning", "-c", program]
    done = subprocess.run(given, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("accepted", "", 0)
