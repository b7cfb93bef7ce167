"""Failures instead of replies: error bodies of every provider, unknown shapes, exceptions."""

import copy
import datetime as dt
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import httpx
import msgspec
import openai
import pydantic
import pytest

from trueup import Contract
from trueup.read.reader import read, read_document

CODES = ("status", "code", "message", "retryable")


@pytest.mark.parametrize(
    ("body", "status", "code", "message", "retryable"),
    [
        ({"error": {"message": "No such model", "type": "invalid_request_error", "code": None}}, None, "invalid_request_error", "No such model", False),
        ({"error": {"message": "Slow down", "type": "requests", "code": "rate_limit_exceeded"}}, None, "rate_limit_exceeded", "Slow down", True),
        ({"error": {"message": "No credit", "code": "insufficient_quota"}}, None, "insufficient_quota", "No credit", False),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}, "request_id": "r"}, None, "overloaded_error", "Busy", True),
        ({"error": {"code": 503, "message": "Away", "status": "UNAVAILABLE"}}, 503, "UNAVAILABLE", "Away", True),
        ([{"error": {"code": 400, "message": "Bad", "status": "INVALID_ARGUMENT"}}], 400, "INVALID_ARGUMENT", "Bad", False),
        ({"message": "Malformed input"}, None, "", "Malformed input", False),
        ({"message": "Too fast", "__type": "ThrottlingException"}, None, "ThrottlingException", "Too fast", True),
        ({"id": "x", "message": "model not found"}, None, "", "model not found", False),
        ({"error": "model 'tiny' not found"}, None, "", "model 'tiny' not found", False),
        ({"error": "Model is loading", "estimated_time": 20.0}, None, "", "Model is loading", True),
        ({"Error": {"Code": "ThrottlingException", "Message": "Slow down"}, "ResponseMetadata": {"HTTPStatusCode": 429}}, 429, "ThrottlingException", "Slow down", True),
        ({"Error": {"Code": "ValidationException", "Message": "Bad"}, "ResponseMetadata": {"HTTPStatusCode": 400}}, 400, "ValidationException", "Bad", False),
        ({"object": "error", "message": "Too long", "type": "BadRequestError", "code": 400}, 400, "BadRequestError", "Too long", False),
        ({"detail": "Unauthorized"}, None, "", "Unauthorized", False),
        ({"detail": [{"loc": ["body"], "msg": "field required"}]}, None, "", "[{'loc': ['body'], 'msg': 'field required'}]", False),
        ({"statusCode": 401, "message": "Access denied"}, 401, "", "Access denied", False),
        ({"error": {"message": "Provider returned error", "code": 429, "metadata": {}}, "user_id": "u"}, 429, "", "Provider returned error", True),
    ],
)  # fmt: skip
def test_error_bodies_are_failures(body: Any, status: int | None, code: str, message: str, retryable: bool) -> None:
    before = copy.deepcopy(body)
    reading = read(body)
    (found,) = reading.findings
    assert (found.code, found.level, found.path) == ("R002", "error", "$")
    assert tuple(found.data[name] for name in CODES) == (status, code, message, retryable)
    assert (reading.reply.finish, reading.reply.text) == ("error", "")
    assert reading.reply.raw is body
    assert body == before


def test_a_filtered_prompt_is_reported() -> None:
    reading = read({"error": {"message": "Filtered", "code": "content_filter", "status": 400}})
    assert (reading.reply.finish, reading.findings[0].data["retryable"]) == ("filter", False)


def test_text_written_before_the_provider_refused_is_kept() -> None:
    error = {"message": "No match", "code": "tool_use_failed", "failed_generation": '{"name": "f"}'}
    data = read({"error": error}, status=400).findings[0].data
    assert (data["failed_generation"], data["retryable"]) == ('{"name": "f"}', True)


@pytest.mark.parametrize(
    "source", ["<html>Bad gateway</html>", b"Bad gateway", {"anything": 1}, {"choices": []}, '{"error": "x"}', None, []]
)
@pytest.mark.parametrize(("status", "retryable"), [(400, False), (404, False), (408, True), (429, True), (502, True)])
def test_a_failing_status_is_a_failure_whatever_the_body(source: Any, status: int, retryable: bool) -> None:
    (found,) = read(source, status=status).findings
    assert (found.code, found.data["status"], found.data["retryable"]) == ("R002", status, retryable)


