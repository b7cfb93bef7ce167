"""Work: judge one block of cases under both contracts and return a tally, in this process, in a worker or on a cluster.

A case that hung or ended its worker is marked by its number in the block: it is counted with the reason and not judged
again.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from trueup import __version__
from trueup.backtesting.judging import CaseOutcome, Pair
from trueup.backtesting.tally import EXAMPLES, FlipTally
from trueup.batch.engines.local import WorkerPool, live
from trueup.batch.judging.contracts import ContractSpec
from trueup.batch.judging.work import IDLE, UnitLimits
from trueup.material.blocks import Block, Index, cases_in
from trueup.material.case import Reason
from trueup.material.selection import Selection

_REASONS: dict[str, Reason] = {"U006": "timed_out", "U008": "crashed"}


class BlockRef(NamedTuple):
    """The number of a block."""

    number: int


class Task(NamedTuple):
    """A block to judge, and the cases in it to skip: their numbers, and codes for the reasons."""

    piece: BlockRef
    block: Block
    condemned: Mapping[int, str] = {}


class Specs(NamedTuple):
    """How to make the two contracts. They are sent to workers together, as one contract of a sift is."""

    new: ContractSpec
    old: ContractSpec | None = None

    @property
    def travels(self) -> bool:
        return self.new.travels and (self.old is None or self.old.travels)

    def portable(self) -> "Specs":
        return Specs(self.new.portable(), None if self.old is None else self.old.portable())

    @property
    def titles(self) -> tuple[str, str | None]:
        """The names of both. Two files of the same name also have as many of their folders as tell them apart.

        >>> Specs(ContractSpec("new/a.yaml", name="a.yaml"), ContractSpec("old/a.yaml", name="a.yaml")).titles
        ('new/a.yaml', 'old/a.yaml')
        """
        if self.old is None:
            return self.new.name, None
        names = (self.new.name, self.old.name)
        if names[0] == names[1] and self.new.path and self.old.path:
            paths = (Path(self.new.path).parts, Path(self.old.path).parts)
            for steps in range(2, max(map(len, paths)) + 1):
                new, old = (Path(*parts[-steps:]).as_posix() for parts in paths)
                if new != old:
                    return new, old
        return names

    def open(self) -> Pair:
        return Pair(self.new.open(), None if self.old is None else self.old.open())


class BacktestJob(NamedTuple):
    """The settings for all blocks. With `lines`, each flip is written as a line. `examples` flips of each direction are
    kept.
    """

    spec: Specs
    selection: Selection
    labels: Index
    lines: bool = False
    examples: int = EXAMPLES


class BlockTally(NamedTuple):
    """The tally of a block."""

    number: int
    tally: FlipTally


class Beat(Protocol):
    def __setitem__(self, at: int, value: int) -> None: ...


def judge_block(job: BacktestJob, pair: Pair, task: Task, beat: Beat) -> BlockTally:
    """Judge the cases of a block. While a case is judged, `beat` contains its number."""
    tally = FlipTally(lines=job.lines, most=job.examples)
    condemned = task.condemned
    judge, note = pair.judge, tally.note
    for number, case in enumerate(cases_in(task.block, job.selection, job.labels)):
        beat[0] = number
        if condemned and number in condemned:
            note(case, CaseOutcome("unjudgeable", reason=_REASONS[condemned[number]]))
        else:
            note(case, judge(case))
        beat[0] = IDLE
    return BlockTally(task.piece.number, tally)


def judge_blocks(
    job: BacktestJob, connection: Any, beat: Any, megabytes: int, closing: list[Any], at_start: Any
) -> None:  # fmt: skip
    """The loop of a worker process."""

    def opened() -> Any:
        pair = job.spec.open()
        return lambda task: judge_block(job, pair, task, beat)

    live(opened, connection, megabytes, closing, at_start)


def on_pool(job: BacktestJob, tasks: Iterator[Task], workers: int, guard: UnitLimits) -> Iterator[BlockTally]:
    """Judge blocks in processes on this machine; tallies arrive in any order."""
    pool = WorkerPool(job, guard, work=judge_blocks)
    try:
        yield from pool.run(tasks, workers)
    finally:
        pool.close()


def on_ray(
    job: BacktestJob, tasks: Iterator[Task], workers: int, guard: UnitLimits, address: str
) -> Iterator[BlockTally]:
    """Judge blocks as Ray tasks; workers read the sources themselves."""
    from trueup.batch.engines.packing import pack  # only if a cluster is requested
    from trueup.batch.engines.ray import carry, packed_parcel

    first = next(tasks, None)
    if first is None:
        return

    def every() -> Iterator[Task]:
        assert first is not None
        yield first
        yield from tasks

    new, things = pack(job.spec.new, ())
    old, more = (None, things) if job.spec.old is None else pack(job.spec.old, ())
    parcel = packed_parcel(NodeInput(__version__, job._replace(spec=Specs(new, old)), guard, (things, more)))
    yield from carry(parcel, every(), address, workers, lambda task: on_pool(job, iter([task]), 1, guard))


class NodeInput(NamedTuple):
    """The data that every node of a cluster receives once."""

    version: str
    job: BacktestJob
    guard: UnitLimits
    luggage: tuple[Any, Any]
    """The modules of the two contracts."""

    def desk(self) -> "BlockJudge":
        """The object that handles tasks on a node."""
        from trueup.batch.engines.packing import unpack

        new, old = self.job.spec
        specs = Specs(unpack(new, self.luggage[0]), None if old is None else unpack(old, self.luggage[1]))
        return BlockJudge(self.job._replace(spec=specs), self.guard)


class BlockJudge:
    """Judges the blocks that a node receives, in a separate process."""

    def __init__(self, job: BacktestJob, guard: UnitLimits) -> None:
        job.spec.open()  # raises now if a contract cannot be used here
        self._pool = WorkerPool(job, guard, work=judge_blocks)

    def judged(self, task: Task) -> Any:
        """The tally of a block, or the reason why there is none."""
        import socket

        from trueup.batch.engines.node_worker import RangeFailure
        from trueup.batch.judging.work import EngineFailed

        try:
            return next(self._pool.run(iter([task]), 1))
        except (EngineFailed, OSError) as error:
            return RangeFailure(
                f"on the Ray node {socket.gethostname()}: {error} (workers read the sources themselves: "
                "keep them where every node can reach them)"
            )
