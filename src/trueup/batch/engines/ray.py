"""The Ray engine: the same ranges as tasks on a cluster, the same bytes; and a function for people who hold a Ray Dataset.

A task gives its part back and the driver puts it in place, so workers need to reach the input but not the output. A worker that
is killed is retried by Ray; a range that keeps failing, or takes too long, goes to the local engine, which finds the unit at fault.
"""

import contextlib
import io
import os
import socket
import time
from collections.abc import Iterable, Iterator
from typing import Any

from trueup.batch.contracts import Spec, spec_of
from trueup.batch.engines import local
from trueup.batch.sieve import Sieve
from trueup.batch.work import Done, EngineFailed, Guard, Job, Task, judge_range, write_part

_RETRIES = 2
_PATIENCE = 120.0  # seconds for the units of a range together, beside the longest that one may take
_REACH = 10.0  # seconds until a host has answered
_contracts: dict[str, Any] = {}


def run(job: Job, tasks: Iterable[Task], address: str, workers: int, guard: Guard) -> Iterator[Done]:
    """Judge ranges as Ray tasks; parts come in any order."""
    ray = _connected(address, workers)
    started = ray.remote(num_cpus=1, max_retries=_RETRIES)(_judge)
    shared = ray.put(job._replace(spec=job.spec.portable()))
    most = 2 * (workers or max(1, int(ray.cluster_resources().get("CPU", 1))))
    waiting: dict[Any, tuple[Task, float]] = {}
    left = iter(tasks)
    task: Task | None = next(left, None)
    limit = guard.seconds + _PATIENCE
    while task is not None or waiting:
        while task is not None and len(waiting) < most:
            waiting[started.remote(shared, task)] = (task, time.monotonic())
            task = next(left, None)
        ready, _ = ray.wait(list(waiting), num_returns=1, timeout=1.0)
        for reference in ready:
            yield from _taken(ray, job, reference, waiting.pop(reference)[0], guard)
        late = [reference for reference, (_, since) in waiting.items() if time.monotonic() - since > limit]
        for reference in late:
            slow, _ = waiting.pop(reference)
            ray.cancel(reference, force=True)
            yield from local.run(job, [slow], 1, guard)


def _taken(ray: Any, job: Job, reference: Any, task: Task, guard: Guard) -> Iterator[Done]:
    """The part of a finished task, put in place; what failed on the cluster is tried here, unit by unit."""
    try:
        part = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise EngineFailed(
            f"judging range {task.piece.number} failed on the cluster: {type(error.cause).__name__}"
        ) from None
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError, ray.exceptions.NodeDiedError):
        yield from local.run(job, [task], 1, guard)
        return
    yield write_part(job.parts, task.piece.number, part)


def _judge(job: Job, task: Task) -> tuple[bytes, ...]:
    """One task: a worker compiles the contract once."""
    return tuple(judge_range(job, _contract(job.spec), task, [0]))


def _contract(spec: Spec) -> Any:
    found = _contracts.get(spec.digest)
    if found is None:
        found = _contracts[spec.digest] = spec.open()
    return found


def _connected(address: str, workers: int) -> Any:
    """Ray, started here or joined at an address."""
    try:
        import ray
    except ImportError:
        raise EngineFailed("--engine ray needs a package: pip install 'trueup[ray]'") from None
    if ray.is_initialized():
        return ray
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
    if address:
        _reach(address)
        options["address"] = address
    else:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options |= {"include_dashboard": False, "num_cpus": workers or None}
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # it greets
            ray.init(**options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        where = f" at {address}" if address else ""
        raise EngineFailed(f"Ray cannot be reached{where}: {str(error)[:200]}") from None
    return ray


def _reach(address: str) -> None:
    """Refuse a host and port where nobody listens: Ray would try for minutes. Of what else is wrong with an address Ray tells itself."""
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _REACH).close()
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise EngineFailed(f"Ray cannot be reached at {address}: {reason}") from None


class Sift:
    """For `Dataset.map_batches`: a batch of units enters, the same units with their verdicts leave.

    Columns `unit_id` and `raw_response` are read, `input` where there is one; `valid` and `record` (JSON) are added. Use it with
    `ds.map_batches(Sift, fn_constructor_args=("contract.yaml",), batch_format="pyarrow", concurrency=2)`.

    `contract` is the path of a contract file, `module:name`, or a contract; None: `options` make one, which are those of `Contract`.
    """

    def __init__(self, contract: Any = None, **options: Any) -> None:
        self._spec = spec_of(contract, options=options or None)
        self._contract = _contract(self._spec)

    def __call__(self, batch: Any) -> Any:
        """Judge a batch: a pyarrow table, or columns by name."""
        table = hasattr(batch, "column_names")
        names = batch.column_names if table else list(batch)
        columns = {name: batch.column(name).to_pylist() if table else list(batch[name]) for name in names}
        valid, records = self._judged(columns)
        if table:
            import pyarrow as pa  # type: ignore[import-untyped]

            batch = batch.select([name for name in names if name not in {"valid", "record"}])  # of an earlier time
            return batch.append_column("valid", pa.array(valid, pa.bool_())).append_column(
                "record", pa.array(records, pa.string())
            )
        return {**batch, "valid": valid, "record": records}

    def _judged(self, columns: dict[str, list[Any]]) -> tuple[list[bool], list[str]]:
        valid: list[bool] = []
        records: list[str] = []
        if "raw_response" not in columns:
            raise ValueError(
                f"a batch has the column raw_response; this one has {', '.join(map(str, columns)) or 'none'}"
            )
        replies = [
            raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else raw for raw in columns["raw_response"]
        ]
        count = len(replies)
        given = columns.get("input") or [None] * count
        ids = columns.get("unit_id") or [None] * count
        from trueup.batch.records import line_of

        for row in zip(ids, given, replies, strict=True):
            sieve = Sieve(self._contract, "dataset", max_line=1 << 62)
            sieve.sift(line_of(dict(zip(("unit_id", "input", "raw_response"), row, strict=True))), 0, len(valid))
            line = sieve.take()
            valid.append(bool(line))
            records.append((line or sieve.failed[0]).decode().rstrip("\n"))
        return valid, records
