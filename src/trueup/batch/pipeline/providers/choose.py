"""Chooses the provider of a step: the command line's choice first, then the step's, then the configuration's.

Takes a name and returns a provider that is ready to answer, or raises `NoProvider` with what is missing and how to set it.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueup.batch.pipeline.config import Pipeline, PipelineStep
from trueup.batch.pipeline.providers.provider import ClientProvider, Provider
from trueup.batch.pipeline.rundir.disk import Damaged
from trueup.verdict.likeness import nearest

NAMES = ("openai", "anthropic", "gemini", "url", "local", "replay")
KEYS = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "url": ("TRUEUP_API_KEY", "OPENAI_API_KEY"),
}
BASES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
_BASE_VARIABLES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL", "gemini": "GEMINI_BASE_URL"}


class NoProvider(ValueError):
    """No provider can be asked. The message says what to set."""


def chosen(pipeline: Pipeline, step: PipelineStep, wanted: Mapping[str, Any]) -> tuple[str, str]:
    """The provider and the model of a step, by name."""
    api = pipeline.section("api")
    provider = wanted.get("provider") or step.config.get("provider") or api.get("provider") or ""
    # A model belongs to the provider that it was named with; another provider does not inherit it.
    model = wanted.get("model") or ""
    if not model and not (
        wanted.get("provider") and wanted["provider"] != (step.config.get("provider") or api.get("provider"))
    ):
        model = step.config.get("model") or api.get("model") or ""
    if not provider:
        if wanted.get("base_url") or api.get("base_url"):
            provider = "url"
        elif pipeline.section("api", "replay").get("source"):
            provider = "replay"
        else:
            raise NoProvider(
                f"step {step.name!r} has no provider: pass --provider, or set api.provider ({', '.join(NAMES)})"
            )
    if provider not in NAMES:
        near = nearest(str(provider), NAMES)
        also = f"; did you mean {near!r}?" if near else ""
        raise NoProvider(f"unknown provider {provider!r}; choose one of {', '.join(NAMES)}{also}")
    return str(provider), str(model)


def check_providers(pipeline: Pipeline, wanted: Mapping[str, Any]) -> None:
    """Raise NoProvider if a run of the pipeline would have no provider to ask. Opens nothing."""
    for step in pipeline.steps:
        if step.asks:
            name, _ = chosen(pipeline, step, wanted)
            if name in KEYS:
                address(name, pipeline, wanted)
                key_of(name, pipeline)
            elif name == "replay":
                _recorded(pipeline)


def open_provider(name: str, pipeline: Pipeline, wanted: Mapping[str, Any]) -> Provider:
    """A provider that is ready to be asked."""
    if name == "replay":
        return _replay(pipeline)
    if name == "local":
        return _local()
    from trueup.batch.pipeline.providers.http import HttpProvider

    return HttpProvider(name, address(name, pipeline, wanted), key_of(name, pipeline))


def address(name: str, pipeline: Pipeline, wanted: Mapping[str, Any]) -> str:
    """The address of a provider."""
    given = wanted.get("base_url") or pipeline.section("api").get("base_url")
    given = given or os.environ.get(_BASE_VARIABLES.get(name, ""), "") or BASES.get(name, "")
    if not given:
        raise NoProvider("provider 'url' needs an address: pass --base-url, or set api.base_url")
    if not str(given).startswith(("http://", "https://")):
        raise NoProvider(f"an address must start with http:// or https://; got {given!r}")
    return str(given).rstrip("/")


def key_of(name: str, pipeline: Pipeline) -> str:
    """The key for a provider, from the environment only: a configuration has no keys."""
    variable = pipeline.section("api").get("key_variable")
    names = (variable,) if isinstance(variable, str) and variable else KEYS[name]
    found = next((os.environ[word] for word in names if os.environ.get(word)), "")
    if not found and name != "url":
        raise NoProvider(f"provider {name!r} needs a key: set {names[0]} in the environment")
    return found


def _recorded(pipeline: Pipeline) -> Path:
    """The path of the recorded replies of a pipeline."""
    source = str(pipeline.section("api", "replay").get("source") or "replies.jsonl")
    try:
        place = pipeline.inside(source)
        there = place.exists()
    except (OSError, ValueError) as error:
        raise NoProvider(str(error)) from None
    if not there:
        raise NoProvider(f"{place}: there are no recorded replies; set api.replay.source")
    return place


def _replay(pipeline: Pipeline) -> Provider:
    from trueup.batch.pipeline.providers.replay import ReplayProvider, read_replay

    section = pipeline.section("api", "replay")
    try:
        rows = read_replay(_recorded(pipeline))
    except (OSError, ValueError) as error:
        raise NoProvider(str(error)) from None
    except Damaged as error:
        raise NoProvider(str(error)) from None
    delay = section.get("delay_seconds", 0)
    return ReplayProvider(rows, float(delay) if isinstance(delay, int | float) else 0.0)


def _local() -> Provider:
    from trueup.ask.clients.local import LocalError, shared
    from trueup.ask.clients.weights import NotInstalled

    try:
        return ClientProvider("local", shared())
    except (NotInstalled, LocalError) as error:
        raise NoProvider(f"provider 'local': {error}") from None
