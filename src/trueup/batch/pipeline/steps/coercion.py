"""Reads a step's `coerce` section, and returns the options of coercion.

`coerce` is a profile, or a mapping as in a contract file; the one in the section `schemas` applies to every step. By default enum
values are read as pipelines of this format always read them: without the prefix "shadow ", and split at " | ". An invalid
`coerce` raises ContractError.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from trueup.batch.pipeline.config import Pipeline, PipelineStep
from trueup.conform.options import Options
from trueup.contract.files.faults import ContractError, Fault
from trueup.contract.lint.nearest import did_you_mean
from trueup.contract.options import refuse_bad_values
from trueup.verdict.paths import Parts

ENUMS: dict[str, Any] = {"enum_prefixes": ["shadow "], "enum_delimiters": [" | "]}
_KEYS = Options.__struct_fields__


def coercion_of(pipeline: Pipeline, step: PipelineStep) -> Options:
    """The options of a step."""
    options = dict(ENUMS)
    for path, given in _places(pipeline, step):
        said = given if isinstance(given, dict) else {"profile": given}
        options |= {key: value for key, value in said.items() if key in _KEYS}
        try:
            msgspec.convert(options, Options)
        except msgspec.ValidationError as error:
            wrong = str(error).replace("$.", "coerce.")
            message = f"coerce must be off, standard, eager, or a mapping with {', '.join(_KEYS)}: {wrong}"
            raise ContractError([pipeline.fault("N006", path, message)]) from None
    return msgspec.convert(options, Options)


def _places(pipeline: Pipeline, step: PipelineStep) -> Iterator[tuple[Parts, Any]]:
    """The places of `coerce` for a step, the nearest last."""
    shared = pipeline.section("schemas")
    if "coerce" in shared:
        yield ("schemas", "coerce"), shared["coerce"]
    if "coerce" in step.config:
        yield ("pipeline", "steps", step.index, "coerce"), step.config["coerce"]


def lint_reading(pipeline: Pipeline, step: PipelineStep) -> list[Fault]:
    """Faults in a step's options for reading replies: `accept`, `strict` and `coerce`."""
    config, faults = step.config, list[Fault]()
    try:
        refuse_bad_values({name: config[name] for name in ("accept", "strict") if name in config})
    except (ValueError, TypeError) as error:
        word = str(error).partition(" ")[0]
        faults.append(pipeline.fault("N006", ("pipeline", "steps", step.index, word), str(error)))
    for path, given in _places(pipeline, step):
        for key in given if isinstance(given, dict) else ():
            if key not in _KEYS:
                where = "section schemas" if path[0] == "schemas" else f"step {step.name!r}"
                message = f"unknown key {key!r} in the coerce of {where}"
                faults.append(pipeline.fault("N036", (*path, key), message, did_you_mean(str(key), _KEYS, "")))
    try:
        coercion_of(pipeline, step)
    except ContractError as error:
        faults += error.faults
    return faults
