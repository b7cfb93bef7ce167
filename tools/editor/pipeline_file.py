"""The JSON Schema of a pipeline's `config.yaml`.

The keys of each section are those that `trueup lint` knows; here are what each takes and its sentence. Choices, limits and
defaults come from the code that reads them.
"""

import ast
from pathlib import Path
from typing import Any

from editor.structs import SWITCH, TEXT, Shape, mapping, or_null, said, struct
from trueup.ask.policy import Price
from trueup.batch.pipeline import config
from trueup.batch.pipeline.config import MODES, SCOPES, SECTIONS
from trueup.batch.pipeline.lint.keys import _REMARKS, _SECTIONS
from trueup.batch.pipeline.lint.run import _NUMBERS
from trueup.batch.pipeline.providers.choose import NAMES
from trueup.batch.pipeline.steps.expression import MAX_ITERATIONS
from trueup.batch.pipeline.units.items import STRATEGIES, UNIT_LIMIT
from trueup.contract.files import parts, shape

COUNT: Shape = {"type": "integer", "minimum": 1}
SCALAR: Shape = {"type": ["string", "number", "boolean"]}
FORMULAS: Shape = {"type": "object", "additionalProperties": SCALAR, "minProperties": 1}
BY_STEP: Shape = {"type": "object", "additionalProperties": TEXT}
TEMPERATURE: Shape = {"type": ["number", "null"]}
TOKENS: Shape = {"type": ["integer", "null"], "minimum": 1}
REMARK = {"description": "For readers of the file; it is not used."}


def _part(title: str, description: str, properties: dict[str, Shape], **more: Any) -> Shape:
    """A mapping that may also have remarks, and keys of other tools."""
    remarks = {name: REMARK for name in sorted(_REMARKS) if name not in properties}
    others = {"^(_|x-)": {"description": "For other tools."}}
    return mapping(title, description, {**properties, **remarks}, patternProperties=others, **more)


def _defaults() -> dict[tuple[str, ...], float]:
    """The defaults of numbers, where the code that reads them has a literal one."""
    found: dict[tuple[str, ...], float] = {}
    for file in sorted(Path(config.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="number"), args=[ast.Tuple() as path, ast.Constant(value=default), *_]
                ) if isinstance(default, int | float):
                    found[ast.literal_eval(path)] = default
    return found


_LITERAL = _defaults()
_LEAST = dict(_NUMBERS)


def _number(*path: str, whole: bool = False) -> Shape:
    """A number, with its limit and its default."""
    least: Shape = {"minimum": _LEAST[path]} if path in _LEAST else {"exclusiveMinimum": 0}
    default = {"default": _LITERAL[path]} if path in _LITERAL else {}
    return {"type": ["integer" if whole else "number", "null"], **least, **default}


def _coerce() -> Shape:
    return shape.TAKES["coerce"]


def _step() -> Shape:
    asking = "Only for steps that ask a model."
    properties = {
        "name": said({**TEXT, "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"}, "The name of the step; it must be unique."),
        "scope": said(
            {"enum": [*SCOPES, None]},
            "chunk asks a model about each unit; expression computes fields; fan_out makes a unit from each item of a list; "
            "run runs a script when all units are finished.",
            default=SCOPES[0],
        ),
        "prompt_template": said(TEXT, "The file of its template, if prompts.templates has none for it."),
        "provider": said({"enum": [*NAMES, None]}, f"The provider to ask; by default the one in api. {asking}"),
        "model": said({"type": ["string", "null"]}, f"The model to ask; by default the one in api. {asking}"),
        "temperature": said(TEMPERATURE, f"The temperature of its requests. {asking}"),
        "max_tokens": said(TOKENS, f"The limit for one reply. {asking}"),
        "mode": said({"enum": [*MODES, None]}, f"How the provider is made to follow the schema. {asking}"),
        "accept": said(shape.TAKES["accept"], f"Which repairs are accepted in replies. {asking}"),
        "coerce": said(_coerce(), f"How values are converted to the schema's types. {asking}"),
        "strict": said(SWITCH, f"Whether a reply must have every key of the schema and no other. {asking}"),
        "grounded": said(or_null(parts.GROUNDED), f"Which values of replies must be in the unit. {asking}"),
        "init": said(or_null(FORMULAS), "Fields to compute first, before a loop: a Python expression for each."),
        "expressions": said(FORMULAS, "The fields to compute, in this order: a Python expression for each."),
        "loop_until": said(or_null(SCALAR), "A Python expression; the expressions are computed until it is true."),
        "max_iterations": said(
            {"type": ["integer", "null"], "minimum": 1}, "The maximum number of times the expressions are computed.",
            default=MAX_ITERATIONS,
        ),
        "field": said(TEXT, "The field with the list to fan out."),
        "child_field": said(TEXT, "The field of each new unit that has its item; by default the list's name followed by _item."),
        "script": said(TEXT, "The script to run, in the folder of the pipeline; it gets the run directory as an argument."),
        "args": said({"type": "array", "items": SCALAR}, "Further arguments of the script."),
        "output": said(TEXT, "The file for the script's output, in the run's outputs/ folder."),
    }  # fmt: skip
    needs = {"expression": "expressions", "fan_out": "field", "run": "script"}
    return _part(
        "Step",
        "One step, with the name that its template, schema and rules have.",
        properties,
        required=["name"],
        allOf=[
            {
                "if": {"properties": {"scope": {"const": scope}}, "required": ["scope"]},
                "then": {"required": [key]},
            }
            for scope, key in needs.items()
        ],
    )


