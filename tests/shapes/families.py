"""All shapes, by topic. The bench prints a table for each family; tests compare the shapes room by room.

Large replies (`tests/shapes/large.py`) have a separate table, in `bench/large.py`.
"""

from tests.shapes import calls, checks, conform, documents, expressions, forms, streams, tokens
from tests.shapes.shape import Shape

FAMILIES: dict[str, list[Shape]] = {
    "Broken JSON: a token, repeated (X2)": tokens.REPEATED,
    "Broken JSON: runs of tokens, repeated (X2)": tokens.runs(60),
    "Broken JSON: a megabyte of a hostile shape (X2)": tokens.HOSTILE,
    "Broken JSON: brackets by their indentation (X2)": forms.INDENTED,
    "Broken JSON: a long list": forms.LISTS,
    "Tool calls: marks, whole and cut, repeated (X2)": calls.REPEATED,
    "Tool calls: text without any (X2)": calls.WITHOUT,
    "Forms: lines, tables, tags, scalars": forms.FORMS,
    "Forms: deep indentation": forms.DEEPER,
    "Forms: what looks like a call or a tag (X2)": forms.QUICK,
    "Forms: fences of code before the answer": forms.FENCES,
    "Forms: remarks behind the answer": forms.REMARKS,
    "Values: patterns of a schema (X8)": conform.BY_PATTERN,
    "Values: unique items (X9)": conform.UNIQUE,
    "Values: references that fan out (X9)": conform.FANS,
    "Values: unions within unions (X9)": conform.NESTED,
    "Values: coercions, enums, unions": conform.VALUES,
    "Text: patterns of a contract (X11)": checks.HOSTILE,
    "Text: patterns that would stall an event loop (X11)": checks.STALLING,
    "Text: terms and patterns with their exceptions (C12)": checks.TEXTS,
    "Text: ten megabytes against a state (C12)": checks.REPLIES,
    "Text: ten megabytes about tools": checks.MENTIONS,
    "Text: reasoning": checks.REASONING,
    "Rules: over ten megabytes of data (B7)": expressions.RULES,
    "Rules: bombs (B7)": expressions.BOMBS + expressions.THEMSELVES,
    "Rules: names as long as pages": expressions.NAMES,
    "Rules: long messages": expressions.TEMPLATES,
    "Contract files: a token, repeated (X2)": documents.REPEATED,
    "Contract files: depth (X1, X6)": documents.DEEP,
    "Streams: a value in pieces of eight characters": streams.VALUES,
    "Streams: events of a provider": streams.EVENTS,
    "Streams: sentences held back": streams.SENTENCES,
    "Conversations": streams.CONVERSATIONS,
    "The terminal: where 1,000 fixes belong": streams.SHOWN,
}
