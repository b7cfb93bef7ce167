"""The expected result of each misbehaviour, from the documentation: the outcome, its reason, and the number of calls.

`once`: the server misbehaves only in its first answer. `always`: it misbehaves in every answer. The cells' policy allows
two retries and one repair.
"""

from typing import Any, NamedTuple


class Ending(NamedTuple):
    """How an ask may end: the possible outcomes and reasons, and the least and greatest number of calls."""

    outcomes: frozenset[str]
    reasons: frozenset[str]
    least: int
    most: int


class Expected(NamedTuple):
    """Both endings of a misbehaviour, and the other options of the ask: a deadline, a contract with tools, and more."""

    once: Ending
    always: Ending
    slow: bool = False  # it takes too long: a deadline, a timeout or cancelling ends it
    tools: bool = False  # the contract requires a tool call
    policy: dict[str, Any] = {}


def ending(outcomes: str, reasons: str, least: int, most: int | None = None) -> Ending:
    """Make an ending; the words are separated by blanks, and `-` means no reason."""
    why = frozenset("" if word == "-" else word for word in reasons.split())
    return Ending(frozenset(outcomes.split()), why, least, least if most is None else most)


GOOD = ending("accepted", "-", 1)
MENDED = ending("accepted", "-", 2)  # the second call got the good reply without a correction
CORRECTED = ending("repaired", "-", 2)
EITHER = ending("accepted repaired", "-", 2)
GIVEN_UP = ending("failed", "retries", 3)
UNREPAIRED = ending("failed degraded", "repairs same-fault", 2)
REJECTED = ending("failed", "rejected", 1)
REFUSED = ending("failed", "refusal", 1)
LATE = ending("failed", "deadline", 0, 1)

FINE = Expected(GOOD, GOOD)
RETRIED = Expected(MENDED, GIVEN_UP)
SLOW = Expected(ending("accepted", "-", 2, 3), LATE, slow=True)
FATAL = Expected(REJECTED, REJECTED)
REPAIRED = Expected(CORRECTED, UNREPAIRED)
LEARNED = Expected(ending("accepted", "-", 1, 2), ending("accepted", "-", 1, 2))  # without the rejected feature
NOTHING = RETRIED  # after an empty reply, the model is asked again
# Whether such a reply can be read depends on the provider's form. There is never an exception, or more calls than allowed.
ODD = Expected(
    ending("accepted repaired", "-", 1, 3),
    ending("accepted repaired degraded failed", "- retries repairs same-fault", 1, 4),
)

EXPECTED: dict[str, Expected] = {
    "never-answers": SLOW,
    "closes": RETRIED,
    "resets": RETRIED,
    "garbage": RETRIED,
    "hangs-midway": SLOW,
    "resets-midway": RETRIED,
    "cut-midway": RETRIED,
    "http-1.0": FINE,
    "length-too-long": ODD,  # the stream's own end mark comes before the missing bytes
    "length-too-short": ODD,
    "bad-chunks": RETRIED,
    "gzipped": FINE,
    "not-gzip": RETRIED,
    "gzip-bomb": Expected(EITHER, ending("failed", "retries repairs rejected unreadable", 1, 3)),
    "wrong-type": ODD,
    "redirects": Expected(ending("accepted failed", "- rejected", 1, 2), ending("failed", "rejected retries", 1, 70)),
    "no-stream": ODD,
    "blanks-first": FINE,
    "blanks-forever": SLOW,
    "comments-midway": SLOW,
    "drips": FINE,
    "drips-forever": SLOW,
    "drips-head": SLOW,
    "drips-events": SLOW,
    "no-finish": RETRIED,
    "no-done": FINE,
    "finished-twice": Expected(ending("accepted repaired", "-", 1, 2), ending("accepted repaired degraded", "- repairs same-fault", 1, 2)),
    "crlf-events": FINE,
    "error-event": RETRIED,
    "error-in-200": RETRIED,
    "html-200": Expected(EITHER, ending("failed", "retries repairs same-fault rejected unreadable", 1, 3)),
    "html-502": RETRIED,
    "empty-body": NOTHING,
    "null-body": NOTHING,
    "empty-object": Expected(EITHER, ending("failed", "retries repairs same-fault", 2, 3)),
    "cut-json": Expected(EITHER, ending("failed", "retries repairs same-fault", 2, 3)),
    "bom": ODD,
    "not-utf8": ODD,
    "empty-choices": NOTHING,
    "null-choices": NOTHING,
    "null-message": NOTHING,
    "null-content": NOTHING,
    "empty-text": NOTHING,
    "blank-text": NOTHING,
    "key-echoed": FATAL,
    "forbidden": FATAL,
    "no-such-model": FATAL,
    "too-large": FATAL,
    "unprocessable": FATAL,
    "no-schema-mode": Expected(ending("accepted", "-", 1, 3), ending("accepted", "-", 1, 3)),
    "no-temperature": LEARNED._replace(policy={"temperature": 0.5}),
    "no-max-tokens": LEARNED._replace(policy={"max_tokens": 500}),
    "no-tool-choice": LEARNED._replace(tools=True),
    "no-stream-options": LEARNED,
    "rate-limited": Expected(MENDED, ending("failed", "deadline", 1, 60)),
    "rate-limited-long": Expected(MENDED, ending("failed", "deadline", 2), policy={"models": ("m", "n")}),
    "server-error": RETRIED,
    "unavailable": RETRIED,
    "overloaded": RETRIED,
    "prose": REPAIRED,
    "chatty": FINE,
    "fenced": FINE,
    "thinking-aloud": FINE,
    "trailing-comma": FINE,
    "cut-at-length": Expected(EITHER, ending("failed", "retries repairs same-fault", 2, 3)),
    "refuses": Expected(REFUSED, REFUSED),
    "filtered": Expected(REFUSED, REFUSED),
    "wrong-tool": REPAIRED._replace(tools=True),
    "wrong-arguments": REPAIRED._replace(tools=True),
    "broken-arguments": Expected(ending("accepted repaired", "-", 1, 2), ending("accepted failed degraded", "- repairs same-fault", 1, 2), tools=True),
    "same-call-ids": Expected(ending("accepted repaired", "-", 1, 2), ending("accepted failed degraded", "- repairs same-fault", 1, 2), tools=True),
    "repeats-itself": Expected(EITHER, ending("failed", "retries repairs same-fault", 2, 3)),
    "huge": FINE,
    "deep": Expected(EITHER, ending("failed degraded", "retries repairs same-fault", 2, 3)),
    "nan": REPAIRED,
    "two-values": FINE,
    "no-usage": FINE,
    "zero-usage": FINE,
    "negative-usage": FINE,
    "absurd-usage": FINE,
    "other-model": FINE,
}  # fmt: skip

