"""Grounding on your own corpus: takes dialogues with annotated slots, makes false copies, and counts grounded and flagged values.

    python bench/grounding_dialogues.py FILE... [--format jsonl|sgd|multiwoz] [--as text|messages] [--misses 20]

A line of JSONL has `turns` (texts, `[speaker, text]` pairs or messages) and `slots` (values, also nested by domain; of a list of alternatives the first counts), and
may have `corpus` and `language`. `sgd` reads the files of Schema-Guided Dialogue, `multiwoz` those of MultiWOZ 2.2. A false copy has one value replaced: by the
value that the slot has in another dialogue, or by a near miss. A value that the text says, as far as this program can see, is not used.
"""

import argparse
import json
import random
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

GROUNDED = ("exact", "normalized", "fuzzy")
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
NUMBERS = {  # a number may be in another language than the value: any of these counts
    at: frozenset(words.split("|")) for at, words in enumerate(
        "zero|cero|null|零 one|un|una|uno|ein|eine|eins|einen|une|一|single|me|myself two|dos|zwei|deux|due|dois|两|二|couple|double|both three|tres|drei|trois|tre|三"
        " four|cuatro|vier|quatre|quattro|四 five|cinco|fünf|cinq|cinque|五 six|seis|sechs|sei|六 seven|siete|sieben|sept|sette|七"
        " eight|ocho|acht|huit|otto|八 nine|nueve|neun|neuf|nove|九 ten|diez|zehn|dix|dieci|十 eleven|once|elf|onze|undici"
        " twelve|doce|zwölf|douze|dodici|noon|midnight|mediodía|正午|正 dozen".split(" ")[:13]
    )
}  # fmt: skip
MINUTES = {
    "15": "quarter|cuarto|viertel|quart|一刻",
    "30": "half|media|halb|demie|半",
    "45": "quarter|cuarto|viertel|quart|三刻",
}
ANSWERS = frozenset("yes no true false none dontcare unknown any free 是 否 有 无 はい 有り いいえ 無し".split())
TIME = re.compile(r"(\d{1,2}):(\d\d)")

Slots = dict[tuple[str, ...], Any]


class Dialogue(NamedTuple):
    """One dialogue: its corpus, its turns with their speakers, and its annotations."""

    corpus: str
    language: str
    turns: list[tuple[str, str]]
    slots: Slots

    @property
    def text(self) -> str:
        return "\n".join(f"{speaker}: {said}" for speaker, said in self.turns)


def read_jsonl(path: Path) -> Iterator[Dialogue]:
    for line in path.read_text("utf-8").splitlines():
        if line.strip():
            row = json.loads(line)
            turns = [_turn(turn, at) for at, turn in enumerate(row["turns"])]
            slots = dict(_flat(row["slots"], ()))
            yield Dialogue(row.get("corpus", path.stem), row.get("language", "en"), turns, slots)


def _turn(turn: Any, at: int) -> tuple[str, str]:
    if isinstance(turn, str):
        return ("user", "assistant")[at % 2], turn
    if isinstance(turn, dict):
        return str(turn.get("role") or turn.get("speaker")).lower(), str(turn.get("content") or turn.get("utterance"))
    return str(turn[0]).lower(), str(turn[1])


