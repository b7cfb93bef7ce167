"""Ids taken twice: the same lines are found whatever the number of intervals they are compared in."""

from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.batch.duplicates import duplicates_in
from trueup.batch.sieve import ID_SIZE
from trueup.batch.work import part_path


def put(folder: Path, number: int, names: list[int]) -> tuple[int, int, int]:
    """The ids of a part, behind some other section."""
    rows = [
        blake2b(b"%d" % name, digest_size=ID_SIZE).digest() + at.to_bytes(4, "big") for at, name in enumerate(names)
    ]
    ids = b"".join(sorted(rows))
    part_path(folder, number).write_bytes(b"valid\n" + ids + b"foot")
    return number, len(b"valid\n"), len(ids)


@pytest.mark.spec("B11")
@given(st.lists(st.lists(st.integers(0, 40), max_size=12), max_size=5), st.integers(1, 30))
def test_the_first_line_with_an_id_keeps_it(parts: list[list[int]], at_once: int) -> None:
    expected: dict[int, list[int]] = {}
    seen: set[int] = set()
    for number, names in enumerate(parts):
        for at, name in enumerate(names):
            if name in seen:
                expected.setdefault(number, []).append(at)
            seen.add(name)
    with TemporaryDirectory() as folder:
        ranges = [put(Path(folder), number, names) for number, names in enumerate(parts)]
        found = duplicates_in(folder, lambda: ranges, at_once)
    assert {number: sorted(lines) for number, lines in found.items()} == expected
