"""X3, X4, X5, X6: numbers, repeated keys, lone surrogates and YAML's habits: nothing is silently lost or changed."""

import itertools
import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import Contract, Verdict

ANY = Contract(True)
OBJECT = Contract({"type": "object"})


def codes(facts: Any) -> list[str]:
    return [fact.code for fact in facts]


# -- X3: numbers

WAYS = {
    "plain": '{"n": %s}',
    "fenced": '```json\n{"n": %s}\n```',
    "trailing comma": '{"n": %s,}',
    "single quotes": "{'n': %s}",
    "bare key": "{n: %s}",
    "comment": '{"n": %s // big\n}',
    "cut": '{"n": %s',
    "call": "f(n=%s)",
    "encoded": '"{\\"n\\": %s}"',
    "in prose": 'The answer: {"n": %s} as asked',
}


@pytest.mark.spec("X3")
@given(st.integers(min_value=-(10**400), max_value=10**400), st.sampled_from(sorted(WAYS)))
def test_integers_of_any_size_are_exact_however_they_are_written(number: int, way: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    for contract in (OBJECT, Contract(schema)) if way != "call" else (Contract(schema),):
        verdict = contract.check(WAYS[way] % number)
        assert verdict.data == {"n": number}
        assert type(verdict.data["n"]) is int
        assert verdict.ok


@pytest.mark.spec("X3")
def test_integers_in_strings_are_exact_too() -> None:
    number = 12345678901234567890123
    verdict = Contract({"type": "array", "items": {"type": "integer"}}).check(f'["{number}", {number}]')
    assert verdict.data == [number, number]


@pytest.mark.spec("X3")
@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(sorted(set(WAYS) - {"call"})))
def test_floats_keep_every_bit(number: float, way: str) -> None:
    verdict = OBJECT.check(WAYS[way] % json.dumps(number))
    assert repr(verdict.data["n"]) == repr(number)


@pytest.mark.spec("X3")
@pytest.mark.parametrize("way", sorted(set(WAYS) - {"call"}))
@pytest.mark.parametrize(
    ("token", "code"),
    [("NaN", "P004"), ("Infinity", "P004"), ("-Infinity", "P004"), ("1e400", "P005"), ("-1E+999", "P005"), ("9" * 5000, "P005")],
)  # fmt: skip
def test_a_value_that_no_number_can_represent_is_a_finding_even_if_all_fixes_are_accepted(
    token: str, code: str, way: str
) -> None:
    for contract in (OBJECT, Contract({"type": "object"}, accept="lossy")):
        verdict = contract.check(WAYS[way] % token)
        assert code in codes(verdict.errors)
        assert verdict.data == {"n": None}


@pytest.mark.spec("X3")
@pytest.mark.parametrize("token", ["NaN", "1e400", "Infinity"])
def test_number_words_in_strings_stay_words(token: str) -> None:
    verdict = ANY.check(f'{{"n": "{token}"}}')
    assert verdict.data == {"n": token}
    assert verdict.ok
    assert not Contract({"type": "array", "items": {"type": "number"}}).check(f'["{token}"]').ok


# -- X4: doubled keys


@pytest.mark.spec("X4")
@pytest.mark.parametrize(
    "text",
    [
        '{"role": "user", "role": "admin"}',
        '{"role": "user", "r\\u006fle": "admin"}',
        '{"role": "user", "role" : "admin" }',
        '{"role": "user", "x": "\\u0022", "role": "admin"}',
        '{"role": "\\"", "role": "admin"}',
        "{'role': 'user', 'role': 'admin'}",
        '{"role": "user", role: "admin"}',
        '```json\n{"role": "user", "role": "admin",}\n```',
        '{"role": {"role": 1}, "role": "admin"}',
        '{"role": ["a", "b"], "n": 1, "role": "admin"}',
        '{"role": "user", "role": "user", "role": "admin"}',
        '{"role": "admin", "role": "admin"}',
        '"{\\"role\\": \\"user\\", \\"role\\": \\"admin\\"}"',
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_repeated_key_is_reported_and_the_judged_value_is_returned(text: str, wrapped: bool) -> None:
    reply = f"[{text}]" if wrapped and not text.startswith(("```", '"')) else text
    verdict = Contract({"type": ["object", "array"]}).check(reply)
    inner = verdict.data[0] if isinstance(verdict.data, list) else verdict.data
    assert inner["role"] == "admin", "the last one counts, as in every reader of JSON"
    assert "P003" in codes(verdict.findings)
    assert "S032" in codes(verdict.fixes)
    assert not Contract({"type": ["object", "array"]}, strict=True).check(reply).ok
    assert not Contract({"type": ["object", "array"]}, accept="none").check(reply).ok


@pytest.mark.spec("X4")
def test_the_schema_judges_the_value_that_is_returned() -> None:
    contract = Contract({"type": "object", "properties": {"role": {"enum": ["user"]}}, "required": ["role"]})
    assert not contract.check('{"role": "user", "role": "admin"}').ok
    assert contract.check('{"role": "admin", "role": "user"}').data == {"role": "user"}


@pytest.mark.spec("X4")
@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", 'q"', "é", "\\", "u0022"]), st.sampled_from([1, "x", 'y"', []])), max_size=6)
)  # fmt: skip
def test_a_key_is_repeated_exactly_if_it_is_reported(pairs: list[tuple[str, Any]]) -> None:
    text = "{" + ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in pairs) + "}"
    verdict = ANY.check(text)
    assert verdict.data == dict(pairs)
    assert ("P003" in codes(verdict.findings)) == (len(dict(pairs)) < len(pairs))
    assert bool(verdict.fixes) == (len(dict(pairs)) < len(pairs))


