"""What counts as a source, what only counts as the prompt, and what is refused."""

import json
from typing import Any

import pytest

from trueup import Contract
from trueup.grounding import documents
from trueup.grounding.documents import text_of

CONTRACT = Contract({"type": "object"}, grounded=True)


def place(source: Any, **context: Any) -> tuple[str, str]:
    verdict = CONTRACT.check('{"name": "Ana"}', {"source": source, **context})
    found = verdict.evidence["$.name"].places
    return (found[0].document, found[0].text) if found else ("", ",".join(one.code for one in verdict.findings))


class Page:
    """A document of a retriever."""

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
    ],
)
@pytest.mark.spec("E1")
def test_the_forms_of_a_source(source: Any, document: str) -> None:
    assert place(source) == (document, "Ana")


def test_bytes_and_a_bad_day_are_refused_in_words() -> None:
    with pytest.raises(TypeError, match="source is text, not bytes"):
        CONTRACT.check("{}", {"source": b"Ana"})
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
    assert place(shots) == ("messages[0]", "Ana")  # whoever passes messages as the source means all of them


@pytest.mark.spec("E3")
def test_examples_of_the_schema_are_not_a_source() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string", "examples": ["Ana"]}}}
    verdict = Contract(schema, grounded=True).check('{"name": "Ana"}', {"source": "Luis called."})
    assert [found.code for found in verdict.findings] == ["E002"]


@pytest.mark.spec("E6")
def test_what_a_rule_computes_needs_no_source() -> None:
    contract = Contract({"type": "object"}, rules=["total == sum(lines[].price)"], grounded=True)
    context = {"source": "One lamp for 40, one desk for 110."}
    value = {"lines": [{"price": 40}, {"price": 110}], "total": 150}
    assert contract.check(json.dumps(value), context).evidence["$.total"].grade == "computed"
    wrong = contract.check(json.dumps({**value, "total": 160}), context)
    assert {found.code for found in wrong.findings} == {"B005", "E001"}


def test_the_keyword_in_a_schema_says_what_is_looked_up() -> None:
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

    class Counted(documents.Text):
        def __init__(self, text: str) -> None:
            made.append(text)
            super().__init__(text)

    monkeypatch.setattr(documents, "Text", Counted)
    source = "Ana called about invoice 4711-b."
    for _ in range(5):
        assert CONTRACT.check('{"name": "Ana"}', {"source": source}).ok
    assert made.count(source) == 1
    assert text_of(source) is text_of(str(source))


def test_texts_that_are_kept_are_bounded() -> None:
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
