"""Ready checks in a contract: takes a name from the shelf and its options, and returns a check that judges verdicts.

They see the reply's text without reasoning and leaked calls, each string of its value, and, on request, the arguments
of its calls. Options are read when the contract is made: a bad option, an unreadable file or a missing package is an
error then.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from trueup.checks.conversation import visible
from trueup.checks.steps import Steps
from trueup.contract.meaning.meaning import prose
from trueup.contract.meaning.outcome import CheckOutcome
from trueup.contract.meaning.strings import ScalarText, Strings, leaves_of
from trueup.shelf.options import COMMON, BadOption, OptionReader
from trueup.shelf.reading import ReadText
from trueup.shelf.subject import MOST, NOT_JUDGED, CheckedText, ReadyFinding, not_judged
from trueup.shelf.table import SHELF, Ready, level_of, load, options_of, reads_calls
from trueup.verdict.catalogue import FINDINGS, FindingKind, Level
from trueup.verdict.facts import Finding, Span
from trueup.verdict.paths import Parts, render
from trueup.verdict.reply import ToolCall
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.contract.files.documents import SourceFile

_MOST_FILE = 1_000_000  # characters of a file of terms


class _Place(NamedTuple):
    """A finding of a check, and its place."""

    told: ReadyFinding
    path: str = "$"
    span: Span | None = None
    said: str = ""
    """The text at that place; empty if the finding has no place."""


class ShelfCheck:
    """A ready check with its options, as a contract keeps it."""

    __slots__ = ("_calls", "_look", "_wants", "kind", "level", "name", "options", "row")
    awaits = False

    def __init__(self, row: Ready, options: Mapping[str, Any]) -> None:
        self.row = row
        self.name = row.name
        self.options = dict(options)
        self.level = cast("Level", level_of(row, options))
        self.kind: FindingKind = FINDINGS[row.code]
        self._calls = reads_calls(row, options)
        self._wants = _wanted(row, options)
        self._look = load(row, options)

    @property
    def function(self) -> str:
        """Its part of the fingerprint."""
        return f"trueup.shelf:{self.name}"

    def judge(self, verdict: Verdict, context: Mapping[str, Any]) -> Steps[CheckOutcome]:
        """The findings of the check; it never waits."""
        yield from ()  # a check is a generator, since others may wait
        places = list(islice(self._places(verdict, context), MOST + 1))
        if len(places) > MOST:
            places[MOST] = _Place(not_judged(f"what comes after the first {MOST} findings of {self.name}"))
        return CheckOutcome([self._finding(*place[:3]) for place in places])

    def _finding(self, told: ReadyFinding, path: str, span: Span | None) -> Finding:
        level = "warning" if told.code == NOT_JUDGED else self.level
        return Finding(told.code or self.kind.code, path, told.message, span, dict(told.data), told.hint, level)

    def _places(self, verdict: Verdict, context: Mapping[str, Any]) -> Iterator[_Place]:
        seen = CheckedText(shown(verdict), context, verdict.data)
        if self.row.plain:
            yield from self._signs(seen)
        else:
            yield from self._wholes(seen)
        if self._calls:
            for call in verdict.calls if verdict.calls or verdict.refused else verdict.reply.calls:
                yield from self._in_strings(Strings(_arguments(call)), context)

    def _signs(self, seen: CheckedText) -> Iterator[_Place]:
        """The findings in the text and in the strings of the value; one that is in both is reported once."""
        in_text = [
            _Place(told, "$", told.span, _said(seen.text, told.span, is_json=True))
            for told in islice(self._look(seen), MOST + 1)
        ]
        if seen.data is not None:
            for place in self._in_strings(Strings(leaves_of(seen.data), self._wants), seen.context):
                if place.said:
                    same = next((at for at, one in enumerate(in_text) if _is_same(one.said, place.said)), None)
                    yield place if same is None else place._replace(span=in_text.pop(same).span)
                elif self._wants:
                    yield place
        if self._wants is None:
            yield from in_text

    def _in_strings(self, strings: Strings, context: Mapping[str, Any]) -> Iterator[_Place]:
        """The findings in strings; a place in them is a path, without a span in the reply's text."""
        for told in self._look(CheckedText(strings.text, context)):
            path = render(strings.path(told.span[0])) if told.span else "$"
            yield _Place(told, path, None, _said(strings.text, told.span))

    def _wholes(self, seen: CheckedText) -> Iterator[_Place]:
        """The problem with the text as a whole, or with the strings of the value."""
        if isinstance(seen.data, str) and seen.data:
            at = seen.text.find(seen.data)  # the reply is a text, with or without quotes
            for told in self._look(CheckedText(seen.data, seen.context)):
                yield _Place(told, "$", None if at < 0 or not told.span else (at + told.span[0], at + told.span[1]))
        elif seen.data is None:
            yield from () if self._wants else (_Place(told, "$", told.span) for told in self._look(seen))
        else:
            leaves = [
                leaf for leaf in leaves_of(seen.data, names=False) if self._wants is None or self._wants(leaf.path)
            ]
            if self.row.name == "language":
                yield from map(_Place, self._look(seen._replace(data=[leaf.text for leaf in leaves])))
            else:
                for leaf in leaves:
                    part = CheckedText(leaf.text, seen.context, None if self._wants else leaf.text)
                    yield from (_Place(told, render(leaf.path)) for told in self._look(part))


