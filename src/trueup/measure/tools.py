"""Timings of tool calls: reading and checking them, with few tools and with many, native and written into the text.

Names are also timed: invented names in prose, and suggestions compared with `difflib`.
"""

import json
from difflib import get_close_matches
from functools import partial
from typing import Any

from trueup.measure.timing import Call, race, timed

Result = dict[str, Any]
FEW = 50


def _tool(number: int) -> Result:
    properties = {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    }
    schema = {"type": "object", "properties": properties, "required": ["city"]}
    return {"type": "function", "function": {"name": f"tool_{number}", "description": "Looks.", "parameters": schema}}


def _arguments(number: int) -> Result:
    return {"city": f"Oslo {number}", "days": 3, "unit": "celsius", "tags": ["a", "b"]}


def _native(names: list[str]) -> Result:
    calls = [
        {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(_arguments(i))}}
        for i, name in enumerate(names)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    return {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], "usage": {"total_tokens": 12}}


def _written(names: list[str]) -> str:
    rows = (json.dumps({"name": name, "arguments": _arguments(i)}) for i, name in enumerate(names))
    return "I look.\n" + "\n".join(f"<tool_call>\n{row}\n</tool_call>" for row in rows)


_DESK = ("check_adapter_status", "get_ip_config", "ping_gateway", "ping_dns", "test_dns_resolution")
_INVENTED = (
    "Let me use check_cable first. Based on get_wifi_signal results, the signal is weak. " + "It is the cable. " * 19
)


def tools(rounds: int, count: int) -> Result:
    """Three calls with 50 tools and with `count`: the CPU µs of one check, and the seconds to make the contract."""
    from trueup.contract.contract import Contract
    from trueup.verdict.likeness import KnownNames

    names = ["tool_1", "tool_7", "tool_30"]
    few = Contract(tools=[_tool(i) for i in range(FEW)])
    made, many = timed(partial(Contract, tools=[_tool(i) for i in range(count)]))
    native, text, prose = _native(names), _written(names), "It is 3 °C in Oslo, and it will stay so. " * 10
    unknown = _native(["tool_x1", *names[1:]])
    desk = Contract(tools=[{"name": name, "parameters": {"type": "object"}} for name in _DESK])
    offered = [f"{name}_{number}" for name in _DESK for number in range(FEW // len(_DESK))]
    known = KnownNames(offered)
    calls: dict[str, Call] = {
        f"three native calls, {FEW} tools": lambda: few.check(native),
        f"three native calls, {count:,} tools": lambda: many.check(native),
        f"three calls in the text, {FEW} tools": lambda: few.check(text),
        f"no call, 400 characters of prose, {FEW} tools": lambda: few.check(prose),
        f"one unknown name of three, {FEW} tools": lambda: few.check(unknown),
        f"one unknown name of three, {count:,} tools": lambda: many.check(unknown),
        "400 characters that name two tools nobody offers": lambda: desk.check(_INVENTED),
        f"the closest of {FEW} names": lambda: known.nearest("check_adaptor_status_3"),
        f"the closest of {FEW} names, by difflib": lambda: get_close_matches("check_adaptor_status_3", offered, 1, 0.6),
    }
    for call in list(calls.values())[:3]:
        assert len(call().calls) == 3
    assert [found.code for found in desk.check(_INVENTED).findings] == ["T011", "T011"]
    assert known.nearest("check_adaptor_status_3") == "check_adapter_status_3"
    return {"us": race(calls, rounds), "made": made, "tools": count}
