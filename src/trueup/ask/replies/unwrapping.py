"""A reply as the contract judges it: the value taken out of the answer tool and the wrapper, without nulls for absent fields.

Takes a raw reply and its request; returns the reply, read and unwrapped, with findings on its shape. A reply that is not wrapped
is returned unchanged. The original stays in the reply's `raw`. `UnwrappedStream` does the same for a stream while it arrives.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from trueup.ask.clients.request import Request
from trueup.ask.requests.root_wrapping import KEY, Unwrapping, unwrapped
from trueup.ask.requests.strictness import answer_form, form_with_nulls
from trueup.conform.absent import without_nulls
from trueup.conform.strict import StrictForm
from trueup.read.deltas import Delta
from trueup.read.reader import read
from trueup.read.sources import is_source
from trueup.verdict.codec import written
from trueup.verdict.reply import Reply, ToolCall

_JSON = ("{", "[", "`")  # the first character of a value, or of the fence around it
_BROKEN = (msgspec.DecodeError, RecursionError, UnicodeEncodeError)


def received(raw: Any, request: Request, dialect: str, is_valid: Callable[[Any], bool] | None = None) -> Any:
    """The part of a raw reply that the contract judges. `is_valid` returns whether the contract's schema accepts a value.

    >>> received('{"value": [1, 2]}', Request([], wrapped=True), "openai").text
    '[1, 2]'
    """
    if request.mode == "text" and not request.tools and not request.wrapped:  # there is nothing to unwrap
        return raw
    form = answer_form(request, dialect)
    tools = {
        tool.name: found for tool in request.tools if (found := form_with_nulls(tool.parameters, dialect, request))
    }
    if (not request.wrapped and not request.answer_tool and form is None and not tools) or is_source(raw):
        return raw
    reading = read(raw)
    reply = _out_of_tool(reading.reply, request.answer_tool) if request.answer_tool else reading.reply
    reply = _with_text(reply, _value_text(reply.text, form, is_valid, is_wrapped=request.wrapped))
    if reply.calls and tools:
        reply = _with_calls(reply, tuple(_without_nulls(call, tools.get(call.name)) for call in reply.calls))
    if reply is reading.reply and isinstance(raw, str | bytes):
        return raw
    return reading._replace(reply=reply) if reading.findings else reply


def _with_text(reply: Reply, text: str) -> Reply:
    return reply if text == reply.text else msgspec.structs.replace(reply, text=text)


def _with_calls(reply: Reply, calls: tuple[ToolCall, ...]) -> Reply:
    same = all(new is old for new, old in zip(calls, reply.calls, strict=True))
    return reply if same else msgspec.structs.replace(reply, calls=calls)


def _out_of_tool(reply: Reply, name: str) -> Reply:
    """The reply with the arguments of the answer tool as its text; other calls stay calls."""
    answer = next((call for call in reply.calls if call.name == name and call.origin == "native"), None)
    if answer is None:
        return reply
    rest = (call for call in reply.calls if call.name != name)
    calls = tuple(msgspec.structs.replace(call, index=index) for index, call in enumerate(rest))
    text = answer.raw_args or ("" if answer.args is None else written(answer.args).decode())
    finish = "stop" if reply.finish == "tool" and not calls else reply.finish
    return msgspec.structs.replace(reply, text=text, calls=calls, finish=finish, turns=None)


def _value_text(text: str, form: StrictForm | None, is_valid: Callable[[Any], bool] | None, *, is_wrapped: bool) -> str:
    """The text of the value: without its wrapper, and without nulls for absent fields."""
    if form is not None and "null" in text:
        try:
            given = msgspec.json.decode(text)
        except _BROKEN:
            given = None
        kept = without_nulls(given, form)
        text = text if kept is given else written(kept).decode()
    return _unwrapped(text, is_valid) if is_wrapped else text


def _unwrapped(text: str, is_valid: Callable[[Any], bool] | None) -> str:
    """The text without its wrapper. If only the whole text is valid, `value` is a field of the schema, and there is no wrapper."""
    inner = unwrapped(text)
    if inner is text or is_valid is None:
        return inner
    try:
        whole = msgspec.json.decode(text)
    except _BROKEN:
        return inner
    return text if not is_valid(whole[KEY]) and is_valid(whole) else inner


def _without_nulls(call: ToolCall, form: StrictForm | None) -> ToolCall:
    if form is None or call.args is None:
        return call
    kept = without_nulls(call.args, form)
    return call if kept is call.args else msgspec.structs.replace(call, args=kept, raw_args=written(kept).decode())


class UnwrappedStream:
    """Takes the value that is judged out of a stream's pieces."""

    __slots__ = ("_called", "_ignores", "_name", "_unwrapping")

    def __init__(self, request: Request) -> None:
        self._name = request.answer_tool
        self._called = ""  # the tool whose arguments arrive
        self._ignores = False  # whether the model writes the value instead of calling the tool
        self._unwrapping = Unwrapping() if request.wrapped else None

    def of(self, delta: Delta) -> Delta:
        """The delta that a piece adds. The arguments of an answer tool are the text, unless the model writes JSON first.

        >>> growing = UnwrappedStream(Request([], answer_tool="answer", wrapped=True))
        >>> growing.of(Delta(calls=("answer",))), growing.of(Delta(arguments='{"value": 1')).text
        (Delta(text='', calls=(), arguments=''), '1')
        """
        text, calls, arguments = delta
        if self._name:
            self._called = calls[-1] if calls else self._called
            self._ignores = self._ignores or (not self._called and text.lstrip()[:1] in _JSON)
            is_answer = self._called == self._name
            if not self._ignores:
                text = arguments if is_answer else ""
            calls = tuple(name for name in calls if name != self._name)
            arguments = "" if is_answer else arguments
        if self._unwrapping is not None:
            text = self._unwrapping.feed(text) if text else ""
        return Delta(text, calls, arguments)


def growing(request: Request) -> UnwrappedStream | None:
    """A reader that takes the value out of a stream's pieces; None if the pieces are the value."""
    return UnwrappedStream(request) if request.answer_tool or request.wrapped else None
