"""The gateway's configuration as frozen values: upstreams, contracts, routes, clients, limits. `settings.py` reads a file.

Keys come from here or the environment and from nowhere else. Nothing in a request can name another upstream.
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

# Invalid text is withheld: a best reading is given only where a route says so. A long reply may take its two minutes.
# One request causes at most six calls: what a client's SDK repeats multiplies them.
DEFAULTS: dict[str, Any] = {
    "otherwise": "failed", "timeout": 120.0, "deadline": 180.0, "attempts": 6, "retries": 2, "eager": True, "waits": 2,
}  # fmt: skip
POLICY = Policy(**DEFAULTS)


ENDPOINTS = ("embeddings", "moderations", "count_tokens")  # those that are on by default


class TokenSource(msgspec.Struct, frozen=True):
    """Where a token that expires comes from: a command, a file, or the metadata server of the machine."""

    command: tuple[str, ...] = ()
    """The command that prints it, and its arguments; empty: none."""
    file: str = ""
    """The file that holds it; empty: none."""
    metadata: bool = False
    """Whether the metadata server of Google Cloud is asked."""
    seconds: float = 300.0
    """How long a token is used that does not say when it expires."""


class AwsKeys(msgspec.Struct, frozen=True):
    """The credentials of an AWS account or role."""

    access_key: str
    """The id of the key."""
    secret_key: str
    """The key itself."""
    session_token: str = ""
    """The token of a session, for credentials that expire; empty: they do not."""

    def __repr__(self) -> str:  # a key must not get into a log by way of a repr
        return "AwsKeys(…)"


class Access(msgspec.Struct, frozen=True):
    """How an upstream in a cloud is addressed, and how its requests are signed."""

    kind: Literal["azure", "bedrock", "vertex"]
    """The cloud."""
    key: str = ""
    """The key of Azure, or of Bedrock; empty: requests carry a token or a signature."""
    version: str = ""
    """The version of Azure's API, such as `2024-10-21`; empty: the newer paths, which need none."""
    region: str = ""
    """The region of Bedrock or Vertex; empty for Azure."""
    project: str = ""
    """The project of Vertex; empty for the others."""
    token: TokenSource | None = None
    """Where tokens of Azure and Vertex, or credentials of AWS, come from; None: a key is used."""
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
    """A provider, or a server that speaks like one."""

    name: str
    """The name by which routes and models choose it."""
    url: str
    """Its address, without `/v1/…`."""
    protocol: Speaks = "openai"
    """The protocol it speaks."""
    key: str = ""
    """The key that is sent to it; empty: none."""
    private: bool = False
    """Whether it may have a private or local address, as a name that leads there or written out."""
    headers: dict[str, str] = {}
    """Further headers of every request; none by default."""
    access: Access | None = None
    """How it is addressed and signed for, if it is in a cloud of Azure, AWS or Google; None: it takes a key."""
    responses: bool = True
    """Whether it has OpenAI's Responses API; if not, such requests are translated to chat completions."""
    tenant: str = ""
    """The only tenant that it is for, and whose files, batches and responses it keeps; `*`: all tenants, which then share them; empty: it is
    for all, and what it keeps is for nobody."""
    tls: Tls = Tls()
    """Whose certificates are trusted, and which one is shown; by default those of the system, and none."""

    @property
    def host(self) -> str:
        """The host in its address."""
        return urlsplit(self.url).hostname or ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Its secrets: the key, a password in the address, and long values of headers."""
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
        """Whether requests of this `tenant` may be sent to it."""
        return self.tenant in ("", "*", tenant)

    def keeps_for(self, tenant: str) -> bool:
        """Whether this `tenant` may reach what it keeps."""
        return bool(self.tenant) and self.tenant in ("*", tenant)

    def __repr__(self) -> str:  # a key must not get into a log by way of a repr
        return f"Upstream({self.name!r}, {masked(self.url)!r})"


class Spare(msgspec.Struct, frozen=True):
    """An upstream that a route falls back on when those before it cannot answer; it may speak another protocol."""

    upstream: str
    """The name of the upstream."""
    model: str = ""
    """The model that it is asked for; empty: the one that the client names."""
    share: float | None = None
    """Its part of the time for a request, above 0 and below 1; None: an equal part of what the other rungs leave."""


class Route(msgspec.Struct, frozen=True):
    """Which requests keep which contract, whom they are sent to, and how far asking may go."""

    name: str
    """The name of the route; requests to `/NAME/v1/…` take it."""
    models: tuple[str, ...] = ()
    """Patterns of the models it is for; empty: requests choose it by its path only."""
    contract: Contract | None = None
    """The contract that replies must keep; None: they are passed through."""
    upstream: str = ""
    """The name of the upstream; empty: the one for the model."""
    policy: Policy = POLICY
    """How often to ask again, and what stops it; by default a `Policy` that gives no invalid reply and takes at most 180 seconds."""
    hold: Way = "auto"
    """What of a stream is held back until it is judged."""
    chooses: bool = False
    """Whether a client may choose a contract by header."""
    state: str = ""
    """The state of requests that name none; empty: none."""
    unknown_state: Literal["fallback", "refuse"] = "fallback"
    """What a request gets whose state the contract does not know: its default `fallback` if it has one, or always an error."""
    request: Contract | None = None
    """The contract that the user's messages must keep before anything is asked; None: they are not judged."""
    quota: bool | None = None
    """Whether its replies are charged; None: as the file says for all."""
    model: str = ""
    """The model that the upstream is asked for, an alias for the client's; empty: the one that the client names."""
    share: float | None = None
    """The first upstream's part of the time for a request; None: an equal part of what the fallbacks leave."""
    fallback: tuple[Spare, ...] = ()
    """The upstreams to ask next, in this order, when one cannot answer; empty: none."""

    @property
    def binds(self) -> bool:
        """Whether it has a contract, for replies or for requests."""
        return self.contract is not None or self.request is not None

    @property
    def asks_for(self) -> tuple[str, ...]:
        """The names under which upstreams are asked for a model, where they are not the client's."""
        names = (self.model, *self.policy.models, *(spare.model for spare in self.fallback))
        return tuple(filter(None, names))


