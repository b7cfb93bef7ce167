"""Learned quality and relevance, measured: precision and recall compared with the rules, calibration, size, time, AUC by language.

python bench/quality.py [--markdown PAGE]

The dialogues come from the study of false alarms (bench/data/booking_dialogues.txt) and the held-out replies of the salon
(tests/acceptance/coherence). Nothing that a model is tested on was used to train it or to choose its penalty.
"""

import argparse
import json
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trueup.checks.relevance import MIDDLE, likeness
from trueup.checks.scoring import Facts, Model, Scorer
from trueup.checks.state import compile_states
from trueup.contract.contract import Contract
from trueup.learning.calibration import auc, calibration_error, sigmoid
from trueup.learning.examples import LabelledReply
from trueup.learning.learn import Confusion, confusion
from trueup.learning.training import train

ROOT = Path(__file__).resolve().parent.parent
DIALOGUES = ROOT / "bench" / "data" / "booking_dialogues.txt"
PAIRS = ROOT / "bench" / "data" / "questions.json"
SALON = ROOT / "tests" / "acceptance" / "coherence"
CLINIC_FILE = ROOT / "examples" / "contracts" / "clinic.yaml"
SALON_FILE = ROOT / "examples" / "contracts" / "salon.yaml"
MARKERS = ("<!-- figures -->", "<!-- end of figures -->")
THRESHOLDS = (0.3, 0.5, 0.7)


class Tried(NamedTuple):
    """A model on replies that it has not seen."""

    model: Model
    late: Sequence[LabelledReply]
    scores: list[float]

    def low(self, below: float) -> list[bool]:
        scorer = Scorer(self.model)
        known = [scorer.unknown(scorer.grams(one.text, one.state)) <= self.model.unfamiliar for one in self.late]
        return [knows and score < below for knows, score in zip(known, self.scores, strict=True)]


def clinic() -> list[tuple[str, LabelledReply]]:
    """The replies of the study, each with its part; `refused` is the verdict of the rule `booked` of the clinic's contract."""
    from ruamel.yaml import YAML

    spec = YAML(typ="safe").load(CLINIC_FILE.read_text("utf-8"))["states"]
    rule = {
        "patterns": spec["groups"]["booked"]["patterns"],
        "except": ["negated", "question", "conditional", "not_yet"],
    }
    states = compile_states({"groups": {"not_yet": spec["groups"]["not_yet"]}, "SLOT": {"forbid": [rule]}})
    found: list[tuple[str, LabelledReply]] = []
    part, conversation = "", 0
    for line in DIALOGUES.read_text("utf-8").splitlines():
        if line.startswith("== "):
            part = line[3:]
        conversation += not line.strip()
        said = re.match(r"(claim|fine)/[\w-]+: (.+)", line)
        if said:
            number = len(found)
            refused = bool(states.judge_text(said[2], "SLOT"))
            found.append(
                (
                    part,
                    LabelledReply(
                        str(number), said[1] == "fine", refused, said[2], "", str(conversation), float(number + 1)
                    ),
                )
            )
    return found


