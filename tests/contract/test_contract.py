"""Contract: its options and the values they refuse, the inputs of a check, limits, and Python types as schemas."""

import dataclasses
import enum
import json
from pathlib import Path
from typing import Any, TypedDict

import msgspec
import pydantic
import pytest

from trueup import Contract, Finding, Fix, Rejected, Reply, Verdict
from trueup.conform.options import Options
from trueup.conform.schema import SchemaError

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}
CLEAN = '{"name": "Ada", "age": 36}'
ADA = {"name": "Ada", "age": 36}


def codes(facts: Any) -> list[str]:
    return [fact.code for fact in facts]


# -- options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"accept": "all"}, "accept"),
        ({"accept": None}, "accept"),
        ({"coerce": "nope"}, "coerce"),
        ({"coerce": None}, "coerce"),
        ({"max_depth": 0}, "max_depth"),
        ({"max_depth": 501}, "max_depth"),
        ({"max_depth": "9"}, "max_depth"),
        ({"max_size": 0}, "max_size"),
        ({"max_size": -1}, "max_size"),
        ({"max_size": "9"}, "max_size"),
        ({"strict": "no"}, "strict"),
    ],
    ids=str,
)
def test_a_bad_option_is_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words) as raised:
        Contract(PERSON, **options)
    assert repr(next(iter(options.values()))) in str(raised.value), "the message quotes what was given"


@pytest.mark.parametrize(
    "schema", [5, [1], b"{}", {"type": "nope"}, "there-is-no-such-file.json", {"$ref": "#/$defs/gone"}], ids=str
)
def test_a_bad_schema_is_refused_when_the_contract_is_made(schema: Any) -> None:
    with pytest.raises(SchemaError):
        Contract(schema)


def test_an_option_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="depth"):
        Contract(PERSON, depth=3)  # type: ignore[call-overload]


def test_a_schema_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "person.json"
    file.write_text(json.dumps(PERSON), "utf-8")
    assert Contract(file).check(CLEAN).data == ADA
    assert not Contract(str(file)).check('{"name": "Ada"}').ok


def test_without_a_schema_any_text_is_fine_and_there_is_no_data() -> None:
    verdict = Contract().check("Good morning! { not json")
    assert verdict.ok
    assert verdict.data is None
    assert verdict.fixes == ()
    assert verdict.reply.text == "Good morning! { not json"


def test_true_accepts_any_json_value_but_not_prose() -> None:
    assert Contract(True).check("[1]").data == [1]
    assert codes(Contract(True).check("Good morning!").findings) == ["P001"]


# -- accept

GRADED = [
    (CLEAN, "none"),
    (f"```json\n{CLEAN}\n```", "lossless"),
    ("{'name': 'Ada', 'age': 36,}", "lossless"),
    ('{"name": "Ada", "age": "36"}', "guess"),
    ('{"name": "Ada", "age": 36', "guess"),
    ('{"name": "Ada", "age": 36, "tags": ["a", ...]}', "lossy"),
    ('{"age": 36, "name": "Ada', "lossy"),
]
ORDER = ["none", "lossless", "guess", "lossy"]


@pytest.mark.parametrize("accept", ORDER)
@pytest.mark.parametrize(("reply", "needed"), GRADED, ids=[grade for _, grade in GRADED])
def test_accept_is_the_highest_grade_that_may_be_in_an_ok_verdict(reply: str, needed: str, accept: Any) -> None:
    verdict = Contract(PERSON, accept=accept).check(reply)
    assert verdict.ok == (ORDER.index(accept) >= ORDER.index(needed))
    assert verdict.data["name"] == "Ada", "the best reading is there even when it is refused"
    assert verdict.data["age"] == 36
    refused = [f for f in verdict.findings if f.code == "G001"]
    assert {f.data["grade"] for f in refused} == {
        fix.grade for fix in verdict.fixes if ORDER.index(fix.grade) > ORDER.index(accept)
    }


