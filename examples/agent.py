"""Runs a help desk: a model that uses tools under examples/contracts/helpdesk.yaml, and shows the result of each of its calls.

A scripted server plays the model, so nothing is fetched: it misspells a tool, opens a ticket too early, and corrects itself.
"""

from pathlib import Path
from typing import Any

from trueup import Context, Contract, Policy
from trueup.testing.script import Call, Say
from trueup.testing.server import ScriptedServer

CONTRACT = Path(__file__).resolve().parent / "contracts" / "helpdesk.yaml"
MODEL: list[Any] = [
    Say("", (Call("check_adaptor_status", {"adapter": "eth0"}, id="c1"), Call("ping_gateway", {"count": "3"}, id="c2"))),
    Say("", (Call("create_ticket", {"summary": "no link"}, id="c3"),)),
    Say("", (Call("check_adapter_status", {"adapter": "eth0"}, id="c4"), Call("create_ticket", {"summary": "no link"}, id="c5"))),
    "The adapter has no link. I have opened a ticket for you.",
]  # fmt: skip


class Network:
    """The data of the tools: one adapter without a link, and the tickets."""

    def __init__(self) -> None:
        self.up = {"eth0": False}
        self.tickets: list[str] = []


def check_adapter_status(network: Context[Network], adapter: str) -> str:
    return "up" if network.deps.up.get(adapter) else "no link"


def ping_gateway(network: Context[Network], count: int = 4) -> str:
    return f"{count} sent, {count if network.deps.up['eth0'] else 0} received"


def create_ticket(network: Context[Network], summary: str) -> str:
    network.deps.tickets.append(summary)
    return f"ticket {len(network.deps.tickets)}"


def not_needed(**_: object) -> str:
    return "not needed today"


TOOLS = {
    "check_adapter_status": check_adapter_status,
    "get_ip_config": not_needed,
    "ping_gateway": ping_gateway,
    "ping_dns": not_needed,
    "test_dns_resolution": not_needed,
    "create_ticket": create_ticket,
}


def main() -> None:
    network = Network()
    contract = Contract.load(CONTRACT)
    with ScriptedServer(MODEL) as server:
        policy = Policy(models=("scripted",))
        run = contract.run(f"{server.url}/v1", "My internet is down.", policy, tools=TOOLS, deps=network)
    for step in run.steps:
        for attempt in step.answer.attempts[:-1]:
            assert attempt.verdict is not None
            print(f"{step.number}  asked again: {attempt.verdict.errors[0].message}")
        for called in step.calls:
            print(f"{step.number}  {called.call.name:<21} {called.status:<8} {called.text[:60]}")
    print(f"\n{run.text}\n{run}: {network.tickets}")


if __name__ == "__main__":
    main()
