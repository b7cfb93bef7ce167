"""Judging over the API: replies, responses, contexts, feedback for the model, examples, explanations."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.studio.conftest import Desk
from tests.studio.judging.conftest import WHO, Bench
from trueup.contract.codes import ALL
from trueup.studio.api.judging import Code, Instruct, Written, codes, explain, instruct, run_examples
from trueup.studio.judging.explaining import explained
from trueup.studio.refusal import RequestRefused

CONTRACTS = Path(__file__).parents[3] / "examples" / "contracts"
PERSON = "schema: {type: object, required: [name], properties: {name: {type: string}, age: {type: integer}}}\n"
CHAT = {"choices": [{"message": {"role": "assistant", "content": '{"name": "Ada"}'}, "finish_reason": "stop"}]}
STREAM = 'data: {"choices": [{"delta": {"content": "{\\"name\\": \\"Ada\\"}"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


def test_a_reply_is_judged_over_http(served: Callable[..., Desk]) -> None:
    desk = served(role="reader")
    answer = desk.post("/judge", {"reply": '{"name": "😀", "age": "36",}', "contract": PERSON})
    assert answer["verdict"]["ok"]
    assert {fact["code"] for fact in answer["verdict"]["facts"]} == {"S001", "C001"}
    assert json.loads(answer["verdict"]["value"]) == {"name": "😀", "age": 36}
    assert 0 < answer["took"] < 10
    assert answer["contract"]["fingerprint"]
    half = desk.client.post("/judge", content=json.dumps({"reply": '{"name": "\ud83d"}', "contract": PERSON})).json()
    assert half["verdict"]["text"] == '{"name": "\ud83d"}'
    assert desk.get("/explain", code="v005")["name"] == "not-in-enum"
    assert len(desk.get("/codes")["codes"]) == len(ALL)
    for path, body in (
        ("/replay", {"reply": "[1, 2", "upto": 4, "steps": True}),
        ("/examples", {"contract": PERSON}),
        ("/instructions", {"contract": PERSON}),
    ):
        assert desk.post(path, body)


@pytest.mark.parametrize(
    "body", [{"reply": 1}, {"upto": 3}, {"response": "maybe"}, {"kind": ".exe"}, {"file": "/etc/passwd"}]
)
def test_a_bad_request_is_refused(served: Callable[..., Desk], body: dict[str, Any]) -> None:
    response = served().client.post("/judge", json=body)
    assert response.status_code in (400, 404)
    assert response.json()["error"]["message"]


def test_a_reply_over_the_limit_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueup.studio.api.judging.MOST_REPLY", 10)
    with pytest.raises(RequestRefused) as refused:
        bench.judge("x" * 11)
    assert refused.value.status == 413


def test_inside_a_gateway_the_limit_is_lower(bench: Bench) -> None:
    mounted = Bench(bench.folder, mount="/studio")
    assert bench.judge("1" * 1_000_001)["verdict"] is not None
    with pytest.raises(RequestRefused):
        mounted.judge("1" * 1_000_001)


def test_a_contract_over_the_linters_limit_is_a_fault(bench: Bench) -> None:
    assert [one["code"] for one in bench.judge("{}", "# x\n" * 200_000)["faults"]] == ["N003"]


@pytest.mark.parametrize("source", [json.dumps(CHAT), STREAM])
def test_a_providers_response_is_read(bench: Bench, source: str) -> None:
    for response in (True, "auto"):
        answer = bench.judge(source, PERSON, response=response)
        assert (answer["read"], answer["verdict"]["ok"]) == ("openai", True)
        assert answer["verdict"]["text"] == '{"name": "Ada"}'


def test_a_plain_value_is_not_read_as_a_response(bench: Bench) -> None:
    answer = bench.judge('{"name": "Ada"}', PERSON, response="auto")
    assert (answer["read"], answer["verdict"]["ok"]) == ("text", True)
    sure = bench.judge('{"name": "Ada"}', PERSON, response=True)
    assert [fact["code"] for fact in sure["verdict"]["facts"]] == ["R001"]
    assert bench.judge("just words", "reply: {min_text: 2}", response=True)["verdict"]["ok"]


@pytest.mark.parametrize(
    ("context", "place"),
    [("{", (1, 2)), ('{\n "😀": 1,\n "é😀": x}', (3, 9)), ("[1]", (1, 1)), ("[" * 100_000, (1, 1)), ("12", (1, 1))],
)
def test_an_invalid_context_is_a_fault_with_its_position(bench: Bench, context: str, place: tuple[int, int]) -> None:
    answer = bench.judge("{}", "", context=context)
    (found,) = answer["faults"]
    assert found["of"] == "context"
    assert (found["line"], found["column"]) == place
    assert answer["verdict"] is None


@pytest.mark.parametrize(
    "context", ['{"history": 3}', '{"expected_sequence": 3}', '{"history": [{"role": 3}]}', '{"state": 3}']
)
def test_a_context_with_a_wrong_shape_is_not_a_server_error(bench: Bench, context: str) -> None:
    contract = "tools: [{name: book}]\nstates: {IDLE: {tools: [book]}}\n"
    answer = bench.judge("Hello there", contract, context=context)
    assert answer["verdict"] is not None or answer["faults"]


def test_null_is_a_value_and_a_missing_value_is_not(bench: Bench) -> None:
    assert bench.judge("null", "")["verdict"]["value"] == "null"
    assert bench.judge("null", "reply: {min_text: 1}")["verdict"]["value"] is None
    assert bench.judge("nothing", "")["verdict"]["value"] is None


def test_a_state_is_used_and_an_unknown_one_is_reported(bench: Bench) -> None:
    contract = "states:\n  IDLE: {forbid: [{terms: [booked]}]}\n  DONE: {}\n"
    said = bench.judge("It is booked.", contract, state="IDLE")
    assert said["contract"]["states"] == ["IDLE", "DONE"]
    assert [fact["code"] for fact in said["verdict"]["facts"]] == ["D001"]
    assert said["verdict"]["told"]
    assert bench.judge("It is booked.", contract, state="DONE")["verdict"]["ok"]
    unknown = bench.judge("It is booked.", contract, state="DOEN", context='{"state": "IDLE"}')["verdict"]
    assert unknown["facts"][0]["code"] == "D004"
    assert (unknown["told"], bool(unknown["untold"])) == (None, True)


def test_the_correction_for_the_model_is_shown(bench: Bench) -> None:
    refused = bench.judge('{"age": 3}', PERSON)["verdict"]
    assert "name" in refused["told"]
    assert refused["untold"] == ""
    assert bench.judge('{"name": "Ada"}', PERSON)["verdict"]["told"] is None
    foreign = bench.judge("{}", PERSON + "language: xx\n")["verdict"]
    assert (foreign["told"], "xx" in foreign["untold"]) == (None, True)
    called = json.dumps({"choices": [{"message": {"tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "bok", "arguments": "{}"}},
    ]}}]})  # fmt: skip
    assert "book" in bench.judge(called, "tools: [{name: book}]", response=True)["verdict"]["told"]


def test_the_instructions_for_the_model_are_shown(bench: Bench) -> None:
    for form in ("form", "json-schema", "typescript"):
        assert "name" in instruct(bench.studio, Instruct(PERSON, form=form), WHO)["text"]  # type: ignore[arg-type]
    assert instruct(bench.studio, Instruct("shema: 1"), WHO)["text"] is None
    assert instruct(bench.studio, Instruct(PERSON + "language: xx\n"), WHO)["faults"]


@pytest.mark.parametrize("file", sorted(CONTRACTS.glob("*.yaml")), ids=lambda file: file.stem)
def test_the_examples_of_our_contracts_pass(file: Path) -> None:
    bench = Bench(CONTRACTS)
    answer = run_examples(bench.studio, Written(file.read_text("utf-8"), file=f"contracts/{file.name}"), WHO)
    assert [one["name"] for one in answer["examples"] if not one["passes"]] == []
    judged = bench.judge("x", file.read_text("utf-8"), file=f"contracts/{file.name}")
    assert judged["contract"]["examples"] == len(answer["examples"])


def test_a_failing_example_says_why_and_where(bench: Bench) -> None:
    text = (
        PERSON + "examples:\n  - {name: good, reply: '{\"name\": \"Ada\"}'}\n  - {name: bad, reply: '{}', ok: true}\n"
    )
    good, bad = run_examples(bench.studio, Written(text), WHO)["examples"]
    assert (good["passes"], bad["passes"]) == (True, False)
    assert (bad["faults"][0]["code"], bad["faults"][0]["line"]) == ("N020", 4)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.code)
def test_the_examples_of_a_page_can_be_tried(kind: Any) -> None:
    """Each example with texts to try gives its code under Triggers, and not under Stays quiet."""
    bench = Bench(Path(__file__).parent)
    page = explained(kind)
    assert [section["title"] for section in page["sections"]] == ["Finds", "Why", "Triggers", "Stays quiet", "Fix"]
    for section in page["sections"]:
        for block in section["blocks"]:
            assert block["kind"] in ("text", "list", "code")
            if "example" in block:
                answer = bench.judge(**block["example"])
                given = {one["code"] for one in answer["faults"]}
                given |= {fact["code"] for fact in (answer["verdict"] or {"facts": []})["facts"]}
                assert (kind.code in given) == (section["title"] == "Triggers")


def test_an_unknown_code_gets_suggestions(bench: Bench) -> None:
    with pytest.raises(RequestRefused) as refused:
        explain(bench.studio, Code("trailing-coma"), WHO)
    assert "S001" in refused.value.hint
    assert {"code", "name", "title", "family", "kind"} <= codes(bench.studio, None, WHO)["codes"][0].keys()  # type: ignore[arg-type]


# -- replay ------------------------------------------------------------------------------------

PLAIN = st.text("ab é😀{[:,", max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PLAIN, inner, max_size=4),
    max_leaves=12,
)


@given(st.one_of(st.dictionaries(PLAIN, VALUES, max_size=4), st.lists(VALUES, max_size=4)), st.data())
def test_a_replay_in_one_piece_shows_the_same_as_a_stream(value: Any, data: st.DataObject) -> None:
    from trueup import Contract
    from trueup.studio.judging.replaying import replay
    from trueup.studio.judging.spelling import spell
    from trueup.studio.judging.units import OffsetUnits

    reply = json.dumps(value, ensure_ascii=False)
    come = data.draw(st.integers(0, len(reply)))
    contract = Contract(schema=True)
    seen = replay(contract, reply, {}, OffsetUnits(reply).of(come))
    stream = contract.stream()
    for letter in reply[:come]:
        stream.push(letter)
    if come < len(reply):
        partial = stream.partial
        assert seen["value"] == (None if partial is None else spell(partial).text)
    assert seen["ended"] == (come == len(reply))


def test_a_replay_names_what_is_still_growing(bench: Bench) -> None:
    reply = '{"rows": [1, {"name": "Ad'
    seen = bench.replay(reply + 'a"}]}', upto=len(reply), steps=True)
    assert seen["open"] == ["$", "$.rows", "$.rows[1]", "$.rows[1].name"]
    assert json.loads(seen["value"]) == {"rows": [1, {"name": "Ad"}]}
    assert seen["steps"] == sorted(set(seen["steps"]))
    whole = bench.replay(reply + 'a"}]}', upto=10_000)
    assert (whole["ended"], whole["open"]) == (True, [])
    assert bench.replay("😀", upto=1)["ended"] is False
    assert bench.replay("[1] and so on", upto=5)["ended"] is True


def test_a_replay_reports_certain_faults_early(bench: Bench) -> None:
    seen = bench.replay('{"age": "old", "name": "Ada"}', PERSON, upto=16)
    assert [found["path"] for found in seen["findings"]] == ["$.age"]


def test_a_replay_of_a_response_counts_its_text(bench: Bench) -> None:
    seen = bench.replay(STREAM, PERSON, upto=11, response=True)
    assert json.loads(seen["value"]) == {"name": "A"} or json.loads(seen["value"]) == {"name": ""}


@pytest.mark.parametrize("given_", [{"contract": "shema: 1"}, {"context": "{"}])
def test_a_replay_with_a_faulty_request_is_refused(bench: Bench, given_: dict[str, str]) -> None:
    with pytest.raises(RequestRefused) as refused:
        bench.replay("{}", upto=2, **given_)
    assert refused.value.status == 422


@pytest.mark.parametrize("reply", ["[]", '{"error": "none"}', '{"error": {"message": "no such city"}}'])
def test_a_value_that_looks_like_a_failed_response_is_text(bench: Bench, reply: str) -> None:
    """Nothing in it names a provider: `trueup check` accepts it as well."""
    answer = bench.judge(reply, "schema: true", response="auto")
    assert (answer["read"], answer["verdict"]["ok"]) == ("text", True)
    assert not bench.judge(reply, "schema: true", response=True)["verdict"]["ok"]


@pytest.mark.parametrize(
    ("contract", "takes"),
    [
        ("schema: {properties: {a: {type: integer}}}\nrules: [a < 3]\n", False), ("", False), ("relevance: true\n", True),
        ("schema: {properties: {a: {type: integer}}}\nrules: [a < most]\ninput: [most]\n", True), ("tools: [{name: book}]\n", True),
        ("reply: true\n", False), ("reply: {rules: [{name: x, expr: question != text}]}\n", True), ("states: {A: {}}\n", True),
    ],
)  # fmt: skip
def test_the_page_is_told_whether_a_context_matters(bench: Bench, contract: str, *, takes: bool) -> None:
    assert bench.judge("{}", contract)["contract"]["context"] is takes