def test_a_refused_grade_names_the_fix_its_place_and_the_accepted_grades() -> None:
    verdict = Contract(PERSON, accept="lossless").check('{"name": "Ada", "age": "36"}')
    (found,) = verdict.findings
    assert (found.code, found.path, found.span, found.level) == ("G001", "$.age", (23, 27), "error")
    assert found.data == {"fix": "C001", "grade": "guess", "accept": "lossless"}


# -- coerce


def test_the_profiles_of_coercion() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "on": {"type": "boolean"}}}
    text, eager = '{"n": "7"}', '{"n": "1,036", "on": "yes"}'
    assert not Contract(schema, coerce="off").check(text).ok
    assert Contract(schema, coerce="standard").check(text).data == {"n": 7}
    assert not Contract(schema, coerce="standard").check(eager).ok
    assert Contract(schema, coerce="eager").check(eager).data == {"n": 1036, "on": True}


def test_coercion_accepts_aliases_prefixes_and_delimiters() -> None:
    schema = {"type": "object", "properties": {"level": {"enum": ["LOW", "HIGH"]}}, "required": ["level"]}
    told = Options(aliases={"level": ["nivel"], "HIGH": ["alto"]}, enum_prefixes=("very ",), enum_delimiters=(" | ",))
    contract = Contract(schema, coerce=told)
    assert contract.check('{"nivel": "alto"}').data == {"level": "HIGH"}
    assert contract.check('{"level": "very low"}').data == {"level": "LOW"}
    assert contract.check('{"level": "LOW | probably"}').data == {"level": "LOW"}
    assert not Contract(schema).check('{"nivel": "alto"}').ok


@pytest.mark.parametrize("reply", ['{"Número": 5}', '{"NU\u0301MERO": 5}', '{"numero": 5}', 'Here: {"Número": 5,}'])
@pytest.mark.parametrize("listed", [False, True])
def test_a_key_without_its_accents_is_found_though_no_other_key_is_there(reply: str, listed: bool) -> None:
    schema = {"type": "object", "properties": {"numero": {"type": "integer"}}, "required": ["numero"]}
    text = reply.replace("{", "[{").replace("}", "}]") if listed else reply
    verdict = Contract({"type": "array", "items": schema} if listed else schema).check(text)
    assert verdict.ok
    assert verdict.data == ([{"numero": 5}] if listed else {"numero": 5})


def test_a_list_of_objects_without_any_known_key_is_refused_for_each() -> None:
    schema = {"type": "object", "properties": {"numero": {"type": "integer"}}, "required": ["numero"]}
    contract = Contract({"type": "array", "items": schema})
    verdict = contract.check('[{"a": 1}, {"b": "2"}]')
    assert [(found.code, found.path) for found in verdict.findings] == [
        ("V002", "$[0].numero"),
        ("V002", "$[1].numero"),
    ]
    assert (verdict.data, verdict.fixes) == ([{"a": 1}, {"b": "2"}], ())
    mixed = contract.check('[{"a": 1}, {"NUMERO": "2"}]')
    assert mixed.data == [{"a": 1}, {"numero": 2}]
    assert [found.path for found in mixed.findings] == ["$[0].numero"]


# -- strict


def test_strict_turns_a_warning_into_one_error() -> None:
    reply = '{"name": "Ada", "age": 35, "age": 36}'
    lenient = Contract(PERSON).check(reply)
    assert lenient.ok
    assert [(f.code, f.level) for f in lenient.findings] == [("P003", "warning")]
    strict = Contract(PERSON, strict=True).check(reply)
    assert not strict.ok
    assert [(f.code, f.level) for f in strict.findings] == [("P003", "error")]


@pytest.mark.spec("A2")
def test_strict_refuses_to_choose_between_different_equals_and_names_both() -> None:
    reply = f'{CLEAN}\n{{"name": "Bob", "age": 7}}'
    assert Contract(PERSON).check(reply).data == {"name": "Bob", "age": 7}
    strict = Contract(PERSON, strict=True).check(reply)
    assert codes(strict.errors) == ["P008"]
    readings = "".join(strict.errors[0].data["readings"])
    assert "Ada" in readings
    assert "Bob" in readings
    assert Contract(PERSON, strict=True).check(f"{CLEAN}\n{CLEAN}").ok


# -- limits


