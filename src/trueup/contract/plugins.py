"""Custom checks: Python functions with codes of their own, which contracts use by name.

A check takes a verdict and the context, and yields findings and metrics; it may be asynchronous. Packages offer checks
through the entry point group `trueup.checks`; nothing is imported before a contract or `trueup explain` asks for it. A check
that fails becomes a finding (N022), not an exception.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from trueup.checks.custom import checked_metrics
from trueup.checks.steps import MOST, Steps, is_async, pending, refuse, run
from trueup.verdict.catalogue import FINDINGS, FIXES, OWN, FindingKind, Level
from trueup.verdict.facts import Finding, Span, finding
from trueup.verdict.likeness import nearest
from trueup.verdict.verdict import Verdict

GROUP = "trueup.checks"
Context = Mapping[str, Any]
Found = Iterable[Finding | str | Mapping[str, Any]] | None
Judging = Callable[..., Any]  # gives what it finds, or something to await that does

_CODE = re.compile(r"[A-Z]{2,3}\d{3}\Z")
_NAME = re.compile(r"[a-z][a-z0-9-]*\Z")


class NoSuchCheck(ValueError):
    """No installed package offers a check of that name, or what it offers cannot be used."""


class Outcome(msgspec.Struct, frozen=True):
    """What a check finds, and the metrics it adds."""

    findings: list[Finding]
    metrics: dict[str, Any] = {}


class CustomCheck:
    """A function that judges, with the code, name and page of what it finds; made by `@check`."""

    __slots__ = ("_page", "function", "kind", "options")

    def __init__(self, function: Judging, kind: FindingKind, page: str, options: Mapping[str, Any]) -> None:
        self.function = function
        self.kind = kind
        self._page = page
        self.options = options

    @property
    def code(self) -> str:
        return self.kind.code

    @property
    def name(self) -> str:
        return self.kind.name

    def finding(
        self,
        message: str,
        path: str = "$",
        span: Span | None = None,
        data: dict[str, Any] | None = None,
        hint: str = "",
    ) -> Finding:
        """A finding of this check."""
        return Finding(self.code, path, message, span, data or {}, hint, self.kind.level)

    def using(self, options: Mapping[str, Any]) -> "CustomCheck":
        """The same check with options, passed to the function by name."""
        return CustomCheck(self.function, self.kind, self._page, {**self.options, **options})

    def page(self) -> str:
        """The page of what it finds: the one it was given, or one made of its title and docstring."""
        if self._page:
            return self._page
        kind = self.kind
        about = "\n".join(line.strip() for line in (self.function.__doc__ or kind.title).strip().splitlines())
        return f"# {kind.code} · {kind.name}\n\n*finding · {kind.level}*\n\n## Finds\n\n{about}\n"

    @property
    def awaits(self) -> bool:
        """Whether the function is asynchronous."""
        return is_async(self.function)

    def judge(self, verdict: Verdict, context: Context) -> Steps[Outcome]:
        """What the check finds and measures, in steps: it may have to wait."""
        ask = partial(self.function, verdict, context, **self.options)
        return _asked(self.name, ask, self.finding, verdict.metrics)

    def __call__(self, verdict: Verdict, context: Context) -> list[Finding]:
        return run(self.judge(verdict, context), refuse).findings


class PlainCheck:
    """A function without `@check`: it has no code of its own, so it must yield whole findings."""

    __slots__ = ("function", "name")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = str(getattr(function, "__name__", type(function).__name__))

    @property
    def awaits(self) -> bool:
        """Whether the function is asynchronous."""
        return is_async(self.function)

    def judge(self, verdict: Verdict, context: Context) -> Steps[Outcome]:
        """What the function finds and measures, in steps."""
        return _asked(self.name, partial(self.function, verdict, context), _refuse_text, verdict.metrics)

    def __call__(self, verdict: Verdict, context: Context) -> list[Finding]:
        return run(self.judge(verdict, context), refuse).findings


def _asked(
    name: str, ask: Callable[[], Any], made: Callable[[str], Finding], known: Mapping[str, Any]
) -> Steps[Outcome]:
    """What a check finds; an error of the check is a finding as well."""
    try:
        given = ask()
        awaited = pending(given)
        if awaited is not None:
            given = yield awaited
        return _outcome(given, made, known)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's function may raise anything; it becomes a finding
        message = f"The check {name!r} failed: {type(error).__name__}: {str(error)[:200]}"
        return Outcome([finding("N022", "$", message, None, {"check": name, "error": type(error).__name__})])


def _outcome(given: Any, made: Callable[[str], Finding], known: Mapping[str, Any]) -> Outcome:
    if isinstance(given, bool):
        raise TypeError(f"it returned {given}; a check yields findings, texts or metrics")
    one = isinstance(given, str | Finding | Mapping)
    found = [given] if one else list(islice(given or (), MOST + 1))
    if len(found) > MOST:
        raise ValueError(f"it finds more than {MOST:,} things")
    metrics: dict[str, Any] = {}
    for more in found:
        if isinstance(more, Mapping):
            metrics |= checked_metrics(more, {**known, **metrics})
    return Outcome([_as_finding(each, made) for each in found if not isinstance(each, Mapping)], metrics)


def _as_finding(found: Any, made: Callable[[str], Finding]) -> Finding:
    one = made(found) if isinstance(found, str) else found
    if not isinstance(one, Finding):
        raise TypeError(f"a check yields findings or texts, not {type(one).__name__}")
    if not all(isinstance(part, str) for part in (one.message, one.path)):
        raise TypeError("the message and the path of a finding are texts")
    return one


def _refuse_text(text: str) -> Finding:
    raise TypeError(f"{text[:40]!r} is not a finding; make the function a check with @check to yield texts")


def check(
    code: str, name: str, title: str, *, level: Level = "error", page: str | Path = ""
) -> Callable[[Judging], CustomCheck]:
    """Make a custom check of a function, which takes a verdict and the context and yields findings, texts, or mappings of metrics.

    A code has two or three letters and three digits, so that it is never one of ours. `page` is the Markdown of its
    page, or the path of it.

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
            f"a check's code is two or three capital letters and three digits, such as SHP001; got {code!r}"
        )
    if not _NAME.match(name):
        raise ValueError(f"a check's name is small letters, digits and '-', such as no-discount; got {name!r}")
    if level not in ("error", "warning"):
        raise ValueError(f"a check's level is error or warning; got {level!r}")
    kind = FindingKind(code, name, level, title)
    known = OWN.get(code)
    if known is not None and known.name != name:
        raise ValueError(f"code {code} is taken by the check {known.name!r}; choose another")
    OWN[code] = kind
    text = page.read_text("utf-8") if isinstance(page, Path) else page
    return lambda function: CustomCheck(function, kind, text, {})


