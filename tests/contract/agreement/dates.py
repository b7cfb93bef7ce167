"""Dates, times, durations, identifiers, paths, bytes and addresses: in JSON, they are strings."""

import ipaddress
import uuid
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import (
    UUID4,
    AnyUrl,
    AwareDatetime,
    Base64Bytes,
    BaseModel,
    ByteSize,
    Field,
    FutureDate,
    HttpUrl,
    Json,
    NaiveDatetime,
    PastDate,
    SecretStr,
)

from tests.contract.agreement.row import REFUSED, Reader, broken, coerced, invalid, row, valid

PLAIN, LIMITED, MODEL = Reader.PLAIN, Reader.LIMITED, Reader.MODEL
SOME_ID = uuid.UUID("0f8fad5b-d9cb-469f-a165-70867728950e")
SOME_UUID4 = uuid.UUID("7c9e6679-7425-40de-944b-e07fc1f90ae7")


class Event(BaseModel):
    day: date
    at: time | None = None


class Log(BaseModel):
    when: datetime


class Timer(BaseModel):
    length: timedelta


class Site(BaseModel):
    url: HttpUrl


class Page(BaseModel):
    settings: Json[dict[str, int]]


class Numbers(BaseModel):
    values: Json[list[int]]


class Login(BaseModel):
    user: str
    password: SecretStr


class Upload(BaseModel):
    path: Path
    content: bytes


class Disk(BaseModel):
    size: ByteSize


