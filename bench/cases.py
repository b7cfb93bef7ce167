"""The material of the benchmark: the replies that `trueup bench` times as well, and hostile texts of any size."""

from collections.abc import Callable
from functools import partial

from trueup.measure.replies import BROKEN, COMPACT, DOCUMENT, PRETTY, SCHEMA, STREAM_SCHEMA, stream_document

__all__ = ["BROKEN", "COMPACT", "DOCUMENT", "FUZZ", "HOSTILE", "PRETTY", "SCHEMA", "STREAM_SCHEMA", "stream_document"]


def _fill(token: str, size: int) -> str:
    return token * (size // len(token))


_DECOY = 'Say {"id": 7, "draft": true, "note": "not the answer, only an example of the form that it could take here"}. '

# The five hostile shapes, then repeated tokens (X2). Each takes a size in characters.
HOSTILE: dict[str, Callable[[int], str]] = {
    "brackets": lambda n: "[" * (n // 10) + " " * (n - n // 10),
    'nested {"a":': lambda n: ('{"a":' * (n // 10)).ljust(n),
    "unterminated string": lambda n: '{"note": "' + _fill("lorem ipsum ", n),
    "stray quotes": lambda n: '{"note": "' + _fill('it "is so ', n) + '"}',
    "decoy objects": lambda n: _fill(_DECOY, n) + "That is all.",
}
_TOKENS = (
    '{"a"', '\\"', "7", "```\n", "<think>", '{"a":[', '"a","a"', "\\u0022", " ", "//", "/*", "[", "{", '"', "'", "}",
    '{"a":1,', "a: ", "- ", "<a>", "(", ",", ":", "`", "\\", "{'", "“", "…", "[1,", "\n", "#", "true ",
)  # fmt: skip
FUZZ: dict[str, Callable[[int], str]] = {f"repeat {token!r}": partial(_fill, token) for token in _TOKENS}
