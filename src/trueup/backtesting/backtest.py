"""Backtest: takes two contracts and stored replies, and returns what flips, why, and what it would cost.

Blocks of the sources are judged in a random but repeatable order, so that the first results are a fair sample. No model
is asked and nothing is written. A reply that cannot be judged again is counted with the reason.
"""

import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from random import Random
from tempfile import SpooledTemporaryFile
from typing import Any, Literal, Self

from trueup.backtesting.needs import runs_own_code
from trueup.backtesting.result import Backtest
from trueup.backtesting.tally import EXAMPLES, FlipTally
from trueup.backtesting.work import BacktestJob, BlockRef, BlockTally, Specs, Task, judge_block, on_pool, on_ray
from trueup.batch.judging.contracts import spec_of
from trueup.batch.judging.work import UnitLimits
from trueup.material.blocks import Block, PythonValues, close_stores
from trueup.material.selection import Selection
from trueup.material.sources import EVERYTHING, Material, SourceLike, SourceName, blocks_of_stream, open_material
from trueup.store.store import Store

Engine = Literal["local", "ray"]
_ALONE = 0.4  # seconds for which this process judges alone, since starting processes costs more for small sources
_FEW = 2_000  # replies from Python that are judged here under any contract
_SEED = 19
_IN_MEMORY = 8 << 20  # bytes of flips that are kept in memory


def backtest(
    new: Any,
    replies: SourceLike | Sequence[SourceLike],
    *,
    against: Any = None,
    labels: Sequence[str | Path] = (),
    selection: Selection = EVERYTHING,
    margin: float = 0.01,
    sample: int | None = None,
    examples: int = EXAMPLES,
    workers: int | None = None,
    engine: Engine = "local",
    address: str = "",
    guard: UnitLimits = UnitLimits(),  # noqa: B008 - frozen
    on_progress: Callable[[Backtest], None] | None = None,
    on_flips: Callable[[list[bytes]], None] | None = None,
) -> Backtest:
    """Judge stored `replies` under a `new` contract and an old one, and return what flips.

    - `new`, `against`: a contract, its file, or `module:name`. Without `against` the recorded outcomes are the old ones.
    - `replies`: a store, its path or URL, the folder of a sift, a run directory or a file; or an iterable of replies,
      of pairs of a reply and its context, or of cases. A list of paths and stores is several sources.
    - `labels`: files of labels for replies that are not in a store; empty by default. Stores have their own labels.
    - `selection`: which replies to judge; all by default.
    - `margin`: refusal rates count as equivalent if they differ by no more than this.
    - `sample`: read about this many replies, a random sample of blocks. The limit of the selection works the same way.
      None: read all.
    - `examples`: how many flips of each direction to keep in the result; 60 by default, chosen at random.
    - `workers`: the number of processes; None: one per core, or only this process if it has other threads. `engine` is
      `local` or `ray`, at the `address` of a cluster.
    - `guard`: the time and memory that one reply may take.
    - `on_progress`: called with the result so far after each block, unless it is None. `on_flips`: called at the end
      with each flip as a line of JSON, in the order of the sources, unless it is None.

    >>> from trueup import Contract
    >>> old, new = Contract({"required": ["n"]}), Contract({"required": ["n"], "properties": {"n": {"maximum": 5}}})
    >>> found = backtest(new, ['{"n": 1}', '{"n": 9}'], against=old)
    >>> found.newly_refused, found.unchanged, found.groups["code"][0]["key"]
    (1, 1, 'V004')
    """
    if engine not in ("local", "ray"):
        raise ValueError(f"`engine` must be local or ray; got {engine!r}")
    if not 0 < margin < 1:
        raise ValueError(f"`margin` must be a share between 0 and 1, such as 0.01; got {margin!r}")
    specs = Specs(spec_of(new), None if against is None else spec_of(against))
    began = time.monotonic()
    with open_material(_sources(replies), selection, labels=labels) as material:
        job = BacktestJob(specs, selection, material.labels, on_flips is not None, examples)
        result = Backtest(*specs.titles, tuple(material.names), margin)
        result.tally = FlipTally(most=examples)
        run = _Run(job, material, result, began)
        counted = run.on_ray(workers or 0, guard, address) if engine == "ray" else run.locally(workers, guard)
        most = min((n for n in (sample, selection.limit) if n is not None), default=None)
        with _Kept(on_flips) as kept:
            for each in counted:
                result.take(each.tally)
                result.seconds = time.monotonic() - began
                kept.add(run.place(each.number), each.tally.flips)
                if on_progress is not None:
                    on_progress(result)
                if most is not None and result.total >= most:
                    break
            else:
                result.complete = True
            result.seconds = time.monotonic() - began
    return result


