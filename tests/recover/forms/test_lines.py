"""Fields in lines: YAML, Markdown, one object or several; where a text ends; which lines are not fields."""

from typing import Any

import pytest

from tests.recover.forms.cases import (
    ADA,
    AN_ORDER,
    BOB,
    CHINESE,
    CLOSED,
    CODE,
    GERMAN,
    GREAT,
    ORDER,
    PEOPLE,
    PERSON,
    REVIEW,
    SPANISH,
    Row,
    checked,
    gives,
    listed,
    record,
)
from tests.recover.material import same
from trueup import Contract
from trueup.verdict.catalogue import GRADE

YAML: list[Row] = [
    ("lines", PERSON, "name: Ada\nage: 36", ADA),
    ("crlf", PERSON, "name: Ada\r\nage: 36\r\n", ADA),
    ("fenced", PERSON, "Here:\n```yaml\nname: Ada\nage: 36\n```\nDone.", ADA),
    ("fence left open", PERSON, "```yaml\nname: Ada\nage: 36\n", ADA),
    ("document marks", PERSON, "---\nname: Ada\nage: 36\n...\n", ADA),
    ("prose around", PERSON, "Sure, here it is:\n\nname: Ada\nage: 36\n\nLet me know if you need more.", ADA),
    ("quoted", PERSON, "name: \"Ada\"\nage: '36'", ADA),
    ("quote inside", PERSON, "name: 'It''s \"me\"'\nage: 36", {"name": 'It\'s "me"', "age": 36}),
    ("escape", PERSON, 'name: "A\\tB\\u00e9"\nage: 36', {"name": "A\tBé", "age": 36}),
    ("two quoted words", PERSON, 'name: "A" and "B"\nage: 36', {"name": '"A" and "B"', "age": 36}),
    ("comments", PERSON, "# the person\nname: Ada # first name\n# years\nage: 36 # at death\n", ADA),
    ("number sign is no comment", PERSON, "name: Issue #3\nage: 36", {"name": "Issue #3", "age": 36}),
    ("capitals and spaces", record(first_name=str, unitPrice=float), "First Name: Ada\nUnit price: 2.5", {"first_name": "Ada", "unitPrice": 2.5}),
    ("equals signs", PERSON, "name = Ada\nage = 36", ADA),
    ("arrows", PERSON, "name -> Ada\nage → 36", ADA),
    ("dashes", PERSON, "Name — Ada\nAge – 36", ADA),
    ("aside in the key", PERSON, "Name (first): Ada\nAge (years): 36", ADA),
    ("full width", CHINESE, "姓名：张三\n年龄：36\n标签：[红, 蓝]", {"姓名": "张三", "年龄": 36, "标签": ["红", "蓝"]}),
    ("chinese list", CHINESE, "以下是结果：\n\n姓名: 张三\n年龄: 36\n标签:\n- 红\n- 蓝", {"姓名": "张三", "年龄": 36, "标签": ["红", "蓝"]}),
    ("german", GERMAN, "Straße: Am Bäch 3\nHausnummer: 7\nGröße: 1.5", {"Straße": "Am Bäch 3", "Hausnummer": 7, "Größe": 1.5}),
    ("without accents", SPANISH, "Titulo: Genial\nCalificacion: 4.5\nVentajas:\n  - rápido\n  - barato\nResumen: Muy bueno.", {"título": "Genial", "calificación": 4.5, "ventajas": ["rápido", "barato"], "resumen": "Muy bueno."}),
    ("list", REVIEW, "title: Great\nrating: 4.5\npros:\n  - fast\n  - cheap\nsummary: Nice one.\n", GREAT),
    ("list not indented", REVIEW, "title: Great\nrating: 4.5\npros:\n- fast\n- cheap\nsummary: Nice one.\n", GREAT),
    ("flow list", REVIEW, "title: Great\nrating: 4.5\npros: [fast, cheap]\nsummary: Nice one.", GREAT),
    ("flow list over lines", REVIEW, "title: Great\nrating: 4.5\npros: [\n  fast,\n  cheap\n]\nsummary: Nice one.", GREAT),
    ("list between commas", REVIEW, "title: Great\nrating: 4.5\npros: fast, cheap\nsummary: Nice one.", GREAT),
    ("comment behind a number", REVIEW, "title: Great\nrating: 4.5 # of 5\npros: [fast, cheap]\nsummary: Nice one.", GREAT),
    ("continued", REVIEW, "title: Great\nrating: 4.5\npros: [fast, cheap]\nsummary: Nice\n  one.\n", GREAT),
    ("kept lines", REVIEW, "title: Great\nrating: 4.5\npros: [fast, cheap]\nsummary: |\n  Nice\n  one.\n", {**GREAT, "summary": "Nice\none.\n"}),
    ("kept lines in the middle", REVIEW, "title: Great\nsummary: |\n  Nice\n\n    deep: one.\nrating: 4.5\npros: [fast, cheap]", {**GREAT, "summary": "Nice\n\n  deep: one.\n"}),
    ("folded lines", REVIEW, "title: Great\nrating: 4.5\npros: [fast, cheap]\nsummary: >\n  Nice\n  one.\n", {**GREAT, "summary": "Nice one.\n"}),
    ("kept and stripped", REVIEW, "title: Great\nrating: 4.5\npros: [fast, cheap]\nsummary: |-\n  Nice\n  one.\n", {**GREAT, "summary": "Nice\none."}),
    ("folded and stripped", REVIEW, "title: Great\nrating: 4.5\npros: [fast, cheap]\nsummary: >-\n  Nice\n  one.\n", GREAT),
    ("text below", REVIEW, "title:\n  Great\nrating:\n  4.5\npros:\n  - fast\n  - cheap\nsummary:\n  Nice\n  one.\n", GREAT),
    ("maps and lists of maps", ORDER, "name: Ada\naddress:\n  city: London\n  zip: E1\nitems:\n  - sku: a\n    qty: 1\n  - sku: b\n    qty: 2\n", AN_ORDER),
    ("list of maps not indented", ORDER, "name: Ada\naddress:\n    city: London\n    zip: E1\nitems:\n- sku: a\n  qty: 1\n- sku: b\n  qty: 2\n", AN_ORDER),
    ("flow maps", ORDER, "name: Ada\naddress: {city: London, zip: E1}\nitems:\n  - {sku: a, qty: 1}\n  - {sku: b, qty: 2}\n", AN_ORDER),
    ("bullet alone", ORDER, "name: Ada\naddress:\n  city: London\n  zip: E1\nitems:\n  -\n    sku: a\n    qty: 1\n  -\n    sku: b\n    qty: 2", AN_ORDER),
    ("tabs", ORDER, "name: Ada\naddress:\n\tcity: London\n\tzip: E1\nitems:\n\t- sku: a\n\t  qty: 1\n\t- sku: b\n\t  qty: 2", AN_ORDER),
    ("under an unknown key", PERSON, "person:\n  name: Ada\n  age: 36", ADA),
    ("same key inside", record(name=str, sub=record(name=str)), "sub:\n  name: inner\nname: outer", {"sub": {"name": "inner"}, "name": "outer"}),
    ("same key in items", record(name=str, parts=listed(PERSON)), "name: X\nparts:\n- name: Ada\n  age: 36\n- name: Bob\n  age: 5", {"name": "X", "parts": [ADA, BOB]}),
    ("four levels", record(a=record(b=record(c=record(d=int)))), "a:\n  b:\n    c:\n      d: 4", {"a": {"b": {"c": {"d": 4}}}}),
    ("free map", record(name=str, meta={"type": "object"}), "name: Ada\nmeta:\n  colour: red\n  size: 4", {"name": "Ada", "meta": {"colour": "red", "size": 4}}),
    ("unknown member", PERSON, "name: Ada\ncountry: UK\nage: 36", {"name": "Ada", "country": "UK", "age": 36}),
    ("null", record(["name"], name=str, age={"type": ["integer", "null"]}), "name: Ada\nage: null", {"name": "Ada", "age": None}),
    ("no value", record(["name"], age={"type": ["integer", "null"]}, name=str), "age:\nname: Ada", {"age": None, "name": "Ada"}),
    ("true and false", record(a=bool, b=bool), "a: true\nb: False", {"a": True, "b": False}),
    ("number as text", record(version=str, room=str), "version: 1.10\nroom: 204", {"version": "1.10", "room": "204"}),
    ("colon in the value", record(url=str, at=str), "url: https://e.org/a?b=1\nat: 10:30", {"url": "https://e.org/a?b=1", "at": "10:30"}),
    ("dunder", record(name=str, file=str), "name: __init__\nfile: a_b_c", {"name": "__init__", "file": "a_b_c"}),
    ("trailing commas", PERSON, "name: Ada,\nage: 36,", ADA),
    ("after reasoning", PERSON, "<think>\nname: Eve\nage: 1\n</think>\nname: Ada\nage: 36", ADA),
    ("one line", PERSON, "Name: Ada, Age: 36", ADA),
    ("one line, bars", PERSON, "**Name:** Ada | **Age:** 36", ADA),
    ("tab between", PERSON, "NAME\tAda\nAGE\t36", ADA),
    ("inside an answer tag", PERSON, "<answer>\nname: Ada\nage: 36\n</answer>", ADA),
    ("paragraphs below a key", record(answer=str, confidence=float), "Answer:\n\nParis.\n\nIt is in France.\n\nConfidence: 0.9", {"answer": "Paris.\n\nIt is in France.", "confidence": 0.9}),
    ("the later of two fences", PERSON, "For example:\n```\nname: X\nage: 1\n```\nHere:\n```\nname: Ada\nage: 36\n```", ADA),
    ("one key", record(answer=str), "Answer: forty-two", {"answer": "forty-two"}),
]  # fmt: skip

