"""Adapters and the MCP server, measured: columns of pandas and polars, parsers of LangChain, agents of pydantic-ai, `trueup mcp`.

python bench/integrations.py [--quick] [--markdown PAGE]

The replies have a known record: a third is clean, a third is in a fence or prose, a third is faulty. Times are CPU time. All ways
of a table take turns in each round; a ratio is the median of the rounds' ratios.
"""

import argparse
import asyncio
import gc
import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pandas as pd  # type: ignore[import-untyped]
import polars as pl
from langchain_core.output_parsers import BaseOutputParser, JsonOutputParser, PydanticOutputParser
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import integrations_mcp
import trueup.adapters.pandas  # noqa: F401 - registers the accessor
import trueup.adapters.polars  # noqa: F401 - registers the namespace
from integrations_replies import BROKEN, CLEAN, INVALID, THIRDS, WRAPPED, Order, Reply, only, replies
from root import ROOT
from trueup import Contract
from trueup.adapters.langchain import ContractOutputParser
from trueup.adapters.pydantic_ai import ContractCapability
from trueup.batch.columns import COLUMNS
from trueup.mcp.answer import LIMIT
from trueup.verdict.catalogue import GRADES

Ways = dict[str, Callable[[], object]]
RETRIES = 3
MAKES = "a loop that makes the same DataFrame as pandas"


class Sizes(NamedTuple):
    """How many replies and rounds each table takes."""

    column: int
    parsed: int
    asked: int
    called: int
    rounds: int


FULL = Sizes(column=10_000, parsed=1_200, asked=240, called=120, rounds=7)
QUICK = Sizes(column=300, parsed=240, asked=24, called=24, rounds=2)


class Cost(NamedTuple):
    """Median CPU seconds of a way over the rounds, and the median of its ratio to the first way."""

    seconds: float
    ratio: float


def costs(ways: Ways, rounds: int) -> dict[str, Cost]:
    """Every way in every round, after one round that does not count."""
    measured: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            gc.collect()
            began = time.process_time()
            way()
            if number:
                measured[name].append(time.process_time() - began)
    return medians(measured)


def medians(measured: Mapping[str, Sequence[float]]) -> dict[str, Cost]:
    """The costs from the seconds of each round, by way."""
    base = next(iter(measured.values()))
    return {
        name: Cost(median(times), median(each / first for each, first in zip(times, base, strict=True)))
        for name, times in measured.items()
    }


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"|---|{'--:|' * (len(head) - 1)}",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]


def columns(contract: Contract[Any], given: Sequence[Reply], rounds: int) -> list[str]:
    texts = [reply.text for reply in given]
    panda, polar = pd.Series(texts), pl.Series("reply", texts)
    frame = polar.to_frame()
    checked = pl.col("reply").trueup.check(contract)  # type: ignore[attr-defined]

    def loop() -> None:
        for text in texts:
            contract.check(text)

    def by_hand() -> object:
        rows = []
        for text in texts:
            found = contract.check(text)
            codes, fixes = [finding.code for finding in found.findings], [fix.code for fix in found.fixes]
            grade = max((fix.grade for fix in found.fixes), key=GRADES.__getitem__, default="none")
            rows.append((found.ok, found.value, found.data, str(found.reason), codes, fixes, grade))
        return pd.DataFrame(rows, columns=list(COLUMNS))

    found = costs(
        {
            "a loop of `contract.check`": loop,
            MAKES: by_hand,
            'pandas: `df["reply"].trueup.check(contract)`': lambda: panda.trueup.check(contract),
            'polars: `df["reply"].trueup.check(contract)`': lambda: polar.trueup.check(contract),  # type: ignore[attr-defined]
            'polars, eager: `df.select(pl.col("reply").trueup.check(contract))`': lambda: frame.select(checked),
            "polars, lazy: the same on a `LazyFrame`, and `collect`": lambda: frame.lazy().select(checked).collect(),
        },
        rounds,
    )
    return table(
        ("way", "ratio", "ratio to the loop with a DataFrame", "CPU µs per reply"),
        [
            (
                name,
                f"{cost.ratio:.2f}",
                f"{cost.seconds / found[MAKES].seconds:.2f}",
                f"{cost.seconds / len(texts) * 1e6:.1f}",
            )
            for name, cost in found.items()
        ],
    )


