"""The identity of a callable: the same callable keeps its name, and other callables never get it."""

import gc
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from trueup import Contract, Policy
from trueup.ask.clients.identity import identity, token
from trueup.ask.memory import Memory


class Model:
    def __call__(self, messages: Any) -> str:
        return "hi"


class Slotted:
    __slots__ = ()

    def __call__(self, messages: Any) -> str:
        return "hi"


class Down(Exception):
    status_code = 503


def provider(url: Any, *, default: Any = None) -> Callable[..., str]:
    def call(messages: Any, held: Any = default) -> str:
        return f"{url}{held}"

    return call


def test_an_object_does_not_inherit_a_deleted_objects_identity() -> None:
    names = set()
    for _ in range(50):
        names.add(identity(Model()))  # they probably all have the same memory address
        names.add(identity(Slotted()))
        gc.collect()
    assert len(names) == 100


def test_tokens_are_deleted_with_their_objects() -> None:
    from trueup.ask.clients.identity import _tokens

    before = len(_tokens)
    held = [Model() for _ in range(20)]
    assert [token(one) for one in held] == [token(one) for one in held]
    held.clear()
    gc.collect()
    assert len(_tokens) <= before


@pytest.mark.parametrize(
    "make",
    [
        provider,
        lambda held: provider("u", default=held),
        lambda held: partial(provider("u"), held=held),
        lambda held: lambda messages: held,
    ],
    ids=["closure", "default", "partial", "lambda"],
)
def test_functions_with_different_contents_have_different_names(make: Callable[[Any], Callable[..., Any]]) -> None:
    model = Model()
    assert identity(make("http://a")) == identity(make("http://a"))
    assert identity(make(model)) == identity(make(model))
    assert len({identity(make(held)) for held in ("http://a", "http://b", 1, None, model, Model(), provider("x"))}) == 7
    listed = make([1])  # only the function object itself can identify its list
    assert identity(listed) == identity(listed)
    assert identity(listed) != identity(make([1]))
    assert "hush-hush" not in identity(make("hush-hush"))


def test_two_functions_on_one_line_have_different_names() -> None:
    one, other = (lambda messages: "one"), (lambda messages: "other")
    assert identity(one) != identity(other)


def test_a_function_that_contains_itself_has_a_name() -> None:
    def call(messages: Any) -> Any:
        return call if messages else ""

    assert identity(call) == identity(call)


def test_functions_with_the_same_code_have_separate_breakers() -> None:
    asked: list[str] = []

    def made(url: str) -> Callable[[Any], str]:
        def call(messages: Any) -> str:
            asked.append(url)
            if url == "a":
                raise Down("down")
            return "hi"

        return call

    ladder, memory = [made("a"), made("b")], Memory()
    for _ in range(3):
        assert Contract().ask(ladder, "Who?", Policy(retries=0, breaker=2, backoff=0.001), memory=memory).text == "hi"
    assert asked == ["a", "b", "a", "b", "b"]
