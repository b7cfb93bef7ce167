"""The gateway's configuration as frozen values: upstreams, contracts, routes, clients, limits. `settings.py` reads a file.

Keys come only from here or from the environment. Nothing in a request can name another upstream.
"""

from base64 import b64encode
from fnmatch import fnmatchcase
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import msgspec

from trueup.ask.policy import Policy
from trueup.contract.contract import Contract
from trueup.contract.streaming.holding_back import Way
from trueup.gateway.client.tls import Tls
from trueup.store.redaction import Redaction
from trueup.store.retention import Retention
from trueup.verdict.secrets import masked

Speaks = Literal["openai", "anthropic"]

# Invalid text is withheld: a best reading is returned only if a route allows it. A long reply may take two minutes. One
# request causes at most six calls, because the retries of a client's SDK multiply them.
DEFAULTS: dict[str, Any] = {
    "otherwise": "failed", "timeout": 120.0, "deadline": 180.0, "attempts": 6, "retries": 2, "eager": True, "waits": 2,
}  # fmt: skip
POLICY = Policy(**DEFAULTS)


ENDPOINTS = ("embeddings", "moderations", "count_tokens")  # on by default


class TokenSource(msgspec.Struct, frozen=True):
    """The source of an expiring token: a command, a file, or the machine's metadata server."""

    command: tuple[str, ...] = ()
    """The command that prints it, with its arguments; empty: none."""
    file: str = ""
    """The file that contains it; empty: none."""
    metadata: bool = False
    """Whether to ask the metadata server of Google Cloud."""
    seconds: float = 300.0
    """How long to use a token that does not say when it expires."""


class AwsKeys(msgspec.Struct, frozen=True):
    """The credentials of an AWS account or role."""

    access_key: str
    """The key's id."""
    secret_key: str
    """The key itself."""
    session_token: str = ""
    """The session token, for credentials that expire; empty: they do not expire."""

    def __repr__(self) -> str:  # keeps the key out of logs that print a repr
        return "AwsKeys(…)"


class Access(msgspec.Struct, frozen=True):
    """How to address an upstream in a cloud and sign its requests."""

    kind: Literal["azure", "bedrock", "vertex"]
    """The cloud."""
    key: str = ""
    """The key for Azure or Bedrock; empty: requests use a token or a signature."""
    version: str = ""
    """The version of Azure's API, such as `2024-10-21`; empty: the newer paths, which need none."""
    region: str = ""
    """The region of Bedrock or Vertex; empty for Azure."""
    project: str = ""
    """The Vertex project; empty for the others."""
    token: TokenSource | None = None
    """Where tokens for Azure and Vertex, or AWS credentials, come from; None: a key is used."""
    aws: AwsKeys | None = None
    """The credentials that sign requests to Bedrock; None: a key or a command is used."""
    server: str = ""
    """The address of the metadata server; empty: Google's."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Its secrets."""
        return (self.key, *((self.aws.secret_key, self.aws.session_token) if self.aws is not None else ()))

    def __repr__(self) -> str:
        return f"Access({self.kind!r})"


class Upstream(msgspec.Struct, frozen=True):
    """A provider, or a server with a compatible API."""

    name: str
    """The name that routes and models refer to it by."""
    url: str
    """Its address, without `/v1/…`."""
    protocol: Speaks = "openai"
    """The protocol it uses."""
    key: str = ""
    """The key sent to it; empty: none."""
    private: bool = False
    """Whether it may have a private or local address, whether by name or written out."""
    headers: dict[str, str] = {}
    """Extra headers for every request; none by default."""
    access: Access | None = None
    """How to address it and sign requests, if it is in a cloud of Azure, AWS or Google; None: it takes a key."""
    responses: bool = True
    """Whether it has OpenAI's Responses API; if not, such requests are translated to chat completions."""
    tenant: str = ""
    """The only tenant that may use it, and whose files, batches and responses it keeps. `*`: all tenants, which then share
    them. Empty: all tenants may use it, and nobody can reach what it keeps.
    """
    tls: Tls = Tls()
    """Which certificates to trust and which one to present; by default the system's, and none."""

    @property
    def host(self) -> str:
        """The host in its address."""
        return urlsplit(self.url).hostname or ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Its secrets: the key, a password in the address, and long header values."""
        address = urlsplit(self.url)
        password = address.password or ""
        basic = b64encode(f"{unquote(address.username or '')}:{unquote(password)}".encode()).decode()
        also = (password, unquote(password), basic) if len(password) >= 4 else ()
        found = (
            self.key,
            *(() if self.access is None else self.access.secrets),
            *also,
            *(value for value in self.headers.values() if len(value) >= 12),
        )
        return tuple(dict.fromkeys(filter(None, found)))

    def takes_from(self, tenant: str) -> bool:
        """Whether this `tenant`'s requests may be sent to it."""
        return self.tenant in ("", "*", tenant)

    def keeps_for(self, tenant: str) -> bool:
        """Whether this `tenant` may reach the objects it keeps."""
        return bool(self.tenant) and self.tenant in ("*", tenant)

    def __repr__(self) -> str:  # keeps the key out of logs that print a repr
        return f"Upstream({self.name!r}, {masked(self.url)!r})"


