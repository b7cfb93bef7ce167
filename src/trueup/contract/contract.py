"""Contract: what a valid reply is, and `check()`, the only place where the line is put together.

A reply enters, a Verdict leaves. A bad reply is never an exception; a misuse of the contract is.
"""

from typing import Any, Literal

import msgspec
from orjson import dumps

from trueup.conform.coerce import Options
from trueup.conform.schema import Schema, compile_schema
from trueup.contract.incoming import text_of
from trueup.contract.judge import Judge, damaged, depth_over
from trueup.contract.stream import Stream
from trueup.recover.clean import WRITABLE_DEPTH, decode
from trueup.verdict.catalogue import GRADES, Accept
from trueup.verdict.facts import Finding
from trueup.verdict.reply import Reply
from trueup.verdict.verdict import Verdict

Profile = Literal["off", "standard", "eager"]


class Contract:
    """What a valid reply is.

    >>> contract = Contract({"type": "object", "properties": {"age": {"type": "integer"}}})
    >>> verdict = contract.check('```json\\n{"age": "36",}\\n```')
    >>> verdict.ok, verdict.data, [fix.code for fix in verdict.fixes]
    (True, {'age': 36}, ['W001', 'C001', 'S001', 'W001'])
    """

    __slots__ = (
        "_integer_keys", "_is_valid", "_judge", "_plain", "_shallow", "accept", "max_depth", "max_size", "options", "schema", "strict",
    )  # fmt: skip

    def __init__(
        self,
        schema: Any = None,
        *,
        accept: Accept = "guess",
        coerce: Profile | Options = "standard",
        strict: bool = False,
        max_size: int = 10_000_000,
        max_depth: int = 500,
    ) -> None:
        if accept not in GRADES:
            raise ValueError(f"accept is one of {', '.join(GRADES)}; got {accept!r}")
        if not 1 <= max_depth <= 500:
            raise ValueError(f"max_depth is between 1 and 500; got {max_depth!r}")
        self.schema: Schema | None = None if schema is None else compile_schema(schema)
        self.accept = accept
        self.options = coerce if isinstance(coerce, Options) else Options(profile=coerce)
        self.strict = strict
        self.max_size = max_size
        self.max_depth = max_depth
        self._judge: Judge | None = None
        if self.schema is not None:
            self._is_valid = self.schema.is_valid
            self._shallow = max_depth < WRITABLE_DEPTH
            self._plain = not self.schema.is_type
            self._judge = Judge(self.schema, self.options, accept, strict, max_size, max_depth)
            self._integer_keys = self._judge.integer_keys

    def check(self, reply: str | bytes | Reply, context: dict[str, Any] | None = None) -> Verdict:  # noqa: ARG002 - part of the stable signature; no check reads it yet
        """Judge one reply; `context` is what the conversation knows beside it.

        >>> Contract(True).check("no JSON here").findings[0].code
        'P001'
        """
        judge = self._judge
        if type(reply) is str:
            text = reply
        else:
            text, damage = text_of(reply)
            if damage:
                return damaged(reply, text, damage, judge)
        if judge is None:
            return Verdict(reply if type(reply) is Reply else text)
        if len(text) > self.max_size:
            return judge.too_large(reply, text)
        try:
            data = decode(text)
        except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError) as error:
            return judge.broken(reply, text, error)
        try:
            again = dumps(data)
        except TypeError:
            return judge.odd(reply, text, data)
        if text.count('"') != again.count(b'"') or ("\\" in text and "\\u0022" in text):
            return judge.odd(reply, text, data)
        if not self._is_valid(data) or (self._shallow and depth_over(data, self.max_depth)):
            return judge.misfit(reply, text, data)
        if self._integer_keys is None:
            if b".0" in again:
                return judge.misfit(reply, text, data)
        else:
            for key in self._integer_keys:
                if type(data.get(key)) is float:
                    return judge.misfit(reply, text, data)
        if self._plain:
            return Verdict(reply if type(reply) is Reply else text, data)
        return judge.fitting(reply, text, data)

    def stream(self) -> Stream:
        """A stream that judges a reply while it comes in."""
        return Stream(self)

    def member_errors(self, slot: str | int, value: Any) -> list[Finding]:
        """What is wrong with one closed member of the root, and cannot become right any more."""
        return [] if self._judge is None else self._judge.member_errors(slot, value)