MARKDOWN: list[Row] = [
    ("bold list", PERSON, "- **name**: Ada\n- **age**: 36", ADA),
    ("colon inside", PERSON, "**Name:** Ada\n**Age:** 36", ADA),
    ("line in bold", PERSON, "**Name: Ada**\n**Age: 36**", ADA),
    ("blank lines", PERSON, "**Name:** Ada\n\n**Age:** 36\n\nHope this helps!", ADA),
    ("value in bold", PERSON, "Name: **Ada**\nAge: **36**", ADA),
    ("backticks", PERSON, "* `name`: `Ada`\n* `age`: `36`", ADA),
    ("numbered", PERSON, "1. Name: Ada\n2. Age: 36", ADA),
    ("signs before the key", PERSON, "✅ **Name:** Ada\n📅 Age: 36", ADA),
    ("quotation", PERSON, "> Name: Ada\n> Age: 36", ADA),
    ("headings", REVIEW, "## Title\nGreat\n\n## Rating\n4.5\n\n## Pros\n- fast\n- cheap\n\n## Summary\nNice one.", GREAT),
    ("headings below a title", REVIEW, "# Review\n\n### 1. Title\nGreat\n### 2. Rating\n4.5\n### 3. Pros:\n* fast\n* cheap\n### 4. Summary\nNice one.", GREAT),
    ("headings with values", REVIEW, "### Title: Great\n### Rating: 4.5\n### Pros:\n1. fast\n2. cheap\n### Summary:\nNice one.", GREAT),
    ("heading with paragraphs", REVIEW, "## Title\nGreat\n## Summary\nOne.\n\nTwo.\n## Rating\n4.5\n## Pros\n- fast\n- cheap", {**GREAT, "summary": "One.\n\nTwo."}),
    ("spanish headings", SPANISH, "## Título\nGenial\n\n## Calificación\n4.5\n\n## Ventajas\n- rápido\n- barato\n\n## Resumen\nMuy bueno.", {"título": "Genial", "calificación": 4.5, "ventajas": ["rápido", "barato"], "resumen": "Muy bueno."}),
    ("bold keys alone", REVIEW, "**Title**\nGreat\n\n**Rating**\n4.5\n\n**Pros**\n- fast\n- cheap\n\n**Summary**\nNice one.", GREAT),
    ("keys with a colon alone", REVIEW, "Title:\nGreat\nRating:\n4.5\nPros:\n- fast\n- cheap\nSummary:\nNice one.", GREAT),
    ("keys alone", PERSON, "Name\nAda\nAge\n36", ADA),
    ("text list under a key", REVIEW, "Title: Great\nRating: 4.5\nPros:\nfast\ncheap\n\nSummary: Nice one.", GREAT),
    ("nested bullets", REVIEW, "- **Title:** Great\n- **Rating:** 4.5\n- **Pros:**\n  - fast\n  - cheap\n- **Summary:** Nice one.", GREAT),
    ("text of bullets", record(title=str, notes=str), "## Title\nGreat\n## Notes\n- one\n- two", {"title": "Great", "notes": "- one\n- two"}),
    ("code in a fence", CODE, "**Language:** python\n\n**Code:**\n```python\nfor x in y:\n    name: int = 3\n```\n\n**Explanation:** It loops.", {"language": "python", "code": "for x in y:\n    name: int = 3", "explanation": "It loops."}),
    ("fields below a heading that is one", record(["title", "rating"], summary=str, title=str, rating=float), "## Summary\n**Title:** Great\n**Rating:** 4.5", {"title": "Great", "rating": 4.5}),
]  # fmt: skip

