"""Filters lose nothing: every field of every line is in the output unchanged, or a fix or a finding names it."""

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.running import Run
from trueup.batch.judging.trace import TRACE
from trueup.cli.main import COMMANDS, main

SCHEMAS: dict[str, dict[str, Any]] = {
    "open": {"type": "object", "properties": {"n": {"type": "integer"}, "tags": {"type": "array"}, "in": {"type": "object", "properties": {"k": {"type": "number"}}}}},
    "closed": {"type": "object", "properties": {"n": {"type": "integer"}, "x": {}, "ü": {}}, "additionalProperties": False},
    "strings": {"type": "object", "additionalProperties": {"type": "string"}},
}  # fmt: skip
RULES = {
    "rules": [
        {"name": "small", "expr": "'n' not in dir() or n < 10", "error": "{n}"},
        {"name": "odd", "expr": "False", "level": "warning", "error": "w"},
    ]
}


def filters() -> Iterator[str]:
    """The commands that read units from standard input and write them to standard output."""
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        if command is not None and {"max_line", "timeout", "log"} <= {option.name for option in command.params}:
            yield name


FILTERS = sorted(filters())
# The arguments of each filter; a filter without a row here fails.
CALLS: dict[str, list[list[str]]] = {
    "schema": [
        ["open.json"],
        ["closed.json"],
        ["strings.json"],
        ["open.json", "--coerce", "eager", "--accept", "lossy"],
    ],
    "rules": [["rules.json"]],
}


def number() -> st.SearchStrategy[Any]:
    """Numbers that a model may write and a float cannot represent exactly."""
    digits = st.text("0123456789", min_size=17, max_size=40)
    return st.one_of(
        st.integers(-20, 20), st.integers(2**53, 2**90), digits.map(lambda text: Decimal(f"0.{text}1")), digits.map(lambda text: Decimal(f"9{text}.5"))
    )  # fmt: skip


def value() -> st.SearchStrategy[Any]:
    plain = st.one_of(
        st.none(),
        st.booleans(),
        number(),
        st.text(max_size=5),
        st.sampled_from(["5", "3.0", "[1]", '{"n": 1}', "é\u2028"]),
    )
    return st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=5)  # fmt: skip


NAMES = st.sampled_from([
    "n", "tags", "in", "x", "ü", "_x", "_metadata", "retry_count", "error", "errors", "fixes", "warnings", "calls", "data", "input", "response",
    "result", "place", "failure_stage", "id", "custom_id", "value", "max", "", "$ref", "__proto__", TRACE,
]) | st.text(max_size=4)  # fmt: skip
FIELDS = st.dictionaries(NAMES, value(), max_size=6)


def written(row: Any) -> str:
    """A row as JSON, with every digit of its numbers."""
    if isinstance(row, dict):
        return "{" + ", ".join(f"{json.dumps(name)}: {written(part)}" for name, part in row.items()) + "}"
    if isinstance(row, list):
        return "[" + ", ".join(map(written, row)) + "]"
    return format(row, "f") if isinstance(row, Decimal) else json.dumps(row)


def read(line: str) -> Any:
    return json.loads(line, parse_float=Decimal)


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same, types and digits included."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def rounded(row: Any) -> Any:
    """A value as JSON readers with doubles see it; records of replies are written in this way."""
    if isinstance(row, dict):
        return {name: rounded(part) for name, part in row.items()}
    if isinstance(row, list):
        return [rounded(part) for part in row]
    return float(row) if isinstance(row, Decimal) else row


def lost_of_flat(row: dict[str, Any], out: dict[str, Any]) -> list[str]:
    """The fields of a flat unit that are missing or changed without a fix."""
    trace = out.get(TRACE, {"fixes": [], "raw_response": None})
    fixed = {fix["path"] for fix in trace["fixes"]}
    # a fix of the whole unit, such as an opened envelope, keeps the given text next to it
    if "$" in fixed:
        assert same(read(trace["raw_response"]), row)
        return []
    changed = [name for name, part in row.items() if name not in out or not same(part, out[name])]
    paths = {
        name: (f"$.{name}", f"$[{json.dumps(name)}]", f"$[{json.dumps(name, ensure_ascii=False)}]") for name in changed
    }
    return [name for name in changed if not any(path.startswith(paths[name]) for path in fixed)]


def lost_of_record(row: dict[str, Any], out: dict[str, Any]) -> list[str]:
    """The fields of a unit with a reply that are not in its record, its input, or a warning."""
    told = {
        name
        for warned in out.get("warnings", [])
        if warned["code"] == "U010"
        for name in row
        if name in warned["message"]
    }
    places = [out, *(out[name] for name in ("input", "response") if isinstance(out.get(name), dict))]
    ours = {"errors", "fixes", "warnings", "calls", "data", "failure_stage"} if is_record(row) else set()
    return [
        name for name, part in row.items()
        if name not in told and name not in ours and not any(name in place and same(rounded(part), rounded(place[name])) for place in places)
    ]  # fmt: skip


def is_record(row: dict[str, Any]) -> bool:
    return isinstance(row.get("failure_stage"), str) or ("data" in row and isinstance(row.get("fixes"), list))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, schema in SCHEMAS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(schema), "utf-8")
    (tmp_path / "rules.json").write_text(json.dumps(RULES), "utf-8")
    return tmp_path


def test_every_filter_of_the_command_line_is_covered() -> None:
    assert set(FILTERS) == CALLS.keys()


@pytest.mark.spec("B3", "B10", "B11")
@pytest.mark.parametrize(
    ("filter_name", "args"), [(name, args) for name in FILTERS for args in CALLS.get(name, [["--help"]])]
)
@settings(
    max_examples=settings.default.max_examples // 6,
    suppress_health_check=[*settings.default.suppress_health_check, HealthCheck.function_scoped_fixture],
)
@given(
    rows=st.lists(FIELDS, min_size=1, max_size=40),
    reply=st.sampled_from(["", '{"n": 1}', '```json\n{"n": "1",}\n```', "none"]),
)
def test_every_field_is_in_the_output_or_named(
    run: Run, folder: Path, filter_name: str, args: list[str], rows: list[dict[str, Any]], reply: str
) -> None:  # fmt: skip
    units = [{"unit_id": f"u{at}", **row, **({"raw_response": reply} if reply else {})} for at, row in enumerate(rows)]
    ran = run(filter_name, *args, stdin="".join(written(unit) + "\n" for unit in units))
    out = {row["unit_id"]: row for row in map(read, ran.out.split("\n")[:-1])}
    failed = {row["unit_id"]: row for row in map(read, ran.err.split("\n")[:-1])}
    assert len(out) + len(failed) == len(units), "in = valid + failed"
    assert ran.code == (1 if failed else 0), ran
    for unit in units:
        record = failed.get(unit["unit_id"]) or out[unit["unit_id"]]
        lost: Callable[..., list[str]] = lost_of_record if reply else lost_of_flat
        if unit["unit_id"] in out or (reply and record["raw_response"] == reply):
            assert lost(unit, record) == []
        else:
            assert same(read(record["raw_response"]), unit), "the raw text of a flat unit, or of no unit, is its line"
