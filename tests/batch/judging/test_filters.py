"""One phase as a filter, line by line: units that pass unchanged, units that are refused, and log lines."""

import json
from typing import Any

import pytest

from tests.batch.sifting import SCHEMA, unit
from trueup import Contract
from trueup.batch.input.ranges import LongLine
from trueup.batch.judging.filters import Filter, FilteredLine, RulesFilter, stream_lines
from trueup.batch.judging.trace import TRACE

RULES = [
    {"name": "low", "expr": "age > 5", "level": "warning", "error": "{age} is low"},
    {"name": "odd", "expr": "True", "when": "nothing > 1"},
]


def sort(line: str | bytes, made: Filter | None = None) -> FilteredLine:
    made = made or Filter(Contract(SCHEMA), 1 << 20)
    return made.sort(line.encode() if isinstance(line, str) else line, 7)


def failure(line: str | bytes, made: Filter | None = None) -> dict[str, Any]:
    found = sort(line, made)
    assert found.valid == b""
    row: dict[str, Any] = json.loads(found.failed)
    return row


@pytest.mark.spec("B3", "B6", "B10")
def test_a_unit_refused_in_the_first_phase_stays_refused_in_the_second() -> None:
    rules = RulesFilter(Contract(schema=True, rules=["age > 5"]), 1 << 20)
    refused = sort(unit("a", '{"name": "Ada", "age": "many"}')).failed
    assert json.loads(refused)["failure_stage"] == "schema_validation"
    assert sort(refused, rules) == FilteredLine(b"", refused)
    broken = sort(unit("b", '{"name": "Ada", "age": 3}'), rules).failed
    assert json.loads(broken)["failure_stage"] == "validation"
    loose = RulesFilter(Contract(schema=True, rules=["age > 2"]), 1 << 20)
    assert json.loads(sort(broken, loose).valid)["data"] == {"name": "Ada", "age": 3}


@pytest.mark.spec("B3", "B6")
def test_an_unchanged_flat_unit_is_passed_through_as_it_is() -> None:
    line = '{"age": 1e1, "_m": {"k": 1}, "unit_id": "a", "name": "Ada", "max": 3}'
    for made in (
        Filter(Contract({"type": "object"}), 1 << 20),
        RulesFilter(Contract(schema=True, rules=RULES), 1 << 20),
    ):
        assert sort(line, made).valid.decode() == line + "\n"


@pytest.mark.spec("B3", "B4")
def test_coerced_fields_keep_their_position() -> None:
    found = sort('{"age": "7", "_m": 1, "unit_id": "a", "name": "Bo", "retry_count": 2}')
    assert found.valid.startswith(b'{"age":7,"_m":1,"unit_id":"a","name":"Bo","retry_count":2,"_trueup":')
    assert found.notes == ('[COERCE] age: "7" \u2192 7 (string \u2192 int)',)


@pytest.mark.spec("B1", "B10")
def test_the_text_of_a_failed_flat_unit_is_kept_unchanged() -> None:
    line = '{"unit_id": "a",  "name": "Bo", "age": 1e400}'
    assert failure(line)["raw_response"] == line
    line = '{"unit_id": "a",  "name": "Bo", "age": "x"}\r\n'
    assert failure(line)["raw_response"] == line.strip()


@pytest.mark.spec("X4")
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"unit_id": "a", "name": "Ada", "age": 1, "age": 2}', "The line has the key 'age' twice"),
        ('{"unit_id": "a", "unit_id": "b", "name": "Ada", "age": 1}', "The line has the key 'unit_id' twice"),
        ('{"unit_id": "a", "name": {"x": 1, "x": 2}, "age": 1}', "An object in the line has a key twice"),
    ],
)
def test_a_repeated_key_of_a_flat_unit_is_reported(line: str, says: str) -> None:
    row = failure(line)
    assert [(error["code"], error["message"]) for error in row["errors"]] == [("U002", says)]
    assert row["raw_response"] == line


