"""The dialects in which models write tool calls: one table, and the patterns that are made from it.

A row has the mark of a call, its end, the reader for the text after the mark, and the models that use it. There are many
dialects but few families: most rows only say that a call follows, so the reader `any` tries JSON that names the tool, a
name and its arguments, Python and tags. Every pattern is linear.
"""

import re
from typing import NamedTuple

from trueup.recover.marks import TABLE, closes_reasoning, opens_reasoning
from trueup.verdict.patterns import lazy_regex

NAME = r"\w[\w.\-/]{0,119}(?::[^\W\d][\w.\-/]{0,119})?"
# A name that is matched completely or not at all: no text after it could be part of it.
_WHOLE = r"\w[\w.\-/]{0,119}+(?::[^\W\d][\w.\-/]{0,119}+)?+"
NS = r"(?:[|｜‖]{0,2}DSML[|｜‖]{1,2}|[A-Za-z]{1,20}:)?"  # a namespace before a tag's name
_CALL_TAG = r"(?:invoke|function|function_call|tool_call|tool_use|tool|call|action)"
_PARAM_TAG = r"(?:parameter|param|argument|arg)"
_CALLS = rf"(?:{_CALL_TAG}|function_calls|tool_calls)"

# A tag or token with one of these words marks a call, unless it ends something or introduces a result. Testing the letter
# avoids trying every word.
_WORD = r"(?=[tfapriTFAPRIıİ])(?i:tool|function|action|plugin|python|recipient|invoke)"
_NOT = r"(?![\w▁:.-]{0,60}?(?=[eErRoOs_▁:])(?:end\b|END\b|_sep|▁sep|(?i:response|result|output)|suffix|_name|_input|_args|:name|:args))"
_TOKEN = rf"[|｜]?{NS}{_NOT}[\w▁:-]{{0,40}}?{_WORD}[\w▁:-]{{0,40}}(?:[|｜]|\s{{1,4}}(?:(?:id|type|index)\s?=[^<>\n]{{0,60}})?)?>"
_SPECIAL = r"<[|｜][^<>\n\"]{1,60}[|｜]>"
_RESULT = r"(?:(?:tool|function|call|action)_?(?:response|result|output)s?|observation)"
_TOLD = (
    rf"(?i:{_RESULT})>|[|｜](?i:(?:START_)?{_RESULT.replace('_?', '[_▁]?')})(?:[_▁]begin)?[|｜]?>|start_function_response>"
    r"|\|start\|>(?:functions\.)?[\w.\-]{1,120} to=assistant(?:<\|channel\|>commentary)?(?:<\|message\|>)?"
)
# Allowed before a call in code: `print(`, `await `, a variable for the result.
ASSIGNED = r"(?:print\(|await |(?:(?:const|let|var) )?[a-z_]\w{0,30} = (?:await )?)?"


class CallDialect(NamedTuple):
    """One way to mark calls: the reader, the beginning and the rest of the mark, the models that write it, and the end.

    The beginning is separate and plain text, so that a search is fast and a text without it needs no pattern.
    """

    reader: str
    starts: str
    rest: str
    writers: str
    closes: str = ""


