"""An accepted reply as one message with all its fixes, for frameworks that pass the message on.

Takes a contract and its verdict; returns the message in OpenAI's shape, or None if nothing was fixed. A judged value
replaces the text. Calls get their repaired names and arguments, and calls that the model wrote into its text become
calls of the message.
"""

from typing import TYPE_CHECKING, Any

from trueup.ask.replies.accepted import taken
from trueup.verdict.codec import spelled
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.contract.contract import Contract


def repaired(contract: "Contract[Any]", verdict: Verdict) -> dict[str, Any] | None:
    """The message of an accepted reply after its fixes; None if there are none.

    >>> from trueup import Contract
    >>> contract = Contract({"type": "object", "properties": {"age": {"type": "integer"}}})
    >>> repaired(contract, contract.check('Here you are: {"age": "36",}'))
    {'role': 'assistant', 'content': '{"age":36}'}
    >>> repaired(contract, contract.check('{"age": 36}'))
    """
    if not verdict.fixes:
        return None
    message: dict[str, Any] = taken(verdict, "openai", 1).messages[0]
    if contract.schema is not None and not verdict.calls:
        message["content"] = spelled(verdict.data).decode()
    return message
