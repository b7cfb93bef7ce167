"""The fast path for clean replies: takes a text and returns its value as JSON, or None if `Contract.check` must judge
it.

Most replies of a large file are clean, so this path decides how fast files are sifted. It makes no verdict, judges
nothing twice, and reads a unit's fields only if a rule can see them.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from orjson import dumps

from trueup.contract.judging.limits import depth_over
from trueup.contract.meaning.meaning import RESERVED, Meaning
from trueup.recover.json.clean import looks_odd
from trueup.verdict.codec import decode

if TYPE_CHECKING:
    from trueup.conform.schema import Schema
    from trueup.contract.judging.integers import Test

_UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeEncodeError, TypeError)


class ShortWay(NamedTuple):
    """Judges clean replies under one contract.

    `judge` takes a text and the fields of its unit; it ignores the fields unless `sees_fields` is true.
    """

    judge: Callable[[str, Mapping[str, Any]], bytes | None]
    sees_fields: bool


def short_way(
    schema: "Schema", integral: "Test | None", meaning: Meaning | None, size: int, depth: int | None
) -> ShortWay:
    """The fast path of one contract; `size` and `depth` limit a text, and without `depth` any depth is allowed."""
    is_valid = schema.is_valid
    rules = None if meaning is None else meaning.rules
    keeps = None if meaning is None or rules is None else meaning.keeps_rules
    holds = None if rules is None else rules.hold
    alone = not sees_fields(schema, meaning)

    def judge(text: str, fields: Mapping[str, Any]) -> bytes | None:
        if len(text) > size:
            return None
        try:
            data = decode(text)
            again = dumps(data)
        except _UNREADABLE:
            return None
        if text.count('"') != again.count(b'"') or ("\\" in text and looks_odd(text)):
            return None
        if not is_valid(data) or (integral is not None and integral(data)):
            return None
        if depth is not None and depth_over(data, depth):
            return None
        if holds is None or keeps is None:
            return again
        if alone and type(data) is dict:
            return again if holds(data) else None
        return again if keeps(data, fields) else None

    return ShortWay(judge, not alone)


def sees_fields(schema: "Schema | None", meaning: Meaning | None) -> bool:
    """Whether a rule may see a field of the unit: the rule names a field that a valid reply may lack, or one that only
    the unit has.

    >>> from trueup import Contract
    >>> contract = Contract({"required": ["n"], "properties": {"m": {}}}, rules=["n > 0"])
    >>> sees_fields(contract.schema, contract.meaning)
    False
    """
    if meaning is None or meaning.rules is None:
        return False
    source = None if schema is None else schema.source
    required = source.get("required") if isinstance(source, dict) and "$ref" not in source else None
    names = meaning.rules.names
    if names is None or not isinstance(required, list) or not names.issubset(required):
        return True
    return any(name in RESERVED or name[:1] == "_" for name in names)
