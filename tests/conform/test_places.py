"""Coercion at some places only: everything else stays unchanged."""

from typing import Any

import pytest

from trueup.conform.coerce import conform
from trueup.conform.options import Options
from trueup.conform.places import kept_at
from trueup.conform.schema import compile_schema

SCHEMA = compile_schema(
    {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
            "note": {"type": "string"},
        },
        "required": ["n"],
    }
)
VALUE = {"N": "1", "tags": "a, b", "rows": [{"n": "2"}, {"n": "3"}], "note": None}


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([], VALUE),
        ([("n",)], {"n": 1, **{k: v for k, v in VALUE.items() if k != "N"}}),
        ([("N",)], {"n": "1", "tags": "a, b", "rows": [{"n": "2"}, {"n": "3"}], "note": None}),
        ([("tags",)], {**VALUE, "tags": ["a, b"]}),
        ([("rows", 1)], {**VALUE, "rows": [{"n": "2"}, {"n": 3}]}),
        ([("rows", 1, "n")], {**VALUE, "rows": [{"n": "2"}, {"n": 3}]}),
        ([("rows",)], {**VALUE, "rows": [{"n": 2}, {"n": 3}]}),
        ([("note",)], {k: v for k, v in VALUE.items() if k != "note"}),
    ],
)
def test_only_faulty_paths_are_changed(places: list[Any], expected: Any) -> None:
    before = repr(VALUE)
    fitted, notes = conform(VALUE, SCHEMA, Options())
    made, kept = kept_at(fitted, notes, places)
    assert made == expected
    assert all(note in notes for note in kept)
    assert repr(VALUE) == before


def test_coercing_every_path_equals_coercing_the_whole() -> None:
    fitted, notes = conform(VALUE, SCHEMA, Options())
    assert kept_at(fitted, notes, [()]) == (fitted, notes)


def test_keys_alone_can_be_coerced() -> None:
    fitted, notes = conform(VALUE, SCHEMA, Options())
    made, kept = kept_at(fitted, notes, [()], only="C010")
    assert (made["n"], made["tags"], [note.code for note in kept]) == ("1", "a, b", ["C010"])


def test_many_changes_are_reverted_in_linear_time() -> None:
    def steps(size: int) -> int:
        class Counted(list[Any]):
            copies = 0

            def copy(self) -> Any:
                Counted.copies += len(self)
                return super().copy()

        rows = [{"n": str(index)} for index in range(size)]
        fitted, notes = conform({"n": 1, "rows": rows}, SCHEMA, Options())
        fitted["rows"] = Counted(fitted["rows"])
        made, _ = kept_at(fitted, notes, [("n",)])
        assert made["rows"] == rows
        return Counted.copies

    assert steps(2000) <= 2 * steps(1000)
