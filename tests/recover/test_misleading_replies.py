"""Replies in which a wrong value could silently pass: each is read correctly, refused, or marked as a guess."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.recover.laws import reads_as as check
from trueup import Contract
from trueup.recover.remarks import is_withdrawn, may_withdraw

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def object_schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def codes(schema: Any, reply: str, **options: Any) -> set[str]:
    return {fix.code for fix in Contract(schema, **options).check(reply).fixes}


AGE = object_schema(age=WHOLE)
PLAIN: dict[str, Any] = {"type": "array", "items": TEXT}
NUMBERS: dict[str, Any] = {"type": "array", "items": WHOLE}
PEOPLE: dict[str, Any] = {"type": "array", "items": AGE}


@pytest.mark.parametrize(
    "words",
    [
        "Wait, actually that's wrong. Corrected:",
        "Sorry, I made a mistake. Here is",
        'Sorry, I made a mistake. Here is the correct version:\n\n{\n  "ag',
        "**Correction:**\n```json\n",
        "Oops, that is incorrect. Here's the fixed one:",
        "Wait, actually that's wrong.",
        "Sorry, I made a mistake. ",
        "Wait, actua",
        "Correction",
    ],
)
@pytest.mark.parametrize("schema", [AGE, True])
def test_a_retracted_value_is_refused_if_the_better_one_is_missing(schema: Any, words: str) -> None:
    verdict = Contract(schema).check(f'{{"age": 36}}\n\n{words}')
    assert not verdict.ok
    assert "W018" in codes(schema, f'{{"age": 36}}\n\n{words}', accept="lossy")


@pytest.mark.parametrize(
    "words",
    [
        "I hope this is correct! Let me know if something is wrong.",
        "Note: I corrected the age. The first estimate was wrong.",
        "Wait for my confirmation before you use it.",
        "If that's wrong: tell me.",
        "I made a mistake in my last reply. It is mended above.",
    ],
)
def test_other_words_after_a_value_retract_nothing(words: str) -> None:
    assert codes(AGE, f'{{"age": 36}}\n\n{words}') == {"W002"}


GIVEN_ANEW = [
    "Update: age = 37",
    "**Update:** `age` is now `37`.",
    "Edit: the age is now 37.",
    "Edit: age should be 37, not more.",
    "Updated fields:\n- age: 37",
    "Final:\nName: Ada\nAge: 37",
    "but with age changed to 37",
    'Updated age: "37"',
]


@pytest.mark.parametrize("form", ['{"age": 36}', '```json\n{"age": 36}\n```', "{'age': 36,}"])
@pytest.mark.parametrize("words", GIVEN_ANEW)
def test_a_member_given_again_after_the_value_replaces_it(form: str, words: str) -> None:
    for between in ("\n\n", " "):
        verdict = Contract(AGE).check(f"{form}{between}{words}")
        assert not verdict.ok
        assert "W018" in {fix.code for fix in verdict.fixes}
        said = f"{form}{between}{words.replace('37', '36')}"
        check(AGE, said, {"age": 36})
        assert "W018" not in codes(AGE, said)


@pytest.mark.parametrize(
    "words",
    [
        "Update: the age is now a number.",
        "Update: age = 2 digits",
        "Edit: the format is now 2.",
        "Final answer: 36",
        "but the age: 36 to 37 is common",
        "Updated at 12:30.",
    ],
)
def test_other_words_after_a_value_replace_no_member(words: str) -> None:
    assert codes(AGE, f'{{"age": 36}}\n\n{words}') == {"W002"}


@pytest.mark.parametrize(
    "reply",
    [
        '{"age": 36 /* should be 37 */}',
        '{"age": 36 // wait, that should be 37\n}',
        '{"age": 36, // should be 37\n}',
        '{"age": 137 # must be 37.\n}',
        "{'age': 36 // should be 37\n}",
        '{"age": 36 // should be 37\n',
        '{"age": "36" // should be "37"\n}',
        '{"age": 36 // should actually be 37\n}',
    ],
)
def test_a_comment_that_says_what_the_value_should_be_retracts_it(reply: str) -> None:
    for schema in (AGE, True):
        verdict = Contract(schema).check(reply)
        assert not verdict.ok
        assert "W018" in {fix.code for fix in verdict.fixes}


@pytest.mark.parametrize(
    "reply",
    [
        '{"age": 36 // should be 36\n}',
        '{"age": 36 // should be a whole number\n}',
        '{"age": 36 // should be 2 digits\n}',
        '{\n  // should be 37\n  "age": 36\n}',
        '{"age": /* should be 37 */ 36}',
    ],
)
def test_a_comment_that_only_describes_the_value_retracts_nothing(reply: str) -> None:
    check(AGE, reply, {"age": 36})
    assert codes(AGE, reply) == {"S017"}


@pytest.mark.parametrize(
    "reply", ['[1. "a", 2. "b"]', '[\n  1) "a",\n  2) "b"\n]', '["a", 2. "b"]', '[1. "a"\n 2. "b"]']
)
def test_numbers_before_the_items_of_a_list_are_not_items(reply: str) -> None:
    check({"type": "array", "items": TEXT}, reply, ["a", "b"])


@pytest.mark.parametrize("later", ['{"age": 37}', '{"age": "37"}', '{"Age": 37,}', '```json\n{"age": 37}\n```'])
def test_a_correction_wins_although_it_costs_more(later: str) -> None:
    check(AGE, f'{{"age": 36}}\n\nCorrection:\n{later}', {"age": 37})


@pytest.mark.parametrize("lead", ["For example ", "The form is e.g. ", "I'll use this template: ", "Schema: "])
@pytest.mark.parametrize("schema", [AGE, True])
def test_a_value_that_is_only_an_example_is_reported(schema: Any, lead: str) -> None:
    verdict = Contract(schema).check(f'{lead}{{"age": 36}} is the form. My ans')
    assert verdict.data == {"age": 36}
    assert "W017" in {fix.code for fix in verdict.fixes}
    check(schema, f'{lead}{{"age": 36}} is the form. My answer: {{"age": 37}}', {"age": 37})


def test_the_number_of_a_source_is_not_a_list() -> None:
    assert not Contract(True).check("The answer [1] is below.").ok
    assert Contract(True).check("[1]\n").data == [1]


def test_examples_are_not_gathered_into_the_list() -> None:
    check(
        PEOPLE, 'The form is e.g. [{"age": 1}].\n\nHere it is:\n[{"age": 36}, {"age": 37}]', [{"age": 36}, {"age": 37}]
    )
    check(PEOPLE, '[{"age": 36}, {"age": 37}]\n\nAlternatively, for example:\n[{"age": 1}]', [{"age": 36}, {"age": 37}])


def test_a_full_width_brace_may_be_closed_by_a_plain_bracket() -> None:
    check(object_schema(a=TEXT, ok=TEXT), '｛\n  "a"： "x"，\n  "ok"： "yes"\n]', {"a": "x", "ok": "yes"})


def test_a_missing_bracket_is_reported_where_it_belongs() -> None:
    reply = '{"sku": "X", "dims": {"w": 1, "note": "12\\" x "y" z"}'
    fixes = Contract(object_schema(sku=TEXT, dims=object_schema(w=WHOLE), note=TEXT)).check(reply).fixes
    assert {(fix.code, fix.path) for fix in fixes} == {("S005", "$.dims"), ("S012", "$.note")}


def test_members_are_lifted_by_only_one_level() -> None:
    either = {"type": "object", "properties": {"z": TEXT}, "required": ["z"]}
    inner = {
        "type": "object",
        "properties": {"b": {"type": "object"}},
        "required": ["b"],
        "additionalProperties": False,
    }
    reply = '{"a": {"b": {"c": 1, "z": "x"}}'
    assert not Contract({**either, "properties": {"a": inner, "z": TEXT}}).check(reply).ok


def test_a_skipped_list_of_scalars_is_reported() -> None:
    verdict = Contract(NUMBERS).check("[3, 1, x, 5]\n\nOr simply:\n[4, 2, 5]")
    assert verdict.data == [4, 2, 5]
    assert "W014" in {fix.code for fix in verdict.fixes}


def test_a_value_in_a_quotation_is_not_lost_next_to_a_plain_one() -> None:
    reply = '> {\n>   "label": "spam",\n>   "sure": +0.97\n> }\n\nUser: thanks, now {"another": true}'
    assert "W010" in codes(True, reply)


def test_words_before_a_bare_key_are_a_guess() -> None:
    assert "S015" in codes(True, '{amount: 5, currency: "USD", also approved: true}')
    assert "S015" not in codes(object_schema(**{"first name": TEXT}), '{first name: "Ann"}')


@pytest.mark.parametrize(
    ("schema", "reply", "expected"),
    [
        pytest.param(PLAIN, "[”alpha”, ”beta, gamma”]", ["alpha", "beta, gamma"], id="closing-quotes"),
        pytest.param(
            object_schema(thought=TEXT, input=TEXT),
            '"thought": "I know.", "input": "in \\"New York\\" today"',
            {"thought": "I know.", "input": 'in "New York" today'},
            id="members-with-escaped-quotes",
        ),
        pytest.param(
            object_schema(rows={"type": "array", "items": NUMBERS}, name=TEXT),
            "rows:\n  - - 1\n    - 2\n  - - 3\nname: M",
            {"rows": [[1, 2], [3]], "name": "M"},
            id="lists-in-lists-of-lines",
        ),
        pytest.param(
            object_schema(rows={"type": "array", "items": PLAIN}),
            'rows:\n  - - "1"\n    - "Ann, Bo"\n  - - "2"\n    - Cy',
            {"rows": [["1", "Ann, Bo"], ["2", "Cy"]]},
            id="quoted-in-lists-of-lists",
        ),
        pytest.param(
            object_schema(command=TEXT, n=WHOLE),
            "| Field | Value |\n|---|---|\n| command | grep 'a\\|b' \\| wc |\n| n | 3 |",
            {"command": "grep 'a|b' | wc", "n": 3},
            id="bars-in-a-table-of-fields",
        ),
        pytest.param(
            object_schema(nodes=PLAIN, edges={"type": "array", "items": object_schema(to=TEXT)}),
            '{{"nodes": ["a"], "edges": [{{"to": "b"}}, {{"to": "c"}}]}}',
            {"nodes": ["a"], "edges": [{"to": "b"}, {"to": "c"}]},
            id="doubled-braces",
        ),
        pytest.param(
            True,
            '{{"a": {{"b": {{"c": [1, {{"d": 2}}]}}}}, "z": "end"}}',
            {"a": {"b": {"c": [1, {"d": 2}]}}, "z": "end"},
            id="doubled-braces-deep",
        ),
        pytest.param(
            True,
            'Output: "{\\n  \\"rows\\": [\\n    [\\"1\\", \\"Ann\\"]\\n  ],\\n  \\"n\\": 1\\n}"',
            {"rows": [["1", "Ann"]], "n": 1},
            id="encoded-with-line-breaks",
        ),
        pytest.param(
            True,
            '{"summary": "The \\"Pro\\" one.", "score" 2, "ok": false}',
            {"summary": 'The "Pro" one.', "score": 2, "ok": False},
            id="colon-behind-escaped-quotes",
        ),
        pytest.param(
            True,
            '{\n  "line": "He said, \\"No.\\"",\n  "act" "two"\n}',
            {"line": 'He said, "No."', "act": "two"},
            id="colon-at-the-end",
        ),
        pytest.param(
            object_schema(essay=TEXT, n=WHOLE),
            '{"essay": "Her father, "the poet", left: he wrote {notes}, and more.", "n": 38}',
            {"essay": 'Her father, "the poet", left: he wrote {notes}, and more.', "n": 38},
            id="a-word-with-a-colon-in-prose",
        ),
        pytest.param(
            True,
            '{"html": "<p class=\\"x\\">", and "tag": "p", also "n": 1}',
            {"html": '<p class="x">', "tag": "p", "n": 1},
            id="a-word-between-members",
        ),
        pytest.param(
            object_schema(sku=TEXT, dims=object_schema(w=WHOLE, h=WHOLE), note=TEXT),
            '{"sku": "X", "dims": {"w": 1, "h": "2", "note": "12\\" x "y" z"}',
            {"sku": "X", "dims": {"w": 1, "h": 2}, "note": '12" x "y" z'},
            id="a-brace-on-the-line",
        ),
        pytest.param(
            object_schema(a=object_schema(b=object_schema(c=WHOLE)), z=TEXT),
            '{"a": {"b": {"c": 1}, "z": "end"}',
            {"a": {"b": {"c": 1}}, "z": "end"},
            id="a-brace-further-in",
        ),
        pytest.param(
            object_schema(name=TEXT, env={"type": "object", "additionalProperties": TEXT}, n=WHOLE, limits=AGE),
            '{"name": "prod", "env": {"PATH": "/bin", "LANG": "C", "n": 3, "limits": {"age": 5}}',
            {"name": "prod", "env": {"PATH": "/bin", "LANG": "C"}, "n": 3, "limits": {"age": 5}},
            id="a-brace-of-free-keys",
        ),
        pytest.param(
            object_schema(rows={"type": "array", "items": PLAIN}, sign=TEXT),
            '{"rows": [["1", "Ann, Bo", ["2", "Cy"]], "sign": ","}',
            {"rows": [["1", "Ann, Bo"], ["2", "Cy"]], "sign": ","},
            id="a-bracket-on-the-line",
        ),
        pytest.param(
            object_schema(name=TEXT, age=WHOLE), "\ufeffname: Ada\nage: 36", {"name": "Ada", "age": 36}, id="order-mark"
        ),
        pytest.param(
            object_schema(label=TEXT, reason=TEXT),
            '{"label": "spam", "reason": "It"\n    " says \'free money\' twice."}',
            {"label": "spam", "reason": "It says 'free money' twice."},
            id="pieces-with-apostrophes",
        ),
    ],
)
def test_values_that_are_clear_to_a_person_are_read(schema: Any, reply: str, expected: Any) -> None:
    check(schema, reply, expected)


@pytest.mark.parametrize(
    ("schema", "reply", "expected"),
    [
        pytest.param(AGE, '<answer><![CDATA[{"age": 36}]]></answer>', {"age": 36}, id="json"),
        pytest.param(True, '<![CDATA[\n{"age": 36,}\n]]>', {"age": 36}, id="json-alone"),
        pytest.param(PLAIN, "<l><item><![CDATA[a & b]]></item><item>c</item></l>", ["a & b", "c"], id="items"),
        pytest.param(TEXT, "<answer><![CDATA[x < y]]></answer>", "x < y", id="scalar"),
        pytest.param(
            object_schema(html=TEXT, n=WHOLE),
            "<r><html><![CDATA[<p>hi</p>]]></html><n><![CDATA[5]]></n></r>",
            {"html": "<p>hi</p>", "n": 5},
            id="a-field-named-html",
        ),
        pytest.param(
            object_schema(data=AGE, n=WHOLE),
            '<r><data><![CDATA[{"age": 36}]]></data><n>1</n></r>',
            {"data": {"age": 36}, "n": 1},
            id="json-in-a-field",
        ),
    ],
)
def test_cdata_is_read_as_text(schema: Any, reply: str, expected: Any) -> None:
    check(schema, reply, expected)


def test_a_web_page_is_not_a_value_of_a_field_named_html() -> None:
    reply = "<html><head><title>502</title></head><body>Bad gateway</body></html>"
    assert not Contract(object_schema(html=TEXT, title=TEXT)).check(reply).ok


@pytest.mark.parametrize(
    ("schema", "reply"),
    [
        pytest.param(PLAIN, '["it\'s \\"delta\\"", e: f"]', id="a-first-quote-missing"),
        pytest.param(
            object_schema(rows={"type": "array", "items": NUMBERS}),
            '{"rows": [[1, 2], 3, 4]]}',
            id="an-opening-bracket",
        ),
        pytest.param(True, '"{\\n  \\"rows\\": [\\n    [1, 2],\\n    [4, 5, 6', id="an-encoded-string-that-is-cut"),
    ],
)
def test_text_that_was_probably_misread_is_refused(schema: Any, reply: str) -> None:
    assert not Contract(schema).check(reply).ok


SAID = [
    "oops", "Oops!", "wait", "Wait,", "hmm", "actually", "that's", "this is", "wrong", "not right", "incorrect", ".", ":",
    "\n", "\n\n", "```", "I made", "a mistake", "an error", "Here is the", "corrected", "fixed", "revised", "Correction", "waıt", "if ",
]  # fmt: skip


@given(st.lists(st.sampled_from(SAID), max_size=7), st.sampled_from([" ", "\n", ""]))
def test_no_retracted_value_is_accepted_by_the_fast_path(words: list[str], between: str) -> None:
    text = '{"age": 5}' + between + between.join(words)
    assert may_withdraw(text, 10) or not is_withdrawn(text, 10)
    verdict = Contract(AGE).check(text)
    assert not (verdict.ok and any(fix.grade == "lossy" for fix in verdict.fixes)), verdict.fixes