LISTS: list[Row] = [
    ("yaml", PEOPLE, "- name: Ada\n  age: 36\n- name: Bob\n  age: 5\n", [ADA, BOB]),
    ("yaml in a fence", PEOPLE, "```yaml\npeople:\n  - name: Ada\n    age: 36\n  - name: Bob\n    age: 5\n```", [ADA, BOB]),
    ("one item", PEOPLE, "- name: Ada\n  age: 36\n", [ADA]),
    ("groups", PEOPLE, "Name: Ada\nAge: 36\n\nName: Bob\nAge: 5", [ADA, BOB]),
    ("groups, other order", PEOPLE, "Name: Ada\nAge: 36\n\nAge: 5\nName: Bob", [ADA, BOB]),
    ("optional field first", listed(record(["name"], tag=str, name=str, age=int)), "name: Ada\nage: 36\n\ntag: x\nname: Bob\nage: 5", [ADA, {"tag": "x", "name": "Bob", "age": 5}]),
    ("numbered", PEOPLE, "1. **Name:** Ada\n   **Age:** 36\n2. **Name:** Bob\n   **Age:** 5", [ADA, BOB]),
    ("nested bullets", PEOPLE, "1. Name: Ada\n   - Age: 36\n2. Name: Bob\n   - Age: 5", [ADA, BOB]),
    ("headings", PEOPLE, "### Person 1\n- **Name:** Ada\n- **Age:** 36\n\n### Person 2\n- **Name:** Bob\n- **Age:** 5", [ADA, BOB]),
    ("rules", PEOPLE, "Name: Ada\nAge: 36\n---\nName: Bob\nAge: 5\n---\n", [ADA, BOB]),
    ("items in items", listed(record(name=str, tags=[str])), "- name: Ada\n  tags:\n    - x\n    - y\n- name: Bob\n  tags: [z]", [{"name": "Ada", "tags": ["x", "y"]}, {"name": "Bob", "tags": ["z"]}]),
    ("one line each", PEOPLE, "name: Ada, age: 36\nname: Bob, age: 5", [ADA, BOB]),
]  # fmt: skip

