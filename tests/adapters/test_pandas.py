"""The accessor `trueup` on a pandas Series."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import trueup.adapters.pandas  # noqa: F401 - registers the accessor
from trueup import Contract
from trueup.contract.plugins import check

COLUMNS = ["ok", "value", "data", "reason", "codes", "fixes", "grade"]


@dataclass
class Person:
    name: str
    age: int


def test_each_row_gets_the_verdict_that_check_gives_and_the_index_stays() -> None:
    replies = ['{"name": "Ada", "age": 36}', '```json\n{"name": "Ida", "age": "7",}\n```', "no", "", '{"name": "Li"']
    frame = pd.DataFrame({"reply": replies}, index=[10, 10, "x", 3.5, None])
    contract = Contract(Person)
    checked = frame["reply"].trueup.check(contract)
    assert list(checked.columns) == COLUMNS
    assert checked.index.equals(frame.index)
    for row, reply in zip(checked.itertuples(index=False), replies, strict=True):
        verdict = contract.check(reply)
        assert (row.ok, row.value, row.data, row.reason) == (verdict.ok, verdict.value, verdict.data, verdict.reason)
        assert row.codes == tuple(dict.fromkeys(found.code for found in verdict.findings))
        assert row.fixes == tuple(dict.fromkeys(fix.code for fix in verdict.fixes))
    assert checked["value"].iloc[1] == Person("Ida", 7)
    assert list(checked["grade"])[:2] == ["none", "guess"]
    assert list(frame["reply"]) == replies


def test_columns_have_types_that_can_be_computed_with_even_without_rows() -> None:
    for replies in (["[1]", "[2,]", "no"], []):
        checked = pd.Series(replies, dtype=object).trueup.check(Contract(list[int]))
        assert checked["ok"].dtype == bool
        assert checked["value"].dtype == checked["codes"].dtype == object
        assert checked["reason"].dtype == checked["grade"].dtype == pd.Series([""]).dtype
        assert list(checked.loc[checked["ok"], "data"]) == ([[1], [2]] if replies else [])
        assert list(checked["codes"].explode().dropna()) == (["P001"] if replies else [])


@pytest.mark.parametrize("kind", [object, "str", "string", "string[pyarrow]", "category"])
def test_a_null_of_any_kind_is_a_missing_reply(kind: Any) -> None:
    checked = pd.Series(["[1]", None, float("nan"), pd.NA], dtype=kind).trueup.check(Contract(list[int]))
    assert list(checked["ok"]) == [True, False, False, False]
    assert list(checked["codes"])[1:] == [("R004",)] * 3
    assert checked["reason"].iloc[1] == "The cell is null: there is no reply"


def test_a_cell_may_contain_bytes_a_providers_response_or_parsed_data() -> None:
    response = {"choices": [{"message": {"role": "assistant", "content": "[1,]"}, "finish_reason": "stop"}]}
    replies = pd.Series([b"[1]", response, [1], {"n": 2}, 3])
    checked = replies.trueup.check(Contract({"type": ["array", "object"]}))
    assert list(checked["data"]) == [[1], [1], [1], {"n": 2}, None]
    assert list(checked["codes"])[-1] == ("R001",)


def test_the_context_of_a_row_comes_from_other_columns() -> None:
    contract = Contract(schema={"type": "object"}, rules=["n <= most"], input=["most"])
    frame = pd.DataFrame({"reply": ['{"n": 3}'] * 3, "most": [5, 2, 3]}, index=["a", "b", "c"])
    checked = frame["reply"].trueup.check(contract, {"input": frame[["most"]]})
    assert checked["ok"].to_dict() == {"a": True, "b": False, "c": True}


def test_values_that_are_no_column_are_the_same_for_every_row_and_nulls_are_left_out() -> None:
    seen = []

    def note(verdict: Any, context: dict[str, Any]) -> Any:
        seen.append({name: context[name] for name in ("state", "tags", "who") if name in context})
        return ()

    frame = pd.DataFrame({"reply": ["a", "b"], "state": ["IDLE", None], "who": [1, 2]})
    frame["reply"].trueup.check(Contract(checks=[note]), {"state": frame["state"], "tags": ["x", "y"]})
    frame["reply"].trueup.check(Contract(checks=[note]), frame[["state", "who"]])
    assert seen == [
        {"state": "IDLE", "tags": ["x", "y"]}, {"tags": ["x", "y"]}, {"state": "IDLE", "who": 1}, {"who": 2},
    ]  # fmt: skip


def test_a_contract_may_be_the_path_of_a_file(root: Path) -> None:
    path = root / "examples" / "contracts" / "people.yaml"
    replies = pd.Series(['{"name": "Ada", "age": 36, "mood": "happy"}'])
    assert replies.trueup.check(path).equals(replies.trueup.check(Contract.load(path)))


def test_verdicts_gives_everything() -> None:
    verdicts = pd.Series(["[1,]", None], index=["a", "b"], name="reply").trueup.verdicts(Contract(list[int]))
    assert verdicts.name == "reply"
    assert verdicts["a"].unwrap() == [1]
    assert not verdicts["b"].ok


def test_what_cannot_be_used_is_refused_with_a_reason() -> None:
    frame = pd.DataFrame({"reply": ["a", "b"], "state": ["X", "Y"]})
    replies = frame["reply"].trueup
    with pytest.raises(TypeError, match="a Contract or the path of a contract file, got dict"):
        replies.check({"type": "object"})
    with pytest.raises(ValueError, match=r"context\['state'\] has another index than the replies"):
        replies.check(Contract(), {"state": frame["state"][::-1]})
    with pytest.raises(TypeError, match=r"context must be a dict such as .* or a frame; got str"):
        replies.check(Contract(), "IDLE")


def test_a_bug_in_a_check_names_the_row() -> None:
    @check("PDX001", "boom", "It breaks.")
    def boom(verdict: Any, context: dict[str, Any]) -> Any:
        yield from () if verdict.reply.text == "a" else {}["nothing"]

    with pytest.raises(KeyError) as caught:
        pd.Series(["a", "b"], index=["first", "second"]).trueup.check(Contract(checks=[boom]))
    assert any("in row 'second'" in note for note in caught.value.__notes__)


def test_nested_columns_of_a_parquet_file_are_parsed_data(tmp_path: Path) -> None:
    people = [{"age": 36, "notes": [{"pages": [1, 2]}], "born": pd.Timestamp("1815-12-10")}, None]
    pd.DataFrame({"reply": people, "pages": [[1, 2], None]}).to_parquet(tmp_path / "people.parquet")
    df = pd.read_parquet(tmp_path / "people.parquet")
    assert df["reply"].trueup.check(Contract({"type": "object"}))["data"].tolist() == [
        {"age": 36, "notes": [{"pages": [1, 2]}], "born": "1815-12-10T00:00:00"},
        None,
    ]
    assert df["pages"].trueup.check(Contract(list[int]))["codes"].tolist() == [(), ("R004",)]
    assert pd.Series([{"age": np.int64(36)}]).trueup.check(Contract({"required": ["age"]}))["ok"].all()


def test_columns_of_the_same_name_are_refused_as_a_context() -> None:
    context = {"input": pd.DataFrame([[1, 2]], columns=["most", "most"])}
    with pytest.raises(ValueError, match=r"context\['input'\] has several columns named 'most'"):
        pd.Series(["{}"]).trueup.check(Contract({"type": "object"}), context)


@pytest.mark.parametrize("kind", [np.array, pd.Index, pd.array])
def test_an_array_in_the_context_gives_each_row_its_own_value(kind: Any) -> None:
    contract = Contract(states={"IDLE": {"forbid": [{"terms": ["confirmed"]}]}, "DONE": {}})
    replies = pd.Series(["It is confirmed."] * 3, index=["a", "b", "b"]).trueup
    checked = replies.check(contract, {"state": kind(["IDLE", "DONE", None], dtype=object)})
    assert checked["codes"].tolist() == [("D001",), (), ("D006",)]
    with pytest.raises(ValueError, match=r"context\['state'\] has 2 rows, and the column of replies has 3"):
        replies.check(contract, {"state": kind(["IDLE", "DONE"], dtype=object)})
