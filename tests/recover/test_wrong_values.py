"""Replies that once led to a wrong value or to a needless refusal: each with the value that a person reads, or none.

A refusal is right if two readings are equally likely; an invented value never is.
"""

from typing import Any

import pytest

from tests.recover.laws import reads_as as check
from trueup import Contract

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def object_schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


PERSON = object_schema(name=TEXT, age=WHOLE)
ADA = {"name": "Ada", "age": 36}
PLAIN: dict[str, Any] = {"type": "array", "items": TEXT}
NUMBERS: dict[str, Any] = {"type": "array", "items": WHOLE}
SPOKEN = object_schema(msg=TEXT, ok={"type": "boolean"})
CODE = object_schema(code=TEXT, lang=TEXT)
AMOUNT = object_schema(s=TEXT)


@pytest.mark.parametrize(
    ("schema", "reply", "expected"),
    [
        pytest.param(True, r'{"re": "\\d+\.\\w*"}', {"re": r"\d+\.\w*"}, id="pattern"),
        pytest.param(True, r'{"f": "\\frac{a}{b}", "n": "\(x\)"}', {"f": r"\frac{a}{b}", "n": r"\(x\)"}, id="inline"),
        pytest.param(True, r'{"f": "so \[x = 1\] holds"}', {"f": r"so \[x = 1\] holds"}, id="display"),
        pytest.param(True, r'{"f": "see \[1\]"}', {"f": "see [1]"}, id="markdown"),
        pytest.param(True, r'{"f": "1 & 2 \\ 3 \end"}', {"f": r"1 & 2 \\ 3 \end"}, id="matrix"),
        pytest.param(True, r'{"f": "\\alpha \\\\ \gamma"}', {"f": r"\alpha \\ \gamma"}, id="half-escaped"),
        pytest.param(True, r'{"p": "\\server\share\file"}', {"p": r"\\server\share\file"}, id="share"),
        pytest.param(True, r'{"p": "C:\temp\", "n": 1}', {"p": "C:\\temp\\", "n": 1}, id="drive-end"),
        pytest.param(True, r'{"p": "C:\temp\new", "n": 1,}', {"p": r"C:\temp\new", "n": 1}, id="drive"),
    ],
)
def test_backslashes_that_are_text_are_kept(schema: Any, reply: str, expected: Any) -> None:
    check(schema, reply, expected)


@pytest.mark.parametrize(
    ("schema", "reply", "expected"),
    [
        pytest.param(
            CODE,
            '{"code": "x = {"name": "Ada", "age": 3}", "lang": "python"}',
            {"code": 'x = {"name": "Ada", "age": 3}', "lang": "python"},
            id="dict-literal",
        ),
        pytest.param(
            True,
            '{"code": "x = {"name": "Ada", "age": 3}", "lang": "python"}',
            {"code": 'x = {"name": "Ada", "age": 3}', "lang": "python"},
            id="dict-literal-without-schema",
        ),
        pytest.param(True, '{"msg": "use "{" here", "n": 1}', {"msg": 'use "{" here', "n": 1}, id="lone-brace"),
        pytest.param(PERSON, '{"name": "Ad{"name": "Ada", "age": 36}', None, id="begun-twice"),
        pytest.param(PERSON, '```json\n{"name": "Ada", "a\n```json\n{"name": "Ada", "age": 36}\n```', ADA, id="key"),
        pytest.param(True, '{"q": "What?"{"a": 1}, "b": 2}', None, id="swallowed-sibling"),
        pytest.param(SPOKEN, '{"msg": "x". "ok": true}', {"msg": "x", "ok": True}, id="full-stop"),
        pytest.param(SPOKEN, '{"msg": "x" | "ok": true}', {"msg": "x", "ok": True}, id="pipe"),
        pytest.param(
            SPOKEN, '{"msg": "He said "x". Then", "ok": true}', {"msg": 'He said "x". Then', "ok": True}, id="speech"
        ),
    ],
)
def test_strings_end_where_a_person_reads_it(schema: Any, reply: str, expected: Any) -> None:
    check(schema, reply, expected)


