"""Token counts in one shape: input_tokens, output_tokens, total_tokens, reasoning_tokens, cached_tokens.

Input counts what was read from a cache, output counts reasoning, as most providers do; where a provider keeps them
apart, they are added. What it did not say is left out; what is no count, or none that could be, is ignored.
"""

from typing import Any

from trueup.read.objects import Row, record

Usage = dict[str, int]
_PLAIN = frozenset({"prompt_tokens", "completion_tokens", "total_tokens"})
MOST = 10**12  # of tokens: more than any reply has, and money counted with it is still exact
_NAMES = ("input_tokens", "output_tokens", "total_tokens", "reasoning_tokens", "cached_tokens")


def _count(value: Any) -> int | None:
    if (type(value) is int or (type(value) is float and value.is_integer())) and 0 <= value <= MOST:
        return int(value)
    return None


def counts(taken: Any, given: Any, total: Any = None, reasoning: Any = None, cached: Any = None) -> Usage:
    """The counts that are counts; the total is worked out where it was not told.

    >>> counts(9, 3.0, None, -1, "many")
    {'input_tokens': 9, 'output_tokens': 3, 'total_tokens': 12}
    """
    found: Usage = {}
    for name, value in zip(_NAMES, (taken, given, total, reasoning, cached), strict=True):
        number = _count(value)
        if number is not None:
            found[name] = number
    if "total_tokens" not in found and "input_tokens" in found and "output_tokens" in found:
        found["total_tokens"] = found["input_tokens"] + found["output_tokens"]
    return found


def openai(source: Any) -> Usage:
    """Chat Completions and Responses, and all that speak like them."""
    if not source:
        return {}
    usage = record(source)
    get = usage.get
    if len(usage) == 3 and usage.keys() == _PLAIN and all(type(n) is int and 0 <= n <= MOST for n in usage.values()):
        return {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"], "total_tokens": usage["total_tokens"]}  # fmt: skip
    before = get("prompt_tokens_details") or get("input_tokens_details")
    after = get("completion_tokens_details") or get("output_tokens_details")
    taken, given = get("prompt_tokens"), get("completion_tokens")
    return counts(
        get("input_tokens") if taken is None else taken,
        get("output_tokens") if given is None else given,
        get("total_tokens"),
        record(after).get("reasoning_tokens") if after else get("reasoning_tokens"),
        record(before).get("cached_tokens") if before else get("num_cached_tokens"),
    )


def anthropic(source: Any) -> Usage:
    if not source:
        return {}
    get = record(source).get
    cached, made = _count(get("cache_read_input_tokens")), _count(get("cache_creation_input_tokens"))
    taken = _count(get("input_tokens"))
    if taken is not None:
        taken += (cached or 0) + (made or 0)
    return counts(taken, get("output_tokens"), None, None, cached)


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
    return counts(
        get("promptTokenCount", "prompt_token_count"),
        given,
        get("totalTokenCount", "total_token_count"),
        thoughts,
        get("cachedContentTokenCount", "cached_content_token_count"),
    )


def bedrock(source: Any) -> Usage:
    if not source:
        return {}
    get = record(source).get
    return counts(get("inputTokens"), get("outputTokens"), get("totalTokens"), None, get("cacheReadInputTokens"))


def ollama(body: Row) -> Usage:
    return counts(body.get("prompt_eval_count"), body.get("eval_count"))


def cohere(source: Any) -> Usage:
    if not source:
        return {}
    usage = record(source)
    tokens = record(usage.get("tokens") or usage.get("billed_units"))
    return counts(tokens.get("input_tokens"), tokens.get("output_tokens"), None, None, usage.get("cached_tokens"))


def langchain(source: Any) -> Usage:
    if not source:
        return {}
    get = record(source).get
    return counts(
        get("input_tokens"),
        get("output_tokens"),
        get("total_tokens"),
        record(get("output_token_details")).get("reasoning"),
        record(get("input_token_details")).get("cache_read"),
    )


def vercel(source: Any) -> Usage:
    if not source:
        return {}
    get = record(source).get
    taken, given = get("inputTokens"), get("outputTokens")
    return counts(
        get("promptTokens") if taken is None else taken,
        get("completionTokens") if given is None else given,
        get("totalTokens"),
        get("reasoningTokens"),
        get("cachedInputTokens"),
    )


def gluellm(source: Any) -> Usage:
    if not source:
        return {}
    get = record(source).get
    return counts(get("prompt"), get("completion"), get("total"))
