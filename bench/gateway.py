"""`make bench-gateway`: a request straight to an upstream, through a bare pass-through, through trueup, through LiteLLM's proxy.

python bench/gateway.py [--quick] [--soak MINUTES] [--litellm PROGRAM] [--markdown PAGE] [--json OUT]

One worker each, all on this machine, in one run and in turn: every round measures each of them once, so that other work on the
machine affects all alike. Times are medians, CPU is the kernel's count for the gateway's process, the best round of each.
"""

import argparse
import asyncio
import contextlib
import json
import platform
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gateway_load import Load, cores, load, memory_of
from gateway_report import page

HERE = Path(__file__).parent
KEY = "sk-bench-0123456789abcdef0123456789abcdef"
NAMES = {
    "upstream": "direct",
    "bare": "bare aiohttp pass-through",
    "bare-own": "bare pass-through on trueup's client",
    "trueup-pass": "trueup, passing through",
    "trueup-schema": "trueup, schema",
    "trueup-judged": "trueup, schema + tools + 60 patterns",
    "trueup-all": "trueup, schema + tools + 60 patterns + stored verdict",
    "trueup-pass-quota": "trueup, passing through + quota",
    "trueup-quota": "trueup, schema + tools + 60 patterns + stored verdict + quota",
    "litellm": "LiteLLM's proxy",
}
Result = dict[str, Any]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def litellm_config(url: str, folder: Path) -> Path:
    config = {
        "model_list": [{"model_name": "m", "litellm_params": {"model": "openai/m", "api_base": f"{url}/v1", "api_key": "x"}}],
        "general_settings": {"master_key": KEY}, "litellm_settings": {"telemetry": False},
    }  # fmt: skip
    path = folder / "litellm.yaml"
    path.write_text(json.dumps(config))
    return path


def command(name: str, port: int, url: str, folder: Path, litellm: str) -> list[str]:
    if name == "litellm":
        config = litellm_config(url, folder)
        return [litellm, "--config", str(config), "--port", str(port), "--host", "127.0.0.1", "--num_workers", "1"]
    return [sys.executable, str(HERE / "gateway_servers.py"), name, str(port), url, str(folder / f"{name}.db")]


@contextlib.contextmanager
def served(name: str, url: str, folder: Path, litellm: str = "", patience: float = 90) -> Iterator[tuple[int, int]]:
    """Start a server and wait until it answers; its port and process id."""
    port = free_port()
    log = (folder / f"{name}.log").open("wb")
    process = subprocess.Popen(command(name, port, url, folder, litellm), stdout=log, stderr=log)
    until = time.monotonic() + patience
    try:
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(
                    f"{name} did not start: {(folder / f'{name}.log').read_text('utf-8', 'replace')[-600:]}"
                )
            time.sleep(0.1)
        yield port, process.pid
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()
        log.close()


def _answers(port: int) -> bool:
    body = b'{"model":"m","messages":[{"role":"user","content":"x"}]}'
    head = {"content-type": "application/json", "authorization": f"Bearer {KEY}", "x-trueup-state": "ASKING"}
    ask = urllib.request.Request(f"http://127.0.0.1:{port}/v1/chat/completions", body, head)
    try:
        with urllib.request.urlopen(ask, timeout=30) as reply:
            return bool(reply.status == 200)
    except (OSError, urllib.error.URLError):
        return False


