"""`trueup explain`: a code or a name in, its page out; without one, the list of all codes."""

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import click

from trueup.cli.named import Unavailable
from trueup.cli.terminal import Color
from trueup.verdict.catalogue import FINDINGS, FIXES, FindingKind, FixKind
from trueup.verdict.display import safe_line

Kind = FixKind | FindingKind

ALL: list[Kind] = [*FIXES.values(), *FINDINGS.values()]

FAMILIES = {
    "W": "Wrappers: what stood around the value",
    "S": "Syntax: how the value was written",
    "F": "Forms: shapes that are not JSON",
    "K": "Calls: how a tool call was given",
    "C": "Coercions: a value brought to the schema's type",
    "R": "Replies: what a provider sent",
    "P": "Reading: what the text cannot give",
    "L": "Limits",
    "G": "Grades",
    "V": "Schema: what the value breaks",
    "T": "Tools: what is wrong with calls, and with words about them",
    "A": "Asking: why it ended without a valid reply",
    "B": "Rules: what the data breaks",
    "Q": "Worth: what makes a reply worth its price",
    "D": "Dialogue: what does not fit the state of the conversation",
    "U": "Units: what is wrong with a line of a batch",
    "X": "Bugs: what is wrong with the code of a contract",
    "N": "Files: what is wrong with a contract or a pipeline",
}
OWN_FAMILY = "Custom checks of installed packages"


@click.command()
@click.argument("code", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON document.")
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colour; auto means on a terminal, unless NO_COLOR is set.",
)
def explain(code: str | None, as_json: bool, color: Color) -> None:
    """Say what CODE means (S001 or trailing-comma); without one, list every code."""
    kinds = [*ALL, *own()] if code is None else find(code)
    if as_json:
        from trueup.cli.pretty import document
        from trueup.cli.terminal import is_terminal, write

        rows = [describe(kind) if code is None else {**describe(kind), "page": page(kind)} for kind in kinds]
        value: Any = rows[0] if code is not None and len(rows) == 1 else rows
        write(document(value, indented=is_terminal()) + "\n")
    elif code is None:
        _list(kinds, color)
    else:
        _pages(kinds, color)


def find(word: str) -> list[Kind]:
    """The kinds of a code or a name, in any case; a name may belong to a fix and to its finding."""
    wanted = word.strip().casefold()
    found = [kind for kind in ALL if wanted in (kind.code.casefold(), kind.name)]
    if not found:
        found = [kind for kind in own() if wanted in (kind.code.casefold(), kind.name)]
    if not found:
        from rapidfuzz import fuzz, process

        known = {word: kind for kind in (*ALL, *own()) for word in (kind.code, kind.name)}
        near = process.extract(
            wanted, known.keys(), scorer=fuzz.ratio, processor=str.casefold, limit=3, score_cutoff=60
        )
        names = [f"{known[word].code} ({known[word].name})" for word, _, _ in near]
        also = f"did you mean {' or '.join(dict.fromkeys(names))}? " if names else ""
        raise Unavailable(f"no code or name {safe_line(word)!r}; {also}`trueup explain` lists them all")
    return found


def describe(kind: Kind) -> dict[str, Any]:
    """One row of the catalogue as JSON-able data."""
    return {"kind": "fix" if isinstance(kind, FixKind) else "finding", **kind._asdict()}


def own() -> list[Kind]:
    """What the custom checks of installed packages find."""
    from trueup.contract.plugins import installed

    return [check.kind for check in installed().values()]


def page(kind: Kind) -> str:
    """The Markdown of a kind's page."""
    if kind.code not in FINDINGS and kind.code not in FIXES:
        from trueup.contract.plugins import installed

        return next(check.page() for check in installed().values() if check.code == kind.code)
    return (files("trueup.findings") / f"{kind.code}-{kind.name}.md").read_text(encoding="utf-8")


def _pages(kinds: list[Kind], color: Color) -> None:
    from trueup.cli.terminal import open_console, write

    console = open_console(color)
    texts = [page(kind) for kind in kinds]
    if not console.is_terminal:
        write("\n".join(texts))
        return
    from trueup.cli.markdown import render

    for text in texts:
        console.print(render(text), width=min(console.width, 92))


def _list(kinds: list[Kind], color: Color) -> None:
    from rich.text import Text

    from trueup.cli.terminal import open_console

    console = open_console(color)
    for line in _rows(kinds, console.width if console.is_terminal else 0):
        console.print(Text.assemble(*line), soft_wrap=True)


def _rows(kinds: list[Kind], width: int) -> Iterator[list[tuple[str, str]]]:
    """The list as styled lines; on a terminal sentences are broken to its width, in a pipe each code is one line."""
    import textwrap

    longest = max(len(kind.name) for kind in kinds)
    styles = {"lossless": "green", "guess": "yellow", "lossy": "red", "error": "red", "warning": "yellow"}
    family = ""
    for kind in kinds:
        here = kind.code[0] if kind.code in FINDINGS or kind.code in FIXES else "own"
        if here != family:
            if family:
                yield []
            family = here
            yield from ([(line, "bold")] for line in textwrap.wrap(FAMILIES.get(family, OWN_FAMILY), width or 80))
        word = kind.grade if isinstance(kind, FixKind) else kind.level
        head = [("  ", ""), (kind.code, "bold"), (f"  {kind.name:<{longest}}  ", ""), (f"{word:<8}", styles[word])]
        used = 2 + 4 + 2 + longest + 2 + 8 + 2
        if width and width - used < 24:  # a narrow screen: the sentence goes below
            yield head
            for line in textwrap.wrap(kind.title, max(width - 8, 20)):
                yield [(f"        {line}", "dim")]
            continue
        first, *rest = textwrap.wrap(kind.title, width - used) if width else [kind.title]
        yield [*head, (f"  {first}", "")]
        for line in rest:
            yield [(" " * used + line, "")]
