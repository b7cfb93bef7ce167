"""The desk: the process that judges the ranges that Ray sends to a node, with the local engine, beside Ray's worker.

A Ray task hands its range to the desk of its worker, so a unit that hangs, takes too much memory or ends its process fails alone,
as it does without Ray. A desk that can access the folder of the run puts the part in place; other desks return its bytes.
"""

import os
import pickle
import secrets
import shutil
import signal
import socket
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from trueup import __version__
from trueup.batch.disk.full_disk import is_full
from trueup.batch.engines.packing import Luggage, unpack
from trueup.batch.engines.pipes import Channel, Helper, ProcessEnded
from trueup.batch.judging.contracts import BadContract
from trueup.batch.judging.work import EngineFailed, JudgedRange, RangeTask, SiftJob, UnitLimits, part_path

_ROOM = 1 << 28  # bytes of free memory that are required to keep parts in memory until they are sent
_desks: dict[str, Helper] = {}


class FirstMessage(NamedTuple):
    """The first message to every desk of a run; `proof` is a file that only the run's folder of parts has."""

    version: str
    job: SiftJob
    guard: UnitLimits
    luggage: Luggage
    proof: str

    def desk(self) -> "_Desk":
        """Handles tasks on a node; each kind of parcel opens its own."""
        return _Desk(self)


class RangeFailure(NamedTuple):
    """Why a range could not be judged; `number` is the system's error number if the disk is full."""

    text: str
    number: int = 0
    path: str = ""


Answer = JudgedRange | bytes | RangeFailure


def judge(key: str, parcel: bytes, tasks: list[RangeTask]) -> list[Answer]:
    """One Ray task: hand ranges to the desk of this worker, which the first of them opens."""
    desk = _desks.get(key)
    if desk is None:
        desk = _desks[key] = Helper("trueup.batch.engines.node_worker")
        desk.send(parcel)
    try:
        return [desk.ask(task) for task in tasks]
    except ProcessEnded:
        del _desks[key]
        desk.close()
        raise


def main() -> None:
    """Run a desk. It ends with the worker that opened it."""
    from trueup.batch.engines.local import end_with_parent

    signal.signal(signal.SIGTERM, _leave)
    end_with_parent(signal.SIGTERM)
    channel = Channel()
    messages = channel.messages()
    opened = _opened(next(messages))
    for task in messages:
        channel.send(opened if isinstance(opened, RangeFailure) else opened.judged(task))


def _opened(parcel: bytes) -> Any:
    where = f"on the Ray node {socket.gethostname()}"
    try:
        read: Any = pickle.loads(parcel)  # noqa: S301 - from the command that started the run
        if read.version != __version__:
            return RangeFailure(
                f"{where}, trueup is version {__version__}, but here it is {read.version}; install the same version on all nodes"
            )
        return read.desk()
    except (BadContract, ImportError, AttributeError) as error:
        return RangeFailure(f"{where}, the contract cannot be used: {error}")


class _Desk:
    def __init__(self, parcel: FirstMessage) -> None:
        from trueup.batch.engines.local import WorkerPool

        spec = unpack(parcel.job.spec, parcel.luggage)
        spec = spec._replace(held=spec.open())
        self._in_place = Path(parcel.proof).is_file()
        self._parts = Path(parcel.job.parts if self._in_place else _room())
        self._pool = WorkerPool(parcel.job._replace(spec=spec, parts=str(self._parts)), parcel.guard, None)

    def judged(self, task: RangeTask) -> Answer:
        """The answer to a range: its part is in place, or its bytes, or the reason why there is no part."""
        try:
            return self._placed(task) if self._in_place else self._read(task)
        except EngineFailed as error:
            return RangeFailure(
                f"on the Ray node {socket.gethostname()}: {error} (workers read the files themselves: "
                "keep them on storage that every node can reach)"
            )
        except OSError as error:
            number = (error.errno or 0) if is_full(error) and self._in_place else 0
            return RangeFailure(f"on the Ray node {socket.gethostname()}: {error}", number, str(error.filename or ""))

    def _placed(self, task: RangeTask) -> JudgedRange:
        done: JudgedRange = next(self._pool.run(iter([task]), 1))
        return done

    def _read(self, task: RangeTask) -> bytes:
        """The bytes of a part. Its folder only exists as long as the part: Ray ends its processes without warning."""
        self._parts.mkdir(mode=0o700)
        try:
            self._placed(task)
            return part_path(self._parts, task.piece.number).read_bytes()
        finally:
            shutil.rmtree(self._parts, ignore_errors=True)


def _room() -> Path:
    """Where a part waits to be sent: in memory if there is enough, else in the folder for temporary files."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
    try:
        enough = shutil.disk_usage(memory).free >= _ROOM and os.access(memory, os.W_OK)
    except OSError:
        enough = False
    return (memory if enough else Path(tempfile.gettempdir())) / f"trueup-{secrets.token_hex(8)}"


def _leave(_: int, __: FrameType | None) -> NoReturn:
    raise SystemExit(0)
