"""`trueup run --cache FILE`: identical requests are answered from the file across runs, and never paid for twice."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.batch.pipeline.making import (
    GOOD,
    BreakingDisk,
    Crash,
    Ran,
    asking,
    assert_whole,
    go,
    run_pipeline,
    start,
    timeless,
    write_pipeline,
)
from tests.cli.running import Run
from trueup.batch.pipeline.running.run import PipelineOptions
from trueup.testing.script import Say
from trueup.testing.server import ScriptedServer

ITEMS = [{"id": f"i{n}"} for n in range(6)]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")


def write(folder: Path, server: ScriptedServer, schema: Any = None, **more: Any) -> Path:
    api = {
        "provider": "openai",
        "model": "m",
        "base_url": f"{server.url}/v1",
        "prices": {"m": {"input": 2.0, "output": 4.0}},
    }
    return write_pipeline(folder, [asking("ask", schema)], ITEMS, api={**api, **more.pop("api", {})}, **more)


def ran(folder: Path, target: Path, *, batch: bool = False) -> Ran:
    found = run_pipeline(
        folder, target, PipelineOptions(batch=batch, poll=0.002, cache=str(target.parent / "replies.db"))
    )
    assert_whole(found.path)
    return found


@pytest.mark.spec("B17")
@pytest.mark.parametrize("modes", [(False, False), (True, True), (True, False), (False, True)])
def test_a_second_run_takes_its_replies_from_the_cache(tmp_path: Path, modes: tuple[bool, bool]) -> None:
    with ScriptedServer(lambda _: Say(GOOD, usage=(100, 10)), batches=()) as server:
        folder = write(tmp_path / "pipeline", server)
        first = ran(folder, tmp_path / "first", batch=modes[0])
        asked = len(server.requests)
        assert asked
        second = ran(folder, tmp_path / "second", batch=modes[1])
        assert len(server.requests) == asked
    assert (first.money.calls, first.money.cached) == (6, 0)
    assert (second.money.calls, second.money.cached, second.money.usd) == (0, 6, 0.0)
    assert [_plain(unit) for unit in second.valid] == [_plain(unit) for unit in first.valid]


def _plain(unit: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in timeless([unit])[0].items() if name != "_metadata"}


def test_without_the_option_nothing_is_cached(tmp_path: Path) -> None:
    with ScriptedServer(lambda _: Say(GOOD)) as server:
        folder = write(tmp_path / "pipeline", server)
        for name in ("first", "second"):
            run_pipeline(folder, tmp_path / name)
        assert len(server.requests) == 12


def test_only_valid_replies_are_cached(tmp_path: Path) -> None:
    """A refused reply is requested again in the next run; its correction is not used as the answer to the prompt."""

    def script(request: Any) -> Any:
        said = json.dumps(request.fields["messages"])
        return Say("no" if "i3" in said and "not valid" not in said else GOOD)

    with ScriptedServer(script) as server:
        folder = write(tmp_path / "pipeline", server)
        ran(folder, tmp_path / "first")
        assert len(server.requests) == 7
        second = ran(folder, tmp_path / "second")
        assert len(server.requests) == 8
    assert second.money.cached == 6  # five at the same time, and the correction of the sixth
    assert len(second.valid) == 6


def test_a_cached_reply_that_the_contract_now_refuses_is_requested_again(tmp_path: Path) -> None:
    strict = {"type": "object", "properties": {"answer": {"type": "string", "maxLength": 3}}, "required": ["answer"]}
    said = [GOOD]
    with ScriptedServer(lambda _: Say(said[-1])) as server:
        ran(write(tmp_path / "pipeline", server), tmp_path / "first")
        said.append('{"answer": "yes"}')
        second = ran(write(tmp_path / "pipeline", server, strict), tmp_path / "second")
        assert len(server.requests) == 12
    assert [unit["answer"] for unit in second.valid] == ["yes"] * 6
    assert second.money.cached == 0


@pytest.mark.parametrize("change", ["model", "temperature", "prompt"])
def test_a_different_request_gets_its_own_reply(tmp_path: Path, change: str) -> None:
    with ScriptedServer(lambda _: Say(GOOD)) as server:
        folder = write(tmp_path / "pipeline", server)
        ran(folder, tmp_path / "first")
        if change == "prompt":
            (folder / "templates/ask.jinja2").write_text("Now say {{ unit_id }}.")
        else:
            write(
                folder,
                server,
                api={change: "other" if change == "model" else 0.5, "prices": {"*": {"input": 1, "output": 1}}},
            )
        assert ran(folder, tmp_path / "second").money.cached == 0
        assert len(server.requests) == 12


def test_repetitions_get_separate_replies(tmp_path: Path) -> None:
    template = asking("ask", template="Roll a die.")
    with ScriptedServer(lambda _: Say(GOOD)) as server:
        api = {"provider": "openai", "model": "m", "base_url": f"{server.url}/v1"}
        folder = write_pipeline(
            tmp_path / "pipeline", [template], ITEMS[:1], api=api, processing={"repeat": 4}, chunk_size=1
        )
        ran(folder, tmp_path / "first")
        assert len(server.requests) == 4
        assert ran(folder, tmp_path / "second").money.cached == 4
        assert len(server.requests) == 4


def test_a_damaged_entry_is_requested_again(tmp_path: Path) -> None:
    import sqlite3

    with ScriptedServer(lambda _: Say(GOOD)) as server:
        folder = write(tmp_path / "pipeline", server)
        ran(folder, tmp_path / "first")
        base = sqlite3.connect(tmp_path / "replies.db")
        with base:
            base.execute("UPDATE replies SET value = ? WHERE rowid % 2", (b'{"raw_response": 5}',))
        base.close()
        second = ran(folder, tmp_path / "second")
        assert len(second.valid) == 6
        assert 6 < len(server.requests) < 12


def test_no_key_is_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-indeed")
    with ScriptedServer(lambda _: Say(GOOD)) as server:
        ran(write(tmp_path / "pipeline", server), tmp_path / "first")
    assert b"sk-very-secret" not in b"".join(file.read_bytes() for file in tmp_path.glob("replies.db*"))


def test_the_summary_counts_the_replies_from_the_cache(run: Run, tmp_path: Path) -> None:
    with ScriptedServer(lambda _: Say(GOOD)) as server:
        write(tmp_path / "pipeline", server)
        assert run("run", "pipeline", "--run-dir", "a", "--cache", "c.db").code == 0
        told = run("run", "pipeline", "--run-dir", "b", "--cache", "c.db")
        assert "6 replies are from the cache; nothing was sent for them" in told.out
        assert len(server.requests) == 6


def test_a_cache_that_cannot_be_opened_is_a_clear_error(run: Run, tmp_path: Path) -> None:
    with ScriptedServer(lambda _: Say(GOOD)) as server:
        write(tmp_path / "pipeline", server)
        told = run("run", "pipeline", "--run-dir", "a", "--cache", "no/such/folder.db")
    assert told.code == 2
    assert told.err == "trueup: --cache no/such/folder.db: No such file or directory\n"
    assert not (tmp_path / "a").exists()


@pytest.mark.spec("B18")
@pytest.mark.parametrize("at", [4, 9, 14, 20])
def test_a_run_that_crashes_resumes_and_asks_nothing_again(tmp_path: Path, at: int) -> None:
    with ScriptedServer(lambda _: Say(GOOD)) as server:
        folder = write(tmp_path / "pipeline", server)
        ran(folder, tmp_path / "first")
        path, options = start(folder, tmp_path / "second"), PipelineOptions(cache=str(tmp_path / "replies.db"))
        with pytest.raises(Crash):
            go(path, options, disk=BreakingDisk(at, seed=at))
        found = go(path, options)
        assert_whole(path)
        assert (len(found.valid), found.money.cached, len(server.requests)) == (6, 6, 6)


@pytest.mark.spec("B18")
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("at", range(3, 60, 4))
def test_a_run_that_crashes_with_half_of_its_replies_cached_keeps_the_other_half(
    tmp_path: Path, at: int, *, batch: bool
) -> None:
    with ScriptedServer(lambda _: Say(GOOD, usage=(100, 10)), batches=()) as server:
        folder = write(tmp_path / "pipeline", server)
        options = PipelineOptions(batch=batch, poll=0.002, cache=str(tmp_path / "replies.db"))
        first = go(start(folder, tmp_path / "few", max_units=3), options)
        assert (first.money.calls, first.money.cached) == (3, 0)
        path = start(folder, tmp_path / "all")
        with contextlib.suppress(Crash):
            go(path, options, disk=BreakingDisk(at, seed=at))
        found = go(path, options)
        assert_whole(path)
        assert (len(found.valid), found.money.cached) == (6, 3)
        assert found.money.calls - found.money.lost == 3
        third = ran(folder, tmp_path / "third", batch=batch)
        assert (third.money.cached, third.money.calls) == (6, 0)