def _api() -> Shape:
    retry = {
        "max_attempts": said(
            _number("api", "retry", "max_attempts", whole=True),
            "The highest number of requests about a unit, including the first one.",
        ),
        "initial_delay_seconds": said(
            _number("api", "retry", "initial_delay_seconds"), "Seconds before a failed call is repeated."
        ),
        "backoff_multiplier": said(
            _number("api", "retry", "backoff_multiplier"),
            "Kept for other tools; each wait is twice as long as the last.",
        ),
    }
    rates = {
        name: said(
            _number("api", "rate_limit", name),
            f"How many {name.split('_')[0]} all steps together may send in a minute.",
        )
        for name in _SECTIONS[("api", "rate_limit")].split()
    }
    replay = {
        "source": said(
            {"type": ["string", "null"]}, "The file of recorded replies, in the folder.", default="replies.jsonl"
        ),
        "delay_seconds": said(_number("api", "replay", "delay_seconds"), "Seconds before each recorded reply."),
    }
    realtime = {
        "cost_cap_usd": said(_number("api", "realtime", "cost_cap_usd"), "The maximum cost of a run, in US dollars.")
    }
    properties = {
        "provider": said({"enum": [*NAMES, None]}, "The provider to ask; --provider and a step override it."),
        "model": said({"type": ["string", "null"]}, "The model to ask; --model and a step override it."),
        "base_url": said(
            {"type": ["string", "null"], "pattern": "^https?://"}, "The address of the server, for the provider url."
        ),
        "key_variable": said(TEXT, "The environment variable that contains the key; by default the provider's usual one."),
        "mode": said(
            {"enum": [*MODES, None]}, "How the provider is made to follow the schema; text leaves it to the template.",
            default="text",
        ),
        "temperature": said(TEMPERATURE, "The temperature of requests; by default the provider's."),
        "max_tokens": said(TOKENS, "The limit for one reply; by default the provider's."),
        "timeout_seconds": said(_number("api", "timeout_seconds"), "Seconds for one call."),
        "max_inflight_batches": said(
            _number("api", "max_inflight_batches", whole=True), "How many batches may be waiting at the provider."
        ),
        "poll_interval_seconds": said(
            _number("api", "poll_interval_seconds"), "Seconds between two checks of the waiting batches."
        ),
        "subprocess_timeout_seconds": said(
            _number("api", "subprocess_timeout_seconds"), "Seconds for one run of a script."
        ),
        "retry": or_null(_part("Retries", "How often a unit is asked about.", retry)),
        "realtime": or_null(_part("Cost", "A limit for the cost of runs.", realtime)),
        "rate_limit": or_null(_part("Rate limit", "How fast requests are sent.", rates)),
        "prices": {
            "type": ["object", "null"],
            "additionalProperties": {"$ref": "#/$defs/Price"},
            "description": "The price of each model, with `*` for all others; by default list prices.",
        },
        "replay": or_null(_part("Replay", "Recorded replies, for the provider replay.", replay)),
    }  # fmt: skip
    return _part("Provider", "The provider to ask, and limits for its calls.", properties)


