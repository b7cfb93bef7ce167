"""ExpressionError: why an expression cannot be compiled or evaluated, and where in its text.

`column` counts characters from 1; it is 0 until the place is known. `suggestion` is the name that was probably meant.
"""

# Constants of JSON and other languages; used only after a lookup of a field with that name failed.
CONSTANTS = {
    "true": "True", "TRUE": "True", "false": "False", "FALSE": "False", "null": "None", "NULL": "None", "none": "None",
    "nil": "None", "undefined": "None",
}  # fmt: skip
_LONGEST = 100  # characters of a name for which a suggestion is looked up


class ExpressionError(ValueError):
    """A problem in an expression: what is wrong, where, and what was probably meant.

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
    """An expression needs more work than one evaluation may use."""

    def __init__(self) -> None:
        super().__init__("the expression takes too much work")


def nearest(word: str, words: list[str]) -> str:
    """The word in `words` that was probably meant; empty if no word is near.

    >>> nearest("max_ph", ["hp", "max_hp"])
    'max_hp'
    """
    if len(word) > _LONGEST:
        return ""
    from trueup.verdict.likeness import nearest as nearest_name  # imported only if a name is wrong

    return nearest_name(word, words[:1000]) or ""
