"""Write the table of list prices, `src/trueup/ask/prices.toml`, from two public lists that are installed for development.

Reads the price lists of LiteLLM and genai-prices. A model is listed if both have the same prices for its input and output; all
others stay unknown. What caches and long requests cost is taken from the list that has it.
Run it as `python tools/prices.py` after updating both packages.
"""

import json
import re
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "src/trueup/ask/prices.toml"
# our name: (LiteLLM's, genai-prices', prefixes of its model names, where the provider publishes its prices)
PROVIDERS = {
    "anthropic": ("anthropic", "anthropic", ["anthropic/"], "https://claude.com/pricing#api"),
    "cohere": ("cohere_chat", "cohere", ["cohere/"], "https://cohere.com/pricing"),
    "gemini": ("gemini", "google", ["gemini/", "google/", "models/"], "https://ai.google.dev/gemini-api/docs/pricing"),
    "mistral": ("mistral", "mistral", ["mistral/"], "https://mistral.ai/pricing#api"),
    "openai": ("openai", "openai", ["openai/"], "https://openai.com/api/pricing/"),
    "xai": ("xai", "x-ai", ["xai/"], "https://docs.x.ai/docs/models"),
}
FIELDS = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cached": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
    "cache_write_hour": "cache_creation_input_token_cost_above_1hr",
}
OTHER_FIELDS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cached": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
    "cache_write_hour": "cache_write_1h_mtok",
}
_NOT_TEXT = re.compile(
    r"audio|realtime|search|image|tts|transcribe|embed|live|vision|computer|ft:|/|guard|robotics|exp\b"
)
_ABOVE = re.compile(r"input_cost_per_token_above_(\d+)k_tokens$")


def main() -> None:
    spec = find_spec("litellm")  # found, not imported: importing it downloads a newer list
    assert spec is not None
    assert spec.origin is not None
    listed = json.loads((Path(spec.origin).parent / "model_prices_and_context_window_backup.json").read_text())
    lines = [
        "# List prices of models, in US dollars per million tokens: the providers' standard tier, without discounts.",
        f"# Written by tools/prices.py from LiteLLM {version('litellm')} and genai-prices {version('genai-prices')};",
        "# a model is listed if both agree on its input and output. `long` holds for requests of more than `long_after` input tokens.",
        "",
        'currency = "USD"',
    ]
    for name, (ours, theirs, prefixes, source) in PROVIDERS.items():
        models = _models(listed, ours, theirs)
        lines += [
            "",
            f"[{name}]",
            f"date = {datetime.now(UTC).date().isoformat()}",
            f'source = "{source}"',
            f"prefixes = {json.dumps(prefixes)}",
        ]
        lines += ["", f"[{name}.models]", *(f'"{model}" = {_inline(price)}' for model, price in sorted(models.items()))]
        sys.stdout.write(f"{name}: {len(models)} models\n")
    TARGET.write_text("\n".join(lines) + "\n")


def _models(listed: dict[str, Any], ours: str, theirs: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, facts in listed.items():
        if facts.get("litellm_provider") != ours or facts.get("mode") not in {"chat", "responses"}:
            continue
        name = name.removeprefix(f"{ours}/").removeprefix("cohere/")
        price = _price(facts)
        other = _other(name, theirs) if price and not _NOT_TEXT.search(name) else {}
        if other and (price["input"], price["output"]) == (other["input"], other["output"]):
            found[name] = price if "long" in price else price | _long(other)
    return {
        name: price for name, price in found.items() if found.get(_undated(name)) != price or _undated(name) == name
    }


def _price(facts: dict[str, Any]) -> dict[str, Any]:
    price = {name: round(facts[field] * 1e6, 6) for name, field in FIELDS.items() if facts.get(field)}
    if "input" not in price or "output" not in price:
        return {}
    if price.get("cache_write", 0) < price["input"]:  # a price below plain input is not the price of a write
        price.pop("cache_write", None)
    above = next((found[1] for field in facts if (found := _ABOVE.match(field))), None)
    if above:
        ends = f"_above_{above}k_tokens"
        long = {name: round(facts[field + ends] * 1e6, 6) for name, field in FIELDS.items() if facts.get(field + ends)}
        price |= {"long_after": int(above) * 1000, "long": {"input": price["input"], "output": price["output"]} | long}
    if facts.get("max_output_tokens"):
        price["most_output"] = int(facts["max_output_tokens"])
    return price


def _other(name: str, provider: str) -> dict[str, Any]:
    """The prices in genai-prices, including long requests; empty if it does not have the model."""
    from genai_prices import Usage, calc_price
    from genai_prices.types import TieredPrices

    try:
        listed = calc_price(Usage(input_tokens=1000, output_tokens=1000), name, provider_id=provider).model_price
    except LookupError:
        return {}
    price: dict[str, Any] = {}
    for ours, theirs in OTHER_FIELDS.items():
        value = getattr(listed, theirs)
        if isinstance(value, TieredPrices):
            tier = value.tiers[0]
            price["long_after"] = tier.start
            price.setdefault("long", {})[ours] = round(float(tier.price), 6)
            value = value.base
        if value is not None:
            price[ours] = round(float(value), 6)
    return price


def _long(price: dict[str, Any]) -> dict[str, Any]:
    """The price of a long request, if it is known."""
    if "long" not in price:
        return {}
    long = {"input": price["input"], "output": price["output"], **price["long"]}
    return {"long_after": price["long_after"], "long": long}


def _undated(name: str) -> str:
    return re.sub(r"[-@](\d{4}-\d{2}-\d{2}|\d{8}|latest|00\d)$", "", name)


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_inline(item)}" for name, item in value.items()) + " }"
    return f"{value:_}" if isinstance(value, int) else f"{value:g}"


if __name__ == "__main__":
    main()
