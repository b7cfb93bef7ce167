"""T1: tools as the real SDKs make them, taken as they are."""

from typing import Any

import mcp.types
import pytest
from langchain_core.tools import BaseTool, BaseToolkit, StructuredTool, tool
from pydantic import BaseModel, Field

from trueup import Contract

pytestmark = pytest.mark.spec("T1")

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}


class Forecast(BaseModel):
    city: str
    days: int = Field(1, description="How many.")


@tool
def decorated(city: str, days: int = 1) -> str:
    """Give the forecast for a city."""
    return f"{city}: {days}"


class Subclassed(BaseTool):
    name: str = "forecast"
    description: str = "Give the forecast for a city."
    args_schema: Any = Forecast

    def _run(self, city: str, days: int = 1) -> str:
        return f"{city}: {days}"


class Unannounced(BaseTool):
    """A tool that takes the arguments of its method."""

    name: str = "forecast"
    description: str = "Give the forecast for a city."

    def _run(self, city: str, days: int = 1) -> str:
        return f"{city}: {days}"


class Kit(BaseToolkit):
    def get_tools(self) -> list[BaseTool]:
        return [decorated, Subclassed()]


def run(city: str, days: int = 1) -> str:
    return f"{city}: {days}"


def mcp_tool(name: str) -> mcp.types.Tool:
    return mcp.types.Tool.model_validate({"name": name, "description": "Give the forecast.", "inputSchema": SCHEMA})


ONE: dict[str, Any] = {
    "langchain @tool": decorated,
    "langchain BaseTool": Subclassed(),
    "langchain BaseTool without a schema": Unannounced(),
    "langchain StructuredTool": StructuredTool.from_function(run, name="forecast", description="Give the forecast."),
    "langchain with a JSON Schema": StructuredTool(
        name="forecast", description="Give the forecast.", args_schema=SCHEMA, func=run
    ),
    "mcp Tool": mcp_tool("forecast"),
    "mcp ListToolsResult": mcp.types.ListToolsResult(tools=[mcp_tool("forecast")]),
}


@pytest.mark.parametrize("listed", [False, True], ids=["alone", "in a list"])
@pytest.mark.parametrize("source", ONE.values(), ids=ONE)
def test_a_tool_of_an_sdk_is_accepted_unchanged(source: Any, listed: bool) -> None:
    contract = Contract(tools=[source] if listed else source)
    (offered,) = contract.tools
    assert offered.description.startswith("Give the forecast")

    def check(**args: Any) -> list[str]:
        call = {"id": "c1", "function": {"name": offered.name, "arguments": args}}
        return [found.code for found in contract.check({"role": "assistant", "tool_calls": [call]}).errors]

    assert check(city="Oslo", days=3) == []
    assert check(days=3) == ["V002"]
    assert check(city="Oslo", days="many") == ["V001"]


def test_a_toolkit_and_a_mixture_are_accepted() -> None:
    assert [tool.name for tool in Contract(tools=Kit()).tools] == ["decorated", "forecast"]
    mixture = [Kit(), mcp_tool("read_file"), run, {"name": "ping"}]
    assert [tool.name for tool in Contract(tools=mixture).tools] == [
        "decorated",
        "forecast",
        "read_file",
        "run",
        "ping",
    ]
