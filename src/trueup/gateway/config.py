"""The gateway's configuration as frozen values: upstreams, contracts, routes, clients, limits. `settings.py` reads a file.

Keys come from here or the environment and from nowhere else. Nothing in a request can name another upstream.
"""

from fnmatch import fnmatchcase
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from trueup.ask.policy import Policy
from trueup.contract.contract import Contract
from trueup.contract.holder import Way
from trueup.store.redaction import Redaction
from trueup.store.retention import Retention

Speaks = Literal["openai", "anthropic"]

# Invalid text is withheld: a best reading is given only where a route says so. A long reply may take its two minutes.
DEFAULTS: dict[str, Any] = {"otherwise": "failed", "timeout": 120.0, "deadline": 180.0}
POLICY = Policy(**DEFAULTS)


class Upstream(msgspec.Struct, frozen=True):
    """A provider, or a server that speaks like one. `url` is what comes before `/v1/…`."""

    name: str
    url: str
    protocol: Speaks = "openai"
    key: str = ""
    private: bool = False
    headers: dict[str, str] = {}

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What of it must never be seen: the key, and long values of headers."""
        return tuple(filter(None, (self.key, *(value for value in self.headers.values() if len(value) >= 12))))

    def __repr__(self) -> str:  # a key must not get into a log by way of a repr
        return f"Upstream({self.name!r}, {self.url!r})"


class Route(msgspec.Struct, frozen=True):
    """Which requests keep which contract, whom they are sent to, and how far asking may go."""

    name: str
    models: tuple[str, ...] = ()
    contract: Contract | None = None
    upstream: str = ""
    policy: Policy = POLICY
    hold: Way = "auto"
    chooses: bool = False  # a client may choose a contract by header
    state: str = ""  # of requests that name none


class Caller(msgspec.Struct, frozen=True):
    """Who may use the gateway, by a key; whose requests these are."""

    key: str
    tenant: str
    user: str = ""

    def __repr__(self) -> str:
        return f"Caller({self.tenant!r})"


class Limits(msgspec.Struct, frozen=True):
    """Sizes in bytes and times in seconds."""

    request: int = 10_000_000
    reply: int = 20_000_000
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    total_seconds: float = 180.0
    stop_seconds: float = 30.0
    connections: int = 1000
    at_once: int = 1000

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not (value > 0 or (name == "stop_seconds" and value == 0)):
                raise ValueError(f"{name} is a number above 0; got {value!r}")


class Config(msgspec.Struct, frozen=True):
    """Everything the gateway must know."""

    upstreams: dict[str, Upstream]
    routes: tuple[Route, ...] = ()
    contracts: dict[str, Contract] = {}
    models: dict[str, str] = {}
    clients: tuple[Caller, ...] = ()
    store: str = ""
    quota: bool = False
    progress: bool = False  # tell clients of retries and repairs as they happen, unless they want none of it
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    server: Literal["uvicorn", "granian"] = "uvicorn"
    limits: Limits = Limits()
    redaction: Redaction = Redaction()
    retention: Retention = Retention()
    telemetry: bool = False  # spans and events of OpenTelemetry
    choose: bool = True  # x-trueup-contract may name any contract where no route binds one

    def route(self, name: str) -> Route | None:
        """The route that a path names."""
        return next((route for route in self.routes if route.name == name), None)

    def route_for(self, model: str) -> Route | None:
        """The first route whose patterns fit a model."""
        for route in self.routes:
            if any(fnmatchcase(model, pattern) for pattern in route.models):
                return route
        return None

    def upstream_for(self, model: str, protocol: Speaks, route: Route | None) -> Upstream | None:
        """Whom to ask: what the route says, what the model's name says, the first that speaks the protocol."""
        if route is not None and route.upstream:
            return self.upstreams[route.upstream]
        for pattern, name in self.models.items():
            if fnmatchcase(model, pattern) and self.upstreams[name].protocol == protocol:
                return self.upstreams[name]
        return next((each for each in self.upstreams.values() if each.protocol == protocol), None)

    def secrets(self) -> tuple[str, ...]:
        """Every key, so that none is ever stored."""
        keys = [secret for each in self.upstreams.values() for secret in each.secrets]
        return tuple(dict.fromkeys([*keys, *(each.key for each in self.clients if each.key)]))


def of(upstream: str, contract: Any = None, **options: Any) -> Config:
    """A small configuration: one upstream, and one contract for everything, if there is one.

    >>> of("http://127.0.0.1:9999").upstreams["main"].url
    'http://127.0.0.1:9999'
    """
    protocol = options.pop("protocol", "openai")
    policy = options.pop("policy", POLICY)
    hold = options.pop("hold", "auto")
    key = options.pop("key", "")
    main = Upstream("main", upstream.rstrip("/").removesuffix("/v1"), protocol, key=key)
    also = Upstream("also", main.url, "anthropic" if protocol == "openai" else "openai", key=key)
    routes = () if contract is None else (Route("all", ("*",), contract, policy=policy, hold=hold),)
    return Config(upstreams={"main": main, "also": also}, routes=routes, **options)
