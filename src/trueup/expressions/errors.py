"""ExpressionError: why an expression cannot be compiled or gives no value, and where in its text.

`column` counts characters from 1; it is 0 until the place is known. `suggestion` is the name that was likely meant.
"""

# Constants as JSON and other languages write them; a field of that name was looked for before.
CONSTANTS = {
    "true": "True", "TRUE": "True", "false": "False", "FALSE": "False", "null": "None", "NULL": "None", "none": "None",
    "nil": "None", "undefined": "None",
}  # fmt: skip
_LONGEST = 100  # of a name that somebody may have misspelt


class ExpressionError(ValueError):
    """What is wrong with an expression, where, and what may have been meant.

    >>> str(ExpressionError("there is no field 'hpp'", 3, "hp"))
    "there is no field 'hpp' (column 3); did you mean 'hp'?"
    """

    def __init__(self, message: str, column: int = 0, suggestion: str = "") -> None:
        super().__init__(message, column, suggestion)
        self.message = message
        self.column = column
        self.suggestion = suggestion

    def __str__(self) -> str:
        place = f" (column {self.column})" if self.column else ""
        return f"{self.message}{place}" + (f"; did you mean {self.suggestion!r}?" if self.suggestion else "")


class OverBudget(ExpressionError):
    """An expression asked for more work than an evaluation may take."""

    def __init__(self) -> None:
        super().__init__("the expression takes too much work")


def nearest(word: str, words: list[str]) -> str:
    """The one of `words` that was likely meant, or nothing.

    >>> nearest("max_ph", ["hp", "max_hp"])
    'max_hp'
    """
    if len(word) > _LONGEST:
        return ""
    from trueup.verdict.likeness import nearest as nearest_name  # loaded where a name is wrong

    return nearest_name(word, words[:1000]) or ""
