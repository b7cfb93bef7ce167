"""Another configuration while requests are under way: each request keeps the one that it came in under."""

import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import free_port
from tests.gateway.conftest import GOOD, KEY, PERSON, QUICK, Open
from tests.gateway.serving import COMMAND, Served, configured, serving
from tests.gateway.serving import PERSON as PERSON_FILE
from tests.gateway.test_metrics import values
from tests.waiting import wait_for
from trueup import Contract
from trueup.gateway.config import Caller, of
from trueup.testing.server import ScriptedServer

STRICT = {**PERSON, "required": ["name", "age", "born"]}


def test_a_request_finishes_under_the_configuration_it_started_with(desk: Open) -> None:
    asked, release = threading.Event(), threading.Event()

    def held(request: Any) -> str:
        asked.set()
        assert release.wait(60)
        return GOOD

    with ScriptedServer(then="no") as other, desk(held, PERSON) as d, ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(d.chat)
        try:
            assert asked.wait(60)
            d.gateway.adopt(of(other.url, Contract(STRICT, name="strict"), policy=QUICK))
            assert d.chat().status_code == 422
            assert other.requests
            assert d.upstream.connections == 1, "the old connection was cut under the request"
        finally:
            release.set()
        assert under_way.result().json()["choices"][0]["message"]["content"] == GOOD
        wait_for(lambda: not d.upstream.connections, "the old connections stay open")
        assert len(d.upstream.requests) == 1


def test_connections_are_kept_when_no_upstream_has_changed(desk: Open) -> None:
    with desk([GOOD, GOOD], PERSON) as d:
        assert d.chat().status_code == 200
        line = d.gateway.gateway.line
        d.gateway.adopt(of(d.upstream.url, Contract(PERSON, name="person"), key=KEY))
        assert d.gateway.gateway.line is line
        assert d.chat().status_code == 200
        assert d.upstream.connections == 1


def test_a_clients_requests_of_the_last_minute_still_count_after_a_reload(desk: Open) -> None:
    caller = Caller("sk-client-0123456789", "acme", per_minute=3)
    with desk([], then="hi", clients=(caller,)) as d:
        mine = {"authorization": f"Bearer {caller.key}"}
        assert [d.chat(headers=mine).status_code for _ in range(2)] == [200, 200]
        d.gateway.adopt(of(d.upstream.url, clients=(caller,)))
        assert [d.chat(headers=mine).status_code for _ in range(2)] == [200, 429]


KINDS = [("uvicorn", 1), ("uvicorn", 2), ("granian", 2)]


@pytest.mark.parametrize(("server", "workers"), KINDS)
def test_sighup_makes_every_worker_reload_the_file_and_a_bad_file_changes_nothing(
    server: str, workers: int, tmp_path: Path
) -> None:
    with ScriptedServer(then=GOOD) as one, ScriptedServer(then='{"name": "Bo", "age": 1}') as other:
        first = configured(one.url, limits={"stop_seconds": 5})
        with serving(tmp_path, first, "--server", server, "--workers", str(workers)) as served:
            assert served.log.count("listening on") == 1
            assert served.chat().status_code == 200
            before = values(served.page(), "trueup_requests_total")
            assert values(served.page(), "trueup_workers") == {"": workers}

            served.write({**first, "routes": [{"models": ["*"], "contract": "persom"}], "upstream": {}})
            served.hang_up()
            wait_for(lambda: "the current one stays in force" in served.log, "a bad file is not reported")
            assert served.log.count("N005 unknown key 'upstream'") == 1
            assert served.log.count("there is no contract 'persom'") == 1
            assert served.chat().json()["choices"][0]["message"]["content"] == GOOD
            assert values(served.page(), "trueup_config_reload_failures_total") == {"": 1}

            served.write({**configured(other.url), "workers": 3, "listen": "127.0.0.1:1"})
            served.hang_up()
            wait_for(lambda: values(served.page(), "trueup_config_reloads_total") == {"": workers}, served.log)
            asked = len(one.requests)
            for _ in range(6):
                assert '"Bo"' in served.chat().json()["choices"][0]["message"]["content"]
            assert len(one.requests) == asked, "a worker still asks the old upstream"
            after = values(served.page(), "trueup_requests_total")
            assert all(after[labels] >= n for labels, n in before.items()), "what was counted before is lost"
            assert served.process.poll() is None
            code = served.stop()
        assert code in (0, -15), served.log
        assert "Traceback" not in served.log


def test_changed_files_are_reloaded_without_a_signal(tmp_path: Path) -> None:
    with (
        ScriptedServer(then=GOOD) as upstream,
        serving(tmp_path, configured(upstream.url), "--reload") as served,
    ):
        assert served.chat().status_code == 200
        (tmp_path / "person.yaml").write_text("schema: {type: object, required: [name, age, born]}\n", "utf-8")
        wait_for(lambda: served.chat().status_code == 422, "the changed contract is not taken over")


