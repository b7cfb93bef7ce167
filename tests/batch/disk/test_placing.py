"""Whole files are put in place together or not at all, through links, and never over anything but a file."""

import os
import threading
from pathlib import Path

import pytest

from tests.small_disk import fill, small_disk
from trueup.batch.disk.full_disk import DiskFull
from trueup.batch.disk.placing import placed
from trueup.batch.reporting.html import put_page


def write(contents: dict[Path, bytes], *, fail: bool = False) -> None:
    with placed(*contents) as drafts:
        for draft, content in zip(drafts, contents.values(), strict=True):
            draft.write(content)
        if fail:
            raise KeyError("in the middle")


def test_files_are_put_in_place_together(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("before")
    with placed(first, second) as (one, two):
        one.write(b"1")
        two.write(b"2")
        assert (first.read_text(), second.exists()) == ("before", False)
    assert (first.read_text(), second.read_text()) == ("1", "2")
    with pytest.raises(KeyError):
        write({first: b"3", second: b"4"}, fail=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "second"]
    assert first.read_text() == "1"


def test_a_full_disk_leaves_both_files_unchanged_and_the_error_names_the_file(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "1m") as disk:
        train, held_out = disk / "train", tmp_path / "held_out"
        for path in (train, held_out):
            path.write_text("before")
        fill(disk)
        with pytest.raises(DiskFull, match="train"):
            write({train: b"x" * 100, held_out: b"y"})  # both stay in a buffer until the end
        assert [path.read_text() for path in (train, held_out)] == ["before", "before"]
        assert sorted(path.name for path in disk.iterdir()) == ["ballast", "train"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link, file = tmp_path / "link", tmp_path / "elsewhere" / "file"
    link.symlink_to(file)
    for text in (b"new", b"again"):
        with placed(link) as (draft,):
            draft.write(text)
        assert link.is_symlink()
        assert file.read_bytes() == text


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    put_page(pipe, "<p>page")
    reader.join()
    assert got == ["<p>page"]
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_an_error_names_the_path_and_not_the_temporary_file_next_to_it(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250)  # the name of the draft is too long
    with pytest.raises(OSError, match="File name too long") as caught:
        write({path: b"1"})
    assert caught.value.filename == str(path)
    assert not list(tmp_path.iterdir())