class Spare(msgspec.Struct, frozen=True):
    """An upstream to fall back on when earlier ones cannot answer; it may use another protocol."""

    upstream: str
    """The name of the upstream."""
    model: str = ""
    """The model to request from it; empty: the one that the client names."""
    share: float | None = None
    """Its share of the time for a request, above 0 and below 1; None: an equal share of what the other rungs leave."""


class Route(msgspec.Struct, frozen=True):
    """Which requests must keep which contract, where they are sent, and how often to ask again."""

    name: str
    """The name of the route; requests to `/NAME/v1/…` use it."""
    models: tuple[str, ...] = ()
    """Patterns of the models it is for; empty: requests choose it only by its path."""
    contract: Contract | None = None
    """The contract that replies must keep; None: they are passed through."""
    upstream: str = ""
    """The name of the upstream; empty: the one for the model."""
    policy: Policy = POLICY
    """How often to ask again, and when to stop; by default a `Policy` that returns no invalid reply and takes at most 180
    seconds.
    """
    hold: Way = "auto"
    """Which part of a stream is held back until it has been judged."""
    chooses: bool = False
    """Whether a client may choose a contract by header."""
    state: str = ""
    """The state for requests that do not name one; empty: none."""
    unknown_state: Literal["fallback", "refuse"] = "fallback"
    """The answer if the contract does not know a request's state: the default `fallback` if there is one, or always an
    error.
    """
    request: Contract | None = None
    """The contract that the user's messages must keep before a model is asked; None: they are not judged."""
    quota: bool | None = None
    """Whether its replies are charged; None: as set for the whole file."""
    model: str = ""
    """The model to request from the upstream, an alias for the client's; empty: the one that the client names."""
    share: float | None = None
    """The first upstream's share of the time for a request; None: an equal share of what the fallbacks leave."""
    fallback: tuple[Spare, ...] = ()
    """The upstreams to ask next, in this order, if one cannot answer; empty: none."""

    @property
    def binds(self) -> bool:
        """Whether it has a contract, for replies or for requests."""
        return self.contract is not None or self.request is not None

    @property
    def asks_for(self) -> tuple[str, ...]:
        """The model names sent to upstreams, where they differ from the client's."""
        names = (self.model, *self.policy.models, *(spare.model for spare in self.fallback))
        return tuple(filter(None, names))


class Allowance(msgspec.Struct, frozen=True):
    """How much a client may use, according to its entry in the file."""

    unit: Literal["replies", "cost"]
    """The unit to count: charged replies, or the cost of all attempts."""
    period: Literal["hour", "day", "month", "total"]
    """When it starts again; `total`: never."""
    amount: int
    """How many replies, or how many millionths of your unit of money."""


class Caller(msgspec.Struct, frozen=True):
    """A client of the gateway: its key, and the tenant it belongs to."""

    key: str
    """The key that the client sends; empty if only its hash is known."""
    tenant: str
    """The tenant of its requests."""
    user: str = ""
    """The user; empty: as the request says."""
    name: str = ""
    """The key's name in logs; empty: none."""
    hash: str = ""
    """The SHA-256 of the key, as `sha256:…`; empty: that of `key`."""
    expires: float | None = None
    """When the key stops working, in seconds since 1970; None: never."""
    routes: tuple[str, ...] = ()
    """The names of the routes it may use; empty: all, including requests without a route."""
    models: tuple[str, ...] = ()
    """Patterns of the models it may ask for; empty: all."""
    per_minute: int = 0
    """How many requests its client may send per minute to each worker; 0: any number."""
    limits: tuple[Allowance, ...] = ()
    """Its quota limits; empty: only those in the store."""
    client: str = ""
    """The client's id, shared by all of its keys, so that they count together; empty: none."""

    def __repr__(self) -> str:
        return f"Caller({self.tenant!r}, name={self.name!r})"


