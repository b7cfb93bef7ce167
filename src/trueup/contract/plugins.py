"""Custom checks: Python functions with their own codes, which contracts use by name.

A check takes a verdict and the context, and yields findings and metrics; it may be asynchronous. A ValueError or an
AssertionError refuses the reply; any other exception is a bug in the check, and is raised with a note that names its
line. Packages offer checks through the entry point group `trueup.checks`; nothing is imported before a contract or
`trueup explain` asks for it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from itertools import islice
from pathlib import Path
from typing import Any

from trueup.checks.custom import checked_metrics
from trueup.checks.steps import MOST, Steps, is_async, pending, refuse, run
from trueup.contract.meaning.outcome import CheckOutcome
from trueup.contract.meaning.ready_checks import ShelfCheck, read_ready
from trueup.shelf.options import BadOption
from trueup.shelf.table import SHELF
from trueup.verdict.bugs import is_fault, pointed, refusal
from trueup.verdict.catalogue import FINDINGS, FIXES, OWN, FindingKind, Level
from trueup.verdict.facts import Finding, Span, finding
from trueup.verdict.likeness import nearest
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.verdict import Verdict

GROUP = "trueup.checks"
Context = Mapping[str, Any]
Found = Iterable[Finding | str | Mapping[str, Any]] | None
Judging = Callable[..., Any]  # returns its findings, or an awaitable of them

_CODE = lazy_regex(r"[A-Z]{2,3}\d{3}\Z")
_NAME = lazy_regex(r"[a-z][a-z0-9-]*\Z")


class NoSuchCheck(ValueError):
    """No installed package offers a check with that name, or the offered one cannot be used."""


class CustomCheck:
    """A function that judges, with the code, name and page of its finding; made by `@check`.

    `function` is the function itself, `kind` the code, name, level and title of its finding, `page` its Markdown (if
    empty, one is made from the docstring), and `options` are passed to the function by name.
    """

    __slots__ = ("_page", "function", "kind", "options")

    def __init__(self, function: Judging, kind: FindingKind, page: str, options: Mapping[str, Any]) -> None:
        self.function = function
        self.kind = kind
        self._page = page
        self.options = options

    @property
    def code(self) -> str:
        """The code of its finding."""
        return self.kind.code

    @property
    def name(self) -> str:
        """The name of its finding, by which contracts use the check."""
        return self.kind.name

    def finding(
        self,
        message: str,
        path: str = "$",
        span: Span | None = None,
        data: dict[str, Any] | None = None,
        hint: str = "",
    ) -> Finding:
        """A finding of this check; `message`, `path`, `span`, `data` and `hint` are the same as for `Finding`."""
        return Finding(self.code, path, message, span, data or {}, hint, self.kind.level)

    def using(self, options: Mapping[str, Any]) -> "CustomCheck":
        """The same check with further `options`, passed to the function by name."""
        return CustomCheck(self.function, self.kind, self._page, {**self.options, **options})

    def page(self) -> str:
        """The page of its finding: the given one, or one made from its title and docstring."""
        if self._page:
            return self._page
        kind = self.kind
        about = "\n".join(line.strip() for line in (self.function.__doc__ or kind.title).strip().splitlines())
        return f"# {kind.code} · {kind.name}\n\n*finding · {kind.level}*\n\n## Finds\n\n{about}\n"

    @property
    def awaits(self) -> bool:
        """Whether the function is asynchronous."""
        return is_async(self.function)

    def judge(self, verdict: Verdict, context: Context) -> Steps[CheckOutcome]:
        """The check's findings and metrics for a `verdict` in a `context`, as a generator: it may have to wait."""
        ask = partial(self.function, verdict, context, **self.options)
        return _asked(self, ask, self.finding, verdict.metrics)

    def refused(self, error: Exception) -> Finding:
        """The finding for a reply that the check refuses by raising `error`; always of level `error`."""
        message = refusal(error) or self.kind.title.rstrip(".")
        return Finding(self.code, "$", message, None, {"error": type(error).__name__}, "", "error")

    def __call__(self, verdict: Verdict, context: Context) -> list[Finding]:
        return run(self.judge(verdict, context), refuse).findings


