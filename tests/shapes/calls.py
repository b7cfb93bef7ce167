"""Marks of tool calls, whole and cut, repeated; and text without any (X2)."""

from contextlib import suppress

from tests.recover.calls.dialects import DIALECTS, Call
from tests.shapes.shape import Shape, repeated
from trueup.recover.calls.search import leaked_calls
from trueup.recover.json.parser import TooMany

ONE: list[Call] = [("get_weather", {"city": "Oslo", "days": 31})]
MARKS = sorted(
    {
        unit
        for d in DIALECTS
        for whole in [d.write(ONE)]
        for unit in (whole, whole[: len(whole) // 3], whole[: len(whole) // 2], whole[: 3 * len(whole) // 4], d.literal or "{")
    }
    | set("{[(`'\"<>|\n ")
    | {"{\n", "[\n", '{"name":\n', "get_weather(", "get_weather(a='", "\n[get_weather(a=1),", ': {"name": ', "get_weather\n{", "\n<get_weather>"}
    | {"<get_weather><city>", "<think>", "</think>", "{<think>", "\'\'\'", "x_", "`a_b` ", "<tool", "<｜", "<parameter=a>", "<arg_key>a</arg_key><arg_value>"}
    | {"Action: get_weather\nAction Input: {", "<tool_call>{", "<tool_call>[", '<tool_call>{"', "<tool_call>", "<invoke>[", "[TOOL_CALLS]get_weather(a="}
)  # fmt: skip
SIGNS = [
    "Observation: x\n",
    "<tool_response>",
    "<tool_response>x",
    "<|observation|>",
    "[TOOL_RESULTS]{",
    '<|open|>call tool="get_weather" i',
    '<|open|>call tool="get_weather" index="1"<|sep|>',
    '<|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="a"<|sep|>x',
    '[TOOL_CALL]{tool => "get_weather", args => {--a "',
    '[TOOL_CALL]{tool => "get_weather", args => {--a "x" ',
    "get_weather[ARGS]{",
    "get_weather[ARGS]",
    "[ARGS]",
    "get_weather\n```\ntool_call(",
    "get_weather\n```\ntool_call(a='",
    "<tool>get_weather</tool><tool_input>",
    "<tool>get_weather</tool><tool_input>x ",
    "<tool_call>name: get_weather\n",
    "<tool_call>name: get_weather\narguments:\n  a: ",
    "name: get_weather\n",
    "<tool_call>get_weather\na: 1\n",
    "＜tool_call＞",
    "＜tool",
    "]<]minimax[>[<tool_call>",
    ']<]minimax[>[<invoke name="get_weather">]<]minimax[>[<a>',
    "get_weather\n<arg_key>",
    "<arg_key>a",
    "<tool_call>get_weather<arg_key>a<arg_value>",
    '<tool_call>"name": "get_weather",',
    '\\"name\\"',
    '<get_weather city="',
    '<get_weather city="a" ',
    "<get_weather a=1 b=2 ",
    '<tool_call>get_weather city="a" ',
    "<tool_call>get_weather a=1 ",
    "functions.get_weather:0{",
    "functions.get_weather:0",
    "get_weather(a: 1, ",
    "get_weather(a: str, ",
    '<tool_call>{"name": "get_weather"}, "arguments": {',
    "<function=get_weather\n<",
    "<function=get_weather>\na: 1\n",
    "<function=get_weather><parameter=a\n",
    "Action: get_weather\nAction Input: a=1\nObservation: 3\n",
    "[Calling tool: get_weather(",
    "<|channel>thought\n",
    '{"\\"',
    '"{\\"name\\": ',
    '<call tool="get_weather" ',
    "TOOL_CALLS [{",
    "<tool:get_weather>{",
    "<tool:get_weather>",
    "✿RESULT✿",
    "✿FUNCTION✿: get_weather\n✿RESULT✿ x",
    "get_weather(a=1), ",
    "get_weather(a=1); get_weather(",
    "const r = await get_weather(",
    "json {",
    "Action 1: get_weather\n",
    "<tool_call>call_1\n",
    "{tool => ",
    "[\"get_weather(a='",
    "'get_weather(",
    "('get_weather', {",
    "[('get_weather', {'a': ",
    "1. [get_weather(",
    "1. ",
    "get_weather(a=get_weather(",
    "get_weather(a=[",
    "get_weather(a=(b), ",
    "get_weather(a='b' c', ",
    "['get_weather(a='x')', ",
    "get_weather(a=x, b, ",
    "get_weather(a='x\n",
    "[{get_weather(",
    "- get_weather(a=1)\n",
    "get_weather(a=f'",
    "get_weather(a='x') b') ",
    "get_weather(**{",
    "['get_weather', {'a': 1}], ",
    '{"get_weather": "{',
    '[["get_weather", ',
    "`get_weather(a=1)` ",
    '{"name": "now"}\n',
]
PLAIN = ["`", "<", "[", " ", ".", "word ", "```json\n", "```python\nx = 1\n```\n", "\U0010fffd", "# Title\ntext\n"]


def _search(text: str) -> None:
    with suppress(TooMany):  # reading stops at that many signs, which must not take long either
        leaked_calls(text, {"get_weather", "ping", "now"}.__contains__)


REPEATED = [
    *(Shape(repr(unit), repeated(unit), _search, 100_000, 0.3) for unit in MARKS),
    *(Shape(repr(unit), repeated(unit), _search, 50_000, 0.3) for unit in SIGNS),
]
WITHOUT = [Shape(repr(unit), repeated(unit, end="<"), _search, 200_000, 0.1) for unit in PLAIN]
