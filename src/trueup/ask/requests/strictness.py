"""The schema that a provider is held to, and whether the provider enforces it strictly.

Takes a request and a provider's dialect; returns the schema to send. A schema that cannot be strict is sent unchanged. Each strict form
is made once, and shared by all asks with the same schema.
"""

import threading
from collections import OrderedDict
from typing import Any

from trueup.ask.clients.request import Request
from trueup.conform.dialects import DIALECTS, Provider
from trueup.conform.refusals import SchemaError
from trueup.conform.strict import StrictForm, narrowed_form, strict_form
from trueup.verdict.tool import Tool

# Providers that need every property to be required: an absent field is null instead.
_NULLS: frozenset[str] = frozenset({"azure", "groq", "openai"})
# Providers that enforce the arguments of a tool if the tool is marked as strict.
_TOOLS: frozenset[str] = frozenset({"azure", "openai"})
# "nulls": the reply is passed on unchanged, so a null must not replace an absent field.
_LOOSE = frozenset({"strict", "nulls"})
_MOST = 512
_known: OrderedDict[tuple[int, str], tuple[dict[str, Any], StrictForm | None]] = OrderedDict()
_lock = threading.Lock()


def held_schema(request: Request, provider: Provider) -> tuple[dict[str, Any], bool]:
    """The request's schema in the form to send, and whether it is strict.

    >>> held_schema(Request([], schema={"type": "object", "properties": {"n": {"type": "integer"}}}), "openai")[0][
    ...     "required"
    ... ]
    ['n']
    """
    return _sent(request.schema or {}, provider, request)


def tool_schema(tool: Tool, provider: Provider, request: Request) -> tuple[dict[str, Any], bool]:
    """The schema of a tool's arguments in the form to send, and whether it is strict."""
    schema = tool.parameters if isinstance(tool.parameters, dict) else {"type": "object", "properties": {}}
    return _sent(schema, provider, request) if provider in _TOOLS else (schema, False)


def _sent(schema: dict[str, Any], provider: Provider, request: Request) -> tuple[dict[str, Any], bool]:
    form = None if "strict" in request.without else form_of(schema, provider)
    if form is None or (form.nulls and "nulls" in request.without):
        return schema, False
    return form.schema, True


def answer_form(request: Request, dialect: str) -> StrictForm | None:
    """The strict form that was sent for the value, if it uses null for absent fields; otherwise None."""
    if not request.answer_tool:
        return form_with_nulls(request.schema if request.mode == "json_schema" else None, dialect, request)
    tool = next((tool for tool in request.tools if tool.name == request.answer_tool), None)
    return None if tool is None else form_with_nulls(tool.parameters, dialect, request)


def says_null(request: Request) -> bool:
    """Whether a reply may contain nulls for absent fields, in one of the dialects."""
    return any(answer_form(request, dialect) is not None for dialect in _NULLS)


def form_with_nulls(schema: Any, dialect: str, request: Request) -> StrictForm | None:
    """The strict form of a schema that was sent, if it uses null for absent fields; otherwise None."""
    if dialect not in _NULLS or not isinstance(schema, dict) or not request.without.isdisjoint(_LOOSE):
        return None
    form = form_of(schema, dialect)
    return form if form is not None and form.nulls else None


def form_of(schema: dict[str, Any], provider: str) -> StrictForm | None:
    """The form of a schema that a provider enforces, made once; None if there is no such form."""
    if provider not in DIALECTS:
        return None
    key = id(schema), provider
    with _lock:
        known = _known.get(key)
    if known is not None:
        return known[1]
    form = _made(schema, provider)  # type: ignore[arg-type]  # it is one of the dialects
    with _lock:
        _known[key] = schema, form  # keep the schema, so that no other object gets its id
        if len(_known) > _MOST:
            _known.popitem(last=False)
    return form


def _made(schema: dict[str, Any], provider: Provider) -> StrictForm | None:
    from trueup.conform.schema import compile_schema  # loaded when a schema is used for the first time

    try:
        return strict_form(compile_schema(schema), provider) if provider in _NULLS else narrowed_form(schema, provider)
    except SchemaError:
        return None
