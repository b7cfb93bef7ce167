"""Options of coercion: how far a value may be brought to its types, and other names that it may use."""

from typing import Literal

import msgspec

Profile = Literal["off", "standard", "eager"]


class Options(msgspec.Struct, frozen=True):
    """How far coercion may go. `aliases` gives other names of a key or an enum value."""

    profile: Profile = "standard"
    aliases: dict[str, list[str]] = {}
    enum_prefixes: tuple[str, ...] = ()
    enum_delimiters: tuple[str, ...] = ()


STANDARD = Options()
