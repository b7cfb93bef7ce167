"""T2: models' variations of dialects, their own and those of others; each row is a text and the calls that it makes.

`§` represents the prefix that one family writes before its tags. Rows without calls are results, final answers and
definitions of tools: none of them calls anything.
"""

import json
from typing import Any

import pytest

from tests.recover.calls.dialects import DIALECTS, Call, Dialect
from tests.recover.calls.test_search import CONTRACT, TWO

W: list[Call] = [("get_weather", {"city": "Oslo"})]
W3: list[Call] = [("get_weather", {"city": "Oslo", "days": 3})]
N: list[Call] = [("now", {})]
WN = W + N
J = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
M = "]<]minimax[>["


def k3(name: str, *arguments: tuple[str, str, str], index: int = 1) -> str:
    """A call as Kimi K3 writes it: names, types and texts of its arguments."""
    rows = (f'<|open|>argument key="{k}" type="{t}"<|sep|>{v}<|close|>argument<|sep|>' for k, t, v in arguments)
    return f'<|open|>call tool="{name}" index="{index}"<|sep|>{"".join(rows)}<|close|>call<|sep|>'


SLIPS: list[tuple[str, list[Call]]] = [
    ("get_weather\n```python\ntool_call(city='Oslo')\n```", W),
    ("Let me check.\nget_weather\n ```python\ntool_call(city='Oslo', days=3)\n```", W3),
    ("<|assistant|>get_weather\n```python\ntool_call(city='Oslo')\n```", W),
    ("<|assistant|> now\n```python\ntool_call()\n```", N),
    ('get_weather\n{"city": "Oslo"}', W),
    ('<|assistant|>get_weather\n{"city": "Oslo"}<|observation|>', W),
    ('get_weather\n{"city": "Oslo"}<|observation|>', W),
    ("<tool_call>\nname: get_weather\narguments:\n  city: Oslo\n  days: 3\n</tool_call>", W3),
    ("<tool_call>\nname: get_weather\narguments:\n  city: \"Oslo\"\n</tool_call>", W),
    ("<tool_call>\nname: now\n</tool_call>", N),
    ("<tool_call>\nname: get_weather\narguments: {\"city\": \"Oslo\"}\n</tool_call>", W),
    ("<tool_call>\nname: get_weather\nparameters:\n  city: Oslo\n  tags:\n    - a\n    - b\n</tool_call>", [("get_weather",{"city":"Oslo","tags":["a","b"]})]),
    ("<tool_call>\nget_weather:\n  city: Oslo\n</tool_call>", W),
    ("<tool_call>\nget_weather\ncity: Oslo\ndays: 3\n</tool_call>", W3),
    ("＜tool_call＞"+J+"＜/tool_call＞", W),
    ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"Oslo\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>", W),
    ("＜｜tool▁calls▁begin｜＞＜｜tool▁call▁begin｜＞get_weather＜｜tool▁sep｜＞{\"city\": \"Oslo\"}＜｜tool▁call▁end｜＞", W),
    ("<｜tool calls begin｜><｜tool call begin｜>function<｜tool sep｜>get_weather\n```json\n{\"city\": \"Oslo\"}\n```<｜tool call end｜><｜tool calls end｜>", W),
    ("<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>get_weather\n```json\n{\"city\": \"Oslo\"}\n```<｜tool_call_end｜><｜tool_calls_end｜>", W),
    ("<|tool▁calls▁begin|><|tool▁call▁begin|>get_weather<|tool▁sep|>{\"city\": \"Oslo\"}<|tool▁call▁end|><|tool▁calls▁end|>", W),
    ("<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\": \"Oslo\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜>", WN),
    ("function<｜tool▁sep｜>get_weather\n```json\n{\"city\": \"Oslo\"}\n```", W),
    ("```json\n{\"city\": \"Oslo\"}\n```<｜tool▁call▁end｜>", []),
    ('<｜DSML｜tool_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>', W),
    ('<｜DSML｜invoke name="now">\n</｜DSML｜invoke>', N),
    ('<DSML｜function_calls><DSML｜invoke name="get_weather"><DSML｜parameter name="city" string="true">Oslo</DSML｜parameter></DSML｜invoke></DSML｜function_calls>', W),
    ('<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|><|tool_call_begin|>functions.now:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>', WN),
    ('functions.get_weather:0{"city": "Oslo"}', W),
    ('functions.get_weather:0 {"city": "Oslo"}', W),
    ('functions.get_weather:0\n{"city": "Oslo"}', W),
    ('<|tool_call_begin|>get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|>', W),
    ('<|tool_call_begin|>call_abc123<|tool_call_argument_begin|>{"name":"get_weather","arguments":{"city": "Oslo"}}<|tool_call_end|>', W),
    ('<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0<|tool_call_argument_begin|><|tool_call_end|><|tool_calls_section_end|>', N),
    ('<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>', W),
    ('<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}', W),
    ('<|channel|>commentary<|message|>Let me look.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather<|message|>{"city": "Oslo"}<|call|>', W),
    ('<|channel|>commentary to=get_weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>', W),
    ('<|channel|>commentary to=functions.get_weather code<|message|>{"city": "Oslo"}<|call|>', W),
    ('assistantcommentary to=functions.get_weather json{"city": "Oslo"}', W),
    ('analysisI need weather.assistantcommentary to=functions.get_weather json{"city": "Oslo"}', W),
    ('analysisI need weather. We call functions.get_weather.assistantcommentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}', W),
    ('commentary to=functions.now json{}', N),
    ('to=functions.get_weather json\n{"city": "Oslo"}', W),
    ('<|channel|>analysis<|message|>think<|end|><|start|>assistant<|channel|>final<|message|>It is sunny.<|return|>', []),
    ('<|channel|>analysis<|message|>call to=functions.now {"x":1}<|end|><|start|>assistant<|channel|>final<|message|>It is sunny.<|return|>', []),
    ('<|channel|>commentary to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>{"city": "Oslo"}<|call|>', W),
    ('<|start|>functions.get_weather to=assistant<|channel|>commentary<|message|>{"city": "Oslo"}<|end|>', []),
    ('<|start|>assistant to=functions.get_weather<|channel|>commentary<|constrain|>json<|message|>{"city": "Oslo"}<|call|>', W),
    ('<|python_tag|>{"type": "function", "name": "get_weather", "parameters": {"city": "Oslo"}}<|eom_id|>', W),
    ('<|start_header_id|>assistant<|end_header_id|>\n\n{"name": "get_weather", "parameters": {"city": "Oslo"}}<|eot_id|>', W),
    ('{"name": "get_weather", "parameters": {"city": "Oslo"}} {"name": "now", "parameters": {}}', WN),
    ('{"name": "get_weather", "parameters": {"city": "Oslo"}}; {"name": "now", "parameters": {}}', WN),
    ('<function=get_weather>{"city": "Oslo"}</function><|eom_id|>', W),
    ('<function="get_weather">{"city": "Oslo"}</function>', W),
    ('<function=get_weather>{"city": "Oslo"}<function/>', W),
    ('<function=get_weather>{"city": "Oslo"}</function=get_weather>', W),
    ('<function name=get_weather>{"city": "Oslo"}</function>', W),
    ('<|python_start|>get_weather(city="Oslo")<|python_end|><|eom|>', W),
    ('<|python_start|>{"name": "get_weather", "parameters": {"city": "Oslo"}}<|python_end|>', W),
    ('[get_weather(city="Oslo"), now()]<|eot|>', WN),
    ('[get_weather(city="Oslo", days=3)];', W3),
    ('[get_weather(city="Oslo") , now()]', WN),
    ('[\n  get_weather(city="Oslo"),\n  now()\n]', WN),
    ('get_weather(city="Oslo"), now()', WN),
    ('get_weather(city="Oslo"); now()', WN),
    ('get_weather(city: "Oslo")', W),
    ('get_weather(city = "Oslo", days = 3)', W3),
    ('[TOOL_CALLS]get_weather[CALL_ID]abc123456[ARGS]{"city": "Oslo"}[TOOL_CALLS]now[CALL_ID]abc123457[ARGS]{}', WN),
    ('[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Oslo"}, "id": "abc123456"}]</s>', W),
    ('[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}</s>', W),
    ('[TOOL_CALLS]\n[{"name": "get_weather", "arguments": {"city": "Oslo"}}]', W),
    ('TOOL_CALLS [{"name": "get_weather", "arguments": {"city": "Oslo"}}]', W),
    ('TOOL_CALLS: [{"name": "get_weather", "arguments": {"city": "Oslo"}}]', W),
    ('get_weather[ARGS]{"city": "Oslo"}', W),
    ('[TOOL_CALLS]get_weather\n{"city": "Oslo"}', W),
    ('[TOOL_CALLS][{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}]', W),
    ('[AVAILABLE_TOOLS][{"type": "function", "function": {"name": "get_weather", "description": "d", "parameters": {}}}][/AVAILABLE_TOOLS]', []),
    ('[TOOL_RESULTS]{"call_id": "a", "content": {"name": "now", "arguments": {}}}[/TOOL_RESULTS]', []),
    ('<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]', W),
    ('<|tool_call|>{"name": "get_weather", "arguments": {"city": "Oslo"}}', W),
    ('<|tool_call|><tool_call>[{"arguments": {"city": "Oslo"}, "name": "get_weather"}]', W),
    ('<function_call> {"name": "get_weather", "arguments": {"city": "Oslo"}} <function_call> {"name": "now", "arguments": {}}', WN),
    ('<function_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</function_call>', W),
    ('<no_function_call> nothing', []),
    ('<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]<|/tool_call|>', W),
    ('<|tool_call|>[{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}]<|/tool_call|>', W),
    ('functools [{"name": "get_weather", "parameters": {"city": "Oslo"}}]', W),
    ('```json\n[{"name": "get_weather", "arguments": {"city": "Oslo"}}]\n```', W),
    ('{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}], "thought": ""}', W),
    ('{"thought": "use it", "tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}', W),
    ('<think>x</think>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]', W),
    ('[]', []),
    ('<|from|>assistant\n<|recipient|>all\n<|content|>Hi.\n<|from|>assistant\n<|recipient|>get_weather\n<|content|>{"city": "Oslo"}<|stop|>', W),
    ('all\nSure.>>>get_weather\n{"city": "Oslo"}<|eot_id|>', W),
    ('get_weather\n{"city": "Oslo"}<|eot_id|>', W),
    ('get_weather\n{"city": "Oslo"}>>>now\n{}', WN),
    ('<function=get_weather>{"city": "Oslo"}</function><function=now>{}</function><|eom_id|>', WN),
    ('<functioncall>{"name": "get_weather", "arguments": {"city": "Oslo"}}', W),
    ('<functioncall> {"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"} <|endoftext|>', W),
    ('<|START_THINKING|>I will look.<|END_THINKING|><|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Oslo"}}\n]<|END_ACTION|>', W),
    ('Plan: I will look.\nAction: ```json\n[\n    {\n        "tool_name": "get_weather",\n        "parameters": {\n            "city": "Oslo"\n        }\n    }\n]\n```', W),
    ('Action:```json\n[{"tool_name": "directly_answer", "parameters": {}}]\n```', []),
    ('<|START_RESPONSE|>It is fine<|END_RESPONSE|>', []),
    ('<|START_TOOL_RESULT|>[{"tool_call_id":"0","results":{"0":{"name":"now","arguments":{}}}}]<|END_TOOL_RESULT|>', []),
    ('I will look.<|action_start|><|plugin|>\n{"name": "get_weather", "parameters": {"city": "Oslo"}}<|action_end|>\n', W),
    ('<|action_start|><|interpreter|>\nprint(1)<|action_end|>', []),
    ('<tool_calls>[{"name": "get_weather", "arguments": {"city": "Oslo"}}, {"name": "now", "arguments": {}}]</tool_calls>', WN),
    ('<think>\nx\n</think>\n<answer>\n<tool_calls>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]</tool_calls></answer>', W),
    ('<tool_calls>\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>\n</tool_calls>', W),
    ('<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_weather"><steptml:parameter name="city">Oslo</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>', W),
    ('<seed:think>hm</seed:think><seed:tool_call>\n<function=get_weather>\n<parameter=city>Oslo</parameter>\n</function>\n</seed:tool_call>', W),
    ('<seed:think>hm <seed:cot_budget_reflect>I have used 3 tokens</seed:cot_budget_reflect></seed:think>\n<seed:tool_call>\n<function=get_weather>\n<parameter=city>Oslo</parameter>\n</function>\n</seed:tool_call>', W),
    ('<think>\nx\n</think>\n\n\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>\n', W),
    ('<response>\n<tool_call>'+J+'</tool_call>\n</response>', W),
    ('<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]</TOOLCALL>', W),
    ('<TOOLCALL>[get_weather(city="Oslo")]</TOOLCALL>', W),
    ('<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>', W),
    ('<function_calls>get_weather(city="Oslo")\nnow()</function_calls>', WN),
    ('get_weather(city="Oslo")\nnow()', WN),
    ('<|tools_prefix|>[{"get_weather": {"city": "Oslo"}}, {"now": {}}]<|tools_suffix|>', WN),
    ('```tool_code\nprint(get_weather(city="Oslo"))\n```', W),
    ('```tool_code\nprint(default_api.get_weather(city="Oslo"))\nprint(default_api.now())\n```', WN),
    ('```tool_code\nweather = default_api.get_weather(city="Oslo")\nprint(weather)\n```', W),
    ('```python\nprint(get_weather(city="Oslo"))\n```', W),
    ('<start_function_call>call:get_weather{city:<escape>Oslo<escape>}<end_function_call>', W),
    ('<start_function_call>call:now{}<end_function_call><start_function_response>', N),
    ('<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>,days:3}<tool_call|><|tool_response>', W3),
    ('[get_weather(city="Oslo")]', W),
    ('```json\n{"name": "get_weather", "parameters": {"city": "Oslo"}}\n```', W),
    ('<|tool_call_start|>[get_weather(city="Oslo")]<|tool_call_end|>Checking.', W),
    ('<|tool_call_start|>get_weather(city="Oslo")<|tool_call_end|>', W),
    ('<|tool_call_start|>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]<|tool_call_end|>', W),
    ('Thought: look\nAction: get_weather\nAction Input: {"city": "Oslo"}\n', W),
    ('Thought: look\nAction: `get_weather`\nAction Input: {"city": "Oslo"}\n', W),
    ('Thought: look\nAction: [get_weather]\nAction Input: {"city": "Oslo"}\n', W),
    ('Thought: look\nAction: get_weather\nAction Input: ```json\n{"city": "Oslo"}\n```\n', W),
    ('Thought: look\nAction: get_weather\nInput: {"city": "Oslo"}\n', W),
    ('Thought: look\nAction 1: get_weather\nAction Input 1: {"city": "Oslo"}\n', W),
    ('Thought 1: look\nAction 1: get_weather[Oslo]\n', W),
    ('Thought: done\nFinal Answer: It is sunny', []),
    ('Action: get_weather\nAction Input: city = "Oslo"', W),
    ('Action: get_weather\nAction Input: city: Oslo', W),
    ('Action: get_weather\nAction Input: city="Oslo", days=3', W3),
    ('Action: get_weather\nAction Input: {"city": "Oslo"}\nObservation: 3 C\nThought: done\nFinal Answer: 3 C', W),
    ('Action: now\nAction Input: {}', N),
    ('Action: now\nAction Input: None', N),
    ('Action: None\nFinal Answer: x', []),
    ('Action:\nget_weather\nAction Input:\n{"city": "Oslo"}', W),
    ('Thought: x\nTool: get_weather\nTool Input: {"city": "Oslo"}\n', W),
    ('Action:\n```\n{\n  "action": "get_weather",\n  "action_input": {"city": "Oslo"}\n}\n```', W),
    ('Action:\n```json\n{\n  "action": "get_weather",\n  "action_input": "Oslo"\n}\n```', W),
    ('Action:\n```\n{"action": "Final Answer", "action_input": "3 C"}\n```', []),
    ('```json\n{"action": "Final Answer", "action_input": "3 C"}\n```', []),
    ('<tool>get_weather</tool><tool_input>Oslo</tool_input>', W),
    ('<tool>get_weather</tool><tool_input>{"city": "Oslo"}</tool_input>', W),
    ('<tool>get_weather</tool>\n<tool_input>Oslo</tool_input>\n<observation>', W),
    ('<action>get_weather</action><action_input>{"city": "Oslo"}</action_input>', W),
    ('<action name="get_weather">{"city": "Oslo"}</action>', W),
    ('Thought: I will look.\nCode:\n```py\nresult = get_weather(city="Oslo")\nprint(result)\n```<end_code>', W),
    ('Thought: look\n<code>\nresult = get_weather(city="Oslo")\n</code>', W),
    ('Calling tools:\n[{"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}]', W),
    ('Action:\n{\n  "name": "get_weather",\n  "arguments": {"city": "Oslo"}\n}', W),
    ('{"thoughts": {"text": "x", "reasoning": "y", "plan": "- z", "criticism": "c", "speak": "s"}, "command": {"name": "get_weather", "args": {"city": "Oslo"}}}', W),
    ('{"command": "get_weather", "args": {"city": "Oslo"}}', W),
    ('<§:function_calls>\n<§:invoke name="get_weather">\n<§:parameter name="city">Oslo</§:parameter>\n</§:invoke>\n</§:function_calls>', W),
    ('<function_calls>\n<invoke name="get_weather">\n<parameter name="city">Oslo</§:parameter>\n</§:invoke>\n</§:function_calls>', W),
    ('call\n<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>\n</invoke>', W),
    ('count\n<§:invoke name="now">\n</§:invoke>', N),
    ('<invoke name="get_weather"><parameter name="city">Oslo</invoke>', W),
    ('<invoke name="get_weather">\n<city>Oslo</city>\n</invoke>', W),
    ('<invoke name="get_weather">{"city": "Oslo"}</invoke>', W),
    ('<invoke><tool_name>get_weather</tool_name><parameters><city>Oslo</city></parameters></invoke>', W),
    ('<tool_use>\n{"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}}\n</tool_use>', W),
    ('[{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}}]', W),
    ('{"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}}]}', W),
    ('{"functionCall": {"name": "get_weather", "args": {"city": "Oslo"}}}', W),
    ('{"function_call": {"name": "get_weather", "arguments": {"city": "Oslo"}}}', W),
    ('{"parts": [{"functionCall": {"name": "get_weather", "args": {"city": "Oslo"}}}]}', W),
    ('{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_weather", "arguments": {"city": "Oslo"}}}', W),
    ('{"method": "tools/call", "params": {"name": "get_weather", "arguments": {"city": "Oslo"}}}', W),
    ('{"toolCallId": "c1", "toolName": "get_weather", "args": {"city": "Oslo"}}', W),
    ('{"type": "tool-call", "toolCallId": "c1", "toolName": "get_weather", "input": {"city": "Oslo"}}', W),
    ('{"tool_name": "get_weather", "tool_args": {"city": "Oslo"}}', W),
    ('{"tool": "get_weather", "parameters": {"city": "Oslo"}}', W),
    ('{"tool": "get_weather", "city": "Oslo"}', W),
    ('{"function": "get_weather", "arguments": {"city": "Oslo"}}', W),
    ('{"function_name": "get_weather", "parameters": {"city": "Oslo"}}', W),
    ('{"type": "function", "function": "get_weather", "arguments": {"city": "Oslo"}}', W),
    ('{"api": "get_weather", "parameters": {"city": "Oslo"}}', W),
    ('{"name": "get_weather", "kwargs": {"city": "Oslo"}}', W),
    ('{"name":"get_weather","arguments":{"city":"Oslo"},"id":"x","result":null}', W),
    ('{"name":"get_weather","arguments":{"city":"Oslo"},"result":"3 C"}', []),
    ('{"name":"get_weather","arguments":{"city":"Oslo"},"output":"3 C"}', []),
    ('{"role":"tool","name":"get_weather","content":"3 C"}', []),
    ('{"tool_call_id":"x","name":"get_weather","content":"3 C"}', []),
    ('<tool_result><tool_name>get_weather</tool_name><stdout>{"name": "now"}</stdout></tool_result>', []),
    ('<function_results><result><tool_name>now</tool_name><stdout>x</stdout></result></function_results>', []),
    ('<tool_call>'+J+'</tool_call>\n<tool_response>{"name": "now", "arguments": {}}</tool_response>', W),
    ('{"tool_response": {"name": "get_weather", "arguments": {"city": "Oslo"}}}', []),
    ('{"calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}', W),
    ('{"actions": [{"tool": "get_weather", "args": {"city": "Oslo"}}, {"tool": "now", "args": {}}]}', WN),
    ('tool_call: '+J, W),
    ('Tool call: '+J, W),
    ('Function call: '+J, W),
    ('Function Call:\n```json\n'+J+'\n```', W),
    ('**Tool Call**\n```json\n'+J+'\n```', W),
    ('### Tool Call\n```json\n'+J+'\n```', W),
    ('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n<tool_call>', W),
    ('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>\n<tool_call>\n</tool_call>', W),
    ('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}}\n</tool_call>', W),
    ('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n}\n</tool_call>\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>', WN),
    ('<tool_call>\n"name": "get_weather", "arguments": {"city": "Oslo"}\n</tool_call>', W),
    ('<tool_call>\n{name: get_weather, arguments: {city: Oslo}}\n</tool_call>', W),
    ('<tool_call>\n{"name": "get_weather" "arguments": {"city": "Oslo"}}\n</tool_call>', W),
    ('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}},\n{"name": "now", "arguments": {}}\n</tool_call>', WN),
    ('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n{"name": "now", "arguments": {}}\n</tool_call>', WN),
    ('<tool_call>get_weather\n{"city": "Oslo"}\n</tool_call>', W),
    ('<tool_call>get_weather{"city": "Oslo"}</tool_call>', W),
    ('<tool_call>{"get_weather": {"city": "Oslo"}}</tool_call>', W),
    ('<tool_call>{"tool_name": "get_weather", "city": "Oslo"}</tool_call>', W),
    ('<tool_call>{"function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}</tool_call>', W),
    ('<tool_call><get_weather><city>Oslo</city></get_weather></tool_call>', W),
    ('<tool_call>\n<tool_name>get_weather</tool_name>\n<parameters>\n<city>Oslo</city>\n</parameters>\n</tool_call>', W),
    ('<tool_call>\n<name>get_weather</name>\n<city>Oslo</city>\n</tool_call>', W),
    ('<tool_call>\n<name>get_weather</name>\n<parameters>{"city": "Oslo"}</parameters>\n</tool_call>', W),
    ('<tool_call><function>get_weather</function><args>{"city": "Oslo"}</args></tool_call>', W),
    ('<tool_call>function: get_weather\nargs: {"city": "Oslo"}</tool_call>', W),
    ('<tool_call>[get_weather(city="Oslo"), now()]</tool_call>', WN),
    ('<tool_call>get_weather city="Oslo"</tool_call>', W),
    ('<tool_call>get_weather(city=Oslo)</tool_call>', W),
    ('<tool_call name="get_weather" city="Oslo" />', W),
    ('<get_weather city="Oslo" days="3"/>', W3),
    ('<get_weather city="Oslo"></get_weather>', W),
    ('<function_call name="get_weather"><parameter name="city">Oslo</parameter></function_call>', W),
    ('<function_call>get_weather(city="Oslo")</function_call>', W),
    ('<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>', W),
    ('<function=get_weather>\n<parameter=city>Oslo</parameter>\n<parameter=days>3</parameter>\n</tool_call>', W3),
    ('<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>', W3),
    ('<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3.0\n</parameter>\n</function>', W3),
    ('<function=get_weather>\n<city>Oslo</city>\n</function>', W),
    ('<function=get_weather>\n<parameter city>Oslo</parameter>\n</function>', W),
    ('<function=get_weather>\n<parameter name="city">Oslo</parameter>\n</function>', W),
    ('<function=get_weather><parameter=city>Oslo</parameter></function></tool_call><tool_call><function=now></function></tool_call>', WN),
    ('<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value><arg_key>days</arg_key><arg_value>3</arg_value></tool_call>', W3),
    ('<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</tool_call>', W),
    ('<tool_call>get_weather(city="Oslo")\n</tool_call>', W),
    ('```tool_call\n'+J+'\n```', W),
    ('```tool\n'+J+'\n```', W),
    ('```function\n'+J+'\n```', W),
    ('```function_call\n'+J+'\n```', W),
    ('```xml\n<tool_call>'+J+'</tool_call>\n```', W),
    ('~~~json\n'+J+'\n~~~', W),
    ("'''json\n"+J+"\n'''", W),
    ('```json\n'+J, W),
    ('```\n'+J+'\n```', W),
    ('```json\n'+J+'\n'+J.replace('get_weather','now').replace('{"city": "Oslo"}','{}')+'\n```', WN),
    ('json '+J, W),
    ('"'+J.replace('"','\\"')+'"', W),
    (J.replace('"','\\"'), W),
    (J.replace('{','{{').replace('}','}}'), W),
    ('<|tool▁calls▁begin|>'+J, W),
    ('<tool_code>\nprint(get_weather(city="Oslo"))\n</tool_code>', W),
    ('<tool_code>get_weather(city="Oslo")</tool_code>', W),
    ('<execute_tool>get_weather(city="Oslo")</execute_tool>', W),
    ('<execute>get_weather(city="Oslo")</execute>', W),
    ('<api_call>get_weather(city="Oslo")</api_call>', W),
    ('await get_weather(city="Oslo")', W),
    ('tools.get_weather(city="Oslo")', W),
    ('functions.get_weather(city="Oslo")', W),
    ('functions.get_weather({"city": "Oslo"})', W),
    ('functions.get_weather({city: "Oslo"})', W),
    ('get_weather({city: "Oslo", days: 3})', W3),
    ('client.get_weather(city="Oslo")', W),
    ('await functions.get_weather({ city: "Oslo" });', W),
    ('const r = await get_weather({ city: "Oslo" });', W),
    ('<|plugin|>{"name": "get_weather", "parameters": {"city": "Oslo"}}', W),
    ('<|tool|>'+J+'<|/tool|>', W),
    ('<s>'+J+'</s>', W),
    ('<|assistant|>\n'+J, W),
    ('assistant: '+J, W),
    ('Assistant: '+J, W),
    ('### Response:\n'+J, W),
    ('Sure! Here is the function call:\n\n'+J, W),
    ('Sure, here is the JSON:\n```json\n'+J+'\n```', W),
    ('Based on your request, I will use the following function:\n\n```json\n'+J+'\n```\n\nThis will retrieve the weather for Oslo.', W),
    ('To get the weather, I will call the get_weather function.\n\n'+J, W),
    (f'Let me look.{M}<tool_call>\n{M}<invoke name="get_weather">{M}<city>Oslo{M}</city>{M}<days>3{M}</days>{M}</invoke>\n{M}</tool_call>', W3),
    (f'{M}<tool_call>\n{M}<invoke name="now">{M}</invoke>\n{M}</tool_call>', N),
    (f'{M}<tool_call>\n{M}<invoke name="get_weather">{M}<city>Oslo{M}</city>{M}</invoke>\n{M}<invoke name="now">{M}</invoke>\n{M}</tool_call>', WN),
    ('<|open|>tools<|sep|>'+k3("get_weather", ("city","string","Oslo"), ("days","number","3"))+'<|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>', W3),
    ('<|open|>think<|sep|>I could call now()<|close|>think<|sep|><|open|>response<|sep|>Let me look.<|close|>response<|sep|><|open|>tools<|sep|>'+k3("get_weather", ("city","string","Oslo"))+k3("now", index=2)+'<|close|>tools<|sep|><|close|>message<|sep|>', WN),
    ('I could call now()<|close|>think<|sep|><|open|>tools<|sep|>'+k3("get_weather", ("city","string","Oslo"))+'<|close|>tools<|sep|>', W),
    ('<|open|>toolscall tool="get_weather" index="1"<|sep|><|open|>argument key="city" type="string"<|sep|>Oslo<|close|>argument<|sep|><|close|>call<|sep|>', W),
    ('get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_calls_section_end|>', W),
    ('get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_calls_section_end|>\nnow:1<|tool_call_argument_begin|>{}<|tool_calls_section_end|>', WN),
    ('<tool_call>\n{"name": "now"}, "arguments": {}\n</tool_call>', N),
    ('<tool_call>\n{"name": "get_weather"}, "arguments": {"city": "Oslo"}\n</tool_call>', W),
    ('<‖DSML‖tool_calls><‖DSML‖invoke name="get_weather"><‖DSML‖parameter name="city" string="true">Oslo</‖DSML‖parameter></‖DSML‖invoke></‖DSML‖tool_calls>', W),
    ('<｜｜DSML｜｜tool_calls>\n<｜｜DSML｜｜invoke name="get_weather">\n<｜｜DSML｜｜parameter name="city" string="true">Oslo</｜｜DSML｜｜parameter>\n</｜｜DSML｜｜invoke>\n</｜｜DSML｜｜tool_calls>', W),
    ('<｜DSML｜toolcall>get_weather\n\n```json\n{"city": "Oslo"}\n``` ', W),
    ('<｜DSML｜invoke name="now"/>', N),
    ('<｜DSML｜tool_calls><｜DSML｜invoke name="get_weather"><｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter></｜DSML｜invoke>', W),
    ('<｜DSML｜tool_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>\n<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls', W3),
    ('<|tool_call>call:get_weather{city:"Oslo"}<tool_call|>', W),
    ('<|tool_call>call:get_weather{city:"Oslo", days: 3}<tool_call|>', W3),
    ('<|tool_call>call:get_weather(city: "Oslo", days: 3)<tool_call|>', W3),
    ('<|tool_call>call:get_weather(city="Oslo")<tool_call|>', W),
    ('<|channel>thought\nI might call now()\n<channel|><|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|>', W),
    ('<|channel>thought\n<|tool_call>call:now{}<tool_call|>\n<channel|>It is fine.', []),
    ('<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|><|tool_call', W),
    ('<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|><|tool_response>call:get_weather', W),
    ('[Calling tool: get_weather({"city": "Oslo"})]', W),
    ('[Calling tool: get_weather(city="Oslo")]', W),
    ('<tool_result call_id="c1">'+J+'</tool_result>', []),
    ('[TOOL_CALL] { "tool": "get_weather", "args": { "city": "Oslo" } } [/TOOL_CALL]', W),
    ('[TOOL_CALL]\n{tool => "get_weather", args => {\n  --city "Oslo"\n}}\n[/TOOL_CALL]', W),
    ('[TOOL_CALL]\n{tool => "get_weather", args => {\n  --city "Oslo"\n  --days 3\n}}\n[/TOOL_CALL]', W3),
    ('<longcat_think>\nmaybe now()\n<longcat_tool_call>{"name": "now", "arguments": {}}</longcat_tool_call></longcat_think>\n<longcat_tool_call>'+J+'</longcat_tool_call>', W),
    ('<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days\n3\n</parameter>\n</function>\n</tool_call>', W3),
    ('<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>', W),
    ('<tool_call>\n<function=get_weather>\n<parameter=city>Oslo\n</function>\n</tool_call>', W),
    ('<tool_call>\n<function=get_weather\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>', W),
    ('<tool_call>\n<function=get_weather>\ncity: Oslo\n</function>\n</tool_call>', W),
    ('<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n<function=now>\n</function>\n</tool_call>', WN),
    ('<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<tool_call>now\n</tool_call>', WN),
    ('get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>', W),
    ('<tool_call>get_weather<arg_key>city<arg_value>Oslo</arg_value></tool_call>', W),
    ('<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>\n</invoke>', W),
    ('<minimax:tool_call>\n<get_weather>\n<parameter name="city">Oslo</parameter>\n</get_weather>\n</minimax:tool_call>', W),
    ('minimax:tool_call\n<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>\n</invoke>\n</minimax:tool_call>', W),
    ('<tool_calls>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_calls>', W),
    ('<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}', W),
    ('<|tool_call_start|>\n```python\nget_weather(city="Oslo")\n```\n<|tool_call_end|>', W),
    ('<|thought_start|>\nI look\n<|thought_end|>\n<|tool_call_start|>\n```python\nget_weather(city="Oslo")\n```\n<|tool_call_end|>', W),
    ('<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|>'*1+'<|tool_calls_section_end|><|im_end|>', W),
    ('✿FUNCTION✿: get_weather\n✿ARGS✿: {"city": "Oslo"}', W),
    ('<function_call>\n<name>get_weather</name>\n<arguments>{"city": "Oslo"}</arguments>\n</function_call>', W),
    ('<tool name="get_weather">\n<city>Oslo</city>\n</tool>', W),
    ('<tool_call tool="get_weather">{"city": "Oslo"}</tool_call>', W),
    ('<call tool="get_weather" city="Oslo"/>', W),
    ('<tool:get_weather>{"city": "Oslo"}</tool:get_weather>', W),
    ('<tool_call:get_weather>{"city": "Oslo"}</tool_call:get_weather>', W),
    ('<function:get_weather>{"city": "Oslo"}</function>', W),
    ('<|tool_call|>get_weather(city="Oslo")<|/tool_call|>', W),
    ('<|tool_call|>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n<|end_tool_call|>', W),
    ('{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>', W),
    ('{"recipient_name": "functions.get_weather", "parameters": {"city": "Oslo"}}', W),
    ('functions.get_weather {"city": "Oslo"}', W),
    ('to=get_weather {"city": "Oslo"}', W),
    ('<commentary to=functions.get_weather json>{"city": "Oslo"}</commentary>', W),
    ('<|start|>assistant<|channel|>commentary to=functions.get_weather<|constrain|>json<|message|>{"city":"Oslo"}<|call|><|start|>assistant<|channel|>commentary to=functions.now<|constrain|>json<|message|>{}<|call|>', WN),
    ('{"tool_call": "get_weather", "arguments": {"city": "Oslo"}}', W),
    ('{"type": "tool_call", "name": "get_weather", "args": {"city": "Oslo"}}', W),
    ('{"tool_calls": [{"function": {"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}, "id": "a", "type": "function"}]}', W),
    ('```json\n{"tool_calls": [{"function": "get_weather", "args": {"city": "Oslo"}}]}\n```', W),
    ('{"tool": "get_weather", "tool_input": "Oslo"}', W),
    ('{"action": "get_weather", "action_input": "Oslo"}', W),
    ('{"name": "get_weather", "arguments": "Oslo"}', W),
    ('get_weather("Oslo")', W),
    ('[{"get_weather": {"city": "Oslo"}}]', W),
    ('<tool_call>{"get_weather": {"city": "Oslo"}, "now": {}}</tool_call>', WN),
    ('<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"<|tool_call_end|>', W),
    ('<function=get_weather>{"city": "Oslo"</function>', W),
    ('[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"[/TOOL_CALLS]', W),
]  # fmt: skip


