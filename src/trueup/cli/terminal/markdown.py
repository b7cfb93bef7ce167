"""Show our own Markdown pages on a terminal with rich. Not for text that models wrote."""

import re

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.text import Text

_LINK = re.compile(r"\[([^\]\[]+)\]\((\.\./\.\./)?([\w./-]+\.md)(?:#[\w-]+)?\)")


class _Heading(Heading):
    """A heading at the left edge, without a box."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text.copy()
        text.justify = "left"
        text.stylize("bold" if self.tag == "h1" else "bold cyan")
        yield text


class _Example(CodeBlock):
    """An indented block of code; its section lines are set apart from their contents."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = Text()
        part = ""
        for line in str(self.text).rstrip().split("\n"):
            if line.startswith("--- "):
                part = line[4:]
                text.append(f"{part}\n", "cyan")
            else:
                text.append(f"  {line}\n", {"gives": "yellow", "": "dim"}.get(part, ""))
        text.right_crop(1)
        text.no_wrap = False
        yield Padding(text, (0, 0, 0, 2))


class _Page(Markdown):
    elements = {**Markdown.elements, "heading_open": _Heading, "fence": _Example, "code_block": _Example}


def without_links(text: str) -> str:
    """A page with links that are useful on a terminal.

    >>> without_links("See [T001](T001-unknown-tool.md) and [rules](../../howto/rules.md#when).")
    'See T001 and rules (docs/howto/rules.md).'
    """
    return _LINK.sub(lambda link: f"{link[1]} (docs/{link[3]})" if link[2] else link[1], text)


def render(text: str) -> Markdown:
    """A page, ready to print."""
    return _Page(without_links(text), inline_code_theme="ansi_dark", code_theme="ansi_dark", hyperlinks=False)