def test_quotes_in_a_value_are_not_a_repeated_key() -> None:
    line = r'{"unit_id": "a", "name": "\u0022A\"", "age": 1}'
    assert sort(line).valid.decode() == line + "\n"


@pytest.mark.spec("X5")
def test_half_a_surrogate_pair_is_kept_next_to_a_value_and_refused_inside_one() -> None:
    beside = '{"unit_id": "a", "_note": "\\ud800\\u0000", "name": "Ada", "age": 1}'
    assert sort(beside).valid.decode() == beside + "\n"
    coerced = json.loads(sort(beside.replace("1}", '"1"}')).valid)
    assert (coerced["_note"], coerced["age"]) == ("\ud800\x00", 1)
    row = failure('{"unit_id": "a", "name": "\\ud800", "age": 1}')
    assert (row["failure_stage"], [(e["code"], e["path"]) for e in row["errors"]]) == ("parse", [("P006", "$.name")])


@pytest.mark.spec("B6", "B7")
def test_warnings_about_valid_units_are_in_the_log() -> None:
    made = RulesFilter(Contract(schema=True, rules=RULES), 1 << 20)
    skipped = "B007 $ odd was skipped: its condition cannot be evaluated: there is no field 'nothing' (column 1)"
    expected = ("[WARN] a: B005 $.age 3 is low", f"[WARN] a: {skipped}")
    assert sort('{"unit_id": "a", "age": 3}', made).notes == expected
    assert sort(unit("a", '{"age": 3}'), made).notes == expected
    stored = json.dumps({"unit_id": "a", "raw_response": '{"age": 3}', "data": {"age": 3}, "fixes": []})
    found = sort(stored, made)
    assert found.notes == expected
    assert [warned["code"] for warned in json.loads(found.valid)["warnings"]] == ["B005", "B007"]


@pytest.mark.spec("B3")
def test_a_unit_that_looks_like_a_provider_s_reply_keeps_its_other_fields() -> None:
    line = '{"unit_id": "a", "city": "Oslo", "role": "assistant", "content": "{\\"name\\": \\"Ada\\", \\"age\\": 1}"}'
    row = json.loads(sort(line).valid)
    assert row["data"] == {"name": "Ada", "age": 1}
    assert row["response"] == json.loads(line)


def test_a_value_that_is_not_an_object_is_put_next_to_the_fields_of_its_unit() -> None:
    made = Filter(Contract({"type": "array", "items": {"type": "integer"}}), 1 << 20)
    row = json.loads(sort('{"unit_id": "a", "city": "Oslo", "response": "[1, 2]"}', made).valid)
    assert [fix["code"] for fix in row.pop(TRACE)["fixes"]] == ["W007", "C005"]
    assert row == {"unit_id": "a", "city": "Oslo", "response": "[1, 2]", "value": [1, 2]}


@pytest.mark.spec("B3", "B10")
def test_a_changed_flat_unit_includes_its_text_and_fixes() -> None:
    line = '{"unit_id": "a", "name": "Bo", "age": "7",}'
    row = json.loads(sort(line).valid)
    assert row[TRACE]["raw_response"] == line
    assert [(fix["code"], fix["path"]) for fix in row[TRACE]["fixes"]] == [("S001", "$"), ("C001", "$.age")]
    again = sort(
        json.dumps(row), RulesFilter(Contract(schema=True, rules=["age > 1", "'_trueup' not in dir()"]), 1 << 20)
    )
    assert json.loads(again.valid) == row
    refused = failure(json.dumps(row), RulesFilter(Contract(schema=True, rules=["age > 9"]), 1 << 20))
    assert (refused["raw_response"], refused["fixes"]) == (line, row[TRACE]["fixes"])
    assert TRACE not in refused


@pytest.mark.spec("B3", "B10")
def test_a_record_of_the_first_phase_keeps_its_fixes_if_the_second_refuses_it() -> None:
    first = json.loads(sort(unit("a", '```json\n{"name": "Bo", "age": "7"}\n```')).valid)
    refused = failure(json.dumps(first), RulesFilter(Contract(schema=True, rules=["age > 9"]), 1 << 20))
    assert refused["fixes"] == first["fixes"] != []
    assert refused["raw_response"] == first["raw_response"]


