"""`infer`: takes replies, a type or an API description; returns a drafted contract with its evidence.

Replies are read once, in constant memory. A share of them is held out, and the draft is relaxed until at least 99 % of
the held-out replies pass. Nothing is written to disk, and no model is asked.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, get_args

from trueup.contract.contract import Contract
from trueup.inferring.calling import breaks_order
from trueup.inferring.draft import Loosened, draft
from trueup.inferring.evidence import Budget, ObservedPlace
from trueup.inferring.gathering import GatheredValues, count_in
from trueup.inferring.grounds import GroundingProposal
from trueup.inferring.heading import heading
from trueup.inferring.held_out import HeldOutReply, Word, judge, worst
from trueup.inferring.reading import NOTHING, WHY, ObservedReply, observed, reader
from trueup.inferring.report import ContractDraft, DraftReport, HeldOut
from trueup.inferring.shapes import FEW, ValueShape
from trueup.inferring.strictness import NEEDS, SHAPE, Needs, Strictness
from trueup.inferring.words import count, seen, things
from trueup.inferring.wrapping import seldom, unwrapped, wrapping
from trueup.material.case import Case
from trueup.material.selection import Selection
from trueup.verdict.display import safe_line

if TYPE_CHECKING:
    from trueup.material.sources import SourceLike

Expect = Literal["auto", "value", "text"]
TARGET = 0.99
MAX_ROUNDS = 100
EVERYTHING = Selection()


class NothingToLearn(ValueError):
    """No contract can be drafted from the sources. The message says how many replies there are, and what is wrong."""


def infer(
    *sources: "SourceLike | type",
    name: str = "",
    strictness: Strictness = "standard",
    holdout: float = 0.2,
    seed: int = 0,
    expect: Expect = "auto",
    operation: str = "",
    selection: Selection = EVERYTHING,
    reply_column: str = "",
    on_case: Callable[[int], None] | None = None,
) -> ContractDraft:
    """Draft a contract from sources: names of files, folders, stores or OpenAPI files; types; functions; or replies.

    `sources` are read one after another. A type or an OpenAPI file cannot be combined with other sources.
    `name` is the contract's name; by default it has none, or the type's name.
    `strictness` is `loose`, `standard` (default) or `tight`: the stricter, the less evidence a constraint needs.
    `holdout` is the share of replies that test the draft, from 0 to 0.5; 0.2 by default.
    `seed` selects those replies; 0 by default.
    `expect` is the kind of replies: `value`, `text`, or `auto` (default): `value` if at least half of them have one.
    `operation` names the OpenAPI operation with the response to draft; by default each operation becomes a tool.
    `selection` limits the stored replies; all are used by default.
    `reply_column` names the field of JSON lines with the reply; by default, trueup's and providers' fields are known.
    `on_case` is called with the number of replies read so far; nothing is called by default.

    Raises `NothingToLearn` if no reply can be used.

    >>> drafted = infer(['{"n": 1}', "Sure: {'n': 2,}"] * 20)
    >>> drafted.data["schema"]
    {'type': 'object', 'properties': {'n': {'type': 'integer'}}, 'required': ['n']}
    >>> drafted.report.held.accepted, drafted.report.held.whole
    (8, 8)
    """
    _refuse_bad_options(strictness, holdout, expect)
    from trueup.inferring.declarations import described
    from trueup.inferring.sources import OpenedSources

    known = described(sources, name, operation)
    if known is not None:
        return known
    gathered = GatheredValues(holdout, seed)
    opened = OpenedSources(sources, selection, reply_column)
    gathered.add_all(_counted(opened, on_case))
    return _Inferring(gathered, NEEDS[strictness], expect, name, whole_lines=opened.whole_lines).draft()


def _counted(cases: Iterable[Case], on_case: Callable[[int], None] | None) -> Iterator[Case]:
    for number, case in enumerate(cases, 1):
        if on_case is not None:
            on_case(number)
        yield case


def _refuse_bad_options(strictness: str, holdout: float, expect: str) -> None:
    if strictness not in NEEDS:
        raise ValueError(f"strictness must be one of {', '.join(NEEDS)}, not {strictness!r}")
    if not 0 <= holdout <= 0.5:
        raise ValueError(f"holdout must be a share from 0 to 0.5, such as 0.2, not {holdout}")
    if expect not in get_args(Expect):
        raise ValueError(f"expect must be one of {', '.join(get_args(Expect))}, not {expect!r}")


class _Inferring:
    """One draft from replies: the gathered evidence, and the constraints relaxed so far."""

    def __init__(
        self, gathered: GatheredValues, needs: Needs, expect: Expect, name: str, *, whole_lines: bool = False
    ) -> None:
        self.gathered = gathered
        self.needs = needs
        self.name = name
        self.whole_lines = whole_lines
        self.relaxed: set[Word] = set()
        self.reasons = Counter(gathered.unusable)
        texts = gathered.texts.seen
        self.has_value = expect == "value" or (expect == "auto" and gathered.values > 0 and gathered.values >= texts)
        if not self.has_value:
            gathered.texts.merge(gathered.value_texts)
        self.mended = gathered.mended if self.has_value else 0
        self.shape: ValueShape | None = None
        """The shape that replies must have to be checked; None for any shape."""
        self.root = self._read_again() if self.has_value else None
        self._loose_order: set[str] = set()
        self.notes: dict[tuple[str | int, ...], str] = {}

    @property
    def _used(self) -> int:
        found = self.gathered
        return found.cases - len(found.held) - sum(self.reasons.values())

    def _read_again(self) -> ObservedPlace:
        """The evidence of all replies. Broken and wrapped ones are read under a first draft, because a schema helps."""
        gathered = self.gathered
        kept = [*gathered.wrapped, *gathered.broken]
        rare = seldom((found.value for _, found in kept), gathered.values)
        final = ObservedPlace(Budget())
        final.merge(gathered.clean)
        others = list(gathered.others)
        again: list[tuple[Case, ObservedReply]] = []
        for case, found in kept:
            if found.clean and not found.cut and wrapping(found.value) not in rare:
                count_in(final, found)
            else:
                again.append((case, found))
        first = ObservedPlace(Budget())
        first.merge(final)
        for _, found in again:
            if wrapping(found.value) not in rare:
                count_in(first, found)
        if not first.kinds and not first.doubtful:
            return first
        self.reasons += gathered.beyond
        contract = reader(draft(first, SHAPE).schema)
        for case, found in again:
            better = _better(found, observed(contract, case))
            if better is found and found.clean and wrapping(found.value) in rare:
                better = found._replace(value=unwrapped(found.value, first.members))
            if better.value is NOTHING:
                self.reasons[better.why or "no_value"] += 1
                continue
            if gathered.shape.is_other(better.value):
                others.append((case, better))
                continue
            self.mended += not found.clean
            count_in(final, better)
        if len(others) <= FEW * gathered.values:
            self.shape = gathered.shape
            self.reasons["other_shape"] += len(others)
        else:
            for _, found in others:
                self.mended += not found.clean
                count_in(final, found)
        return final

    def draft(self) -> ContractDraft:
        gathered = self.gathered
        if not self._used or not (gathered.values or gathered.calls.made or gathered.texts.seen):
            raise NothingToLearn(self._nothing())
        if self.has_value and self.root is not None and not self.root.kinds and not self.root.doubtful:
            raise NothingToLearn(self._nothing())
        data = self._data()
        held = HeldOut(total=len(gathered.held))
        if gathered.held:
            data, held = self._relax(data)
        self._ground(data)
        report = self._report(held)
        return ContractDraft(data, dict(self.notes), heading(report), report)

    def _nothing(self) -> str:
        if not self.gathered.cases:
            return "the sources contain no replies"
        why = "; ".join(WHY.get(reason, reason) for reason, _ in self.reasons.most_common())
        hint = "; name the field that is the reply: --reply-column NAME" if self.reasons["not_a_unit"] else ""
        return f"none of {count(self.gathered.cases)} replies can be used: {why or 'no reply contains a value'}{hint}"

    # -- the parts of the contract ---------------------------------------------------------------------

    def _data(self) -> dict[str, Any]:
        self.notes = {}
        data: dict[str, Any] = {"name": self.name} if self.name else {}
        gathered = self.gathered
        if self.root is not None:
            drafted = draft(self.root, self.needs, self._loosened(""))
            data["schema"] = drafted.schema
            self.notes |= {("schema", *path): note for path, note in drafted.notes.items()}
            kinds = self.root.kinds
            if kinds and ("schema", "type") not in self.notes:
                main = max(kinds.values())
                self.notes["schema", "type"] = seen(main, sum(kinds.values()))
        if gathered.calls.made:
            names = gathered.calls.names()
            tools, notes = gathered.calls.definitions(self.needs, {name: self._loosened(name) for name in names})
            data["tools"] = tools
            self.notes |= notes
            order, notes = gathered.calls.order(self.needs, self._loose_order)
            if order:
                data["order"] = order
                self.notes |= notes
        if self.root is None:
            self._reply(data)
        loose = set(gathered.calls.in_state) if ("", (), "state") in self.relaxed else set()
        states, notes = gathered.calls.table(self.needs, loose)
        if states and ("", (), "states") not in self.relaxed:
            data["states"] = states
            self.notes |= notes
        return data

    def _ground(self, data: dict[str, Any]) -> None:
        """Propose the fields with values that are in their sources. They only warn; the user decides about errors."""
        proposal = self.gathered.grounds.proposal(data["schema"]) if "schema" in data else GroundingProposal()
        if proposal.fields:
            data["grounded"] = {"fields": list(proposal.fields), "level": "warning"}
            self.notes["grounded", "level"] = "`error` refuses a value that is not in its source"
            self.notes |= {("grounded", "fields", at): note for at, note in enumerate(proposal.notes)}

    def _loosened(self, tool: str) -> Loosened:
        return frozenset((at, word) for name, at, word in self.relaxed if name == tool)

    def _reply(self, data: dict[str, Any]) -> None:
        """The rules for texts, if replies are text."""
        texts, calls = self.gathered.texts, self.gathered.calls
        if not texts.seen:
            return
        reply: dict[str, Any] = {"no_empty": True}
        self.notes["reply", "no_empty"] = f"{things(texts.seen, 'text')}"
        silent = self.gathered.silent
        if silent:
            fewest, said = 0, f"{things(silent, 'reply').replace('replys', 'replies')} with calls and no text"
        else:
            fewest = 0 if ("", (), "min_text") in self.relaxed else _least(texts.lengths, texts.seen)
            said = f"the shortest has {things(texts.shortest, 'character')}"
        reply["min_text"] = fewest or False
        self.notes["reply", "min_text"] = said
        if calls.made:
            reply["no_tool_only"] = False
            reply["tool_explanation"] = False
            self.notes["reply", "no_tool_only"] = f"{count(calls.replies)} replies make calls"
        data["reply"] = reply

    # -- held-out replies --------------------------------------------------------------------------

    def _relax(self, data: dict[str, Any]) -> tuple[dict[str, Any], HeldOut]:
        """The draft, relaxed until enough held-out replies pass, with the results."""
        held = self.gathered.held
        judged = self._judge(data, held)
        before = _accepted(judged)
        for _ in range(MAX_ROUNDS):
            good, whole = _accepted(judged)
            word = worst(judged, self.relaxed) if good < TARGET * whole else None
            if word is None:
                break
            self.relaxed.add(word)
            data = self._data()
            failing = [one for one in judged if not one.ok]
            again = iter(self._judge(data, [one.case for one in failing]))
            judged = [one if one.ok else next(again) for one in judged]
        data = self._relax_order(data)
        good, whole = _accepted(judged)
        cut = [one for one in judged if one.kind == "cut"]
        return data, HeldOut(
            total=len(held),
            whole=whole,
            accepted=good,
            at_first=before[0],
            cut=len(cut),
            cut_accepted=sum(one.ok for one in cut),
            without=sum(one.kind == "none" for one in judged),
            relaxed=tuple(sorted(_said(word) for word in self.relaxed))
            + tuple(f"order of {name}" for name in sorted(self._loose_order)),
            refused_by=dict(
                Counter(code for one in judged if one.kind == "whole" and not one.ok for code in one.codes)
            ),
        )

    def _judge(self, data: dict[str, Any], cases: list[Case]) -> list[HeldOutReply]:
        options = {key: part for key, part in data.items() if key != "order"}
        tools = {tool["name"]: tool["parameters"] for tool in data.get("tools", ())}
        return judge(Contract(**options), cases, data.get("schema"), tools, self.shape)

    def _relax_order(self, data: dict[str, Any]) -> dict[str, Any]:
        """The draft without the order requirements that held-out conversations break."""
        if "order" not in data:
            return data
        held = GatheredValues(0.0, 0)
        held.add_all(self.gathered.held)
        broken, total = breaks_order(data["order"], held.calls.sequences.values())
        self._loose_order = {name for name, times in broken.items() if times > (1 - TARGET) * total}
        return self._data() if self._loose_order else data

    def _report(self, held: HeldOut) -> DraftReport:
        found = self.gathered
        return DraftReport(
            cases=found.cases,
            used=self._used,
            unusable={reason: times for reason, times in self.reasons.items() if times},
            held=held,
            mended=self.mended,
            kind="value" if self.has_value else "calls" if found.calls.made >= found.texts.seen else "text",
            other=found.values if not self.has_value else 0,
            whole_lines=self.whole_lines,
        )


def _better(found: ObservedReply, again: ObservedReply) -> ObservedReply:
    """The reading to count: the one under a draft if the reply fits it or had no value. Broken replies stay broken."""
    if again.value is NOTHING or not (again.ok or found.value is NOTHING):
        return found
    return again._replace(clean=again.clean and found.clean)


def _accepted(judged: list[HeldOutReply]) -> tuple[int, int]:
    whole = [one.ok for one in judged if one.kind == "whole"]
    return sum(whole), len(whole)


def _said(word: Word) -> str:
    """A relaxed constraint, in words.

    >>> _said(("", ("a", "[]"), "type:null")), _said(("pay", (), "required:sum"))
    ('a[] may be null', 'sum is optional (pay)')
    """
    tool, at, what = word
    where = ".".join(at).replace(".[]", "[]").replace(".{}", "{}") or "the value"
    kind, _, name = what.partition(":")
    if kind == "type":
        said = f"{where} may be {name if name == 'null' else f'an {name}' if name[0] in 'aio' else f'a {name}'}"
    elif kind == "required":
        said = f"{'.'.join((*at, name))} is optional"
    else:
        said = f"no {_WORDS.get(kind, kind)} for {where}" if kind != "any" else f"{where} may be anything"
    return safe_line(f"{said} ({tool})" if tool else said)[:120]


_WORDS = {
    "length": "length", "size": "size", "variants": "kinds of objects", "closed": "refusal of unknown keys", "tuple": "fixed places",
    "state": "tools by state", "states": "states", "min_text": "least length",
}  # fmt: skip


def _least(lengths: "Counter[int]", total: int) -> int:
    """The largest round number of characters that nearly all texts have; 0 if there is none."""
    for fewest in (20, 10, 5, 2, 1):
        if sum(times for size, times in lengths.items() if size < fewest) <= 0.002 * total:
            return fewest
    return 0
