"""Folders and patterns as sources: which files, in which order, under which names."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.batch.sifting import run_files, unit, write
from tests.batch.tables.tables import file_of, rows_of, save
from tests.cli.running import COMMAND, clean_environment, unprivileged
from trueup.batch.input.sources import UnreadableSource, open_sources


def names(given: str, folder: Path) -> list[str]:
    return [source.name for source in open_sources([given], folder / "spool")]


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    folder = tmp_path / "shards"
    (folder / "more").mkdir(parents=True)
    for number in (1, 0):
        save(
            folder / f"part-{number}.parquet",
            {key: value[number * 4 :][:4] for key, value in rows_of(8).items()},
            "parquet",
        )
    write(folder / "more" / "x.jsonl", [unit("x")])
    for name in ("_SUCCESS", "_metadata.parquet", ".hidden.jsonl", "README.md"):
        write(folder / name, b"not for a sift")
    return folder


def test_a_folder_means_the_readable_files_in_it(tmp_path: Path, shards: Path) -> None:
    assert names(str(shards), tmp_path) == ["more/x.jsonl", "part-0.parquet", "part-1.parquet"]
    ran = run_files(tmp_path, [str(shards)])
    assert [row["unit_id"] for row in ran.valid] == ["x", "u0", "u1", "u4", "u5"]


def test_the_output_of_a_sift_is_not_input_of_the_folder_around_it(tmp_path: Path, shards: Path) -> None:
    run_files(shards, [str(shards)])
    assert names(str(shards), tmp_path) == ["more/x.jsonl", "part-0.parquet", "part-1.parquet"]
    assert names(str(shards / "out"), tmp_path) == ["failures.jsonl", "validated.jsonl"]


def test_a_pattern_means_the_files_that_match_it(tmp_path: Path, shards: Path) -> None:
    assert names(f"{shards}/part-*.parquet", tmp_path) == ["part-0.parquet", "part-1.parquet"]
    assert names(f"{shards}/**/*.jsonl", tmp_path) == ["more/x.jsonl"]
    write(tmp_path / "odd[1].jsonl", [unit("a")])  # a file with such a name is that file
    assert names(str(tmp_path / "odd[1].jsonl"), tmp_path) == ["odd[1].jsonl"]


@pytest.mark.parametrize(
    ("given", "why"), [("empty", "no file in it ends in .jsonl"), ("*.parquet", "no file matches it")]
)
def test_a_folder_without_input_is_reported(tmp_path: Path, given: str, why: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableSource, match=why):
        names(str(tmp_path / given), tmp_path)


def test_an_unreadable_folder_inside_is_refused_and_not_left_out(tmp_path: Path) -> None:
    (tmp_path / "in" / ".hidden").mkdir(parents=True)
    (tmp_path / "in" / ".hidden").chmod(0o000)
    write(tmp_path / "in" / "a.jsonl", [unit("a")])
    command = [*unprivileged(), *COMMAND, "sift", "in", "--schema", "any", "--fresh", "--out", "out"]

    def sift() -> tuple[int, str]:
        done = subprocess.run(
            command, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr

    code, said = sift()
    assert (code, said.splitlines()[0]) == (0, "1 of 1 unit is valid, none failed.")
    (tmp_path / "in" / "closed").mkdir(mode=0o000)
    assert sift() == (2, "trueup: in: the folder in/closed cannot be read: Permission denied\n")


def test_a_folder_may_be_at_a_remote_address(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for name in ("b.parquet", "a.parquet", "c/d.parquet"):
        file = file_of(tmp_path, rows_of(2), "parquet")
        memory.pipe(f"memory://bucket/folder/{name}", Path(file).read_bytes())
    assert names("memory://bucket/folder", tmp_path) == ["a.parquet", "b.parquet", "c/d.parquet"]
    assert names("memory://bucket/folder/*.parquet", tmp_path) == ["a.parquet", "b.parquet"]
    for name in ("validated.jsonl", "validated/data-00000.arrow", ".sift/manifest.db"):  # a sift that was copied there
        memory.pipe(f"memory://bucket/folder/e/out/{name}", b"")
    assert names("memory://bucket/folder", tmp_path) == ["a.parquet", "b.parquet", "c/d.parquet"]
    assert names("memory://bucket/folder/e/out/validated.jsonl", tmp_path) == ["validated.jsonl"]


def test_folders_saved_by_datasets_are_read(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    whole = datasets.Dataset.from_dict(rows_of(40))
    whole.save_to_disk(tmp_path / "one", num_shards=3)
    assert names(str(tmp_path / "one"), tmp_path) == [f"data-{n:05d}-of-00003.arrow" for n in range(3)]
    splits = datasets.DatasetDict(train=whole.select(range(30)), test=whole.select(range(30, 40)))
    splits.save_to_disk(tmp_path / "splits", num_shards={"train": 2, "test": 1})
    assert names(str(tmp_path / "splits"), tmp_path) == [
        "train/data-00000-of-00002.arrow", "train/data-00001-of-00002.arrow", "test/data-00000-of-00001.arrow",
    ]  # fmt: skip
    runs = [run_files(tmp_path, [str(tmp_path / name)], out=f"out-{name}") for name in ("one", "splits")]
    assert runs[0].valid == runs[1].valid
    assert runs[1].failed[-1]["place"] == "test/data-00000-of-00001.arrow@9"


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ({}, "state.json names no files"),
        (
            {"_data_files": [{"filename": "a.arrow"}], "_indices_data_files": [{"filename": "i.arrow"}]},
            "call flatten_indices",
        ),
        ([], "state.json contains no object"),
    ],
)
def test_a_saved_folder_that_cannot_be_read_is_refused(tmp_path: Path, state: Any, why: str) -> None:
    write(tmp_path / "dataset_info.json", b"{}")
    write(tmp_path / "state.json", json.dumps(state).encode())
    with pytest.raises(UnreadableSource, match=why):
        names(str(tmp_path), tmp_path)
