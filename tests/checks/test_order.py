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


def results(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_call_id": f"c{i}", "content": text} for i, text in enumerate(texts)]


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
def test_skips_and_repeats_in_order_are_fine(names: list[str]) -> None:
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


def test_an_unreadable_history_is_ignored() -> None:
    for history in (None, [], [None], [{"odd": 1}], ["text"], [{"role": "user", "content": "hi"}]):
        assert not DIAGNOSIS.check(calls(STEPS[0]), context={"history": history}).findings


@pytest.mark.parametrize("history", ["ping", 5, {"role": "user"}])
def test_a_history_that_is_not_a_list_is_a_misuse(history: Any) -> None:
    with pytest.raises(TypeError, match="history must be a list of the messages before the reply"):
        DIAGNOSIS.check(calls(STEPS[0]), context={"history": history})


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
def test_broken_prerequisites_and_limits_are_errors(names: list[str], expected: list[tuple[str, int]]) -> None:
    verdict = SALON.check(calls(*names))
    assert [(f.code, int(f.path[8:-1])) for f in verdict.errors] == expected
    assert verdict.ok == (not expected)
    assert [c.name for c in verdict.calls] == [
        n for i, n in enumerate(names) if i not in [place for _, place in expected]
    ]


def test_prerequisites_and_limits_apply_across_the_conversation() -> None:
    history = [calls("check_slot", "collect_name"), *results("free", "Ada"), calls("book"), *results("booked")]
    assert [f.code for f in SALON.check(calls("book"), context={"history": history}).errors] == ["T009"]
    assert SALON.check(calls("book"), context={"history": history[:3]}).ok


def test_a_refused_call_does_not_satisfy_a_prerequisite() -> None:
    verdict = SALON.check(calls("strict", "cancel"))
    assert [f.code for f in verdict.errors] == ["V002", "T008"]
    assert not verdict.calls


def test_two_calls_that_exclude_each_other_are_both_refused() -> None:
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
    ({"at_most": {"a": -1}}, "at_most takes whole numbers from 0 up"),
    (["a", "a"], "'a' is in the sequence twice"),
    ("a", "order"),
    ([1], "order"),
]


