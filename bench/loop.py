"""The loop around a call: what asking costs beyond the call itself when the first reply is accepted."""

import asyncio
from typing import Any

import cases
from trueup.measure.timing import race

Result = dict[str, Any]
LIMIT = 100.0  # µs of CPU, beyond the call and the check


def loop(rounds: int) -> Result:
    """CPU µs of an ask that accepts its first reply, and of the check alone."""
    from trueup import Contract, Policy
    from trueup.ask.budgets.tokens import estimate
    from trueup.ask.clients.call import CallableClient
    from trueup.ask.clients.request import Request
    from trueup.ask.drivers.aio import aask

    contract = Contract(cases.SCHEMA)
    text = cases.COMPACT
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    body = {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], "usage": {"total_tokens": 12}}
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which order?"}]
    seen: list[Any] = []
    quiet = Policy(instruct="never")
    budget = Policy(tokens=1_000_000)
    made = CallableClient(lambda _: text)
    small, large = (Request([{"role": "user", "content": "word " * (size // 5)}]) for size in (1_000, 20_000))
    runner = asyncio.Runner()

    async def reply(_: Any) -> str:
        return text

    calls = {
        "the check alone, text": lambda: contract.check(text),
        "the check alone, a chat completion": lambda: contract.check(body),
        "ask, text": lambda: contract.ask(lambda _: text, messages),
        "ask, text, the client made once": lambda: contract.ask(made, messages),
        "ask, a chat completion": lambda: contract.ask(lambda _: body, messages),
        "ask, nothing added to the prompt": lambda: contract.ask(lambda _: text, messages, quiet),
        "ask, with a budget of tokens": lambda: contract.ask(lambda _: text, messages, budget),
        "ask, with a subscriber": lambda: contract.ask(lambda _: text, messages, on_event=seen.append),
        "aask, text": lambda: runner.run(aask(contract, reply, messages)),
        "a coroutine alone": lambda: runner.run(reply(messages)),
        "the estimate alone, a request of 1 KB": lambda: estimate(small),
        "the estimate alone, a request of 20 KB": lambda: estimate(large),
    }
    for call in calls.values():
        call()  # loading at the first use is not part of the cost of an ask
    try:
        times = race(calls, rounds)
    finally:
        runner.close()
    alone = {
        "ask, a chat completion": times["the check alone, a chat completion"],
        "aask, text": times["the check alone, text"] + times["a coroutine alone"],
    }
    over = {
        name: took - alone.get(name, times["the check alone, text"])
        for name, took in times.items()
        if name.startswith(("ask", "aask"))
    }
    return {"times": times, "over": over, "limit": LIMIT, "met": max(over.values()) < LIMIT}


def table(result: Any) -> tuple[str, str, list[str], list[list[str]]]:
    """The rows for report.DRAW."""
    rows = [
        [name, f"{took:.1f}", f"{result['over'][name]:.1f}" if name in result["over"] else "-"]
        for name, took in result["times"].items()
    ]
    met = "met" if result["met"] else "not met"
    note = (
        "The first reply, 1 KB of JSON under 20 fields, is accepted. CPU µs; *beyond* is the time in addition to the call and the "
        f"check. Target: under {result['limit']:.0f}, {met}."
    )
    return "The loop around a call", note, ["what", "µs", "beyond"], rows
