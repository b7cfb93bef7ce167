"""Outgoing requests: each composed request passes through the caller's hook, the cache and the budgets before a driver sends it.

Takes a request; returns the request to send, with its estimate if there is a budget, or with its reply from the cache. A request that
does not fit the budgets is refused, and the plan decides what to do next.
"""

from collections.abc import Callable, Coroutine
from functools import cached_property
from typing import TYPE_CHECKING, Any

from trueup.ask.clients.request import Request
from trueup.ask.policy import Policy

if TYPE_CHECKING:
    from trueup.ask.budgets.allowance import AskBudget, BudgetFit, Measure
    from trueup.ask.cache import Cache
    from trueup.ask.requests.replay import CachedReply

Hook = Callable[[Request], Request | None]


class Outgoing:
    """The requests of one ask."""

    def __init__(
        self,
        policy: Policy,
        hook: Hook | None,
        cache: "Cache | None",
        *,
        streams: bool,
        measured: "dict[str, Measure] | None" = None,
    ) -> None:
        if hook is not None and not callable(hook):
            raise TypeError(f"on_request must be a function that takes a Request; got {type(hook).__name__}")
        if cache is not None and not all(callable(getattr(cache, name, None)) for name in ("get", "put", "drop")):
            raise TypeError(
                f"cache must be a cache, such as FileCache(path) or MemoryCache(); got {type(cache).__name__}"
            )
        self._policy = policy
        self._hook = hook
        self._cache = cache
        self._streams = streams
        self._measured = measured
        self._key: str | None = None
        self._passed_by: str | None = None  # the key of an invalid reply, which is not looked up again
        self.limited = policy.tokens is not None or policy.money is not None
        self.request: Request | None = None  # the current step's request, when it is ready
        self.fit: BudgetFit | None = None
        self.stored: CachedReply | None = None

    @cached_property
    def allowance(self) -> "AskBudget":
        """The budgets, which also estimate tokens; made if there is a budget, or if a call was cut off."""
        from trueup.ask.budgets.allowance import AskBudget

        return AskBudget(self._policy, self._measured)

    def clear(self) -> None:
        """Begin a new step."""
        self.request = self.fit = self.stored = self._key = None

    def ready(self, request: Request, client: Any, tokens: int, cost: float) -> "BudgetFit | None":
        """Prepare a request; return how it fits the budgets after `tokens` and `cost` were spent, or None without a budget."""
        if self._hook is not None:
            request = self._hooked(request)
        self.request = request
        if self._cache is not None and self._looked_up(self._cache, request, client):
            return None
        if self.limited:
            self.fit = self.allowance.fit(request, tokens, cost)
            self.request = self.fit.request
        return self.fit

    def _hooked(self, request: Request) -> Request:
        assert self._hook is not None
        changed: Any = self._hook(request)
        if changed is None:
            return request
        if isinstance(changed, Request):
            return changed
        if isinstance(changed, Coroutine):
            changed.close()
            raise TypeError("on_request must be a plain function, in `aask` too; got a coroutine function")
        raise TypeError(f"on_request must return a Request, or None to send it unchanged; got {type(changed).__name__}")

    def _looked_up(self, cache: "Cache", request: Request, client: Any) -> bool:
        from trueup.ask.requests.replay import CachedReply, key_of, raw_in  # needed only with a cache

        self._key = key_of(client, request, streams=self._streams)
        if self._key is None or self._key == self._passed_by:
            return False
        entry = cache.get(self._key)
        raw = None if entry is None else raw_in(entry, streams=self._streams)
        if raw is not None:
            self.stored = CachedReply(client, raw)
        return raw is not None

    def keep(self, raw: Any) -> None:
        """Store the provider's valid reply in the cache, unless it came from there."""
        if self._cache is None or self._key is None or self.stored is not None or raw is None:
            return
        from trueup.ask.requests.replay import entry_of

        entry = entry_of(raw)
        if entry is not None:
            self._cache.put(self._key, entry)

    def outdated(self) -> None:
        """Drop a reply from the cache that is not valid, or no longer valid, so that the model is asked."""
        assert self._cache is not None
        assert self._key is not None
        self._cache.drop(self._key)
        self._passed_by = self._key
        self.clear()
