"""Which client a caller's object is: a client of the house, an SDK's, a framework's, an address, or any callable.

Objects are known by their class's module, so no SDK is imported to find out. What is none of these is refused with a list of
what would do.
"""

from typing import Any

from trueup.ask.clients.client import Client


def find_client(call: Any) -> Client:
    """The client for what was given to ask.

    >>> find_client(lambda messages: "hi").modes
    ('text',)
    >>> find_client(5)
    Traceback (most recent call last):
    TypeError: cannot ask a int: give a callable, an openai, anthropic or google-genai client, LiteLLM, ... or a URL
    """
    if isinstance(call, Client):
        return call
    if isinstance(call, str):
        if call.startswith(("http://", "https://")):
            from trueup.ask.clients.http import Http

            return Http(call)
        raise ValueError(f"cannot ask {call!r}: an address starts with http:// or https://")
    home = _home(call)
    if home == "openai" and hasattr(call, "chat"):
        from trueup.ask.clients.openai import OpenAI

        return OpenAI(call)
    if home == "anthropic" and hasattr(call, "messages"):
        from trueup.ask.clients.anthropic import Anthropic

        return Anthropic(call)
    if home == "google" and hasattr(call, "models"):
        from trueup.ask.clients.gemini import Gemini

        return Gemini(call)
    if _is_litellm(call):
        from trueup.ask.clients.litellm import LiteLLM

        return LiteLLM(call)
    if hasattr(call, "invoke") and hasattr(call, "ainvoke"):
        from trueup.ask.clients.langchain import Runnable

        return Runnable(call)
    if callable(call):
        from trueup.ask.clients.call import Call

        return Call(call)
    raise TypeError(
        f"cannot ask a {type(call).__name__}: give a callable, an openai, anthropic or google-genai client, LiteLLM, "
        "a LangChain runnable, or a URL"
    )


def _home(call: Any) -> str:
    """The package that an object's class, or a class it is made from, comes from."""
    for kind in type(call).__mro__:
        home = kind.__module__.partition(".")[0]
        if home in {"openai", "anthropic", "google"}:
            return home
    return ""


def _is_litellm(call: Any) -> bool:
    name = getattr(call, "__name__", "")
    if name == "litellm" and hasattr(call, "completion"):
        return True
    home = str(getattr(call, "__module__", ""))
    return home.partition(".")[0] == "litellm" and name in {"completion", "acompletion", "wrapper", "wrapper_async"}
