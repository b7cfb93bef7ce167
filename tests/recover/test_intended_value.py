"""Which of several values the model intended: not the example, not the corrected one. The content of strings is kept."""

from typing import Any

import pytest

from trueup import Contract

TEXT = {"type": "string"}


def object_schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


CITIES: dict[str, Any] = {"type": "array", "items": object_schema(city=TEXT)}


@pytest.mark.parametrize(
    ("between", "cities"),
    [("Oops, corrected:", ["B"]), ("Sorry, I made a mistake:", ["B"]), ("And in the south:", ["A", "B"])],
)
def test_a_list_that_corrects_another_is_the_only_value(between: str, cities: list[str]) -> None:
    verdict = Contract(CITIES).check(f'First:\n[{{"city": "A"}}]\n{between}\n[{{"city": "B"}}]')
    assert verdict.ok
    assert verdict.data == [{"city": city} for city in cities]


@pytest.mark.parametrize(
    ("reply", "city"),
    [
        ('{"city": "A"}\n\nFor example, {"city": "X"} would be wrong.', "A"),
        ('For example: {"city": "X"}\n\nAnswer: {"city": "A"}', "A"),
        ('{"city": "A"} instead of {"city": "X"}', "A"),
        ('Example:\n{"city": "A"}', "A"),
        ('{"city": "X"}\n{"city": "A"}', "A"),
    ],
)
def test_an_example_is_not_the_answer(reply: str, city: str) -> None:
    verdict = Contract(object_schema(city=TEXT)).check(reply)
    assert verdict.ok
    assert verdict.data == {"city": city}


def test_word_boundaries_of_a_pattern_are_kept() -> None:
    verdict = Contract(True).check(r'{"re": "\bfoo\b \s"}')
    assert verdict.data == {"re": r"\bfoo\b \s"}
