"""Tokens that expire: fetches them from their source and returns one that is still valid.

A command prints it, a file contains it, or a cloud's metadata server returns it. It is fetched again a minute before it
expires, by one request for all callers. No error or log contains what a command printed.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trueup.ask.clients.request import CallFailure, TransportFailure
from trueup.gateway.config import TokenSource

log = logging.getLogger("trueup.gateway")

_EARLY = 60.0  # seconds before its end in which a token is used only if no other can be had
_COMMAND_SECONDS = 30.0
_NAMES = ("access_token", "accessToken", "token")
_ENDS = ("expires_on", "expiresOn", "Expiration", "expiration", "expires_at", "expiry")
_decode = msgspec.json.Decoder().decode


class AccessToken(NamedTuple):
    """A token as it was printed, and when it expires in wall-clock time."""

    text: str
    until: float


class Tokens:
    """The tokens of one upstream."""

    def __init__(self, source: TokenSource, fetch: Callable[[], Awaitable[str]] | None = None) -> None:
        self._source = source
        self._fetch = fetch
        self._kept: AccessToken | None = None
        self._lock: asyncio.Lock | None = None

    async def get(self, upstream: str) -> str:
        """A valid token; raises a TransportFailure that names the upstream if there is none."""
        kept = self._kept
        if kept is not None and kept.until - _EARLY > time.time():
            return kept.text
        if self._lock is None:
            self._lock = asyncio.Lock()
        async with self._lock:
            if self._kept is not kept and self._kept is not None:
                return self._kept.text
            try:
                text = await self._fetched()
            except (OSError, ValueError, TimeoutError, TransportFailure) as error:
                if kept is not None and kept.until > time.time():
                    log.warning("upstream %r: its token could not be fetched again (%s)", upstream, _why(error))
                    return kept.text
                said = f"upstream {upstream!r}: no token ({_why(error)})"
                raise TransportFailure(CallFailure(said, code="token", unsent=True)) from None
            self._kept = AccessToken(text, until_of(text, self._source.seconds, time.time()))
            return text

    async def _fetched(self) -> str:
        if self._fetch is not None:
            return await self._fetch()
        if self._source.file:
            return (await asyncio.to_thread(Path(self._source.file).read_text, "utf-8")).strip()
        return await _printed(self._source.command)


def _why(error: BaseException) -> str:
    if isinstance(error, TransportFailure):
        return error.failure.reason
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) if isinstance(error, _NoToken) else type(error).__name__


class _NoToken(ValueError):
    """A command that printed no token; the message says why, but quotes none of its output."""


async def _printed(command: tuple[str, ...]) -> str:
    """The output of a command."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(), _COMMAND_SECONDS)
    except BaseException:
        if process.returncode is None:
            process.kill()
            await process.wait()
        raise
    if process.returncode:
        raise _NoToken(f"its command {command[0]!r} ended with status {process.returncode}")
    text = out.decode("utf-8", "replace").strip()
    if not text:
        raise _NoToken(f"its command {command[0]!r} printed nothing")
    return text


def bearer_of(text: str) -> str:
    """The token in some output: the text itself, or a member of a JSON object."""
    if not text.startswith("{"):
        return text
    body = _object(text)
    return next((str(body[name]) for name in _NAMES if body.get(name)), "")


def until_of(text: str, seconds: float, now: float) -> float:
    """When a token printed at `now` expires: at its own time, otherwise after this many seconds."""
    body = _object(text) if text.startswith("{") else {}
    lasts = body.get("expires_in") or body.get("expiresIn")
    if isinstance(lasts, int | float | str) and str(lasts).isdigit():
        return now + float(lasts)
    for name in _ENDS:
        end = _date(body.get(name))
        if end is not None:
            return end
    return now + seconds


def _object(text: str) -> dict[str, Any]:
    try:
        found = _decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _date(value: Any) -> float | None:
    if isinstance(value, int | float) or (isinstance(value, str) and value.isdigit()):
        return float(value)
    try:
        when = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def members_of(text: str) -> dict[str, Any]:
    """The members of some output, if it is a JSON object."""
    return _object(text)
