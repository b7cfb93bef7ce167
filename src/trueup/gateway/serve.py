"""Serving: a configuration enters, a process (or several) listens until it is told to stop; requests under way are finished.

uvicorn and granian are behind one flag. Both get the same application, the same limits and a deadline for heads.
"""

import gc
import os
import sys
from typing import TYPE_CHECKING, Any

from trueup.gateway.config import Config

if TYPE_CHECKING:
    from trueup.gateway.gateway import Gateway

MISSING = "the gateway needs its packages: pip install 'trueup[gateway]'"
CONFIG_VARIABLE = "TRUEUP_GATEWAY_CONFIG"


def _options(config: Config) -> dict[str, Any]:
    """What uvicorn is told, however many workers there are."""
    from trueup.gateway.deadline import Connection

    Connection.seconds = config.limits.head_seconds
    return {
        "host": config.host, "port": config.port, "http": Connection, "ws": "none",
        "lifespan": "on", "log_level": "warning", "access_log": False, "server_header": False, "date_header": False,
        "proxy_headers": False, "timeout_keep_alive": 60,
        "timeout_graceful_shutdown": int(config.limits.stop_seconds) + 5,
    }  # fmt: skip


def uvicorn_server(app: "Gateway", config: Config) -> Any:
    """A server of uvicorn for an application, not yet started."""
    import uvicorn

    return uvicorn.Server(uvicorn.Config(app, **_options(config)))


def settle() -> None:
    """Take what is loaded out of the garbage collector's sight, and let it look less often: requests leave little behind."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


def application() -> "Gateway":
    """The application of a worker: it reads the configuration that the environment names."""
    from trueup.gateway.gateway import Gateway
    from trueup.gateway.settings import load_config

    sys.setswitchinterval(0.001)  # as in `serve`
    config = load_config(os.environ[CONFIG_VARIABLE])
    _options(config)  # the deadline of this process
    gateway = Gateway(config)
    settle()
    return gateway


class NotReady(Exception):
    """The gateway cannot start here; the message says why and what to do."""


def check_place(config: Config) -> None:
    """Say now what would keep every worker from starting: an address that is taken, a store that cannot be opened."""
    import socket

    from trueup.store.errors import StoreError
    from trueup.store.open import open_store

    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((config.host, config.port))
        except OSError as error:
            where = f"{config.host}:{config.port}"
            raise NotReady(f"cannot listen on {where}: {error.strerror or error}; give another with --listen") from None
    if config.store:
        try:
            open_store(config.store).close()
        except StoreError as error:
            raise NotReady(str(error)) from None


def serve(config: Config, path: str) -> None:
    """Serve until a signal says stop. With several workers each process reads the file at `path` by itself."""
    os.environ[CONFIG_VARIABLE] = path
    sys.setswitchinterval(0.001)  # the writer of the store must not keep the loop waiting
    if config.server == "granian":
        _granian(config)
        return
    if config.workers == 1:
        from trueup.gateway.gateway import Gateway

        server = uvicorn_server(Gateway(config), config)
        settle()
        server.run()
        return
    import uvicorn

    uvicorn.run("trueup.gateway.serve:application", factory=True, workers=config.workers, **_options(config))


def _granian(config: Config) -> None:
    from granian import Granian
    from granian.constants import Interfaces
    from granian.http import HTTP1Settings

    from trueup.gateway.deadline import MOST_AROUND

    Granian(
        "trueup.gateway.serve:application", address=config.host, port=config.port, interface=Interfaces.ASGI,
        workers=config.workers, factory=True, websockets=False, log_access=False,
        workers_kill_timeout=int(config.limits.stop_seconds) + 5,
        http1_settings=HTTP1Settings(
            header_read_timeout=int(config.limits.head_seconds * 1000), max_buffer_size=MOST_AROUND
        ),
    ).serve()  # fmt: skip
