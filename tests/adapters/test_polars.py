"""The namespace `trueup` on polars Series and expressions."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from trueup import Contract
from trueup.adapters.polars import SCHEMA
from trueup.contract.plugins import check

AGES = Contract({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]})
REPLIES = ['{"age": 36}', '```json\n{"age": "7",}\n```', "no", "", None, '{"age": 123456789012345678901234567890}']


def test_each_row_gets_the_verdict_that_check_gives() -> None:
    checked = pl.Series("reply", REPLIES).trueup.check(AGES)
    assert dict(checked.schema) == SCHEMA
    for row, reply in zip(checked.rows(named=True), REPLIES, strict=True):
        if reply is None:
            assert row == {**row, "ok": False, "data": None, "codes": ["R004"], "grade": "none"}
            continue
        verdict = AGES.check(reply)
        assert (row["ok"], row["reason"]) == (verdict.ok, verdict.reason)
        assert row["codes"] == list(dict.fromkeys(found.code for found in verdict.findings))
        assert row["fixes"] == list(dict.fromkeys(fix.code for fix in verdict.fixes))
    assert checked["data"].to_list()[:3] == ['{"age":36}', '{"age":7}', None]
    assert checked["data"][5] == '{"age":123456789012345678901234567890}'


def test_the_data_of_a_column_can_be_decoded_to_columns() -> None:
    checked = pl.Series(REPLIES[:2]).trueup.check(AGES)
    decoded = checked["data"].str.json_decode(pl.Struct({"age": pl.Int64}))
    assert decoded.struct.field("age").to_list() == [36, 7]


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_an_expression_gives_the_same_as_a_struct(engine: Any) -> None:
    frame = pl.DataFrame({"n": range(len(REPLIES)), "reply": REPLIES})
    lazy = frame.lazy().select(pl.col("reply").trueup.check(AGES).alias("checked")).unnest("checked")
    assert dict(lazy.collect_schema()) == SCHEMA
    assert lazy.collect(engine=engine).equals(frame["reply"].trueup.check(AGES))
    kept = frame.lazy().filter(pl.col("reply").trueup.check(AGES).struct.field("ok")).collect(engine=engine)
    assert kept["n"].to_list() == [0, 1, 5]


def test_no_rows_give_the_same_columns() -> None:
    empty = pl.Series("reply", [], dtype=pl.String)
    assert dict(empty.trueup.check(AGES).schema) == SCHEMA
    assert dict(empty.to_frame().select(pl.col("reply").trueup.check(AGES)).unnest("reply").schema) == SCHEMA


def test_the_context_of_a_row_comes_from_other_columns() -> None:
    contract = Contract(schema={"type": "object"}, rules=["n <= most"], input=["most"])
    frame = pl.DataFrame({"reply": ['{"n": 3}'] * 3, "most": [5, 2, 3]})
    for given in (frame.select("most"), frame.select(pl.struct("most")).to_series()):
        assert frame["reply"].trueup.check(contract, {"input": given})["ok"].to_list() == [True, False, True]
    lazy = frame.lazy().select(pl.col("reply").trueup.check(contract, {"input": pl.struct("most")}))
    assert lazy.collect()["reply"].struct.field("ok").to_list() == [True, False, True]


def test_values_that_are_no_column_are_the_same_for_every_row_and_nulls_are_left_out() -> None:
    seen = []

    def note(verdict: Any, context: dict[str, Any]) -> Any:
        seen.append({name: context[name] for name in ("state", "tags") if name in context})
        return ()

    contract = Contract(checks=[note])
    frame = pl.DataFrame({"reply": ["a", "b"], "state": ["IDLE", None]})
    frame["reply"].trueup.check(contract, {"state": frame["state"], "tags": ["x", "y"]})
    frame["reply"].trueup.check(contract, frame.select("state"))
    frame.select(pl.col("reply").trueup.check(contract, {"state": pl.col("state"), "tags": 1}))
    assert seen == [
        {"state": "IDLE", "tags": ["x", "y"]}, {"tags": ["x", "y"]}, {"state": "IDLE"}, {},
        {"state": "IDLE", "tags": 1}, {"tags": 1},
    ]  # fmt: skip


def test_structs_and_lists_are_data_that_is_parsed_already() -> None:
    assert pl.Series([{"age": 3}, {"age": None}]).trueup.check(AGES)["ok"].to_list() == [True, False]
    assert pl.Series([[1], [2]]).trueup.check(Contract(list[int]))["data"].to_list() == ["[1]", "[2]"]


def test_a_contract_may_be_the_path_of_a_file(root: Path) -> None:
    replies = pl.Series(['{"name": "Ada", "age": 36, "mood": "happy"}'])
    path = root / "examples" / "contracts" / "people.yaml"
    assert replies.trueup.check(path).equals(replies.trueup.check(Contract.load(path)))


def test_what_cannot_be_used_is_refused_with_a_reason() -> None:
    replies = pl.Series(["a"]).trueup
    with pytest.raises(TypeError, match="a Contract or the path of a contract file, got dict"):
        replies.check({"type": "object"})
    with pytest.raises(TypeError, match=r"context must be a dict such as .* or a frame; got str"):
        replies.check(Contract(), "IDLE")
    with pytest.raises(ValueError, match=r"context\['state'\] has 2 rows, and the column of replies has 1"):
        replies.check(Contract(), {"state": pl.Series(["X", "Y"])})


def test_a_bug_in_a_check_names_the_row() -> None:
    @check("PLX001", "boom", "It breaks.")
    def boom(verdict: Any, context: dict[str, Any]) -> Any:
        yield from () if verdict.reply.text == "a" else {}["nothing"]

    with pytest.raises(KeyError) as caught:
        pl.Series(["a", "b"]).trueup.check(Contract(checks=[boom]))
    assert any("in row 1 " in note for note in caught.value.__notes__)


def test_a_context_without_columns_is_the_same_for_every_row() -> None:
    contract = Contract(states={"IDLE": {"forbid": [{"terms": ["confirmed"]}]}, "DONE": {}})
    frame = pl.LazyFrame({"reply": ["It is confirmed.", "Please wait a moment."] * 2, "group": [1, 1, 2, 2]})
    ok = pl.col("reply").trueup.check(contract, {"state": pl.lit("IDLE")}).struct.field("ok")
    for engine in ("in-memory", "streaming"):
        assert frame.select(ok).collect(engine=engine)["ok"].to_list() == [False, True] * 2
    assert frame.group_by("group").agg(ok).collect()["ok"].to_list() == [[False, True]] * 2
    assert frame.filter(pl.col("group") > 2).select(ok).collect().height == 0


def test_a_series_in_the_context_of_an_expression_follows_its_rows() -> None:
    contract = Contract({"type": "object"}, rules=["age <= most"], input=["most"])
    most = pl.Series([{"most": 40}] * 3 + [{"most": 1}])
    frame = pl.LazyFrame({"reply": ['{"age": 36}'] * 4, "row": range(4)})
    ok = pl.col("reply").trueup.check(contract, {"input": most}).struct.field("ok")
    assert frame.with_columns(ok).filter(pl.col("row") > 1).collect()["ok"].to_list() == [True, False]


def test_the_context_of_an_expression_is_a_dict() -> None:
    with pytest.raises(TypeError, match=r"context of an expression must be a dict such as .*; got Expr"):
        pl.col("reply").trueup.check(Contract(True), pl.struct("most"))


def test_verdicts_gives_everything() -> None:
    good, null = pl.Series(["[1,]", None]).trueup.verdicts(Contract(list[int]))
    assert (good.value, [fix.code for fix in good.fixes], null.ok) == ([1], ["S001"], False)


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_an_array_in_the_context_gives_each_row_its_own_value(engine: Any) -> None:
    contract = Contract(states={"IDLE": {"forbid": [{"terms": ["confirmed"]}]}, "DONE": {}})
    frame = pl.DataFrame({"reply": ["It is confirmed."] * 2})
    context = {"state": np.array(["IDLE", "DONE"])}
    assert frame["reply"].trueup.check(contract, context)["ok"].to_list() == [False, True]
    checked = frame.lazy().select(pl.col("reply").trueup.check(contract, context).struct.field("ok"))
    assert checked.collect(engine=engine)["ok"].to_list() == [False, True]


def test_an_expression_in_the_context_of_a_series_is_refused() -> None:
    with pytest.raises(TypeError, match="an expression in the context needs an expression of replies"):
        pl.Series(["a"]).trueup.check(Contract(), {"state": pl.col("state")})
