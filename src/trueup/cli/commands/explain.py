"""`trueup explain`: show the page of a code or a name, or list all codes."""

from collections.abc import Iterator
from typing import Any

import click

from trueup.cli.options.references import Unavailable
from trueup.cli.terminal.output import Color
from trueup.contract.codes import (
    ALL,
    FAMILIES,
    OWN_FAMILY,
    Kind,
    NoSuchCode,
    describe,
    family_of,
    find_kinds,
    own_kinds,
    page_of,
)
from trueup.verdict.catalogue import FixKind
from trueup.verdict.display import safe_line


@click.command()
@click.argument("code", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as one JSON document.")
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colour; auto means on a terminal, unless NO_COLOR is set.",
)
def explain(code: str | None, *, as_json: bool, color: Color) -> None:
    """Explain CODE, such as S001 or trailing-comma; without CODE, list all codes.

    A code names a fix (a change that trueup made) or a finding (something wrong with the reply). The grade of a fix says how
    certain it is: lossless (the meaning is certain), guess (one of several readings was chosen) or lossy (something is
    missing). Its price is a small number that says how unlikely it is: of the readings that fit the schema, trueup prefers
    those that lose nothing, and then takes the one with the lowest total price.
    """
    kinds = [*ALL, *own_kinds()] if code is None else find(code)
    if as_json:
        from trueup.cli.terminal.json_text import document
        from trueup.cli.terminal.output import is_terminal, write

        rows = [describe(kind) if code is None else {**describe(kind), "page": page_of(kind)} for kind in kinds]
        value: Any = rows[0] if code is not None and len(rows) == 1 else rows
        write(document(value, indented=is_terminal()) + "\n")
    elif code is None:
        _list(kinds, color)
    else:
        _pages(kinds, color)


def find(word: str) -> list[Kind]:
    """The kinds with a code or a name. The error for an unknown one suggests the nearest."""
    try:
        return find_kinds(word)
    except NoSuchCode as error:
        names = " or ".join(f"{kind.code} ({kind.name})" for kind in error.near)
        also = f"did you mean {names}? " if names else ""
        raise Unavailable(f"unknown code or name {safe_line(word)!r}; {also}`trueup explain` lists them all") from None


def _pages(kinds: list[Kind], color: Color) -> None:
    from trueup.cli.terminal.output import open_console, write

    console = open_console(color)
    texts = [page_of(kind) for kind in kinds]
    if not console.is_terminal:
        write("\n".join(texts))
        return
    from trueup.cli.terminal.markdown import render

    for text in texts:
        console.print(render(text), width=min(console.width, 92))


def _list(kinds: list[Kind], color: Color) -> None:
    from rich.text import Text

    from trueup.cli.terminal.output import open_console

    console = open_console(color)
    for line in _rows(kinds, console.width if console.is_terminal else 0):
        console.print(Text.assemble(*line), soft_wrap=True)


def _rows(kinds: list[Kind], width: int) -> Iterator[list[tuple[str, str]]]:
    """The list as styled lines. On a terminal, sentences are wrapped to its width; in a pipe, each code is one line."""
    import textwrap

    longest = max(len(kind.name) for kind in kinds)
    styles = {"lossless": "green", "guess": "yellow", "lossy": "red", "error": "red", "warning": "yellow"}
    family = ""
    for kind in kinds:
        here = family_of(kind)
        if here != family:
            if family:
                yield []
            family = here
            yield from ([(line, "bold")] for line in textwrap.wrap(FAMILIES.get(family, OWN_FAMILY), width or 80))
        word = kind.grade if isinstance(kind, FixKind) else kind.level
        head = [("  ", ""), (kind.code, "bold"), (f"  {kind.name:<{longest}}  ", ""), (f"{word:<8}", styles[word])]
        used = 2 + 4 + 2 + longest + 2 + 8 + 2
        if width and width - used < 24:  # on a narrow screen, the sentence goes on its own line
            yield head
            for line in textwrap.wrap(kind.title, max(width - 8, 20)):
                yield [(f"        {line}", "dim")]
            continue
        first, *rest = textwrap.wrap(kind.title, width - used) if width else [kind.title]
        yield [*head, (f"  {first}", "")]
        for line in rest:
            yield [(" " * used + line, "")]
