"""The laws that every reading obeys, each as a function that asserts it for one contract and one text.

The properties try them on generated texts, `test_regressions.py` on texts that once broke one of them.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

from tests.recover.material import same, scalars_of, strictly
from trueup import Contract, Verdict
from trueup.contract.judging import judge as judging
from trueup.recover import choose as choosing
from trueup.recover.readings import readings
from trueup.verdict.catalogue import GRADE, GRADES
from trueup.verdict.paths import parse


def reads_as(schema: Any, reply: str, expected: Any) -> None:
    """Compare a reply with its value (None: it is refused), and check that every change is recorded."""
    verdict = Contract(schema).check(reply)
    if expected is None:
        assert not verdict.ok, verdict.data
    else:
        assert verdict.ok, verdict.findings
        assert verdict.data == expected
        assert verdict.fixes, "what is not JSON as it stands was changed"


def well_formed(contract: Contract, text: str) -> None:
    """Nothing is raised; the verdict can be shown, stored and read back; every fact is inside the text."""
    verdict = contract.check(text)
    told = json.dumps(verdict.to_dict())
    assert verdict.ok == (not verdict.errors)
    assert verdict.reply.text == text
    for fix in verdict.fixes:
        assert fix.grade == GRADE[fix.code]
        assert fix.span is not None
        start, stop = fix.span
        assert 0 <= start <= stop <= len(text)
        if fix.code[0] != "C" and text.isprintable():
            assert fix.before == text[start:stop] or len(fix.before) == 200, "before is what stood in the text"
        parse(fix.path)
    if verdict.ok:
        assert all(GRADES[fix.grade] <= GRADES[contract.accept] for fix in verdict.fixes), "ok, yet not accepted"
    assert list(verdict.fixes) == sorted(verdict.fixes, key=lambda f: f.span or (0, 0))
    for found in verdict.findings:
        assert found.message
        assert found.span is None or 0 <= found.span[0] <= found.span[1] <= len(text)
    assert Verdict.from_dict(json.loads(told)) == verdict


def changed_means_fixes(contract: Contract, text: str) -> None:
    """A value without fixes is exactly what the text says; with fixes it is not."""
    verdict = contract.check(text)
    value, is_json = strictly(text)
    unchanged = is_json and same(value, verdict.data)
    if verdict.fixes:
        assert not unchanged
    elif verdict.data is not None:
        assert unchanged
    else:
        assert unchanged or not verdict.ok


def number_of(text: str) -> float | None:
    """The number that a text says: `1e4` and `10000.0` are the same."""
    found = re.fullmatch(r"-?[0-9]{1,40}(?:\.[0-9]{0,40})?(?:[eE][+-]?[0-9]{1,2})?", text)
    return float(text) if found else None


def drops_are_covered(contract: Contract, text: str) -> None:
    """Every word and sign of the text is in the value, is JSON's own punctuation, or is in the span of a fix."""
    verdict = contract.check(text)
    if verdict.data is None or "\\" in text:
        return
    scalars = scalars_of(verdict.data)
    kept = " ".join(scalars).lower()
    numbers = {number for scalar in scalars if (number := number_of(scalar)) is not None}
    spans = [fix.span for fix in verdict.fixes if fix.span]
    for piece in re.finditer(r"\w+|[^\w\s]", text):
        if any(start < piece.end() and piece.start() < stop for start, stop in spans):
            continue
        if text.startswith("-0", piece.start()):
            continue  # JSON's -0 is 0
        known = piece[0] in '{}[]:,"' or piece[0].lower() in kept or number_of(piece[0]) in numbers
        assert known, f"{piece[0]!r} at {piece.start()} was dropped"


def twice_is_once(contract: Contract, text: str) -> None:
    """The result of a check passes the same check unchanged."""
    verdict = contract.check(text)
    if verdict.data is None or not verdict.ok:
        return
    again = contract.check(json.dumps(verdict.data))
    assert same(again.data, verdict.data)
    assert again.fixes == ()
    assert again.ok


def order_is_irrelevant(contract: Contract, text: str, shuffle: Callable[[list[Any]], None] = list.reverse) -> None:
    """The verdict does not depend on the order in which candidates were found."""
    expected = contract.check(text)

    def shuffled(*args: Any) -> Iterator[Any]:
        for found in readings(*args):
            shuffle(found)
            yield found

    with patch.object(choosing, "_readings", shuffled):
        verdict = contract.check(text)
    assert same(verdict.data, expected.data)
    assert sorted(verdict.findings) == sorted(expected.findings)
    assert sorted(verdict.fixes) == sorted(expected.fixes)


def quick_is_slow(contract: Contract, text: str) -> None:
    """The quick lane returns the same value and codes as the tolerant reader."""
    quick = contract.check(text)
    with patch.object(judging, "repaired", lambda *_: None):
        slow = contract.check(text)
    assert same(quick.data, slow.data)
    assert {fix.code for fix in quick.fixes} == {fix.code for fix in slow.fixes}
    assert quick.ok == slow.ok


def stream_is_whole(contract: Contract, text: str, pieces: list[str] | None = None) -> None:
    """A stream ends with the verdict of the whole text, and reports on the way only what stays."""
    stream = contract.stream()
    early: list[Any] = []
    for piece in pieces if pieces is not None else list(text):
        stream.feed(piece)
        assert list(stream.findings)[: len(early)] == early, "a finding that was certain is taken back"
        early = list(stream.findings)
    assert stream.finish() == contract.check(text)


LAWS = [
    well_formed,
    changed_means_fixes,
    drops_are_covered,
    twice_is_once,
    order_is_irrelevant,
    quick_is_slow,
    stream_is_whole,
]
