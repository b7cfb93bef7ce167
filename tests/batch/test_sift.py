"""A sift: every line comes out once, in order, and a repeated sift gives the same."""

import gzip
import http.server
import io
import json
import os
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.batch.sifting import SCHEMA, bytes_of, read_run, run, run_files, unit, write
from trueup import Contract
from trueup.batch.input.ranges import Range
from trueup.batch.input.sources import InputSource, UnreadableSource
from trueup.batch.judging.contracts import spec_of
from trueup.batch.judging.work import IDLE, EngineFailed, RangeTask, SiftJob, judge_range, read_part, write_part
from trueup.batch.sift import OutOfTime, SiftOptions, SiftRefused, sift


@pytest.mark.spec("B1", "B2", "B10", "B11")
def test_each_line_ends_up_in_one_file_in_order(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        [
            unit("a"),
            unit("b", "Sorry, no."),
            unit("c", '```json\n{"name": "Bo", "age": "7",}\n```'),
            unit("d", '{"age": -1, "name": "x"}'),
        ],
    )
    assert [row["unit_id"] for row in ran.valid] == ["a", "c"]
    assert [(row["unit_id"], row["failure_stage"]) for row in ran.failed] == [
        ("b", "parse"),
        ("d", "schema_validation"),
    ]
    apology, wrong = ran.failed
    assert apology["raw_response"] == "Sorry, no."
    assert apology["input"] == {"n": 1}
    assert apology["retry_count"] == 0
    assert [(e["code"], e["path"], e["rule"]) for e in wrong["errors"]] == [("V004", "$.age", "minimum")]
    assert all(e["message"] for e in wrong["errors"])


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("reply", "options", "stage"),
    [
        ('{"name": "Ada", "age": 36, "no', {}, "parse"),
        ('{"name": "Ada Lovelace, who', {}, "parse"),
        ("<html><h1>500 Internal Server Error</h1></html>", {}, "parse"),
        ('{"name": "Ada", "age": 36,}', {"accept": "none"}, "parse"),
        ('{"name": "Ada", "age": "36"}', {"accept": "none"}, "schema_validation"),
        ('{"name": "Ada"}', {}, "schema_validation"),
    ],
)
def test_a_truncated_reply_fails_at_the_reading_stage(
    tmp_path: Path, reply: str, options: dict[str, Any], stage: str
) -> None:
    (failed,) = run(tmp_path, [unit("a", reply)], Contract(SCHEMA, **options)).failed
    assert (failed["failure_stage"], failed["raw_response"]) == (stage, reply)


@pytest.mark.spec("B5")
def test_rules_see_the_coerced_value_and_it_is_stored(tmp_path: Path) -> None:
    rules = [{"name": "grown", "expr": "age >= 18 and age == floor", "error": "{age} is not {floor}"}]
    contract = Contract(SCHEMA, rules=rules, input=["floor"])
    lines = [
        json.dumps({"unit_id": str(age), "input": {"floor": 18}, "raw_response": f'{{"name": "Ada", "age": "{age}"}}'})
        for age in (18, 7)
    ]
    ran = run(tmp_path, lines, contract)
    assert ran.valid[0]["data"] == {"name": "Ada", "age": 18}
    assert [(fix["code"], fix["name"]) for fix in ran.valid[0]["fixes"]] == [("C001", "to-integer")]
    (failed,) = ran.failed
    assert (failed["failure_stage"], failed["errors"][0]["rule"]) == ("validation", "grown")
    assert failed["errors"][0]["message"] == "7 is not 18"
    assert ran.summary["rules"] == {"grown": 1}


@pytest.mark.spec("B9")
def test_a_reply_cannot_replace_the_units_fields_and_a_closed_schema_works(tmp_path: Path) -> None:
    contract = Contract({"type": "object"}, rules=[{"name": "own", "expr": "unit_id == 'a' and _seed == 7"}])
    reply = '{"unit_id": "evil", "_seed": 0, "retry_count": 99, "error": "x", "raw_response": "y"}'
    line = json.dumps(
        {"unit_id": "a", "input": {"_seed": 7}, "raw_response": reply, "retry_count": 2, "_metadata": {"m": 1}}
    )
    (row,) = run(tmp_path, [line], contract).valid
    assert (row["unit_id"], row["retry_count"], row["_metadata"], row["raw_response"]) == ("a", 2, {"m": 1}, reply)
    assert "error" not in row
    ran = run(
        tmp_path,
        [unit("a", '{"name": "Ada", "age": 1}', _metadata={"k": 1}), unit("b", "no", retry_count=3)],
        out="closed",
    )
    assert [row["unit_id"] for row in ran.valid] == ["a"]
    assert ran.failed[0]["retry_count"] == 3


