"""Scores at the gateway: a warning and a shadow model let the reply through, an error asks again, and the verdict keeps the score."""

from pathlib import Path

import msgspec
import pytest

from tests.gateway.conftest import Open
from trueup import Contract
from trueup.checks.scoring import Evaluation, Model, read_model
from trueup.store.open import open_store

MODEL = read_model((Path(__file__).resolve().parents[2] / "examples" / "booking" / "model.json").read_bytes())
SHADOW = msgspec.structs.replace(MODEL, evaluation=Evaluation())
BAD, GOOD = (
    "Great, you are booked in for Friday at ten. See you then!",
    "Friday at ten is free. Shall I book it for you?",
)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("model", "level", "sent", "asked"),
    [(MODEL, "warning", BAD, 1), (SHADOW, "error", BAD, 1), (MODEL, "error", GOOD, 2)],
    ids=["warning", "shadow", "error"],
)
def test_only_an_error_withholds_a_reply(
    desk: Open, model: Model, level: str, sent: str, asked: int, stream: bool
) -> None:
    with desk([BAD, GOOD], Contract(quality={"model": model, "level": level})) as d:
        response = d.chat(stream=stream)
        assert response.status_code == 200
        assert sent.split(".")[0] in response.text
        assert (BAD.split(".")[0] in response.text) is (sent is BAD)
        assert len(d.upstream.requests) == asked


@pytest.mark.spec("Q15")
def test_the_stored_verdict_keeps_the_score(desk: Open, tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        with desk([BAD], Contract(quality={"model": SHADOW}), store=store) as d:
            d.chat()
        store.flush()
        (stored,) = store.verdicts()
        assert stored.ok
        assert stored.codes == ()
        verdict = stored.verdict
        assert verdict is not None
        assert verdict.metrics["quality"] < 0.7
