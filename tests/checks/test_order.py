"""T6: the order of calls, within a reply and across a conversation."""

from typing import Any

import pytest

from trueup import Contract
from trueup.checks.order import Order, order_findings, read_order

pytestmark = pytest.mark.spec("T6")

STEPS = ["check_adapter_status", "get_ip_config", "ping_gateway", "ping_dns", "test_dns_resolution"]
TOOLS = [{"name": name} for name in [*STEPS, "log"]]
DIAGNOSIS = Contract(tools=TOOLS, order=STEPS)


def calls(*names: str) -> dict[str, Any]:
    rows = [{"id": f"c{i}", "function": {"name": n, "arguments": f'{{"n": {i}}}'}} for i, n in enumerate(names)]
    return {"role": "assistant", "content": None, "tool_calls": rows}


FINE = [
    STEPS,
    STEPS[:1],
    STEPS[4:],
    [STEPS[0], STEPS[2], STEPS[4]],  # skips
    [STEPS[0], STEPS[0], STEPS[1], STEPS[1]],  # repeats
    [STEPS[4], STEPS[4]],  # a repeat after the last step
    ["log", STEPS[1], "log", STEPS[2], "log"],  # tools outside the sequence
    [],
]


@pytest.mark.parametrize("names", FINE)
def test_in_order_with_skips_and_repeats_is_fine(names: list[str]) -> None:
    assert not [f for f in DIAGNOSIS.check(calls(*names) if names else "hi").findings if f.code == "T007"]


OUT = [
    ([STEPS[1], STEPS[0]], 1, STEPS[1]),
    ([STEPS[0], STEPS[4], STEPS[1]], 2, STEPS[4]),
    ([STEPS[3], "log", STEPS[2]], 2, STEPS[3]),
    ([STEPS[4], STEPS[3]], 1, STEPS[4]),
]


@pytest.mark.parametrize(("names", "index", "after"), OUT)
def test_an_earlier_step_after_a_later_one_is_a_warning_that_names_the_furthest(
    names: list[str], index: int, after: str
) -> None:
    verdict = DIAGNOSIS.check(calls(*names))
    (found,) = verdict.findings
    assert (found.code, found.level, found.path) == ("T007", "warning", f"$.calls[{index}]")
    assert found.data == {"step": names[index], "after": after}
    assert after in found.message
    assert verdict.ok
    assert len(verdict.calls) == len(names)


def test_the_furthest_step_is_one_that_was_called_not_the_last_of_the_sequence() -> None:
    found = DIAGNOSIS.check(calls(STEPS[2], STEPS[0], STEPS[1])).findings
    assert [f.data["after"] for f in found] == [STEPS[2], STEPS[2]]


def before(name: str) -> dict[str, Any]:
    """A message of each provider that calls a tool."""
    return {
        "openai": {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": {"name": name, "arguments": "{}"}}]},
        "openai legacy": {"role": "assistant", "content": None, "function_call": {"name": name, "arguments": "{}"}},
        "responses": {"type": "function_call", "call_id": "a", "name": name, "arguments": "{}"},
        "anthropic": {"role": "assistant", "content": [{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "a", "name": name, "input": {}}]},
        "gemini": {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}}}]},
        "bedrock": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": name, "input": {}}}]},
        "vercel": {"role": "assistant", "parts": [{"type": f"tool-{name}", "toolCallId": "a", "state": "output-available", "input": {}, "output": {}}]},
        "vercel old": {"role": "assistant", "content": "", "toolInvocations": [{"state": "result", "toolCallId": "a", "toolName": name, "args": {}, "result": {}}]},
        "langchain": {"type": "ai", "content": "", "tool_calls": [{"name": name, "args": {}, "id": "a", "type": "tool_call"}]},
        "ollama": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": name, "arguments": {}}}]},
        "by convention": {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": f"functions.{name}", "arguments": "{}"}}]},
        "in the text": {"role": "assistant", "content": f'<tool_call>{{"name": "{name}", "arguments": {{}}}}</tool_call>'},
    }  # fmt: skip


@pytest.mark.parametrize("provider", before(""))
def test_the_whole_conversation_counts(provider: str) -> None:
    history = [{"role": "user", "content": "My internet is slow."}, before(STEPS[3])[provider]]
    history.append({"role": "tool", "tool_call_id": "a", "content": "ok"})
    (found,) = DIAGNOSIS.check(calls(STEPS[1]), context={"history": history}).findings
    assert (found.code, found.data["after"]) == ("T007", STEPS[3])
    assert not DIAGNOSIS.check(calls(STEPS[4]), context={"history": history}).findings