def _flat(value: Any, parts: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _flat(part, (*parts, key))
    else:
        first = value[0] if isinstance(value, list) and value else value
        if first not in (None, "", []):
            yield parts, first


def read_frames(path: Path, corpus: str) -> Iterator[Dialogue]:
    """Schema-Guided Dialogue and MultiWOZ 2.2: the annotation is the last state of each service."""
    for row in json.loads(path.read_text("utf-8")):
        turns, slots = [], {}
        for turn in row["turns"]:
            turns.append(({"SYSTEM": "assistant"}.get(turn["speaker"], "user"), turn["utterance"]))
            for frame in turn.get("frames", []):
                for name, values in frame.get("state", {}).get("slot_values", {}).items():
                    if values:
                        slots[frame["service"], name.removeprefix(f"{frame['service']}-")] = values[0]
        if slots:
            yield Dialogue(corpus, "en", turns, slots)


READERS = {
    "jsonl": read_jsonl,
    "sgd": lambda path: read_frames(path, "sgd"),
    "multiwoz": lambda path: read_frames(path, "multiwoz"),
}


def words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return re.findall(
        r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+", re.sub(r"[\u0300-\u036f]", "", plain)
    )


def says(text: str, value: Any) -> bool:
    """Whether a text may say a value, generously: its words in any order and form; its number in words; its hour and minutes on either clock, anywhere."""
    have, wanted = words(text), words(str(value))
    if clock := TIME.fullmatch(str(value)):
        hour, minute = int(clock[1]), clock[2]
        hours = (hour % 12, hour % 12 + 12, (hour + 1) % 12, (hour + 1) % 12 + 12, 12 if hour % 12 in (0, 11) else hour)
        shown = (
            minute == "00"
            or minute in have
            or any(one in text.lower() for one in MINUTES.get(minute, minute).split("|"))
        )
        return shown and any(_says_number(one, text, have) for one in hours)
    if str(value).isdecimal() and len(str(value)) <= 3:
        return _says_number(int(value), text, have)
    return bool(wanted) and all(any(_alike(word, other) for other in have) for word in wanted)


def _says_number(number: int, text: str, have: list[str]) -> bool:
    forms = NUMBERS.get(number, frozenset())
    return (
        str(number) in have
        or f"{number:02}" in have
        or not forms.isdisjoint(text.lower().split())
        or any(words(form) and words(form)[0] in have for form in forms)
    )


def _alike(one: str, other: str) -> bool:
    return one == other or (min(len(one), len(other)) > 4 and one[:5] == other[:5])


def near_miss(value: Any, rng: random.Random) -> Any | None:
    """The value with one thing changed."""
    text = str(value)
    if text.isdecimal() and len(text) <= 3:
        made = int(text) + rng.choice((1, -1) if int(text) > 1 else (1, 2))
        return made if isinstance(value, int) else str(made)
    if clock := TIME.fullmatch(text):
        at = (int(clock[1]) * 60 + int(clock[2]) + rng.choice((15, -15, 60, -60))) % 1440
        return f"{at // 60:02}:{at % 60:02}"
    if text.casefold() in DAYS:
        made = rng.choice([day for day in DAYS if day != text.casefold()])
        return made.title() if text[:1].isupper() else made
    return None


def false_values(dialogues: list[Dialogue], seed: int) -> Iterator[tuple[str, Dialogue, tuple[str, ...], Any]]:
    """Each mistake: its kind, the dialogue, the slot and the false value."""
    pool: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for one in dialogues:
        for slot, value in one.slots.items():
            if str(value).casefold() not in ANSWERS:
                pool[one.language, slot[-1]].append(value)
    for at, one in enumerate(dialogues):
        rng, true = random.Random(f"{seed}/{at}"), set(one.slots.values())
        for slot, value in one.slots.items():
            if str(value).casefold() in ANSWERS:
                continue
            others = sorted(
                {other for other in pool[one.language, slot[-1]] if other not in true and not says(one.text, other)},
                key=str,
            )
            for other in rng.sample(others, min(2, len(others))):
                yield "other dialogue", one, slot, other
            made = near_miss(value, rng)
            if made is not None:
                yield ("number near by" if says(one.text, made) else "near miss"), one, slot, made


def nested(slots: Slots) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for parts, value in slots.items():
        here = out
        for part in parts[:-1]:
            here = here.setdefault(part, {})
        here[parts[-1]] = value
    return out


class Judge:
    """One contract over all dialogues."""

    def __init__(self, shown: str) -> None:
        from trueup import Contract

        self._contract = Contract({"type": "object"}, grounded=True)
        self._shown = shown

    def __call__(self, one: Dialogue, slots: Slots) -> dict[tuple[str, ...], tuple[str, bool]]:
        """The grade of each slot, and whether something was found at its path."""
        from trueup.verdict.paths import render

        source: Any = one.text
        if self._shown == "messages":
            source = [{"role": speaker, "content": said} for speaker, said in one.turns]
        verdict = self._contract.check(json.dumps(nested(slots), ensure_ascii=False), {"source": source})
        found = {finding.path for finding in verdict.findings if finding.code.startswith("E")}
        return {slot: (verdict.evidence[render(slot)].grade, render(slot) in found) for slot in slots}


def report(title: str, counts: dict[str, Counter[str]], good: str) -> None:
    print(f"\n| {title} | values | {good} | not checkable | {good}, of the checkable |\n|---|---|---|---|---|")
    for name, row in sorted(counts.items(), key=lambda pair: -pair[1]["all"]):
        checkable = row["all"] - row["not checkable"]
        shares = [f"{100 * row[good] / size:.2f} %" if size else "–" for size in (row["all"], checkable)]
        print(f"| {name} | {row['all']:,} | {shares[0]} | {row['not checkable']} | {shares[1]} |")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure grounding on dialogues with annotated slots.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--format", choices=READERS, default="jsonl")
    parser.add_argument("--as", dest="shown", choices=("text", "messages"), default="text")
    parser.add_argument("--misses", type=int, default=0, help="how many misses of each kind to print")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    dialogues = [one for path in args.files for one in READERS[args.format](path)]
    judge, misses = Judge(args.shown), {"true": list[str](), "false": list[str]()}
    true: dict[str, dict[str, Counter[str]]] = {name: defaultdict(Counter) for name in ("corpus", "slot")}
    false: dict[str, dict[str, Counter[str]]] = {name: defaultdict(Counter) for name in ("mistake", "corpus", "slot")}
    for one in dialogues:
        for slot, (grade, found) in judge(one, one.slots).items():
            outcome = (
                "not checkable" if grade == "not checkable" else "" if found or grade not in GROUNDED else "grounded"
            )
            for rows, key in ((true["corpus"], one.corpus), (true["slot"], slot[-1]), (true["corpus"], "all")):
                rows[key].update(["all", outcome])
            if not outcome:
                misses["true"].append(f"{one.corpus} {'.'.join(slot)} = {one.slots[slot]!r}\n    {one.text!r}")
    for kind, one, slot, value in false_values(dialogues, args.seed):
        grade, found = judge(one, {**one.slots, slot: value})[slot]
        outcome = "flagged" if found else "not checkable" if grade == "not checkable" else ""
        keys = [(false["mistake"], kind)]
        if kind != "number near by":
            keys += [(false["corpus"], one.corpus), (false["slot"], slot[-1]), (false["corpus"], "all")]
        for rows, key in keys:
            rows[key].update(["all", outcome])
        if outcome != "flagged":
            misses["false"].append(f"{kind}: {one.corpus} {'.'.join(slot)} = {value!r} ({grade})\n    {one.text!r}")
    for name, rows in true.items():
        report(f"true values by {name}", rows, "grounded")
    for name, rows in false.items():
        report(f"false values by {name}", rows, "flagged")
    for name, lines in misses.items():
        for line in lines[: args.misses]:
            print(f"{name}: {line}")


if __name__ == "__main__":
    main()
