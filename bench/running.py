"""The loop of a tool-using model: the cost of `run` per turn, compared with a hand-written loop that judges and executes the same calls."""

import asyncio
from typing import Any

from trueup.measure.timing import race

Result = dict[str, Any]
TURNS = 5


def ping(host: str, count: int = 1) -> str:
    """Ping a host."""
    return f"{host}: {count} of {count} came back"


def model(messages: list[Any], tools: Any = None) -> Any:  # noqa: ARG001 - as a provider takes them
    """Call a tool in every turn but the last."""
    turn = sum(message["role"] == "tool" for message in messages)
    if turn == TURNS - 1:
        return {"role": "assistant", "content": "All of them answer."}
    arguments = f'{{"host": "192.0.2.{turn}", "count": 2}}'
    call = {"id": f"call_{turn}", "type": "function", "function": {"name": "ping", "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def running(rounds: int) -> Result:
    """CPU µs of one turn: by hand, with `run`, with `arun`, and as a stream."""
    from trueup import Contract, Policy, execute

    contract = Contract(tools=[ping])
    asked = [{"role": "user", "content": "Do all of them answer?"}]
    plain = Policy(deadline=None, timeout=None)
    runner = asyncio.Runner()

    def by_hand() -> Any:
        messages: list[Any] = list(asked)
        while True:
            reply = model(messages)
            verdict = contract.check(reply, {"history": messages})
            messages.append(reply)
            if not verdict.calls:
                return messages
            messages += execute(verdict, [ping]).messages

    async def amodel(messages: list[Any], tools: Any = None) -> Any:
        return model(messages, tools)

    calls = {
        "a loop by hand": by_hand,
        "run, in this thread": lambda: contract.run(model, asked, plain),
        "run, with a deadline": lambda: contract.run(model, asked),
        "arun": lambda: runner.run(contract.arun(amodel, asked)),
    }
    for call in calls.values():
        call()  # loading at the first use is not part of the cost of a turn
    try:
        times = {name: took / TURNS for name, took in race(calls, rounds).items()}
    finally:
        runner.close()
    alone = times["a loop by hand"]
    return {"times": times, "over": {name: took - alone for name, took in times.items() if took != alone}}


def table(result: Any) -> tuple[str, str, list[str], list[list[str]]]:
    """The rows for report.DRAW."""
    rows = [
        [name, f"{took:.1f}", f"{result['over'][name]:.1f}" if name in result["over"] else "-"]
        for name, took in result["times"].items()
    ]
    note = f"A run of {TURNS} turns, one call in each but the last. CPU µs of one turn; the loop by hand checks and executes the same calls."
    return "A turn of a tool-using model", note, ["what", "µs", "beyond"], rows
