"""The two phases as filters: every field that goes in comes out, coerced values reach phase 2, and failure records are complete."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.octobatch.reading import by_id, lines, rows
from tests.cli.running import COMMAND, Run, clean_environment, read_all

CARD = {
    "type": "object",
    "properties": {
        "score": {"type": "integer"},
        "parts": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    },
}
RECORD = {"unit_id", "failure_stage", "input", "raw_response", "errors", "fixes", "retry_count"}
GOOD = [{"unit_id": "first", "score": 1, "city": "Oslo"}, {"unit_id": "last", "score": 2}]


@pytest.fixture
def schema(tmp_path: Path) -> str:
    (tmp_path / "s.json").write_text(json.dumps(CARD))
    return "s.json"


# Standard error -----------------------------------------------------------------------------------------------------

BAD: dict[str, bytes] = {
    "type": b'{"unit_id": "x", "score": "high"}',
    "array": b"[1, 2]",
    "null": b"null",
    "number": b"5",
    "not-json": b"not json",
    "cut-off": b'{"unit_id": "x", "score": 1',
    "not-utf-8": b'{"unit_id": "x", "score": "\xff\xfe"}',
    "nul": b'{"unit_id": "x", "score": "\x00"}',
    "key-twice": b'{"unit_id": "x", "score": 1, "score": 2}',
    "html": b'{"unit_id": "x", "raw_response": "<html>500</html>"}',
    "provider": b'{"custom_id": "x", "response": null, "error": {"code": "server_error", "message": "down"}}',
    "escape": b'{"unit_id": "\\u001b[31mx\\n", "score": "\\u001b[2J\\nprogress: 5 %"}',
    "deep": b'{"unit_id": "x", "score": ' + b"[" * 3000 + b"]" * 3000 + b"}",
    "digits": b'{"unit_id": "x", "score": "' + b"9" * 5000 + b'x"}',
}


@pytest.mark.spec("B3", "B10", "B11")
@pytest.mark.parametrize("command", ["schema", "rules"])
@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
def test_one_bad_line_fails_alone_and_standard_error_carries_its_record_and_nothing_else(
    run: Run, tmp_path: Path, schema: str, command: str, line: bytes
) -> None:
    (tmp_path / "r.yaml").write_text("types: {score: integer}\n")
    first, last = (lines(unit).encode() for unit in GOOD)
    ran = run(command, schema if command == "schema" else "r.yaml", stdin=first + line + b"\n" + last)
    assert (ran.code, ran.out.encode()) == (1, first + last), "units that are fine leave as they came"
    assert ran.err.count("\n") == 1
    assert ran.err[:-1].isprintable(), "one line, nothing that moves a terminal"
    (failed,) = rows(ran.err)
    assert failed.keys() >= RECORD
    assert failed["failure_stage"] in {"parse", "schema_validation", "validation", "pipeline_internal"}
    assert failed["raw_response"], "the text is always kept"
    assert failed["errors"]


@pytest.mark.spec("B3", "B11")
@pytest.mark.parametrize("command", ["schema", "rules"])
def test_a_line_of_100_megabytes_fails_alone(run: Run, tmp_path: Path, schema: str, command: str) -> None:
    (tmp_path / "r.yaml").write_text("required: [score]\n")
    first, last = (lines(unit).encode() for unit in GOOD)
    huge = b'{"unit_id": "huge", "score": 1, "text": "' + b"x" * 100_000_000 + b'"}\n'
    ran = run(command, schema if command == "schema" else "r.yaml", stdin=first + huge + last)
    assert (ran.code, ran.out.encode()) == (1, first + last)
    (failed,) = rows(ran.err)
    assert (failed["unit_id"], failed["errors"][0]["code"]) == ("huge", "U004")
    assert huge.decode().startswith(failed["raw_response"]), "its head is kept"
    assert 1_000 < len(failed["raw_response"]) < 1_000_000


@pytest.mark.spec("B3", "B11")
def test_a_filter_does_not_compare_ids(run: Run, schema: str) -> None:
    """A stream has no end to wait for, and memory must not grow with it: `trueup sift` compares ids. Nothing is lost here either."""
    given = lines(*({"unit_id": "a", "score": n} for n in range(5)))
    assert run("schema", schema, stdin=given) == (0, given, "")


@contextmanager
def fed(folder: Path, *args: str, **streams: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A filter that got one good and one bad unit and waits for more."""
    given = lines({"unit_id": "good", "score": "1"}, {"unit_id": "bad", "score": "x"}).encode()
    streams = {"stderr": subprocess.PIPE, **streams}
    with subprocess.Popen(
        [*COMMAND, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=clean_environment(), **streams
    ) as process:
        assert process.stdin is not None
        process.stdin.write(given)
        process.stdin.flush()
        yield process


@pytest.mark.spec("B3", "B21")
def test_at_its_time_limit_a_filter_ends_with_3_and_writes_records_only(tmp_path: Path, schema: str) -> None:
    with fed(tmp_path, "schema", schema, "--timeout", "2") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.wait() == 3
        assert list(by_id(process.stdout.read().decode())) == ["good"]
        (failed,) = rows(process.stderr.read().decode())
        assert failed["unit_id"] == "bad"


@pytest.mark.spec("B3", "B21")
def test_an_interrupted_filter_ends_with_130_and_writes_records_only(tmp_path: Path, schema: str) -> None:
    with fed(tmp_path, "schema", schema) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        judged = process.stdout.readline(), process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert [json.loads(line)["unit_id"] for line in judged] == ["good", "bad"]
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")


@pytest.mark.spec("B3")
def test_no_progress_is_drawn_on_a_terminal(tmp_path: Path, schema: str) -> None:
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with fed(tmp_path, "schema", schema, stderr=end) as process:
        os.close(end)
        assert process.stdin is not None
        process.stdin.close()
        drawn = read_all(terminal).decode()
        os.close(terminal)
    (failed,) = rows(drawn)
    assert failed["unit_id"] == "bad"


# Draft 2020-12 ------------------------------------------------------------------------------------------------------

TREE = {
    "$id": "https://example.org/tree",
    "$dynamicAnchor": "node",
    "type": "object",
    "properties": {"n": {"type": "integer"}, "children": {"type": "array", "items": {"$dynamicRef": "#node"}}},
}
DRAFT: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ("prefixItems", {"properties": {"a": {"prefixItems": [{"const": 1}], "items": False}}}, {"a": [1]}, {"a": [1, 2]}),
    ("dependentRequired", {"dependentRequired": {"b": ["a"]}}, {"a": 1, "b": 1}, {"b": 1}),
    ("dependentSchemas", {"dependentSchemas": {"b": {"required": ["a"]}}}, {"a": 1, "b": 1}, {"b": 1}),
    (
        "unevaluatedProperties",
        {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False},
        {"a": 1},
        {"a": 1, "c": 2},
    ),
    ("minContains", {"properties": {"a": {"contains": {"const": 1}, "minContains": 2}}}, {"a": [1, 1]}, {"a": [1, 2]}),
    (
        "if-then",
        {"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"required": ["b"]}},
        {"a": 2},
        {"a": 1},
    ),
    ("$dynamicRef", TREE, {"n": 1, "children": [{"n": 2}]}, {"n": 1, "children": [{"n": "two"}]}),
]


@pytest.mark.spec("B3")
@pytest.mark.parametrize(("schema", "fits", "breaks"), [case[1:] for case in DRAFT], ids=[case[0] for case in DRAFT])
def test_the_schema_is_one_of_draft_2020_12(
    run: Run, schema: dict[str, Any], fits: dict[str, Any], breaks: dict[str, Any]
) -> None:
    text = json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", **schema})
    ran = run("schema", text, stdin=lines({"unit_id": "fits", **fits}, {"unit_id": "breaks", **breaks}))
    assert (ran.code, ran.out) == (1, lines({"unit_id": "fits", **fits}))
    assert {uid: row["failure_stage"] for uid, row in by_id(ran.err).items()} == {"breaks": "schema_validation"}


# Failure records ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("B10")
def test_a_record_has_every_field_at_every_stage(run: Run, tmp_path: Path, schema: str) -> None:
    (tmp_path / "r.yaml").write_text("rules: [{name: small, expr: score < 5, error: 'too large: {score}'}]\n")
    fenced = '```json\n{"score": "9", "parts": [{"n": 1}, {"n": "x"}]}\n```'
    units = [
        {"unit_id": "p", "input": {"q": 1}, "raw_response": "I am sorry.", "retry_count": 1},
        {"unit_id": "s", "input": {"q": 2}, "raw_response": fenced, "retry_count": 2},
        {"unit_id": "v", "input": {"q": 3}, "raw_response": fenced.replace('"x"', "2"), "retry_count": 3},
    ]
    broken = {"custom_id": "i", "response": None, "error": {"code": "server_error", "message": "down"}}
    first = run("schema", schema, stdin=lines(*units, broken))
    second = run("rules", "r.yaml", stdin=first.out)
    assert second.out == ""
    failed = by_id(first.err + second.err)
    assert {uid: row["failure_stage"] for uid, row in failed.items()} == {
        "p": "parse", "s": "schema_validation", "i": "pipeline_internal", "v": "validation",
    }  # fmt: skip
    for row in failed.values():
        assert row.keys() >= RECORD
        assert all(error.keys() >= {"code", "path", "rule", "message"} for error in row["errors"])
        assert all(all(error[name] for name in ("code", "path", "rule", "message")) for error in row["errors"])
    for unit in units:
        row = failed[str(unit["unit_id"])]
        assert [row[name] for name in ("input", "raw_response", "retry_count")] == [
            unit[name] for name in ("input", "raw_response", "retry_count")
        ]
    assert json.loads(failed["i"]["raw_response"]) == broken
    assert [error["path"] for error in failed["s"]["errors"]] == ["$.parts[1].n"]
    assert [(error["path"], error["rule"], error["message"]) for error in failed["v"]["errors"]] == [
        ("$.score", "small", "too large: 9")
    ]
    for uid in ("s", "v"):
        assert ("C001", "$.score", '"9"', "9") in [
            (fix["code"], fix["path"], fix["before"], fix["after"]) for fix in failed[uid]["fixes"]
        ]
        assert "W001" in {fix["code"] for fix in failed[uid]["fixes"]}


@pytest.mark.spec("B5", "B10")
@pytest.mark.parametrize("flat", [True, False])
def test_the_second_phase_sees_the_values_of_the_first_and_keeps_its_fixes(
    run: Run, tmp_path: Path, schema: str, flat: bool
) -> None:
    (tmp_path / "r.yaml").write_text("rules:\n  - {name: small, expr: score + 1 < 5, error: 'too large: {score}'}\n")
    values = {"a": {"score": "2"}, "b": {"score": "9"}}
    units = [
        {"unit_id": uid, **value} if flat else {"unit_id": uid, "raw_response": f"```json\n{json.dumps(value)}\n```"}
        for uid, value in values.items()
    ]
    first = run("schema", schema, stdin=lines(*units))
    second = run("rules", "r.yaml", stdin=first.out)
    (valid,), (failed,) = rows(second.out), rows(second.err)
    assert (valid["unit_id"], failed["unit_id"]) == ("a", "b")
    assert (valid if flat else valid["data"])["score"] == 2, "what is stored is what phase 1 coerced"
    assert failed["errors"][0]["message"] == "too large: 9"
    assert [(fix["code"], fix["before"], fix["after"]) for fix in failed["fixes"] if fix["code"] == "C001"] == [
        ("C001", '"9"', "9")
    ], "what phase 1 fixed is in the failure record of phase 2"
    raw = json.loads(failed["raw_response"]) if flat else failed["raw_response"]
    assert raw == (units[1] if flat else units[1]["raw_response"]), "the text as it came"
