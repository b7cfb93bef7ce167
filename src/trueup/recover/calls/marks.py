"""The signs by which models mark a tool call in text: tags, special tokens, words at the start of a line.

Only patterns live here, each of them linear. Dialects are many and their families few, so a mark says that a call may
follow and not how: JSON that names the tool, a name and its arguments, tags, or Python.
"""

import re

from trueup.recover.calls.told import SEEN, TOLD

NAME = r"\w[\w.\-/]{0,119}(?::[^\W\d][\w.\-/]{0,119})?"
# A namespace before a tag's name.
NS = r"(?:[|｜‖]{0,2}DSML[|｜‖]{1,2}|[A-Za-z]{1,20}:)?"
_CALL_TAG = r"(?:invoke|function|function_call|tool_call|tool_use|tool|call|action)"
_PARAM_TAG = r"(?:parameter|param|argument|arg)"
_THINK = r"(?:[A-Za-z]{1,10}[:_])?(?:think|thinking|thoughts?|reasoning|reflection|scratch_?pad|analysis|antThinking|inner_monologue)"

THINK = rf"<{_THINK}>|◁think▷|\[THINK\]|<\|begin_of_thought\|>|<\|channel\|>analysis<\|message\|>|<\|START_THINKING\|>|<\|channel>thought\b|<\|open\|>think<\|sep\|>"
UNTHINK = re.compile(
    rf"</{_THINK}>|◁/think▷|\[/THINK\]|<\|end_of_thought\|>|<\|end\|>|<\|END_THINKING\|>|<channel\|>|<\|close\|>think<\|sep\|>",
    re.IGNORECASE,
)

# `<invoke name="f">`, `<function=f>`, `<tool_call name="f">`: the tag itself names the tool.
TAG = rf"<{NS}{_CALL_TAG}(?:=|\s+(?:(?:tool_?|function_?)?name|tool|function)\s*=\s*)[\"']?(?={NAME}[\"']?(?:[^<>\n]{{0,200}}>|[,\s(\[]{{0,4}}\{{|[ \t\r]{{0,4}}\n\s{{0,9}}<))"
# `<function=f{…}</function>`: the arguments stand inside the tag
TAG_SLIP = re.compile(rf"({NAME})[\"']?[,\s(\[]{{0,4}}(?=\{{)")
TAG_SLIP_END = re.compile(r"[)\]\s]{0,4}>?")
TAG_NAME = re.compile(rf"({NAME})[\"']?([^<>\n]{{0,200}}?)(?:(/?)>|(?=\n\s{{0,9}}<))")
COLON_TAG = re.compile(rf"<(?:tool|tool_call|function|function_call|call):({NAME})>")
TAG_CLOSE = re.compile(rf"\s*</{NS}(?:{_CALL_TAG}|function_calls|tool_calls)>", re.IGNORECASE)
_WRAP = r"(?:parameters|arguments|args|(?:tool_|action_)?input|params)"
WRAP_OPEN = re.compile(rf"\s*<{NS}({_WRAP})>\s*", re.IGNORECASE)
WRAP_CLOSE = re.compile(rf"\s*</{NS}{_WRAP}>", re.IGNORECASE)
PARAMETER = re.compile(
    rf"\s*<{NS}{_PARAM_TAG}(?:=|\s+name\s*=\s*|\s+(?=[\w.-]{{1,120}}>))[\"']?([^\"'<>\s=]{{1,120}})[\"']?([^<>\n]{{0,80}})(?:>|(?=\n))"
)
# Where a parameter's value may end: its closing tag, the next parameter on a line of its own, the end of the call.
PARAMETER_EDGE = re.compile(
    rf"(?P<end></{NS}{_PARAM_TAG}>)|(?P<next>\n[ \t]*<{NS}{_PARAM_TAG}(?:=|\s+name))"
    rf"|(?P<close></{NS}(?:{_CALL_TAG}|function_calls|tool_calls)>)"
)
PARAMETER_NEXT = re.compile(
    rf"\s*(?:\Z|</?{NS}(?:{_PARAM_TAG}|{_CALL_TAG}|tool_calls|function_calls|parameters)\b|<[|｜]|```|</[\w.\-]{{1,80}}>\s*(?:\Z|<))"
)
CALL_NEXT = re.compile(rf"\s*(?:\Z|</?{NS}(?:{_CALL_TAG}|tool_calls|function_calls)\b|<[|｜]|```)")
# Keys and values in turn, as GLM writes them; LongCat puts its name before them, Hunyuan a word behind.
_ARG = r"(?:longcat_)?arg_{}(?::\w{{1,20}})?>"
_KEY, _VALUE, _PAIRED = _ARG.format("key"), _ARG.format("value"), r"(?:longcat_)?tool_calls?(?::\w{1,20})?>"
ARG_PAIR = re.compile(rf"\s*<{_KEY}\s*([^<>\n]{{1,120}}?)\s*(?:</{_KEY}\s*)?<{_VALUE}")
ARG_OPEN = re.compile(rf"<{_KEY}")
ARG_EDGE = re.compile(rf"(?P<end></{_VALUE})|(?P<next>\n[ \t]*<{_KEY})|(?P<close></{_PAIRED})")
ARG_NEXT = re.compile(rf"\s*(?:\Z|<{_KEY}|</?{_PAIRED}|<[|｜])")

