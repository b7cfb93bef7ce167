"""The Ray engine: judges the same ranges as tasks on a cluster, with the same bytes as result.

A separate process, the courier, is connected to Ray. On each node the local engine judges the ranges (see `node_worker`). Workers
must be able to read the input, but not the output. A range whose node dies is judged on another; one that Ray keeps losing is
judged here.
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
from trueup.batch.engines.driver_process import ClusterCapacity, CourierStart, SuspectRange
from trueup.batch.engines.node_worker import FirstMessage, RangeFailure
from trueup.batch.engines.packing import pack
from trueup.batch.engines.pipes import Helper, ProcessEnded
from trueup.batch.frames import Sift
from trueup.batch.judging.work import EngineFailed, JudgedRange, RangeTask, SiftJob, UnitLimits
from trueup.verdict.extras import install

__all__ = ["Sift", "run"]  # now in a separate room

_REACH = 10.0  # seconds to wait for a host
_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # 0: Ray's processes listen on the loopback address, on any system
_TOKEN = "RAY_AUTH_TOKEN"


def run(
    job: SiftJob, tasks: Iterable[RangeTask], address: str, workers: int, guard: UnitLimits
) -> Iterator[JudgedRange]:
    """Judge ranges as Ray tasks; parts come in any order. Without ranges no cluster is started."""
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
    """The results of tasks that a cluster ran. A `packed` parcel opens the desk on its nodes; a task that Ray keeps losing is
    done `here`.
    """
    if importlib.util.find_spec("ray") is None:
        raise EngineFailed(f"--engine ray needs a package: {install('ray')}")
    address = address or _known_address()
    _reach(address)
    with tempfile.TemporaryFile() as errors:
        courier = Helper("trueup.batch.engines.driver_process", errors=errors, environment=_environment(address))
        try:
            courier.send(CourierStart(hashlib.sha256(packed).hexdigest(), packed, parts, address, workers))
            yield from _Exchange(courier, here).run(tasks)
        except ProcessEnded:
            raise EngineFailed(_why(errors, address)) from None
        except _Failed as failure:
            said = failure.args[0]
            raise EngineFailed(_refused(errors, said) or said) from None
        finally:
            courier.close()


class _Failed(Exception):
    """A message of the courier other than a range."""


class _Exchange:
    """Sends ranges to the courier, no more than the cluster can take, and returns the answers."""

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
        if isinstance(answer, ClusterCapacity):
            self._most = answer.ranges
            return
        self._under_way -= 1
        if isinstance(answer, SuspectRange):
            yield from self._here(answer.task)
        elif not isinstance(answer, RangeFailure):
            yield answer
        elif answer.number:
            raise DiskFull(answer.number, answer.text, answer.path)
        else:
            raise _Failed(answer.text)


def _packed(job: SiftJob, guard: UnitLimits, proof: Path) -> bytes:
    spec, luggage = pack(job.spec, job.sources)
    return packed_parcel(FirstMessage(__version__, job._replace(spec=spec), guard, luggage, str(proof)))


def packed_parcel(parcel: Any) -> bytes:
    """A parcel as bytes, even if it has a contract from the user's script, which other processes cannot import as a module."""
    packed = pickle.dumps(parcel)
    return packed if b"__main__" not in packed else bytes(importlib.import_module("ray.cloudpickle").dumps(parcel))


def _known_address() -> str:
    """The cluster that this process has joined already, or the one that Ray's own variable names."""
    joined = sys.modules.get("ray")
    if joined is not None and joined.is_initialized():
        return str(joined.get_runtime_context().gcs_address)
    return os.environ.get("RAY_ADDRESS", "")


def _environment(address: str) -> dict[str, str]:
    """The environment of the courier. A cluster that it starts listens on loopback and requires a token that no other process has."""
    if address:
        return {_LOOPBACK: "0"} if _on_loopback_alone(address) else {}
    settings = {
        _LOOPBACK: "0",
        "RAY_AUTH_MODE": "token",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_enable_metrics_collection": "0",
        "RAY_task_events_report_interval_ms": "0",  # its dashboard is not used
        "RAY_memory_monitor_refresh_ms": "0",  # our workers have their own limit
    }
    settings = {name: os.environ.get(name, value) for name, value in settings.items()}
    if not (os.environ.get(_TOKEN) or os.environ.get("RAY_AUTH_TOKEN_PATH")):
        settings[_TOKEN] = secrets.token_hex(32)
    return settings


def _why(errors: Any, address: str) -> str:
    """The message for a courier that has ended."""
    where = f"the Ray cluster at {address}" if address else "the Ray cluster of this run"
    return _refused(errors) or f"the connection to {where} was lost: its head node has stopped or cannot be reached"


def _refused(errors: Any, said: str = "") -> str:
    """How to set the token that the cluster requires; empty if that is not the reason. Ray reports it only in its log."""
    errors.seek(0)
    text = said + errors.read().decode("utf-8", "replace")
    if "InvalidAuthToken" not in text and "Token authentication is enabled" not in text:
        return ""
    if os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
        why, what = "requires a token", "set RAY_AUTH_MODE=token, and the token"
    else:
        why, what = "rejects the token, or it is missing", "set the token"
    return f"the Ray cluster {why}; {what} in RAY_AUTH_TOKEN, in a file named by RAY_AUTH_TOKEN_PATH, or in ~/.ray/auth_token"


def _on_loopback_alone(address: str) -> bool:
    """Whether a cluster on this machine is only reachable by loopback. By default Ray uses the machine's own address."""
    host, _, port = address.rpartition(":")
    if host not in {"localhost", "127.0.0.1"} or not port.isdecimal():
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_route:
        try:
            any_route.connect(
                ("198.51.100.1", 9)
            )  # nothing is sent: the system returns the local address that it would use
            socket.create_connection((any_route.getsockname()[0], int(port)), _REACH).close()
        except OSError:
            return True
    return False


def _reach(address: str) -> None:
    """Refuse a host and port that nothing listens on: Ray would try for minutes. Ray itself reports all other faults of an address."""
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
