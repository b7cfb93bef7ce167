"""Vocabulary: the meaning of words in a contract besides its own keys: keywords of JSON Schema, functions of
expressions, and options of ready checks.
"""

KEYWORDS: dict[str, str] = {
    "type": "The type of the value: one, or a list of several.",
    "properties": "The members of an object, each with its schema.",
    "required": "The required members.",
    "additionalProperties": "Whether an object may have other members, or the schema that they must fit.",
    "patternProperties": "The schemas of members whose names match a regular expression.",
    "propertyNames": "The schema that the names of all members must fit.",
    "minProperties": "The minimum number of members of an object.",
    "maxProperties": "The maximum number of members of an object.",
    "dependentRequired": "For a member, the others that are required if it is present.",
    "dependentSchemas": "For a member, the schema that the object must fit if it is present.",
    "unevaluatedProperties": "Like `additionalProperties`, for members that no part of `allOf` and the like has named.",
    "items": "The schema of each item of a list.",
    "prefixItems": "The schemas of the first items of a list, one by one.",
    "contains": "The schema that at least one item of a list must fit.",
    "minContains": "The minimum number of items that must fit `contains`.",
    "maxContains": "The maximum number of items that may fit `contains`.",
    "minItems": "The minimum number of items in a list.",
    "maxItems": "The maximum number of items in a list.",
    "uniqueItems": "Whether all items of a list must differ.",
    "unevaluatedItems": "Like `items`, for items that no other part of the schema has named.",
    "additionalItems": "In older drafts, the schema of items after those that `items` lists.",
    "enum": "The values that are allowed.",
    "const": "The only value that is allowed.",
    "minimum": "The lowest number that is allowed.",
    "maximum": "The highest number that is allowed.",
    "exclusiveMinimum": "The number must be higher than this one.",
    "exclusiveMaximum": "The number must be lower than this one.",
    "multipleOf": "The number must be a multiple of this one.",
    "minLength": "The minimum number of characters in a text.",
    "maxLength": "The maximum number of characters in a text.",
    "pattern": "A regular expression that must match somewhere in a text; ^ and $ anchor it to the ends.",
    "format": "The kind of text, such as a date or an e-mail address.",
    "contentEncoding": "How bytes are written in a text, such as base64.",
    "contentMediaType": "The media type of a text's content.",
    "contentSchema": "The schema of the value inside a text.",
    "anyOf": "The value must fit at least one of these schemas.",
    "oneOf": "The value must fit exactly one of these schemas.",
    "allOf": "The value must fit all of these schemas.",
    "not": "The value must not fit this schema.",
    "if": "If the value fits this schema, it must fit `then`, otherwise `else`.",
    "then": "The schema for a value that fits `if`.",
    "else": "The schema for a value that does not fit `if`.",
    "title": "A short name for people.",
    "description": "What the value is. Models see this text.",
    "default": "The value that replaces a missing one.",
    "examples": "Values that fit, for people.",
    "deprecated": "Whether the value should no longer be used.",
    "readOnly": "Whether only the program sets the value.",
    "writeOnly": "Whether the value is set and never shown.",
    "nullable": "As in OpenAPI: whether the value may be null.",
    "discriminator": "As in OpenAPI: the member that selects the schema of a union.",
    "$defs": "Schemas for use by `$ref`.",
    "definitions": "The older name of `$defs`.",
    "$ref": "The schema at another place of this one, such as #/$defs/Person. Nothing is fetched.",
    "$id": "The address of this schema.",
    "$schema": "The draft of JSON Schema that this is written in.",
    "$anchor": "A name of this schema for `$ref`.",
    "$comment": "A note for people.",
}  # fmt: skip

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
FORMATS = (
    "date",
    "date-time",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "uuid",
    "regex",
    "json-pointer",
)
SWITCHES = frozenset({"uniqueItems", "deprecated", "readOnly", "writeOnly", "nullable", "additionalProperties", "unevaluatedProperties"})  # fmt: skip

