"""Reads the configuration of a pipeline: the steps and sections of its folder, each with its place in the file.

Only faults that prevent reading are refused here, such as a missing section or an invalid name; `lint` reports everything else.
Files must be inside the folder; a path that leads out of it is refused.
"""

import re
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from trueup.contract.files.documents import parse_document
from trueup.contract.files.faults import ContractError, Fault, FilePlace, Marks, fault
from trueup.contract.lint.nearest import did_you_mean

Scope = Literal["chunk", "expression", "fan_out", "run"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
CONFIG = "config.yaml"
SECTIONS = ("pipeline", "prompts", "schemas", "api", "processing")
# how a provider is made to follow the schema: the first mode to request, and the modes to fall back to
MODES = {
    "json_schema": ("json_schema", "json_object", "text"),
    "json_object": ("json_object", "text"),
    "text": ("text",),
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")
_MOST_CONFIG = 1_000_000  # bytes


class PipelineStep(msgspec.Struct, frozen=True):
    """One step: its scope, and its entries in the sections."""

    name: str
    index: int
    scope: Scope
    config: dict[str, Any]
    template: str = ""  # a file in the folder of templates
    schema: str = ""  # a file in the folder of schemas
    validation: dict[str, Any] | None = None

    @property
    def asks(self) -> bool:
        """Whether the step asks a model."""
        return self.scope == "chunk"


class Pipeline:
    """A pipeline as its folder describes it."""

    def __init__(self, folder: Path, data: dict[str, Any], marks: Marks, file: Path, text: str) -> None:
        self.folder = folder
        self.data = data
        self.marks = marks
        self.file = file
        self.text = text
        self.steps: tuple[PipelineStep, ...] = ()

    @property
    def name(self) -> str:
        given = self.section("pipeline").get("name")
        return given if isinstance(given, str) and given else self.folder.resolve().name

    def section(self, *path: str) -> dict[str, Any]:
        """A section, or one inside it; empty if it is missing or not a mapping."""
        found: Any = self.data
        for part in path:
            found = found.get(part) if isinstance(found, dict) else None
        return found if isinstance(found, dict) else {}

    def number(self, path: tuple[str, ...], default: float, least: float = 0) -> float:
        """A number in a section. Anything else is a fault."""
        value = self.section(*path[:-1]).get(path[-1])
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < 1e15:
            message = f"{'.'.join(path)} must be a number of at least {least:g}; got {value!r}"
            raise ContractError([self.fault("N006", path, message)])
        return value

    @property
    def chunk_size(self) -> int:
        return int(self.number(("processing", "chunk_size"), 100, 1))

    def fault(self, code: str, path: tuple[str | int, ...], message: str, hint: str = "") -> Fault:
        """A fault at a place in the configuration."""
        return fault(code, self.marks.value(path), path, message, hint)

    def inside(self, *parts: str) -> Path:
        """A file in the folder. A path that leads out of it, or an impossible name, raises ValueError."""
        root = self.folder.resolve()
        if any("\0" in part or len(piece.encode()) > 255 for part in parts for piece in part.split("/")):
            raise ValueError(f"{'/'.join(parts)[:80]!r} is not a file name")
        path = root.joinpath(*parts)
        if not path.resolve().is_relative_to(root):
            raise ValueError(f"{'/'.join(parts)} is outside the folder of the pipeline")
        return path

    @property
    def template_dir(self) -> str:
        return _folder(self.section("prompts").get("template_dir"), "templates")

    @property
    def schema_dir(self) -> str:
        return _folder(self.section("schemas").get("schema_dir"), "schemas")

    @property
    def posts(self) -> list[Any]:
        """The actions after the last step. A bare word is `gzip`, or the name of a script."""
        listed = self.data.get("post_process")
        found = listed if isinstance(listed, list) else []
        return [
            {"type": "gzip"} if entry == "gzip" else {"script": entry} if isinstance(entry, str) else entry
            for entry in found
        ]

    def items_file(self) -> str:
        return str(self.section("processing", "items").get("source") or "")


def _folder(given: Any, default: str) -> str:
    return given if isinstance(given, str) and given else default


def find_config(place: Path) -> Path:
    """The configuration at a path: the file itself, or the one in that folder."""
    return place / CONFIG if place.is_dir() else place


def read_config(place: Path, name: str = "") -> Pipeline:
    """Read the configuration of a pipeline, and check only its shape.

    Raises ContractError with every fault that prevents reading.
    """
    file = find_config(place)
    marks = Marks(name or file.as_posix())
    try:
        raw = file.read_bytes()
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        said = "there is no such file" if missing else f"the file cannot be read: {getattr(error, 'strerror', error)}"
        hint = "A pipeline is a folder with a config.yaml in it." if missing else ""
        raise ContractError([fault("N001", marks.value(()), (), said, hint)]) from None
    if len(raw) > _MOST_CONFIG:
        message = f"the file has {len(raw):,} bytes; the limit for a configuration is {_MOST_CONFIG:,}"
        raise ContractError([fault("N003", marks.value(()), (), message)])
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ContractError(
            [fault("N001", marks.value(()), (), f"the file is not UTF-8 (byte {error.start})")]
        ) from None
    document = parse_document(text, marks.file, file.suffix.lower())
    if not isinstance(document.data, dict):
        message = "a configuration must be a mapping of sections"
        raise ContractError([*document.faults, fault("N006", marks.value(()), (), message)])
    pipeline = Pipeline(file.parent, document.data, document.marks, file, text)
    steps, faults = _steps(pipeline)
    if document.faults or faults:
        raise ContractError([*document.faults, *faults])
    pipeline.steps = steps
    return pipeline


def _steps(pipeline: Pipeline) -> tuple[tuple[PipelineStep, ...], list[Fault]]:
    if "pipeline" not in pipeline.data:
        near = did_you_mean("pipeline", [str(key) for key in pipeline.data if key not in SECTIONS])
        return (), [fault("N030", FilePlace(pipeline.marks.file), (), "section 'pipeline' is missing", near)]
    listed = pipeline.section("pipeline").get("steps")
    if not isinstance(listed, list) or not listed:
        given = pipeline.section("pipeline")
        hint = did_you_mean("steps", [str(key) for key in given]) if "steps" not in given else ""
        return (), [
            pipeline.fault("N006", ("pipeline", "steps"), "pipeline.steps must be a list of at least one step", hint)
        ]
    steps: list[PipelineStep] = []
    faults: list[Fault] = []
    for index, entry in enumerate(listed):
        path = ("pipeline", "steps", index)
        if not isinstance(entry, dict):
            faults.append(pipeline.fault("N006", path, "a step must be a mapping with a name"))
            continue
        name, scope = entry.get("name"), entry.get("scope") or "chunk"
        if not isinstance(name, str) or not _NAME.match(name):
            message = f"the name of a step may have letters, digits, '_' and '-', at most 64; got {name!r}"
            faults.append(pipeline.fault("N006", (*path, "name"), message))
        elif name.casefold() in {step.name.casefold() for step in steps}:
            faults.append(pipeline.fault("N034", (*path, "name"), f"two steps have the name {name!r}"))
        elif scope not in SCOPES:
            message = f"scope must be one of {', '.join(SCOPES)}; got {scope!r}"
            hint = did_you_mean(str(scope), SCOPES)
            faults.append(pipeline.fault("N006", (*path, "scope"), message, hint))
        else:
            steps.append(_step(pipeline, index, name, scope, entry))
    return tuple(steps), faults


def _step(pipeline: Pipeline, index: int, name: str, scope: Scope, entry: dict[str, Any]) -> PipelineStep:
    templates, schemas = pipeline.section("prompts", "templates"), pipeline.section("schemas", "files")
    template = templates.get(name) or entry.get("prompt_template") or ""
    schema = schemas.get(name)
    validation = pipeline.section("validation").get(name)
    return PipelineStep(
        name, index, scope, entry,
        template if scope == "chunk" and isinstance(template, str) else "",
        schema if isinstance(schema, str) else "",
        validation if isinstance(validation, dict) else None,
    )  # fmt: skip
