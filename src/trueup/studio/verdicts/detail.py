"""One verdict in full: takes its id and returns everything that is known about it, as data for the page.

For each missing part it says why. A verdict of another tenant does not exist for a key.
"""

from typing import Any

import msgspec

from trueup.contract.contract import Contract
from trueup.contract.text import rebuilt
from trueup.labelling.subjects import subject_of
from trueup.material.case import REASONS, Reason
from trueup.material.stored import case_of_stored
from trueup.store.browsing import VerdictRow, named
from trueup.store.cells import pack
from trueup.store.contexts import UNKNOWN
from trueup.store.errors import MICROS, UnknownVerdict
from trueup.store.labels import label_rows
from trueup.store.records import Stored
from trueup.store.session import Session
from trueup.store.store import Store
from trueup.studio.contracts.drafts import lint_draft
from trueup.studio.contracts.files import healths, list_contracts, open_contract
from trueup.studio.judging.drawing import drawn
from trueup.studio.judging.evidence import evidence_of, grounding_of
from trueup.studio.judging.judge import told
from trueup.studio.judging.spelling import spell
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import Key, StudioSettings
from trueup.studio.studio import Studio
from trueup.studio.verdicts.rows import drawn_rows
from trueup.verdict.verdict import Verdict

_AROUND = 20  # attempts of a request, and verdicts of a conversation, before and after this one
_MOST_COUNTED = 1_000
_MOST_CONTEXT = 60_000  # letters
_UNSOURCED = "The source was not stored, so the evidence cannot be shown. A store keeps the context of verdicts with `keep_context`."


def find_verdict(store: Store, name: str, who: Key) -> Stored:
    """The verdict with this id, if the key may see it."""
    try:
        stored = store.get(name)
    except (UnknownVerdict, ValueError):
        stored = None
    if stored is None or (who.tenant is not None and stored.tenant != who.tenant):
        raise RequestRefused(
            404, f"There is no verdict {name[:100]!r}.", code="no_verdict",
            hint="It may be past its retention, or its id is incomplete.",
        )  # fmt: skip
    return stored


def detail(studio: Studio, name: str, who: Key) -> dict[str, Any]:
    """Everything that is known about a verdict."""
    store = studio.store
    stored = find_verdict(store, name, who)
    return {
        **store.read(lambda session: _around(session, stored, who)),
        **_judged(store, stored),
        "contract": _contract(studio, stored, who),
    }


def _around(session: Session, stored: Stored, who: Key) -> dict[str, Any]:
    """The row itself, the other attempts of its request, its conversation, and its labels."""
    own = named(session, "v.id = ?", (pack(stored.id),), 1)
    tried, attempts = _near(session, stored, "v.request = ?", stored.request)
    said, talk = _near(session, stored, "v.conversation = ? AND v.conversation <> ''", stored.conversation)
    labels = [{**label, "mine": label["author"] == who.name} for label in label_rows(session, verdicts=[stored.id])]
    return {
        "row": next(iter(drawn_rows(session, own, who.name)), None),
        "attempts": drawn_rows(session, attempts or own, who.name),
        "conversation": drawn_rows(session, talk, who.name) if len(talk) > 1 else [],
        "of": {"attempts": tried, "conversation": said},
        "labels": labels,
        "user": stored.user,
        "tokens": {"in": stored.tokens_in, "out": stored.tokens_out},
        "engine": stored.engine,
    }


def _near(session: Session, stored: Stored, same: str, value: str) -> tuple[int, list[VerdictRow]]:
    """The verdicts with the same value around this one, in order, and their total number; none if the value is empty."""
    if not value:
        return 0, []
    where = f"{same} AND v.tenant = ?"  # two tenants may use the same ids
    values = (pack(value), pack(stored.tenant))
    counted = session.run(
        f"SELECT count(*) FROM (SELECT 1 FROM verdicts v WHERE {where} LIMIT {_MOST_COUNTED}) n",  # noqa: S608 - our own words
        values,
    )
    at = round(stored.at * MICROS)
    before, own, after = (
        named(
            session,
            f"{where} AND (v.at, v.id) {sign} (?, ?)",
            (*values, at, pack(stored.id)),
            _AROUND,
            newest=sign == "<",
        )
        for sign in "<=>"
    )
    return int(counted[0][0]), [*before, *own, *after]


