"""Store feedback on verdicts, by people and systems, and read it back as labels.

An author may say several things about a verdict, or about a code or a rule among its findings (`subject`). `right` and
`wrong` replace each other, other outcomes add up, and a statement without an outcome replaces the same author's previous one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from trueup.store.cells import pack, to_bytes, to_text, unpack
from trueup.store.errors import MICROS, UnknownVerdict
from trueup.store.redaction import Redaction
from trueup.store.session import Row, Session

Item = dict[str, Any]
DRAWN = ("", "random", "uncertain")
MOST = 200  # characters of an outcome
MOST_SUBJECT = 1000  # characters of a subject; a rule may be named by its expression
DECISIONS = ("right", "wrong")
_HELPFUL = {"helpful": True, "not_helpful": False}
_COMMENT = "comment"  # the outcome of a label that has only a note
_AT_ONCE = 500
_COLUMNS = "verdict, subject, person, kind, at, helpful, label, outcome, note, drawn"
_INSERT = (
    f"INSERT INTO feedback ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "  # noqa: S608 - our own words
    "ON CONFLICT (verdict, subject, person, kind) DO UPDATE SET at = excluded.at, helpful = excluded.helpful, "
    "label = excluded.label, outcome = excluded.outcome, note = excluded.note, drawn = excluded.drawn"
)
_OK = "(SELECT ok FROM verdicts WHERE verdicts.id = feedback.verdict)"
_DECIDED = {None: "", 0: "refused", 1: "accepted"}
_WHOSE = "verdict = ? AND subject = ? AND person = ? AND kind = ?"
_UNLESS_OLDER = " WHERE excluded.at >= feedback.at"


class Said(NamedTuple):
    """One statement of an author."""

    verdict: str
    helpful: bool | None = None
    label: str = ""
    note: str = ""
    user: str = ""
    subject: str = ""
    outcome: str = ""
    drawn: str = ""
    at: float = 0.0
    """When, in seconds since 1970; 0 means now."""
    decided: str = ""
    """The labelled decision, `accepted` or `refused`; empty means the decision of the verdict."""

    @property
    def kind(self) -> str:
        """The kind; a later statement of the same kind replaces this one."""
        if not self.outcome:
            return ""
        return "decision" if self.outcome in DECISIONS else f"label:{self.outcome}"

    def plain(self) -> "Said":
        """The statement in the one form that rows have: `helpful` and a mere comment are not outcomes."""
        if self.outcome in _HELPFUL:
            return self._replace(helpful=_HELPFUL[self.outcome], outcome="")
        return self._replace(outcome="") if self.outcome == _COMMENT else self

    def refuse_odd(self) -> None:
        """Raise ValueError for values that have no meaning."""
        kind, colon, name = self.subject.partition(":")
        if self.subject and not (kind in ("code", "rule") and colon and name):
            raise ValueError(f"subject must be empty, 'code:V005' or 'rule:NAME'; got {self.subject[:100]!r}")
        if self.drawn not in DRAWN:
            raise ValueError(f"drawn must be 'random', 'uncertain' or empty; got {self.drawn[:100]!r}")
        if self.decided not in _DECIDED.values():
            raise ValueError(f"decided must be 'accepted', 'refused' or empty; got {self.decided[:100]!r}")
        for what, text, most in (("subject", self.subject, MOST_SUBJECT), ("outcome", self.outcome, MOST)):
            if len(text) > most:
                raise ValueError(f"{what} has at most {most:,} characters; got {len(text):,}")


class Imported(NamedTuple):
    """How many labels were imported, and how many were skipped."""

    stored: int
    """Labels whose verdict is in the store, including labels that already existed."""
    unknown: int
    """Labels whose verdict is missing; skipped."""
    contradicted: int = 0
    """Labels about another decision than that of their verdict; also skipped."""


def insert(session: Session, said: Sequence[Said], redaction: Redaction) -> Imported:
    """Store labels, except those without a verdict in this store and those about another decision than that of their verdict."""
    now = session.now()
    ids = list(dict.fromkeys(pack(each.verdict) for each in said))
    marks = ", ".join("?" * len(ids))
    known = {row[0]: row[1] for row in session.run(f"SELECT id, ok FROM verdicts WHERE id IN ({marks})", ids)}  # noqa: S608 - our own marks
    there = [each for each in said if pack(each.verdict) in known]
    agreed = [each for each in there if each.decided in ("", _DECIDED[known[pack(each.verdict)]])]
    for each in agreed:
        session.run(_INSERT + (_UNLESS_OLDER if each.at else ""), _row(each, now, redaction))
    return Imported(len(agreed), len(said) - len(there), len(there) - len(agreed))


def insert_all(session: Session, said: Sequence[Said], redaction: Redaction, tenant: str | None = None) -> None:
    """Store labels on verdicts that must all exist, and belong to the `tenant` if one is given; otherwise store nothing."""
    _refuse_unknown(session, said, tenant)
    insert(session, said, redaction)


def _refuse_unknown(session: Session, said: Sequence[Said], tenant: str | None) -> None:
    owners: dict[str, str] = {}
    for some in _groups(dict.fromkeys(pack(each.verdict) for each in said)):
        marks = ", ".join("?" * len(some))
        owners.update(session.run(f"SELECT id, tenant FROM verdicts WHERE id IN ({marks})", some))  # noqa: S608 - our own marks
    for each in said:
        owner = owners.get(pack(each.verdict))
        if owner is None or (tenant is not None and unpack(owner) != tenant):
            raise UnknownVerdict(f"there is no verdict {each.verdict!r}; ids come from record_verdict", each.verdict)


def retract(session: Session, said: Sequence[Said], tenant: str | None = None) -> int:
    """Delete labels, each by its user and subject; return how many there were. Verdicts must exist, as in `insert_all`."""
    _refuse_unknown(session, said, tenant)
    done = 0
    for each in said:
        where = (pack(each.verdict), pack(each.subject), pack(each.user), pack(each.kind))
        done += len(session.run(f"SELECT 1 FROM feedback WHERE {_WHOSE}", where))  # noqa: S608 - our own words
        session.run(f"DELETE FROM feedback WHERE {_WHOSE}", where)  # noqa: S608
    return done


def _row(said: Said, now: int, redaction: Redaction) -> tuple[Any, ...]:
    return (
        pack(said.verdict), pack(said.subject), pack(said.user), pack(said.kind), round(said.at * MICROS) or now,
        None if said.helpful is None else int(said.helpful), pack(said.label), pack(said.outcome),
        to_bytes(str(redaction.clean(said.note))), said.drawn,
    )  # fmt: skip


def feedback_rows(session: Session, verdict: str = "") -> Iterator[Item]:
    """Feedback on one verdict or on all, in order of arrival."""
    where, values = ("WHERE verdict = ?", (pack(verdict),)) if verdict else ("", ())
    order = "ORDER BY at, verdict, subject, person, kind"
    for row in session.run(f"SELECT {_COLUMNS} FROM feedback {where} {order}", values):  # noqa: S608 - our own words
        yield _item(row)


def _item(row: Row) -> Item:
    about, subject, person, _, at, helpful, label, outcome, note, drawn = row
    return {
        "verdict": unpack(about), "user": unpack(person), "at": at / MICROS,
        "helpful": None if helpful is None else bool(helpful), "label": unpack(label), "note": to_text(note),
        "subject": unpack(subject), "outcome": unpack(outcome), "drawn": drawn,
    }  # fmt: skip


def label_rows(
    session: Session, *, verdicts: Sequence[str] | None = None, since: float = 0.0, until: float | None = None,
    **equal: str,
) -> Iterator[Item]:  # fmt: skip
    """Labels in order of arrival, with these properties; each says one thing."""
    terms, values = ["at >= ?"], [round(since * MICROS)]
    more: list[Any] = []
    if until is not None:
        terms.append("at < ?")
        more.append(round(until * MICROS))
    for name, value in equal.items():
        if name not in ("author", "subject", "drawn", "outcome"):
            raise ValueError(
                f"labels have no {name!r}; they have author, subject, drawn, outcome, verdicts, since, until"
            )
        if name != "outcome":
            terms.append(f"{'person' if name == 'author' else name} = ?")
            more.append(pack(value))
    outcome = equal.get("outcome")
    for some in [None] if verdicts is None else _groups(verdicts):
        here = terms if some is None else [*terms, f"verdict IN ({', '.join('?' * len(some))})"]
        sql = f"SELECT {_COLUMNS}, {_OK} FROM feedback WHERE {' AND '.join(here)} ORDER BY at, verdict, subject, person, kind"  # noqa: S608
        for row in session.stream(sql, [*values, *more, *(map(pack, some or ()))]):
            decided = {"decided": _DECIDED[row[-1]]}
            yield from (
                label | decided for label in _labels(_item(row[:-1])) if outcome is None or label["outcome"] == outcome
            )


def _labels(row: Item) -> Iterator[Item]:
    """A row of feedback as labels: its outcome, its label, and whether it was helpful."""
    words = [row["outcome"], row["label"]]
    if row["helpful"] is not None:
        words.append("helpful" if row["helpful"] else "not_helpful")
    words = list(dict.fromkeys(filter(None, words))) or [_COMMENT]
    for word in words:
        yield {
            "verdict": row["verdict"], "outcome": word, "author": row["user"], "at": row["at"],
            "subject": row["subject"], "note": row["note"], "drawn": row["drawn"],
        }  # fmt: skip


def said_in(label: Any, at: int) -> Said:
    """A label's content: a mapping as `Store.labels` or an export of feedback returns it, or an object with the same
    attributes.
    """
    given = (
        label
        if isinstance(label, Mapping)
        else {n: getattr(label, n, None) for n in ("verdict", "at", "helpful", *_FIELDS)}
    )
    verdict = given.get("verdict")
    if not isinstance(verdict, str) or not verdict:
        raise ValueError(f"label {at + 1}: 'verdict' must be the id of a verdict; got {str(label)[:100]!r}")
    texts = {name: given.get(name) or "" for name in _FIELDS}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise ValueError(f"label {at + 1}: {name!r} must be a string; got {str(value)[:100]!r}")  # noqa: TRY004 - as below
    when, helpful = given.get("at") or 0.0, given.get("helpful")
    if isinstance(when, bool) or not isinstance(when, int | float) or not 0 <= when < 1e11:
        raise ValueError(f"label {at + 1}: 'at' must be seconds since 1970; got {str(when)[:100]!r}")
    if helpful is not None and not isinstance(helpful, bool):
        raise ValueError(f"label {at + 1}: 'helpful' must be true, false or null; got {str(helpful)[:100]!r}")
    said = Said(
        verdict, helpful, texts["label"], texts["note"], texts["user"] or texts["author"], texts["subject"], texts["outcome"],
        texts["drawn"], float(when), texts["decided"],
    )  # fmt: skip
    try:
        said.refuse_odd()
    except ValueError as error:
        raise ValueError(f"label {at + 1}: {error}") from None
    return said.plain()


_FIELDS = ("label", "note", "user", "author", "subject", "outcome", "drawn", "decided")


def _groups(ids: Iterable[str]) -> Iterator[list[str]]:
    left = iter(ids)
    while some := list(islice(left, _AT_ONCE)):
        yield some


def said_in_groups(labels: Iterable[Any]) -> Iterator[list[Said]]:
    """The content of labels, in groups."""
    left = (said_in(label, at) for at, label in enumerate(labels))
    while some := list(islice(left, _AT_ONCE)):
        yield some