class Limits(msgspec.Struct, frozen=True):
    """Limits on the size, time and number of requests and replies."""

    request: int = 10_000_000
    """The largest request, in bytes."""
    reply: int = 20_000_000
    """The largest reply of an upstream, in bytes."""
    file: int = 512_000_000
    """The largest file that is passed through, up or down, in bytes."""
    context: int = 262_144
    """The largest context of a request, in bytes, without its history."""
    replay: int = 1_000_000
    """The largest reply to keep for a client that asks again with its key, in bytes."""
    head_seconds: float = 10.0
    """Seconds for the head of a request."""
    body_seconds: float = 30.0
    """Seconds for the body of a request."""
    total_seconds: float = 180.0
    """Seconds for a request and its reply."""
    stop_seconds: float = 30.0
    """Seconds that requests in progress get when the gateway stops."""
    connections: int = 1000
    """How many connections to upstreams may be open."""
    at_once: int = 1000
    """How many requests are handled at the same time."""
    retry_budget: float = 0.2
    """How many failed calls a worker may repeat per request it receives, in addition to ten in half a minute; 0: only these
    ten.
    """

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not (value > 0 or (name in ("stop_seconds", "retry_budget") and value == 0)):
                raise ValueError(f"{name} must be a number above 0; got {value!r}")


class Logs(msgspec.Struct, frozen=True):
    """Which logs to write, where, and in which format."""

    access: str = ""
    """The file with a line for each request; `-`: stdout; empty: none."""
    verdicts: str = ""
    """The file with a line for each judged reply; `-`: stdout; empty: none."""
    format: Literal["json", "text"] = "json"
    """JSON, or `name=value` pairs."""


class StudioKey(msgspec.Struct, frozen=True):
    """A key for the gateway's studio; these keys open nothing else."""

    name: str
    """The key's name; each key has its own."""
    role: Literal["reader", "labeller", "editor"]
    """The permissions: read, also label verdicts, or also change contracts and runs."""
    key: str = ""
    """The key; empty if only its hash is known."""
    hash: str = ""
    """The SHA-256 of the key, as `sha256:…`; empty: that of `key`."""
    tenant: str = ""
    """The only tenant whose verdicts it shows; empty: all."""
    expires: float | None = None
    """When the key stops working, in seconds since 1970; None: never."""

    def __repr__(self) -> str:
        return f"StudioKey({self.name!r}, {self.role!r})"


class StudioSection(msgspec.Struct, frozen=True):
    """The studio that the gateway serves at `/studio`."""

    keys: tuple[StudioKey, ...]
    """Its keys."""
    folders: tuple[str, ...] = ()
    """Absolute folders with contracts and runs; the studio shows and changes no other file. Empty: none."""
    hosts: tuple[str, ...] = ()
    """Host names that browsers may use for it, besides this machine's addresses; empty: only these addresses."""
    secret: str = ""
    """The secret that signs its cookies, for gateways on several machines; empty: a random one, until the gateway ends."""
    file: str = ""
    """The gateway's own file, which the studio never shows; empty: there is none."""

    def __repr__(self) -> str:
        return f"StudioSection({self.keys!r}, folders={self.folders!r})"


