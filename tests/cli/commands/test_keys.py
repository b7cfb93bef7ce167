"""`trueup keys`, as a person or a script runs it."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from tests.cli.running import Run
from trueup.gateway.settings import load_config

FILE = 'upstreams: {main: {url: "https://models.example"}}\nclients:\n'


def test_a_new_key_works_with_the_entry_that_is_printed(run: Run, tmp_path: Path) -> None:
    done = run("keys", "new", "--tenant", 'Acme "A"', "--name", "web", "--user", "ada", "--expires", "9999-12-31")
    assert (done.code, done.err) == (0, "")
    key, *_, entry = done.out.splitlines()
    assert re.fullmatch("tu-[0-9a-f]{48}", key)
    assert done.out.count(key) == 1
    (tmp_path / "gateway.yaml").write_text(f"{FILE}{entry}\n")
    (caller,) = load_config(tmp_path / "gateway.yaml", {}).clients
    assert (caller.tenant, caller.name, caller.user, caller.key) == ('Acme "A"', "web", "ada", "")
    assert caller.hash == f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"
    assert run("keys", "hash", stdin=f"{key}\n").out == f"{caller.hash}\n"
    done = run("keys", "check", "gateway.yaml", "--whose", stdin=key)
    assert (done.code, done.out.splitlines()[1].split()) == (
        0,
        ["web", "Acme", '"A"', "ada", "9999-12-31", "00:00", "works"],
    )
    done = run("keys", "check", "gateway.yaml", "--whose", stdin=f"{key}0")
    assert (done.code, done.out, done.err) == (1, "", "no entry has this key\n")


def test_a_key_can_be_printed_for_scripts(run: Run) -> None:
    made = [json.loads(run("keys", "new", "--tenant", "acme", "--json").out) for _ in range(2)]
    assert made[0]["key"] != made[1]["key"]
    assert set(made[0]["entry"]) == {"tenant", "hash"}


def test_keys_are_listed_but_not_shown(run: Run, tmp_path: Path) -> None:
    entries = "  - {tenant: acme, key: $CANARY}\n  - {name: ci, tenant: acme, key: canary-2, expires: 2020-01-01}\n"
    (tmp_path / "gateway.yaml").write_text(FILE + entries)
    done = run("keys", "check", "gateway.yaml", CANARY="canary-1")
    assert done.code == 1
    assert [line.split() for line in done.out.splitlines()] == [
        ["name", "tenant", "user", "expires", "state"],
        ["-", "acme", "-", "never", "works"],
        ["ci", "acme", "-", "2020-01-01", "00:00", "expired"],
    ]
    assert "N050 the key 'ci' has expired" in done.err
    assert "canary" not in done.out + done.err
    (tmp_path / "gateway.yaml").write_text(FILE.replace("clients:\n", ""))
    assert run("keys", "check", "gateway.yaml").out == "no clients: everyone has access\n"


@pytest.mark.parametrize(
    ("args", "stdin", "code", "said"),
    [
        (["new", "--expires", "soon"], "", 2, "--expires 'soon': give a day or a moment, such as 2027-01-31"),
        (["new", "--expires", "2020-01-31"], "", 2, "--expires '2020-01-31' is in the past: such a key never works"),
        (["hash"], "\n", 2, "no key given: pass it on standard input"),
        (["hash"], "short", 0, "fewer than 20 characters"),
        (["check", "none.yaml"], "", 2, "none.yaml"),
    ],
)
def test_errors_are_reported(run: Run, args: list[str], stdin: str, code: int, said: str) -> None:
    done = run("keys", *args, stdin=stdin)
    assert done.code == code
    assert said in done.err
    assert "Traceback" not in done.err
