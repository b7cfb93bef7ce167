"""The synchronous driver: carries out the plan's steps, one after the other, and decides nothing.

Waits end at once when `cancel` is set, or on Ctrl-C. A call itself is bounded by the timeout that the client is given.
"""

import threading
from collections.abc import Callable, Mapping
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


@named("ask")
def ask(
    contract: "Contract[T]",
    call: "Model",
    messages: "Messages",
    policy: Policy | None = None,
    *,
    on_event: Callable[[Event], object] | None = None,
    context: Mapping[str, Any] | None = None,
    cancel: threading.Event | None = None,
    memory: Memory | None = None,
    clock: Clock | None = None,
    wait: Callable[[float], bool] | None = None,
) -> Answer[T]:
    """Ask a model until its reply keeps the contract, or a budget runs out. `Contract.ask` is this."""
    client = find_client(call)
    options: dict[str, Any] = {
        "context": context,
        "on_event": on_event,
        "memory": memory or MODES,
        "clock": clock or SYSTEM,
    }
    loop = Loop(contract, client, messages, policy or DEFAULT, **options)
    waiting = wait or (cancel or threading.Event()).wait
    try:
        step = loop.start()
        while not isinstance(step, Finish):
            if cancel is not None and cancel.is_set():
                step = loop.cancelled()
            elif isinstance(step, Send):
                step = _send(loop, client)
            else:
                step = loop.cancelled() if waiting(step.seconds) else loop.waited()
    finally:
        if isinstance(call, str):
            client.close()
    return loop.answer()


def _send(loop: Loop, client: Client) -> Step:
    request = loop.request()
    try:
        raw = client.send(request)
    except Exception as error:
        failure = failure_of(error, request.mode)
        if failure is None:
            raise
        return loop.failed(failure)
    return loop.replied(raw)
