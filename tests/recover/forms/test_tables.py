"""Tables: between bars, commas, semicolons and tabs; as a list of objects, or as one."""

from typing import Any

import pytest

from tests.recover.forms.cases import ADA, AN_ORDER, BOB, ORDER, PEOPLE, PERSON, Row, checked, gives, listed, record

TABLES: list[Row] = [
    ("table", PEOPLE, "| name | age |\n|---|---|\n| Ada | 36 |\n| Bob | 5 |", [ADA, BOB]),
    ("table and prose", PEOPLE, "Here you go:\n\n| Name | Age |\n|:---|---:|\n| **Ada** | 36 |\n| Bob | 5 |\n\nAnything else?", [ADA, BOB]),
    ("table that counts", PEOPLE, "| # | Name | Age |\n|---|---|---|\n| 1 | Ada | 36 |\n| 2 | Bob | 5 |", [ADA, BOB]),
    ("table with one more column", PEOPLE, "| Name | Age | City |\n|---|---|---|\n| Ada | 36 | Rome |\n| Bob | 5 | Bonn |", [{**ADA, "City": "Rome"}, {**BOB, "City": "Bonn"}]),
    ("empty cell", listed(record(["name"], name=str, age=int)), "| Name | Age |\n|---|---|\n| Ada | 36 |\n| Bob | |", [ADA, {"name": "Bob"}]),
    ("pipe in a cell", listed(record(name=str, note=str)), "| Name | Note |\n|---|---|\n| Ada | a \\| b |", [{"name": "Ada", "note": "a | b"}]),
    ("csv", PEOPLE, "name,age\nAda,36\nBob,5", [ADA, BOB]),
    ("csv in a fence", PEOPLE, "Here:\n```csv\nName,Age\n\"Ada\",36\nBob,5\n```\n", [ADA, BOB]),
    ("csv with quotes", listed(record(name=str, note=str)), 'name,note\nAda,"a, b ""c"""\nBob,d\n', [{"name": "Ada", "note": 'a, b "c"'}, {"name": "Bob", "note": "d"}]),
    ("semicolons", PEOPLE, "name;age\nAda;36\nBob;5", [ADA, BOB]),
    ("tabs", PEOPLE, "name\tage\nAda\t36\nBob\t5", [ADA, BOB]),
    ("spanish table", listed(record(nombre=str, edad=int)), "| Nombre | Edad |\n|---|---|\n| Íñigo | 7 |", [{"nombre": "Íñigo", "edad": 7}]),
    ("two tables", PEOPLE, "| name | age |\n|---|---|\n| Ada | 36 |\n\n| name | age |\n|---|---|\n| Bob | 5 |", [ADA, BOB]),
    ("table without outer bars", PEOPLE, "name | age\n--- | ---\nAda | 36\nBob | 5", [ADA, BOB]),
    ("list in a cell", listed(record(name=str, tags=[str])), "| Name | Tags |\n|---|---|\n| Ada | x, y |", [{"name": "Ada", "tags": ["x", "y"]}]),
    ("csv, a quote inside a cell", PEOPLE, 'name,age\nAda "A" L,36', [{"name": 'Ada "A" L', "age": 36}]),
    ("csv under a rule", PEOPLE, "name,age\n---\nAda,36", [ADA]),
]  # fmt: skip

ONE: list[Row] = [
    ("two columns", PERSON, "| Field | Value |\n|---|---|\n| Name | Ada |\n| Age | 36 |", ADA),
    ("two columns in bold", PERSON, "| | |\n|:--|--:|\n| **Name** | Ada |\n| **Age** | 36 |\n\nThat is all.", ADA),
    ("one row", PERSON, "| Name | Age |\n|---|---|\n| Ada | 36 |", ADA),
    ("table under a heading", ORDER, "**Name:** Ada\n**Address:**\n  - city: London\n  - zip: E1\n\n## Items\n\n| SKU | Qty |\n|---|---|\n| a | 1 |\n| b | 2 |\n", AN_ORDER),
    ("items as a table", record(name=str, items=listed(record(sku=str, qty=int))), "## Name\nAda\n\n## Items\n| SKU | Qty |\n|---|---|\n| a | 1 |\n| b | 2 |\n", {"name": "Ada", "items": AN_ORDER["items"]}),
    ("unknown row between", PERSON, "| Field | Value |\n|---|---|\n| Name | Ada |\n| City | Rome |\n| Age | 36 |", {**ADA, "City": "Rome"}),
]  # fmt: skip

REFUSED: list[tuple[str, Any, str]] = [
    ("row too long", PEOPLE, "name,age\nAda,36\nBob,5,x"),
    ("head alone", PEOPLE, "| name | age |\n|---|---|"),
    ("row too long between bars", PEOPLE, "| name | age |\n|---|---|\n| Ada | 36 | x |"),
    ("names in prose", PEOPLE, "name, age and more\nare needed, please"),
    ("a query", PERSON, "SELECT name, age FROM t"),
]


@pytest.mark.parametrize(
    ("schema", "reply", "expected"), [row[1:] for row in TABLES + ONE], ids=[row[0] for row in TABLES + ONE]
)
def test_a_table_gives_its_rows(schema: Any, reply: str, expected: Any) -> None:
    gives(schema, reply, expected)


@pytest.mark.parametrize(("schema", "reply"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_text_that_is_not_a_table_is_refused(schema: Any, reply: str) -> None:
    assert not checked(schema, reply).ok