def salon(name: str) -> list[LabelledReply]:
    """The salon's replies; `refused` is its contract's result for the state."""
    contract: Contract[Any] = Contract.load(SALON_FILE)
    found = []
    for line in (SALON / f"{name}.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        verdict = contract.check(row["reply"], {"state": row["state"], "data": row.get("data") or {}})
        refused = any(one.code == "D001" for one in verdict.errors)
        found.append(LabelledReply(row["id"], not row["violation"], refused, row["reply"], row["state"]))
    return found


def tried(early: Sequence[LabelledReply], late: Sequence[LabelledReply]) -> Tried:
    model = train(early).model
    good = sum(one.good for one in early)
    model = msgspec.structs.replace(model, facts=Facts(labels=len(early), good=good, bad=len(early) - good))
    scorer = Scorer(model)
    return Tried(model, late, [scorer.probability(scorer.margin(scorer.grams(one.text, one.state))) for one in late])


def rows(name: str, one: Tried) -> Iterator[str]:
    refused = [example.refused for example in one.late]
    yield _row(name, "rules alone", confusion(one.late, refused))
    for below in THRESHOLDS:
        yield _row("", f"model below {below:g}", confusion(one.late, one.low(below)))
    for below in THRESHOLDS:
        both = [rule or low for rule, low in zip(refused, one.low(below), strict=True)]
        yield _row("", f"rules and model below {below:g}", confusion(one.late, both))


def _row(name: str, judge: str, found: Confusion) -> str:
    part = found.part
    numbers = [f"{value:.2f}" if value is not None else "—" for value in (part.precision, part.recall, part.f1)]
    return f"| {name} | {judge} | {' | '.join(numbers)} | {part.wrong} |"


def parts_in_turn(rows_: list[tuple[str, LabelledReply]]) -> tuple[list[float], list[bool]]:
    """Every part of the study, scored by a model of the other five."""
    scores: list[float] = []
    targets: list[bool] = []
    for part in dict.fromkeys(name for name, _ in rows_):
        late = [example for name, example in rows_ if name == part]
        scores += tried([example for name, example in rows_ if name != part], late).scores
        targets += [example.good for example in late]
    return scores, targets


def strangers(scorer: Scorer, known: Sequence[str]) -> Iterator[str]:
    """The results of the clinic's model for texts that have nothing to do with a clinic."""
    pairs = json.loads(PAIRS.read_text("utf-8"))
    texts = {
        "its own dialogues, sixth part": known,
        "English answers about other things": [reply for _, reply in pairs["English"]],
        "sentences of this documentation": _sentences(),
        "Spanish answers": [reply for _, reply in pairs["Spanish"]],
        "Python code": (ROOT / "bench" / "quality.py").read_text("utf-8").split("\n\n\n"),
    }
    for name, each in texts.items():
        scores = [scorer.score(text).value for text in each]
        judged = [score for score in scores if score is not None]
        low = sum(score < 0.7 for score in judged)
        yield f"| {name} | {len(each):,} | {1 - len(judged) / len(each):.0%} | {low / len(each):.0%} |"


def _sentences() -> list[str]:
    whole = " ".join(page.read_text("utf-8") for page in sorted((ROOT / "docs" / "howto").glob("*.md")))
    return [one for one in re.split(r"(?<=[.!?])\s+", whole) if 20 < len(one) < 400]


SIMULATED = ((80, 20), (200, 10), (1000, 4))  # labels, worlds


def simulated(labels: int, world: int) -> float:
    """The calibration error of a model if the probability that each reply is good is known."""
    chance = random.Random(world)
    vocabulary = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=5)) for _ in range(400)]
    weights = [chance.gauss(0, 2) if chance.random() < 0.15 else 0.0 for _ in vocabulary]
    often = [1 / (rank + 3) for rank in range(400)]

    def draw() -> tuple[str, float]:
        words = chance.choices(range(400), often, k=chance.randint(5, 15))
        return " ".join(vocabulary[word] for word in words), sigmoid(0.5 + sum(weights[word] for word in set(words)))

    drawn = [draw() for _ in range(labels)]
    early = [
        LabelledReply(str(n), chance.random() < p, refused=False, text=text, conversation=f"{n // 2}", at=n + 1.0)
        for n, (text, p) in enumerate(drawn)
    ]
    scorer = Scorer(train(early).model)
    bins: dict[int, list[float]] = {}
    later = [draw() for _ in range(2000)]
    for text, p in later:
        score = scorer.probability(scorer.margin(scorer.grams(text, "")))
        held = bins.setdefault(min(9, int(score * 10)), [0.0, 0.0])
        held[0] += score
        held[1] += p
    return sum(abs(said - true) for said, true in bins.values()) / len(later)


def simulations() -> Iterator[str]:
    for labels, worlds in SIMULATED:
        errors = [simulated(labels, world) for world in range(worlds)]
        within = sum(error <= 0.05 for error in errors)
        yield f"| {labels:,} | {statistics.median(errors):.3f} | {max(errors):.3f} | {within} of {worlds} |"


class Near(NamedTuple):
    """How well relevance separates replies to a question from replies to others."""

    pairs: int
    auc: float
    flagged: str  # replies to the question that are below 0.5
    missed: str  # replies to another question that are not


def relevance() -> dict[str, Near]:
    """For each language, every question with every reply."""
    found = {}
    for language, pairs in json.loads(PAIRS.read_text("utf-8")).items():
        grid = [[likeness(question, reply) for _, reply in pairs] for question, _ in pairs]
        same = [grid[at][at] for at in range(len(pairs))]
        other = [grid[i][j] for i in range(len(pairs)) for j in range(len(pairs)) if i != j]
        area = auc([*same, *other], [True] * len(same) + [False] * len(other))
        assert area is not None
        flagged, missed = sum(one < MIDDLE for one in same), sum(one >= MIDDLE for one in other)
        found[language] = Near(
            len(pairs), area, f"{flagged} of {len(same)}", f"{missed:,} of {len(other):,} ({missed / len(other):.0%})"
        )
    return found