def test_a_reply_that_is_too_long_is_not_read() -> None:
    contract = Contract(True, max_size=20)
    assert contract.check('"' + "x" * 18 + '"').ok
    for reply in ('"' + "x" * 19 + '"', b'"' + b"x" * 19 + b'"', Reply(text='"' + "x" * 19 + '"')):
        verdict = contract.check(reply)
        assert codes(verdict.findings) == ["L001"]
        assert verdict.findings[0].data == {"size": 21, "limit": 20}
        assert verdict.data is None


@pytest.mark.parametrize(("limit", "depth"), [(1, 1), (3, 3), (255, 255), (500, 500)])
@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "{},", "{} {}"])
def test_a_reply_that_nests_too_deep_is_refused(limit: int, depth: int, around: str) -> None:
    contract = Contract(True, max_depth=limit)
    fits, too_deep = "[" * depth + "]" * depth, "[" * (depth + 1) + "]" * (depth + 1)
    assert contract.check(around.replace("{}", fits)).ok
    verdict = contract.check(around.replace("{}", too_deep))
    assert codes(verdict.findings) == ["L002"]
    assert verdict.findings[0].data == {"limit": limit}
    assert verdict.data is None


# -- inputs of a check


def test_text_bytes_and_replies_are_judged_alike() -> None:
    text = 'Sí:\n{"name": "Ñandú", "age": 3,}'
    contract = Contract(PERSON)
    expected = contract.check(text)
    raw = text.encode()
    for handed in (raw, bytearray(raw), memoryview(raw), Reply(text=text)):
        assert contract.check(handed) == expected
    reply = Reply(text=text, model="m", provider="p")
    assert contract.check(reply).reply == reply


def test_bytes_that_are_not_text_are_refused_whatever_is_accepted() -> None:
    raw = b'{"name": "A\xffa", "age": 36}'
    verdict = Contract(PERSON, accept="lossy").check(raw)
    assert codes(verdict.errors) == ["P007"]
    assert verdict.data == {"name": "A\ufffda", "age": 36}
    assert codes(verdict.fixes) == ["S039"]
    assert verdict.fixes[0].span == (11, 12)
    assert codes(Contract().check(raw).errors) == ["P007"]


def test_the_context_is_optional_and_left_alone() -> None:
    context = {"state": "ASKING", "data": {"name": "Ada"}, "history": []}
    assert Contract(PERSON).check(CLEAN, context=context) == Contract(PERSON).check(CLEAN)
    assert context == {"state": "ASKING", "data": {"name": "Ada"}, "history": []}


# -- Python types


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"


class Model(pydantic.BaseModel):
    name: str
    age: int
    mood: Mood = Mood.GOOD


@dataclasses.dataclass
class Data:
    name: str
    age: int = 0


class Typed(TypedDict):
    name: str
    age: int


class Struct(msgspec.Struct):
    name: str
    age: int = 0


MESSY = "Here:\n```json\n{'name': 'Ada', 'age': '36',}\n```"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (Model, Model(name="Ada", age=36)),
        (Data, Data("Ada", 36)),
        (Typed, {"name": "Ada", "age": 36}),
        (Struct, Struct("Ada", 36)),
    ],
    ids=["pydantic", "dataclass", "typeddict", "msgspec"],
)
def test_the_value_is_an_instance_of_the_type(schema: Any, value: Any) -> None:
    for reply in (CLEAN, MESSY):
        verdict = Contract(schema).check(reply)
        assert verdict.ok, verdict.findings
        assert verdict.data == ADA
        assert type(verdict.data) is dict
        assert verdict.value == value
        assert type(verdict.value) is type(value)
        assert verdict.unwrap() == value


@pytest.mark.parametrize("schema", [list[Model], list[Data], list[Struct], list[Typed]], ids=str)
def test_lists_of_a_type(schema: Any) -> None:
    verdict = Contract(schema).check(f"1. {CLEAN}\n2. {CLEAN.replace('Ada', 'Bob')}")
    assert verdict.ok
    assert [item["name"] for item in verdict.data] == ["Ada", "Bob"]
    assert len(verdict.value) == 2
    item = verdict.value[0]
    assert (item["name"] if isinstance(item, dict) else item.name) == "Ada"


