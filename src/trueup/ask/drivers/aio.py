"""The asynchronous driver: like the synchronous one, it carries out the plan's steps and makes no decisions.

Cancelling the task ends a wait or a call immediately. A call that exceeds its timeout is cancelled and becomes a failure. A blocking client
is called in a worker, so that neither the event loop nor the end of the program waits for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from trueup.ask.answer import Answer
from trueup.ask.clients.request import failure_of, reply_in
from trueup.ask.drivers.clock import SYSTEM, Clock
from trueup.ask.drivers.time_limits import alate, limit
from trueup.ask.drivers.worker import WorkerJob, seeing
from trueup.ask.loop.loop import Loop
from trueup.ask.loop.plan import Finish, Send, Step
from trueup.ask.memory import MODES, Memory
from trueup.ask.policy import DEFAULT, Policy
from trueup.ask.requests.outgoing import Hook
from trueup.ask.rungs import find_ladder
from trueup.contract.option_help import named
from trueup.verdict.events import Event
from trueup.verdict.verdict import T

if TYPE_CHECKING:
    from trueup.ask.cache import Cache
    from trueup.contract.contract import Contract
    from trueup.contract.option_types import Messages, Model


@named("aask")
async def aask(
    contract: "Contract[T]",
    call: "Model",
    messages: "Messages",
    policy: Policy | None = None,
    *,
    on_event: Callable[[Event], object] | None = None,
    on_request: Hook | None = None,
    context: Mapping[str, Any] | None = None,
    memory: Memory | None = None,
    cache: "Cache | None" = None,
    clock: Clock | None = None,
    wait: Callable[[float], Awaitable[object]] | None = None,
) -> Answer[T]:
    """Ask a model until its reply satisfies the contract, or a budget runs out. `Contract.aask` calls it."""
    ladder = find_ladder(call, policy)
    options: dict[str, Any] = {
        "context": context,
        "on_event": on_event,
        "memory": memory or MODES,
        "clock": clock or SYSTEM,
        "on_request": on_request,
        "cache": cache,
    }
    loop = Loop(contract, ladder.rungs, messages, policy or DEFAULT, **options)
    try:
        step = loop.start()
        while not isinstance(step, Finish):
            if isinstance(step, Send):
                step = await _send(loop)
            else:
                await (wait or asyncio.sleep)(step.seconds)
                step = loop.waited()
    except asyncio.CancelledError:
        loop.cancelled()  # counts what the call has cost, and informs the subscribers
        raise
    finally:
        ladder.close()
    return loop.answer()


async def _send(loop: Loop) -> Step:
    request = loop.request()
    jobs: list[WorkerJob] = []
    timer = asyncio.timeout(limit(loop, request))
    try:
        with seeing(jobs):
            async with timer:
                raw = await loop.client.asend(request)
    except Exception as error:
        if timer.expired():
            return loop.failed(await alate(loop, jobs, request.timeout))
        raw = reply_in(error)
        failure = failure_of(error, request.mode) if raw is None else None
        if failure is not None:
            return loop.failed(failure)
        if raw is None:
            raise
    return loop.judged(await loop.ajudge(raw))
