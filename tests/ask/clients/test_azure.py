"""Azure OpenAI: deployments, the shapes of its errors, and the results of its content filters."""

from typing import Any

import pytest

from tests.ask.clients.kinds import KINDS, closing, run
from tests.ask.stage import GOOD, SCHEMA
from trueup import Contract, Policy
from trueup.ask.memory import Memory
from trueup.testing.script import Fail
from trueup.testing.server import ScriptedServer

CONTRACT = Contract(SCHEMA)
both = pytest.mark.parametrize("kind", ["azure", "azure-async"])


@both
def test_the_model_is_the_deployment(kind: str) -> None:
    with ScriptedServer(then=GOOD) as server:
        run(kind, server, CONTRACT, policy=Policy(models=("small",)))
    assert server.requests[0].path == "/openai/deployments/small/chat/completions"
    assert server.requests[0].query["api-version"] == "2025-04-01-preview"


def test_a_client_that_is_bound_to_a_deployment_needs_no_model() -> None:
    import openai

    with ScriptedServer(then=GOOD) as server:
        client = openai.AzureOpenAI(
            azure_endpoint=server.url, azure_deployment="large", api_key="none", api_version="2025-04-01-preview"
        )
        with closing(client):
            answer = CONTRACT.ask(client, "Who?", memory=Memory())
    assert answer.outcome == "accepted"
    assert server.requests[0].path == "/openai/deployments/large/chat/completions"


def test_azures_responses_api_is_asked() -> None:
    import openai

    with ScriptedServer(then=GOOD) as server:
        client = openai.AzureOpenAI(azure_endpoint=server.url, api_key="none", api_version="2025-04-01-preview")
        with closing(client):
            answer = CONTRACT.ask(client.responses, "Who?", Policy(models=("small",)), memory=Memory())
    assert answer.outcome == "accepted"
    assert server.requests[0].path == "/openai/responses"


FILTERED = Fail(400, "The response was filtered due to the prompt triggering Azure's policy.", "content_filter")


@both
@pytest.mark.parametrize(
    ("fail", "reason", "requests"),
    [
        (Fail(404, "The API deployment for this resource does not exist."), "rejected", 1),
        (Fail(401, "Access denied due to invalid subscription key."), "rejected", 1),
        (Fail(503, "Try again."), "retries", 4),
    ],
    ids=["deployment", "key", "down"],
)
def test_errors_are_read(kind: str, fail: Fail, reason: str, requests: int) -> None:
    with ScriptedServer(then=fail) as server:
        answer = run(kind, server, CONTRACT).answer
    assert (answer.outcome, answer.reason, len(server.requests)) == ("failed", reason, requests)
    assert fail.message in str(answer.findings[0])


@both
def test_a_filtered_prompt_is_refused_and_not_sent_again(kind: str) -> None:
    with ScriptedServer(then=FILTERED) as server:
        answer = run(kind, server, CONTRACT).answer
    assert answer.outcome == "failed"
    assert len(server.requests) == 1


@both
def test_a_deployment_that_is_busy_is_waited_for(kind: str) -> None:
    busy: Any = Fail(429, "Requests have exceeded the token rate limit. Please retry after 9 seconds.", retry_after=9)
    with ScriptedServer([busy, GOOD]) as server:
        asked = run(kind, server, CONTRACT)
    assert asked.answer.outcome == "accepted"
    assert asked.clock.waits[0] >= 9.0
    assert KINDS[kind].protocol == "openai"