def test_keys_are_not_repeated_in_a_finding() -> None:
    key = "sk-proj-" + "Ab1" * 12
    found = read({"error": {"message": f"Incorrect API key provided: {key}.", "code": "invalid_api_key"}}).findings[0]
    assert key not in f"{found}{found.data}"
    assert "[key]" in found.message


class Boom(Exception):
    def __init__(self, status: int | None = None, body: Any = None) -> None:
        super().__init__("it went wrong")
        self.status_code = status
        self.body = body


def test_exceptions_of_sdks_are_failures() -> None:
    data = read(Boom(429, {"error": {"message": "Slow", "code": "rate_limit_exceeded"}})).findings[0].data
    assert (data["status"], data["code"], data["message"], data["retryable"]) == (
        429,
        "rate_limit_exceeded",
        "Slow",
        True,
    )
    data = read(Boom()).findings[0].data
    assert (data["status"], data["code"], data["message"]) == (None, "Boom", "it went wrong")
    assert read(TimeoutError("timed out")).findings[0].data["retryable"] is True


class Odd:
    def model_dump(self) -> dict[str, Any]:
        raise RuntimeError("no")

    @property
    def text(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "source",
    [
        None,
        7,
        3.5,
        True,
        object(),
        {},
        [[]],
        [None],
        [1, 2],
        {"a": 1},
        {1: 2},
        [{"a": 1}, {"b": 2}],
        set(),
        int,
        print,
        Odd(),
        {"choices": "many"},
        {"choices": [None]},
        {"output": {"message": None}},
        {"object": "list", "data": []},
        {"embeddings": [[0.1]]},
        {"name": "Ada", "age": 36},
        (x for x in "abc"),
    ],
)
def test_unknown_shapes_give_a_finding_and_no_exception(source: Any) -> None:
    reading = read(source)
    assert [f.code for f in reading.findings] == ["R001"]
    assert reading.reply.finish == "error"
    assert reading.reply.raw is source


def test_an_iterator_is_not_consumed_and_the_hint_says_what_to_do() -> None:
    stream = iter([{"choices": []}])
    (found,) = read(stream).findings
    assert "list" in found.hint
    assert next(stream) == {"choices": []}


def test_the_finding_names_the_keys() -> None:
    (found,) = read({"embeddings": [], "id": "x"}).findings
    assert found.data == {"type": "dict", "keys": ["embeddings", "id"]}
    assert "embeddings, id" in found.message


def test_an_answer_that_looks_like_an_error_is_an_answer_in_a_document() -> None:
    reading = read_document('{"message": "See you at nine."}')
    assert (reading.reply.text, reading.findings) == ('{"message": "See you at nine."}', ())
    assert read_document('{"error": {"message": "Down"}}').findings[0].code == "R002"
    assert read_document('{"message": "Gone"}', status=404).findings[0].code == "R002"


@pytest.mark.parametrize("source", [[], ()])
def test_an_empty_list_of_messages_has_no_answer(source: Any) -> None:
    reading = read(source)
    assert [f.code for f in reading.findings] == ["R004"]
    assert reading.reply.messages == ()


class ClientError(Exception):
    """As botocore raises it: the whole body in `response`."""

    def __init__(self, code: str, status: int) -> None:
        super().__init__(f"An error occurred ({code})")
        self.response = {"Error": {"Code": code, "Message": "No"}, "ResponseMetadata": {"HTTPStatusCode": status}}