class Config(msgspec.Struct, frozen=True):
    """The whole configuration."""

    upstreams: dict[str, Upstream]
    """The providers, by name."""
    routes: tuple[Route, ...] = ()
    """Which requests must keep which contract; the first match wins; empty: none."""
    contracts: dict[str, Contract] = {}
    """Contracts that requests may choose, by name; empty: none."""
    models: dict[str, str] = {}
    """The upstream of a model, by a pattern of its name; empty: the first one with the right protocol."""
    clients: tuple[Caller, ...] = ()
    """The accepted keys, each with its tenant; empty: everyone has access."""
    store: str = ""
    """The path or URL of the store; empty: nothing is stored."""
    quota: bool = False
    """Whether replies are charged to the tenant's quota: valid ones, and, where no contract applies, those with a 2xx status."""
    progress: bool = False
    """Whether clients are notified of retries and repairs as they happen, unless they opt out."""
    host: str = "127.0.0.1"
    """The address it listens on."""
    port: int = 8080
    """The port it listens on."""
    workers: int = 1
    """How many processes serve requests."""
    server: Literal["uvicorn", "granian"] = "uvicorn"
    """The server that runs it."""
    limits: Limits = Limits()
    """Sizes, times and numbers of requests."""
    redaction: Redaction = Redaction()
    """The parts of a reply that are not stored."""
    retention: Retention = Retention()
    """How many days data is stored."""
    keep_context: bool | int = False
    """Whether the context of a judgement is stored with the reply: true, or the most bytes of each; false: only its names."""
    telemetry: bool = False
    """Whether spans and events are sent to OpenTelemetry."""
    logs: Logs = Logs()
    """The access log and the verdict log."""
    endpoints: tuple[str, ...] = ENDPOINTS
    """The other endpoints that are passed through, by name; by default those whose replies contain no model text."""
    choose: bool = True
    """Whether `x-trueup-contract` may name any contract if no route binds one."""
    studio: StudioSection | None = None
    """The studio at `/studio`; None: it is off."""

    def route(self, name: str) -> Route | None:
        """The route with this `name`, or None."""
        return next((route for route in self.routes if route.name == name), None)

    def route_for(self, model: str) -> Route | None:
        """The first route whose patterns match `model`, ignoring case, or None."""
        for route in self.routes:
            if any(fits(model, pattern) for pattern in route.models):
                return route
        return None

    def bound_to(self, model: str) -> Route | None:
        """The route that binds `model`: the one for it, or else one with a contract that requests it from an upstream; None
        if there is none.
        """
        found = self.route_for(model)
        if found is not None:
            return found
        asked = _plain(model)
        bound = (route for route in self.routes if route.binds)
        return next((route for route in bound if asked in map(_plain, route.asks_for)), None)

    @property
    def binds(self) -> bool:
        """Whether a route binds a contract."""
        return any(route.binds for route in self.routes)

    @property
    def meters(self) -> bool:
        """Whether replies of any route are charged."""
        return self.quota or any(route.quota for route in self.routes)

    def charges(self, route: Route | None) -> bool:
        """Whether replies on this `route` are charged."""
        return self.quota if route is None or route.quota is None else route.quota

    def upstream_for(self, model: str, protocol: Speaks, route: Route | None) -> Upstream | None:
        """The upstream to ask: as the `route` says, as the name of `model` says, or the first that uses the `protocol`."""
        if route is not None and route.upstream:
            return self.upstreams[route.upstream]
        for pattern, name in self.models.items():
            if fits(model, pattern) and self.upstreams[name].protocol == protocol:
                return self.upstreams[name]
        return next((each for each in self.upstreams.values() if each.protocol == protocol), None)

    def secrets(self) -> tuple[str, ...]:
        """Every key, so that keys are never stored."""
        keys = [secret for each in self.upstreams.values() for secret in each.secrets]
        studio = () if self.studio is None else (self.studio.secret, *(each.key for each in self.studio.keys))
        return tuple(dict.fromkeys(filter(None, [*keys, *(each.key for each in self.clients), *studio])))


def fits(model: str, pattern: str) -> bool:
    """Whether a pattern matches this model. Some upstreams ignore case, so patterns do too.

    >>> fits("GPT-4o ", "gpt-*"), fits("o3", "gpt-*")
    (True, False)
    """
    return fnmatchcase(_plain(model), _plain(pattern))


def _plain(name: str) -> str:
    return name.strip().casefold()


def of(upstream: str, contract: Any = None, **options: Any) -> Config:
    """A small configuration: the URL of one `upstream`, and one `contract` for everything; None: replies are passed through.

    `options` are the fields of `Config`, and `protocol`, `policy`, `hold` and `key` of the upstream and its route.

    >>> of("http://127.0.0.1:9999").upstreams["main"].url
    'http://127.0.0.1:9999'
    """
    protocol = options.pop("protocol", "openai")
    policy = options.pop("policy", POLICY)
    hold = options.pop("hold", "auto")
    key = options.pop("key", "")
    main = Upstream("main", upstream.rstrip("/").removesuffix("/v1"), protocol, key=key, private=True)
    also = Upstream("also", main.url, "anthropic" if protocol == "openai" else "openai", key=key, private=True)
    routes = () if contract is None else (Route("all", ("*",), contract, policy=policy, hold=hold),)
    return Config(upstreams={"main": main, "also": also}, routes=routes, **options)
