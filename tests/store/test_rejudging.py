"""Random histories on each database: every verdict can be read, and can be judged again or says why not; no feedback is lost alone."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.effort import SOAK
from tests.store.conftest import Hand
from trueup import Contract
from trueup.store.open import open_store
from trueup.store.redaction import Redaction
from trueup.store.retention import Retention
from trueup.store.store import Store

_SEEDS = range(100 if SOAK else 4)
_STEPS = 60
_DAY = 86_400
CONTRACTS = (
    Contract({"type": "object", "required": ["n"]}, rules=[{"name": "small", "expr": "n < limit"}], input=["limit"], name="data"),
    Contract(reply={"min_text": 5}, states={"A": {"forbid": [{"terms": ["bye"]}]}, "B": {}}, name="chat"),
)  # fmt: skip
TEXTS = ('{"n": 1}', '{"n": 7}', '{"m": 2}', "no", "Good bye, my friend", "card 4111111111111111", "Hello, email me")
REDACTIONS = (
    Redaction(), Redaction(), Redaction(patterns=(r"\b\d{16}\b",)), Redaction(fields=("email",)), Redaction(bodies="refused"),
    Redaction(bodies="none"),
)  # fmt: skip


class History:
    """A store, and what must be in it."""

    def __init__(self, store: Store, clock: Hand, seed: int) -> None:
        self.store, self.clock, self.chance = store, clock, random.Random(seed)
        self.verdicts: dict[str, dict[str, Any]] = {}
        self.feedback: dict[tuple[str, str, str, str], str] = {}

    def record(self) -> None:
        chance = self.chance
        contract = chance.choice(CONTRACTS)
        context: dict[str, Any] = {"state": chance.choice(["A", "B"]), "input": {"limit": chance.choice([3, 9])}}
        context |= chance.choice(
            [{}, {"history": []}, {"data": {"email": "Hello"}}, {"question": "x" * chance.choice([9, 900])}]
        )
        verdict = contract.check(chance.choice(TEXTS), context)
        tenant, user = chance.choice(["t", "u"]), chance.choice(["ada", "bob"])
        known = chance.random() < 0.8
        made = self.store.record_verdict(
            verdict, contract=contract, tenant=tenant, user=user, context=context if known else None, state=context["state"],
            wait=chance.random() < 0.3,
        )  # fmt: skip
        self.store.flush()
        self.verdicts[made] = {
            "verdict": verdict, "contract": contract, "context": context if known else None, "at": self.clock.micros,
            "tenant": tenant, "user": user,
        }  # fmt: skip

    def say(self) -> None:
        if self.verdicts:
            chance = self.chance
            made, person = chance.choice(list(self.verdicts)), chance.choice(["ada", "bob", "eve"])
            subject = chance.choice(["", "code:V002", "rule:small"])
            outcome = chance.choice(["right", "wrong", "refunded", "escalated"])
            if chance.random() < 0.5:
                self.store.record_feedback(made, outcome=outcome, user=person, subject=subject)
            else:
                label = {"verdict": made, "outcome": outcome, "author": person, "subject": subject}
                assert self.store.import_labels([label]) == (1, 0, 0)
            kind = "decision" if outcome in ("right", "wrong") else outcome
            self.feedback[made, subject, person, kind] = outcome

    def follow(self) -> None:
        keep = self.chance.choice([False, True, 400])
        self.store.follow(self.chance.choice(REDACTIONS), self.store.retention, keep_context=keep)

    def wait(self) -> None:
        self.clock.go(self.chance.choice([1, _DAY, 20 * _DAY]))

    def prune(self) -> None:
        days = self.chance.choice([5, 40])
        self.store.prune(Retention(replies=days, verdicts=3 * days, contexts=self.chance.choice([None, 2])))
        self._forget(lambda one: one["at"] < self.clock.micros - 3 * days * _DAY * 1_000_000)

    def erase(self) -> None:
        tenant, user = self.chance.choice(["t", "u"]), self.chance.choice(["ada", "bob", None])
        self.store.erase(tenant, user)
        if user is not None:
            theirs = {made for made, one in self.verdicts.items() if one["tenant"] == tenant}
            self.feedback = {
                key: word for key, word in self.feedback.items() if not (key[0] in theirs and key[2] == user)
            }
        self._forget(lambda one: one["tenant"] == tenant and user in (None, one["user"]))

    def _forget(self, is_gone: Callable[[dict[str, Any]], bool]) -> None:
        self.verdicts = {made: one for made, one in self.verdicts.items() if not is_gone(one)}
        self.feedback = {key: word for key, word in self.feedback.items() if key[0] in self.verdicts}

    def check(self) -> tuple[int, int]:
        """Everything that must hold at any time; how many can be judged again, and how many cannot."""
        judged = 0
        rows = list(self.store.rows())
        assert {row.id for row in rows} == set(self.verdicts)
        assert len(rows) == self.store.count() == len(list(self.store.verdicts()))
        for row in rows:
            one, stored = self.verdicts[row.id], row.stored()
            if stored.unjudgeable:
                assert stored.unjudgeable in ("reply_expired", "reply_not_kept", "reply_redacted")
                continue
            assert stored.verdict is not None
            assert stored.verdict.reply.text == one["verdict"].reply.text
            if stored.missing:
                assert set(stored.missing.values()) <= {"not_kept", "too_large", "redacted", "expired"}
                continue
            assert one["context"] is not None
            again = one["contract"].check(stored.verdict.reply, stored.context)
            assert (again.ok, again.findings, again.data) == (
                one["verdict"].ok,
                one["verdict"].findings,
                one["verdict"].data,
            )
            judged += 1
        labels = {
            (label["verdict"], label["subject"], label["author"], label["outcome"]) for label in self.store.labels()
        }
        assert labels == {(made, subject, person, word) for (made, subject, person, _), word in self.feedback.items()}
        facts = {row.id for row in self.store.rows(code="V002")}
        assert facts == {
            made for made, one in self.verdicts.items() if "V002" in {f.code for f in one["verdict"].findings}
        }
        texts = {known["fingerprint"] for known in self.store.contracts()}
        assert texts >= {one["contract"].fingerprint for one in self.verdicts.values()}
        return judged, len(rows) - judged


@pytest.mark.spec("B14")
def test_each_verdict_can_be_judged_again_or_says_why_not(database: Callable[[], str]) -> None:
    judged = lost = 0
    for seed in _SEEDS:
        clock = Hand()
        with open_store(database(), clock=clock) as store:
            history = History(store, clock, seed)
            steps = [history.record] * 8 + [history.say] * 4 + [history.follow, history.wait, history.wait]
            steps += [history.prune, history.erase]
            for _ in range(_STEPS):
                history.chance.choice(steps)()
                if history.chance.random() < 0.15:
                    again, not_again = history.check()
                    judged, lost = judged + again, lost + not_again
            history.check()
    assert judged
    assert lost
