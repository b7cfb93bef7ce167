"""The rules: our own habits from `rules.toml`, registered in addition to those of proselint that suit a technical text."""

import functools
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from proselint.checks import __register__ as their_checks
from proselint.registry import CheckRegistry
from proselint.registry.checks import Check, CheckResult
from proselint.registry.checks.engine import Fast, RegexOptions

OURS = "trueup"

# proselint's checks, by prefix. Longer prefixes come first, as its registry expects.
THEIRS = {
    "typography.symbols.curly_quotes": False,  # code and messages quote with straight quotes
    "typography.symbols.ellipsis": False,  # `...` is Python's, and a model's
    "typography.diacritical_marks": False,  # mistakes the verb "resume" for a curriculum vitae
    "misc.capitalization.days": False,  # files and words in tables are named `monday`
    "misc.preferred_forms": False,  # takes a second, and finds `ne` and `sans` in lists of foreign words
    "misc.composition": False,  # "did not succeed" is not "failed": the call may still be running
    "misc.phrasal_adjectives": False,  # names of codes, such as `only-field`
    "redundancy.misc.after_the_deadline": False,  # "enter in", "point in time"
    "cliches.misc.write_good": False,  # "in a word" is meant literally
    "cliches": True,
    "dates_times": False,  # replies contain "2:10 pm"
    "archaism": False,  # its engine finds "or eve" in "for every"
    "hedging": True,
    "industrial_language": False,  # mistakes `B4` for chat
    "lexical_illusions": True,
    "malapropisms": True,
    "misc": True,
    "mixed_metaphors": True,
    "mondegreens": True,
    "needless_variants": False,  # "also" in a list
    "nonwords": True,
    "oxymorons": True,
    "psychology": True,
    "redundancy": True,
    "spelling": False,  # both spellings occur as data
    "terms": True,
    "uncomparables": False,  # takes 3 seconds, and "most whole replies" is not one
    "weasel_words": False,  # "very" is rare here, and mostly right
    OURS: True,
}


@dataclass(frozen=True)
class Rule:
    """One habit: its patterns, what to write instead, and examples of both."""

    name: str
    find: list[str]
    say: str
    why: str
    before: str
    after: str
    quiet: list[str]
    fires: list[str] = field(default_factory=list)
    unless: list[str] = field(default_factory=list)
    unless_before: list[str] = field(default_factory=list)
    unless_next: list[str] = field(default_factory=list)
    case: bool = False
    headings: bool = True
    least_words: int = 0

    def check(self, text: str, check: Check) -> Iterator[CheckResult]:
        """The matches of the rule in `text`, as results of proselint."""
        patterns = "|".join(self.find)
        for match in check.engine.finditer(rf"(?m)(?:\b|^)(?:{patterns})(?:\b|$)", text):
            start, end = match.span()
            lead = len(match.group(0)) - len(match.group(0).lstrip(" .!?:;\n|"))
            if not self._is_fine(text, start, end):
                yield CheckResult(check.path, check.message, (start + lead, end), None)

    def _is_fine(self, text: str, start: int, end: int) -> bool:
        words = text[start:end]
        before, following = text[max(0, start - 40) : start], text[end : end + 60]
        return (
            len(words.split()) < self.least_words
            or any(_compiled(pattern).fullmatch(words) for pattern in self.unless)
            or any(_compiled(pattern + "$").search(before) for pattern in self.unless_before)
            or any(_compiled(pattern).match(following) for pattern in self.unless_next)
        )

    @property
    def registered(self) -> Check:
        """The rule as a check of proselint."""
        engine = Fast(RegexOptions(case_insensitive=not self.case))
        return Check(self.check, engine, f"{OURS}.{self.name}", self.say)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


@functools.cache
def rules() -> dict[str, Rule]:
    """Our rules by name, in the order of the table."""
    table = tomllib.loads(Path(__file__).with_name("rules.toml").read_text("utf-8"))
    return {name: Rule(name=name, **row) for name, row in table.items()}


@functools.cache
def checks() -> list[Check]:
    """Every check that runs: ours, and those of proselint that are switched on."""
    registry = CheckRegistry()
    registry.register_many((*their_checks, *(rule.registered for rule in rules().values())))
    ordered = dict(sorted(THEIRS.items(), key=lambda item: item[0].count("."), reverse=True))
    return list(registry.get_all_enabled(ordered))
