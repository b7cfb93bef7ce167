"""The place of a bad schema: takes the message of a `SchemaError` and returns the path that it names."""

from trueup.verdict.paths import Parts, parse
from trueup.verdict.patterns import lazy_regex

_WHERE = lazy_regex(r" at (\$(?:\.[\w-]+|\[\d+\])*)[: ]")


def refused_at(message: str) -> Parts:
    """The path inside a schema that a refusal names; the root if there is none.

    >>> refused_at("the schema is not valid JSON Schema at $.properties.a.type: unknown type 'objekt'")
    ('properties', 'a', 'type')
    """
    named = _WHERE.search(message)
    return parse(named[1]) if named else ()
