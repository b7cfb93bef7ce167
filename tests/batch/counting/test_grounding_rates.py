"""Rates of grounding: each value counts once, by field and by model, on any engine; and where a unit has its source."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.batch.sifting import Ran, bytes_of, run
from trueup.batch.compare import compare
from trueup.batch.counting import grounding_rates
from trueup.batch.counting.tally import UnitTally
from trueup.cli.display.comparison import markdown
from trueup.cli.display.sift import account
from trueup.contract.contract import Contract

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "total": {"type": "number"},
        "paid": {"type": "boolean"},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "number"}}}},
    },
}
GRADES = ["exact", "normalized", "fuzzy", "computed", "none", "not checkable"]


def contract(**grounded: Any) -> Any:
    return Contract(SCHEMA, grounded=grounded or True)


def unit(
    uid: str, data: Any, source: Any = "Ada Byron pays 1,178.00 EUR: a vice at 64.50, a saw at 20.", **more: Any
) -> str:
    given = {} if source is None else {"source": source}
    return json.dumps({"unit_id": uid, "input": given, "raw_response": json.dumps(data), **more})


def mixed() -> list[str]:
    right = {"name": "Ada Byron", "total": 1178, "paid": True, "lines": [{"price": 64.5}, {"price": 20}]}
    return [
        unit("right", right, model="small"),
        unit("wrong", {**right, "total": 1187}, model="small"),
        unit("both", {"name": "ADA BYRON", "lines": [{"price": 64.5}, {"price": 63.5}]}, model="big"),
        unit("none", {"name": "Ada"}, "Ada"),
    ]


def test_each_value_counts_once_by_field_and_by_model(tmp_path: Path) -> None:
    ran = run(tmp_path, mixed(), contract())
    found = ran.summary["grounded"]
    fields = {path: {kind: n for kind, n in row.items() if kind != "rate"} for path, row in found["fields"].items()}
    assert fields == {
        "$.total": {"values": 2, "normalized": 1, "none": 1},
        "$.lines[].price": {"values": 6, "exact": 2, "normalized": 3, "none": 1},
        "$.name": {"values": 4, "exact": 3, "normalized": 1},
        "$.paid": {"values": 2, "not_checkable": 2},
    }
    assert (found["values"], found["rate"]) == (14, round(10 / 12, 4))
    assert found["fields"]["$.paid"]["rate"] is None
    assert {model: row["values"] for model, row in found["models"].items()} == {"": 1, "big": 3, "small": 10}
    assert found["models"]["small"]["fields"]["$.total"]["rate"] == 0.5
    assert sum(row["values"] for row in found["models"].values()) == found["values"]


def test_the_terminal_shows_rates_in_eighty_columns_and_only_if_grounded(tmp_path: Path) -> None:
    told = account(run(tmp_path, mixed(), contract()).summary, tmp_path)
    assert "14 values: 83.3 % grounded" in told
    assert "$.total 50.0 % 1 normalized, 1 no evidence" in " ".join(told.split())
    assert max(map(len, told.splitlines()[:-1])) <= 80
    plain = run(tmp_path, mixed(), Contract(SCHEMA), out="plain")
    assert "grounded" not in plain.summary
    assert "rounded" not in account(plain.summary, tmp_path)
    assert not any("evidence" in row for row in (*plain.valid, *plain.failed))


def test_values_from_the_prompt_and_from_other_records_have_separate_rates(tmp_path: Path) -> None:
    table = "| name | age |\n|---|---|\n| Ana Ruiz | 41 |\n| Luis Vega | 36 |\n"
    swapped = [{"name": "Ana Ruiz", "age": 36}, {"name": "Luis Vega", "age": 41}]
    talk = [
        {"role": "system", "content": "Extract the person. Example: Grace Hopper, 85"},
        {"role": "user", "content": "Ada Byron is 36."},
        {"role": "assistant", "content": json.dumps([{"name": "Grace Hopper", "age": 36}])},
    ]
    lines = [unit("swapped", swapped, table), json.dumps({"unit_id": "copied", "messages": talk})]
    ran = run(tmp_path, lines, Contract({"type": "array"}, grounded=True))
    fields = ran.summary["grounded"]["fields"]
    assert fields["$[].age"] == {"values": 3, "rate": 0.3333, "exact": 1, "other_record": 2}
    assert fields["$[].name"] == {"values": 3, "rate": 0.6667, "exact": 2, "only_in_prompt": 1}


def test_the_claims_of_a_text_share_one_row(tmp_path: Path) -> None:
    line = json.dumps(
        {
            "unit_id": "t",
            "input": {"source": "It makes 4,500 pumps."},
            "raw_response": "It makes 4,500 pumps, or 5,400.",
        }
    )
    ran = run(tmp_path, [line], Contract(grounded=True))
    assert ran.summary["grounded"]["fields"] == {"text": {"values": 2, "rate": 0.5, "normalized": 1, "none": 1}}
    assert [one["value"] for one in ran.failed[0]["evidence"].values()] == ["4,500", "5,400"]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_rates_do_not_depend_on_the_number_of_workers(tmp_path: Path, workers: int) -> None:
    lines = [line.replace('"unit_id": "', f'"unit_id": "{at}-') for at in range(40) for line in mixed()]
    whole = run(tmp_path, lines, contract())
    parted = run(tmp_path, lines, contract(), out="parted", workers=workers, range_size=2_000)
    one, other = bytes_of(whole.out), bytes_of(parted.out)
    assert one["validated.jsonl"] == other["validated.jsonl"]
    assert whole.summary["grounded"] == parted.summary["grounded"]


def test_merged_and_refused_lines_are_removed_from_the_rates(tmp_path: Path) -> None:
    lines = [unit("a", {"total": 1187}), unit("a", {"total": 1178}), unit("b", {"total": 20})]
    chosen = run(tmp_path, lines, contract(), out="merged", merge="valid").summary["grounded"]
    assert chosen["fields"] == {"$.total": {"values": 2, "rate": 1.0, "exact": 1, "normalized": 1}}
    refused = run(tmp_path, lines, contract(), out="refused", merge="fail")
    again = UnitTally()
    for row in (*refused.valid, *refused.failed):
        again.note_record(row)
    assert refused.summary["grounded"] == grounding_rates.account(again.grounds)


Values = st.lists(
    st.tuples(st.sampled_from(["$.a", "$.b[3].c", "$"]), st.sampled_from(GRADES), st.sampled_from(["", "m", "n"]))
)


@given(st.lists(Values, max_size=6), st.randoms())
def test_tables_can_be_added_in_any_order_and_subtracted_again(parts: list[Any], dice: random.Random) -> None:
    whole: grounding_rates.Table = {}
    tables: list[grounding_rates.Table] = []
    for part in parts:
        table: grounding_rates.Table = {}
        for path, grade, model in part:
            for each in (whole, table):
                grounding_rates.note(each, model, [(path, grade)], [])
        tables.append(table)
    dice.shuffle(tables)
    added: grounding_rates.Table = {}
    for table in tables:
        grounding_rates.add(added, table)
    assert grounding_rates.account(added) == grounding_rates.account(whole)
    for table in tables:
        grounding_rates.take(added, table)
    assert added == {}


def test_the_number_of_rows_is_limited() -> None:
    table: grounding_rates.Table = {}
    for at in range(3_000):
        grounding_rates.note(table, f"model {at}", [(f"$.key_{at}", "exact")], [])
        grounding_rates.note(table, "", [(f"$.key_{at}", "exact")], [])
    found = grounding_rates.account(table)
    assert found["values"] == 6_000
    assert len(found["models"]) <= 101
    assert max(len(row["fields"]) for row in found["models"].values()) <= 1_001


# -- where the source is --------------------------------------------------------------------------


def codes(ran: Ran) -> dict[str, list[str]]:
    return {row["unit_id"]: [error["message"] for error in row["errors"]] for row in ran.failed}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"source": 5}, "the field 'source' of the unit is a number"),
        ({"source": True}, "the field 'source' of the unit is a boolean"),
        ({"source": None, "note": "Ada"}, "the field 'source' of the unit is null"),
        ({"source": "  "}, "the field 'source' of the unit is empty"),
        ({"source": {}}, "the field 'source' of the unit is empty"),
        ({"source": []}, "the field 'source' of the unit is empty"),
        ({}, "the unit has no field that could be one"),
    ],
)
def test_an_invalid_source_fails_only_its_unit(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    bad = json.dumps({"unit_id": "bad", "input": given, "raw_response": '{"name": "Ada"}'})
    ran = run(tmp_path, [bad, unit("good", {"name": "Ada"}, "Ada")], contract())
    assert codes(ran) == {"bad": [f"The contract is grounded, but {said}"]}
    assert ran.failed[0]["failure_stage"] == "pipeline_internal"  # no other reply helps
    assert [row["unit_id"] for row in ran.valid] == ["good"]


def test_a_named_field_is_the_only_source(tmp_path: Path) -> None:
    lines = [
        json.dumps({"unit_id": "named", "input": {"mail": "Ada", "note": "Luis"}, "raw_response": '{"name": "Ada"}'}),
        json.dumps({"unit_id": "other", "input": {"mail": "Ada", "note": "Luis"}, "raw_response": '{"name": "Luis"}'}),
        json.dumps({"unit_id": "lacking", "input": {"note": "Ada"}, "raw_response": '{"name": "Ada"}'}),
        json.dumps({"unit_id": "flat", "mail": {"one": "Ada", "two": "Bo"}, "raw_response": '{"name": "Bo"}'}),
    ]
    ran = run(tmp_path, lines, contract(source="mail"))
    assert [row["unit_id"] for row in ran.valid] == ["named", "flat"]
    assert ran.valid[1]["evidence"]["$.name"]["places"][0]["document"] == "two"
    assert codes(ran)["lacking"] == ["The contract is grounded, but the unit has no field 'mail'"]
    assert "not in the source" in codes(ran)["other"][0]


def test_the_other_fields_of_a_conversation_are_not_a_source(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "Ada asks."}, {"role": "assistant", "content": '{"name": "Ada"}'}]
    lines = [
        json.dumps({"unit_id": "talk", "topic": "orders", "expected": "Bo", "messages": talk}),
        json.dumps(
            {"unit_id": "wrong", "expected": "Bo", "messages": [talk[0], {**talk[1], "content": '{"name": "Bo"}'}]}
        ),
        json.dumps(
            {"unit_id": "own", "source": "Bo asks.", "messages": [talk[0], {**talk[1], "content": '{"name": "Bo"}'}]}
        ),
    ]
    ran = run(tmp_path, lines, contract())
    assert [row["unit_id"] for row in ran.valid] == ["talk", "own"]


def test_a_field_with_that_name_on_the_line_is_replaced_with_a_remark(tmp_path: Path) -> None:
    lines = [unit("own", {"name": "Ada"}, "Ada", evidence="photo.jpg"), unit("plain", {"name": "Ada"}, "Ada")]
    ran = run(tmp_path, lines, contract())
    assert [warning["code"] for warning in ran.valid[0]["warnings"]] == ["U010"]
    assert "warnings" not in ran.valid[1]
    plain = run(tmp_path, lines, Contract(SCHEMA), out="plain")
    assert plain.valid[0]["evidence"] == "photo.jpg"


def test_a_record_sifted_again_has_the_evidence_of_its_last_verdict(tmp_path: Path) -> None:
    first = run(tmp_path, mixed(), contract())
    rows = [json.dumps(row) for row in (*first.valid, *first.failed)]
    again = run(tmp_path, rows, contract(), out="again")
    assert again.summary["grounded"] == first.summary["grounded"]
    plain = run(tmp_path, rows, Contract(SCHEMA), out="plain")
    assert not any("evidence" in row for row in plain.valid)


def test_a_reply_that_names_its_model_is_counted_under_it(tmp_path: Path) -> None:
    answer = {
        "id": "c", "object": "chat.completion", "model": "gpt-x",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": '{"name": "Ada"}'}}],
    }  # fmt: skip
    line = json.dumps({"unit_id": "a", "input": {"source": "Ada"}, "raw_response": answer})
    ran = run(tmp_path, [line], contract())
    assert list(ran.summary["grounded"]["models"]) == ["gpt-x"]
    assert ran.valid[0]["model"] == "gpt-x"


def test_two_sifts_are_compared_by_their_rates(tmp_path: Path) -> None:
    left = run(tmp_path, mixed(), contract(), out="a")
    right = run(tmp_path, mixed()[:1], contract(), out="b")
    found = compare(left.out, right.out)
    rows = {row["key"]: row for row in found.grounded}
    assert rows["$.total"] == {"key": "$.total", "values": {"a": 2, "b": 1}, "rate": {"a": 0.5, "b": 1.0}}
    assert "| `$.total` | 50.0 % of 2 | 100.0 % of 1 | +50.0 |" in markdown(found.to_dict())
    plain = run(tmp_path, mixed(), Contract(SCHEMA), out="plain")
    assert "grounded" not in compare(plain.out, plain.out).to_dict()


def test_the_record_contains_the_arguments_of_calls(tmp_path: Path) -> None:
    tool = {"name": "book", "parameters": {"type": "object", "properties": {"guest": {"type": "string"}}}}
    calls = Contract(tools=[tool], grounded={"calls": True})
    call = {
        "role": "assistant",
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "book", "arguments": '{"guest": "Ada"}'}}],
    }
    line = json.dumps({"unit_id": "a", "input": {"source": "Ada comes."}, "raw_response": [call]})
    ran = run(tmp_path, [line], calls)
    (row,) = (*ran.valid, *ran.failed)
    assert row["evidence"]["$.calls[0].args.guest"]["value"] == "Ada"
