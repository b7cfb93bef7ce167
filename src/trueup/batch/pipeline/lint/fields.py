"""The fields of a unit on its way through the steps, as lint follows them: what is there, what was there, what it may hold.

A first unit enters; steps add and take fields; names that are used leave as known or not, each with the hint that helps.
"""

from collections.abc import Iterable
from typing import Any

from trueup.conform.schema import Schema
from trueup.contract.lint.nearest import did_you_mean
from trueup.contract.lint.values import allowed
from trueup.verdict.paths import Parts

Fields = dict[str, Any]
ALWAYS = frozenset({"unit_id", "config", "_repetition_id", "_repetition_seed", "_metadata"})


class Known:
    """The fields that units have at one point of a pipeline.

    `fields` hold a value that could be there; `shared` are names that every prompt knows; `some` are fields that only some items have.
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
        """Take the fields that a step gives."""
        self.fields.update(made)
        for name in made:
            self._taken.pop(name, None)
            self._schemas.pop(name, None)
        source = None if schema is None else schema.source
        if isinstance(source, dict):
            self._schemas.update(dict.fromkeys(made, (source, source)))

    def consume(self, step: str, field: str, child: str) -> None:
        """Take away the list that a step fans out."""
        if field == child or field not in self.fields:
            return
        del self.fields[field]
        self._schemas.pop(field, None)
        self.some -= {field}
        self._taken[field] = f"Step {step!r} fans it out: each unit has one item of it, as {child!r}."

    def hint(self, name: str, otherwise: str) -> str:
        """What to do about a name that is not known."""
        return self._taken.get(name) or did_you_mean(name, self.names, otherwise)

    def allowed(self, path: Parts) -> list[Any] | None:
        """The values that the schema of a field lists; None if it lists none."""
        held = self._schemas.get(str(path[0])) if path else None
        return None if held is None else allowed(*held, path)
