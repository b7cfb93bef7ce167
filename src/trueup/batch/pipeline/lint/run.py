"""Finds the faults of a pipeline in its folder, before it runs and costs anything.

It checks sections, the four parts of each asking step (step, template, schema, rules), templates, schemas, items, expressions and
rules on a possible unit, and the names of fields. Each fault has a file, a line and a column. Settings that the command line can
override, such as an address or the number of units, are only checked by `lint_pipeline`.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from trueup.batch.pipeline.config import SECTIONS, Pipeline, PipelineStep, read_config
from trueup.batch.pipeline.estimating.cost import prices_of
from trueup.batch.pipeline.lint.fields import KnownFields
from trueup.batch.pipeline.lint.keys import lint_address, lint_keys
from trueup.batch.pipeline.lint.rules import lint_validation
from trueup.batch.pipeline.lint.sample_values import mock_of
from trueup.batch.pipeline.lint.steps import lint_step
from trueup.batch.pipeline.prompts.templates import PromptError, Prompts
from trueup.batch.pipeline.steps.fan_out import FanOut
from trueup.batch.pipeline.units.items import ItemsError, listed_items, make_units, refuse_too_many, twins
from trueup.batch.pipeline.units.items_file import items_fault, read_items
from trueup.conform.schema import Schema, SchemaError, compile_schema
from trueup.contract.files.documents import parse_document
from trueup.contract.files.extends import Origins
from trueup.contract.files.faults import ContractError, Fault, FilePlace, fault
from trueup.contract.lint.grounded import lint_grounded
from trueup.contract.lint.impossible import impossible
from trueup.contract.lint.nearest import did_you_mean
from trueup.contract.lint.schemas import refused_at

_KNOWN = (*SECTIONS, "validation", "post_process", "name", "description", "version")
_LOOKED_AT = 100_000  # units whose ids are compared
_MOST_TWINS = 20


def lint_pipeline(place: Path) -> tuple[Fault, ...]:
    """The faults of a pipeline, in the order of its files."""
    try:
        pipeline = read_config(place)
    except ContractError as error:
        return error.faults
    found = [*_faults(pipeline, _LOOKED_AT), *lint_address(pipeline), *_too_many(pipeline)]
    return tuple(sorted(set(found), key=lambda fault: fault.sort_key))


def check_pipeline(place: Path) -> Pipeline:
    """The pipeline if it has no errors; a ContractError with every error otherwise."""
    pipeline = read_config(place)
    faults = [found for found in _faults(pipeline, 1) if found.level == "error"]
    if faults:
        raise ContractError(faults)
    return pipeline


def _faults(pipeline: Pipeline, units: int) -> Iterator[Fault]:
    """The faults of a pipeline that do not depend on the command line. The ids of the first `units` are compared."""
    yield from _sections(pipeline)
    yield from _shapes(pipeline)
    yield from lint_keys(pipeline)
    yield from _links(pipeline)
    known, faults = _first_fields(pipeline, units)
    yield from faults
    yield from _walk(pipeline, known)


def _too_many(pipeline: Pipeline) -> Iterator[Fault]:
    try:
        refuse_too_many(pipeline.section("processing"), read_items(pipeline))
    except ItemsError as error:
        yield items_fault(pipeline, error)
    except ContractError:
        return  # reported with the items


def _sections(pipeline: Pipeline) -> Iterator[Fault]:
    for name in SECTIONS:
        if name not in pipeline.data:
            near = did_you_mean(name, [key for key in pipeline.data if key not in _KNOWN], "")
            yield fault("N030", FilePlace(pipeline.marks.file), (), f"section {name!r} is missing", near)
    for name in pipeline.data:
        if name not in _KNOWN:
            hint = did_you_mean(name, [*SECTIONS, "validation", "post_process"], "This section is not used.")
            yield fault("N036", pipeline.marks.key((name,)), (name,), f"unknown section {name!r}", hint)
    processing = pipeline.section("processing")
    if "processing" in pipeline.data and "chunk_size" not in processing:
        yield pipeline.fault("N030", ("processing",), "processing.chunk_size is missing", "Write chunk_size: 100.")
    for path, least in _NUMBERS:
        try:
            pipeline.number(path, 1, least)
        except ContractError as error:
            yield from error.faults
    try:
        prices_of(pipeline.section("api", "prices"))
    except (TypeError, ValueError) as error:
        yield pipeline.fault("N006", ("api", "prices"), str(error))


def _shapes(pipeline: Pipeline) -> Iterator[Fault]:
    """Values that would be silently ignored because they are not mappings."""
    rules = [("validation", step.name) for step in pipeline.steps if step.asks]
    for path in (*_MAPPINGS, *rules):
        given = pipeline.section(*path[:-1]).get(path[-1])
        if given is not None and not isinstance(given, dict):
            yield pipeline.fault("N006", path, f"{'.'.join(path)} must be a mapping", "Write each key with its value.")


_MAPPINGS: tuple[tuple[str, ...], ...] = (
    ("api",), ("api", "retry"), ("api", "realtime"), ("api", "rate_limit"), ("api", "prices"), ("api", "replay"),
    ("processing", "validation_retry"), ("prompts", "global_context"), ("validation",),
)  # fmt: skip
_NUMBERS: tuple[tuple[tuple[str, ...], float], ...] = (
    (("processing", "chunk_size"), 1),
    (("api", "max_inflight_batches"), 1),
    (("api", "subprocess_timeout_seconds"), 0.001),
    (("api", "retry", "max_attempts"), 1),
    (("api", "retry", "initial_delay_seconds"), 0),
    (("api", "retry", "backoff_multiplier"), 1),
    (("api", "realtime", "cost_cap_usd"), 0),
    (("processing", "validation_retry", "max_attempts"), 1),
    (("api", "rate_limit", "requests_per_minute"), 0.001),
    (("api", "rate_limit", "tokens_per_minute"), 0.001),
    (("api", "poll_interval_seconds"), 0),
    (("api", "replay", "delay_seconds"), 0),
)


def _links(pipeline: Pipeline) -> Iterator[Fault]:
    """Step ↔ template ↔ schema ↔ rules: one name in four places."""
    asking = [step.name for step in pipeline.steps if step.asks]
    places = (("prompts", "templates"), ("schemas", "files"), ("validation",))
    for place in places:
        given = pipeline.section(*place)
        for name in given:
            if name not in asking:
                other = any(step.name == name for step in pipeline.steps)
                why = "does not ask a model" if other else "does not exist"
                hint = did_you_mean(name, [step for step in asking if step not in given], "Remove it.")
                path = (*place, name)
                message = f"{'.'.join(place)} names step {name!r}, which {why}"
                yield fault("N031", pipeline.marks.key(path), path, message, hint)
        for step in pipeline.steps:
            if step.asks and step.name not in given and not (place[0] == "prompts" and step.template):
                hint = did_you_mean(
                    step.name, [name for name in given if name not in asking], f"Add it to {'.'.join(place)}."
                )
                path = ("pipeline", "steps", step.index, "name")
                yield pipeline.fault("N031", path, f"step {step.name!r} has no entry in {'.'.join(place)}", hint)


def _first_fields(pipeline: Pipeline, units: int) -> tuple[KnownFields | None, list[Fault]]:
    """The fields of the first unit, and the faults of the items; None if there is no unit to follow."""
    processing = pipeline.section("processing")
    try:
        data = read_items(pipeline)
        same = [items_fault(pipeline, error) for error in islice(twins(processing, data), _MOST_TWINS)]
        if same:
            return None, same
        made = make_units(processing, data, units)
        unit = next(made, None)
        for _ in made:
            pass  # two units with the same id are refused here
    except ItemsError as error:
        return None, [items_fault(pipeline, error)]
    except ContractError as error:
        return None, list(error.faults)
    if unit is None:
        return None, [pipeline.fault("N033", ("processing", "items"), "there are no items, so there are no units")]
    items = listed_items(processing, data) if processing.get("strategy") == "direct" else []
    some = {str(name) for item in items if isinstance(item, dict) for name in item}
    return KnownFields(unit, pipeline.section("prompts", "global_context"), some), []


def _walk(pipeline: Pipeline, known: KnownFields | None) -> Iterator[Fault]:
    """Take a possible unit through the steps, and report what would fail."""
    if known is not None and pipeline.section("processing").get("expressions"):
        entry = {"expressions": pipeline.section("processing")["expressions"]}
        found, made = lint_step(pipeline, PipelineStep("processing", 0, "expression", entry), ("processing",), known)
        yield from found
        known.add(made)
    prompts = _prompts(pipeline)
    made_up = False
    for step in pipeline.steps:
        if step.asks:
            schema, faults = _schema(pipeline, step)
            yield from faults
            yield from _template(pipeline, step, prompts, known)
            yield from _grounded(pipeline, step, schema, known)
            made = mock_of(schema)
            made_up = True
            if known is not None:
                known.add(made, schema)
            if step.validation is not None:
                yield from lint_validation(pipeline, step, known if schema is not None else None, schema)
            continue
        found, made = lint_step(pipeline, step, ("pipeline", "steps", step.index), known, made_up=made_up)
        yield from found
        if known is not None and step.scope == "fan_out":
            made_up = True
            fan = FanOut(step.name, step.config)
            known.consume(step.name, fan.field, fan.child)
        if known is not None:
            known.add(made)
    yield from _scripts(pipeline)


def _prompts(pipeline: Pipeline) -> Prompts | None:
    if not any(step.template for step in pipeline.steps):
        return None
    try:
        folder = pipeline.inside(pipeline.template_dir)
    except ValueError:
        return None
    return Prompts(folder)


def _template(
    pipeline: Pipeline, step: PipelineStep, prompts: Prompts | None, known: KnownFields | None
) -> Iterator[Fault]:
    if not step.template:
        return
    mapped = step.name in pipeline.section("prompts", "templates")
    path: tuple[str | int, ...] = ("prompts", "templates", step.name)
    if not mapped:
        path = ("pipeline", "steps", step.index, "prompt_template")
    file = f"{pipeline.template_dir}/{step.template}"
    try:
        target = pipeline.inside(file)
        if prompts is None or not target.is_file():
            hint = did_you_mean(target.name, _names_in(target.parent), "")
            yield pipeline.fault("N032", path, f"there is no template {file!r}", hint)
            return
        prompts.compile(step.template)
        names = prompts.names(step.template)
    except PromptError as error:
        if error.line is None:
            yield pipeline.fault("N032", path, str(error))
        else:
            broken = pipeline.folder / pipeline.template_dir / (error.template or step.template)
            place = FilePlace(broken.as_posix(), error.line, 1)
            yield fault("N032", place, path, f"the template does not parse: {error}")
        return
    except ValueError as error:
        yield pipeline.fault("N032", path, str(error))
        return
    if known is not None:
        for name in sorted(names.keys() - known.names):
            place = _place_of(name, pipeline.folder / pipeline.template_dir / names[name])
            hint = known.hint(name, "Every unit would fail here. If it may be missing, test it with `is defined`.")
            yield fault("N037", place, path, f"no item, expression or earlier step has {name!r}", hint)


def _place_of(name: str, template: Path) -> FilePlace:
    """The place where a template uses a name."""
    import re

    source = template.read_text("utf-8", "replace")
    found = re.search(rf"(?<![\w.]){re.escape(name)}\b", source)
    at = found.start() if found else 0
    return FilePlace(template.as_posix(), source.count("\n", 0, at) + 1, at - source.rfind("\n", 0, at))


def _schema(pipeline: Pipeline, step: PipelineStep) -> tuple[Schema | None, list[Fault]]:
    if not step.schema:
        return None, []
    path = ("schemas", "files", step.name)
    file = f"{pipeline.schema_dir}/{step.schema}"
    folder = pipeline.folder / pipeline.schema_dir
    try:
        text = pipeline.inside(file).read_text("utf-8")
    except (OSError, ValueError) as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else str(error)
        hint = did_you_mean(Path(step.schema).name, _names_in(folder), "")
        return None, [pipeline.fault("N007", path, f"the schema {file!r} cannot be read: {reason}", hint)]
    name = (pipeline.folder / file).as_posix()
    try:
        document = parse_document(text, name, ".json")
    except ContractError as error:
        return None, list(error.faults)
    marks, faults = document.marks, document.faults
    try:
        schema = compile_schema(document.data)
    except SchemaError as error:
        place = marks.value(refused_at(str(error)))
        return None, [*faults, fault("N007", place, path, f"the schema cannot be used: {error}")]
    refused = impossible(document.data)
    if refused is not None:
        faults = [*faults, fault("N007", marks.key(refused[0]), path, f"no reply can fit the schema: {refused[1]}")]
    return schema, faults


def _grounded(
    pipeline: Pipeline, step: PipelineStep, schema: Schema | None, known: KnownFields | None
) -> Iterator[Fault]:
    """The faults in the grounding of a step: its options, its fields, and a source that no unit has."""
    spec = step.config.get("grounded")
    base = ("pipeline", "steps", step.index, "grounded")
    faults = list(lint_grounded(spec, schema, Origins(pipeline.marks), base))
    yield from faults
    name = spec.get("source") if isinstance(spec, dict) else None
    if not isinstance(name, str) or known is None or any(found.level == "error" for found in faults):
        return
    if name not in known.names:
        hint = known.hint(name, "Without its source a unit fails.")
        yield pipeline.fault(
            "N026", (*base, "source"), f"the field {name!r}, the source of the replies, does not exist", hint
        )


def _names_in(folder: Path) -> list[str]:
    """The files of a folder; none if it is missing or its name is impossible."""
    try:
        return [file.name for file in folder.iterdir()]
    except (OSError, ValueError):
        return []


def _scripts(pipeline: Pipeline) -> Iterator[Fault]:
    listed = pipeline.data.get("post_process")
    if listed is not None and not isinstance(listed, list):
        message = "post_process must be a list of scripts, or gzip"
        yield pipeline.fault("N006", ("post_process",), message, "Write each entry after a '- '.")
    for index, entry in enumerate(pipeline.posts):
        path: tuple[str | int, ...] = ("post_process", index)
        if not isinstance(entry, dict):
            message = "an entry of post_process must be a script, gzip, or a mapping with a script or type: gzip"
            yield pipeline.fault("N006", path, message)
        elif entry.get("type") != "gzip":
            try:
                there = pipeline.inside(str(entry.get("script") or "")).is_file()
            except ValueError:
                there = False
            if not there:
                message = f"there is no script {entry.get('script')!r} in the folder of the pipeline"
                place = (*path, "script") if isinstance(listed, list) and isinstance(listed[index], dict) else path
                yield pipeline.fault("N038", place, message, "It is skipped at the end of a run.")
