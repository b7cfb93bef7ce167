"""A line becomes a unit: plain lines, every provider's batch lines and errors, and records of an earlier sift."""

import json
from pathlib import Path
from typing import Any

import pytest

from trueup import Contract
from trueup.batch.input.units import Unit, read_unit, too_long
from trueup.batch.judging.contracts import spec_of
from trueup.batch.sift import sift


def read(row: Any) -> Unit:
    return read_unit(json.dumps(row).encode(), "f@7")


CHAT = {"choices": [{"message": {"role": "assistant", "content": '{"a": 1}'}, "finish_reason": "stop"}]}
LINES: dict[str, dict[str, Any]] = {
    "openai": {"id": "batch_req_1", "custom_id": "r1", "response": {"status_code": 200, "body": CHAT}, "error": None},
    "mistral": {"id": "x", "custom_id": "r1", "response": {"status_code": 200, "body": {**CHAT, "model": "mistral-small"}}},
    "anthropic": {
        "custom_id": "r1",
        "result": {
            "type": "succeeded",
            "message": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": '{"a": 1}'}], "stop_reason": "end_turn"},
        },
    },
    "gemini": {"key": "r1", "response": {"candidates": [{"content": {"parts": [{"text": '{"a": 1}'}]}, "finishReason": "STOP"}]}},
}  # fmt: skip
ERRORS: dict[str, dict[str, Any]] = {
    "openai": {
        "custom_id": "r1",
        "response": {"status_code": 500, "body": {"error": {"message": "boom"}}},
        "error": None,
    },
    "openai expired": {"custom_id": "r1", "response": None, "error": {"code": "batch_expired", "message": "late"}},
    "anthropic": {
        "custom_id": "r1",
        "result": {"type": "errored", "error": {"type": "overloaded_error", "message": "Busy"}},
    },
    "anthropic expired": {"custom_id": "r1", "result": {"type": "expired"}},
    "gemini": {"key": "r1", "error": {"code": 8, "message": "out of quota"}},
}


def test_a_plain_unit_is_read() -> None:
    unit = read({"unit_id": "a", "input": {"n": 1}, "raw_response": "hi", "retry_count": 2})
    assert unit == Unit("a", "hi", "hi", {"n": 1}, {"retry_count": 2})


def test_the_other_fields_are_the_input_if_none_is_named() -> None:
    unit = read({"unit_id": "a", "city": "Oslo", "raw_response": "hi", "retry_count": 1})
    assert (unit.input, unit.kept) == ({"city": "Oslo"}, {"retry_count": 1})


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_the_line_of_a_provider_is_read(line: dict[str, Any]) -> None:
    unit = read(line)
    assert (unit.id, unit.reply, unit.raw, unit.findings, unit.claims) == ("r1", '{"a": 1}', '{"a": 1}', (), True)


@pytest.mark.parametrize("line", ERRORS.values(), ids=ERRORS)
def test_the_error_line_of_a_provider_is_read(line: dict[str, Any]) -> None:
    unit = read(line)
    assert (unit.id, [found.code for found in unit.findings], unit.claims) == ("r1", ["R002"], False)
    assert json.loads(unit.raw) == line
    assert unit.kept == {"response": line}


def test_a_response_outside_a_batch_is_read() -> None:
    unit = read({"id": "chatcmpl-1", **CHAT})
    assert (unit.id, unit.reply) == ("chatcmpl-1", '{"a": 1}')


def test_a_truncated_reply_or_one_with_calls_keeps_the_response() -> None:
    cut = {"custom_id": "c", "response": {"status_code": 200, "body": {"choices": [{"message": {"role": "assistant", "content": '{"a":'}, "finish_reason": "length"}]}}}  # fmt: skip
    unit = read(cut)
    assert (unit.reply.finish, unit.raw, unit.kept) == ("length", '{"a":', {"response": cut})


