"""The courier: the process that is connected to Ray, so that nothing Ray does to its driver is done to the command.

Ray ends its driver when the head of the cluster is gone, and reports some errors only on standard error. The courier takes
ranges from the command, runs them as Ray tasks, puts the parts that come back in place, and reports each of them.
"""

import queue
import threading
import time
from typing import Any, NamedTuple

from trueup.batch.engines.node_worker import Answer, Failure, judge
from trueup.batch.engines.pipes import Channel, Ended
from trueup.batch.judging.work import Task, write_part
from trueup.verdict.extras import install

_RETRIES = 3  # of a range whose node or worker is lost
_STORE = 256 << 20  # bytes of the object store of a cluster that is started here: parts do not go through it
_BUNDLE = 4  # ranges in one Ray task, at most: each task costs Ray some milliseconds
_TURN = 1.0  # seconds between two looks at whether the command is still there
_COUNT = 10.0  # seconds between two counts of the cluster's cores


class Start(NamedTuple):
    """What the courier is told first; an empty address starts a cluster on this machine."""

    key: str
    parcel: bytes
    parts: str
    address: str
    workers: int


class Ready(NamedTuple):
    """How many ranges the cluster can take at once; said at the start and when it changes."""

    ranges: int


class Suspect(NamedTuple):
    """A range that Ray lost more often than nodes usually die."""

    task: Task


def main() -> None:
    """The life of a courier: it ends with the command, and a cluster that it started with it."""
    channel = Channel()
    messages = channel.messages()
    start: Start = next(messages)
    ray = _connected(channel, start)
    if ray is None:
        return
    tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(messages, tasks), daemon=True).start()
    try:
        _Round(ray, channel, start, tasks).run()
    finally:
        ray.shutdown()


def _read(messages: Any, tasks: "queue.SimpleQueue[Task | None]") -> None:
    for task in messages:
        tasks.put(task)
    tasks.put(None)


def _connected(channel: Channel, start: Start) -> Any:
    """Ray, started here or joined at an address; None where that failed, which is reported."""
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
        channel.send(Failure(f"Ray cannot be reached{where}: {why}"))
        return None
    return ray


def _leave_out() -> None:
    """Start no autoscaler, no reader of logs and no web server: one machine does not grow, and nobody reads them.

    `ray.init` has no option for that; `include_dashboard=False` starts the server all the same, only without its pages.
    """
    from ray._private.node import Node

    for name in ("start_monitor", "start_log_monitor", "start_api_server"):
        if hasattr(Node, name):
            setattr(Node, name, lambda _node, **_options: None)


class _Round:
    """The ranges of a run on their way to the cluster and back, several in one Ray task where there are enough of them."""

    def __init__(self, ray: Any, channel: Channel, start: Start, tasks: "queue.SimpleQueue[Task | None]") -> None:
        self._ray, self._channel, self._start, self._tasks = ray, channel, start, tasks
        self._judge = ray.remote(num_cpus=1, max_retries=_RETRIES)(judge)
        self._parcel = ray.put(start.parcel)
        self._here: list[Task] = []
        self._waiting: dict[Any, list[Task]] = {}
        self._over = False
        self._slots = 0
        self._counted = 0.0

    def run(self) -> None:
        """Until the command has nothing more to send."""
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
        """Report how much the cluster can take; it may grow while it works."""
        now = time.monotonic()
        if self._slots and now - self._counted < _COUNT:
            return
        self._counted = now
        cores = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        asked = self._start.workers if self._start.address else 0
        slots = asked or 2 * cores  # twice, so that a core need not wait for its next range
        if slots != self._slots:
            self._slots = slots
            self._channel.send(Ready(slots * _BUNDLE))

    def _take(self) -> None:
        """Take the ranges that have come; wait for one if there is nothing else to wait for."""
        while not self._over and (not (self._waiting or self._here) or not self._tasks.empty()):
            task = self._tasks.get()
            if task is None:
                self._over = True
            else:
                self._here.append(task)

    def _submit(self) -> None:
        """Share the ranges that are here out among the tasks that the cluster can still take."""
        while self._here and (free := self._slots - len(self._waiting)) > 0:
            size = min(_BUNDLE, -(-len(self._here) // free))
            bundle, self._here = self._here[:size], self._here[size:]
            self._waiting[self._judge.remote(self._start.key, self._parcel, bundle)] = bundle

    def _answers(self, reference: Any, tasks: list[Task]) -> list[Any]:
        """What came of ranges; parts that are not in place yet are put there."""
        try:
            answers = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, Ended):  # its desk was ended from outside
                return [Suspect(task) for task in tasks]
            return [Failure(f"judging range {tasks[0].piece.number} failed on the cluster: {_reason(error)}")]
        except self._ray.exceptions.RayError:
            return [Suspect(task) for task in tasks]
        return [self._placed(task, answer) for task, answer in zip(tasks, answers, strict=True)]

    def _placed(self, task: Task, answer: Answer) -> Any:
        if not isinstance(answer, bytes):
            return answer
        try:
            return write_part(self._start.parts, task.piece.number, [answer])
        except OSError as error:
            return Failure(str(error), error.errno or 0, str(error.filename or ""))


def _reason(error: Any) -> str:
    cause = error.cause
    if isinstance(cause, ImportError):
        return f"{cause}; on every node: {install('ray')}"
    return type(cause).__name__
