"""Checks the keys of a configuration: reports keys that are not used, with the nearest known key.

Takes a pipeline and returns warnings. Nothing is refused, since other tools may add their own keys to folders of this format.
"""

from collections.abc import Iterator
from typing import Any

from trueup.batch.pipeline.config import MODES, Pipeline
from trueup.batch.pipeline.providers.choose import NAMES
from trueup.batch.pipeline.steps.coercion import lint_reading
from trueup.contract.files.faults import Fault, fault
from trueup.contract.lint.nearest import did_you_mean

Parts = tuple[str | int, ...]
_REMARKS = frozenset({"description", "notes", "comment", "metadata"})
_SECTIONS: dict[tuple[str, ...], str] = {
    ("pipeline",): "name version steps",
    ("api",): "provider model base_url key_variable mode temperature max_tokens timeout_seconds max_inflight_batches"
    " poll_interval_seconds subprocess_timeout_seconds retry realtime rate_limit prices replay",
    ("api", "retry"): "max_attempts initial_delay_seconds backoff_multiplier",
    ("api", "realtime"): "cost_cap_usd",
    ("api", "rate_limit"): "requests_per_minute tokens_per_minute",
    ("api", "replay"): "source delay_seconds",
    ("processing",): "strategy chunk_size repeat unit_limit positions items expressions validation_retry",
    ("processing", "items"): "source key name_field",
    ("processing", "validation_retry"): "max_attempts",
    ("prompts",): "template_dir templates global_context",
    ("schemas",): "schema_dir files coerce",
}
_STEP = (
    "name scope prompt_template provider model temperature max_tokens mode init expressions loop_until max_iterations"
    " field child_field script args output accept coerce strict grounded"
)
_POSITION = "name source_key name_field"


def lint_keys(pipeline: Pipeline) -> Iterator[Fault]:
    """A warning for each unused key, and for each unknown provider and mode."""
    for place, known in _SECTIONS.items():
        yield from _unknown(pipeline, pipeline.section(*place), place, ".".join(place), known)
    for step in pipeline.steps:
        yield from _unknown(pipeline, step.config, ("pipeline", "steps", step.index), f"step {step.name!r}", _STEP)
        yield from _provider(pipeline, step.config, ("pipeline", "steps", step.index))
        yield from _mode(pipeline, step.config, ("pipeline", "steps", step.index))
        yield from lint_reading(pipeline, step)
    positions = pipeline.section("processing").get("positions")
    for index, position in enumerate(positions if isinstance(positions, list) else ()):
        if isinstance(position, dict):
            path = ("processing", "positions", index)
            yield from _unknown(pipeline, position, path, f"position {index + 1}", _POSITION)
    yield from _provider(pipeline, pipeline.section("api"), ("api",))
    yield from _mode(pipeline, pipeline.section("api"), ("api",))


def _unknown(pipeline: Pipeline, given: dict[str, Any], path: Parts, where: str, known: str) -> Iterator[Fault]:
    names = known.split()
    for key in given:
        if key not in names and key not in _REMARKS and not str(key).startswith(("_", "x-")):
            hint = did_you_mean(str(key), [name for name in names if name not in given], "This key is not used.")
            place = (*path, key)
            yield fault("N036", pipeline.marks.key(place), place, f"unknown key {key!r} in {where}", hint)


def _provider(pipeline: Pipeline, given: dict[str, Any], path: Parts) -> Iterator[Fault]:
    name = given.get("provider")
    if isinstance(name, str) and name and name not in NAMES:
        hint = did_you_mean(name, NAMES, f"Known providers are {', '.join(NAMES)}; choose one with --provider.")
        yield pipeline.fault("N036", (*path, "provider"), f"unknown provider {name!r}", hint)


def lint_address(pipeline: Pipeline) -> Iterator[Fault]:
    """A provider that needs an address but has none."""
    api = pipeline.section("api")
    address = api.get("base_url")
    if address is not None and not str(address).startswith(("http://", "https://")):
        message = f"api.base_url must start with http:// or https://; got {str(address)[:80]!r}"
        yield pipeline.fault("N006", ("api", "base_url"), message)
    if address:
        return
    hint = "Write base_url: http://… in the section api, or pass --base-url to `trueup run`."
    named: list[tuple[Parts, str]] = [(("api", "provider"), "api")] if api.get("provider") == "url" else []
    named += [
        (("pipeline", "steps", step.index, "provider"), f"step {step.name!r}")
        for step in pipeline.steps
        if step.config.get("provider") == "url"
    ]
    for path, where in named:
        yield pipeline.fault(
            "N030", path, f"api.base_url is missing: the provider 'url' of {where} needs an address", hint
        )


def _mode(pipeline: Pipeline, given: dict[str, Any], path: Parts) -> Iterator[Fault]:
    mode = given.get("mode")
    if mode is not None and mode not in tuple(MODES):
        hint = did_you_mean(str(mode)[:40], tuple(MODES), "`text` is used instead.")
        yield pipeline.fault("N036", (*path, "mode"), f"unknown mode {str(mode)[:40]!r}", hint)
