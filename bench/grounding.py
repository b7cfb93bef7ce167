"""How often grounding is right: true values that are found in their text, and false ones that are flagged.

python bench/grounding.py [--documents N] [--seed N] [--language L] [--half dev|held|both] [--failures N] [--json] [--markdown PAGE]

The material is invented records, written as text in seven languages and twelve formats (`grounding_records`, `grounding_texts`), and
copies of them with one false leaf (`grounding_false`). Templates and word lists come in two halves: tune on `dev`, never on `held`.
A page's tables are written between its two markers. `--quick` leaves out the speed and the peer.
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import grounding_peer
import grounding_speed
from grounding_false import KINDS, Case
from grounding_records import HALVES, LANGUAGES
from grounding_run import Engine, Outcome, all_cases, judge
from grounding_texts import FORMATS
from trueup.statistics.proportions import wilson

MARKERS = ("<!-- figures -->", "<!-- end of figures -->")
NAMES = {
    "en": "English", "es": "Spanish", "de": "German", "zh": "Chinese", "ja": "Japanese", "fr": "French", "pt": "Portuguese",
}  # fmt: skip
VALUES = ("integer", "amount", "percent", "measure", "date", "time", "name", "string", "id", "phone", "quotation")


class Count:
    """Right answers of a kind, and those that were not checkable."""

    def __init__(self) -> None:
        self.right = self.all = self.unchecked = 0

    def add(self, one: Outcome) -> None:
        self.all += 1
        self.right += bool(one.right)
        self.unchecked += one.grade == "not checkable"

    @property
    def share(self) -> float:
        return self.right / self.all if self.all else 0.0

    def cell(self) -> str:
        if not self.all:
            return "–"
        low, high = wilson(self.right, self.all)
        return f"{100 * self.share:.2f} % ({100 * low:.1f}–{100 * high:.1f})"


class Tally:
    """Outcomes by language, half, kind of value, kind of mistake, format and surface form."""

    def __init__(self) -> None:
        self.true: dict[tuple[str, str], Count] = defaultdict(Count)
        self.false: dict[tuple[str, str], Count] = defaultdict(Count)
        self.flags: Counter[str] = Counter()
        self.documents: set[str] = set()
        self.of: Counter[str] = Counter()

    def add(self, one: Outcome) -> None:
        if one.document not in self.documents:
            self.documents.add(one.document)
            self.of[one.language] += 1
        if one.right is None:
            self.flags["flagged" if one.codes else one.grade] += one.kind == "true"
            return
        held = self.false if one.kind != "true" else self.true
        form = f"{one.language} {one.value_kind} {one.form}"
        keys = [
            ("all", "all"),
            ("language", one.language),
            ("half", one.half),
            ("value", one.value_kind),
            ("format", one.format),
        ]
        keys += [
            ("kind", one.kind),
            ("form", form),
            ("domain", one.domain),
            ("kind and value", f"{one.kind} {one.value_kind}"),
        ]
        for key in keys:
            held[key].add(one)

    def precision(self) -> float:
        """The share of false ones among the flagged leaves."""
        caught = self.false["all", "all"].right
        alarms = self.true["all", "all"].all - self.true["all", "all"].right
        return caught / (caught + alarms) if caught + alarms else 0.0

    def plain(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "documents": len(self.documents),
            "precision": self.precision(),
            "flags": dict(self.flags),
        }
        for name, held in (("recall", self.true), ("detection", self.false)):
            part: dict[str, Any] = {}
            for (group, key), count in sorted(held.items()):
                row = {
                    "right": count.right,
                    "all": count.all,
                    "share": round(count.share, 5),
                    "not checkable": count.unchecked,
                }
                part.setdefault(group, {})[key] = row
            out[name] = part
        return out


def tables(tally: Tally) -> str:
    """The figures as Markdown."""
    true, false = tally.true, tally.false

    def block(title: str, group: str, keys: Iterable[str], name: Callable[[str], str] = str) -> list[str]:
        lines = [
            f"| {title} | true values | grounded | false values | flagged | not checkable |",
            "|---|---|---|---|---|---|",
        ]
        for key in keys:
            one, other = true[group, key], false[group, key]
            if one.all or other.all:
                unchecked = one.unchecked + other.unchecked
                lines.append(
                    f"| {name(key)} | {one.all:,} | {one.cell()} | {other.all:,} | {other.cell()} | {unchecked:,} |"
                )
        return [*lines, ""]

    kinds = ["| mistake | false values | flagged | not checkable |", "|---|---|---|---|"]
    for key in KINDS:
        count = false["kind", key]
        if count.all:
            kinds.append(f"| {key} | {count.all:,} | {count.cell()} | {count.unchecked:,} |")
    flags = ", ".join(f"{key} {number:,}" for key, number in sorted(tally.flags.items())) or "none"
    summary = (
        f"{len(tally.documents):,} documents. {100 * tally.precision():.2f} % of all flagged leaves are false. "
        f"Booleans, which no text can show: {flags}."
    )
    return "\n".join(
        [
            summary,
            "",
            *block("all", "all", ["all"], lambda _: "all"),
            *block("language", "language", LANGUAGES, NAMES.__getitem__),
            *block("half", "half", HALVES),
            *block("kind of value", "value", VALUES),
            *kinds,
            "",
            *block("format", "format", FORMATS),
        ]
    )


def excerpt(case: Case, one: Outcome) -> str:
    """The text around the place of a leaf."""
    text = case.document.text
    at = text.find(one.said) if one.said else 0
    return " ".join(text[max(0, at - 70) : at + len(one.said) + 70].split())


def told(case: Case, one: Outcome) -> str:
    expected = "grounded" if one.kind == "true" else f"flagged ({one.kind})"
    found = f"{one.grade}{' ' + ','.join(one.codes) if one.codes else ''}"
    return (
        f"{one.document} {one.domain}/{one.format} {one.path} = {json.dumps(one.value, ensure_ascii=False)} [{one.value_kind}: {one.form}]\n"
        f"    said {one.said!r}; expected {expected}, found {found}\n    … {excerpt(case, one)} …"
    )


def run(options: Any, engine: Any) -> tuple[Tally, list[str]]:
    tally, failures = Tally(), []
    languages = LANGUAGES if options.language is None else (options.language,)
    halves: Sequence[str] = HALVES if options.half == "both" else (options.half,)
    for case, one in judge(all_cases(options.seed, options.documents, languages, halves), engine):
        tally.add(one)
        shown = (
            one.half == "dev" or options.half == "held"
        )  # the held half shows its misses only when asked for by name
        wanted = options.only in (None, one.kind, one.value_kind, one.format)
        if one.right is False and shown and wanted and len(failures) < options.failures:
            failures.append(told(case, one))
    return tally, failures


def write(page: Path, figures: str) -> None:
    text = page.read_text("utf-8")
    head, rest = text.split(MARKERS[0])
    page.write_text(f"{head}{MARKERS[0]}\n\n{figures}\n{MARKERS[1]}{rest.split(MARKERS[1])[1]}", "utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--language", choices=LANGUAGES)
    parser.add_argument("--half", choices=[*HALVES, "both"], default="both")
    parser.add_argument(
        "--failures", type=int, default=0, help="print the first misses, of `held` only with --half held"
    )
    parser.add_argument("--only", help="of these, only one kind of mistake (or `true`), kind of value, or format")
    parser.add_argument("--quick", action="store_true", help="no speed, no peer")
    parser.add_argument("--peer", type=Path, help="a Python in which LangExtract is installed; this one if not given")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", type=Path, help="the page to write the figures into")
    options = parser.parse_args(arguments)
    tally, failures = run(options, Engine())
    for failure in failures:
        print(failure)
    speed = None if options.quick else grounding_speed.measure()
    peer = None if options.quick else grounding_peer.measure(options.peer, options.seed)
    if options.json:
        print(json.dumps({**tally.plain(), "speed": speed, "peer": peer}, ensure_ascii=False, indent=1))
        return 0
    figures = tables(tally)
    if speed is not None:
        figures += "\n" + grounding_speed.table(speed)
    if peer is not None:
        figures += "\n" + grounding_peer.table(peer)
    if options.markdown:
        write(options.markdown, figures)
    else:
        print(figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
