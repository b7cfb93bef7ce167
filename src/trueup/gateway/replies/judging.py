"""Handles bugs in the code of a contract: a finding, and an error for the client.

A bug is neither the client's fault nor the model's. It is logged with the line of the user's code; the exception's own text,
which may quote a reply, is logged only at the level DEBUG. No client is told to try again.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from trueup.gateway.errors import NO_RETRY, RefusedRequest
from trueup.verdict.bugs import bug_of
from trueup.verdict.facts import Finding

log = logging.getLogger("trueup.gateway")

R = TypeVar("R")


def bug_found(error: BaseException) -> Finding:
    """The finding for an exception that is a bug in the contract, which is logged; any other exception is raised again."""
    bug = bug_of(error)
    if bug is None:
        raise error
    found = bug.finding()
    log.error("%s %s", found.code, found.message)
    log.debug("the exception, which may quote the reply:", exc_info=error)
    return found


def bug_refusal(found: Finding, more: dict[str, Any] | None = None) -> RefusedRequest:
    """The error that a client gets for a bug in the contract."""
    message = f"the reply could not be judged: {found.code} {found.message}"
    return RefusedRequest(500, message, "server_error", "contract_bug", headers=dict(NO_RETRY), more=more)


async def in_thread(judge: Callable[..., R], *given: Any) -> R:
    """The result of judging in a thread. An exception is raised unchanged, where asyncio would copy a TimeoutError."""
    kept: list[R] = []
    error = await asyncio.to_thread(_raised, lambda: kept.append(judge(*given)))
    if error is not None:
        raise error
    return kept[0]


def _raised(judge: Callable[[], object]) -> BaseException | None:
    """An exception of judging, to be raised where it is awaited."""
    try:
        judge()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is
        return error
    return None
