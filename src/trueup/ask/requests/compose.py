"""Makes requests: takes the caller's messages, the purpose of a call and the last faulty reply; returns a `Request`.

Each request is made from the caller's messages and at most one faulty reply, so that its size stays bounded, no matter how many times
the model is asked. The caller's messages are never changed.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from trueup.ask.clients.request import Request
from trueup.ask.loop.plan import Purpose, Send
from trueup.ask.policy import Mode, Policy
from trueup.ask.requests.messages import Messages, can_echo, with_results, with_system, with_user
from trueup.ask.requests.root_wrapping import is_described, is_object, wrapped
from trueup.ask.words import prompts
from trueup.ask.words.calls import calls_schema
from trueup.ask.words.fields import MissingFields
from trueup.ask.words.instructions import schema_told, told
from trueup.ask.words.shape import shape
from trueup.ask.words.templates import Templates, find_words
from trueup.read.answers import CallResult
from trueup.verdict.tool import Tool
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.checks.state import Situation
    from trueup.contract.calls import CallOptions

_TEXT: tuple[Mode, ...] = ("text",)
_PLACEHOLDER = re.compile(r"<[^\"<>\n]+>")


class FaultyReply(msgspec.Struct, frozen=True):
    """The reply to correct, its fields to ask for if not all, and the random number that its fence is made with.

    `situation` is the state of the conversation, for a contract with states.
    """

    verdict: Verdict
    asked: MissingFields | None = None
    chance: float = 0.0
    situation: "Situation | None" = None


class Composer:
    """Makes the requests of one ask."""

    __slots__ = (
        "_as_data", "_inside", "_passes_on", "_words", "language", "messages", "must_call", "name", "policy", "provider", "schema",
        "takes_tools", "tools",
    )  # fmt: skip

    def __init__(
        self, messages: Messages, policy: Policy, *, schema: Any, tools: tuple[Tool, ...], provider: str, name: str,
        language: str = "", takes_tools: bool = True, calls: "CallOptions | None" = None, accept: str = "guess",
        passes_on: bool = False,
    ) -> None:  # fmt: skip
        self.messages = messages
        self.policy = policy
        self.schema = schema_told(schema, calls)
        self.tools = tools
        self.provider = provider
        self._inside = calls is not None and calls.envelope  # calls are part of the value: they are described in words
        self.takes_tools = takes_tools and not self._inside
        self.must_call = bool(tools) and calls is not None and calls.required
        # The user gets the provider's own reply: it must not have a wrapper, or nulls for absent fields.
        self._passes_on = passes_on
        # A call can be requested as data if calls are also read from text.
        readable = calls is not None and calls.from_text and accept in {"guess", "lossy"}
        self._as_data = self.must_call and readable and schema is None
        self.name = (
            re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] if name else "reply"
        )  # the form of a schema's name that providers accept
        self.language = policy.language or language or "en"
        # The built-in templates are read only when they are needed; the caller's are checked before anything is sent.
        chosen = policy.words is not None or self.language != "en"
        self._words = find_words(self.language, policy.words) if chosen else None

    @property
    def words(self) -> Templates:
        if self._words is None:
            self._words = find_words(self.language, self.policy.words)
        return self._words

    @property
    def placeholders(self) -> frozenset[str]:
        """The placeholders for values in the form that a model is shown, except those that are also values in the schema."""
        if not isinstance(self.schema, dict):
            return frozenset()
        return frozenset(_PLACEHOLDER.findall(shape(self.schema, self.words.types))).difference(_named_in(self.schema))

    @property
    def can_hold(self) -> bool:
        """Whether a provider can be held to a schema: the contract's, or the schema of a required call."""
        return is_described(self.schema) or self._as_data

    def allowed(self, modes: tuple[Mode, ...]) -> tuple[Mode, ...]:
        """The modes in which the contract's value can be requested; `text` is always possible.

        `json_object` is left out if the value is not an object, and `tool` if one of the contract's tools must be called.
        """
        if modes == _TEXT or not self.can_hold:
            return _TEXT
        barred: set[Mode] = set()
        if isinstance(self.schema, dict) and not is_object(self.schema):
            barred |= {"json_object", "json_schema"} if self._passes_on else {"json_object"}
        if self._passes_on or not self._can_answer_by_tool(self.schema):
            barred.add("tool")
        return tuple(mode for mode in modes if mode not in barred) or _TEXT

    def _can_answer_by_tool(self, schema: Any) -> bool:
        return is_described(schema) and not self.must_call and self.takes_tools

    def _answer_tool(self, schema: Any) -> Tool:
        """The answer tool, whose arguments are the value."""
        taken = {tool.name for tool in self.tools}
        names = (self.name, *(f"{self.name[:55]}_answer{n or ''}" for n in range(len(taken))))  # at most 64 characters
        name = next(name for name in names if name not in taken)
        return Tool(name, self.words.fill("answer_tool"), wrapped(schema))

    def _call_as_data(self, send: Send, faulty: FaultyReply | None) -> dict[str, Any] | None:
        """The schema of a step that requests a call as data, because the provider gave no call that can be made."""
        if not self._as_data or faulty is None or send.purpose != "repair" or send.mode != "json_schema":
            return None
        return calls_schema(self.tools) if send.afresh or not faulty.verdict.reply.calls else None

    def request(self, send: Send, faulty: FaultyReply | None) -> Request:
        """The request of a step."""
        schema = self.schema
        as_data = self._call_as_data(send, faulty)
        held = as_data is not None
        if held:
            schema = as_data
        elif send.fields and faulty is not None and faulty.asked is not None:
            schema = faulty.asked.schema
        tools, may_call = self._tools(reduced=send.reduced)
        by_tool = send.mode == "tool" and self._can_answer_by_tool(schema)
        enforced = send.mode == "json_schema" and isinstance(schema, dict)
        request = Request(
            messages=self.compose(
                send.purpose,
                send.mode,
                faulty,
                send.nth,
                send.most,
                fields=send.fields,
                tools=tools if may_call else (),
                held=held,
                afresh=send.afresh,
            ),
            model=send.model,
            mode=send.mode if schema is not None and (by_tool or send.mode != "tool") else "text",
            schema=wrapped(schema) if enforced else None,
            name=self.name,
            tools=() if self._inside else tools,
            must_call=self.must_call and send.forced and not held and not self._inside,
            call_tools=may_call and not held,
            temperature=send.temperature,
            max_tokens=send.max_tokens,
            timeout=send.timeout,
            parameters=self.policy.parameters,
            without=send.without | {"nulls"} if self._passes_on else send.without,
            wrapped=(enforced or by_tool) and not is_object(schema),
        )
        return _answering(request, self._answer_tool(schema)) if by_tool else request

    def compose(
        self, purpose: Purpose, mode: Mode, faulty: FaultyReply | None, nth: int, most: int, *, fields: bool = False,
        tools: tuple[Tool, ...] = (), held: bool = False, afresh: bool = False,
    ) -> Messages:  # fmt: skip
        """The messages of a call; a fresh list each time."""
        schema = faulty.asked.schema if fields and faulty is not None and faulty.asked is not None else self.schema
        if purpose == "ask" or faulty is None:
            return self._instructed(schema, mode, tools)
        verdict = faulty.verdict
        if purpose == "regenerate":
            hint = prompts.regenerate_text(
                verdict, self.words, self.policy.faults, faulty.situation, nth=nth, most=most
            )
            return with_system(self._instructed(schema, mode, tools), hint)
        limits: dict[str, Any] = {
            "nth": nth, "most": most, "quoted": self.policy.quote, "faults": self.policy.faults, "chance": faulty.chance,
        }  # fmt: skip
        named: dict[str, Any] = {
            "tools": self.tools if held else self._named(verdict), "as_json": held, "inside": self._inside, "known": self.tools,
        }  # fmt: skip
        # If the correction shows the form, the instructions need not show it too.
        if afresh and (held or not verdict.reply.calls):
            text = prompts.afresh_text(verdict, self.schema, self.words, **limits, **named)
            if text:
                return with_user(self._instructed(schema if named["tools"] else None, mode, tools), text)
        if can_echo(verdict.reply, self.provider):
            return with_results(
                self._instructed(schema, mode, tools), verdict.reply, self._results(verdict), self.provider
            )
        if fields and faulty.asked is not None:
            text = prompts.fields_text(verdict, faulty.asked.schema, self.words, **limits, schema=self.schema)
            return with_user(self._instructed(None, mode, tools), text)
        in_words = bool(self.tools) and not self.takes_tools and not self._inside  # `tools_text` describes them
        called = prompts.faulty_tools(verdict, self.tools)
        whole = not self._by_provider(mode)
        text = prompts.repair_text(
            verdict, self.schema, self.words, **limits, **named, called=called, tags=in_words, whole=whole
        )
        shown = not named["tools"] and prompts.shows_form(self.schema, called, inside=self._inside)
        return with_user(self._instructed(None if shown else schema, mode, tools), text)

    def _by_provider(self, mode: Mode) -> bool:
        """Whether no instructions describe the format: the provider enforces it, or the policy forbids them."""
        instruct = self.policy.instruct
        return instruct == "never" or (instruct == "auto" and mode in ("json_schema", "tool"))

    def _instructed(self, schema: Any, mode: Mode, tools: tuple[Tool, ...]) -> Messages:
        """The caller's messages with the instructions that the provider does not give the model itself."""
        messages = list(self.messages)
        tools = () if self.takes_tools or self.policy.instruct == "never" else tools
        schema = None if self._by_provider(mode) else schema
        if schema is None and not tools:
            return messages
        for text in told(schema, tools, self.words, inside=self._inside):
            messages = with_system(messages, text)
        return messages

    def _named(self, verdict: Verdict) -> tuple[Tool, ...]:
        """The tools to name in a correction: all tools, if a required call is missing."""
        return self.tools if self.must_call and not verdict.reply.calls and not self._inside else ()

    def _results(self, verdict: Verdict) -> list[CallResult]:
        """A result for every call of a refused reply: the reason, or that another call was refused."""
        most = self.policy.faults
        why = {refusal.call.index: refusal.findings for refusal in verdict.refused}
        common = [fault for fault in verdict.errors if not fault.path.startswith("$.calls[")]
        return [
            CallResult(
                call,
                prompts.refused_text(why.get(call.index) or common, verdict, self.words, most, self.tools, self.schema),
                is_error=True,
            )
            for call in verdict.reply.calls
        ]

    def _tools(self, *, reduced: bool) -> tuple[tuple[Tool, ...], bool]:
        """The tools to offer, and whether they may be called."""
        kept = self.policy.last_tools
        if not reduced or kept is None or (self.must_call and not kept):
            return self.tools, True
        if not kept:
            return self.tools, False
        return tuple(tool for tool in self.tools if tool.name in kept), True


def _named_in(schema: Any) -> Iterator[str]:
    """The texts that are values in a schema: constants and enum members."""
    stack = [schema]
    while stack:
        here = stack.pop()
        if isinstance(here, dict):
            named = here.get("enum")
            yield from (
                text
                for text in (*(named if isinstance(named, list) else ()), here.get("const"))
                if isinstance(text, str)
            )
            stack += here.values()
        elif isinstance(here, list):
            stack += here


def _answering(request: Request, answer: Tool) -> Request:
    """A request for the arguments of a tool; the contract's own tools may be called instead."""
    others = bool(request.tools) and request.call_tools
    return msgspec.structs.replace(
        request, tools=(*request.tools, answer), answer_tool=answer.name, must_call=others, call_tools=True
    )
