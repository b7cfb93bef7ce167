"""Checks the steps that do not ask a model: tries expressions on a possible unit, and checks lists and scripts."""

from collections.abc import Mapping
from typing import Any

from trueup.batch.pipeline.config import Pipeline, PipelineStep
from trueup.batch.pipeline.lint.fields import Fields, KnownFields
from trueup.batch.pipeline.steps.expression import HIDDEN
from trueup.batch.pipeline.steps.fan_out import INDEX, PARENT, FanOut
from trueup.batch.pipeline.units.seeds import Dice, step_seed
from trueup.contract.files.faults import Fault, FilePlace, fault
from trueup.expressions.errors import ExpressionError
from trueup.expressions.language import compile_expression
from trueup.verdict.paths import Parts


def lint_step(
    pipeline: Pipeline, step: PipelineStep, base: Parts, known: KnownFields | None, *, made_up: bool = False
) -> tuple[list[Fault], Fields]:
    """The faults of a step, and the fields that it adds to a unit. Failures on made-up values are warnings."""
    if step.scope == "fan_out":
        return _fan_out(pipeline, step, base, known)
    if step.scope == "run":
        return _script(pipeline, step, base), {}
    return _expressions(pipeline, step, base, known, made_up=made_up)


def _expressions(
    pipeline: Pipeline, step: PipelineStep, base: Parts, before: KnownFields | None, *, made_up: bool
) -> tuple[list[Fault], Fields]:
    config, faults = step.config, list[Fault]()
    if not isinstance(config.get("expressions"), dict) or not config["expressions"]:
        return [pipeline.fault("N035", base, f"step {step.name!r} has no expressions")], {}
    unit = None if before is None else before.fields
    known: Fields = {name: value for name, value in (unit or {}).items() if name not in HIDDEN}
    made: Fields = {}
    dice = Dice(0 if unit is None else step_seed(unit, step.name))
    tried = unit is not None
    sources: list[tuple[Parts, str, Any]] = []
    for part in ("init", "expressions"):
        given = config.get(part)
        if isinstance(given, Mapping):
            sources += [((*base, part, name), str(name), source) for name, source in given.items()]
        elif given is not None:
            faults.append(pipeline.fault("N006", (*base, part), f"{part} must be a mapping of names to expressions"))
    if config.get("loop_until") is not None:
        sources.append(((*base, "loop_until"), "", config["loop_until"]))
    for path, name, source in sources:
        value, code = None, "N012"
        try:
            expression = compile_expression(str(source), functions=dice.functions())
            if made_up and expression.names <= known.keys():
                code = "N039"  # every name exists: with the values of a real unit it may work
            value = expression.evaluate(known) if tried else None
        except ExpressionError as error:
            faults.append(_fault(pipeline, path, error, before, code))
            tried = False
        if name:
            known[name] = made[name] = value
    most = config.get("max_iterations")
    if most is not None and (type(most) is not int or most < 1):
        message = f"max_iterations must be a whole number of at least 1; got {most!r}"
        faults.append(pipeline.fault("N006", (*base, "max_iterations"), message))
    return faults, made


def _fault(pipeline: Pipeline, path: Parts, error: ExpressionError, known: KnownFields | None, code: str) -> Fault:
    place = pipeline.marks.value(path)
    if place.inner and error.column:
        place = FilePlace(place.file, place.line, place.inner + error.column - 1)
    hint = f"Did you mean {error.suggestion!r}?" if error.suggestion else ""
    if known is not None and error.message.startswith("there is no field "):
        hint = known.hint(error.message.rpartition("field ")[2].strip("'\""), hint)
    said = error.message if code == "N012" else f"the expression fails on made-up data: {error.message}"
    return fault(code, place, path, said, hint)


def _fan_out(
    pipeline: Pipeline, step: PipelineStep, base: Parts, known: KnownFields | None
) -> tuple[list[Fault], Fields]:
    name = step.config.get("field")
    if not isinstance(name, str) or not name:
        return [pipeline.fault("N035", base, f"step {step.name!r} names no field to fan out")], {}
    fan = FanOut(step.name, step.config)
    faults = []
    item: Any = None
    if known is not None:
        unit = known.fields
        if name not in known.names:
            hint = known.hint(name, "")
            faults.append(pipeline.fault("N035", (*base, "field"), f"no earlier step has the field {name!r}", hint))
        elif unit.get(name) is not None and not isinstance(unit[name], list):
            faults.append(pipeline.fault("N035", (*base, "field"), f"the field {name!r} is not a list"))
        elif unit.get(name):
            item = unit[name][0]
    return faults, {fan.child: item, PARENT: "unit", INDEX: 0}


def _script(pipeline: Pipeline, step: PipelineStep, base: Parts) -> list[Fault]:
    name = step.config.get("script")
    path = (*base, "script")
    if not isinstance(name, str) or not name:
        return [pipeline.fault("N035", base, f"step {step.name!r} names no script")]
    try:
        if not pipeline.inside(name).is_file():
            return [pipeline.fault("N035", path, f"there is no script {name!r} in the folder of the pipeline")]
    except ValueError as error:
        return [pipeline.fault("N035", path, str(error))]
    return []
