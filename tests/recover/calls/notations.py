"""How models write a reply that consists only of calls: a writer for each notation, from calls to text.

`exact` ones keep every value unchanged; `plain` ones do not use quotes, so they cannot write a text with quotes, brackets or
commas before a name.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Call = tuple[str, dict[str, Any]]


class Notation(NamedTuple):
    name: str
    write: Callable[[Sequence[Call]], str]
    exact: bool = True


def python(call: Call, sign: str = "=", quote: str = "") -> str:
    """A Python call; with `quote`, its strings are in that quote."""
    name, arguments = call
    given = {key: repr(value) if not quote else _quoted(value, quote) for key, value in arguments.items()}
    return f"{name}({', '.join(f'{key}{sign}{value}' for key, value in given.items())})"


def _quoted(value: Any, quote: str) -> str:
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    if isinstance(value, list):
        return f"[{', '.join(_quoted(item, quote) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{quote}{key}{quote}: {_quoted(item, quote)}' for key, item in value.items())}}}"
    return repr(value)


def bare(call: Call) -> str:
    """A call whose texts have no quotes."""
    given = {key: value if isinstance(value, str) else repr(value) for key, value in call[1].items()}
    return f"{call[0]}({', '.join(f'{key}={value}' for key, value in given.items())})"


def _listed(one: Callable[[Call], str], before: str = "[", after: str = "]", between: str = ", ") -> Callable[..., str]:
    return lambda calls: before + between.join(map(one, calls)) + after


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


NOTATIONS = (
    Notation("python list", _listed(python)),
    Notation("python list, one a line", _listed(python, "[\n    ", "\n]", ",\n    ")),
    Notation("list of quoted calls", lambda calls: _json([python(call) for call in calls])),
    Notation("list of quoted calls, as Python writes it", lambda calls: repr([python(call) for call in calls])),
    Notation("list of calls in single quotes", lambda calls: repr([python(call, quote='"') for call in calls]), exact=False),
    Notation("quoted calls, one a line", _listed(lambda call: _json(python(call)), "", "", "\n")),
    Notation("quoted call alone", lambda calls: repr("; ".join(map(python, calls)))),
    Notation("quoted list", lambda calls: _json("[" + ", ".join(map(python, calls)) + "]")),
    Notation("same quotes inside and outside", _listed(lambda call: f"'{python(call, quote=chr(39))}'"), exact=False),
    Notation("same double quotes", _listed(lambda call: f'"{python(call, quote=chr(34))}"'), exact=False),
    Notation("call in its own quotes", _listed(lambda call: f"'{python(call, quote=chr(39))}'", "", "", "\n"), exact=False),
    Notation("statements", _listed(python, "", ";", "; ")),
    Notation("one a line", _listed(python, "", "", "\n")),
    Notation("numbered", lambda calls: "\n".join(f"{i}. [{python(call)}]" for i, call in enumerate(calls, 1))),
    Notation("numbered, without brackets", lambda calls: "\n".join(f"{i}) {python(call)}" for i, call in enumerate(calls, 1))),
    Notation("bullets", _listed(lambda call: f"- {python(call)}", "", "", "\n")),
    Notation("numbered objects", lambda calls: "\n".join(f"{i}. {_json({n: a})}" for i, (n, a) in enumerate(calls, 1))),
    Notation("tuples", lambda calls: repr(list(calls))),
    Notation("tuple of tuples", lambda calls: repr(tuple(calls))),
    Notation("lists of name and dict", lambda calls: repr([list(call) for call in calls])),
    Notation("name then dict", lambda calls: repr([part for call in calls for part in call])),
    Notation("name then object, one a line", _listed(lambda call: _json(list(call)), "", "", "\n")),
    Notation("name then object, without brackets", _listed(lambda call: f"{call[0]}, {_json(call[1])}", "", "", "\n")),
    Notation("name and text of an object", lambda calls: _json([[name, _json(arguments)] for name, arguments in calls])),
    Notation("one object for all names", lambda calls: _json(dict(calls)) if len(dict(calls)) == len(calls) else repr(list(calls))),
    Notation("bold", _listed(lambda call: f"**{python(call)}**", "", "", "\n")),
    Notation("objects by name", lambda calls: _json([{name: arguments} for name, arguments in calls])),
    Notation("objects by name, arguments as text", lambda calls: _json([{name: _json(arguments)} for name, arguments in calls])),
    Notation("python dicts by name", lambda calls: repr([{name: arguments} for name, arguments in calls])),
    Notation("name and params", lambda calls: repr([{"name": name, "params": arguments} for name, arguments in calls])),
    Notation("colon for equals", _listed(lambda call: python(call, ": "))),
    Notation("unquoted values", _listed(bare), exact=False),
    Notation("unquoted values, each call quoted", _listed(lambda call: f"'{bare(call)}'"), exact=False),
    Notation("fenced", _listed(python, "```python\n[", "]\n```")),
    Notation("fenced list of strings", lambda calls: f"```json\n{_json([python(call) for call in calls])}\n```"),
    Notation("set of calls", _listed(python, "[{", "}]")),
    Notation("sets of one call", _listed(lambda call: f"{{{python(call)}}}")),
    Notation("lists in a list", _listed(lambda call: f"[{python(call)}]")),
    Notation("in parentheses", _listed(python, "(", ")")),
    Notation("in backticks", _listed(lambda call: f"`{python(call)}`", "", "", "\n")),
    Notation("tool_call tags with python dicts", _listed(lambda call: f"<tool_call>\n{ {'name': call[0], 'arguments': call[1]} }\n</tool_call>", "", "", "\n")),
    Notation("tool_call tag with quoted calls", lambda calls: f"<tool_call>{_json([python(call) for call in calls])}</tool_call>"),
    Notation("tool_call tag with tuples", lambda calls: f"<tool_call>{list(calls)!r}</tool_call>"),
    Notation("special token first", _listed(python, "<|start_header_id|>[")),
    Notation("header first", _listed(python, "<|start_header_id|>assistant<|end_header_id|>\n\n[", "]<|eot_id|>")),
    Notation("dict as only argument", _listed(lambda call: f"{call[0]}({call[1]!r})")),
    Notation("object as only argument", _listed(lambda call: f"{call[0]}({_json(call[1])})")),
    Notation("behind reasoning", _listed(python, "<think>One call is enough.</think>[")),
)  # fmt: skip