@pytest.mark.spec("B11")
def test_one_bad_line_fails_alone(tmp_path: Path) -> None:
    lines = [
        unit("a").encode(), b"[1]", b"null", b'"text"', b"7", b"{", b'{"unit_id": "t", "raw_resp', b"\xff\xfe", b"{}",
        unit("a").encode(), unit("").encode(), unit(None).encode(), unit(5).encode(), unit("n", None).encode(),
        b'{"unit_id": "big", "raw_response": "' + b"x" * 5000 + b'"}', unit("z").encode(),
    ]  # fmt: skip
    ran = run(tmp_path, lines, max_line=2000)
    assert len(ran.valid) + len(ran.failed) == len(lines) == ran.summary["counts"]["units"]
    ids = [row["unit_id"] for row in ran.valid]
    assert ids[0] == "a"
    assert ids[-2:] == ["5", "z"]
    codes = ran.codes
    assert codes["t"] == ["U001"]
    assert codes["a"] == ["U003"]
    assert codes["big"] == ["U004"]
    assert codes["n"] == ["R004"]
    assert ran.summary["codes"]["U005"]["units"] == 2


@pytest.mark.spec("B1", "B10", "B11")
def test_a_flat_unit_keeps_its_text(tmp_path: Path) -> None:
    """A flat unit is input for the filters. A sift finds no reply in it, and says so with the original line."""
    line = '{"unit_id": "a",  "name": "Ada", "age": 36.0}'
    (row,) = run(tmp_path, [line]).failed
    assert (row["unit_id"], row["raw_response"], row["errors"][0]["code"]) == ("a", line, "U002")


def test_ids_are_compared_over_all_files_and_ranges(tmp_path: Path) -> None:
    one = write(tmp_path / "one.jsonl", [unit(f"u{n}") for n in range(60)])
    two = write(tmp_path / "two.jsonl", [unit(f"u{n}") for n in range(50, 90)])
    ran = run_files(tmp_path, [str(one), str(two)], range_size=500)
    assert [row["unit_id"] for row in ran.valid] == [f"u{n}" for n in range(90)]
    assert [row["unit_id"] for row in ran.failed] == [f"u{n}" for n in range(50, 60)]
    assert {row["place"].partition("@")[0] for row in ran.failed} == {"two.jsonl"}


def test_a_line_without_a_reply_does_not_use_up_its_id(tmp_path: Path) -> None:
    error = json.dumps({"custom_id": "r1", "response": None, "error": {"code": "batch_expired", "message": "late"}})
    ran = run(tmp_path, [error, '{"unit_id": "r2", "raw_respo', unit("r1"), unit("r2")])
    assert [row["unit_id"] for row in ran.valid] == ["r1", "r2"]
    assert ran.codes == {"r1": ["R002"], "r2": ["U001"]}
    assert {row["unit_id"]: row["failure_stage"] for row in ran.failed} == {"r1": "pipeline_internal", "r2": "parse"}


@pytest.mark.spec("B19", "B22")
def test_the_number_of_workers_and_ranges_changes_no_byte(tmp_path: Path) -> None:
    lines = [unit(f"u{n % 90}", json.dumps({"name": "é", "age": str(n)}) if n % 3 else "nothing") for n in range(100)]
    file = write(tmp_path / "lines.jsonl", lines)
    for out, more in (("a", {}), ("b", {"workers": 3, "range_size": 700}), ("c", {"workers": 2, "range_size": 50})):
        run_files(tmp_path, [str(file)], out=out, **more)
    assert bytes_of(tmp_path / "a") == bytes_of(tmp_path / "b") == bytes_of(tmp_path / "c")


