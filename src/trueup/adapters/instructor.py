"""instructor: a response model that judges and repairs a completion before instructor parses it.

`contract_model` makes the model. A refused completion raises `ResponseParsingError` with a correction, so instructor's own retries
send it; the verdict is in the `__cause__` of the exception. It works for every provider and mode of instructor. instructor's hooks
cannot do this: it catches what they raise.

>>> from openai import OpenAI
>>> from pydantic import BaseModel
>>> import instructor
>>> from trueup import Contract
>>> from trueup.testing.server import ScriptedServer
>>> class Person(BaseModel):
...     name: str
...     age: int
>>> with ScriptedServer(['Here you are: {"name": "Ada", "age": "36",}']) as server:
...     client = instructor.from_openai(OpenAI(base_url=server.url, api_key="none"), mode=instructor.Mode.JSON)
...     client.create(response_model=contract_model(Contract(Person), Person), messages=[], model="m")
Person(name='Ada', age=36)
"""

from collections.abc import Callable
from copy import copy
from typing import Any, TypeVar

from trueup.ask.correction import correction_text
from trueup.batch.columns import contract_of
from trueup.contract.contract import Contract
from trueup.verdict.codec import spelled
from trueup.verdict.verdict import Rejected, Verdict
from trueup.watch.missing import library

with library("instructor>=1.17"):
    from instructor.core.exceptions import ResponseParsingError
    from pydantic import BaseModel, ModelWrapValidatorHandler, ValidationInfo, create_model, model_validator
    from pydantic_core import PydanticCustomError

Model = TypeVar("Model", bound=BaseModel)


def contract_model(
    contract: Contract[Any] | str,
    model: type[Model],
    *,
    context: dict[str, Any] | None = None,
    on_verdict: Callable[[Verdict], object] | None = None,
) -> type[Model]:
    """A response model with the name and the schema of `model` that judges replies by the contract.

    - `contract`: a Contract, or the path of a contract file; it must have a schema.
    - `model`: the pydantic model that instructor returns instances of.
    - `context`: facts about the conversation; the `context` of instructor's `create` is added to it. None by default.
    - `on_verdict`: a function that is called with each verdict, refused or not; None by default.
    """
    judges: Contract[Any] = contract_of(contract)
    if judges.schema is None:
        raise ValueError("contract_model needs a contract with a schema")
    if BaseModel not in getattr(model, "__mro__", ()):
        raise TypeError(f"model: expected a pydantic model, got {model!r}")

    def known(own: Any) -> dict[str, Any]:
        return {**(context or {}), **(own or {})}

    def judged(verdict: Verdict) -> Verdict:
        if on_verdict is not None:
            on_verdict(verdict)
        return verdict

    class Judged(BaseModel):
        """Judges the text of a completion before it is parsed, or parsed data during its validation."""

        @classmethod
        def model_validate_json(cls, json_data: str | bytes | bytearray, *, context: Any = None, **options: Any) -> Any:
            reply = json_data if isinstance(json_data, str) else bytes(json_data).decode("utf-8", "replace")
            verdict = judged(judges.check(reply, known(context)))
            if verdict.ok and context is None and isinstance(verdict.value, model):
                return verdict.value
            if verdict.ok:
                return model.model_validate_json(spelled(verdict.data), context=context, **options)
            told = correction_text(judges, verdict, known(context))
            raise ResponseParsingError(told, mode="contract", raw_response=reply) from Rejected(verdict)

        @model_validator(mode="wrap")
        @classmethod
        def keeps_the_contract(cls, data: Any, handler: ModelWrapValidatorHandler[Any], info: ValidationInfo) -> Any:
            if isinstance(data, BaseModel):
                return handler(data)
            verdict = judged(judges.check_value(data, known(info.context)))
            if verdict.ok:
                return handler(verdict.data)
            told = correction_text(judges, verdict, known(info.context))
            raise PydanticCustomError("contract", "{correction}", {"correction": told, "verdict": verdict})

        def __eq__(self, other: object) -> bool:
            return bool(plain(self) == (plain(other) if isinstance(other, Judged) else other))

        __hash__ = model.__hash__

        def __reduce_ex__(self, protocol: Any) -> Any:
            return copy, (plain(self),)

    def plain(judged: Any) -> Any:
        """An item of a list or a part of another model as an instance of the user's class, to compare and to pickle it."""
        made_as = judged.model_copy()
        object.__setattr__(made_as, "__class__", model)
        return made_as

    bases: Any = (Judged, model)
    made: type[Model] = create_model(model.__name__, __base__=bases, __module__=model.__module__, __doc__=model.__doc__)
    return made
