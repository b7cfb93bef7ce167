"""Token counts in one shape: input_tokens, output_tokens, total_tokens, reasoning_tokens, cached_tokens, cache_write_tokens.

The input includes cache reads and writes, and the output includes reasoning, as with most providers; if a provider reports
them separately, they are added. A missing count is left out; one that is not a whole number, or impossibly large, is ignored.
"""

from typing import Any

from trueup.read.objects import Row, record, rows

Usage = dict[str, int]
_PLAIN = frozenset({"prompt_tokens", "completion_tokens", "total_tokens"})
MOST = 10**12  # tokens: more than any reply has, and costs computed from it are still exact
_NAMES = (
    "input_tokens", "output_tokens", "total_tokens", "reasoning_tokens", "cached_tokens", "cache_write_tokens",
    "cache_write_hour_tokens",
)  # fmt: skip


def _count(value: Any) -> int | None:
    if (type(value) is int or (type(value) is float and value.is_integer())) and 0 <= value <= MOST:
        return int(value)
    return None


def counts(
    taken: Any, given: Any, *, total: Any = None, reasoning: Any = None, cached: Any = None, written: Any = None, hour: Any = None,
) -> Usage:  # fmt: skip
    """The valid counts; the total is computed if it is missing, or less than its parts.

    `cached` was read from a cache, `written` was written to one, `hour` is the part of it that is kept for an hour; the last
    two are left out if they are 0, as they are without a cache.

    >>> counts(9, 3.0, reasoning=-1, cached="many")
    {'input_tokens': 9, 'output_tokens': 3, 'total_tokens': 12}
    """
    found: Usage = {}
    for name, value in zip(
        _NAMES, (taken, given, total, reasoning, cached, written or None, hour or None), strict=True
    ):
        number = _count(value)
        if number is not None:
            found[name] = number
    if "input_tokens" in found and "output_tokens" in found:
        found["total_tokens"] = max(found.get("total_tokens", 0), found["input_tokens"] + found["output_tokens"])
    return found


def openai(source: Any) -> Usage:
    """Chat Completions, Responses and compatible APIs: the prompt includes cache reads and writes.

    Writes are `cache_write_tokens` of the details with OpenAI and OpenRouter; LiteLLM puts Anthropic's beside them. Whatever
    the total has beyond input and output is reasoning: xAI, and servers that translate Gemini's counts, leave it out of the
    output.
    """
    if not source:
        return {}
    usage = record(source)
    get = usage.get
    if len(usage) == 3 and usage.keys() == _PLAIN and all(type(n) is int and 0 <= n <= MOST for n in usage.values()):
        sent, got, total = usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]
        if total == sent + got:
            return {"input_tokens": sent, "output_tokens": got, "total_tokens": total}
    before = get("prompt_tokens_details") or get("input_tokens_details")
    after = get("completion_tokens_details") or get("output_tokens_details")
    taken, given = get("prompt_tokens"), get("completion_tokens")
    found = counts(
        get("input_tokens") if taken is None else taken,
        get("output_tokens") if given is None else given,
        total=get("total_tokens"),
        reasoning=record(after).get("reasoning_tokens") if after else get("reasoning_tokens"),
        cached=_first(record(before).get("cached_tokens"), get("num_cached_tokens"), get("prompt_cache_hit_tokens")),
        written=_first(record(before).get("cache_write_tokens"), get("cache_creation_input_tokens")),
        hour=record(record(before).get("cache_creation_token_details")).get("ephemeral_1h_input_tokens"),
    )
    if "input_tokens" in found and "output_tokens" in found:
        found["output_tokens"] = found["total_tokens"] - found["input_tokens"]
    return found


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def anthropic(source: Any) -> Usage:
    """Anthropic's Messages: `input_tokens` excludes cache reads and writes."""
    if not source:
        return {}
    get = record(source).get
    cached, made = _count(get("cache_read_input_tokens")), _count(get("cache_creation_input_tokens"))
    hour = record(get("cache_creation")).get("ephemeral_1h_input_tokens")
    return counts(
        _sum(get("input_tokens"), cached, made),
        get("output_tokens"),
        cached=cached,
        written=made,
        hour=hour,
    )


def _sum(taken: Any, *more: int | None) -> int | None:
    """The input plus what the provider counts beside it; None if it did not count the input."""
    count = _count(taken)
    return None if count is None else count + sum(part or 0 for part in more)


def gemini(source: Any) -> Usage:
    if not source:
        return {}
    usage = record(source)

    def get(camel: str, snake: str) -> int | None:
        return _count(usage.get(camel, usage.get(snake)))

    thoughts = get("thoughtsTokenCount", "thoughts_token_count")
    given = get("candidatesTokenCount", "candidates_token_count")
    if thoughts:
        given = (given or 0) + thoughts
    # Input from a provider's own tool is input too, and counted beside the prompt.
    return counts(
        _sum(
            get("promptTokenCount", "prompt_token_count"), get("toolUsePromptTokenCount", "tool_use_prompt_token_count")
        ),
        given,
        total=get("totalTokenCount", "total_token_count"),
        reasoning=thoughts,
        cached=get("cachedContentTokenCount", "cached_content_token_count"),
    )


def bedrock(source: Any) -> Usage:
    """Converse: `inputTokens` excludes cache reads and writes; so may the total."""
    if not source:
        return {}
    get = record(source).get
    cached, made = _count(get("cacheReadInputTokens")), _count(get("cacheWriteInputTokens"))
    taken = _sum(get("inputTokens"), cached, made)
    hour = sum(
        _count(part.get("inputTokens")) or 0
        for part in map(record, rows(get("cacheDetails")))
        if part.get("ttl") == "1h"
    )
    total = None if cached or made else get("totalTokens")
    return counts(taken, get("outputTokens"), total=total, cached=cached, written=made, hour=hour)


def ollama(body: Row) -> Usage:
    return counts(body.get("prompt_eval_count"), body.get("eval_count"))


def cohere(source: Any) -> Usage:
    if not source:
        return {}
    usage = record(source)
    tokens = record(usage.get("tokens") or usage.get("billed_units"))
    return counts(
        tokens.get("input_tokens"),
        tokens.get("output_tokens"),
        cached=usage.get("cached_tokens"),
    )


def langchain(source: Any) -> Usage:
    if not source:
        return {}
    get = record(source).get
    before = record(get("input_token_details"))
    minutes, hour = _count(before.get("ephemeral_5m_input_tokens")), _count(before.get("ephemeral_1h_input_tokens"))
    return counts(
        get("input_tokens"),
        get("output_tokens"),
        total=get("total_tokens"),
        reasoning=record(get("output_token_details")).get("reasoning"),
        cached=before.get("cache_read"),
        written=before.get("cache_creation") or (minutes or 0) + (hour or 0),
        hour=hour,
    )


def vercel(source: Any) -> Usage:
    if not source:
        return {}
    get = record(source).get
    taken, given = get("inputTokens"), get("outputTokens")
    before = record(get("inputTokenDetails"))
    return counts(
        get("promptTokens") if taken is None else taken,
        get("completionTokens") if given is None else given,
        total=get("totalTokens"),
        reasoning=get("reasoningTokens"),
        cached=_first(get("cachedInputTokens"), before.get("cacheReadTokens")),
        written=before.get("cacheWriteTokens"),
    )


def gluellm(source: Any) -> Usage:
    if not source:
        return {}
    get = record(source).get
    return counts(get("prompt"), get("completion"), total=get("total"))