def _processing() -> Shape:
    items = {
        "source": said(TEXT, "The file of the items, in the folder: YAML, JSON, or JSON lines."),
        "key": said({"type": ["string", "null"]}, "The key of the list, if the file has several."),
        "name_field": said({"type": ["string", "null"]}, "The field that names an item.", default="name"),
    }
    position = {
        "name": said(TEXT, "The name of the position, which is a field of the unit."),
        "source_key": said(
            TEXT, "The list that fills it, for cross_product; by default the position's name followed by s."
        ),
        "name_field": said(TEXT, "The field that names an item here."),
    }
    judged = {
        "max_attempts": said(
            _number("processing", "validation_retry", "max_attempts", whole=True),
            "How many times a unit with faulty replies is asked about at most; by default as in api.retry.",
        )
    }
    properties = {
        "strategy": said(
            {"enum": [*STRATEGIES, None]},
            "direct makes a unit from each item; permutation fills positions from one list; cross_product fills each "
            "position from its own list.",
            default=STRATEGIES[0],
        ),
        "chunk_size": said(_number("processing", "chunk_size", whole=True), "How many units a chunk has."),
        "repeat": said(
            {"type": ["integer", "null"], "minimum": 1}, "How many units are made from each combination.", default=1
        ),
        "unit_limit": said(COUNT, "The maximum number of units.", default=UNIT_LIMIT),
        "positions": said(
            {
                "type": ["array", "null"],
                "items": {"anyOf": [TEXT, _part("Position", "A position and its items.", position, required=["name"])]},
            },
            "The positions to fill, for permutation and cross_product.",
        ),
        "items": _part("Items", "The file of the items.", items, required=["source"]),
        "expressions": said(or_null(FORMULAS), "Fields to compute for each unit before the first step."),
        "validation_retry": or_null(_part("Attempts", "How often faulty replies are asked for again.", judged)),
    }
    return _part("Units", "How units are made from items.", properties, required=["chunk_size", "items"])


def _post() -> Shape:
    texts: Shape = {"anyOf": [TEXT, {"type": "array", "items": TEXT}]}
    return {
        "anyOf": [
            said(TEXT, "The name of a script in the folder, or gzip."),
            {
                "title": "Action",
                "type": "object",
                "properties": {
                    "name": said(TEXT, "Its name in the log."),
                    "type": said({"enum": ["gzip", "script"]}, "gzip compresses files; anything else runs a script."),
                    "files": said(texts, "For gzip: patterns of files in the run; by default the results."),
                    "script": said(TEXT, "The script to run, in the folder of the pipeline."),
                    "args": said({"type": "array", "items": SCALAR}, "Further arguments of the script."),
                    "output": said(TEXT, "The file in the run for the script's output."),
                },
                "anyOf": [{"properties": {"type": {"const": "gzip"}}, "required": ["type"]}, {"required": ["script"]}],
            },
        ]
    }


def file_schema() -> Shape:
    """The JSON Schema of the configuration of a pipeline."""
    steps = said({"type": "array", "items": {"$ref": "#/$defs/Step"}, "minItems": 1}, "The steps, in order.")
    version: Shape = {"type": ["string", "number"]}
    pipeline = {
        "name": said(TEXT, "The name of the pipeline; by default the name of its folder."),
        "version": said(version, "Your own version of the pipeline."),
        "steps": steps,
    }
    prompts = {
        "template_dir": said(TEXT, "The folder of the templates.", default="templates"),
        "templates": said(or_null(BY_STEP), "The template of each step that asks a model."),
        "global_context": said(
            {"type": ["object", "null"]}, "Fields for every template; they win over those of units."
        ),
    }
    schemas = {
        "schema_dir": said(TEXT, "The folder of the schemas.", default="schemas"),
        "files": said(or_null(BY_STEP), "The schema of each step that asks a model."),
        "coerce": said(_coerce(), "How values are converted to the schemas' types, in every step."),
    }
    rules = {"$ref": "#/$defs/Rules"}
    top = {
        "pipeline": _part("Pipeline", "The steps.", pipeline, required=["steps"]),
        "prompts": or_null(_part("Prompts", "The templates of the prompts.", prompts)),
        "schemas": or_null(_part("Schemas", "The JSON Schemas of replies.", schemas)),
        "api": or_null(_api()),
        "processing": _processing(),
        "validation": said(
            {"type": ["object", "null"], "additionalProperties": {"anyOf": [rules, {"type": "null"}]}},
            "The rules of each step that asks a model.",
        ),
        "post_process": said(
            {"type": ["array", "null"], "items": _post()}, "Scripts to run and files to compress after the last step."
        ),
        "name": said(TEXT, "For readers of the file; pipeline.name is the name."),
        "description": said(TEXT, "The purpose of the pipeline."),
        "version": said(version, "For readers of the file."),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **mapping("trueup pipeline", "The steps for the units of a pipeline.", top, required=[*SECTIONS]),
        "$defs": {
            "Step": _step(),
            "Rules": parts.RULES["anyOf"][1],
            "Price": struct(Price, "Price"),
            "Options": shape.file_schema()["$defs"]["Options"],
        },
    }