@pytest.mark.spec("A8")
@pytest.mark.parametrize(
    ("error", "status", "retryable"),
    [
        (ClientError("ThrottlingException", 429), 429, True),
        (ClientError("ValidationException", 400), 400, False),
        (openai.APIConnectionError(request=httpx.Request("POST", "http://localhost")), None, True),
        (ConnectionResetError("reset by peer"), None, True),
        (httpx.RemoteProtocolError("peer closed"), None, True),
        (httpx.ConnectError("refused"), None, True),
        (KeyError("x"), None, False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_an_exception_says_whether_to_retry(error: Exception, status: int | None, retryable: bool) -> None:
    (found,) = read(error).findings
    assert (found.code, found.data["status"], found.data["retryable"]) == ("R002", status, retryable)


@pytest.mark.spec("Q10")
def test_an_http_response_is_distinguished_from_its_body() -> None:
    response = httpx.Response(200, json={"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]})
    (found,) = read(response).findings
    assert (found.code, "response.json()" in found.hint) == ("R001", True)
    assert read(response.json()).reply.text == "hi"


class _Model(pydantic.BaseModel):
    name: str


class _Struct(msgspec.Struct):
    name: str


@dataclass
class _Data:
    name: str


@pytest.mark.parametrize(
    "source",
    [
        {"name": "Ada"},
        MappingProxyType({"name": "Ada"}),
        [{"name": "Ada"}],
        [{"name": "Ada"}, {"name": "Bo"}],
        [_Model(name="Ada"), _Model(name="Bo")],
        [1, 2],
        42,
        {"name": "Ada", "role": "admin"},
        [{"role": "admin", "name": "Ada"}],
        {"object": "cat", "score": 0.9},
        {"question": "Where?", "choices": ["here", "there"]},
        {"question": "Where?", "choices": [{"text": "here"}]},
        [{"choices": [{"text": "here"}]}, {"choices": [{"text": "there"}]}],
        {"job": "smith", "candidates": [{"name": "Ada"}]},
        {"candidates": ["Ada", "Bo"]},
        _Model(name="Ada"),
        _Struct("Ada"),
        _Data("Ada"),
    ],
    ids=repr,
)
def test_parsed_data_points_to_check_value(source: Any) -> None:
    (found,) = Contract(_Model).check(source).findings
    assert found.code == "R001"
    assert found.message.endswith("it looks like parsed data")
    assert found.hint.startswith("If this is parsed data, use check_value(…).")


@pytest.mark.parametrize("source", [{"message": "hi"}, {"id": 1, "title": "Tea", "detail": "green"}], ids=repr)
def test_data_that_may_be_an_error_points_to_check_value_too(source: dict[str, Any]) -> None:
    (found,) = Contract(_Model).check(source).findings
    assert (found.code, found.hint) == ("R002", "If this is parsed data, use check_value(…).")


@pytest.mark.parametrize("source", [{"error": {"message": "no"}}, {"error": "no such model"}], ids=repr)
def test_a_plain_error_does_not_point_to_check_value(source: dict[str, Any]) -> None:
    (found,) = Contract(_Model).check(source).findings
    assert (found.code, found.hint) == ("R002", "")


@pytest.mark.parametrize("value", [_Model(name="Ada"), _Struct("Ada"), _Data("Ada")], ids=repr)
def test_check_value_accepts_an_instance(value: Any) -> None:
    verdict = Contract(type(value)).check_value(value)
    assert (verdict.unwrap(), verdict.data, verdict.fixes) == (value, {"name": "Ada"}, ())
    several = Contract(list[type(value)]).check_value([value])  # type: ignore[misc]
    assert (several.unwrap(), several.data) == ([value], [{"name": "Ada"}])


def test_check_value_accepts_anything_that_can_be_written_as_json() -> None:
    class Aliased(pydantic.BaseModel):
        day: dt.date = pydantic.Field(alias="Day")

    verdict = Contract(Aliased).check_value(Aliased(Day=dt.date(2024, 2, 29)))
    assert (verdict.unwrap().day, verdict.data) == (dt.date(2024, 2, 29), {"Day": "2024-02-29"})
    assert Contract({"type": "object"}).check_value({"at": dt.date(2024, 2, 29), 7: {1}}).data == {
        "at": "2024-02-29",
        "7": [1],
    }
    assert Contract(_Model).check_value(MappingProxyType({"name": "Ada"})).data == {"name": "Ada"}
    with pytest.raises(TypeError, match="object cannot be written as JSON"):
        Contract(Aliased).check_value(object())


@pytest.mark.parametrize(
    "source",
    [None, object(), {1, 2}, {"role": "user", "content": "Hi."}, {"object": "list", "data": []}, (x for x in "abc")],
    ids=lambda source: type(source).__name__,
)
def test_an_object_that_is_not_data_does_not_point_to_check_value(source: Any) -> None:
    (found,) = read(source).findings
    assert "parsed" not in found.message + found.hint