def right(reply: Reply, parse: Callable[[str], Any]) -> bool:
    """True if the parser gives the reply's record, or refuses a reply that breaks the schema."""
    try:
        value = parse(reply.text)
    except Exception:
        return reply.record is None
    return (value.model_dump() if isinstance(value, BaseModel) else value) == reply.record


def parsers(contract: Contract[Any]) -> dict[str, BaseOutputParser[Any]]:
    """Ours, and those of langchain-core."""
    return {
        "`ContractOutputParser`": ContractOutputParser(contract=contract),
        "`PydanticOutputParser`": PydanticOutputParser(pydantic_object=Order),
        "`JsonOutputParser`": JsonOutputParser(),
    }


def parsing(given: Sequence[Reply], rounds: int) -> list[str]:
    """The cost of each parser on each third, called directly and as the end of a chain."""
    contract = Contract(Order)
    made = parsers(contract)
    ways: dict[str, Callable[[str], Any]] = {
        "`contract.check`": contract.check,
        **{f"{name}, `parse`": parser.parse for name, parser in made.items()},
        **{f"{name}, `invoke`": parser.invoke for name, parser in made.items()},
    }

    def over(parse: Callable[[str], Any], texts: Sequence[str]) -> Callable[[], None]:
        def work() -> None:
            for text in texts:
                try:
                    parse(text)
                except Exception:
                    continue

        return work

    thirds = {name: [reply.text for reply in only(kinds, given)] for name, kinds in THIRDS}
    measured = {
        name: costs({way: over(parse, texts) for way, parse in ways.items()}, rounds) for name, texts in thirds.items()
    }
    return table(
        ("parser", *(f"{name}: ratio" for name in thirds), *(f"{name}: CPU µs" for name in thirds)),
        [
            (
                way,
                *(f"{measured[name][way].ratio:.2f}" for name in thirds),
                *(f"{measured[name][way].seconds / len(texts) * 1e6:.1f}" for name, texts in thirds.items()),
            )
            for way in ways
        ],
    )


def readings(given: Sequence[Reply]) -> list[str]:
    """How many replies of each kind each parser reads correctly."""
    made = parsers(Contract(Order))

    def row(name: str, those: Sequence[Reply]) -> tuple[str, ...]:
        counts = [sum(right(reply, parser.parse) for reply in those) for parser in made.values()]
        return (name, str(len(those)), *map(str, counts))

    kinds = CLEAN | WRAPPED | BROKEN | INVALID
    rows = [row(f"{name}{', must be refused' * (name in INVALID)}", only({name: kinds[name]}, given)) for name in kinds]
    rows.append(row("**all faulty replies**", only(BROKEN | INVALID, given)))
    return table(("replies", "number", *made), rows)


class Asked(NamedTuple):
    """The result of an agent: how many requests it made, and how many outputs were the record."""

    requests: int
    right: int


def agents(given: Sequence[Reply], rounds: int) -> list[str]:
    """pydantic-ai's function model calls the output tool with each reply; asked again, it gives the clean record."""
    contract = Contract(Order)
    current: list[Reply] = []
    requests = 0

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        nonlocal requests
        requests += 1
        text = current[0].text if len(messages) == 1 else json.dumps(current[0].record)
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, text)])

    kinds = {"without": Agent(FunctionModel(answer), output_type=Order, retries=RETRIES)}
    kinds["with the capability"] = Agent(
        FunctionModel(answer), output_type=Order, retries=RETRIES, capabilities=[ContractCapability(contract)]
    )

    def over(agent: Agent[Any, Order], those: Sequence[Reply]) -> Callable[[], Asked]:
        async def work() -> Asked:
            nonlocal requests
            requests, equal = 0, 0
            for reply in those:
                current[:] = [reply]
                try:
                    equal += (await agent.run("Which order?")).output.model_dump() == reply.record
                except Exception:
                    continue
            return Asked(requests, equal)

        return lambda: asyncio.run(work())

    rows = []
    for name, wanted in (("clean JSON", CLEAN), ("faulty, but repairable", BROKEN)):
        those = only(wanted, given)
        ways = {way: over(agent, those) for way, agent in kinds.items()}
        found = costs({**ways}, rounds)
        for way, work in ways.items():
            asked, cost = work(), found[way]
            rows.append(
                (
                    f"{name}, {way}", f"{cost.ratio:.2f}", f"{cost.seconds / len(those) * 1e6:,.0f}",
                    f"{asked.requests / len(those):.2f}", f"{asked.right} of {len(those)}",
                )
            )  # fmt: skip
    return table(("run", "ratio", "CPU µs per run", "requests per run", "right outputs"), rows)


