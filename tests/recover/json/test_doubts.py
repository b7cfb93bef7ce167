"""Strings that ran into their neighbours, quotes too many or too few, ends that may continue: read correctly, or refused.

Every member that is read here is one; ambiguous text is refused and never silently joined.
"""

from typing import Any

import pytest

from tests.recover.laws import reads_as as check
from trueup import Contract

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
PERSON = {"type": "object", "properties": {"name": TEXT, "age": WHOLE}, "required": ["name", "age"]}
ADA = {"name": "Ada", "age": 36}


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param('{"name": "Ada"", "age": 36}', ADA, id="doubled-at-the-end"),
        pytest.param('{"name": ""Ada", "age": 36}', ADA, id="doubled-at-the-start"),
        pytest.param('{"name": "27"", "age": 36}', {"name": '27"', "age": 36}, id="inches"),
        pytest.param(r'{"name": \"Ada\", "age": 36}', ADA, id="both-escaped"),
        pytest.param(r'{"name": "Ada\", "age": 36}', ADA, id="last-escaped"),
        pytest.param(r'{"name": "the \"x\", "age": 36}', {"name": 'the "x"', "age": 36}, id="last-missing"),
        pytest.param('{"name": "Ada" and "age": 36}', None, id="words-behind"),
        pytest.param('{"name": "Ada",\n\nSorry, once more:\n\n "age": 36}', None, id="apology-inside"),
        pytest.param('{“name”: “say "hi" now”, “age”: 36}', {"name": 'say "hi" now', "age": 36}, id="curved"),
    ],
)
def test_quotes_at_the_edge_of_a_string_are_resolved(reply: str, expected: Any) -> None:
    check(PERSON, reply, expected)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param('["He said "a", "b" and c", "d"]', ['He said "a", "b" and c', "d"], id="pairs"),
        pytest.param('["call f("a", "b", 3)", "d"]', ['call f("a", "b", 3)', "d"], id="arguments"),
        pytest.param('["say "yes", "no", or "maybe"", "d"]', ['say "yes", "no", or "maybe"', "d"], id="at-the-end"),
        pytest.param('["a 5" pipe", "d"]', ['a 5" pipe', "d"], id="inches"),
        pytest.param('["say "a", "b", "c"]', None, id="never-closed"),
        pytest.param('["(x),\n    "{\\"a\\": 1}",\n "y"]', ["(x)", '{"a": 1}', "y"], id="closing-quote-missing"),
        pytest.param('[O\'Brien", "été"]', ["O'Brien", "été"], id="opening-quote-missing"),
        pytest.param('[what?\\" he asked", "x"]', ['what?" he asked', "x"], id="escaped-inside-bare"),
        pytest.param('[a", b"]', ["a", "b"], id="no-prefix"),
        pytest.param("[[b\"x\", u'y']]", [["x", "y"]], id="prefix"),
        pytest.param('[“["x", "y"]”]', ['["x", "y"]'], id="curved"),
    ],
)
def test_quotes_inside_items_are_resolved(reply: str, expected: Any) -> None:
    check(True, reply, expected)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param('{"a b: true,\n "n: "x",\n "m": 1}', {"a b": True, "n": "x", "m": 1}, id="last-quotes-missing"),
        pytest.param('{"a": 1, key two": "x", "m": 1}', {"a": 1, "key two": "x", "m": 1}, id="first-quote-missing"),
        pytest.param('{"a": "x", "b: 2, "c": 3}', {"a": "x", "b": 2, "c": 3}, id="behind-a-string"),
        pytest.param('{"note = "2024", "name": "x"}', None, id="equals-sign"),
        pytest.param('{"a" "x", "b" "y", "c" 81.3}', {"a": "x", "b": "y", "c": 81.3}, id="no-colons"),
        pytest.param('{"a": {not json}}', None, id="words-in-braces"),
    ],
)
def test_keys_with_only_one_quote_are_read(reply: str, expected: Any) -> None:
    check(True, reply, expected)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param(
            '{"a": "if (x) { return; },\n "b": "y"}', {"a": "if (x) { return; }", "b": "y"}, id="brace-of-the-text"
        ),
        pytest.param('{"a": {"b": "{x}\n }, "c": 1}', {"a": {"b": "{x}"}, "c": 1}, id="brace-of-the-object"),
        pytest.param('{"a": [1, 2}, // note\n "b": 3\n]\nThat is all.', None, id="members-behind-a-comment"),
        pytest.param(
            '{"code": ```python\nx = {"b": 1}\n```, "n": 1}', {"code": 'x = {"b": 1}', "n": 1}, id="code-block"
        ),
        pytest.param('{"a": ["x"  1]  "b": false}  "c": "y", "d": 2}', None, id="swallowed"),
    ],
)
def test_missing_brackets_are_added_in_the_right_position(reply: str, expected: Any) -> None:
    check(True, reply, expected)


@pytest.mark.spec("A15")
@pytest.mark.parametrize("reply", ['{"n": 12', '{"n": [1, 2', '{"n": 12.5', '{"n": {"m": 0x1F', '{"n": yes and no'])
def test_an_end_that_may_continue_is_reported_and_refused_in_strict_mode(reply: str) -> None:
    verdict = Contract(True).check(reply)
    assert verdict.ok
    assert [finding.code for finding in verdict.findings] == ["P011"]
    assert not Contract(True, strict=True).check(reply).ok


