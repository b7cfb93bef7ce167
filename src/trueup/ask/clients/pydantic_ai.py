"""Models of pydantic-ai: any `pydantic_ai.models.Model`.

Takes a request; returns a reply in OpenAI's shape, because pydantic-ai has already read the provider's own. Its models can only be awaited;
for synchronous callers they run in trueup's event loop, with separate connections. The retries of a model's SDK are switched off in a copy
of the model. Agents are not run.
"""

from collections.abc import AsyncIterator
from functools import cached_property
from typing import Any

from trueup.ask.clients import event_loop
from trueup.ask.clients.connections import own_connections
from trueup.ask.clients.parameters import parameters_of
from trueup.ask.clients.pydantic_ai_shapes import as_chunk, as_completion, as_last_chunk, as_model_messages
from trueup.ask.clients.request import Request
from trueup.ask.clients.sdk import Sdk
from trueup.ask.policy import Mode

_CUT = "the stream ended before the reply was complete"


class PydanticAI(Sdk):
    """A pydantic-ai model, such as `OpenAIChatModel("gpt-4.1-mini")`."""

    dialect = ""  # pydantic-ai writes the schema for the provider
    kind = "this pydantic-ai model"

    def __init__(self, model: Any) -> None:
        self._given = model
        self.finishes = hasattr(model, "client")  # models without a provider do not send a finish reason
        self.takes_tools = _supports(model, "supports_tools", other=True)
        held: tuple[Mode, ...] = (
            ("json_schema",) if _supports(model, "supports_json_schema_output", other=False) else ()
        )
        self.modes = (*held, "tool", "text") if self.takes_tools else (*held, "text")
        self.able = self.modes
        self.key = f"pydantic-ai:{getattr(model, 'system', '')}:{getattr(model, 'base_url', None) or ''}"

    @cached_property
    def _model(self) -> Any:
        """The model for the caller's event loop."""
        return _single(self._given, own=False)

    @cached_property
    def _bridged(self) -> Any:
        """The model for trueup's event loop."""
        return _single(self._given, own=True)

    def _call(self, request: Request, *, stream: bool) -> Any:
        model = _named(self._bridged, request.model)
        return (
            event_loop.pieces_of(self._streamed(model, request))
            if stream
            else event_loop.wait(self._asked(model, request))
        )

    def _acall(self, request: Request, *, stream: bool) -> Any:
        model = _named(self._model, request.model)
        return self._streamed(model, request) if stream else self._asked(model, request)

    async def _asked(self, model: Any, request: Request) -> Any:
        return as_completion(await model.request(*_given(request)))

    async def _streamed(self, model: Any, request: Request) -> AsyncIterator[Any]:
        places: dict[int, int] = {}
        async with model.request_stream(*_given(request)) as response:
            async for event in response:
                chunk = as_chunk(event, places)
                if chunk is not None:
                    yield chunk
            whole = response.get()
        if self.finishes and not whole.finish_reason:
            raise ConnectionError(_CUT)
        yield as_last_chunk(whole)


def _supports(model: Any, name: str, *, other: bool) -> bool:
    """Whether a model's profile supports a feature; `other` if it has no profile, such as a model that asks several others."""
    try:
        profile = model.profile
    except NotImplementedError:
        return other
    found = profile.get(name, other) if isinstance(profile, dict) else getattr(profile, name, other)
    return bool(found)


def _given(request: Request) -> tuple[Any, Any, Any]:
    """The messages, the settings and the parameters of a request, in pydantic-ai's form."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    settings: dict[str, Any] = {}
    if request.temperature is not None and "temperature" not in request.without:
        settings["temperature"] = request.temperature
    if request.max_tokens is not None:
        settings["max_tokens"] = request.max_tokens
    if request.timeout is not None:
        settings["timeout"] = request.timeout
    choice = _choice(request)
    if request.tools and choice is not None and "tool_choice" not in request.without:
        settings["tool_choice"] = choice
    tools = [
        ToolDefinition(name=tool.name, description=tool.description or None, parameters_json_schema=parameters_of(tool))
        for tool in request.tools
    ]
    held: dict[str, Any] = {}
    if request.mode == "json_schema" and request.schema is not None:
        strict = False if "strict" in request.without else None
        form = OutputObjectDefinition(json_schema=request.schema, name=request.name, strict=strict)
        held = {"output_mode": "native", "output_object": form}
    parameters = ModelRequestParameters(function_tools=tools, **held)
    return as_model_messages(request.messages), {**settings, **request.parameters}, parameters


def _choice(request: Request) -> Any:
    if not request.call_tools:
        return "none"
    if request.forced_tool:
        return [request.forced_tool]
    return "required" if request.must_call else None


def _named(model: Any, name: str) -> Any:
    """The model with another name, if a policy or a rung gives one."""
    if not name or name == model.model_name:
        return model
    held = vars(model)
    if "wrapped" not in held and "_model_name" not in held:
        raise ValueError(
            f"a {type(model).__name__} of pydantic-ai has its own model; leave {name!r} out of Policy(models=…)"
        )
    found = _copied(model)
    if "wrapped" in held:
        found.wrapped = _named(model.wrapped, name)
    else:
        found._model_name = name  # noqa: SLF001 - there is no other way to it
    return found


def _copied(source: Any) -> Any:
    """A shallow copy; `copy.copy` fails for wrappers, which look up missing attributes in the wrapped object."""
    found = object.__new__(type(source))
    found.__dict__.update(source.__dict__)
    return found


def _single(model: Any, *, own: bool) -> Any:
    """A copy of a model that makes its SDK send once, with its `own` connections; the model itself if its SDK has no such options."""
    held = vars(model)
    if "wrapped" in held:
        found = _copied(model)
        found.wrapped = _single(model.wrapped, own=own)
        return found
    if isinstance(held.get("models"), list):  # a model that falls back to others
        found = _copied(model)
        found.models = [_single(one, own=own) for one in model.models]
        return found
    provider, client = getattr(model, "_provider", None), getattr(model, "client", None)
    if not hasattr(client, "with_options") or getattr(provider, "_client", None) is not client:
        return model
    options: dict[str, Any] = {"max_retries": 0}
    if own:
        options["http_client"] = own_connections(client._client)  # type: ignore[union-attr]  # noqa: SLF001 - as above
    found, made_with = _copied(model), _copied(provider)
    made_with._client = client.with_options(**options)  # type: ignore[union-attr]  # noqa: SLF001 - as above
    found._provider = made_with  # noqa: SLF001 - as above
    return found
