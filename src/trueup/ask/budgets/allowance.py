"""The allowance of a request: takes a request and what is left of the budgets; returns the request with a limit for its reply.

A request whose tokens were counted or measured is refused before it is sent if it does not fit. If only the upper limit of an estimate
exceeds a budget, it is sent, with a warning. An allowance belongs to one ask and measures its models: the provider's count of one request,
including what the provider adds, gives the number of tokens of the next one. A run keeps its measures from turn to turn.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from trueup.ask.budgets.tokens import Kept, TokenEstimate, counter, estimate, estimate_reply
from trueup.ask.clients.request import Request
from trueup.ask.policy import Policy, Price
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.reply import Reply

Budget = Literal["tokens", "money"]
_LIMITS = frozenset(  # parameters of different providers
    "max_tokens max_completion_tokens max_output_tokens num_predict maxTokens maxOutputTokens".split()
)
_THINKING = frozenset({"budget_tokens", "thinking_budget", "thinkingBudget"})  # limits of the thinking
_LIMIT = "limit:"  # the prefix of a rejected feature: limits above the number that follows; 0: any limit
_ABOUT = lazy_regex(r"max_?(?:completion_|output_|new_)?_?tokens|max\w*Tokens|maximum tokens", re.IGNORECASE)
_TOO_HIGH = lazy_regex(r"too (?:large|high|big|long)|exceed", re.IGNORECASE)
_BOUND = lazy_regex(r"at most|maximum|less than|greater|>|<|range|limit", re.IGNORECASE)
_TOO_LOW = lazy_regex(
    r"too (?:small|low|short)|below|at least|minimum|>=|(?:must|should) be (?:greater|more|larger|higher)",
    re.IGNORECASE,
)
_SLACK = 16  # a request may have this many tokens, and a fifth, more than the measured ones suggest
_LONGEST = 2_000_000  # tokens: more than any reply has
_SHORTEST = 16  # tokens: the lowest limit that OpenAI's Responses API takes
_NUMBER = lazy_regex(r"\d[\d,]{0,12}")


class BudgetFit(NamedTuple):
    """How a request fits the budgets: the request to send, or the budget that it does not fit and the amount that it needs."""

    request: Request
    estimate: TokenEstimate
    refused: Budget | None = None
    risked: Budget | None = None  # only the upper limit exceeds it
    needs: float = 0.0  # the amount that it needs of the refused or risked budget


class Measure(NamedTuple):
    """A request that was sent: its estimated tokens, and the provider's count."""

    guessed: int
    counted: int


class _Side(NamedTuple):
    """A request in terms of one budget: what is left, what the request takes, and what each token of the reply takes."""

    budget: Budget
    left: float
    least: float
    likely: float
    most: float
    each: float