def server(given: Sequence[Reply], schema: str, rounds: int) -> tuple[list[str], list[str]]:
    """The cost of a call, and the largest result of each tool."""
    found = integrations_mcp.calls(Contract(json.loads(schema)), schema, given, rounds)
    times = dict(zip(integrations_mcp.Call._fields, zip(*found, strict=True), strict=True))
    rows = [
        (name, f"{cost.ratio:.1f}", f"{cost.seconds / len(given) * 1e6:,.0f}")
        for name, cost in zip(
            (
                "`contract.check` alone, CPU", "a `check` call, CPU of the server", "a `check` call, CPU of the client",
                "a `check` call, wall",
            ),
            medians(times).values(),
            strict=True,
        )
    ]  # fmt: skip
    sizes = [
        (f"`{tool}`", str(largest.results), f"{largest.tokens:,}", "met" if largest.tokens < LIMIT else "not met")
        for tool, largest in integrations_mcp.largest().items()
    ]
    return (
        table(("what", "ratio", "µs per reply"), rows),
        table(("tool", "results", "tokens of the largest", f"below {LIMIT:,}"), sizes),
    )


def page(sizes: Sizes) -> str:
    schema = json.dumps(Order.model_json_schema())
    column = columns(Contract(json.loads(schema)), replies(sizes.column), sizes.rounds)
    parsed = replies(sizes.parsed)
    cost, reading = parsing(parsed, sizes.rounds), readings(parsed)
    asked = agents(replies(sizes.asked), sizes.rounds)
    call, tokens = server(replies(sizes.called), schema, sizes.rounds)
    lines = [
        "# Integrations, measured", "",
        "<!-- Written by `python bench/integrations.py --markdown docs/benchmarks-integrations.md`. -->", "",
        f"`make bench-integrations`, one run: CPython {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs that others use too",
        f"(load {os.getloadavg()[0]:.1f} at the end). A schema has six required fields. A third of the replies are clean, a third are in a fence or in",
        f"prose, and a third are faulty in {len(BROKEN) + len(INVALID)} ways. All ways of a table take turns in each of {sizes.rounds} rounds. A time is the median of the rounds, and a",
        "ratio is the median of the rounds' ratios to the first row. If the machine is busy, trust the ratios.", "",
        "## Columns", "",
        f"{sizes.column:,} replies. [pandas](howto/integrations.md#pandas) and [polars](howto/integrations.md#polars) check one reply after the other. A",
        "verdict describes its findings and fixes only when they are read: the first loop does not read them, and the second one puts them into the",
        "columns that the pandas adapter returns.", "",
        *column,
        "## LangChain", "",
        f"{sizes.parsed:,} replies. Ratios are to `contract.check`, whose verdict raises nothing; a parser raises an exception for a refused reply, and",
        "[ours](howto/integrations.md#langchain) writes the correction for the model into it. `parse` takes the text; `invoke` is what a chain calls,",
        "with LangChain's callbacks.", "",
        *cost,
        "Replies that each parser reads correctly: it returns exactly the record, or refuses a reply that breaks the schema. `JsonOutputParser`",
        "does not get a schema, so it cannot refuse those, and it keeps numbers in quotes as strings.", "",
        *reading,
        "## pydantic-ai", "",
        f"{sizes.asked:,} replies. pydantic-ai's own function model calls the output tool with each reply as arguments; if the agent asks again, it returns",
        "the clean record. A request costs no time here; with a real model it costs seconds. Ratios are to the run without",
        "[the capability](howto/integrations.md#pydantic-ai).", "",
        *asked,
        "## The MCP server", "",
        f"{sizes.called:,} replies, each a `check` call over standard input and output with the SDK's own client, one after the other, compared with",
        "`contract.check` in the client's process.", "",
        *call,
        "The largest results of each [tool](howto/mcp.md#the-tools) on a store of hostile and very long replies in many scripts, and on contracts with hundreds of",
        "rules: text and structured content together, as the largest of three tokenizers of OpenAI and Anthropic counts them. Up to",
        "six of the calls in `omitted` are made after each result.", "",
        *tokens,
    ]  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few replies and rounds, to see that it runs")
    parser.add_argument("--markdown", type=Path, help="the page to write")
    options = parser.parse_args()
    text = page(QUICK if options.quick else FULL)
    print(text)
    if options.markdown:
        (ROOT / options.markdown).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
