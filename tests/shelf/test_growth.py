"""The cost of ready checks grows with the reply, whatever the reply is."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.growth import assert_linear
from trueup.shelf.seen import Seen
from trueup.shelf.table import SHELF, load

OPTIONS: dict[str, dict[str, Any]] = {
    "language": {"language": "es"},
    "urls": {"allow": ["example.com"]},
    "terms": {"forbid": ["a b", "aa"]},
    "no_phone": {"region": "US"},
}
HOSTILE: dict[str, Callable[[int], str]] = {
    "letters": lambda n: "a" * n,
    "digits": lambda n: "4" * n,
    "spaced digits": lambda n: "4 " * (n // 2),
    "at signs": lambda n: "a@" * (n // 2),
    "dots": lambda n: "a." * (n // 2),
    "slashes": lambda n: "http://" * (n // 7),
    "user names": lambda n: "http://" + "a:" * (n // 2) + "@b",
    "keys": lambda n: "sk-" * (n // 3),
    "names of keys": lambda n: "api_key=" * (n // 8),
    "headers": lambda n: "-----BEGIN " * (n // 11),
    "tokens": lambda n: "eyJaaaaaaaaa." * (n // 13),
    "sentences": lambda n: "One two three four five. " * (n // 25),
    "fences": lambda n: "```python\nx = 1\n```\n" * (n // 20),
    "open fences": lambda n: "```json\n" * (n // 8),
    "brackets": lambda n: "```json\n" + "[" * n,
    "blanks": lambda n: " " * n,
    "backticks": lambda n: "`" * n,
    "tags": lambda n: "<a " * (n // 3),
}


@pytest.mark.growth
@pytest.mark.parametrize("shape", HOSTILE)
@pytest.mark.parametrize("name", [name for name, row in SHELF.items() if row.code])
def test_the_cost_is_linear(name: str, shape: str) -> None:
    look = load(SHELF[name], OPTIONS.get(name, {}))
    context = {"prompt": "a a a a a a a a one two three four five " * 20}
    assert_linear(lambda text: list(look(Seen(text, context))), HOSTILE[shape], 100_000, what=f"{name}, {shape}")


@pytest.mark.parametrize(
    "code",
    [
        "(" * 5000,
        "-" * 100_000 + "1",
        "x = " + "[" * 80 + "]" * 80,
        "a" + "+a" * 20_000,
        "if x:\n" * 3,
        "\x00",
        "\ud800",
        "f(" * 95 + ")" * 95,
    ],
)
@pytest.mark.parametrize("language", ["python", "json", "sql"])
def test_no_error_escapes_a_parser(language: str, code: str) -> None:
    list(load(SHELF["code"], {"code": language})(Seen(f"```{language}\n{code}\n```")))
