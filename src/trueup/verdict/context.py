"""Context: what a tool receives in addition to its arguments, namely the caller's own objects and the current call.

A function receives it by annotating a parameter with `Context[…]`. The parameter is not part of the tool's schema: the model
neither sees it nor fills it in.
"""

from typing import TYPE_CHECKING, Any, Generic

import msgspec

from trueup.verdict.reply import ToolCall

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # every type checker has it: `Context` alone is `Context[Any]`

    D = TypeVar("D", default=Any)
else:
    from typing import TypeVar

    D = TypeVar("D")


class Context(msgspec.Struct, Generic[D], frozen=True):
    """The caller's objects and the current call, for a tool; `Context[Shop]` says that `deps` is a `Shop`.

    >>> from trueup import Contract, execute
    >>> def price(ctx: Context[dict[str, int]], item: str) -> int:
    ...     return ctx.deps[item]
    >>> contract = Contract(tools=[price])
    >>> sorted(contract.tools[0].parameters["properties"])
    ['item']
    >>> verdict = contract.check('<tool_call>{"name": "price", "arguments": {"item": "tea"}}</tool_call>')
    >>> execute(verdict, [price], deps={"tea": 3}).done[0].value
    3
    """

    deps: D
    """The objects that the caller passed as `deps`: a connection, a user, settings."""
    call: ToolCall
    """The call that is being made."""
    turn: int = 1
    """The turn of the run in which the call is made, from 1."""
