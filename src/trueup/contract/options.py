"""The options of a contract. Each is declared once, here: its name, type, default and sentence, and the values in a
contract file.

Everything else is derived: the signature and the docstring of `Contract`, the tables for type checkers, the keys of
contract files and their JSON Schema, the text form, the fingerprint, and the defaults of the command line.
tests/contract/test_options.py compares each of them with this table.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypedDict, get_args

from trueup.verdict.catalogue import Accept, Profile

if TYPE_CHECKING:
    from trueup.conform.options import Options
    from trueup.contract.option_types import (
        CallsGiven,
        ChecksGiven,
        GroundedGiven,
        JsonSchema,
        OrderGiven,
        QualityGiven,
        RelevanceGiven,
        ReplyGiven,
        RulesGiven,
        StatesGiven,
        Tools,
    )


class Option(NamedTuple):
    """The properties of one option, besides its name and its type."""

    about: str
    """Its purpose, in a sentence."""
    unset: str = ""
    """The meaning of its default, if that is None or empty."""
    default: Any = None
    in_files: str | None = ""
    """The sentence for contract files, if they take something other than Python does; None: not allowed in a file."""
    choices: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    identifies: bool = False
    """Whether a file with this key is certainly a contract."""
    merges: bool = True
    """Whether a file that extends another adds to the inherited part; otherwise it replaces the whole part."""
    counts: Literal["as given", "as compiled", "never"] = "as given"
    """How it enters the fingerprint."""

    @property
    def file_sentence(self) -> str:
        """The text that editors show for the key of a contract file."""
        return self.in_files or self.about


class ToolOptions(TypedDict, total=False):
    """The options about tools, except the order of their calls."""

    tools: Annotated[
        "Tools | None",
        Option(
            "The tools that may be called: functions, classes, or definitions in any provider's shape.",
            "a reply with a `schema` may make no calls, and the calls of any other reply are not judged, unless the "
            "context says which tools were `offered`",
            in_files="The tools that are offered, in any provider's shape: inline, or the path of a file.",
            identifies=True, counts="as compiled",
        ),
    ]  # fmt: skip
    calls: Annotated[
        "CallsGiven | None",
        Option(
            "How calls are judged, as `CallOptions` or its fields.",
            "the defaults",
            in_files="How calls are judged.",
        ),
    ]


class OtherOptions(TypedDict, total=False):
    """The options besides the schema, the tools, and how these are called."""

    order: Annotated[
        "OrderGiven | None",
        Option(
            "The order of calls, as a list of names, an `Order` or its fields.",
            "any order",
            in_files="The order of calls: a sequence of names, or rules about it.",
            identifies=True,
        ),
    ]
    rules: Annotated[
        "RulesGiven | None",
        Option(
            "Conditions that the data must meet: a list of expressions, or a mapping of simple checks and rules.",
            "no rules",
            identifies=True,
        ),
    ]
    input: Annotated[
        "Sequence[str] | bool | None",
        Option(
            "The fields of a unit's input that rules use in addition to those of the reply; True allows any field.",
            "no field is declared",
            in_files="The fields of a unit's input that rules use in addition to those of the reply; true allows any field.",
            counts="never",
        ),
    ]
    reply: Annotated[
        "ReplyGiven | None",
        Option(
            "Whether a text is worth charging for: True for the usual rules, or a mapping that sets each rule.",
            "any text passes",
            in_files="Whether a text is worth charging for: true for the usual rules, or a table that sets each rule.",
            identifies=True, counts="as compiled",
        ),
    ]  # fmt: skip
    states: Annotated[
        "StatesGiven | None",
        Option(
            "The states of the conversation, and the text that is allowed in each.",
            "there are no states",
            identifies=True,
        ),
    ]
    fallbacks: Annotated[
        "Mapping[str, str] | None",
        Option(
            "For each state, the text to send if no reply passes; `default` is for all other states.",
            "no text",
            identifies=True,
        ),
    ]
    checks: Annotated[
        "ChecksGiven | None",
        Option(
            "Checks of your own: functions, `CustomCheck`s, or names of installed ones; and ready checks, by name.",
            "no such checks",
            in_files="Checks, by name: ready ones and custom ones.",
            identifies=True, counts="as compiled",
        ),
    ]  # fmt: skip
    quality: Annotated[
        "QualityGiven | None",
        Option(
            "A learned score of the reply: the `model` that `trueup learn` wrote, `below`, `level` and `shadow`.",
            "no score",
            in_files="A learned score of the reply.",
            identifies=True, counts="as compiled",
        ),
    ]  # fmt: skip
    relevance: Annotated[
        "RelevanceGiven | None",
        Option(
            "Whether the reply is about the question, in English: True, or a mapping with `below` and `level`.",
            "not judged",
            in_files="Whether the reply is about the user's question, in English: true for the defaults, or a table.",
            identifies=True,
        ),
    ]
    grounded: Annotated[
        "GroundedGiven | None",
        Option(
            "Which values must appear in the source that the context gives: True for all, a list of fields, or a mapping of settings.",
            "none, unless the schema says so by `x-grounded`",
            in_files="Which values must appear in the source that the context gives: true for all, a list of fields, or a table.",
            identifies=True,
        ),
    ]
    accept: Annotated[
        "Accept",
        Option(
            "The riskiest grade of fix that a reply may need and still be ok: `none`, `lossless`, `guess` or `lossy`.",
            in_files="The riskiest grade of fix that a reply may need and still be ok.",
            default="guess",
            choices=get_args(Accept),
        ),
    ]
    coerce: Annotated[
        "Profile | Options | Mapping[str, Any]",
        Option(
            "How much values are coerced to their types: `off`, `standard`, `eager`, `Options`, or a mapping of their fields.",
            default="standard",
            in_files="How much values are coerced to the schema's types.",
            choices=get_args(Profile), identifies=True,
        ),
    ]  # fmt: skip
    strict: Annotated[
        bool,
        Option("Whether to refuse replies with warnings, and replies that can be read in several ways.", default=False),
    ]
    max_size: Annotated[int, Option("The longest reply that is read, in characters.", default=10_000_000, least=1)]
    max_depth: Annotated[int, Option("The deepest nesting that is read.", default=500, least=1, most=500)]
    name: Annotated[
        str, Option("The contract's name in logs, the store and the gateway.", "no name", default="", counts="never")
    ]
    language: Annotated[
        str, Option("The language of the text that is sent to the model, such as en or es.", "English", default="")
    ]
    version: Annotated[str, Option("Your own version of the contract, for your records.", "no version", default="")]


class ContractOptions(ToolOptions, OtherOptions, total=False):
    """The options of `Contract` besides the schema, for functions that pass them on: `**options: Unpack[Given]`."""


class _First(TypedDict, total=False):
    schema: Annotated[
        "type[Any] | JsonSchema | Any",
        Option(
            "A pydantic model, a dataclass, a TypedDict, a msgspec Struct or another annotation; a JSON Schema, as a dict or as "
            "the path of a file; or True for any JSON value.",
            "the reply is text",
            in_files="The JSON Schema of the reply's value: inline, or the path of a file, or true for any value.",
            identifies=True, merges=False, counts="as compiled",
        ),
    ]  # fmt: skip


class Loaded(_First, ContractOptions, total=False):
    """The options of `Contract.load`, besides the path: each option overrides the one in the file."""


OPTIONS: dict[str, Option] = {name: form.__metadata__[0] for name, form in Loaded.__annotations__.items()}
"""Every option of `Contract`, by its name."""

DEFAULTS: Loaded = {name: option.default for name, option in OPTIONS.items()}  # type: ignore[assignment]

FILE_ONLY: dict[str, Option] = {
    "$schema": Option("The JSON Schema of contract files, for editors."),
    "description": Option("The purpose of the contract, in a sentence."),
    "extends": Option(
        "Contract files that this one starts from, relative to this file; later ones win.", identifies=True
    ),
    "examples": Option("Example replies, and the expected result of each.", merges=False),
}
"""The keys of a contract file that are not options: they are for editors, people, loading and lint."""

FILE_KEYS: dict[str, Option] = {
    **FILE_ONLY,
    **{name: each for name, each in OPTIONS.items() if each.in_files is not None},
}
"""Every key that a contract file may have."""


def options_in(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a contract file as options of `Contract`.

    >>> options_in({"version": 2, "description": "Orders", "schema": True})
    {'version': '2', 'schema': True}
    """
    return {
        key: str(part) if key == "version" else part  # YAML reads 1.2 as a number
        for key, part in data.items()
        if key not in FILE_ONLY
    }


def refuse_bad_values(options: Mapping[str, Any]) -> None:
    """Refuse an unsupported value of an option; larger parts are checked when they are compiled."""
    for name, value in options.items():
        option = OPTIONS[name]
        if name == "accept" and value not in option.choices:
            raise ValueError(f"{name} must be one of {', '.join(option.choices)}; got {value!r}")
        if isinstance(option.default, bool) and not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False; got {value!r}")
        if option.least is not None:
            _refuse_bad_number(name, value, option.least, option.most)


def _refuse_bad_number(name: str, value: Any, least: int, most: int | None) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number; got {value!r}")
    if value < least or (most is not None and value > most):
        limits = f"at least {least}" if most is None else f"between {least} and {most}"
        raise ValueError(f"{name} must be {limits}; got {value!r}")
