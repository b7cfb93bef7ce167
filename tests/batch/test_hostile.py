"""In = valid + failed, by id, over files made to break it; and the same bytes for any ranges."""

import io
import json
import os
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.batch.sifting import SCHEMA, run_files
from trueup import Contract
from trueup.batch.input.ranges import Range, lines_of, ranges_of
from trueup.batch.input.sources import InputSource
from trueup.batch.input.units import read_unit, too_long
from trueup.batch.judging.filters import Filter, RulesFilter
from trueup.batch.judging.sieve import Sieve
from trueup.batch.judging.work import RangeTask, SiftJob, judge_range, part_path, write_part
from trueup.batch.reporting.report import write_report

CONTRACT = Contract(SCHEMA)

text = st.text(max_size=30) | st.sampled_from(["\ud800", "a\udfffb"])
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
ids = st.sampled_from(["a", "b", "é", "e\u0301", "../../x", "/etc/passwd", "x" * 300, "", "\x00", "💥"]) | text
replies = st.sampled_from(
    [
        '{"name": "Ada", "age": 36}',
        '{"name": "Ada", "age": "36",}',
        "",
        "Sorry",
        "{" * 400,
        '{"name": NaN, "age": 1e999}',
        "\ud800",
    ]
)
units = st.fixed_dictionaries({"unit_id": ids | anything, "raw_response": replies | anything}, optional={"input": anything, "retry_count": anything, "_metadata": anything})  # fmt: skip
providers = st.builds(
    lambda key, body: {"custom_id": key, "response": body, "error": None},
    ids,
    anything | st.just({"status_code": 200, "body": {"choices": [{"message": {"role": "assistant", "content": '{"name": "B", "age": 1}'}}]}}),
)  # fmt: skip


def written(value: Any) -> bytes:
    return json.dumps(value).encode()


