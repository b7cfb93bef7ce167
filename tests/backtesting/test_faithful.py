"""Faithful: replies that a real gateway recorded get the same verdict under the same contract, or a reason why not."""

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from tests.effort import SOAK
from trueup import Contract
from trueup.ask.policy import Policy
from trueup.backtesting import judging
from trueup.backtesting.backtest import backtest
from trueup.backtesting.judging import CaseOutcome, Pair
from trueup.gateway.config import Config, Route, Upstream, of
from trueup.gateway.running import running
from trueup.material.case import Case, Recorded
from trueup.material.selection import Selection
from trueup.material.sources import cases
from trueup.store.open import open_store
from trueup.testing.script import Call, Cut, Fail, Say
from trueup.testing.server import ScriptedServer

SCHEMA = {
    "type": "object", "required": ["name", "age"],
    "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer"}, "mood": {"enum": ["glad", "sad"]}},
}  # fmt: skip
BOOK = {
    "name": "book",
    "description": "Book a visit.",
    "parameters": {"type": "object", "properties": {"day": {"type": "string"}, "n": {"type": "integer"}}, "required": ["day"]},
}  # fmt: skip
LOOK = {"name": "look", "description": "Look up days.", "parameters": {"type": "object", "properties": {}}}
STATES = {
    "start": "ASKING",
    "ASKING": {"forbid": [{"terms": ["good bye"]}], "fallback": "How can I help you?"},
    "DONE": {"forbid": [{"terms": ["help"]}], "fallback": "Good bye then."},
}


def says_the_limit(verdict: Any, context: Any) -> str | None:
    """The user's own check, which uses all of its input."""
    limit = context.get("input", {}).get("limit", 0)
    return "too long a text for this limit" if len(verdict.reply.text) > limit else None


CONTRACTS: dict[str, Contract[Any]] = {
    "data": Contract(SCHEMA, rules=[{"name": "young", "expr": "age < limit"}], input=["limit"], name="data"),
    "chat": Contract(reply={"min_text": 3}, states=STATES, name="chat"),
    "tools": Contract(tools=[LOOK, BOOK], name="tools"),
    "envelope": Contract.envelope(tools=[LOOK, BOOK], name="envelope"),
    "both": Contract(SCHEMA, tools=[LOOK, BOOK], name="both"),
    "free": Contract(reply={"min_text": 2}, name="free"),
    "own": Contract(reply={"min_text": 2}, checks=[says_the_limit], name="own"),
}
POLITE = Contract(reply={"rules": [{"name": "polite", "expr": "'idiot' not in text"}]}, name="polite")
CALL = '<tool_call>{"name": "book", "arguments": {"day": "Monday", "n": "2"}}</tool_call>'
SAID: list[Any] = [
    '{"name": "Ada", "age": 36}', '```json\n{"name": "Ada", "age": "36",}\n```', 'Sure: {"name": "Ada", "age": 99}', '{"name": "Ada"}',
    '{"name": "a name that is far too long", "age": 5, "mood": "glad"}', '{"name": "Ada", "age": 36, "mood": "Glad"}', "", "no",
    "Hello, how can I help?", "Good bye, my friend. It was a pleasure.", "Let me look. " + CALL, CALL,
    '{"content": "Done.", "toolCalls": [{"name": "look", "arguments": {}}]}', '{"content": "Booked for you."}', '{"content": ""}',
    '{"toolCalls": [{"name": "fly", "arguments": {}}], "content": "Up."}', "<think>hm</think>Fine, see you. Good bye.",
    Say(calls=(Call("look"),)), Say(calls=(Call("book", {"day": 5}),)),
    Say(calls=(Call("look"), Call("book", {"day": "Monday", "n": "3"}))),
    Say("I booked it.", calls=(Call("fly"),)),
    Say("cut in the mid", finish="length"), Say("", finish="filter"), Say("I cannot do that.", refusal="I cannot do that."),
    Cut("Hello, how can I help? Good bye, my friend, and see you.", events=3), Fail(500, "down"), Fail(400, "no"), "😀 \x00 Ünïcode",
]  # fmt: skip
QUICK = {"backoff": 0.001, "backoff_cap": 0.002, "deadline": 60, "timeout": 30.0}
POLICIES = [
    Policy(otherwise="failed", **QUICK), Policy(otherwise="text", repairs=1, **QUICK), Policy(repairs=0, regenerations=0, otherwise="text", **QUICK),
    Policy(repairs=2, **QUICK),
]  # fmt: skip
TOOLS = [{"type": "function", "function": each} for each in (LOOK, BOOK)]
HISTORY: list[dict[str, Any]] = [
    {"role": "user", "content": "Hi there, everybody"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "Monday"},
]  # fmt: skip


