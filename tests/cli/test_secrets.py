"""X25 on the command line: no error message repeats a key, a password or a header."""

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.running import Run
from tests.gateway.test_canary import ENVIRONMENT, FAULTS, STORE, refuse_canaries, write

pytestmark = pytest.mark.spec("X25")


def test_a_broken_store_is_reported_without_its_password(tmp_path: Path, run: Run) -> None:
    url = f"postgresql://trueup:{STORE}@127.0.0.1:9/x?sslpassword={STORE}"
    write(tmp_path, "http://127.0.0.1:9", store="$STORE_URL")
    environment = {**ENVIRONMENT, "STORE_URL": url}
    for args in (
        ["serve", "gateway.yaml"], ["lint", "gateway.yaml"], ["keys", "check", "gateway.yaml"], ["quota", "show", "--store", url],
        ["store", "backup", "--store", url, "--to", "b.db"], ["stats", "--store", url],
    ):  # fmt: skip
        done = run(*args, TRUEUP_DEBUG="1", **environment)
        refuse_canaries(" ".join(args[:2]), done.out + done.err)
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        nonsense = pool.submit(answer, listener)
        done = run("store", "info", "--store", url.replace(":9/", f":{listener.getsockname()[1]}/"))
        assert nonsense.result() > 0
    assert done.code == 2
    refuse_canaries("store info", done.out + done.err)


def answer(listener: socket.socket) -> int:
    """A server that asks for the password in plain text and repeats its input in an error. Counts the bytes that it
    got."""
    line, _ = listener.accept()
    with line:
        got = line.recv(4096)
        if got[4:8] == b"\x04\xd2\x16\x2f":  # it asks for TLS first
            line.sendall(b"N")
            got = line.recv(4096)
        line.sendall(b"R\x00\x00\x00\x08\x00\x00\x00\x03")
        got += line.recv(4096)
        said = b"SFATAL\x00C28P01\x00Mno entry for " + got.replace(b"\x00", b" ") + b"\x00\x00"
        line.sendall(b"E" + (len(said) + 4).to_bytes(4, "big") + said)
    return got.count(STORE.encode())


def test_a_broken_store_is_reported_without_its_password_on_the_command_line(tmp_path: Path, run: Run) -> None:
    (tmp_path / "gateway.yaml").write_text(FAULTS[2])
    for args in (
        ["serve", "gateway.yaml", "--check"],
        ["serve", "gateway.yaml"],
        ["lint", "--json", "gateway.yaml"],
        ["keys", "check", "gateway.yaml"],
    ):
        done = run(*args, TRUEUP_DEBUG="1")
        assert done.code in (1, 2)
        refuse_canaries(args[0], done.out + done.err)
