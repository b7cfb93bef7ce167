"""X44: repair invents nothing. The content of the value is in the text, or a fix says where it comes from."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.recover.material import CONTRACTS, PERSON, PLAIN, SAMPLES, mutated, scalars_of
from trueup import Contract, Verdict

DEFAULTS = Contract(
    {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 18}, "kind": {"const": "person"}},
        "required": ["name", "age"],
    },
    coerce="eager",
    accept="lossy",
)  # fmt: skip


def assert_nothing_is_invented(verdict: Verdict, text: str) -> None:
    """Every key, word and number of the value is part of the text, or was added by a fix."""
    if verdict.data is None:
        return
    # Words are compared without case: keys and enum values may be matched by it, and that is a fix as well.
    given = text.lower()
    if any(fix.code == "S022" for fix in verdict.fixes):
        given += re.sub(r"[\"'`+\s]", "", given)  # pieces of a string that were joined
    put = " ".join(fix.after for fix in verdict.fixes).lower()
    numbers = {float(number) for number in re.findall(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,2})?", text)}
    for scalar in scalars_of(verdict.data):
        if re.fullmatch(r"-?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?", scalar) and abs(float(scalar)) in numbers:
            continue
        for word in re.findall(r"\w+", scalar.lower()):
            assert word in given or word in put, f"{word!r} is nowhere in the text"


@pytest.mark.spec("X44")
@given(
    st.one_of(mutated(PLAIN, SAMPLES), st.lists(st.sampled_from(PLAIN), max_size=25).map("".join)),
    st.sampled_from(["any", "lossy", "eager", "people", "scalar"]),
)
def test_nothing_is_invented(text: str, name: str) -> None:
    assert_nothing_is_invented(CONTRACTS[name].check(text), text)
    assert_nothing_is_invented(DEFAULTS.check(text), text)


@pytest.mark.spec("X44")
@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Ada"}',
        '{"name": "Ada", "age":}',
        '{"name": "Ada", "age": ',
        '{"name": "Ada", "age": ...}',
        '{"name": "Ada", age}',
        "name: Ada",
        "<name>Ada</name>",
        "Person(name='Ada')",
        '{"name": "Ada", "age": null}',
        '{"name": "Ada", "age": ""}',
        '{"name": "Ada", "age": "unknown"}',
    ],
)
def test_missing_values_stay_missing(text: str) -> None:
    for contract in (Contract(PERSON, accept="lossy", coerce="eager"), DEFAULTS):
        verdict = contract.check(text)
        assert not verdict.ok
        assert {"V001", "V002", "P001"} & {found.code for found in verdict.errors}
        assert verdict.data is None or verdict.data.get("age") in (None, "", "unknown", "...")


@pytest.mark.spec("X44")
def test_an_empty_reply_gives_no_empty_value() -> None:
    for schema in ({"type": "object"}, {"type": "array"}, {"type": "integer"}, {"type": "boolean"}, True):
        for text in ("", "  \n", "```json\n```", "<answer></answer>", "Sure! Here is the JSON:"):
            verdict = Contract(schema, accept="lossy", coerce="eager").check(text)
            assert not verdict.ok
            assert verdict.data in (None, text)


@pytest.mark.spec("X44")
def test_the_diff_is_stored() -> None:
    text = "Sure: {'name': 'Ada', 'age': '36', 'tags': ['a', ]"
    verdict = CONTRACTS["person"].check(text)
    assert verdict.data == {"name": "Ada", "age": 36, "tags": ["a"]}
    stored = Verdict.from_dict(json.loads(json.dumps(verdict.to_dict())))
    assert stored.fixes == verdict.fixes
    assert stored.reply.text == text
    for fix in stored.fixes:
        assert fix.span is not None
        before: Any = text[slice(*fix.span)]
        assert fix.before == before or fix.code[0] == "C", "before is what stood in the text"
