"""One configuration in force, with everything derived from a Config once for all requests that it serves.

A request takes the runtime when it arrives, and keeps it to its end. A reload builds a new runtime; the old one serves the
requests that took it, and its connections are closed after the last of them. A runtime never changes.
"""

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from trueup.gateway.client.upstream import UpstreamConnections
from trueup.gateway.config import Config
from trueup.gateway.door.exchange import Door
from trueup.gateway.errors import RefusedRequest
from trueup.gateway.pages.checking import CheckPage
from trueup.gateway.replies.lanes import Lanes
from trueup.gateway.watching.logs import LogBook
from trueup.gateway.watching.metrics import Metrics
from trueup.store.redaction import Redaction
from trueup.store.store import Store

_GRACE = 10.0  # seconds beyond a request's deadline for reporting its own errors


class Runtime:
    """A configuration with its admission, protocols, checks and connections; `active` counts the requests that use it."""

    __slots__ = ("active", "checking", "config", "connections", "door", "lanes", "logs", "redaction", "seconds")

    def __init__(self, config: Config, metrics: Metrics, store: Callable[[], Store | None], logs: LogBook) -> None:
        self.config = config
        self.logs = logs
        self.redaction = redaction_of(config)
        self.door = Door(config)
        self.lanes = Lanes(config.limits.total_seconds, config.limits.retry_budget)
        self.checking = CheckPage(config, metrics, store)
        self.seconds = config.limits.total_seconds + _GRACE  # for a client that does not read what is sent
        self.active = 0
        self.connections: UpstreamConnections | None = None
        for name in config.upstreams:
            metrics.gauge("trueup_breaker_open", partial(self.lanes.is_open, name), how="max", upstream=name)

    @property
    def line(self) -> UpstreamConnections:
        """The connections; none before `start` and after `close`."""
        if self.connections is None:
            raise RefusedRequest(503, "the gateway is not running", "server_error", "not_running")
        return self.connections

    def start(self, before: "Runtime | None" = None) -> None:
        """Prepare the connections; those of the runtime `before` are kept if no upstream and no limit has changed."""
        config = self.config
        if before is not None:
            self.door.follow(before.door)
        if before is not None and _same_line(before.config, config):
            self.connections = before.connections
            self.lanes.memory = before.lanes.memory
        if self.connections is None:
            self.connections = _line(config)

    def shares_with(self, other: "Runtime") -> bool:
        """Whether two runtimes use the same connections."""
        return self.connections is other.connections

    async def close(self) -> None:
        """Close the connections."""
        line, self.connections = self.connections, None
        if line is not None:
            await line.close()


def redaction_of(config: Config) -> Redaction:
    """The parts of a reply that are neither stored nor logged: those that the file names, and every key."""
    return replace(config.redaction, words=tuple(dict.fromkeys((*config.redaction.words, *config.secrets()))))


def _line(config: Config) -> UpstreamConnections:
    """The connections; cloud upstreams need more than a key."""
    if all(upstream.access is None for upstream in config.upstreams.values()):
        return UpstreamConnections(config.upstreams, config.limits.reply, config.limits.connections)
    from trueup.gateway.cloud.connections import CloudLine

    return CloudLine(config.upstreams, config.limits.reply, config.limits.connections)


def _same_line(one: Config, other: Config) -> bool:
    limits = (one.limits.reply, one.limits.connections) == (other.limits.reply, other.limits.connections)
    return limits and one.upstreams == other.upstreams
