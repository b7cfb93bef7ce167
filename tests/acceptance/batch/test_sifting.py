"""Files of replies: every line is accounted for, in the words of the requirements."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.octobatch.reading import by_id, lines, rows
from tests.cli.running import Run

AGE: dict[str, Any] = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]}


@pytest.fixture
def schema(tmp_path: Path) -> str:
    (tmp_path / "s.json").write_text(json.dumps(AGE))
    return "s.json"


def unit(uid: str, reply: Any, **more: Any) -> dict[str, Any]:
    return {
        "unit_id": uid,
        "input": {"n": uid},
        "raw_response": reply if isinstance(reply, str) else json.dumps(reply),
        **more,
    }


def completion(text: str) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice]}


def output(uid: str, text: str) -> dict[str, Any]:
    """A line of OpenAI's batch output file."""
    response = {"status_code": 200, "request_id": "r", "body": completion(text)}
    return {"id": f"b_{uid}", "custom_id": uid, "response": response, "error": None}


def error(uid: str) -> dict[str, Any]:
    """A line of OpenAI's batch error file."""
    body = {"error": {"code": "server_error", "message": "The server had an error", "type": "server_error"}}
    return {
        "id": f"b_{uid}",
        "custom_id": uid,
        "response": {"status_code": 500, "request_id": "r", "body": body},
        "error": None,
    }


@pytest.mark.spec("B1", "B2")
@pytest.mark.parametrize(
    ("text", "stage"),
    [
        ('```json\n{"age": 3}\n```', None),
        ('Of course! {"age": 3} Anything else?', None),
        ("<html><body><h1>500 Internal Server Error</h1></body></html>", "parse"),
        ("I am sorry, I cannot help with that.", "parse"),
        ('{"age": ', "parse"),
        ("", "parse"),
    ],
)
def test_the_text_is_always_kept_and_text_without_json_is_a_separate_failure(
    run: Run, tmp_path: Path, schema: str, text: str, stage: str | None
) -> None:
    (tmp_path / "u.jsonl").write_text(lines(unit("a", text)))
    ran = run("sift", "u.jsonl", "-s", schema, "-o", "out", "-w", "1")
    assert ran.code == (1 if stage else 0)
    (row,) = rows(tmp_path / "out" / ("failures.jsonl" if stage else "validated.jsonl"))
    assert row["raw_response"] == text
    assert row.get("failure_stage") == stage


GOOD = [json.dumps(unit(f"u{n}", {"age": n})).encode() for n in range(20)]
# what the line is, the id it fails with (None: the place of the line), the stage, the code
BAD: dict[str, tuple[bytes, str | None, str, str]] = {
    "array": (b"[1, 2]", None, "pipeline_internal", "U002"),
    "array-of-units": (b"[" + GOOD[0].replace(b"u0", b"v0") + b"]", None, "pipeline_internal", "U002"),
    "null": (b"null", None, "pipeline_internal", "U002"),
    "number": (b"7", None, "pipeline_internal", "U002"),
    "not-json": (b"not json", None, "parse", "U001"),
    "invalid-utf-8": (b'{"unit_id": "x", "raw_response": "\xff\xfe"}', "x", "parse", "U001"),
    "invalid-utf-8-id": (b'{"unit_id": "\xff", "raw_response": "{}"}', None, "parse", "U001"),
    "duplicate-id": (GOOD[3], "u3", "pipeline_internal", "U003"),
    "duplicate-id-other-reply": (json.dumps(unit("u3", {"age": 99})).encode(), "u3", "pipeline_internal", "U003"),
    "no-reply": (b'{"unit_id": "x"}', "x", "pipeline_internal", "U002"),
    "cut-off": (b'{"unit_id": "x", "raw_response": "{', "x", "parse", "U001"),
}


@pytest.mark.spec("B11")
@pytest.mark.parametrize("at", [0, 10, 20])
@pytest.mark.parametrize(("line", "uid", "stage", "code"), BAD.values(), ids=BAD)
def test_one_bad_line_fails_that_unit_alone(
    run: Run, tmp_path: Path, schema: str, line: bytes, uid: str | None, stage: str, code: str, at: int
) -> None:
    if code == "U003" and at == 0:
        at = 5  # a duplicate is the later one of two
    given = [*GOOD[:at], line, *GOOD[at:]]
    (tmp_path / "u.jsonl").write_bytes(b"\n".join(given) + b"\n")
    ran = run("sift", "u.jsonl", "-s", schema, "-o", "out", "-w", "1")
    assert ran.code == 1
    valid, failed = rows(tmp_path / "out/validated.jsonl"), rows(tmp_path / "out/failures.jsonl")
    assert [row["unit_id"] for row in valid] == [f"u{n}" for n in range(20)]
    assert [row["data"]["age"] for row in valid] == list(range(20))
    (record,) = failed
    place = f"u.jsonl@{sum(len(before) + 1 for before in given[:at])}"
    assert (record["unit_id"], record["failure_stage"]) == (uid or place, stage)
    assert [error["code"] for error in record["errors"]] == [code]
    assert record["place"] == place
    assert record["raw_response"] or code == "U002"
    counts = json.loads((tmp_path / "out/summary.json").read_text())["counts"]
    assert (counts["lines"], counts["valid"], counts["failed"], counts["merged"]) == (21, 20, 1, 0)


