"""Progress for a waiting client: retries, repairs and steps down a ladder, as they happen.

Turns the events of an ask into comments of a stream, or into a header for other replies. Both contain only counts, times and
kinds of faults: no text of a request or a reply, and no name of a model.
"""

import json
from collections.abc import Sequence

from trueup.gateway.protocols.protocol import Body
from trueup.verdict import events
from trueup.verdict.events import Event

_MOST = 20  # events in a header
_TOLD = (events.Waiting, events.Repairing, events.Regenerating, events.SteppedDown, events.FellBack)


class RequestProgress:
    """The progress of one request; it listens to the events of its ask.

    >>> progress = RequestProgress()
    >>> progress(events.Repairing(attempt=2, limit=12, nth=1, most=2, reason="format"))
    >>> progress.comments()[:46], progress.comments()
    (b': trueup {"event":"repairing","attempt":2,"lim', b'')
    """

    __slots__ = ("_heard", "_told")

    def __init__(self) -> None:
        self._heard: list[Body] = []
        self._told = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, _TOLD):
            self._heard.append(told(event))

    def comments(self) -> bytes:
        """The new events as comments of a stream; clients that do not know them skip them."""
        fresh, self._told = self._heard[self._told :], len(self._heard)
        return b"".join(b": trueup " + _written(line) + b"\n\n" for line in fresh)

    def lost(self, places: Sequence[str]) -> bytes:
        """The places that were not sent on, as a comment of a stream; empty if there are none."""
        return b": trueup " + _written({"event": "dropped", "places": list(places)}) + b"\n\n" if places else b""

    def header(self) -> bytes:
        """The last events as the value of a header: a JSON list."""
        return _written(self._heard[-_MOST:]) if self._heard else b""


def told(event: events.Attempted) -> Body:
    """An event as a client sees it: its call, the reason, and the delay."""
    return {
        "event": event.event, "attempt": event.attempt, "limit": event.limit,
        "repair": isinstance(event, events.Repairing), "nth": getattr(event, "nth", 0), "most": getattr(event, "most", None),
        "delay": round(getattr(event, "delay", 0.0), 3), "reason": getattr(event, "reason", ""), "started": event.started,
    }  # fmt: skip


def _written(data: object) -> bytes:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=True).encode()
