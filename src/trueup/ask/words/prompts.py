"""The prompts for a model: the format that it is held to, the faults of its reply, and the request to correct them.

Takes a verdict and the templates of a language; returns texts. Faults have a code and a path, the most useful first, up to a limit. A
correction shows the form of what was meant: for a union, the arm that the reply comes closest to.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from trueup.ask.words.faults import VerdictWords, as_text, hint_lines
from trueup.ask.words.fields import missing
from trueup.ask.words.narrow import narrowed
from trueup.ask.words.quoting import disarm, quote
from trueup.ask.words.shape import is_plain, rules, schema_text, shape, whole_form
from trueup.ask.words.skeleton import skeleton
from trueup.ask.words.templates import Templates
from trueup.ask.words.typescript import Declarations, root_type
from trueup.checks.placeholders import filled, one_line
from trueup.conform.schema import compile_schema
from trueup.verdict.codec import written
from trueup.verdict.facts import Finding
from trueup.verdict.tool import Tool
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.checks.state import Situation

Form = Literal["form", "json-schema", "typescript"]

_MOST_SHOWN = 300


def format_text(schema: Any, words: Templates, form: Form = "form") -> str:
    """The description of the format for a model, if the provider does not send it."""
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


def tools_text(tools: Iterable[Tool], words: Templates, form: Form = "form", *, inside: bool = False) -> str:
    """The description of the tools for a model, if the provider does not send it. `inside`: calls are part of the reply's value."""
    types = Declarations(words.types)
    lines = []
    for tool in tools:
        told = _arguments_told(tool.parameters, words, form, types) if isinstance(tool.parameters, dict) else "{}"
        lines.append(_tool_line(tool, told, None, words))
    named = types.rest()
    return words.fill("tools_inside" if inside else "tools", tools="\n".join([*lines, named] if named else lines))


def _arguments_told(schema: dict[str, Any], words: Templates, form: Form, types: Declarations) -> str:
    if form == "typescript":
        return types.inline(compile_schema(schema).place)
    return written(schema).decode() if form == "json-schema" else shape(schema, words.types, every=False)


def _tool_lines(tools: Iterable[Tool], words: Templates, verdict: Verdict) -> str:
    """The reminder of the tools in a repair: the forms of their arguments, and the beginning of their descriptions."""
    given = {refusal.call.name: refusal.call.args for refusal in verdict.refused}
    told = (
        (tool, shape(narrowed(tool.parameters, given.get(tool.name)), words.types))
        if isinstance(tool.parameters, dict)
        else (tool, "{}")
        for tool in tools
    )
    return "\n".join(_tool_line(tool, arguments, _MOST_SHOWN, words) for tool, arguments in told)


def _tool_line(tool: Tool, arguments: str, most: int | None, words: Templates) -> str:
    about = " ".join(tool.description.split())[:most]
    return words.fill("tool", name=tool.name, shape=arguments, about=about).rstrip()


def _form(schema: dict[str, Any], words: Templates) -> dict[str, str]:
    """The values about the format that a template may contain."""
    return {"schema": schema_text(schema), "shape": shape(schema, words.types), "rules": rules(schema, words.types)}


def _without_blanks(text: str) -> str:
    """A text without the blank lines around an empty value."""
    return "\n".join(line for line in text.split("\n") if line.strip())


def repair_text(
    verdict: Verdict, schema: Any, words: Templates, *, nth: int, most: int, quoted: int, faults: int, chance: float,
    tools: tuple[Tool, ...] = (), as_json: bool = False, called: tuple[Tool, ...] = (), inside: bool = False,
    tags: bool = False, whole: bool = False, known: Sequence[Tool] = (),
) -> str:  # fmt: skip
    """The request for a whole, corrected reply. With `tools`, one of them must be called, `as_json` or natively.

    `called` are the tools that had faulty calls; `known` are all tools. `inside`: calls belong in the reply's value.
    `tags`: the model was asked to write calls in tags. `whole`: nothing else in the request shows the format.
    """
    quotation = quote(as_text(verdict.reply), quoted, words.templates["cut"], chance)
    reminded = called and not tags  # for calls in tags, the instructions describe all tools
    form = words.fill("wanted_arguments", tools=_tool_lines(called, words, verdict)) + "\n" if reminded else ""
    said = {"shape": "", "rules": "", "schema": ""}
    if tools:
        wanted = _call_wanted(tools, words, verdict, as_json=as_json)
    elif not shows_form(schema, called, inside=inside):
        wanted = form + words.fill("wanted_text")
    elif isinstance(schema, dict):
        template, said = _wanted_form(schema, words, verdict, whole=whole)
        wanted = form + _without_blanks(words.fill(template, **said))
    else:
        wanted = form + words.fill("wanted_any")
    told = VerdictWords(verdict, words, schema, known, inside=inside)
    return words.fill(
        "repair", nth=nth, most=most, faults=told.lines(verdict.errors, faults), hints=hint_lines(verdict, words, tags=tags),
        reply=quotation.text, fence=quotation.fence, fence_length=len(quotation.fence), wanted=wanted, **said,
    )  # fmt: skip