@pytest.mark.parametrize(("order", "message"), BAD)
def test_a_wrong_order_is_refused_when_the_contract_is_made(order: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Contract(tools=[{"name": "a"}], order=order)


def test_an_order_may_name_only_offered_tools() -> None:
    with pytest.raises(ValueError, match=r"'ping_gatway' is not a tool of this contract; 'ping_gateway' is"):
        Contract(tools=TOOLS, order=["ping_gatway"])


def test_every_form_of_an_order_is_read() -> None:
    order = read_order(BOOKING)
    assert read_order(order) is order
    assert read_order(("a", "b")) == Order(sequence=("a", "b"))
    assert read_order({}).is_empty
    assert not order.is_empty
    assert list(order_findings(["book"], [True], ["check_slot", "collect_name"], order)) == []


# -- each call at its position ------------------------------------------------------------------------

PLACED = Contract(tools=TOOLS, order={"expected_sequence": STEPS})


def places(verdict: Any) -> list[tuple[str, int, str, str]]:
    return [
        (f.path, f.data["position"], f.data["expected"], f.data["got"]) for f in verdict.findings if f.code == "T020"
    ]


@pytest.mark.parametrize("names", [STEPS, STEPS[:1], STEPS[:3], [*STEPS, "log"]])
def test_calls_at_their_positions_are_fine_and_so_are_fewer_and_more(names: list[str]) -> None:
    assert PLACED.check(calls(*names)).findings == ()


def test_every_call_out_of_place_is_a_warning() -> None:
    verdict = PLACED.check(calls(STEPS[0], STEPS[2], STEPS[1], STEPS[3]))
    assert places(verdict) == [
        ("$.calls[1]", 1, STEPS[1], STEPS[2]),
        ("$.calls[2]", 2, STEPS[2], STEPS[1]),
    ]
    assert {f.level for f in verdict.findings} == {"warning"}
    assert verdict.findings[0].message == (
        "Tool sequence mismatch at position 1: expected 'get_ip_config', got 'ping_gateway'"
    )
    assert verdict.ok
    assert len(verdict.calls) == 4


def test_starting_in_the_middle_is_found() -> None:
    assert places(PLACED.check(calls(*STEPS[2:4]))) == [
        ("$.calls[0]", 0, STEPS[0], STEPS[2]),
        ("$.calls[1]", 1, STEPS[1], STEPS[3]),
    ]


def test_positions_are_counted_over_the_conversation() -> None:
    before = [calls(STEPS[0]), {"role": "tool", "tool_call_id": "c0", "content": "up"}]
    assert PLACED.check(calls(STEPS[1]), {"history": before}).findings == ()
    assert places(PLACED.check(calls(STEPS[2]), {"history": before})) == [("$.calls[0]", 1, STEPS[1], STEPS[2])]
    assert PLACED.check(calls("log"), {"history": [calls(*STEPS), *results(*STEPS)]}).findings == ()


def test_a_call_of_an_unknown_tool_takes_a_position_too() -> None:
    verdict = PLACED.check(calls("reboot_everything", STEPS[1]))
    assert [f.code for f in verdict.findings] == ["T001", "T020"]
    assert places(verdict) == [("$.calls[0]", 0, STEPS[0], "reboot_everything")]
    assert [call.name for call in verdict.calls] == [STEPS[1]]


def test_a_list_may_name_a_tool_twice() -> None:
    contract = Contract(tools=TOOLS, order={"expected_sequence": ["log", STEPS[0], "log"]})
    assert contract.check(calls("log", STEPS[0], "log")).findings == ()
    assert len(places(contract.check(calls("log", "log")))) == 1


def test_a_context_gives_the_positions_for_one_check() -> None:
    plain = Contract(tools=TOOLS)
    asked = {"expected_sequence": [STEPS[1], STEPS[0]]}
    assert plain.check(calls(STEPS[1], STEPS[0]), asked).findings == ()
    assert places(plain.check(calls(STEPS[0]), asked)) == [("$.calls[0]", 0, STEPS[1], STEPS[0])]
    assert PLACED.check(calls(STEPS[1]), asked).findings == ()  # instead of the contract's
    assert PLACED.check(calls(STEPS[1]), {"expected_sequence": []}).findings == ()
    assert places(PLACED.check(calls(STEPS[1]), {"expected_sequence": None}))  # as if it did not exist
    assert Contract({"type": "object"}).check("{}", {"expected_sequence": ["x"]}).ok


@pytest.mark.parametrize("wrong", ["ping_dns", [1], {"a": 1}])
def test_a_wrong_list_in_a_context_is_a_misuse(wrong: Any) -> None:
    with pytest.raises(TypeError, match="expected_sequence must be a list of tool names"):
        Contract(tools=TOOLS).check(calls("log"), {"expected_sequence": wrong})


def test_the_level_of_both_sequences_can_be_set() -> None:
    contract = Contract(tools=TOOLS, order={"sequence": STEPS, "expected_sequence": STEPS, "level": "error"})
    verdict = contract.check(calls(STEPS[1], STEPS[0]))
    assert [(f.code, f.level) for f in verdict.findings] == [("T020", "error"), ("T007", "error"), ("T020", "error")]
    assert not verdict.calls
    strict = Contract(tools=TOOLS, order={"expected_sequence": STEPS}, strict=True)
    assert [f.level for f in strict.check(calls(STEPS[1])).findings] == ["error"]


def test_the_expected_sequence_names_offered_tools() -> None:
    with pytest.raises(ValueError, match="'ping_gatway' is not a tool of this contract"):
        Contract(tools=TOOLS, order={"expected_sequence": ["ping_gatway"]})


def test_an_ask_passes_the_positions_on() -> None:
    replies = [calls(STEPS[1]), calls(STEPS[0])]
    contract = Contract(tools=TOOLS, order={"level": "error"})
    answer = contract.ask(lambda messages: replies.pop(0), "Help!", context={"expected_sequence": STEPS})
    assert answer.ok
    assert [call.name for call in answer.verdict.calls] == [STEPS[0]]
    first = answer.attempts[0].verdict
    assert first is not None
    assert [f.code for f in first.errors] == ["T020"]
