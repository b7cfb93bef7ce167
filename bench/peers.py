"""One small function per peer: a schema in, a reader out. A reader takes text and gives a value, or raises.

Each function imports its library itself, so an absent one is an ImportError there and "not installed" in the tables.
"""

import json
from collections.abc import Callable
from enum import Enum
from importlib import metadata
from typing import Any, NamedTuple

from types_of import BamlSource, msgspec_type, pydantic_type

Read = Callable[[str], Any]
Make = Callable[..., Read]


class Refused(ValueError):
    """The peer said that it has no value."""


class Peer(NamedTuple):
    name: str
    package: str
    make: Make
    typed: bool = False  # gives an instance, not plain data: `plain()` before comparing

    def version(self) -> str:
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return "not installed"


def plain(value: Any) -> Any:
    """An instance as plain JSON data, without the optional fields that are null: a type has them, the reply may not."""
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(exclude_defaults=True))
    if hasattr(value, "__struct_fields__"):
        import msgspec

        return msgspec.to_builtins(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def _trueup(schema: Any, **options: Any) -> Read:
    from trueup import Contract

    check = Contract(schema=schema, **options).check

    def read(text: str) -> Any:
        verdict = check(text)
        if not verdict.ok:
            raise Refused(str(verdict.findings))
        return verdict.data

    return read


def _orjson(_schema: Any) -> Read:
    import orjson

    return orjson.loads


def _orjson_and_schema(schema: Any) -> Read:
    import jsonschema_rs
    import orjson

    is_valid = jsonschema_rs.validator_for(schema).is_valid

    def read(text: str) -> Any:
        value = orjson.loads(text)
        if not is_valid(value):
            raise Refused
        return value

    return read


def _json_and_jsonschema(schema: Any) -> Read:
    from jsonschema.validators import validator_for

    is_valid = validator_for(schema)(schema).is_valid

    def read(text: str) -> Any:
        value = json.loads(text)
        if not is_valid(value):
            raise Refused
        return value

    return read


def _msgspec(schema: Any) -> Read:
    import msgspec

    return msgspec.json.Decoder(msgspec_type(schema)).decode


def _pydantic(schema: Any) -> Read:
    from pydantic import TypeAdapter

    return TypeAdapter(pydantic_type(schema)).validate_json


def _json_repair(_schema: Any) -> Read:
    import json_repair

    read: Read = json_repair.loads
    return read


def _json_repair_schema(schema: Any) -> Read:
    import json_repair

    return lambda text: json_repair.loads(text, schema=schema)


def _fast_json_repair(_schema: Any) -> Read:
    from fast_json_repair import repair_json

    return lambda text: repair_json(text, return_objects=True, skip_json_loads=True)


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


def _jiter(_schema: Any) -> Read:
    import jiter

    return lambda text: jiter.from_json(text.encode(), partial_mode="trailing-strings")


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
    return lambda text: parse("Read", text, module, module, module, False, context, None, None, {})


TRUEUP = Peer("trueup", "trueup", _trueup)
FAST = Peer("fast_json_repair", "fast_json_repair", _fast_json_repair)
FLOOR = Peer("orjson + jsonschema-rs", "orjson", _orjson_and_schema)

# Readers of broken text.
REPAIRERS = (
    TRUEUP,
    FAST,
    Peer("json_repair", "json_repair", _json_repair),
    Peer("json_repair + schema", "json_repair", _json_repair_schema),
    Peer("repairjson", "repairjson", _repairjson),
    Peer("baml-py", "baml-py", _baml, typed=True),
    Peer("langchain-core", "langchain-core", _langchain),
    Peer("instructor", "instructor", _instructor, typed=True),
    Peer("partial-json-parser", "partial-json-parser", _partial_json_parser),
    Peer("jiter", "jiter", _jiter),
)

# Readers of clean text.
PARSERS = (
    TRUEUP,
    FLOOR,
    Peer("msgspec", "msgspec", _msgspec, typed=True),
    Peer("pydantic", "pydantic", _pydantic, typed=True),
    Peer("orjson alone", "orjson", _orjson),
    Peer("json + jsonschema", "jsonschema", _json_and_jsonschema),
    Peer("fast_json_repair", "fast_json_repair", _fast_json_repair_loads),  # tries orjson first: right for clean text
    *REPAIRERS[2:],
)
