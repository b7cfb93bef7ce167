"""Tries every shape of text that has the schema's fields in a form other than JSON, the likeliest first.

Takes a text and the aims of the reader; yields a list of candidates for each shape, read only when it is needed. Without
known keys no fields are read, and an error report or a web page never has fields: prose is not a value.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

from trueup.recover.candidate import Candidate
from trueup.recover.forms import lines, lists, tables, tags, toml
from trueup.recover.forms.blocks import BlockReader
from trueup.recover.forms.lines import labelled
from trueup.recover.forms.outline import KeyFinder, OutlineLine, fenced, lines_of, spaced_fields, split_fields
from trueup.recover.forms.unbraced import calls, in_parentheses, members, printed
from trueup.recover.json.parser import MOST_PLACES, TooMany
from trueup.recover.marks import ANSWER_TAG
from trueup.verdict.patterns import lazy_regex

if TYPE_CHECKING:
    from trueup.recover.aims import Aims

_REPORT = lazy_regex(
    r"^[ \t]*(?:Traceback \(most recent call last\):|File \"[^\"\n]{1,300}\", line \d|at [\w.$<>/]{1,200}\([^()\n]{0,200}\)[ \t]*$)"
    r"|<!doctype html|<html[\s>]",
    re.MULTILINE | re.IGNORECASE,
)
_REPORTING = ("traceback (most recent call last):", 'file "', "<!doctype html", "<html")
_AT_PLACE = lazy_regex(r"at [\w.$<>/]{1,200}\(")
_ANSWER_TAG = lazy_regex(ANSWER_TAG)
_ALL_TYPES = 7
_MAX_NESTING = 40


def readings(text: str, aims: "Aims", *, has_json: bool = False) -> Iterator[list[Candidate]]:
    """The candidates of every shape; `has_json` says that the fields are in broken JSON, so no line is a field."""
    known, depth, listed = aims.known, aims.max_depth, "array" in aims.types
    yield tags.parameters(text)
    yield calls(text, known, depth) if known else []
    yield printed(text, known, depth)
    yield members(text, known, depth)
    yield from tags.elements(text, known, aims.wants)
    if listed:
        yield in_parentheses(text, known, depth)
        yield tags.listed(text) if not (aims.any_value or aims.item_keys) else []
    if not has_json:
        yield toml.documents(text, depth) if known else []
        yield from written_out(text, aims)


def without_parts(text: str, found: list[Candidate], aims: "Aims") -> tuple[list[Candidate], list[Candidate]]:
    """Independent JSON, and JSON that is the value of a field in a line: `tags: []` alone is not an answer."""
    keys = aims.root_keys | aims.item_keys

    def is_part(candidate: Candidate) -> bool:
        shares = isinstance(candidate.value, dict) and not keys.isdisjoint(candidate.value)
        return not shares and labelled(text, candidate.spans[0][0], keys)

    parts = [candidate for candidate in found if is_part(candidate)]
    return [candidate for candidate in found if candidate not in parts], parts


def is_report(text: str) -> bool:
    """Whether a text is a web page or an error's traceback, which are not answers."""
    if text.isascii():  # searching for the words costs less than matching the lines
        small = text.lower()
        if not any(word in small for word in _REPORTING) and _AT_PLACE.search(small) is None:
            return False
    return _REPORT.search(text) is not None


def written_out(text: str, aims: "Aims") -> Iterator[list[Candidate]]:
    """Fields in lines, tables and lists: first inside fences and answer tags, then in the whole text."""
    items = aims.item_keys if "array" in aims.types else frozenset()
    plain_list = "array" in aims.types and not aims.item_keys and len(aims.types) < _ALL_TYPES
    if not (aims.root_keys or items or plain_list) or is_report(text):
        return
    if text.count("\n") > MOST_PLACES:
        raise TooMany("lines", MOST_PLACES)
    if not plain_list and not KeyFinder(aims.root_keys | items).may_occur_in(text):
        return
    whole = lines_of(text, 0, len(text))
    spans = [(whole[start].start, whole[stop - 1].stop) for start, stop in fenced(whole)]
    documents = [lines_of(text, *span) for span in [*spans, *_answer(text)]]
    known, item, root = KeyFinder(aims.known), KeyFinder(items), KeyFinder(aims.root_keys)

    def in_one(document: list[OutlineLine]) -> Iterator[list[Candidate]]:
        """The readings of one document: as a list, as an object, or both, as the schema allows."""
        if len(item):
            yield from _fields(text, document, item, known, aims, listed=True)
        if plain_list:
            yield lists.candidates(text, document, min(aims.max_depth, _MAX_NESTING), words="string" not in aims.types)
        if len(root):
            yield from _fields(text, document, root, known, aims, listed=False)

    for found in zip_longest(*map(in_one, [*documents, whole]), fillvalue=[]):
        together = [candidate for candidates in found for candidate in candidates]
        yield together if len(together) <= lines.MAX_GROUPS else []


def _answer(text: str) -> list[tuple[int, int]]:
    """The content of the last answer tag."""
    for tag in list(_ANSWER_TAG.finditer(text))[-1:] if "<" in text else ():
        stop = text.find(f"</{tag[0][1:]}", tag.end())
        return [(tag.end(), stop if stop >= 0 else len(text))]
    return []


def _fields(
    text: str, document: list[OutlineLine], top: KeyFinder, known: KeyFinder, aims: "Aims", *, listed: bool
) -> Iterator[list[Candidate]]:
    """Tables, fields in lines, several fields in one line, and fields without a sign after their keys."""

    def block(of: list[OutlineLine]) -> BlockReader:
        return BlockReader(text, of, known, aims.known, min(aims.max_depth, _MAX_NESTING), free=False)

    in_tables = tables.candidates(block(document), top, aims.wants, listed=listed)
    if listed:
        yield in_tables
    yield from lines.readings(top, block(document), aims.wants, items=listed)
    if not listed:
        yield in_tables
    for pieces in (split_fields(text, document, top), spaced_fields(text, document, top)):
        if pieces:
            yield from lines.readings(top, block(pieces), aims.wants, items=listed)