@cache
def offered() -> dict[str, EntryPoint]:
    """The checks that installed packages offer, by name; none of them is imported yet."""
    return {point.name: point for point in entry_points(group=GROUP)}


def installed() -> dict[str, CustomCheck]:
    """Every check that installed packages offer and that can be imported, by name."""
    found = {}
    for name in sorted(offered()):
        try:
            found[name] = find_check(name)
        except NoSuchCheck:
            continue  # said where the check is asked for by name
    return found


def find_check(name: str) -> CustomCheck:
    """The check that an installed package offers under a name."""
    point = offered().get(name)
    if point is None:
        near = nearest(name, offered())
        also = f"; did you mean {near!r}?" if near else ""
        raise NoSuchCheck(f"no installed package offers a check {name!r}{also}")
    try:
        loaded = point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - importing a package can fail in any way
        raise NoSuchCheck(f"the check {name!r} cannot be imported: {type(error).__name__}: {error}") from None
    if not isinstance(loaded, CustomCheck):
        raise NoSuchCheck(f"{point.value} is no check; make it one with @check")
    return loaded


def read_checks(given: Any) -> tuple[CustomCheck | PlainCheck, ...]:
    """The checks that a contract names: names, mappings of one name to its options, or the checks themselves."""
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, list | tuple):
        raise TypeError(f"checks is a list of names or of functions made with @check; got {given!r:.80}")
    return tuple(_read_check(item) for item in given)


def _read_check(item: Any) -> Any:
    if isinstance(item, str):
        return find_check(item)
    if isinstance(item, dict) and len(item) == 1:
        ((name, options),) = item.items()
        return find_check(name).using(options or {})
    if isinstance(item, CustomCheck):
        return item
    if callable(item):
        return PlainCheck(item)
    raise TypeError(f"a check is a name, a name with options, or a function made with @check; got {item!r:.80}")
