"""Pages of the documentation that are generated from code, and the tests of each requirement.

`python tools/pages.py` writes what is committed (the command-line reference, the list of requirements without a test);
`tools/hooks.py` generates the rest while the documentation is built. Everything is read from the repository.
"""

import ast
import functools
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import click

from trueup.contract.codes import FAMILIES
from trueup.verdict.catalogue import FINDINGS, FIXES

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FINDING_PAGES = ROOT / "src" / "trueup" / "findings"
CLI_PAGE = DOCS / "reference" / "cli.md"
OPEN = ROOT / "tests" / "spec_open.txt"
STYLE_PAGE = DOCS / "style.md"
HABITS = ROOT / "tools" / "english" / "rules.toml"

_ROW = re.compile(r"^\| ([A-Z]\d+) \|", re.MULTILINE)
_KINDS = {"string": "string", "array": "list", "object": "table", "boolean": "boolean", "integer": "integer",
          "number": "number", "null": "null"}  # fmt: skip


def cli_page() -> str:
    """The help of every command, as the terminal shows it at 80 columns."""
    from trueup.cli.main import main

    parts = [
        "# The command line",
        "",
        "<!-- Written by `make snapshots` from the commands themselves; a test compares. -->",
        "",
    ]
    stack: list[tuple[str, click.Command, click.Context | None]] = [("trueup", main, None)]
    while stack:
        name, command, parent = stack.pop(0)
        context = command.make_context(
            name.split()[-1], [], parent, resilient_parsing=True, terminal_width=80, max_content_width=80
        )
        help_text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
        parts += [f"## `{name}`", "", "```text", help_text, "```", ""]
        if isinstance(command, click.Group):
            for sub in command.list_commands(context):
                found = command.get_command(context, sub)
                if found is not None and not found.hidden:
                    stack.append((f"{name} {sub}", found, context))
    return "\n".join(parts)


def root_page(name: str) -> str:
    """A page from the top folder, where people expect it, with its links changed for `docs/`."""
    return (ROOT / name).read_text("utf-8").replace("](docs/", "](")


def codes_page() -> str:
    """The catalogue: one table for each family of codes, each code linked to its page."""
    parts = [
        "# Codes",
        "",
        "Every change made to a reply is a **fix**; everything wrong with a reply is a **finding**. Each has a code whose meaning",
        "never changes. `trueup explain CODE` shows the same pages in a terminal.",
        "",
        "- The **grade** of a fix says how certain it is: `lossless` (the meaning is certain), `guess` (one of several readings was",
        "  chosen) or `lossy` (something is missing). A contract says [which grades it accepts](../howto/accept.md).",
        "- The **price** of a fix is a small number that says how unlikely it is. If a reply can be read in several ways, trueup",
        "  takes the reading that fits the schema at [the lowest total price](../howto/accept.md#when-a-reply-has-several-readings).",
        "- The **level** of a finding is `error`, which refuses the reply, or `warning`, which does not unless the contract is strict.",
        "",
    ]
    for kinds, word in ((FIXES, "Fixes"), (FINDINGS, "Findings")):
        parts += [f"## {word}", ""]
        families = dict.fromkeys(code[0] for code in kinds)
        for family in families:
            parts += [f"### {FAMILIES[family]}", ""]
            columns = "grade | price" if word == "Fixes" else "level"
            parts += [f"| code | name | {columns} | description |", "|---" * (columns.count("|") + 4) + "|"]
            for kind in kinds.values():
                if kind.code[0] == family:
                    middle = " | ".join(str(part) for part in kind[2:-1])
                    link = f"[{kind.code}](findings/{kind.code}-{kind.name}.md)"
                    parts.append(f"| {link} | {kind.name} | {middle} | {kind.title} |")
            parts.append("")
    return "\n".join(parts)


def options_page() -> str:
    """The keys of a contract and of its parts: one table for each, from the schema of contract files."""
    from trueup.contract.files import parts
    from trueup.contract.files.shape import CHECK, EXAMPLE, file_schema

    schema = file_schema()
    structs = schema["$defs"]
    group = parts.STATES["properties"]["groups"]["additionalProperties"]["anyOf"][1]
    sections = (
        (
            "A contract",
            schema,
            "In a file, or as options of `Contract`; a file may also have `description`, `extends` and `examples`.",
        ),
        ("`order`", structs["Order"], "A list of names is short for `sequence`."),
        ("`calls`", structs["CallOptions"], ""),
        ("`calls.mentions`", structs["Mentions"], "`true` is short for the defaults."),
        ("`coerce`", structs["Options"], "A name is short for `profile`."),
        ("`rules`", parts.RULES["anyOf"][1], "A list is short for `rules`."),
        ("One rule", parts.RULE["anyOf"][1], "An expression alone is short for `expr`."),
        ("`reply`", parts.REPLY["anyOf"][1], "`true` is short for the defaults."),
        (
            "A custom rule in `reply`",
            parts.REPLY_RULE,
            "In Python, a rule may be a function under `check` in place of `expr`.",
        ),
        ("`quality`", parts.QUALITY, "[Score replies with a learned model](../howto/quality.md) shows how to get one."),
        ("`relevance`", parts.RELEVANCE["anyOf"][1], "`true` is short for the defaults."),
        (
            "`grounded`",
            parts.GROUNDED["anyOf"][2],
            "`true` looks up every value; a list is short for `fields`. [Is it in the text?](../tutorial/grounded.md) shows all of it.",
        ),
        (
            "One of the `checks`",
            CHECK["anyOf"][1],
            "A name alone, or with options; any other key names a custom check. [Use a ready check](../howto/ready-checks.md) lists the options.",
        ),
        (
            "`states`",
            parts.STATES,
            "Every other key is a state. In Python, `machine` may be a state machine that defines the states.",
        ),
        ("One state", parts.STATE["anyOf"][1], "`always` takes the same keys."),
        (
            "Text that a state forbids",
            parts.FORBIDDEN,
            "The name of a group is short for `group`; `claims` takes the same keys for each tool.",
        ),
        (
            "An exception",
            parts.EXCUSES["anyOf"][0]["anyOf"][1],
            "In `except` and `allow`, in addition to the five forms and names of groups.",
        ),
        ("A group", group, "A list is short for `terms`."),
        ("One of the `examples`", EXAMPLE, ""),
    )
    out = [
        "# Keys of a contract",
        "",
        "A key without a default has no effect if it is left out. [Write a contract file](../howto/contracts.md) shows how to use them.",
        "",
    ]
    for title, shape, note in sections:
        out += [
            f"## {title}",
            "",
            *([note, ""] if note else []),
            "| key | takes | default | description |",
            "|---|---|---|---|",
        ]
        for key, inner in shape["properties"].items():
            default = inner.get("default", "")
            default = f"`{default if isinstance(default, str) else json.dumps(default)}`" if default != "" else ""
            out.append(f"| `{key}` | {_takes(inner)} | {default} | {inner['description']} |")
        out.append("")
    return "\n".join(out)


