"""Ready checks of values and calls: every string is checked in plain form, with its path, and only once."""

import json
from typing import Any

import pytest

from trueup import Contract
from trueup.shelf.options import BadOption
from trueup.shelf.subject import MOST
from trueup.shelf.table import SHELF
from trueup.verdict.facts import Finding

SCHEMA = {"type": "object"}
CARD = "4111 1111 1111 1111"
TOOLS = [{"name": "send", "parameters": {"type": "object", "properties": {"to": {"type": "string"}}}}]


def findings_of(check: Any, reply: Any, **options: Any) -> list[Finding]:
    verdict = Contract(checks=[check], **options).check(reply)
    return [one for one in verdict.findings if one.code.startswith("H")]


def calling(**args: Any) -> dict[str, Any]:
    function = {"name": "send", "arguments": json.dumps(args)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]}


@pytest.mark.parametrize(
    ("check", "written"),
    [
        ("no_email", r"ada\u0040example.org"),
        ("no_email", r"\u0061da@example.org"),
        ("no_secrets", r"AKIA\u0051X7LTZ3M9KPWB2DR"),
        ("no_card", r"4111\u00201111 1111 1111"),
        ("no_phone", r"\u002b44 20 7946 0958"),
        ("no_iban", r"ES91\u002021000418450200051332"),
        ({"urls": {"allow": ["example.com"]}}, r"https:\/\/evil.org"),
        ({"urls": {"allow": ["example.com"]}}, r"\u0068ttps://evil.org"),
        ({"terms": ["acme"]}, r"Ac\u006de"),
    ],
)
def test_escapes_of_json_hide_nothing(check: Any, written: str) -> None:
    text = f'{{"a": [{{"text": "Here: {written}"}}]}}'
    (one,) = findings_of(check, text, schema=SCHEMA)
    assert one.path == "$.a[0].text"
    assert one.span is not None
    assert text[slice(*one.span)] == written


@pytest.mark.parametrize("reply", ['{"card": 4111111111111111}', "card: 4111111111111111", '{"4111111111111111": 1}'])
def test_numbers_and_names_are_read_too(reply: str) -> None:
    (one,) = findings_of("no_card", reply, schema=SCHEMA)
    assert one.code == "H004"


def test_a_text_around_the_value_is_read_too() -> None:
    paths = [
        one.path for one in findings_of("no_card", f'{{"n": "{CARD}"}} charged: 5555 5555 5555 4444', schema=SCHEMA)
    ]
    assert paths == ["$.n", "$"]


def test_a_value_inside_a_value_is_read() -> None:
    inner = json.dumps({"to": "ada@example.org"}).replace("@", "\\u0040")
    (one,) = findings_of("no_email", json.dumps({"payload": inner.replace("\\u0040", "@")}), schema=SCHEMA)
    assert one.path == "$.payload"


def test_strings_of_a_value_do_not_touch() -> None:
    assert not findings_of("no_card", '{"a": ["4111 1111", "1111 1111"]}', schema=SCHEMA)
    assert not findings_of("no_iban", '["ES91 2100 0418", "4502 0005 1332"]', schema={"type": "array"})


def test_fields_are_judged_alone() -> None:
    text = json.dumps({"public": [{"note": CARD}], "private": CARD})
    check = {"no_card": {"fields": "public[].note"}}
    assert [one.path for one in findings_of(check, text, schema=SCHEMA)] == ["$.public[0].note"]
    assert not findings_of(check, f"{text} {CARD}".replace(CARD, "none", 1), schema=SCHEMA)


def test_code_in_fields_is_judged_without_a_fence() -> None:
    text = json.dumps({"query": "SELECT FROM WHERE", "title": "SELECT FROM WHERE"})
    check = {"code": {"code": "sql", "fields": ["query"]}}
    assert [one.path for one in findings_of(check, text, schema=SCHEMA)] == ["$.query"]
    assert not findings_of({"code": "sql"}, text, schema=SCHEMA)


def test_blocks_in_strings_are_judged() -> None:
    text = json.dumps({"answer": "So:\n```python\nx = (\n```\n"})
    assert [one.path for one in findings_of("code", text, schema=SCHEMA)] == ["$.answer"]


def test_the_language_of_one_field_is_judged() -> None:
    text = json.dumps(
        {"es": "Su mesa está reservada para mañana por la noche.", "en": "Your table is booked for tonight at nine."}
    )
    assert not findings_of({"language": {"language": "es", "fields": ["es"]}}, text, schema=SCHEMA)
    assert findings_of({"language": {"language": "es", "fields": ["en"]}}, text, schema=SCHEMA)