class Allowance(msgspec.Struct, frozen=True):
    """How much a client may use, as its entry in the file says."""

    unit: Literal["replies", "cost"]
    """What is counted: replies that were charged, or the cost of all attempts."""
    period: Literal["hour", "day", "month", "total"]
    """When it starts anew; `total`: never."""
    amount: int
    """How many replies, or how many millionths of your unit of money."""


class Caller(msgspec.Struct, frozen=True):
    """Who may use the gateway, by a key; whose requests these are."""

    key: str
    """The key that the client sends; empty if only its hash is known."""
    tenant: str
    """Whose requests these are."""
    user: str = ""
    """The user; empty: as the request says."""
    name: str = ""
    """What logs call the key; empty: nothing."""
    hash: str = ""
    """The SHA-256 of the key, as `sha256:…`; empty: that of `key`."""
    expires: float | None = None
    """When the key stops working, in seconds since 1970; None: never."""
    routes: tuple[str, ...] = ()
    """The names of the routes it may use; empty: all, and requests without one."""
    models: tuple[str, ...] = ()
    """Patterns of the models it may ask for; empty: all."""
    per_minute: int = 0
    """How many requests its client may send in a minute, in each worker; 0: any number."""
    limits: tuple[Allowance, ...] = ()
    """Limits of its quota; empty: those in the store only."""
    client: str = ""
    """The client's id, which all of its keys share, so that they count together; empty: none."""

    def __repr__(self) -> str:
        return f"Caller({self.tenant!r}, name={self.name!r})"


class Limits(msgspec.Struct, frozen=True):
    """How large requests and replies may be, how long they may take, and how many there may be."""

    request: int = 10_000_000
    """The largest request, in bytes."""
    reply: int = 20_000_000
    """The largest reply of an upstream, in bytes."""
    file: int = 512_000_000
    """The largest file that is passed through, up or down, in bytes."""
    context: int = 262_144
    """The largest context of a request, in bytes, without its history."""
    replay: int = 1_000_000
    """The largest reply that is kept for a client that asks again with its key, in bytes."""
    head_seconds: float = 10.0
    """Seconds for the head of a request."""
    body_seconds: float = 30.0
    """Seconds for the body of a request."""
    total_seconds: float = 180.0
    """Seconds for a request and its reply."""
    stop_seconds: float = 30.0
    """Seconds that running requests get when the gateway stops."""
    connections: int = 1000
    """How many connections to upstreams may be open."""
    at_once: int = 1000
    """How many requests are worked on at the same time."""
    retry_budget: float = 0.2
    """How many failed calls a worker may repeat, for each request that it gets, beside ten in half a minute; 0: only these ten."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not (value > 0 or (name in ("stop_seconds", "retry_budget") and value == 0)):
                raise ValueError(f"{name} is a number above 0; got {value!r}")


class Logs(msgspec.Struct, frozen=True):
    """Which logs are written, where to, and in which form."""

    access: str = ""
    """The file with a line for each request; `-`: stdout; empty: none."""
    verdicts: str = ""
    """The file with a line for each reply that was judged; `-`: stdout; empty: none."""
    format: Literal["json", "text"] = "json"
    """JSON, or `name=value` pairs."""


class StudioKey(msgspec.Struct, frozen=True):
    """Who may open the studio of a gateway; these keys open nothing else."""

    name: str
    """What the key is called; each has its own name."""
    role: Literal["reader", "labeller", "editor"]
    """What it may do: look, also label verdicts, or also change contracts and runs."""
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
    """The studio that the gateway offers at `/studio`."""

    keys: tuple[StudioKey, ...]
    """Who may open it."""
    folders: tuple[str, ...] = ()
    """Absolute folders with contracts and runs; no other file is shown or changed. Empty: none."""
    hosts: tuple[str, ...] = ()
    """The names that browsers may open it by, beside this machine's addresses; empty: only by these."""
    secret: str = ""
    """What its cookies are signed with, for gateways on several machines; empty: something random, until the gateway ends."""
    file: str = ""
    """The gateway's own file, which the studio never shows; empty: there is none."""

    def __repr__(self) -> str:
        return f"StudioSection({self.keys!r}, folders={self.folders!r})"


