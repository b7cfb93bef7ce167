"""The cost of a sift, stage by stage, from parameters that `bench/scale.py` measured; nothing is measured here.

The parameters and a setup (how many machines, of what kind) enter; the seconds of each stage leave, and the stage that limits the run.
"""

import json
import math
from pathlib import Path
from typing import NamedTuple

STORED = Path(__file__).parent / "data" / "scale.json"
RANGE = 4 << 20  # bytes of a range
AT_ONCE = 250_000  # ids that are compared at once; if there are more, they are split into buckets first
BUCKET_ROW = 32  # bytes of an id in a bucket
BUCKETS = 1024  # at most this many at a time; a bucket that is still too large is split again
SHARES = (0.9, 0.06, 0.04)  # clean, repaired, failed: the broken file of bench/sift.py


class Parameters(NamedTuple):
    """The cost of one of each thing, in CPU seconds of one core unless it says otherwise."""

    line: float  # bytes of a reply with its unit
    part: float  # bytes of its record
    row: float  # bytes of its id, as it is stored
    read: float  # a byte read
    clean: float  # a clean reply judged, with its record
    fixed: float  # a reply that was repaired
    failed: float  # a reply that failed
    write: float  # a byte of a part written and synced
    id: float  # an id compared
    split: float  # an id put into its bucket and read from there
    merge_byte: float  # a byte put in its place
    merge_range: float  # a range put in its place
    driver: float  # a range handed out and noted
    start: float  # the command, its contract and its folder
    ray_start: float  # a cluster on one machine, with its workers
    ray_range: float  # a range sent through Ray, all of Ray's processes together
    courier: float  # the share of Ray's driver, one range after the other
    ray_byte: float  # a byte of a part that comes back through the object store and is written by Ray's driver
    disk: float  # bytes a second that the disk takes, synced
    driver_mb: float  # memory of the command
    worker_mb: float  # memory of a worker


class Setup(NamedTuple):
    """Machines: `disk` and `network` in bytes a second, of one machine; with `shared`, workers see the folder of the run."""

    name: str
    nodes: int
    cores: int
    disk: float
    network: float = math.inf
    shared: bool = True

    @property
    def ray(self) -> bool:
        return self.nodes > 1


SETUPS = (
    Setup("a laptop, 8 cores", 1, 8, 1e9),
    Setup("a server, 64 cores", 1, 64, 3e9),
    Setup("10 nodes of 16 cores", 10, 16, 1e9, 1.2e9, shared=False),
    Setup("100 nodes of 16 cores", 100, 16, 1e9, 1.2e9, shared=False),
)
AMOUNTS = (10**6, 10**7, 10**8, 10**9)
DAY = 86_400.0


class Cost(NamedTuple):
    """Seconds of wall time: judging and its parallel work, then comparing, then merging."""

    start: float
    judging: float
    driver: float
    disk: float
    network: float
    comparing: float
    merging: float
    cpu: float

    @property
    def first(self) -> float:
        """The first step: as long as the slowest of what happens at the same time."""
        return max(self.judging, self.driver, self.disk, self.network)

    @property
    def wall(self) -> float:
        return self.start + self.first + self.comparing + self.merging

    @property
    def holds_up(self) -> str:
        """The stage that takes the most of it."""
        stages = {"start": self.start, "comparing": self.comparing, "merging": self.merging}
        stages |= {name: at for name, at in self._asdict().items() if at == self.first and name in _BESIDE}
        return max(stages, key=lambda name: stages[name])


_BESIDE = ("judging", "driver", "disk", "network")


def read_parameters(path: Path = STORED) -> Parameters:
    return Parameters(**json.loads(path.read_text("utf-8"))["parameters"])


def ranges_of(p: Parameters, replies: int) -> int:
    return max(1, math.ceil(replies * p.line / RANGE))


def splits_of(replies: int) -> int:
    """How many times an id is put into a bucket before it is compared."""
    splits = 0
    while replies > AT_ONCE:
        replies //= min(BUCKETS, 1 << (2 * replies // AT_ONCE).bit_length())
        splits += 1
    return splits


def judge_seconds(p: Parameters, shares: tuple[float, float, float] = SHARES) -> float:
    """CPU of a worker for one reply: read, judged, its record written."""
    clean, fixed, failed = shares
    return p.line * p.read + clean * p.clean + fixed * p.fixed + failed * p.failed + p.part * p.write


def predict(p: Parameters, replies: int, setup: Setup, shares: tuple[float, float, float] = SHARES) -> Cost:
    """The model: the cost of a sift of this many replies."""
    ranges = ranges_of(p, replies)
    out = replies * p.part
    sent = 0.0 if setup.shared or not setup.ray else out
    judge = replies * judge_seconds(p, shares)
    slots = min(ranges, setup.nodes * setup.cores)
    waves = math.ceil(ranges / slots) if ranges < 20 * slots else ranges / slots
    driver = ranges * (p.driver + (p.courier if setup.ray else 0.0)) + sent * p.ray_byte
    comparing = replies * (p.id + splits_of(replies) * p.split)
    merging = out * p.merge_byte + ranges * p.merge_range
    start = p.start + (p.ray_start if setup.ray else 0.0)
    return Cost(
        start=start,
        judging=judge / ranges * waves,
        driver=driver,
        disk=out / setup.disk,  # of the machine that the command runs on
        network=sent / setup.network,
        comparing=comparing,
        merging=max(merging, 2 * out / setup.disk),  # read and written again
        cpu=start + judge + driver + comparing + merging + (ranges * (p.ray_range - p.courier) if setup.ray else 0.0),
    )


