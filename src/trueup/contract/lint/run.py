"""Lint a contract file: takes a path, and returns the faults, and the contract unless an error prevents it.

`load_contract` does the same but raises: a contract without errors loads, and only `trueup lint` shows its warnings.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from trueup.conform.schema import Schema, SchemaError, compile_schema
from trueup.conform.survey import subschemas
from trueup.contract.contract import Contract
from trueup.contract.files.documents import Find, anywhere
from trueup.contract.files.extends import ExtendedFile, Origins, read_whole
from trueup.contract.files.faults import ContractError, Fault, fault
from trueup.contract.lint.rules import lint_rules
from trueup.contract.lint.schemas import refused_at
from trueup.contract.lint.tools import lint_tools, offered
from trueup.contract.lint.words import lint_words
from trueup.contract.options import options_in
from trueup.verdict.paths import Parts

_OF_SHAPE = frozenset({"N005", "N006"})


class Linted(NamedTuple):
    """A linted contract file: its faults, the data for its examples, and the contract unless an error prevents it."""

    contract: Contract | None
    faults: tuple[Fault, ...]
    examples: tuple[Any, ...] = ()
    marks: Origins | None = None


def lint_contract(
    path: "str | os.PathLike[str]", options: dict[str, Any] | None = None, find: Find = anywhere
) -> Linted:
    """The faults of a contract file, and the contract if possible. `find` decides which files may be read."""
    try:
        whole = read_whole(Path(path), find)
    except ContractError as error:
        return Linted(None, error.faults)
    schema, schema_faults = _schema(whole)
    faults = [*whole.faults, *schema_faults, *_parts(whole, schema)]
    contract: Contract | None = None
    if not any(found.level == "error" for found in faults):
        try:
            contract = Contract(**{**options_in(whole.data), **(options or {})})
        except (ValueError, TypeError) as error:
            faults.append(_refused(error, whole))
    ordered = tuple(sorted(faults, key=lambda found: found.sort_key))
    examples = whole.data.get("examples") if contract is not None else None
    return Linted(contract, ordered, tuple(examples or ()), whole.marks)


def load_contract(path: "str | os.PathLike[str]", options: dict[str, Any] | None = None) -> Contract:
    """The contract in a file; raises a ContractError that lists every fault."""
    linted = lint_contract(path, options)
    if linted.contract is None:
        raise ContractError(found for found in linted.faults if found.level == "error")
    return linted.contract


def _parts(whole: ExtendedFile, schema: Schema | None) -> Iterator[Fault]:
    """The faults in the parts of a contract; for a part with a wrong shape, only those beyond the shape."""
    data, marks = whole.data, whole.marks
    wrong = {found.path.split(".")[1].split("[")[0] for found in whole.faults if "." in found.path}
    sound = {key: part for key, part in data.items() if key not in wrong}
    names = offered(sound.get("tools"))
    yield from lint_tools(sound, marks, names)
    for found in lint_rules(data.get("rules"), schema, marks, sound.get("input")):
        if "rules" not in wrong or found.code not in _OF_SHAPE:
            yield found
    # each import loads the room of that part, so only if the contract has the part
    if "reply" in sound:
        from trueup.contract.lint.reply import lint_reply

        yield from lint_reply(sound["reply"], marks)
    if "states" in sound:
        from trueup.contract.lint.states import lint_states

        yield from lint_states(sound, marks, names)
    if "checks" in sound:
        from trueup.contract.lint.checks import lint_checks

        yield from lint_checks(sound["checks"], marks)
    if "grounded" in sound:
        from trueup.contract.lint.grounded import lint_grounded

        yield from lint_grounded(sound["grounded"], schema, marks)
    if "quality" in sound or "relevance" in sound:
        from trueup.contract.lint.scores import lint_quality, lint_relevance

        yield from lint_quality(sound.get("quality"), marks)
        yield from lint_relevance(sound.get("relevance"), sound.get("language"), marks)


def _schema(whole: ExtendedFile) -> tuple[Schema | None, Iterable[Fault]]:
    source = whole.data.get("schema")
    if source is None:
        return None, ()
    try:
        return compile_schema(source), [*lint_words(source, whole.marks), *_named(source, whole.marks)]
    except SchemaError as error:
        path: Parts = ("schema", *refused_at(str(error)))
        return None, [fault("N007", whole.marks.value(path), path, f"the schema cannot be used: {error}")]


def _named(source: Any, marks: Any) -> Iterable[Fault]:
    """The faults in `x-grounded`, if the schema has it."""
    if not any("x-grounded" in here for here in subschemas(source)):
        return ()
    from trueup.contract.lint.grounded import lint_named  # as above

    return lint_named(source, marks)


def _refused(error: Exception, whole: ExtendedFile) -> Fault:
    """A conflict between the contract's own options, placed at the part that the message names."""
    from trueup.contract.lint.reply import placed  # as above

    path, message = placed(str(error))
    if path[:1] and path[0] in whole.data:
        return fault("N021", whole.marks.value(path), path, message)
    first = str(error).split(" ", 1)[0]
    path = (first,) if first in whole.data else ()
    return fault("N021", whole.marks.key(path), path, str(error))
