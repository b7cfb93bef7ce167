"""Our own pages on a terminal: Markdown enters, something rich can print leaves. Never for text of a model."""

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.text import Text


class _Heading(Heading):
    """A heading at the left edge, without a box."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text.copy()
        text.justify = "left"
        text.stylize("bold" if self.tag == "h1" else "bold cyan")
        yield text


class _Example(CodeBlock):
    """A block of code set in, its section lines apart from what they hold."""

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


def render(text: str) -> Markdown:
    """A page, ready to print."""
    return _Page(text, inline_code_theme="ansi_dark", code_theme="ansi_dark", hyperlinks=False)
