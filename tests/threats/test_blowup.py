"""X2: no text makes repair blow up. CPU time grows with length, whatever is repeated and wherever it stands."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import Contract

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "a": {"type": "integer"}, "tags": {"type": "array"}},
    "required": ["name"],
}
CONTRACTS = {
    "any": Contract(True),
    "object": Contract(PERSON),
    "lenient": Contract(PERSON, accept="lossy", coerce="eager"),
    "list": Contract({"type": "array", "items": PERSON}),
    "text": Contract({"type": "string"}, coerce="eager"),
}
TOKENS = [
    "[", "{", "(", '{"a":', '{"a":[', "[[1],", '{"a"', '{"a" "b" ', '{"a": "x" ', '{"a":1,', "[1,", "{,", "{a", "{a: ", "{ ",
    '"', "'", "`", '"""', "“”", "{“", '":', '",', '", "', '"a","a"', '"a"+', '""x""', '\\"', "\\", "\\u0022", "\\u00e9", "\\n",
    '{\\"', '{"a\n', '{"name": "', '{"name": "x", "a": 1} ', '{"x": 1} ', '{"a":1}}', '"a":2,', "1", "1_", "1.5e", "-", "0x",
    "1/", "x", "x ", "é", "True ", "null,", "...", "…", "：", "，", "｛", "//", "/*", "*/", "#\n", "\n", "\n\n{", " ", "\t",
    "\u200b", "\x00", "```\n", "```json\n", "~~~", "> {\n", "<think>", "</think>", "<think></think>", "<a>", "</a>", "<name>",
    "</name>", "<name></name>", "<|im_end|>", "<![CDATA[", "<!--", '<parameter name="a">', "</parameter>",
    "<arg_key>a</arg_key><arg_value>", "<invoke>", "- a: 1\n", "name: x\n", "name:\n", "- ", "| a | 1 |\n", "**name:** x\n",
    "P(a=1, ", "P(", "a=1\n", "[x](y) ", "{{x}} ", "&amp;", "&", ",", ";", ":", "=", "=>", "}", "]", ")", "}]", "Note: ",
]  # fmt: skip
STARTS = ["", '{"name": "x", "b": ', '{"name": "', "[", "```json\n", "<think>"]
SIZE = 20_000
LIMIT = 0.050
# The limit is for an idle core of today; a shared one under test is given three times as long.
SLACK = 3.0


def seconds(contract: Contract, text: str, tries: int = 3) -> float:
    """The least CPU time of some tries for a check, its fixes included."""
    best = float("inf")
    for _ in range(tries):
        start = time.process_time()
        contract.check(text).fixes  # noqa: B018
        best = min(best, time.process_time() - start)
    return best


def repeated(start: str, token: str, size: int) -> str:
    return start + (token * (size // len(token) + 1))[:size]


def assert_linear(contract: Contract, start: str, token: str) -> None:
    """Twice the text takes at most 2.3 times as long; what takes under 4 ms is too short to be measured."""
    for attempt in range(5):
        once = seconds(contract, repeated(start, token, SIZE), 2 + attempt)
        twice = seconds(contract, repeated(start, token, 2 * SIZE), 2 + attempt)
        if twice <= max(2.3 * once, 0.004):
            break
    assert twice <= max(2.3 * once, 0.004), f"{once * 1000:.1f} ms for {SIZE}, {twice * 1000:.1f} ms for twice as much"


@pytest.mark.spec("X2")
@pytest.mark.perf
@pytest.mark.parametrize("token", TOKENS, ids=repr)
def test_a_repeated_token_costs_little_and_linear_time(token: str) -> None:
    for start in STARTS:
        slowest = max(CONTRACTS.values(), key=lambda contract: seconds(contract, repeated(start, token, SIZE), 1))
        if seconds(slowest, repeated(start, token, SIZE)) < 0.002:
            continue
        assert seconds(slowest, repeated(start, token, SIZE)) < LIMIT * SLACK
        assert_linear(slowest, start, token)


@pytest.mark.spec("X2")
@pytest.mark.perf
@given(st.sampled_from(STARTS), st.lists(st.sampled_from(TOKENS), min_size=1, max_size=4).map("".join))
def test_any_repeated_run_of_tokens_costs_little(start: str, run: str) -> None:
    text = repeated(start, run, SIZE)
    for contract in CONTRACTS.values():
        taken = seconds(contract, text, 1)
        assert taken < LIMIT * SLACK or seconds(contract, text, 4) < LIMIT * SLACK


MEGABYTE = 1_000_000
HOSTILE = {
    "brackets": "[" * 100_000,
    "brackets to a megabyte": "[" * MEGABYTE,
    "openers": '{"a":' * 100_000,
    "openers to a megabyte": '{"a":' * (MEGABYTE // 5),
    "a string without an end": '{"name": "' + "x" * MEGABYTE,
    "stray quotes": '{"name": ' + '" ' * 100_000,
    "stray quotes to a megabyte": '"' * MEGABYTE,
    "decoys": '{"x": "a decoy that fits nothing, and is long enough to fill a megabyte with all its friends"} '
    * 10_000,
    "decoys that fit": '{"name": "Bob", "a": 1} ' * 10_000,
}


@pytest.mark.spec("X2")
@pytest.mark.perf
@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_of_a_hostile_shape_takes_under_a_second(name: str) -> None:
    for contract in (CONTRACTS["any"], CONTRACTS["object"], CONTRACTS["lenient"]):
        whole = HOSTILE[name]
        assert seconds(contract, whole, 2) < 1.0 * SLACK
        for _ in range(4):
            twice, once = seconds(contract, whole, 2), seconds(contract, whole[: len(whole) // 2], 2)
            if twice <= max(2.3 * once, 0.010):
                break
        assert twice <= max(2.3 * once, 0.010)
