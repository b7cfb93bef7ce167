"""Ladders of rungs: the clients to ask, one after the other. Takes what the caller gave; returns clients with their models and modes.

A list is a ladder; anything else is one rung. Raises an error for a client that cannot be asked, before anything is sent.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from trueup.ask.clients.client import Client
from trueup.ask.clients.find import find_client
from trueup.ask.policy import ALL_MODES, Mode, Policy


class Rung(NamedTuple):
    """One rung of a ladder across clients; the next one is asked if this one cannot do it.

    >>> Rung("https://api.example.com/v1", "small").model
    'small'
    """

    client: Any
    """The client to ask, as in `Contract.ask`."""
    model: str = ""
    """The model; empty: the policy's models, or the client's own."""
    mode: Mode | None = None
    """The only mode in which to ask; None: the policy's modes, best first."""
    share: float | None = None
    """Its share of the policy's deadline, relative to the other rungs' shares; None: it may use all of the time."""


class Ladder(NamedTuple):
    """The rungs in order, each with its client. Clients that were made here, from an address, are closed at the end."""

    rungs: tuple[Rung, ...]
    own: tuple[Client, ...] = ()

    def close(self) -> None:
        for client in self.own:
            client.close()


def find_ladder(call: Any, policy: Policy | None = None, *, sync: bool = False) -> Ladder:
    """The ladder of the clients to ask. With `sync`, every client must be able to answer without being awaited.

    >>> ladder = find_ladder([(lambda messages: "hi", "small"), lambda messages: "hi"])
    >>> [rung.model for rung in ladder.rungs]
    ['small', '']
    """
    if not isinstance(call, list | tuple):  # one client, which is the usual case
        client = find_client(call)
        if sync and client.is_async:
            raise _only_awaited(client)
        return Ladder((Rung(client),), (client,) if isinstance(call, str) else ())
    given = call if isinstance(call, list) else [call]
    if not given:
        raise ValueError("the list of rungs is empty; give at least one client")
    rungs = tuple(_rung(one) for one in given)
    if isinstance(policy, Policy) and policy.models and any(rung.model for rung in rungs):
        raise ValueError(
            "Policy(models=…) and a rung both name models: name them in the rungs, as in Rung(client, 'model'), or in the policy"
        )
    if sync:
        for rung in rungs:
            if rung.client.is_async:
                raise _only_awaited(rung.client)
    own = (rung.client for rung, one in zip(rungs, given, strict=True) if isinstance(_client_in(one), str))
    return Ladder(rungs, tuple(own))


def _only_awaited(client: Client) -> TypeError:
    return TypeError(
        f"{client.kind} is asynchronous; use `await contract.aask(…)` or `arun(…)`, or stream with `aask_stream` or `arun_stream`"
    )


def provider_of(rungs: Sequence[Rung]) -> str:
    """The provider whose message shape all rungs can read: the provider that they share, or OpenAI."""
    providers = {rung.client.provider for rung in rungs}
    return providers.pop() if len(providers) == 1 else "openai"


def _client_in(one: Any) -> Any:
    return one[0] if isinstance(one, tuple) and one else one


def _rung(one: Any) -> Rung:
    if not isinstance(one, tuple):
        return Rung(find_client(one))
    if not 1 <= len(one) <= 4:
        raise TypeError(
            f"a rung is (client, model, mode, share); all but the client are optional; got {len(one)} parts"
        )
    rung = Rung(*one)
    if not isinstance(rung.model, str):
        raise TypeError(
            f"the model of a rung must be a name; got {type(rung.model).__name__}. A tuple is one rung: give a list for several"
        )
    if rung.share is not None and not (type(rung.share) in (int, float) and 0 < rung.share < float("inf")):
        raise ValueError(f"the share of a rung must be a number above 0; got {rung.share!r}")
    client = find_client(rung.client)
    if rung.mode is not None:
        able = getattr(client, "able", client.modes)
        if rung.mode not in ALL_MODES:
            raise ValueError(f"the mode of a rung must be one of {', '.join(ALL_MODES)}; got {rung.mode!r}")
        if rung.mode not in able and rung.mode != "text":
            raise ValueError(f"{client.kind} cannot be asked in the mode {rung.mode!r}; use {', '.join(able)}")
    return Rung(client, rung.model, rung.mode, rung.share)
