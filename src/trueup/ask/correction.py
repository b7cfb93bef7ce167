"""The correction that a model is sent after a refused reply, for callers that send it in another way.

Takes a contract, its verdict and the context; returns the messages that `ask` would add to the conversation. There are none if a
correction would not help, because then `ask` sends the same request again.
"""

from typing import TYPE_CHECKING, Any

import msgspec

from trueup.ask.loop.plan import Purpose
from trueup.ask.policy import DEFAULT, Policy
from trueup.ask.replies.faults import failure_in, fault_of
from trueup.ask.requests.compose import Composer, FaultyReply
from trueup.ask.requests.messages import Messages
from trueup.verdict.verdict import Rejected, Verdict

if TYPE_CHECKING:
    from trueup.checks.state import Situation
    from trueup.contract.contract import Contract

_OURS = frozenset({"context", "bug"})  # the program must change, not the reply
_UNTOLD = _OURS | {"nothing", "cut", "unreadable"}  # a correction does not help


def correction(
    contract: "Contract[Any]",
    verdict: Verdict,
    context: dict[str, Any] | None = None,
    policy: Policy = DEFAULT,
    nth: int = 1,
) -> Messages:
    """The messages that ask for a better reply, in OpenAI's shape; empty if the verdict is ok or a correction does not help.

    >>> from trueup import Contract
    >>> contract = Contract({"required": ["name"]})
    >>> (message,) = correction(contract, contract.check("{}"))
    >>> message["role"], "name" in message["content"]
    ('user', True)
    """
    purpose = purpose_of(verdict)
    if purpose == "ask":
        return []
    composer = Composer(
        [], policy, schema=None if contract.schema is None else contract.schema.source, tools=contract.tools, provider="openai",
        name=contract.name, language=contract.language, calls=contract.call_options, accept=contract.accept,
    )  # fmt: skip
    faulty = FaultyReply(verdict, situation=situation_of(contract, context or {}, purpose))
    return composer.compose(purpose, "text", faulty, nth, max(nth, policy.repairs))


def correction_text(
    contract: "Contract[Any]",
    verdict: Verdict,
    context: dict[str, Any] | None = None,
    nth: int = 1,
    most: int = 1,
) -> str:
    """The same as one text, for frameworks that send it themselves; never empty for a refused verdict.

    Raises `RuntimeError` if the model is not at fault, because the context lacks something or the contract cannot judge. A framework
    must not ask again then.

    >>> from trueup import Contract
    >>> contract = Contract({"required": ["name"]})
    >>> correction_text(contract, contract.check("{}"), nth=2, most=3).splitlines()[0]
    'Your reply was not valid. Correct it; this is correction 2 of 3.'
    """
    if verdict.ok:
        return ""
    fault = fault_of(verdict)
    if fault is not None and fault.kind in _OURS:
        rejected = Rejected(verdict)
        raise RuntimeError(f"asking again would not help: {rejected}\n{verdict.hint}") from rejected
    messages = correction(contract, verdict, context, msgspec.structs.replace(DEFAULT, repairs=max(nth, most)), nth)
    answers = [message for message in messages if message["role"] == "tool"]
    texts = [str(message["content"]) for message in answers or messages[-1:]]
    return "\n\n".join(texts) or verdict.hint or verdict.reason


def purpose_of(verdict: Verdict) -> Purpose:
    """The purpose of the next request: `ask` if a correction does not help, otherwise `repair` or `regenerate`."""
    fault = fault_of(verdict)
    if fault is None or fault.kind in _UNTOLD or failure_in(verdict) is not None:
        return "ask"
    return "regenerate" if fault.kind == "state" else "repair"


def situation_of(contract: "Contract[Any]", context: dict[str, Any], purpose: Purpose) -> "Situation | None":
    """The state of the conversation, for a reply that does not fit it."""
    states = None if contract.meaning is None else contract.meaning.states
    return states.situation(context) if states is not None and purpose == "regenerate" else None
