"""Frames judged by `Sift`: the same kind is returned, with the verdicts that a sift gives for the same rows."""

import copy
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tests.batch.sifting import SCHEMA, run_files
from tests.batch.tables.tables import REPLIES, lines_of_rows, rows_of
from trueup import Contract
from trueup.batch.frames import Sift

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
np = pytest.importorskip("numpy")
datasets = pytest.importorskip("datasets")

GOOD = REPLIES[0]
MADE = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "batch": pa.RecordBatch.from_pydict,
    "dict": dict,
    "numpy": lambda columns: {name: np.array(values, dtype=object) for name, values in columns.items()},
}


def column(frame: Any, name: str) -> list[Any]:
    found = frame[name]
    for give in ("to_pylist", "to_list", "tolist"):
        if hasattr(found, give):
            return list(getattr(found, give)())
    return list(found)


@pytest.fixture
def sift() -> Sift:
    return Sift(Contract(SCHEMA))


@pytest.mark.parametrize("kind", MADE)
def test_every_kind_of_frame_gets_the_records_of_a_sift(tmp_path: Path, sift: Sift, kind: str) -> None:
    columns = rows_of(40)
    frame = MADE[kind](columns)
    given = copy.deepcopy(columns)
    judged = sift(frame)
    assert type(judged) is type(frame)
    assert columns == given
    ran = run_files(tmp_path, [lines_of_rows(tmp_path, columns)])
    records = {record["unit_id"]: record for record in map(json.loads, column(judged, "record"))}
    for record in (*ran.valid, *ran.failed):
        assert {**records[record["unit_id"]], "place": ""} == {**record, "place": ""} | (
            {} if "place" in record else {"place": ""}
        )
    assert column(judged, "valid") == [number % 4 < 2 for number in range(40)]
    assert column(sift(judged), "valid") == column(judged, "valid")  # the columns of an earlier call are replaced


@pytest.mark.parametrize("kind", MADE)
def test_columns_with_other_names_can_be_chosen(kind: str) -> None:
    sift = Sift(schema=SCHEMA, id_column="key", reply_column="text")
    judged = sift(MADE[kind]({"key": ["a"], "text": [GOOD], "n": [1]}))
    (record,) = map(json.loads, column(judged, "record"))
    assert (record["unit_id"], record["input"]) == ("a", {"n": 1})


@pytest.mark.parametrize("kind", MADE)
def test_replies_may_be_bytes_and_bytes_that_are_not_utf8_fail_alone(sift: Sift, kind: str) -> None:
    judged = sift(MADE[kind]({"unit_id": ["a", "b"], "raw_response": [GOOD.encode(), b"\xff" + GOOD.encode()]}))
    assert column(judged, "valid") == [True, False]
    first, second = map(json.loads, column(judged, "record"))
    assert (first["unit_id"], first["raw_response"]) == ("a", GOOD)
    assert [error["code"] for error in second["errors"]] == ["U001"]


@pytest.mark.parametrize("kind", MADE)
def test_a_frame_without_replies_is_refused(sift: Sift, kind: str) -> None:
    with pytest.raises(ValueError, match=r"needs a column raw_response; this one has unit_id, text$"):
        sift(MADE[kind]({"unit_id": ["a"], "text": ["{}"]}))


@pytest.mark.parametrize("kind", MADE)
def test_a_frame_without_rows_gets_its_columns(sift: Sift, kind: str) -> None:
    judged = sift(MADE[kind]({"unit_id": [], "raw_response": []}))
    assert (column(judged, "valid"), column(judged, "record")) == ([], [])
    if kind not in {"dict", "numpy"}:  # object columns have no type
        one = sift(MADE[kind]({"unit_id": ["a"], "raw_response": [GOOD]}))
        schemas = [frame.dtypes.to_dict() if kind == "pandas" else dict(_types(frame)) for frame in (judged, one)]
        assert [(types["valid"], types["record"]) for types in schemas[:1]] == [
            (types["valid"], types["record"]) for types in schemas[1:]
        ]


