"""The contract files in the folders: lists them, and reads one with its hash and line endings.

Facts about a file are cached by its time and size, so that a list of many files is quick the second time. The first
list stops linting when its time is up, and marks the files that are not linted yet.
"""

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from trueup.contract.files.documents import KINDS, LIMITS, parse_document
from trueup.contract.files.faults import ContractError
from trueup.studio.contracts.drafts import lint_draft
from trueup.studio.contracts.kinds import extended_by, is_contract_file
from trueup.studio.places import find, name_of, top_of, walk
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import StudioSettings

MOST_FILES = 500  # files in a list
_LOOKING, _PATIENCE = 2.0, 1.0  # seconds of looking at files, and of linting, for one list
_MOST_KEPT = 25_000  # a few hundred bytes each
_BOM = b"\xef\xbb\xbf"


class ContractFileState(NamedTuple):
    """The current state of a contract file."""

    name: str
    path: Path
    raw: bytes
    text: str
    """Without a byte order mark; lines end with a line feed."""

    @property
    def hash(self) -> str:
        """The SHA-256 of its bytes, to detect changes."""
        return hashlib.sha256(self.raw).hexdigest()

    @property
    def kind(self) -> str:
        """`.yaml`, `.yml`, `.toml` or `.json`."""
        return self.path.suffix.lower()

    @property
    def data(self) -> dict[str, Any]:
        """Its data; empty if it cannot be read."""
        try:
            data = parse_document(self.text, self.name, self.kind).data
        except ContractError:
            return {}
        return data if isinstance(data, dict) else {}


class Look(NamedTuple):
    """Cached facts about a file."""

    is_contract: bool
    hash: str = ""
    name: str = ""
    title: str = ""
    extends: tuple[str, ...] = ()


Listed = tuple[str, Path, Look]
"""A file: its name, its path, and facts about it."""


class LintReport(NamedTuple):
    """The linter's report on a file."""

    errors: int
    warnings: int
    fingerprint: str
    name: str


class _Kept:
    """Values by path, each valid until one of the files that it was made from changes."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[Any, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str, mark: Any) -> Any:
        with self._lock:
            known = self._known.get(key)
            return known[1] if known is not None and known[0] == mark else None

    def put(self, key: str, mark: Any, value: Any) -> None:
        with self._lock:
            self._known[key] = (mark, value)
            self._known.move_to_end(key)
            while len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)


_looks, _healths = _Kept(), _Kept()


def open_contract(settings: StudioSettings, name: str) -> ContractFileState:
    """The contract file with a name; a Refusal if it does not exist, or is not a contract."""
    path = find(settings, name)
    if not path.is_file() or path.suffix.lower() not in KINDS:
        raise _not_a_contract(name)
    opened = _opened(name, path)
    if not is_contract_file(path, opened.text, top_of(settings, path)):
        raise _not_a_contract(name)
    return opened


def called(path: Path, *names: Any) -> str:
    """The name of a contract in the store: the first valid one of `names`, else the name of its file, as in a gateway.

    >>> called(Path("contracts/shop.yaml"), "", None), called(Path("shop.yaml"), "", "bakery")
    ('shop', 'bakery')
    """
    return next((name for name in names if name and isinstance(name, str)), path.stem)


def list_contracts(settings: StudioSettings) -> tuple[list[Listed], bool]:
    """The contract files in the folders by name, and whether the list is complete.

    Very many files take several requests.
    """
    found: list[Listed] = []
    complete = True
    until = time.monotonic() + _LOOKING
    for name, path in walk(settings, suffixes=KINDS):
        look = _look(settings, name, path, until)
        if look is None:
            complete = False
        elif look.is_contract:
            if len(found) == MOST_FILES:
                complete = False
                break
            found.append((name, path, look))
    found.sort(key=lambda each: each[0])
    return found, complete


def healths(settings: StudioSettings, listed: list[Listed]) -> Iterator[LintReport | None]:
    """The linter's report on each file; None for files that there was no time for."""
    until = time.monotonic() + _PATIENCE
    for name, path, _ in listed:
        known: tuple[Any, LintReport | None] | None = _healths.get(name, str(path))
        if known is not None and known[0] == _marks(path for path, _ in known[0]):
            yield known[1]
        else:
            yield _health(settings, name, path) if time.monotonic() < until else None


