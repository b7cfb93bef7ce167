"""The table of all tools."""

from trueup.mcp.tool import McpTool
from trueup.mcp.tools.backtest import BACKTEST
from trueup.mcp.tools.check import CHECK
from trueup.mcp.tools.edit import EDIT
from trueup.mcp.tools.examples import EXAMPLES
from trueup.mcp.tools.explain import EXPLAIN
from trueup.mcp.tools.infer import INFER
from trueup.mcp.tools.lint import LINT
from trueup.mcp.tools.stats import STATS

TOOLS: tuple[McpTool, ...] = (CHECK, EXPLAIN, LINT, INFER, BACKTEST, EXAMPLES, STATS, EDIT)
BY_NAME = {tool.name: tool for tool in TOOLS}


def offered(*, allow_edit: bool) -> tuple[McpTool, ...]:
    """The tools that a server lists; `edit` only if it may edit."""
    return tuple(tool for tool in TOOLS if allow_edit or not tool.is_edit)
