"""Ready checks in a contract: a name of the shelf and its options enter, a check that judges verdicts leaves.

They see the reply's text without reasoning and without calls that leaked into it, and give findings with places in that text. Options
are read when the contract is made: a bad one, a file that cannot be read or a package that is missing is an error there.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from trueup.checks.spoken import visible
from trueup.checks.steps import Steps
from trueup.contract.meaning import prose
from trueup.contract.outcome import Outcome
from trueup.shelf.options import BadOption
from trueup.shelf.seen import MOST, Seen
from trueup.shelf.table import SHELF, Ready, level_of, load, options_of
from trueup.verdict.catalogue import FINDINGS, FindingKind, Level
from trueup.verdict.facts import Finding
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.contract.files.documents import Source

_MOST_FILE = 1_000_000  # characters of a file of terms


class ShelfCheck:
    """A ready check with its options, as a contract keeps it."""

    __slots__ = ("_look", "kind", "level", "name", "options")
    awaits = False

    def __init__(self, row: Ready, options: Mapping[str, Any]) -> None:
        self.name = row.name
        self.options = dict(options)
        self.level = cast("Level", level_of(row, options))
        self.kind: FindingKind = FINDINGS[row.code]
        self._look = load(row, options)

    @property
    def function(self) -> str:
        """What the fingerprint knows it by."""
        return f"trueup.shelf:{self.name}"

    def judge(self, verdict: Verdict, context: Mapping[str, Any]) -> Steps[Outcome]:
        """What the check finds; it never waits."""
        yield from ()  # a check is a generator, since others may wait
        return Outcome(list(self._found(verdict, context)))

    def _found(self, verdict: Verdict, context: Mapping[str, Any]) -> Iterator[Finding]:
        data = None if isinstance(verdict.data, str) else verdict.data
        for told in islice(self._look(Seen(shown(verdict), context, data)), MOST):
            yield Finding(
                told.code or self.kind.code, "$", told.message, told.span, dict(told.data), told.hint, self.level
            )


def shown(verdict: Verdict) -> str:
    """The text of a reply as the user sees it, with blanks where reasoning and leaked calls are: places stay what they are."""
    text = prose(verdict, keep_places=True).text
    seen = visible(text)
    return text if len(seen) == len(text) else seen.rjust(len(text))


def read_ready(name: str, given: Any) -> tuple[ShelfCheck, ...]:
    """The ready checks that a name of the shelf stands for, with what a contract gives beside it."""
    row = SHELF[name]
    options = options_of(row, given)
    if row.group:
        return tuple(_grouped(row, options))
    if row.name == "terms" and options.get("file") is not None:
        options = _with_file(options, options["file"])
    try:
        return (ShelfCheck(row, options),)
    except BadOption as error:
        if isinstance(given, Mapping):
            raise
        raise BadOption(str(error).replace(f"{name}.{row.main}:", f"{name}:", 1)) from None


def _with_file(options: Mapping[str, Any], path: Any) -> dict[str, Any]:
    from trueup.contract.files.documents import anywhere

    if not isinstance(path, str | Path):
        raise BadOption(f"terms.file: takes the path of a file; got {path!r:.60}")
    return with_terms(options, anywhere(Path(path)))


def _grouped(row: Ready, options: Mapping[str, Any]) -> Iterator[ShelfCheck]:
    """The checks of a group; `region` is for telephone numbers, `allow` for e-mail addresses, `level` for all."""
    for key in options:
        if key not in ("level", "region", "allow"):
            raise BadOption(f"{row.name}.{key}: not an option of {row.name}; it takes level, region, allow")
    taken = {"no_phone": ("level", "region"), "no_email": ("level", "allow")}
    for name in row.group:
        mine = {key: value for key, value in options.items() if key in taken.get(name, ("level",))}
        try:
            yield ShelfCheck(SHELF[name], mine)
        except BadOption as error:
            raise BadOption(f"{row.name}{str(error).removeprefix(name)}") from None


def with_terms(options: Mapping[str, Any], source: "Source") -> dict[str, Any]:
    """The options of `terms` with those of a file put in: lines of text, or a list or a mapping in JSON, YAML or TOML."""
    try:
        held = _terms_in(source)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadOption(f"terms.file: {options['file']!r:.120}: {said}") from None
    merged = {key: value for key, value in options.items() if key != "file"}
    for key, terms in held.items():
        before = merged.get(key) or []
        if isinstance(before, str | list | tuple):  # anything else is reported where the option is read
            merged[key] = [*([before] if isinstance(before, str) else before), *terms]
    return merged


def _terms_in(source: "Source") -> dict[str, list[str]]:
    """The terms in a file; ValueError if it holds something else."""
    from trueup.contract.files.documents import KINDS, read_source  # loaded where a contract has terms in a file
    from trueup.contract.files.faults import ContractError
    from trueup.shelf.terms import read_terms

    if source.path.suffix.lower() in KINDS:
        try:
            return read_terms(read_source(source).data)
        except ContractError as error:
            raise ValueError(error.faults[0].message) from None
    if source.text is not None:
        return read_terms(source.text)
    if source.path.stat().st_size > _MOST_FILE:
        raise ValueError(f"the file is longer than {_MOST_FILE:,} bytes")
    return read_terms(source.path.read_text("utf-8"))