@pytest.mark.spec("T2", "A1")
@pytest.mark.parametrize(("text", "calls"), SLIPS)
def test_common_mistakes_of_every_model_family_are_read(text: str, calls: list[Call]) -> None:
    verdict = CONTRACT.check(text.replace("§", "antml"))
    assert [(call.name, call.args) for call in verdict.calls] == calls
    assert not verdict.refused
    assert {finding.code for finding in verdict.findings} <= {"T011", "T017"}


@pytest.mark.spec("X16", "T2")
@pytest.mark.parametrize(
    "text",
    [
        "The token <|tool_call_argument_begin|> stands before the arguments of get_weather.",
        'Use [ARGS] after get_weather to pass {"city": "x"}.',
        'The `[ARGS]` mark: get_weather[ARGS]{"city": "Oslo"} is how Mistral writes it.',
        'For example: get_weather[ARGS]{"city": "Oslo"}',
        'To call it, one writes functions.get_weather:0{"city": "Oslo"} in Kimi\'s format.',
        'I looked at the sky. Observation: it is clear.\n{"city": "Oslo"}',
        "get_weather:\n  city: a required string\n  days: an integer",
        "tool: get_weather\nname: x",
        "<tool_call>\nname: a placeholder\n</tool_call> is the YAML form of get_weather.",
        "| tool | args |\n|---|---|\n| get_weather | city |",
        "- get_weather(city: str): returns weather\n- ping(host: str)",
        "get_weather(city: str, days: int) -> str\n\nReturns the weather.",
        "get_weather(city)\nping(host)",
        "```python\ndef get_weather(city: str):\n    return 1\n```",
        '```python\nfrom tools import get_weather\n\nresult = get_weather(city="Oslo")\nprint(result)\n```\nThis script prints the weather.',
        'Here is how you would use it in Python:\n```python\nresult = get_weather(city="Oslo")\n```',
        'In your code:\n\n    get_weather(city="Oslo")\n',
        "The command get_weather --city Oslo does that.",
        '{"command": "ping", "args": ["-c", "4"]}',
        '{"method": "GET", "params": {"city": "Oslo"}}',
        '{"api": "weather", "parameters": {}}',
        '{"parts": [{"name": "ping", "size": 3}]}',
        '{"name": "ping", "result": "ok", "args": {"host": "a"}}',
        '[{"type": "text", "text": "hello"}]',
        '{"role": "assistant", "content": [{"type": "text", "text": "hi"}]}',
        "<now>",
        "The time is <now/> here.",
        "<now></now> is an empty element.",
        '<ping host="a"> is not valid XML.',
        'Please see <ping host="a"/> for details.',
        '### Tool Call Format\n```json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```',
        '### Example Tool Call\n```json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```',
        '**Usage**\n```json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```',
        'The call was made.\n<tool_response>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_response>',
        "Action: I will look at the weather.\nObservation: none",
        "Action items:\n- call ping\n- check get_weather",
        "Action: get_weather is the right tool here.",
        '"{\\"name\\": \\"Bob\\", \\"age\\": 3}"',
        "ping\n```python\nprint('x')\n```",
        "now\n```python\ntool_call_example()\n```",
        'Call the API with `get_weather({"city": "Oslo"})`.',
        'You can pass `<invoke name="get_weather">` to it.',
        'The model wrote <|open|>call tool="get_weather" index="1"<|sep|> and stopped.',
        "[Calling tool: none]",
        'He said: [Tool call: get_weather(city="Oslo")]',
        'now, let us see: {"a": 1}',
        'ping {"host": "a"} is valid JSON after a word.',
        'now: {"time": 3}',
        'get_weather: {"temp": 3}',
        'Tool output:\nget_weather\n{"temp": 3}',
        'tools: [{"name": "get_weather", "parameters": [{"name": "city", "type": "string", "required": true}]}]',
        '[{"name": "ping", "parameters": {"type": "object"}}]',
        '```pycon\n>>> client.ping\n{"host": "a"}\n>>> ping(host="a")\n\'pong\'\n```',
        '>>> client.get_weather\n{"city": "Oslo"}',
    ],
)
def test_text_that_only_talks_about_calls_gives_none(text: str) -> None:
    verdict = CONTRACT.check(text)
    assert (verdict.calls, verdict.refused) == ((), ())