FUNCTIONS: dict[str, str] = {
    "len": "len(x): the number of items, members or characters.",
    "sum": "sum(numbers): all of them added up.",
    "any": "any(x > 3 for x in xs): whether it is true for at least one.",
    "all": "all(x > 3 for x in xs): whether it is true for every one.",
    "min": "min(xs), min(a, b): the lowest.",
    "max": "max(xs), max(a, b): the highest.",
    "sorted": "sorted(xs, reverse=False): the items in order.",
    "list": "list(xs): the items as a list.",
    "tuple": "tuple(xs): the items as a tuple.",
    "set": "set(xs): the items, each once.",
    "dict": "dict(pairs): an object made of pairs.",
    "range": "range(stop), range(start, stop, step): numbers one after the other.",
    "enumerate": "enumerate(xs, start=0): pairs of a number and an item.",
    "zip": "zip(xs, ys): items of several lists side by side.",
    "reversed": "reversed(xs): the items from the last to the first.",
    "abs": "abs(x): the number without its sign.",
    "round": "round(x, ndigits=0): the number, rounded.",
    "pow": "pow(x, y): x to the power of y.",
    "floor": "floor(x): the whole number below.",
    "ceil": "ceil(x): the whole number above.",
    "sqrt": "sqrt(x): the square root.",
    "log": "log(x, base): the logarithm; without a base, the natural one.",
    "exp": "exp(x): e to the power of x.",
    "str": "str(x): the value as text.",
    "int": "int(x): the value as a whole number.",
    "float": "float(x): the value as a number.",
    "bool": "bool(x): whether the value is not empty, zero or null.",
    "isinstance": "isinstance(x, str): whether the value is of a type: str, int, float, bool, list, dict, tuple, set.",
    "dir": "'x' in dir(): whether there is a field of that name.",
}

REPLY_NAMES: dict[str, str] = {
    "text": "The text of the reply.",
    "length": "How many characters the text has.",
    "messages": "The messages of the reply.",
    "calls": "The tool calls of the reply.",
    "first": "Whether this is the first reply of the conversation.",
    "question": "The last message of the user.",
    "state": "The state that the conversation is in.",
    "data": "The value of the reply.",
    "has_tool_outputs": "Whether the reply came with outputs of tools.",
}

OWN_KEYWORDS: dict[str, str] = {
    "x-grounded": "Whether the source must contain the value: true, false, `quotation`, or a mapping of `quotation`, `patterns` and `level`.",
}
"""Schema keywords that are specific to trueup."""
_LEVEL = {"level": "`error` refuses the reply, `warning` only reports."}
_ALLOWED = {"allow": "Domains or addresses that may occur."}
_REGION = {"region": "Countries whose numbers may be written without +, such as ES."}
_JUDGED = {**_LEVEL, "fields": "The fields of the value that are judged."}
_COMMON = {**_JUDGED, "calls": "Whether the arguments of tool calls are judged too."}
CHECK_OPTIONS: dict[str, dict[str, str]] = {
    "no_secrets": _COMMON,
    "no_email": _ALLOWED | _COMMON,
    "no_phone": _REGION | _COMMON,
    "no_card": _COMMON,
    "no_iban": _COMMON,
    "no_personal_data": _REGION | _ALLOWED | _COMMON,
    "language": {
        "language": "The languages that a reply may be in, such as es.",
        "least": "The minimum number of letters for recognizing a language.",
        "share": "The share of the reply that may be in other languages, from 0 to 1.",
        **_JUDGED,
    },
    "urls": {
        "allow": "Hosts that may be named, with all hosts below them.",
        "schemes": "Schemes that an address may have, such as https.",
        **_COMMON,
    },
    "code": {"code": "The languages that are checked.", "dialect": "The dialect of SQL, such as postgres.", **_JUDGED},
    "terms": {
        "forbid": "Words and phrases that must not occur.",
        "require": "Words and phrases that must occur.",
        "file": "A file that lists the terms.",
        **_COMMON,
    },
    "no_prompt_leak": {
        "least": "How many words in a row count as a leak of the prompt.",
        "share": "The share of the prompt that counts as a leak, from 0 to 1.",
        "n": "How many words are compared at a time.",
        **_COMMON,
    },
    "no_repetition": {
        "times": "How many copies in a row are too many.",
        "least": "The minimum number of words in all copies together.",
        **_JUDGED,
    },
}
"""The options of each ready check."""
CODE_LANGUAGES: dict[str, str] = {"python": "Python", "json": "JSON", "sql": "SQL"}