class _Kept:
    """The flips of the finished blocks, passed on at the end in the order of the sources, even if the backtest was
    stopped.
    """

    def __init__(self, hand_on: Callable[[list[bytes]], None] | None) -> None:
        self._hand_on = hand_on
        self._places: list[tuple[int, int, int]] = []
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed on exit

    def __enter__(self) -> Self:
        return self

    def add(self, number: int, flips: list[bytes] | None) -> None:
        """Keep the flips of a block with this place in the sources."""
        if flips:
            written = b"".join(flips)
            self._places.append((number, self._file.tell(), len(written)))
            self._file.write(written)

    def __exit__(self, *_: object) -> None:
        with self._file as file:
            for _number, at, size in sorted(self._places):
                file.seek(at)
                if self._hand_on is not None:
                    self._hand_on(file.read(size).splitlines(keepends=True))


class _Run:
    """The blocks of one backtest in progress."""

    def __init__(self, job: BacktestJob, material: Material, result: Backtest, began: float) -> None:
        self._job, self._began = job, began
        self._pair = job.spec.open()
        result.same = self._pair.same
        self._order = list(range(len(material.blocks)))
        Random(_SEED).shuffle(self._order)  # noqa: S311 - an order, not a secret
        blocks = [material.blocks[place] for place in self._order]
        result.blocks = len(blocks)
        given = not material.streams and all(isinstance(block, PythonValues) for block in blocks)
        self._few = given and sum(map(_size, blocks)) <= _FEW
        later = (block for stream in material.streams for block in blocks_of_stream(stream))
        self._tasks = (Task(BlockRef(number), block) for number, block in enumerate(chain(blocks, later)))
        self._beat = [0]

    def place(self, number: int) -> int:
        """The position in the sources of the block with a number."""
        return self._order[number] if number < len(self._order) else number

    def locally(self, workers: int | None, guard: UnitLimits) -> Iterator[BlockTally]:
        """Judge here first, then in processes on this machine.

        If `workers` is None and forking is not possible, everything is judged here, because a process that is started
        in another way runs the caller's script again.
        """
        own = runs_own_code(self._job.spec.new.open()) or (
            self._job.spec.old is not None and runs_own_code(self._job.spec.old.open())
        )
        if not own or self._few:
            for task in self._tasks:
                yield self._here(task)
                if not self._few and time.monotonic() - self._began > _ALONE:
                    break
            else:
                return
        close_stores()  # forking is safe only without other threads
        if workers is None and not (sys.platform == "linux" and threading.active_count() == 1):
            yield from map(self._here, self._tasks)
            return
        workers = workers or cores()
        here: list[Task] = []
        yield from on_pool(self._job, self._travelling(here), workers, guard)
        yield from map(self._here, here)

    def on_ray(self, workers: int, guard: UnitLimits, address: str) -> Iterator[BlockTally]:
        """Judge on a cluster."""
        here: list[Task] = []
        yield from on_ray(self._job, self._travelling(here), workers, guard, address)
        yield from map(self._here, here)

    def _here(self, task: Task) -> BlockTally:
        return judge_block(self._job, self._pair, task, self._beat)

    def _travelling(self, here: list[Task]) -> Iterator[Task]:
        """The tasks that can go to another process. Tasks with values that cannot be sent stay `here`."""
        for task in self._tasks:
            if isinstance(task.block, PythonValues) and not _travels(task.block):
                here.append(task)
            else:
                yield task


def _travels(block: Block) -> bool:
    try:
        pickle.dumps(block)
    except Exception:  # noqa: BLE001 - whatever an object of the user's raises
        return False
    return True


def _size(block: Block) -> int:
    return len(block.values) if isinstance(block, PythonValues) else 0


def _sources(replies: Any) -> list[SourceLike]:
    """The sources that the caller gave: one, several, or replies."""
    if isinstance(replies, str | Path | Store):
        return [replies]
    if (
        isinstance(replies, list | tuple)
        and replies
        and all(isinstance(each, Path | Store | SourceName) for each in replies)
    ):
        return list(replies)
    if not isinstance(replies, Iterable):
        raise TypeError(f"`replies` must be a source or an iterable of replies, not {type(replies).__name__}")
    return [replies]


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