# A mark that a call follows: a tag or token with one of these words, unless it ends something or tells a result.
# A look at the letter spares a try of every word at it.
_WORD = r"(?=[tfapriTFAPRIıİ])(?i:tool|function|action|plugin|python|recipient|invoke)"
_NOT = r"(?![\w▁:.-]{0,60}?(?=[eErRoOs_▁:])(?:end\b|END\b|_sep|▁sep|(?i:response|result|output)|suffix|_name|_input|_args|:name|:args))"
_TOKEN = rf"<[|｜]?{NS}{_NOT}[\w▁:-]{{0,40}}?{_WORD}[\w▁:-]{{0,40}}(?:[|｜]|\s{{1,4}}(?:(?:id|type|index)\s?=[^<>\n]{{0,60}})?)?>"
MARK = (
    rf"{_TOKEN}|\[(?:TOOL_CALLS?|tool_calls?|TOOL_REQUEST)\]|\bfunctools(?=\s?\[)|<<function>>|✿FUNCTION✿:"
    rf"|>>>(?={NAME}\s?\n\s{{0,4}}\{{)|\bfunction(?=<[|｜]tool[▁_]sep[|｜]>)|\bTOOL_CALLS?\b(?=\s{{0,2}}\[\s{{0,4}}\{{)"
    rf"|\b(?=functions\.{NAME}:\d{{1,4}}\s{{0,4}}\{{)|\[ARGS\](?=\s{{0,4}}\{{)|<\|tool_call_argument_begin\|>(?=\s{{0,4}}\{{)|<(?:longcat_)?arg_key>"
    rf"|\[(?:Calling (?:tool|function)|Tool call)s?:?\s?(?={NAME}\()"
    r"|\bfunction call(?:<\|role_sep\|>)?(?=\s{0,4}\{)|`{3,9}(?:tool_code|tool_calls?|tool_use|function_calls?)\b"
)
_RESULT = TOLD.replace("?P<result>", "?:")
RESULT = re.compile(rf"{_RESULT}|{SEEN}")
# What stands between a mark and the call, or between a name and its arguments, and says nothing.
NOISE = re.compile(
    rf"(?:\s+|<tool_call>|{_TOKEN}|(?!{_RESULT})<\|[^<>|\n\"]{{1,60}}\|>|<｜[^<>｜\n]{{1,60}}｜>|<tool_sep>|\[TOOL_CALLS?\]|\[ARGS\]|✿ARGS✿:|✿FUNCTION✿:|\[CALL_ID\][^\[{{\n]{{0,80}}"
    r"|`{3,9}[\w-]{0,20}|[\w-]{1,80}<\|tool_call:name\|>|\bfunction(?=<[｜|])|json(?=\s*\{))*"
)
# What ends a name, seen from behind; where arguments would stand, behind a name that has none.
NO_NAME = re.compile(r"[^\w.\-/:]")
NO_ARGUMENTS = re.compile(
    r"\s*(?:(?:<[|｜]tool[_▁]call[_▁]argument[_▁]begin[|｜]>|<[|｜]tool[_▁]sep[|｜]>|<tool_sep>|\[ARGS\])\s*)?"
)
BETWEEN = re.compile(r"[\s;,]*")
CALL_ID = re.compile(r"\[CALL_ID\]\s*([\w-]{1,80})")
# A name behind a mark, as the dialects prefix and number it.
NAMED = re.compile(rf"(call:)?`?((?:functions[.:])?({NAME})(:\d+)?)`?")
TO = rf"\bto=(?:functions\.)?(?={NAME})"
TO_NAME = re.compile(NAME)
TO_REST = re.compile(r"([^{}\n]{0,80}?)(?=\n?\{|<\|call\|>|\Z)\n?")
ELEMENT_NAME = re.compile(
    rf"\s*(?:<server_name>[^<>]{{0,120}}</server_name>\s*)?<(?:(?:tool_|function_)?name|function)>\s*({NAME})\s*</(?:(?:tool_|function_)?name|function)>"
)
ELEMENT = re.compile(r"\s*<((?:[A-Za-z]{1,20}:)?[^\W\d][\w.\-]{0,79})>")
# Nothing that was not closed reaches past one of these.
STOP = re.compile(
    rf"</{NS}[\w▁-]{{0,40}}?{_WORD}[\w▁:-]{{0,40}}>|<[|｜][^<>\n\"]{{1,60}}[|｜]>|\[/?TOOL_\w+\]|\[END_TOOL_REQUEST\]|✿[A-Z]{{4,9}}✿"
    rf"|<tool_call\|>|{_TOKEN}|\n```"
)
CLOSE = re.compile(
    rf"(?:\s*(?:</{NS}[\w▁-]{{0,40}}?{_WORD}[\w▁:-]{{0,40}}>|<[|｜][\w▁:]{{0,40}}(?:end|END|suffix|call)\b[\w▁]{{0,40}}[|｜]?>"
    r"|\[END_TOOL_REQUEST\]|\[/(?:TOOL_CALLS?|tool_calls?)\]|<tool_call\|>|<end_function_call>|<\|call\|>|<\|eo[mt]_id\|>|<bot_end>))+"
)

