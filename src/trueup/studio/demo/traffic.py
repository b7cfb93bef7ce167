"""Traffic: takes a random generator and returns requests of several models, tenants and conversations, as records for
the store.

Replies come from templates or recordings. The engine judges all of them, and a refused reply is followed by another
attempt, as in `ask` and the gateway. The same seed gives the same traffic.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec

from trueup.contract.contract import Contract
from trueup.store.records import GivenUp, Note, reason_of
from trueup.studio.demo.material import example, text
from trueup.studio.demo.scenes import Kind, Scene, SceneReply, recorded, scenes
from trueup.verdict.reply import Reply
from trueup.verdict.verdict import Verdict

_ATTEMPTS = 3
_REDRAWS = 40
_HOPELESS = 0.025  # share of requests that no model answers


class FictionalModel(NamedTuple):
    """A fictional model: its shares of wrong and messy replies, its seconds per call, and its price per million tokens."""

    wrong: float
    messy: float
    seconds: float
    price_in: float
    price_out: float


MODELS = {
    "maple-large": FictionalModel(0.04, 0.12, 1.8, 2.5, 10.0),
    "maple-mini": FictionalModel(0.11, 0.25, 0.7, 0.15, 0.6),
    "fern-3b": FictionalModel(0.34, 0.4, 0.35, 0.02, 0.02),
}
SPARE = "maple-large"  # asked after another one has failed
TENANTS = {"north": 5, "harbour": 3, "meadow": 2}
_SHARES = {"profile": 6, "triage": 6, "salon": 4, "clinic": 3, "helpdesk": 4, "people": 2, "invoice": 3}
_BY_SCENE = {"salon": ("maple-mini", "maple-large"), "clinic": ("maple-large", "maple-mini")}
_MIX = ("maple-large", "maple-mini", "maple-mini", "fern-3b")

# Changes of these contracts some days ago: each pair is the new text and the old one.
OLDER = {
    "profile": ("role: {enum: [engineer, designer, writer]}", "role: {enum: [engineer, designer]}"),
    "triage": ("expr: len(summary) >= 60", "expr: len(summary) >= 90"),
}


class DemoRequest(NamedTuple):
    """One completed request: the records of its replies, the last one final."""

    notes: tuple[Note, ...]
    is_wrong: bool
    """Whether the last reply is wrong, independent of the engine's verdict."""

    @property
    def last(self) -> Note:
        return self.notes[-1]


class _Attempt(NamedTuple):
    model: str
    said: SceneReply
    verdict: Verdict
    kind: Kind
    seconds: float

    @property
    def cost(self) -> int:
        return _cost(self.model, self.verdict)


