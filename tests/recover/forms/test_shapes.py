"""The shapes of a text in their order: texts that are never values, a fence with any info string, and the place of each value."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.recover.forms.cases import ADA, PEOPLE, PERSON, REVIEW, WORDS, checked, record
from trueup import Contract
from trueup.recover.aims import Aims
from trueup.recover.forms import shapes

REFUSED: list[tuple[str, Any, str]] = [
    ("web page", record(title=str), "<html><head><title>502 Bad Gateway</title></head><body>x</body></html>"),
    ("stack trace", record(["name"], name=str, line=int), 'Traceback (most recent call last):\n  File "a.py", line 3, in f\nname: x\nline: 3'),
    ("prose", PERSON, "Name is required. Age is required."),
    ("broken json", PERSON, '"age": {\n"name": "Ada"'),
    ("trace of another language", record(["name"], name=str, line=int), "Error: x\n    at f (a.js:1:2)\n    at g(b.js:3)\nname: x\nline: 3"),
    ("page with fields", PERSON, "<!DOCTYPE html>\n<html><body>name: Ada<br>age: 36</body></html>"),
    ("documentation", PERSON, "- name: the name of the person\n- age: how old the person is"),
]  # fmt: skip

REPORTS = [
    "Traceback (most recent call last):", 'File "a", line 3', 'file "a"', "at a.b(c)", "  at A.B$c(d)", "at ", "\n", "  ",
    "<html>", "<HTML ", "<!DOCTYPE html", "x", "<html", "(", ")", "é", "Fıle \"a\", line 3", "moſt",
]  # fmt: skip


@pytest.mark.parametrize(("schema", "reply"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_text_that_is_not_an_answer_is_refused(schema: Any, reply: str) -> None:
    assert not checked(schema, reply).ok


@given(st.lists(st.sampled_from(REPORTS), max_size=14).map("".join))
def test_the_quick_look_for_the_words_of_a_report_misses_none(text: str) -> None:
    assert shapes.is_report(text) == (shapes._REPORT.search(text) is not None)


@pytest.mark.parametrize("info", ["", "yaml", 'yaml title="x y"', " yaml", "yaml // a person", "yml linenos=true"])
@pytest.mark.parametrize("marks", ["```", "~~~", "````"])
@pytest.mark.parametrize(
    ("schema", "body", "expected"),
    [
        (PERSON, "name: Ada\nage: 36", ADA),
        (PEOPLE, "name,age\nAda,36", [ADA]),
        (WORDS, "- a\n- b", ["a", "b"]),
        (PERSON, "<p><name>Ada</name><age>36</age></p>", ADA),
    ],
)
def test_a_fence_with_any_info_string_may_contain_a_form(
    schema: Any, body: str, expected: Any, marks: str, info: str
) -> None:
    verdict = Contract(schema).check(f"Here:\n\n{marks}{info}\n{body}\n{marks}\n\nDone.")
    assert verdict.ok
    assert verdict.data == expected


def aims(schema: Any) -> Aims:
    contract = Contract(schema)
    return contract._judge._aims


PLACED: list[tuple[Any, str, dict[str, str]]] = [
    (PERSON, "Here:\nname: Ada\nage: 36 # years", {"name": "Ada", "age": "36 # years", "": "name: Ada\nage: 36 # years"}),
    (REVIEW, "title: T\nrating: 4\npros:\n  - a\n  - b\nsummary: One.\n\nTwo.\n\nThree.", {"pros": "a\n  - b", "pros.1": "b", "summary": "One.\n\nTwo.\n\nThree."}),
    (record(a=record(b=str)), "a:\n  b: x", {"a": "b: x", "a.b": "x"}),
    (PEOPLE, "- name: Ada\n  age: 36\n- name: Bob\n  age: 5", {"0.name": "Ada", "1": "- name: Bob\n  age: 5", "1.age": "5"}),
    (PEOPLE, "| name | age |\n|---|---|\n| Ada | 36 |\n| Bob | 5 |", {"0.name": "Ada", "1": "Bob | 5", "1.age": "5"}),
    (PEOPLE, "name,age\nAda,36", {"0.name": "Ada", "0.age": "36"}),
    (PERSON, "| Field | Value |\n|---|---|\n| Name | Ada |\n| Age | 36 |", {"name": "Ada", "age": "36"}),
    (PERSON, "name Ada\nage 36", {"name": "Ada", "age": "36"}),
    (WORDS, "- apple\n- pear", {"0": "apple", "1": "pear"}),
    (WORDS, "apple, pear", {"0": "apple", "1": "pear"}),
    (WORDS, "<li>apple</li><li>pear</li>", {"0": "apple", "1": "pear"}),
    (PERSON, "<p id='1'><name>Ada</name><age>36</age></p>", {"name": "Ada", "age": "36"}),
    (PERSON, "<p name='Ada'><age>36</age></p>", {"name": "<p name='Ada'>", "age": "36"}),
    (record(tags=[str]), "<r><tags><t>a</t><t>b</t></tags></r>", {"tags": "<t>a</t><t>b</t>", "tags.1": "b"}),
    (PERSON, '<parameter name="name">Ada</parameter><parameter name="age">36</parameter>', {"name": "Ada", "age": "36"}),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "reply", "places"), PLACED)
def test_every_value_has_its_position(schema: Any, reply: str, places: dict[str, str]) -> None:
    candidate = next(found[0] for found in shapes.readings(reply, aims(schema)) if found and found[0].places)
    assert candidate.places is not None
    said = {".".join(map(str, path)): reply[start:stop] for path, (start, stop) in candidate.places.items()}
    assert said.items() >= places.items()
