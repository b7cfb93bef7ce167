"""Drafts from every kind of source: files, folders, conversations, texts, types; and reports that add up."""

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from trueup import Contract
from trueup.inferring.declarations import Mixed
from trueup.inferring.infer import NothingToLearn, infer
from trueup.inferring.openapi import BadDescription
from trueup.inferring.report import DraftReport
from trueup.material.case import Case
from trueup.material.selection import Selection
from trueup.material.sources import SourceError
from trueup.store.open import open_store
from trueup.verdict.reply import Reply, ToolCall


def adds_up(report: DraftReport) -> bool:
    held = report.held
    return (
        report.cases == report.used + held.total + sum(report.unusable.values())
        and held.total == held.whole + held.cut + held.without
        and held.accepted <= held.whole
    )


texts = st.one_of(
    st.sampled_from(['{"a": 1}', '{"a": "x"}', "{'a': 2,}", '{"a": [1, 2', "I am sorry.", "", "  ", "null", "[1, 2]", "{", '{"a": {"b": 1}}']),
    st.text(max_size=12),
)  # fmt: skip


@given(st.lists(texts, max_size=40), st.integers(0, 3), st.sampled_from([0.0, 0.2, 0.5]))
def test_every_reply_is_used_held_out_or_not_usable(replies: list[str], seed: int, holdout: float) -> None:
    try:
        draft = infer(replies, seed=seed, holdout=holdout)
    except NothingToLearn:
        return
    assert draft.report.cases == len(replies)
    assert adds_up(draft.report)
    assert draft.faults() == ()
    assert draft.report.to_dict()["cases"] == len(replies)


def test_reasons_are_counted() -> None:
    cases = [Case(str(n), f'{{"n": {n}}}') for n in range(20)]
    cases += [Case("x", unjudgeable="reply_expired"), Case("y", ""), Case("z", "no value here at all")]
    report = infer(cases, holdout=0.0).report
    assert report.unusable == {"reply_expired": 1, "empty": 1, "no_value": 1}
    assert (report.cases, report.used) == (23, 20)
    assert "past its retention" in report.why()


def test_whole_conversations_are_held_out() -> None:
    cases = [Case(f"{n}", f'{{"n": {n}}}', conversation=f"c{n // 10}") for n in range(100)]
    report = infer(cases).report
    assert report.held.total % 10 == 0
    assert 10 <= report.held.total <= 40


def test_the_order_of_replies_does_not_matter() -> None:
    cases = [Case(f"{n}", f'{{"n": {n}, "t": "{n % 3}"}}') for n in range(300)]
    shuffled = random.Random(2).sample(cases, len(cases))
    one, other = infer(cases), infer(shuffled)
    assert one.report == other.report
    assert one.data == other.data


def test_texts_give_rules_for_the_reply() -> None:
    draft = infer([f"I looked at number {n} for you." for n in range(60)])
    assert draft.data == {"reply": {"no_empty": True, "min_text": 20}}
    assert draft.report.kind == "text"
    contract = draft.contract()
    assert contract.check("That is all that I can say.").ok
    assert not contract.check("No.").ok


def test_expected_values_among_texts() -> None:
    replies = [f"I looked at number {n} for you." for n in range(60)] + [f'{{"n": {n}}}' for n in range(20)]
    assert infer(replies).report.other in range(10, 21)
    draft = infer(replies, expect="value")
    assert draft.data["schema"]["required"] == ["n"]
    assert adds_up(draft.report)


def conversations(count: int = 150) -> list[Case]:
    rng = random.Random(1)
    cases: list[Case] = []
    for number in range(count):
        steps: list[tuple[str, str, list[ToolCall]]] = [
            ("ASK", "What would you like to book?", []),
            ("SLOT", "Let me look.", [ToolCall("find_slots", {"day": f"2026-01-{rng.randint(1, 28):02}"})]),
        ]
        if rng.random() < 0.7:
            steps.append(("BOOK", "", [ToolCall("book", {"slot": rng.randint(1, 500)})]))
        cases += [
            Case(f"{number}-{at}", Reply(text=text, calls=tuple(calls)), state=state, conversation=f"c{number}")
            for at, (state, text, calls) in enumerate(steps)
        ]
    return cases


