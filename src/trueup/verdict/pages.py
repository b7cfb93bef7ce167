r"""The page of a code: takes its Markdown and returns its parts and examples. This module does not read files.

An example is a fenced block marked `trueup`: lines of `option: value`, then `--- reply` and, in Triggers, `--- gives` with
one `CODE path` on each line. `--- python` may define the schema's type. With `escapes: yes` the reply's `\u200b` and `\x1b` are
characters; with `escapes: bytes` they are the bytes of a reply that is not text. `--- contract` is the text of a contract
file: it replaces the options, and without a reply the file itself is judged. With `reply: json` the reply is a provider's
response, read as JSON; `history` contains the messages before it.
"""

import json
import re
from typing import Any, NamedTuple

from trueup.verdict.patterns import lazy_regex

SECTIONS = ("Finds", "Why", "Triggers", "Stays quiet", "Fix")

_TITLE = lazy_regex(r"# ([A-Z]{1,3}\d{3}) · ([a-z0-9-]+)\n\n\*([^*\n]+)\*\n")
_SECTION = lazy_regex(r"^## (.+)$", re.MULTILINE)
_BLOCK = lazy_regex(r"^(`{3,})trueup\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
_PART = lazy_regex(r"^--- (python|contract|reply|gives)$", re.MULTILINE)
_ESCAPE = lazy_regex(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))")


class PageExample(NamedTuple):
    """One reply, the contract that judges it, its context, and the expected results.

    `contract` is the text of a contract file; without a reply, the file itself is judged.
    """

    options: dict[str, Any]
    python: str
    reply: Any
    gives: frozenset[tuple[str, str]]
    context: dict[str, Any]
    contract: str = ""


class CodePage(NamedTuple):
    """The page of one code; `head` is `fix · lossless · price 1` or `finding · error`."""

    code: str
    name: str
    head: str
    sections: dict[str, str]
    triggers: tuple[PageExample, ...]
    quiet: tuple[PageExample, ...]


class BadPage(ValueError):
    """The text is not in the format of a page."""


def read_page(text: str) -> CodePage:
    r"""Parse a page.

    >>> read_page("# S001 · trailing-comma\n\n*fix · lossless · price 1*\n\n## Finds\n\nA comma.\n").sections
    {'Finds': 'A comma.'}
    """
    title = _TITLE.match(text)
    if title is None:
        raise BadPage(
            "a page starts with '# CODE · name', a blank line and '*fix · grade · price n*' or '*finding · level*'"
        )
    # A heading inside an example is part of its reply, so examples are blanked out before the search for sections.
    hidden = _BLOCK.sub(lambda block: re.sub("[^\n]", " ", block[0]), text)
    marks = list(_SECTION.finditer(hidden))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    sections = {mark[1]: text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)}
    code, name, head = title.groups()
    return CodePage(
        code, name, head, sections, _examples(sections.get("Triggers", "")), _examples(sections.get("Stays quiet", ""))
    )


def _examples(section: str) -> tuple[PageExample, ...]:
    return tuple(read_example(block[2]) for block in _BLOCK.finditer(section))


def read_example(block: str) -> PageExample:
    """Parse the text of an example block."""
    head, *rest = _PART.split(block)
    parts = dict(zip(rest[::2], rest[1::2], strict=True))
    if "reply" not in parts and "contract" not in parts:
        raise BadPage("an example needs a line '--- reply' or '--- contract'")
    options = dict(_option(line) for line in head.splitlines() if line.strip())
    context = {
        **options.pop("context", {}),
        **{key: options.pop(key) for key in ("history", "state") if key in options},
    }
    text = _unescape(parts.get("reply", "\n")[1:].removesuffix("\n"), options.pop("escapes", "no"))
    reply = _provider_reply(text) if options.pop("reply", "text") == "json" else text if "reply" in parts else None
    gives = frozenset(_result(line) for line in parts.get("gives", "").splitlines() if line.strip())
    return PageExample(options, parts.get("python", ""), reply, gives, context, parts.get("contract", "")[1:])


def _option(line: str) -> tuple[str, Any]:
    name, colon, value = line.partition(":")
    if not colon:
        raise BadPage(f"not an option: {line!r}")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value.strip()


def _result(line: str) -> tuple[str, str]:
    code, blank, path = line.strip().partition(" ")
    if not blank:
        raise BadPage(f"a result must be a code and a path; got {line!r}")
    return code, path


def _provider_reply(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadPage(f"with 'reply: json' the reply must be JSON: {error}") from None


def _unescape(reply: str, escapes: str) -> str | bytes:
    if escapes == "bytes":
        return b"".join(
            bytes.fromhex(piece[2:]) if re.fullmatch(r"\\x[0-9a-f]{2}", piece) else piece.encode()
            for piece in re.split(r"(\\x[0-9a-f]{2})", reply)
        )
    if escapes == "yes":
        return _ESCAPE.sub(lambda escape: chr(int(escape[1] or escape[2] or escape[3], 16)), reply)
    return reply