def _is_same(one: str, other: str) -> bool:
    """Whether two matches are about the same thing: in a text, a match may include the field's name."""
    return bool(one) and (other in one or one in other)


def _said(text: str, span: Span | None, *, is_json: bool = False) -> str:
    return "" if span is None else ReadText(text[slice(*span)], is_json=is_json).text


def _arguments(call: ToolCall) -> list[ScalarText]:
    """The arguments of calls."""
    return leaves_of(call.raw_args if call.args is None else call.args, ("calls", call.index, "args"))


def _wanted(row: Ready, options: Mapping[str, Any]) -> Callable[[Parts], bool] | None:
    """The fields of a value that are judged; None: all of them, and the text around the value."""
    given = options.get("fields")
    if given is None:
        return None
    listed: Sequence[Any] = [given] if isinstance(given, str) else given
    if not isinstance(listed, list | tuple) or not listed or not all(isinstance(one, str) and one for one in listed):
        raise BadOption(f"{row.name}.fields: takes a field or a list of fields; got {given!r:.60}")
    from trueup.grounding.settings import BadGrounding, covers, read_field  # loaded only if a check names fields

    try:
        patterns = [read_field(one) for one in listed]
    except BadGrounding as error:
        raise BadOption(f"{row.name}.{error}") from None
    return lambda path: any(covers(pattern, path) for pattern in patterns)


def shown(verdict: Verdict) -> str:
    """A reply's text as the user sees it; spaces replace reasoning and leaked calls, so that positions stay valid."""
    text = prose(verdict, keep_places=True).text
    seen = visible(text)
    return text if len(seen) == len(text) else seen.rjust(len(text))


def read_ready(name: str, given: Any) -> tuple[ShelfCheck, ...]:
    """The ready checks for a name of the shelf, with the options from the contract."""
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
    """The checks of a group; `region` is for telephone numbers, `allow` for e-mail addresses, others are for all."""
    OptionReader(row.name, {key: value for key, value in options.items() if key not in COMMON}, ("region", "allow"))
    own = {"no_phone": "region", "no_email": "allow"}
    for name in row.group:
        mine = {key: value for key, value in options.items() if key in (*COMMON, own.get(name))}
        try:
            yield ShelfCheck(SHELF[name], mine)
        except BadOption as error:
            raise BadOption(f"{row.name}{str(error).removeprefix(name)}") from None


def with_terms(options: Mapping[str, Any], source: "SourceFile") -> dict[str, Any]:
    """The options of `terms` with the terms from a file: lines of text, or data in JSON, YAML or TOML."""
    try:
        held = _terms_in(source)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadOption(f"terms.file: {options['file']!r:.120}: {said}") from None
    merged = {key: value for key, value in options.items() if key != "file"}
    for key, terms in held.items():
        before = merged.get(key) or []
        if isinstance(before, str | list | tuple):  # anything else is reported when the option is read
            merged[key] = [*([before] if isinstance(before, str) else before), *terms]
    return merged


def _terms_in(source: "SourceFile") -> dict[str, list[str]]:
    """The terms in a file; raises ValueError for any other content."""
    from trueup.contract.files.documents import KINDS, read_source  # loaded only if a contract has terms in a file
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
