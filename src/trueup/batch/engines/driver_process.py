"""The courier: the process that is connected to Ray. If Ray ends it, the command itself is not affected.

Ray ends its driver when the head node of the cluster is gone, and reports some errors only on standard error. The courier takes
ranges from the command, runs them as Ray tasks, puts the returned parts in place, and reports each of them.
"""

import queue
import threading
import time
from typing import Any, NamedTuple

from trueup.batch.engines.node_worker import Answer, RangeFailure, judge
from trueup.batch.engines.pipes import Channel, ProcessEnded
from trueup.batch.judging.work import RangeTask, write_part
from trueup.verdict.extras import install

_RETRIES = 3  # for a range whose node or worker is lost
_STORE = 256 << 20  # bytes of the object store of a cluster that is started here: parts do not go through it
_BUNDLE = 4  # ranges in one Ray task, at most: each task costs Ray some milliseconds
_TURN = 1.0  # seconds between two looks at whether the command is still there
_COUNT = 10.0  # seconds between two counts of the cluster's cores


class CourierStart(NamedTuple):
    """The first message to the courier; an empty address starts a cluster on this machine."""

    key: str
    parcel: bytes
    parts: str
    address: str
    workers: int


class ClusterCapacity(NamedTuple):
    """How many ranges the cluster can take at the same time; sent at the start and when it changes."""

    ranges: int


class SuspectRange(NamedTuple):
    """A range that Ray lost more often than nodes usually fail."""

    task: RangeTask


def main() -> None:
    """Run a courier. It ends with the command, and so does a cluster that it started."""
    channel = Channel()
    messages = channel.messages()
    start: CourierStart = next(messages)
    ray = _connected(channel, start)
    if ray is None:
        return
    tasks: queue.SimpleQueue[RangeTask | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(messages, tasks), daemon=True).start()
    try:
        _Round(ray, channel, start, tasks).run()
    finally:
        ray.shutdown()


def _read(messages: Any, tasks: "queue.SimpleQueue[RangeTask | None]") -> None:
    for task in messages:
        tasks.put(task)
    tasks.put(None)


def _connected(channel: Channel, start: CourierStart) -> Any:
    """Ray, started here or joined at an address; None if that failed, which is reported."""
    import ray

    options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    if start.address:
        options["address"] = start.address
    else:
        options |= {"address": "local", "include_dashboard": False, "num_cpus": start.workers or None}
        options |= {"object_store_memory": _STORE}
        _leave_out()
    try:
        ray.init(**options)
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        where = f" at {start.address}" if start.address else ""
        why = str(error)[:200].rstrip(". ")
        channel.send(RangeFailure(f"Ray cannot be reached{where}: {why}"))
        return None
    return ray


def _leave_out() -> None:
    """Do not start an autoscaler, a log monitor or a web server: one machine does not grow, and nothing reads them.

    `ray.init` has no option for that; `include_dashboard=False` still starts the server, only without its pages.
    """
    from ray._private.node import Node

    for name in ("start_monitor", "start_log_monitor", "start_api_server"):
        if hasattr(Node, name):
            setattr(Node, name, lambda _node, **_options: None)


class _Round:
    """The ranges of a run on their way to the cluster and back, several in one Ray task if there are enough of them."""

    def __init__(
        self, ray: Any, channel: Channel, start: CourierStart, tasks: "queue.SimpleQueue[RangeTask | None]"
    ) -> None:
        self._ray, self._channel, self._start, self._tasks = ray, channel, start, tasks
        self._judge = ray.remote(num_cpus=1, max_retries=_RETRIES)(judge)
        self._parcel = ray.put(start.parcel)
        self._here: list[RangeTask] = []
        self._waiting: dict[Any, list[RangeTask]] = {}
        self._over = False
        self._slots = 0
        self._counted = 0.0

    def run(self) -> None:
        """Run until the command has nothing more to send."""
        while not self._over:
            self._count()
            self._take()
            self._submit()
            if self._waiting and not self._over:
                ready, _ = self._ray.wait(list(self._waiting), num_returns=1, timeout=_TURN)
                for reference in ready:
                    for answer in self._answers(reference, self._waiting.pop(reference)):
                        self._channel.send(answer)

    def _count(self) -> None:
        """Report how many ranges the cluster can take; it may grow during the run."""
        now = time.monotonic()
        if self._slots and now - self._counted < _COUNT:
            return
        self._counted = now
        cores = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        asked = self._start.workers if self._start.address else 0
        slots = asked or 2 * cores  # twice the cores, so that a core need not wait for its next range
        if slots != self._slots:
            self._slots = slots
            self._channel.send(ClusterCapacity(slots * _BUNDLE))

    def _take(self) -> None:
        """Take the ranges that have arrived. Wait for one if there is nothing else to wait for."""
        while not self._over and (not (self._waiting or self._here) or not self._tasks.empty()):
            task = self._tasks.get()
            if task is None:
                self._over = True
            else:
                self._here.append(task)

    def _submit(self) -> None:
        """Divide the waiting ranges among the tasks that the cluster can still take."""
        while self._here and (free := self._slots - len(self._waiting)) > 0:
            size = min(_BUNDLE, -(-len(self._here) // free))
            bundle, self._here = self._here[:size], self._here[size:]
            self._waiting[self._judge.remote(self._start.key, self._parcel, bundle)] = bundle

    def _answers(self, reference: Any, tasks: list[RangeTask]) -> list[Any]:
        """The results of a task. Parts that are not in place yet are put there."""
        try:
            answers = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, ProcessEnded):  # its desk was ended from outside
                return [SuspectRange(task) for task in tasks]
            return [RangeFailure(f"judging range {tasks[0].piece.number} failed on the cluster: {_reason(error)}")]
        except self._ray.exceptions.RayError:
            return [SuspectRange(task) for task in tasks]
        return [self._placed(task, answer) for task, answer in zip(tasks, answers, strict=True)]

    def _placed(self, task: RangeTask, answer: Answer) -> Any:
        if not isinstance(answer, bytes):
            return answer
        try:
            return write_part(self._start.parts, task.piece.number, [answer])
        except OSError as error:
            return RangeFailure(str(error), error.errno or 0, str(error.filename or ""))


def _reason(error: Any) -> str:
    cause = error.cause
    if isinstance(cause, ImportError):
        return f"{cause}; on every node: {install('ray')}"
    return type(cause).__name__
