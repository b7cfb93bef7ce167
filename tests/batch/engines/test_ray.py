"""Ray: the same bytes as the local engine, even if nodes, the head, workers or the command die."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.batch.engines.nodes import MARK, Nodes, listening, of_mark
from tests.batch.sifting import SCHEMA, bytes_of, run_files, unit, write
from tests.batch.tables.tables import KINDS, file_of, rows_of
from tests.effort import SOAK
from tests.waiting import wait_for
from trueup.batch.engines import ray as engine
from trueup.batch.engines.node_worker import FirstMessage
from trueup.batch.engines.ray import _reach
from trueup.batch.judging.contracts import spec_of
from trueup.batch.judging.work import EngineFailed

pytest.importorskip("ray")
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
REPLIES = ['{"name": "Ada", "age": 36}', "Sorry.", '```\n{"name": "Bo", "age": "7",}\n```', '{"name": 1}']
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "c0ffee" * 8}

# Counts the ranges it has reached; a unit "wait" stays until the test opens the gate, "fatal" ends the process.
GATE = """
import os, pathlib, signal, time
from gate_schema import SCHEMA
from trueup import Contract

class Check:
    def __init__(self, home):
        self.inner, self.home = Contract(SCHEMA), pathlib.Path(home)

    def check(self, reply, context=None):
        if "fatal" in reply:
            os.kill(os.getpid(), signal.SIGKILL)
        if "wait" in reply and not (self.home / "open").exists():
            (self.home / f"at-{os.getpid()}").touch()
            while not (self.home / "open").exists():
                time.sleep(0.02)
        return self.inner.check(reply, context)

made = Check(HOME)
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Nodes]:
    """A cluster that requires a token."""
    with Nodes(2 if SOAK else 1, **TOKEN) as nodes:
        yield nodes


@pytest.fixture
def token(cluster: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)


def gated(folder: Path) -> str:
    """A contract in a user's module, which imports another."""
    (folder / "gate_schema.py").write_text(f"SCHEMA = {SCHEMA!r}\n")
    (folder / "gate.py").write_text(GATE.replace("HOME", repr(str(folder))))
    return "gate:made"


def lines_of(count: int, *, wait: bool = False) -> list[bytes]:
    lines = [unit(f"u{n}", REPLIES[n % 4]).encode() for n in range(count)]
    if wait:
        lines[1::10] = [unit(f"w{n}", '{"name": "wait", "age": 1}').encode() for n in range(len(lines[1::10]))]
    return lines


def expected(folder: Path, file: str, contract: str) -> dict[str, bytes]:
    """The local engine's result for a file, in a process that has not loaded the contract before."""
    (folder / "open").touch()
    done = sift(folder, file, contract, "local", "--workers", "1")
    assert (done.returncode, done.stderr) == (1, "")
    (folder / "open").unlink()
    return bytes_of(folder / "local")


def command(folder: Path, file: str, contract: str, out: str, *options: str) -> list[str]:
    return [
        *(sys.executable, "-m", "tests.batch.engines.small_ranges", "sift", file, "-c", contract, "-o", str(folder / out)),
        *("--progress", "none", *options),
    ]  # fmt: skip


def environment(folder: Path, **more: str) -> dict[str, str]:
    paths = [str(Path(__file__).resolve().parents[3]), str(folder), *sys.path]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return {**kept, "HOME": str(folder), "PYTHONPATH": os.pathsep.join(paths), **more}


def sift(
    folder: Path, file: str, contract: str, out: str, *options: str, **more: str
) -> "subprocess.CompletedProcess[str]":
    """A sift started like a user starts it, with ranges of a few lines."""
    arguments = command(folder, file, contract, out, *options)
    return subprocess.run(
        arguments, cwd=folder, env=environment(folder, **more), capture_output=True, text=True, check=False
    )


