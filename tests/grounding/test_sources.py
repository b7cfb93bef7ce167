"""The contents of the context that count as a source or as the prompt, and those that are refused."""

import copy
import dataclasses
import json
from types import SimpleNamespace
from typing import Annotated, Any, TypedDict

import pytest

from trueup import Contract
from trueup.contract.text import rebuilt
from trueup.contract.text import text_of as text_of_contract
from trueup.grounding import documents
from trueup.grounding.documents import text_of

CONTRACT = Contract({"type": "object"}, grounded=True)


def place(source: Any, **context: Any) -> tuple[str, str]:
    verdict = CONTRACT.check('{"name": "Ana"}', {"source": source, **context})
    found = verdict.evidence["$.name"].places
    return (found[0].document, found[0].text) if found else ("", ",".join(one.code for one in verdict.findings))


DOCUMENT = {
    "type": "document",
    "title": "d",
    "source": {"type": "text", "media_type": "text/plain", "data": "Ana called."},
}
RESULT = {"type": "search_result", "source": "u", "title": "t", "content": [{"type": "text", "text": "Ana called."}]}


def deep() -> Any:
    data: Any = {"who": "Ana"}
    for _ in range(3000):
        data = [data]
    return data


class Page:
    """A retriever's document."""

    page_content = "Ana called."
    metadata = {"title": "calls"}


