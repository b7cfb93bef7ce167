"""Backtests and tuning: long jobs, streamed as they run."""

from typing import Any

import msgspec

from trueup.contract.contract import Contract
from trueup.material.case import REASONS
from trueup.material.selection import Selection
from trueup.studio.contracts.drafts import contract_of, lint_draft, place_of
from trueup.studio.contracts.files import called, open_contract
from trueup.studio.contracts.stored import has_judged
from trueup.studio.endpoint import TEXTS, Endpoint, JsonLines
from trueup.studio.moments import moment
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import Key
from trueup.studio.studio import Studio
from trueup.studio.verdicts.asking import tenant_for
from trueup.studio.working.addresses import address_of
from trueup.studio.working.folders import told_of


class StoredReplies(msgspec.Struct, frozen=True):
    """A contract file, and the stored replies that it is measured on."""

    file: str
    since: str = ""
    until: str = ""
    model: str = ""
    state: str = ""
    tenant: str = ""
    contract: str | None = None
    """The name of the contract whose replies are judged; None: the file's own; empty: all contracts."""


class BacktestRequest(StoredReplies, frozen=True, kw_only=True):
    """A draft of a contract file, and the stored replies to judge again."""

    text: str
    against: str = ""
    """The fingerprint of a stored version to compare with; empty: the saved file."""
    limit: int | None = None


class OneFlip(msgspec.Struct, frozen=True):
    """A stored reply, and a draft to judge it by."""

    id: str
    file: str
    text: str
    against: str = ""
    """The fingerprint of a stored version to compare with; empty: the saved file."""


class Applying(StoredReplies, frozen=True, kw_only=True):
    """Suggestions from a tuning, and the hash of the file that they were made for."""

    hash: str
    suggestions: tuple[str, ...]
    """The ids of the suggestions."""
    examples: bool = True
    """Add the deciding replies to the file's examples."""


def backtest(studio: Studio, asked: BacktestRequest, who: Key) -> JsonLines:
    """Judge stored replies under a draft and under the saved file: estimates as it goes, then the result with its flips."""
    draft = contract_of(studio.settings, asked.text, asked.file)
    old, stored = _old(studio, asked)
    before = _contract(studio, asked, old, stored=stored)
    if before is not None and before.fingerprint == draft.fingerprint:
        return JsonLines(iter([{"result": _same(draft.name, "that version" if stored else "the saved contract")}]))
    selection = _selection(studio, asked, who, (before and before.name) or draft.name)
    if asked.limit is not None and asked.limit < 1:
        raise RequestRefused(400, "`limit` must be a number of replies, 1 or more.")
    spec: dict[str, Any] = {
        **told_of(studio.settings), "store": address_of(studio), "file": asked.file, "text": asked.text, "old": old,
        "old_stored": stored, "selection": msgspec.to_builtins(selection), "sample": asked.limit,
    }  # fmt: skip
    return JsonLines(studio.works.start("backtest", spec))


def _selection(studio: Studio, asked: StoredReplies, who: Key, name: str) -> Selection:
    """The selected replies; a key of one tenant never reaches those of another.

    A contract without a name gets the name of its file if the store knows that name; otherwise the replies of all
    contracts are selected.
    """
    if asked.contract is not None:
        name = asked.contract
    elif not name:
        path = place_of(studio.settings, asked.file)
        name = called(path) if has_judged(studio.store, called(path)) else ""
    return Selection(
        since=moment("since", asked.since), until=moment("until", asked.until), model=asked.model or None, state=asked.state or None,
        tenant=tenant_for(asked.tenant or None, who),
        contract=name or None,
    )  # fmt: skip


def tune(studio: Studio, asked: StoredReplies, who: Key) -> JsonLines:
    """Measure the rules of a contract file on labelled replies: progress, then suggestions for the file, each with its backtest."""
    return JsonLines(studio.works.start("tune", _tuning(studio, asked, who)))


def apply(studio: Studio, asked: Applying, who: Key) -> Any:
    """Write suggestions into their file if it still has the given hash, and report what was written."""
    more = {"hash": asked.hash, "suggestions": list(asked.suggestions), "examples": asked.examples}
    return studio.works.start("apply", {**_tuning(studio, asked, who), **more}).result()