@pytest.mark.spec("B3", "B10")
def test_a_record_of_the_first_phase_keeps_its_warnings_if_the_second_refuses_it() -> None:
    first = sort(json.dumps({"unit_id": "a", "input": {}, "raw_response": '{"name": "Bo", "age": 3}', "errors": 1}))
    warned = json.loads(sort(first.valid, RulesFilter(Contract(schema=True, rules=RULES), 1 << 20)).valid)["warnings"]
    assert [found["code"] for found in warned] == ["U010", "B005", "B007"]
    record = {**json.loads(first.valid), "warnings": warned}
    strict = RulesFilter(Contract(schema=True, rules=["age > 9", *RULES[1:]]), 1 << 20)
    assert [found["code"] for found in failure(json.dumps(record), strict)["warnings"]] == [
        "U010",
        "B005",
        "B007",
        "B007",
    ]


@pytest.mark.parametrize("held", [1, None, {}, {"raw_response": 1, "fixes": []}, {"raw_response": "", "fixes": [1]}])
def test_a_field_with_the_name_of_the_trace_is_refused_unless_it_is_one(held: Any) -> None:
    line = json.dumps({"unit_id": "a", "name": "Bo", "age": 7, TRACE: held})
    row = failure(line)
    assert [(error["code"], error["path"]) for error in row["errors"]] == [("U002", f"$.{TRACE}")]
    assert row["raw_response"] == line


@pytest.mark.spec("B3")
def test_numbers_keep_their_digits_if_another_field_is_coerced() -> None:
    digits = "0.1000000000000000055511151231257827021181583404541015625"
    line = f'{{"unit_id": "a", "name": "Bo", "age": "7", "x": {digits}, "in": [{{"y": {digits}, "big": {2**70}}}]}}'
    found = sort(line, Filter(Contract({"properties": {"age": {"type": "integer"}}}), 1 << 20)).valid.decode()
    assert found.count(digits) == line.count(digits) + 2, "as they were, and once more in the text of the line"
    assert found.startswith(f'{{"unit_id":"a","name":"Bo","age":7,"x":{digits},"in":[{{"y":{digits},"big":{2**70}}}],')


@pytest.mark.spec("B3")
@pytest.mark.parametrize("reply", ["{}", '```json\n{"name": "Bo", "age": "7"}\n```'])
def test_a_repeated_key_of_any_line_is_reported(reply: str) -> None:
    line = f'{{"unit_id": "a", "raw_response": {json.dumps(reply)}, "city": "Oslo", "city": "Rome"}}'
    row = failure(line)
    assert [error["message"] for error in row["errors"]] == ["The line has the key 'city' twice"]
    assert row["raw_response"] == line


@pytest.mark.spec("B3")
def test_a_providers_line_keeps_the_fields_that_a_sift_leaves_out() -> None:
    line = '{"custom_id": "a", "city": "Oslo", "role": "assistant", "content": "{\\"name\\": \\"Ada\\", \\"age\\": 1}"}'
    assert json.loads(sort(line).valid)["response"]["city"] == "Oslo"


@pytest.mark.spec("B11")
@pytest.mark.parametrize("end", [b"\n", b""])
@pytest.mark.parametrize("chunk", [1, 7, 19, 1000])
def test_a_line_is_complete_or_too_long_wherever_the_stream_is_split(chunk: int, end: bytes) -> None:
    for size, whole in ((20, True), (21, False)):
        text = b"x" * size + end
        pieces = iter([*(text[at : at + chunk] for at in range(0, len(text), chunk)), b""])
        ((_, line),) = [found for found in stream_lines(lambda _, pieces=pieces: next(pieces), 20) if found]  # type: ignore[misc]
        if whole:
            assert line == text
        else:
            assert isinstance(line, LongLine)
            assert line.size == len(text)
