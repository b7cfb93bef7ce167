"""A real studio on loopback and a real browser, for every test of the page.

`served` starts one; `Desk.get` and the like speak to its API; `look` opens a page that must log nothing, contact no
other host, and pass axe.
"""

import asyncio
import contextlib
import os
import random
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import axe_playwright_python
import httpx
import pytest
import uvicorn

from tests.effort import SOAK
from tests.studio.driving import LONGEST, driven
from trueup.studio.app import Application
from trueup.studio.door.guard import WRITE_HEADER
from trueup.studio.door.sessions import digest_of
from trueup.studio.settings import Key, Role, StudioSettings

CHROMIUM = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
SECRETS: dict[Role, str] = {
    "reader": "secret-of-reader",
    "labeller": "secret-of-labeller",
    "editor": "secret-of-editor",
}
KEYS = tuple(Key(role, digest_of(secret), role) for role, secret in SECRETS.items())


# How many times slower a page is than the machine; the API also answers it late then. A test must wait for what it looks at.
SLOWER = float(os.environ.get("TRUEUP_SLOWER_PAGE", 4 if SOAK else 0))


def late(app: Any) -> Any:
    """An application whose API answers each request of a browser up to half a second late."""

    async def call(scope: Any, receive: Any, send: Any) -> None:
        if "/api/" in scope["path"] and any(name == b"sec-fetch-mode" for name, _ in scope["headers"]):
            await asyncio.sleep(random.uniform(0, 0.5))
        await app(scope, receive, send)

    return call


class Desk:
    """A running studio, and a client with one role."""

    def __init__(self, app: Application, url: str, role: Role) -> None:
        self.app = app
        self.url = url
        self.role = role
        self.client = httpx.Client(
            base_url=f"{url}/api", headers={"authorization": f"Bearer {SECRETS[role]}", WRITE_HEADER: "1"}, timeout=60
        )

    @property
    def first_url(self) -> str:
        """The first URL to open."""
        return self.address("/")

    def address(self, path: str) -> str:
        """The URL of a view, with a code for one visit."""
        path, hash_, fragment = path.partition("#")
        return f"{self.url}{path}{'&' if '?' in path else '?'}token={self.code}{hash_}{fragment}"

    @property
    def code(self) -> str:
        """A code that opens the studio once."""
        return self.app.code_for(next(key for key in self.app.settings.keys if key.name == self.role))

    def get(self, path: str, **given: Any) -> Any:
        return self._told(self.client.get(path, params=given))

    def post(self, path: str, body: Any = None) -> Any:
        return self._told(self.client.post(path, json=body or {}))

    def put(self, path: str, body: Any = None) -> Any:
        return self._told(self.client.put(path, json=body or {}))

    def lines(self, path: str, body: Any = None) -> Iterator[Any]:
        """The answers of a streaming endpoint."""
        import json

        with self.client.stream("POST", path, json=body or {}) as response:
            assert response.status_code == 200, response.read()
            for line in response.iter_lines():
                yield json.loads(line)

    @staticmethod
    def _told(response: httpx.Response) -> Any:
        assert response.status_code == 200, response.text
        return response.json()


@contextlib.contextmanager
def serving(app: Any, **options: Any) -> Iterator[str]:
    """An ASGI application on a port of loopback; its address."""
    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off", ws="none", **options)
    server = uvicorn.Server(config)
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)


@pytest.fixture
def served() -> Iterator[Callable[..., Desk]]:
    """Start studios: `served(folders=(tmp_path,), store="v.db")`; `role` is the key that the desk uses."""
    with contextlib.ExitStack() as stack:

        def start(role: Role = "editor", **settings: Any) -> Desk:
            app = Application(StudioSettings(**{"keys": KEYS, **settings}))
            stack.callback(app.close)
            desk = Desk(app, stack.enter_context(serving(late(app) if SLOWER else app)), role)
            stack.callback(desk.client.close)
            return desk

        yield start


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with driven(args=CHROMIUM) as launched:
        yield launched


# How long an answer may take before it says that it is not complete. A busy machine needs longer for a small store than a page would wait.
PATIENCE = (
    "api.verdicts._PATIENCE", "api.verdicts._QUEUE_PATIENCE", "contracts.codes._PATIENCE", "contracts.files._LOOKING", "contracts.files._PATIENCE",
    "contracts.precision._COUNTING", "contracts.precision._READING", "contracts.stored._PATIENCE", "runs.acting._PATIENCE", "runs.unit._SECONDS",
    "runs.units._SECONDS",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests compare complete answers, even on a busy machine. Tests of time limits set their own."""
    for name in PATIENCE:
        monkeypatch.setattr(f"trueup.studio.{name}", 60.0)


@pytest.fixture(autouse=True)
def _no_loop_is_left() -> Iterator[None]:
    """Using an object of the browser's thread in this one would leave a running loop, and later tests would fail: see
    `driving`.
    """
    yield
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()


@pytest.fixture
def look(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a page: `tab = look(desk, "/try")`. At the end its console must be empty, and no request may have gone to
    another host.

    `fails` lists parts of addresses whose requests are expected to fail: the browser logs these.
    """
    opened: list[tuple[Any, list[str], list[str], str]] = []

    def open_page(
        desk: Desk,
        path: str = "/",
        *,
        width: int = 1440,
        height: int = 900,
        dark: bool = False,
        fails: tuple[str, ...] = (),
    ) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        context.set_default_timeout(LONGEST)
        tab = context.new_page()
        if SLOWER:
            context.new_cdp_session(tab).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        said: list[str] = []
        asked: list[str] = []

        def heard(message: Any) -> None:
            where = str(message.location.get("url", ""))
            if not any(part in where for part in fails):
                said.append(f"{message.type}: {message.text} {where}")

        tab.on("console", heard)
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(desk.address(path))
        tab.wait_for_selector("main[data-ready]")
        opened.append((tab, said, asked, desk.url))
        return tab

    yield open_page
    for tab, said, asked, url in opened:
        tab.context.close()
        assert said == [], "the console must be silent"
        assert [one for one in asked if not one.startswith((url, "data:", "blob:"))] == []


def axe(tab: Any) -> list[str]:
    """The findings of axe on a page: one line per rule and element."""
    tab.evaluate(AXE)
    found = tab.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
