"""Brackets in prose, code or another format that are not values: `see [1]`, `arr[0]`, `[Chorus]`, `size: {w: 1}` in YAML.

Takes a candidate and its text; returns whether it is only a fragment. A value that fills the whole text is never a fragment.
"""

from trueup.recover.candidate import Candidate
from trueup.verdict.patterns import lazy_regex

# A name or a closing bracket right before a bracket: an index, a call or a character class.
_GLUED = lazy_regex(r"[\w)\]}]\Z")
# A name and an equals sign: an argument of a larger expression.
_ARGUMENT = lazy_regex(r"\w=\Z")
# The sentence continues after the bracket.
_GOES_ON = lazy_regex(r"[ \t]*[,;]?[ \t]+[^\W\d_]|[ \t]*,[ \t]*[\[{]")
# A key in lower case at the start of a line.
_LABEL = lazy_regex(r"(?:\A|\n)[ \t]*[a-z_][\w.-]{0,40}[ \t]*[:=][ \t]*\Z")
_FIELD = lazy_regex(r"(?m)^[ \t]*[a-z_][\w.-]{0,40}[ \t]*[:=][ \t]*[^\s{\[]")
_WORD = lazy_regex(r"[^\W\d_][ \t]*\Z")
_NEAR = 60


def is_fragment(text: str, candidate: Candidate, inside: tuple[int, int], *, any_value: bool) -> bool:
    """Whether a JSON candidate is a fragment of something else; `inside` is the span of the text within its wrappers."""
    start, stop = candidate.spans[0][0], candidate.end
    if start <= inside[0] and stop >= inside[1]:
        return False
    if candidate.form == "mark":
        return True
    value = candidate.value
    before = text[max(0, start - _NEAR) : start]
    if not isinstance(value, dict) and (_GLUED.search(before) or text.startswith("[", stop)):
        return True
    if not any_value:
        return False
    if _ARGUMENT.search(before) or (_LABEL.search(before) and _FIELD.search(text)):
        return True
    if not value:
        return _WORD.search(before) is not None
    if isinstance(value, dict):
        return False
    return "S015" in candidate.codes or (len(value) == 1 and _GOES_ON.match(text, stop) is not None)
