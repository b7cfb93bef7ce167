"""LlamaIndex: an output parser, and a program that asks again.

`ContractOutputParser` repairs and judges the text of a completion; a refused one raises `OutputParserException` with a
correction, and the verdict is in its `__cause__`. `ContractProgram` asks a model until a reply is valid.

>>> from trueup import Contract
>>> parser = ContractOutputParser(Contract({"type": "object", "properties": {"age": {"type": "integer"}}}))
>>> parser.parse('Here you are: {"age": "36",}')
{'age': 36}
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from trueup.ask.answer import Answer
from trueup.ask.correction import correction_text
from trueup.ask.policy import Policy
from trueup.batch.columns import contract_of
from trueup.contract.contract import Contract
from trueup.verdict.verdict import Rejected, Verdict
from trueup.watch.missing import library

with library("llama-index-core>=0.14"):
    from llama_index.core.base.llms.types import ChatMessage, TextBlock
    from llama_index.core.llms.llm import LLM
    from llama_index.core.output_parsers.base import OutputParserException
    from llama_index.core.prompts import BasePromptTemplate, PromptTemplate
    from llama_index.core.types import BaseOutputParser, BasePydanticProgram

Context = dict[str, Any] | None
OnVerdict = Callable[[Verdict], object] | None


class ContractOutputParser(BaseOutputParser):
    """Parses a completion under a contract, as the `output_parser` of a program or a prompt.

    - `contract`: a Contract, or the path of a contract file. Its instructions are added to each prompt.
    - `context`: facts about the conversation, as in `Contract.check`; None by default.
    - `on_verdict`: a function that is called with each verdict, refused or not; None by default.
    """

    def __init__(self, contract: Contract[Any] | str, *, context: Context = None, on_verdict: OnVerdict = None) -> None:
        self.contract, self._context, self._on_verdict = contract_of(contract), context, on_verdict

    def parse(self, output: str) -> Any:
        verdict = self.contract.check(output, self._context)
        if self._on_verdict is not None:
            self._on_verdict(verdict)
        return _unwrapped(self.contract, verdict, self._context, ok=verdict.ok)

    def format(self, query: str) -> str:
        return "\n\n".join(filter(None, (query, self.contract.instructions())))


class ContractProgram(BasePydanticProgram[Any]):
    """Asks a LlamaIndex model until a reply is valid: `program = ContractProgram(contract, llm, "Who is {who}?")`.

    - `contract`: a Contract, or the path of a contract file.
    - `llm`: the model. Set its own `max_retries` to 0, because the policy decides.
    - `prompt`: a prompt, or its template.
    - `policy`: when to ask again and when to stop; None: the defaults of `Policy`.
    - `context`: facts about the conversation, as in `Contract.check`; None by default.
    - `on_answer`: a function that is called with each `Answer`: its verdict, all attempts, the cost; None by default.
    """

    def __init__(
        self,
        contract: Contract[Any] | str,
        llm: LLM,
        prompt: BasePromptTemplate | str,
        *,
        policy: Policy | None = None,
        context: dict[str, Any] | None = None,
        on_answer: Callable[[Answer[Any]], object] | None = None,
    ) -> None:
        self.contract: Contract[Any] = contract_of(contract)
        self.llm, self.policy = llm, policy
        self.prompt = PromptTemplate(prompt) if isinstance(prompt, str) else prompt
        self._context, self._on_answer = context, on_answer

    @property
    def output_cls(self) -> Any:
        return dict

    def __call__(self, *args: Any, llm_kwargs: dict[str, Any] | None = None, **values: Any) -> Any:
        def call(messages: list[dict[str, Any]]) -> Any:
            return _said(self.llm.chat(_chat(messages), **(llm_kwargs or {})))

        return self._settled(self.contract.ask(call, self._messages(values), self.policy, context=self._context))

    async def acall(self, *args: Any, llm_kwargs: dict[str, Any] | None = None, **values: Any) -> Any:
        async def call(messages: list[dict[str, Any]]) -> Any:
            return _said(await self.llm.achat(_chat(messages), **(llm_kwargs or {})))

        return self._settled(await self.contract.aask(call, self._messages(values), self.policy, context=self._context))

    def stream_call(self, *args: Any, llm_kwargs: dict[str, Any] | None = None, **values: Any) -> Iterator[Any]:
        """Yield the value so far each time it changes, and the judged value last. `values` fill in the prompt;
        `llm_kwargs` are passed to the model, None: nothing; `args` are ignored.
        """

        def call(messages: list[dict[str, Any]]) -> Iterator[str]:
            return (part.delta or "" for part in self.llm.stream_chat(_chat(messages), **(llm_kwargs or {})))

        stream = self.contract.ask_stream(call, self._messages(values), self.policy, context=self._context)
        yield from (part.value for part in stream if part.kind == "value")
        yield self._settled(stream.answer)

    async def astream_call(self, *args: Any, llm_kwargs: dict[str, Any] | None = None, **values: Any) -> Any:
        """Like `stream_call`, in a running event loop: await it, and iterate over the result."""

        async def call(messages: list[dict[str, Any]]) -> AsyncIterator[str]:
            async for part in await self.llm.astream_chat(_chat(messages), **(llm_kwargs or {})):
                yield part.delta or ""

        async def parts() -> AsyncIterator[Any]:
            stream = self.contract.aask_stream(call, self._messages(values), self.policy, context=self._context)
            async for part in stream:
                if part.kind == "value":
                    yield part.value
            yield self._settled(stream.answer)

        return parts()

    def _messages(self, values: dict[str, Any]) -> list[dict[str, Any]]:
        messages = self.prompt.format_messages(llm=self.llm, **values)
        for block in (block for message in messages for block in message.blocks):
            if not isinstance(block, TextBlock):
                raise TypeError(f"ContractProgram sends only text; the prompt has a {type(block).__name__}")
        return [{"role": message.role.value, "content": message.content or ""} for message in messages]

    def _settled(self, answer: Answer[Any]) -> Any:
        if self._on_answer is not None:
            self._on_answer(answer)
        return _unwrapped(self.contract, answer.verdict, self._context, ok=answer.ok)


def _said(response: Any) -> Any:
    """The completion of OpenAI's client, which says why it ended; the text of any other response."""
    return response.raw if getattr(response.raw, "choices", None) else response.message.content or ""


def _chat(messages: list[dict[str, Any]]) -> list[ChatMessage]:
    return [ChatMessage(role=message["role"], content=message["content"]) for message in messages]


def _unwrapped(contract: Contract[Any], verdict: Verdict, context: Context, *, ok: bool) -> Any:
    if ok:
        return verdict.reply.text if contract.schema is None else verdict.value
    raise OutputParserException(correction_text(contract, verdict, context)) from Rejected(verdict)
