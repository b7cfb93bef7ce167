"""The forms in which options may be given: types for editors and type checkers.

`ContractOptions` names the options of a contract; the other names are the types of single options, of the options of
`ask`, and of the messages. This module is not imported at run time. Anything that types cannot express is checked by
each part when it is compiled.
"""

import os
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from trueup.checks.order import Order
from trueup.checks.reply import ReplyRules
from trueup.checks.rules import Rules
from trueup.checks.scoring import Model as QualityModel
from trueup.checks.state import States
from trueup.checks.unknown_names import Mentions
from trueup.conform.schema import Schema
from trueup.contract.call_results import Errors
from trueup.contract.calls import CallOptions
from trueup.contract.options import ContractOptions as ContractOptions
from trueup.contract.options import Loaded as Loaded
from trueup.contract.options import (
    OtherOptions as OtherOptions,  # with the options of a contract that are declared there
)
from trueup.contract.plugins import CustomCheck
from trueup.verdict.catalogue import Level
from trueup.verdict.events import Subscriber
from trueup.verdict.reply import ToolCall
from trueup.verdict.tool import Tool

if TYPE_CHECKING:
    from trueup.ask.cache import Cache
    from trueup.ask.drivers.clock import Clock
    from trueup.ask.gate import Hold
    from trueup.ask.memory import Memory
    from trueup.ask.requests.outgoing import Hook as RequestHook

# A JSON Schema, the path of a file with one, a compiled schema, or True for any JSON value.
JsonSchema: TypeAlias = dict[str, Any] | bool | str | os.PathLike[str] | Schema

# Functions, classes, definitions in any provider's shape, functions by name, or your object with tools.
Tools: TypeAlias = Tool | Callable[..., Any] | Mapping[str, Any] | Iterable[Any] | Any


class CallTable(TypedDict, total=False):
    """`CallOptions` as a table."""

    from_text: bool
    parallel: bool
    defaults: bool
    mentions: bool | Mentions | Mapping[str, Any]
    envelope: bool
    required: bool
    types: Level
    outside_enum: Literal["error", "default"]
    claims: Mapping[str, Sequence[str]]


class OrderTable(TypedDict, total=False):
    """`Order` as a table."""

    sequence: Sequence[str]
    expected_sequence: Sequence[str]
    requires: Mapping[str, Sequence[str]]
    only_once: Sequence[str]
    at_most: Mapping[str, int]
    never_with: Mapping[str, Sequence[str]]
    level: Level


class RuleTable(TypedDict, total=False):
    """One rule as a table."""

    name: str
    expr: str
    error: str
    level: Level
    when: str


class QualityTable(TypedDict, total=False):
    """The options of `quality`."""

    model: str | os.PathLike[str] | Mapping[str, Any] | QualityModel
    below: float
    level: Level
    shadow: bool


class RelevanceTable(TypedDict, total=False):
    """The options of `relevance`."""

    below: float
    level: Level


class GroundedTable(TypedDict, total=False):
    """The options of `grounded`; `except` cannot be written as a keyword, so a table with it is a plain mapping."""

    fields: Sequence[str]
    quotations: Sequence[str]
    patterns: Mapping[str, Mapping[Any, str | Sequence[str]]]
    level: Level
    least: Literal["exact", "normalized", "fuzzy"]
    source: str
    roles: Sequence[str]
    kinds: Mapping[str, str]
    calls: bool


class RulesTable(TypedDict, total=False):
    """The sections of `rules`."""

    required: Sequence[str]
    types: Mapping[str, str]
    ranges: Mapping[str, Any]
    enums: Mapping[str, Any]
    rules: Sequence[str | RuleTable | Mapping[str, Any]]
    budget: int


# A table may also be a plain mapping, because one that was read from a file has no specific type.
CallsGiven: TypeAlias = CallOptions | CallTable | Mapping[str, Any]
OrderGiven: TypeAlias = Order | Sequence[str] | OrderTable | Mapping[str, Any]
RulesGiven: TypeAlias = Rules | Sequence[str | RuleTable | Mapping[str, Any]] | RulesTable | Mapping[str, Any]
ReplyGiven: TypeAlias = ReplyRules | bool | Mapping[str, Any]
StatesGiven: TypeAlias = States | Mapping[str, Any]
QualityGiven: TypeAlias = QualityTable | Mapping[str, Any]
RelevanceGiven: TypeAlias = bool | RelevanceTable | Mapping[str, Any]
GroundedGiven: TypeAlias = bool | Sequence[str] | GroundedTable | Mapping[str, Any]
ChecksGiven: TypeAlias = Sequence[str | Mapping[str, Any] | CustomCheck | Callable[..., Any]]


class RunGiven(TypedDict, total=False):
    """The options of every run, besides the client, the messages and the policy."""

    tools: Tools | None
    deps: Any
    turns: int
    errors: Errors
    max_result: int
    on_event: Subscriber | None
    on_request: "RequestHook | None"
    context: Mapping[str, Any] | None
    memory: "Memory | None"
    cache: "Cache | None"
    clock: "Clock | None"


class RunOptions(RunGiven, total=False):
    """The options of `Contract.run`."""

    on_call: Callable[[ToolCall], ToolCall | str | bool | None] | None
    cancel: threading.Event | None
    wait: Callable[[float], bool] | None


class AsyncRunOptions(RunGiven, total=False):
    """The options of `Contract.arun`."""

    on_call: Callable[[ToolCall], ToolCall | str | bool | Awaitable[ToolCall | str | bool | None] | None] | None
    parallel: int
    wait: Callable[[float], Awaitable[object]] | None


class RunStreamOptions(RunOptions, total=False):
    """The options of `Contract.run_stream`."""

    hold: "Hold"


class AsyncRunStreamOptions(AsyncRunOptions, total=False):
    """The options of `Contract.arun_stream`."""

    hold: "Hold"


# A text, one message, or a list of messages: dicts, pairs of a role and a text, or a framework's objects.
Messages: TypeAlias = str | Mapping[str, Any] | Sequence[Any]

# A callable, a URL, an SDK's client, LiteLLM, a LangChain runnable, or a list of these or of rungs, which are asked in
# this order.
Model: TypeAlias = Callable[..., Any] | str | Any
