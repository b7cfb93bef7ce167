"""The providers' list prices, shipped as `prices.toml`, which is read when the first price is looked up.

Takes the name of a model, as a request or a reply spells it; returns its price, or None if the table does not contain it. It does not
guess: a name is looked up as it is, then without the provider's prefix (`openai/`, `models/`), then without a date or version at its end
(`-2024-08-06`, `-20250929`, `@20250929`, `-001`, `-latest`).
"""

import tomllib
from datetime import date
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any
from warnings import warn

import msgspec

from trueup.ask.policy import Price
from trueup.verdict.patterns import lazy_regex

_VERSION = lazy_regex(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|00\d|latest)\Z")


class PriceRow(msgspec.Struct, frozen=True):
    """One row of the table."""

    model: str
    """The name of the model in the table."""
    price: Price
    """Its list price, in US dollars per million tokens."""
    provider: str
    """The provider, such as `openai`."""
    source: str
    """The address at which the provider publishes its prices."""
    date: date
    """When the price was looked up."""
    most_output: int | None = None
    """The most tokens that one of the model's replies can have; None if not known."""


@cache
def _read() -> tuple[dict[str, PriceRow], tuple[tuple[str, str], ...]]:
    """The rows of the table, and the prefixes of model names, each with its provider."""
    data = tomllib.loads((files("trueup.ask") / "prices.toml").read_text("utf-8"))
    providers = {name: about for name, about in data.items() if isinstance(about, dict)}
    rows = {
        model: PriceRow(model, _price(facts), provider, about["source"], about["date"], facts.get("most_output"))
        for provider, about in providers.items()
        for model, facts in about["models"].items()
    }
    return rows, tuple((prefix, name) for name, about in providers.items() for prefix in about["prefixes"])


def table() -> dict[str, PriceRow]:
    """The whole table, by the names of the models.

    >>> table()["gpt-4o-mini"].price.input
    0.15
    """
    return dict(_read()[0])


@lru_cache(maxsize=1024)
def listed(model: str) -> PriceRow | None:
    """The row of `model`; None if the table does not contain it.

    >>> listed("openai/gpt-4o-2024-11-20").model, listed("models/gemini-2.5-pro").model, listed("my-gpt-4o")
    ('gpt-4o', 'gemini-2.5-pro', None)
    """
    found = _row(model, None)
    if found is not None:
        return found
    for prefix, provider in _read()[1]:
        if model.startswith(prefix):
            return _row(model.removeprefix(prefix), provider)
    return None


def _row(name: str, provider: str | None) -> PriceRow | None:
    rows = _read()[0]
    row = rows.get(name) or rows.get(_VERSION.sub("", name))
    return row if row is None or provider in {None, row.provider} else None


def _price(facts: dict[str, Any]) -> Price:
    plain = {name: value for name, value in facts.items() if name not in {"most_output", "long"}}
    return Price(**plain, long=_price(facts["long"]) if "long" in facts else None)


def __getattr__(name: str) -> Any:
    if name == "Listed":
        warn("trueup.ask.prices.Listed is deprecated since 0.2; use PriceRow", DeprecationWarning, stacklevel=2)
        return PriceRow
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