@pytest.mark.spec("B22")
def test_a_cluster_writes_the_same_bytes_as_the_local_engine_and_a_unit_that_ends_its_worker_fails_alone(
    cluster: Nodes, token: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = gated(tmp_path)
    monkeypatch.chdir(tmp_path)
    lines = [unit(f"u{n % 190}", REPLIES[n % 4]).encode() for n in range(200)]
    lines[100:100] = [b"[1]", b"\xff", b'{"unit_id": "torn', unit("dead", '"fatal"').encode()]
    file = str(write(tmp_path / "lines.jsonl", lines))
    same = expected(tmp_path, file, contract)
    done = sift(tmp_path, file, contract, "ray", "--engine", f"ray:{cluster.address}", **TOKEN)
    assert (done.returncode, done.stderr) == (1, "")
    assert bytes_of(tmp_path / "ray") == same
    codes = json.loads((tmp_path / "ray" / "summary.json").read_text())["codes"]
    assert (codes["U003"]["units"], codes["U008"]["examples"]) == (10, ["dead"])


@pytest.mark.spec("B22")
def test_a_lost_head_node_is_reported_and_the_command_resumes_on_another_cluster(
    cluster: Nodes, tmp_path: Path
) -> None:  # fmt: skip
    contract = gated(tmp_path)
    lines = lines_of(200)
    lines[150] = unit("w", '{"name": "wait", "age": 1}').encode()
    file = str(write(tmp_path / "lines.jsonl", lines))
    same = expected(tmp_path, file, contract)
    parts = tmp_path / "ray" / ".sift" / "parts"
    with Nodes(0) as first:
        arguments = command(tmp_path, file, contract, "ray", "--engine", f"ray:{first.address}")
        # how long Ray tries to find its head again: a minute by default
        short = environment(tmp_path, RAY_gcs_rpc_server_reconnect_timeout_s="3")
        with subprocess.Popen(arguments, cwd=tmp_path, env=short, stderr=subprocess.PIPE, text=True) as run:
            wait_for(lambda: list(tmp_path.glob("at-*")), "the unit that waits was never reached")
            first.order("behead")
            _, errors = run.communicate()
    assert run.returncode == 2
    assert errors == (
        f"trueup: the connection to the Ray cluster at {first.address} was lost: its head node has stopped or cannot be reached. "
        "Completed work is kept: run the same command to resume.\n"
    )
    kept = len(list(parts.glob("*.part")))
    assert kept
    (tmp_path / "open").touch()
    again = sift(tmp_path, file, contract, "ray", "--engine", f"ray:{cluster.address}", **TOKEN)
    assert (again.returncode, again.stderr) == (1, "")
    assert bytes_of(tmp_path / "ray") == same
    timings = json.loads((tmp_path / "ray" / "summary.json").read_text())["timings"]
    # a worker of the first cluster that has not ended yet may finish its range
    assert kept <= timings["ranges_resumed"] <= kept + 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "requires a token; set RAY_AUTH_MODE=token, and the token in RAY_AUTH_TOKEN"),
        (
            {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 48},
            "rejects the token, or it is missing; set the token in RAY_AUTH_TOKEN",
        ),
        ({"RAY_AUTH_MODE": "token"}, "rejects the token, or it is missing; set the token in RAY_AUTH_TOKEN"),
    ],
    ids=["none", "wrong", "no token"],
)
@pytest.mark.spec("B22")
def test_if_the_cluster_requires_a_token_the_error_says_what_to_set(
    cluster: Nodes, tmp_path: Path, given: dict[str, str], says: str
) -> None:
    file = str(write(tmp_path / "lines.jsonl", lines_of(4)))
    given = {"RAY_NUM_REDIS_GET_RETRIES": "1", **given}  # by default Ray asks its head 20 times, once a second
    done = sift(tmp_path, file, gated(tmp_path), "ray", "--engine", f"ray:{cluster.address}", **given)
    assert done.returncode == 2
    assert done.stderr == (
        f"trueup: the Ray cluster {says}, in a file named by RAY_AUTH_TOKEN_PATH, or in ~/.ray/auth_token. "
        "Completed work is kept: run the same command to resume.\n"
    )