def _tuning(studio: Studio, asked: StoredReplies, who: Key) -> dict[str, Any]:
    name = contract_of(studio.settings, open_contract(studio.settings, asked.file).text, asked.file).name
    return {
        **told_of(studio.settings), "store": address_of(studio), "file": asked.file,
        "selection": msgspec.to_builtins(_selection(studio, asked, who, name)),
    }  # fmt: skip


def flip(studio: Studio, asked: OneFlip, who: Key) -> dict[str, Any]:
    """One stored reply under a draft and under the saved file: both verdicts, to show side by side."""
    from trueup.material.stored import case_of_stored
    from trueup.store.errors import UnknownVerdict
    from trueup.studio.judging.drawing import drawn
    from trueup.studio.working.flips import judged

    draft = contract_of(studio.settings, asked.text, asked.file)
    old, is_stored = _old(studio, asked)
    before = _contract(studio, asked, old, stored=is_stored)
    try:
        stored = studio.store.get(asked.id)
    except UnknownVerdict:
        raise _no_verdict(asked.id) from None
    if who.tenant is not None and stored.tenant != who.tenant:
        raise _no_verdict(asked.id)
    case = case_of_stored(stored)
    if case.unjudgeable is not None:
        raise RequestRefused(
            410, f"This reply cannot be judged again: {REASONS[case.unjudgeable]}.", code=case.unjudgeable
        )
    sides = [None if contract is None else judged(contract, case) for contract in (before, draft)]
    return {
        "old": None if sides[0] is None else drawn(sides[0]), "new": None if sides[1] is None else drawn(sides[1]),
        "id": stored.id, "recorded": stored.ok, "codes": list(stored.codes), "missing": list(case.missing),
    }  # fmt: skip


def _no_verdict(name: str) -> RequestRefused:
    return RequestRefused(404, f"There is no verdict {name[:100]!r}.", code="no_verdict")


def _old(studio: Studio, asked: BacktestRequest | OneFlip) -> tuple[str | None, bool]:
    """The text to compare with, and whether it is a stored version; None for the recorded outcomes, if the saved file has errors."""
    if not asked.against:
        saved = open_contract(studio.settings, asked.file).text
        return (None if lint_draft(studio.settings, saved, asked.file).contract is None else saved), False
    text = studio.store.contract_text(asked.against)
    if text is None:
        raise RequestRefused(404, f"The store has no version {asked.against[:40]!r}.", code="no_version")
    return text, True


def _contract(
    studio: Studio, asked: BacktestRequest | OneFlip, old: str | None, *, stored: bool
) -> Contract[Any] | None:  # fmt: skip
    """The contract to compare with; None for recorded outcomes."""
    from trueup.contract.text import rebuilt

    if old is None:
        return None
    if not stored:
        return contract_of(studio.settings, old, asked.file)
    try:
        return rebuilt(old)
    except ValueError as error:
        raise RequestRefused(422, f"This version cannot be used again: {error}", code="not_portable") from None


def _same(name: str, other: str) -> dict[str, Any]:
    """The result for two contracts that decide the same: nothing needs to be judged."""
    from trueup.backtesting.result import Backtest
    from trueup.studio.working.backtest import figures

    found = Backtest(name, name, ())
    found.same = found.complete = True
    said = (
        f"Nothing can flip: this text decides the same as {other}. Only comments, its name or its examples can differ."
    )
    return {**figures(found), "conclusion": said, "flips": []}


ENDPOINTS = (
    Endpoint("POST", "/backtest", "read", backtest, takes=BacktestRequest, most=TEXTS, streams=True, slow=True),
    Endpoint("POST", "/backtest/flip", "read", flip, takes=OneFlip, most=TEXTS, slow=True),
    Endpoint("POST", "/tune", "read", tune, takes=StoredReplies, streams=True, slow=True),
    Endpoint("POST", "/tune/apply", "edit", apply, takes=Applying, slow=True),
)