class AskBudget:
    """The budgets of one ask for tokens and money."""

    def __init__(self, policy: Policy, measured: "dict[str, Measure] | None" = None) -> None:
        self._policy = policy
        self._measured = {} if measured is None else measured  # the last request of each model

    def fit(self, request: Request, tokens: int, cost: float) -> BudgetFit:
        """Whether a request fits what is left after `tokens` and `cost` were spent, and how long its reply may be."""
        guess = self.estimate(request)
        replies = _replies(request)
        shortest = replies * _shortest(request)
        caps: list[int] = []
        risk: BudgetFit | None = None
        for side in self._sides(request, guess, tokens, cost):
            room = side.each * shortest
            if side.least + room > side.left:
                return BudgetFit(request, guess, side.budget, None, side.least + room)
            fits = side.most + room <= side.left
            if not fits and risk is None:
                risk = BudgetFit(request, guess, None, side.budget, side.most + room)
            if side.each > 0:
                rest = side.left - (side.most if fits else side.likely)
                caps.append(max(shortest, int(min(_LONGEST, rest / side.each))))
        if caps:
            request = self._capped(request, max(1, min(caps) // replies))
        return BudgetFit(request, guess) if risk is None else risk._replace(request=request)

    def _sides(self, request: Request, guess: TokenEstimate, tokens: int, cost: float) -> "Iterator[_Side]":
        policy = self._policy
        if policy.tokens is not None:
            yield _Side("tokens", policy.tokens - tokens, guess.least, guess.likely, guess.most, 1)
        if policy.money is not None:
            policy.check_prices([request.asked_model])  # a hook may have changed the model
            price = policy.price(request.asked_model)
            assert price is not None
            # Claude caches the parts that a request marks; other providers decide themselves.
            kept = guess.kept or ("" if "claude" in request.asked_model else "short")
            least, likely, most = (_input(price, n, kept) for n in (guess.least, guess.likely, guess.most))
            yield _Side("money", policy.money - cost, least, likely, most, price.for_input(guess.most).output / 1e6)

    def estimate(self, request: Request) -> TokenEstimate:
        """The tokens of a request, by a tokenizer, by what the provider counted before, or by its bytes."""
        guess = estimate(request, counter(self._policy, request.asked_model))
        known = self._measured.get(request.asked_model)
        if known is None:
            return guess
        if guess.counted:  # a provider adds tokens, mainly a prompt for tools
            total = guess.most + max(0, known.counted - known.guessed)
            return guess._replace(least=total, likely=total, most=total)
        # A short request says little about longer ones: most of its tokens may be what the provider adds to any request.
        added = (guess.likely - known.guessed) * min(1.0, max(0.5, known.counted / known.guessed))
        likely = max(1, math.ceil(known.counted + added))
        return guess._replace(least=likely, likely=likely, most=likely + likely // 5 + _SLACK)

    def measure(self, request: Request, tokens: int) -> None:
        """Note the provider's count of a request."""
        if tokens:
            guess = estimate(request, counter(self._policy, request.asked_model))
            self._measured[request.asked_model] = Measure(guess.likely, tokens)

    def spent(self, request: Request, reply: Reply, *, whole: bool = False) -> dict[str, int]:
        """The usage of a call: the provider's counts, completed with estimates from what was sent and what arrived.

        The count of the output is for the `whole` reply, or for a part that may have grown since.
        """
        told = reply.usage
        sent = told.get("input_tokens", 0) or self.estimate(request).likely
        got = told.get("output_tokens", 0)
        if not whole or not got:
            got = max(got, estimate_reply(reply, counter(self._policy, request.asked_model)))
        got = max(got, told.get("total_tokens", 0) - sent)
        return {**told, "input_tokens": sent, "output_tokens": got, "total_tokens": sent + got}

    def _capped(self, request: Request, cap: int) -> Request:
        """The request with its reply limited to `cap`, in the parameter that contains the limit."""
        if _numbers(request.parameters, _LIMITS):
            return replace(request, parameters=_lowered(request.parameters, cap))
        if request.max_tokens is not None:
            return replace(request, max_tokens=min(request.max_tokens, cap))
        known = [int(feature.removeprefix(_LIMIT)) for feature in request.without if feature.startswith(_LIMIT)]
        if 0 in known:
            return request  # the provider does not take our limit
        if cap >= (self._most_output(request.asked_model) or _LONGEST) and not known:
            return request  # the model cannot write that much anyway
        return replace(request, max_tokens=min([cap, *known]))

    def _most_output(self, model: str) -> int | None:
        from trueup.ask.prices import listed

        row = listed(model) if model else None
        return None if row is None else row.most_output


def too_high(request: Request, said: str) -> str:
    """The rejected feature if a provider's message says that a limit is too high: limits above the number it names, or any limit.

    >>> request = Request([], max_tokens=90_000)
    >>> too_high(request, "max_tokens is too large: 90000. This model supports at most 16384 completion tokens.")
    'limit:16384'
    >>> (
    ...     too_high(request, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'."),
    ...     too_high(request, "No such model."),
    ... )
    ('', '')
    """
    sent = request.max_tokens
    if sent is None or not _ABOUT.search(said) or _TOO_LOW.search(said):
        return ""
    lower = [number for number in (int(n.replace(",", "")) for n in _NUMBER.findall(said)) if 0 < number < sent]
    if not _TOO_HIGH.search(said) and not (lower and _BOUND.search(said)):
        return ""
    tried = any(feature.startswith(_LIMIT) for feature in request.without)
    return f"{_LIMIT}{0 if tried else max(lower, default=0)}"


def _input(price: Price, tokens: int, kept: Kept) -> float:
    """The cost of the input, if all of it is written to a cache, provided that it may be."""
    own = price.for_input(tokens)
    written = max(own.cache_write or 0.0, (own.cache_write_hour or 0.0) if kept == "long" else 0.0) if kept else 0.0
    return tokens * max(own.input, written) / 1e6


def _shortest(request: Request) -> int:
    """The fewest tokens that a reply needs: a few, or the caller's lower limit, plus the thinking that the caller allows."""
    limits = _numbers(request.parameters, _LIMITS) or [request.max_tokens or _SHORTEST]
    thought = max(_numbers(request.parameters, _THINKING), default=0)
    return max(0, thought) + min([_SHORTEST, *(limit for limit in limits if limit > 0)])


def _numbers(parameters: Mapping[str, Any], names: frozenset[str], depth: int = 2) -> list[int]:
    """The numbers with these names in the parameters, including nested ones such as in `options` and `inferenceConfig`."""
    found: list[int] = []
    for name, value in parameters.items():
        if name in names and type(value) is int:
            found.append(value)
        elif depth and isinstance(value, Mapping):
            found += _numbers(value, names, depth - 1)
    return found


def _lowered(parameters: Mapping[str, Any], cap: int, depth: int = 2) -> dict[str, Any]:
    """The parameters with every reply limit at `cap` or below; a limit of 0 or less meant no limit."""
    changed = dict(parameters)
    for name, value in parameters.items():
        if name in _LIMITS and type(value) is int:
            changed[name] = min(value, cap) if value > 0 else cap
        elif depth and isinstance(value, Mapping):
            changed[name] = _lowered(value, cap, depth - 1)
    return changed


def _replies(request: Request) -> int:
    """How many replies are requested in one call."""
    n = request.parameters.get("n")
    return n if type(n) is int and n > 0 else 1
