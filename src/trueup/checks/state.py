"""States: does a reply agree with the state that the conversation is in.

A reply, its calls and the conversation's context enter; findings leave: content that belongs to another state, a tool
that is not for this one, an action that is claimed and was not made. A stretch of text can be judged by itself, so that
a stream may be held back sentence by sentence. Reads nothing but its input; time is linear in the text.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from trueup.checks.dialogue import BadStates, Dialogue, Path, Rule, State, read_dialogue, spelled
from trueup.checks.flow import Problem, flow_problems
from trueup.checks.folding import Folded
from trueup.checks.machines import collected, state_name, transitions_of
from trueup.checks.mentions import claimed_tools
from trueup.checks.problems import closest
from trueup.checks.sentences import Form
from trueup.checks.spoken import called_in, spoken_texts
from trueup.checks.toolset import Toolset
from trueup.checks.violations import Hit, Lookout
from trueup.verdict.facts import Finding, finding
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.tool import Tool

_NOTHING: frozenset[str] = frozenset()
CONTEXT = frozenset({"state", "data", "history", "question", "tenant", "input"})
_LIKE_STATE = re.compile(
    r"stat|states|satte|staet|sate|stte|(?:current|dialog(?:ue)?|conversation)?[_-]?(?:state|stage|phase|estado)",
    re.IGNORECASE,
)
Made = Callable[[], AbstractSet[str]]


def compile_states(spec: Any, *, path: Path = ("states",), lenient: bool = False) -> "States":
    """States from the `states:` mapping of a contract, compiled once.

    A fallback that breaks the rules of its own state is refused here; `lenient` leaves that to `problems()`.

    >>> states = compile_states({"ASKING": {"forbid": [{"terms": ["Ana"], "why": "names a stylist"}]}})
    >>> [f.message for f in states.judge_text("Mañana viene Ana.", "ASKING")]
    ["names a stylist: 'Ana'"]
    """
    states = States(read_dialogue(spec, path), path)
    if not lenient:
        for problem in states.problems():
            if problem.kind == "fallback-violates":
                raise BadStates(problem.path, problem.message)
    return states


class States:
    """The states of one contract."""

    __slots__ = ("_folded_names", "_lookouts", "_path", "_tools", "dialogue", "start", "states")

    def __init__(self, dialogue: Dialogue, path: Path = ("states",)) -> None:
        self.dialogue = dialogue
        self._path = path
        self.start, self.states = _with_machine(dialogue)
        forms = {kind: Form(kind, words) for kind, words in dialogue.words.items()}
        common = dialogue.always.rules + dialogue.claims
        self._lookouts = {
            name: Lookout((*state.rules, *common), state.allow + dialogue.always.allow, forms, dialogue.names)
            for name, state in self.states.items()
        }
        self._lookouts[""] = Lookout(common, dialogue.always.allow, forms, dialogue.names)
        self._folded_names: dict[str, list[str]] = {}
        for name in self.states:
            self._folded_names.setdefault(name.casefold(), []).append(name)
        used = {tool for state in self.states.values() for tool in state.tools or ()}
        self._tools = Toolset([Tool(name) for name in sorted(used | {rule.tool for rule in dialogue.claims})])

    # -- what a check asks ---------------------------------------------------------------------

    def check(self, reply: Reply, calls: Sequence[ToolCall], context: Mapping[str, Any]) -> list[Finding]:
        """What is wrong with a reply in the state that the context names; without a state only what always holds."""
        state, found = self._current(context)
        allowed = self._call_findings(calls, state, found)

        def made() -> AbstractSet[str]:
            return {call.name for call in allowed} | called_in(context.get("history"), self._tools)

        data = collected(context)
        for text, offset in spoken_texts(reply):
            found += self._judge(text, state, data, made, offset)
        return _once(found)

    def judge_text(
        self,
        text: str,
        state: Any,
        data: Mapping[str, Any] | None = None,
        made: AbstractSet[str] = _NOTHING,
        offset: int = 0,
    ) -> list[Finding]:
        """What is wrong with one stretch of text, such as a sentence of a stream that starts at `offset`.

        `made` are the tools that were called so far.
        """
        known, found = self._current({"state": state})
        return found + self._judge(text, known, data or {}, lambda: made, offset)

    def fallback(self, state: Any) -> str | None:
        """The text that a state sends in place of a reply that could not be made coherent."""
        name = self.named(state)
        return self.states[name].fallback if name is not None else None

    def hint(self, state: Any) -> str:
        """What a model is told in a state when its reply broke the state's rules."""
        name = self.named(state)
        return (self.states[name].hint if name is not None else "") or self.dialogue.always.hint

    def permits(self, state: Any, tool: str) -> bool:
        """Whether a tool may be called in a state."""
        name = self.named(state)
        tools = self.states[name].tools if name is not None else None
        return tools is None or tool in tools

    def named(self, source: Any) -> str | None:
        """The state of this contract that a name, an enum member, a dict or a machine is in."""
        if type(source) is str and source in self.states:
            return source
        name = state_name(source)
        if name is None or name in self.states:
            return name
        other = getattr(source, "name", None)  # an enum member: by its value above, by its name here
        if isinstance(other, str) and other in self.states:
            return other
        alike = self._folded_names.get(name.casefold(), [])
        return alike[0] if len(alike) == 1 else None

    def problems(self) -> list[Problem]:
        """What a lint says of these states: unreachable ones, missing fallbacks, fallbacks that break their own rules."""
        return flow_problems(self, self._path)

    # -- how it is found out -------------------------------------------------------------------

    def _current(self, context: Mapping[str, Any]) -> tuple[str, list[Finding]]:
        """The state to judge by; an unknown one is a finding, and only what always holds is judged."""
        source = context.get("state")
        if source is None:
            source = self.dialogue.machine
        if source is None:
            return "", _misspelt(context)
        name = self.named(source)
        if name is not None:
            return name, []
        said = state_name(source)
        shown = f"The state {said!r} is none of this contract" if said else "The context's state has no name"
        near = closest(said, self.states) if said else ""
        hint = "Pass a state of the contract, or add this one to it; `NAME: {}` allows everything."
        return "", [finding("D004", "$", shown + near.rstrip("?"), None, {"state": said}, hint)]

    def _call_findings(self, calls: Sequence[ToolCall], state: str, found: list[Finding]) -> list[ToolCall]:
        """Add a finding for each call that the state does not permit; the others leave."""
        tools = self.states[state].tools if state else None
        if tools is None:
            return list(calls)
        hint = self.states[state].hint
        allowed = []
        for call in calls:
            if call.name in tools or call.answered:
                allowed.append(call)
                continue
            shown = ", ".join(tools) if tools else "none"
            message = f"{call.name!r} is not a tool of the state {state}; it has {shown}"
            place = f"$.calls[{call.index}]"
            data = {"state": state, "tool": call.name, "tools": list(tools)}
            found.append(finding("D002", place, message, None, data, hint or f"Do not call {call.name!r} now."))
        return allowed

    def _judge(self, text: str, state: str, data: Mapping[str, Any], made: Made, offset: int | None) -> list[Finding]:
        lookout = self._lookouts[state]
        folded = Folded(text)
        found = []
        for rule, hits in lookout.hits(folded, data):
            if rule.tool and rule.tool in made():
                continue
            found.append(self._violation(rule, hits, state, offset))
        if not self._tools.tools:
            return found
        claimed = {f.data.get("tool") for f in found}
        for name, span in claimed_tools(text, self._tools).items():
            if name in self._tools.tools and name not in claimed and name not in made():
                found.append(self._claim(name, [Hit(text[span[0] : span[1]], span)], state, offset, None))
        return found

    def _violation(self, rule: Rule, hits: list[Hit], state: str, offset: int | None) -> Finding:
        if rule.tool:
            return self._claim(rule.tool, hits, state, offset, rule)
        hint = rule.hint or self._hint(state)
        shown = _quoted(hits)
        said = rule.why or f"The state {state} forbids this" if state else rule.why or "The contract forbids this"
        late = any(hit.timed_out for hit in hits)
        if late:
            message = f"The pattern of {spelled(rule.path)} gave no answer in time"
            found = finding("D005", "$", message, None, {"state": state, "rule": rule.name}, hint)
        else:
            found = finding("D001", "$", f"{said}: {shown}", _moved(hits[0].span, offset), _data(rule.name, hits, state, offset), hint)  # fmt: skip
        return found if rule.level == "error" else msgspec.structs.replace(found, level="warning")

    def _claim(self, tool: str, hits: list[Hit], state: str, offset: int | None, rule: Rule | None) -> Finding:
        why = rule.why if rule and rule.why else f"The text claims what only {tool!r} does, and it was not called"
        hint = (rule.hint if rule else "") or f"Call {tool!r} first, or do not say that it is done."
        data = {**_data(f"claims.{tool}", hits, state, offset), "tool": tool}
        found = finding("D003", "$", f"{why}: {_quoted(hits)}", _moved(hits[0].span, offset), data, hint)
        return msgspec.structs.replace(found, level="warning") if rule and rule.level == "warning" else found

    def _hint(self, state: str) -> str:
        return (self.states[state].hint if state else "") or self.dialogue.always.hint


