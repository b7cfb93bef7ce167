"""A store of an earlier version is brought up to date on each database, and everything in it keeps its meaning."""

from collections.abc import Callable
from typing import Any

from trueup import Contract
from trueup.store.open import backend_of, open_store
from trueup.store.records import encode
from trueup.store.redaction import MARK
from trueup.store.schema import VERSIONS, migrate

CONTRACT = Contract({"type": "object", "required": ["age"]}, name="person")


def written_before(url: str) -> None:
    """Verdicts and feedback in the tables of the third version."""
    backend = backend_of(url)
    session = backend.connect(writing=True)
    migrate(backend, session, VERSIONS[:3])

    def verdict(name: str, codes: str, state: str = "", body: Any = None) -> None:
        row = (
            name,
            1_000_000,
            name,
            1,
            "acme",
            "ada",
            "m",
            "person",
            state,
            int(not codes),
            "accepted",
            codes[:4],
            codes,
        )
        session.run(f"INSERT INTO verdicts VALUES ({', '.join('?' * 19)})", (*row, 1, 0, 0, 0, 0, "f" * 16))
        if body is not None:
            session.run("INSERT INTO replies VALUES (?, ?, ?)", (name, 1_000_000, encode(body)))

    verdict("clean", "", "ASKING", CONTRACT.check('{"age": 1}').to_dict())
    verdict("broken", "V002 X1 P001", body=CONTRACT.check(f"no {MARK}").to_dict())
    verdict("gone", "V002")
    for person, helpful, label in (("ada", 1, "tone"), ("bob", None, ""), ("eve", 0, "")):
        session.run(
            "INSERT INTO feedback VALUES (?, ?, ?, ?, ?, ?)", ("clean", person, 2_000_000, helpful, label, b"so")
        )
    session.close()


def test_verdicts_and_feedback_of_earlier_versions_keep_their_meaning(database: Callable[[], str]) -> None:
    url = database()
    written_before(url)
    with open_store(url) as store:
        clean, broken, gone = (store.get(name) for name in ("clean", "broken", "gone"))
        assert (clean.context, clean.missing, clean.kept, clean.engine) == (
            {"state": "ASKING"},
            {"?": "not_kept"},
            "whole",
            "",
        )
        assert (broken.context, broken.kept, broken.unjudgeable) == (None, "redacted", "reply_redacted")
        assert (gone.kept, gone.unjudgeable, clean.unjudgeable) == ("expired", "reply_expired", "")
        codes = {code: {row.id for row in store.rows(code=code)} for code in ("V002", "X1", "P001", "X", "1")}
        assert codes == {"V002": {"broken", "gone"}, "X1": {"broken"}, "P001": {"broken"}, "X": set(), "1": set()}
        rows = store.feedback("clean")
        assert {(row["user"], row["helpful"], row["label"], row["note"], row["outcome"]) for row in rows} == {
            ("ada", True, "tone", "so", ""), ("bob", None, "", "so", ""), ("eve", False, "", "so", ""),
        }  # fmt: skip
        assert {(label["author"], label["outcome"]) for label in store.labels()} == {
            ("ada", "tone"), ("ada", "helpful"), ("bob", "comment"), ("eve", "not_helpful"),
        }  # fmt: skip
        store.record_feedback("clean", False, user="ada")
        assert len(store.feedback("clean")) == 3, "the same person is still one"
        assert store.rules()[0].verdicts == 3
        assert store.contract_text("f" * 16) is None