class Traffic:
    """Requests, one after another. Older versions of contracts are written to `folder`, to be loaded from there."""

    def __init__(self, chance: Random, folder: Path) -> None:
        self._chance = chance
        self._scenes = scenes()
        self._verdicts: dict[tuple[str, str, str], Verdict] = {}
        self._turn = 0
        self.contracts = {name: Contract.load(example(scene.contract)) for name, scene in self._scenes.items()}
        self.older = {name: _older(name, self._scenes[name], folder) for name in OLDER}

    def conversation(self, *, old: bool = False) -> Iterator[DemoRequest]:
        """The requests of one conversation; most have one request. `old`: judged by the contracts of some days ago."""
        chance = self._chance
        name = chance.choices(list(_SHARES), list(_SHARES.values()))[0]
        scene = self._scenes[name]
        contract = (self.older if old else {}).get(name) or self.contracts[name]
        tenant = chance.choices(list(TENANTS), list(TENANTS.values()))[0]
        model = chance.choice(_BY_SCENE.get(name, _MIX))
        talk = f"{tenant}-{self._number():05x}" if scene.states else ""
        for state in scene.states[: chance.randint(1, len(scene.states))] if scene.states else ("",):
            yield self._request(
                scene, contract, state, Note("", Verdict(""), tenant=tenant, model=model, conversation=talk)
            )

    def booking(self) -> Iterator[tuple[str, DemoRequest]]:
        """The recorded replies of a clinic's assistant, each once and with its own id.

        `booking/labels.jsonl` refers to these ids.
        """
        contract = Contract.load(example("booking/booking.yaml"))
        for row in recorded("booking/replies.jsonl"):
            said = SceneReply(row["raw_response"], dict(row["input"]))
            verdict = contract.check(_with_usage(said.reply), said.context)
            mine = Note(
                self._id(), verdict, tenant="meadow", model="maple-mini", contract=contract.name, rules=contract, fingerprint=contract.fingerprint,
                latency=self._seconds("maple-mini"), cost=_cost("maple-mini", verdict), context=said.context, conversation=row["input"]["conversation"],
                outcome="accepted" if verdict.ok else "failed",
            )  # fmt: skip
            yield row["unit_id"], DemoRequest((mine,), not verdict.ok)

    def _request(self, scene: Scene, contract: Contract, state: str, shared: Note) -> DemoRequest:
        """Ask, and ask again while the reply is refused: three times, then a fallback, another model, or no reply."""
        model = shared.model
        is_hopeless = self._chance.random() < _HOPELESS
        attempts: list[_Attempt] = []
        while len(attempts) < _ATTEMPTS and not (attempts and attempts[-1].verdict.ok):
            attempts.append(self._attempt(scene, contract, state, model, len(attempts) + 1, is_hopeless=is_hopeless))
        given_up: tuple[GivenUp, ...] = ()
        if not attempts[-1].verdict.ok and model != SPARE and not scene.states:
            spent = sum(each.cost for each in attempts)
            given_up = (GivenUp(model, len(attempts), reason_of(attempts[-1].verdict), spent),)
            attempts.append(self._attempt(scene, contract, state, SPARE, 1, is_hopeless=is_hopeless))
        return self._noted(contract, state, shared, attempts, given_up)

    def _noted(
        self,
        contract: Contract,
        state: str,
        shared: Note,
        attempts: "list[_Attempt]",
        given_up: tuple[GivenUp, ...],
    ) -> DemoRequest:
        """The records of a request, as the gateway writes them."""
        last, request = attempts[-1], self._id()
        fallback = None if last.verdict.ok else contract.fallback(last.said.context)
        base = msgspec.structs.replace(
            shared,
            request=request,
            contract=contract.name,
            state=state,
            fingerprint=contract.fingerprint,
            rules=contract,
        )
        notes = [
            msgspec.structs.replace(
                base, id=self._id(), verdict=each.verdict, attempt=number, model=each.model, outcome="refused",
                latency=each.seconds, cost=each.cost, final=False, context=each.said.context,
            )
            for number, each in enumerate(attempts if fallback is not None else attempts[:-1], 1)
        ]  # fmt: skip
        final = msgspec.structs.replace(
            base, id=request, model=last.model, attempts=len(attempts), latency=sum(each.seconds for each in attempts),
            cost=sum(each.cost for each in attempts), context=last.said.context, given_up=given_up,
            verdict=last.verdict if fallback is None else contract.check(fallback, last.said.context),
            attempt=len(attempts) if fallback is None else 0, outcome=_outcome(attempts, state, fallback),
        )  # fmt: skip
        return DemoRequest((*notes, final), last.kind == "wrong" and fallback is None)

    def _attempt(
        self, scene: Scene, contract: Contract, state: str, model: str, number: int, *, is_hopeless: bool
    ) -> "_Attempt":
        """A model's reply and its verdict; recorded replies are drawn to fit."""
        kind = self._kind(model, number, is_hopeless=is_hopeless)
        said = scene.say(self._chance, kind, state)
        for _ in range(_REDRAWS):
            if self._judged(contract, said, state).ok is (kind != "wrong"):
                break
            said = scene.say(self._chance, kind, state)
        return _Attempt(model, said, self._judged(contract, said, state), kind, self._seconds(model))

    def _judged(self, contract: Contract, said: SceneReply, state: str) -> Verdict:
        """The verdict of a reply; the same reply in the same situation is judged only once."""
        place = (contract.fingerprint, str(said), state)
        verdict = self._verdicts.get(place)
        if verdict is None:
            verdict = self._verdicts[place] = contract.check(_with_usage(said.reply), said.context)
        return verdict

    def _kind(self, model: str, number: int, *, is_hopeless: bool) -> Kind:
        """The kind of a model's next reply; after feedback it does better, unless the task is impossible."""
        habits = MODELS[model]
        wrong = 0.85 if is_hopeless else habits.wrong * 0.6 ** (number - 1)
        drawn = self._chance.random()
        return "wrong" if drawn < wrong else "messy" if drawn < wrong + habits.messy else "good"

    def _seconds(self, model: str) -> float:
        return round(MODELS[model].seconds * self._chance.lognormvariate(0.0, 0.45), 3)

    def _number(self) -> int:
        self._turn += 1
        return self._turn

    def _id(self) -> str:
        """A temporary id; if the record is stored with another time, it gets another id."""
        return f"{self._number():016x}{self._chance.getrandbits(64):016x}"


def _outcome(attempts: list[_Attempt], state: str, fallback: str | None) -> str:
    if fallback is not None:
        return "fallback"
    if not attempts[-1].verdict.ok:
        return "failed"
    return "accepted" if len(attempts) == 1 else "regenerated" if state else "repaired"


def _older(name: str, scene: Scene, folder: Path) -> Contract:
    """The version of a contract from some days ago."""
    now, then = OLDER[name]
    path = folder / f"{name}.yaml"
    path.write_text(text(scene.contract).replace(now, then), "utf-8")
    return Contract.load(path)


def _with_usage(reply: str | dict[str, Any]) -> Any:
    """A reply with its tokens: about one for four letters."""
    if isinstance(reply, dict):
        return {**reply, "usage": {"prompt_tokens": 410, "completion_tokens": 12 + len(str(reply)) // 12}}
    return Reply(
        text=reply, finish="stop", usage={"input_tokens": 240 + len(reply) % 80, "output_tokens": 4 + len(reply) // 4}
    )


def _cost(model: str, verdict: Verdict) -> int:
    """Millionths of a dollar."""
    usage = verdict.reply.usage
    habits = MODELS[model]
    tokens_in, tokens_out = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
    return round(tokens_in * habits.price_in + tokens_out * habits.price_out)