def test_tools_their_order_and_states() -> None:
    draft = infer(conversations())
    assert draft.faults() == ()
    assert draft.report.ok
    data = draft.data
    assert {tool["name"]: list(tool["parameters"]["properties"]) for tool in data["tools"]} == {
        "find_slots": ["day"], "book": ["slot"],
    }  # fmt: skip
    assert data["tools"][0]["parameters"]["properties"]["day"] == {"type": "string", "format": "date"}
    assert data["order"] == {"requires": {"book": ["find_slots"]}}
    assert data["states"]["ASK"]["tools"] == []
    assert data["states"]["SLOT"]["tools"] == ["find_slots"]
    assert draft.evidence["$.order.requires.book"].startswith("called before it in all ")


def test_nothing_is_forbidden_in_a_state_without_evidence() -> None:
    data = infer(conversations(12)).data
    assert all(body is None or "tools" not in body for body in data["states"].values())
    assert "order" not in data


def test_calls_in_messages_and_in_text() -> None:
    def asked(name: str, arguments: str) -> dict[str, Any]:
        call = {"id": name, "type": "function", "function": {"name": name, "arguments": arguments}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    rows = [
        [{"role": "user", "content": "Buy it."}, asked("look", "{}"), {"role": "tool", "tool_call_id": "look", "content": "ok"}, asked("buy", f"{{'n': {n},}}")]
        for n in range(50)
    ]  # fmt: skip
    data = infer(rows).data
    assert data["order"] == {"requires": {"buy": ["look"]}}
    assert next(tool for tool in data["tools"] if tool["name"] == "buy")["parameters"]["required"] == ["n"]
    leaked = infer([f'<tool_call>{{"name": "look", "arguments": {{"x": {n}}}}}</tool_call>' for n in range(50)])
    assert [tool["name"] for tool in leaked.data["tools"]] == ["look"]
    assert leaked.report.ok


def test_files_and_folders(tmp_path: Path) -> None:
    lines = [json.dumps({"unit_id": str(n), "raw_response": json.dumps({"n": n})}) for n in range(30)]
    (tmp_path / "replies.jsonl").write_text("\n".join([*lines, "broken"]))
    draft = infer(str(tmp_path / "replies.jsonl"))
    assert draft.data["schema"]["required"] == ["n"]
    assert adds_up(draft.report)
    assert draft.report.cases == 31
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number}.txt").write_text(f"Sure: {{'n': {number}}}")
    assert infer(folder).report.cases == 12
    (tmp_path / "one.txt").write_text("{'n': 1}")
    alone = infer(tmp_path / "one.txt")
    assert alone.data["schema"] == {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    assert "nothing is known about other replies" in alone.yaml


def test_a_store(tmp_path: Path) -> None:
    asked = Contract({"type": "object"}, name="asked")
    with open_store(tmp_path / "verdicts.db") as store:
        for number in range(40):
            text = f'{{"n": {number}}}' if number % 2 else f"{{'n': {number},}}"
            store.record_verdict(
                asked.check(text), request=f"r{number}", contract=asked, context={}, model=f"m{number % 2}"
            )
    draft = infer(tmp_path / "verdicts.db")
    assert draft.data["schema"]["required"] == ["n"]
    assert (draft.report.cases, draft.report.ok) == (40, True)
    assert infer(tmp_path / "verdicts.db", selection=Selection(model="m1")).report.cases == 20
    assert infer(tmp_path / "verdicts.db", selection=Selection(limit=7)).report.cases == 7


def test_a_provider_s_response_in_a_file(tmp_path: Path) -> None:
    response = {"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": '{"n": 1}'}}]}  # fmt: skip
    (tmp_path / "one.json").write_text(json.dumps(response))
    assert infer(tmp_path / "one.json").data["schema"]["required"] == ["n"]


