"""The quick lane of the reader: one container in the text, with simple faults that a few splices repair.

Takes a broken text and the decoder's error; returns a candidate, or None if the whole reader is needed.
"""

from collections.abc import Callable
from functools import cache

from trueup.recover.aims import Aims
from trueup.recover.candidate import Candidate
from trueup.recover.json.splice import CUT, splice
from trueup.verdict.patterns import lazy_regex

_PLAIN_OBJECT = ('{"', "{\n", "{'")
_LEAST_WORD = 4  # letters, as in "wait"
_FENCE_TAIL = lazy_regex(r"\s*```\s*\Z")


def repaired(text: str, aims: Aims, error: Exception | None) -> Candidate | None:
    """The one value of a text; `error` is the decoder's error for the whole text, if it was tried."""
    candidate = _spliced(text, aims, error)
    return None if candidate is None or _is_fragment(text, candidate, aims) else candidate


def _spliced(text: str, aims: Aims, error: Exception | None) -> Candidate | None:
    if error is not None and str(error) == CUT and _lacks_its_end(text):
        return splice(text, 0, len(text), aims.known, aims.max_depth, CUT)
    where = _region(text)
    if where is None:
        return None
    start, stop = where
    if start and _is_labelled(text, start, aims):
        return None
    fault = str(error) if error is not None and start == 0 else ""
    # if the decoder reached the end of the text, it would also reach the end of a stretch up to the last bracket
    if stop > 0 and (fault != CUT or _whole_rest(text, start) < len(text)):
        candidate = splice(text, start, stop, aims.known, aims.max_depth, fault if stop == len(text) else "")
        if candidate is not None and "S005" not in candidate.codes:
            return candidate
    rest = _whole_rest(text, start)
    if rest == stop:
        return None
    return splice(text, start, rest, aims.known, aims.max_depth, fault if rest == len(text) else "")


def _region(text: str) -> tuple[int, int] | None:
    """The stretch with the value; the whole text if it is clearly one object."""
    if text.startswith(_PLAIN_OBJECT) and text.endswith("}") and text.isascii() and "<" not in text:
        return 0, len(text)
    return _closer_look()(text)


def may_withdraw(text: str, stop: int) -> bool:
    """Whether the words after a value may retract it; a quick test that is True in case of doubt."""
    return len(text) - stop >= _LEAST_WORD and _words_after()(text, stop)


@cache
def _closer_look() -> Callable[[str], tuple[int, int] | None]:
    from trueup.recover.json.region import (
        region,  # loads the modules that read prose, so only when a reply first needs them
    )

    return region


@cache
def _words_after() -> Callable[[str, int], bool]:
    from trueup.recover.remarks import may_withdraw  # as above

    return may_withdraw


def _whole_rest(text: str, start: int) -> int:
    """Where the text from `start` ends, without a closing fence."""
    tail = _FENCE_TAIL.search(text, max(start, len(text) - 40))
    return tail.start() if tail else len(text)


def _lacks_its_end(text: str) -> bool:
    """Whether a list that was cut off after an item lacks only its own bracket, which has one possible place."""
    if text[:1] != "[" or text[-1:] not in ("}", "]"):
        return False
    return text.count("[") - text.count("]") == 1 and text.count("{") == text.count("}")


def _is_fragment(text: str, candidate: Candidate, aims: Aims) -> bool:
    """Whether the repaired value is only a bracket in prose or code."""
    if not candidate.spans[0][0] or not (aims.any_value or isinstance(candidate.value, list)):
        return False
    from trueup.recover.fragments import is_fragment  # as above

    return is_fragment(text, candidate, (0, len(text)), any_value=aims.any_value)


def _is_labelled(text: str, start: int, aims: Aims) -> bool:
    """Whether the value is a field among others, such as `tags: []` on a separate line, rather than the answer."""
    line = text.rfind("\n", 0, start) + 1
    if ":" not in text[line:start]:
        return False
    from trueup.recover.forms.lines import labelled  # as above

    return labelled(text, start, aims.root_keys | aims.item_keys)
