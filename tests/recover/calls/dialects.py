"""How each family of models writes a tool call into its text: a writer for each, from calls to text.

A call is a name and its arguments. The writers follow the models' own chat templates; `marks` says whether the
dialect marks its calls, `typed` whether it distinguishes a number from its text.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Call = tuple[str, dict[str, Any]]


class Dialect(NamedTuple):
    name: str
    write: Callable[[Sequence[Call]], str]
    marks: bool = True
    literal: str = ""  # a closing mark that an argument may contain as text


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _call(call: Call, arguments: str = "arguments") -> str:
    return _json({"name": call[0], arguments: call[1]})


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _each(one: Callable[[Call], str], before: str = "", after: str = "", between: str = "\n") -> Callable[..., str]:
    return lambda calls: before + between.join(map(one, calls)) + after


def _python(call: Call) -> str:
    return f"{call[0]}({', '.join(f'{key}={value!r}' for key, value in call[1].items())})"


def _tags(call: Call, opening: str, parameter: str, close_parameter: str, closing: str, line: str = "\n") -> str:
    rows = [parameter.format(key) + line + _text(value) + line + close_parameter for key, value in call[1].items()]
    return line.join([opening.format(call[0]), *rows, closing])


def _gemma(value: Any) -> str:
    if isinstance(value, str):
        return f'<|"|>{value}<|"|>'
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_gemma(inner)}" for key, inner in value.items()) + "}"
    return "[" + ",".join(map(_gemma, value)) + "]" if isinstance(value, list) else _json(value)


def _pairs(call: Call, line: str, own: str = "") -> str:
    rows = (
        f"<{own}arg_key>{k}</{own}arg_key>{line}<{own}arg_value>{_text(v)}</{own}arg_value>" for k, v in call[1].items()
    )
    return f"<{own}tool_call>{line.join([call[0], *rows])}{line}</{own}tool_call>"


def _dsml(call: Call) -> str:
    rows = [
        f'<｜DSML｜parameter name="{key}" string="{str(isinstance(value, str)).lower()}">{_text(value)}</｜DSML｜parameter>'
        for key, value in call[1].items()
    ]
    return "\n".join([f'<｜DSML｜invoke name="{call[0]}">', *rows, "</｜DSML｜invoke>"])


def _numbered(one: Callable[[int, Call], str], before: str = "", after: str = "") -> Callable[..., str]:
    return lambda calls: before + "".join(one(i, call) for i, call in enumerate(calls)) + after


def _list(calls: Sequence[Call], arguments: str = "arguments") -> str:
    return "[" + ", ".join(_call(call, arguments) for call in calls) + "]"


def _uses(calls: Sequence[Call]) -> str:
    return _json({"tool_uses": [{"recipient_name": f"functions.{name}", "parameters": args} for name, args in calls]})


def _openai(calls: Sequence[Call]) -> str:
    return _json(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": _json(args)}}
                for i, (name, args) in enumerate(calls)
            ],
        }
    )


QWEN = ("<function={}>", "<parameter={}>", "</parameter>", "</function>")
INVOKE = ('<invoke name="{}">', '<parameter name="{}">', "</parameter>", "</invoke>")
STEP = ('<steptml:invoke name="{}">', '<steptml:parameter name="{}">', "</steptml:parameter>", "</steptml:invoke>")
ELEMENTS = "<tool_name>{}</tool_name>"

DIALECTS = (
    Dialect("hermes", _each(lambda c: f"<tool_call>\n{_call(c)}\n</tool_call>"), literal="</tool_call>"),
    Dialect("hermes-one-line", _each(lambda c: f"<tool_call>{_call(c)}</tool_call>", between=""), literal="</tool_call>"),
    Dialect("hermes-unclosed", _each(lambda c: f"<tool_call>\n{_call(c)}"), literal="<tool_call>"),
    Dialect("hermes-list", lambda cs: f"<tool_call>{_list(cs)}</tool_call>", literal="</tool_call>"),
    Dialect("longcat", _each(lambda c: f"<longcat_tool_call>{_call(c)}</longcat_tool_call>"), literal="</longcat_tool_call>"),
    Dialect("jamba", lambda cs: f"<tool_calls>{_list(cs)}</tool_calls>", literal="</tool_calls>"),
    Dialect("minimax-m1", _each(_call, "<tool_calls>\n", "\n</tool_calls>"), literal="</tool_calls>"),
    Dialect("nemotron", lambda cs: f"<TOOLCALL>{_list(cs)}</TOOLCALL>", literal="</TOOLCALL>"),
    Dialect("granite-3.0", lambda cs: f"<|tool_call|>{_list(cs)}", literal="<|tool_call|>"),
    Dialect("granite-3.1", lambda cs: f"<tool_call>{_list(cs)}", literal="<tool_call>"),
    Dialect("granite-20b", _each(lambda c: f"<function_call> {_call(c)} ", between="")),
    Dialect("internlm", _each(lambda c: f"<|action_start|><|plugin|>\n{_call(c, 'parameters')}<|action_end|>"), literal="<|action_end|>"),
    Dialect("mistral-old", lambda cs: f"[TOOL_CALLS]{_list(cs)}", literal="[TOOL_CALLS]"),
    Dialect("mistral-old-spaced", lambda cs: f"[TOOL_CALLS] {_list(cs)}"),
    Dialect("mistral-v11", _each(lambda c: f"[TOOL_CALLS]{c[0]}{_json(c[1])}", between=""), literal="[TOOL_CALLS]"),
    Dialect("mistral-v13", _each(lambda c: f"[TOOL_CALLS]{c[0]}[ARGS]{_json(c[1])}", between=""), literal="[ARGS]"),
    Dialect("mistral-ids", _numbered(lambda i, c: f"[TOOL_CALLS]{c[0]}[CALL_ID]abc12345{i}[ARGS]{_json(c[1])}")),
    Dialect("llama-json", _each(lambda c: _call(c, "parameters"), "<|python_tag|>", between="; ")),
    Dialect("llama-eom", _each(lambda c: _call(c, "parameters"), "<|python_tag|>", "<|eom_id|>", "; ")),
    Dialect("llama-function", _each(lambda c: f"<function={c[0]}>{_json(c[1])}</function>"), literal="</function>"),
    Dialect("llama-python-tag", _each(_python, "<|python_tag|>")),
    Dialect("llama4", lambda cs: f"<|python_start|>[{', '.join(map(_python, cs))}]<|python_end|>", literal="<|python_end|>"),
    Dialect("lfm2", lambda cs: f"<|tool_call_start|>[{', '.join(map(_python, cs))}]<|tool_call_end|>", literal="<|tool_call_end|>"),
    Dialect("olmo3", _each(_python, "<function_calls>", "</function_calls>"), literal="</function_calls>"),
    Dialect("qwen3-coder", _each(lambda c: "<tool_call>\n" + _tags(c, *QWEN) + "\n</tool_call>"), literal="</parameter>"),
    Dialect("qwen3-coder-bare", _each(lambda c: _tags(c, *QWEN)), literal="</function>"),
    Dialect("qwen3-coder-tight", _each(lambda c: "<tool_call>" + _tags(c, *QWEN, "") + "</tool_call>", between=""), literal="</tool_call>"),
    Dialect("seed-oss", _each(lambda c: "<seed:tool_call>\n" + _tags(c, *QWEN) + "\n</seed:tool_call>"), literal="</seed:tool_call>"),
    Dialect("invoke", lambda cs: "<function_calls>\n" + "\n".join(_tags(c, *INVOKE, "") for c in cs) + "\n</function_calls>", literal="</parameter>"),
    Dialect("invoke-ns", lambda cs: ("<function_calls>" + "".join(_tags(c, *INVOKE, "") for c in cs) + "</function_calls>").replace("</", "</x:").replace("<inv", "<x:inv").replace("<par", "<x:par").replace("<fun", "<x:fun")),
    Dialect("minimax-m2", lambda cs: "<minimax:tool_call>\n" + "\n".join(_tags(c, *INVOKE) for c in cs) + "\n</minimax:tool_call>", literal="</invoke>"),
    Dialect("step3", lambda cs: "<｜tool_calls_begin｜>" + "".join("<｜tool_call_begin｜>function<｜tool_sep｜>" + _tags(c, *STEP, "") + "<｜tool_call_end｜>" for c in cs) + "<｜tool_calls_end｜>"),
    Dialect("dsml", lambda cs: "<｜DSML｜function_calls>\n" + "\n".join(map(_dsml, cs)) + "\n</｜DSML｜function_calls>", literal="</｜DSML｜parameter>"),
    Dialect("glm", _each(lambda c: _pairs(c, "\n")), literal="</arg_value>"),
    Dialect("longcat-pairs", _each(lambda c: _pairs(c, "\n", "longcat_")), literal="</longcat_arg_value>"),
    Dialect("qwen-agent", _each(lambda c: f"✿FUNCTION✿: {c[0]}\n✿ARGS✿: {_json(c[1])}", after="\n✿RESULT✿"), literal="✿RESULT✿"),
    Dialect("glm-tight", _each(lambda c: _pairs(c, ""), between=""), literal="</tool_call>"),
    Dialect("deepseek-v3", lambda cs: "<｜tool▁calls▁begin｜>" + "\n".join(f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{c[0]}\n```json\n{_json(c[1])}\n```<｜tool▁call▁end｜>" for c in cs) + "<｜tool▁calls▁end｜>", literal="<｜tool▁call▁end｜>"),
    Dialect("deepseek-v3.1", lambda cs: "<｜tool▁calls▁begin｜>" + "".join(f"<｜tool▁call▁begin｜>{c[0]}<｜tool▁sep｜>{_json(c[1])}<｜tool▁call▁end｜>" for c in cs) + "<｜tool▁calls▁end｜>", literal="<｜tool▁call▁end｜>"),
    Dialect("kimi", _numbered(lambda i, c: f"<|tool_call_begin|>functions.{c[0]}:{i}<|tool_call_argument_begin|>{_json(c[1])}<|tool_call_end|>", "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"), literal="<|tool_call_end|>"),
    Dialect("kimi-spaced", _numbered(lambda i, c: f"<|tool_call_begin|> functions.{c[0]}:{i} <|tool_call_argument_begin|> {_json(c[1])} <|tool_call_end|>\n", "<|tool_calls_section_begin|>\n", "<|tool_calls_section_end|>")),
    Dialect("gemma4", _each(lambda c: f"<|tool_call>call:{c[0]}{_gemma(c[1])}<tool_call|>", between=""), literal="<tool_call|>"),
    Dialect("functiongemma", _each(lambda c: f"<start_function_call>call:{c[0]}{_gemma(c[1])}<end_function_call>".replace('<|"|>', "<escape>"), between=""), literal="<end_function_call>"),
    Dialect("harmony", _each(lambda c: f"<|channel|>commentary to=functions.{c[0]} <|constrain|>json<|message|>{_json(c[1])}<|call|>", between=""), literal="<|call|>"),
    Dialect("harmony-start", _each(lambda c: f"<|start|>assistant to=functions.{c[0]}<|channel|>commentary json<|message|>{_json(c[1])}<|call|>", between="")),
    Dialect("harmony-stripped", _each(lambda c: f"commentary to=functions.{c[0]} json{_json(c[1])}")),
    Dialect("functionary", _each(lambda c: f">>>{c[0]}\n{_json(c[1])}")),
    Dialect("functionary-v2", _each(lambda c: f"<|from|>assistant\n<|recipient|>{c[0]}\n<|content|>{_json(c[1])}")),
    Dialect("command-r", lambda cs: "<|START_ACTION|>[\n" + ",\n".join(_json({"tool_call_id": str(i), "tool_name": n, "parameters": a}) for i, (n, a) in enumerate(cs)) + "\n]<|END_ACTION|>", literal="<|END_ACTION|>"),
    Dialect("command-r-old", lambda cs: "Action: ```json\n" + _json([{"tool_name": n, "parameters": a} for n, a in cs]) + "\n```"),
    Dialect("apertus", lambda cs: "<|tools_prefix|>" + _json([{n: a} for n, a in cs]) + "<|tools_suffix|>", literal="<|tools_suffix|>"),
    Dialect("phi4", lambda cs: f"functools{_list(cs)}"),
    Dialect("gigachat", _each(lambda c: f"function call<|role_sep|>\n{_call(c)}")),
    Dialect("solar", _numbered(lambda i, c: f"<|tool_call:begin|>chatcmpl-tool-{i}<|tool_call:name|>{c[0]}<|tool_call:args|>{_json(c[1])}<|tool_call:end|>", "<|tool_calls|>")),
    Dialect("hunyuan", lambda cs: "<tool_calls>\n" + "\n".join(f"<tool_call>{c[0]}<tool_sep>\n```json\n{_json(c[1])}\n```\n</tool_call>" for c in cs) + "\n</tool_calls>"),
    Dialect("lm-studio", _each(lambda c: f"[TOOL_REQUEST]\n{_call(c)}\n[END_TOOL_REQUEST]"), literal="[END_TOOL_REQUEST]"),
    Dialect("tool-code", lambda cs: "```tool_code\n" + "\n".join(f"print(default_api.{_python(c)})" for c in cs) + "\n```"),
    Dialect("tool-fence", lambda cs: "```tool_call\n" + "\n".join(map(_call, cs)) + "\n```"),
    Dialect("raven", _each(lambda c: f"Call: {_python(c)}<bot_end>")),
    Dialect("gorilla", _each(lambda c: f"<<function>>{_python(c)}")),
    Dialect("claude-2", lambda cs: "<function_calls>\n" + "\n".join("<invoke>\n" + ELEMENTS.format(n) + "\n<parameters>\n" + "\n".join(f"<{k}>{_text(v)}</{k}>" for k, v in a.items()) + "\n</parameters>\n</invoke>" for n, a in cs) + "\n</function_calls>"),
    Dialect("use-mcp-tool", _each(lambda c: f"<use_mcp_tool>\n<server_name>web</server_name>\n{ELEMENTS.format(c[0])}\n<arguments>\n{_json(c[1])}\n</arguments>\n</use_mcp_tool>"), literal="</arguments>"),
    Dialect("xai", _each(lambda c: _tags(c, '<xai:function_call name="{}">', '<parameter name="{}">', "</parameter>", "</xai:function_call>", ""))),
    Dialect("react", _each(lambda c: f"Thought: I should look.\nAction: {c[0]}\nAction Input: {_json(c[1])}\nObservation: ")),
    Dialect("react-json", _each(lambda c: "Action:\n```json\n" + _json({"action": c[0], "action_input": c[1]}) + "\n```")),
    Dialect("name-then-json", _each(lambda c: f"{c[0]}\n{_json(c[1])}"), marks=False),
    Dialect("bare-object", _each(_call), marks=False),
    Dialect("bare-joined", _each(lambda c: _call(c, "parameters"), between="; "), marks=False),
    Dialect("bare-array", _list, marks=False),
    Dialect("bare-pretty", lambda cs: json.dumps([{"name": n, "arguments": a} for n, a in cs], indent=2), marks=False),
    Dialect("fenced-object", _each(lambda c: f"```json\n{_call(c)}\n```"), marks=False),
    Dialect("fenced-array", lambda cs: f"```json\n{_list(cs)}\n```", marks=False),
    Dialect("tool-args", _each(lambda c: _json({"tool": c[0], "args": c[1]})), marks=False),
    Dialect("tool-input", _each(lambda c: _json({"tool_name": c[0], "input": _json(c[1])})), marks=False),
    Dialect("single-key", _each(lambda c: _json({c[0]: c[1]})), marks=False),
    Dialect("function-call", _each(lambda c: _json({"function_call": {"name": c[0], "arguments": _json(c[1])}})), marks=False),
    Dialect("openai-message", _openai, marks=False),
    Dialect("openai-calls", lambda cs: _json(json.loads(_openai(cs))["tool_calls"]), marks=False),
    Dialect("envelope", lambda cs: _json({"toolCalls": [{"name": n, "arguments": a} for n, a in cs], "content": "", "needsMoreWork": True}), marks=False),
    Dialect("parallel-uses", _uses, marks=False),
    Dialect("parallel-to", lambda cs: f"to=multi_tool_use.parallel {_uses(cs)}"),
    Dialect("prefixed", _each(lambda c: _call((f"functions.{c[0]}", c[1]))), marks=False),
    Dialect("pythonic", lambda cs: f"[{', '.join(map(_python, cs))}]", marks=False),
    Dialect("pythonic-lines", _each(_python), marks=False),
    Dialect("pythonic-fence", lambda cs: "```python\n" + "\n".join(map(_python, cs)) + "\n```", marks=False),
    Dialect("elements", _each(lambda c: f"<{c[0]}>\n" + "\n".join(f"<{k}>{_text(v)}</{k}>" for k, v in c[1].items()) + f"\n</{c[0]}>"), marks=False),
)  # fmt: skip
