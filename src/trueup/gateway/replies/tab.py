"""The tab of one request: quota is reserved before asking, captured before a reply is sent, and given back if no reply
is sent.

    async with metered(store, config, route, tenant=…, key=…, user=…, model=…, request=(path, body)) as tab:
        ...
        await tab.settle(reply.status < 300, headers, body)  # before the first byte of the reply leaves

It is settled at most once in every case: leaving the block without a capture gives back the hold. Without a store or without
quota it does nothing. If the store cannot write, the client gets an error before anything is asked: nothing is given away. A
request whose key was charged before gets the stored reply, by raising Replayed.
"""

import contextlib
import hashlib
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

from trueup.gateway.config import Config, Route
from trueup.gateway.errors import NO_RETRY, RefusedRequest
from trueup.gateway.serving.wire import Headers, Out, ResponseStream
from trueup.store.errors import KeyReused, NotHeld, QuotaExceeded, StoreError
from trueup.store.quota import Quota, Reservation
from trueup.store.replays import SentReply
from trueup.store.store import Store

MICRO = 1_000_000
SOON = {"retry-after": "1"}
AGAIN = (b"x-trueup-replayed", b"true")


class Replayed(Exception):
    """A request that was answered and charged before; it gets the same reply again."""

    def __init__(self, replay: SentReply) -> None:
        super().__init__("this request was answered before")
        self._replay = replay

    async def send(self, out: Out) -> None:
        """Send the reply as it was sent the first time."""
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self._replay.headers]
        headers.append(AGAIN)
        if not self._replay.stream:
            await out.whole(200, self._replay.body, headers)
            return
        stream = ResponseStream(out, 200, headers)
        await stream.write(self._replay.body)
        await stream.end()


def metered(
    store: Store | None, config: Config, route: Route | None, *, tenant: str, key: str = "", user: str = "",
    model: str = "", request: Iterable[bytes | str] = (),
) -> "Tab":  # fmt: skip
    """The tab of a request on this route; entering it reserves one reply, leaving it gives back what was not captured.

    `key` is the client's idempotency key; empty: it gave none. `request` is everything that identifies the request: the same
    key with another request is refused.
    """
    if store is None or not config.charges(route):
        return Tab(None)
    if store.trouble is not None:
        raise unavailable()
    digest = _digest(request) if key else ""
    return Tab(store.quota, tenant=tenant, key=key, user=user, model=model, digest=digest, limits=config.limits)


class Copy:
    """The sent part of a stream, kept for a client that asks again; nothing once it is too large."""

    __slots__ = ("_error", "_left", "_pieces", "_tab", "headers")

    def __init__(self, tab: "Tab", headers: Headers, error: Callable[[RefusedRequest], bytes], most: int) -> None:
        self._tab = tab
        self.headers = headers
        self._error = error
        self._left = most
        self._pieces: list[bytes] = []

    async def finish(self) -> None:
        """The stream is about to end."""
        await self._tab.finish()

    def add(self, piece: bytes) -> None:
        """A piece is about to be sent."""
        self._left -= len(piece)
        if self._left >= 0:
            self._pieces.append(piece)
        else:
            self._pieces.clear()

    def body(self, *, whole: bool) -> bytes | None:
        """Everything that was sent, followed by an error if the end is missing; None if that is too large."""
        if self._left < 0:
            return None
        if not whole:
            said = "this reply broke off when it was first sent; the part that was sent was charged"
            self._pieces += [b"\n\n", self._error(RefusedRequest(502, said, "server_error", "reply_cut"))]
        return b"".join(self._pieces)