def test_the_index_and_the_types_of_a_pandas_frame_are_kept(sift: Sift) -> None:
    frame = pd.DataFrame(
        {
            "unit_id": pd.array([1, None, 3], dtype="Int64"),
            "when": pd.to_datetime(["2024-05-01T10:00:00.000000001", None, "2024-05-02"], format="ISO8601"),
            "score": [1.5, float("nan"), float("inf")],
            "kind": pd.Categorical(["x", None, "y"]),
            "tags": [["a"], np.array([1, 2]), None],
            "raw_response": pd.array([GOOD, GOOD, pd.NA], dtype="string"),
        },
        index=["p", "q", "q"],
    )
    before = frame.copy(deep=True)
    judged = sift(frame)
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_frame_equal(judged.drop(columns=["valid", "record"]), before)
    assert judged["valid"].tolist() == [True, True, False]
    first, second, third = map(json.loads, judged["record"])
    assert [first["unit_id"], second["unit_id"], third["unit_id"]] == ["1", "dataset@1", "3"]
    assert first["input"] == {"when": "2024-05-01T10:00:00.000000001", "score": 1.5, "kind": "x", "tags": ["a"]}
    assert second["input"] == {"when": None, "score": None, "kind": None, "tags": [1, 2]}
    assert third["input"] == {"when": "2024-05-02T00:00:00", "score": "Infinity", "kind": "y", "tags": None}


def _types(frame: Any) -> Any:
    return frame.schema if hasattr(frame, "get_columns") else zip(frame.schema.names, frame.schema.types, strict=True)


@pytest.mark.parametrize("kind", [*MADE, "lazy"])
@pytest.mark.parametrize("name", ["valid", "record"])
def test_a_column_of_the_user_is_not_overwritten(sift: Sift, kind: str, name: str) -> None:
    columns = {"unit_id": ["a"], "raw_response": [GOOD], name: ["mine"]}
    with pytest.raises(ValueError, match=f"there is already a column '{name}'; rename it"):
        sift(MADE.get(kind, pl.LazyFrame)(columns))


def test_times_keep_their_nanoseconds_in_every_kind_of_frame(sift: Sift) -> None:
    """Python has no nanoseconds: polars and pandas drop them when their values become Python's."""
    count, base = 1714557600123456789, {"unit_id": ["a", "b"], "raw_response": [GOOD, GOOD]}
    counts = pl.Series([count, None])
    frame = pl.DataFrame({
        **base, "at": counts.cast(pl.Datetime("ns")), "zoned": counts.cast(pl.Datetime("ns", "Europe/Berlin")),
        "took": pl.Series([90_000_000_000, 1]).cast(pl.Duration("ns")), "time": pl.Series([1, None]).cast(pl.Time),
        "list": pl.Series([[count, None], None]).cast(pl.List(pl.Datetime("ns"))),
        "array": pl.Series([[count], None], dtype=pl.Array(pl.Int64, 1)).cast(pl.Array(pl.Datetime("ns"), 1)),
        "row": pl.Series([{"n": 1, "at": count}, None]).cast(pl.Struct({"n": pl.Int64, "at": pl.Datetime("ns")})),
    })  # fmt: skip
    at = "2024-05-01T10:00:00.123456789"
    expected = {
        "at": at, "zoned": f"{at}Z", "took": 90, "time": "00:00:00.000000001", "list": [at, None], "array": [at],
        "row": {"n": 1, "at": at},
    }  # fmt: skip
    nothing = {**dict.fromkeys(expected), "took": 1e-09}
    for judged in (sift(frame), sift(frame.to_arrow()), sift(frame.lazy()).collect()):
        first, second = map(json.loads, column(judged, "record"))
        assert first["input"] == expected
        assert second["input"] == nothing
    panda = pd.DataFrame({**base, "at": pd.to_datetime([count, count]), "took": pd.to_timedelta([90 * 10**9, 1])})
    first, second = map(json.loads, sift(panda)["record"])
    assert (first["input"], second["input"]) == ({"at": at, "took": 90}, {"at": at, "took": 1e-09})
    assert type(first["input"]["took"]) is int  # as in a sift of the same table


def test_a_lazy_frame_is_judged_when_it_is_collected(sift: Sift) -> None:
    lazy = sift(pl.LazyFrame(rows_of(40)))
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.filter(pl.col("valid")).select("unit_id").collect().height == 20
    assert lazy.collect(engine="streaming")["valid"].sum() == 20


def test_an_iterator_of_frames_is_judged_frame_by_frame(sift: Sift) -> None:
    asked = []

    def frames() -> Any:
        for number in range(3):
            asked.append(number)
            yield pd.DataFrame(rows_of(4))

    judged = sift.batches(frames())
    assert asked == []
    assert next(judged)["valid"].tolist() == [True, True, False, False]
    assert asked == [0]