def test_a_file_can_be_given_in_every_way(tmp_path: Path) -> None:
    plain = "\n".join([unit("a"), unit("b", "no")]).encode()  # no line break at the end
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(plain[:20]) + gzip.compress(plain[20:]))
    (tmp_path / "x.jsonl.zst").write_bytes(zstandard.compress(plain))
    (tmp_path / "x.jsonl").write_bytes(b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n\r\n"))
    for number, name in enumerate(
        ["x.jsonl", "x.jsonl.gz", "x.jsonl.zst", f"file://{tmp_path}/x.jsonl", f"file://{tmp_path}/x.jsonl.gz"]
    ):
        given = name if "://" in name else str(tmp_path / name)
        ran = run_files(tmp_path, [given], out=f"out{number}")
        assert [row["unit_id"] for row in (*ran.valid, *ran.failed)] == ["a", "b"], name
    ran = run_files(tmp_path, ["-"], out="stdin", stdin=io.BytesIO(plain))
    assert [row["unit_id"] for row in ran.valid] == ["a"]
    read, wrote = os.pipe()
    os.write(wrote, plain)
    os.close(wrote)
    assert len(run_files(tmp_path, [f"/dev/fd/{read}"], out="pipe").valid) == 1
    os.close(read)


def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"x" * 9999)[:-20])
    (tmp_path / "cut.zst").write_bytes(b"no zst")
    for given, says in (
        (tmp_path / "none", f"^{tmp_path}/none: there is no such file"),
        (tmp_path, "no file in it ends in .jsonl"),
        (tmp_path / "cut.gz", "cut.gz: cannot be read"),
        (tmp_path / "cut.zst", "cut.zst: cannot be read"),
        ("nope://a:secret@b/c", "nope://b/c"),
    ):
        with pytest.raises(UnreadableSource, match=says) as caught:
            run_files(tmp_path, [str(given)])
        assert "secret" not in str(caught.value)


def test_the_same_command_is_already_done_and_a_different_one_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "lines.jsonl", [unit("a"), unit("b", "no")])
    spec = spec_of(options={"schema": SCHEMA})
    first = sift([str(file)], spec, tmp_path / "out")
    before = bytes_of(tmp_path / "out")
    again = sift([str(file)], spec, tmp_path / "out")
    assert (first.already, again.already, again.exit_code) == (False, True, 1)
    assert again.summary == first.summary
    with pytest.raises(SiftRefused, match="contract"):
        sift([str(file)], spec_of(options={"schema": True}), tmp_path / "out")
    write(file, [unit("a")])
    with pytest.raises(SiftRefused, match="different files"):
        sift([str(file)], spec, tmp_path / "out")
    assert bytes_of(tmp_path / "out") == before
    fresh = sift([str(file)], spec, tmp_path / "out", SiftOptions(fresh=True))
    assert (fresh.exit_code, len(read_run(tmp_path / "out").valid)) == (0, 1)


@pytest.mark.parametrize("name", ["validated.jsonl", "failures.jsonl", "summary.json"])
def test_deleted_results_are_not_reported_as_present(tmp_path: Path, name: str) -> None:
    ran = run(tmp_path, [unit("a"), unit("b", "no")])
    (tmp_path / "out" / name).unlink()
    with pytest.raises(SiftRefused, match=f"{name} is missing; use --fresh"):
        run_files(tmp_path, [str(tmp_path / "lines.jsonl")])
    again = run_files(tmp_path, [str(tmp_path / "lines.jsonl")], fresh=True)
    assert (again.valid, again.failed) == (ran.valid, ran.failed)


@pytest.mark.parametrize("damage", [b"", b'{"counts": {"fai', b"\0\xff", b"[]", b"{}", b'{"counts": {"failed": null}}'])
def test_a_damaged_summary_is_reported(tmp_path: Path, damage: bytes) -> None:
    run(tmp_path, [unit("a"), unit("b", "no")])
    (tmp_path / "out" / "summary.json").write_bytes(damage)
    with pytest.raises(SiftRefused, match=r"summary\.json is damaged; use --fresh"):
        run_files(tmp_path, [str(tmp_path / "lines.jsonl")])


def test_foreign_files_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "validated.jsonl").write_text("mine")
    with pytest.raises(SiftRefused, match=r"this sift did not write the validated\.jsonl in it"):
        run(tmp_path, [unit("a")])
    assert (tmp_path / "out" / "validated.jsonl").read_text() == "mine"


def test_a_sift_at_its_time_limit_resumes_later(tmp_path: Path) -> None:
    lines = [unit(f"u{n}") for n in range(40)]
    with pytest.raises(OutOfTime):
        run(tmp_path, lines, range_size=200, time_limit=1e-9)
    assert not (tmp_path / "out" / "validated.jsonl").exists()
    file = str(tmp_path / "lines.jsonl")
    assert len(run_files(tmp_path, [file], range_size=200).valid) == 40


def test_an_input_that_changes_during_the_run_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "lines.jsonl", [unit(f"u{n}") for n in range(40)])
    spec = spec_of(options={"schema": SCHEMA})

    def grow(_: Any) -> None:
        with file.open("ab") as opened:
            opened.write(b"more\n")

    with pytest.raises(SiftRefused, match="changed while it was read"):
        sift([str(file)], spec, tmp_path / "out", SiftOptions(workers=1), grow)


