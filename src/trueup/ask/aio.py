"""The asynchronous driver: carries out the plan's steps as the synchronous one does, and decides nothing.

Cancelling the task ends a wait and a call at once. A call that outlasts its timeout is cancelled and told as a failure.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from trueup.ask.answer import Answer
from trueup.ask.clients.client import Client
from trueup.ask.clients.find import find_client
from trueup.ask.clients.request import failure_of
from trueup.ask.clock import SYSTEM, Clock
from trueup.ask.loop import Loop
from trueup.ask.memory import MODES, Memory
from trueup.ask.plan import Finish, Send, Step
from trueup.ask.policy import DEFAULT, Policy
from trueup.contract.given import named
from trueup.verdict.events import Event
from trueup.verdict.verdict import T

if TYPE_CHECKING:
    from trueup.contract.contract import Contract
    from trueup.contract.forms import Messages, Model


@named("aask")
async def aask(
    contract: "Contract[T]",
    call: "Model",
    messages: "Messages",
    policy: Policy | None = None,
    *,
    on_event: Callable[[Event], object] | None = None,
    context: Mapping[str, Any] | None = None,
    memory: Memory | None = None,
    clock: Clock | None = None,
    wait: Callable[[float], Awaitable[object]] | None = None,
) -> Answer[T]:
    """Ask a model until its reply keeps the contract, or a budget runs out. `Contract.aask` is this."""
    client = find_client(call)
    options: dict[str, Any] = {
        "context": context,
        "on_event": on_event,
        "memory": memory or MODES,
        "clock": clock or SYSTEM,
    }
    loop = Loop(contract, client, messages, policy or DEFAULT, **options)
    step = loop.start()
    while not isinstance(step, Finish):
        if isinstance(step, Send):
            step = await _send(loop, client)
        else:
            await (wait or asyncio.sleep)(step.seconds)
            step = loop.waited()
    return loop.answer()


async def _send(loop: Loop, client: Client) -> Step:
    request = loop.request()
    try:
        async with asyncio.timeout(request.timeout):
            raw = await client.asend(request)
    except Exception as error:
        failure = failure_of(error, request.mode)
        if failure is None:
            raise
        return loop.failed(failure)
    return loop.judged(await loop.ajudge(raw))
