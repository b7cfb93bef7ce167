"""The access log and the verdict log: one event is one complete line from any process; the first has no text or key."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway.conftest import GOOD, KEY, PERSON, QUICK, Open
from tests.gateway.serving import configured, serving
from tests.waiting import wait_for
from trueup import Contract
from trueup.gateway.config import Caller, Logs, of
from trueup.gateway.running import running
from trueup.gateway.watching.logs import LogWriter, line_of
from trueup.store.redaction import Redaction
from trueup.testing.script import Fail
from trueup.testing.server import ScriptedServer

CLIENT = "sk-client-canary-0123456789"
SALON = Contract(states={"GREETING": {"forbid": [{"terms": ["appointment"]}]}, "SLOT_SELECTION": {}}, name="salon")


def lines_in(path: Path) -> list[dict[str, Any]]:
    text = path.read_bytes().decode("utf-8")
    assert not text or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def test_each_request_is_one_line_of_the_access_log_without_text_and_keys(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    logs = Logs(access=str(path))
    forged = 'm\n{"status": 200}\u2028\x1b[2J'
    with ScriptedServer(["private reply", GOOD], then="private reply") as upstream:
        contract = Contract(PERSON, name="person")
        config = of(upstream.url, contract, key=KEY, policy=QUICK, logs=logs, clients=(Caller(CLIENT, "acme"),))
        with running(config) as gateway, httpx.Client(base_url=gateway.url, timeout=60) as http:
            ask = {"model": "m", "messages": [{"role": "user", "content": "private question"}]}
            mine = {"authorization": f"Bearer {CLIENT}", "x-request-id": "trace-7"}
            first = http.post("/v1/chat/completions", json=ask, headers=mine)
            assert first.status_code == 200
            assert http.post("/v1/chat/completions", json={**ask, "model": forged}, headers=mine).status_code == 422
            assert http.post("/v1/chat/completions", json=ask, headers={"authorization": "x"}).status_code == 401
            with http.stream("POST", "/v1/chat/completions", json={**ask, "stream": True}, headers=mine) as streamed:
                streamed.read()
            assert http.get("/healthz").status_code == 200
    found = lines_in(path)
    text = path.read_text("utf-8")
    assert [line["status"] for line in found] == [200, 422, 401, 422, 200]
    assert [line["outcome"] for line in found] == ["repaired", "failed", "refused", "failed", "page"]
    assert found[0] == {
        **found[0], "client": "127.0.0.1", "method": "POST", "path": "/v1/chat/completions", "tenant": "acme", "route": "all",
        "model": "m", "attempts": 2, "bytes": len(first.content), "verdict": first.headers["x-trueup-verdict"],
    }  # fmt: skip
    assert found[0]["ms"] >= found[0]["overhead_ms"] > 0
    assert found[0]["at"].endswith("Z")
    assert found[1]["model"] == forged
    assert (found[0]["request"], found[0]["request_id"]) == (found[0]["verdict"], "trace-7")
    for secret in ("private", KEY, CLIENT):
        assert secret not in text


@pytest.mark.spec("C13")
def test_the_log_of_every_check_has_the_required_fields(desk: Open, tmp_path: Path) -> None:
    """State, the reply cut at 200 characters, the result, the violations, the time, regenerations needed."""
    bad = f"Hello! Shall I book an appointment for you? My key is {KEY}. " + "word " * 100
    good = "Hello! How are you today, and what can I do for you?"
    path = tmp_path / "verdicts.log"
    with desk([bad, good], SALON, logs=Logs(verdicts=str(path))) as d:
        assert d.chat(headers={"x-trueup-state": "GREETING"}).status_code == 200
        checked = {"reply": "Hi there, nice to meet you today!", "context": {"state": "SLOT_SELECTION"}}
        assert d.http.post("/v1/check", json=checked).json()["ok"] is True
    refused, accepted, only_checked = lines_in(path)
    assert (refused["state"], refused["result"], refused["regenerations"]) == ("GREETING", "refused", 0)
    assert (accepted["state"], accepted["result"], accepted["regenerations"]) == ("GREETING", "ok", 1)
    assert len(refused["reply"]) == 200
    assert refused["reply"].startswith("Hello! Shall I book an appointment")
    assert accepted["reply"] == good
    assert refused["violations"]
    assert {"code", "path", "message"} <= refused["violations"][0].keys()
    assert accepted["violations"] == []
    for line in (refused, accepted, only_checked):
        assert line["at"].endswith("Z")
        assert line["seconds"] > 0
    assert (only_checked["state"], only_checked["result"]) == ("SLOT_SELECTION", "ok")
    assert refused["request"] == accepted["request"] == accepted["verdict"]
    assert KEY not in path.read_text("utf-8")


def test_replies_that_are_not_stored_are_not_logged_either(desk: Open, tmp_path: Path) -> None:
    path = tmp_path / "verdicts.log"
    logs, redaction = Logs(verdicts=str(path), format="text"), Redaction(bodies="none")
    with desk(["private words"] * 3, PERSON, logs=logs, redaction=redaction) as d:
        assert d.chat().status_code == 422
    text = path.read_text("utf-8")
    assert text.count("result=refused") == len(text.splitlines()) == 3
    assert "P001" in text
    assert "private" not in text


@pytest.mark.spec("X24")
@pytest.mark.parametrize("form", ["json", "text"])
def test_one_event_is_one_line_whatever_it_contains(form: str) -> None:
    evil = "a\nb\r\nc\x85d\u2028e\u2029f\x00g\x1b[2Jh\ud800i\u202ej"
    line = line_of({"model": evil, "violations": [{"code": "X", "message": evil}]}, form)
    assert len(line.decode("utf-8").splitlines()) == 1
    assert line.decode("utf-8")[:-1].isprintable()
    if form == "json":
        assert json.loads(line)["model"] == evil
    assert len(line_of({"model": "x" * 10_000, "violations": [{"code": "T", "message": "y" * 999}] * 20}, form)) <= 4096


def test_lines_of_several_workers_are_complete_and_a_moved_file_is_reopened(tmp_path: Path) -> None:
    logs = {"access": "access.log", "verdicts": "verdicts.log"}
    with (
        ScriptedServer(then=GOOD) as upstream,
        serving(tmp_path, configured(upstream.url, logs=logs), "--workers", "2") as served,
        ThreadPoolExecutor(4) as pool,
    ):
        path = tmp_path / "access.log"
        codes = [each.result().status_code for each in [pool.submit(served.chat) for _ in range(40)]]
        assert codes == [200] * 40
        wait_for(lambda: len(lines_in(path)) == 40, "lines are missing")
        path.rename(tmp_path / "access.1")
        assert served.chat().status_code == 200
        wait_for(path.exists, "the log is not opened anew")
        served.write(configured(upstream.url, logs={"access": "other.log"}))
        served.hang_up()
        wait_for(lambda: served.chat().status_code == 200 and (tmp_path / "other.log").exists())
        assert served.stop() == 0
    assert len(lines_in(tmp_path / "access.1")) == 40
    verdicts = lines_in(tmp_path / "verdicts.log")
    assert len(verdicts) >= 41
    assert {line["result"] for line in verdicts} == {"ok"}


def test_a_full_disk_drops_lines_and_says_how_many() -> None:
    dropped: list[int] = []
    lines = LogWriter("/dev/full", "json", dropped.append)
    lines.put(lambda: {"event": "x"})
    lines.close()
    assert sum(dropped) == 1


def test_a_log_that_cannot_be_opened_is_reported_before_anything_listens(tmp_path: Path) -> None:
    config = configured("http://127.0.0.1:9", logs={"access": "nowhere/access.log"})
    with pytest.raises(AssertionError, match="the log cannot be written"), serving(tmp_path, config):
        pass


def test_a_wait_before_a_retry_is_not_the_gateway_s_own_time(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    with ScriptedServer([Fail(503), GOOD, Fail(503), GOOD]) as upstream:
        config = of(upstream.url, Contract(PERSON), policy=QUICK, logs=Logs(access=str(path)), progress=True)
        with running(config) as gateway:
            for streams in (False, True):
                ask = {"model": "m", "messages": [{"role": "user", "content": "Who?"}], "stream": streams}
                answer = httpx.post(f"{gateway.url}/v1/chat/completions", json=ask, timeout=60)
                events = (
                    answer.headers.get("x-trueup-progress") or answer.text.partition(": trueup ")[2].splitlines()[0]
                )
                told = json.loads(events)
                waiting = told[0] if isinstance(told, list) else told
                line = wait_for(lambda n=streams: lines_in(path)[n:])[0]  # type: ignore[misc]
                assert waiting["event"] == "waiting"
                assert line["ms"] - line["overhead_ms"] >= waiting["delay"] * 1000 > 0
