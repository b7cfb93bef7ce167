"""A run in small, event by event: ranges of unequal length, cores that take them, nodes that die and come back, one driver.

It includes everything that the model in `bench/scale_model.py` leaves out: queues, chance, the last range, failures. Nothing is measured; the same
seed gives the same run.
"""

import heapq
import random
from typing import NamedTuple

from scale_model import AT_ONCE, BUCKETS, SHARES, Parameters, Setup, judge_seconds, predict, ranges_of

SPREAD = 0.2  # of the length of a range, as a share of it
DETECT = 10.0  # seconds until the cluster knows that a node is gone
BACK = 120.0  # seconds until another node has taken its place


class Ran(NamedTuple):
    """The result of a simulated run: seconds, and how many ranges had to be judged again."""

    wall: float
    judging: float
    again: int
    deaths: int


class _Run:
    def __init__(self, p: Parameters, replies: int, setup: Setup, hours: float, seed: int) -> None:
        self._p, self._setup = p, setup
        self._dice = random.Random(seed)
        self._left = ranges_of(p, replies)
        self._mean = replies * judge_seconds(p, SHARES) / self._left
        self._sent = 0.0 if setup.shared or not setup.ray else replies * p.part / self._left
        out = replies * p.part / self._left
        # what the driver does for a range, and how long its disk and its network take for it: each one after the other
        self._driver = p.driver + (p.courier if setup.ray else 0.0) + self._sent * p.ray_byte
        self._busy = max(out / setup.disk, self._sent / setup.network)
        self._rate = setup.nodes / (hours * 3600) if hours else 0.0
        self._events: list[tuple[float, int, str, int, int]] = []
        self._count = self.again = self.deaths = 0
        self._free = [setup.cores] * setup.nodes
        self._age = [0] * setup.nodes  # which node it is that has this place

    def judge(self) -> float:
        """Until the last range is noted by the driver."""
        driver = disk = now = 0.0
        under_way = 0
        if self._rate:
            self._at(self._dice.expovariate(self._rate), "death", 0, 0)
        under_way += self._hand_out(now)
        while under_way or self._left:
            now, _, kind, node, age = heapq.heappop(self._events)
            if kind == "done" and age == self._age[node]:
                under_way -= 1
                self._free[node] += 1
                driver = max(driver, now) + self._driver
                disk = max(disk, now) + self._busy
            elif kind == "lost":
                self._left += age  # how many there were on it
                under_way -= age
                self.again += age
            elif kind == "back":
                self._free[node] = self._setup.cores
            elif kind == "death":
                self._die(now)
            under_way += self._hand_out(now)
        return max(now, driver, disk)

    def _die(self, now: float) -> None:
        node = self._dice.randrange(self._setup.nodes)
        lost = self._setup.cores - self._free[node] if self._free[node] >= 0 else 0
        if self._free[node] >= 0:
            self.deaths += 1
            self._age[node] += 1
            self._free[node] = -1  # nothing until it is back
            self._at(now + DETECT, "lost", node, lost)
            self._at(now + BACK, "back", node, 0)
        self._at(now + self._dice.expovariate(self._rate), "death", 0, 0)

    def _hand_out(self, now: float) -> int:
        given = 0
        for node, free in enumerate(self._free):
            while free > 0 and self._left:
                free -= 1
                self._left -= 1
                given += 1
                length = self._mean * max(0.1, self._dice.gauss(1.0, SPREAD))
                self._at(now + length, "done", node, self._age[node])
            self._free[node] = free
            if not self._left:
                break
        return given

    def _at(self, when: float, kind: str, node: int, age: int) -> None:
        self._count += 1
        heapq.heappush(self._events, (when, self._count, kind, node, age))


def simulate(p: Parameters, replies: int, setup: Setup, hours: float = 0.0, seed: int = 1) -> Ran:
    """A run of this many replies. A node dies after this many hours on average, never if it is 0."""
    run = _Run(p, replies, setup, hours, seed)
    judging = run.judge()
    cost = predict(p, replies, setup)
    return Ran(
        cost.start + judging + _comparing(p, replies, random.Random(seed)) + cost.merging,
        judging,
        run.again,
        run.deaths,
    )


def _comparing(p: Parameters, replies: int, dice: random.Random) -> float:
    """Bucket by bucket, of unequal sizes; one that is too large is split again."""
    if replies <= AT_ONCE:
        return replies * p.id
    buckets = min(BUCKETS, 1 << (2 * replies // AT_ONCE).bit_length())
    mean = replies / buckets
    sizes = [max(0, round(dice.gauss(mean, mean**0.5))) for _ in range(buckets)]
    return replies * p.split + sum(_comparing(p, size, dice) for size in sizes)