class Even(pydantic.BaseModel):
    number: int

    @pydantic.field_validator("number")
    @classmethod
    def is_even(cls, number: int) -> int:
        if number % 2:
            raise ValueError("must be even")
        return number


def test_a_refusal_by_the_type_alone_is_a_finding() -> None:
    verdict = Contract(Even).check('{"number": 3}')
    assert codes(verdict.errors) == ["V012"]
    assert verdict.errors[0].path == "$.number"
    assert "even" in verdict.errors[0].message
    assert verdict.data == {"number": 3}
    assert Contract(Even).check("{number: '4'}").value == Even(number=4)


def test_a_value_that_is_none_or_false_is_still_the_value() -> None:
    assert Contract({"type": "null"}).check("null").unwrap() is None
    assert Contract(bool).check("false").unwrap() is False
    assert Contract(int | None).check("null").value is None


# -- verdicts


def test_unwrap_gives_the_value_or_raises_with_the_verdict() -> None:
    assert Contract(PERSON).check(CLEAN).unwrap() == ADA
    verdict = Contract(PERSON).check('{"name": 5.5}')
    with pytest.raises(Rejected, match="reply refused: V") as raised:
        verdict.unwrap()
    assert raised.value.verdict is verdict
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize(
    "reply",
    [CLEAN, MESSY, '{"name": "Ada"}', "sorry", '{"name": "A\\ud800", "age": 1e999}', f"{CLEAN} {CLEAN} [1]", b"\xff{}"],
    ids=repr,
)
@pytest.mark.parametrize("schema", [PERSON, Model], ids=["json", "type"])
def test_a_verdict_survives_a_round_trip_through_json(reply: Any, schema: Any) -> None:
    verdict = Contract(schema).check(reply)
    told = json.loads(json.dumps(verdict.to_dict()))
    again = Verdict.from_dict(told)
    assert again == verdict
    assert again.to_dict() == verdict.to_dict()
    assert (again.ok, again.data, again.hint) == (verdict.ok, verdict.data, verdict.hint)
    assert again.reply.text == verdict.reply.text
    assert all(isinstance(fix, Fix) for fix in again.fixes)
    assert all(isinstance(found, Finding) for found in again.findings)
    assert told["ok"] == verdict.ok


def test_derived_values_are_derived_again() -> None:
    told = Contract(PERSON).check('{"name": "Ada"}').to_dict()
    told["ok"] = True
    assert not Verdict.from_dict(told).ok


def test_ok_follows_from_the_findings_alone() -> None:
    error = Finding("V001", "$", "wrong")
    warning = Finding("P003", "$", "twice", level="warning")
    told = Contract(PERSON).check(CLEAN).to_dict()
    for findings, ok in (([], True), ([warning], True), ([warning, error], False)):
        verdict = Verdict.from_dict({**told, "findings": [msgspec.to_builtins(found) for found in findings]})
        assert verdict.ok == ok
        assert len(verdict.errors) == findings.count(error)
        assert len(verdict.warnings) == findings.count(warning)


@pytest.mark.spec("A4")
def test_findings_have_advice_for_a_model() -> None:
    verdict = Contract({**PERSON, "additionalProperties": False}).check('{"name": 5.5, "nmae": "x"}')
    messages = {found.path: found.message for found in verdict.errors}
    assert messages["$.age"] == 'Field "age": Required field is missing'
    assert set(messages) >= {"$.age", "$.nmae"}
    assert all(found.hint for found in verdict.errors)
    assert verdict.hint.splitlines() == list(dict.fromkeys(found.hint for found in verdict.errors))


def test_errors_come_before_warnings() -> None:
    verdict = Contract(PERSON).check('{"name": "Ada", "name": "Bob"}')
    assert [(f.code, f.level) for f in verdict.findings] == [("V002", "error"), ("P003", "warning")]


