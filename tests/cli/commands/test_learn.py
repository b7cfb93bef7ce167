"""`trueup learn`, as a person or a script runs it."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.running import Run
from trueup import Contract
from trueup.store.open import open_store

BOOKING = Path(__file__).resolve().parents[3] / "examples" / "booking"


@pytest.fixture
def booking(tmp_path: Path) -> Path:
    for name in ("booking.yaml", "replies.jsonl", "labels.jsonl"):
        shutil.copy(BOOKING / name, tmp_path / name)
    return tmp_path


@pytest.mark.spec("Q15")
def test_it_trains_compares_with_the_rules_and_prints_what_to_write(run: Run, booking: Path) -> None:
    done = run("learn", "booking.yaml", "replies.jsonl", "--labels", "labels.jsonl")
    assert done.code == 0
    assert "It beats the rules" in done.out
    assert "387 labels: 263 good, 124 bad, by 2 people" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    lines = done.out.splitlines()
    contract = (booking / "booking.yaml").read_text("utf-8") + "\n".join(lines[lines.index("quality:") :]) + "\n"
    (booking / "scored.yaml").write_text(contract, "utf-8")
    assert run("lint", "scored.yaml").code == 0
    loaded: Contract = Contract.load(booking / "scored.yaml")
    verdict = loaded.check("Great news, you are booked in for Friday at ten. See you then!")
    assert [found.code for found in verdict.warnings] == ["Q008"]


def test_json_has_everything_and_the_same_seed_gives_the_same_model(run: Run, booking: Path) -> None:
    given = ("learn", "booking.yaml", "replies.jsonl", "--labels", "labels.jsonl", "--json", "-o")
    first = json.loads(run(*given, "one.json").out)
    second = json.loads(run(*given, "two.json").out)
    assert (booking / "one.json").read_bytes() == (booking / "two.json").read_bytes()
    assert first["passed"] is True
    assert first["trained"] + first["tested"] == first["facts"]["labels"] == 387
    assert {**first, "model": ""} == {**second, "model": ""}
    assert first["bytes"] == (booking / "one.json").stat().st_size <= 300_000


@pytest.mark.spec("Q15")
def test_too_few_labels_do_not_give_a_model(run: Run, booking: Path) -> None:
    labels = (booking / "labels.jsonl").read_text("utf-8").splitlines()[:30]
    (booking / "few.jsonl").write_text("\n".join(labels), "utf-8")
    done = run("learn", "booking.yaml", "replies.jsonl", "--labels", "few.jsonl")
    assert done.code == 1
    assert done.err == "trueup: 30 labelled replies, but a model needs 80; label 50 more with `trueup label`\n"
    assert not (booking / "booking.quality.json").exists()


@pytest.mark.spec("Q15")
def test_a_model_that_does_not_beat_the_rules_is_written_for_the_shadow(run: Run, booking: Path) -> None:
    rows = [json.loads(line) for line in (booking / "labels.jsonl").read_text("utf-8").splitlines()]
    flipped = [{**row, "outcome": ("right", "wrong")[number * 7 % 11 > 5]} for number, row in enumerate(rows)]
    (booking / "noise.jsonl").write_text("\n".join(map(json.dumps, flipped)), "utf-8")
    done = run("learn", "booking.yaml", "replies.jsonl", "--labels", "noise.jsonl")
    assert done.code == 1
    assert "Its score is only recorded until it passes" in done.out
    assert max(map(len, done.out.splitlines())) < 80
    (booking / "scored.yaml").write_text("quality: {model: booking.quality.json}\n", "utf-8")
    assert "N029" in run("lint", "scored.yaml").out


def test_a_model_that_has_passed_is_not_replaced_by_one_that_has_not(run: Run, booking: Path) -> None:
    given = ("learn", "booking.yaml", "replies.jsonl", "--labels")
    assert run(*given, "labels.jsonl").code == 0
    passed = (booking / "booking.quality.json").read_bytes()
    rows = (booking / "labels.jsonl").read_text("utf-8").splitlines()
    (booking / "few.jsonl").write_text("\n".join(rows[:80]), "utf-8")
    done = run(*given, "few.jsonl")
    assert done.code == 1
    assert "contains an earlier model that passed, so it was not replaced" in " ".join(done.out.split())
    assert "Add this to the contract" not in done.out
    assert json.loads(run(*given, "few.jsonl", "--json").out)["model"] is None
    assert (booking / "booking.quality.json").read_bytes() == passed
    assert run(*given, "few.jsonl", "-o", "other.json").code == 1
    assert (booking / "other.json").exists()


def test_a_narrow_screen_has_room_for_everything() -> None:
    from trueup.cli.commands.learn import _table
    from trueup.learning.learn import Confusion

    judges = (("rules", Confusion(9, 1, 2, 8)), ("model below 0.7", Confusion()), ("rules and model", Confusion(9, 1)))
    narrow, wide = (_table(judges, with_intervals=given) for given in (False, True))
    assert max(map(len, narrow)) <= 44
    assert max(map(len, wide)) <= 80
    assert narrow[1].split() == ["rules", "0.82", "0.90", "3"]


def test_labels_of_the_store_and_your_own_labels(run: Run, tmp_path: Path) -> None:
    contract: Contract = Contract(reply=True)
    (tmp_path / "c.yaml").write_text("reply: true\n", "utf-8")
    with open_store(tmp_path / "s.db") as store:
        for number in range(100):
            rude = number % 3 == 0
            text = f"{'Go away, you fool' if rude else 'With pleasure, of course'}, dear {chr(97 + number // 26)}{chr(97 + number % 26)}."
            stored = store.record_verdict(contract.check(text), wait=True)
            store.record_feedback(stored, label="rude" if rude else "kind", user="ada")
    done = run("learn", "c.yaml", "s.db", "--good", "kind", "--bad", "rude", "-o", "m.json")
    assert (done.code, "100 labels: 66 good, 34 bad" in done.out) == (0, True), done.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["nowhere.yaml", "replies.jsonl"], "nowhere.yaml: there is no such contract file"),
        (["booking.yaml", "nowhere.jsonl"], "nowhere.jsonl: there is no such file"),
        (["booking.yaml", "replies.jsonl", "--labels", "nowhere.jsonl"], "there is no such file of labels"),
        (["booking.yaml", "replies.jsonl", "-o", "booking.yaml"], "this file exists and is not a quality model"),
        (["booking.yaml", "replies.jsonl", "-o", "m" * 300], "cannot be written: File name too long"),
        (["booking.yaml", "replies.jsonl", "--good", "x", "--bad", "x"], "'x' cannot be both"),
        (["booking.yaml", "replies.jsonl", "--below", "7"], "--below"),
        (["booking.yaml", "replies.jsonl", "--below", "nan"], "nan is not one"),
        (["booking.yaml"], "SOURCE"),
    ],
)
def test_errors_are_reported_in_one_line(run: Run, booking: Path, given: list[str], said: str) -> None:
    done = run("learn", *given)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err
    assert not (booking / "booking.quality.json").exists()