class Config(msgspec.Struct, frozen=True):
    """Everything the gateway must know."""

    upstreams: dict[str, Upstream]
    """The providers, by name."""
    routes: tuple[Route, ...] = ()
    """Which requests keep which contract, the first that fits; empty: none."""
    contracts: dict[str, Contract] = {}
    """Contracts that requests may choose, by name; empty: none."""
    models: dict[str, str] = {}
    """The upstream of a model, by a pattern of its name; empty: the first one that speaks the protocol."""
    clients: tuple[Caller, ...] = ()
    """The keys that are accepted, each with its tenant; empty: everyone has access."""
    store: str = ""
    """The path or URL of the store; empty: nothing is stored."""
    quota: bool = False
    """Whether replies are charged to the tenant's quota: valid ones, and where no contract applies each with a 2xx status."""
    progress: bool = False
    """Whether clients are told of retries and repairs as they happen, unless they want none of it."""
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
    """What is not stored of a reply."""
    retention: Retention = Retention()
    """For how many days things are stored."""
    keep_context: bool | int = False
    """Whether the context of a judgement is stored with the reply: true, or at most so many bytes of each; false: only its names."""
    telemetry: bool = False
    """Whether spans and events go to OpenTelemetry."""
    logs: Logs = Logs()
    """The access log and the verdict log."""
    endpoints: tuple[str, ...] = ENDPOINTS
    """The other endpoints that are passed through, by name; by default those whose replies hold no text of a model."""
    choose: bool = True
    """Whether `x-trueup-contract` may name any contract where no route binds one."""
    studio: StudioSection | None = None
    """The studio at `/studio`; None: it is off."""

    def route(self, name: str) -> Route | None:
        """The route with this `name`; None if there is none."""
        return next((route for route in self.routes if route.name == name), None)

    def route_for(self, model: str) -> Route | None:
        """The first route whose patterns fit `model`, whatever its case; None if there is none."""
        for route in self.routes:
            if any(fits(model, pattern) for pattern in route.models):
                return route
        return None

    def bound_to(self, model: str) -> Route | None:
        """The route that `model` is bound to: the one for it, or else one with a contract that asks an upstream for it; None if there is none."""
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
        """Whom to ask: what the `route` says, what the name of `model` says, the first that speaks the `protocol`."""
        if route is not None and route.upstream:
            return self.upstreams[route.upstream]
        for pattern, name in self.models.items():
            if fits(model, pattern) and self.upstreams[name].protocol == protocol:
                return self.upstreams[name]
        return next((each for each in self.upstreams.values() if each.protocol == protocol), None)

    def secrets(self) -> tuple[str, ...]:
        """Every key, so that none is ever stored."""
        keys = [secret for each in self.upstreams.values() for secret in each.secrets]
        studio = () if self.studio is None else (self.studio.secret, *(each.key for each in self.studio.keys))
        return tuple(dict.fromkeys(filter(None, [*keys, *(each.key for each in self.clients), *studio])))


def fits(model: str, pattern: str) -> bool:
    """Whether a pattern of models is for this one. Some upstreams ignore case, so patterns do too.

    >>> fits("GPT-4o ", "gpt-*"), fits("o3", "gpt-*")
    (True, False)
    """
    return fnmatchcase(_plain(model), _plain(pattern))


def _plain(name: str) -> str:
    return name.strip().casefold()


def of(upstream: str, contract: Any = None, **options: Any) -> Config:
    """A small configuration: the URL of one `upstream`, and one `contract` for everything; None: replies are passed through.

    `options` are those of `Config`, and `protocol`, `policy`, `hold` and `key` of the upstream and its route.

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
