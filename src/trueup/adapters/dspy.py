"""DSPy: an adapter that repairs, judges and asks again.

`ContractAdapter` asks for JSON like DSPy's `JSONAdapter`, and judges the reply before DSPy parses it. A refused reply is asked for
again with a correction. After the last one, DSPy's `AdapterParseError` is raised, with the verdict in its `__cause__`.

>>> import dspy
>>> from trueup import Contract
>>> adapter = ContractAdapter(Contract({"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}}))
>>> adapter.parse(dspy.Signature("name -> age: int"), 'Here you are: {"age": "36",}')
{'age': 36}
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from trueup.ask.correction import correction_text
from trueup.batch.columns import contract_of
from trueup.contract.contract import Contract
from trueup.verdict.codec import spelled
from trueup.verdict.likeness import nearest
from trueup.verdict.verdict import Rejected, Verdict
from trueup.watch.missing import library

with library("dspy>=3.4"):
    from dspy import JSONAdapter
    from dspy.utils.exceptions import AdapterParseError

Message = dict[str, Any]
_corrections: ContextVar[tuple[Message, ...]] = ContextVar("corrections", default=())
_OBJECT: Contract[Any] = Contract({"type": "object"})


class ContractAdapter(JSONAdapter):
    """Judges the output fields of a signature: `dspy.configure(lm=lm, adapter=ContractAdapter(contract))`.

    - `contract`: a Contract, or the path of a contract file.
    - `field`: the output field that it judges, in signatures that have it; None: the object of all output fields.
    - `retries`: how many times the model is asked again.
    - `context`: facts about the conversation, as in `Contract.check`; None by default.
    - `on_verdict`: a function that is called with each verdict, refused or not; None by default.
    - `options`: the options of `JSONAdapter`.
    """

    def __init__(
        self,
        contract: Contract[Any] | str,
        field: str | None = None,
        *,
        retries: int = 2,
        context: dict[str, Any] | None = None,
        on_verdict: Callable[[Verdict], object] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.contract: Contract[Any] = contract_of(contract)
        self.field, self.retries = field, retries
        self._context, self._on_verdict = context, on_verdict

    def __call__(self, lm: Any, lm_kwargs: dict[str, Any], signature: Any, demos: list[Any], inputs: Any) -> Any:
        token = _corrections.set(())
        try:
            for nth in range(1, self.retries + 1):
                try:
                    return super().__call__(lm, {**lm_kwargs}, signature, demos, inputs)
                except AdapterParseError as error:
                    self._correct(error, nth)
            return super().__call__(lm, {**lm_kwargs}, signature, demos, inputs)
        finally:
            _corrections.reset(token)

    async def acall(self, lm: Any, lm_kwargs: dict[str, Any], signature: Any, demos: list[Any], inputs: Any) -> Any:
        token = _corrections.set(())
        try:
            for nth in range(1, self.retries + 1):
                try:
                    return await super().acall(lm, {**lm_kwargs}, signature, demos, inputs)
                except AdapterParseError as error:
                    self._correct(error, nth)
            return await super().acall(lm, {**lm_kwargs}, signature, demos, inputs)
        finally:
            _corrections.reset(token)

    def format(self, signature: Any, demos: list[Any], inputs: dict[str, Any]) -> list[Message]:
        return [*super().format(signature, demos, inputs), *_corrections.get()]

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        if not self._judges(signature):
            other: dict[str, Any] = super().parse(signature, completion)
            return other
        whole = _OBJECT.check(completion)
        fields = dict(whole.data) if whole.ok else {}
        if self.field is None:
            verdict = self.contract.check(completion, self._context)
            judged = verdict.data if isinstance(verdict.data, dict) else {}
        elif self.field in fields:
            value = fields[self.field]
            check = self.contract.check if isinstance(value, str) else self.contract.check_value
            verdict = check(value, self._context)
            judged = {self.field: value if self.contract.schema is None else verdict.data}
        else:
            verdict, judged = _with_field(self.field).check(completion), {}
        if self._on_verdict is not None:
            self._on_verdict(verdict)
        if verdict.ok:
            parsed: dict[str, Any] = super().parse(signature, spelled({**fields, **judged}).decode())
            return parsed
        raise AdapterParseError(
            type(self).__name__, signature, completion, self._told(verdict, 1), fields or None
        ) from Rejected(verdict)

    def _judges(self, signature: Any) -> bool:
        """Whether the contract is for this signature. A module such as `ReAct` has others for its steps."""
        if self.field is None or self.field in signature.output_fields:
            return True
        near = nearest(self.field, signature.output_fields)
        if near is not None:
            raise ValueError(f"`field`: {self.field!r} is not an output field of the signature; did you mean {near!r}?")
        return False

    def _correct(self, error: Any, nth: int) -> None:
        """Put the refused reply and a correction after the messages of the next request."""
        cause = error.__cause__
        told = self._told(cause.verdict, nth) if isinstance(cause, Rejected) else str(error)
        refused = {"role": "assistant", "content": error.lm_response}
        _corrections.set((*_corrections.get(), refused, {"role": "user", "content": told}))

    def _told(self, verdict: Verdict, nth: int) -> str:
        told = correction_text(self.contract, verdict, self._context, nth, self.retries)
        return told if self.field is None else f"Output field `{self.field}`: {told}"


def _with_field(name: str) -> Contract[Any]:
    return Contract({"type": "object", "required": [name]})
