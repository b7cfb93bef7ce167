"""Ready checks take time in proportion to the reply, whatever the reply is."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.growth import assert_linear
from trueup import Contract
from trueup.shelf.subject import CheckedText
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
    "references": lambda n: "&#64;" * (n // 5),
    "escapes": lambda n: "\\u0040" * (n // 6),
    "invisible": lambda n: "a\u200b" * (n // 2),
    "full width": lambda n: "＠４" * (n // 2),
    "links": lambda n: "](//a.b" * (n // 7),
    "open links": lambda n: "](" * (n // 2),
    "attributes": lambda n: 'href="' * (n // 6),
    "definitions": lambda n: "[a]:\n" * (n // 5),
    "schemes": lambda n: "a://" * (n // 4),
    "hosts": lambda n: "https://" + "a{b}." * (n // 5),
    "at in brackets": lambda n: "a (at) " * (n // 7),
    "passwords": lambda n: "password=a1b2c3d4 " * (n // 18),
    "marks behind": lambda n: "http://a" + ")." * (n // 2),
    "dashes": lambda n: "4111-" * (n // 5),
}


@pytest.mark.growth
@pytest.mark.parametrize("shape", HOSTILE)
@pytest.mark.parametrize("name", [name for name, row in SHELF.items() if row.code])
def test_the_cost_is_linear(name: str, shape: str) -> None:
    look = load(SHELF[name], OPTIONS.get(name, {}))
    context = {"prompt": "a a a a a a a a one two three four five " * 20}
    data = SHELF[name].plain or None  # with a value, the text may be JSON
    assert_linear(
        lambda text: list(look(CheckedText(text, context, data))), HOSTILE[shape], 100_000, what=f"{name}, {shape}"
    )


@pytest.mark.growth
@pytest.mark.parametrize("name", [name for name, row in SHELF.items() if row.code])
def test_the_cost_of_a_value_is_linear(name: str) -> None:
    contract = Contract({"type": "array"}, checks=[{name: OPTIONS.get(name, {})}])
    text = '"ada@example.org, https://u:Kq82vLx9@evil.org, a b"'
    assert_linear(contract.check, lambda n: f"[{', '.join([text] * n)}]", 2_000, what=name)


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
    list(load(SHELF["code"], {"code": language})(CheckedText(f"```{language}\n{code}\n```")))
