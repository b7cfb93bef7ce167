"""Parse the text of an expression into a syntax tree, or say why it is not an expression.

This module takes text and returns a tree with positions in that text. It refuses text that is too long or nested too
deeply, so that later steps need not check this.
"""

import ast
import tokenize
import warnings

from trueup.expressions.errors import ExpressionError
from trueup.verdict.patterns import lazy_regex

MAX_LENGTH = 10_000
MAX_DEPTH = 100


class ExpressionText:
    """The text of an expression, in its original form and as the single line that is parsed."""

    __slots__ = ("_shift", "line", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        flat = _without_comments(text) if "#" in text else text
        flat = flat.replace("\r\n", "  ").replace("\n", " ").replace("\r", " ").replace("\t", " ")
        self.line = flat.lstrip()
        self._shift = len(flat) - len(self.line)

    def column(self, offset: int) -> int:
        """The column in the original text, from 1, of an offset that Python's tools give in UTF-8 bytes."""
        if offset < 0:
            return 0
        return len(self.line.encode()[:offset].decode("utf-8", "ignore")) + self._shift + 1

    def between(self, start: int, stop: int) -> str:
        """The text between two such offsets."""
        return self.line.encode()[start:stop].decode("utf-8", "ignore")


def _without_comments(text: str) -> str:
    """The text with comments replaced by spaces, so that its lines can be joined."""
    lines = ("(" + text).splitlines(keepends=True)  # inside a bracket, line breaks and indentation have no meaning
    tokens = tokenize.generate_tokens(iter([*lines, "\n", ")"]).__next__)
    try:
        for token in tokens:
            if token.type == tokenize.ERRORTOKEN and token.string.strip():
                raise ExpressionError("a comment cannot follow text that is not closed on its line")
            if token.type == tokenize.COMMENT:
                row, start = token.start
                line = lines[row - 1]
                lines[row - 1] = line[:start] + " " * len(token.string) + line[start + len(token.string) :]
    except (tokenize.TokenError, SyntaxError):
        raise ExpressionError(
            "not a valid expression: a bracket or a quote is not closed, or is closed twice"
        ) from None
    return "".join(lines)[1:]


def parse(source: ExpressionText) -> ast.expr:
    """The tree of an expression.

    >>> ast.unparse(parse(ExpressionText("hp  <= max_hp")))
    'hp <= max_hp'
    """
    if len(source.text) > MAX_LENGTH:
        raise ExpressionError(f"the expression is longer than {MAX_LENGTH:,} characters")
    if "\n" in source.text.strip() and ('"""' in source.text or "'''" in source.text):
        raise ExpressionError("an expression on several lines cannot contain text in triple quotes")
    if not source.line.strip():
        raise ExpressionError("the expression is empty")
    try:
        source.line.encode()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape in a text must not print a warning to stderr
            line, marks = _with_marks(source.line)
            tree = ast.parse(line, mode="eval")
    except SyntaxError as error:
        reason = (error.msg or "not a valid expression").split(". ")[0].split(" (<")[0].split(" (detected")[0]
        place = _place(source, error)
        raise ExpressionError(_plain(reason), place, _meant(source.text, place)) from None
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        reason = (
            "it contains half of a surrogate pair" if isinstance(error, UnicodeEncodeError) else "it is too complex"
        )
        raise ExpressionError(f"the expression cannot be read: {reason}") from None
    _refuse_deep(tree.body)
    return ast.fix_missing_locations(_OfEach(marks).visit(tree.body)) if marks else tree.body


# `lines[].price`: empty brackets after a name, an index or a call, outside quoted text.
_EACH = lazy_regex(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<=[\w\])])\[\]""")


def _with_marks(line: str) -> tuple[str, frozenset[int]]:
    """The line with the attribute `._`, which has the same length, in place of each `[]`, and their offsets in bytes."""
    if "[]" not in line:
        return line, frozenset()
    marks = [match.start() for match in _EACH.finditer(line) if match[1] is None]
    for at in marks:
        line = f"{line[:at]}._{line[at + 2 :]}"
    return line, frozenset(len(line[:at].encode()) for at in marks)


class _OfEach(ast.NodeTransformer):
    """Turns `lines[].price` into a list of the prices of all lines."""

    def __init__(self, marks: frozenset[int]) -> None:
        self._marks = marks
        self._made = 0

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Translate one step of a path; the steps after `[]` apply to each item."""
        inner = self.visit(node.value)
        if self._is_mark(node):
            self._made += 1
            name = f"_each{self._made}"
            loop = ast.comprehension(ast.Name(name, ast.Store()), inner, [], 0)
            item: ast.expr = ast.Name(name, ast.Load())
            if isinstance(inner, ast.ListComp) and getattr(inner, "of_each", False):
                loop.iter, loops = inner.elt, [*inner.generators, loop]
            else:
                loops = [loop]
            made = ast.ListComp(ast.copy_location(item, node), loops)
            made.of_each = True  # type: ignore[attr-defined]
            return ast.copy_location(made, node)
        if isinstance(inner, ast.ListComp) and getattr(inner, "of_each", False):
            inner.elt = ast.copy_location(ast.Attribute(inner.elt, node.attr, ast.Load()), node)
            return inner
        node.value = inner
        return node

    def _is_mark(self, node: ast.Attribute) -> bool:
        return node.attr == "_" and node.end_col_offset is not None and node.end_col_offset - 2 in self._marks


def _place(source: ExpressionText, error: SyntaxError) -> int:
    end = len(source.line.rstrip()) + 1
    return min(error.offset or end, end) + source.column(0) - 1


# Operators of other languages, and the ones to use here.
_ELSEWHERE = {
    "=": "==", "===": "==", "!==": "!=", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">=", "=<": "<=", "=>": ">=", "&&": "and",
    "||": "or", "!": "not", "AND": "and", "OR": "or", "NOT": "not", "IN": "in", "IS": "is", "×": "*", "÷": "/",
    "“": '"', "”": '"', "‘": "'", "’": "'", "«": '"',
}  # fmt: skip
_PIECE = lazy_regex(r"[=!<>&|]+|[≠≤≥×÷“”‘’«]|\w+")


def _meant(text: str, column: int) -> str:
    """The operator that was probably meant where parsing stopped, if the text has an operator of another language there."""
    for piece in _PIECE.finditer(text):
        if piece.start() < column <= piece.end() + 1 and piece[0] in _ELSEWHERE:
            return _ELSEWHERE[piece[0]]
    return ""


def _plain(reason: str) -> str:
    """The parser's message, as a part of a sentence."""
    if reason.startswith("invalid syntax"):
        return "not a valid expression"
    return reason[:1].lower() + reason[1:]


def _refuse_deep(root: ast.expr) -> None:
    level: list[ast.AST] = [root]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    place = getattr(level[0], "col_offset", -1)
    raise ExpressionError(f"the expression is nested deeper than {MAX_DEPTH} levels", place + 1)