@pytest.mark.parametrize(
    ("source", "document"),
    [
        ("Ana called.", "source"),
        ({"mail": "Ana called."}, "mail"),
        (["nothing", "Ana called."], "source[1]"),
        ([{"name": "mail", "text": "Ana called."}], "mail"),
        ([{"role": "user", "content": "Ana called."}], "messages[0]"),
        ([{"role": "tool", "content": [{"type": "text", "text": "Ana called."}]}], "messages[0]"),
        ({"name": "mail", "text": "Ana called."}, "mail"),
        ([Page()], "calls"),
        ([{"rows": [{"who": "Ana"}]}], "source[0]"),
        ([{"name": "Ana", "age": 40}], "source[0]"),  # data, not a document with the name Ana
        ([{"subject": "Ana", "body": "Hello"}], "source[0]"),
        (Page(), "calls"),
        ({"mail": Page()}, "mail"),
        ([SimpleNamespace(node=SimpleNamespace(text="Ana", metadata={"file_name": "f.txt"}), score=0.5)], "f.txt"),
        ([{"page_content": "Ana", "metadata": {"source": "f.pdf"}}], "f.pdf"),
        ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "Ana"}]}], "messages[0]"),
        ([{"role": "user", "content": [DOCUMENT]}], "messages[0]"),
        ([{"role": "user", "content": [RESULT]}], "messages[0]"),
        ([{"role": "tool", "content": {"who": "Ana"}}], "messages[0]"),
        ([{"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"who": "Ana"}}}]}], "messages[0]"),
        ([{"type": "function_call_output", "call_id": "1", "output": '{"who": "Ana"}'}], "source[0]"),
        ([{"n": 10**40, "who": "Ana"}], "source[0]"),
        ([{"n": "\ud800", "who": "Ana"}], "source[0]"),
        ("Ana \ud800\0", "source"),
        (deep(), "source[0]"),
        (["x"] * 2000 + ["Ana"], "source[2000]"),
    ],
)
@pytest.mark.spec("E1")
def test_the_forms_of_a_source(source: Any, document: str) -> None:
    assert place(source) == (document, "Ana")


def test_escapes_of_json_are_resolved() -> None:
    result = json.dumps({"who": "Garc\u00eda", "note": 'one\n"Ana" \U0001f600'})
    assert place([{"role": "tool", "content": result}]) == ("messages[0]", "Ana")
    assert CONTRACT.check('{"name": "García", "sign": "😀"}', {"source": result}).ok
    assert place("C:\\Ana") == ("source", "Ana")


def test_inputs_are_not_changed() -> None:
    context = {"source": [{"name": "mail", "text": "Ana", "metadata": {"a": [1]}}, {"rows": [{"who": "Ana"}]}]}
    before = copy.deepcopy(context)
    CONTRACT.check('{"name": "Ana"}', context)
    assert context == before


def test_bytes_and_a_bad_day_are_refused() -> None:
    with pytest.raises(TypeError, match="source is text, not bytes"):
        CONTRACT.check("{}", {"source": b"Ana"})
    for source, said in (
        ([b"Ana"], r"source\[0\] is text, not bytes"),
        ({"mail": b"Ana"}, r"source\['mail'\] is text, not bytes"),
        (5, "source is a text, documents by name, or a list .*; got int"),
        ((one for one in ["Ana"]), "got generator"),
        ([object()], r"source\[0\] is a text, .*; got object"),
    ):
        with pytest.raises(TypeError, match=said):
            CONTRACT.check("{}", {"source": source})
    with pytest.raises(TypeError, match="today is a date"):
        CONTRACT.check("{}", {"source": "Ana", "today": "tomorrow"})


@pytest.mark.spec("E1")
def test_a_check_without_a_source_is_refused() -> None:
    assert [found.code for found in CONTRACT.check("{}").findings] == ["E007"]
    assert [found.code for found in CONTRACT.check("{}", {"source": "  "}).findings] == ["E007"]


def test_the_fields_of_a_unit_are_a_source() -> None:
    def check(settings: Any, fields: dict[str, Any]) -> list[str]:
        contract = Contract({"type": "object"}, grounded=settings)
        return [found.code for found in contract.check('{"name": "Ana"}', {"input": fields}).findings]

    assert check(True, {"unit_id": "u1", "text": "Ana called."}) == []
    assert check(True, {"source": "Luis called.", "text": "Ana called."}) == ["E001"]
    assert check({"source": "text"}, {"source": "Luis called.", "text": "Ana called."}) == []
    assert check(True, {"unit_id": "Ana"}) == ["E007"]


@pytest.mark.spec("E3")
def test_instructions_and_examples_are_not_a_source() -> None:
    history = [
        {"role": "system", "content": "You extract names such as Ana."},
        {"role": "user", "content": 'Extract the name.\n\nExample:\n{"name": "Ana"}\n\nText: Luis called.'},
    ]
    assert place(None, history=history) == ("", "E002")
    assert place("Luis called.", prompt="Extract. Example: Ana") == ("", "E002")
    shots = [
        {"role": "user", "content": "Ana called."},
        {"role": "assistant", "content": '{"name": "Ana"}'},
        {"role": "user", "content": "Luis called."},
    ]
    assert place(None, history=shots) == ("", "E002")
    assert place(shots) == ("messages[0]", "Ana")  # messages that are passed as the source are all source


@pytest.mark.spec("E3")
def test_examples_of_the_schema_are_not_a_source() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string", "examples": ["Ana"]}}}
    verdict = Contract(schema, grounded=True).check('{"name": "Ana"}', {"source": "Luis called."})
    assert [found.code for found in verdict.findings] == ["E002"]


@pytest.mark.spec("E6")
def test_computed_values_need_no_source() -> None:
    contract = Contract({"type": "object"}, rules=["total == sum(lines[].price)"], grounded=True)
    context = {"source": "One lamp for 40, one desk for 110."}
    value = {"lines": [{"price": 40}, {"price": 110}], "total": 150}
    assert contract.check(json.dumps(value), context).evidence["$.total"].grade == "computed"
    wrong = contract.check(json.dumps({**value, "total": 160}), context)
    assert {found.code for found in wrong.findings} == {"B005", "E001"}


@pytest.mark.spec("E6")
@pytest.mark.parametrize(
    "rule",
    [
        "total == sum(lines[].amount)",
        "sum(lines[].amount) == total",
        "abs(total - sum(lines[].amount)) <= 0.01",
        "0.01 >= abs(total - sum(lines[].amount))",
        "-0.01 <= total - sum(lines[].amount) <= 0.01",
        "total - sum(lines[].amount) == 0",
        "total == round(sum(lines[].amount), 2)",
        "round(total, 2) == round(sum(lines[].amount), 2)",
    ],
)
def test_the_forms_of_a_rule_that_computes(rule: str) -> None:
    items = "all(line.amount == line.qty * line.price for line in lines)"
    contract = Contract({"type": "object"}, rules=[rule, items], grounded=True)
    context = {"source": "1 lamp for 40.00, and two desks at 55.00 each."}
    value = {
        "lines": [{"qty": 1, "price": 40, "amount": 40}, {"qty": 2, "price": 55, "amount": 110}],
        "total": 150,
    }
    evidence = contract.check(json.dumps(value), context).evidence
    assert [path for path, one in evidence.items() if one.grade == "computed"] == ["$.lines[1].amount", "$.total"]
    wrong = contract.check(json.dumps({**value, "total": 151}), context)
    assert [found.path for found in wrong.findings if found.code == "E001"] == ["$.total"]
    assert {found.code for found in wrong.findings} == {"B005", "E001"}


@pytest.mark.parametrize("rule", ["a == b", "abs(a - b) < 0.01", "a == 2 * a - a", "a - b == 0"])
def test_values_that_only_agree_with_each_other_are_not_computed(rule: str) -> None:
    contract = Contract({"type": "object"}, rules=[rule], grounded=True)
    verdict = contract.check('{"a": 777, "b": 777}', {"source": "nothing"})
    assert [(found.code, found.path) for found in verdict.findings] == [("E001", "$.a"), ("E001", "$.b")]


def test_the_schema_keyword_selects_values_to_look_up() -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "x-grounded": True},
            "note": {"type": "string"},
            "quote": {"type": "string", "x-grounded": {"quotation": True, "level": "warning"}},
        },
    }
    contract = Contract(schema)
    verdict = contract.check('{"name": "Luis", "note": "free", "quote": "Ana has called"}', {"source": "Ana called."})
    assert [(found.code, found.path, found.level) for found in verdict.findings] == [
        ("E001", "$.name", "error"), ("E004", "$.quote", "warning"),
    ]  # fmt: skip
    assert set(verdict.evidence) == {"$.name", "$.quote"}
    assert Contract(schema, grounded=False).check('{"name": "Luis"}').ok


