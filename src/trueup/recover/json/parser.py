"""The tolerant reader: JSON-like text from an opening bracket on, whatever its faults.

A text and the offset of an opener enter; a value, the offset after it and the records of the fixes leave.
It never recurses and never goes back further than the string it is in: time grows with length alone.
Clean stretches are taken by one compiled pattern per member; only what that can't take goes the slow way.
"""

from trueup.recover.json.frames import (
    MOST_CALLS,
    MOST_FAULTS,
    MOST_PLACES,
    Frame,
    Node,
    Outcome,
    Record,
    TooDeep,
    TooMany,
    parts_of,
    under,
)
from trueup.recover.json.lists import Lists

__all__ = [
    "MOST_CALLS", "MOST_FAULTS", "MOST_PLACES", "Frame", "Node", "Outcome", "Reader", "Record", "TooDeep", "TooMany",
    "parts_of", "under",
]  # fmt: skip


class Reader(Lists):
    """One reading of one stretch of text."""

    __slots__ = ()

    def read(self) -> Outcome:
        """Read one container; the text at the start must open one."""
        self.value(self.root, 0, None)
        return self.resume()

    def resume(self) -> Outcome:
        """Go on until everything that is open is closed, or the text ends."""
        frames = self.frames
        while frames:
            if self.pos >= self.end:
                break
            self.step(frames[-1])
            if len(self.records) > MOST_FAULTS:
                raise TooMany("faults", MOST_FAULTS)
        cut = bool(frames)
        if cut:
            self.close_all()
        return Outcome(self.root[0] if self.root else None, self.pos, self.records, cut)

    def step(self, frame: Frame) -> None:
        if frame.kind == "{" or frame.kind == "=":
            self.members(frame)
        else:
            self.items(frame)