@pytest.mark.spec("B11", "B19")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_line_of_100_megabytes_fails_alone(run: Run, tmp_path: Path, schema: str, workers: str) -> None:
    with (tmp_path / "u.jsonl").open("wb") as file:
        file.write(b"\n".join(GOOD[:10]) + b'\n{"unit_id": "huge", "raw_response": "')
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n' + b"\n".join(GOOD[10:]))
    ran = run("sift", "u.jsonl", "-s", schema, "-o", "out", "-w", workers)
    assert ran.code == 1
    assert [row["unit_id"] for row in rows(tmp_path / "out/validated.jsonl")] == [f"u{n}" for n in range(20)]
    (record,) = rows(tmp_path / "out/failures.jsonl")
    assert (record["unit_id"], record["failure_stage"]) == ("huge", "pipeline_internal")
    assert [error["code"] for error in record["errors"]] == ["U004"]
    assert record["raw_response"].startswith('{"unit_id": "huge", "raw_response": "xxx'), "its head is kept"
    assert len(record["raw_response"]) < 1_000_000


@pytest.mark.spec("B11")
def test_every_unit_is_valid_or_failed_by_id_and_by_line(run: Run, tmp_path: Path, schema: str) -> None:
    """All kinds of bad lines at once, several times each, over two files and two workers."""
    kinds = [line for name, (line, *_) in BAD.items() if not name.startswith("duplicate")]
    mixed = [line for n, line in enumerate(GOOD * 3) for line in (line, kinds[n % len(kinds)])]
    for name, part in (("a.jsonl", mixed[:70]), ("b.jsonl", mixed[70:])):
        (tmp_path / name).write_bytes(b"\n".join(part))
    assert run("sift", "a.jsonl", "b.jsonl", "-s", schema, "-o", "out", "-w", "2").code == 1
    valid, failed = rows(tmp_path / "out/validated.jsonl"), rows(tmp_path / "out/failures.jsonl")
    assert sorted(row["unit_id"] for row in valid) == sorted(f"u{n}" for n in range(20))
    assert len(valid) + len(failed) == len(mixed)
    twice = [row["unit_id"] for row in failed if row["errors"][0]["code"] == "U003"]
    assert sorted(twice) == sorted(f"u{n}" for n in range(20) for _ in range(2))
    places = [row["place"] for row in failed]
    assert len(set(places)) == len(places)


@pytest.mark.spec("B11")
@pytest.mark.parametrize("order", [("out", "err"), ("err", "out")])
def test_a_unit_whose_retry_succeeded_is_valid(run: Run, tmp_path: Path, schema: str, order: tuple[str, str]) -> None:
    """A provider's output, error and retry files belong together: the valid reply counts, the earlier one is kept."""
    files = {
        "out": lines(output("a", '{"age": 1}'), output("b", "no idea")),
        "err": lines(error("c")),
        "retry": lines(output("b", '{"age": 2}'), output("c", '{"age": 3}')),
    }
    for name, text in files.items():
        (tmp_path / f"{name}.jsonl").write_text(text)
    ran = run("sift", *(f"{name}.jsonl" for name in (*order, "retry")), "-s", schema, "-o", "out", "-w", "1")
    assert ran.code == 0, ran
    found = by_id(tmp_path / "out/validated.jsonl")
    assert {uid: row["data"]["age"] for uid, row in found.items()} == {"a": 1, "b": 2, "c": 3}
    assert [earlier["raw_response"] for earlier in found["b"]["merged"]] == ["no idea"], "the earlier reply stays"
    assert [error["code"] for error in found["b"]["merged"][0]["errors"]] == ["P001"]
    (earlier,) = found["c"]["merged"]
    assert "The server had an error" in earlier["raw_response"]
    assert "merged" not in found["a"]
    assert rows(tmp_path / "out/failures.jsonl") == []
    counts = json.loads((tmp_path / "out/summary.json").read_text())["counts"]
    assert (counts["lines"], counts["valid"], counts["failed"], counts["merged"]) == (5, 3, 0, 2)
    assert "Merged 2 units" in ran.err
    assert "5 lines = 3 valid + 0 failed + 2 merged." in ran.err


