"""Serves a configuration in one process or several until a signal stops it; requests in progress are finished.

One flag selects uvicorn or granian. Both get the same application, the same limits and a deadline for request heads.
"""

import contextlib
import gc
import importlib
import logging
import os
import secrets
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueup.contract.files.faults import ContractError
from trueup.gateway.config import Config
from trueup.gateway.serving.foreman import Foreman
from trueup.gateway.serving.reloading import Read, file_reader, watch_files
from trueup.gateway.settings import load_config
from trueup.watch.lines import visible

if TYPE_CHECKING:
    from trueup.gateway.gateway import Gateway
    from trueup.gateway.pages.studio import Offer, StudioApp

log = logging.getLogger("trueup.gateway")

CONFIG_VARIABLE = "TRUEUP_GATEWAY_CONFIG"
_PAUSE = 1.0  # seconds before replacing a worker that ended unexpectedly
Listening = Callable[[str], object]
FOLDER_VARIABLE = "TRUEUP_GATEWAY_FOLDER"  # where workers find each other's numbers
STUDIO_VARIABLE = "TRUEUP_GATEWAY_STUDIO"  # `module:function` that makes the application at /studio
SECRET_VARIABLE = "TRUEUP_GATEWAY_SECRET"  # what all workers know and nobody else does
WATCHES_VARIABLE = "TRUEUP_GATEWAY_WATCHES"  # whether changes of the files are applied without a signal


def _options(config: Config) -> dict[str, Any]:
    """The options of uvicorn, for any number of workers."""
    from trueup.gateway.serving.deadline import Connection

    Connection.seconds = config.limits.head_seconds
    return {
        "host": config.host, "port": config.port, "http": Connection, "ws": "none",
        "lifespan": "on", "log_level": "warning", "access_log": False, "server_header": False, "date_header": False,
        "proxy_headers": False, "timeout_keep_alive": 60,
        "timeout_graceful_shutdown": int(config.limits.stop_seconds) + 5,
    }  # fmt: skip


def uvicorn_server(app: "Gateway", config: Config) -> Any:
    """A uvicorn server for an application, not started yet."""
    import uvicorn

    return uvicorn.Server(uvicorn.Config(app, **_options(config)))


def settle() -> None:
    """Freeze loaded objects for the garbage collector and let it run less often: requests leave little garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


def application() -> "Gateway":
    """A worker's application: it reads the configuration that the environment names."""
    path = os.environ[CONFIG_VARIABLE]
    folder = os.environ.get(FOLDER_VARIABLE, "")
    sys.setswitchinterval(0.001)  # as in `serve`
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # the server now handles it
    log_to_stderr()
    try:
        config = load_config(path)
    except ContractError as error:  # the file has changed since the parent read it
        raise SystemExit(str(error)) from None
    gateway = _made(config, file_reader(path), Path(folder) if folder else None)
    gateway.quiet = bool(folder)
    return gateway


def _made(config: Config, read: Read, folder: Path | None = None) -> "Gateway":
    """The application of one process, which reloads from `read`."""
    from trueup.gateway.gateway import Gateway
    from trueup.gateway.serving.deadline import Connection

    tracing = None
    if config.telemetry:
        from trueup.gateway.watching.exporting import Exporting

        tracing = Exporting()
    gateway = Gateway(config, tracing=tracing, folder=folder)
    gateway.source = read
    gateway.watches = bool(os.environ.get(WATCHES_VARIABLE))
    gateway.secret = os.environ.get(SECRET_VARIABLE, "")
    gateway.studio.offer = _offer if os.environ.get(STUDIO_VARIABLE) else None
    Connection.ending = gateway.studio.stop
    gateway.followers.append(_options)  # this process enforces the deadline for heads
    _options(config)
    settle()
    return gateway


def _offer(gateway: "Gateway") -> "StudioApp":
    """The application at `/studio`, as named by the process that started the gateway."""
    module, _, name = os.environ[STUDIO_VARIABLE].partition(":")
    offer: Offer = getattr(importlib.import_module(module), name)
    return offer(gateway)


