"""The Ray engine: the same ranges as tasks on a cluster, the same bytes.

A courier, a process of its own, is connected to Ray; on each node the ranges are judged by the local engine (see `desk`). Workers
must reach the input, not the output. A range whose node dies is judged on another; one that Ray keeps losing is judged here.
"""

import hashlib
import importlib
import importlib.util
import os
import pickle
import secrets
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from trueup import __version__
from trueup.batch.disk.full_disk import DiskFull
from trueup.batch.engines import local
from trueup.batch.engines.driver_process import Ready, Start, Suspect
from trueup.batch.engines.node_worker import Failure, Parcel
from trueup.batch.engines.packing import pack
from trueup.batch.engines.pipes import Ended, Helper
from trueup.batch.frames import Sift
from trueup.batch.judging.work import Done, EngineFailed, Guard, Job, Task
from trueup.verdict.extras import install

__all__ = ["Sift", "run"]  # the first has its own room now

_REACH = 10.0  # seconds until a host has answered
_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # 0: Ray's processes take the address of loopback, on any system
_TOKEN = "RAY_AUTH_TOKEN"


def run(job: Job, tasks: Iterable[Task], address: str, workers: int, guard: Guard) -> Iterator[Done]:
    """Judge ranges as Ray tasks; parts come in any order. Without ranges no cluster is needed, and none is started."""
    left = iter(tasks)
    first = next(left, None)
    if first is None:
        return
    proof = Path(job.parts) / f"proof-{secrets.token_hex(16)}"
    proof.touch()
    try:
        packed = _packed(job, guard, proof)
        here = lambda task: local.run(job, [task], 1, guard)  # noqa: E731 - what to do with a range that Ray keeps losing
        yield from carry(packed, chain((first,), left), address, workers, here, job.parts)
    finally:
        proof.unlink(missing_ok=True)


def carry(
    packed: bytes,
    tasks: Iterator[Any],
    address: str,
    workers: int,
    here: Callable[[Any], Iterator[Any]],
    parts: str = "",
) -> Iterator[Any]:
    """What a cluster makes of tasks, by what a `packed` parcel opens on its nodes; a task that Ray keeps losing is done `here`."""
    if importlib.util.find_spec("ray") is None:
        raise EngineFailed(f"--engine ray needs a package: {install('ray')}")
    address = address or _known_address()
    _reach(address)
    with tempfile.TemporaryFile() as errors:
        courier = Helper("trueup.batch.engines.driver_process", errors=errors, environment=_environment(address))
        try:
            courier.send(Start(hashlib.sha256(packed).hexdigest(), packed, parts, address, workers))
            yield from _Exchange(courier, here).run(tasks)
        except Ended:
            raise EngineFailed(_why(errors, address)) from None
        except _Failed as failure:
            said = failure.args[0]
            raise EngineFailed(_refused(errors, said) or said) from None
        finally:
            courier.close()


class _Failed(Exception):
    """What the courier reports instead of a range."""


class _Exchange:
    """Ranges to the courier, no more than the cluster can take, and what comes back."""

    def __init__(self, courier: Helper, here: Callable[[Any], Iterator[Any]]) -> None:
        self._courier, self._here = courier, here
        self._under_way = self._most = 0

    def run(self, left: Iterator[Any]) -> Iterator[Any]:
        task = next(left, None)
        while task is not None or self._under_way:
            while task is not None and self._under_way < self._most:
                self._courier.send(task)
                self._under_way += 1
                task = next(left, None)
            yield from self._taken(self._courier.receive())

    def _taken(self, answer: Any) -> Iterator[Any]:
        if isinstance(answer, Ready):
            self._most = answer.ranges
            return
        self._under_way -= 1
        if isinstance(answer, Suspect):
            yield from self._here(answer.task)
        elif not isinstance(answer, Failure):
            yield answer
        elif answer.number:
            raise DiskFull(answer.number, answer.text, answer.path)
        else:
            raise _Failed(answer.text)


def _packed(job: Job, guard: Guard, proof: Path) -> bytes:
    spec, luggage = pack(job.spec, job.sources)
    return packed_parcel(Parcel(__version__, job._replace(spec=spec), guard, luggage, str(proof)))


def packed_parcel(parcel: Any) -> bytes:
    """A parcel as bytes, also if a contract in it is one of the user's script, which no other process has as a module."""
    packed = pickle.dumps(parcel)
    return packed if b"__main__" not in packed else bytes(importlib.import_module("ray.cloudpickle").dumps(parcel))


def _known_address() -> str:
    """The cluster that this process has joined already, or the one that Ray's own variable names."""
    joined = sys.modules.get("ray")
    if joined is not None and joined.is_initialized():
        return str(joined.get_runtime_context().gcs_address)
    return os.environ.get("RAY_ADDRESS", "")


def _environment(address: str) -> dict[str, str]:
    """The variables of the courier. A cluster that it starts listens on loopback and wants a token that nobody else has."""
    if address:
        return {_LOOPBACK: "0"} if _on_loopback_alone(address) else {}
    settings = {
        _LOOPBACK: "0",
        "RAY_AUTH_MODE": "token",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_enable_metrics_collection": "0",
        "RAY_task_events_report_interval_ms": "0",  # nobody looks at its dashboard
        "RAY_memory_monitor_refresh_ms": "0",  # a worker of ours has a limit of its own
    }
    settings = {name: os.environ.get(name, value) for name, value in settings.items()}
    if not (os.environ.get(_TOKEN) or os.environ.get("RAY_AUTH_TOKEN_PATH")):
        settings[_TOKEN] = secrets.token_hex(32)
    return settings


def _why(errors: Any, address: str) -> str:
    """Why the courier has ended."""
    where = f"the Ray cluster at {address}" if address else "the Ray cluster of this run"
    return _refused(errors) or f"the connection to {where} was lost: its head node has stopped or cannot be reached"


def _refused(errors: Any, said: str = "") -> str:
    """What to set if the cluster requires a token; empty if that is not the reason. Ray reports it in its log only."""
    errors.seek(0)
    text = said + errors.read().decode("utf-8", "replace")
    if "InvalidAuthToken" not in text and "Token authentication is enabled" not in text:
        return ""
    if os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
        why, what = "requires a token", "set RAY_AUTH_MODE=token, and the token"
    else:
        why, what = "does not accept the token, or there is none", "set the token"
    return f"the Ray cluster {why}; {what} in RAY_AUTH_TOKEN, in a file named by RAY_AUTH_TOKEN_PATH, or in ~/.ray/auth_token"


def _on_loopback_alone(address: str) -> bool:
    """Whether a cluster on this machine can be reached by loopback only. By default Ray takes the machine's own address."""
    host, _, port = address.rpartition(":")
    if host not in {"localhost", "127.0.0.1"} or not port.isdecimal():
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_route:
        try:
            any_route.connect(
                ("198.51.100.1", 9)
            )  # nothing is sent: the system says which address of its own it would use
            socket.create_connection((any_route.getsockname()[0], int(port)), _REACH).close()
        except OSError:
            return True
    return False


def _reach(address: str) -> None:
    """Refuse a host and port where nobody listens: Ray would try for minutes. Ray reports every other fault of an address itself."""
    if address.startswith("ray://") and importlib.util.find_spec("grpc") is None:
        direct = "give the address of the head node, such as 10.0.0.1:6379"
        raise EngineFailed(f'{address} is an address for Ray\'s client: {direct}, or pip install "ray[client]"')
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _REACH).close()
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise EngineFailed(f"Ray cannot be reached at {address}: {reason}") from None
