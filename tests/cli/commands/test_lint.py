"""`trueup lint` and `trueup check --contract` as a person or a script runs them."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import COMMAND, Run, clean_environment, unprivileged
from trueup.verdict.extras import install

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
WRONG = "name: shop\nshema: person.json\naccept: gues\ntools: [{name: look}]\norder: [lok]\n"


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLES / "contracts", tmp_path / "contracts")
    (tmp_path / "wrong.yaml").write_text(WRONG)
    return tmp_path


def test_faults_are_lines_that_editors_understand(run: Run, desk: Path) -> None:
    done = run("lint", "wrong.yaml")
    assert (done.code, done.err) == (1, "")
    assert done.out.splitlines() == [
        "wrong.yaml:2:1: error[N005] unknown key 'shema'. Did you mean 'schema'?",
        'wrong.yaml:3:9: error[N006] \'accept\': expected one of "none", "lossless", "guess", "lossy", got "gues"; did you mean "guess"?',
        "wrong.yaml:5:9: error[N010] 'lok' is not a tool of this contract. Did you mean 'look'?",
        "✗ 1 file: 3 errors, 0 warnings",
    ]


def test_the_example_contracts_are_clean_and_their_examples_pass(run: Run, desk: Path) -> None:
    files = sorted(f"contracts/{path.name}" for path in (desk / "contracts").iterdir())
    done = run("lint", "--run", "--strict", *files)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"✓ {len(files)} files: nothing wrong, ")


def test_json_has_every_field(run: Run, desk: Path) -> None:
    done = run("lint", "--json", "wrong.yaml", "contracts/salon.yaml")
    report = json.loads(done.out)
    assert (done.code, report["ok"]) == (1, False)
    assert [found["code"] for found in report["faults"]] == ["N005", "N006", "N010"]
    assert report["faults"][0] == {
        "name": "unknown-option", "code": "N005", "file": "wrong.yaml", "line": 2, "column": 1, "path": "$.shema",
        "message": "unknown key 'shema'", "hint": "Did you mean 'schema'?", "level": "error",
    }  # fmt: skip


def test_exit_codes(run: Run, desk: Path) -> None:
    (desk / "warns.yaml").write_text("schema: {properties: {a: true}}\nrules: [b > 1]\n")
    (desk / "broken.yaml").write_text("schema: true\nexamples: [{reply: nothing}]\n")
    assert run("lint", "warns.yaml").code == 0
    assert run("lint", "--strict", "warns.yaml").code == 1
    assert run("lint", "broken.yaml").code == 0
    assert run("lint", "--run", "broken.yaml").code == 1
    assert run("lint", "nowhere.yaml").code == 2
    assert run("lint").code == 2


def test_text_of_a_file_cannot_move_the_cursor(run: Run, desk: Path) -> None:
    (desk / "odd.json").write_text(json.dumps({"na\x1b[2Jme\n": 1}))
    out = run("lint", "odd.json").out
    assert "\x1b" not in out
    assert out.count("\n") == 2


@pytest.mark.parametrize("kind", ["contract", "pipeline", "gateway"])
def test_the_editor_schema_is_printed(run: Run, kind: str) -> None:
    done = run("lint", "--editor-schema", kind)
    assert json.loads(done.out)["title"] == f"trueup {kind}"


def test_the_default_editor_schema_is_for_contracts(run: Run) -> None:
    assert run("lint", "--editor-schema").out == run("lint", "--editor-schema", "contract").out
    assert "'gateway'" in run("lint", "--editor-schema", "gatway").err


def test_check_accepts_a_contract_file_and_a_state(run: Run, desk: Path) -> None:
    said = "Tu cita ha sido confirmada."
    done = run("check", "--contract", "contracts/salon.yaml", "--state", "SLOT_SELECTION", stdin=said)
    assert done.code == 1
    assert "error[D001]" in done.out
    assert "contract contracts/salon.yaml" in done.out
    assert run("check", "-c", "contracts/salon.yaml", "--state", "IDLE", stdin=said).code == 0


def test_check_accepts_a_context(run: Run, desk: Path) -> None:
    (desk / "context.json").write_text('{"state": "CUSTOMER_DATA", "data": {"first_name": "Eva"}}')
    said = "Tu cita está confirmada."
    base = ("check", "-c", "contracts/salon.yaml", "--json")
    assert run(*base, "--context", "context.json", stdin=said).code == 0
    assert run(*base, "--context", '{"state": "CUSTOMER_DATA"}', stdin=said).code == 1
    assert run(*base, "--context", "context.json", "--state", "SLOT_SELECTION", stdin=said).code == 1
    assert "the context must be an object" in run(*base, "--context", "[1]", stdin=said).err


def test_options_that_are_typed_win_over_the_contract(run: Run, desk: Path) -> None:
    (desk / "c.yaml").write_text("schema: {type: object}\naccept: none\n")
    fenced = "```json\n{}\n```"
    assert run("check", "-c", "c.yaml", stdin=fenced).code == 1
    assert run("check", "-c", "c.yaml", "--accept", "lossless", stdin=fenced).code == 0
    assert "give one of them" in run("check", "-c", "c.yaml", "--schema", "any", stdin=fenced).err


def test_a_contract_with_faults_is_shown_with_their_places(run: Run, desk: Path) -> None:
    done = run("check", "-c", "wrong.yaml", stdin="{}")
    assert done.code == 2
    assert "wrong.yaml:2:1: N005 unknown key 'shema'. Did you mean 'schema'?" in done.err
    assert "Traceback" not in done.err


def test_tools_may_be_a_yaml_file(run: Run, desk: Path) -> None:
    (desk / "tools.yaml").write_text("- name: look\n- name: book\n")
    (desk / "twice.yaml").write_text("- {name: look, name: book}\n")
    assert run("check", "--tools", "tools.yaml", stdin="hello there").code == 0
    assert "twice.yaml:1:16: N004" in run("check", "--tools", "twice.yaml", stdin="hello").err


def test_a_warning_fails_on_request_and_is_shown_as_a_failure(run: Run, desk: Path) -> None:
    (desk / "near.yaml").write_text("schema: {properties: {hp: {type: integer}}}\nrules: [hpp > 0]\n")
    plain, strict = run("lint", "near.yaml"), run("lint", "--strict", "near.yaml")
    assert (plain.code, strict.code) == (0, 1)
    assert plain.out.splitlines()[-1] == "✓ 1 file: 0 errors, 1 warning"
    assert strict.out.splitlines()[-1] == "✗ 1 file: 0 errors, 1 warning"


def test_all_contracts_of_a_folder_are_linted(run: Run, desk: Path) -> None:
    done = run("lint", "contracts")
    count = len([path for path in (desk / "contracts").iterdir() if path.suffix == ".yaml"])
    assert (done.code, done.out) == (0, f"✓ {count} files: nothing wrong\n")
    (desk / "empty").mkdir()
    assert run("lint", "empty").code == 2


def test_check_refuses_a_reply_without_a_state(run: Run, desk: Path) -> None:
    done = run("check", "--contract", "contracts/salon.yaml", stdin="Hola")
    assert done.code == 1
    assert "error[D006] The context names no state; this contract defines IDLE, SERVICE_SELECTION" in done.out
    assert "--state NAME" in done.out
    misspelled = run("check", "--contract", "contracts/salon.yaml", "--state", "SLOT_SELECTON", stdin="Hola")
    assert misspelled.code == 1
    assert "error[D004] Unknown state 'SLOT_SELECTON' (did you mean 'SLOT_SELECTION'?)" in misspelled.out
    assert run("check", "--contract", "contracts/salon.yaml", "--state", "IDLE", stdin="Hola").code == 0
    assert run("check", "--contract", "contracts/chat_quota.yaml", stdin="Hello, you all!").code == 0


@pytest.mark.parametrize("name", ["none", "none.txt", "none.yaml"])
def test_a_missing_file_is_reported(run: Run, name: str) -> None:
    done = run("lint", name)
    assert done.code == 2
    assert f"{name}:1:1: error[N001] there is no such file" in done.out


def test_a_file_of_another_kind_is_reported_once(run: Run, desk: Path) -> None:
    (desk / "notes.txt").write_text("name: x\n")
    done = run("lint", "notes.txt")
    assert done.code == 2
    assert done.out.splitlines()[0] == ("notes.txt:1:1: error[N001] its name must end in .yaml, .yml, .toml or .json")


def test_misspelled_keywords_of_a_schema_print_a_warning(run: Run, desk: Path) -> None:
    (desk / "slip.yaml").write_text("schema:\n  type: object\n  requried: [a]\n  note: mine\n")
    done = run("lint", "slip.yaml")
    assert done.code == 0
    assert done.out.splitlines()[0] == (
        "slip.yaml:3:3: warning[N023] 'requried' is not a JSON Schema keyword, so it has no effect. Did you mean 'required'?"
    )
    assert run("lint", "--strict", "slip.yaml").code == 1


def without(folder: Path, module: str) -> str:
    """A path on which a module is not installed."""
    hidden = folder / "hidden"
    hidden.mkdir(exist_ok=True)
    (hidden / f"{module}.py").write_text(f"raise ModuleNotFoundError('No module named {module}', name='{module}')\n")
    return str(hidden)


@pytest.mark.parametrize("command", ["lint", "init", "run"])
def test_a_pipeline_without_its_extra_says_which(run: Run, tmp_path: Path, command: str) -> None:
    shutil.copytree(EXAMPLES / "pipelines" / "reviews", tmp_path / "reviews")
    done = run(command, "reviews", PYTHONPATH=without(tmp_path, "jinja2"))
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(f"prompts need Jinja2: {install('pipelines')}\n")
    assert len(done.err.splitlines()) == 1


def test_the_file_of_a_gateway_is_known_by_its_upstreams(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    text = (
        "upstreams: {main: {url: 'http://127.0.0.1:9/v1', private: true}}\nroutes: [{models: ['*'], upstream: main}]\n"
    )
    file.write_text(text, "utf-8")
    assert run("lint", str(file)).code == 0
    file.write_text(text.replace("upstream: main", "upstream: mian"), "utf-8")
    done = run("lint", str(file))
    assert done.code == 1
    assert ":2:26: error[N006] there is no upstream 'mian' in this file. Did you mean 'main'?" in done.out


def test_an_unreadable_file_is_a_fault_and_the_other_files_are_linted(run: Run, desk: Path) -> None:
    os.mkfifo(desk / "pipe.yaml")
    long = f"{'x' * 300}.yaml"
    done = run("lint", "pipe.yaml", long, "wrong.yaml")
    assert (done.code, done.err) == (2, "")
    assert done.out.splitlines()[:2] == [
        "pipe.yaml:1:1: error[N001] the file cannot be read: it is a pipe or a device",
        f"{long}:1:1: error[N001] the file cannot be read: File name too long",
    ]
    assert "wrong.yaml:2:1: error[N005]" in done.out


def test_a_folder_without_permission_is_a_fault(desk: Path) -> None:
    (desk / "closed").mkdir(mode=0o000)
    command = [*unprivileged(), *COMMAND, "lint", "closed", "wrong.yaml"]
    done = subprocess.run(command, cwd=desk, env=clean_environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.startswith("closed/config.yaml:1:1: error[N001] the file cannot be read: Permission denied\n")
    assert "wrong.yaml:2:1: error[N005]" in done.stdout
