"""`trueup mcp`, measured with the SDK's own client: the cost of a call over stdio, and the largest result of each tool in tokens."""

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mcp import Client

import root  # noqa: F401 - makes `tests` importable
from gateway_load import cpu_of
from integrations_replies import Reply
from tests.mcp.large import LARGE, LONG, make_large_place
from tests.mcp.stage import inside, run, stdio_of
from tests.mcp.tokenizers import most
from trueup import Contract

_FOLLOWED = 6
"""Calls of each result's `omitted` that are made too."""


class Call(NamedTuple):
    """One round: seconds of `contract.check` alone, and of a `check` call in the server, in the client, and until the result is there."""

    alone: float
    server: float
    client: float
    wall: float


class Largest(NamedTuple):
    """The results of a tool: how many, and the tokens of the largest."""

    results: int
    tokens: int


def calls(contract: Contract[Any], schema: str, replies: Sequence[Reply], rounds: int) -> list[Call]:
    """The cost of each round over the replies. The first round, which loads the server, is left out."""

    async def work() -> list[Call]:
        measured = []
        with tempfile.TemporaryDirectory(prefix="bench-integrations-") as folder:
            place = make_large_place(Path(folder))
            (place.folder / "order.yaml").write_text(f"name: order\nschema: {schema}\n")
            children = set(_children())
            async with Client(stdio_of(place)) as client:
                (server,) = set(_children()) - children
                for _ in range(rounds + 1):
                    alone = time.process_time()
                    for reply in replies:
                        contract.check(reply.text)
                    alone = time.process_time() - alone
                    cpu, own, began = cpu_of(server), time.process_time(), time.perf_counter()
                    for reply in replies:
                        await client.call_tool("check", {"reply": reply.text, "contract": "contracts/order.yaml"})
                    wall, own = time.perf_counter() - began, time.process_time() - own
                    measured.append(Call(alone, cpu_of(server) - cpu, own, wall))
        return measured[1:]

    measured: list[Call] = run(work)
    return measured


def _children() -> list[int]:
    tasks = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def largest() -> dict[str, Largest]:
    """For each tool, the largest of the results that the tests ask for, as the largest of three tokenizers counts them."""
    edited = {"contract": LONG, "text": "name: long\nschema: true\n", "judged_by": ""}

    async def work() -> dict[str, Largest]:
        found: dict[str, Largest] = {}
        with tempfile.TemporaryDirectory(prefix="bench-integrations-") as folder:
            place = make_large_place(Path(folder))
            async with inside(place.workspace(allow_edit=True)) as client:
                for tool, asked in LARGE.items():
                    listed = (await client.call_tool("lint", {"contract": LONG})).structured_content
                    sizes: list[int] = []
                    for arguments in asked or [{**edited, "hash": listed["hash"]}]:
                        waiting = [(tool, arguments)]
                        for _ in range(_FOLLOWED + 1):
                            if not waiting:
                                break
                            result = await client.call_tool(*waiting.pop(0))
                            sizes.append(most(result.model_dump_json(by_alias=True, exclude_none=True)))
                            omitted = (result.structured_content or {}).get("omitted", ())
                            waiting += [(more["tool"], more["arguments"]) for more in omitted]
                    found[tool] = Largest(len(sizes), max(sizes))
        return found

    measured: dict[str, Largest] = run(work)
    return measured
