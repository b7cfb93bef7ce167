"""Instructions for a model before it replies. `ask` sends them, and `Contract.instructions` returns them for other callers.

Takes a contract's schema and tools, and the templates of a language; returns texts, one for each system message. If a schema or
tools are sent in the provider's own parameters, these parts are left out.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

from trueup.ask.words.prompts import Form, format_text, tools_text
from trueup.ask.words.templates import Templates, find_words
from trueup.contract.tool_calls.envelope import SCHEMA as ENVELOPE
from trueup.contract.tool_calls.envelope import WITH_CALL
from trueup.verdict.likeness import nearest
from trueup.verdict.tool import Tool

if TYPE_CHECKING:
    from trueup.contract.calls import CallOptions
    from trueup.contract.contract import Contract

FORMS: tuple[Form, ...] = get_args(Form)

# The texts for the last schemas. The schemas and templates are kept, so that no other objects get their ids.
_known: OrderedDict[tuple[int, int], tuple[Any, Templates, str]] = OrderedDict()
_MOST_KNOWN = 64


def instructions(contract: "Contract", form: Form, language: str | None, *, tools: bool) -> str:
    """All instructions for a contract; empty if any text is valid."""
    if form not in FORMS:
        near = nearest(str(form), FORMS)
        meant = f"; did you mean {near!r}?" if near else ""
        raise ValueError(f"format must be one of {', '.join(FORMS)}; got {form!r}{meant}")
    words = find_words(language or contract.language or "en", None)
    options = contract.call_options
    schema = schema_told(None if contract.schema is None else contract.schema.source, options)
    offered = contract.tools if tools else ()
    return "\n\n".join(told(schema, offered, words, form, inside=options is not None and options.envelope))


def told(
    schema: Any, tools: Sequence[Tool], words: Templates, form: Form = "form", *, inside: bool = False
) -> list[str]:
    """The texts that describe a schema and tools to a model; give None and () if there is nothing to describe.

    >>> from trueup.ask.words.templates import shipped
    >>> told({"type": "integer"}, (), shipped("en"))[0].splitlines()[-1]
    '<integer>'
    """
    texts = [] if schema is None else [_format(schema, words) if form == "form" else format_text(schema, words, form)]
    return [*texts, tools_text(tools, words, form, inside=inside)] if tools else texts


def schema_told(schema: Any, calls: "CallOptions | None") -> Any:
    """The schema that is described to a model; the envelope's own schema if a call must be part of it."""
    return WITH_CALL if calls is not None and calls.required and schema == ENVELOPE else schema


def _format(schema: Any, words: Templates) -> str:
    key = (id(schema), id(words))
    known = _known.get(key)
    if known is None:
        known = _known[key] = (schema, words, format_text(schema, words))
        if len(_known) > _MOST_KNOWN:
            _known.popitem(last=False)
    return known[2]