class Order(BaseModel):
    id: int
    note: str | None = None


@dataclass
class Line:
    text: str
    price: float = 0.0


class Named(TypedDict):
    name: str


def total(price: float, count: int = 1) -> float:
    """Multiply a price."""
    return price * count


@pytest.mark.parametrize(("source", "required"), [(Order, ["id"]), (Line, ["text"]), (Named, ["name"])])
def test_types(source: Any, required: list[str]) -> None:
    draft = infer(source)
    assert draft.faults() == ()
    assert draft.data["schema"]["required"] == required
    assert draft.report.kind == "type"
    assert draft.contract().check("{}").ok is False


def test_functions_become_tools() -> None:
    draft = infer(total)
    assert draft.faults() == ()
    assert draft.data["tools"][0]["name"] == "total"
    assert draft.data["tools"][0]["parameters"]["required"] == ["price"]


API: dict[str, Any] = {
    "openapi": "3.0.3",
    "paths": {
        "/orders/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
            "get": {
                "operationId": "getOrder",
                "summary": "Find an order.",
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}}
                },
            },
            "put": {
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}}
            },
        }
    },
    "components": {
        "schemas": {
            "Order": {
                "type": "object",
                "properties": {
                    "total": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
                    "note": {"type": "string", "nullable": True},
                    "parent": {"$ref": "#/components/schemas/Order"},
                },
                "required": ["total"],
                "example": {"total": 1},
            }
        }
    },
}


@pytest.fixture
def api(tmp_path: Path) -> Path:
    path = tmp_path / "api.json"
    path.write_text(json.dumps(API))
    return path


def test_a_schema_of_an_openapi_file(api: Path) -> None:
    draft = infer(f"{api}#/components/schemas/Order")
    assert draft.faults() == ()
    schema = draft.data["schema"]
    assert schema["properties"]["total"] == {"type": "number", "exclusiveMinimum": 0}
    assert schema["properties"]["note"] == {"type": ["string", "null"]}
    assert schema["properties"]["parent"] == {"$ref": "#/$defs/Order"}
    assert draft.contract().check('{"total": 1, "parent": {"total": 2}}').ok
    assert not draft.contract().check('{"total": 1, "parent": {}}').ok
    answered = infer(api, operation="getOrder")
    assert answered.contract().check('{"total": 3}').ok
    assert not answered.contract().check('{"total": 0}').ok


def test_tools_of_an_openapi_file(api: Path) -> None:
    draft = infer(api)
    assert draft.faults() == ()
    tools = {tool["name"]: tool for tool in draft.data["tools"]}
    assert set(tools) == {"getOrder", "put_orders_id"}
    assert tools["getOrder"]["description"] == "Find an order."
    assert tools["put_orders_id"]["parameters"]["required"] == ["id", "total"]


@pytest.mark.parametrize(
    ("pointer", "operation", "said"),
    [
        ("#/components/schemas/Ordr", "", "did you mean 'Order'?"),
        ("", "getOrdr", "did you mean 'getOrder'?"),
        ("", "put_orders_id", ""),
    ],
)
def test_missing_parts_of_the_file_are_named(api: Path, pointer: str, operation: str, said: str) -> None:
    if not said:
        assert infer(api, operation=operation).data["schema"]
        return
    with pytest.raises(BadDescription) as raised:
        infer(f"{api}{pointer}", operation=operation)
    assert said in str(raised.value)


def test_references_are_never_fetched(tmp_path: Path) -> None:
    path = tmp_path / "api.yaml"
    path.write_text('openapi: 3.1.0\ncomponents: {schemas: {A: {$ref: "https://example.org/a.json"}}}\n')
    with pytest.raises(BadDescription, match="nothing is fetched"):
        infer(f"{path}#/components/schemas/A")
    path.write_text("name: x\n")
    with pytest.raises(BadDescription, match="not an OpenAPI file"):
        infer(path)


