"""The client of bench/gateway.py: requests over kept connections, their times, and the CPU time of a process meanwhile."""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import NamedTuple

MESSAGES = [
    {"role": "system", "content": "You answer with JSON and nothing else, and keep it short."},
    {"role": "user", "content": "Who wrote the first program? Give name, age, role and tags."},
]


class Load(NamedTuple):
    """The results of one round: seconds of each request, of all of them, and of CPU in the observed process."""

    times: list[float]
    wall: float
    cpu: float
    errors: int

    @property
    def p50(self) -> float:
        return sorted(self.times)[len(self.times) // 2]

    @property
    def p99(self) -> float:
        return sorted(self.times)[int(len(self.times) * 0.99)]

    @property
    def each(self) -> float:
        """CPU seconds for one request."""
        return self.cpu / max(1, len(self.times))


def cpu_of(pid: int) -> float:
    """CPU seconds of a process and those that it started, all threads, to the nanosecond."""
    total = 0
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            total += int((task / "schedstat").read_text().split()[0])
            children = (task / "children").read_text().split()
        except (OSError, IndexError):
            continue
        total += sum(int(cpu_of(int(child)) * 1e9) for child in children)
    return total / 1e9


def memory_of(pid: int) -> float:
    """Megabytes of a process and those that it started."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        own = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024
    except (OSError, StopIteration):
        return 0.0
    children = [c for task in Path(f"/proc/{pid}/task").glob("*") for c in (task / "children").read_text().split()]
    return own + sum(memory_of(int(child)) for child in children)


def request(key: str, *, stream: bool) -> bytes:
    body = json.dumps({"model": "m", "messages": MESSAGES, "stream": stream}, separators=(",", ":")).encode()
    return (
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\nx-trueup-state: ASKING\r\n"
        b"authorization: Bearer " + key.encode() + b"\r\ncontent-length: " + str(len(body)).encode() + b"\r\n\r\n" + body
    )  # fmt: skip


async def _one(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes, *, stream: bool
) -> tuple[float, bool]:
    start = time.perf_counter()
    writer.write(sent)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    good = b" 200 " in head[:20]
    if b"transfer-encoding: chunked" not in head:
        length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        return time.perf_counter() - start, good
    first = 0.0
    while size := int(await reader.readline(), 16):
        await reader.readexactly(size + 2)
        first = first or time.perf_counter() - start
    await reader.readline()
    return (first if stream else time.perf_counter() - start), good


async def _worker(port: int, sent: bytes, left: list[int], times: list[float], pace: float, *, stream: bool) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    errors = 0
    at = time.perf_counter()
    while left[0] > 0:
        left[0] -= 1
        took, good = await _one(reader, writer, sent, stream=stream)
        times.append(took)
        errors += not good
        if pace:
            at = max(at + pace, time.perf_counter() - pace)
            await asyncio.sleep(max(0.0, at - time.perf_counter()))
    writer.close()
    return errors


async def load(
    port: int, pid: int, connections: int, count: int, *, key: str = "x", stream: bool = False, pace: float = 0.0
) -> Load:
    """Send a number of requests over a number of connections; with `pace`, one every `pace` seconds on each."""
    times: list[float] = []
    sent = request(key, stream=stream)
    left = [count]
    cpu, start = cpu_of(pid), time.perf_counter()
    errors = await asyncio.gather(*(_worker(port, sent, left, times, pace, stream=stream) for _ in range(connections)))
    return Load(times, time.perf_counter() - start, cpu_of(pid) - cpu, sum(errors))


def cores() -> int:
    return len(os.sched_getaffinity(0))
