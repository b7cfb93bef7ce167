"""Haystack: a component that judges and repairs the last reply of a chat generator.

`ContractValidator` replaces `JsonSchemaValidator`. It outputs a repaired reply at `validated`, and a correction for a
refused one at `validation_error`, which a pipeline connects to its generator. When the corrections are used up, it
outputs the verdict at `refused`.

>>> from haystack.dataclasses import ChatMessage
>>> from trueup import Contract
>>> validator = ContractValidator(Contract({"type": "object", "properties": {"age": {"type": "integer"}}}))
>>> validator.run([ChatMessage.from_assistant('Here you are: {"age": "36",}')])["value"]
{'age': 36}
>>> validator.run([ChatMessage.from_assistant("I do not know.")])["validation_error"][-1].text.splitlines()[0]
'Your reply was not valid. Correct it; this is correction 1 of 2.'
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from trueup.ask.correction import correction, correction_text
from trueup.ask.policy import Policy
from trueup.ask.replies.repaired import repaired
from trueup.batch.columns import contract_of
from trueup.contract.contract import Contract
from trueup.verdict.codec import decode, spelled
from trueup.verdict.verdict import Verdict
from trueup.watch.missing import library

with library("haystack-ai>=3.0"):
    from haystack import component, default_to_dict
    from haystack.dataclasses import ChatMessage, ToolCall

_CORRECTION = "trueup_correction"


@component
class ContractValidator:
    """Judges the last message under a contract, in a pipeline's loop or alone.

    - `contract`: a Contract, or the path of a contract file. A pipeline can only be saved with a path.
    - `retries`: how many corrections are sent before the verdict goes to `refused`, counted in the `history`.
    - `on_verdict`: a function that is called with each verdict, refused or not; None by default.
    """

    def __init__(
        self,
        contract: Contract[Any] | str,
        *,
        retries: int = 2,
        on_verdict: Callable[[Verdict], object] | None = None,
    ) -> None:
        self.contract: Contract[Any] = contract_of(contract)
        self.retries, self.on_verdict = retries, on_verdict
        self._path = None if isinstance(contract, Contract) else str(Path(contract))

    def to_dict(self) -> dict[str, Any]:
        """The parameters of the component, to save a pipeline."""
        if self._path is None or self.on_verdict is not None:
            raise ValueError(
                "to save its pipeline, give ContractValidator the path of a contract file and no `on_verdict`"
            )
        return dict(default_to_dict(self, contract=self._path, retries=self.retries))

    @component.output_types(validated=list[ChatMessage], value=Any, validation_error=list[ChatMessage], refused=Verdict)
    def run(
        self,
        messages: list[ChatMessage],
        history: list[ChatMessage] | None = None,
        context: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Judge the last message.

        - `messages`: the replies of the generator.
        - `history`: the messages that the generator was given; the correction follows them. None: the correction is sent without them.
        - `context`: facts about the conversation, as in `Contract.check`; None by default.
        """
        if not messages:
            raise ValueError("ContractValidator needs a message; `messages` is empty")
        return self._settled(self.contract.check(_reply(messages[-1]), context), messages[-1], history or [], context)

    @component.output_types(validated=list[ChatMessage], value=Any, validation_error=list[ChatMessage], refused=Verdict)
    async def run_async(
        self,
        messages: list[ChatMessage],
        history: list[ChatMessage] | None = None,
        context: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Judge the last message in a running event loop; the parameters are the same as for `run`."""
        if not messages:
            raise ValueError("ContractValidator needs a message; `messages` is empty")
        verdict = await self.contract.acheck(_reply(messages[-1]), context)
        return self._settled(verdict, messages[-1], history or [], context)

    def _settled(
        self, verdict: Verdict, message: ChatMessage, history: list[ChatMessage], context: dict[str, Any] | None
    ) -> dict[str, Any]:
        if self.on_verdict is not None:
            self.on_verdict(verdict)
        if verdict.ok:
            valid = _repaired(message, repaired(self.contract, verdict))
            return {"validated": [valid], "value": valid.text if self.contract.schema is None else verdict.value}
        nth = 1 + sum(_CORRECTION in earlier.meta for earlier in history)
        if nth > self.retries:
            return {"refused": verdict}
        return {"validation_error": [*history, message, *self._corrected(verdict, message, context, nth)]}

    def _corrected(
        self, verdict: Verdict, message: ChatMessage, context: dict[str, Any] | None, nth: int
    ) -> list[ChatMessage]:
        """The correction: a result for each tool call of the message, or one message of the user."""
        policy = Policy(repairs=max(nth, self.retries))
        answers = {
            sent["tool_call_id"]: sent["content"]
            for sent in correction(self.contract, verdict, context, policy, nth)
            if sent["role"] == "tool"
        }
        if calls := [call for call in message.tool_calls if call.id in answers]:
            results = [ChatMessage.from_tool(answers[call.id], call, error=True) for call in calls]
            results[-1].meta[_CORRECTION] = nth
            return results
        told = correction_text(self.contract, verdict, context, nth, self.retries)
        return [ChatMessage.from_user(told, meta={_CORRECTION: nth})]


def _reply(message: ChatMessage) -> dict[str, Any]:
    """The message as a completion in OpenAI's format, with its tool calls."""
    calls = [
        {"id": ident, "function": {"name": call.tool_name, "arguments": spelled(call.arguments).decode()}}
        for ident, call in _with_ids(message)
    ]
    said = {"role": "assistant", "content": message.text, **({"tool_calls": calls} if calls else {})}
    return {"choices": [{"index": 0, "finish_reason": message.meta.get("finish_reason"), "message": said}]}


def _with_ids(message: ChatMessage) -> list[tuple[str, ToolCall]]:
    """The tool calls of a message, each with an id to find it by. Some providers give none."""
    return [(call.id or f"unnamed_{at}", call) for at, call in enumerate(message.tool_calls)]


def _repaired(message: ChatMessage, judged: dict[str, Any] | None) -> ChatMessage:
    """The message with all its fixes; itself if there are none."""
    if judged is None:
        return message
    native = dict(_with_ids(message))
    calls = []
    for call in judged.get("tool_calls", ()):
        written = native.get(call["id"]) or ToolCall("", {}, call["id"])
        arguments = decode(call["function"]["arguments"])
        calls.append(ToolCall(call["function"]["name"], arguments, written.id, written.extra))
    return ChatMessage.from_assistant(judged["content"], message.meta, message.name, calls, reasoning=message.reasoning)