SPACED: list[Row] = [
    ("words", PERSON, "name Ada\nage 36", ADA),
    ("strings", PERSON, 'name "Ada"\nage 36', ADA),
    ("capitals", PERSON, "Name Ada Lovelace\nAge 36", {"name": "Ada Lovelace", "age": 36}),
    (
        "columns",
        PERSON,
        "name     the countess of Lovelace\nage      36",
        {"name": "the countess of Lovelace", "age": 36},
    ),
    ("prose around", PERSON, "The person:\n\nname Ada\nage 36\n\nThat is all.", ADA),
    ("in a fence", PERSON, "```\nname Ada\nage 36\n```", ADA),
    ("list", record(name=str, tags=[str]), "name Ada\ntags [x, y]", {"name": "Ada", "tags": ["x", "y"]}),
]

BIO = record(name=str, bio=str, age=int)
LAST = record(name=str, bio=str)
TEXTS: list[Row] = [
    ("lines", BIO, "name: Ada\nbio: One.\nTwo.\nage: 36", {"name": "Ada", "bio": "One.\nTwo.", "age": 36}),
    ("paragraphs", BIO, "name: Ada\nbio: One.\n\nTwo.\n\nThree.\nage: 36", {"name": "Ada", "bio": "One.\n\nTwo.\n\nThree.", "age": 36}),
    ("bold keys", BIO, "**Name:** Ada\n\n**Bio:** One.\n\nTwo.\n\n**Age:** 36", {"name": "Ada", "bio": "One.\n\nTwo.", "age": 36}),
    ("bullets", BIO, "name: Ada\nbio: She did:\n- this\n- that\nage: 36", {"name": "Ada", "bio": "She did:\n- this\n- that", "age": 36}),
    ("nested bullets", BIO, "**Name:** Ada\n**Bio:** She did:\n- this\n  - inner\n**Age:** 36", {"name": "Ada", "bio": "She did:\n- this\n  - inner", "age": 36}),
    ("fence", BIO, "**Name:** Ada\n**Bio:** See:\n```py\nx = 1\n\ny: 2\n```\n**Age:** 36", {"name": "Ada", "bio": "See:\n```py\nx = 1\n\ny: 2\n```", "age": 36}),
    ("heading inside", BIO, "**Name:** Ada\n**Bio:** One.\n\n### More\n\nTwo.\n\n**Age:** 36", {"name": "Ada", "bio": "One.\n\n### More\n\nTwo.", "age": 36}),
    ("other label inside", BIO, "**Name:** Ada\n**Bio:** One.\nNote: two.\n**Age:** 36", {"name": "Ada", "bio": "One.\nNote: two.", "age": 36}),
    ("rule before the next key", BIO, "**Name:** Ada\n**Bio:** One.\n\nTwo.\n\n---\n**Age:** 36", {"name": "Ada", "bio": "One.\n\nTwo.", "age": 36}),
    ("last, lines", LAST, "name: Ada\nbio: One.\nTwo.", {"name": "Ada", "bio": "One.\nTwo."}),
    ("last, paragraphs", LAST, "**Name:** Ada\n\n**Bio:** One.\n\nTwo.\n\nThree.", {"name": "Ada", "bio": "One.\n\nTwo.\n\nThree."}),
    ("last, below its key", LAST, "**Name**\nAda\n\n**Bio**\nOne.\n\nTwo.\n\nThree.", {"name": "Ada", "bio": "One.\n\nTwo.\n\nThree."}),
    ("last, under a heading", LAST, "## Name\nAda\n\n## Bio\nOne.\n\nTwo.", {"name": "Ada", "bio": "One.\n\nTwo."}),
    ("last, a letter", LAST, "name: Ada\nbio: Dear Ada,\n\nthank you.\n\nYours,\nCharles", {"name": "Ada", "bio": "Dear Ada,\n\nthank you.\n\nYours,\nCharles"}),
    ("a remark behind", LAST, "name: Ada\nbio: One.\n\nI took this from the text.", {"name": "Ada", "bio": "One."}),
    ("a question behind", LAST, "name: Ada\nbio: One.\n\nTwo.\n\nThree.\n\nAnything else?", {"name": "Ada", "bio": "One.\n\nTwo.\n\nThree."}),
    ("a question under a heading", LAST, "## Name\nAda\n## Bio\nOne.\n\nTwo.\n\nAnything else?", {"name": "Ada", "bio": "One.\n\nTwo."}),
    ("behind a rule", LAST, "name: Ada\nbio: One.\n\nTwo.\n\nThree.\n\n---\nSource: a book\nof hers", {"name": "Ada", "bio": "One.\n\nTwo.\n\nThree."}),
    ("behind a closed quote", LAST, 'name: Ada\nbio: "One."\nThat is her own word.', {"name": "Ada", "bio": "One."}),
    ("another field behind", record(answer=str), "**Answer:** Paris\n\n**Why:** It is.\n\nIt was.", {"answer": "Paris"}),
    ("a bold line behind", record(answer=str), "**Answer:** Paris\n\n**Why**\n\nIt is.\n\nIt was.", {"answer": "Paris"}),
    ("a heading behind", record(answer=str), "### Answer\nParis\n\n### Why\nIt is.\n\nIt was.", {"answer": "Paris"}),
    ("a lead to bullets inside", BIO, "name: Ada\nbio: One.\nShe did these things:\n- this\nage: 36", {"name": "Ada", "bio": "One.\nShe did these things:\n- this", "age": 36}),
    ("a name before the next object", listed(LAST), "Person 1:\nname: Ada\nbio: x\nPerson 2:\nname: Bob\nbio: y", [{"name": "Ada", "bio": "x"}, {"name": "Bob", "bio": "y"}]),
    ("inside an answer tag", LAST, "So: <answer>name: Ada\nbio: x</answer> Done.", {"name": "Ada", "bio": "x"}),
    ("a special token behind", LAST, "name: Ada\nbio: x\n<|im_end|>", {"name": "Ada", "bio": "x"}),
    ("an enum and a reason", record(mood={"enum": ["good", "bad"]}, age=int), "mood: good\nas one can see\nage: 36", {"mood": "good", "age": 36}),
    ("list over lines", record(tags=[str], age=int), "tags: x,\ny,\nz\nage: 36", {"tags": ["x", "y", "z"], "age": 36}),
    ("brackets and a remark", record(tags=[str], age=int), "tags: [x,\ny] (both of them)\nage: 36", {"tags": ["x", "y"], "age": 36}),
]  # fmt: skip

