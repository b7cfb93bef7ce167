"""The wheel in a separate environment, used from an empty folder: the library, every kind of command, the gateway and the studio."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.cli.running import free_port
from tests.conftest import ROOT
from tests.packaging.installing import Installed, environment
from tests.studio.demonstrated import demonstrated
from tests.test_house import PROJECT
from tests.waiting import wait_for
from trueup.studio.assets import assets, version
from trueup.testing.script import Say
from trueup.testing.server import ScriptedServer
from trueup.verdict.catalogue import FINDINGS, FIXES

CONTRACT = """\
name: person
schema:
  type: object
  properties: {name: {type: string}, age: {type: integer}}
  required: [name, age]
rules: [age >= 18]
"""
FENCED = 'Here you are:\n```json\n{"name": "Ada", "age": 36,}\n```\n'
LIBRARY = """
import trueup
from trueup import Contract

verdict = Contract.load("person.yaml").check(open("reply.txt").read())
print(trueup.__file__)
print(verdict.ok, verdict.data, [fix.code for fix in verdict.fixes])
"""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """An empty folder with a contract and a reply."""
    (tmp_path / "person.yaml").write_text(CONTRACT, "utf-8")
    (tmp_path / "reply.txt").write_text(FENCED, "utf-8")
    return tmp_path


def test_the_version(installed: Installed, tmp_path: Path) -> None:
    for command in ([installed.trueup], [installed.python, "-m", "trueup"]):
        done = installed.run(*command, "--version", folder=tmp_path)
        assert (done.returncode, done.stdout) == (0, f"trueup {PROJECT['version']}\n"), done.stderr


def test_the_locked_dependencies_satisfy_the_wheel(installed: Installed, tmp_path: Path) -> None:
    done = installed.run(sys.executable, "-m", "uv", "pip", "check", "--python", installed.python, folder=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_library(installed: Installed, desk: Path) -> None:
    done = installed.run(installed.python, "-c", LIBRARY, folder=desk)
    where, said = done.stdout.splitlines()
    assert Path(where).is_relative_to(Path(installed.python).parents[1]), "this must be the package of the wheel"
    assert said == "True {'name': 'Ada', 'age': 36} ['W002', 'W001', 'S001', 'W001']"


def test_check(installed: Installed, desk: Path) -> None:
    command = [installed.trueup, "check", "--contract", "person.yaml", "--json"]
    good = installed.run(*command, "reply.txt", folder=desk)
    assert (good.returncode, json.loads(good.stdout)["data"]) == (0, {"name": "Ada", "age": 36}), good.stderr
    young = installed.run(*command, folder=desk, stdin='{"name": "Ada", "age": 3}')
    assert (young.returncode, [found["code"] for found in json.loads(young.stdout)["findings"]]) == (1, ["B005"])


def test_sift(installed: Installed, desk: Path) -> None:
    replies = [FENCED, '{"name": "Bob", "age": 7}', "I cannot say."]
    lines = [json.dumps({"id": f"u{at}", "raw_response": reply}) for at, reply in enumerate(replies)]
    (desk / "replies.jsonl").write_text("\n".join(lines), "utf-8")
    done = installed.run(
        installed.trueup, "sift", "replies.jsonl", "--contract", "person.yaml", "--out", "sifted", folder=desk
    )
    assert done.returncode == 1, done.stderr
    assert len((desk / "sifted" / "validated.jsonl").read_text("utf-8").splitlines()) == 1
    assert len((desk / "sifted" / "failures.jsonl").read_text("utf-8").splitlines()) == 2
    assert "<html" in (desk / "sifted" / "report.html").read_text("utf-8")


def test_lint(installed: Installed, desk: Path) -> None:
    assert installed.run(installed.trueup, "lint", "person.yaml", folder=desk).returncode == 0
    (desk / "wrong.yaml").write_text("shcema: true\n", "utf-8")
    done = installed.run(installed.trueup, "lint", "wrong.yaml", folder=desk)
    assert (done.returncode, "did you mean 'schema'?" in done.stdout.lower()) == (1, True)


def test_explain(installed: Installed, tmp_path: Path) -> None:
    listed = installed.run(installed.trueup, "explain", folder=tmp_path).stdout
    assert not [code for code in (*FIXES, *FINDINGS) if f"  {code}  " not in listed]
    page = installed.run(installed.trueup, "explain", "S001", folder=tmp_path).stdout
    assert "trailing-comma" in page
    assert "Triggers" in page


def test_a_pipeline(installed: Installed, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "pipelines" / "reviews", tmp_path / "reviews")
    init = installed.run(installed.trueup, "init", "reviews", "--run-dir", "run", "--max-units", "1", folder=tmp_path)
    assert init.returncode == 0, init.stderr
    run = installed.run(installed.trueup, "run", "run", folder=tmp_path)
    assert run.returncode == 0, run.stderr


def test_serve_answers_a_client(installed: Installed, desk: Path) -> None:
    with ScriptedServer(["I think she is Ada.", Say(FENCED)]) as upstream:
        port = free_port()
        config = {
            "listen": f"127.0.0.1:{port}",
            "upstreams": {"main": {"url": upstream.url, "private": True}},
            "contracts": {"person": "person.yaml"},
            "routes": [{"name": "all", "models": ["*"], "contract": "person", "policy": {"backoff": 0.01}}],
        }
        (desk / "gateway.yaml").write_text(json.dumps(config), "utf-8")
        log = desk / "log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [installed.trueup, "serve", "gateway.yaml"], cwd=desk, env=environment(), stdout=out, stderr=out
            )
        try:
            wait_for(lambda: "listening on" in log.read_text("utf-8") or process.poll() is not None)
            assert process.poll() is None, log.read_text("utf-8")
            asked = {"model": "m", "messages": [{"role": "user", "content": "Who?"}]}
            answer = httpx.post(f"http://127.0.0.1:{port}/v1/chat/completions", json=asked, timeout=60)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    assert "Traceback" not in log.read_text("utf-8")
    assert answer.status_code == 200, answer.text
    assert json.loads(answer.json()["choices"][0]["message"]["content"]) == {"name": "Ada", "age": 36}
    assert len(upstream.requests) == 2, "the first reply was refused, and the model was asked again"


def test_the_studio_serves_its_whole_page_and_the_data_of_its_demo(installed: Installed, tmp_path: Path) -> None:
    with (
        demonstrated(tmp_path, python=installed.python) as url,
        httpx.Client(follow_redirects=True, timeout=60) as client,
    ):
        page = client.get(url)
        assert page.status_code == 200
        base = f"{page.url.scheme}://{page.url.netloc.decode()}"
        for name, asset in assets().items():
            served = client.get(f"{base}/assets/{version()}/{name}")
            assert (served.status_code, served.content) == (200, asset.body), name
            assert name == "licences.txt" or f"/assets/{version()}/{name}" in page.text
        samples = client.get(f"{base}/api/samples").json()
        assert len(samples) >= 12
        for path in ("verdicts", "contracts", "runs"):
            assert client.get(f"{base}/api/{path}").status_code == 200, path
        assert client.get(f"{base}/api/verdicts").json()["rows"]