lines = st.one_of(
    units.map(written),
    providers.map(written),
    anything.map(written),
    units.map(written).map(lambda line: line[: len(line) // 2]),
    st.binary(max_size=40).filter(lambda line: b"\n" not in line),
    st.just(b'{"unit_id": "long", "raw_response": "' + b"y" * 900 + b'"}'),
    st.just(b'{"unit_id": 1, "unit_id": 2, "raw_response": "{}"}'),
    st.just(b"[" * 700),
    st.just(b""),
)


def judged(data: bytes, size: int, folder: Path) -> tuple[bytes, bytes, int]:
    """The records of a file cut into ranges of a size, and how many units were counted."""
    file = folder / "hostile.jsonl"
    file.write_bytes(data)
    source = InputSource(str(file), file.name, len(data), "")
    job = SiftJob("key", None, (source,), str(folder), 800)  # type: ignore[arg-type]
    valid = failed = b""
    count = 0
    for piece in ranges_of([len(data)], size):
        done = write_part(folder, piece.number, judge_range(job, CONTRACT, RangeTask(piece), [0]))
        part = part_path(folder, piece.number).read_bytes()
        valid, failed = valid + part[: done.sizes[0]], failed + part[done.sizes[0] :][: done.sizes[1]]
        count += done.tally["counts"]["units"]
    return valid, failed, count


def expected_ids(data: bytes) -> Counter[str]:
    found, at = Counter[str](), 0
    for line in data.split(b"\n"):
        if line.strip():
            text = line[3:] if at == 0 and line[:3] == b"\xef\xbb\xbf" else line
            found[read_unit(text, f"hostile.jsonl@{at}").id if len(line) <= 800 else ids_of_long(line)] += 1
        at += len(line) + 1
    return found


def ids_of_long(line: bytes) -> str:
    return too_long(line, len(line), 800, "hostile.jsonl@0").id


@pytest.mark.spec("B11", "X45")
@given(found=st.lists(lines, max_size=12), ended=st.booleans(), size=st.sampled_from([7, 37, 500]))
def test_every_line_is_written_once_under_its_id(found: list[bytes], size: int, *, ended: bool) -> None:
    data = b"\n".join(found) + (b"\n" if ended and found else b"")
    with TemporaryDirectory() as name:
        folder = Path(name)
        valid, failed, count = judged(data, 1 << 20, folder)
        assert judged(data, size, folder)[:2] == (valid, failed)
    rows = [json.loads(line) for line in (valid + failed).splitlines()]
    expected = expected_ids(data)
    assert Counter(row["unit_id"] for row in rows) == expected
    assert count == len(rows) == sum(expected.values())
    for row in rows:
        assert isinstance(row["raw_response"], str)
        assert ("data" in row) != ("failure_stage" in row)
        assert "data" in row or row["errors"]


@given(st.binary(max_size=200), st.integers(1, 60), st.integers(5, 50))
def test_ranges_of_any_size_contain_every_line_once(data: bytes, size: int, limit: int) -> None:
    whole = list(lines_of(io.BytesIO(data), Range(0, 0, 0, len(data)), limit, len(data)))
    cut = [
        found for piece in ranges_of([len(data)], size) for found in lines_of(io.BytesIO(data), piece, limit, len(data))
    ]
    assert cut == whole
    ends = [at + (len(line) if isinstance(line, bytes) else line.size) for at, line in whole]
    assert [at for at, _ in whole] == [0, *(index + 1 for index, byte in enumerate(data) if byte == 10)][: len(whole)]
    assert b"".join(line for _, line in whole if isinstance(line, bytes)) in data.replace(b"\n", b"") or len(whole) > 1
    assert not ends or ends[-1] >= len(data) - 1


@pytest.mark.spec("B11")
@settings(
    max_examples=max(10, settings.default.max_examples // 10) if settings.default else 10,
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(lines, min_size=1, max_size=12))
def test_a_run_over_hostile_files_loses_no_unit(found: list[bytes]) -> None:
    data = b"\n".join(found)
    with TemporaryDirectory() as name:
        file = Path(name) / "hostile.jsonl"
        file.write_bytes(data)
        ran = run_files(Path(name), [str(file)], max_line=800, range_size=64)
        beside = {path.name for path in Path(name).iterdir()}
    assert Counter(row["unit_id"] for row in (*ran.valid, *ran.failed)) == expected_ids(data)
    assert len({row["unit_id"] for row in ran.valid}) == len(ran.valid)
    assert beside == {"hostile.jsonl", "out"}  # no id becomes the name of a file


@pytest.mark.spec("B11", "X5")
def test_half_a_surrogate_pair_in_an_id_or_a_file_name_fails_only_its_unit(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"x\xff.jsonl")
    rows = [
        {"unit_id": "bad\ud800", "input": {"k": "\udfff"}, "raw_response": "no \ud83d"},
        {"unit_id": "mended\udc00", "raw_response": '{"name": "Ada", "age": "36"}'},
        {"unit_id": "good", "raw_response": '{"name": "Ada", "age": 36}'},
    ]
    file.write_bytes(b"".join(written(row) + b"\n" for row in rows))
    ran = run_files(tmp_path, [str(file)])
    assert [row["unit_id"] for row in ran.valid] == ["mended\udc00", "good"]
    assert [(row["unit_id"], row["input"], row["raw_response"]) for row in ran.failed] == [
        ("bad\ud800", {"k": "\udfff"}, "no \ud83d")
    ]
    assert ran.summary["codes"]["P001"]["examples"] == ["bad\\ud800"]
    assert ran.summary["fixes"]["C001"]["examples"] == ["mended\\udc00"]
    assert ran.summary["inputs"][0]["name"] == "x\\udcff.jsonl"
    write_report(ran.out)


DEEP = [
    '{"unit_id": "a", "raw_response": %s}', '{"unit_id": "a", "raw_response": "{}", "input": %s}', '{"custom_id": "a", "response": {"status_code": 200, "body": %s}}',
    '{"unit_id": "a", "messages": [{"role": "assistant", "content": %s}]}', '{"unit_id": "a", "raw_response": "{}", "data": {}, "fixes": [], "response": %s}', '{"unit_id": "a", "x": %s}',
]  # fmt: skip


@pytest.mark.spec("B11")
@pytest.mark.parametrize("form", DEEP)
@pytest.mark.parametrize("value", [("[", "1", "]"), ('{"a":', '"\\ud800"', "}")])
def test_a_line_nested_as_deep_as_the_stack_fails_no_other_line(form: str, value: tuple[str, str, str]) -> None:
    """Some can be read but not written, and some fail while they are judged; a few levels decide."""
    first, middle, last = value
    for depth in range(sys.getrecursionlimit() - 70, sys.getrecursionlimit() + 2):
        line = (form % (first * depth + middle + last * depth)).encode()
        for code in ("", "U003"):
            sieve = Sieve(CONTRACT, "f", max_line=1 << 20)
            if code:
                sieve.condemn(line, 0, code)
            else:
                sieve.sift(line, 0, 0)
            assert (sieve.take() + b"".join(sieve.failed)).count(b"\n") == 1
        for made in (Filter(CONTRACT, 1 << 20), RulesFilter(Contract(schema=True, rules=["True"]), 1 << 20)):
            found = made.sort(line, 0)
            assert (found.valid + found.failed).count(b"\n") == 1