@pytest.mark.spec("B11")
@pytest.mark.parametrize(("how", "age"), [("first", 1), ("last", 3), ("valid", 1)])
def test_ordinary_files_merge_only_when_asked(run: Run, tmp_path: Path, schema: str, how: str, age: int) -> None:
    (tmp_path / "u.jsonl").write_text(lines(unit("a", {"age": 1}), unit("a", "nothing"), unit("a", {"age": 3})))
    ran = run("sift", "u.jsonl", "-s", schema, "-o", "out", "-w", "1", "--merge", how)
    assert ran.code == 0, ran
    assert [row["data"]["age"] for row in rows(tmp_path / "out/validated.jsonl")] == [age]
    ran = run("sift", "u.jsonl", "-s", schema, "-o", "plain", "-w", "1")
    assert ran.code == 1
    assert [row["errors"][0]["code"] for row in rows(tmp_path / "plain/failures.jsonl")] == ["U003", "U003"]


STAGES: dict[str, tuple[str, str, str, str]] = {
    "parse": ("I am sorry.", "$", "no-value", "P001"),
    "schema_validation": ('```json\n{"age": 5, "pets": [{"legs": 4}, {"legs": "four"}]}\n```', "$.pets[1].legs", "wrong-type", "V001"),
    "validation": ('```json\n{"age": "5", "pets": []}\n```', "$.age", "grown", "B005"),
}  # fmt: skip


@pytest.mark.spec("B10")
@pytest.mark.parametrize("stage", STAGES)
def test_a_failure_record_has_every_field(run: Run, tmp_path: Path, stage: str) -> None:
    text, path, rule, code = STAGES[stage]
    legs = {"type": "object", "properties": {"legs": {"type": "integer"}}}
    schema = {**AGE, "properties": {**AGE["properties"], "pets": {"type": "array", "items": legs}}}
    rules = [{"name": "grown", "expr": "age >= 18", "error": "{n} is {age}"}]
    (tmp_path / "c.json").write_text(json.dumps({"schema": schema, "rules": rules}))
    (tmp_path / "u.jsonl").write_text(lines(unit("a", text, retry_count=2)))
    assert run("sift", "u.jsonl", "-c", "c.json", "-o", "out", "-w", "1").code == 1
    (row,) = rows(tmp_path / "out/failures.jsonl")
    assert {name: row[name] for name in ("unit_id", "failure_stage", "input", "raw_response", "retry_count")} == {
        "unit_id": "a", "failure_stage": stage, "input": {"n": "a"}, "raw_response": text, "retry_count": 2,
    }  # fmt: skip
    (error,) = row["errors"]
    assert (error["code"], error["path"], error["rule"]) == (code, path, rule)
    assert error["message"]
    fixes = [(fix["code"], fix["path"]) for fix in row["fixes"]]
    wanted = {"parse": [], "schema_validation": [("W001", "$")], "validation": [("W001", "$"), ("C001", "$.age")]}
    assert sorted(set(fixes)) == sorted(wanted[stage])
    if stage == "validation":
        assert error["message"] == "a is 5"


@pytest.mark.spec("B10")
def test_a_line_without_a_reply_is_a_failure_of_the_pipeline(run: Run, tmp_path: Path, schema: str) -> None:
    (tmp_path / "u.jsonl").write_text(lines(error("c")))
    assert run("sift", "u.jsonl", "-s", schema, "-o", "out", "-w", "1").code == 1
    (row,) = rows(tmp_path / "out/failures.jsonl")
    assert (row["unit_id"], row["failure_stage"], row["retry_count"]) == ("c", "pipeline_internal", 0)
    assert json.loads(row["raw_response"]) == error("c")
    assert {"input", "fixes"} <= row.keys()
    assert all(found[name] for found in row["errors"] for name in ("code", "path", "rule", "message"))


@pytest.mark.spec("B11")
def test_a_file_that_grew_is_sifted_further(run: Run, tmp_path: Path, schema: str) -> None:
    """Incremental: what was judged stays as it is, the new lines are judged, and the result equals a sift of the whole."""
    first, second = (
        lines(*(unit(f"u{n}", {"age": n}) for n in range(50))),
        lines(unit("v", {"age": -1}), unit("w", {"age": 1})),
    )
    (tmp_path / "u.jsonl").write_text(first)
    assert run("sift", "u.jsonl", "-s", schema, "-o", "out", "-w", "1").code == 0
    (tmp_path / "u.jsonl").write_text(first + second)
    ran = run("sift", "u.jsonl", "-s", schema, "-o", "out", "-w", "1", "--grow")
    assert ran.code == 1, ran
    assert run("sift", "u.jsonl", "-s", schema, "-o", "whole", "-w", "1").code == 1
    for name in ("validated.jsonl", "failures.jsonl"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
