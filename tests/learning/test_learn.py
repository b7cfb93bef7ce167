"""From labelled cases to a model: the meaning of labels, their split, the cases without a model, and its value."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import Contract
from trueup.checks.scoring import MOST_BYTES, Scorer, grams, read_model
from trueup.learning.calibration import calibration_error, chance_error
from trueup.learning.examples import DIVIDED, TWICE, UNLABELLED, WORDLESS, LabelledReply, gather
from trueup.learning.files import NotReplaced, refuse_other, write_model
from trueup.learning.learn import TooFew, evaluate, is_calibrated, learn
from trueup.learning.splitting import by_time, conversations, folds, look, unseen
from trueup.learning.training import FeatureSheet, train
from trueup.material.case import Case, Label, Recorded
from trueup.material.sources import cases as cases_of

ROOT = Path(__file__).resolve().parents[2]
BOOKING = ROOT / "examples" / "booking"
RULES: Contract[Any] = Contract(reply=True)
GOOD = ("Monday at nine is free", "which day suits you", "let me look for you", "would you like the morning")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
BAD = ("you are an idiot", "that is a stupid question", "go away please", "I will not help such people")


def case(number: int, outcome: str, reply: str = "This is a fine reply.", **more: Any) -> Case:
    return Case(str(number), reply, labels=(Label(str(number), outcome, "ada"),), **more)


def talk(count: int, seed: int = 0, *, noise: float = 0.0) -> list[Case]:
    """Labelled replies, two per conversation. Some labels are wrong."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        good = chance.random() < 0.6
        reply = f"Well, {chance.choice(GOOD if good else BAD)}, number {''.join(chance.choices(LETTERS, k=5))}."
        said = good != (chance.random() < noise)
        outcome = "right" if said else "wrong"  # all of them are accepted
        label = Label(str(number), outcome, chance.choice(["ada", "bo"]), 1_700_000_000 + 60 * number)
        found.append(Case(str(number), reply, conversation=f"c{number // 2}", at=label.at, labels=(label,)))
    return found


@pytest.mark.spec("Q15")
@pytest.mark.parametrize(
    ("ok", "outcome", "good"),
    [(True, "right", True), (True, "wrong", False), (False, "right", False), (False, "wrong", True)],
)
def test_a_label_is_about_the_decision(ok: bool, outcome: str, good: bool) -> None:
    (example,) = gather([case(1, outcome, recorded=Recorded(ok))], RULES).examples
    assert example.good is good


def test_without_a_recorded_decision_the_contract_decides() -> None:
    accepted, refused = gather([case(1, "right"), case(2, "right", "Yes")], RULES).examples
    assert (accepted.good, accepted.refused, refused.good, refused.refused) == (True, False, False, True)


def test_your_own_labels_are_about_the_reply() -> None:
    found = gather([case(1, "rude"), case(2, "kind"), case(3, "long")], RULES, good=["kind"], bad=["rude"])
    assert [one.good for one in found.examples] == [False, True]
    assert found.left_out == {UNLABELLED: 1}


def test_every_case_is_an_example_or_is_counted() -> None:
    split = Case("1", "A fine reply.", labels=(Label("1", "right", "ada"), Label("1", "wrong", "bo")))
    part = Case("2", "A fine reply.", labels=(Label("2", "wrong", "ada", subject="code:V001"),))
    rows = [split, part, case(3, "right", "?!", recorded=Recorded(True)), case(4, "right", unjudgeable="reply_expired")]
    found = gather([*rows, case(5, "right")], RULES)
    assert found.left_out == Counter(
        {DIVIDED: 1, UNLABELLED: 1, WORDLESS: 1, "the text of the reply is past its retention": 1}
    )
    assert found.total == 5


def test_most_people_decide() -> None:
    labels = tuple(Label("1", outcome, who) for outcome, who in (("right", "a"), ("wrong", "b"), ("wrong", "c")))
    (example,) = gather([Case("1", "A fine reply.", labels=labels)], RULES).examples
    assert not example.good
    assert example.authors == {"a", "b", "c"}


def example(number: int, conversation: str, at: float) -> LabelledReply:
    return LabelledReply(str(number), True, False, "text", "", conversation, at)


EXAMPLES = st.lists(st.tuples(st.sampled_from(["", "a", "b", "c", "d"]), st.integers(0, 9)), min_size=2, max_size=40)