def test_a_raw_response_that_is_not_text_is_accepted_or_refused() -> None:
    assert read({"unit_id": "a", "raw_response": {"n": 1}}).reply == '{"n":1}'
    assert read({"unit_id": "a", "raw_response": {"message": "hi"}}).findings == ()
    error = read({"unit_id": "a", "raw_response": {"error": {"message": "Busy", "type": "overloaded_error"}}})
    assert [found.code for found in error.findings] == ["R002"]
    provided = read({"unit_id": "a", "raw_response": CHAT})
    assert provided.reply.text == '{"a": 1}'
    assert [found.code for found in read({"unit_id": "a", "raw_response": None}).findings] == ["R004"]
    assert [found.code for found in read({"unit_id": "a", "raw_response": 5}).findings] == ["R004"]


@pytest.mark.parametrize("uid", [None, "", [], {}, True, 1.5])
def test_a_missing_or_invalid_id_becomes_the_position(uid: Any) -> None:
    unit = read({"unit_id": uid, "raw_response": "x"})
    assert (unit.id, [found.code for found in unit.findings]) == ("f@7", ["U005"])


@pytest.mark.parametrize(
    ("line", "uid"),
    [
        (b'{"unit_id": "u\\u00e9", "raw', "ué"),
        (b'{"custom_id": "r9", "resp', "r9"),
        (b"\xff", "f@7"),
        (b'{"unit_id": "a", "raw_response": 1e999}', "a"),
        (b'{"unit_id": "a", "raw_response": NaN}', "a"),
    ],
)
def test_a_line_that_is_not_json_keeps_a_visible_id(line: bytes, uid: str) -> None:
    unit = read_unit(line, "f@7")
    assert (unit.id, [found.code for found in unit.findings], unit.claims) == (uid, ["U001"], False)


def test_a_long_line_keeps_its_beginning() -> None:
    unit = too_long(b'{"unit_id": "a", "raw_response": "' + b"x" * 100_000, 9_000_000, 8_000_000, "f@7")
    assert (unit.id, len(unit.raw), unit.findings[0].code) == ("a", 65_536, "U004")


def test_a_record_of_an_earlier_sift_is_read_as_a_unit() -> None:
    failed = {"unit_id": "a", "failure_stage": "parse", "input": {"n": 1}, "raw_response": "hi", "errors": [{"code": "P001"}], "fixes": [], "retry_count": 1, "place": "x@0"}  # fmt: skip
    unit = read(failed)
    assert (unit.id, unit.reply, unit.input, unit.kept) == ("a", "hi", {"n": 1}, {"retry_count": 1, "place": "x@0"})
    assert unit.before == failed


def test_a_record_that_was_not_a_unit_before_is_still_not_one() -> None:
    row = {
        "unit_id": "f@0",
        "failure_stage": "pipeline_internal",
        "raw_response": "[1]",
        "errors": [{"code": "U002", "path": "$", "message": "m"}],
    }
    unit = read(row)
    assert ([found.code for found in unit.findings], unit.claims) == (["U002"], False)


@pytest.mark.parametrize(
    "errors", [3, True, "none", {"code": "U002"}, [None, 1], [{"code": ["U002"]}], [{"code": {}}], [{}]]
)
def test_error_fields_of_another_shape_stop_nothing(errors: Any) -> None:
    unit = read({"unit_id": "a", "raw_response": "hi", "data": {"n": 1}, "fixes": [], "errors": errors})
    assert (unit.id, unit.reply, unit.findings) == ("a", "hi", ())


@pytest.mark.parametrize(
    "row", [{"key": "k", "response": None}, {"key": "k", "response": 5}, {"recordId": "k", "modelInput": {}}]
)
def test_a_provider_s_line_without_a_reply_keeps_its_key(row: Any) -> None:
    unit = read(row)
    assert (unit.id, [found.code for found in unit.findings], unit.claims) == ("k", ["U002"], False)


