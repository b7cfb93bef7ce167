"""How a step brings values to its schema: takes the step's `coerce`, gives the options of coercion.

`coerce` is a profile, or a mapping as in a contract file. By default enum values are read as pipelines of this format have
always been: without the prefix "shadow ", and split at " | ". A `coerce` that cannot be read raises ContractError.
"""

from typing import Any

import msgspec

from trueup.batch.pipeline.config import Pipeline, Step
from trueup.conform.options import Options
from trueup.contract.files.faults import ContractError, Fault
from trueup.contract.given import refuse_bad_options
from trueup.contract.lint.nearest import did_you_mean

ENUMS: dict[str, Any] = {"enum_prefixes": ["shadow "], "enum_delimiters": [" | "]}
_KEYS = Options.__struct_fields__


def coercion_of(pipeline: Pipeline, step: Step) -> Options:
    """The options of a step."""
    given = step.config.get("coerce", {})
    try:
        return msgspec.convert({**ENUMS, **(given if isinstance(given, dict) else {"profile": given})}, Options)
    except msgspec.ValidationError as error:
        said = str(error).replace("$.", "coerce.")
        message = f"coerce is off, standard, eager, or a mapping with {', '.join(_KEYS)}: {said}"
        raise ContractError([pipeline.fault("N006", _path(step), message)]) from None


def lint_reading(pipeline: Pipeline, step: Step) -> list[Fault]:
    """Faults in how a step reads replies: its `accept`, `strict` and `coerce`."""
    config, faults = step.config, list[Fault]()
    try:
        refuse_bad_options(config.get("accept", "guess"), "standard", config.get("strict", False), 1, 1)
    except (ValueError, TypeError) as error:
        word = str(error).partition(" ")[0]
        faults.append(pipeline.fault("N006", (*_path(step)[:-1], word), str(error)))
    given = config.get("coerce", {})
    for key in given if isinstance(given, dict) else ():
        if key not in _KEYS:
            message = f"there is no key {key!r} in the coerce of step {step.name!r}"
            faults.append(pipeline.fault("N036", (*_path(step), key), message, did_you_mean(str(key), _KEYS, "")))
    try:
        coercion_of(pipeline, step)
    except ContractError as error:
        faults += error.faults
    return faults


def _path(step: Step) -> tuple[str | int, ...]:
    return ("pipeline", "steps", step.index, "coerce")
