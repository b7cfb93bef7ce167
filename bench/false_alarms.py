"""The false-alarm study: how often the clinic's contract is right about "claims a booking before it happened".

python bench/false_alarms.py [--markdown PAGE] [--errors]

Every reply of bench/data/booking_dialogues.txt is judged in the state SLOT, where nothing is booked yet, by the contract as it
ships and by the same contract with fewer exceptions. A page's tables are written between its two markers.
"""

import argparse
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from trueup.checks.state import States, compile_states

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "bench" / "data" / "booking_dialogues.txt"
CONTRACT = ROOT / "examples" / "contracts" / "clinic.yaml"
MARKERS = ("<!-- figures -->", "<!-- end of figures -->")
EXCEPTIONS = ("negated", "question", "conditional", "not_yet")
WORDS = {"pattern": r"\b(?:booked|confirmed|scheduled|reserved)\b"}


class Said(NamedTuple):
    part: str
    claim: bool
    kind: str
    text: str


def replies() -> list[Said]:
    """The assistant's replies with their labels."""
    found, part = [], ""
    for line in DATA.read_text("utf-8").splitlines():
        if line.startswith("== "):
            part = line[3:]
        labelled = re.match(r"(claim|fine)/([\w-]+): (.+)", line)
        if labelled:
            found.append(Said(part, labelled[1] == "claim", labelled[2], labelled[3]))
    return found


def variants() -> dict[str, States]:
    """Four words, and the contract's patterns for the same, each alone and then with one exception after the other."""
    spec = YAML(typ="safe").load(CONTRACT.read_text("utf-8"))["states"]
    not_yet = spec["groups"]["not_yet"]
    families = {"four words": WORDS, "the contract's patterns": {"patterns": spec["groups"]["booked"]["patterns"]}}
    out: dict[str, States] = {}
    for family, content in families.items():
        for count in range(len(EXCEPTIONS) + 1):
            names = list(EXCEPTIONS[:count])
            title = f"{family}, and `{names[-1]}`" if names else family
            rule = {**content, "except": names}
            out[title] = compile_states({"groups": {"not_yet": not_yet}, "SLOT": {"forbid": [rule]}})
    return out


class Score(NamedTuple):
    hits: int
    alarms: int
    missed: int
    false_kinds: Counter[str]

    @property
    def precision(self) -> float:
        return self.hits / (self.hits + self.alarms) if self.hits + self.alarms else 1.0

    @property
    def recall(self) -> float:
        return self.hits / (self.hits + self.missed)


def score(states: States, said: list[Said]) -> Score:
    flagged = {one: bool(states.judge_text(one.text, "SLOT")) for one in said}
    wrong = Counter(one.kind for one, flag in flagged.items() if flag and not one.claim)
    hits = sum(flag and one.claim for one, flag in flagged.items())
    return Score(hits, sum(wrong.values()), sum(one.claim for one in said) - hits, wrong)


def tables() -> str:
    """The figures as Markdown, one table for each part of the dialogues."""
    said = replies()
    lines: list[str] = []
    for part in dict.fromkeys(one.part for one in said):
        own = [one for one in said if one.part == part]
        claims = sum(one.claim for one in own)
        lines += [f"### {part}: {len(own)} replies, {claims} of them claims", ""]
        lines += [
            "| judged by | precision | recall | false alarms | missed | false alarms by kind |",
            "|---|---|---|---|---|---|",
        ]
        for name, states in variants().items():
            got = score(states, own)
            kinds = ", ".join(f"{kind} {count}" for kind, count in got.false_kinds.most_common()) or "none"
            lines.append(f"| {name} | {got.precision:.2f} | {got.recall:.2f} | {got.alarms} | {got.missed} | {kinds} |")
        lines.append("")
    return "\n".join(lines)


def errors(part: str) -> None:
    """The shipped contract's mistakes in one part."""
    states = list(variants().values())[-1]
    for one in replies():
        flag = bool(states.judge_text(one.text, "SLOT"))
        if one.part == part and flag != one.claim:
            print("missed     " if one.claim else "false alarm", f"{one.kind:13}", one.text)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--markdown", type=Path, help="the page to write the figures into")
    parser.add_argument(
        "--errors",
        choices=["first", "second", "third", "fourth", "fifth", "sixth"],
        help="show the contract's errors in one part",
    )
    options: Any = parser.parse_args()
    if options.errors:
        errors(options.errors)
        return 0
    figures = tables()
    if options.markdown:
        page = options.markdown.read_text("utf-8")
        head, rest = page.split(MARKERS[0])
        options.markdown.write_text(
            f"{head}{MARKERS[0]}\n\n{figures}\n{MARKERS[1]}{rest.split(MARKERS[1])[1]}", "utf-8"
        )
    else:
        print(figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
