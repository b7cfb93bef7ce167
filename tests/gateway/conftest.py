"""A gateway between a scripted model server and a client, all of them real and on loopback."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from trueup import Contract
from trueup.ask.policy import Policy
from trueup.gateway.config import Config, of
from trueup.gateway.running import Running, running
from trueup.store.store import Store
from trueup.testing.server import ScriptedServer

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}
GOOD = '{"name": "Ada", "age": 36}'
QUICK = Policy(otherwise="failed", backoff=0.01, backoff_cap=0.02, deadline=120, timeout=60)
KEY = "sk-upstream-canary-0123456789"


class Desk:
    """One scripted upstream behind one gateway."""

    def __init__(self, upstream: ScriptedServer, gateway: Running) -> None:
        self.upstream = upstream
        self.gateway = gateway
        self.url = gateway.url
        # An unused TLS context takes longer to make than most tests to run.
        self.http = httpx.Client(base_url=gateway.url, timeout=60, verify=False)

    def chat(self, content: str = "Who?", headers: dict[str, str] | None = None, **more: Any) -> httpx.Response:
        body = {"model": "m", "messages": [{"role": "user", "content": content}], **more}
        return self.http.post("/v1/chat/completions", json=body, headers=headers)

    def message(self, content: str = "Who?", headers: dict[str, str] | None = None, **more: Any) -> httpx.Response:
        body = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": content}], **more}
        return self.http.post("/v1/messages", json=body, headers=headers)


Open = Callable[..., contextlib.AbstractContextManager[Desk]]


@pytest.fixture
def desk() -> Open:
    """`with desk(["a reply"], contract) as d:` puts a gateway before a scripted server."""

    @contextlib.contextmanager
    def opened(
        script: Any, contract: Any = None, *, then: Any = None, reject: Any = (), store: Store | None = None,
        config: Callable[[str], Config] | None = None, **options: Any,
    ) -> Iterator[Desk]:  # fmt: skip
        if isinstance(contract, dict):
            contract = Contract(contract, name="person")
        options.setdefault("policy", QUICK)
        with ScriptedServer(script, then=then, reject=reject) as upstream:
            made = config(upstream.url) if config is not None else of(upstream.url, contract, key=KEY, **options)
            with running(made, store) as gateway:
                found = Desk(upstream, gateway)
                try:
                    yield found
                finally:
                    found.http.close()

    return opened
