"""Files of replies: every line is accounted for, in the words of the requirements."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.octobatch.reading import by_id, lines, rows
from tests.cli.running import Run

AGE = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]}


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
def test_the_text_is_always_kept_and_text_without_json_is_a_failure_of_its_own(
    run: Run, tmp_path: Path, schema: str, text: str, stage: str | None
) -> None:
    (tmp_path / "u.jsonl").write_text(lines(unit("a", text)))
    ran = run("sift", "u.jsonl", "-s", schema, "-o", "out", "-w", "1")
    assert ran.code == (1 if stage else 0)
    (row,) = rows(tmp_path / "out" / ("failures.jsonl" if stage else "validated.jsonl"))
    assert row["raw_response"] == text
    assert row.get("failure_stage") == stage


@pytest.mark.spec("B11")
def test_one_bad_line_fails_that_unit_alone(run: Run, tmp_path: Path, schema: str) -> None:
    good = [json.dumps(unit(f"u{n}", {"age": n})).encode() for n in range(20)]
    bad = [b"[1, 2]", b"null", b'{"unit_id": "x", "raw_response": "\xff\xfe"}', good[3], b'{"unit_id": "long", "raw_response": "' + b"x" * (9 << 20) + b'"}']  # fmt: skip
    mixed = [line for pair in zip(good, [*bad, *[b""] * 15], strict=True) for line in pair if line]
    (tmp_path / "u.jsonl").write_bytes(b"\n".join(mixed) + b"\n")
    ran = run("sift", "u.jsonl", "-s", schema, "-o", "out", "-w", "1")
    assert ran.code == 1
    valid, failed = rows(tmp_path / "out/validated.jsonl"), rows(tmp_path / "out/failures.jsonl")
    assert [row["unit_id"] for row in valid] == [f"u{n}" for n in range(20)]
    assert len(failed) == len(bad)
    assert [row["errors"][0]["code"] for row in failed] == ["U002", "U002", "U001", "U003", "U004"]
    assert all(row["raw_response"] for row in failed)


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
    assert "no idea" in json.dumps(found["b"]), "the earlier reply stays in the record"
    assert rows(tmp_path / "out/failures.jsonl") == []
    assert "merged" in json.loads((tmp_path / "out/summary.json").read_text())
    assert "merged" in ran.out + ran.err


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


@pytest.mark.spec("B10")
def test_a_failure_record_has_every_field(run: Run, tmp_path: Path, schema: str) -> None:
    (tmp_path / "u.jsonl").write_text(lines(unit("a", '```json\n{"age": -1}\n```', retry_count=2)))
    run("sift", "u.jsonl", "-s", schema, "-o", "out", "-w", "1")
    (row,) = rows(tmp_path / "out/failures.jsonl")
    assert row["unit_id"] == "a"
    assert row["failure_stage"] == "schema_validation"
    assert row["input"] == {"n": "a"}
    assert row["raw_response"].startswith("```json")
    assert row["retry_count"] == 2
    assert {"code", "path", "rule", "message"} <= row["errors"][0].keys()
    assert row["errors"][0]["path"] == "$.age"
    assert {fix["code"] for fix in row["fixes"]} == {"W001"}, "a fence opens and closes"


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