def test_a_unit_that_failed_during_judging_is_judged_again() -> None:
    row = {
        "unit_id": "a",
        "failure_stage": "pipeline_internal",
        "raw_response": "[1]",
        "errors": [{"code": "U009", "path": "$", "message": "m"}],
    }
    assert (read(row).reply, read(row).findings) == ("[1]", ())


@pytest.mark.parametrize(
    "response", [LINES["anthropic"], {"id": "c", **CHAT}, [{"role": "assistant", "content": "hi"}], ERRORS["gemini"]]
)
def test_a_stored_response_is_read_again(response: Any) -> None:
    first = read({"unit_id": "a", "raw_response": response} if isinstance(response, list) else response)
    row = {
        "unit_id": first.id,
        "failure_stage": "parse",
        "raw_response": first.raw,
        "errors": [{"code": "P001"}],
        "response": response,
    }
    again = read(row)
    text = again.reply if isinstance(again.reply, str) else again.reply.text
    assert (again.id, text, again.findings) == (
        first.id,
        first.reply if isinstance(first.reply, str) else first.reply.text,
        first.findings,
    )


@pytest.mark.spec("B3", "B11")
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"unit_id": "a", "x": 1, "x": 2, "raw_response": "{}"}', "The line has the key 'x' twice"),
        ('{"unit_id": "a", "m": {"y": 1, "y": 2}, "raw_response": "{}"}', "An object in the line has a key twice"),
        ('{"unit_id": "a", "x": 1, "x": 2, "z": "\\ud800", "raw_response": "{}"}', "The line has the key 'x' twice"),
        ('{"custom_id": "a", "response": {"a": 1}, "response": {"body": {}}}', "The line has the key 'response' twice"),
    ],
)
def test_a_value_hidden_by_a_repeated_key_is_never_dropped(line: str, says: str) -> None:
    (found,) = read_unit(line.encode(), "f@0").findings
    assert (found.code, found.message) == ("U002", says)


@pytest.mark.parametrize("held", ['"q\\""', r'"\u0022"', '"\\ud800"', '[{"y": 1}, {"y": 2}]'])
def test_quotes_and_keys_of_different_objects_hide_nothing(held: str) -> None:
    assert read_unit(f'{{"unit_id": "a", "x": {held}, "raw_response": "{{}}"}}'.encode(), "f@0").findings == ()


def test_a_line_with_repeated_parts_is_not_a_unit() -> None:
    unit = read_unit(b'{"unit_id": "a", "raw_response": "1", "raw_response": "2"}', "f@7")
    assert [found.code for found in unit.findings] == ["U002"]
    fine = read_unit(b'{"unit_id": "a", "input": {"unit_id": "inner"}, "raw_response": "\\"unit_id\\""}', "f@7")
    assert (fine.id, fine.findings) == ("a", ())


def test_a_conversation_is_a_unit() -> None:
    asked, said = {"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because."}
    unit = read({"unit_id": "a", "topic": "rain", "messages": [asked, said]})
    assert (unit.id, unit.raw, unit.input, unit.reply) == ("a", "Because.", {"topic": "rain"}, [asked, said])
    assert read({"unit_id": "a", "input": 3, "messages": [asked, said]}).input == 3
    silent = read({"unit_id": "a", "messages": [asked]})
    assert ([found.code for found in silent.findings], silent.claims) == (["R004"], False)
    assert read({"unit_id": "a", "messages": []}).findings[0].code == "U002"
    assert read({"unit_id": "a", "messages": "no"}).findings[0].code == "U002"
    for unknown in ({"content": "A fine and full answer."}, {"role": "narrator", "content": "A fine and full answer."}):
        assert read({"unit_id": "a", "messages": [unknown]}).findings[0].code == "U002", (
            "messages are never judged as JSON"
        )
    assert read({"messages": [asked, said]}).findings[0].code == "U005"


