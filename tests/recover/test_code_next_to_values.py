"""Code in fences next to the value: it is not part of a broken value, and is recorded as code."""

from typing import Any

import pytest

from trueup import Contract
from trueup.recover.layers.fence import code_blocks

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}
ANSWER = '```json\n{"name": "Ada", "age": 36}\n```\n'
CODE = [
    '```js\nfunction f(a) {\n  if (a) { return {name: "x"}; }\n  return null;\n}\n```\n',
    '```c\nint main() { int a[3] = {1,2,3}; if (a[0]) { puts("hi"); } return 0; }\n```\n',
    '~~~python\nd = {"name": [1, {"age": f"{x}"}\nprint(d["name"])\n~~~\n',
    "```css\na { color: red; }\nb { margin: 0 }\n```\n",
    '```go\nm := map[string][]int{"a": {1}, "b": {2}}\n```\n',
]


@pytest.mark.parametrize("schema", [PERSON, True])
@pytest.mark.parametrize("code", CODE)
@pytest.mark.parametrize("order", ["before", "behind", "both"])
def test_code_next_to_the_answer_is_not_part_of_it(schema: Any, code: str, order: str) -> None:
    text = f"How it works:\n\n{code if order != 'behind' else ''}\nThe answer:\n{ANSWER}\n{code if order != 'before' else ''}"
    verdict = Contract(schema).check(text)
    assert verdict.ok, verdict.findings
    assert verdict.data == {"name": "Ada", "age": 36}
    assert {fix.grade for fix in verdict.fixes} <= {"lossless", "guess"}


@pytest.mark.parametrize(
    "text",
    [
        "```\nf() { }\n```",
        "```json\nf() { }\n```",
        '```js\n {"a": [\n```',
        "```js\nf() {",
        "```js\nf() { }\n```json\n{}",
    ],
)
def test_a_possible_start_of_the_value_is_not_read_as_code(text: str) -> None:
    assert code_blocks(text) == []


def test_a_fence_inside_a_longer_one_does_not_end_it() -> None:
    assert code_blocks("````sh\ncat <<x\n```\nx\n````\n") == [(6, 21)]


@pytest.mark.parametrize("value", ['{"name": "Ada", "age": 36}', "{'name': 'Ada', 'age': 36}"])
def test_a_value_in_a_code_fence_is_still_read(value: str) -> None:
    for text in (f"```js\nconst p = {value};\n```", f"```python\n{value}\n```"):
        assert Contract(PERSON).check(text).data == {"name": "Ada", "age": 36}