Bases = Mapping[str, set[str]]
"""The contracts that extend each file, by its name."""


def bases_of(settings: StudioSettings, listed: list[Listed]) -> Bases:
    """The files that each contract extends."""
    bases: dict[str, set[str]] = {}
    for name, path, look in listed:
        for given in look.extends:
            base = name_of(settings, path.parent / given)
            if base is not None:
                bases.setdefault(base, set()).add(name)
    return bases


def extenders(bases: Bases, name: str) -> list[str]:
    """The contracts that extend a file, directly or through another one."""
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        fresh = bases.get(waiting.pop(), set()) - reached - {name}
        reached |= fresh
        waiting += fresh
    return sorted(reached)


def line_ends(raw: bytes) -> str:
    """The line endings of a file: `lf`, `crlf` or `mixed`.

    >>> line_ends(b"a\\r\\nb\\r\\n"), line_ends(b"a\\n"), line_ends(b"a\\r\\nb\\n")
    ('crlf', 'lf', 'mixed')
    """
    both, feeds, returns = raw.count(b"\r\n"), raw.count(b"\n"), raw.count(b"\r")
    if both == feeds == returns and both:
        return "crlf"
    return "mixed" if returns else "lf"


def _opened(name: str, path: Path) -> ContractFileState:
    most = LIMITS[path.suffix.lower()] * 4
    try:
        with path.open("rb") as opened:
            raw = opened.read(most + 1)
    except OSError as error:
        raise RequestRefused(404, f"{name} cannot be read: {error.strerror}.", code="no_file") from None
    if len(raw) > most:
        raise RequestRefused(413, f"{name} is too large for a contract.", code="too_large")
    try:
        text = raw.removeprefix(_BOM).decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise RequestRefused(422, f"{name} is not UTF-8.", code="not_utf8", hint="Save it as UTF-8.") from None
    return ContractFileState(name, path, raw, text)


def _look(settings: StudioSettings, name: str, path: Path, until: float) -> Look | None:
    mark = _mark(path)
    known: Look | None = _looks.get(str(path), mark)
    if known is None and time.monotonic() < until:
        known = _looked(settings, name, path)
        _looks.put(str(path), mark, known)
    return known


def _looked(settings: StudioSettings, name: str, path: Path) -> Look:
    try:
        opened = _opened(name, path)
    except RequestRefused:
        return Look(is_contract=False)
    if not is_contract_file(path, opened.text, top_of(settings, path)):
        return Look(is_contract=False)
    data = opened.data
    name, title = _text(data.get("name")), _text(data.get("description"))
    return Look(is_contract=True, hash=opened.hash, name=name, title=title, extends=tuple(extended_by(data)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _health(settings: StudioSettings, name: str, path: Path) -> LintReport | None:
    read: set[Path] = {path}
    try:
        linted = lint_draft(settings, _opened(name, path).text, name, read)
    except RequestRefused:
        return None
    marks = _marks(sorted(read))
    errors = sum(each.level == "error" for each in linted.faults)
    contract = linted.contract
    fingerprint, called = ("", "") if contract is None else (contract.fingerprint, contract.name)
    health = LintReport(errors, len(linted.faults) - errors, fingerprint, called)
    _healths.put(name, str(path), (marks, health))
    return health


def _marks(paths: Iterable[Path]) -> list[tuple[Path, Any]]:
    """The time and size of each file, to detect changes."""
    return [(path, _mark(path)) for path in paths]


def _mark(path: Path) -> Any:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def _not_a_contract(name: str) -> RequestRefused:
    return RequestRefused(
        404, f"{name[:200]} is not a contract file.", code="not_a_contract",
        hint=f"A contract ends in {', '.join(KINDS[:-1])} or {KINDS[-1]} and has a part such as schema, rules or states.",
    )  # fmt: skip