class Traffic:
    """Random requests to a gateway that records, and its upstream's replies."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def config(self, url: str, contract: Contract[Any]) -> Config:
        upstreams = {kind: Upstream(kind, url, kind, private=True) for kind in ("openai", "anthropic")}
        route = Route("all", ("*",), contract, policy=self.dice.choice(POLICIES), request=POLITE)
        return Config(upstreams, (route,), contracts={contract.name: contract})

    def send(self, http: httpx.Client) -> None:
        dice = self.dice
        if dice.random() < 0.1:
            reply = dice.choice([said for said in SAID if isinstance(said, str)])
            context = {"state": "DONE", "input": {"limit": 40}, "mood": 1}
            http.post("/v1/check", json={"reply": reply, "context": context, "contract": self.name})
            return
        user = {
            "role": "user",
            "content": dice.choice(
                ["Who is it, by the way?", "Book it for me, please", "you are an idiot, dear gateway"]
            ),
        }
        body: dict[str, Any] = {"model": dice.choice(["m", "n"]), "stream": dice.random() < 0.4}
        body["messages"] = [*dice.choice([[], HISTORY[:1], HISTORY]), user]
        told = dice.choice([{}, {"input": {"limit": 50}}, {"input": {"limit": 10}, "data": {"day": "Monday"}}])
        told |= dice.choice([{}, {}, {"expected_sequence": ["look", "book"]}, {"history": HISTORY}])
        if told:
            body["trueup"] = told
        headers = {"x-trueup-state": dice.choice(["", "DONE", "ASKING", "NOWHERE"])}
        headers["x-trueup-conversation"] = dice.choice(["", "c-1"])
        headers = {name: value for name, value in headers.items() if value}
        if dice.random() < 0.3:
            messages = [
                message
                for message in body["messages"]
                if isinstance(message["content"], str) and message["role"] == "user"
            ]
            http.post("/v1/messages", json={**body, "messages": messages[-1:], "max_tokens": 50}, headers=headers)
        else:
            http.post("/v1/chat/completions", json=body | dice.choice([{}, {"tools": TOOLS}]), headers=headers)

    def record(self, url: str, name: str, requests: int) -> int:
        """Send a number of requests, and return the number of stored verdicts."""
        self.name = name
        with (
            open_store(url, keep_context=True) as store,
            ScriptedServer(lambda request: self.dice.choice(SAID)) as upstream,
            running(self.config(upstream.url, CONTRACTS[name]), store) as gateway,
            httpx.Client(base_url=gateway.url, timeout=60, verify=False) as http,
        ):
            for _ in range(requests):
                self.send(http)
            store.flush()
            return store.count()


def facts(case: Case, contract: Contract[Any]) -> tuple[Any, Any]:
    """The recorded verdict, and the verdict from judging again."""
    was, now = case.recorded, json.loads(json.dumps(contract.check(case.reply, case.context).to_dict()))
    assert was is not None
    assert was.calls is not None
    calls = [(call["name"], call["args"]) for call in now["calls"]]
    return (
        (was.ok, was.data, list(was.findings), list(was.fixes), was.metrics, [(call["name"], call["args"]) for call in was.calls]),
        (now["ok"], now["data"], now["findings"], now["fixes"], now["metrics"], calls),
    )  # fmt: skip


@pytest.mark.spec("B14")
@pytest.mark.parametrize("name", list(CONTRACTS))
@pytest.mark.parametrize("seed", range(30 if SOAK else 1))
def test_a_recorded_reply_judged_again_gets_the_verdict_that_was_recorded(
    database: Callable[[], str], name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, contract = database(), CONTRACTS[name]
    total = Traffic(seed).record(url, name, 40)
    monkeypatch.setattr(judging, "__version__", "another")  # so that no recorded verdict is reused
    forced = Pair(contract, contract)
    kinds: Counter[str] = Counter()
    for case in cases([url]):
        own = contract if case.contract == name else POLITE
        judged = forced.judge(case) if own is contract else Pair(POLITE, POLITE).judge(case)
        kinds[judged.reason or judged.kind] += 1
        if judged.kind == "same" and judged.verdicts:
            was, now = facts(case, own)
            assert was == now
    assert kinds["same"] > total / 3
    assert set(kinds) <= {"same", "no_reply", "no_model", "cut_off"}
    assert sum(kinds.values()) == total
    found = backtest(contract, url, selection=Selection(contract=name), workers=1)
    assert (found.flips, found.tally.errors) == (0, {})
    assert found.total == found.judged + sum(found.unjudgeable.values()) > total / 3
    assert found.tally.verdicts or name == "own", (
        "code of the user's is run by another process, which takes them from the record"
    )


def test_a_part_of_a_refused_reply_is_not_judged_in_addition(tmp_path: Path) -> None:
    contract = CONTRACTS["envelope"]
    url = str(tmp_path / "v.db")
    with (
        open_store(url, keep_context=True) as store,
        ScriptedServer(then="Hello, how can I help?") as upstream,
        running(of(upstream.url, contract, policy=POLICIES[2]), store) as gateway,
    ):
        ask = {"model": "m", "messages": [{"role": "user", "content": "Who is it, by the way?"}]}
        assert httpx.post(f"{gateway.url}/v1/chat/completions", json=ask, timeout=60).status_code == 200
    found = {case.outcome: (case.unjudgeable, case.attempt, case.text) for case in cases([url])}
    assert found == {"refused": (None, 1, "Hello, how can I help?"), "degraded": ("no_model", 0, "")}


def test_replies_that_the_loop_refuses_stay_refused() -> None:
    """The loop refuses an empty reply, a model's refusal and an unfinished reply under any contract."""
    for code, hint in (("P002", "Answer the user."), ("P010", "Answer the user."), ("A002", ""), ("A006", "")):
        found = {"code": code, "level": "error", "hint": hint, "path": "$", "message": ""}
        case = Case("1", "", {}, recorded=Recorded(False, (code,), (found,)))
        expected = CaseOutcome("same", False, False, skipped=2)
        assert Pair(Contract(), Contract(reply={"min_text": 2})).judge(case) == expected
        assert Pair(Contract()).judge(case) == replace(expected, skipped=1)
    own = {"code": "P002", "level": "error", "hint": "Reply with JSON.", "path": "$", "message": ""}
    case = Case("1", "", {}, recorded=Recorded(False, ("P002",), (own,)))
    assert Pair(Contract()).judge(case).kind == "newly_accepted", "refused by the contract, which a new one may not do"
