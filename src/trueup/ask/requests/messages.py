"""Adds messages to a conversation without changing the caller's: works on a copy of the list, and adds only new messages.

Roles stay in the order that providers need: a text for the model is added to the last user message, a hint is added after the leading
system messages, and refused calls are followed by their results, in the provider's own shape.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from trueup.read.answers import CallResult, tool_results
from trueup.read.messages import role_of
from trueup.read.objects import record
from trueup.verdict.reply import Reply

Messages = list[Any]
_PLAIN = ("user", "system")  # roles that need no further checks if the content is a text


def opened(messages: Any) -> Messages:
    """The messages as a new list; a text becomes one user message.

    >>> opened("Who was Ada?")
    [{'role': 'user', 'content': 'Who was Ada?'}]
    """
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if type(messages) is list and messages:  # the usual case
        return list(messages)
    if isinstance(messages, Mapping):
        return [messages]
    if not isinstance(messages, Sequence) or isinstance(messages, bytes | bytearray):
        raise TypeError(f"messages must be a text or a list of messages; got {type(messages).__name__}")
    if not messages:
        raise ValueError("messages is empty; give a text, or a list with at least one message")
    return list(messages)


def role(message: Any) -> str:
    """The role of a message, which may also be a (role, text) pair or a framework's object."""
    if type(message) is dict and type(message.get("content")) is str and message.get("role") in _PLAIN:
        return str(message["role"])
    if isinstance(message, tuple) and len(message) == 2 and isinstance(message[0], str):
        return role_of({"role": message[0]})
    if isinstance(message, str):
        return "user"
    return role_of(message if type(message) is dict else record(message))


def with_system(messages: Messages, text: str) -> Messages:
    """The messages with another system message, after the leading ones.

    >>> with_system([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}], "Be brief.")[1]
    {'role': 'system', 'content': 'Be brief.'}
    """
    at = next((i for i, message in enumerate(messages) if role(message) != "system"), len(messages))
    return [*messages[:at], {"role": "system", "content": text}, *messages[at:]]


def with_user(messages: Messages, text: str) -> Messages:
    """The messages with a text for the model at the end, added to the last message if that is the user's.

    >>> with_user([{"role": "user", "content": "Hi"}], "Again, please.")
    [{'role': 'user', 'content': 'Hi\\n\\nAgain, please.'}]
    """
    last = messages[-1] if messages else None
    if type(last) is dict and _is_user(last):
        joined = _joined(last, text)
        if joined is not None:
            return [*messages[:-1], joined]
    return [*messages, {"role": "user", "content": text}]


def _is_user(message: dict[str, Any]) -> bool:
    return message.get("role") == "user"


def _joined(message: dict[str, Any], text: str) -> dict[str, Any] | None:
    content, parts = message.get("content"), message.get("parts")
    if isinstance(content, str):
        return {**message, "content": f"{content}\n\n{text}"}
    if isinstance(content, list):
        typed = not content or "type" in record(content[-1])
        return {**message, "content": [*content, {"type": "text", "text": text} if typed else {"text": text}]}
    if isinstance(parts, list):
        return {**message, "parts": [*parts, {"text": text}]}
    return None


def can_echo(reply: Reply, provider: str) -> bool:
    """Whether a reply's calls can be added to a conversation unchanged: they are native calls with arguments and an id.

    If the provider matches results by name and order, as Gemini and Ollama do, no id is needed.
    """
    named = provider in {"gemini", "ollama"}
    return bool(reply.calls) and all(
        call.origin == "native" and (named or call.id) and call.args is not None and not call.answered
        for call in reply.calls
    )


def with_results(messages: Messages, reply: Reply, results: Sequence[CallResult], provider: str) -> Messages:
    """The messages with the reply's calls and their results, in the provider's shape."""
    return [*messages, *said(reply, provider), *tool_results(results, provider)]


def said(reply: Reply, provider: str) -> Messages:
    """A reply as messages of the conversation, in the provider's shape: one, or the items of the Responses API.

    Parts that the provider needs again are kept unchanged: thinking blocks and their signatures, encrypted reasoning.

    >>> said(Reply(text="Hello"), "openai")
    [{'role': 'assistant', 'content': 'Hello'}]
    """
    from trueup.ask.shapes.replies import replied  # loaded only when a conversation continues

    return replied(reply, provider)


def assistant(reply: Reply, provider: str) -> dict[str, Any]:
    """A reply as one message of the conversation; use `said` if a provider may need several.

    >>> assistant(Reply(text="Hello"), "openai")
    {'role': 'assistant', 'content': 'Hello'}
    """
    messages = said(reply, provider)
    message: dict[str, Any] = messages[0] if len(messages) == 1 else said(reply, "openai")[0]
    return message
