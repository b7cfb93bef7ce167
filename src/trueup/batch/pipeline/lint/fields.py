"""Follows the fields of a unit through the steps: which exist, which existed before, and which values they may have.

Takes the first unit, and the fields that steps add and remove. Says whether a name that is used is known, with a hint if it is
not.
"""

from collections.abc import Iterable
from typing import Any

from trueup.conform.schema import Schema
from trueup.contract.lint.nearest import did_you_mean
from trueup.contract.lint.values import allowed
from trueup.verdict.paths import Parts

Fields = dict[str, Any]
ALWAYS = frozenset({"unit_id", "config", "_repetition_id", "_repetition_seed", "_metadata"})


class KnownFields:
    """The fields that units have at one point of a pipeline.

    `fields` have a possible value; `shared` are names that every prompt can use; `some` are fields that only some items have.
    """

    def __init__(self, fields: Fields, shared: Iterable[str], some: Iterable[str]) -> None:
        self.fields = dict(fields)
        self.shared = frozenset(shared) | ALWAYS
        self.some = frozenset(some)
        self._schemas: dict[str, tuple[Any, Any]] = {}
        self._taken: dict[str, str] = {}

    @property
    def names(self) -> set[str]:
        """Every name that may be used."""
        return {*self.fields, *self.shared, *self.some}

    def add(self, made: Fields, schema: Schema | None = None) -> None:
        """Add the fields of a step."""
        self.fields.update(made)
        for name in made:
            self._taken.pop(name, None)
            self._schemas.pop(name, None)
        source = None if schema is None else schema.source
        if isinstance(source, dict):
            self._schemas.update(dict.fromkeys(made, (source, source)))

    def consume(self, step: str, field: str, child: str) -> None:
        """Remove the list that a step fans out."""
        if field == child or field not in self.fields:
            return
        del self.fields[field]
        self._schemas.pop(field, None)
        self.some -= {field}
        self._taken[field] = f"Step {step!r} fans it out: each unit has one item of it, as {child!r}."

    def hint(self, name: str, otherwise: str) -> str:
        """The hint for an unknown name."""
        return self._taken.get(name) or did_you_mean(name, self.names, otherwise)

    def allowed(self, path: Parts) -> list[Any] | None:
        """The values that the schema of a field lists; None if it lists none."""
        held = self._schemas.get(str(path[0])) if path else None
        return None if held is None else allowed(*held, path)
