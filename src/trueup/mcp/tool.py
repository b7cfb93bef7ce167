"""Tools: combines a tool's argument type, function and description into the definition that clients list.

The model reads the docstring of `run` as the tool's description. The arguments of a call are decoded into `takes`;
unknown names are refused.
"""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from trueup.mcp.answer import ToolAnswer
from trueup.mcp.workspace import Workspace
from trueup.studio.working.work import LongJob

if TYPE_CHECKING:
    from mcp_types import Tool as Definition


class Continued(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments that read the rest of a result."""

    result: Annotated[str, Meta(description="The id of an earlier result, to read the rest of it. Give no other arguments but `section` and `start`.")] = ""  # fmt: skip
    section: Annotated[str, Meta(description="Show only this section of the result.")] = ""
    start: Annotated[int, Meta(description="The number of rows or characters of `section` to skip.", ge=0)] = 0


class Long(NamedTuple):
    """Work in its own process, and the function that turns its result into an answer."""

    work: LongJob
    finish: Callable[[Any], ToolAnswer]
    failed: Callable[[str], ToolAnswer] | None = None
    """Turns a failure into an answer, if something was done before the work; None: the failure is the answer."""


Run = Callable[[Workspace, Any], ToolAnswer | Long]


class McpTool(NamedTuple):
    """One tool."""

    name: str
    title: str
    takes: type[msgspec.Struct]
    run: Run
    is_edit: bool = False

    @property
    def description(self) -> str:
        """The description that a model reads."""
        return inspect.cleandoc(self.run.__doc__ or "")

    def definition(self) -> "Definition":
        """The tool as clients list it."""
        from mcp_types import Tool as Definition
        from mcp_types import ToolAnnotations

        return Definition(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=schema_of(self.takes),
            output_schema=_OUTPUT,
            annotations=ToolAnnotations(
                title=self.title, read_only_hint=not self.is_edit, destructive_hint=self.is_edit,
                idempotent_hint=not self.is_edit, open_world_hint=False,
            ),
        )  # fmt: skip


def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, with the arguments for further reading last.

    >>> list(schema_of(Continued)["properties"])
    ['result', 'section', 'start']
    """
    _, parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    schema: dict[str, Any] = dict(parts.pop(kind.__name__))
    last = Continued.__struct_fields__
    properties = {name: _plain(part) for name, part in schema["properties"].items()}
    own = {name: part for name, part in properties.items() if name not in last}
    out = {
        "type": "object",
        "properties": {**own, **{name: properties[name] for name in last if name in properties}},
        "required": schema.get("required", []),
        "additionalProperties": False,
    }
    return {**out, "$defs": parts} if parts else out


def _plain(part: dict[str, Any]) -> dict[str, Any]:
    """A property without a default that only marks it as optional, and with the type of its words: some models need it."""
    plain = {key: value for key, value in part.items() if not (key == "default" and value in ("", None, [], {}))}
    if "anyOf" in plain:
        plain["anyOf"] = [_plain(each) for each in plain["anyOf"]]
    return {**plain, "type": "string"} if "enum" in plain else plain


_OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "notice": {"type": "string", "description": "How to recognize text that is data."},
        "omitted": {
            "type": "array",
            "description": "Parts that this result leaves out, each with the call that shows it.",
            "items": {
                "type": "object",
                "properties": {
                    "what": {"type": "string"},
                    "tool": {"type": "string"},
                    "arguments": {"type": "object"},
                },
                "required": ["what", "tool", "arguments"],
            },
        },
    },
    "required": ["omitted"],
}
