"""Conversation: state, history and order over many turns, so that each reply is judged by all that came before.

What the user says enters, an Answer leaves, and the history grows by both; a turn that failed leaves it as it was. Calls of tools
wait for their results: `run` makes those that passed and puts every result into the history, in the provider's shape.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from trueup.ask.aio import aask
from trueup.ask.answer import Answer
from trueup.ask.clients.find import find_client
from trueup.ask.messages import Messages, assistant, opened
from trueup.ask.policy import Policy
from trueup.ask.sync import ask
from trueup.contract.acting import Execution, Registry, aexecute, execute
from trueup.contract.beside import beside, parted
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.contract.contract import Contract


class Conversation:
    """A conversation under a contract.

    >>> from trueup import Contract
    >>> talk = Conversation(Contract(), lambda messages: f"You said {len(messages)} things.")
    >>> talk.ask("Hello").text, talk.ask("And now?").text
    ('You said 1 things.', 'You said 3 things.')
    """

    def __init__(
        self,
        contract: "Contract",
        call: Any,
        *,
        policy: Policy | None = None,
        state: Any = None,
        data: Mapping[str, Any] | None = None,
        messages: Any = (),
        tenant: str = "",
    ) -> None:
        self.contract = contract
        self.policy = policy
        self.state = state  # a name, or a machine that is in one
        self.data: dict[str, Any] = dict(data or {})  # what was collected so far
        self.messages: Messages = opened(messages) if messages else []
        self.tenant = tenant
        self._call = call
        self._provider = find_client(call).provider
        self._waiting: Verdict | None = None

    @property
    def waiting(self) -> tuple[ToolCall, ...]:
        """The calls that may be run and have no result yet."""
        return () if self._waiting is None else self._waiting.calls

    def ask(self, said: Any = None, **options: Any) -> Answer:
        """Say something, and get an answer that keeps the contract; without words, the model goes on after results."""
        messages = self._next(said)
        return self._take(messages, ask(self.contract, self._call, messages, **self._given(options)))

    async def aask(self, said: Any = None, **options: Any) -> Answer:
        """The same, asynchronously."""
        messages = self._next(said)
        return self._take(messages, await aask(self.contract, self._call, messages, **self._given(options)))

    def run(self, registry: Registry) -> Execution:
        """Run the calls that wait, and put what came of them into the history."""
        return self._ran(execute(self._called(), registry, self._provider))

    async def arun(self, registry: Registry) -> Execution:
        """The same for asynchronous functions."""
        return self._ran(await aexecute(self._called(), registry, self._provider))

    def _given(self, options: dict[str, Any]) -> dict[str, Any]:
        known = {"state": self.state, "data": self.data, "tenant": self.tenant}
        context = {name: value for name, value in known.items() if value not in (None, "", {})}
        return {"policy": self.policy, **options, "context": {**context, **(options.get("context") or {})}}

    def _next(self, said: Any) -> Messages:
        if self.waiting:
            raise ValueError(f"{self.waiting[0].name!r} was called and has no result yet: run() the calls first")
        messages = [*self.messages, *(() if said is None else opened(said))]
        if not messages:
            raise ValueError("there is nothing to ask: say something")
        return messages

    def _take(self, messages: Messages, answer: Answer) -> Answer:
        """Keep a turn that gave something; one that failed leaves no trace."""
        if answer.outcome == "failed":
            return answer
        verdict = answer.verdict
        calls = tuple(
            msgspec.structs.replace(call, id=call.id or f"call_{len(messages)}_{index}")
            for index, call in enumerate(verdict.calls)
        )
        text = verdict.reply.text
        if any(call.origin != "native" for call in calls):
            text = (parted(verdict.data) if isinstance(verdict.data, dict) else beside(verdict)).text
        self.messages = [*messages, assistant(Reply(text=text, calls=calls), self._provider)]
        self._waiting = Verdict(Reply(text=text, calls=calls), calls=calls) if calls else None
        return answer

    def _called(self) -> Verdict:
        if self._waiting is None:
            raise ValueError("no call waits for a result")
        return self._waiting

    def _ran(self, done: Execution) -> Execution:
        self.messages = [*self.messages, *done.messages]
        self._waiting = None
        return done
