"""Mounted: takes a gateway and returns the studio that it serves at `/studio`. Keys and folders come from the gateway's
file.

It uses the gateway's store and ends with it. Each worker has its own studio; they share only the secret that signs
their cookies.
"""

import time
from pathlib import Path
from typing import Any

from trueup import __version__
from trueup.gateway.config import Config
from trueup.gateway.gateway import Gateway
from trueup.gateway.keys import hash_of
from trueup.gateway.pages.studio import MOUNT
from trueup.studio.app import Application
from trueup.studio.door.guard import Receive, Scope, Send
from trueup.studio.settings import LOOPBACK, Key, StudioSettings

_EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared, not bound


def offer(gateway: Gateway) -> "MountedStudio":
    """The studio of a `gateway` whose configuration has a section for it."""
    return MountedStudio(gateway)


class MountedStudio:
    """The studio of one gateway."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._app = Application(settings_of(gateway.config, gateway), lambda: gateway.store)
        self._app.studio.gateway = lambda: standing(gateway)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def follow(self, config: Config) -> None:
        """Apply the keys and hosts of this configuration from the next request on."""
        self._app.follow(settings_of(config, self._gateway))

    def stop(self) -> None:
        """End long jobs soon."""
        self._app.stop()

    def close(self) -> None:
        """Close what the studio opened."""
        self._app.close()


def settings_of(config: Config, gateway: Gateway) -> StudioSettings:
    """The settings of a gateway's studio."""
    section = config.studio
    if section is None:
        return StudioSettings(keys=(), mount=MOUNT)
    keys = tuple(
        Key(
            each.name, (each.hash or hash_of(each.key)).lower().removeprefix("sha256:"), each.role, each.tenant or None,
            each.expires,
        )
        for each in section.keys
    )  # fmt: skip
    own = set() if config.host in _EVERYWHERE else {f"[{config.host}]" if ":" in config.host else config.host.lower()}
    return StudioSettings(
        keys=keys, folders=tuple(Path(folder) for folder in section.folders), mount=MOUNT,
        hidden=frozenset({Path(section.file)} if section.file else ()),
        hosts=LOOPBACK | own | set(section.hosts), addresses=True, secret=section.secret or gateway.secret,
        applies="reload" if gateway.watches else "signal",
    )  # fmt: skip


def standing(gateway: Gateway) -> dict[str, Any]:
    """The state of this worker of the gateway."""
    config, store = gateway.config, gateway.store
    problems = ["The gateway is stopping."] if gateway.stopping else []
    if store is not None and (store.trouble is not None or store.crowded):
        problems.append("The store does not take new verdicts.")
    lanes = gateway.runtime.lanes
    return {
        "version": __version__,
        "uptime": time.monotonic() - gateway.began,
        "problems": problems,
        "routes": [
            {
                "name": route.name,
                "models": list(route.models),
                "contract": "" if route.contract is None else route.contract.name,
            }
            for route in config.routes
        ],
        "breakers": [name for name in config.upstreams if lanes.is_open(name)],
    }
