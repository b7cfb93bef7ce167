"""Messages put together without touching the caller's: a copy of the list enters work, and only new messages are added.

Roles stay as providers need them: a word to the model joins the last message of the user, a hint goes in after the leading
system messages, and calls that were refused are followed by their results, in the provider's own shape.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from trueup.read.answers import CallResult, tool_results
from trueup.read.messages import role_of
from trueup.read.objects import record
from trueup.verdict.reply import Reply

Messages = list[Any]
_PLAIN = ("user", "system")  # roles that mean what they say where the content is a text


def opened(messages: Any) -> Messages:
    """The messages as a list of our own; a text is one message of the user.

    >>> opened("Who was Ada?")
    [{'role': 'user', 'content': 'Who was Ada?'}]
    """
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if type(messages) is list and messages:  # as most give
        return list(messages)
    if isinstance(messages, Mapping):
        return [messages]
    if not isinstance(messages, Sequence) or isinstance(messages, bytes | bytearray):
        raise TypeError(f"messages is a text or a list of messages; got {type(messages).__name__}")
    if not messages:
        raise ValueError("messages is empty; give a text, or a list with at least one message")
    return list(messages)


def role(message: Any) -> str:
    """Who speaks in a message; a (role, text) pair and a framework's object are known too."""
    if type(message) is dict and type(message.get("content")) is str and message.get("role") in _PLAIN:
        return str(message["role"])
    if isinstance(message, tuple) and len(message) == 2 and isinstance(message[0], str):
        return role_of({"role": message[0]})
    if isinstance(message, str):
        return "user"
    return role_of(message if type(message) is dict else record(message))


def with_system(messages: Messages, text: str) -> Messages:
    """The messages with one more of the system, after the leading ones.

    >>> with_system([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}], "Be brief.")[1]
    {'role': 'system', 'content': 'Be brief.'}
    """
    at = next((i for i, message in enumerate(messages) if role(message) != "system"), len(messages))
    return [*messages[:at], {"role": "system", "content": text}, *messages[at:]]


def with_user(messages: Messages, text: str) -> Messages:
    """The messages with a word to the model at the end, in the user's last message if that comes last.

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
    """Whether a reply's calls can stand in a conversation as they are: the model's own, each with arguments and an id.

    Where the provider matches results by name and order, as Gemini and Ollama do, no id is needed.
    """
    named = provider in {"gemini", "ollama"}
    return bool(reply.calls) and all(
        call.origin == "native" and (named or call.id) and call.args is not None and not call.answered
        for call in reply.calls
    )


def with_results(messages: Messages, reply: Reply, results: Sequence[CallResult], provider: str) -> Messages:
    """The messages with the reply's calls and what came of each, in the provider's shape."""
    return [*messages, *said(reply, provider), *tool_results(results, provider)]


def said(reply: Reply, provider: str) -> Messages:
    """A reply as messages of the conversation, in the provider's shape: one, or the items of the Responses API.

    What the provider needs to see again is kept as it came: thinking blocks and their signatures, encrypted reasoning.

    >>> said(Reply(text="Hello"), "openai")
    [{'role': 'assistant', 'content': 'Hello'}]
    """
    from trueup.ask.shapes.replies import replied  # loaded where a conversation goes on

    return replied(reply, provider)


def assistant(reply: Reply, provider: str) -> dict[str, Any]:
    """A reply as one message of the conversation; use `said` where a provider may need several.

    >>> assistant(Reply(text="Hello"), "openai")
    {'role': 'assistant', 'content': 'Hello'}
    """
    messages = said(reply, provider)
    message: dict[str, Any] = messages[0] if len(messages) == 1 else said(reply, "openai")[0]
    return message
