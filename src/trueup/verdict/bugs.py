"""Bugs in the user's own code: a validator, a check or a rule function that raises, and where it did.

An exception enters. It is either a fault of the reply (the code refused it on purpose) or a bug in the code; a bug gets a note that
names the check and the user's line, and a mark by which batches and the gateway know it. The exception itself stays what it is.
pydantic and msgspec are recognised without being imported.
"""

import os
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, NamedTuple, TypeVar

from trueup.verdict.facts import Finding, finding

E = TypeVar("E", bound=BaseException)
R = TypeVar("R")

_MARK = "__trueup_bug__"
_MOST = 300  # characters of what an exception says
_OURS = __file__.removesuffix(f"verdict{os.sep}bugs.py")
_LIBRARY = os.__file__.removesuffix("os.py")
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_VALIDATORS = tuple(f"{place}{name}{os.sep}" for place in _INSTALLED for name in ("pydantic", "msgspec"))


class Bug(NamedTuple):
    """A bug as it may be shown to anyone: no text of the exception, no data of the reply."""

    kind: str  # the type of the exception: KeyError
    what: str  # whose code it is: the check 'price'
    function: str  # where it was raised: price, Order.positive
    place: str  # file:line of the user's code; empty where there is none

    def __str__(self) -> str:
        inside = f" in {self.function}" if self.function else ""
        where = f" ({self.place}{inside})" if self.place else ""
        return f"{self.what} raised {self.kind}{where}"

    def finding(self) -> Finding:
        """The bug as a finding, for those who judge many replies and must go on: X001."""
        said = str(self)
        message = f"{said[:1].upper()}{said[1:]}: a bug in the contract, not a fault of the reply"
        data = {"error": self.kind, "source": self.what, "function": self.function, "place": self.place}
        return finding("X001", "$", message, None, data, "Fix the code, then judge the reply again.")


def bug_in(error: BaseException) -> BaseException | None:
    """The exception that is a bug, None where the user's code refused the reply on purpose.

    It is the exception itself, or the one that msgspec wrapped: `__post_init__` may raise a TypeError. An exception that is marked
    as a bug stays one, such as that of a contract which a check uses.

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
    """Whether an exception of the user's code refuses the reply; any other is a bug.

    >>> is_fault(ValueError("too cheap")), is_fault(ZeroDivisionError())
    (True, False)
    """
    return bug_in(error) is None


def pointed(error: E, what: str, function: Any = None) -> E:
    """The same exception with a note and a mark: `what` (such as "the check 'price'") raised it, at this line of the user's.

    Where no line of the user's code is in the traceback, the place is that of `function`. Call it where the exception is caught:
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
    """What `pointed` noted about an exception or about one that caused it; None for any other exception.

    >>> bug_of(pointed(KeyError("price"), "the check 'price'")).kind, bug_of(KeyError("price"))
    ('KeyError', None)
    """
    seen: set[int] = set()
    here: BaseException | None = error
    while here is not None and id(here) not in seen:
        bug = vars(here).get(_MARK)
        if isinstance(bug, Bug):
            return bug
        seen.add(id(here))
        here = here.__cause__
    return None


def tried(judge: Callable[..., R], *given: Any) -> R | None:
    """What judging a part of a reply gives, None where a bug shows: the same code may do well with the whole, or be asked again then."""
    try:
        return judge(*given)
    except (Exception, SystemExit) as error:
        if bug_of(error) is None:
            raise
        return None


def refusal(error: BaseException) -> str:
    """What an exception that refuses a reply says about it, on one line; empty where it says nothing.

    >>> refusal(ValueError("too cheap")), refusal(AssertionError())
    ('too cheap', '')
    """
    faults = getattr(error, "errors", None)
    if type(error).__module__.partition(".")[0] == "pydantic_core" and callable(
        faults
    ):  # its text has many lines and an address
        parts = [".".join(map(str, fault["loc"])) + ": " * bool(fault["loc"]) + fault["msg"] for fault in faults()]
        said = "; ".join(parts)
    else:
        said = str(error)
    return " ".join(said.split())[:_MOST]


def _innermost(error: BaseException) -> tuple[CodeType | None, int]:
    """The innermost frame of the user's own code; of an installed package where there is no other."""
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
    """The code of a function, of what a `partial` calls, or of a callable object."""
    function = getattr(function, "func", function)
    for one in (function, getattr(type(function), "__call__", None)):  # noqa: B004 - its code is wanted
        code = getattr(getattr(one, "__func__", one), "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None


def _shown(file: str) -> str:
    """A file as people name it: from the current folder on where it is inside."""
    from pathlib import Path  # only where there is a bug

    try:
        return file.removeprefix(f"{Path.cwd()}{os.sep}")
    except OSError:  # the folder is gone
        return file
