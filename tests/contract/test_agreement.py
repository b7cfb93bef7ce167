"""The type decides: without other checks, a verdict is ok exactly if the type's own JSON validator accepts the value in
the reply.

`tests/contract/agreement` contains the annotations, the replies and the expected results, written by hand. First the
table is compared with pydantic and msgspec, then trueup with the table.
"""

import datetime as dt
import functools
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from tests.contract.agreement.mutations import mutations
from tests.contract.agreement.oracle import (
    arguments,
    dumped,
    dumped_arguments,
    either_arguments,
    either_judgement,
    judgement,
)
from tests.contract.agreement.row import REFUSED, Case, Row, ToolRow, wrapped
from tests.contract.agreement.table import ROWS, TOOLS, same
from trueup import Contract, Verdict, execute

BY_NAME: dict[str, Row] = {row.name: row for row in ROWS}
TOOL_BY_NAME: dict[str, ToolRow] = {tool.name: tool for tool in TOOLS}
EVERY: list[Row | ToolRow] = [*ROWS, *TOOLS]
CALL = '<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'
ARGUMENTS = "$.calls[0].args"


def _params(rows: Sequence[Row | ToolRow]) -> list[Any]:
    return [
        pytest.param(row.name, case, id=f"{row.name}-{case.kind}-{number}")
        for row in rows
        for number, case in enumerate(row.cases, 1)
    ]


@functools.cache
def contract_of(name: str) -> Contract[Any]:
    return Contract(BY_NAME[name].annotation)


@functools.cache
def contract_of_tool(name: str) -> Contract[Any]:
    return Contract(tools=[TOOL_BY_NAME[name].function])


def check_call(contract: Contract[Any], tool: ToolRow, written: str) -> Verdict[Any]:
    return contract.check(CALL.format(name=tool.function.__name__, arguments=written))


def test_the_table_is_large_and_complete() -> None:
    assert len(EVERY) >= 220
    assert len(BY_NAME) == len(ROWS)
    assert len({repr(row.annotation) for row in ROWS}) == len(ROWS), "an annotation stands in the table twice"
    for row in EVERY:
        kinds = [case.kind for case in row.cases]
        assert {"valid", "invalid", "broken"} <= set(kinds), row.name
        assert any(case.accepted for case in row.cases if case.kind == "broken"), row.name
    placed = [case for row in EVERY for case in row.cases if case.path is not None]
    assert len(placed) >= 60


@pytest.mark.parametrize("name", BY_NAME)
def test_the_table_is_right(name: str) -> None:
    row = BY_NAME[name]
    for case in row.cases:
        assert same(judgement(row, case.judged), case.expected), case.reply
        if case.kind == "coerced":
            assert judgement(row, case.written) is REFUSED, f"{case.reply}: the type accepts it, so nothing is coerced"


@pytest.mark.parametrize("name", TOOL_BY_NAME)
def test_the_table_of_functions_is_right(name: str) -> None:
    tool = TOOL_BY_NAME[name]
    for case in tool.cases:
        assert same(arguments(tool, case.judged), case.expected), case.reply
        if case.kind == "coerced":
            assert arguments(tool, case.written) is REFUSED, f"{case.reply}: the types accept it, so nothing is coerced"


def compare(name: str, case: Case) -> None:
    verdict = contract_of(name).check(case.reply)
    assert verdict.ok is case.accepted, (case.reply, verdict.findings)
    if case.accepted:
        assert same(verdict.unwrap(), case.expected)
        return
    assert verdict.errors
    if case.path is not None:
        assert verdict.errors[0].path == case.path


@pytest.mark.spec("B4")
@pytest.mark.parametrize(("name", "case"), _params(ROWS))
def test_the_type_decides(name: str, case: Case) -> None:
    compare(name, case)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_fence_and_prose_do_not_change_the_judgement(name: str) -> None:
    for case in map(wrapped, BY_NAME[name].cases):
        # If the type accepts any text, the whole reply is a second reading if the first one is refused.
        if "broken" not in case.kind and (case.accepted or judgement(BY_NAME[name], case.reply) is REFUSED):
            compare(name, case)


@pytest.mark.parametrize("name", BY_NAME)
def test_without_our_coercion_the_type_alone_decides(name: str) -> None:
    row = BY_NAME[name]
    alone = Contract(row.annotation, coerce="off")
    first = next(case for case in row.cases if case.kind == "valid")
    for value in mutations(first.written):
        fair = either_judgement(row, value)
        verdict = alone.check(json.dumps(value))
        if any(fix.code == "W007" for fix in verdict.fixes):
            continue  # `{"value": 5}` for a number: the recovered value is 5
        got = verdict.unwrap() if verdict.ok else REFUSED
        assert any(same(got, one) for one in fair), value
        if REFUSED not in fair:
            assert same(contract_of(name).check(json.dumps(value)).unwrap(), got), value


