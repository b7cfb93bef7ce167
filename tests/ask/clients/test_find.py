"""Finding the client for an object: without importing an SDK, and with advice if the object cannot be asked."""

import asyncio
import subprocess
import sys
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock, Mock

import pytest

from trueup import Contract
from trueup.ask.clients.find import find_client

CONTRACT = Contract({"type": "object"})
SDKS = (
    "openai",
    "anthropic",
    "google",
    "mistralai",
    "cohere",
    "ollama",
    "boto3",
    "botocore",
    "pydantic_ai",
    "langchain_core",
)


def test_no_sdk_is_imported_to_find_a_client() -> None:
    program = f"""
import pkgutil, sys
import trueup.ask.clients
from trueup.ask.clients.find import find_client
for found in pkgutil.iter_modules(trueup.ask.clients.__path__):
    __import__(f"trueup.ask.clients.{{found.name}}")
find_client(lambda messages: "hi")
print([name for name in {SDKS!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


def _aws(service: str) -> Any:
    import boto3

    keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none", "region_name": "us-east-1"}
    return boto3.client(service, **keys)  # type: ignore[call-overload]  # boto3's stubs want a literal


def _cohere(name: str) -> Any:
    import cohere

    return getattr(cohere, name)(api_key="none")


def _class() -> Any:
    import openai

    return openai.OpenAI


def _module() -> Any:
    import openai

    return openai


def _part(*names: str) -> Any:
    import openai

    part: Any = openai.OpenAI(api_key="none")
    for name in names:
        part = getattr(part, name)
    return part


def _messages() -> str:
    return "{}"


def _agent() -> Any:
    from pydantic_ai import Agent

    return Agent()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: 5, "cannot ask an object of type int: give a callable, a client of openai"),
        (lambda: _cohere("Client"), r"give cohere.ClientV2\(…\); cohere.Client speaks version 1 of the API"),
        (lambda: _cohere("AsyncClient"), r"give cohere.ClientV2\(…\); cohere.Client speaks version 1 of the API"),
        (lambda: _aws("s3"), r'boto3 client of .s3.: give boto3.client\("bedrock-runtime"\)'),
        (_class, r"cannot ask the class OpenAI: give an instance of it, such as OpenAI\(…\)"),
        (_module, r"cannot ask the module openai: give the client, such as OpenAI\(…\), or its `responses`"),
        (lambda: _part("chat"), r"cannot ask Chat of openai: give the client, such as OpenAI\(…\), or its `responses`"),
        (lambda: _part("chat", "completions"), "cannot ask Completions of openai: give the client"),
        (lambda: _part("with_raw_response"), "cannot ask OpenAIWithRawResponse of openai: give the client"),
        (lambda: _part("responses", "create"), "cannot ask Responses.create: it does not take messages"),
        (lambda: _messages, "cannot ask _messages: it does not take messages"),
        (_agent, r"cannot ask Agent of pydantic_ai: give a model, such as OpenAIChatModel\(…\)"),
    ],
    ids=[
        "number",
        "cohere v1",
        "cohere v1 async",
        "another service",
        "class",
        "module",
        "part of a client",
        "part of a part",
        "raw",
        "method without messages",
        "function without messages",
        "agent",
    ],
)
def test_an_object_that_cannot_be_asked_is_refused_with_advice(make: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        CONTRACT.ask(make(), "Who?")


@pytest.mark.parametrize(
    ("module", "name", "held", "told"),
    [
        ("mistralai.client", "MistralClient", {"chat": SimpleNamespace()}, "mistralai is too old"),
        (
            "botocore.client",
            "BedrockRuntime",
            {"meta": SimpleNamespace(service_model=SimpleNamespace(service_name="bedrock-runtime"))},
            "boto3 is too old",
        ),
        ("openai", "OpenAI", {"chat": SimpleNamespace()}, "openai is too old"),
        ("anthropic", "Anthropic", {"messages": SimpleNamespace()}, "anthropic is too old"),
        ("cohere.client_v2", "V2Client", {}, "cohere is too old"),
    ],
    ids=["mistralai", "boto3", "openai", "anthropic", "cohere"],
)
def test_an_sdk_that_is_too_old_says_so(module: str, name: str, held: dict[str, Any], told: str) -> None:
    client = type(name, (), {"__module__": module})()
    for key, value in held.items():
        setattr(client, key, value)
    with pytest.raises(TypeError, match=rf"{told}.*pip install"):
        find_client(client)


def test_the_module_of_ollama_is_its_own_client() -> None:
    import ollama

    assert find_client(ollama).key.startswith("ollama:http://127.0.0.1:11434")


def test_a_subclass_is_asked_like_its_base_class() -> None:
    import openai

    class Traced(openai.AsyncOpenAI):
        pass

    client = find_client(Traced(api_key="none"))
    assert (type(client).__name__, client.is_async) == ("OpenAI", True)
    with pytest.raises(TypeError, match="aask"):
        CONTRACT.ask(Traced(api_key="none"), "Who?")


@pytest.mark.parametrize("kind", [Mock, MagicMock])
def test_a_mock_is_asked_like_the_callable_that_it_replaces(kind: Any) -> None:
    mock = kind(return_value='{"name": "Ada"}')
    assert CONTRACT.ask(mock, "Who?").value == {"name": "Ada"}
    assert mock.call_args.args[0][-1]["content"].endswith("Who?")


def test_an_asynchronous_mock_is_awaited() -> None:
    mock = AsyncMock(return_value='{"name": "Ada"}')
    assert asyncio.run(CONTRACT.aask(mock, "Who?")).value == {"name": "Ada"}
    with pytest.raises(TypeError, match="aask"):
        CONTRACT.ask(mock, "Who?")


def test_a_proxy_is_asked_like_its_class() -> None:
    """A mock with a specification, and proxies that tracers put around a client."""
    import openai

    client = Mock(spec=openai.AsyncOpenAI)
    assert (type(find_client(client)).__name__, find_client(client).is_async) == ("OpenAI", True)


class Wordy(str):
    """A text with its own class, as LangChain's parsers return it."""

    __slots__ = ()


def test_a_text_of_another_class_is_a_text() -> None:
    assert CONTRACT.ask(lambda messages: Wordy('{"name": "Ada"}'), "Who?").value == {"name": "Ada"}
    assert CONTRACT.ask(lambda messages: Wordy('{"name": "Ada",}'), "Who?").value == {"name": "Ada"}
    stream = CONTRACT.ask_stream(lambda messages: [Wordy('{"name": '), Wordy('"Ada"}')], "Who?")
    assert list(stream)[-1].value == {"name": "Ada"}