REFUSED: list[tuple[str, Any, str]] = [
    ("keys without values", PERSON, "name:\nage:\n"),
    ("key at the end", record(["name"], name=str, age=int), "name: Ada\nage:"),
    ("one field of two", PERSON, "Name: Ada"),
    ("unknown member of a closed object", CLOSED, "name: Ada\ncountry: UK\nage: 36"),
    ("ellipsis in a list", record(name=str, tags=[str]), "name: x\ntags: [a, b, ...]"),
    ("bracket left open", record(name=str, tags=[str]), "name: x\ntags: [a, b"),
    ("item without a field", PEOPLE, "Name: Ada\n\nName: Bob\nAge: 5"),
    ("item that is no field", PEOPLE, "- name: Ada\n  age: 36\n- Bob"),
    ("keys without a sign in prose", record(name=str, city=str), "name is required\ncity is needed"),
    ("keys without a sign in other prose", record(title=str, text=str), "Title matters\nText matters"),
    ("one key without a sign", record(name=str), "name Ada"),
    ("program", PERSON, "const name = 'Ada';\nlet age = 36;"),
    ("log", record(["name"], name=str, note=str), "2024-01-01 ERROR name: foo"),
    ("taken back", record(a=str, b=str), "a: x\nb: y\n\nWait, that's wrong.\n\nIt is z."),
]  # fmt: skip

