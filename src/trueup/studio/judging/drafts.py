"""Drafts: takes the text of a contract from a browser and returns its faults, and the contract if it has no errors.

The linter is the same as for files. A text that belongs to a file of the studio may extend and name files near it, but
only inside the studio's folders, whatever links or dots a path has. Any other text cannot name files. A contract is
data and contains no Python. It can name checks that installed packages offer under the entry point `trueup.checks`,
with options, but not classes or modules. Compiled drafts are kept, so that typing in the reply compiles nothing; a
draft is compiled again when one of its files has changed.
"""

import contextlib
import hashlib
import os
import re
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

from trueup.contract.files.documents import KINDS, Barred, SourceFile
from trueup.contract.files.faults import Fault
from trueup.contract.lint.run import Linted, lint_contract
from trueup.studio.contracts.naming import bar_private
from trueup.studio.judging.schemas import is_schema, lint_schema
from trueup.studio.judging.units import OffsetUnits
from trueup.studio.places import find, name_of
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import StudioSettings

_KEPT = 32  # compiled drafts
_ANY = "schema: true\n"  # the meaning of an empty text: any JSON value
_UNNAMED = "contract"
_OUTSIDE = "Only files inside the studio's folders are read."
_NO_FILE = (
    "A contract that is not a file of the studio cannot name other files. Put the schema and the tools into its text."
)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\'|[^\s:,#{}\[\]"\'][^:,#{}\[\]\n]*')
_NAME = re.compile(r"[\w.]+|\W")
_QUOTED = re.compile(r"(?<=[\s:\[{,=])[\"']")  # where a text in quotes starts
_IN_EXPRESSIONS = frozenset({"N012", "N013", "N026", "N040"})

Stamp = tuple[int, int, int] | None


class LintedDraft(NamedTuple):
    """A contract text after lint, and its name in faults."""

    linted: Linted
    text: str
    name: str


class Finder:
    """Decides which files a draft may read, and records which ones it requested."""

    def __init__(self, settings: StudioSettings, path: Path, name: str, text: str, *, alone: bool) -> None:
        self._settings = settings
        self.path = path
        self.name = name
        self._text = text
        self._alone = alone
        self.asked: dict[Path, Stamp] = {}

    def __call__(self, path: Path) -> SourceFile:
        if path == self.path:
            return SourceFile(path, self.name, self._text)
        if self._alone:
            raise Barred(_NO_FILE)
        self.asked[path] = _stamp(path)
        name = name_of(self._settings, path)
        if name is None:
            raise Barred(_OUTSIDE)
        try:
            real = find(self._settings, name)
        except RequestRefused:
            real = path.resolve()
            if os.path.lexists(real):  # hidden, or barred from the studio
                raise Barred(_OUTSIDE) from None
        bar_private(self._settings, real)
        return SourceFile(real, self.name, self._text) if real == self.path else SourceFile(real, name)


class _Kept(NamedTuple):
    draft: LintedDraft
    asked: dict[Path, Stamp]


_kept: "OrderedDict[tuple[Any, ...], _Kept]" = OrderedDict()
_lock = threading.Lock()


def draft(
    settings: StudioSettings, text: str, kind: str = ".yaml", file: str = "", *, tolerant: bool = False
) -> LintedDraft:
    """The draft in a text. `file` is the name of its file; `kind` is the suffix if it has no file.

    With `tolerant`, a bare JSON Schema is used as the schema of a contract, with a warning.
    """
    path, name = place_of(settings, kind, file)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    key = (settings.folders, path, file, tolerant, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    with _lock:
        kept = _kept.get(key)
        if kept is not None:
            _kept.move_to_end(key)
    if kept is None or any(_stamp(asked) != stamp for asked, stamp in kept.asked.items()):
        kept = _compiled(
            Finder(settings, path, name, text if text.strip() else _any(path), alone=not file), text, tolerant=tolerant
        )
        with _lock:
            _kept[key] = kept
            while len(_kept) > _KEPT:
                _kept.popitem(last=False)
    return kept.draft


def place_of(settings: StudioSettings, kind: str, file: str) -> tuple[Path, str]:
    """The path that a text is read at, and its name in faults."""
    if kind.lower() not in KINDS:
        raise RequestRefused(400, f"A contract must be one of {', '.join(KINDS)}; got {kind[:20]!r}.")
    path = find(settings, file) if file else Path(f"{_UNNAMED}{kind.lower()}")
    if path.suffix.lower() not in KINDS or path.is_dir():
        raise RequestRefused(
            400, f"{file[:200]!r} is not a contract file.", hint=f"Its name ends in {', '.join(KINDS)}."
        )
    return path, file or path.name


def _compiled(finder: Finder, text: str, *, tolerant: bool) -> _Kept:
    linted = lint_contract(finder.path, find=finder)
    if tolerant and linted.contract is None and is_schema(text, finder.path.suffix.lower()):
        linted = lint_schema(text, finder.path, finder.name)
    if linted.contract is not None:
        with contextlib.suppress(Exception, SystemExit):  # any problem is reported by the check of the reply
            linted.contract.check("{}")  # the first check compiles the schema
    return _Kept(LintedDraft(linted, text, finder.name), finder.asked)


def _any(path: Path) -> str:
    return {".json": '{"schema": true}', ".toml": "schema = true\n"}.get(path.suffix.lower(), _ANY)


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return (found.st_ino, found.st_mtime_ns, found.st_size)


def faults(drafted: LintedDraft, more: tuple[Fault, ...] = ()) -> list[dict[str, Any]]:
    """The faults of a draft as the page shows them: columns in UTF-16 units, and the end of each fault's place."""
    lines = drafted.text.split("\n")
    return [_shown(one, lines, drafted.name) for one in (*drafted.linted.faults, *more)]


def _shown(one: Fault, lines: list[str], name: str) -> dict[str, Any]:
    own = one.file == name
    line = lines[one.line - 1] if own and one.line <= len(lines) else ""
    start = min(one.column - 1, len(line)) if own else one.column - 1
    units = OffsetUnits(line)
    return {
        "code": one.code, "level": one.level, "message": one.message, "hint": one.hint, "path": one.path,
        "line": one.line, "column": units.of(start) + 1, "end_line": one.line, "end_column": units.of(_end(line, start, one.code)) + 1,
        "of": "contract", **({} if own else {"file": one.file}),
    }  # fmt: skip


def _end(line: str, start: int, code: str) -> int:
    """The end of the word or text that starts in a line.

    Inside an expression the end of the name, unless only its quotes are known.
    """
    is_name = code in _IN_EXPRESSIONS and not _QUOTED.match(line, start)
    token = (_NAME if is_name else _TOKEN).match(line, start)
    end = len(line[: token.end()].rstrip()) if token is not None else start + 1
    return min(max(end, start + 1), max(len(line), start))
