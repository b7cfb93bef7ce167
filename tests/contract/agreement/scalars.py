"""Plain scalars, enums and literals, without a limit: JSON's own types, and the conversions that our coercion may make."""

from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from typing import Annotated, Any, Literal, NewType, Optional

from tests.contract.agreement.row import Reader, broken, coerced, invalid, row, valid

PLAIN = Reader.PLAIN
LIMITED = Reader.LIMITED


class Color(Enum):
    RED = "red"
    GREEN = "green"


class Priority(IntEnum):
    LOW = 1
    HIGH = 3


class Unit(StrEnum):
    METRE = "metre"
    MILE = "mile"


class Mixed(Enum):
    AUTO = "auto"
    FIVE = 5


UserId = NewType("UserId", int)
Email = NewType("Email", str)

ROWS = [
    row(
        "int",
        int,
        PLAIN,
        valid("36", 36),
        valid("-7", -7),
        coerced('"36"', 36, 36),
        coerced('" 7 "', 7, 7),
        coerced("5.0", 5, 5),
        coerced('"5.0"', 5, 5),
        invalid('"high"', "$"),
        invalid('"1_000"', "$"),
        invalid("true", "$"),
        invalid("5.5", "$"),
        invalid("null", "$"),
        broken("<answer>36</answer>", 36, 36),
        broken("36,", 36, 36),
    ),
    row(
        "float",
        float,
        PLAIN,
        valid("3.14", 3.14),
        valid("2", 2.0),
        coerced('"3.14"', 3.14, 3.14),
        invalid('"NaN"', "$"),
        invalid("true", "$"),
        invalid('"1,234"', "$"),
        invalid("null", "$"),
        broken(".5", 0.5, 0.5),
        broken("+1.5", 1.5, 1.5),
    ),
    row(
        "str",
        str,
        PLAIN,
        valid('"Ada"', "Ada"),
        valid('"36"', "36"),
        valid('" yes "', " yes "),
        coerced("42", "42", "42"),
        invalid("null", "$"),
        invalid('["a", "b"]', "$"),
        broken("'Ada'", "Ada", "Ada"),
        broken("“Ada”", "Ada", "Ada"),
    ),
    row(
        "bool",
        bool,
        PLAIN,
        valid("true", True),
        valid("false", False),
        coerced('"true"', True, True),
        coerced('"FALSE"', False, False),
        invalid('"yes"', "$"),
        invalid("1", "$"),
        invalid("null", "$"),
        broken("```\nTrue\n```", True, True),
        broken("False", False, False),
    ),
    row(
        "optional int",
        Optional[int],  # noqa: UP045 - the old spelling is one more annotation
        PLAIN,
        valid("36", 36),
        valid("null", None),
        coerced('"36"', 36, 36),
        invalid('"high"', "$"),
        invalid("true", "$"),
        broken("None", None, None),
    ),
    row(
        "str or None",
        str | None,
        PLAIN,
        valid('"Ada"', "Ada"),
        valid("null", None),
        invalid("[1, 2]", "$"),
        broken("```json\n'Ada'\n```", "Ada", "Ada"),
    ),
    row(
        "bool or None",
        bool | None,
        PLAIN,
        valid("false", False),
        valid("null", None),
        coerced('"True"', True, True),
        invalid('"no"', "$"),
        broken("<answer>true</answer>", True, True),
    ),
    row(
        "float or None",
        float | None,
        PLAIN,
        valid("0.25", 0.25),
        valid("null", None),
        coerced('"0.25"', 0.25, 0.25),
        invalid('"45 %"', "$"),
        broken("```\n.25\n```", 0.25, 0.25),
    ),
    row(
        "list of anything",
        list[Any],
        PLAIN,
        valid('[1, "x", null]', [1, "x", None]),
        invalid("null", "$"),
        broken("[1, 'x', None]", [1, "x", None], [1, "x", None]),
    ),
    row(
        "literal words",
        Literal["low", "high"],
        PLAIN,
        valid('"low"', "low"),
        coerced('"High"', "high", "high"),
        invalid('"medium"', "$"),
        invalid("null", "$"),
        broken("'high'", "high", "high"),
    ),
    row(
        "literal numbers",
        Literal[1, 2, 3],
        PLAIN,
        valid("2", 2),
        invalid("4", "$"),
        invalid("true", "$"),
        broken("```\n3\n```", 3, 3),
    ),
    row(
        "literal word or number",
        Literal["auto", 5],
        PLAIN,
        valid('"auto"', "auto"),
        valid("5", 5),
        invalid('"manual"', "$"),
        broken("<answer>'auto'</answer>", "auto", "auto"),
    ),
    row(
        "literal or None",
        Literal["a", "b"] | None,
        PLAIN,
        valid('"a"', "a"),
        valid("null", None),
        invalid('"zebra"', "$"),
        broken("```json\nNone\n```", None, None),
    ),
    row(
        "enum of words",
        Color,
        PLAIN,
        valid('"red"', Color.RED),
        coerced('"Green"', "green", Color.GREEN),
        invalid('"blue"', "$"),
        invalid("1", "$"),
        broken("'red'", "red", Color.RED),
    ),
    row(
        "enum of numbers",
        Priority,
        PLAIN,
        valid("3", Priority.HIGH),
        invalid("2", "$"),
        invalid("null", "$"),
        broken("```\n1\n```", 1, Priority.LOW),
    ),
    row(
        "string enum",
        Unit,
        PLAIN,
        valid('"mile"', Unit.MILE),
        coerced('"Metre"', "metre", Unit.METRE),
        invalid('"furlong"', "$"),
        broken("“mile”", "mile", Unit.MILE),
    ),
    row(
        "enum with a word and a number",
        Mixed,
        LIMITED,  # msgspec does not support enums of mixed values
        valid('"auto"', Mixed.AUTO),
        valid("5", Mixed.FIVE),
        invalid('"manual"', "$"),
        broken("```json\n5\n```", 5, Mixed.FIVE),
    ),
    row(
        "enum or None",
        Color | None,
        PLAIN,
        valid("null", None),
        valid('"green"', Color.GREEN),
        invalid('"blue"', "$"),
        broken("'green'", "green", Color.GREEN),
    ),
    row(
        "new type of int",
        UserId,
        PLAIN,
        valid("7", 7),
        coerced('"7"', 7, 7),
        invalid('"seven"', "$"),
        broken("<answer>7</answer>", 7, 7),
    ),
    row(
        "new type of str",
        Email,
        PLAIN,
        valid('"ada@example.org"', "ada@example.org"),
        invalid("null", "$"),
        broken("'ada@example.org'", "ada@example.org", "ada@example.org"),
    ),
    row(
        "int with a text beside it",
        Annotated[int, "years, rounded down"],
        PLAIN,
        valid("36", 36),
        coerced('"36"', 36, 36),
        invalid('"old"', "$"),
        invalid("true", "$"),
        broken("36,", 36, 36),
    ),
    row(
        "decimal",
        Decimal,
        PLAIN,
        valid('"19.90"', Decimal("19.90")),
        invalid('"nineteen"', "$"),
        invalid("null", "$"),
        broken("'19.90'", "19.90", Decimal("19.90")),
    ),
    row(
        "complex",
        complex,
        LIMITED,  # msgspec does not support complex numbers
        valid('"1+2j"', 1 + 2j),
        invalid('"one"', "$"),
        broken("'1+2j'", "1+2j", 1 + 2j),
    ),
    row(
        "fraction",
        Fraction,
        LIMITED,  # nor fractions
        valid('"1/3"', Fraction(1, 3)),
        invalid('"a third"', "$"),
        broken("```json\n'1/3'\n```", "1/3", Fraction(1, 3)),
    ),
]
