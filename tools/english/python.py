"""Prose of Python: docstrings without their examples, comments, and string literals that are sentences (messages, help, hints)."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from english import markdown
from english.passage import Passage, Writing, passage

_DIRECTIVE = re.compile(r"#\s*(?:noqa|type:|pragma|ruff:|fmt:|mypy:|pyright:|!|-\*-)|#:?\s*$")
# A regular expression, a path, a template or markup, not a sentence.
_CODE = re.compile(
    r"\(\?[:=!<P]|\\[bdswBDSW]|\[\^|</\w|/>|^\s*[{\[<]|\$\{|^\w+://|^--|\bSELECT\b|\bCREATE\b|==|\w\(\)$"
)
_WORD = re.compile(r"[A-Za-z][a-z]+")


def is_sentence(text: str) -> bool:
    """True for text that a person reads: words between spaces, and not a pattern, a query or markup."""
    if " " not in text.strip() or _CODE.search(text):
        return False
    words = re.findall(r"(?<!\S)[\"'(]?([A-Za-z][a-z'-]*)(?=[\s,.:;!?)\"']|$)", text)
    return len(words) >= 2 and any(word[0].islower() for word in words)


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            # Also the string below a field, which documents it.
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value


def _docstring(node: ast.Constant, lines: list[str]) -> Iterator[Passage]:
    first, last = node.lineno, node.end_lineno or node.lineno
    rows: list[tuple[int, int, str]] = []
    in_example = False
    for number in range(first, last + 1):
        text, column = lines[number - 1], 1
        if number == last:
            text = re.sub(r"\"\"\"|'''", "", text) if number != first else re.sub(r"(\"\"\"|\"|''')[^\"']*$", "", text)
        if number == first:
            mark = re.search(r"[rR]?(?:\"\"\"|'''|\"|')", lines[number - 1][node.col_offset :])
            start = node.col_offset + (mark.end() if mark else 0)
            text, column = text[start:], start + 1
        if text.lstrip().startswith(">>>"):
            in_example = True
        elif not text.strip():
            in_example = False
        if not in_example:
            rows.append((number, column, text))
        else:
            rows.append((number, column, ""))
    yield from markdown.read(rows)


def _comments(source: str) -> Iterator[Passage]:
    writing, before = Writing(), (0, 0, False)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or _DIRECTIVE.match(token.string):
            continue
        (line, column), alone = token.start, not token.line[: token.start[1]].strip()
        # Lines below each other in the same column are one comment; a comment behind code may continue below.
        if (line, column) != (before[0] + 1, before[1]) or (before[2] and not alone):
            yield from writing.done()
            writing = Writing()
        text = token.string.lstrip("#:")
        lead = len(token.string) - len(text.lstrip())
        writing.add_line(text.strip(), line, column + 1 + lead)
        before = (line, column, alone)
    yield from writing.done()


def _value(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        pieces = [
            part.value if isinstance(part, ast.Constant) else "{" + ast.unparse(getattr(part, "value", part)) + "}"
            for part in node.values
        ]
        return "".join(map(str, pieces))
    return None


def _strings(tree: ast.Module, lines: list[str], known: set[int]) -> Iterator[Passage]:
    formatted = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside = {id(part) for node in formatted for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant | ast.JoinedStr) or id(node) in known or id(node) in inside:
            continue
        value = _value(node)
        if value is None or not is_sentence(value):
            continue
        if value.count("\n") > 1:
            yield from _long(value, node, lines)
        else:
            yield from _short(value, node, lines)


def _short(value: str, node: ast.expr, lines: list[str]) -> Iterator[Passage]:
    """A string of one line: where its literals are joined, each stretch has its own place."""
    writing = Writing()
    line, start = node.lineno, node.col_offset
    for word in re.finditer(r"\S+\s*|\s+", value.replace("\n", " ")):
        key = re.split(r"[{}]", word[0].strip())[0]
        for number in range(line, (node.end_lineno or line) + 1):
            at = lines[number - 1].find(key, start if number == line else 0) if key else -1
            if at >= 0:
                line, start = number, at + len(key)
                break
        else:
            at = start
        writing.add(word[0], line, at + 1)
    yield from writing.done()


def _long(value: str, node: ast.expr, lines: list[str]) -> Iterator[Passage]:
    """A string of several lines, read as Markdown when it is written as such."""
    rows = []
    number = node.lineno
    for text in value.splitlines():
        key = text.strip()[:20].split("{")[0]
        for later in range(number, (node.end_lineno or number) + 1):
            if key and key in lines[later - 1]:
                number = later
                break
        rows.append((number, max(lines[number - 1].find(key), 0) + 1 if key else 1, text.strip()))
    yield from markdown.read(rows)


def python(source: str, *, messages: bool = True) -> Iterator[Passage]:
    """The passages of a Python file; `messages` says whether string literals count."""
    tree, lines = ast.parse(source), source.splitlines()
    documents = list(_docstrings(tree))
    for node in documents:
        yield from _docstring(node, lines)
    yield from _comments(source)
    if messages:
        yield from _strings(tree, lines, {id(node) for node in documents})


__all__ = ["is_sentence", "passage", "python"]
