"""Contract files: tokens of YAML, JSON and TOML, repeated (X2, X6)."""

from collections.abc import Callable
from contextlib import suppress

from tests.shapes.shape import Shape, repeated
from trueup.contract.files.documents import parse_document
from trueup.contract.files.faults import ContractError

_TOKENS = {
    ".yaml": ["[", "{", "- ", "a: ", "? ", '\\"', '"', "'", "&a ", "!", "#", "\n", "a ", "[a],", "|\n", "\t", "{a: b}, ", "- &a b\n- *a\n"],
    ".json": ["[", '{"a":', '\\"', '"', "1", "\\", "[1],", " ", "-"],
    ".toml": ["a=1\n", "[a]\n", "[[a]]\n", "[", '"', '\\"', "x={", "a.", "\n"],
}  # fmt: skip


def _parsed(kind: str) -> Callable[[str], object]:
    def run(text: str) -> None:
        with suppress(ContractError):  # most of them are refused, with a place
            parse_document(text, "x", kind)

    return run


REPEATED = [
    Shape(repr(token), repeated(token), _parsed(kind), 40_000, 3.0, kind)
    for kind, tokens in _TOKENS.items()
    for token in tokens
]
DEEP = [
    Shape("brackets that close", lambda n: "[" * n + "]" * n, _parsed(".yaml"), 100_000, 2.0, ".yaml"),
    Shape("brackets that close", lambda n: "[" * n + "]" * n, _parsed(".json"), 100_000, 2.0, ".json"),
    Shape("brackets that close", lambda n: "a = " + "[" * n + "]" * n, _parsed(".toml"), 100_000, 2.0, ".toml"),
]