@pytest.mark.spec("T5")
@pytest.mark.parametrize(("name", "case"), _params(TOOLS))
def test_the_types_of_the_parameters_decide(name: str, case: Case) -> None:
    verdict = check_call(contract_of_tool(name), TOOL_BY_NAME[name], case.reply)
    function = TOOL_BY_NAME[name].function
    done = execute(verdict, [function]).done
    assert verdict.ok is case.accepted, verdict.findings
    if case.accepted:
        assert [call.name for call in verdict.calls] == [function.__name__]
        assert not verdict.refused
        assert done[0].error is None
        assert same(done[0].value, case.expected)
        return
    assert not verdict.calls
    assert not done, "a refused call was run"
    assert [refusal.call.name for refusal in verdict.refused] == [function.__name__]
    if case.path is not None:
        assert verdict.errors[0].path == f"{ARGUMENTS}.{case.path}"


@pytest.mark.parametrize("name", TOOL_BY_NAME)
def test_without_our_coercion_the_parameters_alone_decide(name: str) -> None:
    tool = TOOL_BY_NAME[name]
    alone = Contract(tools=[tool.function], coerce="off")
    first = next(case for case in tool.cases if case.kind == "valid")
    for value in mutations(first.written):
        if isinstance(value, dict) and "unasked" not in value:  # an unexpected argument is reported separately
            done = execute(check_call(alone, tool, json.dumps(value)), [tool.function]).done
            got = done[0].value if done else REFUSED
            assert any(same(got, one) for one in either_arguments(tool, value)), value


def differences(written: Any, kept: Any, path: str = "$") -> Iterator[str]:
    """The places at which a value differs from the reply. Defaults that the type fills in are ignored, and so is the
    order of a list, because sets have none.
    """
    if isinstance(written, dict) and isinstance(kept, dict):
        for key in written.keys() & kept.keys():
            yield from differences(written[key], kept[key], f"{path}.{key}")
    elif isinstance(written, list) and isinstance(kept, list) and len(written) <= len(kept):
        if sorted(map(repr, written)) != sorted(map(repr, kept)):
            for index, (one, other) in enumerate(zip(written, kept, strict=False)):
                yield from differences(one, other, f"{path}[{index}]")
    elif isinstance(written, bool) is not isinstance(kept, bool) or (written != kept and not same_time(written, kept)):
        yield path


def same_time(written: Any, kept: Any) -> bool:
    """Two notations of one time of day or one duration: "10:30" is 10:30:00, and "01:30:00" is PT1H30M."""
    for kind in (dt.time, dt.timedelta):
        with suppress(ValidationError):
            reader = TypeAdapter[Any](kind)
            return isinstance(written, str) and bool(reader.validate_python(written) == reader.validate_python(kept))
    return False


def kept_as_written(written: Any, kept: Any) -> bool:
    """Everything in the reply is present, with the same types; an integer may be a float."""
    if isinstance(written, dict):
        return isinstance(kept, dict) and all(
            key in kept and kept_as_written(written[key], kept[key]) for key in written
        )
    if isinstance(written, list):
        return isinstance(kept, list) and len(kept) == len(written) and all(map(kept_as_written, written, kept))
    return written == kept and (type(written) is type(kept) or (type(written) is int and type(kept) is float))


def reported(path: str, verdict: Verdict[Any]) -> bool:
    """A fix of the coercion, or of the type itself, at this place, around it or inside it. A string that contains the
    whole value as JSON is opened by the reader (W008).
    """
    paths = [fix.path for fix in verdict.fixes if fix.code.startswith("C") or fix.code == "W008"]
    return any(_within(path, other) or _within(other, path) for other in paths)


def _within(inner: str, outer: str) -> bool:
    return inner == outer or inner.startswith((f"{outer}.", f"{outer}["))


@pytest.mark.parametrize("name", BY_NAME)
def test_no_change_is_silent(name: str) -> None:
    row = BY_NAME[name]
    for case in row.cases:
        verdict = contract_of(name).check(case.reply)
        if not (case.accepted and verdict.ok):
            continue
        kept = dumped(row, verdict.unwrap())
        if "**********" in str(kept):
            continue  # a secret is not written
        assert [path for path in differences(case.written, kept) if not reported(path, verdict)] == [], case.reply
        if case.kind == "valid" and kept_as_written(case.written, kept):
            assert verdict.fixes == (), case.reply


@pytest.mark.parametrize("name", TOOL_BY_NAME)
def test_no_change_of_arguments_is_silent(name: str) -> None:
    tool = TOOL_BY_NAME[name]
    for case in tool.cases:
        verdict = check_call(contract_of_tool(name), tool, case.reply)
        if not (case.accepted and verdict.ok):
            continue
        kept = dumped_arguments(tool, case.expected)
        changed = differences(case.written, kept, ARGUMENTS)
        assert [path for path in changed if not reported(path, verdict)] == [], case.reply
        if case.kind == "valid" and kept_as_written(case.written, kept):
            assert [fix.code for fix in verdict.fixes] == ["K001"], case.reply
