"""`trueup serve`, as a person runs it: a file with errors, and a server that starts, answers and stops on request."""

import os
import signal
import socket
import subprocess
import threading
from pathlib import Path

import httpx
import pytest

from tests.cli.running import COMMAND, Run, clean_environment, free_port
from tests.waiting import wait_for
from trueup.store.open import open_store
from trueup.testing.script import Slow
from trueup.testing.server import ScriptedServer

FILE = """
store: s.db
upstreams: {{main: {{url: "{url}", key: $MAIN_KEY, private: true}}}}
contracts: {{any: any.yaml}}
routes: [{{models: "*", contract: any}}]
"""


def write(folder: Path, url: str) -> None:
    (folder / "gateway.yaml").write_text(FILE.format(url=url))
    (folder / "any.yaml").write_text("schema: {type: object}\n")


def test_a_file_with_faults_is_refused_line_by_line(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "nowhere")
    done = run("serve", "gateway.yaml")
    assert done.code == 2
    assert done.err.splitlines() == [
        "gateway.yaml:3:20: N006 url must be an address that starts with http:// or https://; got 'nowhere'",
        "gateway.yaml:3:36: N006 the key is in $MAIN_KEY, which is not set. Set it in the environment.",
    ]
    assert run("serve", "none.yaml").code == 2
    write(tmp_path, "http://127.0.0.1:1")
    done = run("serve", "gateway.yaml", "--check", MAIN_KEY="k")
    assert (done.code, done.out) == (0, "gateway.yaml: 1 upstream, 1 route, 1 contract\n")
    assert run("serve", "gateway.yaml", "--listen", "here", MAIN_KEY="k").code == 2
    assert run("serve", "gateway.yaml", "--listen", "127.0.0.1:99999", MAIN_KEY="k").code == 2


@pytest.mark.parametrize(("server", "workers"), [("uvicorn", 1), ("uvicorn", 2), ("granian", 1)])
def test_it_serves_and_finishes_calls_in_progress_on_a_stop_signal(tmp_path: Path, server: str, workers: int) -> None:
    with ScriptedServer(["{}", Slow('{"late": true}', first=1.0)]) as upstream:
        write(tmp_path, upstream.url)
        port = free_port()
        command = [
            *COMMAND,
            "serve",
            "gateway.yaml",
            "--listen",
            f"127.0.0.1:{port}",
            "--server",
            server,
            "--workers",
            str(workers),
        ]
        environment = clean_environment(MAIN_KEY="sk-canary-0123456789abcdef")
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_up(url, process)
            body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
            first = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60)
            assert first.json()["choices"][0]["message"]["content"] == "{}"

            def stop() -> None:
                wait_for(lambda: len(upstream.requests) == 2)  # the second is in progress
                os.kill(process.pid, signal.SIGTERM)

            threading.Thread(target=stop).start()
            late = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60)
            assert late.status_code == 200
            assert "late" in late.text
            assert process.wait(60) in (0, -signal.SIGTERM)
        finally:
            if process.poll() is None:
                process.kill()
            _, said = process.communicate()
    assert b"sk-canary" not in said
    assert b"Traceback" not in said
    with open_store(tmp_path / "s.db") as store:
        assert [stored.ok for stored in store.verdicts()] == [True, True]


def wait_until_up(url: str, process: "subprocess.Popen[bytes]") -> None:
    def is_up() -> bool:
        assert process.poll() is None, process.communicate()[1]
        try:
            return httpx.get(f"{url}/readyz", timeout=30).status_code == 200
        except httpx.TransportError:
            return False

    wait_for(is_up, "the gateway never became ready")


@pytest.mark.parametrize("server", ["uvicorn", "granian"])
def test_a_port_in_use_and_an_unreadable_store_are_reported(run: Run, tmp_path: Path, server: str) -> None:
    write(tmp_path, "http://127.0.0.1:1")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run("serve", "gateway.yaml", "--listen", where, "--server", server, MAIN_KEY="k")
    assert (done.code, done.out) == (2, "")
    assert f"cannot listen on {where}: Address already in use; give another with --listen" in done.err
    text = (tmp_path / "gateway.yaml").read_text()
    (tmp_path / "gateway.yaml").write_text(text.replace("s.db", "no/s.db"))
    done = run("serve", "gateway.yaml", "--listen", "127.0.0.1:0", "--server", server, MAIN_KEY="k")
    assert done.code == 2
    assert "there is no folder 'no'" in done.err
    assert "Traceback" not in done.err


def test_a_file_or_the_demonstration_but_not_both(run: Run, tmp_path: Path) -> None:
    assert run("serve").code == 2
    done = run("serve", "gateway.yaml", "--demo")
    assert (done.code, "give a FILE, or --demo without one" in done.err) == (2, True)