@pytest.mark.spec("T2", "T4")
@pytest.mark.parametrize(
    "text",
    [
        '<|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="city" type="string"<|sep|>Oslo',
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=da",
    ],
)
def test_a_truncated_call_with_a_mistake_is_refused(text: str) -> None:
    verdict = CONTRACT.check(text)
    assert (verdict.calls, [f.code for f in verdict.findings]) == ((), ["T006"])


# -- every dialect, with possible content and surroundings -------------------------------------------

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=[d.name for d in DIALECTS])
TRICKY: list[list[Call]] = [
    [("now", {})],
    [("now", {}), ("ping", {"host": "a"})],
    [("ping", {"host": "a"}), ("now", {})],
    [("get_weather", {"city": city}) for city in "abc"],
    [("ping", {"host": "12345"})],
    [("get_weather", {"city": "true", "note": "5"})],
    [("get_weather", {"city": "007", "ratio": -1.5e-7, "days": -3, "exact": False, "tags": [], "where": {}})],
    [("get_weather", {"city": ""})],
    [("get_weather", {"city": "line 1\n\n  line 2\n\tline \"3\" 'x'"})],
    [("get_weather", {"city": '{"a": 1}'})],
    [("get_weather", {"city": 'def f(x):\n    return {"a": [1, 2]}\n\nprint(f(1))'})],
    [("get_weather", {"city": '```python\nprint("x")\n```'})],
    [("get_weather", {"city": "😀 東京 ✿ ｜ ▁ ＜b＞"})],
    [("get_weather", {"city": 'C:\\new\\table "q" \\"'})],
    [("get_weather", {"city": 'call ping(host="a") and {"name": "now"}'})],
]
AROUND = [
    '<think>\nI should call now() or {{"name": "now"}}.\n</think>\n{}',
    '{{"status": "ok", "name": "Bob"}}\n\n{}',
    '{}\n\n{{"status": "ok", "name": "Bob"}}',
    "<|im_start|>assistant\n{}<|im_end|>",
    "{}</s>",
    "{}<|eot_id|>",
    "{}\n<end_of_turn>",
    "好的，我来查询。\n{}\n请稍等。",
    "Ich schaue nach.\n{}",
    "Je vais vérifier.\n{}",
    "Сейчас проверю:\n{}",
    "---\n{}\n---",
]
RESULTS = [
    '\n<tool_response>\n{"name": "now", "arguments": {}}\n</tool_response>\nIt is fine.',
    '\nObservation: {"name": "now", "arguments": {}}\n',
    '\n<|observation|>{"name": "now", "arguments": {}}',
    '\n<function_results><result><tool_name>now</tool_name></result></function_results>',
    '\n[TOOL_RESULTS]{"name": "now", "arguments": {}}[/TOOL_RESULTS]',
    '\n<|START_TOOL_RESULT|>[{"tool_name": "now", "parameters": {}}]<|END_TOOL_RESULT|>',
]  # fmt: skip


