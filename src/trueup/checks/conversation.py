"""The parts of a conversation that a state is judged by: the texts of a reply, and the tools called before it.

Takes a reply, or the messages before it; returns texts with their positions, or names of tools. Calls that are written
in the text of a message count as calls.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from trueup.checks.toolset import Toolset
from trueup.recover.marks import CLOSES_REASONING, OPENS_REASONING
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.reply import Reply

_FIRST = lazy_regex(r"\s*")
_ESCAPE = lazy_regex(r"\\u([0-9a-fA-F]{4})")


def visible(text: str) -> str:
    """A message without its opening reasoning, which is not for the user. Reasoning that is never closed is the whole
    message.

    >>> visible("<think>Is she asking for more?</think>Yes"), visible("<think>Is she ask")
    ('Yes', '')
    """
    at = _FIRST.match(text).end()  # type: ignore[union-attr]
    if at == len(text) or text[at] not in "<◁[":
        return text
    start = at
    while opened := OPENS_REASONING.match(text, at):
        closed = CLOSES_REASONING.search(text, opened.end())
        at = _FIRST.match(text, closed.end()).end() if closed else len(text)  # type: ignore[union-attr]
    return text if at == start else text[at:]


def spoken_texts(reply: Reply) -> Iterator[tuple[str, int | None]]:
    """The texts that a user would see, each with its position in the reply's text, or None if it is not in there.

    >>> list(spoken_texts(Reply(text="hi")))
    [('hi', 0)]
    """
    if reply.turns is None:
        yield from _plain(reply.text, 0)
        return
    at = 0
    for turn in reply.turns:
        if turn.role == "assistant" and turn.text:
            place = reply.text.find(turn.text, at)
            at = at if place < 0 else place + len(turn.text)
            yield from _plain(turn.text, None if place < 0 else place)


def _plain(text: str, place: int | None) -> Iterator[tuple[str, int | None]]:
    if not text:
        return
    yield text, place
    if "\\u" in text:  # JSON may escape letters; a reader of the value sees the letters
        read = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
        if read != text:
            yield read, None


def called_in(history: Any, tools: Toolset) -> frozenset[str]:
    """The tools that were called in earlier messages and did not fail, by the names that the contract offers."""
    if not history or not isinstance(history, list | tuple):
        return frozenset()
    from trueup.read.history import earlier  # large modules, needed only to check a claim
    from trueup.read.reader import read
    from trueup.recover.calls.search import leaked_calls
    from trueup.recover.json.parser import TooMany

    names: set[str] = set()
    for reply, _ in earlier(history, read):
        said = [call.name for call in reply.calls if not call.failed]
        if not reply.calls and reply.text:
            with suppress(TooMany):  # nobody knows what was called there
                said = [leak.name for leak in leaked_calls(reply.text, tools.offers)]
        names.update(map(tools.meant, said))
    return frozenset(names)
