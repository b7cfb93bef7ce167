"""The contract: its options define a valid reply, and `check()` is the only place that combines the steps of judging.

Takes a reply and returns a Verdict. A bad reply never raises; misusing the contract does.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, overload
from warnings import warn

import msgspec
from orjson import dumps

from trueup.conform.options import read_options
from trueup.conform.schema import Schema, compile_schema
from trueup.contract.judging.conversation import arrived, completed
from trueup.contract.judging.incoming import STREAM_STARTS, WHOLE, called_before, incoming, is_stream
from trueup.contract.judging.integers import alias_test, either, integral_test
from trueup.contract.judging.limits import depth_over, too_large
from trueup.contract.judging.merge import NO_CALLS, Account, JudgedCalls, merge
from trueup.contract.meaning.fallbacks import read_fallbacks, with_fallbacks
from trueup.contract.option_help import SignatureOfOptions, documented, named, options_of, refuse_unknown, told
from trueup.contract.options import DEFAULTS, OPTIONS, Loaded, refuse_bad_values
from trueup.contract.tool_calls.envelope import SCHEMA as ENVELOPE
from trueup.contract.tool_calls.envelope import enclosed, encloses, lists_calls, opened, with_passed
from trueup.recover.json.clean import WRITABLE_DEPTH, looks_odd
from trueup.verdict.bugs import tried
from trueup.verdict.codec import as_json, decode
from trueup.verdict.facts import Finding, Fix
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.tool import Tool
from trueup.verdict.verdict import Refusal, T, Verdict

if TYPE_CHECKING:
    import threading
    from collections.abc import Awaitable
    from typing import Unpack

    from typing_extensions import TypeForm  # every type checker has it

    from trueup.ask.answer import Answer
    from trueup.ask.cache import Cache
    from trueup.ask.drivers.clock import Clock
    from trueup.ask.gate import Hold
    from trueup.ask.memory import Memory
    from trueup.ask.policy import Policy
    from trueup.ask.requests.outgoing import Hook
    from trueup.ask.run import Run
    from trueup.ask.running import AsyncRunStream, RunStream
    from trueup.ask.stream import AskStream, AsyncAskStream
    from trueup.ask.words.prompts import Form
    from trueup.conform.dialects import Provider
    from trueup.contract.calls import CallJudge, CallOptions
    from trueup.contract.fingerprint import Fingerprint
    from trueup.contract.items import Items, X
    from trueup.contract.judging.fast_path import ShortWay
    from trueup.contract.judging.judge import Judge
    from trueup.contract.meaning.meaning import Meaning, ScoreCheck
    from trueup.contract.option_types import (
        AsyncRunOptions,
        AsyncRunStreamOptions,
        CallTable,
        Messages,
        Model,
        RunOptions,
        RunStreamOptions,
        Tools,
    )
    from trueup.contract.options import ContractOptions, OtherOptions
    from trueup.contract.stream import Stream
    from trueup.contract.streaming.early_faults import Early
    from trueup.contract.streaming.visible_value import Guide
    from trueup.verdict.events import Subscriber

_UNMADE = object()
_BESIDE = frozenset({"W002", "W010"})  # there is something next to the value that was read


class Contract(Generic[T]):
    """Defines a valid reply.

    OPTIONS

    >>> contract = Contract({"type": "object", "properties": {"age": {"type": "integer"}}})
    >>> verdict = contract.check('```json\\n{"age": "36",}\\n```')
    >>> verdict.ok, verdict.data, [fix.code for fix in verdict.fixes]
    (True, {'age': 36}, ['W001', 'C001', 'S001', 'W001'])
    """

    __slots__ = (
        "_brief", "_calls", "_early", "_fallbacks", "_given", "_guide", "_integral", "_is_valid", "_listens", "_made", "_meaning", "_plain", "_print", "_shallow",
        "_text_only", "_validates", "_way",
        "accept", "language", "max_depth", "max_size", "name", "options", "schema", "strict", "version",
    )  # fmt: skip

    __signature__ = SignatureOfOptions()

    @overload
    def __init__(self, schema: type[T], **options: "Unpack[ContractOptions]") -> None: ...
    @overload
    def __init__(self, schema: "TypeForm[T]", **options: "Unpack[ContractOptions]") -> None: ...
    @overload
    def __init__(self: "Contract[Any]", schema: Any = None, **options: "Unpack[ContractOptions]") -> None: ...
    def __init__(self, schema: Any = None, **options: Any) -> None:
        if not OPTIONS.keys() >= options.keys():
            refuse_unknown("Contract", options, OPTIONS)
        given: Loaded = {**DEFAULTS, "schema": schema, **options}  # type: ignore[typeddict-item]
        self._given: dict[str, Any] = {**given}
        refuse_bad_values(self._given)
        self.name, self.language, self.version = given["name"], given["language"], given["version"]
        self.options = read_options(given["coerce"])
        self.accept, self.strict = given["accept"], given["strict"]
        self.max_size, self.max_depth = given["max_size"], given["max_depth"]
        tools, order, calls = given["tools"], given["order"], given["calls"]
        if schema is None and encloses(calls):
            schema = ENVELOPE
        self.schema: Schema | None = None if schema is None else compile_schema(schema)
        self._made: Judge | None = None
        self._guide: Any = _UNMADE
        self._early: Any = _UNMADE
        self._print: Fingerprint | None = None
        if tools is None and (order is not None or calls is not None):
            raise ValueError("order and calls refer to tools; give tools as well")
        self._calls = None if tools is None else self._call_judge(tools, order, calls)
        self._fallbacks = read_fallbacks(given["fallbacks"])
        self._meaning = self._make_meaning(given)
        self._listens = self._calls is not None or (self._meaning is not None and self._meaning.listens)
        self._text_only = self._calls is None and self._meaning is None
        self._validates = self._calls is not None or (self.schema is not None and self.schema.is_type)
        self._brief = False
        self._way: ShortWay | None = None
        if self.schema is not None:
            self._is_valid = self.schema.is_valid
            self._shallow = self.max_depth < WRITABLE_DEPTH
            self._plain = not self.schema.is_type
            whole = self._plain and self.schema.has_integer and self.options.profile != "off"
            self._integral = either(
                integral_test(self.schema.source, has_integer=whole), alias_test(self.options.aliases, self.schema.keys)
            )
            self._brief = self._plain and self._calls is None and not self.judges_meaning

    def __repr__(self) -> str:
        """A line that identifies the contract: its name, its schema, and its other options."""
        return f"<Contract{told(self.name, self._given)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the options from which the contract was made, with functions and classes by name."""
        return _made_of, (type(self), self._given)

    @classmethod
    def load(cls, path: "str | os.PathLike[str]", **options: "Unpack[Loaded]") -> "Contract":
        """Load the contract from the YAML, TOML or JSON file at `path`.

        The `options` are the same as for `Contract`, and override the ones in the file. If the file has faults, a
        `ContractError` lists each of them with file, line and column.
        """
        from trueup.contract.lint.run import load_contract  # the file readers are loaded only if a file is read

        refuse_unknown("Contract.load", options, OPTIONS)
        return load_contract(path, {**options})

    @classmethod
    def envelope(
        cls,
        tools: "Tools | None" = None,
        *,
        calls: "CallTable | Mapping[str, Any] | None" = None,
        **options: "Unpack[OtherOptions]",
    ) -> "Contract":
        """A contract for models that call tools in JSON: `{"toolCalls": […], "content": "…", "needsMoreWork": …}`.

        An object with neither `content` nor a call is refused. With `tools`, the calls inside are judged like native
        ones; `calls` and the other options are the same as for `Contract`.

        >>> Contract.envelope().check('{"content": "Done."}').ok, Contract.envelope().check("{}").ok
        (True, False)
        """
        if tools is not None:
            calls = {**(calls or {}), "envelope": True}
        return cls(ENVELOPE, tools=tools, calls=calls, **options)

    def check(self, reply: Any, context: dict[str, Any] | None = None) -> Verdict[T]:
        """Judge one reply: text, bytes, a provider's dict or SDK object, a list of messages, a stream, or a `Reply`.

        `reply` may have the shape of any provider; for data that is already parsed, use `check_value`. `context` is
        what is known about the conversation: `state`, `data`, `history`, and anything that your own checks need;
        without a `history`, it is taken from the messages that are checked. Validators of pydantic types get the
        context as `info.context`. Asynchronous checks run to completion; inside an event loop, await `acheck` instead.

        >>> Contract(True).check("no JSON here").findings[0].code
        'P001'
        """
        if context and self._validates:
            verdict: Verdict[T] = _within(context, self._checked, reply, context)
            return verdict
        return self._checked(reply, context)

    def _checked(self, reply: Any, context: dict[str, Any] | None) -> Verdict[T]:
        if type(reply) is str and self._text_only and (reply[:1] not in STREAM_STARTS or not is_stream(reply)):
            return self._check_text(reply, reply)
        if type(reply) not in WHOLE:
            from trueup.read.sources import collected  # a stream is read to its end

            reply = collected(reply)
        known = self._known(reply, context)
        if self._meaning is None:
            return self._check_reply(reply, known)
        return self._meaning.judge(self._check_structure(reply, known), known, _wait)

    async def acheck(self, reply: Any, context: dict[str, Any] | None = None) -> Verdict[T]:
        """Judge one reply in a running event loop: asynchronous checks are awaited, and a stream may be asynchronous too.

        `reply` and `context` are the same as for `check`.
        """
        if type(reply) not in WHOLE:
            from trueup.read.sources import acollected  # as above

            reply = await acollected(reply)
        known = self._known(reply, context)
        verdict = _within(context, self._check_structure, reply, known)
        if self._meaning is None:
            return verdict
        from trueup.ask.drivers.awaiting import bounded  # calls the higher room: judging itself never waits
        from trueup.checks.steps import arun

        return await arun(self._meaning.steps(verdict, known), bounded)

    def _known(self, reply: Any, context: dict[str, Any] | None) -> dict[str, Any]:
        """The context that checks get: the caller's, completed from the messages that are checked."""
        if context is not None and not isinstance(context, dict):
            raise _not_a_context(context)
        return completed(reply, context or {}) if self._listens else context or {}

    def clean(self, text: str, fields: dict[str, Any]) -> bytes | None:
        """The value of a text as JSON, if the text is valid without any fix and follows every rule; otherwise None: then call `check`.

        Most replies of a large file are judged this way, because a verdict without findings and fixes is not needed. `fields` are the
        unit's fields, like `input` in the context of `check`.

        >>> contract = Contract({"required": ["n"]}, rules=["n < limit"])
        >>> contract.clean('{"n": 1}', {"limit": 5}), contract.clean('{"n": 9}', {"limit": 5})
        (b'{"n":1}', None)
        """
        way = self.short_way
        return None if way is None else way.judge(text, fields)

    @property
    def short_way(self) -> "ShortWay | None":
        """The function that `clean` uses, for judging many replies; None if every reply needs a `check`."""
        if self._way is None and self._brief:
            from trueup.contract.judging.fast_path import short_way  # needed only for sifting files

            assert self.schema is not None
            depth = self.max_depth if self._shallow else None
            self._way = short_way(self.schema, self._integral, self._meaning, self.max_size, depth)
        return self._way

    def check_value(
        self, value: Any, context: dict[str, Any] | None = None, *, keep_fields: bool = False
    ) -> Verdict[T]:
        """Judge a `value` that is already parsed, such as the arguments of a native tool call.

        It is JSON data, or something that can be written as JSON, such as an instance of a model. `context` is the same
        as for `check`. With `keep_fields`, an envelope such as `response` is opened in place: the fields next to it
        stay.

        >>> contract = Contract({"required": ["n"], "properties": {"n": {"type": "integer"}}})
        >>> contract.check_value({"city": "Oslo", "response": {"n": 1}}, keep_fields=True).data
        {'city': 'Oslo', 'n': 1}
        """
        verdict = (
            _within(context, partial(self._check_value, keep_fields=keep_fields), value)
            if context
            else self._check_value(value, keep_fields=keep_fields)
        )
        return verdict if self._meaning is None else self._meaning.judge_value(verdict, context or {})

    def _check_structure(self, reply: Any, context: dict[str, Any]) -> Verdict:
        """The verdict on the structure, before any check of meaning."""
        if type(reply) is str and self._calls is None and (reply[:1] not in STREAM_STARTS or not is_stream(reply)):
            return self._check_text(reply, reply)
        return self._check_reply(reply, context)

    def _check_value(self, value: Any, *, keep_fields: bool) -> Verdict:
        value, again = as_json(value)
        text = again.decode()
        if self.schema is None:
            return Verdict(text, value)
        if not self._plain and (verdict := self._by_type(text, text, value, again, located=False)) is not None:
            return verdict
        if self._plain and self._is_valid(value) and not (self._integral and self._integral(value)):
            return Verdict(text, value)
        return self._judge.misfit(text, text, value, located=False, keep_fields=keep_fields)

    def _by_type(
        self, reply: str | Reply, text: str, data: Any, again: bytes, *, located: bool = True
    ) -> Verdict | None:
        """The verdict of the contract's own type on data that it accepts; None if it refuses the data."""
        assert self.schema is not None
        built = tried(self.schema.build, data, again)  # another reading may avoid a bug in a validator
        if built is None or built[1] or (self._integral is not None and self._integral(data)):
            return None
        value = built[0]
        own = self.options.profile == "off" or not isinstance(data, dict) or self.schema.names.issuperset(data)
        read = self.schema.read(data, value, again) if own else None
        if read is not None and not read[1]:
            return Verdict(reply, data, value=value)
        return self._judge.converted(reply, text, data, value, read, located=located)

    def _check_reply(self, source: Any, context: dict[str, Any]) -> Verdict:
        """Judge anything that is more than a text: read it, judge its calls, then its text."""
        reply, read_findings, damage = incoming(source)
        if len(reply.text) > self.max_size:
            return too_large(reply, reply.text, self.max_size)
        if damage:
            from trueup.contract.judging.judge import (
                damaged,  # loads all repairs, so only if there is something to repair
            )

            return damaged(reply, reply.text, damage, None if self.schema is None else self._judge)
        if read_findings and self._judges_what_arrived:
            read_findings = arrived(reply, read_findings, judges_calls=self._calls is not None)
        judged, text_verdict = (NO_CALLS, None) if read_findings else self._parts(reply, context)
        return merge(reply, read_findings, judged, text_verdict, strict=self.strict)

    def _parts(self, reply: Reply, context: dict[str, Any]) -> tuple[JudgedCalls, Verdict | None]:
        """The calls of a reply and its text, each judged. With a schema, the value is required, unless a call that
        waits for its output is a valid outcome, which only a contract with tools can allow. An envelope is both.
        """
        calls = self._calls
        if calls is not None and calls.options.envelope and (not reply.calls or "{" in reply.text):
            parts = self._envelope_parts(calls, reply, context)
            if parts is not None:
                return parts
        # a value that the schema describes is data, even if it looks like a call
        data = None
        judged = NO_CALLS
        if calls is not None:
            if self.schema is not None and not reply.calls:
                data = self._described(reply.text)
            before, expected = called_before(context.get("history")), context.get("expected_sequence")
            judged = calls.judge(reply, before, is_data=data is not None, expected=expected)
        elif reply.calls:
            judged = self._unoffered(reply, context)
        if self.schema is None or judged.unread or (calls is not None and _ends_in_calls(judged)):
            return judged, None
        return judged, self._check_text(reply, reply.text, data)

    def _unoffered(self, reply: Reply, context: dict[str, Any]) -> JudgedCalls:
        """Judge the calls of a reply under a contract without tools: calls that were not offered are refused.

        The context's `offered` names the tools that the request offers. Without it, only a schema shows that no call is
        wanted.
        """
        offered = context.get("offered")
        if self.schema is None and offered is None:
            return NO_CALLS
        from trueup.checks.tools import unoffered  # loaded only if a reply makes calls

        accounts = [
            Account(call, call, [found])
            for call in reply.calls
            if (found := unoffered(call, offered or ())) is not None
        ]
        findings = [found for account in accounts for found in account.findings]
        return JudgedCalls((), tuple(Refusal(a.given, tuple(a.findings)) for a in accounts), findings, [], accounts)

    def _envelope_parts(
        self, calls: "CallJudge", reply: Reply, context: dict[str, Any]
    ) -> tuple[JudgedCalls, Verdict | None] | None:
        """The calls and the value under an envelope contract; None for native calls next to a text without an envelope."""
        text = self._check_text(reply, reply.text)
        if reply.calls and not text.ok:
            return None
        inside = opened(reply, text.data)
        before, expected = called_before(context.get("history")), context.get("expected_sequence")
        if not reply.calls and self._may_hold_more(text, inside):
            leaked = calls.judge(reply, before, expected=expected)
            if len(leaked.calls) > len(inside.calls):
                return leaked, self._enclosed(reply, leaked)
            if leaked.refused and not text.ok and not inside.calls and not lists_calls(text.data):
                return leaked, None
        if not inside.calls and not text.ok:
            return NO_CALLS, text
        judged = calls.judge(inside, before, expected=expected)
        if not inside.calls and judged.calls:  # they were written into `content`
            text.data = {**text.data, "content": "", **enclosed(inside, judged)}
            return judged._replace(fixes=_without_span(judged.fixes)), text
        text.data = with_passed(text.data, judged)
        return judged, text

    def _may_hold_more(self, text: Verdict, inside: Reply) -> bool:
        """Whether there may be calls outside the envelope that was read, perhaps in another envelope or notation."""
        if inside.calls:
            return any(fix.code in _BESIDE for fix in text.fixes)
        known = frozenset() if self.schema is None else self.schema.root_keys
        return not text.ok or bool(text.fixes) or not known.issuperset(text.data)

    def _enclosed(self, reply: Reply, leaked: JudgedCalls) -> Verdict:
        """The verdict on an envelope that is built around calls which the model wrote in another form."""
        fixes: list[Fix] = []

        def envelope_in(words: str) -> dict[str, Any] | None:
            found = self._check_text(words, words) if "{" in words else None
            if found is None or not found.ok or not isinstance(found.data, dict):
                return None
            fixes.extend(_without_span(found.fixes))
            return found.data

        built = self._check_value(enclosed(reply, leaked, envelope_in), keep_fields=False)
        return Verdict(reply, built.data, built.findings, (*fixes, *built.fixes), built.value)

    def _described(self, text: str) -> dict[str, Any] | None:
        """The value of a text if it is a valid object and the schema names all of its keys; else None."""
        try:
            data = decode(text)
        except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
            return None
        named = self.schema.root_keys if self.schema is not None else frozenset()
        fits = isinstance(data, dict) and bool(data) and named.issuperset(data) and self._is_valid(data)
        return data if fits else None

    def _check_text(self, reply: str | Reply, text: str, described: dict[str, Any] | None = None) -> Verdict:
        """Judge a text: valid JSON is judged here, other text by the judge. A value known to be valid is `described`."""
        if self.schema is None:
            return self._check_reply(text, {}) if isinstance(reply, str) and is_stream(text) else Verdict(reply)
        if len(text) > self.max_size:
            return too_large(reply, text, self.max_size)
        try:
            data = decode(text) if described is None else described
        except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError) as error:
            if isinstance(reply, str) and is_stream(text):  # lines of JSON may be a stream's events
                return self._check_reply(text, {})
            return self._judge.broken(reply, text, error)
        try:
            again = dumps(data)
        except TypeError:
            return self._judge.odd(reply, text, data)
        if text.count('"') != again.count(b'"') or ("\\" in text and looks_odd(text)):
            return self._judge.odd(reply, text, data)
        if self._shallow and depth_over(data, self.max_depth):
            return self._judge.misfit(reply, text, data)
        if not self._plain:
            verdict = self._by_type(reply, text, data, again)
            return self._judge.misfit(reply, text, data) if verdict is None else verdict
        valid = described is not None or self._is_valid(data)
        if not valid or (self._integral is not None and self._integral(data)):
            return self._judge.misfit(reply, text, data)
        return Verdict(reply, data)

    @property
    def _judge(self) -> "Judge":
        """Judges replies that are not plain, valid JSON; made for the first such reply, because it loads all repairs."""
        judge = self._made
        if judge is None:
            from trueup.contract.judging.judge import Judge

            assert self.schema is not None
            judge = Judge(self.schema, self.options, self.accept, self.max_depth, self._integral, strict=self.strict)
            self._made = judge
        return judge

    def _call_judge(self, tools: Any, order: Any, options: Any) -> "CallJudge":
        from trueup.contract.calls import make_call_judge  # it compiles many patterns, so only if tools are judged

        return make_call_judge(tools, order, options, self._arguments_check, self.accept)

    def _make_scores(self, quality: Any, relevance: Any) -> "dict[str, ScoreCheck]":
        from trueup.contract.meaning.scores import make_scores  # loaded only if a contract has a score

        scores = make_scores(quality, relevance, self.language)
        self._given |= {
            name: score.given for name, score in scores.items()
        }  # with the model itself instead of its path
        return scores

    def _make_meaning(self, given: "Loaded") -> "Meaning | None":
        rules, reply, grounded = given["rules"], given["reply"], given["grounded"]
        quality, relevance, checks = given["quality"], given["relevance"], given["checks"]
        scores = {} if quality is None and not relevance else self._make_scores(quality, relevance)
        states = with_fallbacks(given["states"], self._fallbacks)
        named = self.schema is not None and self.schema.names_grounded
        asked = (rules, reply, states, grounded)
        if all(part is None for part in asked) and not checks and not scores and not named:
            return None
        if rules is not None and self.schema is None:
            raise ValueError("rules apply to data; give a schema as well (True takes any JSON value)")
        from trueup.contract.meaning.meaning import make_meaning  # loaded only if more than structure is checked

        return make_meaning(
            rules, reply, states, checks, scores, strict=self.strict, schema=self.schema, given=given["input"],
            grounded=grounded, tools=self.tools,
        )  # fmt: skip

    def _arguments_check(self, tool: Tool) -> Callable[[Any], Verdict]:
        """A check for the arguments of one tool, made for its first call."""
        contract = self.arguments_of(tool)
        return lambda source: contract.check_value(source) if isinstance(source, dict) else contract.check(source)

    def arguments_of(self, tool: Tool) -> "Contract[Any]":
        """The contract of a tool's arguments, from its annotations or its schema."""
        from trueup.conform.functions import arguments_type  # loaded only if a tool is a function

        schema: Any = {"type": "object"} if tool.parameters is True else tool.parameters
        if tool.function is not None:
            own = arguments_type(tool.function)
            schema = (
                own if own.schema == tool.parameters else schema
            )  # a definition that the caller gave takes precedence
        return Contract(
            schema,
            accept=self.accept, coerce=self.options, max_size=self.max_size, max_depth=self.max_depth,
        )  # fmt: skip

    def stream(self, source: Any = None, context: dict[str, Any] | None = None) -> "Stream[T]":
        """A stream that judges a reply while it arrives: iterate over it, or feed it chunks; `context` is the same as
        for `check`.

        `source` is a stream of an SDK, or any iterator of chunks or of pieces of text, synchronous or asynchronous.

        >>> stream = Contract({"properties": {"age": {"type": "integer"}}}).stream(['{"age": "3', '6"}'])
        >>> [part.age for part in stream], stream.verdict.ok
        (['3', 36], True)
        """
        from trueup.contract.stream import Stream  # loaded only if streams are read

        if isinstance(source, dict):
            source, context = None, context_first(source)
        return Stream(self, source, context)

    @overload
    def items(
        self: "Contract[list[X]]", source: Any, path: str | None = None, context: dict[str, Any] | None = None
    ) -> "Items[X]": ...
    @overload
    def items(self, source: Any, path: str | None = None, context: dict[str, Any] | None = None) -> "Items[Any]": ...
    def items(self, source: Any, path: str | None = None, context: dict[str, Any] | None = None) -> "Items[Any]":
        """The items of a list in the reply, each judged and typed as soon as it closes; `source` and `context` are the
        same as for `stream`.

        The list is the whole value, or the only list among its members; `path` names another one, such as
        `$.page.rows`. Items that are not valid are left out and kept in `refused`; at the end, `verdict` is the verdict
        of the whole reply.

        >>> items = Contract(list[int]).items(["[1, ", '"2", "x"', ", 3]"])
        >>> list(items), [refused.index for refused in items.refused], items.verdict.ok
        ([1, 2, 3], [2], False)
        """
        from trueup.contract.items import Items  # loaded only if streams are read

        return Items(self, source, path, context)

    def item_contract(self, path: "Sequence[Any]") -> "Contract[Any] | None":
        """The contract for the items of the list at a path; None if this contract does not describe them."""
        from trueup.contract.streaming.type_guides import item_contract  # as above

        return item_contract(self, self._given["schema"], path)

    def guide(self) -> "Guide | None":
        """Guides for the members of a value that has not arrived in full; None if there is no schema."""
        if self._guide is _UNMADE:
            from trueup.contract.streaming.type_guides import guide_of  # loaded only if streams are read

            self._guide = guide_of(self, self._given["schema"])
        made: Guide | None = self._guide
        return made

    def early(self) -> "Early | None":
        """For one stream, finds faults of a growing value that are certain before it closes; None if there cannot be
        any.
        """
        if self._early is _UNMADE:
            from trueup.contract.streaming.early_faults import limits_of  # as above

            self._early = limits_of(self)
        if self._early is None:
            return None
        from trueup.contract.streaming.early_faults import Early

        return Early(self, self._early)

    def fallback(self, context: dict[str, Any] | None = None) -> str | None:
        """The text to send if no reply satisfies this contract; `context` is the same as for `check`, and its `state`
        chooses the text.

        >>> Contract(states={"ASKING": {"fallback": "Which service?"}}).fallback({"state": "ASKING"})
        'Which service?'
        """
        state = (context or {}).get("state")
        states = None if self._meaning is None else self._meaning.states
        own = None if states is None else states.fallback(states.standing(context or {}).state)
        named = self._fallbacks.get(state) if isinstance(state, str) else None
        return own or named or self._fallbacks.get("default")

    @property
    def meaning(self) -> "Meaning | None":
        """The checks of this contract beyond structure: rules, the reply's worth, states, scores, custom checks."""
        return self._meaning

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools of this contract, in the order they were given."""
        return () if self._calls is None else tuple(self._calls.tools.tools.values())

    @property
    def call_options(self) -> "CallOptions | None":
        """How calls are judged; None if there are no tools."""
        return None if self._calls is None else self._calls.options

    def instructions(self, format: "Form" = "form", language: str | None = None, *, tools: bool = True) -> str:  # noqa: A002 - the word that callers look for
        """The part of the prompt in which `ask` describes this contract, for callers who send the request themselves.

        `format` is "form" (a form with a place for each value, or the JSON Schema if a form cannot express everything),
        "json-schema" or "typescript" (types with comments). `language` is the language of the words: by default the
        contract's own, or English. The tools follow the format; use `tools=False` if you pass them to the provider
        yourself. The text is empty if any text is a valid reply.

        >>> contract = Contract({"properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]})
        >>> print(contract.instructions())
        Reply with one JSON value and nothing else: no explanation, no Markdown fence, no comments.
        It has this form, with real values in place of every <…>:
        {"age": <integer>}
        - age: ≥ 0
        >>> print(contract.instructions("typescript", "es").splitlines()[-3])
          // número entero, ≥ 0
        """
        from trueup.ask.words.instructions import instructions  # calls the higher room, like `ask`

        return instructions(self, format, language, tools=tools)

    def strict_schema(self, provider: "Provider") -> dict[str, Any]:
        """The contract's schema in the strict form that a provider enforces, as a new dict.

        `provider` is one of anthropic, azure, gemini, groq, mistral, ollama, openai and xai. Objects are closed and
        every property is required; an optional property may be null. `check` removes these nulls again (fix C009) and
        keeps the nulls that the contract itself allows. Limits that the provider does not support are left out of the
        schema; `check` still enforces them. A schema that cannot be strict, such as a map with any keys, raises a
        `ValueError` that says what is wrong, where, and what to do.

        >>> contract = Contract(
        ...     {"properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name"]}
        ... )
        >>> strict = contract.strict_schema("openai")
        >>> strict["properties"]["age"], strict["required"]
        ({'type': ['integer', 'null']}, ['name', 'age'])
        >>> contract.check('{"name": "Ada", "age": null}').data
        {'name': 'Ada'}
        """
        if self.schema is None:
            raise ValueError("this contract has no schema: its reply is text, and a provider cannot enforce that")
        from trueup.conform.strict import strict_schema  # loaded only when called

        return strict_schema(self.schema, provider)

    @named("ask")
    def ask(
        self,
        call: "Model",
        messages: "Messages",
        policy: "Policy | None" = None,
        *,
        on_event: "Subscriber | None" = None,
        on_request: "Hook | None" = None,
        context: Mapping[str, Any] | None = None,
        cancel: "threading.Event | None" = None,
        memory: "Memory | None" = None,
        cache: "Cache | None" = None,
        clock: "Clock | None" = None,
        wait: Callable[[float], bool] | None = None,
    ) -> "Answer[T]":
        """Ask a model until its reply satisfies this contract, or a budget of the policy is used up.

        - `call`: the client to use: a callable, an SDK's client, a LangChain runnable, or the URL of a server. A list
          of these, or of `Rung(client, model, mode)`, is a ladder: if one fails, the next one is asked.
        - `messages`: a text, one message or a list of them; it is not changed.
        - `policy`: how many times to ask again, and what stops it. None: the defaults of `Policy`.
        - `on_event`: a function that is called with every event, such as `Sent` and `Waiting`. None: events are
          discarded.
        - `on_request`: a function that is called with each `Request` before it is sent, and may return another to send
          instead. None: requests are sent unchanged.
        - `context`: what is known about the conversation, as in `check`. None: nothing.
        - `cancel`: an event that ends the ask when it is set. None: it cannot be cancelled.
        - `memory`: remembers which mode works for which model. None: one memory for the whole process.
        - `cache`: keeps valid replies, so that an equal request is not sent again, such as `FileCache("replies.db")`.
          None: every request is sent.
        - `clock`: the source of times, for tests. None: the system's clock.
        - `wait`: sleeps, and returns whether to stop. None: it waits for `cancel`.

        >>> Contract({"type": "object"}).ask(lambda messages: '{"name": "Ada"}', "Who wrote the first program?").value
        {'name': 'Ada'}
        """
        from trueup.ask.drivers.sync import ask  # the only import from the higher room

        return ask(
            self, call, messages, policy,
            on_event=on_event, on_request=on_request, context=context, cancel=cancel, memory=memory, cache=cache, clock=clock, wait=wait,
        )  # fmt: skip

    @named("aask")
    async def aask(
        self,
        call: "Model",
        messages: "Messages",
        policy: "Policy | None" = None,
        *,
        on_event: "Subscriber | None" = None,
        on_request: "Hook | None" = None,
        context: Mapping[str, Any] | None = None,
        memory: "Memory | None" = None,
        cache: "Cache | None" = None,
        clock: "Clock | None" = None,
        wait: "Callable[[float], Awaitable[object]] | None" = None,
    ) -> "Answer[T]":
        """Like `Contract.ask`, asynchronously: `wait` is awaited, and cancelling the task ends the ask."""
        from trueup.ask.drivers.aio import aask  # as above

        return await aask(
            self, call, messages, policy,
            on_event=on_event, on_request=on_request, context=context, memory=memory, cache=cache, clock=clock, wait=wait,
        )  # fmt: skip

    @named("ask_stream")
    def ask_stream(
        self,
        call: "Model",
        messages: "Messages",
        policy: "Policy | None" = None,
        *,
        hold: "Hold" = "sentence",
        on_event: "Subscriber | None" = None,
        on_request: "Hook | None" = None,
        context: Mapping[str, Any] | None = None,
        cancel: "threading.Event | None" = None,
        memory: "Memory | None" = None,
        cache: "Cache | None" = None,
        clock: "Clock | None" = None,
        wait: Callable[[float], bool] | None = None,
    ) -> "AskStream[T]":
        """Ask, and yield parts as soon as they may be shown; afterwards, `.answer` has the full answer.

        `hold` is the part to hold back: text up to the end of its `sentence`, or `all` until the whole reply is judged. The
        other options are the same as for `Contract.ask`.
        """
        from trueup.ask.stream import AskStream  # as above

        return AskStream(
            self, call, messages, policy, hold=hold,
            on_event=on_event, on_request=on_request, context=context, cancel=cancel, memory=memory, cache=cache, clock=clock, wait=wait,
        )  # fmt: skip

    @named("aask_stream")
    def aask_stream(
        self,
        call: "Model",
        messages: "Messages",
        policy: "Policy | None" = None,
        *,
        hold: "Hold" = "sentence",
        on_event: "Subscriber | None" = None,
        on_request: "Hook | None" = None,
        context: Mapping[str, Any] | None = None,
        memory: "Memory | None" = None,
        cache: "Cache | None" = None,
        clock: "Clock | None" = None,
        wait: "Callable[[float], Awaitable[object]] | None" = None,
    ) -> "AsyncAskStream[T]":
        """Like `Contract.ask_stream`, asynchronously: `async for part in contract.aask_stream(…)`.

        `hold` and the other options are the same as for `Contract.ask_stream`; `wait` is awaited.
        """
        from trueup.ask.stream import AsyncAskStream  # as above

        return AsyncAskStream(
            self, call, messages, policy, hold=hold,
            on_event=on_event, on_request=on_request, context=context, memory=memory, cache=cache, clock=clock, wait=wait,
        )  # fmt: skip

    def run(
        self, call: "Model", messages: "Messages", policy: "Policy | None" = None, **options: "Unpack[RunOptions]"
    ) -> "Run[T]":
        """Let a model use tools: ask, make the calls that pass, answer the others, and ask again, until a reply makes
        no calls.

        The final reply satisfies this contract. Order, `only_once` and every budget of the policy apply to the whole
        run. The options `on_event`, `on_request`, `context`, `cancel`, `memory`, `cache`, `clock` and `wait` are the
        same as for `Contract.ask`.

        - `call`: the client to use, as in `ask`.
        - `messages`: a text, one message or a list of them; it is not changed.
        - `policy`: how many times to ask again, and what stops the run. None: the defaults of `Policy`.
        - `tools`: further tools, or functions for tools that the contract only describes: a list, or a mapping of
          names. None: the contract's own.
        - `deps`: passed to tools that take a `Context`, and to validators as `info.context["deps"]`. None: nothing.
        - `turns`: the most replies of the run.
        - `on_call`: a function that is called with each call before it is made. It returns None to make it, False or a
          reason to veto it, or another `ToolCall` to make instead, which is judged first. None: every call that passes
          is made.
        - `errors`: what is sent to the model about a tool that raises, as in `execute`: the `type` of the exception, or
          also its `text`.
        - `max_result`: the most characters of a result that are sent to the model.

        >>> def double(number: int) -> int:
        ...     return 2 * number
        >>> def model(messages):
        ...     if messages[-1]["role"] == "tool":
        ...         return f"It is {messages[-1]['content']}."
        ...     return '<tool_call>{"name": "double", "arguments": {"number": 21}}</tool_call>'
        >>> run = Contract(tools=[double]).run(model, "Double 21.")
        >>> run.text, [called.value for called in run.calls]
        ('It is 42.', [42])
        """
        from trueup.ask.running import RunStream, run  # as above

        refuse_unknown("run", options, options_of(RunStream.__init__))
        return run(self, call, messages, policy, **options)

    async def arun(
        self, call: "Model", messages: "Messages", policy: "Policy | None" = None, **options: "Unpack[AsyncRunOptions]"
    ) -> "Run[T]":
        """Like `Contract.run`, asynchronously: calls run concurrently, at most `parallel` at a time. Tools may be
        asynchronous or not.

        Tools that the contract's order names run one after the other. `call`, `messages`, `policy` and the other
        options are the same as for `Contract.run`; `on_call` may be asynchronous, `wait` is awaited, and cancelling the
        task ends the run.
        """
        from trueup.ask.running import AsyncRunStream, arun  # as above

        refuse_unknown("arun", options, options_of(AsyncRunStream.__init__))
        return await arun(self, call, messages, policy, **options)

    def run_stream(
        self,
        call: "Model",
        messages: "Messages",
        policy: "Policy | None" = None,
        **options: "Unpack[RunStreamOptions]",
    ) -> "RunStream[T]":
        """Let a model use tools, and yield parts as they arrive: text and values that may be shown, calls, and their
        results.

        Afterwards, `.run` has the full run. `hold` is the same as for `Contract.ask_stream`; `call`, `messages`,
        `policy` and the other options are the same as for `Contract.run`.
        """
        from trueup.ask.running import RunStream  # as above

        return RunStream(self, call, messages, policy, **options)

    def arun_stream(
        self,
        call: "Model",
        messages: "Messages",
        policy: "Policy | None" = None,
        **options: "Unpack[AsyncRunStreamOptions]",
    ) -> "AsyncRunStream[T]":
        """Like `Contract.run_stream`, asynchronously: `async for part in contract.arun_stream(…)`.

        `hold` is the same as for `Contract.ask_stream`; `call`, `messages`, `policy` and the other options are the same
        as for `Contract.arun`.
        """
        from trueup.ask.running import AsyncRunStream  # as above

        return AsyncRunStream(self, call, messages, policy, **options)

    def with_tools(self, tools: "Tools") -> "Contract[T]":
        """This contract with further `tools`; if a name is already taken, the existing definition is kept.

        >>> [tool.name for tool in Contract(tools=[len]).with_tools([{"name": "ping"}, {"name": "len"}]).tools]
        ['len', 'ping']
        """
        from trueup.contract.calls import read_tools  # as above

        own = {tool.name for tool in self.tools}
        more = [tool for tool in read_tools(tools) if tool.name not in own]
        return self if not more else type(self)(**{**self._given, "tools": [*self.tools, *more]})

    def without_scores(self) -> "Contract[T]":
        """This contract without `quality` and `relevance`, so that only its rules decide.

        >>> contract = Contract(reply=True)
        >>> contract.without_scores() is contract
        True
        """
        if self._meaning is None or not self._meaning.scores:
            return self
        return type(self)(**{**self._given, "quality": None, "relevance": None})

    @property
    def given_tools(self) -> Any:
        """The tools in the form that this contract got; None if there are none."""
        return self._given["tools"]

    @property
    def ordered_tools(self) -> frozenset[str]:
        """The tools whose calls must follow an order, so that they cannot run concurrently."""
        return frozenset() if self._calls is None else self._calls.ordered

    @property
    def _judges_what_arrived(self) -> bool:
        """Whether a truncated text can be judged: only by the reply rules, because a value would be incomplete."""
        return self.schema is None and self._meaning is not None and self._meaning.reply is not None

    @property
    def awaits(self) -> bool:
        """Whether a rule or a check of this contract is asynchronous; if so, prefer `acheck`."""
        return self._meaning is not None and self._meaning.awaits

    @property
    def fingerprint(self) -> str:
        """An identifier of these rules: the same for equal rules in any order or file, and different for other rules.

        The name does not count; the environment's switches in force do.

        >>> Contract(reply={"min_text": 5}).fingerprint == Contract(reply={"min_text": 6}).fingerprint
        False
        """
        if self._print is None:
            from trueup.contract.fingerprint import Fingerprint  # loaded only when called

            self._print = Fingerprint(self._given)
        return self._print.of(self)

    @property
    def judges_meaning(self) -> bool:
        """Whether more than structure and rules is judged: the reply's worth, evidence, the state, checks or scores."""
        meaning = self._meaning
        return meaning is not None and bool(
            meaning.reply or meaning.states or meaning.checks or meaning.scores or meaning.grounding
        )

    @property
    def is_grounded(self) -> bool:
        """Whether values of a reply are looked up in a source, because of `grounded` or `x-grounded`."""
        return self._meaning is not None and self._meaning.grounding is not None

    def forbids(self, text: str, context: dict[str, Any]) -> list[Finding]:
        """The parts of some whole sentences that the state of the context forbids; empty if the reply is a value."""
        states = None if self._meaning is None else self._meaning.states
        if states is None or self.schema is not None:
            return []
        return [found for found in states.check(Reply(text=text), (), context) if found.code == "D001"]

    def unplaced(self, context: dict[str, Any] | None) -> list[Finding]:
        """Findings about a context that must name a state: an unknown state, or none although there is no start."""
        states = None if self._meaning is None else self._meaning.states
        found = () if states is None else states.standing(context or {}).findings
        return [one for one in found if one.level == "error"]

    def claims(self, text: str, calls: tuple[ToolCall, ...], context: Mapping[str, Any]) -> list[Finding]:
        """Claims in a text that a tool was run, if that call is neither in `calls` nor earlier in the conversation."""
        if self._calls is None:
            return []
        before = called_before(context.get("history"))
        judged = self._calls.judge(Reply(text=text, calls=calls), before, is_data=True)
        return [found for found in judged.findings if found.code == "T012"]

    def member_errors(self, slot: str | int, value: Any) -> list[Finding]:
        """Findings about one closed member of the root that no later text can resolve."""
        return [] if self.schema is None else self._judge.member_errors(slot, value)


Contract.__doc__ = documented(Contract.__doc__)


def _within(context: dict[str, Any] | None, judge: Callable[..., Verdict], *given: Any) -> Verdict:
    """Judge while the validators of types can see a context."""
    from trueup.conform.validating import validating  # loaded only if there is a context

    with validating(context):
        return judge(*given)


def _not_a_context(given: object) -> TypeError:
    from trueup.conform.validating import not_a_context  # needed only for an error

    return not_a_context(given)


def _wait(awaited: Any) -> Any:
    """Run the result of an asynchronous check to completion."""
    from trueup.ask.drivers.awaiting import finish  # calls the higher room, like `acheck`

    return finish(awaited)


def context_first(source: dict[str, Any]) -> dict[str, Any]:
    """The context, if a caller passes it to `stream` as the first argument, as in 0.1; warns at that caller's line."""
    warn("stream(context) is deprecated since 0.2; use stream(context=…)", DeprecationWarning, stacklevel=3)
    return source


def _ends_in_calls(judged: JudgedCalls) -> bool:
    """Whether a reply ends in calls that still have to run, valid or not; calls with an output come earlier."""
    return any(not call.answered for call in judged.calls) or any(not r.call.answered for r in judged.refused)


def _without_span(fixes: Iterable[Fix]) -> list[Fix]:
    """Fixes of a part of the text, without spans, which would be wrong in the whole text."""
    return [msgspec.structs.replace(fix, span=None) for fix in fixes]


def _made_of(kind: type[Contract], given: dict[str, Any]) -> Contract:
    return kind(**given)