def calls_of(text: str) -> list[Call]:
    return [(call.name, call.args or {}) for call in CONTRACT.check(text).calls]


@pytest.mark.spec("T2", "T5")
@each_dialect
def test_tricky_arguments_are_read_unchanged(dialect: Dialect) -> None:
    for calls in TRICKY:
        bare = dialect.name == "elements" and len(calls) == 2  # `<now></now>` beside others may be markup
        if not bare:
            assert calls_of(dialect.write(calls)) == calls


@pytest.mark.spec("T2")
@each_dialect
def test_the_text_around_changes_nothing(dialect: Dialect) -> None:
    text = dialect.write(TWO)
    for frame in AROUND:
        assert calls_of(frame.format(text)) == TWO
    assert calls_of(text.replace("\n", "\r\n")) == TWO


@pytest.mark.spec("T2", "X16")
@each_dialect
def test_an_invented_result_is_not_a_call(dialect: Dialect) -> None:
    text = dialect.write(TWO)
    for result in RESULTS:
        verdict = CONTRACT.check(text + result)
        assert [(call.name, call.args) for call in verdict.calls] == TWO, result
        assert [f.code for f in verdict.findings] in ([], ["T017"]), result


@pytest.mark.spec("T2", "T11")
@pytest.mark.parametrize(
    "dialect", [d for d in DIALECTS if d.marks and d.name not in ("react", "qwen-agent")], ids=lambda d: d.name
)
def test_a_call_after_an_invented_result_is_not_run(dialect: Dialect) -> None:
    first, second = dialect.write([("now", {})]), dialect.write([("ping", {"host": "a"})])
    verdict = CONTRACT.check(f"{first}\n<tool_response>12:00</tool_response>\n{second}")
    assert [call.name for call in verdict.calls] == ["now"]
    assert [refusal.call.name.rpartition(".")[2] for refusal in verdict.refused] == ["ping"]
    assert {"T017", "T018"} <= {f.code for f in verdict.findings}


