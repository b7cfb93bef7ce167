"""The registry of tools that the help desk has had all along: nothing in it refers to trueup."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class ToolParameter:
    """One parameter of a tool."""

    name: str
    type: str
    description: str = ""
    required: bool = False
    enum: list[str] | None = None
    default: Any = None


@dataclass
class ToolDefinition:
    """The description of a tool for the model."""

    name: str
    description: str
    parameters: list[ToolParameter] = field(default_factory=list)


class ToolRegistry:
    """All tools of the help desk, by name."""

    def __init__(self, *definitions: ToolDefinition) -> None:
        self._definitions = {definition.name: definition for definition in definitions}

    def get_all_definitions(self) -> list[ToolDefinition]:
        return list(self._definitions.values())

    def get_definition(self, name: str) -> ToolDefinition | None:
        return self._definitions.get(name)


NETWORK = ToolRegistry(
    ToolDefinition("check_adapter_status", "Say whether an adapter is up."),
    ToolDefinition("get_ip_config", "Read the addresses of an adapter.", [ToolParameter("adapter", "string")]),
    ToolDefinition(
        "ping_gateway", "Ping the gateway.", [ToolParameter("count", "number"), ToolParameter("quiet", "boolean")]
    ),
    ToolDefinition(
        "ping_dns", "Ping a name server.",
        [
            ToolParameter("server", "string", required=True),
            ToolParameter("family", "string", enum=["ipv4", "ipv6"], default="ipv4"),
            ToolParameter("mode", "string", enum=["fast", "slow"]),
        ],
    ),
    ToolDefinition(
        "test_dns_resolution", "Look up hosts.",
        [ToolParameter("hostnames", "array"), ToolParameter("options", "object")],
    ),
)  # fmt: skip
