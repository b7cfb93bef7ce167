"""Policy: how far asking may go. Every number of the loop stands here, frozen; nothing is hidden in code.

Options enter and are refused at once when they make no sense; the plan reads them, nobody changes them.
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec

Mode = Literal["json_schema", "json_object", "text"]
MODES: tuple[Mode, ...] = get_args(Mode)
Repair = Literal["whole", "fields"]
Otherwise = Literal["degraded", "failed", "text"]


class Price(msgspec.Struct, frozen=True):
    """What a model costs, per million tokens, in any one currency."""

    input: float
    output: float
    cached: float | None = None


class _Named(msgspec.StructMeta):
    """Tells a slip in an option's name from a wrong use, before msgspec sees it."""

    def __call__(self, *given: Any, **options: Any) -> Any:
        for name in options:
            if name not in self.__struct_fields__:
                from trueup.contract.given import no_such_option  # of use to no right policy

                raise TypeError(no_such_option(name, self.__name__, self.__struct_fields__))
        return super().__call__(*given, **options)


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, metaclass=_Named):
    """How a model is asked, how often again, and what stops it.

    >>> Policy(repairs=1, models=("small", "large")).repairs
    1
    >>> Policy(repairs=-1)
    Traceback (most recent call last):
    ValueError: repairs is a whole number, 0 or more; got -1
    >>> Policy(atempts=3)
    Traceback (most recent call last):
    TypeError: Policy takes no 'atempts'; did you mean 'attempts'?
    """

    # whom to ask, and how
    models: tuple[str, ...] = ()  # a ladder: the next one is asked when one cannot do it; none: the client's own
    modes: tuple[Mode, ...] = MODES  # a ladder: how a provider is held to the schema
    temperature: float | None = None  # of the first request; none: the provider's own
    max_tokens: int | None = None  # of a reply; raised, at most to `most_tokens`, when a reply was cut at it
    most_tokens: int | None = None
    parameters: Mapping[str, Any] = {}  # passed on with each request, over what the strategy sets
    instruct: Literal["auto", "always", "never"] = "auto"  # say the format in words; auto: where the mode does not

    # how often again
    repairs: int = 2
    repair: Repair = "whole"
    repair_temperature: float | None = 0.0
    regenerations: int = 1
    regenerate_temperature: float | None = 0.3
    same_fault: int = 2  # repairs that bring the very same fault back, in a row, before repairing stops
    retries: int = 3  # of one request, after failures of the transport and empty replies
    backoff: float = 1.0
    backoff_cap: float = 30.0
    last_tools: tuple[str, ...] | None = ()  # the tools of the last retry of a reply that says nothing; none: all

    # what stops it
    attempts: int = 12  # calls, those told to wait (429) not counted
    deadline: float | None = 120.0  # seconds for everything
    timeout: float | None = 60.0  # seconds for one call
    tokens: int | None = None
    money: float | None = None
    prices: Mapping[str, Price] = {}  # by model; "*" for any other

    # what then
    otherwise: Otherwise = (
        "degraded"  # without a valid reply: the best reading, nothing, or at least the text and the calls that passed
    )
    fallback: Any = None  # a reply to give when nothing else is left: text, or data for the schema

    # the words
    language: str = ""  # of what is said to the model; none: the contract's, or English
    words: Any = None  # templates in place of the shipped ones, or a file of them
    quote: int = 2000  # characters of a reply that are quoted back
    faults: int = 8  # faults that are told at once

    # the last event, when no valid reply came
    raw: int = 2000  # characters of the last reply in the event, redacted; 0: none
    redaction: Any = None  # what to remove besides keys and tokens: a `Redaction`, or its options

    def __post_init__(self) -> None:
        for name in ("models", "modes", "last_tools"):
            if isinstance(getattr(self, name), list):
                msgspec.structs.force_setattr(self, name, tuple(getattr(self, name)))
        for name in ("repairs", "regenerations", "retries", "quote", "raw"):
            _whole(self, name, 0)
        for name in ("attempts", "same_fault", "faults", "max_tokens", "most_tokens", "tokens"):
            _whole(self, name, 1)
        for name in ("backoff", "backoff_cap", "deadline", "timeout", "money"):
            _positive(self, name)
        if not self.modes or any(mode not in MODES for mode in self.modes):
            raise ValueError(f"modes are some of {', '.join(MODES)}, the first to try first; got {self.modes!r}")
        if not isinstance(self.models, tuple):
            raise TypeError(f"models is a tuple of names; got {self.models!r}")
        for name, allowed in (
            ("repair", ("whole", "fields")),
            ("otherwise", get_args(Otherwise)),
            ("instruct", ("auto", "always", "never")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is one of {', '.join(allowed)}; got {getattr(self, name)!r}")
        if isinstance(self.redaction, Mapping):
            msgspec.structs.force_setattr(self, "redaction", _redaction(self.redaction))
        for model, price in self.prices.items():
            if not isinstance(price, Price):
                raise TypeError(
                    f"prices: the price of {model!r} is a Price(input, output) per million tokens; got {price!r}"
                )
        unpriced = [m for m in self.models or ("*",) if self.price(m) is None]
        if self.money is not None and unpriced:
            raise ValueError(
                f"money needs prices: that of {unpriced[0]!r} is not given (prices={{…: Price(input, output)}})"
            )

    def price(self, model: str) -> Price | None:
        """The price of a model, or None when it is not known."""
        return self.prices.get(model) or self.prices.get("*")

    def cost(self, model: str, usage: Mapping[str, int]) -> float | None:
        """What a reply cost; None, never 0, when the price or the counts are not known.

        >>> policy = Policy(prices={"m": Price(1.0, 4.0)})
        >>> policy.cost("m", {"input_tokens": 1_000_000, "output_tokens": 500_000}), policy.cost("other", {})
        (3.0, None)
        """
        price = self.price(model)
        if price is None or "input_tokens" not in usage or "output_tokens" not in usage:
            return None
        cached = usage.get("cached_tokens", 0) if price.cached is not None else 0
        fresh = max(0, usage["input_tokens"] - cached)
        return (fresh * price.input + cached * (price.cached or 0.0) + usage["output_tokens"] * price.output) / 1e6


def _redaction(options: Mapping[str, Any]) -> Any:
    from trueup.store.redaction import Redaction  # where something is to be taken out

    try:
        return msgspec.convert(options, Redaction)
    except msgspec.ValidationError as error:
        raise ValueError(f"redaction: {error}") from None


def _whole(policy: Policy, name: str, least: int) -> None:
    value = getattr(policy, name)
    if value is None and name in {"max_tokens", "most_tokens", "tokens"}:
        return
    if type(value) is not int or value < least:
        raise ValueError(f"{name} is a whole number, {least} or more; got {value!r}")


def _positive(policy: Policy, name: str) -> None:
    value = getattr(policy, name)
    if value is None and name in {"deadline", "timeout", "money"}:
        return
    if type(value) not in (int, float) or not 0 < value < float("inf"):
        raise ValueError(f"{name} is a number above 0; got {value!r}")


DEFAULT = Policy()