@given(EXAMPLES, st.integers(0, 3))
def test_no_conversation_is_on_both_sides(rows: list[tuple[str, int]], seed: int) -> None:
    examples = [example(number, name, float(at)) for number, (name, at) in enumerate(rows)]
    early, late = by_time(examples)
    assert sorted(one.id for one in [*early, *late]) == sorted(one.id for one in examples)
    named = [{one.conversation for one in side if one.conversation} for side in (early, late)]
    assert not named[0] & named[1]
    if len(conversations(examples)) > 1:
        assert early
        assert late
        ends = [max(one.at for one in group) for group in conversations(early)]
        assert max(ends) <= min(max(one.at for one in group) for group in conversations(late))
    parts = folds(examples, 5, seed)
    assert sorted(place for part in parts for place in part) == list(range(len(examples)))
    homes: dict[str, set[int]] = {}
    for number, part in enumerate(parts):
        for place in part:
            homes.setdefault(examples[place].conversation or f"alone {place}", set()).add(number)
    assert all(len(home) == 1 for home in homes.values())


@pytest.mark.spec("Q15")
def test_below_80_labels_there_is_no_model() -> None:
    with pytest.raises(TooFew, match="79 labelled replies, but a model needs 80; label 1 more with `trueup label`"):
        learn(RULES, talk(79))
    assert learn(RULES, talk(80)).model.facts.labels == 80


def test_a_model_needs_both_kinds_on_both_sides() -> None:
    with pytest.raises(TooFew, match="only 0 bad replies among the 75 earlier labels"):
        learn(RULES, [case(number, "right", f"A fine reply {number}.") for number in range(100)])


@pytest.mark.spec("Q15")
def test_a_model_that_beats_the_rules_passes_and_another_does_not() -> None:
    learned = learn(RULES, talk(240, noise=0.02))
    found = learned.evaluation
    assert found.passed
    assert found.together.wrong < found.rules.wrong
    assert found.p is not None
    assert found.p < 0.05
    assert learned.trained + learned.tested == 240
    noise = learn(RULES, talk(240, noise=0.5))
    assert not noise.evaluation.passed
    reply = f"Well, {BAD[0]}, number a."
    verdict = Contract(quality={"model": learned.model}).check(reply)
    assert verdict.metrics["quality"] < 0.7
    assert [one.code for one in verdict.warnings] == ["Q008"]
    assert not Contract(quality={"model": noise.model}).check(reply).findings


def test_a_reply_in_two_sources_counts_once() -> None:
    rows = talk(45)
    found = gather([*rows, *rows], RULES)
    assert (len(found.examples), found.left_out) == (45, {TWICE: 45})
    with pytest.raises(TooFew, match="45 labelled replies, but a model needs 80"):
        learn(RULES, [*rows, *rows])


def test_a_model_is_not_tested_on_replies_that_it_remembers() -> None:
    rows = [msgspec.structs.replace(one, conversation="") for one in talk(200, noise=0.5)]
    again = [msgspec.structs.replace(one, id=f"{one.id} again", at=one.at + 1e6) for one in rows[-40:]]
    learned = learn(RULES, [*rows, *again])
    assert (learned.repeated, learned.tested) == (40, 20)  # of the latest 60
    assert not learned.evaluation.passed
    early, late = by_time(learned.gathered.examples)
    looks = {look(one) for one in early}
    assert all(look(one) not in looks for one in unseen(early, late))
    shouted = [msgspec.structs.replace(one, text=one.text.upper()) for one in late]
    assert unseen(late, shouted) == []


def test_replies_of_one_conversation_do_not_make_a_model_pass() -> None:
    """Ten better replies in one conversation are one observation."""
    model = learn(RULES, talk(240, noise=0.02)).model
    late = [
        LabelledReply(
            str(n), n % 2 == 0, False, f"Well, {(GOOD, BAD)[n % 2][0]}, number {LETTERS[n]}.", "", "", 1.0 + n
        )
        for n in range(24)
    ]
    gathered = gather([], RULES)
    assert evaluate(model, [], late, gathered).evaluation.passed
    alike = [msgspec.structs.replace(one, conversation="c1") for one in late]
    found = evaluate(model, [], alike, gathered).evaluation
    assert (found.better, found.worse, found.p, found.passed) == (12, 0, 1.0, False)


def test_labels_of_a_single_conversation_are_refused() -> None:
    with pytest.raises(TooFew, match="all labels are from one conversation"):
        learn(RULES, [msgspec.structs.replace(one, conversation="c1") for one in talk(100)])