def shows_form(schema: Any, called: tuple[Tool, ...] = (), *, inside: bool = False) -> bool:
    """Whether a correction shows the format of the reply's value, so that the instructions need not."""
    return schema is not None and (inside or not called)


def _wanted_form(
    schema: dict[str, Any], words: Templates, verdict: Verdict, *, whole: bool
) -> tuple[str, dict[str, str]]:
    """The form in a correction: `whole` if the model does not see it elsewhere, and as a schema if a form cannot express everything."""
    meant = narrowed(schema, verdict.data)
    said = _form(meant, words)
    written_out = whole_form(meant, words.types, unions=True) if whole else None
    if written_out is not None:
        said["shape"], said["rules"] = written_out
    return "wanted_schema" if whole and written_out is None and said["schema"] else "wanted_json", said


def faulty_tools(verdict: Verdict, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """The tools with calls that were refused or could not be read."""
    names = {refusal.call.name for refusal in verdict.refused}
    if any(fault.path.startswith("$.toolCalls[") for fault in verdict.errors) and isinstance(verdict.data, dict):
        listed = verdict.data.get("toolCalls")
        named = [call.get("name") for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
        names |= {name for name in named if isinstance(name, str)}
    return tuple(tool for tool in tools if tool.name in names)


def _call_wanted(tools: tuple[Tool, ...], words: Templates, verdict: Verdict, *, as_json: bool) -> str:
    return words.fill("wanted_call_json" if as_json else "wanted_call", tools=_tool_lines(tools, words, verdict))


def afresh_text(
    verdict: Verdict, schema: Any, words: Templates, *, nth: int, most: int, quoted: int, faults: int, chance: float,
    tools: tuple[Tool, ...] = (), as_json: bool = False, inside: bool = False, known: Sequence[Tool] = (),
) -> str:  # fmt: skip
    """The request after a correction did not help: a form with the correct values filled in, without the wrong ones.

    Empty if a form cannot express what is wanted.
    """
    told = VerdictWords(verdict, words, schema, known, inside=inside).lines(verdict.errors, faults)
    if tools:
        return f"{told}\n{_call_wanted(tools, words, verdict, as_json=as_json)}"
    schema = narrowed(schema, verdict.data)
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
    words: Templates,
    *,
    nth: int,
    most: int,
    quoted: int,
    faults: int,
    chance: float,
    schema: Any = None,
) -> str:
    """The request for only the failing fields; `schema` is the schema of the whole value."""
    quotation = quote(written(verdict.data).decode(), quoted, words.templates["cut"], chance)
    told = VerdictWords(verdict, words, asked if schema is None else schema).lines(verdict.errors, faults)
    said = words.fill(
        "fields", nth=nth, most=most, faults=told, hints="",
        reply=quotation.text, fence=quotation.fence, fence_length=len(quotation.fence), wanted="",
        **_form(asked, words),
    )  # fmt: skip
    return said.rstrip()


def regenerate_text(
    verdict: Verdict,
    words: Templates,
    faults: int,
    situation: "Situation | None" = None,
    *,
    nth: int = 1,
    most: int = 1,
) -> str:
    """The hint for another answer, as a system message; the contract's own text, if there is one."""
    told = VerdictWords(verdict, words)
    hints = told.texts([fault.hint or fault.message for fault in verdict.errors], faults)
    violations = told.texts([fault.message for fault in verdict.errors], faults)
    values = {
        "nth": nth, "most": most, "hint": "\n".join(hints), "violations": _lines(violations), "faults": _lines(hints),
    }  # fmt: skip
    shipped = words.templates["regenerate"]
    if situation is None:
        return filled(shipped, {**values, "state": "", "tools": ""}, {})
    values |= {"state": situation.state, "tools": ", ".join(situation.tools or ())}
    own = "" if "regenerate" in words.own else situation.correction
    return filled(own or shipped, values, {key: disarm(one_line(held)) for key, held in situation.data.items()})


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def refused_text(
    faults: Iterable[Finding],
    verdict: Verdict,
    words: Templates,
    most: int,
    tools: Sequence[Tool] = (),
    schema: Any = None,
) -> str:
    """The result for a refused call. Without faults, it says that another call of the reply was refused."""
    told = VerdictWords(verdict, words, schema, tools).lines(faults, most)
    return words.fill("refused", faults=told) if told else words.fill("not_run")
