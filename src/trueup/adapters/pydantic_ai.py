"""pydantic-ai: a contract for the output of an agent.

`ContractCapability` judges and repairs the model's output before pydantic-ai parses it: the arguments of the output tool, JSON in a text,
or plain text. `contract_text` lets the model answer with text if a tool call is expected. `contract_validator` judges a parsed output.
Each raises `ModelRetry` with a correction for a refused output, so the agent's own retries send it; the verdict is in its `__cause__`.

>>> import asyncio
>>> from pydantic_ai import Agent
>>> from pydantic_ai.models.test import TestModel
>>> from trueup import Contract
>>> contract = Contract({"type": "object", "properties": {"age": {"type": "integer"}}})
>>> agent = Agent(TestModel(custom_output_text='Here you are: {"age": "36",}'), output_type=contract_text(contract))
>>> asyncio.run(agent.run("How old is Ada?")).output
{'age': 36}
"""

from collections.abc import Awaitable, Callable
from typing import Any

from trueup.ask.correction import correction_text
from trueup.batch.columns import contract_of
from trueup.contract.contract import Contract
from trueup.verdict.verdict import Rejected, Verdict
from trueup.watch.missing import library

with library("pydantic-ai-slim>=2.0"):
    from pydantic import TypeAdapter
    from pydantic_ai import ModelRetry, RunContext, TextOutput
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.output import OutputContext
    from pydantic_core import to_json

Known = dict[str, Any] | Callable[[RunContext[Any]], dict[str, Any]] | None
OnVerdict = Callable[[Verdict], object] | None
Given = Contract[Any] | str
_KIND = {"type": "object", "required": ["kind", "data"]}
_SEVERAL: Contract[Any] = Contract({"type": "object", "required": ["result"], "properties": {"result": _KIND}})


class ContractCapability(AbstractCapability[Any]):
    """Judges and repairs the output of an agent: `Agent(model, output_type=Person, capabilities=[ContractCapability(contract)])`.

    - `contract`: a Contract, or the path of a contract file. One with a schema judges structured output, one without a schema judges text.
    - `output`: the output type to judge if the agent has several, such as `[Person, str]`; None: all outputs are judged.
    - `context`: facts about the conversation, as in `Contract.check`, or a function that makes it from the `RunContext`; None by default.
    - `on_verdict`: a function that is called with each verdict, refused or not; None by default.
    """

    def __init__(
        self, contract: Given, *, output: Any = None, context: Known = None, on_verdict: OnVerdict = None
    ) -> None:
        self._judge, self._output = _Judge(contract, context, on_verdict), output

    async def wrap_output_validate(
        self, ctx: RunContext[Any], *, output_context: OutputContext, output: Any, handler: Any
    ) -> Any:
        if ctx.partial_output or self._judge.contract.schema is None:
            return await handler(output)
        if output_context.output_type is None:
            return await handler(await self._one_of_several(ctx, output))
        if self._output not in (None, output_context.output_type):
            return await handler(output)
        schema = {} if output_context.object_def is None else output_context.object_def.json_schema
        return await handler(await self._judge.data(ctx, output, schema.get("properties", {}).keys()))

    async def _one_of_several(self, ctx: RunContext[Any], output: Any) -> Any:
        """The output of a mode that has several types in one schema, with judged data if it is of the type to judge."""
        whole = _SEVERAL.check(output) if isinstance(output, str) else _SEVERAL.check_value(output)
        result = whole.data["result"] if whole.ok else None
        if not result or getattr(self._output, "__name__", result["kind"]) != result["kind"]:
            return output
        keys = result["data"] if isinstance(result["data"], dict) else ()
        data = await self._judge.data(ctx, result["data"], keys, where="In `result.data`: ")
        return {"result": {**result, "data": data}}

    async def before_output_process(self, ctx: RunContext[Any], *, output_context: OutputContext, output: Any) -> Any:
        if isinstance(output, str) and self._judge.contract.schema is None and not ctx.partial_output:
            await self._judge.judged(ctx, output)
        return output


def contract_text(contract: Given, *, context: Known = None, on_verdict: OnVerdict = None) -> TextOutput[Any]:
    """Reads the model's text under a contract, as an entry of `output_type`, alone or together with a type for tool calls.

    `contract`, `context` and `on_verdict` are the same as for `ContractCapability`.
    """
    judge = _Judge(contract, context, on_verdict)

    async def read(ctx: RunContext[Any], text: str) -> Any:
        structured = judge.contract.schema is not None
        if ctx.partial_output:
            return judge.contract.stream().feed(text) if structured else text
        verdict = await judge.judged(ctx, text)
        return verdict.value if structured else text

    return TextOutput(read)


def contract_validator(
    contract: Given, *, context: Known = None, on_verdict: OnVerdict = None
) -> Callable[[RunContext[Any], Any], Awaitable[Any]]:
    """Judges an output that pydantic-ai has parsed: `agent.output_validator(contract_validator(contract))`.

    `contract`, `context` and `on_verdict` are the same as for `ContractCapability`.
    """
    judge = _Judge(contract, context, on_verdict)

    async def validate(ctx: RunContext[Any], output: Any) -> Any:
        if ctx.partial_output:
            return output
        verdict = await judge.judged(ctx, output)
        if not verdict.fixes or judge.contract.schema is None:
            return output
        return to_json(verdict.data).decode() if isinstance(output, str) else _like(output, verdict.data)

    return validate


def _like(output: Any, data: Any) -> Any:
    """Repaired data with the types of the output that it was read from."""
    if isinstance(output, list) and isinstance(data, list) and len(output) == len(data):
        return [_like(item, repaired) for item, repaired in zip(output, data, strict=True)]
    if isinstance(output, dict) and isinstance(data, dict):
        return {name: _like(output.get(name), repaired) for name, repaired in data.items()}
    plain = output is None or isinstance(output, str | bool | int | float)
    return data if plain else TypeAdapter(type(output)).validate_json(to_json(data))


class _Judge:
    """The part that all three share: returns the verdict on an output, or raises `ModelRetry` with a correction."""

    def __init__(self, contract: Given, context: Known, on_verdict: OnVerdict) -> None:
        self.contract: Any = contract_of(contract)
        self._context, self._on_verdict = context, on_verdict

    async def data(self, ctx: RunContext[Any], output: Any, keys: Any, where: str = "") -> Any:
        """The judged data, in an envelope if the output, whose schema has these keys, is not an object."""
        data = (await self.judged(ctx, output, where)).data
        return {"response": data} if {*keys} == {"response"} != self.contract.schema.root_keys else data

    async def judged(self, ctx: RunContext[Any], output: Any, where: str = "") -> Verdict:
        known = self._context(ctx) if callable(self._context) else self._context
        reply = output if isinstance(output, str) else to_json(output).decode()
        verdict: Verdict = await self.contract.acheck(reply, known)
        if self._on_verdict is not None:
            self._on_verdict(verdict)
        if verdict.ok:
            return verdict
        told = correction_text(self.contract, verdict, known, nth=ctx.retry + 1, most=ctx.max_retries)
        raise ModelRetry(where + told) from Rejected(verdict)
