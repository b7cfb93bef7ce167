"""trueup: every LLM reply is untrusted; make it true, or say exactly why not.

The public names are imported when first used, so that `import trueup` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trueup.ask.answer import Answer
    from trueup.ask.policy import Policy, Price
    from trueup.contract.acting import aexecute, execute
    from trueup.contract.contract import Contract
    from trueup.contract.partial import Partial
    from trueup.verdict.facts import Finding, Fix
    from trueup.verdict.reply import Reply, ToolCall
    from trueup.verdict.tool import Tool
    from trueup.verdict.verdict import Rejected, Verdict

__all__ = [
    "Answer", "Contract", "Finding", "Fix", "Partial", "Policy", "Price", "Rejected", "Reply", "Tool", "ToolCall",
    "Verdict", "__version__", "aexecute", "execute",
]  # fmt: skip

__version__ = "0.1.0"

_HOMES = {
    "Answer": "trueup.ask.answer",
    "Policy": "trueup.ask.policy",
    "Price": "trueup.ask.policy",
    "Contract": "trueup.contract.contract",
    "Finding": "trueup.verdict.facts",
    "Fix": "trueup.verdict.facts",
    "Partial": "trueup.contract.partial",
    "Rejected": "trueup.verdict.verdict",
    "Reply": "trueup.verdict.reply",
    "Tool": "trueup.verdict.tool",
    "ToolCall": "trueup.verdict.reply",
    "Verdict": "trueup.verdict.verdict",
    "aexecute": "trueup.contract.acting",
    "execute": "trueup.contract.acting",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'trueup' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
