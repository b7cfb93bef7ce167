"""`trueup serve` as a separate process: started, awaited until it listens, and stopped by its id."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.cli.running import free_port
from tests.waiting import wait_for

COMMAND = [sys.executable, "-c", "from trueup.cli.main import main; main()", "serve", "gateway.yaml"]
ASK = {"model": "m", "messages": [{"role": "user", "content": "Who?"}]}


class Served:
    """A running `trueup serve`."""

    def __init__(self, folder: Path, process: "subprocess.Popen[bytes]", url: str) -> None:
        self.folder, self.process, self.url = folder, process, url

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text("utf-8")

    def chat(self, **more: Any) -> httpx.Response:
        """Ask on a separate connection, so that any worker may answer."""
        return httpx.post(f"{self.url}/v1/chat/completions", json=ASK, timeout=60, verify=False, **more)

    def page(self) -> str:
        return httpx.get(f"{self.url}/metrics", timeout=60, verify=False).text

    def write(self, config: dict[str, Any]) -> None:
        """Put another configuration in place, as an editor would: whole, in one step."""
        fresh = self.folder / "fresh"
        fresh.write_text(json.dumps(config), "utf-8")
        fresh.rename(self.folder / "gateway.yaml")

    def workers(self) -> list[int]:
        """The processes that serve requests."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        with contextlib.suppress(FileNotFoundError):
            return [
                int(each) for each in children if b"resource_tracker" not in Path(f"/proc/{each}/cmdline").read_bytes()
            ]
        return []

    def hang_up(self) -> None:
        self.process.send_signal(signal.SIGHUP)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)


def configured(url: str, **more: Any) -> dict[str, Any]:
    """A file of the gateway: one upstream, and one contract for everything."""
    return {
        "upstreams": {"main": {"url": url, "private": True}},
        "contracts": {"person": "person.yaml"},
        "routes": [{"name": "all", "models": ["*"], "contract": "person", "policy": {"backoff": 0.01, "repairs": 1}}],
        **more,
    }


PERSON = "schema: {type: object, properties: {name: {type: string}, age: {type: integer}}, required: [name, age]}\n"


@contextlib.contextmanager
def serving(folder: Path, config: dict[str, Any], *options: str, **environment: str) -> Iterator[Served]:
    """Run `trueup serve` on a free port with this configuration, from the moment it says that it listens."""
    port = free_port()
    (folder / "person.yaml").write_text(PERSON, "utf-8")
    (folder / "gateway.yaml").write_text(json.dumps(config), "utf-8")
    known = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*COMMAND, "--listen", f"127.0.0.1:{port}", *options], cwd=folder, stdout=log, stderr=log,
            env={**known, "NO_PROXY": "127.0.0.1", **environment},
        )  # fmt: skip
    served = Served(folder, process, f"http://127.0.0.1:{port}")
    try:
        wait_for(lambda: "listening on" in served.log or process.poll() is not None, "it never says that it listens")
        assert process.poll() is None, served.log
        yield served
    finally:
        if process.poll() is None:
            served.stop()
