"""List prices: the table, how a model is found in it, and the cost of calls with caches."""

from datetime import date
from typing import Any

import pytest

from trueup import Contract, Policy, Price
from trueup.ask.prices import listed, table


def test_every_row_has_a_price_a_date_and_a_source() -> None:
    rows = table()
    assert len(rows) > 100
    assert {row.provider for row in rows.values()} >= {"openai", "anthropic", "gemini", "mistral"}
    for name, row in rows.items():
        assert name == row.model
        assert 0 < row.price.input <= row.price.output < 1_000
        assert row.price.cached is None or 0 < row.price.cached <= row.price.input
        assert row.price.cache_write is None or row.price.cache_write >= row.price.input
        assert row.source.startswith("https://")
        assert date(2026, 1, 1) <= row.date <= date(2030, 1, 1)
        assert (row.price.long is None) == (row.price.long_after is None)


@pytest.mark.parametrize(
    ("asked", "row"),
    [
        ("gpt-4o", "gpt-4o"),
        ("gpt-4o-2024-11-20", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),  # it has its own price
        ("openai/gpt-4.1-mini", "gpt-4.1-mini"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("anthropic/claude-haiku-4-5", "claude-haiku-4-5"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("gemini/gemini-2.5-flash-001", "gemini-2.5-flash"),
    ],
)
def test_a_model_is_found_by_its_name_with_a_prefix_or_a_date(asked: str, row: str) -> None:
    found = listed(asked)
    assert found is not None
    assert found.model == row


@pytest.mark.parametrize(
    "asked",
    ["", "llama3", "gpt-4o-audio-preview", "my-gpt-4o", "gpt-4o-ft", "openai/claude-haiku-4-5", "openrouter/openai/gpt-4o", "GPT-4o"],
)  # fmt: skip
def test_a_name_that_is_only_similar_stays_unknown(asked: str) -> None:
    assert listed(asked) is None
    assert Policy().cost(asked, {"input_tokens": 1, "output_tokens": 1}) is None


def test_a_given_price_overrides_the_list() -> None:
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}
    assert Policy().cost("gpt-4o", usage) == pytest.approx(table()["gpt-4o"].price.input)
    assert Policy(prices={"gpt-4o": Price(7.0, 7.0)}).cost("gpt-4o", usage) == pytest.approx(7.0)
    assert Policy(prices={"*": Price(3.0, 3.0)}).cost("gpt-4o", usage) == pytest.approx(3.0)


PRICE = Price(3.0, 15.0, cached=0.3, cache_write=3.75, cache_write_hour=6.0)


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"input_tokens": 1_000_000, "output_tokens": 0}, 3.0),
        ({"input_tokens": 1_000_000, "output_tokens": 100_000}, 4.5),
        ({"input_tokens": 1_000_000, "output_tokens": 0, "cached_tokens": 400_000}, 1.8 + 0.12),
        ({"input_tokens": 1_000_000, "output_tokens": 0, "cache_write_tokens": 400_000}, 1.8 + 1.5),
        (
            {"input_tokens": 1_000_000, "output_tokens": 0, "cache_write_tokens": 400_000, "cache_write_hour_tokens": 100_000},
            1.8 + 0.3 * 3.75 + 0.6,
        ),
        ({"input_tokens": 500_000, "output_tokens": 0, "cached_tokens": 200_000, "cache_write_tokens": 300_000}, 0.06 + 1.125),
    ],
)  # fmt: skip
def test_cache_reads_and_writes_have_their_own_prices(usage: dict[str, int], cost: float) -> None:
    assert PRICE.of(usage) == pytest.approx(cost)


def test_reads_and_writes_without_a_price_cost_what_other_input_costs() -> None:
    usage = {"input_tokens": 1_000_000, "output_tokens": 0, "cached_tokens": 400_000, "cache_write_tokens": 400_000}
    assert Price(3.0, 15.0).of(usage) == pytest.approx(3.0)


def test_a_long_request_may_have_another_price() -> None:
    price = Price(1.0, 2.0, long_after=200_000, long=Price(3.0, 6.0))
    assert price.of({"input_tokens": 200_000, "output_tokens": 0}) == pytest.approx(0.2)
    assert price.of({"input_tokens": 200_001, "output_tokens": 0}) == pytest.approx(0.600003)


@pytest.mark.parametrize("usage", [{}, {"input_tokens": 3}, {"output_tokens": 3}, {"total_tokens": 9}])
def test_uncounted_usage_has_no_cost(usage: dict[str, Any]) -> None:
    assert PRICE.of(usage) is None


@pytest.mark.parametrize("wrong", [{"input": -1}, {"output": float("nan")}, {"cached": "0.1"}, {"cache_write": True}])
def test_a_price_is_a_number(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be a price per million tokens, 0 or more"):
        Price(**{"input": 1.0, "output": 2.0, **wrong})


def test_a_model_among_the_parameters_is_the_one_that_is_priced() -> None:
    contract = Contract({"type": "object"})
    prices = {"small": Price(1.0, 1.0), "large": Price(100.0, 100.0)}
    usage = {"prompt_tokens": 500, "completion_tokens": 500, "total_tokens": 1_000}

    def model(messages: Any, model: str = "", max_tokens: int | None = None) -> Any:
        asked.append((model, max_tokens))
        return {"choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}], "usage": usage}

    asked: list[tuple[str, int | None]] = []
    policy = Policy(models=("small",), parameters={"model": "large"}, prices=prices, money=1.0)
    answer = contract.ask(model, "Hi", policy)
    assert answer.cost == 0.1
    assert answer.attempts[0].model == "large"
    [(name, limit)] = asked
    assert (name, limit is not None and limit < 10_000) == ("large", True)
    with pytest.raises(ValueError, match="the price of 'unheard-of' is not known"):
        contract.ask(model, "Hi", Policy(parameters={"model": "unheard-of"}, money=1.0))