def _misspelt(context: Mapping[str, Any]) -> list[Finding]:
    """A context that gives the state under another name, such as `stat` or `State`: no rule of it would be looked at."""
    if "state" in context:
        return []
    for key in context:
        if key not in CONTEXT and _LIKE_STATE.fullmatch(str(key)):
            message = f"The context names no state; its {key!r} is not looked at"
            return [finding("D004", "$", message, None, {"state": None}, "Name it 'state'.")]
    return []


def _with_machine(dialogue: Dialogue) -> tuple[str | None, dict[str, State]]:
    """The states of the table, and what a machine knows of their order."""
    states = dict(dialogue.states)
    known = transitions_of(dialogue.machine) if dialogue.machine is not None else None
    if known is None:
        return dialogue.start, states
    start, follow = known
    by_fold = {name.casefold(): name for name in states}
    same = {name: name if name in states else by_fold.get(name.casefold(), name) for name in follow}
    for name, ends in follow.items():
        state = states.get(same[name], State(same[name]))
        if state.next is None:
            state = state._replace(next=tuple(same.get(end, end) for end in ends))
        states[same[name]] = state
    return dialogue.start or (same.get(start, start) if start else None), states


def _quoted(hits: Sequence[Hit]) -> str:
    texts = dict.fromkeys(hit.text if len(hit.text) <= 60 else hit.text[:59] + "…" for hit in hits)
    return ", ".join(repr(text) for text in texts)


def _data(name: str, hits: Sequence[Hit], state: str, offset: int | None) -> dict[str, Any]:
    found = list(dict.fromkeys(hit.text[:200] for hit in hits))
    data: dict[str, Any] = {"state": state, "rule": name, "found": found}
    if offset is not None:
        data["spans"] = [[hit.span[0] + offset, hit.span[1] + offset] for hit in hits]
    return data


def _moved(span: tuple[int, int], offset: int | None) -> tuple[int, int] | None:
    return None if offset is None else (span[0] + offset, span[1] + offset)


def _once(found: Sequence[Finding]) -> list[Finding]:
    """Each violation once, though several messages of the reply may hold it."""
    if not found:
        return []
    seen: dict[tuple[str, str, str], Finding] = {}
    for one in found:
        seen.setdefault((one.code, one.path, str(one.data.get("rule", one.message))), one)
    return list(seen.values())
