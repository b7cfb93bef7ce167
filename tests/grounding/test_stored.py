"""Stored evidence: grades and places always, texts of the source only as long as the context."""

import json
import pickle
from pathlib import Path

import pytest

from trueup import Contract, Verdict
from trueup.grounding.stored import without_texts
from trueup.store.errors import StoreError
from trueup.store.open import open_store
from trueup.store.store import Store

CONTRACT = Contract({"type": "object"}, grounded={"quotations": ["quote"]}, name="invoice")
SOURCE = "Total: GBP 1,178.00, from Harbourside.\n\n| Ana Ruiz | 41 |\n| Luis Vega | 36 |\n\nThe press is not safe to use in wet rooms."
REPLY = json.dumps({"total": 1187, "name": "Ana Ruiz", "age": 36, "quote": "the press is safe to use in wet rooms"})
OF_SOURCE = ("1,178", "Harbourside", "not safe", "Luis Vega")


def stored(store: Store, **context: object) -> str:
    given = {"source": SOURCE, **context}
    return store.record_verdict(CONTRACT.check(REPLY, given), contract=CONTRACT, context=given, tenant="t1", user="u1")


def written(folder: Path) -> str:
    return "".join(path.read_bytes().decode("utf-8", "replace") for path in folder.iterdir())


def test_without_the_context_no_source_text_is_written(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        kept = store.get(stored(store))
        assert kept is not None
        assert kept.verdict is not None
        assert kept.missing == {"source": "not_kept"}
        verdict = CONTRACT.check(REPLY, {"source": SOURCE})
        assert [(one.code, one.path) for one in kept.verdict.findings] == [
            (one.code, one.path) for one in verdict.findings
        ]
        assert {one.code for one in verdict.findings} == {"E001", "E003", "E004"}
        assert {path: one.grade for path, one in kept.verdict.evidence.items()} == {
            path: one.grade for path, one in verdict.evidence.items()
        }
        assert kept.verdict.evidence["$.name"].places[0].span == verdict.evidence["$.name"].places[0].span
    said = written(tmp_path)
    assert "Ana Ruiz" in said  # from the reply
    assert [word for word in OF_SOURCE if word in said] == []


def test_with_the_context_the_texts_come_back_as_long_as_it_is_there(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", keep_context=True) as store:
        kept = store.get(stored(store))
        assert kept is not None
        assert kept.verdict is not None
        assert kept.verdict.evidence == CONTRACT.check(REPLY, {"source": SOURCE}).evidence
        assert "Harbourside" not in json.dumps(kept.body)  # the context has its own retention
        large = store.get(stored(store, source=SOURCE * 1000))
        assert large is not None
        assert large.verdict is not None
        assert large.verdict.evidence["$.name"].places[0].text == ""
        assert store.erase("t1", "u1")
        with pytest.raises(StoreError, match="no verdict"):
            store.get(kept.id)


def test_a_verdict_without_quotes_is_unchanged() -> None:
    verdict = Contract({"type": "object"}).check('{"a": 1}')
    assert without_texts(verdict) is verdict


@pytest.mark.parametrize("grounded", [True, {"quotations": ["quote"]}])
def test_evidence_survives_every_round_trip(grounded: bool) -> None:
    contract = Contract({"type": "object"}, grounded=grounded)
    verdict = contract.check(REPLY, {"source": SOURCE})
    assert Verdict.from_dict(json.loads(json.dumps(verdict.to_dict()))).evidence == verdict.evidence
    assert pickle.loads(pickle.dumps(verdict)) == verdict
    assert pickle.loads(pickle.dumps(contract)).check(REPLY, {"source": SOURCE}) == verdict
