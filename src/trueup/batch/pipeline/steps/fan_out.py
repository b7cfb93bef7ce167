"""Fan-out steps: turn a unit with a list into one unit for each of its items.

Children have every field of their parent except the list, which is replaced by one of its items. A unit without such a list, or
with an empty one, becomes a failure: no unit disappears silently.
"""

from collections.abc import Mapping
from typing import Any

from trueup.batch.pipeline.steps.expression import UnitError

Unit = dict[str, Any]
PARENT, INDEX = "_fan_parent_id", "_fan_index"


class FanOut:
    """A step of scope `fan_out`."""

    def __init__(self, name: str, config: Mapping[str, Any]) -> None:
        self.name = name
        self.field = str(config.get("field") or "")
        self.child = str(config.get("child_field") or f"{self.field}_item")

    def run(self, unit: Unit) -> list[Unit]:
        """The children of a unit.

        >>> [
        ...     u["unit_id"]
        ...     for u in FanOut("split", {"field": "xs", "child_field": "x"}).run({"unit_id": "a", "xs": [1, 2]})
        ... ]
        ['a__fan000', 'a__fan001']
        """
        items = unit.get(self.field)
        if not isinstance(items, list):
            what = "has no field" if self.field not in unit else "has no list in"
            raise UnitError(f"the unit {what} {self.field!r}", "U034")
        if not items:
            raise UnitError(f"the list {self.field!r} is empty, so there is nothing to fan out", "U034")
        rest = {name: value for name, value in unit.items() if name != self.field}
        return [
            {
                **rest,
                self.child: item,
                "unit_id": f"{unit['unit_id']}__fan{index:03d}",
                PARENT: unit["unit_id"],
                INDEX: index,
            }
            for index, item in enumerate(items)
        ]
