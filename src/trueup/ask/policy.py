"""Policy: how a model is asked, and the limits of an ask. Every number that the loop uses is an option here.

Takes options and raises an error immediately if they do not make sense. A policy never changes; the plan reads it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import msgspec

if TYPE_CHECKING:
    import os

    from trueup.store.redaction import Redaction

    Named: TypeAlias = msgspec.StructMeta
    Words: TypeAlias = Mapping[str, Any] | str | os.PathLike[str] | None
    Counting: TypeAlias = Callable[[str], int] | None
    Redacting: TypeAlias = Redaction | Mapping[str, Any] | None
else:
    Words = Redacting = Counting = Any  # msgspec reads a policy from data, and does not support such unions

    class Named(msgspec.StructMeta):
        """Refuses a misspelled option before msgspec sees it; type checkers use the fields themselves."""

        def __call__(self, *given: Any, **options: Any) -> Any:
            for name in options:
                if name not in self.__struct_fields__:
                    from trueup.contract.option_help import no_such_option  # loaded only if an option is wrong

                    raise TypeError(no_such_option(name, self.__name__, self.__struct_fields__))
            return super().__call__(*given, **options)


Mode = Literal["json_schema", "json_object", "tool", "text"]
ALL_MODES: tuple[Mode, ...] = get_args(Mode)
MODES: tuple[Mode, ...] = ("json_schema", "json_object", "text")  # the ladder of a client that has a JSON mode
Repair = Literal["whole", "fields"]
Otherwise = Literal["degraded", "failed", "text"]


class Price(msgspec.Struct, frozen=True, metaclass=Named):
    """The price of a model per million tokens, in any one currency.

    >>> usage = {"input_tokens": 1_000_000, "cached_tokens": 400_000, "output_tokens": 100_000}
    >>> Price(2.0, 10.0, cached=0.5).of(usage), Price(2.0, 10.0).of({})
    (2.4, None)
    """

    input: float
    """The price of a million input tokens."""
    output: float
    """The price of a million output tokens."""
    cached: float | None = None
    """The price of a million input tokens from the provider's cache; None if they cost as much as others."""
    cache_write: float | None = None
    """The price of a million input tokens that the provider wrote to its cache; None if they cost as much as others."""
    cache_write_hour: float | None = None
    """The price of a million tokens that it wrote to its cache for an hour; None if they cost as much as other writes."""
    long_after: int | None = None
    """The number of input tokens above which `long` applies; None: it never applies."""
    long: "Price | None" = None
    """The prices of a request with more than `long_after` input tokens; None: the same ones."""

    def __post_init__(self) -> None:
        for name in ("input", "output", "cached", "cache_write", "cache_write_hour"):
            value = getattr(self, name)
            if value is None and name not in {"input", "output"}:
                continue
            if type(value) not in (int, float) or not 0 <= value < float("inf"):
                raise ValueError(f"{name} must be a price per million tokens, 0 or more; got {value!r}")

    def of(self, usage: Mapping[str, int]) -> float | None:
        """The cost of a call with the counts in `usage`; None if the input or the output was not counted.

        As in `Reply.usage`, the input includes what was read from a cache or written to it, and the output includes reasoning.
        """
        taken, given = usage.get("input_tokens"), usage.get("output_tokens")
        if taken is None or given is None:
            return None
        price = self.for_input(taken)
        read, written = usage.get("cached_tokens", 0), usage.get("cache_write_tokens", 0)
        hour = min(written, usage.get("cache_write_hour_tokens", 0))
        write = price.input if price.cache_write is None else price.cache_write
        parts = (
            (max(0, taken - read - written), price.input),
            (read, price.input if price.cached is None else price.cached),
            (written - hour, write),
            (hour, write if price.cache_write_hour is None else price.cache_write_hour),
            (given, price.output),
        )
        return sum(count * each for count, each in parts) / 1e6

    def for_input(self, tokens: int) -> "Price":
        """The prices for a request with this number of input `tokens`."""
        long = self.long is not None and self.long_after is not None and tokens > self.long_after
        return self.long if long and self.long is not None else self


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, metaclass=Named):
    """How a model is asked, how many times it is asked again, and what stops the ask.

    >>> Policy(repairs=1, models=("small", "large")).repairs
    1
    >>> Policy(repairs=-1)
    Traceback (most recent call last):
    ValueError: repairs must be a whole number, 0 or more; got -1
    >>> Policy(atempts=3)
    Traceback (most recent call last):
    TypeError: Policy has no option 'atempts'; did you mean 'attempts'?
    """

    # models and modes
    models: tuple[str, ...] = ()
    """The models to ask, as a ladder: the next one is asked if one cannot do it. Empty: the client's own."""
    modes: tuple[Mode, ...] = MODES
    """How the provider is held to the schema, as a ladder; by default `json_schema`, then `json_object`, then `text`."""
    temperature: float | None = None
    """The temperature of the first request; None: the provider's default."""
    max_tokens: int | None = None
    """The limit for one reply; None: the provider's default. It is doubled if it cut a reply off."""
    most_tokens: int | None = None
    """The highest limit that doubling may reach; None: four times `max_tokens`."""
    parameters: Mapping[str, Any] = {}
    """Further parameters of every request, such as `seed`; they override the strategy's own. Empty: none."""
    instruct: Literal["auto", "always", "never"] = "auto"
    """Whether the format is explained in words: `always`, `never`, or `auto`: only if the mode does not enforce it."""

    # asking again
    repairs: int = 2
    """How many times a faulty reply is sent back to the model with its faults."""
    repair: Repair = "whole"
    """The scope of a repair: the `whole` value again, or only the `fields` that are wrong."""
    repair_temperature: float | None = 0.0
    """The temperature of a repair; None: the provider's default."""
    regenerations: int = 1
    """How many times another reply is requested to replace one that does not fit the state."""
    regenerate_temperature: float | None = 0.3
    """The temperature of such a request; None: the provider's default."""
    same_fault: int = 2
    """How many repairs in a row may have the same fault before repairing stops."""
    retries: int = 3
    """How many times a request is repeated after a transport failure or an empty reply."""
    backoff: float = 1.0
    """Seconds before the first retry. Each further retry waits twice as long, unless the provider says how long to wait."""
    backoff_cap: float = 30.0
    """The longest wait between retries, in seconds."""
    last_tools: tuple[str, ...] | None = ()
    """The tools that are offered in the last retry after empty replies; empty: none, None: all."""
    patience: float = 10.0
    """The total seconds to wait for a rate-limited or busy rung, if there is another one to ask."""
    breaker: int = 5
    """How many failures in a row open the circuit breaker of a rung, so that other rungs are asked instead; 0: never."""
    cooldown: float = 30.0
    """Seconds that an open circuit breaker keeps a rung from being asked, before one call may try it again."""
    eager: bool = False
    """Whether the next rung is asked immediately after a failed call; waits for the last rung are then limited to `patience`."""
    waits: int | None = None
    """How many times in a row a rate-limited call (status 429) is repeated; such calls then count as attempts. None: until the deadline."""

    # limits
    attempts: int = 12
    """The most calls of one `ask`; rate-limited calls (status 429) do not count."""
    deadline: float | None = 120.0
    """Seconds for the whole `ask`; None: no limit."""
    timeout: float | None = 60.0
    """Seconds for one call; None: no limit."""
    tokens: int | None = None
    """The most tokens of one `ask`; None: no limit."""
    money: float | None = None
    """The most money of one `ask`, in the currency of `prices`; None: no limit. Every model must have a price."""
    prices: Mapping[str, Price] = {}
    """The price of each model by its name, with `*` for any other model. Models without a price here have the list price that ships with the package, in US dollars, or an unknown cost if there is none. Empty: list prices."""
    tokenizer: Counting = None
    """Counts the tokens of a text, to check before a call whether it fits the budgets. None: tiktoken for OpenAI's models, if it is installed with its files; otherwise the number of bytes gives an upper limit."""

    # without a valid reply
    otherwise: Otherwise = "degraded"
    """The answer if no reply is valid: `degraded` returns the best data, `failed` returns nothing, `text` returns the text and the calls that passed."""
    fallback: Any = None
    """The reply to give if everything else failed: text, or data for the schema. None: the contract's fallback, if it has one."""

    # texts for the model
    language: str = ""
    """The language of the texts that are sent to the model; empty: the contract's, or English."""
    words: Words = None
    """Templates that replace the built-in ones, or a file of them; None: the built-in ones."""
    quote: int = 2000
    """How many characters of a faulty reply are quoted back to the model."""
    faults: int = 8
    """How many faults are reported to the model at once."""

    # the last event if no reply was valid
    raw: int = 2000
    """How many characters of the last reply the event `Finished` contains, redacted, if no reply was valid; 0: none."""
    redaction: Redacting = None
    """What to remove from that text besides keys and tokens: a `Redaction`, or its options. None: nothing else."""

    def __post_init__(self) -> None:
        for name in ("models", "modes", "last_tools"):
            if isinstance(getattr(self, name), list):
                msgspec.structs.force_setattr(self, name, tuple(getattr(self, name)))
        for name in ("repairs", "regenerations", "retries", "quote", "raw", "breaker", "waits"):
            _whole(self, name, 0)
        for name in ("attempts", "same_fault", "faults", "max_tokens", "most_tokens", "tokens"):
            _whole(self, name, 1)
        for name in ("backoff", "backoff_cap", "patience", "cooldown", "deadline", "timeout", "money"):
            _positive(self, name)
        if not self.modes or any(mode not in ALL_MODES for mode in self.modes):
            raise ValueError(
                f"modes must be one or more of {', '.join(ALL_MODES)}, in order of preference; got {self.modes!r}"
            )
        if not isinstance(self.models, tuple):
            raise TypeError(f"models must be a tuple of names; got {self.models!r}")
        for name, allowed in (
            ("repair", ("whole", "fields")),
            ("otherwise", get_args(Otherwise)),
            ("instruct", ("auto", "always", "never")),
            ("eager", (True, False)),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(str, allowed))}; got {getattr(self, name)!r}")
        if isinstance(self.redaction, Mapping):
            msgspec.structs.force_setattr(self, "redaction", _redaction(self.redaction))
        for model, price in self.prices.items():
            if not isinstance(price, Price):
                raise TypeError(
                    f"prices: the price of {model!r} must be a Price(input, output) per million tokens; got {price!r}"
                )
        if self.tokenizer is not None and not callable(self.tokenizer):
            raise TypeError(f"tokenizer must be a function that counts the tokens of a text; got {self.tokenizer!r}")
        if self.money is not None:
            self.check_prices(self.models)

    def check_prices(self, models: Iterable[str]) -> None:
        """Raise a ValueError if one of the `models` has no price, because a cost that is not known cannot be limited."""
        for model in models:
            if self.price(model) is None:
                named, key = (repr(model), repr(model)) if model else ("the client's own model", "'*'")
                raise ValueError(
                    f"money needs prices, and the price of {named} is not known; give prices={{{key}: Price(input, output)}}"
                )

    def price(self, model: str) -> Price | None:
        """The price of `model`: the one given for it or for `*`, otherwise its list price. None if no price is known."""
        given = self.prices.get(model) or self.prices.get("*")
        if given is not None or not model:
            return given
        from trueup.ask.prices import listed  # loaded only for a model whose price was not given

        found = listed(model)
        return None if found is None else found.price

    def cost(self, model: str, usage: Mapping[str, int]) -> float | None:
        """The cost of a reply from `model` with the counts in `usage`; None, never 0, if the price or the counts are not known.

        >>> policy = Policy(prices={"m": Price(1.0, 4.0)})
        >>> policy.cost("m", {"input_tokens": 1_000_000, "output_tokens": 500_000}), policy.cost("other", {})
        (3.0, None)
        """
        if "input_tokens" not in usage:
            return None
        price = self.price(model)
        return None if price is None else price.of(usage)


def _redaction(options: Mapping[str, Any]) -> Any:
    from trueup.store.redaction import Redaction  # loaded only if there is something to redact

    try:
        return msgspec.convert(options, Redaction)
    except msgspec.ValidationError as error:
        raise ValueError(f"redaction: {error}") from None


def _whole(policy: Policy, name: str, least: int) -> None:
    value = getattr(policy, name)
    if value is None and name in {"max_tokens", "most_tokens", "tokens", "waits"}:
        return
    if type(value) is not int or value < least:
        raise ValueError(f"{name} must be a whole number, {least} or more; got {value!r}")


def _positive(policy: Policy, name: str) -> None:
    value = getattr(policy, name)
    if value is None and name in {"deadline", "timeout", "money"}:
        return
    if type(value) not in (int, float) or not 0 < value < float("inf"):
        raise ValueError(f"{name} must be a number above 0; got {value!r}")


DEFAULT = Policy()