# Where a line starts in a way that may be a call without a mark, or with a word for one.
_ASSIGNED = r"(?:print\(|await |(?:(?:const|let|var) )?[a-z_]\w{0,30} = (?:await )?)?"
# A name that is taken whole or not at all: nothing that follows one could be part of it.
WHOLE = r"\w[\w.\-/]{0,119}+(?::[^\W\d][\w.\-/]{0,119}+)?+"
LINE = (
    r"(?:^|(?<=[\w|｜]>))[ \t]*+(?:`{3,9}+(?:[\w-]++[ \t]*+|[ \t]*+)|json[ \t]++)?(?:(?P<react>(?:\*\*)?(?:[Aa]ction(?: \d{1,3})?|Tool):(?:\*\*)?)|(?P<recipient>>>>(?![ \t]))|(?P<raven>Call:)|(?=[{\[])"
    rf"|(?P<seen>{SEEN})"
    rf"|(?={_ASSIGNED}{WHOLE}\s?\()|(?={WHOLE}[ \t]*\r?\n?[ \t]*(?:\{{|`{{3,9}}\w{{0,9}}\s{{1,4}}tool_call\())|(?=<[^\W\d][\w.\-]{{0,119}}[>\s/]))"
)
INLINE = r"[:：.!…][ \t]+(?=[{\[])"
REACT_INPUT = re.compile(
    r"[ \t\r]*\n[\r\n]*[ \t]*(?:\*\*)?(?:(?:Action|Tool)[ _])?(?:Input|Args|Arguments)(?: \d{1,3})?:(?:\*\*)?[ \t]*",
    re.IGNORECASE,
)
REACT_PLACE = re.compile(r"\[([^\[\]\n]{1,400})\][ \t\r]*(?:\n|\Z)")
REACT_BRACKET = re.compile(rf"\[({NAME})\](?=\s{{0,4}}\n)")
PYTHON_CALL = re.compile(rf"\s*{_ASSIGNED}({NAME})\s?\(")
XTML = r"<\|open\|>(?:tools)?call tool=\""
_MARKED = rf"(?P<think>{THINK})|(?P<xtml>{XTML})|(?P<tag>{TAG})|(?P<told>{TOLD})|(?P<mark>{MARK})|(?P<to>{TO})"
MARKED = re.compile(_MARKED)
# All that a sign may begin with: one look at a letter spares a try of every branch there.
_FIRST = r"(?>^|(?<=>)|(?=<(?!<(?!f))|\[[A-Za-z]|>>>|[◁✿]|[:：.!…][ \t]|fu|to=|TOOL)|(?<!`)(?=`))"
ANY = re.compile(rf"{_FIRST}(?:{_MARKED}|(?P<line>{LINE})|(?P<inline>{INLINE}))", re.MULTILINE)
UNMARKED = re.compile(rf"(?>^|(?<=>)|(?=[:：.!…][ \t]))(?:(?P<line>{LINE})|(?P<inline>{INLINE}))", re.MULTILINE)