def test_contracts_can_be_used_from_many_threads_at_once() -> None:
    from concurrent.futures import ThreadPoolExecutor

    contract = Contract(Model)
    with ThreadPoolExecutor(8) as pool:
        verdicts = list(pool.map(contract.check, [MESSY, CLEAN, "sorry", '{"name": "Ada"}'] * 100))
    assert [verdict.ok for verdict in verdicts] == [True, True, False, False] * 100
    assert all(verdict.value == Model(name="Ada", age=36) for verdict in verdicts if verdict.ok)


def test_damage_in_many_places_is_reported_in_few_words() -> None:
    raw = b"a\xff" * 5_000
    verdict = Contract(True).check(raw)
    assert [code for code in codes(verdict.errors) if code == "P007"] == ["P007"] * 20
    covered = {at for fix in verdict.fixes if fix.span for at in range(*fix.span)}
    assert covered >= set(range(1, 10_000, 2))
    assert len(verdict.fixes) == 1_001
    run = Contract(True).check(b"\xff\xfe\xfd{}")
    assert [(f.code, f.span, f.after) for f in run.fixes if f.code == "S039"] == [("S039", (0, 3), "\ufffd" * 3)]


def test_damaged_bytes_keep_to_the_size_limit() -> None:
    assert codes(Contract(max_size=10).check(b"\xff" * 11).errors) == ["L001"]


@pytest.mark.spec("X2")
def test_more_calls_or_values_than_anybody_means_are_refused() -> None:
    tools = [{"name": "book", "parameters": {"type": "object"}}]
    assert codes(Contract(tools=tools).check("book(day='x') " * 10_001).errors) == ["L003"]
    schema = {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day", "hour"]}
    assert codes(Contract(schema).check("Say Visit(day='x') now. " * 40_001).errors) == ["L003"]
    assert codes(Contract(schema).check("[" + "{'day': 'x'}, " * 60_000 + "]").errors) == ["L003"]
    assert codes(Contract(schema).check("name: value\n" * 40_002).errors) == ["L003"]


LINES = [
    {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": {"content": '{"age":'}, "done": False},
    {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": {"content": " 36}"}, "done": False},
    {
        "model": "m",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"content": ""},
        "done": True,
        "done_reason": "stop",
    },
]
EVENTS = 'data: {"choices": [{"delta": {"content": "{\\"age\\": 36}"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


@pytest.mark.spec("Q10")
@pytest.mark.parametrize(
    "body",
    [
        "\n".join(map(json.dumps, LINES)),
        "\r\n".join(map(json.dumps, LINES)),
        'f:{"messageId":"m"}\n0:"{\\"age\\":"\n0:" 36}"\nd:{"finishReason":"stop"}\n',
        EVENTS,
        EVENTS.replace("\n", "\r\n"),
        f": OPENROUTER PROCESSING\n\n{EVENTS}",
        f"retry: 3000\n{EVENTS}",
        f"\n{EVENTS}",
        f"\ufeff{EVENTS}",
    ],
)
@pytest.mark.parametrize("options", [{}, {"schema": True}, {"tools": []}, {"states": {"IDLE": {}}}])
def test_the_body_of_a_stream_is_put_together_by_any_contract_as_text_and_as_bytes(
    body: str, options: dict[str, Any]
) -> None:
    contract = Contract(**options)
    for source in (body, body.encode()):
        verdict = contract.check(source, {"state": "IDLE"})
        assert (verdict.reply.text, verdict.findings.errors) == ('{"age": 36}', ())
        assert verdict.data == ({"age": 36} if options == {"schema": True} else None)


@pytest.mark.spec("Q10")
@pytest.mark.parametrize("text", ['{"a": 1}\n{"a": 1}', ": a colon", "data: none", " \n", "", "id: 7", "retry: later"])
def test_text_that_only_begins_as_a_stream_does_is_text(text: str) -> None:
    assert Contract().check(text).reply.text == text
    assert Contract(True).check(text).reply.text == text


@pytest.mark.parametrize("context", [[1], "IDLE", len])
def test_a_context_that_is_not_a_dict_is_refused(context: Any) -> None:
    contract = Contract(list[int], rules=["len(value) > 0"])
    for judge in (contract.check, contract.check_value):
        with pytest.raises(TypeError, match=r"context must be a dict such as .*; got "):
            judge("[1]", context)