def test_a_history_that_cannot_be_read_counts_for_nothing() -> None:
    for history in (None, [], "ping", [None], [{"odd": 1}], ["text"], [{"role": "user", "content": "hi"}], 5):
        assert not DIAGNOSIS.check(calls(STEPS[0]), context={"history": history}).findings


# requires, only_once, at_most, never_with

BOOKING = {
    "requires": {"book": ["check_slot", "collect_name"]},
    "only_once": ["book"],
    "at_most": {"check_slot": 2, "shout": 0},
    "never_with": {"book": ["cancel"]},
}
SALON = Contract(
    tools=[{"name": n} for n in ("book", "check_slot", "collect_name", "cancel", "shout")]
    + [
        {
            "name": "strict",
            "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        }
    ],
    order={**BOOKING, "requires": {**BOOKING["requires"], "cancel": ["strict"]}, "never_with": {}},
)
PAIRS = Contract(tools=[{"name": n} for n in ("book", "cancel", "log")], order={"never_with": {"book": ["cancel"]}})

RULES = [
    (["check_slot", "collect_name", "book"], []),
    (["book"], [("T008", 0)]),
    (["check_slot", "book"], [("T008", 1)]),
    (["check_slot", "collect_name", "book", "book"], [("T009", 3)]),
    (["check_slot", "check_slot"], []),
    (["check_slot", "check_slot", "check_slot"], [("T009", 2)]),
    (["shout"], [("T009", 0)]),
]


@pytest.mark.parametrize(("names", "expected"), RULES)
def test_prerequisites_and_bounds_are_errors(names: list[str], expected: list[tuple[str, int]]) -> None:
    verdict = SALON.check(calls(*names))
    assert [(f.code, int(f.path[8:-1])) for f in verdict.errors] == expected
    assert verdict.ok == (not expected)
    assert [c.name for c in verdict.calls] == [
        n for i, n in enumerate(names) if i not in [place for _, place in expected]
    ]


def test_they_hold_across_the_conversation_too() -> None:
    history = [calls("check_slot", "collect_name"), calls("book")]
    assert [f.code for f in SALON.check(calls("book"), context={"history": history}).errors] == ["T009"]
    assert SALON.check(calls("book"), context={"history": history[:1]}).ok


def test_a_refused_call_is_no_prerequisite() -> None:
    verdict = SALON.check(calls("strict", "cancel"))
    assert [f.code for f in verdict.errors] == ["V002", "T008"]
    assert not verdict.calls


def test_two_that_exclude_each_other_are_both_refused() -> None:
    verdict = PAIRS.check(calls("cancel", "log", "book"))
    assert [(f.code, f.path, f.data["with"]) for f in verdict.errors] == [
        ("T010", "$.calls[0]", "book"),
        ("T010", "$.calls[2]", "cancel"),
    ]
    assert [c.name for c in verdict.calls] == ["log"]
    assert PAIRS.check(calls("book", "log")).ok


def test_the_findings_say_what_to_do() -> None:
    (found,) = SALON.check(calls("check_slot", "book")).errors
    assert found.message == "book needs collect_name first"
    assert found.data == {"missing": ["collect_name"]}
    assert found.hint == "Call collect_name before book."


BAD = [
    ({"sequense": ["a"]}, "sequense"),
    ({"at_most": {"a": "two"}}, "at_most"),
    ({"at_most": {"a": -1}}, "at_most takes numbers from 0 on"),
    (["a", "a"], "'a' stands twice in the sequence"),
    ("a", "order"),
    ([1], "order"),
]


@pytest.mark.parametrize(("order", "message"), BAD)
def test_a_wrong_order_is_refused_when_the_contract_is_made(order: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Contract(tools=[{"name": "a"}], order=order)


def test_an_order_may_name_only_offered_tools() -> None:
    with pytest.raises(ValueError, match=r"'ping_gatway' is no tool of this contract; 'ping_gateway' is"):
        Contract(tools=TOOLS, order=["ping_gatway"])


def test_an_order_is_read_from_its_forms() -> None:
    order = read_order(BOOKING)
    assert read_order(order) is order
    assert read_order(("a", "b")) == Order(sequence=("a", "b"))
    assert read_order({}).is_empty
    assert not order.is_empty
    assert list(order_findings(["book"], [True], ["check_slot", "collect_name"], order)) == []
