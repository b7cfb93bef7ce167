"""The envelope and its errors: valid and invalid replies, and the messages for the model and the author."""

import json

import pytest

from tests.acceptance.self_repair.assistant import CONTRACT
from trueup import Contract

# The document's schema has no tools. It takes types unchanged; trueup brings `123` to "123" and records that, unless this is switched off.
ANY = Contract.envelope()
EXACT = Contract.envelope(coerce="off")
SPEAK = {"name": "speak", "arguments": {"text": "Hello"}}


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    "envelope",
    [
        {"toolCalls": [{"name": "test", "arguments": {}}]},
        {"toolCalls": [SPEAK]},
        {"toolCalls": [SPEAK, SPEAK], "content": "Twice.", "needsMoreWork": True},
        {"content": "Only words."},
        {"content": "Hola, ¿qué tal?"},
        {"toolCalls": [{"name": "search_files", "arguments": {"q": "informe"}}], "content": "Buscando"},
        {"content": "Not done yet.", "needsMoreWork": True},
        {"toolCalls": [], "content": "Nothing to call."},
    ],
)
def test_values_that_fit_pass_unchanged(envelope: dict[str, object]) -> None:
    verdict = EXACT.check(json.dumps(envelope))
    assert verdict.ok
    assert verdict.data == envelope
    assert not verdict.fixes


@pytest.mark.spec("A4")
@pytest.mark.parametrize(
    ("envelope", "message"),
    [
        ({"toolCalls": [{"name": 123}]}, 'Field "toolCalls.0.name": Expected string, got number'),
        ({"toolCalls": [{"name": 123, "arguments": {}}]}, 'Field "toolCalls.0.name": Expected string, got number'),
        ({"toolCalls": [{"name": "x"}]}, 'Field "toolCalls.0.arguments": Required field is missing'),
        ({"toolCalls": [{"name": "x", "arguments": [1]}]}, 'Field "toolCalls.0.arguments": Expected object, got array'),
        ({"toolCalls": [{"name": "", "arguments": {}}]}, 'Field "toolCalls.0.name": Expected at least 1 character, got 0'),
        ({"toolCalls": "speak", "content": "x"}, 'Field "toolCalls": Expected array or null, got string'),
        ({"content": 123}, 'Field "content": Expected string or null, got number'),
        ({"content": "x", "needsMoreWork": "yes"}, 'Field "needsMoreWork": Expected boolean or null, got string'),
        ({"content": ["a"]}, 'Field "content": Expected string or null, got array'),
        ({"toolCalls": {"name": "run", "arguments": {}}}, 'Field "toolCalls": Expected array or null, got object'),
        ({"toolCalls": [{"name": "run", "arguments": "{}"}]}, 'Field "toolCalls.0.arguments": Expected object, got string'),
        (
            {"toolCalls": [{"name": "a", "arguments": {}}, {"name": True, "arguments": {}}]},
            'Field "toolCalls.1.name": Expected string, got boolean',
        ),
    ],
)  # fmt: skip
def test_an_error_says_field_expected_and_found(envelope: dict[str, object], message: str) -> None:
    verdict = EXACT.check(json.dumps(envelope))
    assert not verdict.ok
    assert message in [found.message for found in verdict.errors]
    assert verdict.reply.text == json.dumps(envelope)  # the raw input stays with the errors
    assert verdict.data == envelope


@pytest.mark.spec("A4")
def test_each_fault_is_a_separate_error_and_does_not_raise() -> None:
    errors = EXACT.check('{"toolCalls": [{"name": 123}]}').errors
    # Different: a missing field is "Required field is missing", where the document says "Expected object, got undefined".
    assert sorted(found.message for found in errors) == [
        'Field "toolCalls.0.arguments": Required field is missing',
        'Field "toolCalls.0.name": Expected string, got number',
    ]
    assert EXACT.check('"just text"').errors[0].message == "Value: Expected object, got string"
    for text in ('"just text"', "[]", "null", "", "{", "\ufeff{}"):
        assert not EXACT.check(text).ok


def test_fields_that_the_schema_does_not_know_stay() -> None:
    # Different: the document's library drops them without saying so.
    assert EXACT.check('{"content": "ok", "mood": "happy"}').data == {"content": "ok", "mood": "happy"}


@pytest.mark.spec("A4")
def test_other_kinds_of_errors_have_their_data_too() -> None:
    closed = Contract(
        {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "additionalProperties": False},
        coerce="off",
    )
    assert closed.check('{"n": 1}').errors[0].message == 'Field "n": Expected a number of at least 3, got 1'
    assert closed.check('{"n": 3, "m": 1}').errors[0].message.startswith('Field "m": Unknown key')


def test_a_type_that_can_only_mean_one_thing_is_brought_to_its_type_and_recorded() -> None:
    # Different: the document refuses a number as `content` and spends a call on it.
    verdict = ANY.check('{"content": 123}')
    assert verdict.ok
    assert verdict.data == {"content": "123"}
    assert [(fix.code, fix.path) for fix in verdict.fixes] == [("C008", "$.content")]
    assert not ANY.check('{"toolCalls": [{"name": 123}]}').ok  # its arguments are still missing


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    "text",
    ["{}", '{"content": ""}', '{"bad": 1}', '{"needsMoreWork": true}', '{"toolCalls": [], "needsMoreWork": true}'],
)
def test_an_object_that_says_nothing_is_not_an_envelope(text: str) -> None:
    # Different: every field of the document's schema is optional, so `{}` passes there and the user gets nothing.
    assert not ANY.check(text).ok
    assert not CONTRACT.check(text).ok


@pytest.mark.parametrize("contract", [ANY, EXACT, CONTRACT, Contract.envelope(accept="none")])
@pytest.mark.parametrize(
    "text",
    [
        '{"toolCalls": null, "content": "Hello"}',
        '{"toolCalls": null, "content": "Hello", "needsMoreWork": null}',
        '{"content": null, "toolCalls": [{"name": "speak", "arguments": {"text": "Hello"}}]}',
        '{"content": null, "needsMoreWork": null, "toolCalls": [{"name": "speak", "arguments": {"text": "Hello"}}]}',
    ],
)
def test_a_field_that_is_null_is_absent(contract: Contract, text: str) -> None:
    verdict = contract.check(text)
    assert verdict.ok, verdict.errors
    assert not verdict.fixes


@pytest.mark.parametrize("text", ['{"toolCalls": null, "content": null}', '{"content": null}', '{"toolCalls": null}'])
def test_an_envelope_of_absent_fields_still_says_nothing(text: str) -> None:
    assert not ANY.check(text).ok
    assert not CONTRACT.check(text).ok


def test_calls_are_judged_by_the_tools_as_well() -> None:
    # More than the document asks for: names, arguments and types of the calls inside.
    verdict = CONTRACT.check('{"toolCalls": [{"name": "open-file", "arguments": {"path": "a.txt", "line": "3"}}]}')
    assert verdict.ok
    assert verdict.calls[0].args == {"path": "a.txt", "line": 3}
    assert verdict.data == {"toolCalls": [{"name": "open_file", "arguments": {"path": "a.txt", "line": 3}}]}
    assert CONTRACT.check('{"toolCalls": [{"name": "launch", "arguments": {}}]}').errors[0].code == "T001"