def test_an_input_without_units_is_not_a_failure(tmp_path: Path) -> None:
    ran = run(tmp_path, b"\n  \n\n")
    assert (ran.summary["counts"]["units"], ran.summary["counts"]["blank"], ran.summary["exit_code"]) == (0, 3, 0)
    assert run(tmp_path, b"", out="empty").summary["counts"]["blank"] == 0


def test_the_summary_has_counts_codes_fixes_and_examples(tmp_path: Path) -> None:
    lines = [unit(f"u{n}", "no" if n % 2 else '{"name": "x", "age": "1",}') for n in range(20)]
    summary = run(tmp_path, lines).summary
    counts = {"lines": 20, "units": 20, "valid": 10, "failed": 10, "fixed": 10, "warned": 0, "blank": 0, "merged": 0}
    assert summary["counts"] == counts
    assert summary["stages"] == {"parse": 10}
    assert summary["codes"]["P001"]["examples"] == ["u1", "u3", "u5", "u7", "u9"]
    assert summary["fixes"]["C001"] == {
        "name": "to-integer", "grade": "guess", "title": "A string that contains an integer became an integer.",
        "units": 10, "times": 10, "examples": ["u0", "u2", "u4", "u6", "u8"],
    }  # fmt: skip
    assert summary["grades"] == {"lossless": 10, "guess": 10, "lossy": 0}
    assert summary["inputs"] == [{"name": "lines.jsonl", "bytes": (tmp_path / "lines.jsonl").stat().st_size}]
    assert len(summary["contract"]["hash"]) == 64
    assert summary["timings"]["ranges"] == 1


@pytest.mark.spec("X5")
def test_lone_surrogates_and_nul_are_preserved(tmp_path: Path) -> None:
    reply = '{"name": "a\\u0000b", "age": 1}'
    line = '{"unit_id": "\\ud800", "input": {"x": "\\udfff\\u0000"}, "raw_response": ' + json.dumps(reply) + "}"
    raw = '{"unit_id": "r", "input": {}, "raw_response": "{\\"name\\": \\"\ud800\\", \\"age\\": 1}"}'
    lines = [
        line.encode(),
        raw.encode("utf-8", "surrogatepass"),
        json.dumps({"unit_id": "s", "raw_response": '{"name": "\ud800"}'}).encode(),
    ]
    ran = run(tmp_path, lines)
    (valid,) = ran.valid
    assert (valid["unit_id"], valid["input"], valid["data"]["name"]) == ("\ud800", {"x": "\udfff\x00"}, "a\x00b")
    assert ran.codes["r"] == ["U001"]
    assert ran.failed[-1]["raw_response"] == '{"name": "\ud800"}'


def test_integers_of_any_size_are_exact(tmp_path: Path) -> None:
    big = 2**200
    ran = run(tmp_path, [unit("a", f'{{"name": "x", "age": {big}}}')])
    assert ran.valid[0]["data"]["age"] == big
    assert str(big).encode() in (ran.out / "validated.jsonl").read_bytes()


def job_over(folder: Path, lines: list[str]) -> tuple[SiftJob, RangeTask]:
    """One range over all lines of a file."""
    file = write(folder / "lines.jsonl", lines)
    size = file.stat().st_size
    job = SiftJob("key", None, (InputSource(str(file), file.name, size, ""),), str(folder), 1 << 20)  # type: ignore[arg-type]
    return job, RangeTask(Range(0, 0, 0, size))


@pytest.mark.spec("B19")
def test_records_are_written_while_a_range_is_judged(tmp_path: Path) -> None:
    fails = [n >= 500 and n % 2 == 0 for n in range(1_500)]
    lines = [
        unit(f"u{n}", "nothing" if failed else f'{{"name": "Ada",\n "age": {n}}}') for n, failed in enumerate(fails)
    ]
    job, task = job_over(tmp_path, lines)
    beat = [IDLE]
    pieces, beats = [], []
    for piece in judge_range(job, Contract(SCHEMA), task, beat):
        pieces.append(piece)
        beats.append(beat[0])
    assert len(pieces) > 10
    assert max(map(len, pieces[:-5])) < sum(map(len, pieces)) / 5
    assert set(beats) == {IDLE}, "no line is at fault while its range is written"
    done = write_part(tmp_path, 0, pieces)
    assert sum(map(len, pieces[:-5])) == done.sizes[0]
    assert (done.tally["counts"]["valid"], done.tally["counts"]["failed"]) == (1_000, 500)
    rows = [json.loads(line)["unit_id"] for line in b"".join(pieces[:-5]).splitlines()]
    assert rows == [f"u{n}" for n, failed in enumerate(fails) if not failed]
    rows = [json.loads(line)["unit_id"] for line in pieces[-5].splitlines()]
    assert rows == [f"u{n}" for n, failed in enumerate(fails) if failed]