@pytest.mark.spec("T2", "T3")
@pytest.mark.parametrize("dialect", [d for d in DIALECTS if d.name != "single-key"], ids=lambda d: d.name)
def test_a_misspelt_tool_is_named_with_the_closest(dialect: Dialect) -> None:
    verdict = CONTRACT.check(dialect.write([("get_wether", {"city": "Oslo"})]))
    assert verdict.calls == ()
    assert any("get_wether'" in f.message and "'get_weather'" in f.message for f in verdict.findings)


@pytest.mark.spec("T7")
@pytest.mark.parametrize(
    "text", ["```python\nget_lather(1)\nprint(2)\n```", "```python\npong(host='a')\n```", "pin {\n}"]
)
def test_code_that_only_resembles_a_tool_is_not_a_mention(text: str) -> None:
    assert CONTRACT.check(text).findings == ()


@pytest.mark.spec("T4")
@pytest.mark.parametrize(
    "text",
    [
        "get_weather(city: str, days: int = 3)",
        "get_weather(city, days)",
        "def get_weather(city: str) -> str:\n    ...",
        "get_weather(city: string)",
        "function get_weather(city) {}",
        "type get_weather = (_: {city: string}) => any;",
    ],
)
def test_a_signature_is_not_a_call(text: str) -> None:
    assert calls_of(text) == []


