"""Lint of `grounded`: options that cannot be used, and fields that the schema does not have."""

from collections.abc import Iterator
from typing import Any

from trueup.conform.schema import Schema
from trueup.conform.survey import places_along
from trueup.contract.files.extends import Origins
from trueup.contract.files.faults import Fault, fault
from trueup.contract.lint.reply import placed
from trueup.contract.lint.words import placed_schemas
from trueup.grounding.settings import (
    KEYWORD,
    BadGrounding,
    FieldPattern,
    check_named,
    compile_settings,
    read_field,
)
from trueup.verdict.likeness import nearest
from trueup.verdict.paths import Parts

_LISTS = ("fields", "except", "quotations")


def lint_grounded(spec: Any, schema: Schema | None, marks: Origins, base: Parts = ("grounded",)) -> Iterator[Fault]:
    """The faults in a contract's `grounded`, which is at `base`."""
    if spec is None or isinstance(spec, bool):
        return
    try:
        compile_settings(spec)
    except BadGrounding as error:
        path, message = placed(str(error), ("grounded",))
        path = (*base, *path[1:])
        yield fault("N006", marks.value(path), path, message)
        return
    if schema is None:
        return
    for path, name in _fields(spec, base):
        unknown = _unknown(schema, read_field(name))
        if unknown is not None:
            hint = f"Did you mean {unknown[1]!r}?" if unknown[1] else ""
            yield fault("N013", marks.value(path), path, f"the schema has no field {name!r}", hint)


def lint_named(schema: Any, marks: Origins) -> Iterator[Fault]:
    """The faults in each `x-grounded` in the schema of a contract file."""
    for path, here in placed_schemas(schema):
        if KEYWORD in here:
            try:
                check_named(here[KEYWORD])
            except BadGrounding as error:
                inside, message = placed(str(error).removeprefix(KEYWORD).lstrip(".: "))
                whole: Parts = ("schema", *path, KEYWORD, *inside)
                yield fault("N006", marks.value(whole), whole, message)


def _fields(spec: Any, base: Parts) -> Iterator[tuple[Parts, str]]:
    """The fields that a table names, each with its path in the file."""
    if isinstance(spec, list):
        yield from (((*base, index), name) for index, name in enumerate(spec))
        return
    for key in _LISTS:
        named = spec.get(key) or ()
        for index, name in enumerate([named] if isinstance(named, str) else named):
            yield ((*base, key, index), name)
    for name in spec.get("patterns") or ():
        yield ((*base, "patterns", name), str(name))


def _unknown(schema: Schema, field: FieldPattern) -> tuple[str, str | None] | None:
    """The first step of a field that is not in the schema, and the name that was probably meant; None if all may be."""
    path: Parts = ()
    for step in field:
        here = places_along(schema.place, path)
        named = {name for place in here for name in place.rules.get("properties") or ()}
        if step in ("[]", "*") or not named:
            if step == "*":
                return None
            path = (*path, 0 if step == "[]" else step)
            continue
        if step not in named and not any(place.rules.get("additionalProperties") for place in here):
            return step, nearest(step, sorted(named))
        path = (*path, step)
    return None