DIALECTS = (
    *(CallDialect("think", token, "", row["models"]) for row in TABLE["reasoning"]["tokens"] for token in row["open"] if token[0] != "<"),
    CallDialect("xtml", "<", r"\|open\|>(?:tools)?call tool=\"", "Kimi K3"),
    CallDialect(  # the tag itself names the tool: `<invoke name="f">`, `<function=f>`, `<tool_call name="f">`
        "tag", "<",
        rf"{NS}{_CALL_TAG}(?:=|\s+(?:(?:tool_?|function_?)?name|tool|function)\s*=\s*)[\"']?"
        rf"(?={NAME}[\"']?(?:[^<>\n]{{0,200}}>|[,\s(\[]{{0,4}}\{{|[ \t\r]{{0,4}}\n\s{{0,9}}<))",
        "Claude, Llama 3, Qwen3-Coder, MiniMax M2, DeepSeek V3.2, Step 3, Seed-OSS, Grok",
        rf"</{NS}[\w▁-]{{0,40}}?{_WORD}[\w▁:-]{{0,40}}>",
    ),
    CallDialect("told", "<", _TOLD, "any model that makes up what a tool gave back"),
    CallDialect("told", "[TOOL_RESULT", r"S?\]", "Mistral"),
    CallDialect("told", "✿RE", r"(?:SULT|TURN)✿:?", "Qwen-Agent"),
    CallDialect("behind", "[ARGS]", r"(?=\s{0,4}\{)", "Mistral, its first token lost"),
    CallDialect("behind", "<", r"\|tool_call_argument_begin\|>|(?:longcat_)?arg_key>", "Kimi K2, GLM and LongCat, their first token lost"),
    CallDialect(
        "any", "<", _TOKEN,
        "Hermes, Qwen, Granite, Jamba, Nemotron, InternLM, DeepSeek, Kimi K2, Gemma 4, Command R, Apertus, LFM2, Olmo 3, Hunyuan",
        rf"(?!{closes_reasoning})<[|｜][\w▁:]{{0,40}}(?:end|END|suffix|call)\b[\w▁]{{0,40}}[|｜]?>|<tool_call\|>|<end_function_call>|<\|eo[mt]_id\|>",
    ),
    CallDialect("any", "<", "<function>>", "Gorilla"),
    CallDialect("think", "<", rf"(?<=(?={opens_reasoning})<)", "the tags and tokens of marks.toml"),
    CallDialect("any", "[TOOL_CALL", r"S?\]", "Mistral", r"\[/TOOL_CALLS?\]"),
    CallDialect("any", "[tool_call", r"s?\]", "Mistral", r"\[/tool_calls?\]"),
    CallDialect("any", "[TOOL_REQUEST]", "", "LM Studio", r"\[END_TOOL_REQUEST\]"),
    CallDialect("any", "[Calling ", rf"(?:tool|function)s?:?\s?(?={NAME}\()", "transcripts of agents"),
    CallDialect("any", "[Tool call", rf"s?:?\s?(?={NAME}\()", "transcripts of agents"),
    CallDialect("any", "TOOL_CALL", r"(?<!\wTOOL_CALL)S?\b(?=\s{0,2}\[\s{0,4}\{)", "Mistral, its token written as a word"),
    CallDialect("any", "functools", r"(?<!\wfunctools)(?=\s?\[)", "Phi-4 mini"),
    CallDialect("any", "function", r"(?<!\wfunction)(?=<[|｜]tool[▁_]sep[|｜]>)", "DeepSeek, its first token lost"),
    CallDialect("any", "function call", r"(?<!\wfunction call)(?:<\|role_sep\|>)?(?=\s{0,4}\{)", "GigaChat"),
    CallDialect("named", "functions.", rf"(?<!\wfunctions\.)(?={NAME}:\d{{1,4}}\s{{0,4}}\{{)", "Kimi K2, its tokens lost"),
    CallDialect("any", "✿FUNCTION✿:", "", "Qwen-Agent"),
    CallDialect("any", ">>>", rf"(?={NAME}\s?\n\s{{0,4}}\{{)", "Functionary v3"),
    CallDialect("any", "```", r"(?<!````)`{0,6}(?:tool_code|tool_calls?|tool_use|function_calls?)\b", "Gemini, Gemma 3"),
    CallDialect("to", "to=", rf"(?<!\wto=)(?:functions\.)?(?={NAME})", "gpt-oss", r"<\|call\|>"),
)  # fmt: skip
# Beginnings of a line, with or without the marks of a code block before them.
LINES = (
    CallDialect("react", "", r"(?:\*\*)?(?:[Aa]ction(?: \d{1,3})?|Tool):(?:\*\*)?", "ReAct prompts"),
    CallDialect("recipient", "", r">>>(?![ \t])", "Functionary v3"),
    CallDialect("raven", "", "Call:", "NexusRaven", "<bot_end>"),
    CallDialect("seen", "", r"(?:\*\*)?Observation(?: \d{1,3})?:(?:\*\*)?", "ReAct prompts"),
    CallDialect(  # a call without a mark: JSON, Python, a name before its JSON or a block of code, an element
        "unmarked", "",
        rf"(?=[{{\[]|{ASSIGNED}{_WHOLE}\s?\(|{_WHOLE}[ \t]*\r?\n?[ \t]*(?:\{{|`{{3,9}}\w{{0,9}}\s{{1,4}}tool_call\()|<[^\W\d][\w.\-]{{0,119}}[>\s/])",
        "every model",
    ),
)  # fmt: skip
FENCED = r"[ \t]*+(?:`{3,9}+(?!tool_|function_call)(?:[\w-]++[ \t]*+|[ \t]*+)|json[ \t]++)?"
INLINE = r"[ \t]+(?=[{\[])"  # after a sign that ends words

