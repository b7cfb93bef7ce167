"""Lent copies are taken back only if nobody refers to them, even under a debugger or profiler."""

import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from trueup.contract.streaming import copy_on_write
from trueup.contract.streaming.copy_on_write import Lent

pytestmark = pytest.mark.spec("A15")


def _generator(held: Any) -> Iterator[None]:
    yield
    assert held is not None


def _begun(held: Any) -> Iterator[None]:
    frame = _generator(held)
    next(frame)
    return frame


def _closure(held: Any) -> Callable[[], Any]:
    return lambda: held


def _thread(held: Any) -> Callable[[], None]:
    inside, done = threading.Event(), threading.Event()

    def hold(own: Any) -> None:
        inside.set()
        done.wait(10)
        del own

    worker = threading.Thread(target=hold, args=(held,))
    worker.start()
    inside.wait(10)

    def leave() -> None:
        done.set()
        worker.join()

    return leave


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "a variable": lambda held: held,
    "a list": lambda held: [held],
    "an iterator": iter,
    "a reversed iterator": reversed,
    "a bound method": lambda held: held.copy,
    "a closure": _closure,
    "a generator": _begun,
    "an exception": lambda held: ValueError(held),
    "an attribute": lambda held: type("Holder", (), {"held": held})(),
    "another thread": _thread,
}


def _watch(frame: FrameType, event: str, arg: Any) -> Any:
    """Works like a debugger at each line."""
    assert frame.f_locals is not None
    assert event
    del arg
    return _watch


@pytest.fixture(params=["alone", "traced", "profiled"])
def _watched(request: pytest.FixtureRequest) -> Iterator[None]:
    before = sys.gettrace(), sys.getprofile()
    if request.param == "traced":
        sys.settrace(_watch)
    elif request.param == "profiled":
        sys.setprofile(_watch)
    try:
        yield
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])


def _grown(kind: type, warm: int) -> Lent:
    """A container with one member that was lent often enough for the interpreter to specialise the code."""
    grown = Lent(kind())
    grown.add("a", 1)
    for _ in range(warm):
        grown.lend()
    return grown


@pytest.mark.usefixtures("_watched")
@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
@pytest.mark.parametrize("kind", [dict, list])
@pytest.mark.parametrize("warm", [0, 2_000])
def test_a_copy_with_references_is_not_taken_back(holder: Callable[[Any], Any], kind: type, warm: int) -> None:
    grown = _grown(kind, warm)
    holds = holder(grown.lend())
    grown.add("b", 2)
    copied = grown.copied
    assert len(grown.lend()) == 2
    assert grown.copied == copied + 2, "another copy was made"
    if callable(holds) and holder is _thread:
        holds()


@pytest.mark.parametrize("kind", [dict, list])
@pytest.mark.parametrize("warm", [0, 2_000])
def test_a_copy_without_references_is_taken_back(kind: type, warm: int) -> None:
    grown = _grown(kind, warm)
    grown.lend()
    copied = grown.copied
    grown.add("b", 2)
    assert len(grown.lend()) == 2
    assert grown.copied == copied + 1, "only the new member was copied"


def test_an_interpreter_without_counts_copies_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy_on_write, "_refs", lambda _: 1_000)
    grown = _grown(list, 0)
    first = id(grown.lend()), grown.lend(), grown.lend()
    assert first[1] is not first[2]
