"""The options of a LangChain chat model: the caller's bindings, tools, and the schema.

Takes a runnable; returns the model in it, with the caller's bindings, or a copy that sends once. Models are recognized by their attributes:
LangChain is not imported.
"""

from typing import Any

from trueup.ask.clients.client import kinds_of
from trueup.ask.clients.parameters import openai_tool
from trueup.verdict.tool import Tool

_ADDRESSES = ("openai_api_base", "anthropic_api_url", "azure_endpoint", "base_url", "endpoint_url", "endpoint")
_PROBE = openai_tool(Tool("probe"))


def unbound(runnable: Any) -> tuple[Any, list[Any]]:
    """The chat model in a binding of options or a configuration, and the bindings, innermost first; otherwise the runnable itself."""
    bindings: list[Any] = []
    inner = runnable
    while _is_binding(inner):
        bindings.insert(0, inner)
        inner = inner.bound
    return (inner, bindings) if hasattr(type(inner), "bind_tools") else (runnable, [])


def _is_binding(runnable: Any) -> bool:
    return any(kind.__name__ == "RunnableBinding" for kind in kinds_of(runnable))


def joined(own: Any, runnable: Any) -> dict[str, Any]:
    """The caller's bound tools together with the tools that are bound now, which replace those of the same name."""
    new = (getattr(runnable, "kwargs", None) or {}).get("tools")
    if not own or not isinstance(new, list):
        return {}
    names = {_tool_name(tool) for tool in new}
    return {"tools": [*(tool for tool in own if _tool_name(tool) not in names), *new]}


def unparsed(model: Any, given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """Options for a model of `langchain_openai`. With a schema, its SDK refuses tools that are not strict, so the schema is sent in `extra_body`."""
    if all(isinstance(tool, dict) and tool.get("function", {}).get("strict") for tool in tools or ()):
        return given
    uses_responses = getattr(model, "_use_responses_api", None)  # with it, the SDK takes both
    if uses_responses is not None and uses_responses(given):
        return given
    body = {**(getattr(model, "extra_body", None) or {}), **(given.get("extra_body") or {})}
    rest = {name: value for name, value in given.items() if name != "response_format"}
    return {**rest, "extra_body": {**body, "response_format": given["response_format"]}}


def _tool_name(tool: Any) -> Any:
    found = tool.get("function", tool) if isinstance(tool, dict) else {}
    return found.get("name") or id(tool)


def placeholder(runnable: Any) -> str:
    """The messages variable of the prompt that a chain begins with; empty for a runnable that takes messages itself."""
    while _is_binding(runnable):
        runnable = runnable.bound
    prompt = getattr(runnable, "first", None) if type(runnable).__name__ == "RunnableSequence" else runnable
    wanted = getattr(prompt, "input_variables", None)
    if wanted is None:
        return ""
    places = [part.variable_name for part in getattr(prompt, "messages", ()) if hasattr(part, "variable_name")]
    if len(places) == 1 and set(wanted) <= set(places):
        return str(places[0])
    takes = ", ".join(repr(name) for name in wanted) or "no messages"
    raise TypeError(
        f"the prompt of this chain takes {takes}: fill it in with `.partial(…)` and give it one place for messages, "
        'such as ("placeholder", "{messages}"), or ask the model alone'
    )


def only_blocks(runnable: Any) -> bool:
    """Whether a runnable is only synchronous, so that LangChain would call it in a thread that cannot be stopped."""
    if hasattr(runnable, "func") and not hasattr(runnable, "afunc") and type(runnable).__name__ == "RunnableLambda":
        return True
    name = "_agenerate" if hasattr(runnable, "_agenerate") else "ainvoke"
    owner = next((kind for kind in type(runnable).__mro__ if name in vars(kind)), object)
    is_theirs = owner.__module__.startswith("langchain_core.")
    return is_theirs and owner.__name__ in {"BaseChatModel", "SimpleChatModel", "Runnable"}


def chosen(choice: Any) -> dict[str, Any]:
    """The tool choice, in a form that every LangChain model understands."""
    if isinstance(choice, dict):
        choice = choice.get("function", {}).get("name") or choice
    return {} if choice is None else {"tool_choice": "any" if choice == "required" else choice}


def single(model: Any) -> Any:
    """A copy of a known model that sends once and counts the tokens of a stream."""
    changes: dict[str, Any] = {"max_retries": 0}
    if hasattr(model, "stream_usage"):
        changes["stream_usage"] = True
    for root, part in (("root_client", "client"), ("root_async_client", "async_client")):
        client: Any = getattr(model, root, None)
        if hasattr(client, "with_options"):
            changes[root] = client.with_options(max_retries=0)
            changes[part] = changes[root].chat.completions
    found = model.model_copy(update=changes)
    for name in (
        "_client",
        "_async_client",
        "_client_params",
    ):  # made on demand, with the retries of their model
        found.__dict__.pop(name, None)
    return found


def without(model: Any, rejected: frozenset[str]) -> Any:
    """A copy of a known model that does not send settings that were rejected before."""
    changes: dict[str, Any] = {}
    if "temperature" in rejected and getattr(model, "temperature", None) is not None:
        changes["temperature"] = None
    if "stream_options" in rejected and getattr(model, "stream_usage", False) and hasattr(model, "root_client"):
        changes["stream_usage"] = False
    return model.model_copy(update=changes) if changes else model


def binds(model: Any, **options: Any) -> bool:
    """Whether a chat model takes tools: every model has the method, but in some it raises `NotImplementedError`."""
    try:
        model.bind_tools([_PROBE], **options)
    except NotImplementedError:
        return False
    except Exception:  # noqa: BLE001 - it can be given tools, if not this one; but no option that it does not know
        return not options
    return True


def _first(owner: Any, names: tuple[str, ...]) -> str:
    found = (getattr(owner, name, None) for name in names)
    return next((value for value in found if isinstance(value, str) and value), "")


def address_of(runnable: Any) -> str:
    root = getattr(runnable, "root_client", None) or getattr(runnable, "root_async_client", None)
    return str(getattr(root, "base_url", "") or _first(runnable, _ADDRESSES))


def model_of(runnable: Any) -> str:
    return _first(runnable, ("model_name", "model"))
