"""Ray on one machine: the same bytes as the local engine, a killed worker retried; and the function for Ray Datasets."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.batch.sifting import SCHEMA, bytes_of, run_files, unit, write
from trueup.batch.engines.ray import Sift, _reach
from trueup.batch.work import EngineFailed

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    from trueup.batch.engines.ray import _connected

    _connected("", 2)
    yield
    ray.shutdown()


@pytest.mark.spec("B22")
@pytest.mark.filterwarnings("ignore")
def test_ray_gives_the_bytes_of_the_local_engine_even_when_a_worker_dies(
    cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "poison.py").write_text(CHECK)
    monkeypatch.chdir(tmp_path)
    replies = ['{"name": "Ada", "age": 36}', "Sorry.", '```\n{"name": "Bo", "age": "7",}\n```', '{"name": 1}']
    lines = [unit(f"u{n % 190}", replies[n % 4]).encode() for n in range(200)]
    lines[100:100] = [b"[1]", b"\xff", b'{"unit_id": "torn', unit("dead", '"fatal"').encode()]
    file = str(write(tmp_path / "lines.jsonl", lines))
    run_files(tmp_path, [file], "poison:made", out="local", range_size=3000)
    (tmp_path / "died").unlink()
    run_files(tmp_path, [file], "poison:made", out="ray", range_size=3000, engine="ray", workers=2)
    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "local")
    assert (tmp_path / "died").exists()
    codes = json.loads((tmp_path / "ray" / "summary.json").read_text())["codes"]
    assert (codes["U003"]["units"], codes["U008"]["examples"]) == (10, ["dead"])


CHECK = f"""
import os, pathlib, signal
from trueup import Contract

class Check:
    def __init__(self):
        self.inner = Contract({SCHEMA!r})
        self.here = pathlib.Path(__file__).parent
    def check(self, reply, context=None):
        if "fatal" in reply:
            os.kill(os.getpid(), signal.SIGKILL)
        if "Sorry" in reply and not (self.here / "died").exists():
            (self.here / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.inner.check(reply, context)

made = Check()
"""


@pytest.mark.spec("B22")
def test_batches_of_a_dataset_get_their_verdicts() -> None:
    import pyarrow as pa

    sift = Sift(schema=SCHEMA)
    columns: dict[str, list[Any]] = {
        "unit_id": ["a", "b"], "input": [{"n": 1}, {"n": 2}], "raw_response": ['{"name": "Ada", "age": "36"}', "no"],
    }  # fmt: skip
    table = sift(pa.table(columns))
    assert table.column("valid").to_pylist() == [True, False]
    records = [json.loads(record) for record in table.column("record").to_pylist()]
    assert (records[0]["data"]["age"], records[1]["failure_stage"]) == (36, "parse")
    plain = sift(columns)
    assert plain["valid"] == [True, False]
    assert [json.loads(record) for record in plain["record"]] == records


def test_replies_as_bytes_are_read_and_columns_of_an_earlier_time_replaced() -> None:
    import pyarrow as pa

    sift = Sift(schema=SCHEMA)
    replies = [b'{"name": "Ada", "age": 36}', b'{"name": "\xff", "age": 36}']
    table = sift(sift(pa.table({"unit_id": ["a", "b"], "raw_response": replies})))
    assert table.column_names == ["unit_id", "raw_response", "valid", "record"]
    assert table.column("valid").to_pylist() == [True, False]


def test_a_batch_without_replies_is_told() -> None:
    with pytest.raises(ValueError, match=r"has the column raw_response; this one has unit_id, text$"):
        Sift(schema=SCHEMA)({"unit_id": ["a"], "text": ["{}"]})


@pytest.mark.parametrize("port", ["{free}", "99999"])
def test_an_address_where_nobody_listens_is_told_at_once(port: str) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound, and not listening: nobody else takes it meanwhile
        address = f"127.0.0.1:{port.format(free=held.getsockname()[1])}"
        with pytest.raises(EngineFailed, match=f"Ray cannot be reached at {address}: "):
            _reach(address)
