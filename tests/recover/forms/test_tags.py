"""Values in tags: elements, attributes, parameters, items of a list; cut tags and words in angle brackets are refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.recover.forms.cases import (
    ADA,
    AN_ORDER,
    BOB,
    GERMAN,
    GREAT,
    ORDER,
    PEOPLE,
    PERSON,
    REVIEW,
    WORDS,
    Row,
    checked,
    gives,
    record,
)
from trueup import Contract
from trueup.recover.forms import tags
from trueup.recover.forms.outline import KeyFinder

TAGGED = record(tags=[str])

XML: list[Row] = [
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
    ("paragraphs", record(title=str, body=str), "<title>T</title>\n<body>\nOne.\n\n- a\n- b\n</body>", {"title": "T", "body": "One.\n\n- a\n- b"}),
    ("bullets in a list", TAGGED, "<tags>\n- a\n- b, c\n</tags>", {"tags": ["a", "b, c"]}),
    ("lines in a list", TAGGED, "<tags>\na\nb\n</tags>", {"tags": ["a", "b"]}),
    ("one item in a list", TAGGED, "<tags>a</tags>", {"tags": ["a"]}),
]  # fmt: skip

REFUSED: list[tuple[str, Any, str]] = [
    ("xml cut in text", PERSON, "<r><age>36</age><name>Ad"),
    ("xml cut in a tag", record(["age"], name=str, age=int), "<r><age>36</age><na"),
    ("xml cut behind a tag", record(["age"], name=str, age=int), "<r><age>36</age><name>"),
    ("parameter cut", PERSON, '<invoke name="f"><parameter name="age">36</parameter><parameter name="name">Ad'),
    ("list cut in an item", record(tags=[str]), "<r><tags><tag>a</tag><tag>b"),
    ("placeholders", record(name=str, note=str), "Use <name> and <note> here."),
    ("attribute beside text", record(["item"], item=str, sku=str), '<r><item sku="a">Pen</item></r>'),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "reply", "expected"), [row[1:] for row in XML], ids=[row[0] for row in XML])
def test_tags_give_their_fields(schema: Any, reply: str, expected: Any) -> None:
    gives(schema, reply, expected)


@pytest.mark.parametrize(("schema", "reply"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_values_that_tags_do_not_have_are_refused(schema: Any, reply: str) -> None:
    assert not checked(schema, reply).ok


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("<result><item>Python</item><item>A &amp; B</item></result>", ["Python", "A & B"]),
        ("Here:\n<ul>\n<li>Python</li>\n<li>C</li>\n</ul>", ["Python", "C"]),
        ("<p>Sorry, no.</p><p>Really.</p>", None),
        ("<b>x</b> and <b>y</b>", None),
    ],
)
def test_elements_with_the_same_name_are_the_items_of_a_list(reply: str, expected: Any) -> None:
    verdict = Contract(WORDS).check(reply)
    assert verdict.ok == (expected is not None)
    if expected is not None:
        assert verdict.data == expected


PIECES = [
    "<a>", "</a>", "<b>", "</b>", "<x:name>", "</x:name>", "<name>", "</name>", '<field name="age">', "</field>", "<i age='3'/>", "text",
    " ", "\n", "<", ">", "<!-- <name> -->", "<![CDATA[<age>]]>", "<Name ", "age=", "<age", "</age>", "<br/>",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_a_tree_without_tags_for_keys_is_empty(text: str) -> None:
    keys = KeyFinder(["name", "age"])
    root = tags._Tree(text, keys).read()
    if root is not None and not tags._may_match(text, keys):
        assert tags._Values(text, keys, lambda _: frozenset()).candidates(root) == []
