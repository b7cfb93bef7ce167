"""The synchronous driver: carries out the plan's steps, one after the other, and makes no decisions.

A call is made in a worker, so that it ends promptly when its time is over, when `cancel` is set, and on Ctrl-C. Waits end in the same way.
"""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from trueup.ask.answer import Answer
from trueup.ask.clients.request import failure_of, reply_in
from trueup.ask.drivers.clock import SYSTEM, Clock
from trueup.ask.drivers.time_limits import abandoned, late, limit
from trueup.ask.drivers.worker import CallCancelled, Late, pause, run
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


@named("ask")
def ask(
    contract: "Contract[T]",
    call: "Model",
    messages: "Messages",
    policy: Policy | None = None,
    *,
    on_event: Callable[[Event], object] | None = None,
    on_request: Hook | None = None,
    context: Mapping[str, Any] | None = None,
    cancel: threading.Event | None = None,
    memory: Memory | None = None,
    cache: "Cache | None" = None,
    clock: Clock | None = None,
    wait: Callable[[float], bool] | None = None,
) -> Answer[T]:
    """Ask a model until its reply satisfies the contract, or a budget runs out. `Contract.ask` calls it."""
    ladder = find_ladder(call, policy, sync=True)
    options: dict[str, Any] = {
        "context": context,
        "on_event": on_event,
        "memory": memory or MODES,
        "clock": clock or SYSTEM,
        "on_request": on_request,
        "cache": cache,
    }
    loop = Loop(contract, ladder.rungs, messages, policy or DEFAULT, **options)
    waiting = wait or partial(pause, cancel=cancel)
    try:
        step = loop.start()
        while not isinstance(step, Finish):
            if cancel is not None and cancel.is_set():
                step = loop.cancelled()
            elif isinstance(step, Send):
                step = _send(loop, cancel)
            else:
                step = loop.cancelled() if waiting(step.seconds) else loop.waited()
    except KeyboardInterrupt:
        loop.cancelled()  # counts what the call has cost, and informs the subscribers
        raise
    finally:
        ladder.close()
    return loop.answer()


def _send(loop: Loop, cancel: threading.Event | None) -> Step:
    request = loop.request()
    try:
        raw = run(partial(loop.client.send, request), limit(loop, request), cancel)
    except Late as given_up:
        return loop.failed(late(loop, request.timeout, stopped=given_up.job.is_stopped()))
    except CallCancelled as given_up:
        abandoned(loop, stopped=given_up.job.is_stopped())
        return loop.cancelled()
    except Exception as error:
        raw = reply_in(error)
        failure = failure_of(error, request.mode) if raw is None else None
        if failure is not None:
            return loop.failed(failure)
        if raw is None:
            raise
    return loop.replied(raw)
