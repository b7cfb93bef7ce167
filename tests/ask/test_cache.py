"""The cache of replies: what is stored, when two requests are equal, and that files survive crashes and shared use."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from langchain_core.messages import HumanMessage

from tests.ask.stage import BAD, GOOD, SCHEMA, Log
from trueup import Contract, Image, Policy, Price
from trueup.ask.cache import Cache, FileCache, MemoryCache
from trueup.ask.clients.call import CallableClient
from trueup.ask.clients.http import Http
from trueup.ask.clients.request import Request
from trueup.ask.conversation import Conversation
from trueup.ask.requests.replay import entry_of, key_of, raw_in
from trueup.verdict.events import Finished, Replied, Sent
from trueup.verdict.tool import Tool
from trueup.watch.observe import observed

CONTRACT = Contract(SCHEMA)


class Model:
    """Counts how many times it is asked; gives its replies in order, and repeats the last one."""

    def __init__(self, *script: Any) -> None:
        self.script = script or (GOOD,)
        self.calls = 0

    def __call__(self, messages: Any, **given: Any) -> Any:
        self.calls += 1
        return self.script[min(self.calls, len(self.script)) - 1]

    def stream(self, messages: Any) -> Any:
        text = self(messages)
        return iter([text[:9], text[9:]])


@pytest.fixture(params=["memory", "file"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Cache:
    return MemoryCache() if request.param == "memory" else FileCache(tmp_path / "replies.db")


def test_an_equal_request_is_answered_from_the_cache(cache: Cache) -> None:
    model, log = Model(), Log()
    first = CONTRACT.ask(model, "Who?", cache=cache)
    again = CONTRACT.ask(model, "Who?", Policy(prices={"*": Price(1.0, 1.0)}), cache=cache, on_event=log)
    assert model.calls == 1
    assert first.value == again.value
    assert [attempt.cached for attempt in (*first.attempts, *again.attempts)] == [False, True]
    assert (again.usage, again.cost, again.estimated) == ({}, 0.0, False)
    assert log.names == ["sent", "replied", "judged", "finished"]
    assert log.of(Sent)[0].cached
    assert (log.of(Replied)[0].cached, log.of(Replied)[0].tokens, log.of(Replied)[0].cost) == (True, 0, 0.0)
    assert log.of(Finished)[0].cost == 0.0


def test_sync_and_async_share_cached_replies(cache: Cache) -> None:
    model = Model()
    CONTRACT.ask(model, "Who?", cache=cache)
    answer = asyncio.run(CONTRACT.aask(model, "Who?", cache=cache))
    assert (model.calls, answer.attempts[0].cached) == (1, True)


def test_a_stream_is_replayed(cache: Cache) -> None:
    model = Model()
    parts = [list(CONTRACT.ask_stream(model.stream, "Who?", cache=cache)) for _ in range(2)]
    assert parts[0] == parts[1] != []
    assert model.calls == 1

    async def replayed() -> list[Any]:
        return [part async for part in CONTRACT.aask_stream(model.stream, "Who?", cache=cache)]

    assert asyncio.run(replayed()) == parts[0]
    assert model.calls == 1


def test_only_valid_replies_are_kept(cache: Cache) -> None:
    model = Model(BAD, GOOD)
    for _ in range(2):
        CONTRACT.ask(model, "Who?", Policy(repairs=0), cache=cache)
    assert model.calls == 2
    CONTRACT.ask(model, "Who?", Policy(repairs=0), cache=cache)
    assert model.calls == 2


def test_a_cached_reply_is_judged_again_and_replaced_if_it_is_no_longer_valid(cache: Cache) -> None:
    model, log = Model(GOOD, '{"name": "Grace", "age": 85}'), Log()
    CONTRACT.ask(model, "Who?", cache=cache)
    older = Contract(SCHEMA, rules=[{"expr": "age > 50", "error": "Somebody older."}])
    # The rules are not part of the request: it equals the first one, but its stored reply is no longer valid.
    answer = older.ask(model, "Who?", Policy(instruct="never"), cache=cache, on_event=log)
    assert answer.ok
    again = older.ask(model, "Who?", Policy(instruct="never"), cache=cache)
    assert (again.value, again.attempts[0].cached) == (answer.value, True)
    assert model.calls == 2 + (not answer.attempts[0].cached and len(answer.attempts) > 1)


def test_a_reply_that_is_no_longer_valid_is_dropped_and_is_not_an_attempt() -> None:
    cache, model = MemoryCache(), Model(GOOD, '{"name": "Grace", "age": 85}')
    policy = Policy(instruct="never")
    CONTRACT.ask(model, "Who?", policy, cache=cache)
    older = Contract(SCHEMA, rules=[{"expr": "age > 50", "error": "Somebody older."}])
    answer = older.ask(model, "Who?", policy, cache=cache)
    assert (model.calls, answer.outcome, answer.repairs) == (2, "accepted", 0)
    assert [attempt.cached for attempt in answer.attempts] == [False]


def test_a_hit_needs_no_budget() -> None:
    cache, model = MemoryCache(), Model()
    CONTRACT.ask(model, "Who?", cache=cache)
    answer = CONTRACT.ask(model, "Who?", Policy(tokens=1, tokenizer=len), cache=cache)
    assert answer.ok
    assert model.calls == 1


def test_conversations_and_watched_contracts_take_a_cache() -> None:
    cache, model = MemoryCache(), Model()
    for _ in range(2):
        Conversation(CONTRACT, model).ask("Who?", cache=cache)
        observed(CONTRACT).ask(model, "Who?", cache=cache)
    assert model.calls == 1


REQUEST = Request([{"role": "user", "content": "Who?"}], model="m", tools=(Tool("book", "Book it."),), max_tokens=9)


@pytest.mark.parametrize(
    "change",
    [
        {"messages": [{"role": "user", "content": "Why?"}]},
        {"model": "n"},
        {"mode": "json_schema"},
        {"schema": {"type": "object"}},
        {"tools": ()},
        {"must_call": True},
        {"temperature": 0.5},
        {"max_tokens": 10},
        {"parameters": {"seed": 7}},
        {"without": frozenset({"temperature"})},
    ],
    ids=lambda change: next(iter(change)),
)
def test_everything_that_affects_the_reply_changes_the_key(change: dict[str, Any]) -> None:
    client = Http("http://127.0.0.1:9/v1")
    assert key_of(client, msgspec.structs.replace(REQUEST, **change)) != key_of(client, REQUEST)


class Unknown:
    """An object that cannot be serialized."""

    __slots__ = ("held",)

    def __init__(self, held: str) -> None:
        self.held = held


def test_images_are_part_of_the_key_and_unknown_objects_have_none() -> None:
    client = Http("http://127.0.0.1:9/v1")

    def key(part: Any) -> str | None:
        return key_of(client, Request([{"role": "user", "content": ["What is this?", part]}]))

    png = b"\x89PNG\r\n\x1a\n"
    assert key(Image(png + b"a")) == key(Image(png + b"a")) != key(Image(png + b"b"))
    assert key(Image("https://example.com/a.png")) != key(Image("https://example.com/b.png"))
    assert key(HumanMessage("a")) == key(HumanMessage("a")) != key(HumanMessage("b"))
    assert key(Unknown("a")) is None


def test_the_client_is_part_of_the_key_and_the_time_is_not() -> None:
    one, other = Http("http://127.0.0.1:9/v1"), Http("http://127.0.0.1:10/v1")
    assert key_of(one, REQUEST) != key_of(other, REQUEST)
    assert key_of(one, REQUEST) == key_of(one, msgspec.structs.replace(REQUEST, timeout=3.0))
    assert key_of(one, REQUEST) != key_of(one, REQUEST, streams=True)
    assert key_of(CallableClient(Model()), REQUEST) != key_of(CallableClient(Model()), REQUEST)
    model = Model()
    assert key_of(CallableClient(model.stream), REQUEST) == key_of(CallableClient(model.stream), REQUEST)
    made = [lambda messages, reply=reply: reply for reply in "ab"]
    held = [_closing(reply) for reply in "ab"]
    assert key_of(CallableClient(made[0]), REQUEST) != key_of(
        CallableClient(made[1]), REQUEST
    )  # the same place in the program, with two defaults
    assert key_of(CallableClient(held[0]), REQUEST) != key_of(
        CallableClient(held[1]), REQUEST
    )  # but each has its own contents


def _closing(reply: str) -> Any:
    return lambda messages: reply


SECRET = "sk-proj-0123456789abcdefghij"


def test_secrets_are_neither_in_keys_nor_in_files(tmp_path: Path) -> None:
    clients = [Http("http://127.0.0.1:9/v1", key=key) for key in (SECRET, "another-key-0123456789")]
    requests = [
        msgspec.structs.replace(REQUEST, parameters={"extra_headers": {"x": key}, "api_key": key, "seed": 1})
        for key in (SECRET, "another-key-0123456789")
    ]
    assert len({key_of(c, r) for c, r in zip(clients, requests, strict=True)}) == 1

    file = tmp_path / "replies.db"
    cache = FileCache(file)
    policy = Policy(parameters={"api_key": SECRET, "extra_headers": {"Authorization": f"Bearer {SECRET}"}})
    CONTRACT.ask(Model(), "Who?", policy, cache=cache)
    cache.close()
    assert all(SECRET.encode() not in path.read_bytes() for path in tmp_path.iterdir())
    if os.name == "posix":
        assert file.stat().st_mode & 0o077 == 0


def test_a_reply_that_cannot_be_serialized_is_not_stored() -> None:
    cache = MemoryCache()
    assert entry_of(object()) is None
    assert entry_of(iter("abc")) is None
    assert raw_in(b"{") is None
    assert len(cache) == 0


class Broken:
    """A cache that returns something that was never stored in it."""

    def __init__(self, entry: Any) -> None:
        self.entry = entry

    def get(self, key: str) -> Any:
        return self.entry

    def put(self, key: str, value: bytes) -> None:
        pass

    def drop(self, key: str) -> None:
        pass


@pytest.mark.parametrize("entry", [b"\xff{", b"", b"5", b"null", b"[]", b"[5]", b'{"choices": []}', 7, "{"])
def test_an_unreadable_entry_is_a_miss(entry: Any) -> None:
    model = Model()
    assert CONTRACT.ask(model, "Who?", cache=Broken(entry)).ok
    assert model.calls == 1
    stream = CONTRACT.ask_stream(model, "Who?", cache=Broken(entry))
    list(stream)
    assert stream.answer.ok
    assert model.calls == 2


@pytest.mark.parametrize("value", ["text", 7, b"{"])
def test_a_row_that_was_changed_is_a_miss(value: Any, tmp_path: Path) -> None:
    cache, model = FileCache(tmp_path / "replies.db"), Model()
    CONTRACT.ask(model, "Who?", cache=cache)
    with sqlite3.connect(tmp_path / "replies.db") as base:
        base.execute("UPDATE replies SET value = ?", (value,))
    assert CONTRACT.ask(model, "Who?", cache=cache).ok
    assert model.calls == 2


def test_memory_is_bounded() -> None:
    cache = MemoryCache(most=3)
    for number in range(9):
        cache.put(str(number), b"x")
        cache.get("0")
    assert len(cache) == 3
    assert cache.get("8") == b"x"
    for most in (0, True, 1.5):
        with pytest.raises(ValueError, match="most must be a whole number"):
            MemoryCache(most)  # type: ignore[arg-type]


def test_a_file_is_bounded_and_forgets_what_is_old(tmp_path: Path) -> None:
    cache = FileCache(tmp_path / "replies.db", most=10)
    for number in range(200):
        cache.put(str(number), b"x")
    held = sqlite3.connect(tmp_path / "replies.db").execute("SELECT count(*) FROM replies").fetchone()[0]
    assert held <= 10 + 64
    assert cache.get("199") == b"x"
    assert cache.get("0") is None
    sqlite3.connect(tmp_path / "replies.db", isolation_level=None).execute("UPDATE replies SET at = 1")
    assert FileCache(tmp_path / "replies.db", max_age=60).get("199") is None


def test_a_file_that_is_not_a_cache_is_refused_and_one_that_breaks_is_a_miss(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "letter.txt").write_text("Dear reader, this is not a database at all. " * 50)
    with pytest.raises(ValueError, match="cannot keep replies in"):
        FileCache(tmp_path / "letter.txt")
    cache = FileCache(tmp_path / "replies.db")
    cache.close()
    model = Model()
    assert CONTRACT.ask(model, "Who?", cache=cache).ok
    assert "cannot use the cache" in caplog.text


def test_threads_share_a_file(tmp_path: Path) -> None:
    cache = FileCache(tmp_path / "replies.db")

    def work(name: int) -> None:
        for number in range(50):
            cache.put(f"{name}-{number}", b"x" * 100)
            assert cache.get(f"{name}-{number}") == b"x" * 100

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.get("3-49") == b"x" * 100


WRITER = """
import sys
from trueup.ask.cache import FileCache
cache = FileCache(sys.argv[1])
for number in range(int(sys.argv[3])):
    cache.put(f"{sys.argv[2]}-{number}", b"x" * 5000)
    print(number, flush=True)
"""


def writer(path: Path, name: str, count: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_processes_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    running = [writer(path, name, 100) for name in "abc"]
    for process in running:
        _, said = process.communicate(timeout=120)
        assert said == ""
    cache = FileCache(path)
    assert all(cache.get(f"{name}-{number}") == b"x" * 5000 for name in "abc" for number in range(100))


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
def test_a_killed_process_loses_no_stored_replies(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    process = writer(path, "a", 1_000_000)
    assert process.stdout is not None
    done = [int(process.stdout.readline()) for _ in range(40)]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    cache = FileCache(path)
    assert all(cache.get(f"a-{number}") == b"x" * 5000 for number in done)
    cache.put("after", b"y")
    assert cache.get("after") == b"y"
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_file_can_be_used_after_a_fork(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    program = f"""
import os
from trueup.ask.cache import FileCache
cache = FileCache({str(path)!r})
cache.put("before", b"1")
child = os.fork()
if child == 0:
    cache.put("child", cache.get("before"))
    os._exit(0)
os.waitpid(child, 0)
print(cache.get("child"))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == "b'1'"