def table(p: Parameters) -> str:
    """How long the replies of a day take, and what takes the most of that; the last column splits the day by the hour."""
    heads = [*(f"10{_power(amount)}" for amount in AMOUNTS), f"10{_power(AMOUNTS[-1])} in 24 sifts"]
    out = [f"| replies | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    for setup in SETUPS:
        costs = [predict(p, amount, setup) for amount in AMOUNTS]
        cells = [f"{_time(cost.wall)}, {cost.holds_up}" for cost in costs]
        hourly = predict(p, AMOUNTS[-1] // 24, setup)
        cells.append(f"{_time(24 * hourly.wall)}, {hourly.holds_up}")
        out.append(f"| {setup.name} | {' | '.join(cells)} |")
    return "\n".join(out)


def stages(p: Parameters, replies: int) -> str:
    """The seconds of each stage, for each setup."""
    names = ("start", "judging", "driver", "disk", "network", "comparing", "merging")
    out = [
        f"| 10{_power(replies)} replies, seconds | {' | '.join(names)} | wall |",
        "|---|" + "--:|" * (len(names) + 1),
    ]
    for setup in SETUPS:
        cost = predict(p, replies, setup)
        cells = [f"{getattr(cost, name):,.0f}" for name in names]
        out.append(f"| {setup.name} | {' | '.join(cells)} | {cost.wall:,.0f} |")
    return "\n".join(out)


def sizes(p: Parameters) -> str:
    """The memory and the output."""
    heads = [f"10{_power(amount)}" for amount in AMOUNTS]
    rows = {
        "input, GB": [amount * p.line / 1e9 for amount in AMOUNTS],
        "output, GB": [amount * p.part / 1e9 for amount in AMOUNTS],
        "ids on disk, GB": [amount * p.row / 1e9 for amount in AMOUNTS],
        "free disk that a run needs, GB": [
            amount * (p.part + p.row + (BUCKET_ROW if splits_of(amount) else 0)) / 1e9 for amount in AMOUNTS
        ],
        "ranges (part files, rows of the manifest)": [float(ranges_of(p, amount)) for amount in AMOUNTS],
        "times that an id is put into a bucket": [float(splits_of(amount)) for amount in AMOUNTS],
    }
    out = [f"| | {' | '.join(heads)} |", "|---|" + "--:|" * len(heads)]
    out += [f"| {name} | {' | '.join(_short(cell) for cell in cells)} |" for name, cells in rows.items()]
    return "\n".join(out)


def parameters(p: Parameters) -> str:
    """The parameters as a table, in units that people read."""
    rows = [
        ("a reply with its unit, as it comes", f"{p.line:,.0f} bytes"),
        ("its record, its id", f"{p.part:,.0f} bytes, {p.row:,.0f} bytes"),
        ("read", f"{p.read * 1e9:.2f} ns a byte"),
        ("judge a clean reply", f"{p.clean * 1e6:.1f} µs"),
        ("judge and repair a broken one", f"{p.fixed * 1e6:.1f} µs"),
        ("judge one that fails", f"{p.failed * 1e6:.1f} µs"),
        ("write a part, synced", f"{p.write * 1e9:.2f} ns a byte"),
        ("compare ids", f"{p.id * 1e6:.2f} µs an id"),
        ("put ids into buckets", f"{p.split * 1e6:.2f} µs an id"),
        ("merge", f"{p.merge_byte * 1e9:.2f} ns a byte, {p.merge_range * 1e3:.2f} ms a range"),
        ("the driver", f"{p.driver * 1e3:.2f} ms a range"),
        ("the start of the command", f"{p.start:.2f} s"),
        ("Ray: its start, with two workers", f"{p.ray_start:.1f} s"),
        ("Ray: a range, all its processes", f"{p.ray_range * 1e3:.1f} ms"),
        ("Ray: a range, its driver alone", f"{p.courier * 1e3:.1f} ms"),
        ("Ray: a byte through the object store", f"{p.ray_byte * 1e9:.2f} ns"),
        ("the disk here, synced", f"{p.disk / 1e6:,.0f} MB/s"),
        ("memory of the command, of a worker", f"{p.driver_mb:.0f} MB, {p.worker_mb:.0f} MB"),
    ]
    return "\n".join(
        ["| what | CPU time of one core, or size |", "|---|--:|", *(f"| {name} | {is_} |" for name, is_ in rows)]
    )


def _power(amount: int) -> str:
    return str(round(math.log10(amount))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    hours = f"{seconds / 3600:.1f} h"
    return hours if seconds < DAY else f"**{hours}**"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
