"""The cost of an HTTP client: trueup's own compared with established ones, alone and under the gateway, all in one run.

python bench/http_clients.py [--quick] [--only NAMES] [--evil] [--markdown PAGE] [--json OUT]

Every client is a separate process and does the same work through the same interface (bench/http_client_lines.py): whole and
streamed replies, plain and over TLS, 1 and 16 connections. CPU is the kernel's count for the client's process, all threads.
Every round measures each client once; the best round of each counts. Then the same clients carry a judged request of the gateway.
`--evil` runs the tests of hostile upstreams with each client in place of the gateway's own.
"""

import argparse
import asyncio
import contextlib
import datetime as dt
import importlib.metadata
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gateway import KEY, free_port, served
from gateway_load import MESSAGES, cores, load

HERE = Path(__file__).parent
NAMES = ("trueup", "aiohttp", "httpcore", "httpx", "httpx2", "pyreqwest", "niquests")
SHAPES = [(kind, place, many) for place in ("plain", "TLS") for kind in ("whole", "stream") for many in (1, 16)]
Result = dict[str, Any]


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for localhost, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    authority, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime.now(dt.UTC)

    def signed(name: str, public: Any, *, ca: bool) -> Any:
        made = x509.CertificateBuilder().subject_name(_name(name)).issuer_name(_name("bench")).public_key(public)
        made = made.serial_number(x509.random_serial_number()).not_valid_before(now - dt.timedelta(days=1))
        made = made.not_valid_after(now + dt.timedelta(days=1))
        made = made.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        if not ca:
            made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        return made.sign(authority, hashes.SHA256())

    def _name(text: str) -> Any:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    pem = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(signed("bench", authority.public_key(), ca=True).public_bytes(pem))
    own = signed("localhost", key.public_key(), ca=False).public_bytes(pem)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    own += key.private_bytes(pem, form, serialization.NoEncryption())
    (folder / "server.pem").write_bytes(own)
    return folder / "ca.pem", folder / "server.pem"


# -- one client, in a separate process -------------------------------------------------------------------


async def work(line: Any, upstream: Any, many: int, count: int, *, stream: bool) -> None:
    """A number of requests over a number of connections."""
    body = json.dumps({"model": "m", "messages": MESSAGES, "stream": stream}, separators=(",", ":")).encode()
    left = [count]

    async def one() -> None:
        while left[0] > 0:
            left[0] -= 1
            reply = await line.send(upstream, "/v1/chat/completions", body, {})
            try:
                if reply.is_stream:
                    async for _ in reply.pieces():
                        pass
                else:
                    await reply.read()
            finally:
                reply.close()

    await asyncio.gather(*(one() for _ in range(many)))


async def client(name: str, plain: str, secure: str) -> None:
    """Do what standard input says, one line for each shape; CPU seconds and seconds of each go to standard output."""
    from http_client_lines import LINES
    from trueup.gateway.config import Upstream

    upstreams = {
        place: Upstream(place, url, key=KEY, private=True) for place, url in (("plain", plain), ("TLS", secure))
    }
    line = LINES[name](upstreams, 20_000_000)
    while told := (await asyncio.to_thread(sys.stdin.readline)).split():
        place, kind, many, count = told[0], told[1], int(told[2]), int(told[3])
        before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        await work(line, upstreams[place], many, count, stream=kind == "stream")
        after = resource.getrusage(resource.RUSAGE_SELF)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        sys.stdout.write(json.dumps([cpu / count, (time.perf_counter() - start) / count]) + "\n")
        sys.stdout.flush()
    await line.close()


@contextlib.contextmanager
def clients(names: list[str], plain: str, secure: str, environ: dict[str, str]) -> Iterator[dict[str, Any]]:
    found = {}
    try:
        for name in names:
            command = [sys.executable, __file__, "--client", name, plain, secure]
            found[name] = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ
            )
        yield found
    finally:
        for process in found.values():
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def alone(names: list[str], folder: Path, rounds: int, count: int) -> Result:
    """CPU µs of a request, by client and shape."""
    authority, own = certificate(folder)
    environ = {**os.environ, "SSL_CERT_FILE": str(authority)}
    best: Result = {name: {} for name in names}
    with served("upstream", "-", folder) as (plain, _), secure_upstream(own, folder) as secure:
        urls = f"http://127.0.0.1:{plain}", f"https://localhost:{secure}"
        with clients(names, *urls, environ) as processes:
            for turn in range(rounds + 1):
                for kind, place, many in SHAPES:
                    for name, process in processes.items():
                        number = count if turn else 50
                        process.stdin.write(f"{place} {kind} {many} {number}\n")
                        process.stdin.flush()
                        cpu, wall = json.loads(process.stdout.readline())
                        if turn:
                            shape = f"{kind}, {place}, {many}"
                            known = best[name].get(shape, (9e9, 9e9))
                            best[name][shape] = (min(known[0], cpu * 1e6), min(known[1], wall * 1e6))
    return best


