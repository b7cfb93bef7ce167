"""The options of a contract, for type checkers and editors: names and types enter signatures, nothing happens here."""

from typing import Any, TypedDict

from trueup.conform.coerce import Options, Profile
from trueup.verdict.catalogue import Accept


class Given(TypedDict, total=False):
    """What `Contract` takes beside the schema."""

    tools: Any
    order: Any
    calls: Any
    rules: Any
    reply: Any
    states: Any
    fallbacks: Any
    checks: Any
    accept: Accept
    coerce: Profile | Options
    strict: bool
    max_size: int
    max_depth: int
    name: str
    language: str
    version: str