def test_pydantic_fields_may_have_the_keyword() -> None:
    from pydantic import BaseModel, Field

    class Call(BaseModel):
        name: str = Field(json_schema_extra={"x-grounded": True})
        mood: str

    verdict = Contract(Call).check('{"name": "Ana", "mood": "fine"}', {"source": "Ana called."})
    assert verdict.value == Call(name="Ana", mood="fine")
    assert list(verdict.evidence) == ["$.name"]


NAMED = {"x-grounded": True}
TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "value", "path"),
    [
        ({"properties": {"p": {"$ref": "#/$defs/P"}}, "$defs": {"P": {**TEXT, **NAMED}}}, {"p": "Luis"}, "$.p"),
        ({"properties": {"p": {"$ref": "#/$defs/P", **NAMED}}, "$defs": {"P": TEXT}}, {"p": "Luis"}, "$.p"),
        ({"properties": {"p": {"$ref": "#/definitions/P"}}, "definitions": {"P": {**TEXT, **NAMED}}}, {"p": "Luis"}, "$.p"),
        ({"properties": {"p": {"anyOf": [{**TEXT, **NAMED}, {"type": "null"}]}}}, {"p": "Luis"}, "$.p"),
        ({"properties": {"p": {"anyOf": [{**TEXT, **NAMED}, {"type": "null"}]}}}, {"p": None}, ""),
        ({"properties": {"p": {"allOf": [TEXT, NAMED]}}}, {"p": "Luis"}, "$.p"),
        ({"properties": {"l": {"items": {**TEXT, **NAMED}}}}, {"l": ["Ana", "Luis"]}, "$.l[1]"),
        ({"properties": {"l": {"prefixItems": [{**TEXT, **NAMED}, TEXT]}}}, {"l": ["Luis", "Luis"]}, "$.l[0]"),
        ({"properties": {"m": {"additionalProperties": {**TEXT, **NAMED}}}}, {"m": {"k": "Luis"}}, "$.m.k"),
        ({"patternProperties": {"^n": {**TEXT, **NAMED}}, "additionalProperties": TEXT}, {"na": "Luis", "b": "Luis"}, "$.na"),
        ({"properties": {"p": TEXT}, "if": {"required": ["p"]}, "then": {"properties": {"p": NAMED}}}, {"p": "Luis"}, "$.p"),
        ({"properties": {"p": TEXT}, "dependentSchemas": {"p": {"properties": {"q": NAMED}}}}, {"p": "x", "q": "Luis"}, "$.q"),
        ({"properties": {"o": {"properties": {"b": {"x-grounded": False}}, **NAMED}}}, {"o": {"a": "Luis", "b": "x"}}, "$.o.a"),
        ({"properties": {"x-grounded": TEXT}}, {"x-grounded": "Luis"}, ""),
    ],
)  # fmt: skip
def test_the_keyword_is_found_wherever_a_schema_may_have_it(schema: Any, value: Any, path: str) -> None:
    verdict = Contract({"type": "object", **schema}).check(json.dumps(value), {"source": "Ana called."})
    assert [found.path for found in verdict.findings] == ([path] if path else [])