@contextlib.contextmanager
def secure_upstream(own: Path, folder: Path) -> Iterator[int]:
    """The bench's upstream behind TLS."""
    import socket

    port = free_port()
    log = (folder / "secure.log").open("wb")
    process = subprocess.Popen([sys.executable, __file__, "--secure", str(port), str(own)], stdout=log, stderr=log)
    try:
        until = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()
        log.close()


# -- the gateway, with each of the clients in turn ---------------------------------------------------------


def judged(names: list[str], folder: Path, rounds: int, count: int) -> Result:
    """CPU µs of a judged request of the gateway, by client, whole and streamed."""
    best: Result = {name: {} for name in names}
    with contextlib.ExitStack() as stack:
        port, _ = stack.enter_context(served("upstream", "-", folder))
        servers = {}
        for name in names:
            os.environ["TRUEUP_BENCH_CLIENT"] = name
            servers[name] = stack.enter_context(served("trueup-judged", f"http://127.0.0.1:{port}", folder))
        os.environ.pop("TRUEUP_BENCH_CLIENT")
        for turn in range(rounds + 1):
            for stream in (False, True):
                for name, (gateway, pid) in servers.items():
                    one = asyncio.run(load(gateway, pid, 16, count if turn else 100, key=KEY, stream=stream))
                    if one.errors:
                        raise RuntimeError(f"{name}: {one.errors} requests failed")
                    shape = "stream" if stream else "whole"
                    if turn:
                        best[name][shape] = min(best[name].get(shape, 9e9), one.each * 1e6)
    return best


def evil(names: list[str]) -> Result:
    """Which tests of hostile upstreams fail with each client in the gateway."""
    found: Result = {}
    root = HERE.parent
    for name in names:
        environ = {**os.environ, "TRUEUP_BENCH_CLIENT": name, "PYTHONPATH": f"{HERE / 'evil'}{os.pathsep}{HERE}"}
        command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "-p", "swapped", "--timeout=60", "--tb=no",
                   "tests/gateway/test_threats_upstreams.py", "tests/gateway/test_passing.py",
                   "tests/gateway/client/test_conformance.py"]  # fmt: skip
        done = subprocess.run(command, cwd=root, env=environ, capture_output=True, text=True, check=False)
        failed = sorted(
            line.split("::")[1].split(" ")[0] for line in done.stdout.splitlines() if line.startswith("FAILED")
        )
        found[name] = {"failed": failed, "last": done.stdout.strip().splitlines()[-1:]}
    return found


def tables(result: Result) -> str:
    """All of it as Markdown."""
    out = [f"Python {result['python']}, {result['cores']} cores. CPU µs of one request in the client's process; × is relative to trueup's own.\n"]  # fmt: skip
    shapes = [f"{kind}, {place}, {many}" for kind, place, many in SHAPES]
    out.append("| client | " + " | ".join(shapes) + " |\n|---|" + "--:|" * len(shapes))
    base = result["alone"]["trueup"]
    for name, rows in result["alone"].items():
        cells = [f"{rows[s][0]:.0f} ({rows[s][0] / base[s][0]:.1f} ×)" for s in shapes]
        out.append(f"| {name} {result['versions'].get(name, '')} | " + " | ".join(cells) + " |")
    out.append("\n| client in the gateway | judged, whole | judged, streamed |\n|---|--:|--:|")
    base = result["judged"]["trueup"]
    for name, row in result["judged"].items():
        out.append(f"| {name} | " + " | ".join(f"{row[s]:.0f} ({row[s] / base[s]:.2f} ×)" for s in row) + " |")
    for name, row in result.get("evil", {}).items():
        kinds = sorted({test.split("[")[0] for test in row["failed"]})
        out.append(f"\n- {name}: {' '.join(row['last'])}" + "".join(f"\n    - {kind}" for kind in kinds))
    return "\n".join(out) + "\n"


def main() -> None:
    if sys.argv[1:2] == ["--client"]:
        import uvloop

        uvloop.run(client(*sys.argv[2:5]))
        return
    if sys.argv[1:2] == ["--secure"]:
        import uvicorn

        from gateway_servers import upstream

        uvicorn.run(
            upstream, port=int(sys.argv[2]), ssl_certfile=sys.argv[3], log_level="warning", access_log=False,
            http="httptools", ws="none", server_header=False, date_header=False,
        )  # fmt: skip
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help=f"some of: {', '.join(NAMES)}")
    parser.add_argument("--evil", action="store_true", help="also run the tests of hostile upstreams with each client")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    only = set(filter(None, options.only.split(",")))
    names = [name for name in NAMES if not only or name in only or name == "trueup"]
    counts = (2, 100) if options.quick else (5, 400)
    result: Result = {"python": platform.python_version(), "cores": cores()}
    result["versions"] = {name: importlib.metadata.version(name) for name in names}
    with tempfile.TemporaryDirectory() as made:
        result["alone"] = alone(names, Path(made), *counts)
        result["judged"] = judged(names, Path(made), *counts)
    if options.evil:
        result["evil"] = evil(names)
    text = tables(result)
    sys.stdout.write(text)
    if options.markdown:
        options.markdown.write_text(text, "utf-8")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), "utf-8")


if __name__ == "__main__":
    main()