def _takes(shape: dict[str, Any]) -> str:
    """The values of a key, in a few words."""
    if "$ref" in shape or "anyOf" in shape:
        kinds = [_takes(each) for each in shape.get("anyOf", ())] or ["table"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in shape:
        return ", ".join(f"`{value}`" for value in shape["enum"])
    given = shape.get("type", [])
    return " or ".join(_KINDS.get(kind, kind) for kind in ([given] if isinstance(given, str) else given)) or "anything"


def finding_pages() -> dict[str, str]:
    """The page of each code, by its file name."""
    return {page.name: page.read_text("utf-8") for page in sorted(FINDING_PAGES.glob("*.md"))}


def requirement_ids() -> list[str]:
    """The ids listed in docs/requirements.md, in order."""
    return _ROW.findall((DOCS / "requirements.md").read_text("utf-8"))


@functools.cache
def citations(folder: Path | None = None) -> dict[str, list[str]]:
    """The tests with `@pytest.mark.spec(ID)`, by id; read from the source, without running anything."""
    cited: dict[str, list[str]] = {}
    for path in sorted((folder or ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        where = path.relative_to(folder.parent if folder else ROOT).as_posix()
        for owner, call in _marks(tree):
            for arg in call.args:
                if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
                    cited.setdefault(arg.value, []).append(f"{where}::{owner}" if owner else where)
    return {key: sorted(set(tests)) for key, tests in cited.items()}


def _marks(tree: ast.Module) -> list[tuple[str, ast.Call]]:
    """Every `….mark.spec(…)` with the name of its test or class; without a name, it is for the whole module."""
    found: list[tuple[str, ast.Call]] = []
    stack: list[tuple[str, ast.AST]] = [("", tree)]
    while stack:
        owner, node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            owner = f"{owner}::{node.name}" if owner else node.name
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "spec":
            mark = node.func.value
            if "mark" in (getattr(mark, "attr", ""), getattr(mark, "id", "")):
                found.append((owner, node))
        stack += [(owner, child) for child in ast.iter_child_nodes(node)]
    return found


def with_tests(markdown: str) -> str:
    """The page of requirements with a third column: the tests of each."""
    cited = citations()
    out = []
    for line in markdown.splitlines():
        row = _ROW.match(line)
        if line.startswith("| id |"):
            line += " tests |"
        elif line.startswith("|---|---|"):
            line += "---|"
        elif row:
            tests = cited.get(row[1], [])
            shown = "<br>".join(f"`{test.removeprefix('tests/')}`" for test in tests[:4])
            more = f"<br>and {len(tests) - 4} more" if len(tests) > 4 else ""
            line += f" {shown or '*still open*'}{more} |"
        out.append(line)
    return "\n".join(out) + "\n"


def open_ids() -> list[str]:
    """The ids that may still be without a test."""
    return [line for line in OPEN.read_text("utf-8").split("\n") if line and not line.startswith("#")]


def shrink_open() -> str:
    """The list of open ids without those that now have a test. This function never adds any."""
    cited = citations()
    lines = OPEN.read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if line.startswith("#") or line not in cited) + "\n"


def habits() -> str:
    """The table of the prose linter's rules, between its two marks in the style guide."""
    rules = tomllib.loads(HABITS.read_text("utf-8"))
    rows = [f"| `{name}` | {rule['before']} | {rule['after']} |" for name, rule in rules.items()]
    return "\n".join(
        ["<!-- tools/english/rules.toml -->", "| rule | not | but |", "|---|---|---|", *rows, "<!-- end -->"]
    )


def style_page() -> str:
    """The style guide with the table of rules as it is now."""
    text = STYLE_PAGE.read_text("utf-8")
    return re.sub(r"<!-- tools/english/rules\.toml -->.*?<!-- end -->", lambda _: habits(), text, flags=re.DOTALL)


def write() -> None:
    CLI_PAGE.write_text(cli_page(), "utf-8")
    STYLE_PAGE.write_text(style_page(), "utf-8")
    OPEN.write_text(shrink_open(), "utf-8")


if __name__ == "__main__":
    write()
