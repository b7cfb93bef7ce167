"""Bugs in the user's own code: a validator, a check or a rule function that raises, and the line where it happened.

This module takes an exception. It is either a fault of the reply (the code refused the reply on purpose) or a bug in the code. A bug
gets a note that names the check and the user's line, and a mark that batches and the gateway recognize. The exception is not
replaced. pydantic and msgspec are recognized without being imported.
"""

import os
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, NamedTuple, TypeVar

from trueup.verdict.facts import Finding, finding

E = TypeVar("E", bound=BaseException)
R = TypeVar("R")

_MARK = "__trueup_bug__"
_MOST = 300  # characters of an exception's message
_OURS = __file__.removesuffix(f"verdict{os.sep}bugs.py")
_LIBRARY = os.__file__.removesuffix("os.py")
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_VALIDATORS = tuple(f"{place}{name}{os.sep}" for place in _INSTALLED for name in ("pydantic", "msgspec"))


class Bug(NamedTuple):
    """A bug that is safe to show to anyone: without the exception's text and without data of the reply."""

    kind: str  # the type of the exception: KeyError
    what: str  # whose code raised: the check 'price'
    function: str  # where it was raised: price, Order.positive
    place: str  # file:line of the user's code; empty if there is none

    def __str__(self) -> str:
        inside = f" in {self.function}" if self.function else ""
        where = f" ({self.place}{inside})" if self.place else ""
        return f"{self.what} raised {self.kind}{where}"

    def finding(self) -> Finding:
        """The bug as a finding (X001), for callers that judge many replies and must not stop."""
        text = str(self)
        message = f"{text[:1].upper()}{text[1:]}: a bug in the contract, not a fault of the reply"
        data = {"error": self.kind, "source": self.what, "function": self.function, "place": self.place}
        return finding("X001", "$", message, None, data, "Fix the code, then judge the reply again.")


def bug_in(error: BaseException) -> BaseException | None:
    """The exception that is a bug, or None if the user's code refused the reply on purpose.

    It is the exception itself, or the one that msgspec wrapped: `__post_init__` may raise a TypeError. An exception that is already
    marked as a bug stays a bug, such as one from a contract that a check uses.

    >>> bug_in(ValueError("too cheap")), bug_in(AssertionError()), bug_in(KeyError("price"))
    (None, None, KeyError('price'))
    """
    if _MARK in vars(error):
        return error
    cause = error.__cause__
    package, _, _ = type(error).__module__.partition(".")
    if package == "msgspec":
        return None if cause is None else bug_in(cause)
    if package == "pydantic_core":
        return error if type(error).__name__ == "SchemaError" else None
    return None if isinstance(error, ValueError | AssertionError) else error


def is_fault(error: BaseException) -> bool:
    """Whether an exception of the user's code refuses the reply; any other exception is a bug.

    >>> is_fault(ValueError("too cheap")), is_fault(ZeroDivisionError())
    (True, False)
    """
    return bug_in(error) is None


def pointed(error: E, what: str, function: Any = None) -> E:
    """The same exception with a note and a mark: `what` (such as "the check 'price'") raised it, at this line of the user's code.

    If the traceback has no line of the user's code, the place is where `function` is defined. Call this where the exception is caught:
    `raise pointed(error, …)`.
    """
    code, line = _innermost(error)
    if code is None:
        code = _code_of(function)
        line = code.co_firstlineno if code is not None else 0
    name = "" if code is None else code.co_qualname.replace("<locals>.", "").rpartition("<module>")[2]
    place = "" if code is None else f"{_shown(code.co_filename)}:{line}"
    bug = Bug(type(error).__name__, what, name, place)
    kept = vars(error)  # a frozen exception refuses setattr and add_note
    kept[_MARK] = bug
    where = f" at {place}" if place else ""
    note = f"This is a bug in {what}{where}, not a fault of the reply"
    notes = kept.setdefault("__notes__", [])
    if note not in notes:
        notes.append(note)
    return error


def bug_of(error: BaseException) -> Bug | None:
    """The bug that `pointed` noted on an exception or on one of its causes; None for any other exception.

    >>> bug_of(pointed(KeyError("price"), "the check 'price'")).kind, bug_of(KeyError("price"))
    ('KeyError', None)
    """
    visited: set[int] = set()
    here: BaseException | None = error
    while here is not None and id(here) not in visited:
        bug = vars(here).get(_MARK)
        if isinstance(bug, Bug):
            return bug
        visited.add(id(here))
        here = here.__cause__
    return None


def tried(judge: Callable[..., R], *arguments: Any) -> R | None:
    """The result of judging a part of a reply, or None if that hits a bug: it may work on the whole reply, where it is run again."""
    try:
        return judge(*arguments)
    except (Exception, SystemExit) as error:
        if bug_of(error) is None:
            raise
        return None


def refusal(error: BaseException) -> str:
    """The message of an exception that refuses a reply, on one line; empty if it has none.

    >>> refusal(ValueError("too cheap")), refusal(AssertionError())
    ('too cheap', '')
    """
    faults = getattr(error, "errors", None)
    if type(error).__module__.partition(".")[0] == "pydantic_core" and callable(
        faults
    ):  # its text has many lines and an address
        parts = [".".join(map(str, fault["loc"])) + ": " * bool(fault["loc"]) + fault["msg"] for fault in faults()]
        message = "; ".join(parts)
    else:
        message = str(error)
    return " ".join(message.split())[:_MOST]


def _innermost(error: BaseException) -> tuple[CodeType | None, int]:
    """The innermost frame of the user's own code, or of an installed package if there is no other."""
    installed: tuple[CodeType | None, int] = (None, 0)
    own: tuple[CodeType | None, int] = (None, 0)
    for code, line in _frames(error):
        file = code.co_filename
        if file.startswith((_OURS, "<frozen ")) or any(part in file for part in _VALIDATORS):
            continue
        if any(part in file for part in _INSTALLED):
            installed = code, line
        elif not file.startswith(_LIBRARY):
            own = code, line
    return own if own[0] is not None else installed


def _frames(error: BaseException) -> Iterator[tuple[CodeType, int]]:
    if error.__cause__ is not None and error.__cause__ is not error:  # the outer frames come first
        yield from _frames(error.__cause__)
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame.f_code, step.tb_lineno
        step = step.tb_next


def _code_of(function: Any) -> CodeType | None:
    """The code of a function, of a partial's function, or of a callable object."""
    function = getattr(function, "func", function)
    for one in (function, getattr(type(function), "__call__", None)):  # noqa: B004 - this reads its code
        code = getattr(getattr(one, "__func__", one), "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None


def _shown(file: str) -> str:
    """The path of a file, relative to the current folder if the file is inside it."""
    from pathlib import Path  # imported only if there is a bug

    try:
        return file.removeprefix(f"{Path.cwd()}{os.sep}")
    except OSError:  # the folder is gone
        return file
