"""Long work: it reports progress, ends when its call is cancelled, and does not block other calls."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.mcp.stage import Place, http_server, inside, make_place, over_http, run, stdio_of, text_of

SLOW = """\
name: slow
schema: {type: object, properties: {name: {type: string}}, required: [name]}
rules:
  - name: slow
    expr: sum([len(a + b) for a in name for b in name]) > 0
    error: never
"""
# The replies have no recorded outcome, so only a draft makes both contracts judge them.
BACKTEST = {
    "contract": "contracts/slow.yaml",
    "text": SLOW.replace("> 0", "> 1"),
    "sources": ["contracts/many.jsonl"],
}
INFER = {"sources": ["contracts/many.jsonl"]}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A contract with a slow rule, and enough replies to take minutes."""
    place = make_place(tmp_path_factory.mktemp("long"), replies=4)
    (place.folder / "slow.yaml").write_text(SLOW)
    with (place.folder / "many.jsonl").open("w") as file:
        for number in range(60_000):
            file.write(
                json.dumps({"unit_id": str(number), "raw_response": json.dumps({"name": f"{number:08}" * 12})}) + "\n"
            )
    return place


def workers() -> set[int]:
    """The processes of long work that servers of this test have started. Other tests run at the same time."""
    found = set()
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if b"trueup.studio.working" in (each / "cmdline").read_bytes() and os.getpid() in above(int(each.name)):
                found.add(int(each.name))
    return found


def above(number: int) -> Iterator[int]:
    """The processes above a process, the nearest first."""
    while number > 1:
        number = int(Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[1])
        yield number


async def until(reached: Callable[[], bool]) -> None:
    """Wait for something that no event reports, such as the end of a process."""
    while not reached():  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def clients(place: Place, transport: str) -> AsyncIterator[Client]:
    """A client over a transport."""
    if transport == "inside":
        async with inside(place.workspace()) as client:
            yield client
    elif transport.startswith("stdio"):
        async with Client(stdio_of(place), mode=transport.partition(" ")[2] or "auto") as client:
            yield client
    else:
        with http_server(place) as url:
            async with over_http(url, mode=transport.partition(" ")[2] or "auto") as client:
                yield client


TRANSPORTS = ("stdio", "stdio legacy", "http", "http legacy")


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_cancelled_backtest_ends_and_other_calls_are_answered_meanwhile(place: Place, transport: str) -> None:
    async def work() -> None:
        before = workers()
        progress: list[float] = []

        async def report(done: float, total: float | None, message: str | None) -> None:
            assert message is not None
            progress.append(done)
            assert total is None or total >= done

        async with clients(place, transport) as client:
            task = asyncio.create_task(client.call_tool("backtest", BACKTEST, progress_callback=report))
            await until(lambda: len(progress) >= 2)
            own = workers() - before
            assert own
            explained = await client.call_tool("explain", {"code": "S001"})
            assert not explained.is_error
            assert not task.done()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await until(lambda: not own & workers())
            again = await client.call_tool("explain", {"code": "S001"})
            assert not again.is_error
        assert progress == sorted(set(progress))

    run(work)


def test_drafting_reports_progress_and_can_be_cancelled(place: Place) -> None:
    async def work() -> None:
        reported = asyncio.Event()

        async def report(done: float, total: float | None, message: str | None) -> None:
            if done and message and "replies read" in message:
                reported.set()

        async with clients(place, "inside") as client:
            task = asyncio.create_task(client.call_tool("infer", INFER, progress_callback=report))
            await reported.wait()
            assert workers()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await until(lambda: not workers())

    run(work)


def test_a_third_long_work_is_refused_with_what_to_do(place: Place) -> None:
    async def work() -> None:
        async with clients(place, "inside") as client:
            tasks = [asyncio.create_task(client.call_tool("backtest", BACKTEST)) for _ in range(2)]
            await until(lambda: sum(next(above(each)) == os.getpid() for each in workers()) == 2)
            third = await client.call_tool("backtest", BACKTEST)
            assert third.is_error
            assert "already running" in text_of(third)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    run(work)


def test_an_edit_whose_backtest_fails_still_says_that_it_saved(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from trueup.studio.refusal import RequestRefused
    from trueup.studio.working.work import LongJob

    def fail(self: LongJob) -> Any:
        raise RequestRefused(500, "The backtest ended before it was done.", hint="Memory is short.")

    monkeypatch.setattr(LongJob, "__next__", fail)

    async def work() -> None:
        async with inside(place.workspace(allow_edit=True)) as client:
            file = (await client.call_tool("lint", {"contract": "contracts/people.yaml"})).structured_content
            arguments = {"contract": file["contract"], "hash": file["hash"], "old": "age >= 18", "new": "age >= 17"}
            result = await client.call_tool("edit", arguments)
            assert not result.is_error
            assert result.structured_content["saved"] is True
            assert "Memory is short" in result.structured_content["backtest"]["not_done"]

    run(work)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_end_of_the_server_ends_its_work(place: Place, transport: str) -> None:
    async def work() -> None:
        before = workers()
        async with clients(place, transport) as client:
            task = asyncio.create_task(client.call_tool("backtest", BACKTEST))
            await until(lambda: bool(workers() - before))
            task.cancel()
        with contextlib.suppress(BaseException):
            await task
        await until(lambda: not workers() - before)

    run(work)
