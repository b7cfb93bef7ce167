"""Numbers with commas between their thousands: read if the type leaves only one reading."""

from typing import Any

import pytest

from trueup import Contract

TEXT, WHOLE, REAL = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def object_schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


BILL = object_schema(number=TEXT, total=REAL, count=WHOLE)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("number: B\ntotal: 2,701.00\ncount: 1,234", {"number": "B", "total": 2701.0, "count": 1234}),
        ("number: B\ntotal: 2,701\ncount: 1", None),  # a comma may be a decimal point
        ("number: B\ntotal: 1\ncount: 1,234.5", None),
        (
            "| number | total | count |\n|---|---|---|\n| B | 1,000,000 | 3,000 |",
            {"number": "B", "total": 1_000_000, "count": 3000},
        ),
        ('{"number": "B", "total": 2,701.00, "count": 1,234}', {"number": "B", "total": 2701.0, "count": 1234}),
        ('{"number": 1,234, "total": 5, "count": 6}', {"number": "1,234", "total": 5, "count": 6}),
        ('{"number": "B", "total": 2,701, "count": 6}', None),
        ('{"number": "B", "total": 27, "count": "1,234"}', None),  # a string that spells a number: `coerce="eager"`
    ],
)
@pytest.mark.spec("B4")
def test_thousands_with_separators_are_read_if_the_type_leaves_one_reading(reply: str, expected: Any) -> None:
    verdict = Contract(BILL).check(reply)
    assert verdict.ok == (expected is not None), verdict.data
    if expected is not None:
        assert verdict.data == expected


def test_thousands_without_a_schema_are_not_changed() -> None:
    verdict = Contract(True).check('{"a": 1,234}')
    assert verdict.data == {"a": "1,234"}
    assert [fix.code for fix in verdict.fixes] == ["S015"]