def test_no_request_is_lost_while_configurations_change(tmp_path: Path) -> None:
    with (
        ScriptedServer(then=GOOD) as one,
        ScriptedServer(then=GOOD) as other,
        serving(tmp_path, configured(one.url), "--workers", "2") as served,
        ThreadPoolExecutor(8) as pool,
    ):
        asked = [pool.submit(served.chat) for _ in range(60)]
        for round_ in range(4):
            served.write(configured((one, other)[round_ % 2].url))
            served.hang_up()
            wait_for(lambda n=round_ + 1: served.log.count("passed to 2 workers") == n, served.log)  # type: ignore[misc]
        assert [each.result().status_code for each in asked] == [200] * 60


def test_a_gateway_that_cannot_start_says_why_and_never_that_it_listens(tmp_path: Path) -> None:
    (tmp_path / "taken.db").write_bytes(b"no database" * 1000)
    for server, workers in KINDS:
        config = configured("http://127.0.0.1:9", store="taken.db", server=server, workers=workers)
        (tmp_path / "gateway.yaml").write_text(json.dumps(config))
        (tmp_path / "person.yaml").write_text(PERSON_FILE)
        ran = subprocess.run(COMMAND, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert ran.returncode not in (0, None)
        assert "taken.db" in ran.stderr
        assert "listening" not in ran.stderr


FAILS_IN_WORKERS = """
import multiprocessing

import trueup.store.open
from trueup.store.errors import StoreUnavailable

opened = trueup.store.open.open_store


def broken(*given, **named):
    if multiprocessing.parent_process() is not None:
        raise StoreUnavailable("the store is gone")
    return opened(*given, **named)


trueup.store.open.open_store = broken
if __name__ == "__main__":
    from trueup.cli.main import main

    main()
"""


@pytest.mark.parametrize("server", ["uvicorn", "granian"])
def test_workers_that_cannot_start_end_the_gateway_with_a_reason(server: str, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(FAILS_IN_WORKERS, "utf-8")
    (tmp_path / "person.yaml").write_text(PERSON_FILE, "utf-8")
    config = configured("http://127.0.0.1:9", server=server, workers=2, store="v.db")
    (tmp_path / "gateway.yaml").write_text(json.dumps(config), "utf-8")
    command = [sys.executable, "broken.py", "serve", "gateway.yaml", "--listen", f"127.0.0.1:{free_port()}"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode > 0, ran.stderr
    assert "the store is gone" in ran.stderr
    assert "listening" not in ran.stderr


IN_A_TERMINAL = """
import os, pty, subprocess, sys
ours, theirs = pty.openpty()
child = subprocess.Popen(sys.argv[1:], stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=lambda: os.login_tty(0))
os.close(theirs)
said = b""
while b"listening on" not in said:
    said += os.read(ours, 1000)
os.close(ours)
sys.exit(0 if child.wait() is not None else 1)
"""


@pytest.mark.skipif(not hasattr(os, "login_tty"), reason="no terminals here")
@pytest.mark.parametrize("workers", [1, 2])
def test_closing_the_terminal_ends_a_gateway_that_was_started_there(workers: int, tmp_path: Path) -> None:
    config = configured("http://127.0.0.1:9", workers=workers)
    (tmp_path / "gateway.yaml").write_text(json.dumps(config), "utf-8")
    (tmp_path / "person.yaml").write_text(PERSON_FILE, "utf-8")
    command = [sys.executable, "-c", IN_A_TERMINAL, *COMMAND, "--listen", f"127.0.0.1:{free_port()}"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)


def _catches_ctrl_c(process: int) -> bool:
    """Whether Python runs in a process: it catches SIGINT before it loads anything."""
    status = Path(f"/proc/{process}/status").read_text("utf-8")
    return bool(int(status.partition("SigCgt:")[2].split()[0], 16) & 1 << signal.SIGINT - 1)


def test_ctrl_c_while_workers_start_prints_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "person.yaml").write_text(PERSON_FILE, "utf-8")
    (tmp_path / "gateway.yaml").write_text(json.dumps(configured("http://127.0.0.1:9")), "utf-8")
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*COMMAND, "--listen", f"127.0.0.1:{free_port()}", "--workers", "4"],
            cwd=tmp_path, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    starting = Served(tmp_path, process, "")
    wait_for(lambda: sum(map(_catches_ctrl_c, starting.workers())) == 4, "four workers never start")
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to all of them
    process.wait(120)
    assert "Traceback" not in starting.log
