"""The position of a fix: its path in the value, its span in the original text, and the text before and after."""

import pytest

from trueup import Contract

ORDER = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "who": {"type": "string"},
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"sku": {"type": "string"}, "qty": {"type": "integer"}}},
        },
        "unit price": {"type": "number"},
        "state": {"enum": ["OPEN", "SHIPPED"]},
    },
    "required": ["id"],
}


def places(reply: str, code: str) -> list[tuple[str, str, str]]:
    verdict = Contract(ORDER, accept="lossy").check(reply)
    found = [fix for fix in verdict.fixes if fix.code == code]
    assert all(fix.span is not None for fix in found)
    return [(fix.path, reply[slice(*fix.span)], fix.after.strip()) for fix in found if fix.span]


@pytest.mark.parametrize(
    ("reply", "code", "expected"),
    [
        ('Sí: {"id": 1} ¡ya!', "W002", [("$", "Sí: ", ""), ("$", " ¡ya!", "")]),
        ('```json\n{"id": 1}\n```', "W001", [("$", "```json\n", ""), ("$", "```", "")]),
        ('<think>{"id": 2}</think>{"id": 1}', "W003", [("$", '<think>{"id": 2}</think>', "")]),
        ('{"id": 1, "lines": [{"sku": "a",}, {"sku": "b"},]}', "S001", [("$.lines[0]", ",", ""), ("$.lines", ",", "")]),
        ('{"id": 1, "lines": [{"qty": 2}, {"qty": 3\n"sku": "b"}]}', "S002", [("$.lines[1]", "", ",")]),
        ('{"id": 1, "lines": [{"qty": 2}', "S005", [("$.lines", "", "]}")]),
        ("{'id': 1, 'who': 'é'}", "S008", [("$.id", "'id'", '"id"'), ("$.who", "'who'", '"who"'), ("$.who", "'é'", '"é"')]),
        ('{"id": 1, "who": "a "b" c"}', "S012", [("$.who", '"a "b" c"', '"a \\"b\\" c"')]),
        ('{id: 1, "who": "x"}', "S014", [("$.id", "id", '"id"')]),
        ('{"id": 1, "who": María José}', "S015", [("$.who", "María José", '"María José"')]),
        ('{"id": 1, "who": "a\nb"}', "S016", [("$.who", '"a\nb"', '"a\\nb"')]),
        ('{"id": 1, // uno\n "who": "x"}', "S017", [("$", "// uno", "")]),
        ('{"id": 1, "who": None}', "S018", [("$.who", "None", "null")]),
        ('{"id": +1}', "S020", [("$.id", "+1", "1")]),
        ('{"id": 1, "who": "a" + "b"}', "S022", [("$.who", '+ "b"', "")]),
        ('{"id"：1}', "S024", [("$.id", "：", ":")]),
        ('{"id": 0, "id": 1}', "S032", [("$.id", '"id": 0,', "")]),
        ('{"id": "1", "lines": [{"qty": " 7 "}]}', "C001", [("$.id", '"1"', "1"), ("$.lines[0].qty", '" 7 "', "7")]),
        ('{" ID ": 1}', "C010", [("$.id", '" ID "', '"id"')]),
        ('{"id": 1, "unit price": "2.5"}', "C002", [('$["unit price"]', '"2.5"', "2.5")]),
        ('{"id": 1, "state": "shipped"}', "C011", [("$.state", '"shipped"', '"SHIPPED"')]),
        ('{"id": 1, "lines": {"qty": 1}}', "C006", [("$.lines", '{"qty": 1}', '[{"qty":1}]')]),
        ('{"result": {"id": 1}}', "W007", [("$", '{"result": {"id": 1}}', "")]),
        ('{"result": {"id": "1"}}', "C001", [("$.id", '"1"', "1")]),
    ],
)  # fmt: skip
def test_a_fix_says_where_it_was_made(reply: str, code: str, expected: list[tuple[str, str, str]]) -> None:
    assert places(reply, code) == expected


def test_spans_count_characters_not_bytes() -> None:
    reply = '😀 é {"id": "1", "who": "𝒳",}'
    verdict = Contract(ORDER).check(reply.encode())
    assert [(fix.code, reply[slice(*fix.span)]) for fix in verdict.fixes if fix.span] == [
        ("W002", "😀 é "),
        ("C001", '"1"'),
        ("S001", ","),
    ]


def test_long_excerpts_are_cut() -> None:
    reply = "x" * 5000 + '{"id": 1}'
    (fix,) = Contract(ORDER).check(reply).fixes
    assert fix.span == (0, 5000)
    assert len(fix.before) == 200
    assert fix.before.endswith("…")
