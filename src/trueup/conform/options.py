"""Options of coercion: how much a value may be coerced to its types, and other names that it may use.

They can be given together with any schema. Takes a profile, a mapping or `Options`; returns `Options`.
"""

from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from trueup.verdict.catalogue import Profile


class Options(msgspec.Struct, frozen=True):
    """How values are coerced to the schema: the option `coerce`, if a profile alone does not say enough.

    - `profile`: how much values may be coerced to their types: `off`, `standard` or `eager`.
    - `aliases`: other names of a key or an enum value; empty: none.
    - `enum_prefixes`: prefixes that are dropped before a value is compared with an enum; empty: none.
    - `enum_delimiters`: delimiters between which a text may list values of an enum; empty: none.
    """

    profile: Profile = "standard"
    aliases: dict[str, list[str]] = {}
    enum_prefixes: tuple[str, ...] = ()
    enum_delimiters: tuple[str, ...] = ()


STANDARD = Options()
_PROFILES = get_args(Profile)


def read_options(given: Any) -> Options:
    """The options that `coerce` means; raises a ValueError that says what is wrong with it.

    >>> read_options({"enum_prefixes": ["shadow "]}).enum_prefixes, read_options("eager").profile
    (('shadow ',), 'eager')
    """
    if isinstance(given, Options):
        return given
    if isinstance(given, str) and given in _PROFILES:
        given = {"profile": given}
    keys = Options.__struct_fields__
    if not isinstance(given, Mapping):
        known = f"{', '.join(_PROFILES)}, Options, or a mapping of {', '.join(keys)}"
        raise ValueError(f"coerce must be one of {known}; got {given!r}")  # noqa: TRY004 - it may also be an unknown word
    for key in given:
        if key not in keys:
            from trueup.verdict.likeness import nearest  # loaded by the first wrong name

            near = nearest(str(key), keys)
            also = f"did you mean {near!r}?" if near else f"it has {', '.join(keys)}"
            raise ValueError(f"coerce has no option {key!r}; {also}")
    try:
        return msgspec.convert(dict(given), Options)
    except msgspec.ValidationError as error:
        raise ValueError(f"coerce: {str(error).replace('$.', '')}") from None