# -- text next to a call ---------------------------------------------------------------------------

_TOLD_ANY = "|".join(
    rf"{re.escape(row.starts)}(?:{row.rest})" for row in (*DIALECTS, *LINES) if row.reader in ("told", "seen")
)
RESULT = lazy_regex(_TOLD_ANY)
# Meaningless text between a mark and the call, or between a name and its arguments.
NOISE = lazy_regex(
    rf"(?:\s+|<tool_call>|<{_TOKEN}|(?!<(?:{_TOLD}))<\|[^<>|\n\"]{{1,60}}\|>|<｜[^<>｜\n]{{1,60}}｜>|<tool_sep>|\[TOOL_CALLS?\]|\[ARGS\]|✿ARGS✿:|✿FUNCTION✿:|\[CALL_ID\][^\[{{\n]{{0,80}}"
    r"|`{3,9}[\w-]{0,20}|[\w-]{1,80}<\|tool_call:name\|>|\bfunction(?=<[｜|])|json(?=\s*\{))*"
)
BETWEEN = lazy_regex(r"[\s;,]*")
CALL_ID = lazy_regex(r"\[CALL_ID\]\s*([\w-]{1,80})")
# The end of a name, searched backwards; a name after a mark, with the prefixes and numbers of the dialects.
NO_NAME = lazy_regex(r"[^\w.\-/:]")
NAMED = lazy_regex(rf"(call:)?`?((?:functions[.:])?({NAME})(:\d+)?)`?")
# The place of the arguments after a name without any.
NO_ARGUMENTS = lazy_regex(
    r"\s*(?:(?:<[|｜]tool[_▁]call[_▁]argument[_▁]begin[|｜]>|<[|｜]tool[_▁]sep[|｜]>|<tool_sep>|\[ARGS\])\s*)?"
)
ADDRESS = lazy_regex(NAME)
ADDRESS_REST = lazy_regex(r"([^{}\n]{0,80}?)(?=\n?\{|<\|call\|>|\Z)\n?")
_CLOSES = "|".join(row.closes for row in (*DIALECTS, *LINES) if row.closes)
CLOSE = lazy_regex(rf"(?:\s*(?:{_CLOSES}))+")
# The end of everything that was not closed.
STOP = lazy_regex(rf"{_CLOSES}|{_SPECIAL}|\[/?TOOL_\w+\]|✿[A-Z]{{4,9}}✿|<{_TOKEN}|\n```")

# Where the words of a result end if no mark closes it.
RESULT_EDGE = lazy_regex(
    r"\n[ \t]*\r?(?:\n|\Z)|\n[ \t]*(?:\*\*)?(?:Thought|Action|Final Answer|Answer|Question)\b|✿(?:FUNCTION|RETURN)✿"
    r"|<[|｜]?(?:tool[_▁]calls?|function[_▁]calls?|invoke\b|function=)|\[TOOL_CALLS?\]|<\|(?:im_end|eot_id|end|call)\|>"
)
RESULT_PAIRS = (("START_", "END_"), ("start_", "end_"), ("begin", "end"), ("[TOOL", "[/TOOL"))

# -- tags ------------------------------------------------------------------------------------------

