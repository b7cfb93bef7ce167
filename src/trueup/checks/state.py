"""States: does a reply agree with the state that the conversation is in?

Takes a reply, its calls and the conversation's context; returns findings: content that belongs to another state, a tool
that is not for this state, an action that is claimed but was not made. A stretch of text can be judged alone, so that a
stream can be held back sentence by sentence. Reads nothing but its input; the time is linear in the text.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import msgspec

from trueup.checks.conversation import called_in, spoken_texts
from trueup.checks.current_state import CurrentState, Places
from trueup.checks.dialogue import BadStates, Dialogue, DialogueRule, Path, State, read_dialogue, spelled
from trueup.checks.flow import FlowProblem, flow_problems
from trueup.checks.folding import Folded
from trueup.checks.machines import collected, transitions_of
from trueup.checks.mentions import claimed_tools
from trueup.checks.placeholders import filled
from trueup.checks.sentences import Addressed, Form
from trueup.checks.toolset import Toolset
from trueup.checks.violations import Hit, Lookout
from trueup.verdict.facts import Finding, finding
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.tool import Tool

_NOTHING: frozenset[str] = frozenset()
Made = Callable[[], AbstractSet[str]]


class Situation(NamedTuple):
    """The facts about a conversation that a correction may mention; `correction` is the contract's own text for one."""

    state: str = ""
    data: Mapping[str, Any] = {}
    tools: tuple[str, ...] | None = None
    correction: str = ""


