"""Patterns that are compiled when they are first used: each of the package compiles, and behaves as `re.compile` made it."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest

import trueup
from trueup.verdict.patterns import LazyPattern, lazy_regex

ROOMS = ("verdict", "conform", "recover", "contract", "checks", "grounding", "expressions", "read")


def kept_patterns(room: str) -> Iterator[tuple[str, LazyPattern]]:
    """Every lazy pattern that a module of a room keeps, alone or in a table."""
    folder = [f"{path}/{room}" for path in trueup.__path__]
    for found in pkgutil.walk_packages(folder, f"trueup.{room}."):
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            yield from ((f"{found.name}.{name}", pattern) for pattern in patterns_in(value))


def patterns_in(value: Any) -> Iterator[LazyPattern]:
    if isinstance(value, LazyPattern):
        yield value
    elif isinstance(value, dict):
        yield from patterns_in(tuple(value.values()))
    elif isinstance(value, tuple | list):
        for part in value:
            yield from patterns_in(part)


@pytest.mark.parametrize("room", ROOMS)
def test_every_pattern_of_the_package_compiles(room: str) -> None:
    wrong = []
    for name, pattern in kept_patterns(room):
        try:
            assert pattern.flags == re.compile(pattern.pattern, pattern.flags & ~re.UNICODE).flags, name
        except (re.error, FutureWarning) as error:
            wrong.append(f"{name}: {error}")
    assert not wrong


def test_most_patterns_are_found_by_this_walk() -> None:
    assert len({id(pattern) for room in ROOMS for _, pattern in kept_patterns(room)}) > 400


def test_nothing_is_compiled_before_the_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    real = re.compile
    monkeypatch.setattr(re, "compile", lambda source, flags=0: compiled.append(source) or real(source, flags))
    words = lazy_regex(r"[a-z]+", re.IGNORECASE)
    assert words.pattern == "[a-z]+"
    assert not compiled
    assert words.findall("One two") == ["One", "two"]
    assert words.fullmatch("ONE") is not None
    assert words.sub("-", "a 1") == "- 1"
    assert compiled == ["[a-z]+"]


def test_a_function_may_make_the_source() -> None:
    made: list[int] = []
    late = lazy_regex(lambda: made.append(1) or "a+")  # type: ignore[func-returns-value]
    assert not made
    assert late.search("baa") is not None
    assert late.match("b") is None
    assert made == [1]


@pytest.mark.parametrize("name", ["flags", "groups", "groupindex", "pattern"])
def test_it_has_the_attributes_of_a_compiled_pattern(name: str) -> None:
    source = r"(?P<year>\d{4})-(\d\d)"
    assert getattr(lazy_regex(source, re.DOTALL), name) == getattr(re.compile(source, re.DOTALL), name)


def test_a_pattern_may_be_for_bytes() -> None:
    assert lazy_regex(rb"\d").findall(b"a1b2") == [b"1", b"2"]


def test_a_wrong_name_and_a_wrong_source_are_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'matches'"):
        lazy_regex("a").matches  # type: ignore[attr-defined] # noqa: B018
    with pytest.raises(re.error):
        lazy_regex("(").search("")