class PlainCheck:
    """A function without `@check`: it has no code, so the texts that it yields and the errors that it raises are B008."""

    __slots__ = ("function", "name")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = str(getattr(function, "__name__", type(function).__name__))

    @property
    def awaits(self) -> bool:
        """Whether the function is asynchronous."""
        return is_async(self.function)

    def judge(self, verdict: Verdict, context: Context) -> Steps[CheckOutcome]:
        """The function's findings and metrics, as a generator."""
        return _asked(self, partial(self.function, verdict, context), self.finding, verdict.metrics)

    def finding(self, message: str) -> Finding:
        """A finding of this function."""
        return finding("B008", "$", message, None, {"check": self.name})

    def refused(self, error: Exception) -> Finding:
        """The finding for a reply that the function refuses by raising."""
        message = refusal(error) or f"The check {self.name!r} refused the reply"
        return finding("B008", "$", message, None, {"check": self.name, "error": type(error).__name__})

    def __call__(self, verdict: Verdict, context: Context) -> list[Finding]:
        return run(self.judge(verdict, context), refuse).findings


def _asked(
    check: CustomCheck | PlainCheck, ask: Callable[[], Any], made: Callable[[str], Finding], known: Mapping[str, Any]
) -> Steps[CheckOutcome]:
    """The findings of a check. By raising, it refuses the reply as well; earlier findings stay."""
    found: list[Any] = []
    refused: list[Finding] = []
    try:
        try:
            given = ask()
            awaited = pending(given, found)
            if awaited is not None:
                given = yield awaited
            if given is not found:
                found.extend(_listed(given))
        except Exception as error:
            if not is_fault(error):
                raise
            refused.append(check.refused(error))
        outcome = _outcome(found, made, known)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - raised again, whatever it is
        raise pointed(error, f"the check {check.name!r}", check.function)  # noqa: B904 - it is the same exception
    return CheckOutcome([*outcome.findings, *refused], outcome.metrics) if refused else outcome


def _listed(given: Any) -> Iterator[Any]:
    """The results of a check, one by one, and no more than a check may have."""
    if given is None:
        return
    if isinstance(given, str | Finding | Mapping):
        yield given
    elif isinstance(given, Iterable):
        yield from islice(given, MOST + 1)
    else:
        said = given if isinstance(given, bool) else type(given).__name__
        raise TypeError(f"it returned {said}; a check yields findings, texts or metrics")


def _outcome(found: list[Any], made: Callable[[str], Finding], known: Mapping[str, Any]) -> CheckOutcome:
    if len(found) > MOST:
        raise TypeError(f"it has more than {MOST:,} results")
    metrics: dict[str, Any] = {}
    for more in found:
        if isinstance(more, Mapping):
            metrics |= checked_metrics(more, {**known, **metrics})
    return CheckOutcome([_as_finding(each, made) for each in found if not isinstance(each, Mapping)], metrics)


def _as_finding(found: Any, made: Callable[[str], Finding]) -> Finding:
    one = made(found) if isinstance(found, str) else found
    if not isinstance(one, Finding):
        raise TypeError(f"a check yields findings or texts, not {type(one).__name__}")
    if not all(isinstance(part, str) for part in (one.message, one.path)):
        raise TypeError("the message and the path of a finding must be texts")
    return one