def test_bad_options_are_refused() -> None:
    with pytest.raises(ValueError, match="strictness"):
        infer(["{}"], strictness="harsh")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="holdout"):
        infer(["{}"], holdout=0.9)
    with pytest.raises(ValueError, match="expect"):
        infer(["{}"], expect="poem")  # type: ignore[arg-type]
    with pytest.raises(Mixed):
        infer(Order, ["{}"])
    with pytest.raises(Mixed):
        infer(["{}"], operation="getOrder")
    with pytest.raises(NothingToLearn, match="contain no replies"):
        infer([])


def test_the_numbers_add_up_beyond_the_limit_of_broken_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueup.inferring.gathering.MAX_BROKEN", 10)
    replies = [f"{{'n': {n},}}" for n in range(60)] + ["nothing at all here"] * 30
    report = infer([Case(str(n), text) for n, text in enumerate(replies)]).report
    assert adds_up(report)
    assert report.used + report.held.whole == 60
    assert report.unusable["no_value"] + report.held.without == 30


def test_objects_with_a_name_and_parameters_are_calls_only_if_their_names_repeat() -> None:
    rng = random.Random(1)
    names = ["".join(rng.choices("abcdefghij", k=6)) for _ in range(100)]
    data = infer([json.dumps({"name": name, "parameters": {"width": 3}}) for name in names]).data
    assert data["schema"]["required"] == ["name", "parameters"]
    assert "tools" not in data
    data = infer([json.dumps({"name": rng.choice(["find", "book"]), "arguments": {"n": 3}}) for _ in names]).data
    assert [tool["name"] for tool in data["tools"]] in (["find", "book"], ["book", "find"])
    assert "schema" not in data


def test_values_in_an_envelope_are_not_a_separate_shape() -> None:
    replies = [json.dumps({"city": "Oslo", "n": n}) for n in range(90)]
    replies += [json.dumps({"response": {"city": "Rome", "n": None}}), json.dumps([{"city": "Rome", "n": 3}])] * 5
    schema = infer(replies, holdout=0.0).data["schema"]
    assert schema["type"] == "object"
    assert schema["required"] == ["city", "n"]
    assert list(schema["properties"]) == ["city", "n"]
    wrapped = infer([json.dumps({"items": [{"n": n}]}) for n in range(50)]).data["schema"]
    assert wrapped["required"] == ["items"]


def test_a_reply_that_is_encoded_twice_counts_as_its_inner_value() -> None:
    replies = [json.dumps({"n": n}) if n % 2 else json.dumps(json.dumps({"n": n})) for n in range(60)]
    assert infer(replies).data["schema"]["type"] == "object"


def test_a_field_is_required_unless_its_absence_is_clearly_more_than_one_percent() -> None:
    def required(missing: int, total: int) -> bool:
        values = [{"n": n} if n < missing else {"n": n, "city": "Oslo"} for n in range(total)]
        return "city" in infer(values, holdout=0.0).data["schema"]["required"]

    assert [required(*pair) for pair in ((1, 60), (4, 300), (12, 300), (10, 1000), (30, 1000))] == [
        False, True, False, True, False,
    ]  # fmt: skip
    evidence = infer([{"n": n, **({"city": "x"} if n > 3 else {})} for n in range(300)], holdout=0.0).evidence
    assert evidence["$.schema.properties.city"] == "in 296 of 300, too rarely missing to be optional"