# -- in pieces -----------------------------------------------------------------------------------------


def streams_of(text: str) -> list[Any]:
    """A text in the streams of four providers, a few characters at a time."""
    pieces = [text[i : i + 5] for i in range(0, len(text), 5)]
    chunks: list[Any] = [{"object": "chat.completion.chunk", "choices": [{"delta": {"content": p}}]} for p in pieces]
    chunks.append({"object": "chat.completion.chunk", "choices": [{"delta": {}, "finish_reason": "stop"}]})
    blocks: list[Any] = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": p}} for p in pieces
    ]
    head = {"model": "m", "created_at": "2026-01-01T00:00:00Z"}
    lines = [{**head, "message": {"role": "assistant", "content": p}, "done": False} for p in pieces]
    lines.append({**head, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"})
    return [
        chunks,
        "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n",
        [{"type": "message_start", "message": {"type": "message"}}, *blocks, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}],
        "\n".join(map(json.dumps, lines)),
        "".join(f"0:{json.dumps(p)}\n" for p in pieces) + 'd:{"finishReason":"stop"}\n',
    ]  # fmt: skip


@pytest.mark.spec("T2", "A1")
@each_dialect
def test_a_call_that_leaks_in_pieces_is_the_same_call(dialect: Dialect) -> None:
    text = f"I'll look.\n\n{dialect.write(TWO)}"
    whole = CONTRACT.check(text)
    for size in (1, 7):
        stream = CONTRACT.stream()
        for at in range(0, len(text), size):
            stream.feed(text[at : at + size])
        verdict = stream.finish()
        assert (verdict.calls, verdict.findings, verdict.fixes) == (whole.calls, whole.findings, whole.fixes)
    for source in streams_of(text):
        verdict = CONTRACT.check(source)
        assert ([(c.name, c.args) for c in verdict.calls], verdict.findings) == (TWO, ())