def check(
    code: str, name: str, title: str, *, level: Level = "error", page: str | Path = ""
) -> Callable[[Judging], CustomCheck]:
    """Make a custom check from a function, which takes a verdict and the context and yields findings, texts, or
    mappings of metrics.

    `code` has two or three letters and three digits, so that it differs from all built-in codes. `name` is used by
    contracts, `title` is one sentence about the finding, and `level` is `error` or `warning`. `page` is the Markdown of
    its page, or a `Path` to it; if empty, one is made from the docstring.

    >>> @check("SHP900", "discount", "The reply promises a discount.")
    ... def discount(verdict, context):
    ...     if "discount" in verdict.reply.text.lower():
    ...         yield "The reply promises a discount"
    >>> from trueup import Contract
    >>> Contract(checks=[discount]).check("You get a discount!").findings[0].code
    'SHP900'
    """
    if not _CODE.match(code) or code in FINDINGS or code in FIXES:
        raise ValueError(
            f"a check's code must be two or three capital letters and three digits, such as SHP001; got {code!r}"
        )
    if not _NAME.match(name):
        raise ValueError(
            f"a check's name contains only lower-case letters, digits and '-', such as no-discount; got {name!r}"
        )
    if level not in ("error", "warning"):
        raise ValueError(f"a check's level must be error or warning; got {level!r}")
    kind = FindingKind(code, name, level, title)
    known = OWN.get(code)
    if known is not None and known.name != name:
        raise ValueError(f"code {code} is taken by the check {known.name!r}; choose another")
    OWN[code] = kind
    text = page.read_text("utf-8") if isinstance(page, Path) else page
    return lambda function: CustomCheck(function, kind, text, {})


@cache
def offered() -> dict[str, EntryPoint]:
    """The checks that installed packages offer, by name, not yet imported."""
    return {point.name: point for point in entry_points(group=GROUP)}


def installed() -> dict[str, CustomCheck]:
    """Every check that installed packages offer and that can be imported, by name."""
    found = {}
    for name in sorted(offered()):
        try:
            found[name] = find_check(name)
        except NoSuchCheck:
            continue  # reported when a contract names the check
    return found


def find_check(name: str) -> CustomCheck:
    """The check that an installed package offers under a name."""
    point = offered().get(name)
    if point is None:
        near = nearest(name, (*SHELF, *offered())) or nearest(name.replace("-", "_"), SHELF)
        also = f"; did you mean {near!r}?" if near else ""
        raise NoSuchCheck(f"no ready check is named {name!r}, and no installed package offers one{also}")
    try:
        loaded = point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - importing a package can fail in any way
        raise NoSuchCheck(f"the check {name!r} cannot be imported: {type(error).__name__}: {error}") from None
    if not isinstance(loaded, CustomCheck):
        raise NoSuchCheck(f"{point.value} is not a check; decorate it with @check")
    return loaded


def refuse_twins(name: str) -> None:
    """Refuse a package that offers a check under the name of a ready one: a contract could mean either."""
    point = offered().get(name)
    if point is not None:
        raise NoSuchCheck(
            f"{name!r} is a ready check, and {point.value} offers another one of that name; rename that one"
        )


def read_checks(given: Any) -> "tuple[CustomCheck | PlainCheck | ShelfCheck, ...]":
    """The checks that a contract lists: names, mappings of one name to its options, or the checks themselves.

    The names of ready checks are looked up first; all others are looked up in installed packages.
    """
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, list | tuple):
        raise TypeError(f"checks must be a list of names or of functions made with @check; got {given!r:.80}")
    checks: list[CustomCheck | PlainCheck | ShelfCheck] = []
    for index, item in enumerate(given):
        try:
            checks += _read_check(item)
        except BadOption as error:
            raise BadOption(f"checks[{index}].{error}") from None
    return tuple(checks)


def _read_check(item: Any) -> "list[Any]":
    if isinstance(item, str):
        return read_named(item)
    if isinstance(item, Mapping) and len(item) == 1:
        ((name, options),) = item.items()
        return read_named(name, options)
    if isinstance(item, CustomCheck):
        return [item]
    if callable(item):
        return [PlainCheck(item)]
    raise TypeError(f"a check must be a name, a name with options, or a function made with @check; got {item!r:.80}")


def read_named(name: str, options: Any = None) -> "list[CustomCheck | ShelfCheck]":
    """The check for a name, with its options; several if the name is a group of ready checks."""
    if name in SHELF:
        refuse_twins(name)
        return list(read_ready(name, options))
    check = find_check(name)
    if options is not None and not isinstance(options, Mapping):
        raise BadOption(f"{name}: takes a mapping of options; got {options!r:.60}")
    return [check.using(options or {})]
