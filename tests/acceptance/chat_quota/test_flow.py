"""The rules at work: retries, quota, asynchronous scores, traceable changes, monitoring, re-judging, and all of it over HTTP."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.chat_quota.validate_response import CONTRACT, result_of
from trueup import Contract, Policy, Reply
from trueup.batch.judging.contracts import spec_of
from trueup.batch.sift import sift
from trueup.contract.plugins import check
from trueup.gateway.config import Caller, Config, Route, Upstream
from trueup.gateway.running import Running, running
from trueup.store.open import open_store
from trueup.store.store import Store
from trueup.testing.script import Cut
from trueup.testing.server import ScriptedServer

HERE = Path(__file__).parent
QUICK = Policy(backoff=0.01, backoff_cap=0.02)
GOOD = "Hi! How can I help you today?"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "verdicts.db") as opened:
        yield opened


# -- an invalid response triggers a retry, and is not charged --------------------------------------------------------------


@pytest.mark.spec("Q12")
def test_an_empty_response_triggers_a_retry() -> None:
    with ScriptedServer(["", GOOD]) as model:
        answer = CONTRACT.ask(model.url, "Hello", QUICK)
    assert (answer.outcome, len(answer.attempts), answer.verdict.reason) == ("accepted", 2, "Sufficient text content")
    assert answer.attempts[0].verdict is not None
    assert answer.attempts[0].verdict.reason == "Empty response"


def test_a_model_that_only_says_nothing_is_asked_several_times_and_never_accepted() -> None:
    with ScriptedServer([], then="") as model:
        answer = CONTRACT.ask(model.url, "Hello", QUICK)
    assert len(answer.attempts) > 1
    assert (answer.ok, answer.verdict.reason) == (False, "Empty response")


def test_an_interrupted_stream_is_asked_for_again_while_asking_is_possible() -> None:
    cut = Cut("Let me help you with that", events=-3, silent=True)  # before its end, its usage and its mark
    with ScriptedServer([cut, GOOD]) as model:
        stream = CONTRACT.ask_stream(model.url, "Hello", QUICK)
        shown = "".join(part.text for part in stream if part.kind == "text")
    assert (len(stream.answer.attempts), stream.answer.text) == (2, GOOD)
    assert shown.endswith(GOOD)


def test_rules_that_cannot_be_read_refuse_and_do_not_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIN_VALIDATION_TEXT_LENGTH", "many")
    assert not CONTRACT.awaits
    with ScriptedServer([], then=GOOD) as model:
        stream = CONTRACT.ask_stream(model.url, "Hello", QUICK)
        assert "".join(part.text for part in stream) == ""
    assert "MIN_VALIDATION_TEXT_LENGTH" in stream.answer.verdict.reason


@pytest.mark.spec("Q13")
def test_only_valid_responses_are_charged(store: Store) -> None:
    store.quota.set_limit("acme", 2, period="day")

    def respond(key: str, messages: Any) -> bool:
        held = store.quota.reserve("acme", key)
        verdict = CONTRACT.check(messages)
        store.record_verdict(verdict, contract=CONTRACT, tenant="acme", request=key, model="cerebras-1")
        (store.quota.capture if verdict.ok else store.quota.release)(held)
        return verdict.ok

    assert [respond(str(at), text) for at, text in enumerate(("", GOOD, "OK", "  ", GOOD))] == [
        False, True, False, False, True,
    ]  # fmt: skip
    assert {standing.period: standing.used for standing in store.quota.standings("acme")} == {"day": 2, "total": 2}
    # monitoring: reasons and rates by model
    rate = store.stats()[0]
    assert (rate.model, rate.asked, rate.failed, rate.reasons) == (
        "cerebras-1",
        5,
        3,
        {"Q002": 1, "Q004": 1, "Q006": 1},
    )


# -- asynchronous checks with separate metrics ------------------------------------------------------------------------------


async def ml_score(reply: Reply, context: dict[str, Any]) -> dict[str, Any]:
    """A model that scores replies, somewhere on the network."""
    await asyncio.sleep(0)
    score = min(1.0, len(set(reply.text.split())) / 5)
    return {"ok": score > 0.7, "reason": f"Quality score: {score}", "metrics": {"qualityScore": score}}


SCORED = Contract(reply={"rules": [ml_score]}, name="scored")
RICH, POOR = "Here is a full and useful answer.", "words words words"


def test_a_score_that_is_awaited_decides_and_is_measured() -> None:
    async def validate(text: str) -> Any:
        return result_of(await SCORED.acheck(text))

    good, poor = asyncio.run(validate(RICH)), asyncio.run(validate(POOR))
    assert (good["isValid"], good["reason"], good["metrics"]["qualityScore"]) == (True, "Quality score: 1.0", 1.0)
    assert (poor["isValid"], poor["reason"], poor["metrics"]["qualityScore"]) == (False, "Quality score: 0.2", 0.2)


@pytest.mark.parametrize(("score", "valid"), [(0.7, False), (0.71, True), (0.2, False), (1.0, True)])
def test_a_score_must_be_above_its_threshold(score: float, valid: bool) -> None:
    async def scored(reply: Reply, context: dict[str, Any]) -> dict[str, Any]:
        return {"ok": score > 0.7, "reason": f"Quality score: {score}", "metrics": {"qualityScore": score}}

    result = result_of(Contract(reply={"rules": [scored]}).check(GOOD))
    assert (result["isValid"], result["reason"]) == (valid, f"Quality score: {score}")


# How relevance is measured is up to the application; a rule knows the question that was asked.
@pytest.mark.parametrize(
    ("answer", "relevance"), [("Berlin is rather big.", 0.5), ("Berlin is large and ancient.", 0.75)]
)
def test_a_response_is_judged_by_the_question(answer: str, relevance: float) -> None:
    def relevant(reply: Reply, context: dict[str, Any]) -> dict[str, Any]:
        asked, told = (set(text.lower().split()) for text in (context["question"], reply.text))
        score = len(asked & told) / len(asked)
        return {"ok": score > 0.5, "reason": f"Relevance: {score}", "metrics": {"relevance": score}}

    messages = [{"role": "user", "content": "is berlin large old"}, {"role": "assistant", "content": answer}]
    result = result_of(Contract(reply={"rules": [relevant]}).check(messages))
    assert (result["isValid"], result["reason"]) == (relevance > 0.5, f"Relevance: {relevance}")
    assert result["metrics"]["relevance"] == relevance


def test_code_that_is_not_asynchronous_gets_the_same_verdict() -> None:
    async def inside_a_loop() -> Any:
        return SCORED.check(RICH)

    async def awaited() -> Any:
        return await SCORED.acheck(RICH)

    assert SCORED.check(RICH) == asyncio.run(inside_a_loop()) == asyncio.run(awaited())


def test_asking_awaits_the_score() -> None:
    async def ask(url: str) -> Any:
        return await SCORED.aask(url, "Hello", QUICK)

    with ScriptedServer([POOR, RICH]) as model:
        answer = asyncio.run(ask(model.url))
    assert (len(answer.attempts), answer.verdict.metrics["qualityScore"]) == (2, 1.0)


@check("ACC001", "toxic", "The reply is toxic.")
async def toxic(verdict: Any, context: Any) -> Any:
    await asyncio.sleep(0)
    yield {"toxicity": 0.9 if "idiot" in verdict.reply.text else 0.0}
    if "idiot" in verdict.reply.text:
        yield "calls names"


def test_checks_made_with_the_decorator_may_be_asynchronous() -> None:
    contract = Contract(checks=[toxic])
    refused = contract.check("You idiot, look again.")
    assert (refused.reason, refused.metrics) == ("calls names", {"toxicity": 0.9})
    assert contract.check("Please look again.").metrics == {"toxicity": 0.0}


# -- every rule change is traceable ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_plain_environment")
def test_stored_verdicts_say_under_which_rules_they_were_made(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.record_verdict(CONTRACT.check("Let me help."), contract=CONTRACT)
    monkeypatch.setenv("MIN_VALIDATION_TEXT_LENGTH", "15")
    store.record_verdict(CONTRACT.check("Let me help."), contract=CONTRACT)
    before, after = store.rules()
    assert [(rules.contract, rules.verdicts, rules.refusal_rate) for rules in (before, after)] == [
        ("chat-quota", 1, 0.0), ("chat-quota", 1, 1.0),
    ]  # fmt: skip
    assert before.fingerprint != after.fingerprint == CONTRACT.fingerprint
    assert [stored.fingerprint for stored in store.verdicts()] == [before.fingerprint, after.fingerprint]


@pytest.fixture
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIN_VALIDATION_TEXT_LENGTH", raising=False)


# Learning from feedback comes later; its material is stored: valid responses that did not help, with their rules.
def test_valid_responses_that_did_not_help_are_found(store: Store) -> None:
    ids = [
        store.record_verdict(CONTRACT.check(text), contract=CONTRACT) for text in (GOOD, "Ask me later, please.", "OK")
    ]
    for id_, helpful in zip(ids, (True, False, False), strict=True):
        store.record_feedback(id_, helpful=helpful)
    unhelpful = [store.get(row["verdict"]) for row in store.feedback() if not row["helpful"]]
    assert [stored.id for stored in unhelpful if stored.ok] == [ids[1]]
    assert {stored.fingerprint for stored in unhelpful} == {CONTRACT.fingerprint}


# -- stored replies are judged again under other rules --------------------------------------------------------------------------


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_an_export_is_sifted_under_stricter_rules(store: Store, tmp_path: Path) -> None:
    called = {
        "role": "assistant",
        "content": "",
        "toolInvocations": [{"toolName": "createDocument", "state": "result"}],
    }
    explained = {"role": "assistant", "content": "Your document is ready."}
    for messages in ("Let me help.", GOOD, [called, explained], [called]):
        store.record_verdict(CONTRACT.check(messages), contract=CONTRACT)
    store.export(tmp_path / "verdicts.jsonl")
    result = sift([str(tmp_path / "verdicts.jsonl")], spec_of(Contract(reply={"min_text": 15})), tmp_path / "sifted")
    assert (result.summary["counts"]["valid"], result.summary["counts"]["failed"]) == (2, 2)
    assert result.summary["contract"]["fingerprint"] == Contract(reply={"min_text": 15}).fingerprint
    reasons = [row["errors"][0]["message"] for row in lines(tmp_path / "sifted" / "failures.jsonl")]
    assert reasons == ["Insufficient text (12 chars)", "Tool calls without text"]
    again = sift([str(tmp_path / "sifted" / "failures.jsonl")], spec_of(Contract(reply=True)), tmp_path / "again")
    assert again.summary["counts"]["valid"] == 1, "the records of a sift hold what is needed to sift them"


def test_conversations_are_sifted(tmp_path: Path) -> None:
    hello = {"role": "user", "content": "Hello"}
    units = [
        {"unit_id": "a", "messages": [hello, {"role": "assistant", "content": "The answer is forty-two."}]},
        {"unit_id": "b", "messages": [hello, {"role": "assistant", "content": "Hi there!"}, hello, {"role": "assistant", "content": "Yes"}]},
        {"unit_id": "c", "messages": [hello, {"role": "assistant", "content": "Hi!"}, hello, {"role": "assistant", "content": "It is forty-two."}]},
        {"unit_id": "d", "messages": [hello]},
    ]  # fmt: skip
    (tmp_path / "chats.jsonl").write_text("".join(json.dumps(unit) + "\n" for unit in units), "utf-8")
    rule = {"name": "greeting", "expr": "not first or 'hi' in text.lower()", "reason": "Missing greeting"}
    sift([str(tmp_path / "chats.jsonl")], spec_of(Contract(reply={"rules": [rule]})), tmp_path / "sifted")
    assert [row["unit_id"] for row in lines(tmp_path / "sifted" / "validated.jsonl")] == ["c"]
    failed = {row["unit_id"]: row["errors"][0]["message"] for row in lines(tmp_path / "sifted" / "failures.jsonl")}
    assert failed == {
        "a": "Missing greeting",
        "b": "Insufficient text (3 chars)",
        "d": "There is no message of the model to judge",
    }


# -- the same for an application in TypeScript -------------------------------------------------------------------------------


@pytest.fixture
def gateway(store: Store) -> Iterator[Running]:
    with ScriptedServer(["", GOOD]) as model:
        config = Config(
            upstreams={"main": Upstream("main", model.url, private=True)}, routes=(Route("chat", ("*",), CONTRACT, policy=QUICK),),
            contracts={"chat-quota": CONTRACT, "scored": SCORED}, clients=(Caller("app-key", "acme"),), quota=True,
        )  # fmt: skip
        with running(config, store) as opened:
            yield opened


def test_the_checks_are_available_over_http(gateway: Running, store: Store) -> None:
    with httpx.Client(base_url=gateway.url, headers={"authorization": "Bearer app-key"}) as http:

        def ask(**body: Any) -> Any:
            return http.post("/v1/check", json={"contract": "chat-quota", **body}).json()

        short, fine = ask(reply="Yes", model="cerebras-1"), ask(reply=GOOD, model="cerebras-1")
        assert (short["ok"], short["reason"], short["metrics"]["total_text_length"]) == (
            False,
            "Insufficient text (3 chars)",
            3,
        )
        assert (fine["ok"], fine["reason"], fine["fingerprint"]) == (
            True,
            "Sufficient text content",
            CONTRACT.fingerprint,
        )
        scored = ask(contract="scored", reply=RICH)
        assert scored["metrics"]["qualityScore"] == 1.0
        # asking through the gateway retries and charges; checking charges nothing
        asked = {"model": "cerebras-1", "messages": [{"role": "user", "content": "Hello"}]}
        reply = http.post("/v1/chat/completions", json=asked)
        assert reply.json()["choices"][0]["message"]["content"] == GOOD
        assert reply.headers["x-trueup-attempts"] == "2"
    store.flush()
    assert [standing.used for standing in store.quota.standings("acme") if standing.scope == "tenant"] == [1]
    assert store.get(short["id"]).reason == "Q006"


@pytest.mark.needs("node")
def test_a_typescript_application_uses_the_checks(gateway: Running) -> None:
    done = subprocess.run(
        ["node", str(HERE / "check.mjs"), gateway.url], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    refused, passed, misused = json.loads(done.stdout)
    assert (refused["isValid"], refused["reason"]) == (False, "Tool calls without text")
    assert (passed["isValid"], passed["reason"]) == (True, "Tool outputs with explanation")
    assert "'messages' must be a list" in misused