@pytest.mark.parametrize("reply", ['{"n": 12\n', '{"n": true', '{"n": "12"', '```json\n{"n": 12\n```', "<a>{n: 12</a>"])
def test_an_end_that_cannot_continue_is_not_doubted(reply: str) -> None:
    verdict = Contract(True).check(reply)
    assert verdict.ok
    assert not verdict.findings


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (r'{"f": "\frac{1}{2}", "a": 1,}', {"f": r"\frac{1}{2}", "a": 1}),
        ('```json\n{"f": "\\frac{1}{2}"}\n```', {"f": r"\frac{1}{2}"}),
        (r'{"f": "\beta \times \nabla \rho",}', {"f": r"\beta \times \nabla \rho"}),
        (r'{"f": "text\nnew \theta",}', {"f": "text\nnew \\theta"}),
        (r'{"f": "Let \alpha be\nthe angle.\n\nThen \tan x"}', {"f": "Let \\alpha be\nthe angle.\n\nThen \\tan x"}),
        (r'{"p": "src\new\data"}', {"p": r"src\new\data"}),
        (r'{"a": "one\nnew line\tand", "b": "C:\\new", "c": "\\frac",}', {"a": "one\nnew line\tand", "b": "C:\\new", "c": r"\frac"}),
    ],
)  # fmt: skip
def test_legal_escapes_that_are_probably_unintended_are_kept_in_broken_json(reply: str, expected: Any) -> None:
    check(True, reply, expected)


@pytest.mark.parametrize("reply", [r'{"f": "\frac{1}{2}"}', r'["\\ \beta"]', r'{"p": "C:\new\table"}', r'"5 \times 3"'])
def test_valid_json_with_such_escapes_keeps_its_value_and_gets_a_warning(reply: str) -> None:
    import json

    verdict = Contract(True).check(reply)
    assert verdict.ok
    assert verdict.data == json.loads(reply)
    assert not verdict.fixes
    assert [(finding.code, finding.level) for finding in verdict.findings] == [("P012", "warning")]
    assert not Contract(True, strict=True).check(reply).ok


@pytest.mark.parametrize(
    "reply", [r'{"f": "\\frac{1}{2}"}', r'["a\nb\tc\r\nd"]', r'["A:\nYes, it is"]', '["\\b\\f\\n"]']
)
def test_intended_escapes_get_no_warning(reply: str) -> None:
    assert not Contract(True, strict=True).check(reply).findings


@pytest.mark.parametrize(
    "reply",
    [
        '1: {\n2:   "name": "Ada",\n3:   "age": 36\n4: }',
        '  9 | {\n 10 |   "name": "Ada",\n 11 |   "age": 36\n 12 | }',
        'Changed:\n+ {\n+   "name": "Ada",\n+   "age": 36\n+ }\n',
        '# {\n#   "name": "Ada",\n#   "age": 36\n# }',
        '>>> {\n...   "name": "Ada",\n...   "age": 36\n... }',
    ],
)
def test_marks_at_the_start_of_each_line_are_removed(reply: str) -> None:
    check(PERSON, reply, ADA)
    assert "W016" in {fix.code for fix in Contract(PERSON).check(reply).fixes}


@pytest.mark.parametrize(
    "reply",
    [
        'name": "Ada", "age": 36}',
        'name: "Ada", age: 36}',
        '"name": "Ada",\n  "age": 36\n}\n```',
        '{"name"-> "Ada", "age"-> 36}',
        '{"name":= "Ada", "age":= 36}',
        "{''name'': ''Ada'', ''age'': 36}",
        "{``name``: ``Ada``, ``age``: 36}",
        "{´name´: ´Ada´, ´age´: 36}",
    ],
)
def test_a_bracket_opened_in_the_prompt_and_other_marks_are_handled(reply: str) -> None:
    check(PERSON, reply, ADA)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param('{"a" = {"b" = 1\n\n  ,\n  "c" = [2\n', None, id="members-behind-a-blank-line"),
        pytest.param('{"a": [{"p": "x"}}, // n\n [5]]]\n}}', None, id="items-behind-a-closer-too-many"),
        pytest.param('{"a": ["- {x}";\n "[\\"x\\", \\"y\\"]";\n ', None, id="list-in-a-string-of-a-cut-value"),
        pytest.param('{"n": "ok, // note\n "m": 2}', {"n": "ok", "m": 2}, id="comment-behind-an-open-string"),
        pytest.param('{"n": "ok,, "m": 2}', {"n": "ok", "m": 2}, id="two-commas-behind-an-open-string"),
        pytest.param('{"n": "http://x.y/#c,\n}', {"n": "http://x.y/#c"}, id="comma-behind-an-open-string"),
        pytest.param('{"n": \\"quoted\\"", "m": 2}', None, id="quotes-of-the-text-alone"),
        pytest.param('{"a": # title",\n"b": [1],\n"c": 2}', None, id="no-inner-object"),
    ],
)
def test_the_text_after_a_value_is_not_lost(reply: str, expected: Any) -> None:
    check(True, reply, expected)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param('{"a": "x", "b": [[]]  "', None, id="a-key-that-was-cut-at-its-first-quote"),
        pytest.param('{"note = [], "tags = "$5", "user": 1}', None, id="equals-signs"),
        pytest.param('{"age: [], "tags: "R&D, "x: "y, "n: null}', None, id="no-closing-quotes-at-all"),
        pytest.param('{"age" => "ok; "is_ok" => 85.79; "p" => "5 %; "n" => 6}', None, id="arrows"),
        pytest.param('{"a": "Ada, /* a, b */ \n  "b": null}', {"a": "Ada", "b": None}, id="comment"),
    ],
)
def test_keys_inside_an_unclosed_string_are_found(reply: str, expected: Any) -> None:
    check(True, reply, expected)