def test_values_that_are_not_json_are_skipped_without_raising() -> None:
    draft = infer([{"a": object()}, {"a": "\ud800"}, *({"a": n} for n in range(20))], holdout=0.0)
    assert draft.report.unusable == {"not_json": 2}
    assert infer([["\ud800"], {"a": 1}] * 10).report.held.total == 4


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("array.json", '[{"n": 1}, "Sure: {\'n\': 2}", {"n": 3}]'),
        ("values.jsonl", '{"n": 1}\n{"n": 2}\n{"n": 3}\n'),
        ("strings.jsonl", '"{\\"n\\": 1}"\n"Sure: {\'n\': 2}"\n{"n": 3}\n'),
    ],
)
def test_files_of_values(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    draft = infer(tmp_path / name)
    assert draft.data["schema"]["required"] == ["n"]
    assert draft.report.cases == draft.report.used == 3
    assert draft.report.whole_lines is name.endswith(".jsonl")


def test_a_folder_of_json_files_and_a_named_field(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.json").write_text(json.dumps({"n": number}))
    assert infer(tmp_path).report.used == 3
    lines = [json.dumps({"prompt": "?", "answer": f'Sure: {{"n": {n}}}'}) for n in range(30)]
    (tmp_path / "log.jsonl").write_text("\n".join([*lines, '{"prompt": "?"}']))
    report = infer(tmp_path / "log.jsonl", reply_column="answer", holdout=0.0).report
    assert (report.used, report.unusable) == (30, {"not_a_unit": 1})


PETS = """
openapi: 3.0.3
components:
  schemas:
    Base: {type: object, required: [id], properties: {id: {type: string}, kind: {type: string}}}
    Cat: {allOf: [{$ref: "#/components/schemas/Base"}, {properties: {lives: {type: integer}}}]}
    Dog: {allOf: [{$ref: "#/components/schemas/Base"}, {properties: {bark: {type: boolean}}}]}
    Pet:
      oneOf: [{$ref: "#/components/schemas/Cat"}, {$ref: "#/components/schemas/Dog"}]
      discriminator: {propertyName: kind, mapping: {cat: "#/components/schemas/Cat"}}
    One: {$ref: "#/components/schemas/Two"}
    Two: {$ref: "#/components/schemas/One"}
    Free: {type: object, properties: {a: {nullable: true}}}
"""


def test_a_discriminator_distinguishes_the_variants_of_a_union(tmp_path: Path) -> None:
    (tmp_path / "pets.yaml").write_text(PETS)
    draft = infer(f"{tmp_path}/pets.yaml#/components/schemas/Pet")
    assert draft.faults() == ()
    contract = draft.contract()
    assert contract.check('{"id": "1", "kind": "cat", "lives": 9}').ok
    assert contract.check('{"id": "1", "kind": "Dog"}').ok
    assert not contract.check('{"id": "1", "kind": "fish"}').ok
    assert infer(f"{tmp_path}/pets.yaml#/components/schemas/Free").data["schema"]["properties"] == {"a": {}}
    with pytest.raises(BadDescription, match="form a cycle"):
        infer(f"{tmp_path}/pets.yaml#/components/schemas/One")


def test_a_few_error_objects_do_not_make_every_field_optional() -> None:
    replies = [json.dumps({"city": "Oslo", "n": n, "tags": [n]}) for n in range(294)]
    errors = [json.dumps({"error": {"message": "overloaded", "code": n}}) for n in range(6)]
    draft = infer([*replies[:100], *errors, *replies[100:]])
    assert draft.data["schema"]["required"] == ["city", "n", "tags"]
    assert "error" not in draft.data["schema"]["properties"]
    report = draft.report
    assert adds_up(report)
    assert report.unusable["other_shape"] + report.held.without == 6
    assert "such as an error object" in report.why()


def test_a_frequent_other_shape_is_drafted_too() -> None:
    replies = [json.dumps({"city": "Oslo", "n": n} if n % 10 else {"error": "x", "code": n}) for n in range(300)]
    draft = infer(replies)
    assert "other_shape" not in draft.report.unusable
    assert {"city", "error"} <= set(draft.data["schema"]["properties"])
    assert draft.report.ok


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_is_not_the_current_folder(name: str) -> None:
    with pytest.raises(SourceError, match="empty name"):
        infer(name)


def test_a_file_that_cannot_be_opened_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "reply.txt"
    path.write_text("{}")

    def refuse(_path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(SourceError, match=r"reply\.txt: cannot be read: Permission denied"):
        infer(path)
