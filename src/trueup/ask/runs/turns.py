"""The turns of a run, between its drivers and the asks. It keeps the conversation and the record; it does not ask, call or wait.

A driver asks with the policy from `left`, passes the answer to `take`, makes the calls that it returns, and passes their results to `close`.
When `left` returns None, or an answer makes no more calls, the run is over and `result` returns everything.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, cast

import msgspec

from trueup.ask.answer import Answer
from trueup.ask.drivers.clock import Clock
from trueup.ask.loop.attempts import UNITS
from trueup.ask.loop.plan import BUDGETS
from trueup.ask.policy import Policy
from trueup.ask.replies.accepted import Taken, taken
from trueup.ask.requests.messages import Messages, opened
from trueup.ask.requests.messages import said as recorded
from trueup.ask.run import Called, Run, Status, Step
from trueup.contract.call_results import Done, Errors, fails, refuse_other, said, unmet
from trueup.contract.judging.conversation import history_in
from trueup.contract.runners import runners
from trueup.read.answers import CallResult, refusal_result, tool_results
from trueup.verdict.events import Event, Ran
from trueup.verdict.facts import Finding, Findings, demoted, finding
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.verdict import Refusal, T, Verdict

if TYPE_CHECKING:
    from trueup.contract.contract import Contract

# A hook's decision about a call: None or True to make it, False or a reason to veto it, or another call to make instead.
Decision = ToolCall | str | bool | None
_UNITS = {"turns": "turns", **UNITS}
_NOT_MADE = "The call of {name!r} was not made: {why}."


class TurnSettings(NamedTuple):
    """The caller's options for a run, besides the contract, the messages and the policy."""

    tools: Any = None
    deps: Any = None
    turns: int = 10
    errors: Errors = "type"
    max_result: int = 50_000
    parallel: int = 8
    on_event: Callable[[Event], object] | None = None

    def checked(self) -> "TurnSettings":
        """These settings; raises an error if one of them is not valid."""
        refuse_other(self.errors)
        for name in ("turns", "max_result", "parallel"):
            number = getattr(self, name)
            if type(number) is not int or number < 1:
                raise ValueError(f"{name} must be a whole number, 1 or more; got {number!r}")
        return self


class ChangedCall(NamedTuple):
    """A call that a hook changed and that must be judged: the reply with it, the context, and its place among the reply's calls."""

    reply: Reply
    context: dict[str, Any]
    place: int


class Partly:
    """Replaces a contract while a run asks: a reply passes if some of its calls pass, and the others get an error as their result.

    If a contract requires a call, the run needs it once, not in every reply.
    """

    def __init__(self, contract: "Contract") -> None:
        self.watched = contract
        self.contract = getattr(contract, "contract", contract)  # without a watcher
        self.called = False  # whether a call of the run was made

    @property
    def call_options(self) -> Any:
        options = self.contract.call_options
        if options is None or not (self.called and options.required):
            return options
        return msgspec.structs.replace(options, required=False)

    def check(self, reply: Any, context: Any = None) -> Verdict:
        return self._eased(self.watched.check(reply, context))

    async def acheck(self, reply: Any, context: Any = None) -> Verdict:
        return self._eased(await self.watched.acheck(reply, context))

    def _eased(self, verdict: Verdict) -> Verdict:
        if verdict.ok:
            return verdict
        some = any(not call.answered for call in verdict.calls)
        eased = [
            demoted(found)
            if (some and found.path.startswith("$.calls[")) or (self.called and found.code == "T019")
            else found
            for found in verdict.findings
        ]
        if any(found.level == "error" for found in eased):
            return verdict
        return verdict.with_findings(Findings(eased))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.watched, name)


