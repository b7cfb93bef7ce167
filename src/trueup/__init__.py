"""trueup: every LLM reply is untrusted; make it true, or say exactly why not.

The public names are imported at first use, so that `import trueup` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trueup.ask.answer import Answer
    from trueup.ask.conversation import Conversation
    from trueup.ask.policy import Policy, Price
    from trueup.ask.run import Run
    from trueup.ask.rungs import Rung
    from trueup.ask.shapes.parts import File, Image
    from trueup.backtesting.backtest import backtest
    from trueup.contract.call_results import aexecute, execute
    from trueup.contract.contract import Contract
    from trueup.contract.partial import Partial
    from trueup.verdict.context import Context
    from trueup.verdict.facts import Finding, Fix
    from trueup.verdict.reply import Reply, ToolCall
    from trueup.verdict.tool import Tool
    from trueup.verdict.verdict import Rejected, Verdict

__all__ = [
    "Answer", "Context", "Contract", "Conversation", "File", "Finding", "Fix", "Image", "Partial", "Policy", "Price",
    "Rejected", "Reply", "Run", "Rung", "Tool", "ToolCall", "Verdict", "__version__", "aexecute", "backtest", "execute",
]  # fmt: skip

__version__ = "0.1.0"

_ROOMS = {
    "ask.answer": "Answer", "ask.conversation": "Conversation", "ask.policy": "Policy Price", "ask.run": "Run",
    "ask.rungs": "Rung", "ask.shapes.parts": "File Image", "backtesting.backtest": "backtest",
    "contract.call_results": "aexecute execute", "contract.contract": "Contract", "contract.partial": "Partial",
    "verdict.context": "Context",
    "verdict.facts": "Finding Fix",
    "verdict.reply": "Reply ToolCall",
    "verdict.tool": "Tool",
    "verdict.verdict": "Rejected Verdict",
}  # fmt: skip
_HOMES = {name: f"trueup.{room}" for room, names in _ROOMS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'trueup' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
