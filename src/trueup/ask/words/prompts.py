"""What is said to a model: the format it is held to, the faults of its reply, and the request to correct them.

A verdict and the words of a language enter; texts leave. Faults are told with code and path, the best first, at most so many;
hints follow from the fixes and findings of the verdict, never from a search for words in the reply.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from trueup.ask.words.fields import missing
from trueup.ask.words.places import inner, shown
from trueup.ask.words.quoting import cut, disarm, quote
from trueup.ask.words.shape import is_plain, rules, schema_text, shape, whole_form
from trueup.ask.words.skeleton import skeleton
from trueup.ask.words.templates import FIELD, Words, fill
from trueup.ask.words.typescript import Declarations, root_type
from trueup.checks.placeholders import filled, one_line
from trueup.conform.schema import compile_schema
from trueup.verdict.codec import written
from trueup.verdict.facts import Finding
from trueup.verdict.paths import parse
from trueup.verdict.reply import Reply
from trueup.verdict.tool import Tool
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.checks.state import Situation

Form = Literal["form", "json-schema", "typescript"]

# The defect that a fix or a finding shows.
_DEFECTS = {
    "P009": "truncated", "T006": "truncated", "S028": "truncated", "S029": "truncated", "S030": "truncated",
    "W004": "tag", "F004": "tag", "F005": "tag", "W005": "tag",
    "W001": "fence", "W002": "prose", "S014": "names", "S001": "comma",
    "S008": "quotes", "S009": "quotes", "S010": "quotes", "S016": "newline", "S017": "comment", "S018": "literal",
    "S027": "ellipsis", "S012": "inner_quote", "S013": "inner_quote", "W013": "reasoning", "S032": "twice",
    "S005": "brackets", "S006": "brackets",
}  # fmt: skip
_QUOTED = re.compile(r'"([^"]+)"')
_MOST_SHOWN = 300
_MOST_LISTED = 12


def defects(verdict: Verdict, *, tags: bool = False) -> list[str]:
    """The defects that were seen in a reply, worst first: a reply that was cut needs no other advice.

    A call in tags is a defect unless `tags` are how the model was asked to write one.

    >>> from trueup import Contract
    >>> defects(Contract({"type": "object"}).check("```json\\n{'a': 1,}\\n```"))
    ['fence', 'quotes', 'comma']
    """
    codes = [fact.code for fact in (*verdict.findings, *verdict.fixes)]
    seen = dict.fromkeys(_DEFECTS[code] for code in codes if code in _DEFECTS)
    if not tags and any(fix.code == "K001" and str(fix.before)[:1] == "<" for fix in verdict.fixes):
        seen["tag"] = None
    if verdict.reply.finish == "length" or "truncated" in seen:
        return ["truncated"]
    return list(seen)


def hint_lines(verdict: Verdict, words: Words, *, tags: bool = False) -> str:
    """One line for each defect, with a blank line after them."""
    lines = [words.hints[defect] for defect in defects(verdict, tags=tags) if defect in words.hints]
    return "\n".join(["", *lines, ""]) if lines else ""


def fault_lines(
    faults: Iterable[Finding], words: Words, most: int, *, verdict: Verdict | None = None, inside: bool = False
) -> str:
    """The faults as a list, the first ones of it; in a `verdict`, each with its place as the model knows it."""
    given = list(faults)
    wrong = {fault.path for fault in given}
    kept = [fault for fault in given if not any(f"{fault.path}.{name}" in wrong for name in _needed(fault))]
    places = [(f, f.path if verdict is None else shown(f.path, verdict, inside=inside)) for f in kept]
    told = list(dict.fromkeys(_fault_line(fault, path, words) for fault, path in places))
    if len(told) > most:
        told = [*told[:most], words.fill("more", count=len(told) - most)]
    return "\n".join(told)


def _needed(fault: Finding) -> list[str]:
    """The fields that alternatives need of which none fits; a fault in one of these fields is all that a model must know."""
    labels = fault.data.get("alternatives", ()) if fault.code == "V008" else ()
    return [name for label in labels if label.startswith("with ") for name in _QUOTED.findall(label)]


def _fault_line(fault: Finding, path: str, words: Words) -> str:
    message = _message(fault, words)
    return words.fill("fault", code=fault.code, path=_plain(path, 120), message=_plain(message, _MOST_SHOWN))


def _message(fault: Finding, words: Words) -> str:
    """The message of a finding in the words' language where they have one, else its own with its hint."""
    template = words.messages.get(fault.code)
    if template is not None:
        values = {name: _said(value, words) for name, value in fault.data.items()} | {
            "field": _field(inner(fault.path))
        }
        if values.keys() >= set(FIELD.findall(template)):
            return fill(template, values)
    parts = [fault.message, fault.hint]
    return " ".join(part if part[-1] in ".!?" else f"{part}." for part in parts if part)


