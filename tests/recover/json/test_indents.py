"""Brackets that are missing, wrong or too many, in values written over many lines: the indentation says where they belong."""

from typing import Any

import pytest

from trueup import Contract

ANY = Contract(True)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param('{\n  "a": {\n    "b": 1\n  ,\n  "c": 2\n}', {"a": {"b": 1}, "c": 2}, id="brace-left-out"),
        pytest.param('{\n  "a": {\n    "b": 1\n  "c": 2\n}', {"a": {"b": 1}, "c": 2}, id="line-left-out"),
        pytest.param('{\n\t"a": {\n\t\t"b": 1\n\t"c": 2\n}', {"a": {"b": 1}, "c": 2}, id="tabs"),
        pytest.param(
            '{\n  "a": {\n    "b": [\n      1,\n      2\n  },\n  "c": 2\n}', {"a": {"b": [1, 2]}, "c": 2}, id="bracket"
        ),
        pytest.param('{\n  "a": [\n    1\n  },\n  "c": 2\n}', {"a": [1], "c": 2}, id="wrong"),
        pytest.param(
            '{\n  "a": {\n    "b": [\n      1\n    },\n    "d": [\n      3\n    ]\n  },\n  "c": null\n]',
            {"a": {"b": [1], "d": [3]}, "c": None},
            id="two-wrong",
        ),
        pytest.param('{\n  "a": {\n    "b": []]\n  }},\n  "c": 2\n}}', {"a": {"b": []}, "c": 2}, id="too-many"),
        pytest.param(
            '{\n  "a": {\n    "b": {"x": 1}},\n    "c": 2\n  },\n  "d": 3\n}',
            {"a": {"b": {"x": 1}, "c": 2}, "d": 3},
            id="too-many-in-a-line",
        ),
        pytest.param('[\n  {\n    "a": 1\n  ,\n  {\n    "a": 2\n  }\n]', [{"a": 1}, {"a": 2}], id="items"),
        pytest.param(
            '{\n  "a": [{\n    "b": 1\n  }, {\n    "b": 2\n  },\n  "d": 3\n}', {"a": [{"b": 1}, {"b": 2}], "d": 3}, id="two-on-a-line"
        ),
        pytest.param('{\n"a": {\n"b": 1,\n"c": 2\n}', {"a": {"b": 1, "c": 2}}, id="not-indented"),
        pytest.param(
            '{\n  "a": {\n  "b": 1,\n  "c": 2\n  },\n  "d": 3\n}}', {"a": {"b": 1, "c": 2}, "d": 3}, id="badly-indented"
        ),
    ],
)  # fmt: skip
def test_indentation_shows_where_a_bracket_belongs(reply: str, expected: Any) -> None:
    verdict = ANY.check(reply)
    assert verdict.ok, verdict.findings
    assert verdict.data == expected
    assert {"S005", "S006", "S007"} & {fix.code for fix in verdict.fixes}


@pytest.mark.parametrize(
    "reply",
    [
        '{\n  "a": {\n    "b": 1\n  ,\n  "c": [\n    1,\n',
        '{\n  "a": [\n    "x"\n  }\n},\n  ',
        '{\n  "a": {\n    "b": 1\n  ,\n  "c":',
    ],
)
def test_truncated_replies_stay_refused(reply: str) -> None:
    assert not ANY.check(reply).ok
