"""Lint of states: refused states, states that are never reached, and missing or refused fallbacks.

The room that judges states also reads them here; this module only adds a code and a position to its messages.
"""

from collections.abc import Iterator
from copy import deepcopy
from itertools import pairwise
from typing import Any

from trueup.checks.dialogue import BadStates, read_dialogue
from trueup.checks.patterns import pattern_notes
from trueup.checks.state import States, compile_states
from trueup.contract.files.extends import Origins
from trueup.contract.files.faults import Fault, fault
from trueup.contract.lint.nearest import did_you_mean
from trueup.contract.lint.tools import unknown_tool
from trueup.contract.meaning.fallbacks import DEFAULT, with_fallbacks
from trueup.verdict.paths import Parts

_CODES = {
    "unreachable": "N015",
    "no-fallback": "N016",
    "fallback-violates": "N017",
    "unknown-next": "N018",
    "unknown-start": "N018",
}
_TEXTS = frozenset({"pattern", "patterns", "within", "term", "terms"})
_MOST = 50  # faults of one contract


def lint_states(data: dict[str, Any], marks: Origins, names: list[str] | None) -> Iterator[Fault]:
    """The faults in the states of a contract; `names` are the tools it offers."""
    spec = data.get("states")
    if not isinstance(spec, dict):
        return
    fallbacks = data.get("fallbacks")
    given = {name: text for name, text in fallbacks.items() if text} if isinstance(fallbacks, dict) else {}
    try:
        states = compile_states(with_fallbacks(spec, given), lenient=True)
    except BadStates:
        yield from _refused(spec, marks)
        return
    for problem in states.problems():
        path = _fallback_place(problem.path, spec)
        place = marks.value(path) if path[-1] == "fallback" or path[0] == "fallbacks" else marks.key(path)
        yield fault(_CODES.get(problem.kind, "N021"), place, path, problem.message)
    for name in given:
        if name not in states.states and name != DEFAULT:
            path = ("fallbacks", name)
            message = f"there is no state {name!r}"
            yield fault("N018", marks.key(path), path, message, did_you_mean(name, states.states))
    yield from _tools(states, spec, marks, names)
    for path, pattern in _patterns(spec, ("states",)):
        for note in pattern_notes(pattern):
            message = f"'{pattern}' does not match what you might expect (column {note.column}): {note.message}"
            yield fault("N024", marks.value(path), path, message)


def _patterns(part: Any, path: Parts) -> Iterator[tuple[Parts, str]]:
    """The patterns for folded text in a part of the states, each with its path; timed patterns see the original text."""
    if isinstance(part, list):
        for index, item in enumerate(part):
            yield from _patterns(item, (*path, index))
    for key, item in part.items() if isinstance(part, dict) else ():
        place = (*path, key)
        if key not in ("pattern", "patterns", "within"):
            yield from _patterns(item, place)
        elif "timed" not in part:
            placed = (
                [((*place, index), one) for index, one in enumerate(item)]
                if isinstance(item, list)
                else [(place, item)]
            )
            yield from ((at, text) for at, text in placed if isinstance(text, str))


def _fallback_place(path: Parts, spec: dict[str, Any]) -> Parts:
    """The path of a fallback in the file: in its state, or in `fallbacks`."""
    if len(path) == 3 and path[2] == "fallback":
        body = spec.get(str(path[1]))
        if not isinstance(body, dict) or body.get("fallback") is None:
            return ("fallbacks", path[1])
    return path


def _refused(spec: dict[str, Any], marks: Origins) -> Iterator[Fault]:
    """The refusals of the states, one after another: each fault is removed from a copy, which is then read again."""
    spec = deepcopy(spec)
    seen: set[Parts] = set()
    while len(seen) < _MOST:
        try:
            read_dialogue(spec)
            compile_states(spec, lenient=True)
        except BadStates as error:
            if error.path in seen:
                return
            seen.add(error.path)
            yield _of_reason(error, marks)
            _take_out(spec, error.path[1:])
        else:
            return


def _take_out(spec: dict[str, Any], path: Parts) -> None:
    """Replace the value at a path, or at the last existing part of the path, by something harmless."""
    at: Any = spec
    steps: tuple[Any, ...] = (*path, None)
    for step, following in pairwise(steps):
        inner = at[step] if isinstance(at, list) or step in at else None
        if following is not None and (
            isinstance(inner, dict) or (isinstance(inner, list) and isinstance(following, int))
        ):
            at = inner
            continue
        if isinstance(at, list):  # later items of the list keep their index
            at[step] = "x" if len(path) > 1 and path[-2] in _TEXTS else {"terms": ["x"]}
        elif step in _TEXTS:
            at[step] = ["x"]
        elif path[0] == "groups" and step == path[1]:  # rules that name it are not at fault
            at[step] = {"terms": ["x"]}
        else:
            at.pop(step, None)
            if step in ("group", "groups"):
                at.setdefault("terms", ["x"])
        return


def _of_reason(error: BadStates, marks: Origins) -> Fault:
    path: Parts = error.path
    if "is not known here" in error.reason:
        return fault("N005", marks.key(path), path, error.reason)
    if "there is no placeholder" in error.reason:
        return fault("N025", marks.value(path), path, error.reason)
    patterns = _TEXTS & {part for part in path[-2:] if isinstance(part, str)}
    code = "N014" if patterns and "cannot be used" in error.reason else "N006"
    return fault(code, marks.value(path), path, error.reason)


def _tools(states: States, spec: dict[str, Any], marks: Origins, names: list[str] | None) -> Iterator[Fault]:
    for name, body in spec.items():
        tools = body.get("tools") if isinstance(body, dict) and name in states.states else None
        for index, tool in enumerate([tools] if isinstance(tools, str) else tools or ()):
            path: Parts = ("states", name, "tools") if isinstance(tools, str) else ("states", name, "tools", index)
            yield from unknown_tool(tool, path, marks.value(path), names)
    for rule in states.dialogue.claims:
        path = ("states", "claims", rule.tool)
        yield from unknown_tool(rule.tool, path, marks.key(path), names)