@pytest.mark.parametrize("make", [lambda c: pd.DataFrame(c), lambda c: dict(c)])
def test_a_value_that_json_cannot_represent_fails_only_its_row(sift: Sift, make: Any) -> None:
    judged = sift(make({"unit_id": ["a", "b"], "x": [object(), 1], "raw_response": [GOOD, GOOD]}))
    assert column(judged, "valid") == [False, True]
    (error,) = json.loads(column(judged, "record")[0])["errors"]
    assert (error["code"], error["message"]) == (
        "U001",
        "The row cannot be read: a value of type object cannot be written as JSON",
    )


def test_a_row_that_cannot_be_read_keeps_its_id(sift: Sift) -> None:
    judged = sift(pd.DataFrame({"unit_id": ["a", "b"], "raw_response": [GOOD, GOOD], "odd": [object(), 1]}))
    assert list(judged["valid"]) == [False, True]
    assert [json.loads(record)["unit_id"] for record in judged["record"]] == ["a", "b"]


def test_periods_and_intervals_become_text(sift: Sift) -> None:
    odd = {"month": pd.period_range("2024-01", periods=1, freq="M"), "range": pd.interval_range(0, 1)}
    judged = sift(pd.DataFrame({"unit_id": ["a"], "raw_response": [GOOD], **odd}))
    assert json.loads(judged["record"][0])["input"] == {"month": "2024-01", "range": "(0, 1]"}


def test_an_index_may_contain_the_ids() -> None:
    for name, sift in (("unit_id", Sift(schema=SCHEMA)), ("key", Sift(schema=SCHEMA, id_column="key"))):
        frame = pd.DataFrame({"raw_response": [GOOD, "no"], "n": [1, 2]}, index=pd.Index(["a", "b"], name=name))
        judged = sift(frame)
        assert [json.loads(record)["unit_id"] for record in judged["record"]] == ["a", "b"]
        assert json.loads(judged["record"].iloc[0])["input"] == {"n": 1}
        assert (judged.index.name, list(judged.columns)) == (name, ["raw_response", "n", "valid", "record"])


@pytest.mark.parametrize(
    "made",
    [
        *(pd.Series([GOOD]), pl.Series([GOOD]), [{"unit_id": "a", "raw_response": GOOD}], None),
        datasets.Dataset.from_dict({"unit_id": ["a"], "raw_response": [GOOD]}),
    ],
)
def test_an_object_that_is_not_a_frame_is_refused_by_its_type(sift: Sift, made: Any) -> None:
    with pytest.raises(TypeError, match=f"not {type(made).__name__}"):
        sift(made)


def test_a_dataset_can_be_mapped(sift: Sift) -> None:
    dataset = datasets.Dataset.from_dict({"unit_id": ["a", "b"], "raw_response": [GOOD, "no"]})
    judged = dataset.map(sift, batched=True, load_from_cache_file=False)
    assert list(judged["valid"]) == [True, False]


def test_two_columns_with_the_same_name_are_refused(sift: Sift) -> None:
    with pytest.raises(ValueError, match="two columns have the name 'n'"):
        sift(pd.DataFrame([["a", GOOD, 1, 2]], columns=["unit_id", "raw_response", "n", "n"]))


def test_columns_of_different_lengths_are_refused(sift: Sift) -> None:
    with pytest.raises(ValueError, match="different lengths: 1, 2"):
        sift({"unit_id": ["a"], "raw_response": [GOOD, GOOD]})


def test_memory_other_than_the_verdicts_does_not_grow(sift: Sift) -> None:
    """The most memory in use, without the returned columns, for twice the rows."""

    def beside(count: int) -> int:
        frame = pd.DataFrame(rows_of(count))
        tracemalloc.start()
        judged = sift(frame)
        kept, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(judged) == count
        return peak - kept

    beside(100)
    small, large = beside(4000), beside(8000)
    assert large <= small * 1.5 + (1 << 20)  # the records of the larger one take 2 MB more


def test_frames_need_neither_ray_nor_pyarrow() -> None:
    code = """
import sys
for name in ("ray", "pyarrow", "pandas", "polars"):
    sys.modules[name] = None
from trueup.batch.frames import Sift
print(Sift(schema={"type": "object"})({"unit_id": ["a"], "raw_response": ["{}"]})["valid"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[True]\n"


def test_the_class_can_still_be_imported_from_its_old_module() -> None:
    from trueup.batch.engines import ray

    assert ray.Sift is Sift