def _said(value: Any, words: Words) -> str:
    if isinstance(value, str):
        return words.types.get(value, value)
    if isinstance(value, list):
        shown = [_said(v, words) for v in value[:_MOST_LISTED]]
        return ", ".join(shown) + (", …" if len(value) > _MOST_LISTED else "")
    return str(value)


def _field(path: str) -> str:
    try:
        return ".".join(map(str, parse(path))) or "$"
    except ValueError:
        return path


def _plain(text: str, most: int) -> str:
    """A piece of a fault on one line: what a model wrote may be in it."""
    line = " ".join(disarm(text).split())
    return line if len(line) <= most else cut(line, most - 1) + "…"


def format_text(schema: Any, words: Words, form: Form = "form") -> str:
    """What a model is told of the format, where the provider does not tell it."""
    if not isinstance(schema, dict):
        return words.fill("any")
    if form == "typescript":
        place, name = root_type(compile_schema(schema).place)
        return words.fill("format_typescript", name=name, typescript=Declarations(words.types).declare(place, name))
    if form == "json-schema":
        return words.fill("format_schema", **{**_form(schema, words), "schema": written(schema).decode()})
    said = _form(schema, words)
    whole = whole_form(schema, words.types)
    if whole is not None:
        said["shape"], said["rules"] = whole
    return _without_blanks(words.fill("format" if whole is not None or not said["schema"] else "format_schema", **said))


def tools_text(tools: Iterable[Tool], words: Words, form: Form = "form", *, inside: bool = False) -> str:
    """What a model is told of the tools it may call, where the provider does not tell it; `inside` the value they stand in."""
    types = Declarations(words.types)
    lines = []
    for tool in tools:
        told = _arguments_told(tool.parameters, words, form, types) if isinstance(tool.parameters, dict) else "{}"
        lines.append(_tool_line(tool, told, None, words))
    named = types.rest()
    return words.fill("tools_inside" if inside else "tools", tools="\n".join([*lines, named] if named else lines))


def _arguments_told(schema: dict[str, Any], words: Words, form: Form, types: Declarations) -> str:
    if form == "typescript":
        return types.inline(compile_schema(schema).place)
    return written(schema).decode() if form == "json-schema" else shape(schema, words.types)


def _tool_lines(tools: Iterable[Tool], words: Words) -> str:
    """The tools as a repair reminds of them: the forms of their arguments, and the beginning of what they do."""
    told = (
        (tool, shape(tool.parameters, words.types) if isinstance(tool.parameters, dict) else "{}") for tool in tools
    )
    return "\n".join(_tool_line(tool, arguments, _MOST_SHOWN, words) for tool, arguments in told)


def _tool_line(tool: Tool, arguments: str, most: int | None, words: Words) -> str:
    about = " ".join(tool.description.split())[:most]
    return words.fill("tool", name=tool.name, shape=arguments, about=about).rstrip()


def _form(schema: dict[str, Any], words: Words) -> dict[str, str]:
    """What a template may say of the format."""
    return {"schema": schema_text(schema), "shape": shape(schema, words.types), "rules": rules(schema, words.types)}


def _without_blanks(text: str) -> str:
    """A text without the empty lines that an empty value leaves."""
    return "\n".join(line for line in text.split("\n") if line.strip())


def repair_text(
    verdict: Verdict, schema: Any, words: Words, *, nth: int, most: int, quoted: int, faults: int, chance: float,
    tools: tuple[Tool, ...] = (), as_json: bool = False, called: tuple[Tool, ...] = (), inside: bool = False,
    tags: bool = False,
) -> str:  # fmt: skip
    """The request to give a whole reply again, corrected; with `tools`, one of them is to be called, `as_json` or natively.

    `called` are the tools whose calls were faulty. `inside` says that calls belong in the reply's value, and `tags` that the model was
    asked to write them in tags.
    """
    quotation = quote(as_text(verdict.reply), quoted, words.templates["cut"], chance)
    form = words.fill("wanted_arguments", tools=_tool_lines(called, words)) + "\n" if called else ""
    if tools:
        wanted = _call_wanted(tools, words, as_json)
    elif schema is None or (called and not inside):
        wanted = form + words.fill("wanted_text")
    elif isinstance(schema, dict):
        wanted = form + _without_blanks(words.fill("wanted_json", **_form(schema, words)))
    else:
        wanted = form + words.fill("wanted_any")
    return words.fill(
        "repair", nth=nth, most=most, faults=fault_lines(verdict.errors, words, faults, verdict=verdict, inside=inside),
        hints=hint_lines(verdict, words, tags=tags), reply=quotation.text, fence=quotation.fence,
        fence_length=len(quotation.fence), wanted=wanted,
        **(_form(schema, words) if isinstance(schema, dict) else {"shape": "", "rules": "", "schema": ""}),
    )  # fmt: skip