CASES = [
    (f"{kind}: {row[0]}", *row[1:])
    for kind, rows in (("yaml", YAML), ("markdown", MARKDOWN), ("list", LISTS), ("spaced", SPACED), ("text", TEXTS))
    for row in rows
]


@pytest.mark.parametrize(("schema", "reply", "expected"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_lines_give_their_fields(schema: Any, reply: str, expected: Any) -> None:
    gives(schema, reply, expected)


@pytest.mark.parametrize(("schema", "reply"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_lines_that_are_not_fields_are_refused(schema: Any, reply: str) -> None:
    assert not checked(schema, reply).ok


UNCLEAR = [
    ("behind", REVIEW, "title: Great\nrating: 4.5\npros: [fast, cheap]\nsummary: Nice one.\nIt goes on.", {**GREAT, "summary": "Nice one.\nIt goes on."}, "It goes on."),
    ("between", REVIEW, "title: Great\nsummary: Nice one.\nIt goes on.\nrating: 4.5\npros: [fast, cheap]", {**GREAT, "summary": "Nice one.\nIt goes on."}, "It goes on."),
    ("between, no text", REVIEW, "title: Great\nrating: 4.5\nout of five\npros: [fast, cheap]\nsummary: Nice one.", GREAT, "out of five"),
    ("between, apart", REVIEW, "title: Great\n\nBy the way.\n\nrating: 4.5\npros: [fast, cheap]\nsummary: Nice one.", GREAT, "By the way."),
    ("unknown before", PERSON, "id: 7\nname: Ada\nage: 36", ADA, "id: 7"),
    ("unknown behind", PERSON, "name: Ada\nage: 36\nnote: I assumed", ADA, "note: I assumed"),
    ("behind a table", PEOPLE, "name,age\nAda,36\nBob,5\nThat is all", [ADA, BOB], "That is all"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "reply", "expected", "line"), [row[1:] for row in UNCLEAR], ids=[row[0] for row in UNCLEAR]
)
def test_a_line_that_may_belong_to_the_value_is_not_dropped_as_prose(
    schema: Any, reply: str, expected: Any, line: str
) -> None:
    verdict = checked(schema, reply)
    assert verdict.ok
    assert verdict.data["summary"] == expected["summary"] if "summary" in expected else same(verdict.data, expected)
    at = reply.index(line)
    covering = [fix for fix in verdict.fixes if fix.span[0] <= at and at + len(line) <= fix.span[1]]
    assert covering
    assert all(GRADE[fix.code] != "lossless" for fix in covering)


TEXT, WHOLE, REAL = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def object_schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


QUERY = object_schema(ask=TEXT, sql=TEXT, why=TEXT)
STRINGS: dict[str, Any] = {"type": "array", "items": TEXT}
BILL = object_schema(number=TEXT, total=REAL, count=WHOLE)


@pytest.mark.parametrize(
    ("schema", "reply", "expected"),
    [
        pytest.param(
            QUERY,
            "ask: Who?\nsql: SELECT 1;\nwhy: It counts.",
            {"ask": "Who?", "sql": "SELECT 1;", "why": "It counts."},
            id="semicolon-of-the-text",
        ),
        pytest.param(
            QUERY,
            "- **ask:** Who?\n- **sql:** SELECT 1;\n- **why:** rows",
            {"ask": "Who?", "sql": "SELECT 1;", "why": "rows"},
            id="in-a-list",
        ),
        pytest.param(
            QUERY, "ask: Who,\nsql: x,\nwhy: rows", {"ask": "Who", "sql": "x", "why": "rows"}, id="commas-of-members"
        ),
        pytest.param(
            QUERY, "ask: a;\nsql: x;\nwhy: r;", {"ask": "a", "sql": "x", "why": "r"}, id="semicolons-of-members"
        ),
        pytest.param(STRINGS, "- apple,\n- banana,\n- cherry", ["apple", "banana", "cherry"], id="commas-of-items"),
        pytest.param(STRINGS, "1. a b c\n2. d, e,\n3. f", ["a b c", "d, e,", "f"], id="comma-of-an-item"),
        pytest.param(
            BILL,
            "number: 1,234\ntotal: 5,\ncount: 7,",
            {"number": "1,234", "total": 5, "count": 7},
            id="commas-behind-numbers",
        ),
    ],
)
def test_punctuation_at_the_end_of_a_line_is_handled(schema: Any, reply: str, expected: Any) -> None:
    verdict = Contract(schema).check(reply)
    assert verdict.ok, verdict.findings
    assert verdict.data == expected


def test_a_repeated_field_counts_and_is_reported() -> None:
    verdict = Contract(QUERY).check("- **ask:** Who\n- **why:** 6 %\n- **sql:** SELECT\n- **why:** rows")
    assert verdict.ok
    assert verdict.data == {"ask": "Who", "sql": "SELECT", "why": "rows"}
    assert [finding.code for finding in verdict.findings] == ["P003"]