@pytest.mark.parametrize(
    ("schema", "reply", "expected"),
    [
        pytest.param(PLAIN, "- [ ] a\n- [x] b", ["[ ] a", "[x] b"], id="boxes-to-tick"),
        pytest.param(NUMBERS, "[1, 2, 3]\n\nThe sum is 6 [1].", [1, 2, 3], id="citation"),
        pytest.param(NUMBERS, "See [2]. Result: [4]", [4], id="no-citation"),
        pytest.param(PERSON, 'Here\'s "Ada":\n{"name": "Ada", "age": 36}', ADA, id="quoted-word"),
        pytest.param(PERSON, '"x": {"name": "Ada", "age": 36}', None, id="member"),
        pytest.param(PERSON, "name='Ada' age=36", ADA, id="printed-model"),
        pytest.param(PERSON, "array('name' => 'Ada', 'age' => 36)", ADA, id="php-array"),
        pytest.param(PERSON, '{\\n  "name": "Ada",\\n  "age": 36\\n}', ADA, id="escaped-breaks"),
        pytest.param(object_schema(x=PLAIN), "{\"x\": \"['a', 'b']\"}", {"x": ["a", "b"]}, id="python-in-string"),
        pytest.param(object_schema(x=PLAIN), "{\"x\": \"['a', 'b'\"}", None, id="broken-python-in-string"),
        pytest.param(True, "{😀: 1, 🎉: 'x'}", {"😀": 1, "🎉": "x"}, id="emoji-keys"),
        pytest.param(True, '{1.5: "a", -2: "b"}', {"1.5": "a", "-2": "b"}, id="number-keys"),
        pytest.param(True, '{"c": {1, 2}}', {"c": [1, 2]}, id="set"),
        pytest.param(True, "{'d': datetime.date(2024, 1, 5)}", {"d": "2024-01-05"}, id="date"),
        pytest.param(
            True, "{'d': datetime.datetime(2024, 1, 5, 9, 30)}", {"d": "2024-01-05T09:30:00"}, id="date-and-time"
        ),
    ],
)
def test_values_in_other_forms_are_read_correctly_or_refused(schema: Any, reply: str, expected: Any) -> None:
    check(schema, reply, expected)


@pytest.mark.spec("B4")
@pytest.mark.parametrize(
    "reply",
    [
        '[{"s": 1.50}]',
        '{"S": 1.50}',
        '{"data": {"s": 1.50}}',
        '{"content": "{\\"s\\": 1.50}"}',
        '"{\\"s\\": 1.50}"',
        '{\\"s\\": 1.50}',
        "f(s=1.50)",
        "{&quot;s&quot;: 1.50}",
        "s: 1.50",
        "{'s': 1.50}",
    ],
)
def test_a_number_that_becomes_text_keeps_its_spelling(reply: str) -> None:
    check(AMOUNT, reply, {"s": "1.50"})


@pytest.mark.spec("B4")
def test_numbers_in_lists_that_become_text_keep_their_spelling() -> None:
    check({"type": "array", "items": AMOUNT}, '{"s": 1.50}\n{"s": 2.50}', [{"s": "1.50"}, {"s": "2.50"}])
    check(object_schema(x=AMOUNT), '{"x": [{"s": 1.50}]}', {"x": {"s": "1.50"}})
    check(object_schema(x=AMOUNT), '{"x": "{\\"s\\": 1.50}"}', {"x": {"s": "1.50"}})
    check(object_schema(x=PLAIN), '{"x": 1.50}', {"x": ["1.50"]})


@pytest.mark.parametrize("said", ["below high", "almost high", "not high", "nearly high"])
def test_a_word_may_retract_an_enum_value(said: str) -> None:
    contract = Contract(object_schema(level={"enum": ["low", "high"]}), coerce="eager")
    assert not contract.check(f'{{"level": "{said}"}}').ok
    assert contract.check('{"level": "high priority"}').data == {"level": "high"}
