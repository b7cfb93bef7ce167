"""Files that survive crashes: incomplete ends repaired before anything is appended, whole files or none, a journal that detects changes."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.batch.pipeline.making import BreakingDisk, Crash
from trueup.batch.pipeline.rundir.disk import Appender, Damaged, Disk, DiskFull, line, read_lines
from trueup.batch.pipeline.rundir.journal import JOURNAL, Journal, read_journal, sealed, unsealed
from trueup.batch.pipeline.rundir.lock import Lock

RECORD = st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.integers() | st.none(), max_size=4)


@pytest.mark.spec("X46")
@given(st.lists(RECORD, max_size=8), st.binary(max_size=60))
def test_a_torn_tail_is_cut_off_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, object]], torn: bytes
) -> None:
    file = tmp_path_factory.mktemp("d") / "x.jsonl"
    whole = b"".join(map(line, records))
    piece = b'{"torn": ' + torn.replace(b"\n", b"").replace(b"}", b"")
    file.write_bytes(whole + piece)
    appender = Appender(file, Disk())
    appender.append(line({"next": 1}))
    appender.close()
    assert file.read_bytes() == whole + line({"next": 1})
    assert appender.torn == piece
    assert file.with_name("x.jsonl.torn").read_bytes() == piece + b"\n"
    assert list(read_lines(file)) == [*records, {"next": 1}]


@given(st.lists(RECORD, min_size=1, max_size=6), st.data())
def test_a_file_cut_anywhere_keeps_all_complete_lines(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, object]], data: st.DataObject
) -> None:
    file = tmp_path_factory.mktemp("d") / "x.jsonl"
    whole = b"".join(map(line, records))
    at = data.draw(st.integers(0, len(whole)))
    file.write_bytes(whole[:at])
    Disk().mend(file)
    kept = list(read_lines(file))
    assert kept == records[: len(kept)]
    assert len(kept) >= whole[:at].count(b"\n")


def test_zeros_left_by_a_power_cut_are_a_torn_tail_too(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(line({"a": 1}) + b"\0" * 100 + b"\n" + b"\0" * 5)
    Disk().mend(file)
    assert file.read_bytes() == line({"a": 1})


@pytest.mark.spec("X46")
def test_a_file_exists_completely_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"old")
    for at in range(1, 8):
        for seed in range(5):
            try:
                BreakingDisk(at, seed, power=True).put(file, [b"new" * 100, b"!"])
            except Crash:
                assert file.read_bytes() in {b"old", b"new" * 100 + b"!"}
            file.write_bytes(b"old")


class Full(Disk):
    """A disk with room for some number of bytes."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, handle: int, data: bytes | memoryview) -> int:
        fits = min(len(data), self.room)
        if not fits:
            raise OSError(28, "No space left on device")
        self.room -= fits
        return os.write(handle, data[:fits])


@pytest.mark.spec("X46")
def test_a_full_disk_leaves_no_partial_line(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    appender = Appender(file, Full(30))
    appender.append(line({"a": 1}))
    with pytest.raises(DiskFull):
        appender.append(line({"b": "x" * 100}))
    appender.close()
    assert file.read_bytes() == line({"a": 1})
    with pytest.raises(DiskFull):
        Full(3).put(file, [b"something else"])
    assert file.read_bytes() == line({"a": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["x.jsonl"]


@given(st.dictionaries(st.text(max_size=5), st.integers(-(2**63), 2**63) | st.text(max_size=9), min_size=1))
def test_a_sealed_record_is_accepted_and_a_changed_one_is_not(record: dict[str, object]) -> None:
    raw = sealed(record)
    assert unsealed(raw) == record
    for at in range(0, len(raw) - 1, 3):
        changed = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
        assert unsealed(changed) != record


def test_a_damaged_line_of_the_journal_is_named(tmp_path: Path) -> None:
    lock = Lock(tmp_path)
    journal = Journal(tmp_path, Disk(), lock, 0)
    for number in range(4):
        journal.commit("noted", number=number)
    journal.close()
    lock.release()
    file = tmp_path / JOURNAL
    rows = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([rows[0], rows[1].replace(b'"number":1', b'"number":7'), *rows[2:]]))
    with pytest.raises(Damaged, match=r"journal\.jsonl:2: the line was changed or damaged"):
        list(read_journal(tmp_path))
    assert [record["number"] for record in read_journal(tmp_path, salvage=True)] == [0, 2, 3]
    file.write_bytes(b"".join([*rows[:3], rows[3].replace(b'"number":3', b'"number":7')]))
    with pytest.raises(Damaged, match=r"journal\.jsonl:4: the line was changed"):  # before anything is appended
        list(read_journal(tmp_path))
    assert [record["number"] for record in read_journal(tmp_path, salvage=True)] == [0, 1, 2]
    file.write_bytes(b"".join(rows[:3]) + rows[3][:10])
    assert [record["number"] for record in read_journal(tmp_path)] == [0, 1, 2]
