"""Drafts from replies to random schemas, half of them broken: types and required fields are right."""

import random

import pytest

from tests.effort import SOAK
from tests.inferring.generated import damaged, replies, schema
from tests.inferring.scoring import places
from trueup.inferring.infer import infer

SCHEMAS = 200 if SOAK else 20


def test_types_and_required_fields_are_right_in_99_percent() -> None:
    right = total = accepted = whole = 0
    wrong: list[str] = []
    for seed in range(SCHEMAS):
        rng = random.Random(seed)
        part = schema(rng)
        draft = infer(replies(part, rng), seed=seed)
        assert draft.faults() == (), f"schema {seed} does not lint clean"
        report = draft.report
        assert report.cases == report.used + report.held.total + sum(report.unusable.values()) == 100
        assert report.ok, f"schema {seed}: {report.held}"
        accepted += report.held.accepted
        whole += report.held.whole
        for path, is_right, why in places(part, draft.data["schema"]):
            total += 1
            right += is_right
            if not is_right:
                wrong.append(f"schema {seed}, {path}: {why}")
    assert total >= 10 * SCHEMAS
    assert right >= 0.99 * total, wrong
    assert accepted >= 0.99 * whole
    assert whole >= 10 * SCHEMAS


def test_half_of_the_replies_are_not_json() -> None:
    import json

    rng = random.Random(1)
    texts = replies(schema(rng), rng)
    for index, text in enumerate(texts):
        if index % 2:
            json.loads(text)
        else:
            with pytest.raises(ValueError):
                json.loads(text)


def test_broken_replies_alone_are_enough() -> None:
    rng = random.Random(3)
    part = schema(rng)
    draft = infer([damaged(part.make(rng), rng) for _ in range(150)])
    judged = list(places(part, draft.data["schema"]))
    assert sum(right for _, right, _ in judged) >= 0.9 * len(judged), [place for place in judged if not place[1]]
    assert draft.report.mended > draft.report.used / 2
    assert draft.faults() == ()
