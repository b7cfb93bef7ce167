"""A conversation: state, history and order over many turns, so that each reply is judged with everything before it.

Takes the user's messages and returns an Answer; both are added to the history. A turn that failed does not change the history. Tool calls
wait for their results: `run` runs the calls that passed and adds every result to the history, in the provider's shape.
"""

import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic

from trueup.ask.answer import Answer
from trueup.ask.drivers.aio import aask
from trueup.ask.drivers.clock import Clock
from trueup.ask.drivers.sync import ask
from trueup.ask.memory import Memory
from trueup.ask.policy import Policy
from trueup.ask.replies.accepted import taken
from trueup.ask.requests.messages import Messages as History
from trueup.ask.requests.messages import opened
from trueup.ask.requests.outgoing import Hook
from trueup.ask.rungs import find_ladder, provider_of
from trueup.contract.call_results import Errors, Execution, Registry, aexecute, execute
from trueup.contract.option_help import named
from trueup.verdict.events import Event
from trueup.verdict.reply import ToolCall
from trueup.verdict.verdict import T, Verdict

if TYPE_CHECKING:
    from trueup.ask.cache import Cache
    from trueup.contract.contract import Contract
    from trueup.contract.option_types import Messages, Model


class Conversation(Generic[T]):
    """A conversation under a contract.

    - `contract`: the contract that every reply must satisfy.
    - `call`: the client or clients to ask, as in `Contract.ask`.
    - `policy`: how many times to ask again, and when to stop; None: the defaults of `Policy`.
    - `state`: the state of the conversation: a name, or a state machine; None: no state. Set it as the conversation advances.
    - `data`: the data that was collected so far, for rules and states; empty by default.
    - `messages`: the history; empty by default.
    - `tenant`: the owner of the conversation, for the context of checks; empty: not known.

    >>> from trueup import Contract
    >>> talk = Conversation(Contract(), lambda messages: f"You said {len(messages)} things.")
    >>> talk.ask("Hello").text, talk.ask("And now?").text
    ('You said 1 things.', 'You said 3 things.')
    """

    @named("Conversation")
    def __init__(
        self,
        contract: "Contract[T]",
        call: "Model",
        *,
        policy: Policy | None = None,
        state: Any = None,
        data: Mapping[str, Any] | None = None,
        messages: "Messages" = (),
        tenant: str = "",
    ) -> None:
        self.contract = contract
        self.policy = policy
        self.state = state  # a name, or a state machine
        self.data: dict[str, Any] = dict(data or {})
        self.messages: History = opened(messages) if messages else []
        self.tenant = tenant
        self._call = call
        self._provider = provider_of(find_ladder(call, policy).rungs)
        self._waiting: Verdict | None = None

    @property
    def waiting(self) -> tuple[ToolCall, ...]:
        """The calls that may be run and do not have a result yet."""
        return () if self._waiting is None else self._waiting.calls

    @named("ask")
    def ask(
        self,
        said: "Messages | None" = None,
        policy: Policy | None = None,
        *,
        on_event: Callable[[Event], object] | None = None,
        on_request: Hook | None = None,
        context: Mapping[str, Any] | None = None,
        cancel: threading.Event | None = None,
        memory: Memory | None = None,
        cache: "Cache | None" = None,
        clock: Clock | None = None,
        wait: Callable[[float], bool] | None = None,
    ) -> Answer[T]:
        """Send something to the model, and get an answer that satisfies the contract.

        `said` is a text or messages; None: the model continues, for example after the results of tools. `policy` replaces the conversation's policy for this turn; the other options are the same as for `Contract.ask`.
        """
        messages = self._next(said)
        answer = ask(
            self.contract, self._call, messages, policy or self.policy, context=self._known(context),
            on_event=on_event, on_request=on_request, cancel=cancel, memory=memory, cache=cache, clock=clock, wait=wait,
        )  # fmt: skip
        return self._take(messages, answer)

    @named("aask")
    async def aask(
        self,
        said: "Messages | None" = None,
        policy: Policy | None = None,
        *,
        on_event: Callable[[Event], object] | None = None,
        on_request: Hook | None = None,
        context: Mapping[str, Any] | None = None,
        memory: Memory | None = None,
        cache: "Cache | None" = None,
        clock: Clock | None = None,
        wait: Callable[[float], Awaitable[object]] | None = None,
    ) -> Answer[T]:
        """The same, asynchronously; the options are the same as for `Conversation.ask`."""
        messages = self._next(said)
        answer = await aask(
            self.contract, self._call, messages, policy or self.policy, context=self._known(context),
            on_event=on_event, on_request=on_request, memory=memory, cache=cache, clock=clock, wait=wait,
        )  # fmt: skip
        return self._take(messages, answer)

    def run(self, registry: Registry, *, errors: Errors = "type", deps: Any = None) -> Execution:
        """Run the waiting calls and add their results to the history; `registry`, `errors` and `deps` are the same as for `execute`."""
        return self._ran(execute(self._called(), registry, self._provider, errors=errors, deps=deps))

    async def arun(self, registry: Registry, *, errors: Errors = "type", deps: Any = None) -> Execution:
        """The same for asynchronous functions; `registry`, `errors` and `deps` are the same as for `execute`."""
        return self._ran(await aexecute(self._called(), registry, self._provider, errors=errors, deps=deps))

    def _known(self, context: Mapping[str, Any] | None) -> dict[str, Any]:
        """The context of one turn: the conversation's own, and what the caller adds to it."""
        own = {"state": self.state, "data": self.data, "tenant": self.tenant}
        return {**{name: value for name, value in own.items() if value not in (None, "", {})}, **(context or {})}

    def _next(self, said: "Messages | None") -> History:
        if self.waiting:
            raise ValueError(f"the call of {self.waiting[0].name!r} has no result yet; call run() first")
        messages = [*self.messages, *(() if said is None else opened(said))]
        if not messages:
            raise ValueError("there is nothing to ask: give a text or messages")
        return messages

    def _take(self, messages: History, answer: Answer[T]) -> Answer[T]:
        """Add a turn to the history, unless it failed."""
        if answer.outcome == "failed":
            return answer
        found = taken(answer.verdict, self._provider, len(messages))
        self.messages = [*messages, *found.messages]
        waits = found.calls or found.refused
        self._waiting = Verdict(found.reply, calls=found.calls, refused=found.refused) if waits else None
        return answer

    def _called(self) -> Verdict:
        if self._waiting is None:
            raise ValueError("no call is waiting for a result")
        return self._waiting

    def _ran(self, done: Execution) -> Execution:
        self.messages = [*self.messages, *done.messages]
        self._waiting = None
        return done