def dialogue_alarms() -> str:
    """How many replies of the clinic are taken for off topic, of those that are judged; all of them belong to their dialogue."""
    contract: Contract[Any] = Contract(relevance=True)
    judged = flagged = 0
    question = ""
    for line in DIALOGUES.read_text("utf-8").splitlines():
        question = line[3:] if line.startswith("P: ") else question if line.strip() else ""
        said = re.match(r"(?:claim|fine)/[\w-]+: (.+)", line)
        if said and question:
            verdict = contract.check(said[1], {"question": question})
            judged += verdict.metrics["relevance"] is not None
            flagged += bool(verdict.findings)
    return f"{flagged} of {judged}"


def microseconds(run: Callable[[str], object], texts: Sequence[str]) -> float:
    """CPU time of one call, the best of 15 rounds over the texts."""
    best = float("inf")
    for _ in range(15):
        begun = time.process_time()
        for text in texts:
            run(text)
        best = min(best, time.process_time() - begun)
    return best / len(texts) * 1e6


def figures() -> str:
    """The tables, as Markdown."""
    dialogues = clinic()
    early, late = [e for name, e in dialogues if name != "sixth"], [e for name, e in dialogues if name == "sixth"]
    begun = time.process_time()
    sixth = tried(early, late)
    short = time.process_time() - begun
    development, held_out = salon("development"), salon("held_out")
    begun = time.process_time()
    spanish = tried(development, held_out)
    long = time.process_time() - begun
    scores, targets = parts_in_turn(dialogues)
    sizes = [len(msgspec.json.encode(one.model)) / 1000 for one in (sixth, spanish)]
    contract: Contract[Any] = Contract(quality={"model": sixth.model})
    texts = [example.text for _, example in dialogues]
    median = statistics.median(map(len, texts))
    scorer = Scorer(sixth.model)
    score, check = microseconds(scorer.score, texts), microseconds(contract.check, texts)
    near = microseconds(lambda text: likeness("Can I have an appointment on Monday?", text), texts)
    salon_error = calibration_error(spanish.scores, [one.good for one in held_out])
    area = relevance()
    lines = [
        "| tested on | judge | precision | recall | F1 | mistakes |",
        "|---|---|---|---|---|---|",
        *rows(f"clinic, sixth part ({len(late)} replies)", sixth),
        *rows(f"salon, held out ({len(held_out)} replies, Spanish)", spanish),
        "",
        "| figure | clinic (English) | salon (Spanish) |",
        "|---|---|---|",
        f"| labels to learn from | {len(early):,} | {len(development):,} |",
        f"| expected calibration error, 10 bins | {calibration_error(scores, targets):.3f} ({len(scores)} replies) | {salon_error:.3f} ({len(held_out)} replies) |",
        f"| AUC | {auc(scores, targets):.3f} | {auc(spanish.scores, [one.good for one in held_out]):.3f} |",
        f"| model file | {sizes[0]:.0f} KB | {sizes[1]:.0f} KB |",
        f"| training, CPU | {short:.1f} s | {long:.1f} s |",
        "",
        "| labels, simulated | median calibration error | largest | at most 0.05 |",
        "|---|---|---|---|",
        *simulations(),
        "",
        "| the clinic's model sees | texts | abstains | scores below 0.7 |",
        "|---|---|---|---|",
        *strangers(scorer, [example.text for example in late]),
        "",
        "| time of one reply, CPU | |",
        "|---|---|",
        f"| score ({median:.0f} characters) | {score:.0f} µs |",
        f"| `Contract(quality=…).check` | {check:.0f} µs |",
        f"| relevance of a reply to a question | {near:.0f} µs |",
        "",
        "| relevance | pairs | AUC | own replies below 0.5 | other replies not below |",
        "|---|---|---|---|---|",
        *(f"| {name} | {one.pairs} | {one.auc:.3f} | {one.flagged} | {one.missed} |" for name, one in area.items()),
        "",
        f"Relevance counts {dialogue_alarms()} judged replies of the clinic to the patient's last message as off topic.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--markdown", type=Path, help="the page to write the figures into")
    options = parser.parse_args()
    found = figures()
    if options.markdown is None:
        print(found)
        return 0
    page = options.markdown.read_text("utf-8")
    head, rest = page.split(MARKERS[0])
    options.markdown.write_text(f"{head}{MARKERS[0]}\n\n{found}\n{MARKERS[1]}{rest.split(MARKERS[1])[1]}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
