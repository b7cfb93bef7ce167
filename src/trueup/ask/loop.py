"""Loop: one ask between the plan and a driver. It judges, composes and keeps the books; it sends and sleeps nothing.

A driver starts it, carries out the step it gives, and tells it what came of that: a reply, a failure, a wait that is over.
What to do next is the plan's decision. When the step is `Finish`, `answer()` has everything.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from trueup.ask import plan
from trueup.ask.answer import Answer, Attempt
from trueup.ask.books import Books
from trueup.ask.clients.request import Failure, Request, failure_in
from trueup.ask.clock import SYSTEM, Clock
from trueup.ask.compose import Composer, Faulty
from trueup.ask.faults import echoed, excused, fault_of, is_usable, rank, unplaced
from trueup.ask.faults import failure_in as failure_found
from trueup.ask.memory import MODES, Memory
from trueup.ask.messages import opened
from trueup.ask.policy import DEFAULT, Mode, Policy
from trueup.ask.words.fields import merge, missing
from trueup.read.messages import question_in
from trueup.verdict.catalogue import FINDINGS
from trueup.verdict.codec import written
from trueup.verdict.events import Aborted, Event
from trueup.verdict.facts import Findings, finding, promoted
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.checks.state import Situation
    from trueup.contract.contract import Contract


_UNTOLD = frozenset({"nothing", "cut", "unreadable", "context", "bug"})  # there is nothing to tell the model of these


class Asked(Protocol):
    """What the loop must know of a client: a key to remember it by, the modes it can, whose shapes it takes."""

    key: str
    modes: tuple[Mode, ...]
    provider: str
    finishes: bool  # it always says how a reply ended, so one that does not say was cut off


class Traits(msgspec.Struct, frozen=True):
    """A client as the loop sees it, for who sends by other means."""

    key: str = ""
    modes: tuple[Mode, ...] = ("text",)
    provider: str = "openai"
    finishes: bool = False


class Loop:
    """One ask in the making.

    >>> from trueup import Contract
    >>> loop = Loop(Contract({"type": "object"}), Traits(), "Give me an object.")
    >>> loop.start().purpose, loop.request().messages[-1]["content"]
    ('ask', 'Give me an object.')
    >>> loop.replied('{"a": 1}')
    Finish(outcome='accepted', reason='', learned=None)
    >>> loop.answer().value
    {'a': 1}
    """

    def __init__(
        self,
        contract: "Contract",
        client: Asked,
        messages: Any,
        policy: Policy = DEFAULT,
        *,
        context: Mapping[str, Any] | None = None,
        on_event: Callable[[Event], object] | None = None,
        memory: Memory = MODES,
        clock: Clock = SYSTEM,
    ) -> None:
        if not isinstance(policy, Policy):
            raise TypeError(f"policy is a Policy(…), such as Policy(repairs=1); got {type(policy).__name__}")
        self.contract = contract
        self.client = client
        self.policy = policy
        self.messages = opened(messages)
        schema = None if contract.schema is None else contract.schema.source
        self._composer = Composer(
            self.messages, policy, schema=schema, tools=contract.tools, provider=client.provider, name=contract.name,
            language=contract.language, takes_tools=getattr(client, "takes_tools", True), calls=contract.call_options,
            accept=contract.accept,
        )  # fmt: skip
        self._context = known(context, self.messages)
        self._memory = memory
        self._clock = clock
        self._books = Books(policy, clock, on_event, contract.name)
        self._past = plan.Past()
        self._step: plan.Step | None = None
        self._faulty: Faulty | None = None
        self._part: Verdict | None = None  # the best part of the faulty replies
        self._fallback = self._find_fallback()

    @property
    def step(self) -> plan.Step:
        """What is to be done now."""
        if self._step is None:
            raise RuntimeError("the loop has not been started")
        return self._step

    def start(self, at: float | None = None, *, anywhere: bool = False) -> plan.Step:
        """The first step; `at` is the time of the clock at which it was taken, if that is over.

        A context without a known state ends the ask before anything is sent, unless it may be `anywhere`.
        """
        self._books.open(at, () if anywhere else unplaced(self.contract, self._context))
        modes = self._modes()
        names = self.policy.models or ("",)
        ladder = tuple(plan.Rung(name, self._memory.rungs(self.client.key, name, modes)) for name in names)
        return self._take(plan.Began(ladder, 0.0, self._fallback is not None, bool(self._books.unplaced)))

    def request(self, at: float | None = None) -> Request:
        """The request of the present step, which must be a `Send`; `at` is when it was sent, where that is over."""
        send = self.step
        if not isinstance(send, plan.Send):
            raise RuntimeError(f"the step is {type(send).__name__}, there is nothing to send")  # noqa: TRY004
        self._books.sent(send, at)
        return self._composer.request(send, self._faulty)

    def replied(self, raw: Any) -> plan.Step:
        """A reply came in, in whatever shape the provider gives it."""
        return self.judged(self.judge(raw))

    def judge(self, raw: Any) -> Verdict:
        """The verdict on a reply under the present step; fields that were asked for alone are merged and judged whole."""
        return self._whole(raw, self.contract.check(raw, self._context))

    async def ajudge(self, raw: Any) -> Verdict:
        """The same with asynchronous custom checks awaited."""
        return self._whole(raw, await self.contract.acheck(raw, self._context))

    def _whole(self, raw: Any, verdict: Verdict) -> Verdict:
        send, faulty = self.step, self._faulty
        if isinstance(send, plan.Send) and send.fields and faulty is not None and faulty.asked is not None:
            verdict = self._merged(raw, verdict, faulty)
        return self.completed(verdict)

    def completed(self, verdict: Verdict) -> Verdict:
        """A verdict with what only asking knows: how a reply must end, that it says something, and something real."""
        reply = verdict.reply
        if any(found.code == "R003" for found in verdict.warnings):  # the rest can be had: ask again
            return _cut(verdict)
        if self.client.finishes and reply.finish == "unknown" and reply.provider:
            return _with(verdict, "A002", "Ask again: part of the reply may be missing.")
        if not verdict.ok:
            return verdict
        if not reply.calls and not verdict.calls and not reply.text.strip():
            return _with(verdict, "P010" if reply.refusal else "P002", "Answer the user.")
        if verdict.data is not None and "<" in reply.text:
            path = echoed(verdict.data, self._composer.placeholders)
            return verdict if path is None else _with(verdict, "A006", "Give a real value in place of <…>.", path)
        return verdict

    def judged(self, verdict: Verdict, *, whole: bool = True) -> plan.Step:
        """A reply was judged: book it, and go on. One that is not `whole` was given up, and is never given to the caller."""
        failed = failure_found(verdict)
        if failed is not None:
            return self.failed(failure_in(failed, self._sent.mode), verdict)
        asked = None
        if self.policy.repair == "fields" and not verdict.ok:
            asked = missing(verdict, self._composer.schema)
        fault = fault_of(verdict, fields=asked is not None)
        chance = self._clock.chance()
        tokens, taken, cost = self._books.replied(self._sent, verdict, fault, self._composer.messages)
        if fault is not None and fault.kind in {"format", "prose", "state"}:
            self._faulty = Faulty(verdict, asked, chance, self._situation(fault.kind))
        usable = fault is not None and whole and self._keep(verdict)
        return self._take(plan.Judged(self._books.elapsed(), fault, chance, tokens, taken, cost, usable))

    def _keep(self, verdict: Verdict) -> bool:
        """Whether something of a faulty reply may be given in the end; where the policy wants that, keep the part."""
        if self.policy.otherwise != "text":
            return is_usable(verdict)
        from trueup.ask.salvage import salvage  # of use only where asking goes wrong

        part = salvage(self.contract, verdict, self._context)
        if part is not None and (self._part is None or rank(part) <= rank(self._part)):
            self._part = part
        return part is not None

    def aborted(self, verdict: Verdict, received: int) -> plan.Step:
        """A stream was given up at a certain fault, after so many characters: book it as a faulty reply, and go on."""
        most = self._sent.max_tokens
        saved = None if most is None else max(0, most - received // 4)
        codes = ", ".join(dict.fromkeys(found.code for found in verdict.errors))
        self.emit(Aborted, reason=codes, received=received, saved=saved)
        self._books.abort(saved)
        return self.judged(verdict, whole=False)

    def failed(self, failure: Failure, verdict: Verdict | None = None) -> plan.Step:
        """No reply came."""
        if failure.kind == "choice" and not self._composer.must_call:  # the caller's own choice of a tool
            failure = msgspec.structs.replace(failure, kind="fatal")
        self._books.failed(self._sent, failure, verdict)
        event = plan.Failed(self._books.elapsed(), failure.kind, self._clock.chance(), failure.retry_after)
        return self._take(event)

    def waited(self) -> plan.Step:
        """The wait is over."""
        return self._take(plan.Waited(self._books.elapsed()))

    def cancelled(self) -> plan.Step:
        """The caller wants no answer any more."""
        return self._take(plan.Cancelled(self._books.elapsed()))

    def answer(self) -> Answer:
        """What came of it, once the step is `Finish`."""
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
            seconds=self._books.elapsed(), next_messages=lambda: self._next(verdict),
        )  # fmt: skip

    @property
    def context(self) -> dict[str, Any]:
        """What every check of this ask is told of the conversation."""
        return self._context

    @property
    def attempts(self) -> list[Attempt]:
        return self._books.attempts

    def emit(self, kind: type[Event], /, **facts: Any) -> None:
        """Tell the subscribers something that belongs to the present call."""
        self._books.emit(kind, self._sent, **facts)

    @property
    def _sent(self) -> plan.Send:
        """The request that is under way or was the last."""
        return self._books.last

    def _take(self, event: plan.Event) -> plan.Step:
        before = self._past
        self._past, self._step = plan.step(self.policy, before, event)
        if self._past.model != before.model:
            self._faulty = None
        self._books.planned(before, self._past, self._step, event)
        if isinstance(self._step, plan.Finish) and self._step.learned is not None:
            self._memory.learn(self.client.key, *self._step.learned)
        return self._step

    def _modes(self) -> tuple[Mode, ...]:
        """The modes that the policy, the client and the schema allow; text is always left."""
        if not self._composer.can_hold:
            return ("text",)
        return tuple(mode for mode in self.policy.modes if mode in self.client.modes) or ("text",)

    def _merged(self, raw: Any, whole: Verdict, faulty: Faulty) -> Verdict:
        """The fields that came, put into the value that lacked them; a whole reply that is ok is taken as it is."""
        assert faulty.asked is not None
        if whole.ok:
            return whole
        from trueup.contract.contract import Contract

        contract = self.contract
        part = Contract(faulty.asked.schema, accept=contract.accept, coerce=contract.options).check(raw)
        if not isinstance(part.data, dict) or failure_found(part) is not None:
            return whole
        data = merge(faulty.verdict.data, part.data, faulty.asked)
        reply = msgspec.structs.replace(part.reply, text=written(data).decode(), calls=())
        return contract.check(reply, self._context)

    def _find_fallback(self) -> Any:
        """The reply to fall back on: the state's own, or the policy's, which must keep the contract."""
        own = self.contract.fallback(self._context)
        if own is not None:
            return own
        given = self.policy.fallback
        if given is not None:
            verdict = self._check_fallback(given)
            if not verdict.ok:
                raise ValueError(f"the policy's fallback does not keep the contract: {verdict.errors[0]}")
        return given

    def _situation(self, kind: str) -> "Situation | None":
        """Where the conversation stands, for a reply that does not fit its state."""
        states = None if self.contract.meaning is None else self.contract.meaning.states
        return states.situation(self._context) if states is not None and kind == "state" else None

    def _check_fallback(self, given: Any) -> Verdict:
        text = given if isinstance(given, str) and self._composer.schema is None else written(given).decode()
        return excused(self.contract.check(text, self._context))

    def _fall_back(self, last: Verdict) -> tuple[Verdict, plan.Outcome]:
        verdict = self._check_fallback(self._fallback)
        return (verdict, "fallback") if verdict.ok else (last, "failed")

    def _next(self, verdict: Verdict) -> list[Any]:
        """The messages to go on with: the conversation with the reply, or the request to correct it."""
        from trueup.ask.messages import assistant

        if verdict.ok:
            return [*self.messages, assistant(verdict.reply, self.client.provider)]
        if not self._books.attempts:
            return list(self.messages)
        send = self._sent
        fault = fault_of(verdict)
        purpose: plan.Purpose = "regenerate" if fault is not None and fault.kind == "state" else "repair"
        if fault is None or fault.kind in _UNTOLD or failure_found(verdict) is not None:
            purpose = "ask"
        faulty = Faulty(verdict, None, self._clock.chance(), self._situation(fault.kind if fault is not None else ""))
        nth = self._past.repairs + 1
        return self._composer.compose(purpose, send.mode, faulty, nth, max(nth, self.policy.repairs))


def known(context: Mapping[str, Any] | None, messages: list[Any]) -> dict[str, Any]:
    """The context of every check: the caller's, with the conversation as its history."""
    found = dict(context or {})
    found.setdefault("history", messages)
    if "question" not in found and (question := question_in(messages)):
        found["question"] = question
    return found


def _cut(verdict: Verdict) -> Verdict:
    """A verdict on a stream that broke off, refused for that whatever its contract makes of what arrived."""
    said = [promoted(found) if found.code == "R003" else found for found in verdict.findings]
    findings = Findings(sorted(said, key=lambda found: found.level != "error"))
    return verdict.with_findings(findings, runs=False)


def _with(verdict: Verdict, code: str, hint: str, path: str = "$") -> Verdict:
    """A verdict that also says what only asking knows: how a reply must end, that it says something, and something real."""
    found = finding(code, path, FINDINGS[code].title.rstrip("."), None, {}, hint)
    findings = Findings((found, *verdict.findings))
    return verdict.with_findings(findings, runs=False)