@pytest.mark.spec("B11")
def test_deferred_lines_keep_their_position(tmp_path: Path) -> None:
    kinds = ["clean", "fenced", "nothing", "no JSON", "long", "condemned"]
    ways = [kinds[n * 7 % 6] if n % 5 else "clean" for n in range(300)]
    texts = {"fenced": "```json\n{}\n```", "nothing": "no value", "long": "x" * 5_000}
    lines = ["{" if way == "no JSON" else unit(f"{n}", texts.get(way, "{}")) for n, way in enumerate(ways)]
    job, task = job_over(tmp_path, lines)
    condemned = {n: "U006" for n, way in enumerate(ways) if way == "condemned"}
    *valid, failed, _, _, _, _ = judge_range(
        job._replace(max_line=2_000), Contract({"type": "object"}), task._replace(condemned=condemned), [IDLE]
    )
    rows = [json.loads(line) for line in b"".join(valid).splitlines()]
    assert [row["unit_id"] for row in rows] == [f"{n}" for n, way in enumerate(ways) if way in ("clean", "fenced")]
    assert [bool(row["fixes"]) for row in rows] == [way == "fenced" for way in ways if way in ("clean", "fenced")]
    offsets = [int(json.loads(line)["place"].partition("@")[2]) for line in failed.splitlines()]
    assert offsets == sorted(offsets)
    assert len(offsets) == sum(way not in ("clean", "fenced") for way in ways)


def test_the_heartbeat_names_the_line_that_is_judged_although_it_was_deferred(tmp_path: Path) -> None:
    beat, seen = [IDLE], []

    class Watching:
        def check(self, reply: Any, context: Any = None) -> Any:
            seen.append((beat[0], context["input"]["unit_id"]))
            return Contract({}).check(reply)

    job, task = job_over(tmp_path, [unit(f"u{n}") for n in range(200)])
    list(judge_range(job, Watching(), task, beat))
    assert seen == [(n, f"u{n}") for n in range(200)]


def test_an_incomplete_part_is_never_read(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"one line\n"
        raise OSError(5, "the disk is gone")

    with pytest.raises(OSError, match="gone"):
        write_part(tmp_path, 7, pieces())
    with pytest.raises(EngineFailed, match="is incomplete"):
        write_part(tmp_path, 8, [b"no foot"])
    assert [path.name for path in tmp_path.iterdir()] == ["00000008.part"]
    assert read_part(tmp_path / "00000008.part") is None


class _Whole(http.server.SimpleHTTPRequestHandler):
    """A server without range requests, like many."""

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        if self.path.startswith("/refused"):
            self.send_error(403)
        else:
            super().do_GET()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Whole, directory=str(tmp_path))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.spec("B11")
def test_a_file_is_read_from_a_server_that_does_not_support_ranges(tmp_path: Path, served: str) -> None:
    lines = [unit(f"u{n}", input={"text": "x" * 9000}) for n in range(700)]  # more than one fetch
    write(tmp_path / "many.jsonl", lines)
    (tmp_path / "many.jsonl.gz").write_bytes(gzip.compress((tmp_path / "many.jsonl").read_bytes()))
    for name in ("many.jsonl", "many.jsonl.gz"):
        ran = run_files(tmp_path, [f"{served}/{name}"], out=f"out-{name}", range_size=1 << 20)
        assert [row["unit_id"] for row in ran.valid] == [f"u{n}" for n in range(700)]
        assert ran.failed == []


def test_the_reason_why_an_address_is_unreadable_is_reported_without_its_key(tmp_path: Path, served: str) -> None:
    for address, says in (
        (f"{served}/none.jsonl?key=secret", "/none.jsonl: there is no such file"),
        (f"{served}/refused.jsonl?key=secret", "/refused.jsonl: cannot be read: the server answered 403"),
        ("http://127.0.0.1:1/a.jsonl?key=secret", "/a.jsonl: cannot be read: the server cannot be reached"),
    ):
        with pytest.raises(UnreadableSource, match=r"http://127\.0\.0\.1") as told:
            run_files(tmp_path, [address])
        assert str(told.value).endswith(says)
        assert "secret" not in str(told.value)
