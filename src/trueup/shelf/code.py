"""`code`: whether the code in a reply parses. Takes a reply; returns the blocks of Python, JSON or SQL that do not
parse. It runs no code.

Fenced blocks are judged by the language that they name. If a language is given, a reply without any fence is judged as
a whole. SQL needs `sqlglot`. A block that is too large is not judged, and that is reported; a block that is nested too
deeply does not parse.
"""

import ast
import logging
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

import orjson

from trueup.shelf.fences import FencedBlock, blocks
from trueup.shelf.options import OptionReader
from trueup.shelf.subject import CheckedText, Look, ReadyFinding, not_judged
from trueup.verdict.extras import install
from trueup.verdict.likeness import nearest
from trueup.verdict.patterns import lazy_regex

LANGUAGES = ("python", "json", "sql")
_SPELLED = {"py": "python", "python3": "python", "py3": "python", "pycon": "", "json5": "", "jsonc": "", "jsonl": "", "postgresql": "sql", "postgres": "sql", "mysql": "sql", "sqlite": "sql"}  # fmt: skip
_DIALECTS = {"postgresql": "postgres", "postgres": "postgres", "mysql": "mysql", "sqlite": "sqlite"}
_TITLES = {"python": "Python", "json": "JSON", "sql": "SQL"}
_MOST = {"python": 200_000, "json": 2_000_000, "sql": 40_000}  # characters
_DEEPEST = {"python": 90, "json": 500, "sql": 24}  # brackets
_PROMPT = lazy_regex(r"^\s*(?:>>>|In \[\d+\]:)", re.MULTILINE)
_MISSING = lazy_regex(r"Required keyword: '(\w+)' missing for <class '(?:[\w.]*\.)?(\w+)'>")
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_HINT = "Write {language} that parses: {problem}."


class _Fault(NamedTuple):
    """Why a block does not parse, and the position of the problem in it."""

    problem: str
    at: int = 0


def compile_check(given: Mapping[str, Any]) -> Look:
    """The check; `code` names the languages (by default, all three), `dialect` the dialect of SQL.

    >>> look = compile_check({"code": "python"})
    >>> [told.message for told in look(CheckedText("```python\\nx = (1\\n```"))]
    ["The Python in the reply does not parse: '(' was never closed (line 1)"]
    """
    options = OptionReader("code", given, ("code", "dialect"))
    named = tuple(_SPELLED.get(one.lower(), one.lower()) for one in options.texts("code"))
    for one, written in zip(named, options.texts("code"), strict=True):
        if one not in LANGUAGES:
            near = nearest(written, LANGUAGES)
            also = f"; did you mean {near!r}?" if near else f"; the languages are {', '.join(LANGUAGES)}"
            raise options.bad("code", f"{written!r} is not a language that is checked{also}")
    dialect = _dialect(options)
    if (not named or "sql" in named) and find_spec("sqlglot") is None:
        raise _no_sqlglot()
    return lambda seen: _look(seen, named, dialect)


def _dialect(options: OptionReader) -> str:
    given = options.texts("dialect")
    if not given:
        return ""
    known = _load_sql().Dialects
    names = [one.value for one in known if one.value]
    if len(given) > 1 or given[0].lower() not in names:
        near = nearest(given[0], names)
        also = f"; did you mean {near!r}?" if near else f"; the dialects are {', '.join(sorted(names))}"
        raise options.bad("dialect", f"{given[0]!r} is not a dialect of SQL{also}")
    return given[0].lower()


def _no_sqlglot() -> ModuleNotFoundError:
    others = "or name the other languages: {code: [python, json]}"
    return ModuleNotFoundError(f"code needs sqlglot for SQL: {install('shelf')}, {others}", name="sqlglot")


def _load_sql() -> Any:
    try:
        import sqlglot
    except ModuleNotFoundError:
        raise _no_sqlglot() from None
    logger = logging.getLogger("sqlglot")
    if _quiet not in logger.filters:
        logger.addFilter(_quiet)
    return sqlglot


def _quiet(record: logging.LogRecord) -> bool:
    """Keeps messages of `sqlglot` about statements that it does not support out of the log: such statements pass."""
    return "Falling back to parsing as a 'Command'" not in str(record.msg)


