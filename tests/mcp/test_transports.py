"""The server with the SDK's own client, over both transports and in both eras of the protocol."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp import Client

from tests.mcp.stage import KEY, Place, http_server, make_place, over_http, run, stdio_of, text_of
from trueup.mcp.table import BY_NAME

MODES = ("auto", "legacy")
READ_ONLY = [name for name in BY_NAME if name != "edit"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return make_place(tmp_path_factory.mktemp("mcp"))


async def walk(client: Client) -> None:
    """Call every tool that reads."""
    listed = await client.list_tools()
    assert [tool.name for tool in listed.tools] == READ_ONLY
    calls: dict[str, dict[str, Any]] = {
        "check": {"contract": "contracts/people.yaml", "reply": "{'name': 'Ada', age: 36}"},
        "explain": {"code": "S008"},
        "lint": {"contract": "contracts/people.yaml"},
        "infer": {"limit": 30},
        "backtest": {"contract": "contracts/people.yaml", "limit": 30},
        "examples": {"accepted": False},
        "stats": {},
    }
    assert list(calls) == READ_ONLY
    for name, arguments in calls.items():
        result = await client.call_tool(name, arguments)
        assert not result.is_error, (name, text_of(result))
        assert "omitted" in result.structured_content


@pytest.mark.parametrize("mode", MODES)
def test_every_tool_answers_over_stdio(place: Place, mode: str) -> None:
    async def work() -> None:
        async with Client(stdio_of(place), mode=mode) as client:
            await walk(client)

    run(work)


@pytest.mark.parametrize("mode", MODES)
def test_every_tool_answers_over_http(place: Place, mode: str) -> None:
    with http_server(place) as url:

        async def work() -> None:
            async with over_http(url, mode=mode) as client:
                await walk(client)

        run(work)


def test_two_clients_use_one_http_server_at_once(place: Place) -> None:
    with http_server(place) as url:

        async def work() -> None:
            async with over_http(url) as one, over_http(url, mode="legacy") as other:
                await asyncio.gather(walk(one), walk(other))

        run(work)


def test_the_end_of_standard_input_ends_the_server_quietly(place: Place) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "trueup", "mcp", str(place.folder)],
        input=b"",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_quietly(place: Place, number: signal.Signals) -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", "trueup", "mcp", str(place.folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert started.stdin is not None
    assert started.stdout is not None
    started.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    started.stdin.flush()
    assert b'"id":1' in started.stdout.readline()
    os.kill(started.pid, number)
    out, err = started.communicate(timeout=60)
    assert (started.returncode, out, err) == (0, b"", b"")


def test_two_signals_end_the_server_quietly(place: Place) -> None:
    with started(place) as process:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, b"", b"")


def test_a_client_that_stops_reading_ends_the_server_quietly(place: Place) -> None:
    with started(place) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}\n')
        process.stdin.close()
        err = process.stderr.read()
        assert (process.wait(60), err) == (0, b"")


def test_a_line_that_cannot_be_read_is_answered(place: Place) -> None:
    nested = '{"a":' * 5_000 + "1" + "}" * 5_000
    lines = {
        "garbage": None,
        '{"jsonrpc": "2.0", "id": 3}': 3,
        f'{{"jsonrpc": "2.0", "id": 4, "method": "ping", "params": {nested}}}': None,
    }
    with started(place) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\n")  # an empty line needs no answer
        for line, number in lines.items():
            process.stdin.write(f"{line}\n".encode())
            answer = json.loads(process.stdout.readline())
            assert (answer["id"], answer["error"]["code"]) == (number, -32700)
        assert process.communicate(timeout=60) == (b"", b"")


INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}},
}  # fmt: skip


def test_half_a_surrogate_pair_reaches_a_tool_over_stdio(place: Place) -> None:
    """A client sends it as an escape, such as a reply that was cut in an emoji."""
    call = {
        "jsonrpc": "2.0",
        "id": 5,
        "method": "tools/call",
        "params": {"name": "check", "arguments": {"reply": '"\ud83d"'}},
    }
    with started(place) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        process.stdout.readline()
        process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        process.stdin.write(json.dumps(call).encode() + b"\n")
        answer = json.loads(process.stdout.readline())
        assert answer["id"] == 5
        assert answer["result"]["structuredContent"]["outcome"] == "refused"
        assert "\ufffd" in answer["result"]["content"][0]["text"]


@contextlib.contextmanager
def started(place: Place) -> Iterator["subprocess.Popen[bytes]"]:
    """A server on standard input and output that has answered once."""
    process = subprocess.Popen(
        [sys.executable, "-m", "trueup", "mcp", str(place.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        bufsize=0,
    )  # fmt: skip
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        assert b'"id":1' in process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def test_a_client_that_leaves_in_the_middle_of_a_request_is_no_error(place: Place) -> None:
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    with http_server(place) as url:
        parts = urlsplit(url)
        head = (
            f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
        )  # fmt: skip
        for sent in (body[:20], body, b""):
            with socket.create_connection((parts.hostname or "", parts.port or 0)) as connection:
                connection.sendall(head.encode() + sent)

        async def work() -> None:
            async with over_http(url) as client:
                assert not (await client.call_tool("explain", {"code": "S001"})).is_error

        run(work)


def test_two_signals_end_the_http_server_quietly(place: Place) -> None:
    async def work() -> None:
        with contextlib.ExitStack() as stack:
            url = stack.enter_context(http_server(place, stop=signal.SIGINT, times=2))
            async with over_http(url) as client:
                await client.call_tool("explain", {"code": "S001"})
                await asyncio.to_thread(stack.close)

    run(work)


def test_printed_output_does_not_reach_the_protocol(place: Place, tmp_path: Path) -> None:
    """A noisy program around the server: only the protocol is on standard output."""
    noisy = tmp_path / "noisy.py"
    noisy.write_text(
        "import os, sys\n"
        "from trueup.mcp import caller\n"
        "from trueup.cli.main import main\n"
        "before = caller.ToolCaller._tool\n"
        "def loud(self, name):\n"
        "    print('noise'); os.system('echo noise of a child'); return before(self, name)\n"
        "caller.ToolCaller._tool = loud\n"
        "sys.argv = ['trueup', 'mcp', sys.argv[1]]\n"
        "main()\n"
    )

    async def work() -> None:
        parameters = stdio_of(place).model_copy(update={"args": [str(noisy), str(place.folder)]})
        async with Client(parameters) as client:
            result = await client.call_tool("explain", {"code": "S001"})
            assert not result.is_error

    run(work)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_http_server_quietly_with_clients_connected(
    place: Place, number: signal.Signals, mode: str
) -> None:  # fmt: skip
    async def work() -> None:
        with contextlib.ExitStack() as stack:
            server = http_server(place, stop=number)
            url = stack.enter_context(server)
            async with over_http(url, mode=mode) as client:
                await client.call_tool("explain", {"code": "S001"})
                await asyncio.to_thread(stack.close)

    run(work)
