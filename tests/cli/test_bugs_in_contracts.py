"""A bug in a contract on the command line: one message with the user's own line, exit code 2, no traceback."""

from pathlib import Path

import pytest

from tests.cli.running import Ran, clean_environment, run_in_full
from trueup.testing.server import ScriptedServer

MODULE = """
import sys
from trueup.contract.plugins import check

@check("SHP020", "lookup", "Looks something up.")
def lookup(verdict, context):
    if "leave" in verdict.reply.text:
        sys.exit(3)
    if "refuse" in verdict.reply.text:
        raise ValueError("it says so itself")
    if "unreachable" in verdict.reply.text:
        raise ConnectionError("nobody there")
    yield context["customer"]["name"]
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with a contract, and an installed package whose check has a bug."""
    info = tmp_path / "lookups-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lookups\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[trueup.checks]\nlookup = lookups:lookup\n")
    (tmp_path / "lookups.py").write_text(MODULE)
    (tmp_path / "shop.yaml").write_text("name: shop\nchecks: [lookup]\nexamples:\n  - {name: hello, reply: Hello}\n")
    return tmp_path


def trueup(shop: Path, *args: str, stdin: str = "", **more: str) -> Ran:
    return run_in_full(args, stdin.encode(), shop, clean_environment(PYTHONPATH=str(shop), **more))


def test_a_bug_is_one_line_with_the_place(shop: Path) -> None:
    ran = trueup(shop, "check", "--contract", "shop.yaml", stdin="Hello")
    assert ran == Ran(
        2,
        "",
        "trueup: the check 'lookup' raised KeyError (lookups.py:13 in lookup): "
        "a bug in the contract, not a fault of the reply; KeyError: 'customer'\n",
    )


@pytest.mark.parametrize(("word", "says"), [("leave", "raised SystemExit"), ("unreachable", "raised ConnectionError")])
def test_an_exception_is_not_reported_as_another_error(shop: Path, word: str, says: str) -> None:
    ran = trueup(shop, "check", "--contract", "shop.yaml", "--json", stdin=word)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert "lookups.py:" in ran.err


def test_a_refusal_is_a_verdict(shop: Path) -> None:
    ran = trueup(shop, "check", "--contract", "shop.yaml", stdin="refuse")
    assert (ran.code, ran.err) == (1, "")
    assert "it says so itself" in ran.out


def test_the_traceback_is_shown_on_request(shop: Path) -> None:
    ran = trueup(shop, "check", "--contract", "shop.yaml", stdin="Hello", TRUEUP_DEBUG="1")
    assert ran.code == 2
    assert "Traceback (most recent call last)" in ran.err
    assert "This is a bug in the check 'lookup' at lookups.py:13, not a fault of the reply" in ran.err


def test_asking_ends_with_the_line_after_one_call(shop: Path) -> None:
    with ScriptedServer(then="Hello, what can I do for you?") as model:
        ran = trueup(shop, "ask", "--url", model.url, "--model", "m", "--contract", "shop.yaml", "--quiet", "Hello")
        assert (ran.code, ran.out) == (2, "")
        assert "the check 'lookup' raised KeyError (lookups.py:13 in lookup)" in ran.err
        assert len(model.requests) == 1


def test_an_example_that_meets_it_is_a_fault_of_the_file(shop: Path) -> None:
    ran = trueup(shop, "lint", "--run", "shop.yaml")
    assert ran.code == 1
    assert "N020" in ran.out
    assert "hello: the reply cannot be judged: the check 'lookup' raised KeyError (lookups.py:13 in lookup)" in ran.out
