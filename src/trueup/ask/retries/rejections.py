"""Reads from an error which part of a request a provider rejected: the mode, a feature, the prompt, or something that cannot be left out.

Takes the status, code and message of an error; returns the kind of failure and the feature. It knows the messages of OpenAI, Azure,
Anthropic, Gemini, Mistral, Groq, DeepSeek, Bedrock, vLLM, llama.cpp, Ollama and LiteLLM.
"""

from typing import Literal, NamedTuple

from trueup.ask.loop.plan import FailureKind
from trueup.ask.policy import Mode
from trueup.verdict.patterns import lazy_regex

Feature = Literal["temperature", "max_tokens", "tool_choice", "stream_options", "strict", "parallel"]

REFUSING = frozenset({400, 404, 415, 422, 501})
_MODE = lazy_regex(
    r"(?i)response_?format|json_?schema|json_?object|json mode|structured|output_?config|output_?format|text_?format|grammar|schema|mime_?\s?type|['\"`]format['\"`]"
)
_TOOLS = lazy_regex(r"(?i)\btools?\b|tool_use|function.?call|--jinja")
_SCHEMA = lazy_regex(
    r"(?i)invalid schema|invalid_json_schema|\bformat\.schema\b|schema (?:is )?(?:too|invalid|not valid)|too (?:complex|many|deep)"
    r"|compiled grammar|in context=|exceeds the maximum"
)
_UNSUPPORTED = lazy_regex(
    r"(?i)support|unrecogni[sz]ed|unknown|unexpected|extra|not (?:permitted|allowed|available|valid)|forbidden|deprecated|unavailable"
    r"|only be|cannot be|must not|instead|\binvalid\b"
)
_FILTERED = lazy_regex(
    r"(?i)content_filter|content_policy|contentpolicy|content (?:management )?policy|responsible_?ai|safety system|prohibited_content"
    r"|flagged|guardrail"
)
_THROTTLED = lazy_regex(r"(?i)rate_?limit|throttl|too_?many_?requests|resource_?exhausted|slow_?down|requests_limit")
_QUOTA = lazy_regex(r"(?i)insufficient_quota|billing|payment_required")


class _Sign(NamedTuple):
    """A pattern for a feature in a provider's message. If it is `certain`, the message need not say that the feature is not supported."""

    feature: Feature
    pattern: "object"
    certain: bool = False


_SIGNS = (
    _Sign("max_tokens", lazy_regex(r"max_completion_tokens"), certain=True),
    _Sign(
        "max_tokens",
        lazy_regex(r"(?i)\bmax_?tokens\b(?![^.]{0,40}(?:too large|at most|exceed|less than|greater|between))"),
    ),
    _Sign("temperature", lazy_regex(r"(?i)temperature"), certain=True),
    _Sign("parallel", lazy_regex(r"(?i)parallel[_ ]tool|disable_parallel")),
    _Sign(
        "tool_choice",
        lazy_regex(r"(?i)tool[_ ]?choice|function[_ ]?calling[_ ]?(?:config|mode)|forces tool use|forced tool"),
        certain=True,
    ),
    _Sign("stream_options", lazy_regex(r"(?i)stream_?options|include_usage|includeusage")),
    _Sign("strict", lazy_regex(r"(?i)invalid schema for (?:response_format|function)|\bstrict\b")),
)


def kind_of(
    status: int | None, code: str, said: str, mode: Mode = "text", *, retryable: bool
) -> tuple[FailureKind, str]:
    """The kind of failure, and the feature that the error is about.

    >>> said = "'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    >>> kind_of(400, "unsupported_parameter", said, retryable=False)
    ('feature', 'max_tokens')
    >>> kind_of(429, "rate_limit_exceeded", "Slow down", retryable=True)
    ('rate', '')
    >>> kind_of(401, "", "No such key", retryable=False)
    ('fatal', '')
    """
    words = f"{code} {said}"
    if _QUOTA.search(code):
        return "fatal", ""
    if status == 429 or (status in {None, 400, 503} and _THROTTLED.search(code)):
        return "rate", ""
    if status in REFUSING or (status is None and not retryable):
        if _FILTERED.search(words):
            return "refusal", ""
        rejected = _rejected(words, mode, silent=status is not None and not said)
        if rejected is not None:
            return rejected
    return "transient" if retryable else "fatal", ""


def _rejected(words: str, mode: Mode, *, silent: bool) -> tuple[FailureKind, str] | None:
    """The mode or feature to leave out; for a `silent` provider, which does not name it, the mode is tried first."""
    for sign in _SIGNS:
        if sign.pattern.search(words) and (sign.certain or _UNSUPPORTED.search(words)):  # type: ignore[attr-defined]
            return "feature", sign.feature
    if mode == "text":
        return None
    if silent or _MODE.search(words) or (mode == "tool" and _TOOLS.search(words)):
        return "mode", "schema" if _SCHEMA.search(words) else ""
    return None
