"""Work: one block of cases is judged under both contracts and becomes a tally; the same in this process, in a worker and on a cluster.

A case that hung or ended its worker before is condemned by its number in the block: it is counted with its reason and not judged again.
"""

from collections.abc import Iterator, Mapping
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
    """A block to be judged, and the cases in it that are not to be: their number, and a code that says why."""

    piece: BlockRef
    block: Block
    condemned: Mapping[int, str] = {}


class Specs(NamedTuple):
    """How the two contracts are made; together they travel as one contract of a sift does."""

    new: ContractSpec
    old: ContractSpec | None = None

    @property
    def travels(self) -> bool:
        return self.new.travels and (self.old is None or self.old.travels)

    def portable(self) -> "Specs":
        return Specs(self.new.portable(), None if self.old is None else self.old.portable())

    def open(self) -> Pair:
        return Pair(self.new.open(), None if self.old is None else self.old.open())


class BacktestJob(NamedTuple):
    """What all blocks share; with `lines`, each flip is written as a line. `examples` of each direction are kept."""

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
    """Judge the cases of a block; the number of each stands in `beat` while it is judged."""
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
    """The life of a worker."""

    def opened() -> Any:
        pair = job.spec.open()
        return lambda task: judge_block(job, pair, task, beat)

    live(opened, connection, megabytes, closing, at_start)


def on_pool(job: BacktestJob, tasks: Iterator[Task], workers: int, guard: UnitLimits) -> Iterator[BlockTally]:
    """Judge blocks on processes of this machine; tallies come in any order."""
    pool = WorkerPool(job, guard, work=judge_blocks)
    try:
        yield from pool.run(tasks, workers)
    finally:
        pool.close()


def on_ray(
    job: BacktestJob, tasks: Iterator[Task], workers: int, guard: UnitLimits, address: str
) -> Iterator[BlockTally]:
    """Judge blocks as tasks of Ray; workers read the sources themselves."""
    from trueup.batch.engines.packing import pack  # only where a cluster is asked for
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
    """What every node of a cluster gets once."""

    version: str
    job: BacktestJob
    guard: UnitLimits
    luggage: tuple[Any, Any]
    """The modules of the two contracts."""

    def desk(self) -> "BlockJudge":
        """What answers tasks on a node."""
        from trueup.batch.engines.packing import unpack

        new, old = self.job.spec
        specs = Specs(unpack(new, self.luggage[0]), None if old is None else unpack(old, self.luggage[1]))
        return BlockJudge(self.job._replace(spec=specs), self.guard)


class BlockJudge:
    """Judges the blocks that come to a node, in a process of their own."""

    def __init__(self, job: BacktestJob, guard: UnitLimits) -> None:
        job.spec.open()  # says now if a contract cannot be used here
        self._pool = WorkerPool(job, guard, work=judge_blocks)

    def judged(self, task: Task) -> Any:
        """The tally of a block, or why there is none."""
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
