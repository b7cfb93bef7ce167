"""What is said to a model: the format it is held to, the faults of its reply, and the request to correct them.

A verdict and the words of a language enter; texts leave. Faults are told with code and path, the best first, at most so many;
hints follow from the fixes and findings of the verdict, never from a search for words in the reply.
"""

from collections.abc import Iterable
from typing import Any

from trueup.ask.words.fields import missing
from trueup.ask.words.quoting import cut, disarm, quote
from trueup.ask.words.shape import is_plain, rules, schema_text, shape
from trueup.ask.words.skeleton import skeleton
from trueup.ask.words.templates import FIELD, Words, fill
from trueup.verdict.codec import written
from trueup.verdict.facts import Finding
from trueup.verdict.paths import parse
from trueup.verdict.reply import Reply
from trueup.verdict.tool import Tool
from trueup.verdict.verdict import Verdict

# The defect that a fix or a finding shows.
_DEFECTS = {
    "P009": "truncated", "T006": "truncated", "S028": "truncated", "S029": "truncated", "S030": "truncated",
    "W004": "tag", "K001": "tag", "F004": "tag", "F005": "tag", "W005": "tag",
    "W001": "fence", "W002": "prose", "S014": "names", "S001": "comma",
    "S008": "quotes", "S009": "quotes", "S010": "quotes", "S016": "newline", "S017": "comment", "S018": "literal",
    "S027": "ellipsis", "S012": "inner_quote", "S013": "inner_quote", "W013": "reasoning", "S032": "twice",
    "S005": "brackets", "S006": "brackets",
}  # fmt: skip
_MOST_SHOWN = 300
_MOST_LISTED = 12


def defects(verdict: Verdict) -> list[str]:
    """The defects that were seen in a reply, worst first: a reply that was cut needs no other advice.

    >>> from trueup import Contract
    >>> defects(Contract({"type": "object"}).check("```json\\n{'a': 1,}\\n```"))
    ['fence', 'quotes', 'comma']
    """
    codes = [fact.code for fact in (*verdict.findings, *verdict.fixes)]
    seen = dict.fromkeys(_DEFECTS[code] for code in codes if code in _DEFECTS)
    if verdict.reply.finish == "length" or "truncated" in seen:
        return ["truncated"]
    return list(seen)


def hint_lines(verdict: Verdict, words: Words) -> str:
    """One line for each defect, with a blank line after them."""
    lines = [words.hints[defect] for defect in defects(verdict) if defect in words.hints]
    return "\n".join(["", *lines, ""]) if lines else ""


def fault_lines(faults: Iterable[Finding], words: Words, most: int) -> str:
    """The faults as a list, the first ones of it."""
    told = list(dict.fromkeys(_fault_line(fault, words) for fault in faults))
    if len(told) > most:
        told = [*told[:most], words.fill("more", count=len(told) - most)]
    return "\n".join(told)


def _fault_line(fault: Finding, words: Words) -> str:
    message = _message(fault, words)
    return words.fill("fault", code=fault.code, path=_plain(fault.path, 120), message=_plain(message, _MOST_SHOWN))


def _message(fault: Finding, words: Words) -> str:
    """The message of a finding in the words' language where they have one, else its own with its hint."""
    template = words.messages.get(fault.code)
    if template is not None:
        values = {name: _said(value, words) for name, value in fault.data.items()} | {"field": _field(fault.path)}
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


def format_text(schema: Any, words: Words) -> str:
    """What a model is told of the format, where the provider does not tell it."""
    if not isinstance(schema, dict):
        return words.fill("any")
    template = "format" if is_plain(schema) else "format_schema"
    return _without_blanks(words.fill(template, **_form(schema, words)))


def tools_text(tools: Iterable[Tool], words: Words, *, inside: bool = False) -> str:
    """What a model is told of the tools it may call, where the provider does not tell it; `inside` the value they stand in."""
    return words.fill("tools_inside" if inside else "tools", tools=_tool_lines(tools, words))


