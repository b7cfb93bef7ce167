"""LiteLLM: a guardrail that judges and repairs chat completions, in the proxy and in the SDK.

A repaired reply replaces the model's reply. A stream is held back until it is judged. A refused reply raises
`ReplyRefused`: the proxy answers 422 with the correction, so that the client can send it. Replies of other endpoints
pass unchanged.

>>> import asyncio, litellm
>>> from trueup import Contract
>>> from trueup.testing.server import ScriptedServer
>>> guardrail = ContractGuardrail(Contract({"type": "object", "properties": {"age": {"type": "integer"}}}))
>>> litellm.callbacks = [guardrail]
>>> with ScriptedServer(['Here you are: {"age": "36",}']) as server:
...     asked = {"model": "openai/m", "messages": [], "api_base": server.url, "api_key": "none"}
...     asyncio.run(litellm.acompletion(**asked, guardrails=["contract"])).choices[0].message.content
'{"age":36}'
>>> litellm.callbacks = []
"""

from collections.abc import AsyncGenerator, Callable
from typing import Any

from trueup.ask.correction import correction_text
from trueup.ask.replies.repaired import repaired
from trueup.batch.columns import contract_of
from trueup.contract.contract import Contract
from trueup.verdict.verdict import Rejected, Verdict
from trueup.watch.missing import library

with library("litellm>=1.106"):
    import litellm
    from litellm.integrations.custom_guardrail import CustomGuardrail
    from litellm.types.guardrails import GuardrailEventHooks
    from litellm.types.utils import ChatCompletionDeltaToolCall, ChatCompletionMessageToolCall, ModelResponse


class ReplyRefused(Rejected):
    """Raised for a refused reply, which has the `verdict`. LiteLLM's proxy answers with the `status_code` 422.

    `message` is the correction; without one, it is the text of the error. `type` and
    `param` are keys of an error in OpenAI's format; no `param` is named.
    """

    status_code = 422
    type = "reply_refused"
    param = None

    def __init__(self, verdict: Verdict, message: str = "") -> None:
        super().__init__(verdict)
        self.message = message or str(self)


class ContractGuardrail(CustomGuardrail):
    """A guardrail after the call: `litellm.callbacks = [ContractGuardrail(contract)]`, or an entry of the proxy's `guardrails`.

    - `contract`: a Contract, or the path of a contract file.
    - `guardrail_name`: the name by which requests ask for it.
    - `context`: facts about the conversation, as in `Contract.check`; None by default.
    - `on_verdict`: a function that is called with each verdict, refused or not; None by default.
    - `options`: the options of LiteLLM's `CustomGuardrail`, such as `default_on`.
    """

    def __init__(
        self,
        contract: Contract[Any] | str,
        guardrail_name: str = "contract",
        *,
        context: dict[str, Any] | None = None,
        on_verdict: Callable[[Verdict], object] | None = None,
        **options: Any,
    ) -> None:
        self.contract: Contract[Any] = contract_of(contract)
        self._context, self._on_verdict = context, on_verdict
        after = {"event_hook": GuardrailEventHooks.post_call, "supported_event_hooks": [GuardrailEventHooks.post_call]}
        super().__init__(guardrail_name=guardrail_name, **{**after, **options})

    async def async_post_call_success_hook(self, data: dict[str, Any], user_api_key_dict: Any, response: Any) -> Any:
        """Judge each choice of a completion."""
        if isinstance(response, ModelResponse):
            for choice in response.choices:
                await self._judge(choice)
        return response

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """Judge a stream at its end, then send it: unchanged, or with each repaired reply in its first piece."""
        chunks = [chunk async for chunk in response]
        pieces: dict[int, list[Any]] = {}
        for chunk in chunks:
            for choice in getattr(chunk, "choices", None) or ():
                pieces.setdefault(choice.index, []).append(chunk.model_copy(update={"choices": [choice]}))
        for parts in pieces.values():
            whole: Any = litellm.stream_chunk_builder(parts)
            if isinstance(whole, ModelResponse) and await self._judge(whole.choices[0]):
                _replace([part.choices[0] for part in parts], whole.choices[0])
        for chunk in chunks:
            yield chunk

    async def _judge(self, choice: Any) -> bool:
        """Judge a choice and repair it in place. Returns whether it was changed."""
        message = choice.message
        given = {"finish_reason": choice.finish_reason, "message": message.model_dump(mode="json", exclude_none=True)}
        verdict = await self.contract.acheck({"choices": [{"index": 0, **given}]}, self._context)
        if self._on_verdict is not None:
            self._on_verdict(verdict)
        if not verdict.ok:
            raise ReplyRefused(verdict, correction_text(self.contract, verdict, self._context))
        judged = repaired(self.contract, verdict)
        if judged is None:
            return False
        if judged.get("tool_calls") and not message.tool_calls:  # they were written in the text
            choice.finish_reason = "tool_calls"
        message.content = judged["content"]
        message.tool_calls = [ChatCompletionMessageToolCall(**call) for call in judged.get("tool_calls", ())] or None
        return True


def _replace(pieces: list[Any], whole: Any) -> None:
    """Put a whole choice into the first of its pieces in a stream, and empty the others."""
    for piece in pieces:
        piece.delta.content = piece.delta.tool_calls = None
        piece.finish_reason = piece.finish_reason and whole.finish_reason
    pieces[0].delta.content = whole.message.content
    if whole.message.tool_calls:
        calls = enumerate(whole.message.tool_calls)
        pieces[0].delta.tool_calls = [ChatCompletionDeltaToolCall(index=at, **call.model_dump()) for at, call in calls]
