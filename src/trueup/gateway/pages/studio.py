"""The studio at `/studio`: off unless the configuration has a section for it.

The process that starts the gateway names the application: this package serves it and knows nothing about it. It follows each
configuration that is adopted, so that a removed key opens nothing from the next request on.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from trueup.gateway.config import Config
from trueup.gateway.errors import RefusedRequest
from trueup.gateway.file.studio import NAME
from trueup.gateway.serving.wire import JSON, Receive, Scope, Send
from trueup.verdict.codec import spelled

if TYPE_CHECKING:
    from trueup.gateway.gateway import Gateway

MOUNT = f"/{NAME}"


class StudioApp(Protocol):
    """An application at `/studio`; its paths begin with that."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def follow(self, config: Config) -> None:
        """Serve the next requests by this configuration; it has a section for the studio."""

    def stop(self) -> None:
        """End long jobs soon: the gateway is about to stop."""

    def close(self) -> None:
        """Close what was opened."""


Offer = Callable[["Gateway"], StudioApp]


class StudioPages:
    """The studio of one gateway; `offer` builds it when a configuration first asks for it."""

    def __init__(self, gateway: "Gateway") -> None:
        self._gateway = gateway
        self._mounted: StudioApp | None = None
        self.offer: Offer | None = None

    async def follow(self, config: Config) -> None:
        """Apply the configuration."""
        if config.studio is None:
            return  # nothing refers to it any more
        if self._mounted is None and self.offer is not None:
            self._mounted = await asyncio.to_thread(self.offer, self._gateway)
        if self._mounted is not None:
            self._mounted.follow(config)

    def takes(self, path: str) -> bool:
        """Whether a path belongs to the studio, and there is one."""
        return self._gateway.config.studio is not None and (path == MOUNT or path.startswith(f"{MOUNT}/"))

    def stop(self) -> None:
        """End its long jobs, so that they do not keep the gateway from stopping."""
        if self._mounted is not None:
            self._mounted.stop()

    def close(self) -> None:
        """Close it."""
        mounted, self._mounted = self._mounted, None
        if mounted is not None:
            mounted.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        mounted = self._mounted
        if mounted is None or self._gateway.stopping:
            said = "the gateway is stopping" if self._gateway.stopping else "this gateway was started without a studio"
            await _refuse(send, RefusedRequest(503, said, "server_error", "not_running"))
            return
        await mounted(scope, receive, send)


async def _refuse(send: Send, refused: RefusedRequest) -> None:
    body = spelled({"error": {"code": refused.code, "message": refused.message, "hint": ""}})
    headers = [JSON, (b"content-length", b"%d" % len(body)), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
