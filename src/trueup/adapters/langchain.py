"""LangChain: an output parser, and a runnable that asks again.

`ContractOutputParser` ends a chain. It repairs a message and returns its value, or raises `OutputParserException`, with
the correction as `observation` and the verdict in `__cause__`. `ContractRunnable` replaces the model and asks again.
A reply that calls tools is returned as an `AIMessage` with the repaired calls.

>>> from trueup import Contract
>>> parser = ContractOutputParser(contract=Contract({"properties": {"age": {"type": "integer"}}}))
>>> parser.invoke('Here you are: {"age": "36",}')
{'age': 36}
>>> parser.invoke('{"age": "old"}')
Traceback (most recent call last):
langchain_core.exceptions.OutputParserException: reply refused: V001 $.age: Field "age": Expected integer, got string ...
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any

from trueup.ask.answer import Answer
from trueup.ask.correction import correction_text
from trueup.ask.policy import Policy
from trueup.ask.replies.accepted import taken
from trueup.batch.columns import contract_of
from trueup.contract.contract import Contract
from trueup.verdict.verdict import Rejected, Verdict
from trueup.watch.missing import library

with library("langchain-core>=1.0"):
    from langchain_core.exceptions import OutputParserException
    from langchain_core.language_models import LanguageModelInput
    from langchain_core.messages import AIMessage, convert_to_messages
    from langchain_core.output_parsers import BaseTransformOutputParser
    from langchain_core.prompt_values import PromptValue
    from langchain_core.runnables import Runnable, RunnableConfig, RunnableSerializable
    from pydantic import BeforeValidator, ConfigDict


class ContractOutputParser(BaseTransformOutputParser[Any]):
    """Parses a message or a text under a contract. In a stream it yields the value so far, and the judged value last."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    contract: Annotated[Contract[Any], BeforeValidator(contract_of)]
    """A Contract, or the path of a contract file."""
    context: dict[str, Any] | None = None
    """Facts about the conversation, as in `Contract.check`; None by default."""
    on_verdict: Callable[[Verdict], object] | None = None
    """A function that is called with each verdict, refused or not; None by default."""

    def get_format_instructions(self) -> str:
        return self.contract.instructions()

    def parse(self, text: str) -> Any:
        return _settled(self, self.on_verdict, self.contract.check(text, self.context))

    def parse_result(self, result: list[Any], *, partial: bool = False) -> Any:
        return _settled(self, self.on_verdict, self.contract.check(_reply(result), self.context))

    async def aparse_result(self, result: list[Any], *, partial: bool = False) -> Any:
        return _settled(self, self.on_verdict, await self.contract.acheck(_reply(result), self.context))

    def _transform(self, input: Iterator[Any]) -> Iterator[Any]:
        stream = self.contract.stream(input, context=self.context)
        yield from (stream.partial for _ in stream.steps() if stream.has_more())
        yield _settled(self, self.on_verdict, stream.verdict)

    async def _atransform(self, input: AsyncIterator[Any]) -> AsyncIterator[Any]:
        stream = self.contract.stream(input, context=self.context)
        async for _ in stream.asteps():
            if stream.has_more():
                yield stream.partial
        yield _settled(self, self.on_verdict, stream.verdict)


class ContractRunnable(RunnableSerializable[LanguageModelInput, Any]):
    """Asks a chat model, or any runnable that takes messages, until a reply is valid. Streams like the parser."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    contract: Annotated[Contract[Any], BeforeValidator(contract_of)]
    """A Contract, or the path of a contract file."""
    model: Runnable[Any, Any]
    """The model to ask. The retries of OpenAI and Anthropic models are switched off; set `max_retries=0` on other models."""
    policy: Policy | None = None
    """When to ask again and when to stop; None: the defaults of `Policy`."""
    context: dict[str, Any] | None = None
    """Facts about the conversation, as in `Contract.check`; None by default."""
    on_answer: Callable[[Answer[Any]], object] | None = None
    """A function that is called with each `Answer`: its verdict, all attempts, the cost; None by default."""

    def invoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        def ask(given: Any, run_manager: Any, config: RunnableConfig) -> Any:
            return _settled(self, self.on_answer, self.contract.ask(**self._asked(given, config, options)))

        return self._call_with_config(ask, input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        async def ask(given: Any, run_manager: Any, config: RunnableConfig) -> Any:
            return _settled(self, self.on_answer, await self.contract.aask(**self._asked(given, config, options)))

        return await self._acall_with_config(ask, input, config)

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        def ask(given: Iterator[Any], run_manager: Any, config: RunnableConfig) -> Iterator[Any]:
            stream = self.contract.ask_stream(**self._asked(next(given), config, options))
            yield from (part.value for part in stream if part.kind == "value")
            yield _settled(self, self.on_answer, stream.answer)

        yield from self._transform_stream_with_config(iter([input]), ask, config)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        async def ask(given: AsyncIterator[Any], run_manager: Any, config: RunnableConfig) -> AsyncIterator[Any]:
            stream = self.contract.aask_stream(**self._asked(await anext(given), config, options))
            async for part in stream:
                if part.kind == "value":
                    yield part.value
            yield _settled(self, self.on_answer, stream.answer)

        async for part in self._atransform_stream_with_config(_alone(input), ask, config):
            yield part

    def _asked(self, given: Any, config: RunnableConfig, options: dict[str, Any]) -> dict[str, Any]:
        """The arguments of `ask`. The model gets this configuration, so LangChain reports its calls as children of this run."""
        model = self.model.bind(**options).with_config(config)
        messages = given.to_messages() if isinstance(given, PromptValue) else given
        return {"call": model, "messages": messages, "policy": self.policy, "context": self.context}


async def _alone(given: Any) -> AsyncIterator[Any]:
    yield given


def _reply(result: list[Any]) -> Any:
    """The message of a model; the text of any other message."""
    return result[0].message if isinstance(getattr(result[0], "message", None), AIMessage) else result[0].text


def _settled(judge: ContractOutputParser | ContractRunnable, watch: Any, judged: Verdict | Answer[Any]) -> Any:
    """The value of an accepted reply. For a refused one, raises LangChain's exception with the correction for the model."""
    if watch is not None:
        watch(judged)
    contract, verdict = judge.contract, judged.verdict if isinstance(judged, Answer) else judged
    if judged.ok and verdict.calls:
        return convert_to_messages(taken(verdict, "openai", 1).messages)[0]
    if judged.ok:
        return verdict.reply.text if contract.schema is None else verdict.value
    rejected, told = Rejected(verdict), correction_text(contract, verdict, judge.context)
    hint, said = "" if verdict.hint in str(rejected) else f"\n{verdict.hint}", verdict.reply.text
    raise OutputParserException(f"{rejected}{hint}", observation=told, llm_output=said, send_to_llm=True) from rejected