@pytest.mark.spec("B22")
def test_workers_read_files_on_shared_storage_with_the_settings_of_the_command(
    cluster: Nodes, token: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the nodes run already, without the endpoint and the keys
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    s3fs = pytest.importorskip("s3fs")
    server.start()
    try:
        endpoint = "http://{}:{}".format(*server.get_host_and_port())
        for name, value in (("ENDPOINT_URL", endpoint), ("ACCESS_KEY_ID", "key"), ("SECRET_ACCESS_KEY", "secret")):
            monkeypatch.setenv(f"AWS_{name}", value)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        file = write(tmp_path / "lines.jsonl", lines_of(100))
        storage = s3fs.S3FileSystem(endpoint_url=endpoint, key="key", secret="secret", skip_instance_cache=True)
        storage.mkdir("replies")
        storage.pipe("replies/lines.jsonl", file.read_bytes())
        local = run_files(tmp_path, [str(file)], out="local", range_size=3000)
        address = "s3://replies/lines.jsonl"
        on_ray: dict[str, Any] = {"range_size": 3000, "engine": f"ray:{cluster.address}", "workers": 0}
        run_files(tmp_path, [address], out="ray", **on_ray)
        assert bytes_of(tmp_path / "ray") == bytes_of(local.out)
        tables = tmp_path / "tables"
        tables.mkdir()
        for kind in KINDS:
            columns = rows_of(60)
            columns["unit_id"] = [f"{kind} {uid}" for uid in columns["unit_id"]]
            file_of(tables, columns, kind)
        storage.put(str(tables), "replies/tables", recursive=True)
        run_files(tmp_path, [str(tables)], out="tables-local", range_size=3000)
        ran = run_files(tmp_path, ["s3://replies/tables"], out="tables-ray", **on_ray)
        assert bytes_of(ran.out) == bytes_of(tmp_path / "tables-local")
        assert (len(ran.valid), len(ran.failed)) == (120, 120)
    finally:
        server.stop()


@pytest.mark.spec("B11", "B22")
def test_merging_and_growing_files_work_on_a_cluster_as_they_do_locally(
    cluster: Nodes, token: None, tmp_path: Path
) -> None:  # fmt: skip
    lines = [unit(f"u{n % 70}", REPLIES[n * 3 % 4]).encode() for n in range(120)]
    file = write(tmp_path / "lines.jsonl", lines)
    local = run_files(tmp_path, [str(file)], out="local", range_size=3000, merge="valid")
    assert local.summary["counts"]["merged"] == 50
    on_ray: dict[str, Any] = {"engine": f"ray:{cluster.address}", "workers": 0, "merge": "valid", "range_size": 3000}
    write(file, lines[:80])
    run_files(tmp_path, [str(file)], out="ray", **on_ray)
    write(file, lines)
    run_files(tmp_path, [str(file)], out="ray", **on_ray, grow=True)
    assert bytes_of(tmp_path / "ray") == bytes_of(local.out)


@pytest.mark.spec("B22")
def test_a_contract_from_the_users_module_is_sent_with_its_imports_and_so_are_parts(
    cluster: Nodes, token: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as on machines that share nothing: the modules are deleted, and the folder of the run is not visible
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(engine, "FirstMessage", lambda *given: FirstMessage(*given[:-1], str(tmp_path / "nowhere")))
    contract = gated(home)
    spec = spec_of(contract)
    try:
        file = str(write(tmp_path / "lines.jsonl", lines_of(60)))
        run_files(tmp_path, [file], contract, out="local", range_size=3000)
        monkeypatch.setattr("tests.batch.sifting.spec_of", lambda _: spec)
        sources = {name: (home / name).read_bytes() for name in ("gate.py", "gate_schema.py")}
        monkeypatch.setattr(engine, "Helper", _removing(engine.Helper, [home / name for name in sources]))
        run_files(tmp_path, [file], contract, out="ray", range_size=3000, engine=f"ray:{cluster.address}", workers=0)
    finally:
        for name in ("gate", "gate_schema"):
            sys.modules.pop(name, None)
    assert not (home / "gate.py").exists()
    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "local")


def _removing(helper: Any, paths: list[Path]) -> Any:
    """The same process, which gets its first message before the files are removed."""

    class Removing(helper):  # type: ignore[misc]
        def send(self, message: Any) -> None:
            for path in paths:
                path.unlink(missing_ok=True)
            super().send(message)

    return Removing


@pytest.mark.spec("B22")
def test_killing_a_node_loses_nothing(cluster: Nodes, tmp_path: Path) -> None:
    # the last test that uses the shared cluster, which loses a node here
    contract = gated(tmp_path)
    file = str(write(tmp_path / "lines.jsonl", lines_of(200, wait=True)))
    same = expected(tmp_path, file, contract)
    for path in tmp_path.glob("at-*"):
        path.unlink()
    arguments = command(tmp_path, file, contract, "ray", "--engine", f"ray:{cluster.address}")
    with subprocess.Popen(
        arguments, cwd=tmp_path, env=environment(tmp_path, **TOKEN), stderr=subprocess.PIPE, text=True
    ) as run:
        wait_for(lambda: len(list(tmp_path.glob("at-*"))) >= 2, "both nodes never had a range")
        cluster.order("kill")
        (tmp_path / "open").touch()
        _, errors = run.communicate()
    assert (run.returncode, errors) == (1, "")
    assert bytes_of(tmp_path / "ray") == same


@linux
@pytest.mark.spec("B22")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_cluster_that_trueup_starts_listens_on_loopback_and_ends_with_the_command(
    tmp_path: Path, end: signal.Signals
) -> None:
    file = str(write(tmp_path / "lines.jsonl", lines_of(50, wait=True)))
    arguments = command(tmp_path, file, gated(tmp_path), "ray", "--engine", "ray", "--workers", "1")
    mark = f"{os.getpid()}-{tmp_path.name}"
    with subprocess.Popen(
        arguments, cwd=tmp_path, env=environment(tmp_path, **{MARK: mark}), stderr=subprocess.PIPE
    ) as run:
        wait_for(lambda: list(tmp_path.glob("at-*")), "no unit was ever reached")
        ours = of_mark(mark)
        assert len(ours) > 4
        addresses = listening(ours)
        assert addresses
        assert {_is_loopback(address) for address in addresses} == {True}, addresses
        run.send_signal(end)
        run.communicate()
    assert run.returncode == (130 if end == signal.SIGINT else -signal.SIGKILL)
    wait_for(lambda: not of_mark(mark), "processes of the cluster are still there")
    assert not (tmp_path / ".ray").exists()  # only the processes of such a cluster know its token


def _is_loopback(address: str) -> bool:
    """Whether an address of /proc/net, in the machine's byte order, is 127.x.x.x or ::1."""
    words = [int(address[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(address), 8)]
    packed = b"".join(words)
    if packed == bytes(15) + b"\1":
        return True
    return packed[-4] == 127 and packed[:-4] in (b"", bytes(10) + b"\xff\xff")


def test_no_cluster_is_started_if_there_is_nothing_to_judge(tmp_path: Path) -> None:
    file = str(write(tmp_path / "lines.jsonl", []))
    assert run_files(tmp_path, [file], engine="ray:nobody:1").summary["counts"]["units"] == 0


def test_the_error_for_a_client_address_names_the_address_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(
        EngineFailed, match=r"client: give the address of the head node, such as 10\.0\.0\.1:6379, or pip"
    ):
        _reach("ray://10.0.0.1:10001")


@pytest.mark.parametrize("port", ["{free}", "99999"])
def test_an_unreachable_address_is_reported_immediately(port: str) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound but not listening, so no other process takes it meanwhile
        address = f"127.0.0.1:{port.format(free=held.getsockname()[1])}"
        with pytest.raises(EngineFailed, match=f"Ray cannot be reached at {address}: "):
            _reach(address)


def test_a_backtest_counts_the_same_on_a_cluster_as_locally(
    tmp_path: Path, cluster: Nodes, token: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.backtesting.making import OLD, write_contract, write_units
    from tests.backtesting.test_engines import TEXTS, own_contract, told
    from trueup.backtesting.backtest import backtest

    contract = own_contract(tmp_path, "own_ray", monkeypatch)
    old = write_contract(tmp_path / "old.json", OLD)
    file = write_units(tmp_path / "units.jsonl", [*TEXTS * 100, '{"n": 20, "s": "fatal"}'])
    here = backtest(contract, file, against=old, workers=1)
    assert dict(here.unjudgeable) == {"crashed": 1}
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    there = backtest(contract, file, against=old, engine="ray", address=cluster.address)
    assert told(there) == told(here)