def stored(reply: Any, **known: Any) -> dict[str, Any]:
    """A line as a store exports it."""
    verdict = Contract(reply=True, tools=[{"name": "search"}]).check(reply)
    row = {"id": "v1", "at": 1.5, "ok": verdict.ok, "codes": [], "reason": "", "attempts": 1, "outcome": "accepted"}
    return {**row, "state": "", "model": "m", "fingerprint": "f", "body": verdict.to_dict(), **known}


def test_a_line_of_a_stores_export_is_a_unit() -> None:
    unit = read(stored("A fine and full answer."))
    assert (unit.id, unit.reply, unit.raw, unit.findings) == (
        "v1",
        "A fine and full answer.",
        "A fine and full answer.",
        (),
    )
    assert (unit.kept["model"], unit.kept["fingerprint"], unit.before) == ("m", "f", {"data": None})
    assert read(stored("A fine and full answer.", state="ASKING")).context == {"state": "ASKING"}
    call = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "1", "function": {"name": "search", "arguments": "{}"}}],
    }
    called = read(stored(call))
    assert [each.name for each in called.reply.calls] == ["search"]
    assert called.before is not None
    assert called.before["failure_stage"]


@pytest.mark.parametrize("state", ["", "ASKING"])
def test_the_record_of_an_exported_line_gives_the_same_unit_again(state: str) -> None:
    for reply in (
        "A fine and full answer.",
        {"role": "assistant", "content": "", "toolInvocations": [{"toolName": "search", "state": "result"}]},
    ):
        unit = read(stored(reply, state=state))
        again = read(
            {"unit_id": unit.id, "input": None, "raw_response": unit.raw, "data": None, "fixes": [], **unit.kept}
        )
        assert (again.id, again.reply, again.context, again.findings) == (
            unit.id,
            unit.reply,
            unit.context,
            unit.findings,
        )


def test_a_providers_error_is_kept_and_a_body_without_a_reply_is_reported() -> None:
    failed = read(stored({"error": {"message": "Overloaded", "type": "overloaded_error"}}))
    assert ([found.code for found in failed.findings], failed.claims) == (["R002"], False)
    bare = read({**stored("A fine answer."), "body": None})
    assert bare.findings[0].message == "The line has no reply: it was exported without bodies, or the body was deleted"
    broken = stored("A fine answer.")
    broken["body"]["findings"] = 5
    assert broken["body"]
    assert read(broken).findings[0].code == "U002"


