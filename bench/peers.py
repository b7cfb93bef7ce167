"""More peers than `trueup bench` has, one small function each: a schema in, a reader out, which returns a value or raises.

Each function imports its library itself, so an absent one is an ImportError there and "not installed" in the tables.
"""

from typing import Any

from trueup.measure.peers import FAST, FLOOR, JITER, JSON_REPAIR, JSONSCHEMA, ORJSON, TRUEUP, Peer, Read
from types_of import BamlSource, msgspec_type, pydantic_type


def _msgspec(schema: Any) -> Read:
    import msgspec

    return msgspec.json.Decoder(msgspec_type(schema)).decode


def _pydantic(schema: Any) -> Read:
    from pydantic import TypeAdapter

    return TypeAdapter(pydantic_type(schema)).validate_json


def _json_repair_schema(schema: Any) -> Read:
    import json_repair

    return lambda text: json_repair.loads(text, schema=schema)


def _fast_json_repair_loads(_schema: Any) -> Read:
    from fast_json_repair import loads

    return loads


def _repairjson(_schema: Any) -> Read:
    import repairjson

    read: Read = repairjson.loads
    return read


def _partial_json_parser(_schema: Any) -> Read:
    import partial_json_parser

    read: Read = partial_json_parser.loads
    return read


def _langchain(_schema: Any) -> Read:
    from langchain_core.utils.json import parse_json_markdown

    read: Read = parse_json_markdown
    return read


def _instructor(schema: Any) -> Read:
    from instructor.utils import extract_json_from_codeblock
    from pydantic import TypeAdapter

    validate = TypeAdapter(pydantic_type(schema)).validate_json
    return lambda text: validate(extract_json_from_codeblock(text))


_BAML_REST = """client<llm> Nobody {
  provider openai
  options {
    model "none"
    api_key "none"
    base_url "http://127.0.0.1:9"
  }
}
function Read(text: string) -> %s {
  client Nobody
  prompt #"{{ ctx.output_format }} {{ text }}"#
}
"""


def _baml(schema: Any) -> Read:
    import baml_py

    source = BamlSource(schema)
    files = {"bench.baml": "".join(source.blocks) + _BAML_REST % source.root}
    runtime = baml_py.BamlRuntime.from_files(".", files, {})
    context, module = runtime.create_context_manager(), source.module
    parse = runtime.parse_llm_response
    return lambda text: parse("Read", text, module, module, module, False, context, None, None, {})  # noqa: FBT003 - as the library names none


# Readers of broken text.
REPAIRERS = (
    TRUEUP,
    Peer("fast_json_repair", "fast_json_repair", _fast_json_repair_loads),
    Peer("the same, told it is broken", "fast_json_repair", FAST.make),  # it leaves the first try out
    JSON_REPAIR,
    Peer("json_repair + schema", "json_repair", _json_repair_schema),
    Peer("repairjson", "repairjson", _repairjson),
    Peer("baml-py", "baml-py", _baml, typed=True),
    Peer("langchain-core", "langchain-core", _langchain),
    Peer("instructor", "instructor", _instructor, typed=True),
    Peer("partial-json-parser", "partial-json-parser", _partial_json_parser),
    JITER,
)

# Readers of clean text.
PARSERS = (
    TRUEUP,
    FLOOR,
    Peer("msgspec", "msgspec", _msgspec, typed=True),
    Peer("pydantic", "pydantic", _pydantic, typed=True),
    ORJSON,
    JSONSCHEMA,
    REPAIRERS[1],
    *REPAIRERS[3:],
)
