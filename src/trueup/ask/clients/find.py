"""Finds the client for a caller's object: trueup's own clients, an SDK's or a framework's, an address, or any callable.

Objects are recognized by their class and its module, so no SDK is imported. For anything else, it raises an error that lists the
supported clients.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

from trueup.ask.clients.client import Client, kinds_of
from trueup.verdict.secrets import masked

_ANTHROPIC = ("Anthropic", "AsyncAnthropic", "SyncAPIClient", "AsyncAPIClient")  # the last two: clouds' bases
# The package of an object's class, a test for the object, and the module and class of the client for it.
_KINDS: tuple[tuple[str, Callable[[Any], bool], str, str], ...] = (
    ("openai", lambda call: _has_class(call, "Responses", "AsyncResponses"), "responses", "Responses"),
    ("openai", lambda call: _has_class(call, "OpenAI", "AsyncOpenAI"), "openai", "OpenAI"),
    ("anthropic", lambda call: _has_class(call, *_ANTHROPIC) and hasattr(call, "messages"), "anthropic", "Anthropic"),
    ("google", lambda call: hasattr(call, "models") and hasattr(call, "aio"), "gemini", "Gemini"),
    ("mistralai", lambda call: hasattr(call, "chat"), "mistral", "Mistral"),
    ("cohere", lambda call: _has_class(call, "V2Client", "AsyncV2Client"), "cohere", "Cohere"),
    ("ollama", lambda call: hasattr(call, "chat"), "ollama", "Ollama"),
    ("botocore", lambda call: _service(call) == "bedrock-runtime", "bedrock", "Bedrock"),
    ("pydantic_ai", lambda call: hasattr(call, "request") and hasattr(call, "model_name"), "pydantic_ai", "PydanticAI"),
)
_PACKAGES = frozenset(package for package, *_ in _KINDS)
# The advice for other objects of the same package, such as a part of a client.
_INSTEAD = {
    "openai": "give the client, such as OpenAI(…), or its `responses`",
    "anthropic": "give the client, such as Anthropic(…)",
    "google": "give the client, genai.Client(…)",
    "mistralai": "give the client, Mistral(…)",
    "cohere": "give cohere.ClientV2(…); cohere.Client speaks version 1 of the API",
    "ollama": "give ollama.Client(…)",
    "botocore": 'give boto3.client("bedrock-runtime")',
    "litellm": "give litellm itself or a Router",
    "pydantic_ai": "give a model, such as OpenAIChatModel(…)",
}
_OTHERS = (
    "give a callable, a client of openai (or its `responses`), anthropic, google-genai, mistralai, cohere (ClientV2), ollama or "
    'boto3 ("bedrock-runtime"), LiteLLM, a LangChain runnable, a pydantic-ai model, or a URL'
)


def find_client(call: Any) -> Client:
    """The client for the caller's object.

    >>> find_client(lambda messages: "hi").modes
    ('text',)
    >>> find_client(5)
    Traceback (most recent call last):
    TypeError: cannot ask an object of type int: give a callable, a client of openai (or its `responses`), anthropic, ... or a URL
    """
    if isinstance(call, Client):
        return call
    if isinstance(call, str):
        if call.startswith(("http://", "https://")):
            from trueup.ask.clients.http import Http

            return Http(call)
        raise ValueError(f"cannot ask {masked(call)!r}: an address must start with http:// or https://")
    home = _home(call)
    for package, fits, module, name in _KINDS if home else ():
        if package == home and fits(call):
            client: Client = getattr(import_module(f"trueup.ask.clients.{module}"), name)(call)
            return client
    if _is_litellm(call):
        from trueup.ask.clients.litellm import LiteLLM

        return LiteLLM(call)
    if hasattr(call.__class__, "invoke") and hasattr(call.__class__, "ainvoke"):  # mocks have every attribute
        from trueup.ask.clients.langchain import Runnable

        return Runnable(call)
    if callable(call) and not isinstance(call, type):
        from trueup.ask.clients.call import CallableClient

        return CallableClient(call)
    raise TypeError(_refusal(call, home))


def _refusal(call: Any, home: str) -> str:
    """Why an object cannot be asked, and what to give instead."""
    if isinstance(call, type):
        return f"cannot ask the class {call.__name__}: give an instance of it, such as {call.__name__}(…)"
    if isinstance(call, ModuleType):
        return f"cannot ask the module {call.__name__}: {_INSTEAD.get(call.__name__, _OTHERS)}"
    if home == "botocore" and (service := _service(call)):
        return f"cannot ask the boto3 client of {service!r}: {_INSTEAD[home]}"
    if home:
        return f"cannot ask {type(call).__name__} of {home}: {_INSTEAD[home]}"
    return f"cannot ask an object of type {type(call).__name__}: {_OTHERS}"


def _home(call: Any) -> str:
    """The package of an object's class or of one of its base classes; for a module, its own name."""
    name = getattr(call, "__name__", None)
    if name == "ollama" and hasattr(call, "chat"):
        return "ollama"
    for kind in kinds_of(call):
        home = kind.__module__.partition(".")[0]
        if home in _PACKAGES:
            return home
    return ""


def _has_class(call: Any, *names: str) -> bool:
    return any(kind.__name__ in names for kind in kinds_of(call))


def _service(call: Any) -> str:
    """The AWS service of a boto3 client; empty for other objects."""
    model = getattr(getattr(call, "meta", None), "service_model", None)
    return str(getattr(model, "service_name", ""))


def _is_litellm(call: Any) -> bool:
    call = call.func if isinstance(call, partial) else call
    name = getattr(call, "__name__", "")
    if name == "litellm" and hasattr(call, "completion"):
        return True
    if type(call).__module__.partition(".")[0] == "litellm" and hasattr(call, "acompletion"):
        return True  # a router
    home = str(getattr(call, "__module__", ""))
    return home.partition(".")[0] == "litellm" and name in {"completion", "acompletion", "wrapper", "wrapper_async"}