# -- X5: half surrogates and NUL


@pytest.mark.spec("X5")
@pytest.mark.parametrize("way", ["%s", "```json\n%s\n```", "%s,", "Sure: %s"])
@pytest.mark.parametrize("half", ["\\ud800", "\\udfff", "\\ud83dx\\ude00", "\ud800", "\\ude00\\ud83d"])
def test_half_a_surrogate_pair_is_a_finding_and_never_in_the_data(half: str, way: str) -> None:
    verdict = Contract(True, accept="lossy").check(way % f'{{"a": "x{half}y"}}')
    assert "P006" in codes(verdict.errors)
    assert "S035" in codes(verdict.fixes)
    verdict.data["a"].encode()
    assert verdict.data["a"][0] == "x"
    assert verdict.data["a"][-1] == "y"


@pytest.mark.spec("X5")
@pytest.mark.parametrize(
    "reply",
    ['{"a": "x\\ud800y"}', '{"a": "x\ud800y"}', '{"a": "x\\u0000y"}', '{"a\\u0000": 1}', '{"a": "x\x00y"}', "\x00\ud800", b"\xed\xa0\x80{}"],
    ids=ascii,
)  # fmt: skip
def test_lone_surrogates_and_nul_are_preserved_by_export_and_store(reply: Any) -> None:
    verdict = ANY.check(reply)
    told = json.dumps(verdict.to_dict())
    told.encode()
    with closing(sqlite3.connect(":memory:")) as store:
        store.execute("create table verdicts (told text)")
        store.execute("insert into verdicts values (?)", (told,))
        (kept,) = store.execute("select told from verdicts").fetchone()
    assert Verdict.from_dict(json.loads(kept)) == verdict
    if isinstance(reply, str):
        assert Verdict.from_dict(json.loads(kept)).reply.text == reply


@pytest.mark.spec("X5")
def test_nul_written_as_json_is_kept() -> None:
    verdict = ANY.check('{"a": "x\\u0000y"}')
    assert verdict.data == {"a": "x\x00y"}
    assert verdict.fixes == ()


# -- X6: lines of YAML are read as lines, not as YAML

FLAG = {"type": "object", "properties": {"name": {"type": "string"}, "done": {"type": ["boolean", "string"]}, "at": {}}, "required": ["name"]}  # fmt: skip


@pytest.mark.spec("X6")
@pytest.mark.parametrize("word", ["no", "yes", "on", "off", "y", "N", "1:30", "0o17", "1_000", "2024-01-31"])
def test_yaml_words_stay_words(word: str) -> None:
    verdict = Contract(FLAG).check(f"name: Ada\ndone: {word}\nat: {word}\n")
    assert verdict.ok
    assert verdict.data == {"name": "Ada", "done": word, "at": word}


@pytest.mark.spec("X6")
@pytest.mark.parametrize(("word", "value"), [("true", True), ("false", False), ("null", None), ("12", 12)])
def test_yaml_words_that_json_has_too_are_values(word: str, value: Any) -> None:
    assert Contract(FLAG).check(f"name: Ada\nat: {word}\n").data == {"name": "Ada", "at": value}


@pytest.mark.spec("X6")
def test_an_alias_bomb_does_not_expand() -> None:
    names = "abcdefghi"
    lines = ["a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in itertools.pairwise(names)]
    schema = {"type": "object", "properties": {name: {} for name in names}, "required": list(names)}
    verdict = Contract(schema).check("\n".join(lines))
    assert len(json.dumps(verdict.data)) < 4 * sum(map(len, lines))


@pytest.mark.spec("X6")
@pytest.mark.parametrize("line", ["at: !!python/object/apply:os.system [ls]", "at: &x 1\n<<: *x", "at: !!binary aGk="])
def test_yaml_tags_and_merges_are_text(line: str) -> None:
    verdict = Contract(FLAG).check(f"name: Ada\n{line}\n")
    assert verdict.data is not None
    assert verdict.data["name"] == "Ada"
    assert isinstance(verdict.data.get("at"), str)
