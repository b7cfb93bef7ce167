"""Options of coercion: how far a value may be brought to its types, and other names that it may use."""

from typing import Literal

import msgspec

Profile = Literal["off", "standard", "eager"]


class Options(msgspec.Struct, frozen=True):
    """How values are coerced to the schema: the option `coerce`, if a profile alone does not say enough.

    - `profile`: how far values may be brought to their types: `off`, `standard` or `eager`.
    - `aliases`: other names of a key or an enum value; empty: none.
    - `enum_prefixes`: prefixes that are dropped before a value is compared with an enum; empty: none.
    - `enum_delimiters`: delimiters between which a text may list values of an enum; empty: none.
    """

    profile: Profile = "standard"
    aliases: dict[str, list[str]] = {}
    enum_prefixes: tuple[str, ...] = ()
    enum_delimiters: tuple[str, ...] = ()


STANDARD = Options()