@pytest.mark.parametrize(
    ("check", "value", "code"),
    [
        ("no_secrets", "AKIAQX7LTZ3M9KPWB2DR", "H001"),
        ({"urls": {"allow": ["example.com"]}}, "https://evil.org/collect", "H007"),
        ({"urls": {"allow": ["example.com"]}}, "//evil.org/collect", "H007"),
        ("urls", "javascript:alert(1)", "H007"),
        ({"no_card": {"calls": True}}, CARD, "H004"),
        ({"no_personal_data": {"calls": True}}, "ada@example.org", "H002"),
        ({"terms": {"forbid": ["acme"], "calls": True}}, "About Acme", "H009"),
    ],
)
def test_arguments_of_calls_are_judged(check: Any, value: str, code: str) -> None:
    verdict = Contract(tools=TOOLS, checks=[check]).check(calling(to=value))
    assert [(one.code, one.path) for one in verdict.findings] == [(code, "$.calls[0].args.to")]
    assert not verdict.calls
    assert [refusal.call.name for refusal in verdict.refused] == ["send"]


@pytest.mark.parametrize("check", ["no_card", "no_personal_data", {"no_secrets": {"calls": False}}])
def test_other_arguments_are_judged_only_on_request(check: Any) -> None:
    reply = calling(to=f"{CARD} ada@example.org AKIAQX7LTZ3M9KPWB2DR")
    assert Contract(tools=TOOLS, checks=[check]).check(reply).ok


@pytest.mark.parametrize(
    "given",
    [
        {"no_card": {"calls": "yes"}},
        {"language": {"language": "es", "calls": True}},
        {"no_card": {"fields": "a["}},
        {"no_card": {"fields": []}},
        {"no_personal_data": {"fields": 3}},
    ],
)
def test_options_for_what_to_judge_are_checked(given: Any) -> None:
    with pytest.raises(BadOption, match=r"^checks\[0\]\."):
        Contract(checks=[given])


def test_a_limit_is_reported() -> None:
    text = " ".join(f"a{n}@example.org" for n in range(MOST + 10))
    codes = [one.code for one in findings_of("no_email", text)]
    assert codes == ["H002"] * MOST + ["H013"]
    (last,) = [one for one in findings_of("no_email", text) if one.code == "H013"]
    assert last.level == "warning"
    assert not findings_of("no_email", " ".join(text.split()[:MOST]))[MOST:]


def test_a_long_block_and_a_long_prompt_are_reported() -> None:
    (block,) = findings_of("code", "```python\n" + "x = 1\n" * 40_000 + "```")
    assert (block.code, block.level) == ("H013", "warning")
    verdict = Contract(checks=["no_prompt_leak"]).check("Hello", {"prompt": "word " * 100_000})
    assert [one.code for one in verdict.findings] == ["H013"]


@pytest.mark.parametrize("name", [name for name, row in SHELF.items() if row.code and row.plain])
def test_a_key_is_never_repeated_by_any_check(name: str) -> None:
    secret = "AKIAQX7LTZ3M9KPWB2DR"
    options = {"terms": {"forbid": ["acme"]}, "urls": {"allow": ["example.com"]}}.get(name, {})
    text = f"acme https://u:{secret}@evil.org/{secret} {secret}@example.org {CARD} ES9121000418450200051332 +44 20 7946 0958"
    for one in findings_of({name: options}, text):
        assert secret.lower() not in json.dumps(one.to_dict()).lower()


def test_no_parser_quotes_its_input() -> None:
    secret = "AKIAQX7LTZ3M9KPWB2DR"
    for code in (
        f"SELECT '{secret}",
        f"SELECT * FROM t WHERE {secret} {secret} x",
        f"/* {secret}",
        f"SELECT * FROM {secret} (",
    ):
        for one in findings_of({"code": "sql"}, code):
            assert secret not in json.dumps(one.to_dict())
            assert "<" not in one.message
    for language, code in (("python", f"x = '{secret}"), ("json", f'{{"a": "{secret}",}}')):
        (one,) = findings_of({"code": language}, code)
        assert secret not in json.dumps(one.to_dict())


@pytest.mark.parametrize("check", ["no_card", "no_email", {"urls": {"allow": ["example.com"]}}, "no_secrets"])
def test_a_stream_finds_the_same_at_its_end(check: Any) -> None:
    text = f"<think>{CARD}</think>{CARD} ada&#64;example.org https://evil\u200b.org AKIAQX7LTZ3M9KPWB2DR"
    contract = Contract(checks=[check])
    stream = contract.stream()
    for char in text:
        stream.feed(char)
    assert stream.finish().findings == contract.check(text).findings