async def rounds(servers: dict[str, tuple[int, int]], number: int, count: int) -> dict[str, dict[str, list[Load]]]:
    """Each of them in turn, several times over."""
    found: dict[str, dict[str, list[Load]]] = {name: {"one": [], "many": [], "stream": []} for name in servers}
    for turn in range(number + 1):
        for name, (port, pid) in servers.items():
            share = 8 if name == "litellm" else 1
            shapes = {
                "one": (1, count // share, False), "many": (16, 4 * count // share, False), "stream": (1, count // 2 // share, True),
            }  # fmt: skip
            for shape, (connections, requests, stream) in shapes.items():
                one = await load(port, pid, connections, requests, key=KEY, stream=stream)
                if one.errors:
                    raise RuntimeError(f"{name}: {one.errors} of {requests} requests failed")
                if turn:  # the first turn warms everything up
                    found[name][shape].append(one)
    return found


def figures(found: dict[str, dict[str, list[Load]]]) -> Result:
    """The rows of the table."""

    def middle(name: str, shape: str) -> float:
        return min(one.p50 for one in found[name][shape]) * 1e3

    bare = min(one.each for one in found["bare"]["many"])
    rows = {}
    for name in found:
        each = min(one.each for one in found[name]["many"])
        rows[name] = {
            "p50": middle(name, "one"), "added": middle(name, "one") - middle("upstream", "one"),
            "p99": min(one.p99 for one in found[name]["one"]) * 1e3, "cpu": each * 1e6, "a_core": 1 / each,
            "rps": max(len(one.times) / one.wall for one in found[name]["many"]), "ratio": each / bare,
            "first": middle(name, "stream") - middle("upstream", "stream"),
        }  # fmt: skip
    return rows


async def soak(port: int, pid: int, minutes: float, most: float) -> Result:
    """80 % of its highest load, for the given minutes: errors, times and memory."""
    connections, until = 16, time.monotonic() + minutes * 60
    pace = connections / (0.8 * most)
    memory, times, errors = [], [], 0
    while time.monotonic() < until:
        one = await load(port, pid, connections, int(most * 0.8 * 10), key=KEY, pace=pace)
        memory.append(memory_of(pid))
        times += one.times
        errors += one.errors
    times.sort()
    return {
        "minutes": minutes, "requests": len(times), "rps": len(times) / (minutes * 60), "errors": errors, "memory": memory,
        "p50": times[len(times) // 2] * 1e3, "p99": times[int(len(times) * 0.99)] * 1e3,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="seconds instead of a minute or two")
    parser.add_argument(
        "--soak", type=float, default=0.0, metavar="MINUTES", help="then 80 %% load for this many minutes (10)"
    )
    parser.add_argument("--litellm", default="", help="LiteLLM's program, from an environment that has litellm[proxy]")
    parser.add_argument("--only", default="", help=f"some of: {', '.join(NAMES)}")
    parser.add_argument("--markdown", type=Path, help="write the tables as a page here")
    parser.add_argument("--json", type=Path, help="write all figures here")
    options = parser.parse_args()
    only = set(filter(None, options.only.split(",")))
    names = [name for name in NAMES if not only or name in only or name in ("upstream", "bare")]
    result: Result = {"machine": {"python": platform.python_version(), "cores": cores(), "quick": options.quick}}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = {"upstream": stack.enter_context(served("upstream", "-", folder))}
        url = f"http://127.0.0.1:{servers['upstream'][0]}"
        for name in names[1:]:
            if name == "litellm" and not options.litellm:
                result["litellm"] = "not measured: give --litellm PROGRAM (see bench/requirements-litellm.txt)"
                continue
            try:
                servers[name] = stack.enter_context(served(name, url, folder, options.litellm))
            except (RuntimeError, OSError) as error:
                if name != "litellm":
                    raise
                result["litellm"] = f"could not be started here: {str(error)[-200:]}"
        counts = (2, 200) if options.quick else (6, 1000)
        result["rows"] = figures(asyncio.run(rounds(servers, *counts)))
        if options.soak:
            most = result["rows"]["trueup-all"]["rps"]
            result["soak"] = asyncio.run(soak(*servers["trueup-all"], options.soak, most))
    text = page(result, NAMES)
    sys.stdout.write(text)
    if options.markdown:
        options.markdown.write_text(text, "utf-8")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), "utf-8")


if __name__ == "__main__":
    main()
