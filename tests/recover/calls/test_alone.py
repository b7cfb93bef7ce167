"""T2, X16: replies that consist only of calls, in every notation; and replies that only look like that."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.recover.calls.notations import NOTATIONS, Call, Notation
from trueup import Contract
from trueup.recover.calls.search import leaked_calls

PROPERTIES = {
    "city": {"type": "string"},
    "days": {"type": "integer"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "where": {"type": "object"},
    "exact": {"type": "boolean"},
    "ratio": {"type": "number"},
}
TOOLS = [
    {"name": name, "parameters": {"type": "object", "properties": PROPERTIES}}
    for name in ("get_weather", "weather.forecast", "maps/find-it", "搜索", "f")
]
CONTRACT = Contract(tools=[*TOOLS, {"name": "now"}])
CALLS: dict[str, list[Call]] = {
    "one": [("get_weather", {"city": "Oslo", "days": 3})],
    "two": [("get_weather", {"city": "Oslo"}), ("weather.forecast", {"city": "San José, CR", "ratio": -0.5})],
    "three": [("f", {"city": city, "exact": city == "Å"}) for city in ("Å", "東京", "The Sea, the Sea")],
    "nested": [("maps/find-it", {"tags": ["a", "b, c"], "where": {"k": [1, {"z": None}], "on": True}})],
    "none": [("now", {}), ("搜索", {"city": "北京"})],
    "odd text": [("f", {"city": "x**2 - 4*x"}), ("f", {"city": "sin(x)*2"}), ("f", {"city": "10:30, e.g. today"})],
}
TRICKY = ["it's", 'say "hi"', "a\nb", "C:\\new", "", "{x}", "[1]", "a=1, b=2", "f(x)", "`x`", "'quoted'", "), x", "None", "a', b='c", "😀", "')", "x -> y; z"]  # fmt: skip
each_notation = pytest.mark.parametrize("notation", NOTATIONS, ids=lambda notation: notation.name)


def made(text: str) -> list[Call]:
    return [(call.name, call.args or {}) for call in CONTRACT.check(text).calls]


@pytest.mark.spec("T2")
@each_notation
@pytest.mark.parametrize("calls", CALLS.values(), ids=CALLS)
def test_every_notation_is_read(notation: Notation, calls: list[Call]) -> None:
    if "unquoted" in notation.name and calls is CALLS["nested"]:
        return  # it does not write texts inside lists
    text = notation.write(calls)
    assert made(text) == calls
    assert made(f"\n{text}\n\n") == calls


texts = st.sampled_from(TRICKY) | st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=10)
arguments = st.fixed_dictionaries(
    {"city": texts},
    optional={
        "days": st.integers(-(10**9), 10**9),
        "tags": st.lists(texts, max_size=3),
        "where": st.dictionaries(st.sampled_from(["k", "k2"]), texts | st.none() | st.booleans()),
        "exact": st.booleans(),
        "ratio": st.floats(-1e6, 1e6),
    },
)


@pytest.mark.spec("T2")
@given(
    st.lists(st.tuples(st.sampled_from(["get_weather", "weather.forecast", "f"]), arguments), min_size=1, max_size=3)
)
def test_any_arguments_are_read_back_equal(calls: list[Call]) -> None:
    for notation in NOTATIONS:
        if notation.exact:
            assert made(notation.write(calls)) == calls, notation.name


@pytest.mark.spec("T2", "T4")
@each_notation
def test_a_cut_reply_never_gives_a_call_that_was_not_written(notation: Notation) -> None:
    calls = CALLS["two"]
    text = notation.write(calls)
    for stop in range(1, len(text)):
        assert made(text[:stop]) in ([], calls[:1], calls), text[:stop]


@pytest.mark.spec("X16")
@each_notation
def test_words_around_a_call_make_it_an_example(notation: Notation) -> None:
    text = notation.write(CALLS["one"])
    if "\n" in text or "<" in text:
        return  # the words would be separate from it
    for frame in (
        "For example, you can write:\n\n{}",
        "{} is how one calls it.",
        "Never run this: {}",
        "He wrote:\n> {}",
    ):
        assert made(frame.format(text)) == [], frame


@pytest.mark.spec("T2", "T3")
@each_notation
def test_other_names_are_not_calls(notation: Notation) -> None:
    assert made(notation.write([("launch", {"city": "Oslo"})])) == []
    assert made(notation.write([("get_weather", {"city": "Oslo"}), ("launch", {"city": "Oslo"})])) in (
        [],
        [("get_weather", {"city": "Oslo"})],
    )


@pytest.mark.spec("X16")
@pytest.mark.parametrize(
    "text",
    [
        '["get_weather", "now"]',
        '["get_weather"]',
        '"get_weather"',
        "get_weather",
        "'now'",
        '["get_weather", {"humidity": 3}]',
        '["get_weather", "Oslo"]',
        '["get_weather", {"city": "Oslo"}, "and"]',
        '["The tool get_weather(city) takes a city."]',
        '["Use get_weather(city=\'Oslo\')"]',
        '["get_weather(city=\'Oslo\') gives the weather"]',
        '{"tool": "get_weather(city=\'Oslo\')", "note": "as asked"}',
        '{"answer": "get_weather(city=\'Oslo\')"}',
        '{"get_weather": "is a tool"}',
        '{"get_weather": {"city": "Oslo"}, "summary": "asked for Oslo"}',
        '{"get_weather": {"type": "object", "properties": {}}}',
        '{"f": 3}',
        '[{"f": "{x}"}, {"g": 2}]',
        '["f", {"type": "object", "properties": {"city": {}}}]',
        "get_weather(city, days)",
        "[get_weather(city: str, days: int)]",
        '["get_weather(city, days=3)"]',
        "1. get_weather: gives the weather\n2. now: gives the time",
        "1. [get_weather](https://x.org)\n2. [now](https://x.org)",
        "- get_weather(city='Oslo') looks up the weather\n- now() tells the time",
        "# Usage\nget_weather(city='Oslo')",
        "`get_weather(city='Oslo')` or `now()`?",
        "(see get_weather(city='Oslo'))",
        "get_weather(city='Oslo') = 3",
        "assert get_weather(city='Oslo')",
        "def get_weather(city):\n    return now()",
        ">>> get_weather(city='Oslo')\n'3 C'",
        "```python\nimport api\n\nget_weather(city='Oslo')\n```",
        "```python\ndef main():\n    get_weather(city='Oslo')\n```",
        "{{ get_weather(city='Oslo') }} is a template",
        "get_weather(city='Oslo')\n    Looks up the weather.",
        "| get_weather(city='Oslo') | now() |",
        "get_weather(city='Oslo') returns 'sunny' (or 'rain')",
        "get_weather(city='Oslo') gives the weather in 'Oslo'.",
        "[now()](https://x.org)",
        "get_weather(city='Oslo') -> str",
    ],
)  # fmt: skip
def test_text_that_only_looks_like_calls_gives_none(text: str) -> None:
    verdict = CONTRACT.check(text)
    assert (verdict.calls, verdict.refused) == ((), ())


@pytest.mark.spec("X16")
@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "object", "properties": {"f": {"type": "string"}}}, '{"f": "{\\"city\\": \\"Oslo\\"}"}'),
        ({"type": "object", "properties": {"f": {}, "now": {}}}, '{"f": {"city": "Oslo"}, "now": {}}'),
    ],
)
def test_an_answer_that_the_schema_describes_is_not_a_call(schema: Any, text: str) -> None:
    verdict = Contract(schema, tools=TOOLS).check(text)
    assert verdict.ok
    assert verdict.calls == ()


@pytest.mark.parametrize("text", ["[" * 50_000, "('" * 20_000, "1. " * 20_000, "'f(" * 20_000, '["f(a=' * 20_000 + "]"])
def test_no_text_takes_long_or_raises_an_exception(text: str) -> None:
    leaked_calls(text, {"f"}.__contains__)
