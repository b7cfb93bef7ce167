"""The recipes of CONTRIBUTING.md, read from the page: the files that each creates and changes, and the commands that it runs.

A step is a fenced block. `Create FILE:` above it creates that file, `At the end of FILE:` appends to it, and `In FILE:` above a
`diff` block changes it: its lines without a sign must occur in the file exactly once. A `sh` block must succeed; the commands of
a `console` block must print exactly what is shown.
"""

import itertools
import re
from pathlib import Path
from typing import Literal, NamedTuple

Kind = Literal["create", "append", "change", "run", "show"]

_TITLE = re.compile(r"### (Add an? [a-z ]+)")
_PLACE = re.compile(r"(?:^|.*[ (])(?P<verb>Create|At the end of|In) `(?P<path>[^`]+)`:$")
_FENCE = re.compile(r"(?P<fence>`{3,})(?P<language>\w+)$")
_KINDS: dict[str, Kind] = {"Create": "create", "At the end of": "append", "In": "change"}


class Step(NamedTuple):
    """One fenced block of a recipe; `path` is empty for commands."""

    kind: Kind
    path: str
    text: str


class Recipe(NamedTuple):
    """One recipe: its title and its steps in order."""

    title: str
    steps: tuple[Step, ...]

    @property
    def files(self) -> list[str]:
        """The files that the recipe creates or changes."""
        return list(dict.fromkeys(step.path for step in self.steps if step.path))


def read_recipes(page: str) -> list[Recipe]:
    """Every recipe of a page.

    >>> text = "### Add a note\\n\\nCreate `note.txt`:\\n\\n```text\\nhello\\n```\\n\\n```sh\\ncat note.txt\\n```\\n"
    >>> [(step.kind, step.path) for recipe in read_recipes(text) for step in recipe.steps]
    [('create', 'note.txt'), ('run', '')]
    """
    found: dict[str, list[Step]] = {}
    title, place = "", None
    lines = iter(page.splitlines(keepends=True))
    for line in lines:
        if fence := _FENCE.match(line):
            text = "".join(itertools.takewhile(lambda inner, end=f"{fence['fence']}\n": inner != end, lines))
            if title:
                found[title].append(_step(place, fence["language"], text))
        elif line.startswith("#"):
            heading = _TITLE.match(line)
            title = heading[1] if heading else ""
            if title:
                found[title] = []
        if line.strip():
            place = _PLACE.match(line)
    return [Recipe(title, tuple(steps)) for title, steps in found.items()]


def _step(place: re.Match[str] | None, language: str, text: str) -> Step:
    if place:
        kind = _KINDS[place["verb"]]
        assert (kind == "change") == (language == "diff"), f"{place['path']}: a change is a `diff` block"
        return Step(kind, place["path"], text)
    assert language in {"sh", "console"}, f"a block of a recipe that names no file: {text[:60]!r}"
    return Step("run" if language == "sh" else "show", "", text)


def apply(step: Step, folder: Path) -> None:
    """Create or change the file of a step inside a folder."""
    file = folder / step.path
    if step.kind == "create":
        assert not file.exists(), f"{step.path} exists already"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(step.text, "utf-8")
        return
    before = file.read_text("utf-8")
    apart = "\n\n" if file.suffix == ".py" else ""  # blank lines between functions, as an editor would put them
    file.write_text(before + apart + step.text if step.kind == "append" else changed(before, step), "utf-8")


def changed(text: str, step: Step) -> str:
    """The text of a file after the `diff` block of a step.

    >>> changed("a\\nb\\n", Step("change", "letters.txt", " a\\n+and\\n-b\\n"))
    'a\\nand\\n'
    """
    lines = [(line[:1], line[1:]) for line in step.text.splitlines(keepends=True)]
    assert all(sign in {" ", "+", "-"} or line == "" for sign, line in lines), f"{step.path}: a line without a sign"
    old = "".join(line or sign for sign, line in lines if sign != "+")
    new = "".join(line or sign for sign, line in lines if sign != "-")
    at = f"\n{text}".count(f"\n{old}")
    assert at == 1, f"{step.path}: these lines occur {at} times, so the recipe no longer fits:\n{old}"
    return f"\n{text}".replace(f"\n{old}", f"\n{new}")[1:]