class Turns(Generic[T]):
    """One run while it happens."""

    def __init__(
        self,
        contract: "Contract[T]",
        messages: Any,
        *,
        policy: Policy,
        provider: str,
        settings: TurnSettings,
        context: Mapping[str, Any] | None,
        clock: Clock,
    ) -> None:
        extended = contract if settings.tools is None else contract.with_tools(settings.tools)
        self.settings = settings.checked()
        self.runners = {**runners(contract.given_tools), **runners(settings.tools)}
        missing = [tool.name for tool in extended.tools if tool.name not in self.runners]
        if missing:
            raise ValueError(f"the tool {missing[0]!r} has no function; give one, as in tools={{{missing[0]!r}: …}}")
        self.contract = cast("Contract[T]", Partly(extended))
        self.ordered = extended.ordered_tools | frozenset((context or {}).get("expected_sequence") or ())
        self.messages: Messages = opened(messages)
        self._given = dict(context or {})
        before = history_in(self._given)
        # The history that replies are judged with: the caller's, and then every turn with its calls as they were made.
        self._past: Messages = list(self.messages if before is None else before)
        if settings.deps is not None:
            self._given.setdefault("deps", settings.deps)
        self._policy = policy
        self._provider = provider
        self._clock = clock
        self._start = clock.now()
        self._steps: list[Step] = []
        self._answer: Answer[T] | None = None
        self._open: Taken | None = None
        self._changed: dict[int, ToolCall] = {}  # calls of the open answer, as a hook changed them
        self._asked: Messages = []
        self._reason = ""
        self._stopped: Finding | None = None

    # -- asking ------------------------------------------------------------------------------------

    @property
    def turn(self) -> int:
        """The number of the current or next turn, from 1."""
        return len(self._steps) + 1

    def left(self) -> Policy | None:
        """The policy for the next ask, with what is left of every budget; None if a budget is used up, or the run is over."""
        if self._reason:
            return None
        if self.turn > self.settings.turns:
            self._spent("turns", self.settings.turns, self.settings.turns)
            return None
        policy = self._policy
        used = self._used()
        budgets: dict[str, float] = {}
        for name, spent in used.items():
            limit = getattr(policy, name)
            if limit is None:
                continue
            if spent >= limit:
                self._spent(name, spent, limit)
                return None
            budgets[name] = limit - spent
        return msgspec.structs.replace(policy, **budgets)

    def time_left(self) -> float | None:
        """Seconds until the deadline; None without one."""
        limit = self._policy.deadline
        return None if limit is None else max(0.0, limit - (self._clock.now() - self._start))

    def now(self) -> float:
        return self._clock.now()

    def _used(self) -> dict[str, float]:
        attempts = [attempt for step in self._steps for attempt in step.answer.attempts]
        counted = [a for a in attempts if not a.cached and (a.failure is None or a.failure.kind != "rate")]
        return {
            "attempts": len(counted),
            "deadline": self._clock.now() - self._start,
            "tokens": sum(_tokens(a.usage) for a in counted),
            "money": sum(a.cost or 0.0 for a in counted),
        }

    def _spent(self, budget: str, spent: float, limit: float) -> None:
        message = f"The budget has no room for another turn: {spent:g} of {limit:g} {_UNITS[budget]} are spent"
        hint = (
            "Raise turns, or ask for less." if budget == "turns" else f"Raise {budget} in the policy, or ask for less."
        )
        data = {"budget": budget, "limit": limit, "spent": spent}
        self._reason, self._stopped = budget, finding("A001", "$", message, None, data, hint)

    def stop(self, reason: str) -> None:
        """End the run, because its time is over or the caller cancelled it."""
        if reason == "deadline" and self._policy.deadline is not None:
            self._spent("deadline", round(self._clock.now() - self._start, 3), self._policy.deadline)
        else:
            self._reason, self._stopped = (
                reason,
                finding("A005", "$", "The run was cancelled", None, {"reason": reason}),
            )

    @property
    def is_stopped(self) -> bool:
        return bool(self._reason)

    @property
    def given(self) -> dict[str, Any]:
        """The caller's context, with `deps`."""
        return self._given

    def context(self) -> dict[str, Any]:
        """The context for every check of the next ask: the caller's, with the conversation so far as its history."""
        self._asked = list(self.messages)
        return {**self._given, "history": list(self._past)}

    # -- taking an answer --------------------------------------------------------------------------

    def take(self, answer: Answer[T]) -> tuple[ToolCall, ...] | None:
        """Record an answer; return its calls, to be made in this order, or None if it makes no calls and the run is over."""
        self._answer = answer
        if not answer.ok:
            self._steps.append(Step(self.turn, self._asked, answer))
            self._reason, self._stopped = answer.reason or answer.outcome, answer.stopped
            if answer.reason in BUDGETS:  # the ask knew only what was left of it
                self._spent(answer.reason, self._used()[answer.reason], getattr(self._policy, answer.reason))
            return None
        found = taken(answer.verdict, self._provider, self.turn)
        if not found.calls and not found.refused:
            self._steps.append(Step(self.turn, self._asked, answer, (), found.messages))
            self.messages = [*self.messages, *found.messages]
            return None
        self._open = found
        return found.calls

    def refused(self) -> list[Called]:
        """The calls of the current answer that did not pass, each with the text for the model."""
        assert self._open is not None
        return [self._refusal(refusal.call, refusal) for refusal in self._open.refused]

    def trial(self, changed: ToolCall, call: ToolCall, made: list[Called]) -> ChangedCall:
        """A call that a hook changed, to be judged like the model's own: in its place in the reply, after the calls that were `made`."""
        assert self._open is not None
        booked = {called.given.index for called in made}
        calls = [self._changed.get(one.index, one) for one in self._open.calls if one.index not in booked]
        place = next(at for at, one in enumerate(calls) if one.index == call.index)
        calls[place] = msgspec.structs.replace(changed, id=call.id, answered=False, failed=False, after=())
        numbered = tuple(msgspec.structs.replace(one, index=at) for at, one in enumerate(calls))
        reply = msgspec.structs.replace(self._open.reply, calls=numbered)
        return ChangedCall(reply, {**self._given, "history": [*self._past, *self._as_made(made)]}, place)

    def replaced(self, trial: ChangedCall, verdict: Verdict, call: ToolCall, made: list[Called]) -> ToolCall | Called:
        """The call to make instead of another, from the verdict on it; or its result if it was refused."""
        changed = next((one for one in verdict.calls if one.index == trial.place), None)
        faults = [found for refusal in verdict.refused for found in _blamed(refusal, trial.place)]
        if changed is None or faults:
            return self._refusal(call, Refusal(call, tuple(faults) or tuple(verdict.errors)))
        same = msgspec.structs.replace(changed, id=call.id, index=call.index)
        same.__dict__.update(changed.__dict__)
        self._changed[call.index] = same
        return self.unmet(same, made) or same

    # -- results of calls --------------------------------------------------------------------------

    def unmet(self, call: ToolCall, made: list[Called]) -> Called | None:
        """The result of a call that is skipped because a call that it requires did not succeed; None if it can be made."""
        error = unmet(call, {called.call.name for called in made if called.ok})
        return None if error is None else self._called(call, "skipped", str(error), error=error)

    def vetoed(self, call: ToolCall, reason: str) -> Called:
        why = reason.strip().rstrip(".") or "the application does not allow it"
        return self._called(call, "vetoed", _NOT_MADE.format(name=call.name, why=why))

    def stopped(self, call: ToolCall, *, running: bool, seconds: float = 0.0) -> Called:
        """The result of a call that was not made, or was given up, because the run ends."""
        if not running:
            return self._called(call, "stopped", _NOT_MADE.format(name=call.name, why="the run was stopped"))
        text = f"The tool {call.name!r} failed: it was given up, because the run was stopped."
        return self._called(call, "stopped", text, seconds=seconds)

    def done(self, call: ToolCall, value: Any, error: Exception | None, seconds: float) -> Called:
        """The result of a call that was made."""
        done = Done(call, value, error)
        whole = said(done, self.settings.errors)
        status: Status = "failed" if fails(done, whole) else "done"
        text, left_out = _bounded(whole, self.settings.max_result)
        return self._called(call, status, text, value=value, error=error, seconds=seconds, left_out=left_out)

    def _refusal(self, call: ToolCall, refusal: Refusal) -> Called:
        return self._called(call, "refused", refusal_result(refusal).text, findings=refusal.findings)

    def _called(self, call: ToolCall, status: Status, text: str, **more: Any) -> Called:
        assert self._open is not None
        return Called(self._open.original(call), call, status, text, **more)

    def report(self, called: Called) -> None:
        """Report a call to the subscriber."""
        if self.settings.on_event is not None:
            call = called.call
            self.settings.on_event(
                Ran(
                    contract=self.contract.name, at=self._clock.date(), turn=self.turn, tool=call.name, call=call.id,
                    status=called.status, seconds=called.seconds,
                    reason=_reason(called),
                )
            )  # fmt: skip

    def close(self, made: list[Called]) -> None:
        """End the turn: add the results of its calls to the conversation."""
        assert self._open is not None
        assert self._answer is not None
        calls = tuple(sorted((*self.refused(), *made), key=lambda called: called.given.index))
        added = [*self._open.messages, *self._results(calls)]
        self._steps.append(Step(self.turn, self._asked, self._answer, calls, added))
        self.messages = [*self.messages, *added]
        self._past += self._as_made(calls)
        self._open = None
        self._changed = {}
        cast("Partly", self.contract).called |= any(called.ok for called in made)

    def _results(self, calls: Sequence[Called], unmade: AbstractSet[int] = frozenset()) -> list[Any]:
        """The results of calls, as messages for the model; those in the places `unmade` are errors, even if another call was made instead."""
        found = self._open
        assert found is not None
        results = [
            CallResult(
                found.recorded(called.given), called.text, is_error=not called.ok or called.given.index in unmade
            )
            for called in calls
        ]
        return tool_results(results, self._provider)

    def _as_made(self, calls: Sequence[Called]) -> list[Any]:
        """The open answer and its results, for judging later replies; a call that a hook changed counts as the call that was made."""
        found = self._open
        assert found is not None
        changed = [called for called in calls if called.call.name != found.recorded(called.given).name]
        past = [*found.messages, *self._results(calls, {called.given.index for called in changed})]
        for called in changed:
            past += recorded(Reply(calls=(called.call,), provider=self._provider), self._provider)
            past += tool_results([CallResult(called.call, called.text, is_error=not called.ok)], self._provider)
        return past

    def result(self) -> Run[T]:
        """The result of the run."""
        return Run(
            self._answer, tuple(self._steps), list(self.messages), reason=self._reason, stopped=self._stopped,
            seconds=self._clock.now() - self._start,
        )  # fmt: skip


def _reason(called: Called) -> str:
    """Why a call is not `done`, for subscribers, without the tool's own text."""
    if called.error is not None:
        return type(called.error).__name__
    return "" if called.ok else "returned" if called.status == "failed" else called.text


def _blamed(refusal: Refusal, place: int) -> Sequence[Finding]:
    """The errors after a change of the call at `place`, in that call or in another call of the same reply.

    A missing call that another call requires is found later, when that call is about to be made.
    """
    if refusal.call.index == place:
        return refusal.findings
    return [found for found in refusal.findings if found.code != "T008"]


def _bounded(text: str, most: int) -> tuple[str, int]:
    """A result that is cut to the allowed length, with a note at the cut; and the number of characters that were left out."""
    if len(text) <= most:
        return text, 0
    left_out = len(text) - most
    return f"{text[:most]}\n… [cut here: {left_out} more characters]", left_out


def _tokens(usage: Mapping[str, int]) -> int:
    return usage.get("total_tokens") or usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
