"""OpenAI Agents SDK: a contract for the output of an agent.

`ContractOutput` is an output type that repairs and judges the final output; a refused one raises `ModelBehaviorError`,
with the verdict in its `__cause__`. `ask_again` is a handler for `invalid_final_output` that sends the correction to
the model. `contract_guardrail` judges the output of any agent, including text, and trips if it is refused.

>>> from trueup import Contract
>>> output = ContractOutput(Contract({"type": "object", "properties": {"age": {"type": "integer"}}}))
>>> output.validate_json('Here you are: {"age": "36",}')
{'age': 36}
>>> output.validate_json("I do not know.")
Traceback (most recent call last):
agents.exceptions.ModelBehaviorError: Your reply was not valid. ...
"""

import copy
from collections.abc import Awaitable, Callable
from typing import Any

from trueup.ask.correction import correction_text
from trueup.batch.columns import contract_of
from trueup.contract.contract import Contract
from trueup.verdict.verdict import Rejected, Verdict
from trueup.watch.missing import library

with library("openai-agents>=0.20"):
    from agents import (
        Agent,
        AgentOutputSchemaBase,
        GuardrailFunctionOutput,
        ModelBehaviorError,
        OutputGuardrail,
        RunContextWrapper,
        RunErrorHandlerInput,
        RunErrorHandlerResult,
        Runner,
    )
    from agents.strict_schema import ensure_strict_json_schema
    from pydantic_core import to_json, to_jsonable_python

Known = dict[str, Any] | Callable[[RunContextWrapper[Any]], dict[str, Any]]
"""The context of a check, as in `Contract.check`, or a function that makes it from the run's context."""
OnVerdict = Callable[[Verdict], object]


class ContractOutput(AgentOutputSchemaBase):
    """The output type of an agent: `Agent(name="…", output_type=ContractOutput(contract))`.

    - `contract`: a Contract, or the path of a contract file; it must have a schema.
    - `strict`: whether the provider gets the schema in its strict mode; false by default, because that rejects many schemas.
    - `context`: facts about the conversation, as in `Contract.check`; None by default.
    - `on_verdict`: a function that is called with each verdict, refused or not; None by default.
    """

    def __init__(
        self,
        contract: Contract[Any] | str,
        *,
        strict: bool = False,
        context: dict[str, Any] | None = None,
        on_verdict: OnVerdict | None = None,
    ) -> None:
        contract = contract_of(contract)
        if contract.schema is None:
            raise ValueError("ContractOutput needs a contract with a schema; use contract_guardrail for texts")
        self.contract, self._strict, self._context, self._on_verdict = contract, strict, context, on_verdict
        schema = copy.deepcopy(contract.schema.source)
        if not isinstance(schema, dict) or not contract.schema.root_keys:  # providers only take objects
            schema = schema if isinstance(schema, dict) else {}
            shared: dict[str, Any] = {name: schema.pop(name) for name in ("$defs", "definitions") if name in schema}
            schema = {"type": "object", "properties": {"response": schema}, "required": ["response"], **shared}
        self._schema: dict[str, Any] = ensure_strict_json_schema(schema) if strict else schema

    def is_plain_text(self) -> bool:
        return False

    def name(self) -> str:
        return self.contract.name or "output"

    def json_schema(self) -> dict[str, Any]:
        return self._schema

    def is_strict_json_schema(self) -> bool:
        return self._strict

    def validate_json(self, json_str: str) -> Any:
        verdict = self.contract.check(json_str, self._context)
        if self._on_verdict is not None:
            self._on_verdict(verdict)
        if verdict.ok:
            return verdict.value
        raise ModelBehaviorError(correction_text(self.contract, verdict, self._context)) from Rejected(verdict)


def ask_again(retries: int = 2, **options: Any) -> Callable[[RunErrorHandlerInput[Any]], Awaitable[Any]]:
    """Sends the correction to the model when an output is refused.

    Use it as `error_handlers={"invalid_final_output": ask_again()}` of `Runner.run`.

    - `retries`: how many times the model is asked again before the error is raised.
    - `options`: further options of `Runner.run` for these runs, such as `run_config` and `hooks`.
    """

    async def handle(failed: RunErrorHandlerInput[Any]) -> Any:
        if retries < 1 or not isinstance(failed.error.__cause__, Rejected):
            return None
        correction: Any = {"role": "user", "content": str(failed.error)}
        try:
            again = await Runner.run(
                failed.run_data.last_agent,
                [*failed.run_data.history, correction],
                **{"context": failed.context.context, **options},
                error_handlers={"invalid_final_output": ask_again(retries - 1, **options)},
            )
        except ModelBehaviorError as last:  # the SDK hides an error of a handler, and raises its own if it returns None
            failed.error.args, failed.error.__cause__ = last.args, last.__cause__
            return None
        except Exception as last:  # noqa: BLE001 - the SDK would hide any error
            failed.error.add_note(f"Asking again failed: {type(last).__name__}: {last}")
            return None
        return RunErrorHandlerResult(to_jsonable_python(again.final_output))

    return handle


def contract_guardrail(
    contract: Contract[Any] | str, *, context: Known | None = None, on_verdict: OnVerdict | None = None
) -> OutputGuardrail[Any]:
    """Judges the output of an agent: `Agent(name="…", output_guardrails=[contract_guardrail(contract)])`.

    For a refused output, `OutputGuardrailTripwireTriggered` has the verdict in `guardrail_result.output.output_info`.

    `contract` and `on_verdict` are the same as for `ContractOutput`. `context` may also be a function that takes the `RunContextWrapper`;
    None: nothing.
    """
    judges: Contract[Any] = contract_of(contract)

    async def judge(ctx: RunContextWrapper[Any], agent: Agent[Any], output: Any) -> GuardrailFunctionOutput:
        known = context(ctx) if callable(context) else context
        verdict = await judges.acheck(output if isinstance(output, str) else to_json(output).decode(), known)
        if on_verdict is not None:
            on_verdict(verdict)
        return GuardrailFunctionOutput(output_info=verdict, tripwire_triggered=not verdict.ok)

    return OutputGuardrail(guardrail_function=judge, name=judges.name or "contract")