def _tool_lines(tools: Iterable[Tool], words: Words) -> str:
    lines = []
    for tool in tools:
        form = shape(tool.parameters, words.types) if isinstance(tool.parameters, dict) else "{}"
        about = " ".join(tool.description.split())[:_MOST_SHOWN]
        lines.append(words.fill("tool", name=tool.name, shape=form, about=about).rstrip())
    return "\n".join(lines)


def _form(schema: dict[str, Any], words: Words) -> dict[str, str]:
    """What a template may say of the format."""
    return {"schema": schema_text(schema), "shape": shape(schema, words.types), "rules": rules(schema, words.types)}


def _without_blanks(text: str) -> str:
    """A text without the empty lines that an empty value leaves."""
    return "\n".join(line for line in text.split("\n") if line.strip())


def repair_text(
    verdict: Verdict, schema: Any, words: Words, *, nth: int, most: int, quoted: int, faults: int, chance: float,
    tools: tuple[Tool, ...] = (), as_json: bool = False,
) -> str:  # fmt: skip
    """The request to give a whole reply again, corrected; with `tools`, one of them is to be called, `as_json` or natively."""
    quotation = quote(_written(verdict.reply), quoted, words.templates["cut"], chance)
    if tools:
        wanted = _call_wanted(tools, words, as_json)
    elif schema is None:
        wanted = words.fill("wanted_text")
    elif isinstance(schema, dict):
        wanted = _without_blanks(words.fill("wanted_json", **_form(schema, words)))
    else:
        wanted = words.fill("wanted_any")
    return words.fill(
        "repair", nth=nth, most=most, faults=fault_lines(verdict.errors, words, faults),
        hints=hint_lines(verdict, words), reply=quotation.text, fence=quotation.fence,
        fence_length=len(quotation.fence), wanted=wanted,
        **(_form(schema, words) if isinstance(schema, dict) else {"shape": "", "rules": "", "schema": ""}),
    )  # fmt: skip


def _call_wanted(tools: tuple[Tool, ...], words: Words, as_json: bool) -> str:
    return words.fill("wanted_call_json" if as_json else "wanted_call", tools=_tool_lines(tools, words))


def afresh_text(
    verdict: Verdict, schema: Any, words: Words, *, nth: int, most: int, quoted: int, faults: int, chance: float,
    tools: tuple[Tool, ...] = (), as_json: bool = False,
) -> str:  # fmt: skip
    """The request made once more where a correction did not help: what was right filled in, nothing wrong shown again.

    Empty where a form cannot say what is wanted.
    """
    told = fault_lines(verdict.errors, words, faults)
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
        "fields", nth=nth, most=most, faults=fault_lines(verdict.errors, words, faults), hints="",
        reply=quotation.text, fence=quotation.fence, fence_length=len(quotation.fence), wanted="",
        **_form(asked, words),
    )  # fmt: skip
    return said.rstrip()


def regenerate_text(verdict: Verdict, words: Words, faults: int) -> str:
    """The hint, for a system message, that makes a model answer anew."""
    told = [fault.hint or fault.message for fault in verdict.errors]
    lines = list(dict.fromkeys(f"- {_plain(text, _MOST_SHOWN)}" for text in told))[:faults]
    return words.fill("regenerate", faults="\n".join(lines))


def refused_text(faults: Iterable[Finding], words: Words, most: int) -> str:
    """What a refused call is answered with; without faults, another call of the reply was refused."""
    told = fault_lines(faults, words, most)
    return words.fill("refused", faults=told) if told else words.fill("not_run")


def _written(reply: Reply) -> str:
    """A reply as text, its calls too."""
    calls = [f"{call.name}({call.raw_args or written(call.args or {}).decode()})" for call in reply.calls]
    return "\n".join(part for part in (reply.text, *calls) if part)
