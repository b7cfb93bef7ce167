"""Usage as providers report it: caches are counted beside the input by some and inside it by others."""

from typing import Any

import pytest

from trueup.ask.policy import Price
from trueup.read import usage

# Anthropic does not count cached tokens in `input_tokens`; neither does Bedrock.
ANTHROPIC = {
    "input_tokens": 21,
    "cache_creation_input_tokens": 188_086,
    "cache_read_input_tokens": 1_000,
    "cache_creation": {"ephemeral_5m_input_tokens": 100_000, "ephemeral_1h_input_tokens": 88_086},
    "output_tokens": 393,
    "service_tier": "standard",
}
BEDROCK = {
    "inputTokens": 21,
    "outputTokens": 393,
    "totalTokens": 414,
    "cacheReadInputTokens": 1_000,
    "cacheWriteInputTokens": 188_086,
    "cacheDetails": [{"ttl": "5m", "inputTokens": 100_000}, {"ttl": "1h", "inputTokens": 88_086}],
}
# OpenAI and all others count it in.
OPENAI = {
    "prompt_tokens": 2_006,
    "completion_tokens": 300,
    "total_tokens": 2_306,
    "prompt_tokens_details": {"cached_tokens": 1_920, "audio_tokens": 0, "cache_write_tokens": 64},
    "completion_tokens_details": {"reasoning_tokens": 120, "audio_tokens": 0},
}
RESPONSES = {
    "input_tokens": 2_006,
    "input_tokens_details": {"cached_tokens": 1_920, "cache_write_tokens": 64},
    "output_tokens": 300,
    "output_tokens_details": {"reasoning_tokens": 120},
    "total_tokens": 2_306,
}
LITELLM = {  # a reply of Anthropic's, as LiteLLM gives it
    "prompt_tokens": 189_107,
    "completion_tokens": 393,
    "total_tokens": 189_500,
    "prompt_tokens_details": {
        "cached_tokens": 1_000,
        "cache_creation_tokens": 188_086,
        "cache_creation_token_details": {"ephemeral_5m_input_tokens": 100_000, "ephemeral_1h_input_tokens": 88_086},
    },
    "cache_creation_input_tokens": 188_086,
    "cache_read_input_tokens": 1_000,
}
LANGCHAIN = {  # the same, as langchain_anthropic gives it
    "input_tokens": 189_107,
    "output_tokens": 393,
    "total_tokens": 189_500,
    "input_token_details": {
        "cache_read": 1_000,
        "cache_creation": 0,
        "ephemeral_5m_input_tokens": 100_000,
        "ephemeral_1h_input_tokens": 88_086,
    },
}
DEEPSEEK = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_cache_hit_tokens": 64,
    "prompt_cache_miss_tokens": 36,
}
GEMINI = {
    "promptTokenCount": 1_000,
    "cachedContentTokenCount": 800,
    "candidatesTokenCount": 40,
    "thoughtsTokenCount": 60,
    "toolUsePromptTokenCount": 15,
    "totalTokenCount": 1_115,
}
CLAUDE = {
    "input_tokens": 189_107,
    "output_tokens": 393,
    "total_tokens": 189_500,
    "cached_tokens": 1_000,
    "cache_write_tokens": 188_086,
    "cache_write_hour_tokens": 88_086,
}
GPT = {
    "input_tokens": 2_006,
    "output_tokens": 300,
    "total_tokens": 2_306,
    "reasoning_tokens": 120,
    "cached_tokens": 1_920,
    "cache_write_tokens": 64,
}


@pytest.mark.spec("A11")
@pytest.mark.parametrize(
    ("reader", "body", "counts"),
    [
        (usage.anthropic, ANTHROPIC, CLAUDE),
        (usage.bedrock, BEDROCK, CLAUDE),
        (usage.openai, LITELLM, CLAUDE),
        (usage.langchain, LANGCHAIN, CLAUDE),
        (usage.openai, OPENAI, GPT),
        (usage.openai, RESPONSES, GPT),
        (usage.openai, DEEPSEEK, {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120, "cached_tokens": 64}),
        (
            usage.gemini,
            GEMINI,
            {"input_tokens": 1_015, "output_tokens": 100, "total_tokens": 1_115, "reasoning_tokens": 60, "cached_tokens": 800},
        ),
        (
            usage.vercel,
            {"inputTokens": 50, "outputTokens": 5, "totalTokens": 55, "inputTokenDetails": {"cacheReadTokens": 30, "cacheWriteTokens": 10}},
            {"input_tokens": 50, "output_tokens": 5, "total_tokens": 55, "cached_tokens": 30, "cache_write_tokens": 10},
        ),
    ],
    ids=["anthropic", "bedrock", "litellm", "langchain", "openai", "responses", "deepseek", "gemini", "vercel"],
)  # fmt: skip
def test_the_input_includes_tokens_read_from_and_written_to_the_cache(
    reader: Any, body: dict[str, Any], counts: dict[str, int]
) -> None:
    assert reader(body) == counts


def test_one_reply_costs_the_same_for_every_form_of_usage() -> None:
    price = Price(3.0, 15.0, cached=0.3, cache_write=3.75, cache_write_hour=6.0)
    found = [usage.anthropic(ANTHROPIC), usage.bedrock(BEDROCK), usage.openai(LITELLM), usage.langchain(LANGCHAIN)]
    expected = (21 * 3.0 + 1_000 * 0.3 + 100_000 * 3.75 + 88_086 * 6.0 + 393 * 15.0) / 1e6
    assert [price.of(counts) for counts in found] == [pytest.approx(expected)] * 4


def test_without_a_cache_there_are_no_cache_counts() -> None:
    body = {"input_tokens": 5, "output_tokens": 2, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    assert usage.anthropic(body) == {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7, "cached_tokens": 0}


@pytest.mark.parametrize(
    ("body", "output"),
    [
        # xAI counts reasoning beside the output, and in the total.
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135, "completion_tokens_details": {"reasoning_tokens": 94}}, 103),
        # So do servers that translate Gemini's counts, some without saying what it is.
        ({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}, 603),
        ({"prompt_tokens": 21, "completion_tokens": 0, "total_tokens": 81, "completion_tokens_details": {"reasoning_tokens": 60}}, 60),
        # A total that is less than its parts is none.
        ({"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 1}, 50),
        ({"input_tokens": 100, "output_tokens": 50, "total_tokens": 0}, 50),
    ],
)  # fmt: skip
def test_output_includes_reasoning_that_is_only_in_the_total(body: dict[str, Any], output: int) -> None:
    counts = usage.openai(body)
    assert counts["output_tokens"] == output
    assert counts["total_tokens"] == counts["input_tokens"] + output