def compile_states(spec: Any, *, path: Path = ("states",), lenient: bool = False) -> "States":
    """States from the `states:` mapping of a contract, compiled once.

    A fallback that breaks its state's rules is refused here; with `lenient`, only `problems()` reports it.

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

    __slots__ = ("_lookouts", "_path", "_places", "_tools", "_unrefused", "dialogue", "start", "states")

    def __init__(self, dialogue: Dialogue, path: Path = ("states",)) -> None:
        self.dialogue = dialogue
        self._path = path
        self.start, self.states = _with_machine(dialogue)
        forms = {
            kind: Addressed(words) if kind == "addressed" else Form(kind, words)
            for kind, words in dialogue.words.items()
        }
        common = dialogue.always.rules + dialogue.claims
        self._lookouts = {
            name: Lookout((*state.rules, *common), state.allow + dialogue.always.allow, forms, dialogue.names)
            for name, state in self.states.items()
        }
        self._lookouts[""] = Lookout(common, dialogue.always.allow, forms, dialogue.names)
        self._places = Places(self.states, self.start, dialogue.machine)
        self._unrefused = _in_every(self.states)
        used = {tool for state in self.states.values() for tool in state.tools or ()}
        self._tools = Toolset([Tool(name) for name in sorted(used | {rule.tool for rule in dialogue.claims})])

    # -- checks --------------------------------------------------------------------------------

    def check(self, reply: Reply, calls: Sequence[ToolCall], context: Mapping[str, Any]) -> list[Finding]:
        """Findings about a reply in the state that the context names, and about a context that names no state."""
        state, unplaced = self._places.of(context)
        found = [*unplaced]
        data = collected(context, self.dialogue.machine)
        allowed = self._call_findings(calls, state, data, found)

        def made() -> AbstractSet[str]:
            return {call.name for call in allowed} | called_in(context.get("history"), self._tools)

        for text, offset in spoken_texts(reply):
            found += self._judge(text, state, data, made, offset)
        return _once(found)

    def standing(self, context: Mapping[str, Any]) -> CurrentState:
        """The state that a context is judged in, and the problems of the context."""
        return self._places.of(context)

    def judge_text(
        self,
        text: str,
        state: Any,
        data: Mapping[str, Any] | None = None,
        made: AbstractSet[str] = _NOTHING,
        offset: int = 0,
    ) -> list[Finding]:
        """Findings about one stretch of text, such as a sentence of a stream that starts at `offset`.

        `made` are the tools that were called so far.
        """
        known, unplaced = self._places.of({"state": state})
        return [*unplaced, *self._judge(text, known, data or {}, lambda: made, offset)]

    def fallback(self, state: Any) -> str | None:
        """The text that a state sends instead of a reply that could not be made coherent; by default, the start's."""
        name = self._places.of({"state": state}).state
        return self.states[name].fallback if name else None

    def hint(self, state: Any) -> str:
        """The text for a model whose reply broke the rules of a state."""
        name = self._places.of({"state": state}).state
        return filled(self._hint(name), {"state": name}, {})

    def situation(self, context: Mapping[str, Any]) -> Situation:
        """The facts about a conversation that a correction may mention."""
        name = self._places.of(context).state
        tools = self._permitted(name)
        data = collected(context, self.dialogue.machine)
        return Situation(name, data, None if tools is None else tuple(tools), self.dialogue.correction)

    def permits(self, state: Any, tool: str) -> bool:
        """Whether a tool may be called in a state; in an unknown state, only tools that every state permits."""
        tools = self._permitted(self._places.of({"state": state}).state)
        return tools is None or tool in tools

    def named(self, source: Any) -> str | None:
        """The state of this contract that is meant by a name, an enum member, a dict or a machine."""
        return self._places.named(source)

    def problems(self) -> list[FlowProblem]:
        """The lint of these states: unreachable ones, missing fallbacks, fallbacks that break their own rules."""
        return flow_problems(self, self._path)

    # -- how checks work -----------------------------------------------------------------------

    def _permitted(self, state: str) -> tuple[str, ...] | None:
        """The tools of a state, None for all; in an unknown state, the tools that every state permits."""
        return self.states[state].tools if state else self._unrefused

    def _call_findings(
        self, calls: Sequence[ToolCall], state: str, known: Mapping[str, Any], found: list[Finding]
    ) -> list[ToolCall]:
        """Add a finding for each call that the state does not permit; return the other calls."""
        tools = self._permitted(state)
        if tools is None:
            return list(calls)
        where = f"the state {state}; it has" if state else "every state; the state is unknown, and all states share"
        hint = self.states[state].hint if state else ""
        allowed = []
        for call in calls:
            if call.name in tools or call.answered:
                allowed.append(call)
                continue
            shown = ", ".join(tools) if tools else "none"
            message = f"{call.name!r} is not a tool of {where} {shown}"
            place = f"$.calls[{call.index}]"
            data = {"state": state, "tool": call.name, "tools": list(tools)}
            told = filled(hint, {"state": state, "found": call.name}, known) or f"Do not call {call.name!r} now."
            found.append(finding("D002", place, message, None, data, told))
        return allowed

    def _judge(self, text: str, state: str, data: Mapping[str, Any], made: Made, offset: int | None) -> list[Finding]:
        lookout = self._lookouts[state]
        folded = Folded(text)
        found = []
        for rule, hits in lookout.hits(folded, data):
            if rule.tool and rule.tool in made():
                continue
            found.append(self._violation(rule, hits, state, data, offset))
        if not self._tools.tools:
            return found
        claimed = {f.data.get("tool") for f in found}
        for name, span in claimed_tools(text, self._tools).items():
            if name in self._tools.tools and name not in claimed and name not in made():
                found.append(self._claim(name, [Hit(text[span[0] : span[1]], span)], state, data, offset, None))
        return found

    def _violation(
        self, rule: DialogueRule, hits: list[Hit], state: str, data: Mapping[str, Any], offset: int | None
    ) -> Finding:
        if rule.tool:
            return self._claim(rule.tool, hits, state, data, offset, rule)
        shown = _quoted(hits)
        hint = filled(rule.hint or self._hint(state), {"state": state, "found": shown}, data)
        plain = f"The state {state} forbids this" if state else "The contract forbids this"
        said = filled(rule.why, {"state": state}, {}) or plain
        late = any(hit.timed_out for hit in hits)
        if late:
            message = f"The pattern of {spelled(rule.path)} gave no answer in time"
            found = finding("D005", "$", message, None, {"state": state, "rule": rule.name}, hint)
        else:
            found = finding("D001", "$", f"{said}: {shown}", _moved(hits[0].span, offset), _data(rule.name, hits, state, offset), hint)  # fmt: skip
        return found if rule.level == "error" else msgspec.structs.replace(found, level="warning")

    def _claim(
        self,
        tool: str,
        hits: list[Hit],
        state: str,
        known: Mapping[str, Any],
        offset: int | None,
        rule: DialogueRule | None,
    ) -> Finding:
        why = filled(rule.why, {"state": state}, {}) if rule else ""
        why = why or f"The text claims what only {tool!r} does, and it was not called"
        own = filled(rule.hint, {"state": state, "found": _quoted(hits)}, known) if rule else ""
        hint = own or f"Call {tool!r} first, or do not say that it is done."
        data = {**_data(f"claims.{tool}", hits, state, offset), "tool": tool}
        found = finding("D003", "$", f"{why}: {_quoted(hits)}", _moved(hits[0].span, offset), data, hint)
        return msgspec.structs.replace(found, level="warning") if rule and rule.level == "warning" else found

    def _hint(self, state: str) -> str:
        return (self.states[state].hint if state else "") or self.dialogue.always.hint


def _in_every(states: Mapping[str, State]) -> tuple[str, ...] | None:
    """The tools that no state refuses; None if no state refuses any."""
    lists = [state.tools for state in states.values() if state.tools is not None]
    return tuple(tool for tool in lists[0] if all(tool in tools for tools in lists)) if lists else None


def _with_machine(dialogue: Dialogue) -> tuple[str | None, dict[str, State]]:
    """The states of the table, with their order as far as a machine knows it."""
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
    """Each violation once, even if several messages of the reply contain it."""
    if not found:
        return []
    seen: dict[tuple[str, str, str], Finding] = {}
    for one in found:
        seen.setdefault((one.code, one.path, str(one.data.get("rule", one.message))), one)
    return list(seen.values())