def test_the_contract_decides_about_an_interrupted_stream(tmp_path: Path) -> None:
    def chunk(text: str) -> dict[str, Any]:
        return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}}]}

    cut = Contract(schema=True).check([chunk("Let me help you with that")])
    lines = [
        {"unit_id": "chunks", "raw_response": [chunk("Let me help"), chunk(" you with that")]},
        {"unit_id": "short", "raw_response": [chunk("Let me he")]},
        {**stored("A fine answer."), "id": "stored", "body": cut.to_dict()},
    ]
    (tmp_path / "cut.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def sifted(contract: Any, name: str) -> dict[str, list[str]]:
        sift([str(tmp_path / "cut.jsonl")], spec_of(contract), tmp_path / name)
        rows = (tmp_path / name / "validated.jsonl", tmp_path / name / "failures.jsonl")
        told = [json.loads(line) for path in rows for line in path.read_text().splitlines()]
        return {
            row["unit_id"]: [each["code"] for each in (*row.get("errors", ()), *row.get("warnings", ()))]
            for row in told
        }

    assert sifted(Contract(reply=True), "reply") == {"chunks": ["R003"], "stored": ["R003"], "short": ["Q006", "R003"]}
    assert sifted(Contract(schema=True), "value") == {"chunks": ["R003"], "short": ["R003"], "stored": ["R003"]}
    failed = (tmp_path / "value" / "failures.jsonl").read_text()
    assert failed.count('"failure_stage":"parse"') == 3
    summaries = [json.loads((tmp_path / name / "summary.json").read_text()) for name in ("reply", "value")]
    levels = [summary["codes"]["R003"]["level"] for summary in summaries]
    assert levels == ["warning", "error"], "the level is the one that the contract gives it"


class Other:
    """A contract class of a user."""

    name = "other"

    def check(self, reply: Any, context: Any = None) -> Any:
        return Contract().check(reply.text)


def test_a_contract_of_another_class_refuses_an_interrupted_stream(tmp_path: Path) -> None:
    delta = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Let me help"}}]}
    (tmp_path / "cut.jsonl").write_text(json.dumps({"unit_id": "a", "raw_response": [delta]}) + "\n")
    assert sift([str(tmp_path / "cut.jsonl")], spec_of(Other()), tmp_path / "out").summary["counts"]["failed"] == 1
    assert '"R003"' in (tmp_path / "out" / "failures.jsonl").read_text()


@pytest.mark.parametrize(
    ("row", "uid", "says"),
    [
        ({"unit_id": 7.0}, "f@7", "unit_id is 7.0, neither text nor a whole number; the place of the line is used instead"),
        ({"unit_id": True}, "f@7", "unit_id is true, neither text nor a whole number; the place of the line is used instead"),
        ({"unit_id": {"a": 1}}, "f@7", "unit_id is an object, neither text nor a whole number; the place of the line is used instead"),
        ({"unit_id": [], "id": "x"}, "x", "unit_id is an array, neither text nor a whole number; id is used instead"),
        ({"unit_id": None}, "f@7", "The line has no unit_id; the place of the line is used instead"),
    ],
)  # fmt: skip
def test_an_invalid_id_is_named_in_the_finding(row: dict[str, Any], uid: str, says: str) -> None:
    found = read_unit(json.dumps({**row, "raw_response": "{}"}).encode(), "f@7")
    assert (found.id, [remark.message for remark in found.findings]) == (uid, [says])


@pytest.mark.spec("B3", "B14")
@pytest.mark.parametrize("own", [{}, {"name": "x"}, [1], CHAT, {"ok": True}, "text"])
@pytest.mark.parametrize("more", [{"data": {"n": 1}, "fixes": []}, {"failure_stage": "parse", "errors": []}])
def test_a_field_of_the_user_s_called_response_is_never_judged(own: Any, more: dict[str, Any]) -> None:
    row = {"unit_id": "a", "input": {}, "raw_response": "no idea", **more, "response": own}
    found = read(row)
    assert (found.reply, found.kept) == ("no idea", {"response": own})


@pytest.mark.spec("B14")
@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_record_with_the_providers_reply_is_judged_by_that_reply(line: dict[str, Any]) -> None:
    """The line is kept whole beside the user's `unit_id`; its record gives the same unit again."""
    first = read({"unit_id": "a", **line})
    assert "response" in first.kept
    again = read({"unit_id": "a", "raw_response": first.raw, "data": {}, "fixes": [], **first.kept})
    assert (again.reply, again.raw, again.kept) == (first.reply, first.raw, first.kept)


@pytest.mark.spec("B11")
def test_half_a_surrogate_pair_in_a_reply_that_is_not_text_fails_only_its_unit() -> None:
    for reply in ({"x": "\ud800"}, ["\ud800"], {"error": {"message": "\ud800"}}):
        found = read({"unit_id": "a", "raw_response": reply})
        assert json.loads(found.raw) == reply


@pytest.mark.spec("B11")
@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_unit_id_comes_before_the_key_of_a_provider(line: dict[str, Any]) -> None:
    assert read({"unit_id": "mine", **line}).id == "mine"
    assert read({"unit_id": 7, **line}).id == "7"
    assert (read({"unit_id": None, **line}).id, read({"unit_id": "", **line}).id) == (read(line).id, read(line).id)