def test_the_keyword_in_python_types() -> None:
    import msgspec
    from pydantic import Field

    @dataclasses.dataclass
    class Plain:
        name: Annotated[str, Field(json_schema_extra=NAMED)]
        note: str

    class Table(TypedDict):
        name: Annotated[str, Field(json_schema_extra=NAMED)]
        note: str

    class Struct(msgspec.Struct):
        name: Annotated[str, msgspec.Meta(extra_json_schema=NAMED)]
        note: str

    for kind in (Plain, Table, Struct):
        verdict = Contract(kind).check('{"name": "Luis", "note": "x"}', {"source": "Ana called."})
        assert [found.path for found in verdict.findings] == ["$.name"]


@pytest.mark.parametrize(
    "spec", [5, "yes", None, {"lvl": 1}, {"level": "info"}, {"patterns": {"a": "/(/"}}, {"quotation": "x"}]
)
def test_a_keyword_that_cannot_be_used_is_refused(spec: Any) -> None:
    with pytest.raises(ValueError, match="x-grounded"):
        Contract({"type": "object", "properties": {"a": {"x-grounded": spec}}})


def test_grounding_is_part_of_the_fingerprint_and_of_the_text() -> None:
    schema = {"type": "object", "properties": {"a": TEXT}}
    named = {"type": "object", "properties": {"a": {**TEXT, **NAMED}}}
    made = [
        Contract(schema),
        Contract(named),
        Contract(schema, grounded=True),
        Contract(schema, grounded={"fields": ["a"]}),
    ]
    assert len({contract.fingerprint for contract in made}) == len(made)
    for contract in made[1:]:
        again = rebuilt(text_of_contract(contract))
        assert again.fingerprint == contract.fingerprint
        assert not again.check('{"a": "Luis"}', {"source": "Ana"}).ok


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"field": ["a"]}, "did you mean 'fields'"),
        ({"fields": ["a["]}, "is not a field"),
        ({"level": "info"}, "takes error, warning"),
        ({"patterns": {"a": {"x": ["/(/"]}}}, "not a valid expression"),
        ("name", "takes true, a list of fields, or a mapping"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(spec: Any, said: str) -> None:
    with pytest.raises(ValueError, match="grounded") as refused:
        Contract({"type": "object"}, grounded=spec)
    assert said in str(refused.value)


@pytest.mark.spec("E7")
def test_a_source_is_indexed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    class Counted(documents.IndexedText):
        def __init__(self, text: str) -> None:
            made.append(text)
            super().__init__(text)

    monkeypatch.setattr(documents, "IndexedText", Counted)
    source = "Ana called about invoice 4711-b."
    for _ in range(5):
        assert CONTRACT.check('{"name": "Ana"}', {"source": source}).ok
    assert made.count(source) == 1
    assert text_of(source) is text_of(str(source))


def test_cached_texts_are_bounded() -> None:
    kept = documents._Kept()
    for number in range(2 * documents._MOST_TEXTS):
        kept.get(f"text {number}")
    assert len(kept._texts) == documents._MOST_TEXTS
    kept.get("x" * (documents._MOST_CHARACTERS + 1))
    assert kept._size <= documents._MOST_CHARACTERS


def test_lint_finds_fields_that_the_schema_does_not_have(tmp_path: Any) -> None:
    from trueup.contract.lint.run import lint_contract

    path = tmp_path / "c.yaml"
    path.write_text("schema: {type: object, properties: {name: {type: string}}}\ngrounded: {fields: [nmae, name]}\n")
    assert [(found.code, found.line, found.column) for found in lint_contract(path).faults] == [("N013", 2, 21)]
    path.write_text("schema: {type: object}\ngrounded: {levle: error}\n")
    assert [found.code for found in lint_contract(path).faults] == ["N005"]
    path.write_text("""schema:
  type: object
  properties:
    name: {type: string, x-grounded: {lvel: error}}
    date: {type: string, x-grounded: "yes"}
    note: {type: string, x-groundd: true}
    code: {type: string, x-internal: true, x-grounded: {level: fatal}}
""")
    assert [(found.code, found.line, found.column, found.hint) for found in lint_contract(path).faults] == [
        ("N006", 4, 45, ""),
        ("N006", 5, 38, ""),
        ("N023", 6, 26, "Did you mean 'x-grounded'?"),
        ("N006", 7, 64, ""),
    ]