class Tab:
    """The charge for one request."""

    __slots__ = (
        "_copy", "_digest", "_given_back", "_held", "_key", "_limits", "_model", "_open", "_quota", "_tenant", "_user", "captured",
    )  # fmt: skip

    def __init__(
        self, quota: Quota | None, *, tenant: str = "", key: str = "", user: str = "", model: str = "", digest: str = "", limits: Any = None,
    ) -> None:  # fmt: skip
        self._quota = quota
        self._tenant, self._key, self._user, self._model = tenant, key, user, model
        self._digest = digest
        self._limits = limits
        self._held: Reservation | None = None
        self._open = False  # captured for a stream that has not ended yet
        self._copy: Copy | None = None
        self._given_back = False
        self.captured = False

    @property
    def charges(self) -> bool:
        """Whether there is anything to count."""
        return self._quota is not None

    async def __aenter__(self) -> Self:
        if self._quota is not None:
            await self._reserve(self._quota)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._held is not None:
            await (self.finish(whole=False) if self.captured else self.give_back())

    async def _reserve(self, quota: Quota) -> None:
        """Put one reply on hold, or refuse the request."""
        lifetime = max(300.0, self._limits.total_seconds + 60)
        try:
            held = await quota.areserve(
                self._tenant, self._key, user=self._user, model=self._model, lifetime=lifetime, digest=self._digest
            )
        except QuotaExceeded as full:
            raise _used_up(full) from None
        except KeyReused as reused:
            raise RefusedRequest(409, str(reused), code="idempotency_key_reused", headers=NO_RETRY) from None
        except StoreError:
            raise unavailable() from None
        if not held.fresh:
            await self._answered(quota, held)
        self._held = held

    async def _answered(self, quota: Quota, held: Reservation) -> None:
        """The key was used before: send its reply again, or say why not."""
        if held.state == "held" or held.sending:
            said = "a request with this idempotency key is being answered; ask again in a moment"
            raise RefusedRequest(409, said, code="idempotency_key_in_use", headers=SOON)
        try:
            replay = await quota.areplay(held)
        except StoreError:
            raise unavailable() from None
        if replay is not None:
            raise Replayed(replay)
        said = "a request with this idempotency key was answered before, and its reply is not kept; use a new key"
        raise RefusedRequest(409, said, code="idempotency_key_used", headers=NO_RETRY)

    async def spend(self, attempt: int, cost: float | None) -> bool:
        """Count the cost of an attempt, whether or not its reply is used; return True if a cost budget is used up."""
        if self._quota is None or self._held is None or not cost:
            return False
        try:
            return await self._quota.aspend(self._held, attempt, round(cost * MICRO))
        except StoreError:
            raise unavailable() from None

    async def settle(self, headers: Headers | None = None, body: bytes = b"", *, charged: bool) -> None:
        """Capture or give back before the reply is sent, so that a repetition with the same key finds it settled.

        `headers` and `body` are a reply of one piece, kept for a client that asks again; None: it is a stream.
        """
        if self._held is None or (charged and self.captured):
            return
        if not charged:
            await self.give_back()
            return
        replay = None if headers is None or not self._key else self._kept(headers, body, stream=False)
        await self._capture(replay, is_open=bool(self._key) and headers is None)

    async def settle_known(self, *, charged: bool) -> None:
        """The same for a stream whose whole output is known; it is kept in the same commit."""
        if charged and self._held is not None and not self.captured:
            await self._capture(self._copied(whole=True), is_open=False)
            return
        await self.settle(charged=charged)
        await self.finish()

    async def _capture(self, replay: SentReply | None, *, is_open: bool) -> None:
        """Capture the hold; no reply may be sent before that."""
        assert self._quota is not None
        assert self._held is not None
        try:
            await self._quota.acapture(self._held, replay=replay, sending=is_open)
        except NotHeld as late:
            raise RefusedRequest(
                503,
                f"the quota reserved for this reply is no longer on hold: it is {late.state}",
                "server_error",
                "quota_lost",
            ) from None
        except StoreError:
            raise unavailable() from None
        self.captured, self._open = True, is_open

    def copy(self, headers: Headers, error: Callable[[RefusedRequest], bytes]) -> Copy | None:
        """Where the pieces of a stream are kept, if they are; `error` writes an error in place of a missing end."""
        if self._held is not None and self._key and self._quota is not None and self._quota.keeps:
            self._copy = Copy(self, headers, error, self._limits.replay)
        return self._copy

    async def finish(self, *, whole: bool = True) -> None:
        """A stream has ended, or broken off; the sent part is kept for a client that asks again."""
        if not self._open or self._held is None or self._quota is None:
            return
        self._open = False
        replay = self._copied(whole=whole)
        with contextlib.suppress(StoreError):  # the reply was paid for and sent; the store logs its own troubles
            await self._quota.afinish(self._held, replay)

    def _copied(self, *, whole: bool) -> SentReply | None:
        """The sent part of a stream, as it may be kept."""
        copy = self._copy
        body = None if copy is None else copy.body(whole=whole)
        return None if copy is None or body is None else self._kept(copy.headers, body, stream=True)

    async def give_back(self) -> None:
        """Give back the quota that is on hold, or was captured for a worthless reply; also during a cancellation."""
        held = self._held
        if held is None or self._quota is None or self._given_back:
            return
        self._given_back = True
        self.captured = self._open = False
        with contextlib.suppress(StoreError):  # expired, or taken over; or the store does it as soon as it can
            await self._quota.arefund(held)

    def _kept(self, headers: Headers, body: bytes, *, stream: bool) -> SentReply | None:
        assert self._quota is not None
        if len(body) > self._limits.replay or not self._quota.may_keep(body, stream):
            return None
        return SentReply([(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers], body, stream)


NO_TAB = Tab(None)


def _digest(request: Iterable[bytes | str]) -> str:
    found = hashlib.blake2b(digest_size=16)
    for part in request:
        plain = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        found.update(b"%d:" % len(plain))
        found.update(plain)
    return found.hexdigest()


def _used_up(full: QuotaExceeded) -> RefusedRequest:
    facts = {"scope": full.scope, "unit": full.unit, "period": full.period, "limit": full.limit, "used": full.used}
    return RefusedRequest(
        429, str(full), "insufficient_quota", "insufficient_quota", headers=NO_RETRY, more={"quota": facts}
    )


def unavailable() -> RefusedRequest:
    """A store that cannot do its work, as an error for the client; the store logs the details."""
    said = "verdicts and quota cannot be stored at the moment; try again later"
    return RefusedRequest(503, said, "server_error", "store_unavailable", headers={"retry-after": "1"})
