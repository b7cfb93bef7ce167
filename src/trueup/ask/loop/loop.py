"""The loop of one ask, between the plan and a driver. It judges replies, makes requests and records attempts; it does not send or wait.

A driver starts it, carries out each step, and reports the result: a reply, a failure, or the end of a wait.
The plan decides the next step. When the step is `Finish`, `answer()` returns the result.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from trueup.ask.answer import Answer, Attempt
from trueup.ask.clients.request import UNSENDABLE, CallFailure, Request, failure_in
from trueup.ask.correction import purpose_of, situation_of
from trueup.ask.drivers.clock import SYSTEM, Clock
from trueup.ask.loop import plan
from trueup.ask.loop.attempts import AttemptLog
from trueup.ask.memory import MODES, Memory
from trueup.ask.policy import DEFAULT, Mode, Policy
from trueup.ask.policy import MODES as LADDER
from trueup.ask.replies.faults import ANSWER, echoed, excused, fault_of, is_usable, rank, unplaced
from trueup.ask.replies.faults import failure_in as failure_found
from trueup.ask.replies.unwrapping import received
from trueup.ask.requests.compose import Composer, FaultyReply
from trueup.ask.requests.messages import opened
from trueup.ask.requests.outgoing import Hook, Outgoing
from trueup.ask.retries.breaker import Place
from trueup.ask.retries.health import LadderHealth
from trueup.ask.rungs import Rung
from trueup.ask.shapes.parts import MessageError
from trueup.ask.words.fields import merge, missing
from trueup.contract.judging.conversation import history_in
from trueup.read.messages import question_in
from trueup.read.reader import read
from trueup.verdict.catalogue import FINDINGS
from trueup.verdict.codec import written
from trueup.verdict.events import Aborted, Event
from trueup.verdict.facts import NO_FINDINGS, Findings, finding, promoted
from trueup.verdict.reply import Reply
from trueup.verdict.secrets import masked
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.ask.budgets.allowance import BudgetFit
    from trueup.ask.cache import Cache
    from trueup.ask.secrets import Secrets
    from trueup.contract.contract import Contract


class AskedClient(Protocol):
    """The attributes of a client that the loop needs: a key to remember it by, its default modes, and the provider whose shapes it takes.

    It may also define all modes that it is `able` to use, whether it `takes_tools`, and the `secrets` that it sends.
    """

    key: str
    modes: tuple[Mode, ...]
    provider: str
    finishes: bool  # it always sends a finish reason, so a reply without one was cut off


class Retries(Protocol):
    """A budget of retries that many asks share."""

    def allows(self) -> bool:
        """Whether a failed call may be repeated."""
        ...

    def take(self) -> None:
        """Note that a failed call will be repeated."""
        ...


class Traits(msgspec.Struct, frozen=True):
    """A client as the loop sees it, for callers that send requests in another way."""

    key: str = ""
    modes: tuple[Mode, ...] = ("text",)
    provider: str = "openai"
    finishes: bool = False
    passes_on: bool = True  # the provider's own reply is passed on, so it must not need unwrapping
    place: Place | None = None  # the place of its circuit breaker; None: each of its models has a breaker


class Loop:
    """One ask while it runs.

    >>> from trueup import Contract
    >>> loop = Loop(Contract({"type": "object"}), Traits(), "Give me an object.")
    >>> loop.start().purpose, loop.request().messages[-1]["content"]
    ('ask', 'Give me an object.')
    >>> loop.replied('{"a": 1}')
    Finish(outcome='accepted', reason='')
    >>> loop.answer().value
    {'a': 1}
    """

    def __init__(
        self,
        contract: "Contract",
        client: AskedClient | list[Rung] | tuple[Rung, ...],
        messages: Any,
        policy: Policy = DEFAULT,
        *,
        context: Mapping[str, Any] | None = None,
        on_event: Callable[[Event], object] | None = None,
        memory: Memory = MODES,
        clock: Clock = SYSTEM,
        on_request: Hook | None = None,
        cache: "Cache | None" = None,
        streams: bool = False,
        retries: Retries | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            raise TypeError(f"policy must be a Policy(…), such as Policy(repairs=1); got {type(policy).__name__}")
        self.contract = contract
        self.policy = policy
        self.messages = opened(messages)
        self._rungs = tuple(client) if isinstance(client, list | tuple) else (Rung(client),)
        self._composers: dict[int, Composer] = {}
        keys = tuple(rung.client.key for rung in self._rungs)
        schema = None if contract.schema is None else contract.schema.source
        places = tuple(place for rung in self._rungs if (place := getattr(rung.client, "place", None)) is not None)
        self._health = LadderHealth(memory, policy, keys, schema, places if len(places) == len(keys) else ())
        self._retries = retries
        self._secrets: Secrets | None = None
        self._context = known(context, self.messages)
        if contract.meaning is not None and contract.meaning.grounding is not None:
            contract.meaning.grounding.refuse_bad(self._context)  # before anything is sent
        self._clock = clock
        self._books = AttemptLog(policy, clock, on_event, contract.name, [label(rung.client) for rung in self._rungs])
        self._outgoing = Outgoing(policy, on_request, cache, streams=streams, measured=memory.measured)
        self._under_way = False  # a request was sent and has no result yet
        self._raw: Any = None  # the provider's last reply
        self._past = plan.Past()
        self._step: plan.Step | None = None
        self._faulty: FaultyReply | None = None
        self._part: Verdict | None = None  # the best part of the faulty replies
        self._fallback = self._find_fallback()

    @property
    def rungs(self) -> tuple[Rung, ...]:
        """The clients that it asks, in order."""
        return self._rungs

    @property
    def step(self) -> plan.Step:
        """The step to carry out now."""
        if self._step is None:
            raise RuntimeError("the loop has not been started")
        return self._step

    def start(self, at: float | None = None, *, anywhere: bool = False) -> plan.Step:
        """The first step; `at` is the clock time at which it was taken, if it was taken before.

        A context without a known state ends the ask before anything is sent, unless `anywhere` is true.
        """
        self._books.open(at, NO_FINDINGS if anywhere else unplaced(self.contract, self._context))
        ladder = tuple(
            self._health.rung(index, model, self._modes(index), rung.share)
            for index, rung in enumerate(self._rungs)
            for model in ((rung.model,) if rung.model else self.policy.models or ("",))
        )
        if self.policy.money is not None:
            own = self.policy.parameters.get("model")  # every request is sent with it
            self.policy.check_prices([own] if own else [rung.model for rung in ladder])
        self._health.guard(ladder)
        resting = self._health.resting(ladder, self._clock.now()) if at is None else ()  # the first rung has been asked
        return self._take(plan.Began(ladder, 0.0, self._fallback is not None, bool(self._books.unplaced), resting))

    def request(self, at: float | None = None) -> Request:
        """The request of the current step, which must be a `Send`; `at` is when it was sent, if it was sent before."""
        send = self.step
        if not isinstance(send, plan.Send):
            raise RuntimeError(f"the step is {type(send).__name__}, there is nothing to send")  # noqa: TRY004
        if self._outgoing.request is None:
            self._ready(send)
        request, stored = self._outgoing.request, self._outgoing.stored is not None
        assert request is not None
        if not stored:
            self._tell_state(self._health.sending(self._rung, self._clock.now()))
        self._under_way = True
        self._books.sent(send, request, self._outgoing.fit, self._past, at, stored=stored)
        return request

    def _ready(self, send: plan.Send) -> "BudgetFit | None":
        request = self._composer.request(send, self._faulty)
        return self._outgoing.ready(request, self._own_client, self._past.tokens, self._past.cost)

    @property
    def _present(self) -> Request:
        """The request of the current step, or the last planned request."""
        return self._outgoing.request or self._composer.request(self._sent, self._faulty)

    def replied(self, raw: Any) -> plan.Step:
        """Take a reply in the provider's shape; return the next step."""
        return self.judged(self.judge(raw))

    def judge(self, raw: Any) -> Verdict:
        """The verdict on a reply in the current step. If only some fields were requested, they are merged into the value, and all of it is judged."""
        self._raw = raw
        raw = self.received(raw)
        return self._whole(raw, self.contract.check(raw, self._context))

    async def ajudge(self, raw: Any) -> Verdict:
        """The same with asynchronous custom checks awaited."""
        self._raw = raw
        raw = self.received(raw)
        return self._whole(raw, await self.contract.acheck(raw, self._context))

    def received(self, raw: Any) -> Any:
        """A raw reply as the contract judges it, taken out of the answer tool and the wrapper of the current request."""
        schema = self.contract.schema
        dialect = getattr(self._own_client, "dialect", "")
        return received(raw, self._present, dialect, None if schema is None else schema.is_valid)

    def _whole(self, raw: Any, verdict: Verdict) -> Verdict:
        send, faulty = self.step, self._faulty
        if isinstance(send, plan.Send) and send.fields and faulty is not None and faulty.asked is not None:
            verdict = self._merged(raw, verdict, faulty)
        return self.completed(verdict)

    def completed(self, verdict: Verdict) -> Verdict:
        """A verdict with the checks of `ask` itself: the reply must be complete, must not be empty, and must not repeat placeholders."""
        reply = verdict.reply
        codes = {(found.code, found.level) for found in verdict.findings} if verdict.findings else ()
        if ("R003", "warning") in codes:  # ask again, to get the rest
            return _cut(verdict)
        unread = ("R001", "error") in codes  # from a client with a known protocol
        if self.client.finishes and (unread or (reply.finish == "unknown" and reply.provider)):
            return _with(verdict, "A002", "Ask again: part of the reply may be missing.")
        if not verdict.ok:
            return self._without_echo(verdict)
        if not reply.calls and not verdict.calls and not reply.text.strip():
            refused = reply.refusal or reply.finish in {"refusal", "filter"}
            return _with(verdict, "P010" if refused else "P002", ANSWER)
        if reply.finish == "refusal":  # text before a refusal does not count as an answer
            return _with(verdict, "P010", ANSWER)
        return self._without_echo(verdict)

    def _without_echo(self, verdict: Verdict) -> Verdict:
        """A verdict that refuses a value with placeholders from the prompt. Such a value is never given, not even as a degraded answer."""
        if verdict.data is None or "<" not in verdict.reply.text:
            return verdict
        path = echoed(verdict.data, self._composer.placeholders)
        return verdict if path is None else _with(verdict, "A006", "Give a real value in place of <…>.", path)

    def judged(self, verdict: Verdict, *, whole: bool = True) -> plan.Step:
        """Record a judged reply; return the next step. A reply that is not `whole` was aborted, and is never given to the caller."""
        failed = failure_found(verdict)
        if failed is not None and self._outgoing.stored is None:
            return self.failed(failure_in(failed, self._sent.mode), verdict)
        asked = None
        if self.policy.repair == "fields" and not verdict.ok:
            asked = missing(verdict, self._composer.schema)
        fault = fault_of(verdict, fields=asked is not None)
        chance = self._clock.chance()
        stored = self._outgoing.stored is not None
        if stored and fault is not None:
            return self._outdated()
        self._under_way = False
        tokens, cost = self._books.replied(self._sent, verdict, fault, self._outgoing, lambda: self._present)
        if fault is None and not self._sent.fields:
            self._outgoing.keep(self._raw)
        if fault is not None and fault.kind in {"format", "prose", "state"}:
            self._faulty = FaultyReply(
                verdict, asked, chance, situation_of(self.contract, self._context, purpose_of(verdict))
            )
        usable = fault is not None and whole and self._keep(verdict)
        if not stored:
            self._tell_state(self._health.answered(self._past.model, self._rung))
        resting = self._resting()
        again = self._retries is None or self._retries.allows()
        return self._take(plan.ReplyJudged(self._books.elapsed(), fault, chance, tokens, cost, usable, resting, again))

    def _outdated(self) -> plan.Step:
        """Repeat the step with the model, because the cached reply does not satisfy the current contract."""
        before = self._past
        self._outgoing.outdated()
        return self._go_on(before, plan.Waited(self._books.elapsed()))

    def _keep(self, verdict: Verdict) -> bool:
        """Whether a part of a faulty reply may be given at the end; keep the part if the policy asks for it."""
        if self.policy.otherwise != "text":
            return is_usable(verdict)
        from trueup.ask.replies.salvage import salvage  # needed only for a faulty reply

        part = salvage(self.contract, verdict, self._context)
        if part is not None and (self._part is None or rank(part) <= rank(self._part)):
            self._part = part
        return part is not None

    def ends_with(self, verdict: Verdict) -> bool:
        """Whether aborting a stream with these faults would end the ask without data, although the whole reply may be a degraded answer."""
        fault = fault_of(verdict)
        if fault is None or any(found.code[0] != "V" for found in verdict.errors):
            return False
        event = plan.ReplyJudged(self._books.elapsed(), fault, resting=self._resting())
        _, given_up = plan.step(self.policy, self._past, event)
        _, read_on = plan.step(self.policy, self._past, msgspec.structs.replace(event, usable=True))
        return isinstance(given_up, plan.Finish) and given_up != read_on

    def aborted(self, verdict: Verdict, received: int, heard: Sequence[Any] = ()) -> plan.Step:
        """Record a stream that was aborted at a certain fault after `received` characters as a faulty reply; return the next step.

        `heard` are the pieces that arrived; providers count the input in the first of them.
        """
        most = self._sent.max_tokens if self._outgoing.request is None else self._outgoing.request.max_tokens
        saved = None if most is None else max(0, most - received // 4)
        codes = ", ".join(dict.fromkeys(found.code for found in verdict.errors))
        self.emit(Aborted, reason=codes, received=received, saved=saved)
        self._books.abort(saved, read(list(heard)).reply.usage if heard else {})
        return self.judged(verdict, whole=False)

    def failed(self, failure: CallFailure, verdict: Verdict | None = None, heard: Sequence[Any] = ()) -> plan.Step:
        """Record that no reply arrived, or only a part of it; return the next step. `heard` are the pieces of a stream that arrived."""
        if self._outgoing.stored is not None:
            return self._outdated()
        own = failure.code == UNSENDABLE and failure.unsent  # a provider may use the same word
        if own and len(self._past.ladder) == 1:
            raise MessageError(failure.reason)  # there is no other client to ask: the caller must change the messages
        failure = self._limit_rejected(self._masked(failure))
        if failure.kind == "feature" and not self._can_omit(failure.feature):
            failure = msgspec.structs.replace(failure, kind="fatal")
        tokens, cost = self._cost_of_failure(failure, verdict, heard)
        state = self._health.failed(self._past.model, self._rung, self._sent, failure, self._clock.now())
        self._tell_state(state)
        return self._take(
            plan.CallFailed(
                self._books.elapsed(), failure.kind, self._clock.chance(), failure.retry_after, failure.feature,
                self._resting(), tokens, cost, self._retries is None or self._retries.allows(),
            )
        )  # fmt: skip

    def _limit_rejected(self, failure: CallFailure) -> CallFailure:
        """The failure; if the provider rejected the limit that the budgets set, it is a rejected feature, and a lower limit is tried."""
        request = self._outgoing.request
        own = self._outgoing.limited and self._sent.max_tokens is None
        if not own or request is None or failure.status is None or failure.status >= 500:
            return failure
        from trueup.ask.budgets.allowance import too_high

        feature = too_high(request, f"{failure.code} {failure.reason}")
        return msgspec.structs.replace(failure, kind="feature", feature=feature) if feature else failure

    def _cost_of_failure(
        self, failure: CallFailure, verdict: Verdict | None, heard: Sequence[Any]
    ) -> tuple[int, float | None]:
        """Record a failure. The provider counts its cost, or it is estimated if the provider may have worked on the request."""
        self._under_way = False
        reply = verdict.reply if verdict is not None else read(list(heard)).reply if heard else Reply()
        return self._books.failed(self._sent, failure, reply, self._outgoing, lambda: self._present)

    def _can_omit(self, feature: str) -> bool:
        """Whether the loop may leave a feature out because the caller did not set it."""
        if feature in self.policy.parameters:
            return False
        send = self._sent
        return feature != "tool_choice" or self._composer.must_call or send.mode == "tool" or send.reduced

    def spent(self, reply: Reply) -> dict[str, int]:
        """The usage of the current call if `reply` is all that arrived; estimated if the provider did not count."""
        return self._outgoing.allowance.spent(self._present, reply)

    def waited(self) -> plan.Step:
        """Note that the wait is over; return the next step."""
        return self._take(plan.Waited(self._books.elapsed()))

    def cancelled(self, heard: Sequence[Any] = ()) -> plan.Step:
        """Note that the caller cancelled the ask; return the last step. `heard` are the pieces of a stream that arrived."""
        if self._under_way:
            self._cost_of_failure(CallFailure("the ask was cancelled", "fatal", code="cancelled"), None, heard)
        return self._take(plan.AskCancelled(self._books.elapsed()))

    def answer(self) -> Answer:
        """The result, after the step is `Finish`."""
        finish = self.step
        if not isinstance(finish, plan.Finish):
            raise RuntimeError("the loop is not finished")  # noqa: TRY004
        outcome = finish.outcome
        kept = self._part if outcome == "degraded" else None
        verdict = self._books.verdict(outcome) if kept is None else kept
        if outcome == "fallback":
            verdict, outcome = self._fall_back(verdict)
        stopped = self._books.stopped(finish.reason, self._past)
        return Answer(
            verdict, outcome, tuple(self._books.attempts), reason=finish.reason, stopped=stopped,
            seconds=self._books.elapsed(), next_messages=lambda: self._next(verdict), warned=self._books.warned,
        )  # fmt: skip

    @property
    def client(self) -> Any:
        """The client for the current request: the current rung's, or a stored reply if the cache has one."""
        return self._outgoing.stored or self._own_client

    @property
    def _own_client(self) -> Any:
        return self._rungs[self._index].client

    @property
    def _index(self) -> int:
        return self._past.ladder[self._past.model].client if self._past.ladder else 0

    @property
    def _rung(self) -> plan.PlanRung:
        return self._past.ladder[self._past.model]

    @property
    def _composer(self) -> Composer:
        """The composer of requests for the current client, in its provider's shapes."""
        return self._composer_for(self._index)

    def _composer_for(self, index: int) -> Composer:
        known = self._composers.get(index)
        if known is not None:
            return known
        contract, client = self.contract, self._rungs[index].client
        schema = None if contract.schema is None else contract.schema.source
        known = self._composers[index] = Composer(
            self.messages, self.policy, schema=schema, tools=contract.tools, provider=client.provider,
            name=contract.name, language=contract.language, takes_tools=getattr(client, "takes_tools", True),
            calls=contract.call_options, accept=contract.accept, passes_on=getattr(client, "passes_on", False),
        )  # fmt: skip
        return known

    @property
    def context(self) -> dict[str, Any]:
        """The context that every check of this ask receives."""
        return self._context

    @property
    def left(self) -> float | None:
        """Seconds until the deadline; None without one."""
        deadline = self.policy.deadline
        return None if deadline is None else max(0.0, deadline - self._books.elapsed())

    @property
    def attempts(self) -> list[Attempt]:
        return self._books.attempts

    def emit(self, kind: type[Event], /, **facts: Any) -> None:
        """Report an event of the current call to the subscribers."""
        self._books.emit(kind, self._sent, **facts)

    @property
    def _sent(self) -> plan.Send:
        """The current request, or the last one."""
        return self._books.last

    def _take(self, event: plan.Event) -> plan.Step:
        before = self._past
        self._advance(event)
        if self._retries is not None and isinstance(self._step, plan.Wait):
            self._retries.take()
        return self._go_on(before, event)

    def _advance(self, event: plan.Event) -> None:
        before = self._past
        self._past, self._step = plan.step(self.policy, before, event)
        self._outgoing.clear()
        if self._past.model != before.model:
            self._faulty = None

    def _go_on(self, before: plan.Past, event: plan.Event) -> plan.Step:
        """The step to carry out. If a request does not fit the budgets, the plan continues with the next rung, or ends."""
        while self._outgoing.limited and isinstance(self._step, plan.Send):
            fit = self._ready(self._step)
            if fit is None or fit.refused is None:
                break
            self._books.refused(fit)
            self._advance(plan.Unaffordable(self._books.elapsed(), fit.refused, self._resting()))
        self._books.planned(before, self._past, self.step, event)
        return self.step

    def _resting(self) -> tuple[float, ...]:
        return self._health.resting(self._past.ladder, self._clock.now())

    def _tell_state(self, state: str | None) -> None:
        """Report that the circuit breaker of the current rung changed, if it did."""
        if state is not None:
            self._books.breaker(self._rung, state, self._health.failures(self._rung))

    def _masked(self, failure: CallFailure) -> CallFailure:
        """A failure without the client's keys, in case the provider or the SDK repeats them."""
        if self._secrets is None:
            from trueup.ask.secrets import Secrets  # needed only after a failed call

            self._secrets = Secrets(rung.client for rung in self._rungs)
        reason, code = self._secrets.masked(failure.reason), self._secrets.masked(failure.code)
        if (reason, code) == (failure.reason, failure.code):
            return failure
        return msgspec.structs.replace(failure, reason=reason, code=code)

    def _modes(self, index: int) -> tuple[Mode, ...]:
        """The modes that the policy, the client and the schema allow; `text` is always possible."""
        rung = self._rungs[index]
        composer, modes, client = self._composer_for(index), self.policy.modes, rung.client
        if rung.mode is not None:
            return composer.allowed((rung.mode,))
        if modes == LADDER:  # the default: the client's own ladder
            beside = getattr(client, "beside_tools", ()) if composer.tools and composer.takes_tools else ()
            return composer.allowed(beside or client.modes)
        return composer.allowed(tuple(mode for mode in modes if mode in getattr(client, "able", client.modes)))

    def _merged(self, raw: Any, whole: Verdict, faulty: FaultyReply) -> Verdict:
        """The fields in the reply, merged into the value that lacked them; a whole reply that is ok is used unchanged."""
        assert faulty.asked is not None
        from trueup.contract.contract import Contract

        contract = self.contract
        part = Contract(faulty.asked.schema, accept=contract.accept, coerce=contract.options).check(raw)
        if not isinstance(part.data, dict) or failure_found(part) is not None:
            return whole
        if whole.ok and not (part.ok and part.data.keys() <= faulty.asked.places.keys()):
            return whole
        data = merge(faulty.verdict.data, part.data, faulty.asked)
        reply = msgspec.structs.replace(part.reply, text=written(data).decode(), calls=())
        return contract.check(reply, self._context)

    def _find_fallback(self) -> Any:
        """The fallback reply: the state's own, or the policy's, which must satisfy the contract."""
        own = self.contract.fallback(self._context)
        if own is not None:
            return own
        given = self.policy.fallback
        if given is not None:
            verdict = self._check_fallback(given)
            if not verdict.ok:
                raise ValueError(f"the policy's fallback does not satisfy the contract: {verdict.errors[0]}")
        return given

    def _check_fallback(self, given: Any) -> Verdict:
        text = given if isinstance(given, str) and self._composer.schema is None else written(given).decode()
        return excused(self.contract.check(text, self._context))

    def _fall_back(self, last: Verdict) -> tuple[Verdict, plan.Outcome]:
        verdict = self._check_fallback(self._fallback)
        return (verdict, "fallback") if verdict.ok else (last, "failed")

    def _next(self, verdict: Verdict) -> list[Any]:
        """The messages to continue with: the conversation with the reply, or the request to correct it."""
        from trueup.ask.requests.messages import said

        if verdict.ok:
            return [*self.messages, *said(verdict.reply, self.client.provider)]
        if not self._books.attempts:
            return list(self.messages)
        send = self._sent
        purpose = purpose_of(verdict)
        faulty = FaultyReply(verdict, None, self._clock.chance(), situation_of(self.contract, self._context, purpose))
        nth = self._past.repairs + 1
        return self._composer.compose(purpose, send.mode, faulty, nth, max(nth, self.policy.repairs))


@lru_cache(maxsize=256)
def _without_keys(name: str) -> str:
    return masked(name)


def label(client: AskedClient) -> str:
    """The name of a client in attempts and events: its kind and address, without any keys in the address."""
    return _without_keys(getattr(client, "label", client.key))


def known(context: Mapping[str, Any] | None, messages: list[Any]) -> dict[str, Any]:
    """The context of every check: the caller's, with the conversation as its history."""
    found = dict(context or {})
    history_in(found)  # raises an error before anything is sent
    found.setdefault("history", messages)
    if "question" not in found and (question := question_in(messages)):
        found["question"] = question
    return found


def _cut(verdict: Verdict) -> Verdict:
    """A verdict on a stream that was cut off, which is refused even if the part that arrived is valid."""
    said = [promoted(found) if found.code == "R003" else found for found in verdict.findings]
    findings = Findings(sorted(said, key=lambda found: found.level != "error"))
    return verdict.with_findings(findings, runs=False)


def _with(verdict: Verdict, code: str, hint: str, path: str = "$") -> Verdict:
    """The verdict with one more error, which `ask` itself found."""
    found = finding(code, path, FINDINGS[code].title.rstrip("."), None, {}, hint)
    findings = Findings((found, *verdict.findings))
    return verdict.with_findings(findings, runs=False)
