"""Records that simple writers write as YAML, Markdown and XML are read back unchanged, with and without prose around them."""

import json
from html import escape
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trueup import Contract

WORDS = [
    "Ada", "Nice one.", "It's fine, don't expect much", "cold, dark; worth it", "C# rocks", "Issue #3", "100%", "3 apples", "10:30",
    "https://e.org/?a=1", "a - b", '"quoted" word', 'He said "hi"', "名前", "Größe über 3", "true story", "1.10", "007", "2024-01-05",
    "name", "age 5", "[draft] memo", "(aside)", "α→β", "snake_case_word", "__init__", "yes", "señal", "x = y", "end.", "4.5/5",
]  # fmt: skip
# These need quotes in YAML, and entities in XML.
ODD = [
    "a: b",
    "Title: sub",
    "- dash",
    "x | y",
    "# no comment",
    "{x}",
    "null",
    "true",
    "12",
    "tab\there",
    "a & b",
    "<b>x</b> y",
    "*",
    "~",
    "|",
]
FIELDS: dict[str, Any] = {
    "name": {"type": "string"},
    "unit_price": {"type": "number"},
    "count": {"type": "integer"},
    "ok": {"type": "boolean"},
    "Größe": {"type": "string"},
    "城市": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "address": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "string"}}, "required": ["city", "zip"]},
    "items": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}, "qty": {"type": "integer"}}, "required": ["sku", "qty"]}},
}  # fmt: skip
AROUND = [
    "{}",
    "Sure! Here it is:\n\n{}",
    "```\n{}\n```",
    "{}\n\nLet me know if you need more.",
    "<think>hm</think>\n{}",
]


def schema_of(keys: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {key: FIELDS[key] for key in keys},
        "required": keys,
        "additionalProperties": False,
    }


@st.composite
def records(draw: st.DrawFn, words: list[str]) -> dict[str, Any]:
    def value(schema: dict[str, Any]) -> Any:
        kind = schema["type"]
        if kind == "object":
            return {key: value(inner) for key, inner in schema["properties"].items()}
        if kind == "array":
            return [value(schema["items"]) for _ in range(draw(st.integers(1, 3)))]
        return draw({
            "integer": st.sampled_from([0, 3, -4, 12345, 10**20]),
            "number": st.sampled_from([1.5, -2.25, 0.1]),
            "boolean": st.booleans(),
            "string": st.sampled_from(words),
        }[kind])  # fmt: skip

    keys = draw(st.lists(st.sampled_from(sorted(FIELDS)), min_size=2, max_size=6, unique=True))
    return {key: value(FIELDS[key]) for key in keys}


def plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def yaml(record: dict[str, Any], indent: str, inner: str) -> list[str]:
    """YAML lines; `inner` is the extra indentation of a list under its key."""
    out: list[str] = []
    for key, value in record.items():
        if isinstance(value, dict):
            out += [f"{indent}{key}:", *yaml(value, indent + "  ", inner)]
        elif isinstance(value, list):
            out.append(f"{indent}{key}:")
            for item in value:
                lines = yaml(item, "", inner) if isinstance(item, dict) else [quoted(item)]
                out += [f"{indent}{inner}{'- ' if place == 0 else '  '}{line}" for place, line in enumerate(lines)]
        else:
            out.append(f"{indent}{key}: {quoted(value)}")
    return out


def quoted(value: Any) -> str:
    return (
        json.dumps(value, ensure_ascii=False)
        if not isinstance(value, str) or value in ODD or value[0] in '["'
        else value
    )


def markdown(record: dict[str, Any], style: str) -> str:
    out: list[str] = []
    for key, value in record.items():
        title = key.replace("_", " ").title()
        if isinstance(value, list) and isinstance(value[0], dict):
            body = "| SKU | Qty |\n|---|---|\n" + "\n".join(f"| {item['sku']} | {item['qty']} |" for item in value)
        elif isinstance(value, list):
            body = "\n".join(f"- {item}" for item in value)
        elif isinstance(value, dict):
            body = "\n".join(f"- {name}: {inner}" for name, inner in value.items())
        else:
            body = plain(value)
        if style == "heading":
            out.append(f"## {title}\n\n{body}\n")
        elif isinstance(value, dict | list):
            out.append(f"**{title}:**\n{body}\n")
        else:
            out.append(f"**{title}:** {body}")
    return "\n".join(out)


def xml(value: Any, name: str) -> str:
    if isinstance(value, dict):
        return f"<{name}>{''.join(xml(inner, key) for key, inner in value.items())}</{name}>"
    if isinstance(value, list):
        return f"<{name}>{''.join(xml(item, 'entry') for item in value)}</{name}>"
    return f"<{name}>{escape(plain(value))}</{name}>"


def comes_back(record: dict[str, Any], reply: str) -> None:
    verdict = Contract(schema_of(list(record))).check(reply)
    assert verdict.ok, verdict.findings
    assert json.dumps(verdict.data) == json.dumps(record)


@given(records(WORDS + ODD), st.sampled_from(AROUND), st.sampled_from(["", "  "]))
def test_written_yaml_is_read_back(record: dict[str, Any], around: str, inner: str) -> None:
    comes_back(record, around.replace("{}", "\n".join(yaml(record, "", inner)), 1))


@given(records(WORDS + ODD), st.sampled_from(AROUND))
def test_written_xml_is_read_back(record: dict[str, Any], around: str) -> None:
    comes_back(record, around.replace("{}", xml(record, "record"), 1))


@given(records(WORDS), st.sampled_from(["{}", "Sure! Here it is:\n\n{}", "```markdown\n{}\n```"]))
def test_written_headings_are_read_back(record: dict[str, Any], around: str) -> None:
    comes_back(record, around.replace("{}", markdown(record, "heading"), 1))


@given(records(WORDS), st.sampled_from(AROUND))
def test_written_bold_keys_are_read_back(record: dict[str, Any], around: str) -> None:
    comes_back(record, around.replace("{}", markdown(record, "bold"), 1))