# `<function=f{…}</function>`: the arguments are inside the tag
TAG_SLIP = lazy_regex(rf"({NAME})[\"']?[,\s(\[]{{0,4}}(?=\{{)")
TAG_SLIP_END = lazy_regex(r"[)\]\s]{0,4}>?")
TAG_NAME = lazy_regex(rf"({NAME})[\"']?([^<>\n]{{0,200}}?)(?:(/?)>|(?=\n\s{{0,9}}<))")
TAG_CLOSE = lazy_regex(rf"\s*</{NS}{_CALLS}>", re.IGNORECASE)
COLON_TAG = lazy_regex(rf"<(?:tool|tool_call|function|function_call|call):({NAME})>")
_WRAP = r"(?:parameters|arguments|args|(?:tool_|action_)?input|params)"
WRAP_OPEN = lazy_regex(rf"\s*<{NS}({_WRAP})>\s*", re.IGNORECASE)
WRAP_CLOSE = lazy_regex(rf"\s*</{NS}{_WRAP}>", re.IGNORECASE)
_PARAMETER = lazy_regex(
    rf"\s*<{NS}{_PARAM_TAG}(?:=|\s+name\s*=\s*|\s+(?=[\w.-]{{1,120}}>))[\"']?([^\"'<>\s=]{{1,120}})[\"']?([^<>\n]{{0,80}})(?:>|(?=\n))"
)
# Where a parameter's value may end: its closing tag, the next parameter on a separate line, the end of the call.
_PARAMETER_EDGE = lazy_regex(
    rf"(?P<end></{NS}{_PARAM_TAG}>)|(?P<next>\n[ \t]*<{NS}{_PARAM_TAG}(?:=|\s+name))|(?P<close></{NS}{_CALLS}>)"
)
_PARAMETER_NEXT = lazy_regex(
    rf"\s*(?:\Z|</?{NS}(?:{_PARAM_TAG}|{_CALLS}|parameters)\b|<[|｜]|```|</[\w.\-]{{1,80}}>\s*(?:\Z|<))"
)
CALL_NEXT = lazy_regex(rf"\s*(?:\Z|</?{NS}{_CALLS}\b|<[|｜]|```)")
MORE = lazy_regex(rf"<{NS}{_PARAM_TAG}|<(?:longcat_)?arg_key")
# Alternating keys and values, in GLM's format; LongCat adds its name before them, Hunyuan a word after them.
_ARG = r"(?:longcat_)?arg_{}(?::\w{{1,20}})?>"
_KEY, _VALUE, _PAIRED = _ARG.format("key"), _ARG.format("value"), r"(?:longcat_)?tool_calls?(?::\w{1,20})?>"
ARG_PAIR = lazy_regex(rf"\s*<{_KEY}\s*([^<>\n]{{1,120}}?)\s*(?:</{_KEY}\s*)?<{_VALUE}")
_ARG_EDGE = lazy_regex(rf"(?P<end></{_VALUE})|(?P<next>\n[ \t]*<{_KEY})|(?P<close></{_PAIRED})")
_ARG_NEXT = lazy_regex(rf"\s*(?:\Z|<{_KEY}|</?{_PAIRED}|<[|｜])")
# A key, the possible ends of its value, and the text that may follow it.
PARAMETERS = (_PARAMETER, _PARAMETER_EDGE, _PARAMETER_NEXT)
PAIRS = (ARG_PAIR, _ARG_EDGE, _ARG_NEXT)
ELEMENT = lazy_regex(r"\s*<((?:[A-Za-z]{1,20}:)?[^\W\d][\w.\-]{0,79})>")
ELEMENT_NAME = lazy_regex(
    rf"\s*(?:<server_name>[^<>]{{0,120}}</server_name>\s*)?<(?:(?:tool_|function_)?name|function)>\s*({NAME})\s*</(?:(?:tool_|function_)?name|function)>"
)

# -- lines -----------------------------------------------------------------------------------------

REACT_INPUT = lazy_regex(
    r"[ \t\r]*\n[\r\n]*[ \t]*(?:\*\*)?(?:(?:Action|Tool)[ _])?(?:Input|Args|Arguments)(?: \d{1,3})?:(?:\*\*)?[ \t]*",
    re.IGNORECASE,
)
REACT_PLACE = lazy_regex(r"\[([^\[\]\n]{1,400})\][ \t\r]*(?:\n|\Z)")
REACT_BRACKET = lazy_regex(rf"\[({NAME})\](?=\s{{0,4}}\n)")

# -- other signs for the same marks ----------------------------------------------------------------

# The token that MiniMax M3 writes before each tag becomes a namespace of the same length inside the tag.
_MINIMAX = lazy_regex(r"\]<\]minimax\[>\[<(/?)")
_WIDE = lazy_regex(r"＜(?=[^＜＞\n]{0,60}?(?:tool|function|invoke|param|arg|think|DSML))([^＜＞\n]{1,160})＞")
_SPACED = lazy_regex(r"<([|｜])tool (?:(?:call|output)s? (?:begin|end)|sep)\1>")


def normalized(text: str) -> str:
    """The text with the signs of some dialects replaced by the usual ones of the same length.

    >>> normalized("＜tool_call＞"), normalized("<｜tool call begin｜>")
    ('<tool_call>', '<｜tool▁call▁begin｜>')
    """
    if "＜" in text:
        text = _WIDE.sub(r"<\1>", text)
    if "]<]minimax[>[" in text:
        text = _MINIMAX.sub(r"<\1minimaxmmmmm:", text)
    if "tool " in text:
        text = _SPACED.sub(lambda token: token[0].replace(" ", "▁"), text)
    return text