@pytest.mark.spec("Q15")
def test_a_model_whose_scores_are_not_probabilities_does_not_pass() -> None:
    learned = learn(RULES, talk(400, noise=0.1))
    assert learned.evaluation.passed
    late = gather(talk(400, 7, noise=0.1), RULES).examples
    unsure = msgspec.structs.replace(
        learned.model, slope=0.02, shift=0.8
    )  # it still separates good from bad: 0.69 is below 0.7
    found = evaluate(unsure, [], late, learned.gathered).evaluation
    assert found.calibration_error is not None
    assert found.calibration_chance is not None
    assert found.calibration_error > 0.05 > found.calibration_chance
    assert not found.passed


def test_chance_explains_the_error_of_a_small_sample_and_not_of_a_large_one() -> None:
    chance = random.Random(2)
    kept = 0
    for _ in range(100):
        scores = [chance.random() for _ in range(30)]
        bound = chance_error(scores)
        error = calibration_error(scores, [chance.random() < score for score in scores])
        kept += is_calibrated(error, bound)
    assert kept >= 88  # 95 are expected
    many = [chance.random() for _ in range(2000)]
    bound = chance_error(many)
    assert bound is not None
    assert bound < 0.05
    wrong = calibration_error(many, [chance.random() < 0.5 + (score - 0.5) / 2 for score in many])
    assert not is_calibrated(wrong, bound)
    assert chance_error([]) is None


def test_learning_is_the_same_every_time_and_knows_its_facts() -> None:
    one, other = learn(RULES, talk(120)), learn(RULES, talk(120))
    assert one.model == other.model
    facts = one.model.facts
    assert (facts.labels, facts.authors, facts.conversations) == (120, 2, 60)
    assert (facts.since, facts.until) == ("2023-11-14", "2023-11-15")
    assert facts.contract == RULES.fingerprint
    assert read_model(msgspec.json.encode(one.model)) == one.model


def test_the_rules_alone_are_judged_without_an_earlier_model() -> None:
    before = learn(RULES, talk(120)).model
    contract = Contract(reply=True, quality={"model": before, "level": "error"})
    assert learn(contract, talk(120)).model.facts.contract == RULES.fingerprint


def test_a_model_is_small_whatever_it_learns_from() -> None:
    chance = random.Random(3)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(20_000)]
    texts = [" ".join(chance.choices(words, k=150)) for _ in range(300)]
    model = FeatureSheet([grams(text) for text in texts], [number % 3 > 0 for number in range(300)]).model(4.0, 0)
    assert 150_000 < len(msgspec.json.encode(model)) <= MOST_BYTES
    assert Scorer(model).margin(grams(texts[0])) < 0 < Scorer(model).margin(grams(texts[1]))


@pytest.mark.spec("Q15")
def test_the_example_of_the_guide_is_learned_again_as_it_ships() -> None:
    rules: Contract[Any] = Contract.load(BOOKING / "booking.yaml")
    found = learn(rules, cases_of([BOOKING / "replies.jsonl"], labels=[BOOKING / "labels.jsonl"]))
    shipped = read_model((BOOKING / "model.json").read_bytes())
    assert found.model.steps == shipped.steps
    assert found.model.evaluation.together == shipped.evaluation.together
    texts = [json.loads(line)["raw_response"] for line in (BOOKING / "replies.jsonl").read_text("utf-8").splitlines()]
    for text in texts[:50]:
        again, before = Scorer(found.model).score(text), Scorer(shipped).score(text)
        assert again.abstained == before.abstained
        assert again.value == pytest.approx(before.value, abs=1e-3)


@pytest.mark.spec("Q15")
def test_scores_are_calibrated_on_replies_that_come_later() -> None:
    early, late = (gather(talk(count, seed, noise=0.15), RULES).examples for count, seed in ((500, 1), (1500, 2)))
    scorer = Scorer(train(early).model)
    scores = [scorer.probability(scorer.margin(scorer.grams(one.text, one.state))) for one in late]
    error = calibration_error(scores, [one.good for one in late])
    assert error is not None
    assert error <= 0.05


def test_a_file_that_is_not_a_model_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    refuse_other(path)
    model = learn(RULES, talk(80)).model
    assert write_model(path, model) == path.stat().st_size
    refuse_other(path)
    assert read_model(path.read_bytes()) == model
    other = tmp_path / "contract.yaml"
    other.write_text("reply: true\n", "utf-8")
    for wrong in (other, tmp_path, tmp_path / "no" / "model.json"):
        with pytest.raises(NotReplaced):
            refuse_other(wrong)
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["contract.yaml", "model.json"]


def test_a_label_is_about_the_decision_that_it_names() -> None:
    said = [Label("1", "wrong", decided=word) for word in ("accepted", "refused", "")]
    found = gather([Case("1", f"A fine reply, {n}.", labels=(label,)) for n, label in enumerate(said)], Contract())
    assert [each.good for each in found.examples] == [False, True, False]
