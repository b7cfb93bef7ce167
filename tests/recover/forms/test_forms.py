"""Replies that are not JSON but carry the fields: what each shape gives, and that the rest is refused."""

import json
from typing import Any

import pytest

from tests.recover.material import same, scalars_of
from trueup import Contract
from trueup.verdict.catalogue import GRADE

TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def field(kind: Any) -> dict[str, Any]:
    if isinstance(kind, list):
        return {"type": "array", "items": field(kind[0])}
    return kind if isinstance(kind, dict) else {"type": TYPES[kind]}


def record(required: list[str] | None = None, **fields: Any) -> dict[str, Any]:
    properties = {key: field(kind) for key, kind in fields.items()}
    return {"type": "object", "properties": properties, "required": list(fields) if required is None else required}


def listed(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


PERSON = record(name=str, age=int)
CLOSED = {**PERSON, "additionalProperties": False}
REVIEW = record(title=str, rating=float, pros=[str], summary=str)
ORDER = record(name=str, address=record(city=str, zip=str), items=listed(record(sku=str, qty=int)))
SPANISH = record(título=str, calificación=float, ventajas=[str], resumen=str)
GERMAN = record(Straße=str, Hausnummer=int, Größe=float)
CHINESE = record(姓名=str, 年龄=int, 标签=[str])
CODE = record(language=str, code=str, explanation=str)
PEOPLE = listed(PERSON)
WORDS = listed({"type": "string"})
ADA = {"name": "Ada", "age": 36}
BOB = {"name": "Bob", "age": 5}
GREAT = {"title": "Great", "rating": 4.5, "pros": ["fast", "cheap"], "summary": "Nice one."}
AN_ORDER = {
    "name": "Ada",
    "address": {"city": "London", "zip": "E1"},
    "items": [{"sku": "a", "qty": 1}, {"sku": "b", "qty": 2}],
}

YAML: list[tuple[str, dict[str, Any], str, Any]] = [
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

MARKDOWN: list[tuple[str, dict[str, Any], str, Any]] = [
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
    ("two columns", PERSON, "| Field | Value |\n|---|---|\n| Name | Ada |\n| Age | 36 |", ADA),
    ("two columns in bold", PERSON, "| | |\n|:--|--:|\n| **Name** | Ada |\n| **Age** | 36 |\n\nThat is all.", ADA),
    ("one row", PERSON, "| Name | Age |\n|---|---|\n| Ada | 36 |", ADA),
    ("table under a heading", ORDER, "**Name:** Ada\n**Address:**\n  - city: London\n  - zip: E1\n\n## Items\n\n| SKU | Qty |\n|---|---|\n| a | 1 |\n| b | 2 |\n", AN_ORDER),
    ("items as a table", record(name=str, items=listed(record(sku=str, qty=int))), "## Name\nAda\n\n## Items\n| SKU | Qty |\n|---|---|\n| a | 1 |\n| b | 2 |\n", {"name": "Ada", "items": AN_ORDER["items"]}),
    ("code in a fence", CODE, "**Language:** python\n\n**Code:**\n```python\nfor x in y:\n    name: int = 3\n```\n\n**Explanation:** It loops.", {"language": "python", "code": "for x in y:\n    name: int = 3", "explanation": "It loops."}),
    ("fields below a heading that is one", record(["title", "rating"], summary=str, title=str, rating=float), "## Summary\n**Title:** Great\n**Rating:** 4.5", {"title": "Great", "rating": 4.5}),
]  # fmt: skip

LISTS: list[tuple[str, dict[str, Any], str, Any]] = [
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
    ("one line each", PEOPLE, "name: Ada, age: 36\nname: Bob, age: 5", [ADA, BOB]),
    ("two tables", PEOPLE, "| name | age |\n|---|---|\n| Ada | 36 |\n\n| name | age |\n|---|---|\n| Bob | 5 |", [ADA, BOB]),
    ("table without outer bars", PEOPLE, "name | age\n--- | ---\nAda | 36\nBob | 5", [ADA, BOB]),
    ("list in a cell", listed(record(name=str, tags=[str])), "| Name | Tags |\n|---|---|\n| Ada | x, y |", [{"name": "Ada", "tags": ["x", "y"]}]),
    ("numbers", WORDS, "1. apple\n2. banana\n3. cherry", ["apple", "banana", "cherry"]),
    ("bullets", WORDS, "- apple\n- banana", ["apple", "banana"]),
    ("lead and close", WORDS, "Here are some fruits:\n\n* apple\n* banana\n\nEnjoy!", ["apple", "banana"]),
    ("loose", WORDS, "1) apple\n\n2) banana", ["apple", "banana"]),
    ("items go on", WORDS, "- apple\n  and pear\n- banana", ["apple and pear", "banana"]),
    ("colons in items", WORDS, "- apple: red\n- banana: yellow", ["apple: red", "banana: yellow"]),
    ("integers", listed({"type": "integer"}), "- 3\n- 14\n- 15", [3, 14, 15]),
    ("in a fence", WORDS, "```\n- apple\n- banana\n```", ["apple", "banana"]),
    ("enum", listed({"enum": ["RED", "BLUE"]}), "- red\n- **blue**", ["RED", "BLUE"]),
    ("chinese items", WORDS, "水果如下：\n1. 苹果\n2. 香蕉", ["苹果", "香蕉"]),
]  # fmt: skip

XML: list[tuple[str, dict[str, Any], str, Any]] = [
    ("elements", PERSON, "<person><name>Ada</name><age>36</age></person>", ADA),
    ("no root", PERSON, "Sure:\n<name>Ada</name>\n<age>36</age>\nBye.", ADA),
    ("declaration", PERSON, '<?xml version="1.0"?>\n<person>\n  <name>Ada</name>\n  <age>36</age>\n</person>', ADA),
    ("attributes", PERSON, '<person name="Ada" age="36"/>', ADA),
    ("attributes and children", PERSON, "<person name='Ada'><age>36</age></person>", ADA),
    ("fields by attribute", PERSON, '<record><field name="name">Ada</field><field name="age">36</field></record>', ADA),
    ("cdata", PERSON, "<name><![CDATA[A & <B>]]></name><age>36</age>", {"name": "A & <B>", "age": 36}),
    ("entities", PERSON, "<name>A &amp; B &lt;3</name><age>36</age>", {"name": "A & B <3", "age": 36}),
    ("comment", PERSON, "<r><name>Ada<!-- first --></name><age>36</age></r>", ADA),
    ("inline markup", PERSON, "<name>Ada <b>L</b></name><age>36</age>", {"name": "Ada <b>L</b>", "age": 36}),
    ("paragraphs in text", record(title=str, body=str), "<r><title>T</title><body><p>a</p><p>b</p></body></r>", {"title": "T", "body": "<p>a</p><p>b</p>"}),
    ("list", REVIEW, "<review><title>Great</title><rating>4.5</rating><pros><pro>fast</pro><pro>cheap</pro></pros><summary>Nice one.</summary></review>", GREAT),
    ("repeated", REVIEW, "<review><title>Great</title><rating>4.5</rating><pros>fast</pros><pros>cheap</pros><summary>Nice one.</summary></review>", GREAT),
    ("nested", ORDER, "<order><name>Ada</name><address><city>London</city><zip>E1</zip></address><items><item><sku>a</sku><qty>1</qty></item><item><sku>b</sku><qty>2</qty></item></items></order>", AN_ORDER),
    ("nested attributes", ORDER, '<order name="Ada"><address city="London" zip="E1"/><items><item sku="a" qty="1"/><item sku="b" qty="2"/></items></order>', AN_ORDER),
    ("namespace", PERSON, "<p:person><p:name>Ada</p:name><p:age>36</p:age></p:person>", ADA),
    ("type attribute", record(name=str, age=int, type=str), '<r><name type="string">Ada</name><age type="integer">36</age><type>x</type></r>', {**ADA, "type": "x"}),
    ("unknown element", PERSON, "<person><name>Ada</name><city>Rome</city><age>36</age></person>", {"name": "Ada", "city": "Rome", "age": 36}),
    ("end tag forgotten", PERSON, "<person><name>Ada<age>36</age></person>", ADA),
    ("root not closed", PERSON, "<person><name>Ada</name><age>36</age>", ADA),
    ("list of elements", PEOPLE, "<people><person><name>Ada</name><age>36</age></person><person><name>Bob</name><age>5</age></person></people>", [ADA, BOB]),
    ("list of attributes", PEOPLE, '<people><person name="Ada" age="36"/><person name="Bob" age="5"/></people>', [ADA, BOB]),
    ("wrong end tag", PERSON, "<name>Ada</nme><age>36</age>", ADA),
    ("empty list", record(name=str, tags=[str]), "<r><name>Ada</name><tags/></r>", {"name": "Ada", "tags": []}),
    ("list between commas", record(name=str, tags=[str]), "<r><name>Ada</name><tags>x, y</tags></r>", {"name": "Ada", "tags": ["x", "y"]}),
    ("german", GERMAN, "<ort><Straße>Am Bäch</Straße><Hausnummer>7</Hausnummer><Größe>1.5</Größe></ort>", {"Straße": "Am Bäch", "Hausnummer": 7, "Größe": 1.5}),
    ("parameters", PERSON, '<invoke name="f"><parameter name="name">Ada</parameter><parameter name="age">36</parameter></invoke>', ADA),
    ("parameters without ends", PERSON, '<invoke name="f"><parameter name="name">Ada\n<parameter name="age">36\n</invoke>', ADA),
]  # fmt: skip

SCALARS: list[tuple[str, dict[str, Any], str, Any]] = [
    ("fenced text", {"type": "string"}, "```\nHello\n```", "Hello"),
    ("fenced code", {"type": "string"}, "```python\nx = 1\n\ny = 2\n```\n", "x = 1\n\ny = 2"),
    ("answer tag", {"type": "string"}, "<answer>Hello</answer>", "Hello"),
    ("special token", {"type": "string"}, "Hello<|im_end|>", "Hello"),
    ("fenced enum", {"enum": ["LOW", "HIGH"]}, "```\nhigh\n```", "HIGH"),
    ("yes", {"type": "boolean"}, "Yes, it is.", True),
    ("no", {"type": "boolean"}, "No, it isn't.", False),
    ("false", {"type": "boolean"}, "The statement is false.", False),
    ("true", {"type": "boolean"}, "This is **true**.", True),
    ("the answer is", {"type": "boolean"}, "The answer is: no.", False),
    ("in bold", {"type": "boolean"}, "**Yes**", True),
    ("sí", {"type": "boolean"}, "Sí, lo es.", True),
    ("falsch", {"type": "boolean"}, "Die Aussage ist falsch.", False),
    ("是", {"type": "boolean"}, "是的，这是对的。", True),
    ("number", {"type": "integer"}, "The answer is **42**.", 42),
    ("twice the same", {"type": "integer"}, "It is 42, yes, 42.", 42),
    ("minus", {"type": "number"}, "Temperature: −5 °C", -5),
    ("hyphen minus", {"type": "number"}, "It was -5.5 degrees", -5.5),
    ("thousands", {"type": "integer"}, "There are 1,036 of them.", 1036),
    ("percent", {"type": "number"}, "about 45 % of all", 45),
    ("spanish", {"type": "integer"}, "La respuesta es 42.", 42),
]  # fmt: skip

REFUSED: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("keys without values", PERSON, "name:\nage:\n", {}),
    ("key at the end", record(["name"], name=str, age=int), "name: Ada\nage:", {}),
    ("xml cut in text", PERSON, "<r><age>36</age><name>Ad", {}),
    ("xml cut in a tag", record(["age"], name=str, age=int), "<r><age>36</age><na", {}),
    ("xml cut behind a tag", record(["age"], name=str, age=int), "<r><age>36</age><name>", {}),
    ("parameter cut", PERSON, '<invoke name="f"><parameter name="age">36</parameter><parameter name="name">Ad', {}),
    ("list cut in an item", record(tags=[str]), "<r><tags><tag>a</tag><tag>b", {}),
    ("web page", record(title=str), "<html><head><title>502 Bad Gateway</title></head><body>x</body></html>", {}),
    ("stack trace", record(["name"], name=str, line=int), 'Traceback (most recent call last):\n  File "a.py", line 3, in f\nname: x\nline: 3', {}),
    ("prose", PERSON, "Name is required. Age is required.", {}),
    ("one field of two", PERSON, "Name: Ada", {}),
    ("unknown member of a closed object", CLOSED, "name: Ada\ncountry: UK\nage: 36", {}),
    ("ellipsis in a list", record(name=str, tags=[str]), "name: x\ntags: [a, b, ...]", {}),
    ("bracket left open", record(name=str, tags=[str]), "name: x\ntags: [a, b", {}),
    ("broken json", PERSON, '"age": {\n"name": "Ada"', {}),
    ("item without a field", PEOPLE, "Name: Ada\n\nName: Bob\nAge: 5", {}),
    ("item that is no field", PEOPLE, "- name: Ada\n  age: 36\n- Bob", {}),
    ("placeholders", record(name=str, note=str), "Use <name> and <note> here.", {}),
    ("row too long", PEOPLE, "name,age\nAda,36\nBob,5,x", {}),
    ("list in prose", WORDS, "One thing.\nAnother thing.\n- apple\n- banana", {}),
    ("refusal with bullets", WORDS, "I'm sorry, I can't do that because:\n- it is wrong\n- it is late", {}),
    ("numbers out of order", WORDS, "1. apple\n5. banana", {}),
    ("attribute beside text", record(["item"], item=str, sku=str), '<r><item sku="a">Pen</item></r>', {}),
    ("scale", {"type": "number"}, "about 3 million", {"coerce": "eager"}),
    ("scale k", {"type": "number"}, "roughly 5k", {"coerce": "eager"}),
    ("scale 万", {"type": "number"}, "大约 3 万", {"coerce": "eager"}),
    ("Millionen", {"type": "number"}, "etwa 3 Millionen", {"coerce": "eager"}),
    ("error code", {"type": "number"}, "I can't answer; see error 404.", {"coerce": "eager"}),
    ("status", {"type": "integer"}, "The server said HTTP 500 again", {"coerce": "eager"}),
    ("apology", {"type": "integer"}, "Sorry, I only found 3 sources.", {"coerce": "eager"}),
    ("two numbers", {"type": "integer"}, "Between 3 and 5.", {"coerce": "eager"}),
    ("step", {"type": "integer"}, "1. Add the numbers", {"coerce": "eager"}),
    ("denied", {"type": "integer"}, "It is not 42.", {"coerce": "eager"}),
    ("not eager", {"type": "integer"}, "The answer is 42.", {}),
    ("not true", {"type": "boolean"}, "It is not true.", {"coerce": "eager"}),
    ("both", {"type": "boolean"}, "True or false?", {"coerce": "eager"}),
    ("unsure", {"type": "boolean"}, "I am unsure whether it is true", {"coerce": "eager"}),
    ("yes but", {"type": "boolean"}, "Yes, but that is not right.", {"coerce": "eager"}),
    ("cannot say", {"type": "boolean"}, "I cannot say yes", {"coerce": "eager"}),
    ("no problem", {"type": "boolean"}, "No problem at all", {"coerce": "eager"}),
    ("any value", True, "- apple\n- banana", {}),
]  # fmt: skip


def ordered(value: Any) -> Any:
    """A value with the keys of its objects sorted."""
    return json.loads(json.dumps(value, sort_keys=True))


def checked(schema: Any, reply: str, **options: Any) -> Any:
    verdict = Contract(schema, **options).check(reply)
    json.dumps(verdict.to_dict())
    for fix in verdict.fixes:
        assert fix.span is not None
        assert 0 <= fix.span[0] <= fix.span[1] <= len(reply)
    return verdict


def words_are_kept(reply: str, verdict: Any) -> bool:
    """Whether every word of the reply is in the value or in the span of a fix."""
    kept = " ".join(scalars_of(verdict.data)).lower()
    spans = [fix.span for fix in verdict.fixes]
    at = 0
    for word in reply.split():
        at = reply.index(word, at)
        if word.lower() not in kept and not any(a < at + len(word) and at < b for a, b in spans):
            return False
    return True


CASES = (
    [("yaml", *row) for row in YAML]
    + [("markdown", *row) for row in MARKDOWN]
    + [("list", *row) for row in LISTS]
    + [("xml", *row) for row in XML]
)


@pytest.mark.parametrize(
    ("schema", "reply", "expected"), [row[2:] for row in CASES], ids=[f"{row[0]}: {row[1]}" for row in CASES]
)
def test_a_form_gives_its_fields(schema: Any, reply: str, expected: Any) -> None:
    verdict = checked(schema, reply)
    assert verdict.ok, [str(found) for found in verdict.findings]
    assert same(ordered(verdict.data), ordered(expected))
    assert any(fix.code[0] == "F" for fix in verdict.fixes)
    assert words_are_kept(reply, verdict)
    assert not Contract(schema, accept="lossless").check(reply).ok


@pytest.mark.parametrize(("schema", "reply", "expected"), [row[1:] for row in SCALARS], ids=[row[0] for row in SCALARS])
def test_a_scalar_in_words(schema: Any, reply: str, expected: Any) -> None:
    verdict = checked(schema, reply, coerce="eager")
    assert verdict.ok, [str(found) for found in verdict.findings]
    assert verdict.data == expected
    assert type(verdict.data) in (type(expected), int)


@pytest.mark.parametrize(("schema", "reply", "options"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_is_no_answer_is_refused(schema: Any, reply: str, options: dict[str, Any]) -> None:
    assert not checked(schema, reply, **options).ok


UNCLEAR = [
    ("behind", REVIEW, "title: Great\nrating: 4.5\npros: [fast, cheap]\nsummary: Nice one.\nIt goes on.", GREAT, "It goes on."),
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
def test_a_line_of_unclear_belonging_is_no_prose(schema: Any, reply: str, expected: Any, line: str) -> None:
    verdict = checked(schema, reply)
    assert verdict.ok
    assert verdict.data["summary"] == expected["summary"] if "summary" in expected else same(verdict.data, expected)
    at = reply.index(line)
    covering = [fix for fix in verdict.fixes if fix.span[0] <= at and at + len(line) <= fix.span[1]]
    assert covering
    assert all(GRADE[fix.code] != "lossless" for fix in covering)
