"""`trueup mcp`: its options, and its messages if it cannot start. The server itself is tested in tests/mcp."""

from pathlib import Path

import pytest

from tests.cli.commands.test_lint import without
from tests.cli.running import Run
from trueup.verdict.extras import install


def test_without_the_sdk_it_says_how_to_install_it(run: Run, tmp_path: Path) -> None:
    done = run("mcp", PYTHONPATH=without(tmp_path, "mcp"))
    assert (done.code, done.out) == (2, "")
    assert done.err == f"trueup: mcp is not installed: {install('mcp')}\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--port", "1"], "--port, --listen and --host need --http"),
        (["--host", "a.example"], "--port, --listen and --host need --http"),
        (["--http", "--port", "1", "--listen", "127.0.0.1:2"], "give --port or --listen, not both"),
        (["--http", "--listen", "nowhere"], "--listen 'nowhere': give an address and a port, such as 0.0.0.0:8766"),
        (
            ["--http", "--host", "https://a.example"],
            "--host 'https://a.example': give a name without a scheme and a port",
        ),
        (["missing"], "missing: there is no such folder"),
        (["--store", "missing.db"], "there is no such store"),
    ],
)
def test_errors_of_serving_are_one_message(run: Run, options: list[str], said: str) -> None:
    done = run("mcp", *options)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "Traceback" not in done.err


def test_standard_output_is_empty_if_standard_input_ends(run: Run) -> None:
    done = run("mcp", stdin="")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_a_line_that_is_not_json_is_answered_by_the_protocol(run: Run) -> None:
    done = run("mcp", stdin="not json\n")
    assert done.code == 0
    assert all(line.startswith('{"jsonrpc"') for line in done.out.splitlines())
    assert done.err == ""
