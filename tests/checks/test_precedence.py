"""Q1 and Q3 in the words of the specification, against every conversation of up to four messages."""

from itertools import product
from typing import Any

import httpx
import pytest

from tests.checks.test_reply import OUTPUT, calling, said
from trueup import Contract
from trueup.gateway.config import of
from trueup.gateway.running import running

LONG = "It rains all day."
SHORT = "Yes"
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "And tomorrow?"}, said(""), said(" \n"), said(SHORT), said(LONG), calling(""), calling(" "), calling(LONG), OUTPUT,
]  # fmt: skip
CONTRACT = Contract(reply=True, name="chat")


def text_of(messages: list[dict[str, Any]]) -> str:
    return "".join(each["content"] or "" for each in messages if each["role"] == "assistant")


def expected(messages: list[dict[str, Any]], *, lenient: bool = False) -> str:
    """The reason according to Q1 to Q6, without our code; a reply is everything after the user's last message."""
    last = max((at for at, each in enumerate(messages) if each["role"] == "user"), default=-1)
    turn = messages[last + 1 :]
    outputs = [at for at, each in enumerate(turn) if each["role"] == "tool"]
    calls = outputs or [each for each in turn if each.get("tool_calls")]  # an output belongs to a call
    text = text_of(turn)
    if all(each["role"] != "assistant" for each in turn):
        return "No assistant message"
    if not text and not calls:
        return "Empty response"
    if calls and not text.strip():
        return "Tool calls without text"
    if not text.strip():
        return "Whitespace-only content"
    after = text_of(turn[outputs[-1] :]).strip() if outputs else ""
    if outputs and (not after if lenient else len(after) < 10):
        return "Tool calls without text"
    length = sum(len(text_of([each]).strip()) for each in turn)
    if length < 10 and not (lenient and outputs):
        return f"Insufficient text ({length} chars)"
    return ""


def reason(contract: Contract, messages: list[dict[str, Any]]) -> str:
    verdict = contract.check(messages)
    return "" if verdict.ok else verdict.reason


CASES = [list(case) for n in (1, 2, 3) for case in product(MESSAGES, repeat=n) if case[-1]["role"] != "user"]


@pytest.mark.spec("Q1", "Q3")
@pytest.mark.parametrize("lenient", [False, True], ids=["strict", "lenient"])
def test_the_first_reason_that_applies_is_reported(lenient: bool) -> None:
    contract = Contract(reply={"lenient": True}) if lenient else CONTRACT
    wrong = [(case, got) for case in CASES if (got := reason(contract, case)) != expected(case, lenient=lenient)]
    assert wrong == []
    assert {expected(case, lenient=lenient) for case in CASES} >= {
        "No assistant message", "Empty response", "Tool calls without text", "Whitespace-only content", "Insufficient text (3 chars)", "",
    }  # fmt: skip


@pytest.mark.spec("Q1", "Q3")
def test_the_gateway_gives_the_same_reasons() -> None:
    with running(of("http://127.0.0.1:9", CONTRACT)) as gateway, httpx.Client(base_url=gateway.url) as http:
        for case in CASES[::12]:
            answer = http.post("/v1/check", json={"messages": case}).json()
            assert ("" if answer["ok"] else answer["reason"]) == expected(case), case
