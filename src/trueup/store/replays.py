"""Keep charged replies for a while, for a client that asks again with the same key because it did not get one.

A reply is stored in the commit that charges it; the same bytes are returned for the same tenant and key. `Retention.replays`
says for how long. A reply that redaction would change is not kept at all: a reply with holes is not the reply.
"""

from typing import NamedTuple

import orjson

from trueup.store.books import Place
from trueup.store.redaction import Redaction
from trueup.store.session import Session


class SentReply(NamedTuple):
    """A reply as it was sent."""

    headers: list[tuple[str, str]]
    """Its headers, including the content type."""
    body: bytes
    """Its body; of a stream, everything that was sent."""
    stream: bool = False
    """Whether it was sent in pieces."""


def keep(session: Session, place: Place, replay: SentReply, now: int) -> None:
    """Keep a reply beside the entry that charged it."""
    head = orjson.dumps([replay.stream, replay.headers]).decode()
    session.insert(
        "replays", [(*place, now, head, replay.body)],
        "ON CONFLICT (tenant, key) DO UPDATE SET at = excluded.at, head = excluded.head, body = excluded.body",
    )  # fmt: skip


def find(session: Session, place: Place, age: int | None) -> SentReply | None:
    """The kept reply, if there is one younger than `age`, in microseconds."""
    rows = session.run("SELECT head, body, at FROM replays WHERE tenant = ? AND key = ?", place)
    if not rows or (age is not None and rows[0][2] < session.now() - age):
        return None
    stream, headers = orjson.loads(rows[0][0])
    return SentReply([(name, value) for name, value in headers], bytes(rows[0][1]), stream)


def drop(session: Session, place: Place) -> None:
    """Forget a reply whose charge was refunded."""
    session.run("DELETE FROM replays WHERE tenant = ? AND key = ?", place)


def is_keepable(rules: Redaction, body: bytes, *, stream: bool) -> bool:
    """Whether the rules allow a reply to be kept unchanged."""
    if rules.bodies != "all":
        return False
    if not rules.suspects(body):
        return True
    if stream:
        return False  # what redaction removes may be spread over several events
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    return bool(rules.clean(data) == data)
