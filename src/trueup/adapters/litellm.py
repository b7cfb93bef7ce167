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
from trueup.batch.columns import contract_of
from trueup.contract.contract import Contract
from trueup.verdict.codec import spelled
from trueup.verdict.verdict import Rejected, Verdict
from trueup.watch.missing import library

with library("litellm>=1.106"):
    import litellm
    from litellm.integrations.custom_guardrail import CustomGuardrail
    from litellm.types.guardrails import GuardrailEventHooks
    from litellm.types.utils import ModelResponse


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
                await self._judge(choice.message)
        return response

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """Judge a stream at its end, then send it: unchanged, or with the repaired reply in its first piece."""
        chunks = [chunk async for chunk in response]
        whole: Any = litellm.stream_chunk_builder(chunks) if chunks else None
        if not isinstance(whole, ModelResponse):
            for chunk in chunks:
                yield chunk
            return
        message: Any = whole.choices[0].message
        repaired = await self._judge(message)
        for number, chunk in enumerate(chunks):
            if repaired:
                _replace(chunk, message if number == 0 else None)
            yield chunk

    async def _judge(self, message: Any) -> bool:
        """Judge a message and repair it in place. Returns whether it was changed."""
        sent = {"role": "assistant", **message.model_dump(include={"content", "tool_calls"}, exclude_none=True)}
        verdict = await self.contract.acheck(sent if message.tool_calls else message.content or "", self._context)
        if self._on_verdict is not None:
            self._on_verdict(verdict)
        if not verdict.ok:
            raise ReplyRefused(verdict, correction_text(self.contract, verdict, self._context))
        if not verdict.fixes:
            return False
        for native, judged in zip(message.tool_calls or (), verdict.calls, strict=False):
            native.function.arguments = spelled(judged.args).decode()
        if self.contract.schema is not None and message.content:
            message.content = spelled(verdict.data).decode()
        return True


def _replace(chunk: Any, message: Any) -> None:
    """Put a whole message into a piece of a stream, or empty the piece."""
    for choice in chunk.choices:
        choice.delta.content = None if message is None else message.content
        calls = None if message is None else message.tool_calls
        choice.delta.tool_calls = calls and [{"index": index, **call.model_dump()} for index, call in enumerate(calls)]
