"""Names in rules that nothing can provide: they are neither in the value, whose schema is closed, nor declared in the
input.

Takes rules, a schema and the declared fields; returns problems, each with its place and the name that was probably
meant. Such a rule would fail for every reply, or be skipped for every reply. Fields that a rule tests for with `'x' in
dir()` may be missing.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from trueup.checks.problems import Problem, Where
from trueup.checks.rules import Rules
from trueup.conform.closed import closed_keys
from trueup.conform.schema import Schema
from trueup.contract.meaning.meaning import RESERVED
from trueup.expressions.errors import CONSTANTS
from trueup.verdict.likeness import nearest

VALUE = "value"  # the name in rules for a value that is not an object


def declared(given: Any) -> frozenset[str] | None:
    """The fields of the input that a contract declares; None if any field is allowed.

    >>> sorted(declared(["max_hp"])), declared(True)
    (['max_hp'], None)
    """
    if given is None or given is False:
        return frozenset()
    if given is True:
        return None
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
        raise TypeError(f"input must be a list of names, or True for any field; got {given!r:.80}")
    return frozenset(given)


class Provided:
    """The names that a record can have: from the value and from the declared input."""

    def __init__(self, schema: Schema, given: frozenset[str] | None = frozenset()) -> None:
        self._schema = schema
        self._given = given
        self._root = None if given is None else _names(schema)

    @property
    def names(self) -> frozenset[str] | None:
        """Every name that a record can have; None where it can have any."""
        return None if self._root is None or self._given is None else self._root | self._given | RESERVED

    def missing(self, path: Sequence[str | int]) -> tuple[str, frozenset[str]] | None:
        """The first part of a path that nothing can provide, and the names there; None if the path may exist."""
        names = self.names
        if names is None or not path:
            return None
        if path[0] not in names:
            return str(path[0]), names - RESERVED
        inside = None if path[0] in RESERVED or path[0] in (self._given or ()) else self._schema
        for at, part in enumerate(path[:-1]):
            inside = inside.member(part) if inside is not None and isinstance(part, str) else None
            if inside is None or inside.types != {"object"}:
                return None
            known = closed_keys(inside.place, of_type=self._schema.is_type)
            following = path[at + 1]
            if known is not None and isinstance(following, str) and following not in known:
                return ".".join(map(str, path[: at + 2])), known
        return None

    def problems(self, rules: Rules) -> Iterator[Problem]:
        """The names in rules that nothing can provide."""
        if self.names is None:
            return
        for field in rules.fields:
            if self.missing((field.name,)) is not None:
                yield from self._problem(field.steps, ())
        for index, rule in enumerate(rules.rules):
            parts = {"expr": rule.expr, "when": rule.when}
            asked = {field.path[0] for part in parts.values() if part is not None for field in part.tested}
            for key, part in parts.items():
                for path, column in part.fields if part is not None else ():
                    if path and path[0] not in asked:
                        yield from self._problem(path, ("rules", index, key), column)

    def _problem(self, path: Sequence[str | int], where: Where, column: int = 0) -> Iterator[Problem]:
        missing = self.missing(path)
        if missing is not None:
            yield Problem(where, said(missing[0]), column, suggested(*missing))


def said(name: str) -> str:
    """The message for a name that nothing can provide."""
    top = name.partition(".")[0]
    return (
        f"the schema has no field {name!r} and takes no others; if it comes with the input, declare it: input=[{top!r}]"
    )


def suggested(name: str, names: frozenset[str]) -> str:
    """The name that was probably meant, if one is near."""
    return CONSTANTS.get(name) or nearest(name.rpartition(".")[2], sorted(names)) or ""


def _names(schema: Schema) -> frozenset[str] | None:
    """The names that a record made from a value of the schema can have."""
    if "object" not in schema.types:
        return frozenset({VALUE})
    keys = closed_keys(schema.place, of_type=schema.is_type)
    if keys is None:
        return None
    if schema.is_type:  # in the data, a field has its first name, even if the reply used another one
        keys |= schema.names.difference(*(schema.aliases.get(key, ()) for key in keys))
    return keys | {VALUE} if schema.types - {"object", "null"} else keys