def _judged(store: Store, stored: Stored) -> dict[str, Any]:
    """The original verdict, or why it is gone; its context as far as it was kept."""
    context = None if stored.context is None else spell(stored.context, _MOST_CONTEXT)
    answer: dict[str, Any] = {
        "verdict": None,
        "gone": "",
        "unsourced": "",
        "kept": stored.kept,
        "context": None if context is None else {"text": context.text, "cut": context.cut},
        "missing": stored.missing,
    }
    if stored.body is None:
        reason: Reason = "reply_expired" if stored.kept == "expired" else "reply_not_kept"
        return {**answer, "gone": _sentence(reason)}
    verdict = stored.verdict
    if verdict is None:
        return {**answer, "gone": "The stored reply cannot be read."}
    text = store.contract_text(stored.fingerprint) if stored.fingerprint else None
    contract = _old(text) if text is not None and (not verdict.ok or "grounded" in text) else None
    said, untold = None, ""
    if not verdict.ok and contract is None:
        untold = "The text of this version of the contract is not in the store."
    elif not verdict.ok and contract is not None:
        said, untold = told(contract, verdict, stored.context or {})
    shown = drawn(verdict, said)
    evidence, unsourced = None, ""
    if contract is not None:
        evidence, unsourced = _evidence(contract, verdict, stored, shown["facts"])
    for fact in shown["facts"]:
        if fact["kind"] == "finding":
            fact["subject"] = subject_of({"code": fact["code"], "data": {"rule": fact["rule"]}})
    return {**answer, "unsourced": unsourced, "verdict": {**shown, "untold": untold, "evidence": evidence}}


def _evidence(
    contract: Contract[Any], verdict: Verdict, stored: Stored, facts: list[dict[str, Any]]
) -> tuple[Any, str]:
    """The evidence of a grounded verdict, looked up again in the stored source; or why it cannot be shown."""
    grounding = grounding_of(contract)
    if grounding is None:
        return None, ""
    context = stored.context or {}
    gone = {name for name, why in stored.missing.items() if why != "redacted"}
    if context.get("source") is None and not gone.isdisjoint(grounding.looks_at | {UNKNOWN}):
        return None, _UNSOURCED
    try:
        found = evidence_of(contract, verdict, context, facts, again=True)
    except Exception as error:  # noqa: BLE001 - what was stored may be anything
        return None, f"The values could not be looked up: {error}"[:300]
    return msgspec.to_builtins(found), ""


def _sentence(reason: Reason) -> str:
    said = REASONS[reason]
    return f"{said[0].upper()}{said[1:]}."


def _old(text: str) -> Contract[Any] | None:
    """The contract that judged, if its stored text is complete."""
    try:
        return rebuilt(text)
    except Exception:  # noqa: BLE001 - a contract with parts that are not installed here
        return None


def _contract(studio: Studio, stored: Stored, who: Key) -> dict[str, Any]:  # noqa: ARG001
    """The contract that judged, and whether a file in the folders now has the same one."""
    file, fingerprint = current_file(studio.settings, stored.contract, stored.fingerprint)
    return {
        "name": stored.contract,
        "fingerprint": stored.fingerprint,
        "file": file,
        "current": bool(fingerprint) and fingerprint == stored.fingerprint,
        "now": fingerprint,
    }


def current_file(settings: StudioSettings, contract: str, fingerprint: str) -> tuple[str, str]:
    """The current file of a contract, with its fingerprint; one with the same contract is preferred.

    Empty if there is none.
    """
    if not contract:
        return "", ""
    listed = [each for each in list_contracts(settings)[0] if contract in (each[2].name, each[1].stem)]
    files = [
        (name, health.fingerprint)
        for (name, _, _), health in zip(listed, healths(settings, listed), strict=True)
        if health is not None and health.fingerprint and health.name == contract
    ]
    files.sort(key=lambda file: file[1] != fingerprint)
    return files[0] if files else ("", "")


def again(studio: Studio, name: str, who: Key) -> dict[str, Any]:
    """A stored reply, judged by the current contract file of the same name, with everything needed to open it in Try."""
    stored = find_verdict(studio.store, name, who)
    case = case_of_stored(stored)
    file, _ = current_file(studio.settings, stored.contract, stored.fingerprint)
    context = {name: value for name, value in (stored.context or {}).items() if name != "state"}
    source = context.pop("source") if isinstance(context.get("source"), str) else ""
    answer: dict[str, Any] = {
        "reply": "" if stored.verdict is None else stored.verdict.reply.text,
        "state": stored.state,
        "source": source,
        "context": spell(context, _MOST_CONTEXT).text if context else "",
        "contract": None,
        "verdict": None,
        "why": "",
    }
    if file:
        opened = open_contract(studio.settings, file)
        answer["contract"] = {"file": file, "text": opened.text, "kind": opened.kind, "hash": opened.hash}
    if case.unjudgeable is not None:
        return {**answer, "why": _sentence(case.unjudgeable)}
    if not file:
        return {**answer, "why": "No file in the studio's folders has a contract with that name."}
    contract = lint_draft(studio.settings, answer["contract"]["text"], file).contract
    if contract is None:
        return {**answer, "why": "The contract file has errors."}
    try:
        verdict = contract.check(case.reply, case.context or {})
        shown = drawn(verdict, told(contract, verdict, case.context or {})[0])
        shown["evidence"] = msgspec.to_builtins(evidence_of(contract, verdict, case.context or {}, shown["facts"]))
    except Exception as error:  # noqa: BLE001 - a check of the contract's own may raise anything
        return {**answer, "why": f"Judging failed: {error}"[:300]}
    return {**answer, "verdict": shown}