ROWS = [
    row(
        "date",
        date,
        PLAIN,
        valid('"2024-02-29"', date(2024, 2, 29)),
        invalid('"2023-02-29"', "$"),
        invalid('"next Friday"', "$"),
        invalid("null", "$"),
        broken("'2024-02-29'", "2024-02-29", date(2024, 2, 29)),
    ),
    row(
        "datetime",
        datetime,
        PLAIN,
        valid('"2024-01-31T10:00:00"', datetime(2024, 1, 31, 10)),  # noqa: DTZ001 - the reply names no zone
        valid('"2024-01-31T10:00:00Z"', datetime(2024, 1, 31, 10, tzinfo=UTC)),
        invalid('"tomorrow at ten"', "$"),
        broken("“2024-01-31T10:00:00Z”", "2024-01-31T10:00:00Z", datetime(2024, 1, 31, 10, tzinfo=UTC)),
    ),
    row(
        "time",
        time,
        PLAIN,
        valid('"10:30:00"', time(10, 30)),
        invalid('"half past ten"', "$"),
        broken("'10:30:00'", "10:30:00", time(10, 30)),
    ),
    row(
        "timedelta",
        timedelta,
        PLAIN,
        valid('"PT1H"', timedelta(hours=1)),
        invalid('"an hour"', "$"),
        broken("'PT1H'", "PT1H", timedelta(hours=1)),
    ),
    row(
        "uuid",
        uuid.UUID,
        PLAIN,
        valid('"0f8fad5b-d9cb-469f-a165-70867728950e"', SOME_ID),
        invalid('"0f8fad5b"', "$"),
        broken("'0f8fad5b-d9cb-469f-a165-70867728950e'", "0f8fad5b-d9cb-469f-a165-70867728950e", SOME_ID),
    ),
    row(
        "bytes as base64",
        bytes,
        PLAIN,
        valid('"aGVsbG8="', b"hello"),
        invalid('"hello, world!"', "$"),
        broken("'aGVsbG8='", "aGVsbG8=", b"hello"),
    ),
    row(
        "path",
        Path,
        LIMITED,
        valid('"reports/2024.csv"', Path("reports/2024.csv")),
        invalid("null", "$"),
        invalid("[1, 2]", "$"),
        broken("'reports/2024.csv'", "reports/2024.csv", Path("reports/2024.csv")),
    ),
    row(
        "pure path",
        PurePosixPath,
        LIMITED,
        valid('"a/b"', PurePosixPath("a/b")),
        invalid("null", "$"),
        broken("“a/b”", "a/b", PurePosixPath("a/b")),
    ),
    row(
        "date or None",
        date | None,
        PLAIN,
        valid("null", None),
        valid('"2024-02-29"', date(2024, 2, 29)),
        invalid('"unknown"', "$"),
        broken("```json\n'2024-02-29'\n```", "2024-02-29", date(2024, 2, 29)),
    ),
    row(
        "list of dates",
        list[date],
        PLAIN,
        valid('["2024-01-01", "2024-12-31"]', [date(2024, 1, 1), date(2024, 12, 31)]),
        coerced('"2024-01-01"', ["2024-01-01"], [date(2024, 1, 1)]),
        invalid('["2024-01-01", "2024-13-01"]', "$[1]"),
        broken("['2024-01-01',]", ["2024-01-01"], [date(2024, 1, 1)]),
    ),
    row(
        "dict of datetimes",
        dict[str, datetime],
        PLAIN,
        valid('{"start": "2024-01-31T10:00:00Z"}', {"start": datetime(2024, 1, 31, 10, tzinfo=UTC)}),
        invalid('{"start": "soon"}', "$.start"),
        broken(
            "{'start': '2024-01-31T10:00:00Z'}",
            {"start": "2024-01-31T10:00:00Z"},
            {"start": datetime(2024, 1, 31, 10, tzinfo=UTC)},
        ),
    ),
    row(
        "limited date",
        Annotated[date, Field(ge=date(2024, 1, 1))],
        LIMITED,
        valid('"2024-06-01"', date(2024, 6, 1)),
        invalid('"2023-06-01"', "$"),
        broken("'2024-06-01'", "2024-06-01", date(2024, 6, 1)),
        broken("'2020-06-01'", "2020-06-01", REFUSED, "$"),
    ),
    row(
        "limited timedelta",
        Annotated[timedelta, Field(le=timedelta(hours=8))],
        LIMITED,
        valid('"PT7H30M"', timedelta(hours=7, minutes=30)),
        invalid('"PT9H"', "$"),
        broken("'PT8H'", "PT8H", timedelta(hours=8)),
    ),
    row(
        "past date",
        PastDate,
        LIMITED,
        valid('"1815-12-10"', date(1815, 12, 10)),
        invalid('"2999-12-31"', "$"),
        broken("'1815-12-10'", "1815-12-10", date(1815, 12, 10)),
    ),
    row(
        "future date",
        FutureDate,
        LIMITED,
        valid('"2999-12-31"', date(2999, 12, 31)),
        invalid('"1815-12-10"', "$"),
        broken("“2999-12-31”", "2999-12-31", date(2999, 12, 31)),
    ),
    row(
        "aware datetime",
        AwareDatetime,
        LIMITED,
        valid('"2024-01-31T10:00:00Z"', datetime(2024, 1, 31, 10, tzinfo=UTC)),
        invalid('"2024-01-31T10:00:00"', "$"),
        broken("'2024-01-31T10:00:00Z'", "2024-01-31T10:00:00Z", datetime(2024, 1, 31, 10, tzinfo=UTC)),
    ),
    row(
        "naive datetime",
        NaiveDatetime,
        LIMITED,
        valid('"2024-01-31T10:00:00"', datetime(2024, 1, 31, 10)),  # noqa: DTZ001
        invalid('"2024-01-31T10:00:00Z"', "$"),
        broken("'2024-01-31T10:00:00'", "2024-01-31T10:00:00", datetime(2024, 1, 31, 10)),  # noqa: DTZ001
    ),
    row(
        "uuid of version 4",
        UUID4,
        LIMITED,
        valid('"7c9e6679-7425-40de-944b-e07fc1f90ae7"', SOME_UUID4),
        invalid('"7c9e6679-7425-10de-944b-e07fc1f90ae7"', "$"),
        broken("'7c9e6679-7425-40de-944b-e07fc1f90ae7'", "7c9e6679-7425-40de-944b-e07fc1f90ae7", SOME_UUID4),
    ),
    row(
        "url",
        AnyUrl,
        LIMITED,
        valid('"https://example.org/a"', AnyUrl("https://example.org/a")),
        invalid('"not a url"', "$"),
        broken("'https://example.org/a'", "https://example.org/a", AnyUrl("https://example.org/a")),
    ),
    row(
        "ip address",
        ipaddress.IPv4Address,
        LIMITED,
        valid('"192.0.2.1"', ipaddress.IPv4Address("192.0.2.1")),
        invalid('"192.0.2.256"', "$"),
        broken("'192.0.2.1'", "192.0.2.1", ipaddress.IPv4Address("192.0.2.1")),
    ),
    row(
        "bytes by pydantic",
        Annotated[bytes, Field(max_length=5)],
        LIMITED,
        valid('"hello"', b"hello"),
        invalid('"hello, world"', "$"),
        broken("'hello'", "hello", b"hello"),
    ),
    row(
        "base64 by pydantic",
        Base64Bytes,
        MODEL,
        valid('"aGVsbG8="', b"hello"),
        invalid('"aGVsbG8"', "$"),
        broken("'aGVsbG8='", "aGVsbG8=", b"hello"),
    ),
    row(
        "model with a date",
        Event,
        MODEL,
        valid('{"day": "2024-02-29"}', Event(day=date(2024, 2, 29))),
        valid('{"day": "2024-02-29T00:00:00", "at": "10:30"}', Event(day=date(2024, 2, 29), at=time(10, 30))),
        invalid('{"day": "2024-02-30"}', "$.day"),
        invalid('{"day": "2024-02-29T12:00:00"}', "$.day"),
        broken("{'day': '2024-02-29', 'at': None,}", {"day": "2024-02-29", "at": None}, Event(day=date(2024, 2, 29))),
    ),
    row(
        "model with a datetime",
        Log,
        MODEL,
        valid('{"when": "2024-01-31T10:00:00Z"}', Log(when=datetime(2024, 1, 31, 10, tzinfo=UTC))),
        valid('{"when": 1706695200}', Log(when=datetime(2024, 1, 31, 10, tzinfo=UTC))),
        valid('{"when": "2024-01-31"}', Log(when=datetime(2024, 1, 31))),  # noqa: DTZ001
        invalid('{"when": "now"}', "$.when"),
        broken(
            '{when: "2024-01-31T10:00:00Z"}',
            {"when": "2024-01-31T10:00:00Z"},
            Log(when=datetime(2024, 1, 31, 10, tzinfo=UTC)),
        ),
    ),
    row(
        "model with a duration",
        Timer,
        MODEL,
        valid('{"length": "PT1H"}', Timer(length=timedelta(hours=1))),
        valid('{"length": 3600}', Timer(length=timedelta(hours=1))),
        valid('{"length": "01:30:00"}', Timer(length=timedelta(hours=1, minutes=30))),
        invalid('{"length": "one hour"}', "$.length"),
        broken("{'length': 3600", {"length": 3600}, Timer(length=timedelta(hours=1))),
    ),
    row(
        "model with a url",
        Site,
        MODEL,
        valid('{"url": "https://example.org/"}', Site(url=HttpUrl("https://example.org/"))),
        valid('{"url": "https://example.org"}', Site(url=HttpUrl("https://example.org/"))),
        invalid('{"url": "ftp://example.org"}', "$.url"),
        invalid('{"url": "example"}', "$.url"),
        broken(
            "{'url': 'https://example.org/'}",
            {"url": "https://example.org/"},
            Site(url=HttpUrl("https://example.org/")),
        ),
    ),
    row(
        "model with JSON in a string",
        Page,
        MODEL,
        valid('{"settings": "{\\"size\\": 3}"}', Page(settings='{"size": 3}')),
        invalid('{"settings": "{\\"size\\": \\"big\\"}"}', None),
        invalid('{"settings": "size 3"}', "$.settings"),
        broken("{'settings': '{\"size\": 3}'}", {"settings": '{"size": 3}'}, Page(settings='{"size": 3}')),
    ),
    row(
        "model with a JSON list in a string",
        Numbers,
        MODEL,
        valid('{"values": "[1, 2]"}', Numbers(values="[1, 2]")),
        invalid('{"values": "one, two"}', "$.values"),
        broken('```json\n{"values": "[1, 2]",}\n```', {"values": "[1, 2]"}, Numbers(values="[1, 2]")),
    ),
    row(
        "model with a secret",
        Login,
        MODEL,
        valid('{"user": "ada", "password": "analytical"}', Login(user="ada", password=SecretStr("analytical"))),
        invalid('{"user": "ada"}', "$.password"),
        broken(
            "{'user': 'ada', 'password': 'x1'}",
            {"user": "ada", "password": "x1"},
            Login(user="ada", password=SecretStr("x1")),
        ),
    ),
    row(
        "model with a path and bytes",
        Upload,
        MODEL,
        valid('{"path": "a.txt", "content": "hello"}', Upload(path=Path("a.txt"), content=b"hello")),
        invalid('{"path": "a.txt", "content": null}', "$.content"),
        broken(
            "{path: 'a.txt', content: 'hello'}",
            {"path": "a.txt", "content": "hello"},
            Upload(path=Path("a.txt"), content=b"hello"),
        ),
    ),
    row(
        "model with a byte size",
        Disk,
        MODEL,
        valid('{"size": 1024}', Disk(size=ByteSize(1024))),
        valid('{"size": "2KiB"}', Disk(size=ByteSize(2048))),
        invalid('{"size": "big"}', "$.size"),
        broken("{'size': '2KiB'}", {"size": "2KiB"}, Disk(size=ByteSize(2048))),
    ),
]
