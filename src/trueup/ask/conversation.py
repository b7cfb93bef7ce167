"""Conversation: state, history and order over many turns, so that each reply is judged by all that came before.

What the user says enters, an Answer leaves, and the history grows by both; a turn that failed leaves it as it was. Calls of tools
wait for their results: `run` makes those that passed and puts every result into the history, in the provider's shape.
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

    - `contract`: what every reply must keep.
    - `call`: whom to ask, as in `Contract.ask`.
    - `policy`: how often to ask again, and what stops it; None: the defaults of `Policy`.
    - `state`: the state of the conversation: a name, or a state machine; None: there is none. Set it as the conversation moves on.
    - `data`: what was collected so far, for rules and states; empty by default.
    - `messages`: the history; by default it starts empty.
    - `tenant`: whose conversation it is, for the context of checks; empty: not known.

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
        self.state = state  # a name, or a machine that is in one
        self.data: dict[str, Any] = dict(data or {})  # what was collected so far
        self.messages: History = opened(messages) if messages else []
        self.tenant = tenant
        self._call = call
        self._provider = provider_of(find_ladder(call, policy).rungs)
        self._waiting: Verdict | None = None

    @property
    def waiting(self) -> tuple[ToolCall, ...]:
        """The calls that may be run and have no result yet."""
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
        """Say something, and get an answer that keeps the contract.

        `said` is a text or messages; None: the model goes on, for example after the results of tools. `policy` is that of this turn, in place of the conversation's; the other options are those of `Contract.ask`.
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
        """The same, asynchronously; the options are those of `Conversation.ask`."""
        messages = self._next(said)
        answer = await aask(
            self.contract, self._call, messages, policy or self.policy, context=self._known(context),
            on_event=on_event, on_request=on_request, memory=memory, cache=cache, clock=clock, wait=wait,
        )  # fmt: skip
        return self._take(messages, answer)

    def run(self, registry: Registry, *, errors: Errors = "type", deps: Any = None) -> Execution:
        """Run the calls that wait, and put their results into the history; `registry`, `errors` and `deps` are those of `execute`."""
        return self._ran(execute(self._called(), registry, self._provider, errors=errors, deps=deps))

    async def arun(self, registry: Registry, *, errors: Errors = "type", deps: Any = None) -> Execution:
        """The same for asynchronous functions; `registry`, `errors` and `deps` are those of `execute`."""
        return self._ran(await aexecute(self._called(), registry, self._provider, errors=errors, deps=deps))

    def _known(self, context: Mapping[str, Any] | None) -> dict[str, Any]:
        """The context of one turn: what the conversation knows, and what the caller adds to it."""
        own = {"state": self.state, "data": self.data, "tenant": self.tenant}
        return {**{name: value for name, value in own.items() if value not in (None, "", {})}, **(context or {})}

    def _next(self, said: "Messages | None") -> History:
        if self.waiting:
            raise ValueError(f"{self.waiting[0].name!r} was called and has no result yet: run() the calls first")
        messages = [*self.messages, *(() if said is None else opened(said))]
        if not messages:
            raise ValueError("there is nothing to ask: say something")
        return messages

    def _take(self, messages: History, answer: Answer[T]) -> Answer[T]:
        """Keep a turn that gave something; one that failed leaves no trace."""
        if answer.outcome == "failed":
            return answer
        found = taken(answer.verdict, self._provider, len(messages))
        self.messages = [*messages, *found.messages]
        waits = found.calls or found.refused
        self._waiting = Verdict(found.reply, calls=found.calls, refused=found.refused) if waits else None
        return answer

    def _called(self) -> Verdict:
        if self._waiting is None:
            raise ValueError("no call waits for a result")
        return self._waiting

    def _ran(self, done: Execution) -> Execution:
        self.messages = [*self.messages, *done.messages]
        self._waiting = None
        return done
