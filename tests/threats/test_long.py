"""Long replies of ordinary models are read correctly: the limits for hostile ones do not affect them."""

from typing import Any

import pytest

from trueup import Contract

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "total": {"type": "number"}},
    "required": ["name", "total"],
}
TOOLS = [
    {"name": "book", "parameters": {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}}
]
CALL = '<tool_call>{"name": "book", "arguments": {"day": "Monday"}}</tool_call>'
VALUE = '```json\n{"name": "Ana", "total": 12.5}\n```'
C = 'static int add(int a, int b)\n{\n    if (a > b) { return a + b; }\n    return table[a]["x"];\n}\n\n'
JS = "function f(x) {\n  const y = {a: x, b: [1, 2]};\n  return y;\n}\n"
LINES = {
    "prose": ("{}", "Every line was checked, and every sum was found to be right (see the notes [3]). "),
    "log": ("{}", "2026-01-01 12:00:00 INFO [main] request {id=7, path=/a, user={name=x}} took 3 ms\n"),
    "python log": ("{}", "{'id': 7, 'name': 'user', 'tags': ['a', 'b'], 'ok': True, 'none': None, 'msg': 'it is done'}\n"),
    "source code": ("```c\n{}```\n", C),
    "script": ("```js\n{}```\n", JS),
}  # fmt: skip
PLACES = {"start": "{answer}\n\n{rest}", "middle": "{rest}\n\n{answer}\n\n{rest}", "end": "{rest}\n\n{answer}"}


def written(kind: str, place: str, answer: str, size: int) -> str:
    frame, unit = LINES[kind]
    rest = frame.replace("{}", unit * (size // len(unit)))
    return PLACES[place].replace("{rest}", rest).replace("{answer}", answer)


@pytest.mark.spec("X2")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", LINES)
def test_a_call_is_found_at_any_position(kind: str, place: str) -> None:
    verdict = Contract(tools=TOOLS).check(written(kind, place, CALL, 300_000))
    assert [(call.name, call.args) for call in verdict.calls] == [("book", {"day": "Monday"})]
    assert verdict.ok


@pytest.mark.spec("X2")
@pytest.mark.parametrize("tools", [None, TOOLS], ids=["schema", "schema and tools"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["prose", "log", "source code"])
def test_a_value_is_found_at_any_position(kind: str, place: str, tools: Any) -> None:
    verdict = Contract(SCHEMA, tools=tools).check(written(kind, place, VALUE, 150_000))
    assert verdict.data == {"name": "Ana", "total": 12.5}
    assert verdict.ok


@pytest.mark.spec("X2")
def test_source_code_of_a_megabyte_hides_no_call() -> None:
    verdict = Contract(tools=TOOLS).check(written("source code", "end", CALL, 1_000_000))
    assert [call.name for call in verdict.calls] == ["book"]


@pytest.mark.spec("X2")
def test_megabytes_of_broken_values_are_abandoned() -> None:
    torn = "{a b c, [x y: } z\n" * 10 + '{"name": "book", "arguments": {"day": ' + "q " * 400 + "\n"
    verdict = Contract(tools=TOOLS).check(torn * 4_000)
    assert [(f.code, f.data["what"]) for f in verdict.errors] == [("L003", "letters of broken values")]
    assert verdict.calls == ()


@pytest.mark.spec("X2")
def test_one_broken_value_is_read_however_large_it_is() -> None:
    verdict = Contract(tools=TOOLS).check("[" + "1, 2, ... , {'a': x y}, " * 120_000 + "]\n" + CALL)
    assert [call.name for call in verdict.calls] == ["book"]