def faulty_tools(verdict: Verdict, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """The tools whose calls were refused or could not be read."""
    names = {refusal.call.name for refusal in verdict.refused}
    if any(fault.path.startswith("$.toolCalls[") for fault in verdict.errors) and isinstance(verdict.data, dict):
        listed = verdict.data.get("toolCalls")
        named = [call.get("name") for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
        names |= {name for name in named if isinstance(name, str)}
    return tuple(tool for tool in tools if tool.name in names)


def _call_wanted(tools: tuple[Tool, ...], words: Words, as_json: bool) -> str:
    return words.fill("wanted_call_json" if as_json else "wanted_call", tools=_tool_lines(tools, words))


def afresh_text(
    verdict: Verdict, schema: Any, words: Words, *, nth: int, most: int, quoted: int, faults: int, chance: float,
    tools: tuple[Tool, ...] = (), as_json: bool = False, inside: bool = False,
) -> str:  # fmt: skip
    """The request made once more where a correction did not help: what was right filled in, nothing wrong shown again.

    Empty where a form cannot say what is wanted.
    """
    told = fault_lines(verdict.errors, words, faults, verdict=verdict, inside=inside)
    if tools:
        return f"{told}\n{_call_wanted(tools, words, as_json)}"
    if not isinstance(schema, dict) or not is_plain(schema):
        return ""
    wrong = [fault.path for fault in verdict.errors]
    asked = missing(verdict, schema)
    form = _form(schema, words)
    form["shape"] = skeleton(schema, verdict.data, wrong, words.types, quoted)
    if asked is not None:
        form["rules"] = rules(asked.schema, words.types)
    fence = quote(form["shape"], quoted, "", chance).fence
    lines = {"fence": fence, "fence_length": len(fence)}
    return _without_blanks(words.fill("afresh", nth=nth, most=most, faults=told, **lines, **form))


def fields_text(
    verdict: Verdict,
    asked: dict[str, Any],
    words: Words,
    *,
    nth: int,
    most: int,
    quoted: int,
    faults: int,
    chance: float,
) -> str:
    """The request for the failing fields alone."""
    quotation = quote(written(verdict.data).decode(), quoted, words.templates["cut"], chance)
    said = words.fill(
        "fields", nth=nth, most=most, faults=fault_lines(verdict.errors, words, faults, verdict=verdict), hints="",
        reply=quotation.text, fence=quotation.fence, fence_length=len(quotation.fence), wanted="",
        **_form(asked, words),
    )  # fmt: skip
    return said.rstrip()


def regenerate_text(
    verdict: Verdict, words: Words, faults: int, situation: "Situation | None" = None, *, nth: int = 1, most: int = 1
) -> str:
    """The hint, for a system message, that makes a model answer anew; the contract's own text for it, where there is one."""
    hints = _listed([fault.hint or fault.message for fault in verdict.errors], faults)
    violations = _listed([fault.message for fault in verdict.errors], faults)
    values = {
        "nth": nth, "most": most, "hint": "\n".join(hints), "violations": _lines(violations), "faults": _lines(hints),
    }  # fmt: skip
    shipped = words.templates["regenerate"]
    if situation is None:
        return filled(shipped, {**values, "state": "", "tools": ""}, {})
    values |= {"state": situation.state, "tools": ", ".join(situation.tools or ())}
    own = "" if "regenerate" in words.own else situation.correction
    return filled(own or shipped, values, {key: disarm(one_line(held)) for key, held in situation.data.items()})


def _listed(texts: Iterable[str], most: int) -> list[str]:
    return list(dict.fromkeys(_plain(text, _MOST_SHOWN) for text in texts))[:most]


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def refused_text(faults: Iterable[Finding], verdict: Verdict, words: Words, most: int) -> str:
    """What a refused call is answered with; without faults, another call of the reply was refused."""
    told = fault_lines(faults, words, most, verdict=verdict)
    return words.fill("refused", faults=told) if told else words.fill("not_run")


def as_text(reply: Reply) -> str:
    """A reply as text, its calls too."""
    calls = [f"{call.name}({call.raw_args or written(call.args or {}).decode()})" for call in reply.calls]
    return "\n".join(part for part in (reply.text, *calls) if part)
