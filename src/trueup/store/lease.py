"""A lease: a name and a time enter; whoever asks first gets it, and everyone else is refused until the time is over.

For work that one of several processes, on one machine or many, does for all of them. The clock is the store's. A process that dies
with a lease gives it back by the passing of its time.
"""

from trueup.store.errors import MICROS
from trueup.store.session import Session
from trueup.store.writer import Writer

_PUT = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


def take_lease(writer: Writer, name: str, seconds: float) -> bool:
    """Whether this caller may do the work called `name` now; nobody else may for some `seconds`."""
    row = f"lease {name}"

    def work(session: Session) -> bool:
        now = session.now()
        found = session.run("SELECT value FROM meta WHERE name = ?", (row,))
        if found and now < int(found[0][0]) <= now + int(seconds * MICROS):  # one from the future is a clock set wrong
            return False
        session.run(_PUT, (row, str(now + int(seconds * MICROS))))
        return True

    return writer.submit(work, row).result()
