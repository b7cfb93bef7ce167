"""Subjects: the parts of a verdict that a label can be about. Turns a recorded finding into `rule:NAME` or `code:V005`.

A finding of a rule is named by its rule, others by their code. The whole verdict is the empty subject.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from trueup.material.case import RIGHT, WRONG, Case
from trueup.material.selection import rule_of
from trueup.verdict.catalogue import FINDINGS

WHOLE = ""
SKIPPED = "skipped"
COMMENT = "comment"
RANDOM, UNCERTAIN = "random", "uncertain"
DECISIONS = (RIGHT, WRONG)
_OF_RULES = frozenset("BDQ")  # families of findings that name a rule of the contract; others name a keyword of a schema
_FIELDS = frozenset({"B001", "B002", "B003", "B004"})  # these name a list of fields


class Decision(NamedTuple):
    """A person's judgement that a subject of a case is right or wrong."""

    subject: str
    author: str
    outcome: str


def subject_of(found: dict[str, Any]) -> str:
    """The subject of a recorded finding.

    >>> subject_of({"code": "V005", "path": "$.day"}), subject_of({"code": "B005", "data": {"rule": "positive"}})
    ('code:V005', 'rule:positive')
    """
    code = str(found.get("code") or "")
    rule = rule_of(found)
    if not rule or code in _FIELDS or (code in FINDINGS and code[0] not in _OF_RULES):
        return f"code:{code}"
    kind = FINDINGS.get(code)
    # Records of sifts name the code if there is no rule.
    return f"code:{code}" if kind is not None and rule == kind.name else f"rule:{rule}"


def is_error(found: dict[str, Any]) -> bool:
    """Whether a recorded finding refuses the reply. If the record does not say, the catalogue decides.

    >>> is_error({"code": "V005"}), is_error({"code": "V005", "level": "warning"})
    (True, False)
    """
    level = found.get("level")
    if level is None:
        kind = FINDINGS.get(str(found.get("code")))
        level = kind.level if kind is not None else "error"
    return bool(level == "error")


def subjects(case: Case, *, errors: bool = False) -> tuple[str, ...]:
    """The subjects of a case's findings, without duplicates; with `errors`, only of findings that refuse the reply."""
    recorded = case.recorded
    if recorded is None:
        return ()
    if not recorded.findings:
        return tuple(f"code:{code}" for code in recorded.codes if not errors or is_error({"code": code}))
    return tuple(dict.fromkeys(subject_of(found) for found in recorded.findings if not errors or is_error(found)))


def decisions(case: Case) -> Iterator[Decision]:
    """People's answers about a case, one for each subject and author.

    If only one subject refuses the reply, an answer about the whole verdict also counts for this subject, unless the
    author answered about the subject itself.
    """
    given = {(label.subject, label.author): label.outcome for label in case.labels if label.outcome in DECISIONS}
    refusing = subjects(case, errors=True) if case.recorded is not None and not case.recorded.ok else ()
    if len(refusing) == 1:
        for (subject, author), outcome in list(given.items()):
            if subject == WHOLE:
                given.setdefault((refusing[0], author), outcome)
    for (subject, author), outcome in given.items():
        yield Decision(subject, author, outcome)
