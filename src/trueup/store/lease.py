"""A lease: the first process to ask for a name gets it, and all others are refused until its time is over.

For work that one of several processes, on one machine or many, does for all. It uses the store's clock. If a process dies
with a lease, the lease expires.
"""

from trueup.store.errors import MICROS
from trueup.store.session import Session
from trueup.store.writer import Writer

_PUT = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


def take_lease(writer: Writer, name: str, seconds: float) -> bool:
    """Whether this caller may now do the work called `name`; nobody else may for `seconds`."""
    row = f"lease {name}"

    def work(session: Session) -> bool:
        now = session.now()
        found = session.run("SELECT value FROM meta WHERE name = ?", (row,))
        # a later time than this means that a clock was set wrong
        if found and now < int(found[0][0]) <= now + int(seconds * MICROS):
            return False
        session.run(_PUT, (row, str(now + int(seconds * MICROS))))
        return True

    return writer.submit(work, row).result()
