"""The example with the Vercel AI SDK: the real packages, a real gateway, and a scripted model."""

import fcntl
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.gateway.serving import serving
from trueup.testing.script import Say
from trueup.testing.server import ScriptedServer

FILES = ("package.json", "package-lock.json", ".npmrc")
SLOPPY = "Sure! Here is the order: {'item': 'teapot', 'quantity': '2',}"
REFUSED = '{"item": "teapot", "quantity": -2}'
TEAPOTS = {"item": "teapot", "quantity": 2}

pytestmark = [pytest.mark.needs("node"), pytest.mark.timeout(400)]


@pytest.fixture(scope="session")
def program(root: Path) -> Path:
    """The example, installed once from its lock. Another process of the tests may be installing it at the same time."""
    example, folder = root / "examples" / "vercel-ai", root / ".cache" / "vercel-ai"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "installing").open("w") as taken:
        fcntl.flock(taken, fcntl.LOCK_EX)
        lock = (example / "package-lock.json").read_bytes()
        installed = folder / "installed.json"
        if not installed.exists() or installed.read_bytes() != lock:
            for name in FILES:
                shutil.copy(example / name, folder / name)
            npm = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
            done = subprocess.run(npm, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
            assert done.returncode == 0, done.stderr
            installed.write_bytes(lock)
        fresh = folder / f"order.mjs.{os.getpid()}"
        shutil.copy(example / "order.mjs", fresh)
        fresh.replace(folder / "order.mjs")
    return folder / "order.mjs"


def ordered(program: Path, script: list[Any], root: Path, folder: Path) -> tuple[int, list[Any], list[Any]]:
    """The exit code of the program, the lines that it prints, and the messages that reach the model."""
    example = root / "examples" / "vercel-ai"
    shutil.copy(example / "order.yaml", folder / "order.yaml")
    with ScriptedServer(script) as upstream:
        config = YAML(typ="safe").load(example / "gateway.yaml")
        config["upstreams"]["openai"] |= {"url": upstream.url, "private": True}
        config["routes"][0]["policy"]["backoff"] = 0.01
        with serving(folder, config, OPENAI_API_KEY="none") as gateway:
            done = subprocess.run(
                ["node", program, "Two teapots, please."], capture_output=True, text=True, check=False, timeout=120,
                env={**os.environ, "GATEWAY": f"{gateway.url}/v1"},
            )  # fmt: skip
        sent = [request.messages for request in upstream.requests]
    assert not done.stderr, done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], sent


def test_a_broken_reply_arrives_repaired(program: Path, root: Path, tmp_path: Path) -> None:
    code, lines, sent = ordered(program, [SLOPPY, Say(SLOPPY, piece=4)], root, tmp_path)
    assert code == 0
    assert lines[0] == {"order": TEAPOTS, "outcome": "accepted"}
    assert lines[-1] == {"part": TEAPOTS}
    assert len(sent) == 2


def test_the_gateway_asks_again_before_the_program_sees_a_refused_reply(
    program: Path, root: Path, tmp_path: Path
) -> None:
    good = json.dumps(TEAPOTS)
    code, lines, sent = ordered(program, [REFUSED, good, Say(good, piece=4)], root, tmp_path)
    assert code == 0
    assert lines[0] == {"order": TEAPOTS, "outcome": "repaired"}
    assert "quantity > 0" in str(sent[1][-1])


def test_a_refusal_reaches_the_program_with_its_findings(program: Path, root: Path, tmp_path: Path) -> None:
    code, lines, sent = ordered(program, [REFUSED, REFUSED], root, tmp_path)
    assert code == 1
    assert (lines[0]["status"], lines[0]["refused"]["code"]) == (422, "contract_violation")
    assert "B005" in str(lines[0]["refused"])
    assert len(sent) == 2


def test_the_page_shows_the_program(root: Path) -> None:
    page = (root / "docs" / "howto" / "integrations.md").read_text("utf-8")
    (shown,) = re.findall(r"^```js\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert shown in (root / "examples" / "vercel-ai" / "order.mjs").read_text("utf-8")


def test_the_lock_names_no_registry(root: Path) -> None:
    lock = (root / "examples" / "vercel-ai" / "package-lock.json").read_text("utf-8")
    assert '"resolved"' not in lock
    assert '"integrity"' in lock