# Exceptions for a protocol or SDK, by client and form, with the reason.
_COMMENTS = ending("accepted failed", "- retries deadline", 1, 3)
_DROPPED = ending("accepted failed", "- refusal retries", 1, 3)
_NO_FILTER = ending("failed", "rejected refusal", 1)
_ALWAYS_SENT = ending("failed", "rejected", 1, 6)
_UNNOTICED = ending("accepted failed", "- retries deadline", 1, 3)
EXCEPTIONS: dict[tuple[str, str, bool], Expected] = {
    # google-genai reads a comment in a stream as JSON and raises.
    **{
        (name, "gemini", True): Expected(_COMMENTS, _COMMENTS, slow=EXPECTED[name].slow)
        for name in ("blanks-first", "blanks-forever", "comments-midway")
    },
    # botocore does not ask for compressed replies, and does not decompress them.
    **{("gzipped", "bedrock", streams): RETRIED for streams in (False, True)},
    **{("not-gzip", "bedrock", streams): FINE for streams in (False, True)},
    # aiohttp does not always notice a chunk without a length: it waits for more, until the deadline.
    **{("bad-chunks", "gemini-async", streams): Expected(_UNNOTICED, _UNNOTICED) for streams in (False, True)},
    # These protocols do not mark refusals: a refusal is a text like any other.
    **{("refuses", kind, streams): REPAIRED for kind in ("mistral", "cohere", "ollama") for streams in (False, True)},
    # LangChain drops a refusal in a stream, unless a schema is given.
    ("refuses", "langchain-openai", True): Expected(_DROPPED, _DROPPED),
    # Ollama does not mark filtered replies either; Mistral reports them only as an error.
    **{("filtered", "ollama", streams): NOTHING for streams in (False, True)},
    **{("filtered", "mistral", streams): Expected(_NO_FILTER, _NO_FILTER) for streams in (False, True)},
    # pydantic-ai sends `stream_options` with every stream, even if the server rejects them.
    ("no-stream-options", "pydantic-ai", True): Expected(LEARNED.once, _ALWAYS_SENT),
    # It also sends its own `tool_choice` with tools.
    **{
        ("no-tool-choice", "pydantic-ai", streams): Expected(LEARNED.once, _ALWAYS_SENT, tools=True)
        for streams in (False, True)
    },
    # Anthropic requires `max_tokens`.
    **{
        ("no-max-tokens", kind, streams): EXPECTED["no-max-tokens"]._replace(always=_ALWAYS_SENT)
        for kind in ("anthropic", "langchain-anthropic")
        for streams in (False, True)
    },
    # LangChain's Anthropic model raises for arguments that are not an object: there is no reply to repair.
    ("broken-arguments", "langchain-anthropic", False): Expected(MENDED, GIVEN_UP, tools=True),
}


def expected_of(misbehaviour: str, kind: str, *, streams: bool) -> Expected:
    """The expected result of a misbehaviour, for one client."""
    kinds = (kind, kind.removesuffix("-async"))
    found = (EXCEPTIONS.get((misbehaviour, name, streams)) for name in kinds)
    return next(filter(None, found), EXPECTED[misbehaviour])
