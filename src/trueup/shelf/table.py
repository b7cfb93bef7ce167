"""The table of ready checks: takes a name; returns its row, and the compiled check for a contract that uses it.

A module is imported when a contract names its check. A name that is not in the table is left to custom checks.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple, cast

from trueup.shelf.options import COMMON, BadOption
from trueup.shelf.reading import ReadText
from trueup.shelf.subject import CheckedText, Look, ReadyFinding


class Ready(NamedTuple):
    """One ready check."""

    name: str
    code: str
    module: str
    about: str
    """One sentence for editors and lists."""
    main: str = ""
    """The option that gets the value if the contract gives a text or a list; empty: the check has none."""
    needs: str = ""
    """The package that the check needs in addition to ours."""
    group: tuple[str, ...] = ()
    """The checks that this name includes; empty: it is a single check."""
    plain: bool = True
    """Whether it reads the plain text, without disguises, and each string of a value; on request also calls."""
    calls: bool = False
    """Whether it reads the arguments of tool calls by default."""


_ROWS = (
    Ready("no_secrets", "H001", "secrets", "No API keys, tokens, private keys or passwords.", calls=True),
    Ready("no_email", "H002", "emails", "No e-mail addresses.", "allow"),
    Ready("no_phone", "H003", "phones", "No telephone numbers.", "region", "phonenumbers"),
    Ready("no_card", "H004", "cards", "No payment card numbers."),
    Ready("no_iban", "H005", "ibans", "No bank account numbers (IBAN)."),
    Ready("no_personal_data", "", "", "No e-mail addresses, telephone, card or bank account numbers.",
          group=("no_email", "no_phone", "no_card", "no_iban")),
    Ready("language", "H006", "languages", "The reply is in one of these languages.", "language", "py3langid",
          plain=False),
    Ready("urls", "H007", "urls", "Addresses are well formed, not misleading, and on the list if there is one.", "allow", calls=True),
    Ready("code", "H008", "code", "Python, JSON and SQL in the reply parse.", "code", plain=False),
    Ready("terms", "H009", "terms", "Words that must not occur, and words that must.", "forbid"),
    Ready("no_prompt_leak", "H011", "leaks", "No parts of the system prompt."),
    Ready("no_repetition", "H012", "repetition", "The reply does not repeat itself.", plain=False),
)  # fmt: skip
SHELF: dict[str, Ready] = {row.name: row for row in _ROWS}
_LEVELS = ("error", "warning")


def options_of(row: Ready, given: Any) -> dict[str, Any]:
    """The options of a check as a mapping, from what a contract gives for its name.

    >>> options_of(SHELF["language"], ["es", "en"])
    {'language': ['es', 'en']}
    """
    if given is None or (given is True and not row.main):
        return {}
    if isinstance(given, Mapping):
        for key in given:
            if not isinstance(key, str):
                raise BadOption(f"{row.name}: the name of an option must be a text; got {key!r:.60}")
        return dict(given)
    if not row.main:
        raise BadOption(f"{row.name}: takes a mapping of options, such as {{level: warning}}; got {given!r:.60}")
    if not isinstance(given, str | list | tuple):
        raise BadOption(f"{row.name}: takes a text, a list or a mapping of options; got {given!r:.60}")
    return {row.main: list(given) if isinstance(given, tuple) else given}


def level_of(row: Ready, options: Mapping[str, Any]) -> str:
    """The level that the options of a check give to its findings; by default, `error`."""
    level = options.get("level", "error")
    if level not in _LEVELS:
        raise BadOption(f"{row.name}.level: takes error or warning; got {level!r:.60}")
    return str(level)


def reads_calls(row: Ready, options: Mapping[str, Any]) -> bool:
    """Whether a check reads the arguments of tool calls."""
    given = options.get("calls", row.calls)
    if not isinstance(given, bool):
        raise BadOption(f"{row.name}.calls: takes true or false; got {given!r:.60}")
    if given and not row.plain:
        raise BadOption(f"{row.name}.calls: {row.name} does not judge the arguments of calls")
    return given


def load(row: Ready, options: Mapping[str, Any]) -> Look:
    """The compiled check; raises `BadOption` for a bad option, ModuleNotFoundError if its package is not installed."""
    module = import_module(f"trueup.shelf.{row.module}")
    look = cast("Look", module.compile_check({key: value for key, value in options.items() if key not in COMMON}))
    return _reading(look) if row.plain else look


def _reading(look: Look) -> Look:
    """A check that gets the plain text and returns positions in the original."""

    def read(seen: CheckedText) -> Iterator[ReadyFinding]:
        reading = ReadText(seen.text, is_json=seen.data is not None)
        for told in look(seen._replace(text=reading.text)):
            yield told._replace(span=reading.span(*told.span)) if told.span else told

    return read