def _look(seen: CheckedText, named: tuple[str, ...], dialect: str) -> Iterator[ReadyFinding]:
    found = blocks(seen.text)
    wanted = named or LANGUAGES
    if not found and len(named) == 1 and seen.data is None and seen.text.strip():
        found = [FencedBlock(named[0], 0, len(seen.text), closed=True, outer=0)]
    for block in found:
        language = _SPELLED.get(block.language, block.language)
        source = seen.text[block.start : block.stop]
        if language not in wanted or not source.strip():
            continue
        title, span = _TITLES[language], (block.start, block.stop)
        if len(source) > _MOST[language]:
            yield not_judged(
                f"{len(source):,} characters of {title} in one block; the limit is {_MOST[language]:,}", span
            )
            continue
        fault = _PARSERS[language](source, dialect or _DIALECTS.get(block.language, ""))
        if fault is not None:
            line = source.count("\n", 0, fault.at) + 1
            problem = f"{fault.problem} (line {line})"
            data = {"language": language, "line": line, "problem": fault.problem}
            hint = _HINT.format(language=title, problem=problem)
            yield ReadyFinding(f"The {title} in the reply does not parse: {problem}", hint, span, data)


def _python(source: str, _: str) -> _Fault | None:
    text = _without_prompts(textwrap.dedent(source))
    if _depth(text) > _DEEPEST["python"]:
        return _Fault("it is nested too deeply")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        if _PROMPT.search(source):
            return None  # a session with its output
        lines = text.split("\n")
        return _Fault(_plain(error.msg), sum(len(line) + 1 for line in lines[: max(0, (error.lineno or 1) - 1)]))
    except ValueError as error:  # null bytes, lone surrogates
        return _Fault(_plain(str(error)))
    except (RecursionError, MemoryError):
        return _Fault("it is nested too deeply")
    return None


def _without_prompts(text: str) -> str:
    """The code of an interactive session; any other text unchanged."""
    if not text.lstrip().startswith(">>>"):
        return text
    kept = [line[4:] if line.startswith((">>> ", "... ")) else "" for line in text.split("\n")]
    return "\n".join(kept)


def _json(source: str, _: str) -> _Fault | None:
    if _depth(source) > _DEEPEST["json"]:
        return _Fault("it is nested too deeply")
    try:
        orjson.loads(source)
    except orjson.JSONDecodeError as error:
        return _Fault(_plain(error.msg), error.pos)
    return None


def _sql(source: str, dialect: str) -> _Fault | None:
    if _depth(source) > _DEEPEST["sql"]:
        return _Fault("it is nested too deeply")
    sqlglot = _load_sql()
    from sqlglot import exp

    try:
        statements = sqlglot.parse(source, read=dialect or None)
    except sqlglot.errors.SqlglotError as error:
        first = (getattr(error, "errors", None) or [{}])[0]
        line = first.get("line") or 1
        at = sum(len(one) + 1 for one in source.split("\n")[: line - 1])
        return _Fault(_in_words(str(first.get("description") or "")), at)
    except (RecursionError, MemoryError):
        return _Fault("it is nested too deeply")
    for statement in statements:
        if isinstance(statement, exp.Alias | exp.Column | exp.Literal):  # two words of prose are a column and its alias
            return _Fault("it is not a statement")
    return None


def _in_words(description: str) -> str:
    """The message of `sqlglot`, without its own objects and without the text that it read."""
    missing = _MISSING.match(description)
    if missing:
        return f"{missing[2]} lacks its {'operand' if missing[1] in ('this', 'expression') else missing[1]}"
    return _plain(description.partition(" but got ")[0]) or "a quote or a comment is not closed"


_PARSERS: dict[str, Callable[[str, str], _Fault | None]] = {"python": _python, "json": _json, "sql": _sql}


def _depth(text: str) -> int:
    """The deepest nesting of brackets, even in strings and comments."""
    depth = deepest = 0
    for sign in text:
        if sign in _OPEN:
            depth += 1
            deepest = max(deepest, depth)
        elif sign in _CLOSE and depth:
            depth -= 1
    return deepest


def _plain(problem: str) -> str:
    return problem.split("\n")[0].strip().rstrip(".")[:160]
