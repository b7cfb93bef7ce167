"""Templates: read from a language's file or given by the caller, checked immediately, and filled in by `{name}` only.

An unknown template, or a template with an unknown value, raises an error with its name. Values are filled in once: the text of
a value is never read as a template.
"""

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from io import StringIO
from pathlib import Path
from typing import Any

from trueup.checks.placeholders import CORRECTION
from trueup.verdict.likeness import nearest

FIELD = re.compile(r"\{([a-z_]+(?:\.\w+)?)\}")
_REPAIR = frozenset(
    {"nth", "most", "faults", "hints", "fence", "fence_length", "reply", "wanted", "shape", "rules", "schema"}
)
# The values that each template may contain.
KNOWN: dict[str, frozenset[str]] = {
    "format": frozenset({"schema", "shape", "rules"}),
    "format_schema": frozenset({"schema", "shape", "rules"}),
    "format_typescript": frozenset({"name", "typescript"}),
    "any": frozenset(),
    "tools": frozenset({"tools"}),
    "tools_inside": frozenset({"tools"}),
    "tool": frozenset({"name", "shape", "about"}),
    "answer_tool": frozenset(),
    "repair": _REPAIR,
    "wanted_json": frozenset({"shape", "rules", "schema"}),
    "wanted_schema": frozenset({"shape", "rules", "schema"}),
    "wanted_any": frozenset(),
    "wanted_text": frozenset(),
    "wanted_arguments": frozenset({"tools"}),
    "wanted_call": frozenset({"tools"}),
    "wanted_call_json": frozenset({"tools"}),
    "afresh": frozenset({"nth", "most", "shape", "rules", "schema", "faults", "fence", "fence_length"}),
    "fields": _REPAIR,
    "regenerate": frozenset(CORRECTION),
    "fault": frozenset({"code", "path", "message"}),
    "more": frozenset({"count"}),
    "cut": frozenset({"count"}),
    "refused": frozenset({"faults"}),
    "not_run": frozenset(),
}
_TABLES = ("hints", "messages", "types")
_MOST_BYTES = 256_000


class WordsError(ValueError):
    """A template cannot be used; the message names it and says what is wrong."""


class Templates:
    """The templates of one language; `own` are the names of the caller's templates."""

    __slots__ = ("hints", "messages", "own", "templates", "types")

    def __init__(
        self, templates: dict[str, str], tables: dict[str, dict[str, str]], own: frozenset[str] = frozenset()
    ) -> None:
        self.templates = templates
        self.own = own
        self.hints = tables["hints"]
        self.messages = tables["messages"]
        self.types = tables["types"]

    def fill(self, name: str, /, **values: Any) -> str:
        """A template with its values filled in."""
        return fill(self.templates[name], values)

    def with_own(self, own: Mapping[str, Any]) -> "Templates":
        """These templates, with some replaced by the caller's."""
        templates, tables = _checked(own, "words")
        joined = {name: {**getattr(self, name), **tables.get(name, {})} for name in _TABLES}
        given = tables.get("messages", {})  # a code replaces all built-in messages for it, as `V004 minimum`
        joined["messages"] = {
            key: text for key, text in joined["messages"].items() if key in given or key.partition(" ")[0] not in given
        }
        return Templates({**self.templates, **templates}, joined, frozenset(templates))


def fill(template: str, values: Mapping[str, Any]) -> str:
    """A template with its values filled in; a value is never read as a template.

    >>> fill("{a} and {b}", {"a": "{b}", "b": 2})
    '{b} and 2'
    """
    return FIELD.sub(lambda m: str(values[m[1]]) if m[1] in values else m[0], template)


@lru_cache(maxsize=32)
def shipped(language: str) -> Templates:
    """The built-in templates of a language.

    >>> shipped("es").fill("more", count=3)
    '- y 3 más'
    """
    base = language.replace("_", "-").partition("-")[0].lower()
    folder = resources.files("trueup.ask.words")
    known = sorted(file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml"))
    if base not in known:
        near = nearest(base, known)
        meant = f"did you mean {near!r}? " if near else ""
        raise WordsError(
            f"unknown language {language!r}; {meant}there are texts for {', '.join(known)}; give your own with Policy(words=…)"
        )
    templates, tables = _checked(_parsed(folder.joinpath(f"{base}.yaml").read_text("utf-8"), base), base)
    return Templates(templates, {name: tables.get(name, {}) for name in _TABLES})


def find_words(language: str, own: "Mapping[str, Any] | str | os.PathLike[str] | None") -> Templates:
    """The templates of a language; the caller's own replace the built-in ones."""
    words = shipped(language)
    if own is None:
        return words
    if isinstance(own, Mapping):
        return words.with_own(own)
    try:
        raw = Path(own).read_bytes()
    except OSError as error:
        raise WordsError(f"words {str(own)!r}: cannot be read: {error.strerror or error}") from None
    if len(raw) > _MOST_BYTES:
        raise WordsError(f"words {str(own)!r}: larger than {_MOST_BYTES:,} bytes")
    return words.with_own(_parsed(raw.decode("utf-8", "replace"), str(own)))


def _parsed(text: str, where: str) -> Mapping[str, Any]:
    from ruamel.yaml import YAML  # needed only if a text is sent
    from ruamel.yaml.error import YAMLError

    loader = YAML(typ="safe", pure=True)
    loader.allow_duplicate_keys = False
    try:
        found = loader.load(StringIO(text))
    except YAMLError as error:
        raise WordsError(f"words {where}: not YAML: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(found, dict):
        raise WordsError(f"words {where}: must be a mapping of names to templates")
    return found


def _checked(given: Mapping[str, Any], where: str) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    templates: dict[str, str] = {}
    tables: dict[str, dict[str, str]] = {}
    for name, value in given.items():
        if name in _TABLES:
            if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
                raise WordsError(f"words {where}: {name} is a mapping of names to texts")
            tables[name] = {str(key): text for key, text in value.items()}
            continue
        if name not in KNOWN:
            raise WordsError(
                f"words {where}: unknown template {name!r}; known templates are {', '.join([*KNOWN, *_TABLES])}"
            )
        if not isinstance(value, str):
            raise WordsError(f"words {where}: {name} is a text")
        unknown = [field for field in FIELD.findall(value) if _whole(field) not in KNOWN[name]]
        if unknown:
            allowed = ", ".join(sorted(KNOWN[name])) or "no value at all"
            raise WordsError(f"words {where}: {name} names {{{unknown[0]}}}; it may contain {allowed}")
        templates[name] = value
    return templates, tables


def _whole(field: str) -> str:
    """The value that a field belongs to: `data` for `data.first_name`."""
    return "data" if field.startswith("data.") else field