class _OneLine(logging.Formatter):
    """One message is one line, whatever its names contain; only a traceback has more."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        return visible(super().formatMessage(record))


def log_to_stderr() -> None:
    """Write the gateway's reports to stderr, one line for each event; an application that has configured logging keeps its
    own.
    """
    logger = logging.getLogger("trueup")
    if logger.handlers or logging.getLogger().handlers:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False


class NotReady(Exception):
    """The gateway cannot start here; the message says why and what to do."""


def check_place(config: Config) -> None:
    """Report what would keep every worker from starting, such as an address in use or a file that cannot be opened."""
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
            raise NotReady(
                f"cannot listen on {where}: {error.strerror or error}; give another address with --listen"
            ) from None
    if config.telemetry:
        from trueup.gateway.watching.exporting import check_packages

        try:
            check_packages()
        except ModuleNotFoundError as error:
            raise NotReady(str(error)) from None
    for path in (config.logs.access, config.logs.verdicts):
        if path not in ("", "-"):
            try:
                with Path(path).open("ab"):
                    pass
            except OSError as error:
                raise NotReady(f"{path}: the log cannot be written ({error.strerror}); give another path") from None
    if config.store:
        try:
            open_store(config.store).close()
        except StoreError as error:
            raise NotReady(str(error)) from None


def serve(
    config: Config, path: str, *, listening: Listening, changed: Callable[[Config], Config] = lambda config: config,
    watches: bool = False, studio: str = "",
) -> None:  # fmt: skip
    """Serve until a signal stops it; SIGHUP reads the file at `path` again.

    - `listening` is called once, with the address, when every worker serves requests.
    - `changed` applies the command line's options to a configuration that was read again.
    - `watches`: whether changes of the files are applied without a signal.
    - `studio`: `module:function` that takes the gateway and returns the application at `/studio`; empty: there is none.
    """
    os.environ[CONFIG_VARIABLE] = path
    os.environ[STUDIO_VARIABLE] = studio
    os.environ[SECRET_VARIABLE] = secrets.token_hex(32)
    os.environ[WATCHES_VARIABLE] = "1" if watches else ""
    sys.setswitchinterval(0.001)  # the store's writer must not delay the loop
    log_to_stderr()
    read = file_reader(path, changed)
    if config.server == "uvicorn" and config.workers == 1:
        server = _uvicorn_alone(_made(config, read), config, listening)
        if watches:
            watch_files(path, lambda: os.kill(os.getpid(), signal.SIGHUP), threading.Event())
        server.run()
        return
    try:
        shared = tempfile.TemporaryDirectory(prefix="trueup-gateway-")
    except OSError as error:
        raise NotReady(
            f"no folder for temporary files ({error.strerror}); set TMPDIR to one that can be written"
        ) from None
    with shared as folder:
        os.environ[FOLDER_VARIABLE] = folder
        foreman = Foreman(config, Path(folder), read, lambda: listening(_where(config.host, config.port)))
        run = (_granian if config.server == "granian" else _uvicorn_workers)(config, foreman)
        foreman.start()
        if watches:
            watch_files(path, foreman.want_reload, foreman.ended)
        try:
            run()
        finally:
            foreman.end()
    if not foreman.is_up and not foreman.stopped:
        raise NotReady("the gateway did not start; its log says why")


def _where(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _uvicorn_alone(app: "Gateway", config: Config, listening: Listening) -> Any:
    """A uvicorn server in this process, which reports when it listens."""
    import uvicorn

    class Alone(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets=sockets)
            if self.started:
                listening(_where(*self.servers[0].sockets[0].getsockname()[:2]))

    return Alone(uvicorn.Config(app, **_options(config)))


@contextlib.contextmanager
def _deaf_children() -> Iterator[None]:
    """Workers started here ignore Ctrl-C until their server can handle it: Python would print a traceback."""
    resource_tracker.ensure_running()  # its first start would let SIGINT through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _uvicorn_workers(config: Config, foreman: Foreman) -> Callable[[], None]:
    import uvicorn
    from uvicorn.supervisors import Multiprocess
    from uvicorn.supervisors.multiprocess import Process

    class Crew(Multiprocess):
        def init_processes(self) -> None:
            with _deaf_children():
                super().init_processes()

        def keep_subprocess_alive(self) -> None:
            with _deaf_children():
                if foreman.is_up:
                    self._replace_dead()
                else:
                    super().keep_subprocess_alive()

        def _replace_dead(self) -> None:
            """Replace each worker that has died. If one cannot start, it is retried while the others serve: its store may be
            down.
            """
            for place, worker in enumerate(self.processes):
                if self.should_exit.is_set() or worker.is_alive():
                    continue
                worker.kill()
                worker.process.join()
                code = worker.process.exitcode
                log.warning("worker %s has ended (exit code %s); another one is started", worker.pid, code)
                if code is not None and code >= 0:  # not killed: a fault that may last
                    self.should_exit.wait(_PAUSE)
                self.processes[place] = Process(self.config, self.sockets)
                self.processes[place].start()

        def handle_hup(self) -> None:
            foreman.want_reload()

        def handle_term(self) -> None:
            foreman.stopped = True
            super().handle_term()

        def handle_int(self) -> None:
            foreman.stopped = True
            super().handle_int()

    options = uvicorn.Config(
        "trueup.gateway.serve:application", factory=True, workers=config.workers, **_options(config)
    )
    return lambda: Crew(options, [options.bind_socket()]).run()


_TO_STDERR = {
    "formatter": "generic",
    "class": "logging.StreamHandler",
    "stream": "ext://sys.stderr",
}  # stdout is for logs


def _granian(config: Config, foreman: Foreman) -> Callable[[], None]:
    from granian import Granian
    from granian.constants import Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels

    from trueup.gateway.serving.deadline import MOST_AROUND

    class Crew(Granian):  # type: ignore[misc, valid-type]  # its class depends on the interpreter
        def signal_handler_reload(self, *_: Any, **__: Any) -> None:
            foreman.want_reload()

        def signal_handler_interrupt(self, *given: Any, **named: Any) -> None:
            foreman.stopped = True
            super().signal_handler_interrupt(*given, **named)

    crew = Crew(
        "trueup.gateway.serve:application", address=config.host, port=config.port, interface=Interfaces.ASGI,
        workers=config.workers, factory=True, websockets=False, log_access=False, log_level=LogLevels.warning, respawn_failed_workers=True,
        log_dictconfig={"handlers": dict.fromkeys(("console", "access"), _TO_STDERR)},
        workers_kill_timeout=int(config.limits.stop_seconds) + 5,
        http1_settings=HTTP1Settings(
            header_read_timeout=int(config.limits.head_seconds * 1000), max_buffer_size=MOST_AROUND
        ),
    )  # fmt: skip
    return crew.serve  # type: ignore[no-any-return]
